/* The kernels of cj_softmax.
 *
 * Softmax subtracts the greatest element.  An element that equals it is e^0 = 1, also where both are infinite, so a row
 * with infinities has shares, and a row of nothing but -infinity is 0.
 *
 * Results of 16 bits need no accurate exponential.  Each thread subtracts the greatest of its own elements and adds its
 * powers; threads and blocks join such pairs, once.  The row stays as it is in memory, and its powers are taken again
 * for the result.  Rows with a greatest element beyond POWERS_MOST, infinite ones too, take the code of open rows. */
#include <math.h>

#include "kernels/norms.h"

#define LOG2_E 1.44269504f
#define POWERS_MOST 65536.0f

/* The share of an element: e^(v - m). */
static cj_val share_of(cj_fn *f, cj_val v, cj_val m)
{
    cj_val e = cj_math_exp(f, cj_sub(f, v, m));
    return cj_select(f, cj_eq(f, v, m), 1.0f, e);
}

/* What shares are multiplied by.  Of a row that is -infinity everywhere 0, but not if it has a NaN. */
static cj_val share_scale(cj_fn *f, cj_val m, cj_val sum)
{
    cj_val masked = cj_and(f, cj_eq(f, m, -INFINITY), cj_eq(f, sum, sum));
    return cj_select(f, masked, 0.0f, cj_div(f, 1.0f, sum));
}

/* Reads the stretch three times. */
static void softmax_open(cj_fn *f, cjk_norm_code *c)
{
    cj_val m = cj_let(f, CJ_F32, -INFINITY), sum[2], all, total, v;
    cjk_long_sums sums;
    cj_name(f, m, "own_greatest");
    cj_comment(f, "The greatest element");
    cjk_norm_walk(f, c, &v);
        cj_assign(f, m, cj_max(f, m, v));
    cj_end(f);
    cjk_row_join(f, &c->b, CJ_COMBINE_MAX, m, &all);
    cj_name(f, all, "greatest");
    cj_comment(f, "The sum of e^(x - greatest)");
    cjk_sums_begin(f, &sums, 1, "own_sum");
    cj_val column = cjk_norm_walk(f, c, &v);
        cj_val e = share_of(f, v, all);
        cj_assign(f, sums.group[0], cj_add(f, sums.group[0], e));
    cjk_sums_end(f, c, &sums, column, sum);
    cjk_row_join(f, &c->b, CJ_COMBINE_ADD, sum[0], &total);
    cj_name(f, total, "sum");
    cj_val scale = share_scale(f, all, total);
    cj_name(f, scale, "scale");
    cj_comment(f, "The shares");
    cj_val i = cjk_norm_walk(f, c, &v);
        cj_val share = share_of(f, v, all);
        cjk_store(f, c->out.type, cjk_column(f, &c->out, c->to, i), cj_mul(f, share, scale));
    cj_end(f);
}

/* The row is in registers, where its shares take the place of its elements. */
static void softmax_accurate(cj_fn *f, cjk_norm_code *c)
{
    const cjk_shape *s = c->b.s;
    cjk_chunk row[CJK_CHUNKS];
    cj_val v[CJK_CHUNKS][CJK_VECTOR], sum = cj_let(f, CJ_F32, 0.0f), all, total;
    cjk_row_load(f, &c->b, &c->x, c->from, -INFINITY, row);
    cj_comment(f, "The greatest element");
    cj_val m = cjk_row_greatest(f, &c->b, row);
    cjk_row_join(f, &c->b, CJ_COMBINE_MAX, m, &all);
    cj_name(f, m, "own_greatest");
    cj_name(f, sum, "own_sum");
    cj_name(f, all, "greatest");
    cj_comment(f, "The sum of e^(x - greatest)");
    for (unsigned k = 0; k < s->chunks; k++) {
        cjk_chunk_values(f, &c->b, &row[k], v[k]);
        for (unsigned i = 0; i < s->vector; i++) {
            cj_val e = share_of(f, v[k][i], all);
            v[k][i] = cjk_inside_or_zero(f, &row[k], e);
            cj_assign(f, sum, cj_add(f, sum, v[k][i]));
        }
    }
    cjk_row_join(f, &c->b, CJ_COMBINE_ADD, sum, &total);
    cj_name(f, total, "sum");
    cj_val scale = share_scale(f, all, total);
    cj_name(f, scale, "scale");
    cj_comment(f, "The shares");
    for (unsigned k = 0; k < s->chunks; k++) {
        for (unsigned i = 0; i < s->vector; i++) v[k][i] = cj_mul(f, v[k][i], scale);
        cjk_chunk_store(f, &c->b, &c->out, c->to, k, row[k].inside, v[k]);
    }
}

