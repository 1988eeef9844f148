/* Decoding: bulk copies, tensors' tiles, their groups. */
#include "sim/exec/decode.h"
#include "sim/exec/ops_bulk.h"
#include "sim/exec/ops_mem.h"

/* The instruction's name has n words. Of the others these change nothing: where caches keep the bytes, and what the
 * operands say too. */
static void bulk_words(cji_dec *d, uint32_t n)
{
    static const uint16_t hints[] = {
        CJI_W_L2__CACHE_HINT, CJI_W_L2, CJI_W_TILE, CJI_W_GLOBAL, CJI_W_SHARED__CTA, CJI_W_SHARED__CLUSTER,
        CJI_W_MBARRIER__COMPLETE_TX__BYTES, CJI_W_READ, CJI_W_1D, CJI_W_2D, CJI_W_3D, CJI_W_4D, CJI_W_5D, 0
    };
    cji_dec_op_words(d, n);
    cji_dec_hints(d, hints);
}

/* An address's five words of ext. */
static void bulk_put(cji_dec *d, const cji_dec_mem_operand *o)
{
    cji_dec_ext(d, o->base.w);
    cji_dec_ext(d, o->base.off);
    cji_dec_ext(d, (uint32_t)(uint64_t)o->imm);
    cji_dec_ext(d, (uint32_t)((uint64_t)o->imm >> 32));
    cji_dec_ext(d, o->flags | (uint32_t)o->space << 8);
}

static uint32_t bulk_operation(cji_dec *d)
{
    static const cji_dec_choice ops[] = {
        { CJI_W_ADD, CJI_AT_ADD }, { CJI_W_MIN, CJI_AT_MIN }, { CJI_W_MAX, CJI_AT_MAX }, { CJI_W_INC, CJI_AT_INC },
        { CJI_W_DEC, CJI_AT_DEC }, { CJI_W_AND, CJI_AT_AND }, { CJI_W_OR, CJI_AT_OR },   { CJI_W_XOR, CJI_AT_XOR },
        { 0, 0 }
    };
    return CJI_BU_REDUCE | cji_dec_choose(d, ops, CJI_AT_ADD) << CJI_BU_SHIFT;
}

/* [map, {coordinates}]: the map's address, and where the coordinates are. Returns how many; 0: a failure. */
static uint32_t bulk_tile(cji_dec *d, uint32_t word, cji_dec_mem_operand *map, cji_dec_place at[CJI_EXEC_TENSOR_DIMS])
{
    uint32_t n;
    const uint32_t *part = cji_fn_words(d->f, word, &n), *one = &part[2];
    const uint32_t object = part[0];
    n = 1;
    if (cji_word_kind(*one) == CJI_K_VEC) one = cji_fn_words(d->f, *one, &n);
    if (n > CJI_EXEC_TENSOR_DIMS) return cji_dec_unsupported(d), 0;
    for (uint32_t i = 0; i < n; i++) at[i] = cji_dec_src(d, one[i], 32, false);
    return cji_dec_address(d, object, CJI_SP_GENERIC, map) ? n : 0;
}

/* Operands: to, from {, bytes}, then of a load the mbarrier {, blocks}; a cache policy is the last. */
static bool bulk_copy_of(cji_dec *d, bool tile, uint32_t k)
{
    const bool store = cji_dec_has(d, CJI_W_BULK_GROUP), blocks = cji_dec_has(d, CJI_W_MULTICAST__CLUSTER);
    const bool from_global = cji_dec_has(d, CJI_W_GLOBAL);
    const uint32_t shared_word = cji_dec_word(d, store ? 1 : 0), other_word = cji_dec_word(d, store ? 0 : 1);
    cji_dec_mem_operand shared, other, mbarrier = { .space = CJI_SP_SHARED };
    cji_dec_place bytes = { 0, 0 }, mask = { 0, 0 }, at[CJI_EXEC_TENSOR_DIMS];
    uint32_t dims = 0, next = 2;
    if (!cji_dec_address(d, shared_word, CJI_SP_SHARED, &shared)) return true;
    if (tile) {
        dims = bulk_tile(d, other_word, &other, at);
        if (!dims) return true;
    } else if (!cji_dec_address(d, other_word, from_global ? CJI_SP_GLOBAL : CJI_SP_SHARED, &other)) return true;
    if (!tile) bytes = cji_dec_src(d, cji_dec_word(d, next++), 32, false);
    if (!store && !cji_dec_address(d, cji_dec_word(d, next++), CJI_SP_SHARED, &mbarrier)) return true;
    if (blocks) mask = cji_dec_src(d, cji_dec_word(d, next), 16, false);
    const uint32_t ext = (uint32_t)d->p->next;
    bulk_put(d, &other);
    bulk_put(d, &mbarrier);
    for (uint32_t i = 0; i < dims; i++) {
        cji_dec_ext(d, at[i].w);
        cji_dec_ext(d, at[i].off);
    }
    cji_rec *r = cji_dec_emit(d, tile ? cji_h_tile : cji_h_bulk);
    cji_dec_put_address(r, &shared);
    cji_dec_put_b(r, bytes);
    cji_dec_put_c(r, mask);
    r->count = (uint8_t)dims;
    r->target = ext;
    r->k = k | (store ? CJI_BU_STORE : 0) | (blocks ? CJI_BU_MULTICAST : 0);
    return true;
}

static bool bulk_emit(cji_dec *d, uint32_t words, cji_handler fn)
{
    bulk_words(d, words);
    cji_dec_emit(d, fn);
    return true;
}

/* A copy whose source has been read may have been done. */
static bool bulk_wait(cji_dec *d)
{
    uint32_t groups = cji_dec_word(d, 0);
    bulk_words(d, 4);
    if (cji_word_kind(groups) != CJI_K_IMM) return cji_dec_unsupported(d), true;
    cji_dec_emit(d, cji_h_bulk_wait)->imm = (int64_t)d->f->lit[cji_word_index(groups)].bits;
    return true;
}

bool cji_dec_bulk(cji_dec *d)
{
    switch (d->e->isa->op) {
    case CJI_OP_CP_ASYNC_BULK: bulk_words(d, 3); return bulk_copy_of(d, false, 0);
    case CJI_OP_CP_ASYNC_BULK_TENSOR:
        if (cji_dec_has(d, CJI_W_IM2COL)) return cji_dec_unsupported(d), true;
        bulk_words(d, 4);
        return bulk_copy_of(d, true, 0);
    case CJI_OP_CP_REDUCE_ASYNC_BULK_TENSOR: bulk_words(d, 5); return bulk_copy_of(d, true, bulk_operation(d));
    case CJI_OP_CP_ASYNC_BULK_PREFETCH: return bulk_emit(d, 4, cji_h_prefetch);
    case CJI_OP_CP_ASYNC_BULK_PREFETCH_TENSOR: return bulk_emit(d, 5, cji_h_prefetch);
    case CJI_OP_CP_ASYNC_BULK_COMMIT_GROUP: return bulk_emit(d, 4, cji_h_bulk_commit);
    case CJI_OP_CP_ASYNC_BULK_WAIT_GROUP: return bulk_wait(d);
    default: return false;
    }
}
