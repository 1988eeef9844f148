/* Decoding: asynchronous copies and mbarriers. */
#include "sim/exec/decode.h"
#include "sim/exec/ops_async.h"
#include "sim/exec/ops_lane.h"

static unsigned async_space(cji_dec *d)
{
    return cji_dec_has(d, CJI_W_SHARED) || cji_dec_has(d, CJI_W_SHARED__CTA) || cji_dec_has(d, CJI_W_SHARED__CLUSTER)
               ? CJI_SP_SHARED
               : CJI_SP_GENERIC;
}

/* The instruction's name has n words. Where caches keep the bytes and who must see them changes nothing here: each of
 * these operations is done, in order, where it is issued. */
static void async_words(cji_dec *d, uint32_t n)
{
    static const uint16_t hints[] = {
        CJI_W_CA, CJI_W_CG, CJI_W_L2__64B, CJI_W_L2__128B, CJI_W_L2__256B, CJI_W_L2__CACHE_HINT, CJI_W_RELAXED,
        CJI_W_ACQUIRE, CJI_W_RELEASE, CJI_W_CTA, CJI_W_CLUSTER, 0
    };
    cji_dec_op_words(d, n);
    cji_dec_hints(d, hints);
}

static bool async_copy(cji_dec *d)
{
    cji_dec_mem_operand to, from;
    uint32_t size = cji_dec_word(d, 2), count = cji_dec_word(d, 3);
    cji_dec_place n = { 0, 0 };
    async_words(d, 2);
    async_space(d);
    cji_dec_has(d, CJI_W_GLOBAL);
    if (!cji_dec_address(d, cji_dec_word(d, 0), CJI_SP_SHARED, &to) ||
        !cji_dec_address(d, cji_dec_word(d, 1), CJI_SP_GLOBAL, &from))
        return true;
    if (cji_word_kind(size) != CJI_K_IMM) return cji_dec_unsupported(d), true;
    if (count && !(cji_dec_has(d, CJI_W_L2__CACHE_HINT) && d->n == 4)) n = cji_dec_src(d, count, 32, false);
    uint32_t at = cji_dec_ext(d, from.base.w);
    cji_dec_ext(d, from.base.off);
    cji_dec_ext(d, (uint32_t)(uint64_t)from.imm);
    cji_dec_ext(d, (uint32_t)((uint64_t)from.imm >> 32));
    cji_dec_ext(d, from.flags);
    cji_dec_ext(d, n.w);
    cji_dec_ext(d, n.off);
    cji_rec *r = cji_dec_emit(d, cji_h_cp_async);
    cji_dec_put_address(r, &to);
    r->size = (uint8_t)d->f->lit[cji_word_index(size)].bits;
    r->target = at;
    return true;
}

/* {result,} [barrier] {, count or state {, time}} */
static bool async_barrier_op(cji_dec *d, uint32_t words, uint32_t k, unsigned result)
{
    async_words(d, words);
    cji_dec_type_at(d, 0);
    uint32_t i = 0;
    cji_dec_mem_operand o;
    cji_dec_place dst = { 0, 0 }, b = { 0, 0 };
    if (result) {
        uint32_t word = cji_dec_word(d, i++);
        if (cji_word_kind(word) != CJI_K_SINK) dst = cji_dec_dst(d, word, result);
    }
    if (!cji_dec_address(d, cji_dec_word(d, i++), async_space(d), &o)) return true;
    if (i < d->n)
        b = cji_dec_src(d, cji_dec_word(d, i), (k & CJI_MB_OP) == CJI_MB_WAIT && !(k & CJI_MB_PARITY) ? 64 : 32, false);
    cji_rec *r = cji_dec_emit(d, cji_h_mbarrier);
    cji_dec_put_address(r, &o);
    cji_dec_put_d(r, dst);
    cji_dec_put_b(r, b);
    r->k = k;
    return true;
}

static bool async_arrival(cji_dec *d, uint32_t k)
{
    if (cji_dec_has(d, CJI_W_EXPECT_TX)) k |= CJI_MB_TX;
    if (cji_dec_has(d, CJI_W_NOCOMPLETE)) k |= CJI_MB_NO_COMPLETE;
    return async_barrier_op(d, 2, k | CJI_MB_ARRIVE, CJI_W64);
}

static bool async_wait(cji_dec *d, uint32_t k)
{
    if (cji_dec_has(d, CJI_W_PARITY)) k |= CJI_MB_PARITY;
    return async_barrier_op(d, 2, k | CJI_MB_WAIT, CJI_WP);
}

static bool async_pending(cji_dec *d)
{
    cji_dec_place dst = cji_dec_dst(d, cji_dec_word(d, 0), CJI_W32), a = cji_dec_src(d, cji_dec_word(d, 1), 64, false);
    async_words(d, 2);
    cji_dec_type_at(d, 0);
    cji_rec *r = cji_dec_emit(d, cji_h_lane);
    cji_dec_put_d(r, dst);
    cji_dec_put_a(r, a);
    r->lane = cji_l_mbarrier_pending;
    return true;
}

/* A copy is done where it is issued: its groups are always complete. */
static bool async_group(cji_dec *d)
{
    async_words(d, 3);
    cji_dec_emit(d, cji_h_nop);
    return true;
}

bool cji_dec_async(cji_dec *d)
{
    switch (d->e->isa->op) {
    case CJI_OP_CP_ASYNC: return async_copy(d);
    case CJI_OP_CP_ASYNC_COMMIT_GROUP:
    case CJI_OP_CP_ASYNC_WAIT_GROUP:
    case CJI_OP_CP_ASYNC_WAIT_ALL: return async_group(d);
    case CJI_OP_CP_ASYNC_MBARRIER_ARRIVE:
        return async_barrier_op(d, 4, CJI_MB_COPIES | (cji_dec_has(d, CJI_W_NOINC) ? CJI_MB_NOINC : 0), 0);
    case CJI_OP_MBARRIER_INIT: return async_barrier_op(d, 2, CJI_MB_INIT, 0);
    case CJI_OP_MBARRIER_INVAL: return async_barrier_op(d, 2, CJI_MB_INVAL, 0);
    case CJI_OP_MBARRIER_EXPECT_TX: return async_barrier_op(d, 2, CJI_MB_EXPECT, 0);
    case CJI_OP_MBARRIER_COMPLETE_TX: return async_barrier_op(d, 2, CJI_MB_COMPLETE, 0);
    case CJI_OP_MBARRIER_ARRIVE: return async_arrival(d, 0);
    case CJI_OP_MBARRIER_ARRIVE_DROP: return async_arrival(d, CJI_MB_DROP);
    case CJI_OP_MBARRIER_TEST_WAIT: return async_wait(d, 0);
    case CJI_OP_MBARRIER_TRY_WAIT: return async_wait(d, CJI_MB_TRY);
    case CJI_OP_MBARRIER_PENDING_COUNT: return async_pending(d);
    default: return false;
    }
}