/* 2^(v log2(e) - top) of the elements of a chunk. */
static void powers_of(cj_fn *f, const cjk_norm_code *c, const cjk_chunk *chunk, cj_val less, cj_val *v)
{
    cjk_chunk_values(f, &c->b, chunk, v);
    for (unsigned i = 0; i < c->b.s->vector; i++)
        v[i] = cj_def(f, "ex2.approx.ftz.f32", cj_fma(f, v[i], LOG2_E, less));
}

static void softmax_powers(cj_fn *f, cjk_norm_code *c)
{
    enum { CHAINS = 4 };
    const cjk_shape *s = c->b.s;
    cjk_chunk row[CJK_CHUNKS];
    cj_val v[CJK_VECTOR], sum[CHAINS], top, total;
    unsigned n = 0;
    cjk_row_load(f, &c->b, &c->x, c->from, -INFINITY, row);
    cj_comment(f, "The greatest power of the thread's own elements");
    cj_val m = cj_mul(f, cjk_row_greatest(f, &c->b, row), LOG2_E);
    cj_val own = cj_min(f, cj_max(f, m, -POWERS_MOST), POWERS_MOST), less = cj_neg(f, own);
    cj_comment(f, "The sum of 2^(x log2(e) - own_top)");
    for (unsigned i = 0; i < CHAINS; i++) sum[i] = cj_let(f, CJ_F32, 0.0f);
    cj_name(f, own, "own_top");
    cj_name(f, cj_vec_n(f, sum, CHAINS), "own_sum");
    for (unsigned k = 0; k < s->chunks; k++) {
        powers_of(f, c, &row[k], less, v);
        for (unsigned i = 0; i < s->vector; i++, n++) cj_assign(f, sum[n % CHAINS], cj_add(f, sum[n % CHAINS], v[i]));
    }
    cj_val low = cj_add(f, sum[0], sum[2]), high = cj_add(f, sum[1], sum[3]);
    cjk_row_join_powers(f, &c->b, own, cj_add(f, low, high), &top, &total);
    cj_name(f, top, "top");
    cj_name(f, total, "sum");
    cj_if(f, cj_lt(f, cj_abs(f, top), POWERS_MOST));
        cj_comment(f, "The shares");
        cj_val scale = cj_approx_rcp(f, total);
        cj_name(f, scale, "scale");
        less = cj_neg(f, top);
        for (unsigned k = 0; k < s->chunks; k++) {
            powers_of(f, c, &row[k], less, v);
            for (unsigned i = 0; i < s->vector; i++) v[i] = cj_mul(f, v[i], scale);
            cjk_chunk_store(f, &c->b, &c->out, c->to, k, row[k].inside, v);
        }
    cj_else(f);
        cj_comment(f, "Elements that are infinite or very large: read the row again, accurate exponentials");
        softmax_open(f, c);
    cj_end(f);
}

void cjk_write_softmax(cj_fn *f, cjk_norm_code *c)
{
    if (!c->b.s->columns) softmax_open(f, c);
    else if (cjk_size(c->out.type) == 2) softmax_powers(f, c);
    else softmax_accurate(f, c);
}
