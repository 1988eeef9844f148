/* What the paths of cj_gemm have in common: their parameters, the order of the tiles, what happens to a sum before it
 * is stored. */
#include <stdio.h>
#include <string.h>

#include "kernels/gemm_core.h"

cj_type cjk_gemm_end_type(const cjk_gemm *g)
{
    cj_type out = g->type[CJK_GEMM_OUT];
    if (cjk_gemm_floating(g->wide) || !cjk_gemm_floating(out) || !(g->o.scaled || g->o.bias)) return g->wide;
    return cjk_size(g->wide) == 8 || out == CJ_F64 ? CJ_F64 : CJ_F32;
}

void cjk_gemm_params_begin(cj_fn *f, const cjk_gemm *g, cj_fn *epilogue, cjk_gemm_params *p)
{
    const cj_type end = cjk_gemm_end_type(g);
    char user[24];
    *p = (cjk_gemm_params){ .fn = epilogue };
    p->x[CJK_GEMM_A] = cjk_operand_of(f, "a", g->type[CJK_GEMM_A]);
    p->x[CJK_GEMM_B] = cjk_operand_of(f, "b", g->type[CJK_GEMM_B]);
    p->out = cjk_operand_of(f, "out", g->type[CJK_GEMM_OUT]);
    p->size[CJK_GEMM_A] = cj_param(f, "m", CJ_U32);
    p->size[CJK_GEMM_B] = cj_param(f, "n", CJ_U32);
    p->k = cj_param(f, "k", CJ_U32);
    p->batches = cj_param(f, "batches", CJ_U32);
    p->by_batch[CJK_GEMM_A] = cj_param(f, "a_batch", CJ_S64);
    p->by_batch[CJK_GEMM_B] = cj_param(f, "b_batch", CJ_S64);
    p->by_batch[CJK_GEMM_OUT] = cj_param(f, "out_batch", CJ_S64);
    if (g->o.scaled) {
        p->c = cjk_operand_of(f, "c", g->type[CJK_GEMM_OUT]);
        p->c_batch = cj_param(f, "c_batch", CJ_S64);
        p->alpha = cj_param(f, "alpha", end);
        p->beta = cj_param(f, "beta", end);
        p->reads_c = cj_ne(f, p->beta, cj_imm_bits(f, end, 0));
    }
    if (g->o.bias) p->bias = cj_param_ptr(f, "bias", g->type[CJK_GEMM_OUT]);
    for (p->users = 0; p->users < g->user; p->users++) {
        snprintf(user, sizeof user, "user_%u", p->users);
        p->user[p->users] = cj_param(f, user, (cj_type)g->o.user_types[p->users]);
    }
}

cj_val cjk_gemm_bytes(cj_fn *f, cj_val elements, cj_type type)
{
    return cj_let(f, CJ_U64, cj_mul(f, cj_bits(f, CJ_U64, elements), cjk_size(type)));
}

/* -- One element --------------------------------------------------------------------------------------------------- */

static cj_val batch_of(cj_fn *f, const cjk_operand *x, cj_val stride, cj_val batch)
{
    cj_val by = cjk_gemm_bytes(f, stride, x->type);
    return cj_as_ptr(f, cj_mad(f, cj_cvt(f, CJ_U64, batch), by, cj_addr(f, x->base)), x->type, CJ_SPACE_GLOBAL);
}

/* An integer that f32 has (of 64 bits: f64), which is rounded to fewer bits as v is: where v has more bits, the last
 * ones become one that says whether any of them is set. */
static cj_val in_fewer_bits(cj_fn *f, cj_val v)
{
    const cj_type t = cj_type_of(v);
    const bool wide = cjk_size(t) == 8, negates = t == CJ_S32 || t == CJ_S64;
    const uint64_t all = wide ? UINT64_MAX : UINT32_MAX, last = wide ? 0xfff : 0x1ff;
    cj_val magnitude = negates ? cj_bits(f, wide ? CJ_U64 : CJ_U32, cj_abs(f, v)) : v;
    cj_val many = cj_ge(f, magnitude, cj_imm_bits(f, wide ? CJ_U64 : CJ_U32, UINT64_C(1) << (wide ? 53 : 24)));
    cj_val is_odd = cj_ne(f, cj_and(f, v, cj_imm_bits(f, t, last)), cj_imm_bits(f, t, 0));
    cj_val odd = cj_select(f, is_odd, cj_imm_bits(f, t, (last + 1) / 2), cj_imm_bits(f, t, 0));
    return cj_select(f, many, cj_or(f, cj_and(f, v, cj_imm_bits(f, t, all & ~last)), odd), v);
}

/* An f64 as f32, rounded to odd: it is rounded to fewer bits as v is. */
static cj_val to_odd(cj_fn *f, cj_val v)
{
    cj_val near = cj_cvt(f, CJ_F32, v), back = cj_cvt(f, CJ_F64, near), bits = cj_bits(f, CJ_U32, near);
    cj_val below = cj_select(f, cj_gt(f, cj_abs(f, back), cj_abs(f, v)), cj_sub(f, bits, 1), bits);
    return cj_bits(f, CJ_F32, cj_select(f, cj_eq(f, back, v), bits, cj_or(f, below, 1)));
}

