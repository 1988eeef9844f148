/* Decoding: calls, returns, ends, barriers, fences, and what lanes of a warp do together. */
#include "sim/exec/decode.h"
#include "sim/exec/ops_mem.h"
#include "sim/exec/ops_warp.h"

/* ---- Calls ---- */

/* An argument's or result's place, two words of ext. */
static void flow_place(cji_dec *d, uint32_t word, uint32_t out[2])
{
    uint32_t index = cji_word_index(word);
    if (cji_word_kind(word) == CJI_K_SYM && d->mod->var[index].where == CJI_EXEC_VAR_FRAME) {
        out[0] = (uint32_t)d->m->var[index]->bytes;
        out[1] = (uint32_t)d->mod->var[index].offset;
        return;
    }
    cji_dec_place x = cji_word_kind(word) == CJI_K_SINK
                          ? cji_dec_temp(d, CJI_W64)
                          : cji_dec_src(d, word, cji_word_kind(word) == CJI_K_IMM ? 64 : 64, false);
    out[0] = CJI_ARG_REG | x.w;
    out[1] = x.off;
}

static bool flow_call(cji_dec *d)
{
    uint32_t args = 0, results = 0, callee = 0, nargs = 0, nres = 0;
    cji_dec_has(d, CJI_W_UNI);
    const uint32_t *arg = NULL, *res = NULL;
    for (uint32_t i = 0; i < d->n; i++) {
        uint32_t word = cji_dec_word(d, i), kind = cji_word_kind(word);
        if (kind == CJI_K_LIST && !callee) results = word;
        else if (kind == CJI_K_LIST) args = word;
        else if (kind != CJI_K_TARGETS) callee = word;
    }
    if (args) arg = cji_fn_words(d->f, args, &nargs);
    if (results) res = cji_fn_words(d->f, results, &nres);
    uint32_t index = UINT32_MAX;
    cji_dec_place address = { 0, 0 };
    if (cji_word_kind(callee) == CJI_K_FUNC) {
        index = d->mod->func[cji_word_index(callee)];
        const cji_func *f = &d->p->func[index];
        if (cji_func_lacks(d->p, index))
            return cji_dec_fail(d, "calls %s, which no module defines", cji_short(f->name)), true;
        uint32_t least = f->builtin == CJI_BUILTIN_ASSERT ? 5 : f->builtin != CJI_BUILTIN_NONE ? 2 : 0;
        if (nargs < least)
            return cji_dec_fail(d, "calls %s with %u arguments; it takes %u", cji_short(f->name), nargs, least), true;
    } else address = cji_dec_src(d, callee, 64, false);
    uint32_t *words = cji_alloc((2 * (size_t)(nargs + nres) + 1) * sizeof *words);
    if (!words) return cji_dec_no_memory(d), true;
    for (uint32_t i = 0; i < nargs; i++) flow_place(d, arg[i], words + 2 * i);
    for (uint32_t i = 0; i < nres; i++) flow_place(d, res[i], words + 2 * (nargs + i));
    uint32_t at = cji_dec_ext(d, nargs);
    cji_dec_ext(d, nres);
    for (uint32_t i = 0; i < 2 * (nargs + nres); i++) cji_dec_ext(d, words[i]);
    cji_free(words, (2 * (size_t)(nargs + nres) + 1) * sizeof *words);
    cji_rec *r = cji_dec_emit(d, cji_h_call);
    cji_dec_put_a(r, address);
    r->k = index;
    r->target = at;
    r->imm = (int64_t)d->fn->local;      /* d2, the frame's size, is known when the function is done: program.c */
    return true;
}

static bool flow_barrier(cji_dec *d, bool aligned)
{
    cji_dec_place a, b = { 0, 0 }, c = { 0, 0 }, dst = { 0, 0 };
    static const cji_dec_choice kinds[] = {
        { CJI_W_SYNC, CJI_BAR_SYNC }, { CJI_W_ARRIVE, CJI_BAR_ARRIVE }, { CJI_W_POPC, CJI_BAR_POPC },
        { CJI_W_AND, CJI_BAR_AND },   { CJI_W_OR, CJI_BAR_OR },         { 0, 0 }
    };
    uint32_t i = 0, k = cji_dec_choose(d, kinds, CJI_BAR_SYNC);
    cji_dec_has(d, CJI_W_CTA);          /* the block is the only scope */
    if (cji_dec_has(d, CJI_W_RED)) {
        cji_dec_type_at(d, 0);
        dst = cji_dec_dst(d, cji_dec_word(d, i++), k == CJI_BAR_POPC ? CJI_W32 : CJI_WP);
    }
    uint32_t last = k >= CJI_BAR_POPC ? d->n - 1 : d->n;
    a = cji_dec_src(d, cji_dec_word(d, i++), 32, false);
    if (i < last) b = cji_dec_src(d, cji_dec_word(d, i), 32, false);
    if (last < d->n) c = cji_dec_src(d, cji_dec_word(d, last), 1, false);
    cji_rec *r = cji_dec_emit(d, cji_h_barrier);
    r->k = k | (cji_dec_has(d, CJI_W_ALIGNED) || aligned ? CJI_BAR_ALIGNED : 0);
    cji_dec_put_d(r, dst);
    cji_dec_put_a(r, a);
    cji_dec_put_b(r, b);
    cji_dec_put_c(r, c);
    return true;
}

