/* What memory an address is in; and memory that cj_free took is rejected in copies and fills, until an allocation has
 * it again. */
#include <string.h>

#include "tests/device_bench.h"

enum { BYTES = 4096 };

static cj_mem_info info_of(cj_dptr at)
{
    cj_mem_info info;
    cj_mem_info_defaults(&info);
    tap_is_int(cj_mem_get_info(dev, at, &info), CJ_OK, "an address is known: %s", cj_error_of(dev)->message);
    return info;
}

/* -- Information --------------------------------------------------------------------------------------------------- */

static void kinds(void)
{
    cj_stream *home = cj_stream_create(dev, NULL);
    cj_dptr pool = cj_alloc(home, 1000), managed = cj_managed_alloc(s, 500), ipc = cj_ipc_alloc(s, 300);
    char *host = cj_host_alloc(dev, 256, NULL);
    const struct kind_row { const char *name; cj_dptr at; int kind; size_t bytes; const cj_stream *home; } table[] = {
        { "memory of cj_alloc", pool, CJ_MEM_KIND_POOL, 1000, home },
        { "managed memory", managed, CJ_MEM_KIND_MANAGED, 500, s },
        { "memory for other processes", ipc, CJ_MEM_KIND_IPC, 300, s },
        { "pinned memory", { (uintptr_t)host }, CJ_MEM_KIND_HOST, 256, NULL },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct kind_row *r = &table[i];
        if (!r->at.addr) {
            tap_skip(1, "this device has no %s", r->name);
            continue;
        }
        const cj_mem_info info = info_of(cj_offset(r->at, 17));
        tap_is_int(info.kind, r->kind, "... %s", r->name);
        tap_ok(info.base.addr == r->at.addr && info.home == r->home && info.device == dev,
               "... its beginning, home stream and device");
        tap_ok(info.bytes == r->bytes || (!r->home && info.bytes >= r->bytes), "... and size: %zu", info.bytes);
    }
    cj_stream_free(home);
    tap_ok(info_of(pool).home == NULL, "a stream that was freed is nobody's home");
    cj_free(dev, pool);
    cj_free(dev, managed);
    cj_free(dev, ipc);
    cj_host_free(dev, host);
    cj_stream_sync(s); /* a device without one kind of memory has failed there */
    cj_error_clear(dev);
}

static void not_known(void)
{
    int local = 0;
    cj_mem_info info = { .size = 0 };
    tap_is_int(cj_mem_get_info(dev, d, &info), CJ_EINVAL, "a struct without its size is rejected");
    tap_is_int(cj_mem_get_info(dev, d, NULL), CJ_EINVAL, "NULL too");
    cj_mem_info_defaults(&info);
    tap_is_int(cj_mem_get_info(dev, (cj_dptr){ 0 }, &info), CJ_ENOTFOUND, "nothing is in no memory");
    tap_is_int(cj_mem_get_info(dev, (cj_dptr){ (uintptr_t)&local }, &info), CJ_ENOTFOUND,
               "nor is an address of the stack");
    cj_error_clear(dev);
}

/* An older struct is filled as far as it goes. */
static void smaller(void)
{
    cj_mem_info info;
    memset(&info, 0x5a, sizeof info);
    info.size = offsetof(cj_mem_info, bytes);
    tap_is_int(cj_mem_get_info(dev, d, &info), CJ_OK, "a struct of an older version is filled");
    tap_ok(info.base.addr == d.addr && info.bytes == (size_t)UINT64_C(0x5a5a5a5a5a5a5a5a), "as far as it goes");
}

/* -- After cj_free ------------------------------------------------------------------------------------------------- */

static void is_rejected(cj_dptr gone, const char *when)
{
    char host[16] = { 0 };
    cj_graph *g = cj_graph_create(dev);
    tap_is_int(cj_copy_to_device(s, gone, host, 16), CJ_EINVAL, "%s: a copy to it is rejected", when);
    tap_has_str(cj_error_of(s)->message, "was freed with cj_free", "... which says why");
    tap_is_int(cj_stream_sync(s), CJ_EINVAL, "... at the sync too");
    tap_is_int(cj_copy_to_host(s, host, cj_offset(gone, BYTES - 16), 16), CJ_EINVAL, "so is a copy from its end");
    cj_stream_sync(s);
    tap_is_int(cj_fill8(s, gone, 0, 1), CJ_EINVAL, "a fill");
    cj_stream_sync(s);
    tap_is_int(cj_error_of(cj_graph_fill8(g, NULL, gone, 0, 1))->status, CJ_EINVAL, "and a node");
    cj_graph_free(g);
}

