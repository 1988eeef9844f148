/* Inline functions: a kernel that has the function's instructions computes what a kernel that calls it does, and has no
 * call; where the function cannot be copied it is called all the same. */
#include <cujit/cujit.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/device_bench.h"
#include "tests/ptx/ask_ptxas.h"

enum { N = 64 };

/* Each makes the function "f" of one u32 and one f32, with one u32 as its result. */
typedef struct inline_parts { cj_ptx *m; cj_fn *f; cj_val x, y; } inline_parts;

static void plain(inline_parts *p) { cj_return_value(p->f, cj_mad(p->f, p->x, 7, cj_cvt(p->f, CJ_U32, p->y))); }

/* Returns in three places, one of them behind a guard. */
static void early_returns(inline_parts *p)
{
    cj_fn *f = p->f;
    cj_val r = cj_result(f, "r", CJ_U32);
    cj_assign(f, r, 5);
    cj_return_if(f, cj_lt(f, p->x, 8));
    cj_if(f, cj_gt(f, p->y, 40.0f));
        cj_assign(f, r, cj_sub(f, p->x, 1));
        cj_return(f);
    cj_end(f);
    cj_assign(f, r, cj_mul(f, p->x, 3));
}

/* Loops, and writes its parameter. */
static void loops(inline_parts *p)
{
    cj_fn *f = p->f;
    cj_val sum = cj_let(f, CJ_U32, cj_imm(f, 0));
    cj_name(f, sum, "sum");
    cj_comment(f, "The loop of the function");
    cj_loop(f);
        cj_break_if(f, cj_eq(f, p->x, 0));
        cj_assign(f, sum, cj_add(f, sum, p->x));
        cj_assign(f, p->x, cj_shr(f, p->x, 1));
    cj_end(f);
    cj_return_value(f, sum);
}

/* A table of the module, vectors, a special register, an address with an offset. */
static void memory(inline_parts *p)
{
    static const uint32_t table[] = { 3, 1, 4, 1, 5, 9, 2, 6 };
    cj_fn *f = p->f;
    cj_val all = cj_ptx_global(p->m, "table", CJ_U32, 8, table, 8), v = cj_regs(f, CJ_U32, 2);
    cj_val at = cj_at(f, all, cj_and(f, p->x, 4));
    cj_ins(f, "ld.global.v2.u32", v, cj_mem(f, at, 8));
    cj_return_value(f, cj_mad(f, cj_elem(f, v, 0), 100, cj_add(f, cj_elem(f, v, 1), cj_thread_id(f, CJ_X))));
}

static void nested(inline_parts *p)
{
    cj_fn *g = cj_ptx_func(p->m, "both");
    cj_val a = cj_param(g, "a", CJ_U32), low = cj_result(g, "low", CJ_U16), high = cj_result(g, "high", CJ_U16);
    cj_assign(g, low, cj_cvt(g, CJ_U16, a));
    cj_assign(g, high, cj_cvt(g, CJ_U16, cj_shr(g, a, 3)));
    cj_val r[2] = { cj_reg(p->f, CJ_U16), cj_reg(p->f, CJ_U16) }, x = p->x;
    cj_call_into(p->f, g, r, 2, &x, 1);
    cj_return_value(p->f, cj_mad(p->f, cj_cvt(p->f, CJ_U32, r[0]), 1000, cj_cvt(p->f, CJ_U32, r[1])));
}

/* A shared part of a mathematical function, which is a function of the module. */
static void mathematics(inline_parts *p)
{
    cj_fn *f = p->f;
    cj_val big = cj_mul(f, p->y, 123456.0f);
    cj_return_value(f, cj_bits(f, CJ_U32, cj_math_sin(f, cj_add(f, big, cj_cvt(f, CJ_F32, p->x)))));
}

static void own_variable(inline_parts *p)
{
    cj_fn *f = p->f;
    cj_val own = cj_local(f, "own", CJ_U32, 4);
    cj_set(f, own, cj_and(f, p->x, 3), p->x);
    cj_return_value(f, cj_add(f, cj_get(f, own, cj_and(f, p->x, 3)), 1));
}

static void recursive(inline_parts *p)
{
    cj_fn *f = p->f;
    cj_val r = cj_result(f, "r", CJ_U32);
    cj_assign(f, r, 1);
    cj_return_if(f, cj_lt(f, p->x, 2));
    cj_val again = cj_call(f, f, cj_shr(f, p->x, 1), p->y);
    cj_assign(f, r, cj_add(f, cj_mul(f, again, 3), cj_and(f, p->x, 1)));
}