/* A barrier orders all memory that its threads reach. */
static bool flow_cluster_barrier(cji_dec *d, uint32_t kind)
{
    static const uint16_t orders[] = { CJI_W_RELEASE, CJI_W_RELAXED, CJI_W_ACQUIRE, 0 };
    cji_dec_op_words(d, 3);
    cji_dec_hints(d, orders);
    cji_rec *r = cji_dec_emit(d, cji_h_barrier);
    r->k = kind | CJI_BAR_CLUSTER | (cji_dec_has(d, CJI_W_ALIGNED) ? CJI_BAR_ALIGNED : 0);
    return true;
}

/* {address,} its block's address, or its block's number */
static bool flow_cluster_address(cji_dec *d, cji_handler fn)
{
    const unsigned bits = cji_dec_type_at(d, 0)->bits;
    cji_dec_place dst = cji_dec_dst(d, cji_dec_word(d, 0), cji_dec_width(fn == cji_h_mapa ? bits : 32)),
                  a = cji_dec_src(d, cji_dec_word(d, 1), bits, false), b = { 0, 0 };
    cji_dec_has(d, CJI_W_SHARED__CLUSTER);
    if (fn == cji_h_mapa) b = cji_dec_src(d, cji_dec_word(d, 2), 32, false);
    cji_rec *r = cji_dec_emit(d, fn);
    cji_dec_put_d(r, dst);
    cji_dec_put_a(r, a);
    cji_dec_put_b(r, b);
    return true;
}

/* Every fence is a full one, between all threads. */
static bool flow_fence(cji_dec *d)
{
    static const uint16_t kinds[] = {
        CJI_W_SC, CJI_W_ACQ_REL, CJI_W_ACQUIRE, CJI_W_RELEASE, CJI_W_CTA, CJI_W_CLUSTER, CJI_W_GPU, CJI_W_GL, CJI_W_SYS,
        CJI_W_PROXY, CJI_W_ALIAS, CJI_W_ASYNC, CJI_W_GLOBAL, CJI_W_SHARED__CTA, CJI_W_SHARED__CLUSTER,
        CJI_W_MBARRIER_INIT, CJI_W_TENSORMAP__GENERIC, CJI_W_ASYNC__GENERIC, CJI_W_SYNC_RESTRICT__SHARED__CTA,
        CJI_W_SYNC_RESTRICT__SHARED__CLUSTER, 0
    };
    cji_dec_hints(d, kinds);
    cji_dec_emit(d, cji_h_fence);
    return true;
}

/* A thread has all registers that its function names: more or fewer of them change nothing. */
static bool flow_registers(cji_dec *d)
{
    static const uint16_t words[] = { CJI_W_INC, CJI_W_DEC, CJI_W_SYNC, CJI_W_ALIGNED, 0 };
    cji_dec_hints(d, words);
    cji_dec_type_at(d, 0);
    return true;
}

static bool flow_one(cji_dec *d, cji_handler fn)
{
    cji_dec_emit(d, fn);
    return true;
}

