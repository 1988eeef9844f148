/* Pools: each chunk gets a stream of a pool and marks its end with an event of a pool.  Neither is
 * created or destroyed in the loop.  The event returns to its pool by itself when it is reached. */
#include <cujit/cujit.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK = 64, CHUNKS = 32 };

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--help"))
        return puts("usage: pools\nSquares 32 chunks of numbers on the streams of a pool, and adds them."), 0;

    /* x[i] *= x[i]; then total += x[i], over the threads */
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "squares");
    cj_val x = cj_param_ptr(f, "x", CJ_U64), n = cj_param(f, "n", CJ_U32);
    cj_val i = cj_for(f, cj_global_id(f, CJ_X), n, cj_global_size(f, CJ_X));
        cj_val v = cj_get(f, x, i);
        cj_set(f, x, i, cj_mul(f, v, v));
    cj_end(f);
    f = cj_ptx_kernel(m, "add");
    x = cj_param_ptr(f, "x", CJ_U64), n = cj_param(f, "n", CJ_U32);
    cj_val total = cj_param_ptr(f, "total", CJ_U64), sum = cj_let(f, CJ_U64, 0);
    i = cj_for(f, cj_global_id(f, CJ_X), n, cj_global_size(f, CJ_X));
        cj_assign(f, sum, cj_add(f, sum, cj_get(f, x, i)));
    cj_end(f);
    cj_atomic_add(f, total, sum);

    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_kernel *squares = cj_kernel_load(dev, m, "squares", NULL), *add = cj_kernel_load(dev, m, "add", NULL);
    cj_stream_pool *streams = cj_stream_pool_create(dev, CJ_STREAM_POOL(.streams = 4));
    cj_event_pool *events = cj_event_pool_create(dev, CJ_EVENT_POOL(.regular = CHUNKS));
    cj_stream *s = cj_stream_create(dev, NULL);
    uint64_t h[CHUNKS * CHUNK], want = 0, got = 0;
    const uint32_t count = CHUNKS * CHUNK;
    for (uint32_t j = 0; j < count; j++) h[j] = j % 1000, want += h[j] * h[j];
    cj_dptr d = cj_alloc(s, sizeof h), t = cj_alloc(s, sizeof got);
    cj_fill8(s, t, 0, sizeof got);
    cj_copy_to_device(s, d, h, sizeof h);

    for (int c = 0; c < CHUNKS; c++) {
        cj_pooled_stream lease = cj_stream_pool_acquire(streams, CJ_STREAM_REQUEST(.kernel = squares));
        cj_pooled_event done = cj_event_pool_acquire(events, CJ_EVENT_REGULAR);
        cj_stream *on = cj_stream_pool_stream(streams, lease);
        cj_event *e = cj_event_pool_event(events, done);
        cj_stream_fork(s, on);
        cj_launch(on, squares, cj_grid(1, 64), cj_offset(d, c * CHUNK * (int64_t)sizeof *h), CHUNK);
        cj_stream_use(on, d);
        cj_event_record(e, on);
        cj_stream_wait(s, e);
        cj_event_pool_release(events, done); /* the wait holds; the event returns when it is reached */
        cj_stream_pool_release(streams, lease);
    }
    cj_launch(s, add, cj_grid(4, 64), d, count, t);
    cj_copy_to_host(s, &got, t, sizeof got);
    if (cj_stream_pool_sync(streams) != CJ_OK || cj_stream_sync(s) != CJ_OK)
        return fprintf(stderr, "%s\n", cj_error_last()->message), 1;

    cj_stream_pool_stats stats;
    cj_stream_pool_stats_defaults(&stats);
    cj_stream_pool_get_stats(streams, &stats);
    printf("%s: %d chunks on %u streams, %llu leases: the sum of squares is %llu, %s\n", cj_device_name(dev), CHUNKS,
           stats.streams, (unsigned long long)stats.acquired, (unsigned long long)got, got == want ? "right" : "wrong");
    cj_free(dev, d);
    cj_free(dev, t);
    cj_event_pool_free(events);
    cj_stream_pool_free(streams);
    cj_kernel_free(squares);
    cj_kernel_free(add);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    cj_ptx_free(m);
    return got != want;
}
