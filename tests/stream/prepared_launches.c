/* Prepared launches: kernel, dimensions and arguments are bound and checked once, replaced in place, launched on
 * any stream of the device, captured, counted and profiled like others. */
#include <string.h>

#include "tests/device_bench.h"

enum { N = 64 };

typedef struct triple { uint32_t v[3]; } triple;

/* sum(x, t): x[0] += t.v[0] + t.v[1] + t.v[2], a parameter of 12 bytes */
static const char sum_text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                               ".visible .entry sum(.param .u64 .ptr .global x, .param .align 4 .b8 t[12])\n{\n"
                               " .reg .b32 %r<8>;\n .reg .b64 %d<2>;\n"
                               " ld.param.u64 %d1, [x];\n ld.param.u32 %r1, [t];\n ld.param.u32 %r2, [t+4];\n"
                               " ld.param.u32 %r3, [t+8];\n add.u32 %r4, %r1, %r2;\n add.u32 %r5, %r4, %r3;\n"
                               " red.global.add.u32 [%d1], %r5;\n ret;\n}\n";

static uint32_t first(cj_dptr at)
{
    uint32_t out = 0;
    cj_copy_to_host(s, &out, at, sizeof out);
    cj_stream_sync(s);
    return out;
}

static void check_launches(void)
{
    cj_prepared *p = cj_prepare(add, cj_threads(N, 32), d, N, 1u);
    tap_is_int(cj_error_of(p)->status, CJ_OK, "a launch is prepared: %s", cj_error_of(p)->message);
    tap_ok(cj_prepared_kernel(p) == add, "of that kernel");
    cj_fill32(s, d, 0, N);
    for (int i = 0; i < 3; i++)
        tap_is_int(cj_launch_prepared(s, p), CJ_OK, "launch %d: %s", i, cj_error_of(s)->message);
    tap_is_uint(first(d), 3, "each launch ran");
    tap_is_int(cj_prepared_set(p, 2, 10u), CJ_OK, "an argument is replaced");
    tap_is_int(cj_launch_prepared(s, p), CJ_OK, "and launched");
    tap_is_int(cj_prepared_set(p, 1, 1, 100u), CJ_OK, "two are, right behind the launch");
    cj_stream_sync(s);
    tap_is_int(cj_launch_prepared(t, p), CJ_OK, "another stream launches it too");
    cj_stream_sync(t);
    tap_is_uint(first(d), 113, "each launch had its own values");
    tap_is_uint(first(cj_offset(d, 4)), 13, "the last one only the first element");
    tap_is_int(cj_prepared_set_dims(p, (const cj_dims[]){ cj_grid(1, 32) }), CJ_OK, "dimensions are replaced");
    cj_prepared_set(p, 1, N);
    cj_launch_prepared(s, p);
    tap_is_uint(first(cj_offset(d, 4 * 40)), 13, "the other block is not launched");
    tap_is_uint(first(d), 213, "the first one is");
    cj_prepared_free(p);
}

static void check_bytes(void)
{
    cj_module *mod = cj_module_load_text(dev, sum_text, NULL);
    cj_kernel *k = cj_module_kernel(mod, "sum");
    triple value = { { 1, 2, 3 } };
    cj_prepared *p = cj_prepare(k, cj_grid(1, 1), d, cj_arg_bytes(&value, sizeof value));
    cj_kernel_free(k);
    cj_module_free(mod);
    tap_is_int(cj_error_of(p)->status, CJ_OK, "bytes are copied: %s", cj_error_of(p)->message);
    memset(&value, 0xff, sizeof value);
    cj_fill32(s, d, 0, 1);
    cj_launch_prepared(s, p);
    tap_is_uint(first(d), 6, "when the launch is prepared, and the kernel is retained");
    value = (triple){ { 10, 20, 30 } };
    tap_is_int(cj_prepared_set(p, 1, cj_arg_bytes(&value, sizeof value)), CJ_OK, "other bytes");
    memset(&value, 0xff, sizeof value);
    cj_launch_prepared(s, p);
    tap_is_uint(first(d), 66, "are copied too");
    tap_is_int(cj_prepared_set(p, 1, cj_arg_bytes(&value, 8)), CJ_EINVAL, "too few bytes");
    tap_is_int(cj_prepared_set(p, 1, cj_arg_bytes(NULL, sizeof value)), CJ_EINVAL, "bytes at NULL");
    cj_launch_prepared(s, p);
    tap_is_uint(first(d), 126, "change nothing");
    cj_prepared_free(p);
}

