/* Decoding: loads, stores, atomic operations, addresses. */
#include "sim/exec/decode.h"
#include "sim/exec/lane_ops.h"
#include "sim/exec/ops_lane.h"
#include "sim/exec/ops_mem.h"
#include "sim/exec/ops_quick.h"

/* The state space that the spelling names; CJI_SP_GENERIC when none. */
static unsigned dmem_space(cji_dec *d)
{
    if (cji_dec_has(d, CJI_W_GLOBAL) || cji_dec_has(d, CJI_W_CONST)) return CJI_SP_GLOBAL;
    if (cji_dec_has(d, CJI_W_SHARED) || cji_dec_has(d, CJI_W_SHARED__CTA) || cji_dec_has(d, CJI_W_SHARED__CLUSTER))
        return CJI_SP_SHARED;
    if (cji_dec_has(d, CJI_W_LOCAL)) return CJI_SP_LOCAL;
    if (cji_dec_has(d, CJI_W_PARAM) || cji_dec_has(d, CJI_W_PARAM__ENTRY) || cji_dec_has(d, CJI_W_PARAM__FUNC))
        return CJI_SP_PARAM;
    return CJI_SP_GENERIC;
}


/* A variable as the address's base. */
static bool dmem_symbol(cji_dec *d, uint32_t index, int64_t offset, cji_dec_mem_operand *o)
{
    const struct cji_dec_var *at = &d->mod->var[index];
    switch (at->where) {
    case CJI_EXEC_VAR_IMAGE:
        o->base = cji_dec_const(d, CJI_W64, at->offset, CJI_CON_IMAGE);
        o->imm = offset;
        o->space = CJI_SP_GLOBAL;
        return true;
    case CJI_EXEC_VAR_DYNAMIC:
        o->base = cji_dec_const(d, CJI_W64, at->offset, CJI_CON_DYNAMIC);
        o->imm = offset;
        o->space = CJI_SP_SHARED;
        return true;
    case CJI_EXEC_VAR_SHARED: o->space = CJI_SP_SHARED; break;
    case CJI_EXEC_VAR_FRAME:
        o->space = CJI_SP_LOCAL;
        o->flags |= CJI_MF_FRAME;
        break;
    case CJI_EXEC_VAR_PARAM:
        o->space = CJI_SP_PARAM;
        o->param = true;
        break;
    default:
        cji_dec_src(d, cji_word(CJI_K_SYM, index), 64, false);   /* says why */
        return false;
    }
    o->flags |= CJI_MF_NOBASE;
    o->imm = (int64_t)(at->offset + (uint64_t)offset);
    return true;
}

bool cji_dec_address(cji_dec *d, uint32_t word, unsigned space, cji_dec_mem_operand *o)
{
    *o = (cji_dec_mem_operand){ .space = (uint8_t)space };
    cji_mem m = { .base = word };
    if (cji_word_kind(word) == CJI_K_MEM) m = d->f->mem[cji_word_index(word)];
    uint32_t index = cji_word_index(m.base);
    switch (cji_word_kind(m.base)) {
    case CJI_K_REG:
        o->base = d->reg[index];
        o->imm = m.offset;
        if (o->space == CJI_SP_PARAM && !d->fn->kernel) o->space = CJI_SP_LOCAL;
        if (o->base.w == CJI_W32) o->flags |= CJI_MF_BASE32;
        else if (o->base.w != CJI_W64) return cji_dec_fail(d, "has an address of %u bits", cji_dec_bits(o->base.w));
        if (o->base.w == CJI_W32 && (o->space == CJI_SP_GLOBAL || o->space == CJI_SP_GENERIC))
            return cji_dec_fail(
                d, "has a 32-bit address: the CPU device has 64-bit addresses, as all devices since sm_90");
        return true;
    case CJI_K_IMM:
        o->flags |= CJI_MF_NOBASE;
        o->imm = (int64_t)(d->f->lit[index].bits + (uint64_t)m.offset);
        return true;
    case CJI_K_SYM: return dmem_symbol(d, index, m.offset, o);
    default: return cji_dec_unsupported(d);
    }
}

void cji_dec_put_address(cji_rec *r, const cji_dec_mem_operand *o)
{
    cji_dec_put_a(r, o->base);
    r->imm = o->imm;
    r->space = o->space;
    r->flags = o->flags;
}

