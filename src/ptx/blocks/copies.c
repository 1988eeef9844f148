/* Asynchronous copies: by threads (cp.async), in bulk, and of tensors (TMA). */
#include <stdio.h>

#include "ptx/blocks/blocks.h"

enum { MOST_GROUPS = 31, MAP_BYTES = 128, MAP_ALIGN = 64, MOST_DIMS = 5 };

/* [v] as an operand; null with the failure kept. */
static cj_val mem(cj_fn *f, cj_val v, const char *call, const char *what)
{
    return cji_fn_open(f, call) && cji_val_usable(f, v, call, what) ? cji_block_mem(f, v, 0) : CJI_NULL;
}

/* The same of global memory.  PTX takes a register of 32 bits, too, such as a shared address in its place. */
static cj_val global_mem(cj_fn *f, cj_val v, const char *call, const char *what)
{
    cj_val at = mem(f, v, call, what);
    if (!at.bits) return at;
    uint32_t base = f->mem[(uint32_t)at.bits].base;
    if (cji_word_kind(base) != CJI_K_REG) return at;
    unsigned type = f->reg[cji_word_index(base)].type;
    if (cji_type_bits(type) == 64) return at;
    cji_block_fail(f, CJ_EPTX, call, "%s is in a .%s register, wants 64 bits", what, cji_type_word(type));
    return CJI_NULL;
}

static cj_val copy_number(cj_fn *f, cj_val v, const char *call, const char *what)
{
    return cji_val_usable(f, v, call, what) ? cji_settle(f, v, call) : CJI_NULL;
}

static void groups(cj_fn *f, cj_val p, const char *mnemonic, unsigned n, const char *call)
{
    if (!cji_fn_open(f, call)) return;
    if (n > MOST_GROUPS) cji_block_fail(f, CJ_EINVAL, call, "%u groups, at most %d", n, MOST_GROUPS);
    else CJI_INS(f, p, mnemonic, cji_imm_int(f, n));
}

static void plain_ins(cj_fn *f, cj_val p, const char *mnemonic, const char *call)
{
    if (cji_fn_open(f, call)) cji_block_ins(f, p, mnemonic, NULL, 0);
}

/* ---- cp.async ---------------------------------------------------------------------------------------------------- */

static void thread_copy(cj_fn *f, cj_val shared, cj_val global, unsigned bytes, const cj_val *source, const char *call)
{
    cj_val to = mem(f, shared, call, "the shared address");
    cj_val from = to.bits ? global_mem(f, global, call, "the global address") : to;
    if (!from.bits) return;
    if (bytes != 4 && bytes != 8 && bytes != 16) {
        cji_block_fail(f, CJ_EINVAL, call, "a copy of %u bytes, wants 4, 8 or 16", bytes);
        return;
    }
    /* 16 bytes need not pass through L1 */
    cj_val v[4] = { to, from, cji_imm_int(f, bytes),
                    source ? copy_number(f, *source, call, "the number of bytes") : CJI_NULL };
    if (!source || v[3].bits)
        cj_ins_n(f, bytes == 16 ? CJI_SPELLED(CP_ASYNC_CG) : CJI_SPELLED(CP_ASYNC_CA), v, source ? 4 : 3);
}

void cj_async_copy(cj_fn *f, cj_val shared, cj_val global, unsigned bytes)
{
    thread_copy(f, shared, global, bytes, NULL, __func__);
}

void cj_async_copy_zero(cj_fn *f, cj_val shared, cj_val global, unsigned bytes, cj_val source)
{
    thread_copy(f, shared, global, bytes, &source, __func__);
}

void cj_async_commit(cj_fn *f) { plain_ins(f, CJI_NULL, CJI_SPELLED(CP_ASYNC_COMMIT_GROUP), __func__); }
void cj_async_wait(cj_fn *f, unsigned n) { groups(f, CJI_NULL, CJI_SPELLED(CP_ASYNC_WAIT_GROUP), n, __func__); }

/* ---- Bulk copies ------------------------------------------------------------------------------------------------- */

static void bulk_load(cj_fn *f, cj_val p, cj_val shared, cj_val global, cj_val bytes, cj_val mbarrier, const char *call)
{
    cj_val v[4];
    v[0] = mem(f, shared, call, "the shared address");
    v[1] = v[0].bits ? global_mem(f, global, call, "the global address") : CJI_NULL;
    v[2] = v[1].bits ? copy_number(f, bytes, call, "the number of bytes") : CJI_NULL;
    v[3] = v[2].bits ? mem(f, mbarrier, call, "the mbarrier") : CJI_NULL;
    if (v[3].bits) cji_block_ins(f, p, CJI_SPELLED(BULK_LOAD), v, 4);
}