bool cji_dec_flow(cji_dec *d)
{
    /* events nobody counts; grids that run one after the other */
    static const uint16_t nothing[] = { CJI_W_MASK, CJI_W_WAIT, CJI_W_LAUNCH_DEPENDENTS, 0 };
    switch (d->e->isa->op) {
    case CJI_OP_CALL: return flow_call(d);
    case CJI_OP_RET: cji_dec_has(d, CJI_W_UNI); return flow_one(d, cji_h_ret);
    case CJI_OP_EXIT: return flow_one(d, cji_h_exit);
    case CJI_OP_TRAP:
    case CJI_OP_BRKPT: return flow_one(d, cji_h_trap);
    case CJI_OP_NANOSLEEP: cji_dec_type_at(d, 0); return flow_one(d, cji_h_nanosleep);
    case CJI_OP_PMEVENT:
    case CJI_OP_GRIDDEPCONTROL: cji_dec_hints(d, nothing); return true;
    case CJI_OP_BARRIER_CLUSTER_ARRIVE: return flow_cluster_barrier(d, CJI_BAR_ARRIVE);
    case CJI_OP_BARRIER_CLUSTER_WAIT: return flow_cluster_barrier(d, CJI_BAR_SYNC);
    case CJI_OP_MAPA: return flow_cluster_address(d, cji_h_mapa);
    case CJI_OP_GETCTARANK: return flow_cluster_address(d, cji_h_ctarank);
    case CJI_OP_SETMAXNREG: return flow_registers(d);
    case CJI_OP_MEMBAR:
    case CJI_OP_FENCE: return flow_fence(d);
    case CJI_OP_BAR: return flow_barrier(d, true);
    case CJI_OP_BARRIER: return flow_barrier(d, false);
    default: return false;
    }
}

/* ---- Warp ---- */

/* The form for 32 lanes, where the registers have the widths that it reads. */
static cji_handler flow_sync_form(const cji_dec *d, const cji_rec *r, uint32_t mask_width)
{
    const cji_vec_table *v = d->vec;
    bool value = r->wa == CJI_W32, plain = (r->wd == CJI_W32 || !r->wd) && (r->size == CJI_WP || !r->size) &&
                                           (mask_width == CJI_W32 || r->k & CJI_SY_NO_MASK);
    switch (r->k & CJI_SY_OP) {
    case CJI_SY_UP: case CJI_SY_DOWN: case CJI_SY_BFLY: case CJI_SY_IDX:
        return plain && r->wd && value && r->wb == CJI_W32 && r->wc == CJI_W32 ? v->sync_shfl : cji_h_sync;
    case CJI_SY_ALL: case CJI_SY_ANY: case CJI_SY_UNI:
        plain = r->wd == CJI_WP && !r->size && (mask_width == CJI_W32 || r->k & CJI_SY_NO_MASK);
        return plain && r->wa == CJI_WP ? v->sync_vote : cji_h_sync;
    case CJI_SY_BALLOT: return plain && r->wd && !r->size && r->wa == CJI_WP ? v->sync_vote : cji_h_sync;
    case CJI_SY_MATCH_ANY: case CJI_SY_MATCH_ALL:
        if (!plain || !r->wd) return cji_h_sync;
        return value ? v->sync_match_32 : r->wa == CJI_W64 ? v->sync_match_64 : cji_h_sync;
    case CJI_SY_ELECT: case CJI_SY_ACTIVE: case CJI_SY_BARRIER: return plain ? v->sync_here : cji_h_sync;
    case CJI_SY_FMIN: case CJI_SY_FMAX: return cji_h_sync;
    default: return plain && r->wd && !r->size && value ? v->sync_redux : cji_h_sync;
    }
}

/* Operands in the manual's order: result(s), then `n` sources into a, b, c, then the mask. */
static bool flow_sync(cji_dec *d, uint32_t k, unsigned dw, unsigned aw, bool is_float, uint32_t n, bool mask)
{
    uint32_t i = 0, words[2] = { 0, 0 };
    cji_dec_place dst = { 0, 0 }, pair = { 0, 0 }, src[3] = { { 0, 0 }, { 0, 0 }, { 0, 0 } };
    if (dw) {
        uint32_t word = cji_dec_word(d, i++), count;
        if (cji_word_kind(word) == CJI_K_PAIR) {
            const uint32_t *two = cji_fn_words(d->f, word, &count);
            dst = cji_dec_dst(d, two[0], dw);
            pair = cji_dec_dst(d, two[1], CJI_WP);
        } else dst = cji_dec_dst(d, word, dw);
    }
    for (uint32_t j = 0; j < n; j++, i++)
        src[j] = cji_dec_src(d, cji_dec_word(d, i), j ? 32 : cji_dec_bits(aw), is_float);
    if (mask) {
        cji_dec_place m = cji_dec_src(d, cji_dec_word(d, i), 32, false);
        words[0] = m.w;
        words[1] = m.off;
    } else k |= CJI_SY_NO_MASK;
    uint32_t at = cji_dec_ext(d, words[0]);
    cji_dec_ext(d, words[1]);
    cji_rec *r = cji_dec_emit(d, cji_h_sync);
    cji_dec_put_d(r, dst);
    cji_dec_put_a(r, src[0]);
    cji_dec_put_b(r, src[1]);
    cji_dec_put_c(r, src[2]);
    r->d2 = pair.off;
    r->size = pair.w;
    r->k = k;
    r->target = at;
    r->imm = words[1];
    r->fn = flow_sync_form(d, r, words[0]);
    return true;
}

