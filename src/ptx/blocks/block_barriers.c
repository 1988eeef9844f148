/* Barriers of a block, a cluster and a grid; which warp this is; roles of warps; programmatic dependent launch. */
#include "ptx/blocks/blocks.h"

enum { WARP_SHIFT = 5, WARPGROUP_SHIFT = 7, LEAST_REGISTERS = 24, MOST_REGISTERS = 256 };

/* ---- Warps ------------------------------------------------------------------------------------------------------- */

void cj_warp_uniform(cj_fn *f, cj_val v, cj_val *uniform)
{
    if (uniform) *uniform = CJI_NULL;
    unsigned type;
    if (!cji_fn_open(f, __func__) || !cji_val_usable(f, v, __func__, "the value") ||
        !cji_prepare(f, &v, 1, &type, __func__))
        return;
    if (type == CJ_PRED || cji_type_bits(type) != 32) {
        cji_block_fail(f, CJ_EPTX, __func__, "the value is .%s, wants 32 bits; cj_warp_broadcast takes others",
                       cji_type_word(type));
        return;
    }
    cj_val r = cj_shfl_idx(f, v, cji_imm_int(f, 0));
    if (uniform) *uniform = r;
}

static void thread_shifted(cj_fn *f, int shift, cj_val *id, const char *call)
{
    if (id) *id = CJI_NULL;
    if (!cji_fn_open(f, call)) return;
    cj_warp_uniform(f, cj_shr(f, cj_thread_id(f, CJ_X), cji_imm_int(f, shift)), id);
}

void cj_warp_id(cj_fn *f, cj_val *warp) { thread_shifted(f, WARP_SHIFT, warp, __func__); }
void cj_warpgroup_id(cj_fn *f, cj_val *warpgroup) { thread_shifted(f, WARPGROUP_SHIFT, warpgroup, __func__); }

void cj_warp_elect(cj_fn *f, cj_val *elected)
{
    if (elected) *elected = CJI_NULL;
    if (!cji_fn_open(f, __func__)) return;
    cj_val p = cj_reg(f, CJ_PRED);
    CJI_INS(f, CJI_NULL, CJI_SPELLED(ELECT_SYNC), cj_pair(f, cj_sink(f), p), cji_imm_int(f, UINT32_MAX));
    if (elected) *elected = p;
}

/* ---- Roles ------------------------------------------------------------------------------------------------------- */

static void role(cj_fn *f, cj_val warpgroup, unsigned first, unsigned count, unsigned registers, const char *mnemonic,
                 const char *call)
{
    if (!cji_fn_open(f, call)) return;
    if (!count) {
        cji_block_fail(f, CJ_EINVAL, call, "no warpgroups");
    } else if (registers < LEAST_REGISTERS || registers > MOST_REGISTERS || registers % 8) {
        cji_block_fail(f, CJ_EINVAL, call, "%u registers, wants a multiple of 8 from 24 to 256", registers);
    } else {
        cj_val from = first ? cj_sub(f, warpgroup, cji_imm_int(f, first)) : warpgroup;
        cj_if(f, count == 1 ? cj_eq(f, warpgroup, cji_imm_int(f, first)) : cj_lt(f, from, cji_imm_int(f, count)));
        CJI_INS(f, CJI_NULL, mnemonic, cji_imm_int(f, registers));
    }
}

void cj_role_fewer(cj_fn *f, cj_val warpgroup, unsigned first, unsigned count, unsigned registers)
{
    role(f, warpgroup, first, count, registers, CJI_SPELLED(SETMAXNREG_DEC_SYNC_U32), __func__);
}

void cj_role_more(cj_fn *f, cj_val warpgroup, unsigned first, unsigned count, unsigned registers)
{
    role(f, warpgroup, first, count, registers, CJI_SPELLED(SETMAXNREG_INC_SYNC_U32), __func__);
}

/* ---- Named barriers ---------------------------------------------------------------------------------------------- */

static void named_barrier(cj_fn *f, const char *mnemonic, cj_val barrier, cj_val threads, const char *call)
{
    if (!cji_fn_open(f, call) || !cji_val_usable(f, barrier, call, "the barrier")) return;
    if (!cji_val_usable(f, threads, call, "the number of threads")) return;
    barrier = cji_settle(f, barrier, call);
    threads = cji_settle(f, threads, call);
    CJI_INS(f, CJI_NULL, mnemonic, barrier, threads);
}

