/* Products of a matrix and a vector: a warp for each row.
 *
 * A lane takes a unit of 32 columns at a time, which is a block of the quantised vector: a scale, the sum of the
 * numbers, 32 bytes.  The unit's weights become 8 words of 4 numbers in the order of the columns, and dp4a multiplies
 * them: the sum is exact.  Blocks of most formats are aligned to 2 bytes only, so they are loaded by halves. */
#include "kernels/gemv.h"

/* -- Loads --------------------------------------------------------------------------------------------------------- */

/* A word at an address that is aligned to 2 bytes. */
static cj_val load_word(cj_fn *f, cj_val at, int64_t offset)
{
    cj_val halves[2];
    for (int i = 0; i < 2; i++) halves[i] = cj_load(f, CJ_U16, cj_mem(f, at, offset + 2 * i));
    return cj_def(f, "mov.b32", cj_vec_n(f, halves, 2));
}

static cj_val load_half(cj_fn *f, cj_val at, int64_t offset)
{
    return cj_cvt(f, CJ_F32, cj_load(f, CJ_F16, cj_mem(f, at, offset)));
}

/* at + index * bytes */
cj_val cjk_bytes_at(cj_fn *f, cj_val at, cj_val index, uint64_t bytes)
{
    return cj_as_ptr(f, cj_mad(f, index, bytes, cj_addr(f, at)), CJ_U8, CJ_SPACE_GLOBAL);
}

/* The bytes' low 4 bits behind a shift of the whole word. */
cj_val cjk_nibbles(cj_fn *f, cj_val word, cj_val shift)
{
    return cj_and(f, cj_shr(f, word, shift), cj_imm_bits(f, CJ_B32, 0x0f0f0f0f));
}

cj_val cjk_dot(cj_fn *f, cj_val weights, cj_val x, cj_val sum)
{
    return cj_bits(f, CJ_S32, cj_def(f, "dp4a.s32.s32", weights, x, sum));
}

static cj_val as_float(cj_fn *f, cj_val v) { return cj_cvt(f, CJ_F32, v); }

/* -- Units of the formats: what 32 columns add to the row ---------------------------------------------------------- */

/* A unit of the vector. */
typedef struct vector_unit { cj_val scale, sum, q[CJK_UNIT_WORDS]; } vector_unit;

static void load_unit(cj_fn *f, cj_val x, cj_val unit, vector_unit *v)
{
    cj_val at = cjk_bytes_at(f, x, unit, CJK_UNIT_BYTES);
    v->scale = cj_load(f, CJ_F32, at);
    v->sum = cj_load(f, CJ_S32, cj_mem(f, at, 4));
    for (unsigned i = 0; i < CJK_UNIT_WORDS; i += 2) {
        cj_val two = cj_def(f, "ld.global.v2.b32", cj_mem(f, at, 8 + 4 * i));
        v->q[i] = cj_elem(f, two, 0);
        v->q[i + 1] = cj_elem(f, two, 1);
    }
}

/* d, then 16 bytes: column i is in the low bits of byte i, column i + 16 in the high ones; 8 is 0. */
static cj_val unit_q4_0(cj_fn *f, cj_val row, cj_val unit, const vector_unit *x)
{
    cj_val at = cjk_bytes_at(f, row, unit, 18), d = load_half(f, at, 0), sum = cj_mul(f, x->sum, -8);
    for (unsigned i = 0; i < 4; i++) {
        cj_val w = load_word(f, at, 2 + 4 * i);
        sum = cjk_dot(f, cjk_nibbles(f, w, cj_imm_i(f, 0)), x->q[i], sum);
        sum = cjk_dot(f, cjk_nibbles(f, w, cj_imm_i(f, 4)), x->q[i + 4], sum);
    }
    return cj_mul(f, cj_mul(f, d, x->scale), as_float(f, sum));
}

/* d, then 32 signed bytes. */
static cj_val unit_q8_0(cj_fn *f, cj_val row, cj_val unit, const vector_unit *x)
{
    cj_val at = cjk_bytes_at(f, row, unit, 34), d = load_half(f, at, 0), sum = cj_let(f, CJ_S32, 0);
    for (unsigned i = 0; i < CJK_UNIT_WORDS; i++) sum = cjk_dot(f, load_word(f, at, 2 + 4 * i), x->q[i], sum);
    return cj_mul(f, cj_mul(f, d, x->scale), as_float(f, sum));
}