/* The kernel has a parameter "out", which the function means as a variable of the module. */
static void hidden_name(inline_parts *p)
{
    static const uint32_t value = 12345;
    cj_val all = cj_ptx_global(p->m, "out", CJ_U32, 1, &value, 1);
    cj_return_value(p->f, cj_add(p->f, cj_get(p->f, all, 0), p->x));
}

static const struct { const char *name; void (*write)(inline_parts *); bool stays; } rows[] = {
    { "one expression", plain, false },
    { "returns in several places", early_returns, false },
    { "a loop that writes a parameter", loops, false },
    { "a table of the module and vectors", memory, false },
    { "a call of a function with two results", nested, false },
    { "a mathematical function with a part of its own", mathematics, false },
    { "a variable of its own: called", own_variable, true },
    { "a call of itself: called within", recursive, true },
    { "a variable whose name the kernel hides: called", hidden_name, true },
};

/* out[i] = f(in[i], i + 0.5) + f(in[i] ^ 1, 2.5), from a loop: the copies do not meet. */
static cj_ptx *module_of(size_t row, bool inlined)
{
    inline_parts p = { .m = cj_ptx_create() };
    p.f = cj_ptx_func(p.m, "f");
    p.x = cj_param(p.f, "x", CJ_U32), p.y = cj_param(p.f, "y", CJ_F32);
    rows[row].write(&p);
    if (inlined) cj_fn_inline(p.f);
    cj_ptx *m = cj_ptx_clone(p.m);
    cj_fn *f = cj_ptx_find(m, "f"), *k = cj_ptx_kernel(m, "k");
    cj_val in = cj_param_ptr(k, "in", CJ_U32), out = cj_param_ptr(k, "out", CJ_U32), at = cj_thread_id(k, CJ_X);
    cj_val sum = cj_let(k, CJ_U32, cj_imm(k, 0)), x = cj_get(k, in, at);
    cj_val turn = cj_for(k, 0, 2, 1);
        cj_val y = cj_select(k, cj_eq(k, turn, 0), cj_add(k, cj_cvt(k, CJ_F32, at), 0.5f), 2.5f);
        cj_assign(k, sum, cj_add(k, sum, cj_call(k, f, cj_xor(k, x, turn), y)));
    cj_end(k);
    cj_set(k, out, at, cj_add(k, sum, cj_call(k, f, 9, 1.25f)));
    cj_ptx_free(p.m);
    return m;
}

/* The body of the kernel, which comes last. */
static const char *kernel_of(cj_ptx *m, const char **whole)
{
    *whole = "";
    if (cj_ptx_print(m, CJ_PRINT_COMMENTS, whole, NULL) != CJ_OK) tap_bail("%s", cj_error_of(m)->message);
    const char *at = strstr(*whole, ".entry k(");
    return at ? at : "";
}

static bool run(cj_ptx *m, const uint32_t *in, uint32_t *out)
{
    cj_kernel *k = cj_kernel_load(dev, m, "k", NULL);
    cj_dptr to = cj_offset(d, N * 4);
    memset(out, 0xff, N * 4);
    cj_copy_to_device(s, d, in, N * 4);
    cj_launch(s, k, cj_grid(1, N), d, to);
    cj_copy_to_host(s, out, to, N * 4);
    bool ok = cj_stream_sync(s) == CJ_OK && cj_error_of(k)->status == CJ_OK;
    if (cj_error_of(k)->status != CJ_OK) tap_diag("%s", cj_error_of(k)->message);
    cj_kernel_free(k);
    return ok;
}

static void compared(size_t row)
{
    uint32_t in[N], got[N], want[N];
    const char *text, *calls;
    for (uint32_t i = 0; i < N; i++) in[i] = i * 2654435761u >> (i % 3 ? 27 : 12);
    cj_ptx *called = module_of(row, false), *inlined = module_of(row, true);
    tap_ok(strstr(kernel_of(called, &calls), "call") != NULL, "%s: the kernel calls it", rows[row].name);
    const bool has = strstr(kernel_of(inlined, &text), "call") != NULL;
    tap_is_int(has, rows[row].stays, "... %s", rows[row].stays ? "inlined or not" : "inlined: no call is left");
    ptxas_assembles(text, true, rows[row].name);
    if (run(called, in, want) && run(inlined, in, got)) tap_is_mem(got, want, sizeof want, "... the same results");
    else tap_fail("... it runs");
    cj_ptx_free(called);
    cj_ptx_free(inlined);
}

