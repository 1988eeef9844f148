/* mbarriers, and rings of stages over them. */
#include "ptx/blocks/blocks.h"

enum { MOST_STAGES = 64, MBARRIER_BYTES = 8 };

/* ---- mbarriers --------------------------------------------------------------------------------------------------- */

/* [mbarrier] as an operand: a shared address stays what it is, so that an offset stands in the instruction. */
static cj_val mbarrier_mem(cj_fn *f, cj_val v, const char *call)
{
    if (!cji_fn_open(f, call) || !cji_val_usable(f, v, call, "the mbarrier")) return CJI_NULL;
    return cji_block_mem(f, v, 0);
}

/* A number, or a register. */
static cj_val operand(cj_fn *f, cj_val v, const char *call, const char *what)
{
    return cji_val_usable(f, v, call, what) ? cji_settle(f, v, call) : CJI_NULL;
}

void cj_mbarrier_init(cj_fn *f, cj_val mbarrier, cj_val count)
{
    cj_val at = mbarrier_mem(f, mbarrier, __func__);
    cj_val n = at.bits ? operand(f, count, __func__, "the count") : at;
    if (n.bits) CJI_INS(f, CJI_NULL, CJI_SPELLED(MBARRIER_INIT_SHARED_B64), at, n);
}

void cj_mbarrier_init_fence(cj_fn *f)
{
    if (cji_fn_open(f, __func__)) cj_ins_n(f, CJI_SPELLED(FENCE_MBARRIER_INIT_RELEASE_CLUSTER), NULL, 0);
}

static void arrive(cj_fn *f, cj_val p, const char *mnemonic, cj_val mbarrier, const char *call)
{
    cj_val at = mbarrier_mem(f, mbarrier, call);
    if (at.bits) CJI_INS(f, p, mnemonic, cj_sink(f), at);
}

void cj_mbarrier_arrive_if(cj_fn *f, cj_val p, cj_val mbarrier)
{
    arrive(f, p, CJI_SPELLED(MBARRIER_ARRIVE_SHARED_B64), mbarrier, __func__);
}
void cj_mbarrier_arrive(cj_fn *f, cj_val mbarrier)
{
    arrive(f, CJI_NULL, CJI_SPELLED(MBARRIER_ARRIVE_SHARED_B64), mbarrier, __func__);
}

/* Without .release.cluster (spellings.def): what is behind the arrival are only finished asynchronous instructions, and
 * the qualifier costs a fence of the whole device. */
void cj_mbarrier_arrive_cluster_if(cj_fn *f, cj_val p, cj_val mbarrier)
{
    arrive(f, p, CJI_SPELLED(MBARRIER_ARRIVE_SHARED_CLUSTER_B64), mbarrier, __func__);
}
void cj_mbarrier_arrive_cluster(cj_fn *f, cj_val mbarrier)
{
    arrive(f, CJI_NULL, CJI_SPELLED(MBARRIER_ARRIVE_SHARED_CLUSTER_B64), mbarrier, __func__);
}

static void expect(cj_fn *f, cj_val p, cj_val mbarrier, cj_val bytes, const char *call)
{
    cj_val at = mbarrier_mem(f, mbarrier, call);
    cj_val n = at.bits ? operand(f, bytes, call, "the number of bytes") : at;
    if (n.bits) CJI_INS(f, p, CJI_SPELLED(MBARRIER_ARRIVE_EXPECT_TX_SHARED_B64), cj_sink(f), at, n);
}

void cj_mbarrier_expect_if(cj_fn *f, cj_val p, cj_val mbarrier, cj_val bytes)
{
    expect(f, p, mbarrier, bytes, __func__);
}
void cj_mbarrier_expect(cj_fn *f, cj_val mbarrier, cj_val bytes) { expect(f, CJI_NULL, mbarrier, bytes, __func__); }

static void wait(cj_fn *f, cj_val mbarrier, cj_val parity, const char *call)
{
    cj_val at = mbarrier_mem(f, mbarrier, call);
    cj_val phase = at.bits ? operand(f, parity, call, "the parity") : at;
    if (!phase.bits) return;
    cj_loop(f);
    cj_val p = cj_reg(f, CJ_PRED);
    CJI_INS(f, CJI_NULL, CJI_SPELLED(MBARRIER_TRY_WAIT_PARITY_SHARED_B64), p, at, phase);
    cj_break_if(f, p);
    cj_end(f);
}

void cj_mbarrier_wait(cj_fn *f, cj_val mbarrier, cj_val parity) { wait(f, mbarrier, parity, __func__); }

void cj_mbarrier_test(cj_fn *f, cj_val mbarrier, cj_val parity, cj_val *ended)
{
    if (ended) *ended = CJI_NULL;
    cj_val at = mbarrier_mem(f, mbarrier, __func__);
    cj_val phase = at.bits ? operand(f, parity, __func__, "the parity") : at;
    if (!phase.bits) return;
    cj_val p = cj_reg(f, CJ_PRED);
    CJI_INS(f, CJI_NULL, CJI_SPELLED(MBARRIER_TEST_WAIT_PARITY_SHARED_B64), p, at, phase);
    if (ended) *ended = p;
}

