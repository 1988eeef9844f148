/* Products of a matrix and a vector: what a lane computes in a step of its warp, from rows and vector in shared memory.
 *
 * In a format of blocks a lane has two units of 32 columns, in rows 64 weights, and in the vector 80 bytes: d, the sum,
 * 8 words, twice.  Blocks of 18 or 34 bytes are taken in pairs: 36 or 68 bytes are whole words.  The numbers of the
 * first block begin in the middle of its first word.  So that word and the last one make one word, whose middle bytes
 * are far apart in the row; the vector's words are put into the same order:
 *
 *     Q4_0, the pair's words:      d 0 1 | 2 3 4 5 | 6 7 8 9 | 10 .. 13 | 14 15 d | 0 1 2 3 | ...
 *     the first block's numbers:   0 1 14 15 | 2 3 4 5 | 6 7 8 9 | 10 11 12 13
 *
 * Lanes read at distances of an odd number of words, or 16 bytes at once from lines that differ: no bank conflicts. */
#include "kernels/gemv.h"

/* The vector's two units of a lane. */
typedef struct step_units { cj_val d[2], sum[2], q[2][CJK_UNIT_WORDS]; } step_units; /* d * the sum of the numbers */

static void shared_words(cj_fn *f, cj_val at, int64_t offset, unsigned n, unsigned each, cj_val *out)
{
    static const char *const loads[] = { NULL, "ld.shared.b32", "ld.shared.v2.b32", NULL, "ld.shared.v4.b32" };
    for (unsigned i = 0; i < n; i += each) {
        cj_val v = cj_def_n(f, loads[each], (const cj_val[]){ cj_mem(f, at, offset + 4 * i) }, 1);
        for (unsigned k = 0; k < each; k++) out[i + k] = each > 1 ? cj_elem(f, v, k) : v;
    }
}

static cj_val picked(cj_fn *f, cj_val a, cj_val b, uint32_t bytes)
{
    return cj_def(f, "prmt.b32", a, b, cj_imm_bits(f, CJ_B32, bytes));
}

/* 4 numbers of 4 bits: the low halves of the bytes, or the high ones times 16, which saves a shift. */
static cj_val half_bytes(cj_fn *f, cj_val word, bool high)
{
    return cj_and(f, word, cj_imm_bits(f, CJ_B32, high ? 0xf0f0f0f0 : 0x0f0f0f0f));
}

static cj_val dot_unsigned(cj_fn *f, cj_val weights, cj_val x, cj_val sum)
{
    return cj_bits(f, CJ_S32, cj_def(f, "dp4a.u32.s32", weights, x, sum));
}

static cj_val whole_float(cj_fn *f, cj_val v) { return cj_cvt(f, CJ_F32, v); }

/* The low and the high half of a word, as numbers of 16 bits. */
static void half_floats(cj_fn *f, cj_val word, cj_val out[2])
{
    const cjk_raw raw = { .word = { word }, .words = 1 };
    cjk_raw_values(f, CJ_F16, &raw, 2, CJ_F32, out);
}

/* 20 words of a lane, those of unit i in `w` + 10 * i; `factor`: of the sums. */
static void take_units(cj_fn *f, const cj_val *w, float factor, step_units *x)
{
    for (unsigned i = 0; i < 2; i++, w += 2 + CJK_UNIT_WORDS) {
        x->d[i] = cj_bits(f, CJ_F32, w[0]);
        cj_val sum = whole_float(f, cj_bits(f, CJ_S32, w[1]));
        x->sum[i] = cj_mul(f, cj_mul(f, sum, factor), x->d[i]);
        for (unsigned k = 0; k < CJK_UNIT_WORDS; k++) x->q[i][k] = w[2 + k];
    }
}

static void load_pair(cj_fn *f, const cjk_gemv_step *s, float factor, step_units *x)
{
    cj_val w[2 * (2 + CJK_UNIT_WORDS)], at = cj_mad(f, s->lane, 2 * CJK_UNIT_BYTES, s->x);
    shared_words(f, at, 0, 2 * (2 + CJK_UNIT_WORDS), 4, w);
    take_units(f, w, factor, x);
}

