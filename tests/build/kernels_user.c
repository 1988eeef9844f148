/* A user's program with libcujit-kernels: the sum and the running sums of some numbers. */
#include <cujit/kernels.h>

#include <stdio.h>

int main(void)
{
    enum { N = 1000 };
    static int32_t h[N], sum;
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_reduce *r = cj_reduce_create(dev, CJ_REDUCE(.type = CJ_S32));
    cj_scan *c = cj_scan_create(dev, CJ_SCAN(.type = CJ_S32));
    for (int32_t i = 0; i < N; i++) h[i] = i + 1;
    cj_dptr d = cj_alloc(s, sizeof h + 4), out = cj_offset(d, sizeof h);
    cj_copy_to_device(s, d, h, sizeof h);
    cj_reduce_launch(s, r, &(cj_reduce_args){ .x = { d, 0, 0 }, .columns = N, .out = out });
    cj_scan_launch(s, c, &(cj_scan_args){ .x = { d, 0, 0 }, .out = { d, 0, 0 }, .columns = N });
    cj_copy_to_host(s, &sum, out, 4);
    cj_copy_to_host(s, h, d, sizeof h);
    if (cj_stream_sync(s) != CJ_OK) return fprintf(stderr, "%s\n", cj_error_of(s)->message), 1;
    printf("%s: the sum is %d, and so is the last running sum, %d\n", cj_device_name(dev), sum, h[N - 1]);
    cj_free(dev, d);
    cj_scan_free(c);
    cj_reduce_free(r);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return sum == N * (N + 1) / 2 && h[N - 1] == sum ? 0 : 1;
}
