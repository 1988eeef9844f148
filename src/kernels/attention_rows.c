/* Scores and results as accumulators of a thread, which has parts of two rows: masks, the step from scores to shares,
 * the end of a row. */
#include "kernels/attention.h"

static unsigned row_of_acc(unsigned i) { return cj_acc_row(i) / 8; }

void cjk_own_rows_begin(cj_fn *f, const cjk_part *p, cj_val in_tile, cj_val column, cjk_own_rows *own)
{
    own->row = cj_add(f, p->first, cj_bits(f, CJ_S32, in_tile));
    own->column = column;
    for (int r = 0; r < 2; r++) {
        own->m[r] = cj_let(f, CJ_F32, cj_imm_bits(f, CJ_F32, CJK_ATTENTION_FLOOR));
        own->l[r] = cj_let(f, CJ_F32, 0.0f);
        own->seen[r] = cj_let(f, CJ_S32, cjk_attention_seen(f, p, cj_add(f, own->row, 8 * r)));
    }
    cj_name(f, own->row, "row");
    cj_name(f, cj_vec_n(f, own->m, 2), "greatest");
    cj_name(f, cj_vec_n(f, own->l, 2), "own_sum");
    cj_name(f, cj_vec_n(f, own->seen, 2), "seen");
}

cj_val cjk_pack_halves(cj_fn *f, cj_type type, cj_val low, cj_val high)
{
    return cj_bits(f, CJ_B32, cj_def(f, type == CJ_BF16 ? "cvt.rn.bf16x2.f32" : "cvt.rn.f16x2.f32", high, low));
}

void cjk_mask_scores(cj_fn *f, const cjk_own_rows *own, cj_val key, uint32_t keys, cj_val seen_by_all, cj_val score)
{
    cj_comment(f, "Mask the keys that a row does not see");
    cj_if(f, cj_gt(f, cj_add(f, key, keys), seen_by_all));
        cj_val from = cj_add(f, key, cj_bits(f, CJ_S32, own->column));
        cj_val left[2] = { cj_sub(f, own->seen[0], from), cj_sub(f, own->seen[1], from) };
        for (unsigned i = 0; i < keys / 2; i++) {
            cj_val v = cj_elem(f, score, i), visible = cj_gt(f, left[row_of_acc(i)], cj_acc_column(i));
            cj_assign(f, v, cj_select(f, visible, v, cj_imm_bits(f, CJ_F32, 0xff800000)));
        }
    cj_end(f);
}

/* The greatest of a row's scores and of the maximum so far, in all four lanes that have the row. */
static cj_val greatest_score(cj_fn *f, const cjk_own_rows *own, unsigned r, cj_val score, unsigned count)
{
    cj_val most[4] = { { 0 } };
    unsigned n = 0;
    for (unsigned i = 0; i < count; i++) {
        if (row_of_acc(i) != r) continue;
        cj_val v = cj_elem(f, score, i), *to = &most[n++ % 4];
        *to = to->bits ? cj_max(f, *to, v) : v;
    }
    cj_val low = cj_max(f, most[0], most[1]), high = cj_max(f, most[2], most[3]), m = cj_max(f, low, high);
    for (int lanes = 1; lanes < 4; lanes *= 2) m = cj_max(f, m, cj_shfl_xor(f, m, lanes));
    return cj_max(f, m, own->m[r]);
}

void cjk_score_shares(cj_fn *f, const cjk_part *p, const cjk_own_rows *own, cj_val score, cj_val *factor)
{
    unsigned count = (unsigned)cj_length_of(f, score);
    cj_val less[2];
    cj_comment(f, "The greatest score of each row, and the shares 2^(c (score - greatest))");
    for (unsigned r = 0; r < 2; r++) {
        cj_val m = greatest_score(f, own, r, score, count);
        less[r] = cj_neg(f, cj_mul(f, m, p->c));
        if (factor) factor[r] = cj_def(f, "ex2.approx.ftz.f32", cj_fma(f, own->m[r], p->c, less[r]));
        cj_assign(f, own->m[r], m);
    }
    for (unsigned r = 0; r < 2; r++) {
        cj_val sum[2] = { { 0 } };
        unsigned n = 0;
        for (unsigned i = 0; i < count; i++) {
            if (row_of_acc(i) != r) continue;
            cj_val v = cj_elem(f, score, i), *to = &sum[n++ % 2];
            cj_ins(f, "ex2.approx.ftz.f32", v, cj_fma(f, v, p->c, less[r]));
            *to = to->bits ? cj_add(f, *to, v) : v;
        }
        cj_val l = cj_add(f, sum[0], sum[1]);
        cj_assign(f, own->l[r], factor ? cj_fma(f, own->l[r], factor[r], l) : l);
    }
}