/* The order of the first block of a pair: `n` words whose first 2 and last 2 bytes are one word. */
static void turn_words(cj_fn *f, cj_val *q, unsigned n)
{
    cj_val own[CJK_UNIT_WORDS];
    for (unsigned i = 0; i < n; i++) own[i] = q[i];
    q[0] = picked(f, own[0], own[n - 1], 0x7610);
    for (unsigned i = 1; i < n; i++) q[i] = picked(f, own[i - 1], own[i], 0x5432);
}

static void add_product(cj_fn *f, const cjk_gemv_step *s, unsigned row, cj_val a, cj_val b)
{
    cj_assign(f, s->sums[row], cj_fma(f, a, b, s->sums[row]));
}

/* -- Formats ------------------------------------------------------------------------------------------------------- */

/* d * (dx * the sum of q * x - 8 * dx * the sum of x) */
static void step_q4_0(cj_fn *f, const cjk_gemv_step *s)
{
    step_units x;
    cj_val at = cj_mad(f, s->lane, 36, s->at);
    load_pair(f, s, -8.0f, &x);
    turn_words(f, x.q[0], 4);
    turn_words(f, x.q[0] + 4, 4);
    for (unsigned r = 0; r < s->rows; r++) {
        cj_val w[9], d[2][2];
        shared_words(f, at, (int64_t)(r * s->row_bytes), 9, 1, w);
        half_floats(f, w[0], d[0]);
        half_floats(f, w[4], d[1]);
        w[4] = picked(f, w[0], w[4], 0x5432);
        const cj_val *const q[2][4] = { { &w[4], &w[1], &w[2], &w[3] }, { &w[5], &w[6], &w[7], &w[8] } };
        for (unsigned i = 0; i < 2; i++) {
            cj_val sum = cj_let(f, CJ_S32, 0), sixteens = cj_let(f, CJ_S32, 0);
            for (unsigned k = 0; k < 4; k++) {
                sum = dot_unsigned(f, half_bytes(f, *q[i][k], false), x.q[i][k], sum);
                sixteens = dot_unsigned(f, half_bytes(f, *q[i][k], true), x.q[i][k + 4], sixteens);
            }
            sum = cj_add(f, sum, cj_shr(f, sixteens, 4));
            add_product(f, s, r, d[i][i], cj_fma(f, x.d[i], whole_float(f, sum), x.sum[i]));
        }
    }
}

static void step_q8_0(cj_fn *f, const cjk_gemv_step *s)
{
    step_units x;
    cj_val at = cj_mad(f, s->lane, 68, s->at);
    load_pair(f, s, 1.0f, &x);
    turn_words(f, x.q[0], CJK_UNIT_WORDS);
    for (unsigned r = 0; r < s->rows; r++) {
        cj_val w[17], d[2][2];
        shared_words(f, at, (int64_t)(r * s->row_bytes), 17, 1, w);
        half_floats(f, w[0], d[0]);
        half_floats(f, w[8], d[1]);
        w[0] = picked(f, w[0], w[8], 0x5432);
        for (unsigned i = 0; i < 2; i++) {
            cj_val sum = cj_let(f, CJ_S32, 0);
            for (unsigned k = 0; k < CJK_UNIT_WORDS; k++)
                sum = cjk_dot(f, w[i ? 9 + k : k], x.q[i][k], sum);
            add_product(f, s, r, d[i][i], cj_mul(f, x.d[i], whole_float(f, sum)));
        }
    }
}

/* 4 lanes have a block.  Lane j of them has units 2 j and 2 j + 1: the low and high bits of 32 bytes.  Their scales are
 * two neighbours among the 6-bit numbers, which gemv_rows.c describes. */