void cj_bulk_load_if(cj_fn *f, cj_val p, cj_val shared, cj_val global, cj_val bytes, cj_val mbarrier)
{
    bulk_load(f, p, shared, global, bytes, mbarrier, __func__);
}

void cj_bulk_load(cj_fn *f, cj_val shared, cj_val global, cj_val bytes, cj_val mbarrier)
{
    bulk_load(f, CJI_NULL, shared, global, bytes, mbarrier, __func__);
}

static void bulk_store(cj_fn *f, cj_val p, cj_val global, cj_val shared, cj_val bytes, const char *call)
{
    cj_val v[3];
    v[0] = global_mem(f, global, call, "the global address");
    v[1] = v[0].bits ? mem(f, shared, call, "the shared address") : CJI_NULL;
    v[2] = v[1].bits ? copy_number(f, bytes, call, "the number of bytes") : CJI_NULL;
    if (v[2].bits) cji_block_ins(f, p, CJI_SPELLED(BULK_STORE), v, 3);
}

void cj_bulk_store_if(cj_fn *f, cj_val p, cj_val global, cj_val shared, cj_val bytes)
{
    bulk_store(f, p, global, shared, bytes, __func__);
}

void cj_bulk_store(cj_fn *f, cj_val global, cj_val shared, cj_val bytes)
{
    bulk_store(f, CJI_NULL, global, shared, bytes, __func__);
}

void cj_bulk_commit_if(cj_fn *f, cj_val p) { plain_ins(f, p, CJI_SPELLED(CP_ASYNC_BULK_COMMIT_GROUP), __func__); }
void cj_bulk_commit(cj_fn *f) { plain_ins(f, CJI_NULL, CJI_SPELLED(CP_ASYNC_BULK_COMMIT_GROUP), __func__); }
void cj_bulk_wait_if(cj_fn *f, cj_val p, unsigned n)
{
    groups(f, p, CJI_SPELLED(CP_ASYNC_BULK_WAIT_GROUP), n, __func__);
}
void cj_bulk_wait(cj_fn *f, unsigned n) { groups(f, CJI_NULL, CJI_SPELLED(CP_ASYNC_BULK_WAIT_GROUP), n, __func__); }
void cj_bulk_wait_read_if(cj_fn *f, cj_val p, unsigned n)
{
    groups(f, p, CJI_SPELLED(CP_ASYNC_BULK_WAIT_GROUP_READ), n, __func__);
}
void cj_bulk_wait_read(cj_fn *f, unsigned n)
{
    groups(f, CJI_NULL, CJI_SPELLED(CP_ASYNC_BULK_WAIT_GROUP_READ), n, __func__);
}
void cj_fence_async_shared(cj_fn *f) { plain_ins(f, CJI_NULL, CJI_SPELLED(FENCE_PROXY_ASYNC_SHARED_CTA), __func__); }

/* ---- Tensors ----------------------------------------------------------------------------------------------------- */

cj_val cj_param_tensor_map(cj_fn *f, const char *name)
{
    cj_val p = cj_param_bytes(f, name, MAP_BYTES, MAP_ALIGN);
    return p.bits ? cj_addr_generic(f, p) : p;
}

static void prefetch(cj_fn *f, cj_val p, cj_val map, const char *call)
{
    cj_val at = global_mem(f, map, call, "the tensor map");
    if (at.bits) CJI_INS(f, p, CJI_SPELLED(PREFETCH_TENSORMAP), at);
}

void cj_tma_prefetch_if(cj_fn *f, cj_val p, cj_val map) { prefetch(f, p, map, __func__); }
void cj_tma_prefetch(cj_fn *f, cj_val map) { prefetch(f, CJI_NULL, map, __func__); }

/* [map, {coordinates}] and its number of dimensions; null with the failure kept. */
static cj_val box(cj_fn *f, cj_val map, cj_val at, size_t *dims, const char *call)
{
    if (!cji_fn_open(f, call) || !cji_val_usable(f, map, call, "the tensor map")) return CJI_NULL;
    if (!cji_val_usable(f, at, call, "the coordinates")) return CJI_NULL;
    *dims = cj_length_of(f, at);
    if (*dims > MOST_DIMS) {
        cji_block_fail(f, CJ_EPTX, call, "%zu coordinates, at most %d", *dims, MOST_DIMS);
        return CJI_NULL;
    }
    if (cji_val_kind(at) != CJI_K_VEC) at = cj_vec_n(f, &at, 1);
    return at.bits ? cj_texmem(f, map, CJI_NULL, at) : at;
}

