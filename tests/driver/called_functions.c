/* Functions with parameters and results of each type: a kernel loads an element, gives it to a function and stores what
 * that returns.  A module has functions of one result only, since those of several have no ABI. */
#include <cujit/cujit.h>

#include <string.h>

#include "tests/device_bench.h"
#include "tests/ptx/ask_ptxas.h"

enum { N = 40, MOST = 8 /* bytes of an element */ };

static const struct { const char *name; cj_type type; size_t bytes; } rows[] = {
    { "u8", CJ_U8, 1 },   { "s8", CJ_S8, 1 },   { "b8", CJ_B8, 1 },   { "u16", CJ_U16, 2 }, { "s16", CJ_S16, 2 },
    { "b16", CJ_B16, 2 }, { "f16", CJ_F16, 2 }, { "bf16", CJ_BF16, 2 }, { "u32", CJ_U32, 4 }, { "s32", CJ_S32, 4 },
    { "b32", CJ_B32, 4 }, { "f32", CJ_F32, 4 }, { "u64", CJ_U64, 8 }, { "s64", CJ_S64, 8 }, { "b64", CJ_B64, 8 },
    { "f64", CJ_F64, 8 },
};
enum { ROWS = sizeof rows / sizeof *rows };

/* out[i] = choose(in[i], in[i + 1], i): the first one where i is even, else the second one. */
static cj_ptx *calling(cj_type type)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_func(m, "choose");
    cj_val x = cj_param(f, "x", type), y = cj_param(f, "y", type), i = cj_param(f, "i", CJ_U32);
    cj_val r = cj_result(f, "r", type);
    cj_assign(f, r, x);
    cj_if(f, cj_ne(f, cj_and(f, i, 1), 0));
        cj_assign(f, r, y);
    cj_end(f);
    cj_return(f);

    cj_fn *k = cj_ptx_kernel(m, "k");
    cj_val in = cj_param_ptr(k, "in", type), out = cj_param_ptr(k, "out", type), at = cj_thread_id(k, CJ_X);
    cj_val next = cj_get(k, in, cj_add(k, at, 1));
    cj_set(k, out, at, cj_call(k, f, cj_get(k, in, at), next, at));
    return m;
}

int main(void)
{
    bench_open(2 * (N + 1) * MOST);
    for (size_t row = 0; row < ROWS; row++) {
        const size_t bytes = rows[row].bytes;
        const cj_dptr out = cj_offset(d, (N + 1) * MOST);
        const char *text = "";
        unsigned char in[(N + 1) * MOST], got[N * MOST], want[N * MOST];
        for (size_t i = 0; i < sizeof in; i++) in[i] = (unsigned char)(i * 37 + 11);
        for (size_t i = 0; i < N; i++) memcpy(want + i * bytes, in + (i + i % 2) * bytes, bytes);
        cj_ptx *m = calling(rows[row].type);
        cj_kernel *k = cj_kernel_load(dev, m, "k", NULL);
        cj_ptx_print(m, 0, &text, NULL);
        ptxas_assembles(text, true, rows[row].name);
        tap_is_int(cj_error_of(k)->status, CJ_OK, "%s: it loads%s%s", rows[row].name,
                   cj_error_of(k)->status ? ": " : "", cj_error_of(k)->message);
        cj_copy_to_device(s, d, in, (N + 1) * bytes);
        cj_launch(s, k, cj_grid(1, N), d, out);
        cj_copy_to_host(s, got, out, N * bytes);
        cj_stream_sync(s);
        tap_is_mem(got, want, N * bytes, "%s: arguments and result arrive", rows[row].name);
        cj_kernel_free(k);
        cj_ptx_free(m);
    }
    return bench_close();
}
