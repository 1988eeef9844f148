/* Elements of memory as registers, rows of matrices, operations that join values. */
#include <stdio.h>

#include "kernels/kernels_core.h"

static const struct element { cj_type wide; uint8_t bytes; const char *name; } elements[CJ_TYPE_COUNT] = {
    [CJ_U8] = { CJ_U32, 1, "u8" },    [CJ_S8] = { CJ_S32, 1, "s8" },    [CJ_U16] = { CJ_U32, 2, "u16" },
    [CJ_S16] = { CJ_S32, 2, "s16" },  [CJ_U32] = { CJ_U32, 4, "u32" },  [CJ_S32] = { CJ_S32, 4, "s32" },
    [CJ_U64] = { CJ_U64, 8, "u64" },  [CJ_S64] = { CJ_S64, 8, "s64" },  [CJ_F16] = { CJ_F32, 2, "f16" },
    [CJ_F32] = { CJ_F32, 4, "f32" },  [CJ_BF16] = { CJ_F32, 2, "bf16" }, [CJ_F64] = { CJ_F64, 8, "f64" },
};

static const struct element *row_of_element(cj_type type)
{
    return (uint32_t)type < CJ_TYPE_COUNT && elements[type].bytes ? &elements[type] : NULL;
}

size_t cjk_size(cj_type type)
{
    const struct element *e = row_of_element(type);
    return e ? e->bytes : 0;
}

const char *cjk_type_name(cj_type type)
{
    const struct element *e = row_of_element(type);
    return e ? e->name : "another type";
}

cj_status cjk_fail_type(void *object, const char *call, const char *name, int32_t type, const char *wants)
{
    if (!type) return cjk_fail(object, CJ_EINVAL, call, "%s is not set; wants %s", name, wants);
    if (!cjk_size((cj_type)type))
        return cjk_fail(object, CJ_EINVAL, call, "%s %d is no type of elements; wants %s", name, type, wants);
    return cjk_fail(object, CJ_EINVAL, call, "%s is %s; wants %s", name, cjk_type_name((cj_type)type), wants);
}

cj_type cjk_wide(cj_type type)
{
    const struct element *e = row_of_element(type);
    return e ? e->wide : CJ_VOID;
}

/* cvt.f32.bf16 needs sm_90; the bits of a bf16 are the high half of the f32's. */
static cj_val widen_bf16(cj_fn *f, cj_val bits16)
{
    return cj_bits(f, CJ_F32, cj_shl(f, cj_cvt(f, CJ_U32, bits16), 16));
}

bool cjk_has(cj_fn *f, const char *target) { return cj_ptx_allows(cj_fn_module(f), target) == 1; }

/* To nearest even by integers: half of the last place is added.  A NaN becomes the one that cvt gives. */
cj_val cjk_bf16_bits(cj_fn *f, cj_val v)
{
    cj_val bits = cj_bits(f, CJ_U32, v), odd = cj_and(f, cj_shr(f, bits, 16), 1);
    cj_val rounded = cj_shr(f, cj_add(f, bits, cj_add(f, odd, cj_imm_bits(f, CJ_U32, 0x7fff))), 16);
    return cj_select(f, cj_ne(f, v, v), cj_imm_bits(f, CJ_U32, 0x7fff), rounded);
}

cj_val cjk_as(cj_fn *f, cj_type as, cj_val v)
{
    return cj_type_of(v) == as ? v : cj_cvt(f, as, v);
}

cj_val cjk_load(cj_fn *f, cj_type type, cj_val address, cj_type as)
{
    if (type == CJ_BF16) return cjk_as(f, as, widen_bf16(f, cj_load(f, CJ_U16, address)));
    if (type == CJ_F16) return cjk_as(f, as, cj_cvt(f, CJ_F32, cj_load(f, CJ_F16, address)));
    cj_val v = cj_load(f, type, address);
    if (cjk_size(type) == 2) v = cj_cvt(f, cjk_wide(type), v);
    return cjk_as(f, as, v);
}

void cjk_store(cj_fn *f, cj_type type, cj_val address, cj_val v)
{
    cj_type has = cj_type_of(v);
    if (type == CJ_BF16 && !cjk_has(f, "sm_80")) {
        cj_store(f, CJ_U16, address, cj_cvt(f, CJ_U16, cjk_bf16_bits(f, cjk_as(f, CJ_F32, v))));
        return;
    }
    if (type == CJ_BF16 || type == CJ_F16) v = cj_cvt(f, type, cjk_as(f, CJ_F32, v));
    else if (cjk_size(type) == 2) v = cj_cvt(f, type, v);
    else if (cjk_size(type) > 2 && has != type) v = cj_cvt(f, type, v);
    else if (cjk_size(type) == 1 && (has == CJ_F32 || has == CJ_F64)) v = cj_cvt(f, cjk_wide(type), v);
    cj_store(f, type, address, v);
}

/* -- Rows ---------------------------------------------------------------------------------------------------------- */

cjk_operand cjk_operand_of(cj_fn *f, const char *name, cj_type type)
{
    char part[48];
    cjk_operand x = { .type = type };
    x.base = cj_param_ptr(f, name, CJ_VOID);
    snprintf(part, sizeof part, "%s_stride", name);
    x.stride = cj_param(f, part, CJ_S64);
    snprintf(part, sizeof part, "%s_step", name);
    x.step = cj_param(f, part, CJ_S64);
    return x;
}

/* begin + index * step elements.  Strides are signed; the product is the same for either sign. */
static cj_val element_at(cj_fn *f, const cjk_operand *x, cj_val begin, cj_val index, cj_val step)
{
    cj_val by = cj_mul(f, cj_bits(f, CJ_U64, step), cjk_size(x->type));
    return cj_as_ptr(f, cj_mad(f, index, by, cj_addr(f, begin)), x->type, CJ_SPACE_GLOBAL);
}