static void after_free(void)
{
    struct latch l = LATCH_CLOSED;
    cj_dptr used = cj_alloc(s, BYTES), plain = cj_ipc_alloc(s, BYTES);
    cj_fill8(s, used, 1, BYTES);
    cj_stream_sync(s);
    cj_stream_join(t, s);
    bench_hold(t, &l);
    cj_stream_use(t, used);
    cj_free(dev, used);
    is_rejected(used, "while its release is pending");
    latch_open(&l);
    cj_stream_sync(t);
    cj_device_collect(dev);
    cj_free(dev, plain);
    cj_stream_sync(s);
    cj_device_collect(dev);
    is_rejected(plain, "when it was released");
    cj_dptr again = cj_alloc(s, BYTES);
    tap_is_int(cj_fill8(s, again, 2, BYTES), CJ_OK, "an allocation is not, whatever was at its address");
    cj_free(dev, again);
    cj_stream_sync(s);
}

/* A range of somebody else is his after cj_free too: it was never the library's. */
static void wrapped(void)
{
    cj_driver *own = cj_driver_open(NULL);
    cj_device *owner = cj_device_open(own, 0, NULL);
    cj_stream *u = cj_stream_create(owner, NULL);
    cj_dptr his = cj_ipc_alloc(u, BYTES);
    cj_driver *second = cj_driver_open_interposed(own, NULL); /* devices of its own: it does not know the memory */
    cj_device *guest = cj_device_open(second, 0, NULL);
    cj_stream *v = cj_stream_create(guest, NULL);
    cj_mem_info info;
    cj_mem_info_defaults(&info);
    tap_ok(cj_mem_get_info(guest, his, &info) == CJ_OK && info.kind == CJ_MEM_KIND_FOREIGN,
           "memory of other code is foreign");
    tap_is_int(cj_mem_wrap(v, his, BYTES), CJ_OK, "it is wrapped");
    tap_ok(cj_mem_get_info(guest, his, &info) == CJ_OK && info.kind == CJ_MEM_KIND_WRAPPED && info.home == v,
           "then it is known");
    tap_is_int(cj_free(guest, his), CJ_OK, "and given up");
    tap_is_int(cj_fill8(v, his, 3, BYTES), CJ_OK, "which does not forbid its use");
    tap_is_int(cj_stream_sync(v), CJ_OK, "as it is still there");
    cj_stream_free(v);
    cj_device_close(guest);
    cj_driver_close(second);
    cj_free(owner, his);
    cj_stream_free(u);
    cj_device_close(owner);
    cj_driver_close(own);
}

/* -- Events of others ---------------------------------------------------------------------------------------------- */

static void events(void)
{
    struct latch l = LATCH_CLOSED;
    cj_event *e = cj_event_create(dev, NULL), *w = cj_event_wrap(dev, cj_event_raw(e));
    tap_is_int(cj_error_of(w)->status, CJ_OK, "an event is wrapped");
    tap_ok(cj_event_raw(w) == cj_event_raw(e), "with its handle");
    bench_hold(s, &l);
    tap_is_int(cj_event_record(w, s), CJ_OK, "it is recorded");
    tap_is_int(cj_stream_wait(t, e), CJ_OK, "and waited for by its own handle");
    tap_is_int(cj_event_query(w), CJ_ENOTREADY, "it is not complete behind a latch");
    tap_is_int(cj_stream_query(t), CJ_ENOTREADY, "nor is what waits for it");
    latch_open(&l);
    tap_is_int(cj_event_sync(w), CJ_OK, "then it is");
    tap_is_int(cj_stream_sync(t), CJ_OK, "and what waited");
    cj_event_free(w);
    tap_is_int(cj_event_record(e, s), CJ_OK, "its owner's handle outlives the wrapper");
    cj_stream_sync(s);
    cj_event_free(e);
    cj_event *none = cj_event_wrap(dev, NULL);
    tap_is_int(cj_error_of(none)->status, CJ_EINVAL, "NULL is no event");
    cj_event_free(none);
}

int main(void)
{
    bench_open(BYTES);
    kinds();
    not_known();
    smaller();
    after_free();
    wrapped();
    events();
    return bench_close();
}
