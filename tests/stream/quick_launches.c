/* A launch that repeats what was launched before goes a quick way, which looks at little. What it must not miss: wrong
 * arguments, captures, another context that is current, a driver that rejects the launch, shared memory that the kernel
 * may not have any more, other dimensions, launches of other threads. */
#include <pthread.h>

#include "tests/stream/watched.h"
#include "tests/tap.h"

static watch_bench b;
static cj_kernel *k;
static cj_dptr d;

static uint64_t launched(void)
{
    cj_stream_counts c;
    cj_stream_counts_defaults(&c);
    cj_stream_get_counts(b.s, &c);
    return c.launches;
}

static cj_status launch_with(const cj_arg *args, size_t count)
{
    const cj_dims dims = cj_grid(1, 32);
    return cj_launch_n(b.s, k, &dims, args, count);
}

static cj_status launch(void)
{
    return cj_launch(b.s, k, cj_grid(1, 32), d, d, 2.0f, 1u);
}

static void settle(void)
{
    cj_stream_sync(b.s);
    cj_stream_sync(b.s);
}

static void check_arguments(void)
{
    const cj_arg p = cj_arg_ptr(d), a = cj_arg_f32(2), n = cj_arg_u(1), i = cj_arg_i(1), minus = cj_arg_i(-1);
    cj_arg strange = n, huge = n;
    strange.kind = 32 + CJ_ARG_U;
    huge.v.u = UINT64_C(1) << 32;
    const struct { const char *name; cj_arg args[4]; size_t count; const char *says; } rows[] = {
        { "all is right", { p, p, a, n }, 4, "" },
        { "a signed number", { p, p, a, i }, 4, "" },
        { "0 for a pointer", { p, cj_arg_i(0), a, n }, 4, "" },
        { "a double for a float", { p, p, cj_arg_f64(2), n }, 4, "" },
        { "the largest number", { p, p, a, cj_arg_u(UINT32_MAX) }, 4, "" },
        { "a kind that has the low bits of another one", { p, p, a, strange }, 4, "its kind is 33" },
        { "a number that is too large", { p, p, a, huge }, 4, "which does not fit .u32" },
        { "a negative number", { p, p, a, minus }, 4, "is -1, which does not fit .u32" },
        { "a number for a pointer", { p, n, a, n }, 4, "pass a cj_dptr, or 0" },
        { "a number for a float", { p, p, n, n }, 4, "write it as a float" },
        { "too few", { p, p, a, n }, 3, "k takes 4 arguments, here are 3" },
        { "no argument", { p, p, a, n }, 0, "k takes 4 arguments, here are 0" },
    };
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        const uint64_t before = launched();
        const bool good = !*rows[row].says;
        launch();
        tap_is_int(launch_with(rows[row].args, rows[row].count), good ? CJ_OK : CJ_EINVAL, "%s", rows[row].name);
        tap_has_str(cj_error_of(b.s)->message, rows[row].says, "%s: the message", rows[row].name);
        tap_is_uint(launched(), before + 1 + good, "%s: what is right is counted", rows[row].name);
        settle();
    }
    tap_is_int(launch_with(NULL, 4), CJ_EINVAL, "arguments at NULL");
    settle();
}

static cj_status launch_raw(void)
{
    const cj_dims dims = cj_grid(1, 32);
    float a = 2;
    uint32_t n = 1;
    void *args[] = { &d, &d, &a, &n };
    return cj_launch_raw(b.s, k, &dims, args);
}

static void is_captured(cj_status (*made)(void), const char *says)
{
    const uint64_t before = launched();
    const int ran = watch.launches;
    cj_capture_begin(b.s, CJ_CAPTURE_THREAD);
    made();
    cj_graph *g = cj_capture_end(b.s);
    tap_ok(cj_error_of(g)->status == CJ_OK && launched() == before && watch.launches == ran, "%s", says);
    cj_graph_free(g);
}