void cj_named_barrier_sync(cj_fn *f, cj_val barrier, cj_val threads)
{
    named_barrier(f, CJI_SPELLED(BAR_SYNC), barrier, threads, __func__);
}
void cj_named_barrier_arrive(cj_fn *f, cj_val barrier, cj_val threads)
{
    named_barrier(f, CJI_SPELLED(BAR_ARRIVE), barrier, threads, __func__);
}

/* ---- The grid ---------------------------------------------------------------------------------------------------- */

/* a[x] | a[y] | a[z], or their product. */
static cj_val over_dims(cj_fn *f, cj_val (*get)(cj_fn *, cj_dim), cj_val (*join)(cj_fn *, cj_val, cj_val))
{
    cj_val x = get(f, CJ_X), y = get(f, CJ_Y), z = get(f, CJ_Z);
    return join(f, join(f, x, y), z);
}

/* The state's highest bit changes once all blocks have arrived: block 0 adds 2^31 - (blocks - 1), the others 1, which
 * is 2^31 in all.  So nothing is reset, and the low bits are 0 between barriers. */
void cj_grid_sync(cj_fn *f, cj_val state)
{
    if (!cji_fn_open(f, __func__) || !cji_val_usable(f, state, __func__, "the state")) return;
    cj_val zero = cji_imm_int(f, 0), top = cji_imm_int(f, 0x80000000);
    cj_block_sync(f);
    cj_if(f, cj_eq(f, over_dims(f, cj_thread_id, cj_or), zero));
    cj_val blocks = over_dims(f, cj_grid_size, cj_mul), first = cj_eq(f, over_dims(f, cj_block_id, cj_or), zero);
    cj_val add = cj_select(f, first, cj_sub(f, cji_imm_int(f, 0x80000001), blocks), cji_imm_int(f, 1));
    cj_fence_device(f);
    cj_val old = cj_atomic_add(f, state, add);
    bool global = cj_space_of(f, state) == CJ_SPACE_GLOBAL;
    cj_loop(f);
    cj_val now = cj_reg(f, CJ_U32);
    CJI_INS(f, CJI_NULL, global ? CJI_SPELLED(LD_VOLATILE_GLOBAL_U32) : CJI_SPELLED(LD_VOLATILE_U32), now,
            cji_block_mem(f, state, 0));
    cj_break_if(f, cj_ne(f, cj_and(f, cj_xor(f, old, now), top), zero));
    cj_end(f);
    cj_fence_device(f);
    cj_end(f);
    cj_block_sync(f);
}

static void alone(cj_fn *f, const char *mnemonic, const char *call)
{
    if (cji_fn_open(f, call)) cj_ins_n(f, mnemonic, NULL, 0);
}

void cj_grid_launch_dependents(cj_fn *f) { alone(f, CJI_SPELLED(GRIDDEPCONTROL_LAUNCH_DEPENDENTS), __func__); }
void cj_grid_wait(cj_fn *f) { alone(f, CJI_SPELLED(GRIDDEPCONTROL_WAIT), __func__); }

/* ---- Clusters ---------------------------------------------------------------------------------------------------- */

static cj_val cluster_sreg(cj_fn *f, const char *name, const char *call)
{
    return cji_fn_open(f, call) ? cj_mov(f, cj_sreg(f, name)) : CJI_NULL;
}

cj_val cj_cluster_rank(cj_fn *f) { return cluster_sreg(f, "%cluster_ctarank", __func__); }
cj_val cj_cluster_size(cj_fn *f) { return cluster_sreg(f, "%cluster_nctarank", __func__); }
void cj_cluster_arrive(cj_fn *f) { alone(f, CJI_SPELLED(BARRIER_CLUSTER_ARRIVE_RELEASE), __func__); }
void cj_cluster_wait(cj_fn *f) { alone(f, CJI_SPELLED(BARRIER_CLUSTER_WAIT_ACQUIRE), __func__); }

void cj_cluster_sync(cj_fn *f)
{
    cj_cluster_arrive(f);
    cj_cluster_wait(f);
}

cj_val cj_cluster_at(cj_fn *f, cj_val address, cj_val rank)
{
    cj_val a = cji_shared_address(f, address, __func__);
    if (!a.bits) return a;
    if (!cji_val_usable(f, rank, __func__, "the rank")) return CJI_NULL;
    const cj_val r = cji_settle(f, rank, __func__), v[3] = { cji_reg_val(f, CJ_U32), a, r };
    cj_ins_n(f, CJI_SPELLED(MAPA_SHARED_CLUSTER_U32), v, 3);
    return f->m->dead ? CJI_NULL : v[0];
}
