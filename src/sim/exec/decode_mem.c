/* Decoding: loads, stores, atomic operations, addresses. */
#include "sim/exec/decode.h"
#include "sim/exec/lane_ops.h"
#include "sim/exec/ops_lane.h"
#include "sim/exec/ops_mem.h"

/* The state space that the spelling names; CJI_SP_GENERIC when none. */
static unsigned dmem_space(const cji_dec *d)
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
    case CJI_VAR_IMAGE:
        o->base = cji_dec_const(d, CJI_W64, at->offset, CJI_CON_IMAGE);
        o->imm = offset;
        o->space = CJI_SP_GLOBAL;
        return true;
    case CJI_VAR_DYNAMIC:
        o->base = cji_dec_const(d, CJI_W64, at->offset, CJI_CON_DYNAMIC);
        o->imm = offset;
        o->space = CJI_SP_SHARED;
        return true;
    case CJI_VAR_SHARED: o->space = CJI_SP_SHARED; break;
    case CJI_VAR_FRAME:
        o->space = CJI_SP_LOCAL;
        o->flags |= CJI_MF_FRAME;
        break;
    case CJI_VAR_PARAM:
        o->space = CJI_SP_PARAM;
        o->param = true;
        break;
    default:
        cji_dec_src(d, cji_word(CJI_K_SYM, index), 64, false);   /* says why */
        return false;
    }
    o->flags |= CJI_MF_NOBASE;
    o->imm = (int64_t)at->offset + offset;
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
        o->imm = (int64_t)d->f->lit[index].bits + m.offset;
        return true;
    case CJI_K_SYM: return dmem_symbol(d, index, m.offset, o);
    default: return cji_dec_refuse(d);
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
    const cji_dec_type *t = &d->type[d->ntype - 1];
    unsigned bits = t->x2 ? 2u * t->bits : t->bits, w = cji_dec_width(bits);
    cji_dec_place one[16], none = { 0, 0 };
    *n = 1;
    *ext = 0;
    if (cji_word_kind(word) != CJI_K_VEC)
        return store ? cji_dec_src(d, word, bits, t->cls == 'f') : cji_dec_dst(d, word, w);
    const uint32_t *part = cji_fn_words(d->f, word, n);
    if (*n > 16) return cji_dec_refuse(d), none;
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

static uint8_t dmem_order(const cji_dec *d)
{
    uint8_t f = 0;
    if (cji_dec_has(d, CJI_W_VOLATILE) || cji_dec_has(d, CJI_W_RELAXED) || cji_dec_has(d, CJI_W_MMIO) ||
        cji_dec_has(d, CJI_W_CV) || cji_dec_has(d, CJI_W_WT))
        f = CJI_MF_VOLATILE;
    if (cji_dec_has(d, CJI_W_ACQUIRE) || cji_dec_has(d, CJI_W_RELEASE)) f = CJI_MF_VOLATILE | CJI_MF_ORDER;
    return f;
}

static bool dmem_access(cji_dec *d, bool store)
{
    const cji_dec_type *t = &d->type[d->ntype - 1];
    cji_dec_mem_operand o;
    uint32_t n, ext;
    if (!d->ntype || t->bits > 64) return cji_dec_refuse(d), true;
    if (!cji_dec_address(d, cji_dec_word(d, store ? 0 : 1), dmem_space(d), &o)) return true;
    cji_dec_place v = dmem_values(d, cji_dec_word(d, store ? 1 : 0), store, &n, &ext);
    unsigned size = (t->x2 ? 2u * t->bits : t->bits) / 8;
    bool param = o.param;
    if (o.param) {
        uint32_t room = 0;
        for (size_t i = 0; i < d->p->nkernel; i++)
            if (&d->p->func[d->p->kernel[i].code] == d->fn) room = d->p->kernel[i].param_bytes;
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
    return true;
}

/* ---- Atomic operations ---- */

static bool dmem_atomic(cji_dec *d, bool result)
{
    static const struct {
        uint16_t word;
        uint8_t op;
    } ops[] = { { CJI_W_ADD, CJI_AT_ADD }, { CJI_W_AND, CJI_AT_AND },   { CJI_W_OR, CJI_AT_OR },
                { CJI_W_XOR, CJI_AT_XOR }, { CJI_W_EXCH, CJI_AT_EXCH }, { CJI_W_CAS, CJI_AT_CAS },
                { CJI_W_MIN, CJI_AT_MIN }, { CJI_W_MAX, CJI_AT_MAX },   { CJI_W_INC, CJI_AT_INC },
                { CJI_W_DEC, CJI_AT_DEC } };
    const cji_dec_type *t = &d->type[d->ntype - 1];
    uint32_t i = 0, op = UINT32_MAX, n = 1, ext = 0;
    for (size_t j = 0; j < sizeof ops / sizeof *ops; j++)
        if (cji_dec_has(d, ops[j].word)) op = ops[j].op;
    if (op == UINT32_MAX || t->bits > 64) return cji_dec_refuse(d), true;
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
        if (n > 8) return cji_dec_refuse(d), true;
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
    if (d->type[d->ntype - 1].bits != 64)
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
    cji_rec *r = cji_dec_emit(d, cji_h_isspacep);
    cji_dec_put_d(r, dst);
    cji_dec_put_a(r, a);
    r->space = (uint8_t)space;
    return true;
}

bool cji_dec_mem(cji_dec *d)
{
    switch (d->e->isa.op) {
    case CJI_OP_LD: case CJI_OP_LDU: return dmem_access(d, false);
    case CJI_OP_ST: return dmem_access(d, true);
    case CJI_OP_ATOM: return dmem_atomic(d, true);
    case CJI_OP_RED: return dmem_atomic(d, false);
    case CJI_OP_CVTA: return dmem_cvta(d);
    case CJI_OP_ISSPACEP: return dmem_isspacep(d);
    case CJI_OP_CREATEPOLICY_FRACTIONAL:
    case CJI_OP_CREATEPOLICY_RANGE:
    case CJI_OP_CREATEPOLICY_CVT: { /* a cache policy is a number that nothing here looks at */
        cji_dec_place dst = cji_dec_dst(d, cji_dec_word(d, 0), CJI_W64),
                      zero = cji_dec_const(d, CJI_W64, 0, CJI_CON_PLAIN);
        cji_rec *r = cji_dec_emit(d, cji_h_lane);
        cji_dec_put_d(r, dst);
        cji_dec_put_a(r, zero);
        r->lane = cji_l_mov;
        return true;
    }
    case CJI_OP_APPLYPRIORITY:
    case CJI_OP_DISCARD:
    case CJI_OP_PREFETCH:
    case CJI_OP_PREFETCHU: cji_dec_emit(d, cji_h_prefetch); return true;
    default: return false;
    }
}