/* How a box comes to shared memory. */
typedef struct tma {
    cj_val p, shared, map, at, mbarrier;
    const cj_val *blocks, *offsets;   /* multicast; im2col */
} tma;

static void tma_load(cj_fn *f, const tma *l, const char *call)
{
    char mnemonic[CJI_MNEMONIC_MAX];
    size_t dims = 0, n = 3;
    cj_val v[5];
    v[0] = mem(f, l->shared, call, "the shared address");
    v[1] = v[0].bits ? box(f, l->map, l->at, &dims, call) : CJI_NULL;
    v[2] = v[1].bits ? mem(f, l->mbarrier, call, "the mbarrier") : CJI_NULL;
    if (!v[2].bits) return;
    if (l->offsets) {
        if (!cji_val_usable(f, *l->offsets, call, "the offsets")) return;
        v[n++] = cji_val_kind(*l->offsets) == CJI_K_VEC ? *l->offsets : cj_vec_n(f, l->offsets, 1);
    }
    if (l->blocks) {
        if (!cji_val_usable(f, *l->blocks, call, "the blocks")) return;
        v[n++] = *l->blocks;
    }
    snprintf(mnemonic, sizeof mnemonic, CJI_SPELLED(TMA_LOAD), dims, l->offsets ? ".im2col" : "",
             l->blocks ? ".multicast::cluster" : "");
    cji_block_ins(f, l->p, mnemonic, v, n);
}

void cj_tma_load_if(cj_fn *f, cj_val p, cj_val shared, cj_val map, cj_val at, cj_val mbarrier)
{
    tma_load(f, &(tma){ .p = p, .shared = shared, .map = map, .at = at, .mbarrier = mbarrier }, __func__);
}

void cj_tma_load(cj_fn *f, cj_val shared, cj_val map, cj_val at, cj_val mbarrier)
{
    tma_load(f, &(tma){ .shared = shared, .map = map, .at = at, .mbarrier = mbarrier }, __func__);
}

void cj_tma_load_multicast_if(cj_fn *f, cj_val p, cj_val shared, cj_val map, cj_val at, cj_val mbarrier, cj_val blocks)
{
    tma_load(f, &(tma){ .p = p, .shared = shared, .map = map, .at = at, .mbarrier = mbarrier, .blocks = &blocks },
             __func__);
}

void cj_tma_load_multicast(cj_fn *f, cj_val shared, cj_val map, cj_val at, cj_val mbarrier, cj_val blocks)
{
    tma_load(f, &(tma){ .shared = shared, .map = map, .at = at, .mbarrier = mbarrier, .blocks = &blocks }, __func__);
}

void cj_tma_load_im2col_if(cj_fn *f, cj_val p, cj_val shared, cj_val map, cj_val at, cj_val offsets, cj_val mbarrier)
{
    tma_load(f, &(tma){ .p = p, .shared = shared, .map = map, .at = at, .mbarrier = mbarrier, .offsets = &offsets },
             __func__);
}

void cj_tma_load_im2col(cj_fn *f, cj_val shared, cj_val map, cj_val at, cj_val offsets, cj_val mbarrier)
{
    tma_load(f, &(tma){ .shared = shared, .map = map, .at = at, .mbarrier = mbarrier, .offsets = &offsets }, __func__);
}

static void tma_store(cj_fn *f, cj_val p, const char *form, cj_val map, cj_val at, cj_val shared, const char *call)
{
    char mnemonic[CJI_MNEMONIC_MAX];
    size_t dims = 0;
    cj_val v[2];
    v[0] = box(f, map, at, &dims, call);
    v[1] = v[0].bits ? mem(f, shared, call, "the shared address") : CJI_NULL;
    if (!v[1].bits) return;
    snprintf(mnemonic, sizeof mnemonic, form, dims);
    cji_block_ins(f, p, mnemonic, v, 2);
}

void cj_tma_store_if(cj_fn *f, cj_val p, cj_val map, cj_val at, cj_val shared)
{
    tma_store(f, p, CJI_SPELLED(TMA_STORE), map, at, shared, __func__);
}
void cj_tma_store(cj_fn *f, cj_val map, cj_val at, cj_val shared)
{
    tma_store(f, CJI_NULL, CJI_SPELLED(TMA_STORE), map, at, shared, __func__);
}
void cj_tma_store_add_if(cj_fn *f, cj_val p, cj_val map, cj_val at, cj_val shared)
{
    tma_store(f, p, CJI_SPELLED(TMA_STORE_ADD), map, at, shared, __func__);
}
void cj_tma_store_add(cj_fn *f, cj_val map, cj_val at, cj_val shared)
{
    tma_store(f, CJI_NULL, CJI_SPELLED(TMA_STORE_ADD), map, at, shared, __func__);
}