static void check_capture(void)
{
    cj_prepared *p = cj_prepare(add, cj_threads(N, 32), d, N, 1u);
    cj_fill32(s, d, 0, N);
    cj_stream_sync(s);
    cj_capture_begin(s, CJ_CAPTURE_THREAD);
    cj_launch_prepared(s, p);
    cj_prepared_set(p, 2, 20u);
    cj_launch_prepared(s, p);
    cj_graph *g = cj_capture_end(s);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_prepared_free(p);
    cj_graph_launch(s, x);
    tap_is_uint(first(d), 21, "a graph has the values of each captured launch");
    cj_graph_exec_free(x);
    cj_graph_free(g);
}

static void check_mistakes(void)
{
    const struct { const char *name; cj_prepared *p; const char *says; } rows[] = {
        { "too few arguments", cj_prepare(add, cj_threads(N, 32), d, N), "add takes 3 arguments, here are 2" },
        { "an argument that does not fit", cj_prepare(add, cj_threads(N, 32), d, -1, 1u), "argument 2 (n) is -1" },
        { "a block that is too large", cj_prepare(add, cj_grid(1, 2048), d, N, 1u), "2048 threads of a block in x" },
        { "no dimensions", cj_prepare_n(add, NULL, NULL, 0), "the dimensions are NULL" },
        { "arguments at NULL", cj_prepare_n(add, (const cj_dims[]){ cj_grid(1, 1) }, NULL, 3), "3 arguments at NULL" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tap_is_int(cj_error_of(rows[i].p)->status, CJ_EINVAL, "%s", rows[i].name);
        tap_has_str(cj_error_of(rows[i].p)->message, rows[i].says, "%s: the message", rows[i].name);
        tap_is_int(cj_launch_prepared(s, rows[i].p), CJ_EINVAL, "%s: a launch fails with it", rows[i].name);
        cj_stream_sync(s);
        cj_prepared_free(rows[i].p);
    }
    cj_fill32(s, d, 0, N);
    cj_prepared *p = cj_prepare(add, cj_threads(N, 32), d, N, 1u);
    const struct { const char *name; cj_status got; } sets[] = {
        { "an argument behind the last", cj_prepared_set(p, 3, 1u) },
        { "more arguments than there are", cj_prepared_set(p, 2, 1u, 1u) },
        { "the first one fits, the second does not", cj_prepared_set(p, 1, 1, -1) },
        { "a number for a pointer", cj_prepared_set(p, 0, 7u) },
        { "no dimensions", cj_prepared_set_dims(p, NULL) },
        { "dimensions of nothing", cj_prepared_set_dims(p, (const cj_dims[]){ cj_grid(0, 1) }) },
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) tap_is_int(sets[i].got, CJ_EINVAL, "%s", sets[i].name);
    cj_launch_prepared(s, p);
    tap_is_uint(first(cj_offset(d, 4 * (N - 1))), 1, "after which everything is as it was");
    cj_prepared_free(p);
}

/* What it costs the driver: one call, and none to look anything up. */
static void check_counts(void)
{
    cj_stream_counts before = { .size = sizeof before }, after = { .size = sizeof after };
    cj_prepared *p = cj_prepare(add, cj_threads(N, 32), d, N, 1u);
    cj_stream_get_counts(s, &before);
    for (int i = 0; i < 5; i++) cj_launch_prepared(s, p);
    cj_stream_get_counts(s, &after);
    tap_is_uint(after.launches - before.launches, 5, "they are counted");
    cj_profile *times = cj_profile_create(NULL);
    cj_profile_total total[4];
    cj_profile_on(times);
    cj_launch_prepared(s, p);
    cj_stream_sync(s);
    size_t n = cj_profile_totals(times, s, total, 4);
    tap_ok(n == 1 && !strcmp(total[0].name, "add") && total[0].count == 1, "and measured, by the kernel's name");
    cj_profile_free(times);
    cj_prepared_free(p);
}

int main(void)
{
    bench_open(4 * N);
    check_launches();
    check_bytes();
    check_capture();
    check_mistakes();
    check_counts();
    return bench_close();
}
