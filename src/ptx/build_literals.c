/* Numbers as operands: a C number is untyped until it lands on a place, and then becomes a literal of the place's
 * type. */
#include <stdio.h>
#include <string.h>

#include "ptx/build.h"

static uint64_t f64_bits(double x)
{
    uint64_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

static double f64_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t f32_bits(float x)
{
    uint32_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

static float f32_of(uint64_t bits)
{
    uint32_t b = (uint32_t)bits;
    float x;
    memcpy(&x, &b, sizeof x);
    return x;
}

/* ---- Making ------------------------------------------------------------------------------------------------------ */

static cj_val imm(cj_fn *f, unsigned lit, uint64_t bits, bool wide, unsigned type, const char *call)
{
    return cji_fn_open(f, call) ? cji_val_of(f, cji_fn_lit(f, lit, bits, wide, type), type) : CJI_NULL;
}

cj_val cj_imm_i(cj_fn *f, int64_t x) { return imm(f, CJI_LIT_INT, (uint64_t)x, false, CJ_VOID, __func__); }
cj_val cj_imm_u(cj_fn *f, uint64_t x) { return imm(f, CJI_LIT_INT, x, x > INT64_MAX, CJ_VOID, __func__); }
cj_val cj_imm_f32(cj_fn *f, float x) { return imm(f, CJI_LIT_F32, f32_bits(x), false, CJ_VOID, __func__); }
cj_val cj_imm_f64(cj_fn *f, double x) { return imm(f, CJI_LIT_F64, f64_bits(x), false, CJ_VOID, __func__); }
cj_val cji_imm_int(cj_fn *f, int64_t x)
{
    return cji_val_of(f, cji_fn_lit(f, CJI_LIT_INT, (uint64_t)x, false, CJ_VOID), CJ_VOID);
}

cj_val cj_imm_bits(cj_fn *f, cj_type type, uint64_t bits)
{
    if (!cji_fn_open(f, __func__)) return CJI_NULL;
    unsigned width = (unsigned)type < CJ_TYPE_COUNT ? cji_type_bits(type) : 0;
    if (type == CJ_PRED || type == CJ_B128 || !width || (width < 64 && bits >> width)) {
        cji_ptx_fail(f->m, CJ_EINVAL, __func__, f->loc, "%s: 0x%llx is not a value of .%s", __func__,
                     (unsigned long long)bits, (unsigned)type < CJ_TYPE_COUNT ? cji_type_word(type) : "type");
        return CJI_NULL;
    }
    if (type == CJ_F32 || type == CJ_F64)
        return imm(f, type == CJ_F32 ? CJI_LIT_F32 : CJI_LIT_F64, bits, false, type, __func__);
    if (cji_type_is_signed(type) && width < 64 && bits >> (width - 1)) bits |= ~(uint64_t)0 << width;
    return imm(f, CJI_LIT_INT, bits, !cji_type_is_signed(type) && bits > INT64_MAX, type, __func__);
}

/* ---- Taking a place's type --------------------------------------------------------------------------------------- */

static void value_text(const cji_lit *l, char *out, size_t size)
{
    if (l->lit == CJI_LIT_F64) snprintf(out, size, "%.9g", f64_of(l->bits));
    else if (l->lit == CJI_LIT_F32) snprintf(out, size, "%.9g", (double)f32_of(l->bits));
    else if (l->wide) snprintf(out, size, "%llu", (unsigned long long)l->bits);
    else snprintf(out, size, "%lld", (long long)l->bits);
}

static uint32_t misfit(const cji_lit *l, unsigned type, char *why, size_t size)
{
    char text[40];
    value_text(l, text, sizeof text);
    if (l->lit == CJI_LIT_INT) snprintf(why, size, "%s does not fit a .%s", text, cji_type_word(type));
    else snprintf(why, size, "%s is a floating-point number, wants an integer", text);
    return 0;
}

double cji_lit_value(const cji_lit *l)
{
    if (l->lit == CJI_LIT_F64) return f64_of(l->bits);
    if (l->lit == CJI_LIT_F32) return (double)f32_of(l->bits);
    return l->wide ? (double)l->bits : (double)(int64_t)l->bits;
}

float cji_lit_single(const cji_lit *l)
{
    if (l->lit == CJI_LIT_F32) return f32_of(l->bits);
    if (l->lit == CJI_LIT_F64) return (float)f64_of(l->bits);
    return l->wide ? (float)l->bits : (float)(int64_t)l->bits;
}

/* Anything from -2^(w-1) to 2^w - 1 is some reading of w bits; a signed type takes no more than its own. */
static bool int_in_type(const cji_lit *l, unsigned type)
{
    unsigned width = cji_type_bits(type);
    int64_t v = (int64_t)l->bits;
    if (width >= 64) return !(l->wide && cji_type_is_signed(type));
    if (l->wide) return false;
    if (v < 0) return v >= -((int64_t)1 << (width - 1));
    return v < (int64_t)1 << (cji_type_is_signed(type) ? width - 1 : width);
}

uint32_t cji_lit_as(cj_fn *f, uint32_t index, unsigned type, char *why, size_t size)
{
    cji_lit l = f->lit[index];
    switch (type) {
    case CJ_F32: return cji_fn_lit(f, CJI_LIT_F32, f32_bits(cji_lit_single(&l)), false, type);
    case CJ_F64: return cji_fn_lit(f, CJI_LIT_F64, f64_bits(cji_lit_value(&l)), false, type);
    case CJ_VOID: case CJ_PRED: case CJ_B128: case CJ_F16: case CJ_BF16: case CJ_F16X2: case CJ_BF16X2:
        return cji_word(CJI_K_IMM, index); /* the matcher says whether a number may stand there at all */
    default:
        if (l.lit == CJI_LIT_F32 && type == CJ_B32) return cji_word(CJI_K_IMM, index);
        if (l.lit == CJI_LIT_F64 && type == CJ_B64) return cji_word(CJI_K_IMM, index);
        if (l.lit != CJI_LIT_INT || !int_in_type(&l, type)) return misfit(&l, type, why, size);
        return cji_word(CJI_K_IMM, index);
    }
}

/* ---- Types ------------------------------------------------------------------------------------------------------- */

bool cji_type_is_int(unsigned type) { return type >= CJ_B8 && type <= CJ_S64 && type != CJ_B128; }

unsigned cji_type_wide(unsigned type)
{
    switch (type) {
    case CJ_B8: return CJ_B32;
    case CJ_U8: return CJ_U32;
    case CJ_S8: return CJ_S32;
    default: return type;
    }
}

unsigned cji_type_bits_of(unsigned type)
{
    switch (cji_type_bits(type)) {
    case 1: return CJ_PRED;
    case 8: return CJ_B8;
    case 16: return CJ_B16;
    case 32: return CJ_B32;
    case 64: return CJ_B64;
    case 128: return CJ_B128;
    default: return CJ_VOID;
    }
}

unsigned cji_type_mem(unsigned type)
{
    return type == CJ_F16 || type == CJ_BF16 || type == CJ_F16X2 || type == CJ_BF16X2 ? cji_type_bits_of(type) : type;
}
