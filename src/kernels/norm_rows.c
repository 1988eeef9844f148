/* The kernels of cj_layer_norm and cj_rms_norm.
 *
 * A layer norm subtracts a first mean, and takes mean and variance of the differences: nothing cancels where the mean
 * is much larger than the deviation.  With a row in registers each warp subtracts a number that is near to its
 * elements, and the moments of the warps are joined, once. */
#include "kernels/norms.h"

/* The reciprocal of the deviation. */
static cj_val inverse_deviation(cj_fn *f, const cjk_norm_code *c, cj_val variance)
{
    cj_val positive = cj_select(f, cj_lt(f, variance, 0.0f), 0.0f, variance); /* a NaN stays one */
    cj_val factor = cj_rcp(f, cj_sqrt(f, cj_add(f, positive, c->eps)));
    cj_name(f, variance, "variance");
    cj_name(f, factor, "factor");
    return factor;
}

/* The mean of the differences to a first mean, and the reciprocal of the deviation. */
static void moments(cj_fn *f, const cjk_norm_code *c, cj_val sums, cj_val *rest, cj_val *factor)
{
    *rest = cj_div(f, cj_elem(f, sums, 0), c->count);
    cj_val square = cj_div(f, cj_elem(f, sums, 1), c->count);
    *factor = inverse_deviation(f, c, cj_sub(f, square, cj_mul(f, *rest, *rest)));
    cj_name(f, *rest, "rest");
}

/* v * weight + bias of a column, as far as there are any. */
static cj_val with_parameters(cj_fn *f, const cjk_norm_code *c, cj_val v, cj_val weight, cj_val bias)
{
    if (c->n->weight && c->n->bias) return cj_fma(f, v, weight, bias);
    if (c->n->weight) return cj_mul(f, v, weight);
    return c->n->bias ? cj_add(f, v, bias) : v;
}

/* The parameters of chunk k. */
static void load_parameters(cj_fn *f, const cjk_norm_code *c, const cjk_operand *x, unsigned k, cj_val *v)
{
    cjk_chunk chunk;
    cjk_chunk_load(f, &c->b, x, x->base, k, 0, CJK_READ_AGAIN, &chunk);
    cjk_chunk_values(f, &c->b, &chunk, v);
}

/* (v - mean - rest) * factor, with the parameters, to `out`; without a mean v * factor. */
static void norm_store_known(cj_fn *f, const cjk_norm_code *c, const cjk_chunk *row, cj_val mean, cj_val rest,
                             cj_val factor)
{
    const cjk_shape *s = c->b.s;
    cj_comment(f, "The results, with weight and bias");
    for (unsigned k = 0; k < s->chunks; k++) { /* chunk by chunk: the parameters of a long row do not fit beside it */
        cj_val v[CJK_VECTOR], w[CJK_VECTOR] = { { 0 } }, b[CJK_VECTOR] = { { 0 } };
        if (c->n->weight) load_parameters(f, c, &c->weight, k, w);
        if (c->n->bias) load_parameters(f, c, &c->bias, k, b);
        cjk_chunk_values(f, &c->b, &row[k], v);
        for (unsigned i = 0; i < s->vector; i++) {
            if (mean.bits) v[i] = cj_sub(f, cj_sub(f, v[i], mean), rest);
            v[i] = with_parameters(f, c, cj_mul(f, v[i], factor), w[i], b[i]);
        }
        cjk_chunk_store(f, &c->b, &c->out, c->to, k, row[k].inside, v);
    }
}

static void norm_store_open(cj_fn *f, const cjk_norm_code *c, cj_val mean, cj_val rest, cj_val factor)
{
    cj_comment(f, "The results, with weight and bias");
    cj_val v, w = { 0 }, b = { 0 }, i = cjk_norm_walk(f, c, &v);
        if (mean.bits) v = cj_sub(f, cj_sub(f, v, mean), rest);
        if (c->n->weight) w = cjk_load(f, c->n->param, cjk_column(f, &c->weight, c->weight.base, i), CJ_F32);
        if (c->n->bias) b = cjk_load(f, c->n->param, cjk_column(f, &c->bias, c->bias.base, i), CJ_F32);
        cj_val result = with_parameters(f, c, cj_mul(f, v, factor), w, b);
        cjk_store(f, c->out.type, cjk_column(f, &c->out, c->to, i), result);
    cj_end(f);
}

/* The mean of the warp's elements in its first chunks.  It is no more than a number that is near to them: differences
 * to the mean of a quarter of the elements cancel no more than two bits. */
static cj_val near_mean(cj_fn *f, const cjk_norm_code *c, const cjk_chunk *row)
{
    const cjk_shape *s = c->b.s;
    unsigned most = s->vector > 1 ? 2 : 8, chunks = s->chunks < most ? s->chunks : most;
    cj_val sum = { 0 }, total, v[CJK_VECTOR];
    for (unsigned k = 0; k < chunks; k++) {
        cjk_chunk_values(f, &c->b, &row[k], v);
        for (unsigned i = 0; i < s->vector; i++) sum = sum.bits ? cj_add(f, sum, v[i]) : v[i];
    }
    cj_warp_reduce(f, CJ_COMBINE_ADD, sum, 32, &total);
    cj_val count = cjk_warp_columns(f, &c->b, chunks);
    return cj_mul(f, total, cj_approx_rcp(f, cj_max(f, count, 1.0f)));
}

