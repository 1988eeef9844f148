/* After a kernel has failed every later call fails.  Where the driver does not tell what failed, the first report
 * names the launches since the stream was synchronized, and every later one names them again. */
#include <string.h>

#include "tests/stream/watched.h"
#include "tests/tap.h"

static const char since[] = "; the context is lost since one of the launches k";

int main(void)
{
    watch_bench b;
    char host[16];
    tap_plan(0);
    watch_setup(&b);
    cj_kernel *k = watch_kernel(b.dev);
    cj_dptr d = cj_alloc(b.s, 64);
    cj_stream_sync(b.s);
    cj_launch(b.s, k, cj_grid(1, 1), d, d, 1.0f, 1u);
    watch_settle();
    watch_die(CUDA_ERROR_ILLEGAL_ADDRESS);
    tap_is_int(cj_stream_sync(b.s), CJ_EDRIVER, "the stream fails");
    tap_has_str(cj_error_of(b.s)->message, "enqueued on the stream since its last synchronization: k",
                "the first report");
    tap_ok(!strstr(cj_error_of(b.s)->message, since), "... is the first");
    tap_is_int(cj_copy_to_host(b.t, host, d, 16), CJ_EDRIVER, "a copy on another stream fails");
    tap_is_int(cj_stream_query(b.t), CJ_EDRIVER, "a query too");
    tap_has_str(cj_error_last()->message, since, "the latest of them names the launch");
    cj_stream_sync(b.t);
    tap_has_str(cj_error_of(b.t)->message, since, "so does the stream's first failure");
    watch_die(CUDA_SUCCESS);
    cj_stream_sync(b.s);
    cj_stream_sync(b.s);
    cj_stream_sync(b.t);
    cj_stream_sync(b.t);
    cj_free(b.dev, d);
    cj_kernel_free(k);
    watch_teardown(&b);
    return tap_done();
}