/* ---- Rings ------------------------------------------------------------------------------------------------------- */

static bool good_stages(cj_fn *f, uint32_t stages, const char *call)
{
    if (!cji_fn_open(f, call)) return false;
    if (stages && stages <= MOST_STAGES) return true;
    cji_block_fail(f, CJ_EINVAL, call, "%u stages, wants 1 to %d", stages, MOST_STAGES);
    return false;
}

void cj_ring_init(cj_fn *f, cj_val mbarriers, uint32_t stages, cj_val full_count, cj_val empty_count)
{
    if (!good_stages(f, stages, __func__)) return;
    cj_val at = cji_shared_address(f, mbarriers, __func__);
    for (uint32_t i = 0; i < 2 * stages && at.bits; i++)
        cj_mbarrier_init(f, cj_mem(f, at, (int64_t)i * MBARRIER_BYTES), i < stages ? full_count : empty_count);
}

void cj_ring_begin(cj_fn *f, cj_val mbarriers, uint32_t stages, cj_ring *ring)
{
    if (ring) *ring = (cj_ring){ .stages = 0 };
    if (!good_stages(f, stages, __func__)) return;
    if (!ring) {
        cji_block_fail(f, CJ_EINVAL, __func__, "the ring is NULL");
        return;
    }
    ring->stages = stages;
    ring->full = cji_shared_address(f, mbarriers, __func__);
    ring->empty = cj_add(f, ring->full, cji_imm_int(f, (int64_t)stages * MBARRIER_BYTES));
    ring->index = cj_let(f, CJ_U32, cji_imm_int(f, 0));
    ring->parity = cj_let(f, CJ_U32, cji_imm_int(f, 0));
}

/* A ring that cj_ring_begin has started. */
static bool good_ring(cj_fn *f, const cj_ring *ring, const char *call)
{
    if (!cji_fn_open(f, call)) return false;
    if (ring && ring->stages && ring->index.bits) return true;
    cji_block_fail(f, CJ_EINVAL, call, ring ? "cj_ring_begin has not started the ring" : "the ring is NULL");
    return false;
}

static cj_val mbarrier_of(cj_fn *f, cj_val first, cj_val stage)
{
    return cj_mad(f, stage, cji_imm_int(f, MBARRIER_BYTES), first);
}

cj_val cj_ring_full(cj_fn *f, const cj_ring *ring)
{
    return good_ring(f, ring, __func__) ? mbarrier_of(f, ring->full, ring->index) : CJI_NULL;
}

cj_val cj_ring_empty(cj_fn *f, const cj_ring *ring)
{
    return good_ring(f, ring, __func__) ? mbarrier_of(f, ring->empty, ring->index) : CJI_NULL;
}

cj_val cj_ring_stage(cj_fn *f, const cj_ring *ring, cj_val base, cj_val bytes)
{
    if (!good_ring(f, ring, __func__)) return CJI_NULL;
    cj_val at = cji_shared_address(f, base, __func__);
    return at.bits ? cj_mad(f, ring->index, bytes, at) : at;
}

void cj_ring_wait_full(cj_fn *f, const cj_ring *ring)
{
    if (good_ring(f, ring, __func__)) wait(f, cj_ring_full(f, ring), ring->parity, __func__);
}

/* The empty phase before the first one counts as ended: the first round waits for the parity 1. */
void cj_ring_wait_empty(cj_fn *f, const cj_ring *ring)
{
    if (!good_ring(f, ring, __func__)) return;
    cj_val before = cj_xor(f, ring->parity, cji_imm_int(f, 1)), at = cj_ring_empty(f, ring);
    wait(f, at, before, __func__);
}

static void release(cj_fn *f, cj_val p, const cj_ring *ring, cj_val stage, const char *call)
{
    if (good_ring(f, ring, call))
        arrive(f, p, CJI_SPELLED(MBARRIER_ARRIVE_SHARED_B64),
               mbarrier_of(f, ring->empty, stage.bits ? stage : ring->index), call);
}

void cj_ring_release(cj_fn *f, const cj_ring *ring, cj_val stage) { release(f, CJI_NULL, ring, stage, __func__); }
void cj_ring_release_if(cj_fn *f, cj_val p, const cj_ring *ring, cj_val stage) { release(f, p, ring, stage, __func__); }

void cj_ring_next(cj_fn *f, const cj_ring *ring)
{
    if (!good_ring(f, ring, __func__)) return;
    cj_val one = cji_imm_int(f, 1), zero = cji_imm_int(f, 0);
    CJI_INS(f, CJI_NULL, CJI_SPELLED(ADD_U32), ring->index, ring->index, one);
    cj_val round = cj_eq(f, ring->index, cji_imm_int(f, ring->stages));
    CJI_INS(f, round, CJI_SPELLED(XOR_B32), ring->parity, ring->parity, one);
    CJI_INS(f, round, CJI_SPELLED(MOV_U32), ring->index, zero);
}
