/* One piece of memory in two processes, in the order of an event that they share.  The other process is this program,
 * started anew.  Where the driver or its surroundings refuse that, it is said. */
#include "tests/peer.h"
#include "tests/device_parts.h"

enum { WORDS = 5000 };

/* What one process gives the other: a question has room for one handle of 64 bytes. */
typedef struct carried { unsigned char memory[CJ_IPC_MEM_BYTES], event[CJ_IPC_EVENT_BYTES]; } carried;

/* ---- The other process ------------------------------------------------------------------------------------------- */

enum { BEGIN, EVENT, MEMORY, MEMORY_REST, IMPORT, IMPORT_AGAIN, READ, TOO_MUCH, CHAIN, SYNC, FREE, FREE_AGAIN };

static struct {
    cj_driver *drv;
    cj_device *dev;
    cj_stream *s;
    cj_event *e;
    cj_ptx *m;
    cj_kernel *add;
    cj_dptr d;
    carried in;
} their;

static int64_t begin(void)
{
    their.drv = cj_driver_open(NULL);
    their.dev = cj_device_open(their.drv, 0, NULL);
    their.s = cj_stream_create(their.dev, NULL);
    their.m = bench_add_module();
    their.add = cj_kernel_load(their.dev, their.m, "add", NULL);
    return cj_error_of(their.add)->status;
}

static int64_t read_word(uint64_t at)
{
    uint32_t word = 0;
    cj_copy_to_host(their.s, &word, (cj_dptr){ their.d.addr + 4 * at }, sizeof word);
    return cj_stream_sync(their.s) == CJ_OK ? (int64_t)word : -1;
}

/* Everything is given at once, and the event is recorded behind it. */
static int64_t chain(uint32_t n)
{
    cj_status st = cj_stream_wait(their.s, their.e);
    if (st == CJ_OK) st = cj_launch(their.s, their.add, cj_threads(WORDS, 128), their.d, (uint32_t)WORDS, n);
    return st == CJ_OK ? cj_event_record(their.e, their.s) : st;
}

static int64_t import_memory(cj_dptr *d)
{
    *d = cj_ipc_import(their.s, their.in.memory, sizeof their.in.memory);
    return d->addr ? CJ_OK : cj_stream_sync(their.s);
}

static int64_t answer(const peer_question *q)
{
    cj_dptr again;
    switch (q->what) {
    case BEGIN: return begin();
    case EVENT: return cj_error_of(their.e = cj_event_import(their.dev, q->handle, CJ_IPC_EVENT_BYTES))->status;
    case MEMORY: return memcpy(their.in.memory, q->handle, 64), CJ_OK;
    case MEMORY_REST: return memcpy(their.in.memory + 64, q->handle, CJ_IPC_MEM_BYTES - 64), CJ_OK;
    case IMPORT: return import_memory(&their.d);
    case IMPORT_AGAIN: return import_memory(&again);
    case READ: return read_word(q->value);
    case TOO_MUCH: return cj_fill32(their.s, their.d, 1, WORDS + 1) == CJ_EINVAL ? cj_stream_sync(their.s) : -1;
    case CHAIN: return chain((uint32_t)q->value);
    case SYNC: return cj_stream_sync(their.s);
    case FREE: return cj_free(their.dev, their.d);
    case FREE_AGAIN: return cj_free(their.dev, their.d);
    default: return -99;
    }
}

/* ---- This one ---------------------------------------------------------------------------------------------------- */

static void refusals(cj_device *dev, cj_stream *s, const carried *out)
{
    carried c;
    cj_dptr plain = cj_alloc(s, 64);
    tap_is_int(cj_ipc_export(dev, plain, c.memory, sizeof c.memory), CJ_EINVAL, "memory of cj_alloc is not given out");
    tap_has_str(cj_error_of(dev)->message, "cj_ipc_alloc", "and the fix is named");
    cj_free(dev, plain);
    tap_is_uint(cj_ipc_import(s, out->memory, sizeof out->memory).addr, 0,
                "the process that gave it out does not take it in");
    tap_is_int(cj_stream_sync(s), CJ_EINVAL, "which is an error");
    tap_has_str(cj_error_of(s)->message, "which has the memory: use that", "with its fix");
    memset(&c, 0x5a, sizeof c);
    tap_is_uint(cj_ipc_import(s, c.memory, sizeof c.memory).addr, 0, "nor what is no handle");
    tap_ok(cj_stream_sync(s) != CJ_OK, "which is an error too");
}