/* A value operand: one place, or a vector's in ext.  *n: elements. */
static cji_dec_place dmem_values(cji_dec *d, uint32_t word, bool store, uint32_t *n, uint32_t *ext)
{
    const cji_dec_type *t = cji_dec_type_last(d);
    unsigned bits = t->x2 ? 2u * t->bits : t->bits, w = cji_dec_width(bits);
    cji_dec_place one[16] = { { 0, 0 } }, none = { 0, 0 };
    *n = 1;
    *ext = 0;
    if (cji_word_kind(word) != CJI_K_VEC)
        return store ? cji_dec_src(d, word, bits, t->cls == 'f') : cji_dec_dst(d, word, w);
    const uint32_t *part = cji_fn_words(d->f, word, n);
    if (*n > 16) return cji_dec_unsupported(d), none;
    for (uint32_t i = 0; i < *n; i++) {
        bool sink = cji_word_kind(part[i]) == CJI_K_SINK;
        one[i] = sink ? none : store ? cji_dec_src(d, part[i], bits, t->cls == 'f') : cji_dec_dst(d, part[i], w);
    }
    *ext = (uint32_t)d->p->next;
    for (uint32_t i = 0; i < *n; i++) {
        cji_dec_ext(d, one[i].w);
        cji_dec_ext(d, one[i].off);
    }
    return one[0];
}

/* Where the caches keep the bytes, and who must see them: all caches and scopes are the one memory of the host. */
static const uint16_t dmem_hints[] = {
    CJI_W_WEAK, CJI_W_NC, CJI_W_CA, CJI_W_CG, CJI_W_CS, CJI_W_LU, CJI_W_WB,
    CJI_W_CTA, CJI_W_CLUSTER, CJI_W_GPU, CJI_W_SYS,
    CJI_W_L1__EVICT_FIRST, CJI_W_L1__EVICT_LAST, CJI_W_L1__EVICT_NORMAL, CJI_W_L1__EVICT_UNCHANGED,
    CJI_W_L1__NO_ALLOCATE, CJI_W_L2__EVICT_FIRST, CJI_W_L2__EVICT_LAST, CJI_W_L2__EVICT_NORMAL,
    CJI_W_L2__EVICT_UNCHANGED, CJI_W_L2__CACHE_HINT, CJI_W_L2__64B, CJI_W_L2__128B, CJI_W_L2__256B, 0
};

static uint8_t dmem_order(cji_dec *d)
{
    static const uint16_t indivisible[] = { CJI_W_VOLATILE, CJI_W_RELAXED, CJI_W_MMIO, CJI_W_CV, CJI_W_WT };
    uint8_t f = 0;
    for (size_t i = 0; i < sizeof indivisible / sizeof *indivisible; i++)
        if (cji_dec_has(d, indivisible[i])) f = CJI_MF_VOLATILE;
    if (cji_dec_has(d, CJI_W_ACQUIRE) || cji_dec_has(d, CJI_W_RELEASE)) f = CJI_MF_VOLATILE | CJI_MF_ORDER;
    return f;
}

/* .v2, .v4, .v8: the operand has as many elements. */
static void dmem_vector(cji_dec *d)
{
    static const uint16_t counts[] = { CJI_W_V2, CJI_W_V4, CJI_W_V8, 0 };
    cji_dec_hints(d, counts);
}

static bool dmem_access(cji_dec *d, bool store)
{
    const cji_dec_type *t = cji_dec_type_last(d);
    cji_dec_mem_operand o;
    uint32_t n, ext;
    cji_dec_hints(d, dmem_hints);
    if (!t->bits || t->bits > 64) return cji_dec_unsupported(d), true;
    if (!cji_dec_address(d, cji_dec_word(d, store ? 0 : 1), dmem_space(d), &o)) return true;
    cji_dec_place v = dmem_values(d, cji_dec_word(d, store ? 1 : 0), store, &n, &ext);
    if (n > 1) dmem_vector(d);
    unsigned size = (t->x2 ? 2u * t->bits : t->bits) / 8;
    bool param = o.param;
    if (o.param) {
        uint32_t room = d->fn->param_bytes;
        if (store) return cji_dec_fail(d, "writes to a kernel parameter"), true;
        if (o.imm < 0 || (uint64_t)o.imm + (uint64_t)n * size > room)
            return cji_dec_fail(d, "reads %u bytes at %lld of the kernel's %u bytes of parameters", n * size,
                                (long long)o.imm, room),
                   true;
    }
    cji_rec *r = cji_dec_emit(d, param ? cji_h_ld_param : store ? cji_h_st : cji_h_ld);
    cji_dec_put_address(r, &o);
    if (store) cji_dec_put_b(r, v);
    else cji_dec_put_d(r, v);
    r->size = (uint8_t)size;
    r->count = (uint8_t)n;
    r->target = ext;
    r->flags |= dmem_order(d);
    if (t->cls == 's') r->flags |= CJI_MF_SIGNED;
    if (!param) r->fn = cji_quick_access(cji_quick_pick(), d->p, r, store);
    return true;
}

