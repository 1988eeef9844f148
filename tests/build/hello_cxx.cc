// The first program of the README as C++17: the same calls, the handy forms as templates.
#include <cujit/cujit.h>

#include <cstdio>

int main()
{
    constexpr int N = 1000;
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "saxpy");
    cj_val x = cj_param_ptr(f, "x", CJ_F32), y = cj_param_ptr(f, "y", CJ_F32);
    cj_val a = cj_param(f, "a", CJ_F32), n = cj_param(f, "n", CJ_U32);
    cj_val i = cj_global_id(f, CJ_X);
    cj_if(f, cj_lt(f, i, n));
        cj_val xi = cj_get(f, x, i), yi = cj_get(f, y, i);
        cj_val sum = cj_def(f, "fma.rn.f32", a, xi, yi);
        cj_set(f, y, i, cj_def(f, "add.f32", sum, 1));
    cj_end(f);

    cj_driver *drv = cj_driver_open(nullptr);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, nullptr);
    cj_kernel *k = cj_kernel_load(dev, m, "saxpy", NULL);
    auto *h = static_cast<float *>(cj_host_alloc(dev, 2 * N * sizeof(float), NULL));
    if (!h) return std::printf("%s\n", cj_error_of(dev)->message), 1;
    for (int j = 0; j < N; j++) h[j] = float(j), h[N + j] = 1;
    cj_dptr d = cj_alloc(s, 2 * N * sizeof *h), dy = cj_offset(d, N * sizeof *h);
    cj_copy_to_device(s, d, h, 2 * N * sizeof *h);
    cj_launch(s, k, cj_threads(N, 256), d, dy, 2.0f, N);
    cj_copy_to_host(s, h + N, dy, N * sizeof *h);
    if (cj_stream_sync(s) != CJ_OK) return std::printf("%s\n", cj_error_of(s)->message), 1;
    int wrong = 0;
    for (int j = 0; j < N; j++) wrong += h[N + j] != 2 * float(j) + 2;
    std::printf("%s: y[10] = %g\n", cj_device_name(dev), double(h[N + 10]));

    cj_free(dev, d);
    cj_host_free(dev, h);
    cj_kernel_free(k);
    cj_ptx_free(m);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return wrong != 0;
}