/* d, dmin, 12 bytes with 8 scales and 8 least values of 6 bits, 128 bytes.  Units 2 i and 2 i + 1 are the low and high
 * bits of the 32 bytes from 32 i on.  Scale j < 4 is in the low 6 bits of byte j, its least value in those of byte j +
 * 4; of the others the low 4 bits are those of byte j + 4, or its high ones; the high 2 those of byte j - 4, or j. */
static cj_val unit_q4_k(cj_fn *f, cj_val row, cj_val unit, const vector_unit *x)
{
    cj_val block = cj_shr(f, unit, 3), j = cj_cvt(f, CJ_U32, cj_and(f, unit, 7));
    cj_val at = cjk_bytes_at(f, row, block, 144);
    cj_val d = load_half(f, at, 0), least = load_half(f, at, 2), words[3];
    for (unsigned i = 0; i < 3; i++) words[i] = cj_load(f, CJ_U32, cj_mem(f, at, 4 + 4 * i));
    cj_val by = cj_shl(f, cj_and(f, j, 3), 3), low = cj_lt(f, j, 4);
    cj_val a = cj_and(f, cj_shr(f, words[0], by), 255), b = cj_and(f, cj_shr(f, words[1], by), 255);
    cj_val c = cj_and(f, cj_shr(f, words[2], by), 255);
    cj_val scale_high = cj_or(f, cj_and(f, c, 15), cj_shl(f, cj_shr(f, a, 6), 4));
    cj_val least_high = cj_or(f, cj_shr(f, c, 4), cj_shl(f, cj_shr(f, b, 6), 4));
    cj_val scale = cj_select(f, low, cj_and(f, a, 63), scale_high);
    cj_val minimum = cj_select(f, low, cj_and(f, b, 63), least_high);
    cj_val quarter = cj_cvt(f, CJ_U64, cj_shr(f, j, 1)), bytes = cjk_bytes_at(f, at, quarter, 32);
    cj_val shift = cj_shl(f, cj_and(f, j, 1), 2), sum = cj_let(f, CJ_S32, 0);
    for (unsigned i = 0; i < CJK_UNIT_WORDS; i++)
        sum = cjk_dot(f, cjk_nibbles(f, cj_load(f, CJ_B32, cj_mem(f, bytes, 16 + 4 * i)), shift), x->q[i], sum);
    cj_val more = cj_mul(f, cj_mul(f, d, cj_cvt(f, CJ_F32, scale)), as_float(f, sum));
    cj_val less = cj_mul(f, cj_mul(f, least, cj_cvt(f, CJ_F32, minimum)), as_float(f, x->sum));
    return cj_mul(f, x->scale, cj_sub(f, more, less));
}

/* 128 bytes of low bits, 64 bytes of high ones, 16 scales as signed bytes, d.  Unit j: half n = j / 4 of the block,
 * group g = j % 4 of it.  The low 4 bits are in the bytes 64 n + 32 (g % 2) on, in their low bits for g < 2; the high 2
 * are bits 2 g of the bytes 32 n on.  32 is 0.  Each 16 columns have a scale. */
static cj_val unit_q6_k(cj_fn *f, cj_val row, cj_val unit, const vector_unit *x)
{
    cj_val block = cj_shr(f, unit, 3), j = cj_cvt(f, CJ_U32, cj_and(f, unit, 7));
    cj_val at = cjk_bytes_at(f, row, block, 210);
    cj_val n = cj_shr(f, j, 2), g = cj_and(f, j, 3), d = load_half(f, at, 208);
    cj_val low_at = cj_mad(f, n, 64, cj_shl(f, cj_and(f, g, 1), 5)), high_at = cj_mad(f, n, 32, 128);
    cj_val lows = cjk_bytes_at(f, at, cj_cvt(f, CJ_U64, low_at), 1);
    cj_val highs = cjk_bytes_at(f, at, cj_cvt(f, CJ_U64, high_at), 1);
    cj_val scales = cjk_bytes_at(f, at, cj_cvt(f, CJ_U64, cj_add(f, cj_mul(f, j, 2), 192)), 1);
    cj_val low_shift = cj_shl(f, cj_shr(f, g, 1), 2), high_shift = cj_shl(f, g, 1), total = cj_let(f, CJ_S32, 0);
    for (unsigned part = 0; part < 2; part++) {
        cj_val sum = cj_let(f, CJ_S32, 0), ones = cj_let(f, CJ_S32, 0);
        for (unsigned i = 4 * part; i < 4 * part + 4; i++) {
            cj_val high =
                cj_and(f, cj_shr(f, load_word(f, highs, 4 * i), high_shift), cj_imm_bits(f, CJ_B32, 0x03030303));
            cj_val w = cj_or(f, cjk_nibbles(f, load_word(f, lows, 4 * i), low_shift), cj_shl(f, high, 4));
            sum = cjk_dot(f, w, x->q[i], sum);
            ones = cjk_dot(f, cj_imm_bits(f, CJ_B32, 0x01010101), x->q[i], ones);
        }
        cj_val scale = cj_bits(f, CJ_S32, cj_load(f, CJ_S8, cj_mem(f, scales, part)));
        total = cj_mad(f, scale, cj_sub(f, sum, cj_mul(f, ones, 32)), total);
    }
    return cj_mul(f, cj_mul(f, d, x->scale), as_float(f, total));
}