/* ---- Atomic operations ---- */

static bool dmem_atomic(cji_dec *d, bool result)
{
    static const cji_dec_choice ops[] = {
        { CJI_W_ADD, CJI_AT_ADD },   { CJI_W_AND, CJI_AT_AND }, { CJI_W_OR, CJI_AT_OR },   { CJI_W_XOR, CJI_AT_XOR },
        { CJI_W_EXCH, CJI_AT_EXCH }, { CJI_W_CAS, CJI_AT_CAS }, { CJI_W_MIN, CJI_AT_MIN }, { CJI_W_MAX, CJI_AT_MAX },
        { CJI_W_INC, CJI_AT_INC },   { CJI_W_DEC, CJI_AT_DEC }, { 0, 0 }
    };
    /* every atomic operation is sequentially consistent, and none of f16 flushes */
    static const uint16_t orders[] = {
        CJI_W_RELAXED, CJI_W_ACQUIRE, CJI_W_RELEASE, CJI_W_ACQ_REL, CJI_W_NOFTZ, 0
    };
    const cji_dec_type *t = cji_dec_type_last(d);
    uint32_t i = 0, op = cji_dec_choose(d, ops, UINT32_MAX), n = 1, ext = 0;
    cji_dec_hints(d, dmem_hints);
    cji_dec_hints(d, orders);
    if (op == UINT32_MAX || t->bits > 64) return cji_dec_unsupported(d), true;
    uint32_t dst_word = result ? cji_dec_word(d, i++) : 0;
    cji_dec_mem_operand o;
    if (!cji_dec_address(d, cji_dec_word(d, i++), dmem_space(d), &o)) return true;
    uint32_t src_word = cji_dec_word(d, i++);
    unsigned bits = t->x2 ? 2u * t->bits : t->bits;
    cji_dec_place dst = { 0, 0 }, b, c = { 0, 0 };
    if (cji_word_kind(src_word) == CJI_K_VEC) {
        uint32_t dn = 0;
        const uint32_t *part = cji_fn_words(d->f, src_word, &n),
                       *to = result ? cji_fn_words(d->f, dst_word, &dn) : NULL;
        cji_dec_place from[8], into[8];
        if (n > 8) return cji_dec_unsupported(d), true;
        dmem_vector(d);
        for (uint32_t j = 0; j < n; j++) {
            from[j] = cji_dec_src(d, part[j], bits, t->cls == 'f');
            into[j] = to && j < dn && cji_word_kind(to[j]) != CJI_K_SINK ? cji_dec_dst(d, to[j], cji_dec_width(bits))
                                                                         : (cji_dec_place){ 0, 0 };
        }
        ext = (uint32_t)d->p->next;
        for (uint32_t j = 0; j < n; j++) {
            cji_dec_ext(d, into[j].w);
            cji_dec_ext(d, into[j].off);
            cji_dec_ext(d, from[j].w);
            cji_dec_ext(d, from[j].off);
        }
        b = from[0];
    } else {
        b = cji_dec_src(d, src_word, bits, t->cls == 'f');
        if (result && cji_word_kind(dst_word) != CJI_K_SINK) dst = cji_dec_dst(d, dst_word, cji_dec_width(bits));
        if (op == CJI_AT_CAS) c = cji_dec_src(d, cji_dec_word(d, i), bits, false);
    }
    uint32_t type = t->cls == 's'          ? CJI_AT_SIGNED
                    : t->cls != 'f'        ? CJI_AT_INT
                    : t->bits == 64        ? CJI_AT_F64
                    : t->bits == 32        ? CJI_AT_F32
                    : t->fmt == CJI_FP_F16 ? (t->x2 ? CJI_AT_F16X2 : CJI_AT_F16)
                    : t->x2                ? CJI_AT_BF16X2
                                           : CJI_AT_BF16;
    cji_rec *r = cji_dec_emit(d, cji_h_atom);
    cji_dec_put_address(r, &o);
    cji_dec_put_d(r, dst);
    cji_dec_put_b(r, b);
    cji_dec_put_c(r, c);
    r->size = (uint8_t)(bits / 8);
    r->count = (uint8_t)n;
    r->target = ext;
    r->k = op | type;
    if (cji_quick_atomic(r)) r->fn = cji_quick_pick()->atom;
    return true;
}