cj_val cjk_row(cj_fn *f, const cjk_operand *x, cj_val row) { return element_at(f, x, x->base, row, x->stride); }

cj_val cjk_column(cj_fn *f, const cjk_operand *x, cj_val begin, cj_val column)
{
    return element_at(f, x, begin, column, x->step);
}

cj_val cjk_thread(cj_fn *f) { return cj_cvt(f, CJ_U64, cj_thread_id(f, CJ_X)); }
cj_val cjk_block(cj_fn *f, cj_dim dim) { return cj_cvt(f, CJ_U64, cj_block_id(f, dim)); }

/* -- Operations ---------------------------------------------------------------------------------------------------- */

static bool is_signed(cj_type type) { return type == CJ_S8 || type == CJ_S16 || type == CJ_S32 || type == CJ_S64; }

/* The bits of the least (or greatest) value, and of 1. */
static uint64_t value_bound(cj_type type, bool least)
{
    unsigned bits = (unsigned)cjk_size(type) * 8;
    uint64_t all = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1, sign = (uint64_t)1 << (bits - 1);
    if (type == CJ_F32) return least ? 0xff800000 : 0x7f800000;
    if (type == CJ_F64) return least ? 0xfff0000000000000 : 0x7ff0000000000000;
    if (is_signed(type)) return least ? sign : sign - 1;
    return least ? 0 : all;
}

cj_type cjk_bounds(cj_type in, cj_type wide, cj_type out)
{
    bool floating = wide == CJ_F32 || wide == CJ_F64 || in == CJ_F16 || in == CJ_BF16 || in == CJ_F32 || in == CJ_F64;
    return !floating && cjk_size(out) < cjk_size(wide) && cjk_size(in) < cjk_size(wide) ? in : wide;
}

/* The same value in `type`, which is an integer of as many bits or more, or the same. */
static uint64_t bound_in(cj_type type, cj_type of, bool least)
{
    uint64_t bits = value_bound(of, least);
    if (type != of && is_signed(of) && least) bits |= UINT64_MAX << (8 * cjk_size(of) - 1);
    return bits & UINT64_MAX >> (64 - 8 * cjk_size(type));
}

cj_val cjk_identity(cj_fn *f, const cjk_join *j)
{
    uint64_t bits = j->identity;
    if (!j->fn) switch (j->op) {
    case CJ_COMBINE_MUL: bits = j->type == CJ_F32 ? 0x3f800000 : j->type == CJ_F64 ? 0x3ff0000000000000 : 1; break;
    case CJ_COMBINE_MIN: bits = bound_in(j->type, j->bounds, false); break;
    case CJ_COMBINE_MAX: bits = bound_in(j->type, j->bounds, true); break;
    case CJ_COMBINE_AND: bits = value_bound(CJ_U64, false) >> (64 - 8 * cjk_size(j->type)); break;
    default: bits = 0; break;
    }
    return cj_imm_bits(f, j->type, bits);
}

cj_val cjk_combine(cj_fn *f, const cjk_join *j, cj_val a, cj_val b)
{
    if (j->fn) return cj_call(f, j->fn, a, b);
    switch (j->op) {
    case CJ_COMBINE_ADD: return cj_add(f, a, b);
    case CJ_COMBINE_MUL: return cj_mul(f, a, b);
    case CJ_COMBINE_MIN: return cj_min(f, a, b);
    case CJ_COMBINE_MAX: return cj_max(f, a, b);
    case CJ_COMBINE_AND: return cj_and(f, a, b);
    case CJ_COMBINE_OR: return cj_or(f, a, b);
    default: return cj_xor(f, a, b);
    }
}

void cjk_block_total(cj_fn *f, const cjk_join *j, cj_val v, cj_val *total)
{
    const cj_thread_group all = { .threads = CJK_THREADS };
    if (j->fn) cj_block_reduce_fn(f, j->fn, v, &all, total);
    else cj_block_reduce(f, j->op, v, &all, total);
}

static bool is_floating(cj_type type) { return type == CJ_F32 || type == CJ_F64; }

cj_status cjk_check_join(void *object, const cjk_join_opts *o, const char *call)
{
    if (!cjk_size(o->type)) return cjk_fail_type(object, call, "type", o->type, CJK_ELEMENTS);
    if (!cjk_size(o->out)) return cjk_fail_type(object, call, "out_type", o->out, CJK_ELEMENTS);
    if (cjk_size(o->wide) < 4)
        return cjk_fail_type(object, call, "wide", o->wide, "f32, f64 or an integer of 32 or 64 bits");
    if (!o->function != !o->module)
        return cjk_fail(object, CJ_EINVAL, call, "%s is NULL", o->module ? "function" : "module");
    if (o->function) return CJ_OK;
    if (o->op < CJ_COMBINE_ADD || o->op > CJ_COMBINE_XOR)
        return cjk_fail(object, CJ_EINVAL, call, "there is no op %d; wants a cj_combine_op", o->op);
    if (o->op >= CJ_COMBINE_AND && is_floating(o->wide))
        return cjk_fail(object, CJ_EINVAL, call, "%s does not join values of %s; it wants wide to be an integer",
                        cj_enum_name("cj_combine_op", o->op), cjk_type_name(o->wide));
    return CJ_OK;
}

bool cjk_join_fits(void *object, const cjk_code *c, const char *function, cj_type wide, const char *call)
{
    char wants[64];
    snprintf(wants, sizeof wants, "two parameters and a result of %s", cjk_type_name(wide));
    return cjk_function_fits(object, c, function, wants, call);
}