/* The moments of the columns that a warp has. */
static void warp_moments(cj_fn *f, const cjk_norm_code *c, const cjk_chunk *row, cjk_moments *m)
{
    const cjk_shape *s = c->b.s;
    cj_val parts[2] = { cj_let(f, CJ_F32, 0.0f), cj_let(f, CJ_F32, 0.0f) }, sums, v[CJK_VECTOR];
    cj_comment(f, "A number near to the elements of the warp");
    m->reference = near_mean(f, c, row);
    cj_name(f, m->reference, "near");
    cj_name(f, cj_vec_n(f, parts, 2), "own_sum");
    cj_comment(f, "The sums of the differences to it, and of their squares");
    for (unsigned k = 0; k < s->chunks; k++) {
        cjk_chunk_values(f, &c->b, &row[k], v);
        for (unsigned i = 0; i < s->vector; i++) {
            cj_val d = cj_sub(f, v[i], m->reference), in = cjk_inside_or_zero(f, &row[k], d);
            cj_assign(f, parts[0], cj_add(f, parts[0], in));
            cj_assign(f, parts[1], cj_fma(f, in, in, parts[1]));
        }
    }
    cj_warp_reduce(f, CJ_COMBINE_ADD, cj_vec_n(f, parts, 2), 32, &sums);
    m->count = cjk_warp_columns(f, &c->b, s->chunks);
    cj_val rest = cj_elem(f, sums, 0);
    m->mean = cj_div(f, rest, cj_max(f, m->count, 1.0f));
    m->squares = cj_fma(f, cj_neg(f, rest), m->mean, cj_elem(f, sums, 1));
}

static void layer_known(cj_fn *f, cjk_norm_code *c)
{
    cjk_chunk row[CJK_CHUNKS];
    cjk_moments m;
    cjk_row_load(f, &c->b, &c->x, c->from, 0, row);
    warp_moments(f, c, row, &m);
    cjk_row_join_moments(f, &c->b, &m);
    cj_val factor = inverse_deviation(f, c, cj_div(f, m.squares, c->count));
    cj_name(f, m.reference, "mean");
    cj_name(f, m.mean, "rest");
    norm_store_known(f, c, row, m.reference, m.mean, factor);
}

static void layer_open(cj_fn *f, cjk_norm_code *c)
{
    cj_val total, rest, factor, sums, v, own[2];
    cjk_long_sums first, parts;
    cj_comment(f, "The sum of the elements");
    cjk_sums_begin(f, &first, 1, "own_sum");
    cj_val i = cjk_norm_walk(f, c, &v);
        cj_assign(f, first.group[0], cj_add(f, first.group[0], v));
    cjk_sums_end(f, c, &first, i, own);
    cjk_row_join(f, &c->b, CJ_COMBINE_ADD, own[0], &total);
    cj_val mean = cj_div(f, total, c->count);
    cj_name(f, mean, "mean");
    cj_comment(f, "The sums of the differences to the mean, and of their squares");
    cjk_sums_begin(f, &parts, 2, "own_part");
    i = cjk_norm_walk(f, c, &v);
        cj_val d = cj_sub(f, v, mean);
        cj_assign(f, parts.group[0], cj_add(f, parts.group[0], d));
        cj_assign(f, parts.group[1], cj_fma(f, d, d, parts.group[1]));
    cjk_sums_end(f, c, &parts, i, own);
    cjk_row_join(f, &c->b, CJ_COMBINE_ADD, cj_vec_n(f, own, 2), &sums);
    moments(f, c, sums, &rest, &factor);
    norm_store_open(f, c, mean, rest, factor);
}

void cjk_write_layer_norm(cj_fn *f, cjk_norm_code *c)
{
    if (c->b.s->columns) layer_known(f, c);
    else layer_open(f, c);
}

static cj_val rms_factor(cj_fn *f, cjk_norm_code *c, cj_val squares)
{
    cj_val total;
    cjk_row_join(f, &c->b, CJ_COMBINE_ADD, squares, &total);
    cj_val mean = cj_div(f, total, c->count), factor = cj_rcp(f, cj_sqrt(f, cj_add(f, mean, c->eps)));
    cj_name(f, squares, "own_squares");
    cj_name(f, mean, "mean_square");
    cj_name(f, factor, "factor");
    return factor;
}

static void rms_known(cj_fn *f, cjk_norm_code *c)
{
    const cj_val none = { 0 };
    cjk_chunk row[CJK_CHUNKS];
    cj_val squares = cj_let(f, CJ_F32, 0.0f), v[CJK_VECTOR];
    cjk_row_load(f, &c->b, &c->x, c->from, 0, row);
    cj_comment(f, "The sum of the squares");
    for (unsigned k = 0; k < c->b.s->chunks; k++) {
        cjk_chunk_values(f, &c->b, &row[k], v);
        for (unsigned i = 0; i < c->b.s->vector; i++) cj_assign(f, squares, cj_fma(f, v[i], v[i], squares));
    }
    cj_val factor = rms_factor(f, c, squares);
    norm_store_known(f, c, row, none, none, factor);
}

static void rms_open(cj_fn *f, cjk_norm_code *c)
{
    const cj_val none = { 0 };
    cj_val v, squares[2];
    cjk_long_sums sums;
    cj_comment(f, "The sum of the squares");
    cjk_sums_begin(f, &sums, 1, "own_groups");
    cj_val i = cjk_norm_walk(f, c, &v);
        cj_assign(f, sums.group[0], cj_fma(f, v, v, sums.group[0]));
    cjk_sums_end(f, c, &sums, i, squares);
    cj_val factor = rms_factor(f, c, squares[0]);
    norm_store_open(f, c, none, none, factor);
}

void cjk_write_rms_norm(cj_fn *f, cjk_norm_code *c)
{
    if (c->b.s->columns) rms_known(f, c);
    else rms_open(f, c);
}