static void step_q4_k(cj_fn *f, const cjk_gemv_step *s)
{
    step_units x;
    cj_val j = cj_and(f, s->lane, 3), at = cj_mad(f, cj_shr(f, s->lane, 2), 144, s->at);
    cj_val bytes = cj_mad(f, j, 32, at), by = cj_shl(f, cj_and(f, j, 1), 4), upper = cj_ge(f, j, 2);
    load_pair(f, s, 1.0f, &x);
    for (unsigned r = 0; r < s->rows; r++) {
        cj_val head[4], w[CJK_UNIT_WORDS], d[2], part[3];
        shared_words(f, at, (int64_t)(r * s->row_bytes), 4, 4, head);
        shared_words(f, bytes, (int64_t)(r * s->row_bytes) + 16, CJK_UNIT_WORDS, 4, w);
        half_floats(f, head[0], d);
        for (unsigned i = 0; i < 3; i++) part[i] = cj_shr(f, head[1 + i], by);
        cj_val low = cj_imm_bits(f, CJ_B32, 0x0f0f0f0f), high = cj_imm_bits(f, CJ_B32, 0x30303030);
        cj_val all = cj_imm_bits(f, CJ_B32, 0x3f3f3f3f);
        cj_val scale_high = cj_or(f, cj_and(f, part[2], low), cj_and(f, cj_shr(f, part[0], 2), high));
        cj_val least_high = cj_or(f, cj_and(f, cj_shr(f, part[2], 4), low), cj_and(f, cj_shr(f, part[1], 2), high));
        cj_val scales = cj_select(f, upper, scale_high, cj_and(f, part[0], all));
        cj_val leasts = cj_select(f, upper, least_high, cj_and(f, part[1], all));
        cj_val more = cj_imm(f, 0.0f), less = cj_imm(f, 0.0f);
        for (unsigned i = 0; i < 2; i++) {
            cj_val sum = cj_let(f, CJ_S32, 0), scale = whole_float(f, picked(f, scales, cj_imm_i(f, 0), 0x4440 + i));
            for (unsigned k = 0; k < CJK_UNIT_WORDS; k++)
                sum = dot_unsigned(f, half_bytes(f, w[k], i), x.q[i][k], sum);
            cj_val least = whole_float(f, picked(f, leasts, cj_imm_i(f, 0), 0x4440 + i));
            cj_val product = cj_mul(f, x.d[i], whole_float(f, i ? cj_shr(f, sum, 4) : sum));
            more = i ? cj_fma(f, product, scale, more) : cj_mul(f, product, scale);
            less = i ? cj_fma(f, x.sum[i], least, less) : cj_mul(f, x.sum[i], least);
        }
        add_product(f, s, r, d[0], more);
        add_product(f, s, r, cj_neg(f, d[1]), less);
    }
}

/* 8 words from an address that is 0 or 2 bytes beyond a word: `turn` is 0x3210 or 0x5432. */
static void words_between(cj_fn *f, cj_val at, int64_t offset, cj_val turn, cj_val *out)
{
    cj_val w[CJK_UNIT_WORDS + 1];
    shared_words(f, at, offset, CJK_UNIT_WORDS + 1, 1, w);
    for (unsigned k = 0; k < CJK_UNIT_WORDS; k++) out[k] = cj_def(f, "prmt.b32", w[k], w[k + 1], turn);
}

/* 4 lanes have a block, which is aligned to 2 bytes.  Lane 2 n + g of them has units 4 n + g and 4 n + g + 2: the low
 * and high halves of the bytes from 64 n + 32 g on, with bits 2 g and 2 g + 4 of those from 128 + 32 n on. */