/* v, or an f32 that is rounded to `out` as v would be.  Only sm_90 converts other types than f32 from and to bf16. */
static cj_val before_store(cj_fn *f, cj_type out, cj_val v)
{
    const cj_type has = cj_type_of(v);
    if (has == CJ_BF16) return cj_bits(f, CJ_F32, cj_shl(f, cj_cvt(f, CJ_U32, cj_bits(f, CJ_U16, v)), 16));
    if (has == CJ_F16) return cj_cvt(f, CJ_F32, v);
    if (has == CJ_S16 || has == CJ_U16) v = cj_cvt(f, cjk_wide(has), v);
    if (out != CJ_BF16 || has == CJ_F32) return v;
    if (has != CJ_F64) v = in_fewer_bits(f, v);
    if (has == CJ_U64 || has == CJ_S64) v = cj_cvt(f, CJ_F64, v);
    return cj_type_of(v) == CJ_F64 ? to_odd(f, v) : cj_cvt(f, CJ_F32, v);
}

/* Stores v as an element of `out`, converted as cj_cvt does: it is rounded once, and integers of 8 bits saturate. */
static void store_rounded(cj_fn *f, cj_type out, cj_val address, cj_val v)
{
    v = before_store(f, out, v);
    bool half = out == CJ_F16 && cj_type_of(v) != CJ_F32, byte = cjk_size(out) == 1 && cjk_gemm_floating(cj_type_of(v));
    if (half || byte) cj_store(f, out, address, cj_cvt(f, out, v));
    else cjk_store(f, out, address, v);
}

cj_val cjk_gemm_finish(cj_fn *f, const cjk_gemm *g, const cjk_gemm_params *p, cj_val v, cj_val row, cj_val column,
                       cj_val batch)
{
    const cj_type end = cjk_gemm_end_type(g);
    cj_val arg[CJK_GEMM_OWN + CJK_GEMM_USER] = { v, row, column, batch };
    if (g->o.bias)
        arg[0] = cj_add(f, v, cjk_load(f, g->type[CJK_GEMM_OUT], cj_at(f, p->bias, cj_cvt(f, CJ_U64, column)), end));
    if (!p->fn) return arg[0];
    memcpy(arg + CJK_GEMM_OWN, p->user, p->users * sizeof *p->user);
    return cj_call_n(f, p->fn, arg, CJK_GEMM_OWN + (size_t)p->users);
}

cj_val cjk_gemm_finish_f32(cj_fn *f, const cjk_gemm *g, const cjk_gemm_params *p, cj_val sum, cj_val row,
                           cj_val column, cj_val batch)
{
    return before_store(f, CJ_F32, cjk_gemm_finish(f, g, p, sum, row, column, batch));
}

void cjk_gemm_store(cj_fn *f, const cjk_gemm *g, const cjk_gemm_params *p, cj_val sum, cj_val row, cj_val column,
                    cj_val batch)
{
    const cj_type end = cjk_gemm_end_type(g);
    const bool floats = cjk_gemm_floating(end);
    cj_val v = cj_let(f, g->wide, sum), at_row = cj_cvt(f, CJ_U64, row), at_column = cj_cvt(f, CJ_U64, column);
    if (end != g->wide) v = cj_cvt(f, end, v);
    if (g->o.scaled) {
        cj_assign(f, v, cj_mul(f, v, p->alpha));
        cj_if(f, p->reads_c);
            cjk_operand c = p->c;
            c.base = batch_of(f, &p->c, p->c_batch, batch);
            cj_val old = cjk_load(f, c.type, cjk_column(f, &c, cjk_row(f, &c, at_row), at_column), end);
            cj_assign(f, v, floats ? cj_fma(f, p->beta, old, v) : cj_mad(f, p->beta, old, v));
        cj_end(f);
    }
    v = cjk_gemm_finish(f, g, p, v, row, column, batch);
    cjk_operand out = p->out;
    out.base = batch_of(f, &p->out, p->by_batch[CJK_GEMM_OUT], batch);
    store_rounded(f, out.type, cjk_column(f, &out, cjk_row(f, &out, at_row), at_column), v);
}

/* -- Tiles --------------------------------------------------------------------------------------------------------- */

void cjk_gemm_tile(cj_fn *f, cj_val tile, cj_val down, cj_val across, cj_val *row, cj_val *column)
{
    cj_val of_group = cj_mul(f, across, CJK_GEMM_GROUP), group = cj_div(f, tile, of_group);
    cj_val first = cj_mul(f, group, CJK_GEMM_GROUP), left = cj_sub(f, down, first);
    cj_val rows = cj_min(f, left, CJK_GEMM_GROUP), within = cj_sub(f, tile, cj_mul(f, group, of_group));
    *column = cj_div(f, within, rows);
    cj_val before = cj_mul(f, *column, rows);
    *row = cj_add(f, first, cj_sub(f, within, before));
}

