/* A pool's own stream, which tells when a lease was requested, is late: the time of the lease is not lost, but read
 * later. */
#include "tests/stream/watched.h"
#include "tests/tap.h"

static uint64_t measured(cj_stream_pool *pool)
{
    cj_pool_work_stats now;
    cj_pool_work_stats_defaults(&now);
    cj_stream_pool_get_work_stats(pool, CJ_WORK_COMPUTE, &now);
    return now.measured;
}

int main(void)
{
    watch_bench b;
    tap_plan(0);
    watch_setup(&b);
    cj_stream_pool *pool = cj_stream_pool_create(b.dev, CJ_STREAM_POOL(.streams = 2, .sample = 1));
    watch_fail(CJI_CU_ID_cuEventElapsedTime, 0, CUDA_ERROR_NOT_READY);
    for (int i = 0; i < 20; i++) cj_stream_pool_release(pool, cj_stream_pool_acquire(pool, NULL));
    cj_stream_pool_sync(pool);
    tap_is_uint(measured(pool), 20, "a time is read again while the pool's clock is late");
    watch_fail_none();
    cj_stream_pool_free(pool);
    watch_teardown(&b);
    return tap_done();
}