/* From here to there and back, without either host. */
static void in_order(peer *p, cj_stream *s, cj_event *e, cj_dptr d)
{
    struct latch l = LATCH_CLOSED;
    uint32_t *out = malloc(4 * WORDS);
    bench_hold(s, &l);
    cj_fill32(s, d, 100, WORDS);
    cj_event_record(e, s);
    tap_is_int(peer_ask(p, CHAIN, 11, NULL), CJ_OK, "a kernel there waits for what is written here");
    tap_is_int(cj_stream_wait(s, e), CJ_OK, "and a copy here for that kernel");
    cj_copy_to_host(s, out, d, 4 * WORDS);
    latch_open(&l);
    tap_is_int(cj_stream_sync(s), CJ_OK, "when the first goes on");
    size_t right = 0;
    for (size_t i = 0; out && i < WORDS; i++) right += out[i] == 111;
    tap_is_uint(right, WORDS, "all words are what both have made of them");
    tap_is_int(peer_ask(p, SYNC, 0, NULL), CJ_OK, "nothing failed there");
    free(out);
}

static bool begun(peer *p, const carried *out)
{
    unsigned char rest[64] = { 0 };
    memcpy(rest, out->memory + 64, CJ_IPC_MEM_BYTES - 64);
    tap_is_int(peer_ask(p, BEGIN, 0, NULL), CJ_OK, "another process");
    peer_ask(p, MEMORY, 0, out->memory);
    peer_ask(p, MEMORY_REST, 0, rest);
    int64_t st = peer_ask(p, IMPORT, 0, NULL);
    if (st == CJ_OK) st = peer_ask(p, EVENT, 0, out->event);
    if (st != CJ_OK && tap_on_gpu())
        return tap_skip(1, "this driver opens nothing of another process: status %d", (int)st), false;
    return tap_is_int(st, CJ_OK, "takes memory and event in");
}

static void between(cj_device *dev, cj_stream *s, cj_event *e, cj_dptr d, const carried *out)
{
    peer p;
    peer_start(&p);
    if (begun(&p, out)) {
        tap_is_int(peer_ask(&p, READ, WORDS - 1, NULL), 5, "what was written before is there");
        tap_is_int(peer_ask(&p, TOO_MUCH, 0, NULL), CJ_EINVAL, "and its size is known there");
        tap_is_int(peer_ask(&p, IMPORT_AGAIN, 0, NULL), CJ_ESTATE, "it is not taken in twice");
        in_order(&p, s, e, d);
        tap_is_int(peer_ask(&p, FREE, 0, NULL), CJ_OK, "it is freed there");
        tap_is_int(peer_ask(&p, FREE_AGAIN, 0, NULL), CJ_ENOTFOUND, "once");
        uint32_t word = 0;
        cj_copy_to_host(s, &word, d, sizeof word);
        tap_is_int(cj_stream_sync(s), CJ_OK, "here it stays");
        tap_is_uint(word, 111, "as it was");
        tap_is_int(peer_ask(&p, IMPORT, 0, NULL), CJ_OK, "and is taken in anew");
        tap_is_int(peer_ask(&p, READ, 1, NULL), 111, "with what is in it");
        tap_is_int(peer_ask(&p, FREE, 0, NULL), CJ_OK, "and freed");
    }
    tap_is_int(peer_end(&p), 0, "the other process ends well");
    refusals(dev, s, out);
}

int main(int argc, char **argv)
{
    if (argc > 2) return peer_serve(argv[2], answer);
    tap_need_device(1);
    tap_plan(0);
    carried out;
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_event *e = cj_event_create(dev, CJ_EVENT(.ipc = 1));
    cj_dptr d = cj_ipc_alloc(s, 4 * WORDS);
    cj_fill32(s, d, 5, WORDS);
    tap_is_int(cj_stream_sync(s), CJ_OK, "memory that may be given out");
    cj_status st = cj_ipc_export(dev, d, out.memory, sizeof out.memory);
    if (st == CJ_OK) st = cj_event_export(e, out.event, sizeof out.event);
    if (st != CJ_OK && tap_on_gpu()) {
        tap_skip(1, "this driver gives nothing to other processes: %s", cj_error_last()->message);
    } else {
        tap_is_int(st, CJ_OK, "it is given out, with an event");
        between(dev, s, e, d, &out);
    }
    tap_is_int(cj_free(dev, d), CJ_OK, "it is freed");
    cj_event_free(e);
    tap_is_int(cj_stream_sync(s), CJ_OK, "nothing failed");
    tap_is_uint(cj_device_collect(dev), 0, "and nothing is left");
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