static bool flow_shfl(cji_dec *d)
{
    static const cji_dec_choice kinds[] = {
        { CJI_W_UP, CJI_SY_UP }, { CJI_W_DOWN, CJI_SY_DOWN }, { CJI_W_BFLY, CJI_SY_BFLY },
        { CJI_W_IDX, CJI_SY_IDX }, { 0, 0 }
    };
    cji_dec_type_at(d, 0);
    return flow_sync(d, cji_dec_choose(d, kinds, CJI_SY_IDX), CJI_W32, CJI_W32, false, 3, cji_dec_has(d, CJI_W_SYNC));
}

static bool flow_vote(cji_dec *d)
{
    static const cji_dec_choice kinds[] = {
        { CJI_W_ALL, CJI_SY_ALL }, { CJI_W_ANY, CJI_SY_ANY }, { CJI_W_UNI, CJI_SY_UNI },
        { CJI_W_BALLOT, CJI_SY_BALLOT }, { 0, 0 }
    };
    uint32_t k = cji_dec_choose(d, kinds, CJI_SY_ALL);
    cji_dec_type_at(d, 0);
    return flow_sync(d, k, k == CJI_SY_BALLOT ? CJI_W32 : CJI_WP, CJI_WP, false, 1, cji_dec_has(d, CJI_W_SYNC));
}

static bool flow_match(cji_dec *d)
{
    static const cji_dec_choice kinds[] = {
        { CJI_W_ANY, CJI_SY_MATCH_ANY }, { CJI_W_ALL, CJI_SY_MATCH_ALL }, { 0, 0 }
    };
    unsigned w = cji_dec_width(cji_dec_type_at(d, 0)->bits);
    cji_dec_has(d, CJI_W_SYNC);
    return flow_sync(d, cji_dec_choose(d, kinds, CJI_SY_MATCH_ALL), CJI_W32, w, false, 1, true);
}

static bool flow_redux(cji_dec *d)
{
    static const cji_dec_choice ints[] = {
        { CJI_W_ADD, CJI_SY_ADD }, { CJI_W_MIN, CJI_SY_MIN }, { CJI_W_MAX, CJI_SY_MAX }, { CJI_W_AND, CJI_SY_AND },
        { CJI_W_OR, CJI_SY_OR },   { CJI_W_XOR, CJI_SY_XOR }, { 0, 0 }
    };
    static const cji_dec_choice floats[] = { { CJI_W_MIN, CJI_SY_FMIN }, { CJI_W_MAX, CJI_SY_FMAX }, { 0, 0 } };
    const cji_dec_type *t = cji_dec_type_at(d, 0);
    bool flt = t->cls == 'f';
    uint32_t k = cji_dec_choose(d, flt ? floats : ints, UINT32_MAX);
    if (k == UINT32_MAX) return cji_dec_unsupported(d), true;
    if (t->cls == 's') k |= CJI_SY_SIGNED;
    if (flt && cji_dec_has(d, CJI_W_ABS)) k |= CJI_SY_ABS;
    if (flt && cji_dec_has(d, CJI_W_NAN_)) k |= CJI_SY_NAN;
    cji_dec_has(d, CJI_W_SYNC);
    return flow_sync(d, k, CJI_W32, CJI_W32, flt, 1, true);
}

bool cji_dec_warp(cji_dec *d)
{
    switch (d->e->isa->op) {
    case CJI_OP_SHFL: return flow_shfl(d);
    case CJI_OP_VOTE: return flow_vote(d);
    case CJI_OP_MATCH: return flow_match(d);
    case CJI_OP_REDUX: return flow_redux(d);
    case CJI_OP_ELECT_SYNC:
        cji_dec_op_words(d, 2);
        return flow_sync(d, CJI_SY_ELECT, CJI_W32, CJI_WNONE, false, 0, true);
    case CJI_OP_ACTIVEMASK:
        cji_dec_type_at(d, 0);
        return flow_sync(d, CJI_SY_ACTIVE, CJI_W32, CJI_WNONE, false, 0, false);
    case CJI_OP_BAR_WARP_SYNC:
        cji_dec_op_words(d, 3);
        return flow_sync(d, CJI_SY_BARRIER, CJI_WNONE, CJI_WNONE, false, 0, true);
    default: return false;
    }
}
