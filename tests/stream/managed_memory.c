/* Managed memory has one address for host and device, goes where it is sent, and is released like all memory. */
#include <string.h>

#include "tests/device_bench.h"

enum { N = 1024 };

static const cj_advice advices[] = { CJ_ADVICE_READ_MOSTLY, CJ_ADVICE_PREFER_DEVICE, CJ_ADVICE_PREFER_HOST,
                                     CJ_ADVICE_USED_BY_DEVICE, CJ_ADVICE_USED_BY_HOST };

static void shared_use(void)
{
    cj_dptr m = cj_managed_alloc(s, N * 4);
    uint32_t *h = cj_managed_host(m), copy[N];
    tap_ok(m.addr != 0, "managed memory");
    for (uint32_t i = 0; i < N; i++) h[i] = i;
    cj_status st = cj_prefetch_to_device(s, m, N * 4);
    const bool moves = st != CJ_ENOTSUP;
    if (moves) tap_is_int(st, CJ_OK, "is sent to the device");
    else tap_skip(1, "this device does not move managed memory on demand");
    cj_stream_sync(s);
    for (size_t i = 0; i < sizeof advices / sizeof *advices; i++) {
        tap_is_int(cj_managed_advise(dev, m, N * 4, advices[i]), moves ? CJ_OK : CJ_ENOTSUP,
                   "advice %d is taken, or not supported", (int)i);
        tap_is_int(cj_managed_unadvise(dev, m, N * 4, advices[i]), moves ? CJ_OK : CJ_ENOTSUP, "and taken back");
    }
    cj_launch(s, add, cj_threads(N, 128), m, N, 1000);
    cj_copy_to_host(s, copy, m, sizeof copy);
    if (moves) tap_is_int(cj_prefetch_to_host(s, m, N * 4), CJ_OK, "and back to the host");
    tap_is_int(cj_prefetch(s, m, N * 4, dev), moves ? CJ_OK : CJ_ENOTSUP, "to a device that is named");
    tap_is_int(cj_prefetch(s, m, N * 4, NULL), CJ_EHANDLE, "which must be one");
    cj_stream_sync(s);
    tap_is_int(cj_stream_sync(s), CJ_OK, "a kernel and a copy have used it");
    tap_ok(h[0] == 1000 && h[N - 1] == N + 999, "the host sees what the kernel wrote: %u %u", h[0], h[N - 1]);
    tap_is_mem(copy, h, sizeof copy, "so did the copy");
    tap_is_int(cj_copy_to_host(s, copy, m, N * 4 + 1), CJ_EINVAL, "its size is known as that of all memory");
    cj_stream_sync(s);
    tap_is_int(cj_free(dev, m), CJ_OK, "it is freed");
    cj_device_collect(dev);
}

static void freed_in_use(void)
{
    struct latch l = LATCH_CLOSED;
    cj_dptr m = cj_managed_alloc(s, N * 4);
    uint32_t seen[4] = { 0 };
    cj_fill32(s, m, 6, N);
    cj_stream_sync(s);
    bench_hold(t, &l);
    cj_copy_to_host(t, seen, m, sizeof seen);
    tap_is_int(cj_free(dev, m), CJ_OK, "freed while another stream will read it");
    tap_is_uint(cj_device_collect(dev), 1, "it waits");
    latch_open(&l);
    tap_is_int(cj_stream_sync(t), CJ_OK, "for that");
    tap_ok(seen[0] == 6 && seen[3] == 6, "which was right");
    tap_is_uint(cj_device_collect(dev), 0, "and goes");
}

static void refusals(void)
{
    cj_dptr m = cj_managed_alloc(s, 64), plain = cj_alloc(s, 64);
    tap_is_uint(cj_managed_alloc(s, 0).addr, 0, "no bytes are no memory");
    tap_is_int(cj_stream_sync(s), CJ_EINVAL, "which the stream reports");
    tap_is_int(cj_managed_advise(dev, m, 64, (cj_advice)5), CJ_EINVAL, "no advice");
    tap_has_str(cj_error_of(dev)->message, "none of CJ_ADVICE_READ_MOSTLY", "is named");
    tap_is_int(cj_managed_advise(dev, (cj_dptr){ 0 }, 64, CJ_ADVICE_READ_MOSTLY), CJ_EINVAL, "no memory is rejected");
    tap_is_int(cj_managed_advise(dev, m, 0, CJ_ADVICE_READ_MOSTLY), CJ_EINVAL, "no bytes too");
    tap_is_int(cj_prefetch_to_device(s, m, 0), CJ_OK, "but none are nothing to move");
    cj_status st = cj_prefetch_to_device(s, plain, 64);
    tap_ok(st == CJ_EDRIVER || st == CJ_ENOTSUP, "memory that is not managed is not moved: %s", cj_status_name(st));
    if (st == CJ_EDRIVER)
        tap_has_str(cj_error_of(s)->message, "make that with cj_managed_alloc", "which says what to do");
    cj_stream_sync(s);
    st = cj_prefetch_to_host(s, m, 65);
    tap_ok(st == CJ_EINVAL || st == CJ_ENOTSUP, "nor is what does not fit: %s", cj_status_name(st));
    cj_stream_sync(s);
    cj_capture_begin(s, CJ_CAPTURE_THREAD);
    tap_is_int(cj_prefetch_to_host(s, m, 64), CJ_ESTATE, "a captured stream moves nothing");
    tap_is_uint(cj_managed_alloc(s, 64).addr, 0, "and allocates nothing");
    cj_graph_free(cj_capture_end(s));
    cj_stream_sync(s);
    cj_stream_sync(s);
    cj_free(dev, m);
    cj_free(dev, plain);
}

int main(void)
{
    cj_device_info info;
    bench_open(0);
    cj_device_info_defaults(&info);
    cj_device_get_info(dev, &info);
    if (info.managed_memory) {
        shared_use();
        freed_in_use();
        refusals();
    } else {
        tap_is_uint(cj_managed_alloc(s, 64).addr, 0, "a device without managed memory gives none");
        tap_is_int(cj_stream_sync(s), CJ_ENOTSUP, "and says so");
    }
    return bench_close();
}