/* -- Kernels ------------------------------------------------------------------------------------------------------- */

static cj_val unit_product(cj_fn *f, cj_gemv_format format, cj_val row, cj_val unit, const vector_unit *x)
{
    switch (format) {
    case CJ_GEMV_Q4_0: return unit_q4_0(f, row, unit, x);
    case CJ_GEMV_Q8_0: return unit_q8_0(f, row, unit, x);
    case CJ_GEMV_Q4_K: return unit_q4_k(f, row, unit, x);
    default: return unit_q6_k(f, row, unit, x);
    }
}

void cjk_gemv_write_rows(cj_ptx *m, const char *name, const cjk_gemv *g)
{
    cj_fn *f = cj_ptx_kernel(m, name);
    cj_fn_max_threads(f, CJK_THREADS, 1, 1);
    cj_val matrix = cj_param_ptr(f, "matrix", CJ_U8), row_bytes = cj_param(f, "row_bytes", CJ_U64);
    cj_val x = cj_param_ptr(f, "x", CJ_U8), out = cj_param_ptr(f, "out", g->out);
    cj_val rows = cj_param(f, "rows", CJ_U64), columns = cj_param(f, "columns", CJ_U64), total;
    cj_comment(f, "The row of the warp");
    cj_val warp = cj_shr(f, cj_thread_id(f, CJ_X), 5), lane = cj_cvt(f, CJ_U64, cj_and(f, cj_thread_id(f, CJ_X), 31));
    cj_val row = cj_mad(f, cjk_block(f, CJ_X), CJK_GEMV_WARPS, cj_cvt(f, CJ_U64, warp));
    cj_return_if(f, cj_ge(f, row, rows));
    cj_val begin = cj_as_ptr(f, cj_mad(f, row, row_bytes, cj_addr(f, matrix)), CJ_U8, CJ_SPACE_GLOBAL);
    cj_val sum = cj_let(f, CJ_F32, 0.0f), product;
    cj_name(f, lane, "lane");
    cj_name(f, row, "row");
    cj_name(f, begin, "weights");
    cj_name(f, sum, "sum");
    if (cjk_gemv_has_blocks(g)) {
        cj_comment(f, "The products of the lane's units of 32 columns");
        cj_val unit = cj_for(f, lane, cj_shr(f, columns, 5), 32);
            vector_unit v;
            cj_name(f, unit, "unit");
            load_unit(f, x, unit, &v);
            product = unit_product(f, (cj_gemv_format)g->o.format, begin, unit, &v);
            cj_assign(f, sum, cj_add(f, sum, product));
        cj_end(f);
    } else {
        cj_type weight = g->o.format == CJ_GEMV_F16 ? CJ_F16 : CJ_BF16;
        cj_comment(f, "The products of the lane's columns");
        cj_val c = cj_for(f, lane, columns, 32);
            cj_name(f, c, "column");
            cj_val w = cjk_load(f, weight, cjk_bytes_at(f, begin, c, 2), CJ_F32);
            cj_val v = cjk_load(f, g->x, cjk_bytes_at(f, x, c, cjk_size(g->x)), CJ_F32);
            cj_assign(f, sum, cj_fma(f, w, v, sum));
        cj_end(f);
    }
    cj_comment(f, "Join the sums of the lanes; lane 0 stores the row's");
    cj_warp_reduce(f, CJ_COMBINE_ADD, sum, 32, &total);
    cj_name(f, total, "total");
    cj_if(f, cj_eq(f, lane, 0));
        cjk_store(f, g->out, cj_at(f, out, row), total);
    cj_end(f);
    cj_return(f);
}