static void step_q6_k(cj_fn *f, const cjk_gemv_step *s)
{
    step_units x;
    cj_val own[2 * (2 + CJK_UNIT_WORDS)], ones[2][2];
    cj_val block = cj_shr(f, s->lane, 2), n = cj_and(f, cj_shr(f, s->lane, 1), 1), g = cj_and(f, s->lane, 1);
    cj_val unit = cj_mad(f, n, 4, g), x_at = cj_mad(f, cj_mad(f, block, 8, unit), CJK_UNIT_BYTES, s->x);
    cj_val at = cj_mad(f, block, 210, s->at), odd = cj_ne(f, cj_and(f, block, 1), 0);
    cj_val turn = cj_select(f, odd, cj_imm_u(f, 0x5432), cj_imm_u(f, 0x3210));
    cj_val even = cj_sub(f, at, cj_select(f, odd, cj_imm_u(f, 2), cj_imm_u(f, 0)));
    cj_val lows = cj_mad(f, cj_and(f, s->lane, 3), 32, even), highs = cj_mad(f, n, 32, even);
    cj_val scales = cj_mad(f, unit, 2, at), by = cj_shl(f, g, 1);
    shared_words(f, x_at, 0, 10, 2, own);
    shared_words(f, x_at, 2 * CJK_UNIT_BYTES, 10, 2, own + 10);
    take_units(f, own, 1.0f, &x);
    for (unsigned i = 0; i < 4; i++) {
        cj_val sum = cj_let(f, CJ_S32, 0); /* 32 is 0 */
        for (unsigned k = 0; k < 4; k++)
            sum = cjk_dot(f, cj_imm_bits(f, CJ_B32, 0xe0e0e0e0), x.q[i / 2][i % 2 * 4 + k], sum);
        ones[i / 2][i % 2] = sum;
    }
    for (unsigned r = 0; r < s->rows; r++) {
        int64_t row = (int64_t)(r * s->row_bytes);
        cj_val low[CJK_UNIT_WORDS], high[CJK_UNIT_WORDS];
        words_between(f, lows, row, turn, low);
        words_between(f, highs, row + 128, turn, high);
        cj_val d = cj_cvt(f, CJ_F32, cj_bits(f, CJ_F16, cj_def(f, "ld.shared.b16", cj_mem(f, at, row + 208))));
        for (unsigned k = 0; k < CJK_UNIT_WORDS; k++) high[k] = cj_shr(f, high[k], by);
        for (unsigned i = 0; i < 2; i++) {
            cj_val total = cj_let(f, CJ_S32, 0), bits = cj_imm_bits(f, CJ_B32, 0x30303030);
            for (unsigned part = 0; part < 2; part++) {
                cj_val sum = ones[i][part];
                for (unsigned k = 4 * part; k < 4 * part + 4; k++) {
                    cj_val top = cj_and(f, i ? high[k] : cj_shl(f, high[k], 4), bits);
                    cj_val w = cj_or(f, cjk_nibbles(f, low[k], cj_imm_i(f, 4 * (int)i)), top);
                    sum = cjk_dot(f, w, x.q[i][k], sum);
                }
                cj_val scale = cj_def(f, "ld.shared.s8", cj_mem(f, scales, row + 192 + 4 * (int)i + (int)part));
                total = cj_mad(f, cj_bits(f, CJ_S32, scale), sum, total);
            }
            add_product(f, s, r, d, cj_mul(f, x.d[i], whole_float(f, total)));
        }
    }
}

/* 8 elements of a lane; the vector is CJ_F32. */
static void step_elements(cj_fn *f, const cjk_gemv_step *s)
{
    cj_type type = s->format == CJ_GEMV_F16 ? CJ_F16 : CJ_BF16;
    cj_val x[8], at = cj_mad(f, s->lane, 16, s->at), x_at = cj_mad(f, s->lane, 32, s->x);
    shared_words(f, x_at, 0, 8, 4, x);
    for (unsigned r = 0; r < s->rows; r++) {
        cjk_raw raw = { .words = 4 };
        cj_val w[8];
        shared_words(f, at, (int64_t)(r * s->row_bytes), 4, 4, raw.word);
        cjk_raw_values(f, type, &raw, 8, CJ_F32, w);
        for (unsigned k = 0; k < 8; k++) add_product(f, s, r, w[k], cj_bits(f, CJ_F32, x[k]));
    }
}

void cjk_gemv_step_write(cj_fn *f, const cjk_gemv_step *s)
{
    switch (s->format) {
    case CJ_GEMV_Q4_0: step_q4_0(f, s); break;
    case CJ_GEMV_Q8_0: step_q8_0(f, s); break;
    case CJ_GEMV_Q4_K: step_q4_k(f, s); break;
    case CJ_GEMV_Q6_K: step_q6_k(f, s); break;
    default: step_elements(f, s); break;
    }
}
