/* The counters of a stream: what was taken by the driver counts once, what failed or was captured does not. */
#include <stdlib.h>
#include <string.h>

#include "tests/stream/watched.h"
#include "tests/tap.h"

static cj_stream_counts of(cj_stream *s)
{
    cj_stream_counts c;
    cj_stream_counts_defaults(&c);
    tap_is_int(cj_stream_get_counts(s, &c), CJ_OK, "the counters can be read");
    return c;
}

static void nothing(void *user) { (void)user; }

static void check_counts(watch_bench *b)
{
    char host[64] = { 0 };
    cj_dptr d = cj_alloc(b->s, 64);
    cj_kernel *k = watch_kernel(b->dev);
    cj_event *e = cj_event_create(b->dev, NULL);
    const cj_arg args[] = { cj_arg_ptr(d), cj_arg_ptr(d), cj_arg_f32(1), cj_arg_u(4) };
    const cj_dims dims = cj_grid(1, 32);
    cj_stream_counts c = of(b->s);
    tap_ok(c.operations == 0 && c.launches == 0 && c.bytes_to_device == 0 && c.bytes_to_host == 0 &&
               c.bytes_on_device == 0,
           "a new stream has no work yet");
    tap_ok(!c.copies_to_device && !c.copies_to_host && !c.copies_on_device && !c.fills && !c.waits,
           "and made no copy, fill or wait");
    cj_copy_to_device(b->s, d, host, 48);
    cj_copy_to_device(b->s, d, host, 16);
    cj_copy_to_host(b->s, host, d, 10);
    cj_copy(b->s, d, cj_offset(d, 32), 8);
    cj_fill8(b->s, d, 0, 64);
    cj_host_func(b->s, nothing, NULL);
    cj_event_record(e, b->s);
    cj_stream_wait(b->s, e);
    cj_launch_n(b->s, k, &dims, args, 4);
    cj_launch_n(b->s, k, &dims, args, 4);
    c = of(b->s);
    tap_is_uint(c.operations, 10, "ten calls are ten operations");
    tap_is_uint(c.launches, 2, "two of them launches");
    tap_is_uint(c.bytes_to_device, 64, "bytes to the device");
    tap_is_uint(c.bytes_to_host, 10, "bytes to the host");
    tap_is_uint(c.bytes_on_device, 8, "bytes on the device");
    tap_is_uint(c.copies_to_device, 2, "copies to the device");
    tap_is_uint(c.copies_to_host, 1, "copies to the host");
    tap_is_uint(c.copies_on_device, 1, "copies on the device");
    tap_is_uint(c.fills, 1, "fills");
    tap_is_uint(c.waits, 1, "waits");
    cj_stream_fork(b->s, b->t);
    tap_is_uint(of(b->t).operations, 1, "a fork counts on the stream that waits");
    tap_is_uint(of(b->t).waits, 1, "as a wait there");
    tap_is_uint(of(b->s).waits, 1, "and not on the one that is waited for");
    tap_is_uint(of(b->s).operations, 11, "and on the one that is waited for");
    cj_fill16(b->s, cj_offset(d, 1), 0, 1);
    cj_copy_to_host(b->s, host, d, 65);
    watch_fail(CJI_CU_ID_cuLaunchKernel, 0, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    cj_launch_n(b->s, k, &dims, args, 4);
    tap_is_uint(of(b->s).operations, 11, "what fails does not count");
    watch_fail(CJI_CU_ID_cuEventRecord, 0, CUDA_ERROR_OUT_OF_MEMORY);
    tap_ok(cj_event_record(e, b->s) != CJ_OK && of(b->s).operations == 11, "nor does a record that fails");
    cj_stream_sync(b->s);
    cj_capture_begin(b->s, CJ_CAPTURE_THREAD);
    cj_launch_n(b->s, k, &dims, args, 4);
    cj_fill8(b->s, d, 0, 64);
    tap_is_uint(of(b->s).operations, 11, "nor does what is captured; reading does not harm the capture");
    cj_graph *g = cj_capture_end(b->s);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_launch(b->s, x);
    cj_graph_launch(b->s, x);
    c = of(b->s);
    tap_is_uint(c.operations, 13, "a graph is one operation at each launch");
    tap_is_uint(c.launches, 2, "and no launch of a kernel by itself");
    cj_stream_sync(b->s);
    cj_graph_exec_free(x);
    cj_graph_free(g);
    cj_event_free(e);
    cj_kernel_free(k);
    cj_free(b->dev, d);
}

static void check_memory(watch_bench *b)
{
    cj_stream *s = cj_stream_create(b->dev, NULL);
    cj_dptr one = cj_alloc(s, 1000), two = cj_alloc(s, 500);
    tap_ok(of(s).bytes_held == 1500 && of(s).bytes_held_most == 1500, "memory of cj_alloc is held by its home stream");
    cj_free(b->dev, one);
    cj_dptr three = cj_alloc(s, 100);
    cj_stream_counts c = of(s);
    tap_is_uint(c.bytes_held, 600, "what is freed is not");
    tap_is_uint(c.bytes_held_most, 1500, "the most stays");
    cj_free(b->dev, (cj_dptr){ 12345 });
    watch_fail(CJI_CU_ID_cuMemAllocAsync, 0, CUDA_ERROR_OUT_OF_MEMORY);
    cj_alloc(s, 4096);
    tap_is_uint(of(s).bytes_held, 600, "failures change nothing");
    tap_is_uint(of(b->s).bytes_held, 0, "nor does another stream's memory");
    cj_stream_free(s);
    cj_free(b->dev, two);
    cj_free(b->dev, three);
    cj_error_clear(b->dev);
}

static void check_sizes(watch_bench *b)
{
    struct { cj_stream_counts c; uint64_t more; } newer;
    cj_stream_counts c;
    memset(&newer, 0x5a, sizeof newer);
    newer.c.size = sizeof newer;
    tap_is_int(cj_stream_get_counts(b->s, &newer.c), CJ_OK,
               "a struct of a newer version is filled as far as it is known");
    tap_is_uint(newer.more, UINT64_C(0x5a5a5a5a5a5a5a5a), "and not beyond");
    memset(&c, 0x5a, sizeof c);
    c.size = offsetof(cj_stream_counts, bytes_to_device);
    tap_is_int(cj_stream_get_counts(b->s, &c), CJ_OK, "one of an older version as far as it goes");
    tap_ok(c.operations < 100 && c.bytes_to_device == UINT64_C(0x5a5a5a5a5a5a5a5a), "and no further");
    c.size = 0;
    tap_is_int(cj_stream_get_counts(b->s, &c), CJ_EINVAL, "without a size it is rejected");
    tap_is_int(cj_stream_get_counts(b->s, NULL), CJ_EINVAL, "NULL too");
    cj_stream_sync(b->s);
}

int main(void)
{
    setenv("CUJIT_ALLOCATOR", "driver", 1); /* what releases do to the driver is seen */
    watch_bench b;
    tap_plan(0);
    watch_setup(&b);
    check_counts(&b);
    check_memory(&b);
    check_sizes(&b);
    watch_teardown(&b);
    return tap_done();
}
