/* A program linked with libcujit.a and libcujit-sim.a, so that the CPU device is inside it: no file is looked for. */
#include <cujit/cujit.h>
#include <cujit/sim.h>

#include <stdio.h>

int main(void)
{
    enum { N = 1000 };
    static uint32_t squares[N];
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "squares");
    cj_val out = cj_param_ptr(f, "out", CJ_U32);
    cj_val i = cj_for(f, cj_global_id(f, CJ_X), cj_imm(f, N), cj_global_size(f, CJ_X));
        cj_set(f, out, i, cj_mul(f, i, i));
    cj_end(f);

    cj_driver *drv = cj_driver_open_resolver(cujit_sim_get_symbol, NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_kernel *k = cj_kernel_load(dev, m, "squares", NULL);
    cj_dptr d = cj_alloc(s, sizeof squares);
    cj_launch(s, k, cj_grid(2, 64), d);
    cj_copy_to_host(s, squares, d, sizeof squares);
    int wrong = cj_stream_sync(s) != CJ_OK;
    if (wrong) fprintf(stderr, "static_user: %s\n", cj_error_of(s)->message);
    for (uint32_t j = 0; j < N && !wrong; j++)
        if (squares[j] != j * j) wrong = 1, fprintf(stderr, "static_user: %u squared is %u\n", j, squares[j]);
    if (!wrong) printf("%s inside: %u squared is %u\n", cj_driver_kind(drv), N - 1, squares[N - 1]);

    cj_free(dev, d);
    cj_kernel_free(k);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    cj_ptx_free(m);
    return wrong;
}
