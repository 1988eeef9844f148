/* Pieces of a cj_vmem in two processes, by descriptor: the other process is this program, started anew, which has the
 * descriptors from its parent.  The memory lives as long as one of the two maps it. */
#include <fcntl.h>

#include "tests/peer.h"
#include "tests/device_parts.h"

enum { N = 1000, PIECES = 2 };

/* -- The other process --------------------------------------------------------------------------------------------- */

enum { BEGIN, IMPORT, READ, ADD, PIECES_OF, SHRINK, WRONG_SIZE, NO_MEMORY, TOO_MUCH, FREE };

static struct {
    cj_driver *drv;
    cj_device *dev;
    cj_stream *s;
    cj_ptx *m;
    cj_kernel *add;
    cj_vmem *v;
} their;

static int64_t begin(void)
{
    their.drv = cj_driver_open(NULL);
    their.dev = cj_device_open(their.drv, 0, NULL);
    their.s = cj_stream_create(their.dev, NULL);
    their.m = bench_add_module();
    their.add = cj_kernel_load(their.dev, their.m, "add", NULL);
    their.v = cj_vmem_create(their.s, 64 << 20, NULL);
    return cj_error_of(their.v)->status;
}

static int64_t read_word(uint64_t at)
{
    uint32_t word = 0;
    cj_copy_to_host(their.s, &word, cj_offset(cj_vmem_address(their.v), (int64_t)at), 4);
    return cj_stream_sync(their.s) == CJ_OK ? (int64_t)word : -1;
}

static int64_t add_to(uint64_t at)
{
    cj_launch(their.s, their.add, cj_threads(N, 128), cj_offset(cj_vmem_address(their.v), (int64_t)at), N, 100);
    return cj_stream_sync(their.s);
}

static int64_t no_memory(void)
{
    const int fd = open("/dev/null", O_RDWR);
    const cj_status st = cj_vmem_import(their.v, fd, cj_vmem_granularity(their.v));
    close(fd);
    return st;
}

/* A question has a descriptor in its lowest bits, and a number above. */
static int64_t answer(const peer_question *q)
{
    const int fd = (int)(q->value & 0xffff);
    const size_t value = (size_t)(q->value >> 16);
    switch (q->what) {
    case BEGIN: return begin();
    case IMPORT: return cj_vmem_import(their.v, fd, value);
    case READ: return read_word(value);
    case ADD: return add_to(value);
    case PIECES_OF: return (int64_t)cj_vmem_pieces(their.v);
    case SHRINK: return cj_vmem_shrink(their.v, value) == CJ_OK ? (int64_t)cj_vmem_bytes(their.v) : -1;
    case WRONG_SIZE: return cj_vmem_import(their.v, fd, value + 1);
    case NO_MEMORY: return no_memory();
    case TOO_MUCH: return cj_vmem_import(their.v, fd, (size_t)1 << 40);
    case FREE: cj_vmem_free(their.v); return (int64_t)cj_device_collect(their.dev);
    default: return -99;
    }
}

/* -- This one ------------------------------------------------------------------------------------------------------ */

static cj_device *dev;
static cj_stream *s;
static cj_vmem *v;
static struct { int fd; size_t bytes; } piece[PIECES];

static uint64_t with(int fd, size_t value) { return (uint64_t)value << 16 | (unsigned)fd; }

static uint32_t word_at(size_t at)
{
    uint32_t word = 0;
    cj_copy_to_host(s, &word, cj_offset(cj_vmem_address(v), (int64_t)at), 4);
    cj_stream_sync(s);
    return word;
}

/* What the other process inherits: without the mark that closes it. */
static cj_status export_all(void)
{
    cj_status st = CJ_OK;
    for (size_t i = 0; i < PIECES && st == CJ_OK; i++) {
        int fd = -1;
        st = cj_vmem_export(v, i, &fd, &piece[i].bytes);
        if (st != CJ_OK) break;
        piece[i].fd = dup(fd);
        close(fd);
    }
    return st;
}

static void rejected(void)
{
    int fd = -1;
    size_t bytes = 0;
    tap_is_int(cj_vmem_export(v, PIECES, &fd, &bytes), CJ_ENOTFOUND, "there is no third piece");
    tap_has_str(cj_error_of(v)->message, "there is no piece 2; cj_vmem_pieces() are 2", "which is named");
    tap_is_int(cj_vmem_export(v, 0, NULL, &bytes), CJ_EINVAL, "nor a place for nothing");
    tap_is_int(cj_vmem_import(v, -1, bytes), CJ_EINVAL, "and no descriptor is none");
    tap_has_str(cj_error_of(v)->message, "descriptor -1 with 0 bytes", "which is named too");
    cj_vmem *own = cj_vmem_create(s, 8 << 20, CJ_VMEM(.bytes = 1));
    tap_is_int(cj_vmem_export(own, 0, &fd, &bytes), CJ_ESTATE, "memory that was not made for it stays");
    tap_has_str(cj_error_of(own)->message, "make the cj_vmem with CJ_VMEM(.ipc = 1)", "and the fix is named");
    cj_vmem_free(own);
    own = cj_vmem_create(s, 8 << 20, CJ_VMEM(.ipc = 2));
    tap_is_int(cj_error_of(own)->status, CJ_EINVAL, "an .ipc of 2 is neither");
    cj_vmem_free(own);
}