/* The same for the driver's array of arguments. */
static void check_raw(void)
{
    float a = 2;
    uint32_t n = 1;
    void *good[] = { &d, &d, &a, &n }, *last_missing[] = { &d, &d, &a, NULL };
    const cj_dims dims = cj_grid(1, 32), other = cj_grid(2, 32), wrong = cj_grid(1, 4096);
    const struct { const char *name; const cj_dims *dims; void **args; const char *says; } rows[] = {
        { "raw: all is right", &dims, good, "" },
        { "raw: other dimensions", &other, good, "" },
        { "raw: the array is NULL", &dims, NULL, "the array is NULL" },
        { "raw: the last address is NULL", &dims, last_missing, "the address of argument 4 of 4 is NULL" },
        { "raw: no dimensions", NULL, good, "the dimensions are NULL" },
        { "raw: a block that is too large", &wrong, good, "4096 threads of a block in x" },
    };
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        const uint64_t before = launched();
        const bool right = !*rows[row].says;
        launch_raw();
        tap_is_int(cj_launch_raw(b.s, k, rows[row].dims, rows[row].args), right ? CJ_OK : CJ_EINVAL, "%s",
                   rows[row].name);
        tap_has_str(cj_error_of(b.s)->message, rows[row].says, "%s: the message", rows[row].name);
        tap_is_uint(launched(), before + 1 + right, "%s: what is right is counted", rows[row].name);
        settle();
    }
    const uint64_t before = launched();
    is_captured(launch_raw, "raw: a captured launch is neither made nor counted");
    for (int tries = 0; tries < 2; tries++) watch_fail(CJI_CU_ID_cuLaunchKernel, 0, CUDA_ERROR_INVALID_VALUE);
    tap_ok(launch_raw() == CJ_EDRIVER, "raw: a launch that the driver rejects: %s", cj_error_of(b.s)->message);
    tap_is_str(cj_error_of(b.s)->call, "cj_launch_raw", "raw: the call is named");
    watch_fail_none();
    tap_is_uint(launched(), before, "raw: is not counted");
    settle();
}

static void check_states(void)
{
    const uint64_t before = launched();
    is_captured(launch, "a captured launch is neither made nor counted");
    watch_set_current(watch_foreign_context());
    tap_is_int(launch(), CJ_OK, "with another context current: %s", cj_error_of(b.s)->message);
    tap_ok(watch_current() == watch_foreign_context(), "which stays current");
    watch_set_current(watch_context());
    launch(), launch();
    for (int tries = 0; tries < 2; tries++) watch_fail(CJI_CU_ID_cuLaunchKernel, 0, CUDA_ERROR_INVALID_VALUE);
    tap_ok(launch() == CJ_EDRIVER, "a launch that the driver rejects: %s", cj_error_of(b.s)->message);
    watch_fail_none();
    tap_is_uint(launched(), before + 3, "is not counted");
    settle();
}

static void check_shared(void)
{
    const cj_dims dims = cj_dims_shared(cj_grid(1, 32), 60000);
    cj_prepared *p = cj_prepare(k, dims, d, d, 2.0f, 1u);
    float a = 2;
    uint32_t n = 1;
    void *args[] = { &d, &d, &a, &n };
    for (int form = 0; form < 3; form++) {
        for (int i = 0; i < 3; i++) {
            if (i == 2) cj_kernel_set_attribute(k, CJ_KERNEL_SHARED_DYNAMIC, 1024);
            watch_forget();
            const cj_status st = form == 2 ? cj_launch_raw(b.s, k, &dims, args)
                                 : form    ? cj_launch_prepared(b.s, p)
                                           : cj_launch(b.s, k, dims, d, d, 2.0f, 1u);
            tap_is_int(st, CJ_OK, "launch %d: %s", i, cj_error_of(b.s)->message);
            tap_is_int(watch_calls(CJI_CU_ID_cuFuncSetAttribute), i == 2 || (i == 0 && !form),
                       "launch %d raises the shared memory where it must", i);
        }
    }
    cj_prepared_free(p);
}