void cjk_correct_result(cj_fn *f, cj_val o, const cj_val factor[2])
{
    for (unsigned i = 0; i < cj_length_of(f, o); i++) {
        cj_val v = cj_elem(f, o, i);
        cj_assign(f, v, cj_mul(f, v, factor[row_of_acc(i)]));
    }
}

/* -- Results ------------------------------------------------------------------------------------------------------- */

/* Two neighbours of a row that begins at `at`: in one store, if `pairs` and both are elements of the head. */
static void store_pair(cj_fn *f, const cjk_part *p, cj_val at, cj_val first, unsigned column, cj_val low, cj_val high,
                       bool pairs)
{
    cj_val place = cj_add(f, first, column), to = cj_mad(f, cj_cvt(f, CJ_U64, place), 2, at);
    cj_val address = cj_as_ptr(f, to, p->type, CJ_SPACE_GLOBAL);
    bool whole = column + 8 <= p->dim; /* the lanes of a row have eight columns */
    if (whole && pairs) {
        cj_ins(f, "st.global.b32", cj_mem(f, address, 0), cjk_pack_halves(f, p->type, low, high));
        return;
    }
    const cj_val both[2] = { low, high };
    for (unsigned i = 0; i < 2; i++) {
        if (!whole) cj_if(f, cj_lt(f, cj_add(f, place, i), p->dim));
        cjk_store(f, p->type, cj_mem(f, address, 2 * (int64_t)i), both[i]);
        if (!whole) cj_end(f);
    }
}

/* 1 / the sum of each of the two rows.  Of the four lanes that have them, the first one writes the log-sum-exp of the
 * first row and the second one that of the other: it is computed once. */
static void finish_own_rows(cj_fn *f, const cjk_part *p, const cjk_own_rows *own, cj_val inverse[2])
{
    cj_val l[2] = { own->l[0], own->l[1] };
    for (unsigned r = 0; r < 2; r++) {
        for (int lanes = 1; lanes < 4; lanes *= 2) l[r] = cj_add(f, l[r], cj_shfl_xor(f, l[r], lanes));
        inverse[r] = cj_let(f, CJ_F32, cjk_attention_inverse(f, l[r]));
    }
    cj_val second = cj_ne(f, own->column, 0), row = cj_select(f, second, cj_add(f, own->row, 8), own->row);
    cj_val writes = cj_and(f, cj_lt(f, row, p->queries), cj_lt(f, own->column, 4));
    cjk_attention_store_lse(f, p, row, cj_select(f, second, own->m[1], own->m[0]), cj_select(f, second, l[1], l[0]),
                            writes);
}

void cjk_divide_own_rows(cj_fn *f, const cjk_part *p, const cjk_own_rows *own, cj_val o)
{
    cj_val inverse[2];
    cj_comment(f, "Divide the results by the sums");
    finish_own_rows(f, p, own, inverse);
    cjk_correct_result(f, o, inverse);
}

void cjk_store_own_rows(cj_fn *f, const cjk_part *p, const cjk_own_rows *own, cj_val o, bool pairs)
{
    cj_val inverse[2];
    cj_comment(f, "Divide the results by the sums, and store them");
    finish_own_rows(f, p, own, inverse);
    for (unsigned r = 0; r < 2; r++) {
        cj_val row = cj_add(f, own->row, 8 * r), inside = cj_lt(f, row, p->queries);
        cj_if(f, inside);
            cj_val at = cjk_token_at(f, &p->out, row);
            for (unsigned i = 2 * r; i < cj_length_of(f, o) && cj_acc_column(i) < p->dim; i += 4) {
                cj_val low = cj_mul(f, cj_elem(f, o, i), inverse[r]);
                cj_val high = cj_mul(f, cj_elem(f, o, i + 1), inverse[r]);
                store_pair(f, p, at, own->column, cj_acc_column(i), low, high, pairs);
            }
        cj_end(f);
    }
}