/* A part of it at other addresses of this process; what has left is in the way while it is used. */
static void at_two_addresses(void)
{
    struct latch l = LATCH_CLOSED;
    uint32_t seen = 0;
    cj_vmem *w = cj_vmem_create(s, 64 << 20, CJ_VMEM(.bytes = 1));
    const size_t grain = cj_vmem_granularity(w);
    tap_is_int(cj_vmem_import(w, piece[0].fd, piece[0].bytes), CJ_OK, "a piece is at other addresses too: %s",
               cj_error_of(w)->message);
    cj_fill32(s, cj_vmem_address(v), 31, N);
    cj_copy_to_host(s, &seen, cj_offset(cj_vmem_address(w), (int64_t)grain), 4);
    tap_is_int(cj_stream_sync(s), CJ_OK, "both are used");
    tap_is_uint(seen, 31, "and are one memory");
    cj_vmem_grow(w, 4 * grain + piece[0].bytes);
    bench_hold(s, &l);
    cj_stream_use(s, cj_vmem_address(w));
    cj_fill32(s, cj_offset(cj_vmem_address(w), (int64_t)(grain + piece[0].bytes)), 1, N);
    cj_vmem_shrink(w, grain);
    tap_is_uint(cj_vmem_pieces(w), 1, "what has left is no piece of it");
    tap_is_int(cj_vmem_import(w, piece[1].fd, piece[1].bytes), CJ_EBUSY, "what has left is in the way");
    tap_has_str(cj_error_of(w)->message, "synchronize first", "and the fix is named");
    latch_open(&l);
    cj_stream_sync(s);
    tap_is_int(cj_vmem_import(w, piece[1].fd, piece[1].bytes), CJ_OK, "then it is not");
    tap_is_uint(cj_vmem_bytes(w), grain + piece[1].bytes, "and the piece follows the committed part");
    cj_vmem_free(w);
    tap_is_uint(cj_device_collect(dev), 0, "it leaves these addresses");
}

static void between(void)
{
    peer p;
    peer_start(&p);
    tap_is_int(peer_ask(&p, BEGIN, 0, NULL), CJ_OK, "another process");
    const int64_t st = peer_ask(&p, IMPORT, with(piece[1].fd, piece[1].bytes), NULL);
    if (st != CJ_OK && tap_on_gpu()) {
        tap_skip(1, "this driver opens nothing of another process: status %d", (int)st);
        peer_end(&p);
        return;
    }
    tap_is_int(st, CJ_OK, "takes the second piece in");
    tap_is_int(peer_ask(&p, IMPORT, with(piece[0].fd, piece[0].bytes), NULL), CJ_OK, "and the first one behind it");
    tap_is_int(peer_ask(&p, PIECES_OF, 0, NULL), 2, "it has two");
    tap_is_int(peer_ask(&p, READ, with(0, 0), NULL), 22, "with what is in the second");
    tap_is_int(peer_ask(&p, READ, with(0, piece[1].bytes), NULL), 11, "and in the first");
    tap_is_int(peer_ask(&p, ADD, with(0, 0), NULL), CJ_OK, "its kernels write it");
    tap_is_uint(word_at(piece[0].bytes), 122, "which is seen here");
    tap_is_int(peer_ask(&p, WRONG_SIZE, with(piece[0].fd, piece[0].bytes), NULL), CJ_EINVAL, "no odd size");
    tap_is_int(peer_ask(&p, NO_MEMORY, 0, NULL), CJ_EDRIVER, "nor what is no memory");
    tap_is_int(peer_ask(&p, TOO_MUCH, with(piece[0].fd, 0), NULL), CJ_EINVAL, "nor more than is reserved");
    tap_is_int(peer_ask(&p, SHRINK, with(0, 1), NULL), (int64_t)piece[1].bytes, "the first piece leaves there");
    tap_is_uint(word_at(0), 11, "and stays here");
    close(piece[1].fd);
    cj_vmem_free(v);
    cj_device_collect(dev);
    tap_is_int(peer_ask(&p, READ, with(0, 4), NULL), 122, "freed here it stays there");
    tap_is_int(peer_ask(&p, FREE, 0, NULL), 0, "until it is freed there");
    tap_is_int(peer_end(&p), 0, "the other process ends well");
}

int main(int argc, char **argv)
{
    if (argc > 2) return peer_serve(argv[2], answer);
    tap_need_device(1);
    tap_plan(0);
    cj_driver *drv = cj_driver_open(NULL);
    dev = cj_device_open(drv, 0, NULL);
    s = cj_stream_create(dev, NULL);
    v = cj_vmem_create(s, 64 << 20, CJ_VMEM(.bytes = 1, .ipc = 1));
    if (cj_error_of(v)->status == CJ_ENOTSUP) tap_skip_all("%s", cj_error_of(v)->message);
    const size_t grain = cj_vmem_granularity(v);
    tap_is_int(cj_vmem_grow(v, 3 * grain), CJ_OK, "memory that may be given out: %s", cj_error_of(v)->message);
    cj_fill32(s, cj_vmem_address(v), 11, N);
    cj_fill32(s, cj_offset(cj_vmem_address(v), (int64_t)grain), 22, N);
    tap_is_int(cj_stream_sync(s), CJ_OK, "is filled");
    tap_is_uint(cj_vmem_pieces(v), PIECES, "it has two pieces");
    tap_is_int(export_all(), CJ_OK, "which are given out: %s", cj_error_of(v)->message);
    tap_ok(piece[0].bytes == grain && piece[1].bytes == 2 * grain, "with their sizes");
    rejected();
    at_two_addresses();
    cj_fill32(s, cj_vmem_address(v), 11, N);
    cj_stream_sync(s);
    between();
    close(piece[0].fd);
    tap_is_int(cj_stream_sync(s), CJ_OK, "nothing failed");
    tap_is_uint(cj_device_collect(dev), 0, "and nothing is left");
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