/* Options of a launch in the driver's form: a programmatic one of known dimensions goes the quick way, by the call that
 * takes options; what the options ask for beside that is looked at each time. */
static void check_options(void)
{
    cj_launch_opts early, wrong;
    float a = 2;
    uint32_t n = 1;
    void *args[] = { &d, &d, &a, &n };
    cj_launch_defaults(&early);
    early.programmatic = 1;
    wrong = early;
    wrong.window_ratio = 2;
    const cj_dims plain = cj_grid(3, 32), with = cj_dims_opts(plain, &early), bad = cj_dims_opts(plain, &wrong);
    const cj_dims other = cj_dims_opts(cj_grid(1, 4096), &early);
    for (int i = 0; i < 6; i++) {
        const bool extended = i % 3 != 0;
        watch_forget();
        const uint64_t before = launched();
        tap_is_int(cj_launch_raw(b.s, k, extended ? &with : &plain, args), CJ_OK, "raw launch %d: %s", i,
                   cj_error_of(b.s)->message);
        tap_ok(watch_calls(CJI_CU_ID_cuLaunchKernel) == !extended &&
                   watch_calls(CJI_CU_ID_cuLaunchKernelEx) == extended && launched() == before + 1,
               "by the call that takes its dimensions, and counted");
    }
    for (int tries = 0; tries < 2; tries++) watch_fail(CJI_CU_ID_cuLaunchKernelEx, 0, CUDA_ERROR_INVALID_VALUE);
    tap_is_int(cj_launch_raw(b.s, k, &with, args), CJ_EDRIVER, "one that the driver rejects");
    tap_has_str(cj_error_of(b.s)->message, "cuLaunchKernelEx", "... the driver's call is named");
    watch_fail_none();
    settle();
    tap_is_int(cj_launch_raw(b.s, k, &bad, args), CJ_EINVAL, "wrong options with known dimensions");
    settle();
    tap_is_int(cj_launch_raw(b.s, k, &other, args), CJ_EINVAL, "other dimensions that are too large");
    settle();
    tap_is_int(cj_launch(b.s, k, bad, d, d, 2.0f, 1u), CJ_EINVAL, "wrong options where the same dimensions were noted");
    settle();
}

static void check_prepared(void)
{
    const cj_dims plain = cj_grid(1, 32);
    cj_dims together = plain;
    together.cooperative = 1;
    cj_prepared *p = cj_prepare(k, plain, d, d, 2.0f, 1u);
    for (int i = 0; i < 4; i++) {
        const bool extended = i & 1;
        cj_prepared_set_dims(p, extended ? &together : &plain);
        watch_forget();
        tap_is_int(cj_launch_prepared(b.s, p), CJ_OK, "prepared launch %d: %s", i, cj_error_of(b.s)->message);
        tap_ok(watch_calls(CJI_CU_ID_cuLaunchKernel) == !extended &&
                   watch_calls(CJI_CU_ID_cuLaunchKernelEx) == extended,
               "by the call that takes its dimensions");
    }
    cj_prepared_free(p);
}

static void *launch_some(void *user)
{
    for (int i = 0; i < 10; i++) launch();
    return user;
}

static void check_threads(void)
{
    pthread_t thread;
    const uint64_t before = launched();
    pthread_create(&thread, NULL, launch_some, NULL);
    launch_some(NULL);
    pthread_join(thread, NULL);
    tap_is_uint(launched(), before + 20, "launches of two threads are counted");
}

int main(void)
{
    tap_plan(0);
    watch_setup(&b);
    k = watch_kernel(b.dev);
    d = cj_alloc(b.s, 4096);
    launch(), launch();
    check_arguments();
    check_raw();
    check_states();
    check_shared();
    check_options();
    check_prepared();
    check_threads();
    cj_free(b.dev, d);
    cj_kernel_free(k);
    watch_teardown(&b);
    return tap_done();
}