static unsigned log2_of(uint32_t n)
{
    unsigned bits = 0;
    while (n >> bits != 1) bits++;
    return bits;
}

void cjk_gemm_chunk_at(cj_fn *f, const cjk_gemm_chunk *c, cj_val row, cj_val column, cj_val at[4])
{
    cj_val turn = cj_shl(f, cj_and(f, row, 3), 3), begin = cj_mul(f, row, c->columns);
    for (unsigned j = 0; j < 4; j++) {
        cj_val place = cj_xor(f, cj_add(f, column, 8 * j), turn);
        cj_val word = cj_add(f, begin, place);
        at[j] = cj_let(f, CJ_U32, cj_mad(f, word, 4, c->shared));
    }
}

/* Lanes take neighbours in the result's memory: of a row, or of a column if those are closer. */
void cjk_gemm_chunk_store(cj_fn *f, const cjk_gemm *g, const cjk_gemm_params *p, const cjk_gemm_chunk *c, cj_val row,
                          cj_val column, cj_val batch)
{
    cj_val down = cj_abs(f, p->out.stride), along = cj_abs(f, p->out.step), upright = cj_lt(f, down, along);
    cj_val t = c->thread, row_of_t = cj_shr(f, t, log2_of(c->columns)), column_of_t = cj_shr(f, t, log2_of(c->rows));
    cj_val r = cj_let(f, CJ_U32, cj_select(f, upright, cj_and(f, t, c->rows - 1), row_of_t));
    cj_val s = cj_let(f, CJ_U32, cj_select(f, upright, column_of_t, cj_and(f, t, c->columns - 1)));
    cj_val by_row = cj_select(f, upright, cj_imm(f, 0), cj_let(f, CJ_U32, c->threads / c->columns));
    cj_val by_column = cj_select(f, upright, cj_let(f, CJ_U32, c->threads / c->rows), cj_imm(f, 0));
    cj_for(f, 0, c->rows * c->columns / c->threads, 1);
        cj_val at_row = cj_add(f, row, r), at_column = cj_add(f, column, s);
        cj_val inside = cj_and(f, cj_lt(f, at_row, p->size[CJK_GEMM_A]), cj_lt(f, at_column, p->size[CJK_GEMM_B]));
        if (c->skip) inside = cj_and(f, inside, cj_ge(f, s, c->skip));
        cj_if(f, inside);
            cj_val place = cj_xor(f, s, cj_shl(f, cj_and(f, r, 3), 3));
            cj_val word = cj_mad(f, r, c->columns, place), address = cj_mad(f, word, 4, c->shared);
            cj_val sum = cj_load(f, g->wide, cj_as_ptr(f, address, g->wide, CJ_SPACE_SHARED));
            cjk_gemm_store(f, g, p, sum, at_row, at_column, batch);
        cj_end(f);
        cj_assign(f, r, cj_add(f, r, by_row));
        cj_assign(f, s, cj_add(f, s, by_column));
    cj_end(f);
}

/* Lanes take neighbours in the result's memory, as in cjk_gemm_chunk_store. */
void cjk_gemm_patch_store(cj_fn *f, const cjk_gemm *g, const cjk_gemm_params *p, cj_val patch, uint32_t rows,
                          cj_val lane, cj_val row, cj_val column, cj_val batch)
{
    cj_val down = cj_abs(f, p->out.stride), upright = cj_lt(f, down, cj_abs(f, p->out.step));
    cj_warp_sync(f, cj_imm(f, 0xffffffffu));
    cj_val from = cj_for(f, 0, rows * CJK_PATCH_COLUMNS, 32);
        cj_val i = cj_add(f, from, lane);
        cj_val r = cj_select(f, upright, cj_and(f, i, rows - 1), cj_shr(f, i, log2_of(CJK_PATCH_COLUMNS)));
        cj_val s = cj_select(f, upright, cj_shr(f, i, log2_of(rows)), cj_and(f, i, CJK_PATCH_COLUMNS - 1));
        cj_val at_row = cj_add(f, row, r), at_column = cj_add(f, column, s);
        cj_val inside = cj_and(f, cj_lt(f, at_row, p->size[CJK_GEMM_A]), cj_lt(f, at_column, p->size[CJK_GEMM_B]));
        cj_if(f, inside);
            cj_val word = cj_mad(f, r, CJK_PATCH_PITCH, s), address = cj_mad(f, word, 4, patch);
            cj_val sum = cj_load(f, g->wide, cj_as_ptr(f, address, g->wide, CJ_SPACE_SHARED));
            cjk_gemm_store(f, g, p, sum, at_row, at_column, batch);
        cj_end(f);
    cj_end(f);
    cj_warp_sync(f, cj_imm(f, 0xffffffffu));
}
