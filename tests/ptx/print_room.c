/* The printer looks for room once an operand: the widest lines, begun at each distance from the end of the text's
 * memory, never write past it, and read the same wherever they begin. */
#include "ptx/print.h"
#include "../tap.h"

#include <stdio.h>
#include <stdlib.h>

#include <cujit/cujit.h>

/* -- Memory with a fence behind each block ------------------------------------------------------------------------- */

enum { FENCE = 64 };
static int torn;

static void set_fence(unsigned char *p, size_t size) { memset(p + size, 0xa5, FENCE); }

static void look_at_fence(const unsigned char *p, size_t size)
{
    for (size_t i = 0; i < FENCE; i++) torn += p[size + i] != 0xa5;
}

static void *fenced(void *user, void *p, size_t old, size_t size)
{
    (void)user;
    if (p) look_at_fence(p, old);
    if (!size) {
        free(p);
        return NULL;
    }
    unsigned char *q = realloc(p, size + FENCE);
    if (q) set_fence(q, size);
    return q;
}

/* -- The widest operands ------------------------------------------------------------------------------------------- */

static cj_val widest_reg(cj_fn *f, cj_type type)
{
    cj_val r = cj_reg(f, type);
    f->reg[(uint32_t)r.bits].number = UINT32_MAX;
    return r;
}

static cj_val vector_of(cj_fn *f, cj_val v, size_t n)
{
    cj_val each[64];
    for (size_t i = 0; i < n; i++) each[i] = v;
    return cj_vec_n(f, each, n);
}

#define UNLESS(f, p, mnemonic, ...) \
    cj_ins_unless_n(f, p, mnemonic, (const cj_val[]){ __VA_ARGS__ }, sizeof(cj_val[]){ __VA_ARGS__ } / sizeof(cj_val))

static void build(cj_fn *f, const char *name)
{
    cj_val p = widest_reg(f, CJ_PRED), u = widest_reg(f, CJ_U32), d = widest_reg(f, CJ_U64), x = widest_reg(f, CJ_F32);
    cj_val y = widest_reg(f, CJ_F64), q = widest_reg(f, CJ_B128), label = cj_label(f);
    cj_val far = cj_mem(f, d, INT64_MIN), var = cj_shared(f, name, CJ_F32, 4);
    cj_label_bind(f, label);
    cj_line(f, "wide.c", 0x3fffff);
    UNLESS(f, p, "fma.rn.f32", x, x, x, x);
    cj_line(f, "wide.c", 0x7fffffff);
    UNLESS(f, p, "mov.b128", q, vector_of(f, d, 2));
    UNLESS(f, p, "fma.rn.f64", y, cj_imm_f64(f, 0.1), cj_imm_f64(f, -0.1), cj_imm_f64(f, 0.3));
    UNLESS(f, p, "add.u64", d, cj_imm_u(f, UINT64_MAX), cj_imm_u(f, UINT64_MAX));
    UNLESS(f, p, "ld.global.v4.f32", vector_of(f, x, 4), far);
    UNLESS(f, p, "st.shared.v4.f32", cj_mem(f, var, INT64_MIN), vector_of(f, x, 4));
    UNLESS(f, p, "setp.lt.and.u32", cj_pair(f, p, p), u, u, cj_not(f, p));
    UNLESS(f, p, "bra", label);
    UNLESS(f, p,
           "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster."
           "L2::cache_hint",
           cj_mem(f, u, INT64_MIN), cj_texmem(f, d, CJI_NULL, vector_of(f, widest_reg(f, CJ_S32), 5)),
           cj_mem(f, u, INT64_MIN), widest_reg(f, CJ_U16), d);
    UNLESS(f, p, "tcgen05.ld.sync.aligned.32x32b.x64.b32", vector_of(f, widest_reg(f, CJ_B32), 64), cj_mem(f, u, 0));
    cj_pragma(f, name);
}

/* -- Each distance from the end ------------------------------------------------------------------------------------ */

enum { CAP = 8192, FAR = 700 };

/* A text whose memory ends `left` bytes behind what is in it. */
static cji_text text_with(size_t left)
{
    cji_text t = { 0 };
    if (!cji_text_room(&t, CAP - 1) || t.cap != CAP) return t;
    memset(t.p, 'x', CAP);
    t.n = CAP - left;
    return t;
}

static int lines_differ(const cj_fn *f, size_t left)
{
    int wrong = 0;
    for (size_t i = 0; i < f->nins; i++) {
        cji_text far = { 0 }, near = text_with(left);
        cji_ptx_write_ins(f, &f->ins[i], &far);
        cji_ptx_write_ins(f, &f->ins[i], &near);
        wrong += near.n - (CAP - left) != far.n || memcmp(near.p + (CAP - left), far.p, far.n);
        cji_text_free(&far);
        cji_text_free(&near);
    }
    return wrong;
}

static bool body_differs(const cj_fn *f, const cji_print_files *files, const cji_text *whole, size_t left)
{
    cji_text near = text_with(left);
    cji_print_body(f, files, &near);
    bool differs = near.n - (CAP - left) != whole->n || memcmp(near.p + (CAP - left), whole->p, whole->n);
    cji_text_free(&near);
    return differs;
}

static void widths(void)
{
    static const uint32_t at[] = { 0, 9, 10, 99, 100, 999, 1000, 9999, 10000, 99999, 100000, 999999, 1000000, 9999999,
                                   10000000, 99999999, 100000000, 999999999, 1000000000, UINT32_MAX };
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        char ours[16], want[16];
        *cji_put_u32(ours, at[i]) = 0;
        snprintf(want, sizeof want, "%u", at[i]);
        tap_is_str(ours, want, "%u in digits", at[i]);
    }
}

int main(void)
{
    char longest[201];
    int lines = 0, bodies = 0;
    tap_plan(0);
    cj_set_allocator(fenced, NULL);
    widths();
    memset(longest, 'n', sizeof longest - 1);
    longest[200] = 0;
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    build(f, longest);
    tap_is_int(cj_ptx_status(m), CJ_OK, "the widest operands: %s", cj_error_of(m)->message);
    cji_text whole = { 0 };
    cji_print_files files;
    if (!cji_print_number_files(m, CJ_PRINT_LINES, &files)) tap_bail("no memory");
    cji_print_body(f, &files, &whole);
    for (size_t left = 1; left <= FAR; left++) {
        lines += lines_differ(f, left);
        bodies += body_differs(f, &files, &whole, left);
    }
    tap_is_int(lines, 0, "each line reads the same at each distance from the end of memory");
    tap_is_int(bodies, 0, "so does the body, with the lines of its source");
    cji_text_free(&whole);
    cji_print_files_free(&files);
    cj_ptx_free(m);
    tap_is_int(torn, 0, "nothing is written behind a block");
    return tap_done();
}