/* -- What is said -------------------------------------------------------------------------------------------------- */

static void open_block(cj_ptx *m, cj_fn *f, cj_fn *k)
{
    cj_if(f, cj_eq(f, cj_param(f, "x", CJ_U32), 1));
    cj_fn_inline(f);
    cj_call(k, f, 1);
    (void)m;
}

static void no_place(cj_ptx *m, cj_fn *f, cj_fn *k)
{
    cj_ins(f, "bra", cj_label(f));
    cj_fn_inline(f);
    cj_call(k, f);
    (void)m;
}

static void no_body(cj_ptx *m, cj_fn *f, cj_fn *k)
{
    cj_fn_inline(f);
    cj_call(k, f);
    (void)m;
}

static void of_a_kernel(cj_ptx *m, cj_fn *f, cj_fn *k)
{
    (void)m, (void)f;
    cj_fn_inline(k);
}

static void declared(cj_ptx *m, cj_fn *f, cj_fn *k)
{
    (void)f, (void)k;
    cj_fn_inline(cj_ptx_extern_func(m, "elsewhere"));
}

static void wrong_type(cj_ptx *m, cj_fn *f, cj_fn *k)
{
    cj_return_value(f, cj_add(f, cj_param(f, "x", CJ_U32), 1));
    cj_fn_inline(f);
    cj_call(k, f, 2.5f);
    (void)m;
}

static const struct { const char *name; void (*write)(cj_ptx *, cj_fn *, cj_fn *); cj_status status; const char *says;
} mistakes[] = {
    { "an open block", open_block, CJ_ESTATE,
      "f is inlined, so it is complete before it is called; a block of it is open" },
    { "a label without a place", no_place, CJ_ESTATE, "a label of it has no place yet" },
    { "no body", no_body, CJ_ESTATE, "it has no body yet" },
    { "a kernel", of_a_kernel, CJ_EINVAL, "cj_fn_inline: k is a kernel; kernels cannot be called" },
    { "a declaration", declared, CJ_EINVAL, "cj_fn_inline: elsewhere is declared only: it has no body here" },
    { "an argument of another type", wrong_type, CJ_EPTX, "argument 1 (x)" },
};

static void mistaken(size_t i)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_func(m, "f"), *k = cj_ptx_kernel(m, "k");
    mistakes[i].write(m, f, k);
    tap_is_int(cj_error_of(m)->status, mistakes[i].status, "%s is an error", mistakes[i].name);
    tap_has_str(cj_error_of(m)->message, mistakes[i].says, "... that says it");
    cj_ptx_free(m);
}

/* A chain of functions that is longer than a small stack has room for. */
static void *long_chain(void *unused)
{
    enum { LENGTH = 20000 };
    const char *text = "";
    char name[24];
    cj_ptx *m = cj_ptx_create();
    cj_fn *last = NULL;
    for (int i = 0; i < LENGTH; i++) {
        snprintf(name, sizeof name, "f%d", i);
        cj_fn *f = cj_ptx_func(m, name);
        cj_val x = cj_param(f, "x", CJ_U32);
        cj_return_value(f, last ? cj_call(f, last, x) : cj_add(f, x, 1));
        last = f;
    }
    cj_fn_inline(last);
    cj_fn *k = cj_ptx_kernel(m, "k");
    cj_set(k, cj_param_ptr(k, "out", CJ_U32), 0, cj_call(k, last, 1));
    const char *kernel = cj_ptx_print(m, 0, &text, NULL) == CJ_OK ? strstr(text, ".entry k(") : "";
    tap_has_str(kernel, "call.uni", "a chain of %d functions ends in a call (%s)", LENGTH, cj_error_of(m)->message);
    cj_ptx_free(m);
    return unused;
}

static void on_a_small_stack(void)
{
    enum { STACK = 256 * 1024 };
    pthread_attr_t small;
    pthread_t thread;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK);
    if (pthread_create(&thread, &small, long_chain, NULL)) tap_bail("no thread");
    pthread_join(thread, NULL);
    pthread_attr_destroy(&small);
}

int main(void)
{
    bench_open(2 * N * 4);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) compared(i);
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) mistaken(i);
    on_a_small_stack();
    cj_ptx *m = module_of(2, true);
    const char *text, *kernel = kernel_of(m, &text);
    tap_has_str(kernel, "// The loop of the function", "comments come along");
    tap_has_str(kernel, "%sum,", "the first copy has the names of registers");
    tap_ok(!strstr(kernel, "%sum_"), "and no other one has");
    cj_ptx_free(m);
    return bench_close();
}