/* ---- Addresses ---- */

static bool dmem_cvta(cji_dec *d)
{
    unsigned space = dmem_space(d);
    uint64_t window = space == CJI_SP_SHARED  ? CJI_EXEC_SHARED_WINDOW
                      : space == CJI_SP_LOCAL ? CJI_EXEC_LOCAL_WINDOW
                      : space == CJI_SP_PARAM ? CJI_EXEC_PARAM_WINDOW
                                              : 0;
    if (cji_dec_type_last(d)->bits != 64)
        return cji_dec_fail(d, "converts a 32-bit address: the CPU device has 64-bit addresses"), true;
    if (space == CJI_SP_PARAM && !d->fn->kernel) window = CJI_EXEC_LOCAL_WINDOW;
    if (cji_dec_has(d, CJI_W_TO)) window = 0 - window;
    cji_dec_place dst = cji_dec_dst(d, cji_dec_word(d, 0), CJI_W64), a = cji_dec_src(d, cji_dec_word(d, 1), 64, false),
                  b = cji_dec_const(d, CJI_W64, window, CJI_CON_PLAIN);
    cji_rec *r = cji_dec_emit(d, dst.w == CJI_W64 && a.w == CJI_W64 ? d->vec->add_64 : cji_h_lane);
    cji_dec_put_d(r, dst);
    cji_dec_put_a(r, a);
    cji_dec_put_b(r, b);
    r->lane = cji_l_addk;
    return true;
}

static bool dmem_isspacep(cji_dec *d)
{
    cji_dec_place dst = cji_dec_dst(d, cji_dec_word(d, 0), CJI_WP), a = cji_dec_src(d, cji_dec_word(d, 1), 64, false);
    unsigned space = cji_dec_has(d, CJI_W_CONST) ? CJI_SP_CONST : dmem_space(d);
    cji_rec *r = cji_dec_emit(d, a.w == CJI_W64 ? d->vec->isspacep : cji_h_isspacep);
    cji_dec_put_d(r, dst);
    cji_dec_put_a(r, a);
    r->space = (uint8_t)space;
    return true;
}

/* A cache policy is a number that no access reads. */
static bool dmem_policy(cji_dec *d)
{
    static const uint16_t parts[] = { CJI_W_GLOBAL, CJI_W_L2, 0 };
    cji_dec_place dst = cji_dec_dst(d, cji_dec_word(d, 0), CJI_W64), zero = cji_dec_const(d, CJI_W64, 0, CJI_CON_PLAIN);
    cji_dec_op_words(d, 2);
    cji_dec_hints(d, dmem_hints);
    cji_dec_hints(d, parts);
    cji_dec_type_at(d, 0);
    cji_rec *r = cji_dec_emit(d, dst.w == CJI_W64 ? d->vec->mov_64 : cji_h_lane);
    cji_dec_put_d(r, dst);
    cji_dec_put_a(r, zero);
    r->lane = cji_l_mov;
    return true;
}

/* Prefetches and the like move bytes between caches: nothing to do. */
static bool dmem_prefetch(cji_dec *d)
{
    static const uint16_t parts[] = {
        CJI_W_GLOBAL, CJI_W_LOCAL, CJI_W_PARAM, CJI_W_CONST, CJI_W_L1, CJI_W_L2, CJI_W_TENSORMAP, 0
    };
    cji_dec_hints(d, dmem_hints);
    cji_dec_hints(d, parts);
    cji_dec_emit(d, cji_h_prefetch);
    return true;
}

bool cji_dec_mem(cji_dec *d)
{
    switch (d->e->isa->op) {
    case CJI_OP_LD: case CJI_OP_LDU: return dmem_access(d, false);
    case CJI_OP_ST: return dmem_access(d, true);
    case CJI_OP_ATOM: return dmem_atomic(d, true);
    case CJI_OP_RED: return dmem_atomic(d, false);
    case CJI_OP_CVTA: return dmem_cvta(d);
    case CJI_OP_ISSPACEP: return dmem_isspacep(d);
    case CJI_OP_CREATEPOLICY_FRACTIONAL:
    case CJI_OP_CREATEPOLICY_RANGE:
    case CJI_OP_CREATEPOLICY_CVT: return dmem_policy(d);
    case CJI_OP_APPLYPRIORITY:
    case CJI_OP_DISCARD:
    case CJI_OP_PREFETCH:
    case CJI_OP_PREFETCHU: return dmem_prefetch(d);
    default: return false;
    }
}
