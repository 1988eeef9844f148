/* Lists of registers: length, slices, joining, assignment under a guard; up to 256 elements. */
#include <stdio.h>
#include <string.h>

#include "tests/tap.h"

#include <cujit/ptx.h>

static unsigned count(const char *text, const char *part)
{
    unsigned n = 0;
    for (const char *p = text; (p = strstr(p, part)); p += strlen(part)) n++;
    return n;
}

static const char *printed(cj_ptx *m)
{
    const char *text = "";
    cj_ptx_print(m, 0, &text, NULL);
    return text;
}

/* Each list length: written whole, by halves, under a guard, and read back element for element. */
static void check_lengths(void)
{
    static const size_t lengths[] = { 1, 2, 3, 31, 128, 255, 256 };
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        size_t n = lengths[i], half = n / 2;
        cj_ptx *m = cj_ptx_create();
        cj_fn *f = cj_ptx_kernel(m, "k");
        cj_val p = cj_lt(f, cj_thread_id(f, CJ_X), 5), v = cj_regs(f, CJ_F32, n);
        tap_is_uint(cj_length_of(f, v), n, "%zu: the length", n);
        cj_assign_all(f, v, 1.5f);
        tap_is_uint(count(printed(m), "mov.f32"), n, "%zu: each element is written", n);
        tap_is_uint(count(printed(m), "0f3FC00000"), n, "%zu: ... with the number as its type", n);
        cj_val low = half ? cj_slice(f, v, 0, half) : v, high = cj_slice(f, v, half, n - half);
        tap_is_uint(cj_length_of(f, high), n - half, "%zu: the length of a slice", n);
        tap_is_uint(cj_elem(f, high, 0).bits, cj_elem(f, v, half).bits, "%zu: a slice has the same registers", n);
        if (half) {
            cj_val both = cj_concat_n(f, (const cj_val[]){ low, high }, 2);
            tap_is_uint(cj_length_of(f, both), n, "%zu: slices joined", n);
            tap_is_uint(cj_elem(f, both, n - 1).bits, cj_elem(f, v, n - 1).bits, "%zu: ... in their order", n);
        }
        cj_assign_all_if(f, p, v, v);
        tap_is_uint(count(printed(m), "@%p0 mov.f32"), n, "%zu: each element under a guard", n);
        cj_assign_all_if(f, cj_not(f, p), high, 0);
        tap_is_uint(count(printed(m), "@!%p0 mov.f32"), n - half, "%zu: a slice under the opposite", n);
        cj_assign_all_if(f, cj_lt(f, cj_imm(f, 1), 0), v, 0);
        tap_is_uint(count(printed(m), "mov.f32"), 3 * n - half, "%zu: nothing under a constant that does not hold", n);
        tap_is_int(cj_ptx_status(m), CJ_OK, "%zu: nothing failed: %s", n, cj_error_of(m)->message);
        cj_ptx_free(m);
    }
}

/* A scalar counts as a list of one. */
static void check_scalars(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val a = cj_reg(f, CJ_U32), b = cj_regs(f, CJ_U32, 2), s = cj_slice(f, a, 0, 1);
    tap_is_uint(cj_length_of(f, a), 1, "a register has the length 1");
    tap_is_uint(cj_length_of(f, (cj_val){ 0 }), 0, "the null value has the length 0");
    tap_is_uint(cj_elem(f, s, 0).bits, a.bits, "a register is its own slice");
    tap_is_uint(cj_length_of(f, cj_concat_n(f, (const cj_val[]){ a, b, cj_imm(f, 7) }, 3)), 4,
                "registers, vectors and numbers join");
    cj_assign_all(f, a, 9);
    tap_has_str(printed(m), "mov.u32 %u0, 9;", "a register is assigned too");
    tap_is_int(cj_ptx_status(m), CJ_OK, "nothing failed: %s", cj_error_of(m)->message);
    cj_ptx_free(m);
}

/* ---- Mistakes ---------------------------------------------------------------------------------------------------- */

static void slice_too_long(cj_fn *f) { cj_slice(f, cj_regs(f, CJ_F32, 8), 5, 4); }
static void slice_of_none(cj_fn *f) { cj_slice(f, cj_regs(f, CJ_F32, 8), 5, 0); }
static void slice_behind(cj_fn *f) { cj_slice(f, cj_regs(f, CJ_F32, 8), SIZE_MAX, 2); }
static void concat_none(cj_fn *f) { cj_concat_n(f, NULL, 0); }
static void concat_null(cj_fn *f) { cj_concat_n(f, NULL, 2); }
static void concat_many(cj_fn *f)
{
    cj_val v = cj_regs(f, CJ_F32, 129);
    cj_concat_n(f, (const cj_val[]){ v, v }, 2);
}
static void assign_longer(cj_fn *f) { cj_assign_all(f, cj_regs(f, CJ_F32, 4), cj_regs(f, CJ_F32, 3)); }
static void assign_type(cj_fn *f) { cj_assign_all(f, cj_regs(f, CJ_F32, 4), cj_regs(f, CJ_U32, 4)); }
static void assign_number(cj_fn *f) { cj_assign_all(f, cj_vec(f, 1, 2), 3); }

static const struct { const char *name; void (*make)(cj_fn *); cj_status status; const char *part; } mistakes[] = {
    { "a slice beyond the end", slice_too_long, CJ_EINVAL, "4 elements from 5 of a vector of 8" },
    { "an empty slice", slice_of_none, CJ_EINVAL, "0 elements from 5" },
    { "a slice that wraps", slice_behind, CJ_EINVAL, "of a vector of 8" },
    { "nothing joined", concat_none, CJ_EINVAL, "no elements" },
    { "a NULL array", concat_null, CJ_EINVAL, "the array is NULL" },
    { "257 and more joined", concat_many, CJ_EINVAL, "more than 256 elements" },
    { "another length", assign_longer, CJ_EINVAL, "has 3 elements, wants 4" },
    { "another type", assign_type, CJ_EPTX, "is .u32, wants .f32" },
    { "a number as destination", assign_number, CJ_EPTX, "not a register" },
};

static void check_mistakes(void)
{
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        cj_ptx *m = cj_ptx_create();
        mistakes[i].make(cj_ptx_kernel(m, "k"));
        tap_is_int(cj_ptx_status(m), mistakes[i].status, "%s: status", mistakes[i].name);
        tap_has_str(cj_error_of(m)->message, mistakes[i].part, "%s: message", mistakes[i].name);
        tap_has_str(cj_error_of(m)->message, "lists.c:", "%s: the line", mistakes[i].name);
        cj_ptx_free(m);
    }
}

int main(void)
{
    tap_plan(0);
    check_lengths();
    check_scalars();
    check_mistakes();
    return tap_done();
}
