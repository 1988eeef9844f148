/* cujit/async.h - asynchronous copies of kernels: cp.async, bulk copies, the tensor memory
 * accelerator (TMA), mbarriers, rings of stages.  ptx.h includes it.
 *
 *     cj_ring ring;                               producer
 *     cj_ring_begin(f, barriers, 4, &ring);
 *     cj_for(f, 0, blocks, 1);
 *         cj_ring_wait_empty(f, &ring);
 *         cj_mbarrier_expect(f, cj_ring_full(f, &ring), BYTES);
 *         cj_tma_load(f, cj_ring_stage(f, &ring, base, BYTES), map, at, cj_ring_full(f, &ring));
 *         cj_ring_next(f, &ring);
 *     cj_end(f);
 *
 * Addresses.  A shared address is a variable of cj_shared, a cj_mem, or a register of 32 bits; a
 * register of 64 bits is narrowed.  A global address is a pointer, a cj_mem or a register of 64
 * bits.
 *
 * One thread.  The calls with _if act only in the threads where the predicate `p` holds: a copy is
 * started by one thread, an arrival is made by each thread that executes it.  `p` may be the null
 * value: in every thread.
 *
 * Errors, and sections of the PTX manual, as "PTX ISA 9.0, ...": see blocks.h.
 */
#ifndef CUJIT_PTX_H
#include <cujit/ptx.h> /* which includes this file at its place */
#elif !defined CUJIT_ASYNC_H
#define CUJIT_ASYNC_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- mbarriers (sm_80; transactions and waits sm_90) ----------------------------------------- */

/* An mbarrier is 8 bytes of shared memory, aligned to 8.  A phase ends when `count` arrivals have
 * been made and all expected bytes have been copied.  The parity of the first phase is 0.
 *
 * cj_mbarrier_init makes one that waits for `count` arrivals in each phase.  One thread calls it.
 * Then cj_mbarrier_init_fence makes all that this thread has made visible to copies and, with a
 * cluster, to other blocks; a barrier of the block or cluster follows.
 * PTX ISA 9.0, 9.7.13.15.9 (mbarrier.init), sm_80; 9.7.13.4 (fence.mbarrier_init), sm_90. */
CJ_API void cj_mbarrier_init(cj_fn *f, cj_val mbarrier, cj_val count);
CJ_API void cj_mbarrier_init_fence(cj_fn *f);

/* Arrives once.
 * PTX ISA 9.0, 9.7.13.15.13 (mbarrier.arrive), sm_80. */
CJ_API void cj_mbarrier_arrive(cj_fn *f, cj_val mbarrier);
CJ_API void cj_mbarrier_arrive_if(cj_fn *f, cj_val p, cj_val mbarrier);

/* Arrives once, and makes the phase wait for `bytes` more bytes of copies.
 * PTX ISA 9.0, 9.7.13.15.13 (mbarrier.arrive.expect_tx), sm_90. */
CJ_API void cj_mbarrier_expect(cj_fn *f, cj_val mbarrier, cj_val bytes);
CJ_API void cj_mbarrier_expect_if(cj_fn *f, cj_val p, cj_val mbarrier, cj_val bytes);

/* Arrives once at an mbarrier of another block of the cluster: `mbarrier` is an address of
 * cj_cluster_at.  This thread's accesses of shared memory get no fence: what follows in the other
 * block may overwrite only what finished asynchronous instructions have read.
 * PTX ISA 9.0, 9.7.13.15.13 (mbarrier.arrive), sm_90. */
CJ_API void cj_mbarrier_arrive_cluster(cj_fn *f, cj_val mbarrier);
CJ_API void cj_mbarrier_arrive_cluster_if(cj_fn *f, cj_val p, cj_val mbarrier);

/* Waits for the end of the phase with that parity: 0, 1 or a CJ_U32 that is one of them.  What the
 * phase's copies wrote is then visible to the thread.
 * PTX ISA 9.0, 9.7.13.15.16 (mbarrier.try_wait), sm_90. */
CJ_API void cj_mbarrier_wait(cj_fn *f, cj_val mbarrier, cj_val parity);

/* Whether the phase with that parity has ended: a predicate.
 * PTX ISA 9.0, 9.7.13.15.16 (mbarrier.test_wait), sm_80. */
CJ_API void cj_mbarrier_test(cj_fn *f, cj_val mbarrier, cj_val parity, cj_val *ended);

/* ---- Rings of stages ------------------------------------------------------------------------- */

/* One side of a ring: which stage it is at, and in which phase.  The fields are read-only. */
typedef struct cj_ring {
    uint32_t stages;
    uint32_t reserved;
    cj_val full;   /* the shared address of the first of `stages` mbarriers: the stage has data */
    cj_val empty;  /* of the `stages` mbarriers behind them: the stage may be written */
    cj_val index;  /* CJ_U32: the stage, 0 to stages - 1 */
    cj_val parity; /* CJ_U32: 0 in the first round, 1 in the second, ... */
} cj_ring;

/* Makes the 2 * stages mbarriers of a ring, 16 * stages bytes at `mbarriers`.  One thread calls it;
 * cj_mbarrier_init_fence and a barrier follow.
 * `full_count`: the arrivals that fill a stage, 1 for one cj_mbarrier_expect.
 * `empty_count`: the arrivals that empty it.  cj_ring_release is one for each thread that executes
 * it.
 * PTX ISA 9.0, 9.7.13.15.9 (mbarrier.init), sm_80.
 * Errors, left in the module:
 *   CJ_EINVAL: `stages` is not 1 to 64 */
CJ_API void cj_ring_init(cj_fn *f, cj_val mbarriers, uint32_t stages, cj_val full_count, cj_val empty_count);

/* Starts a side of the ring at stage 0: a producer and each consumer start their own.
 * `ring`: Written, and used by the calls below.
 * Errors, left in the module:
 *   CJ_EINVAL: `stages` is not 1 to 64, or `ring` is NULL */
CJ_API void cj_ring_begin(cj_fn *f, cj_val mbarriers, uint32_t stages, cj_ring *ring);

/* Waits until the stage has data (consumer), or may be written (producer; the first round does not
 * wait).
 * PTX ISA 9.0, 9.7.13.15.16 (mbarrier.try_wait), sm_90. */
CJ_API void cj_ring_wait_full(cj_fn *f, const cj_ring *ring);
CJ_API void cj_ring_wait_empty(cj_fn *f, const cj_ring *ring);

/* The mbarriers of the stage, and base + stage * bytes: the address of its data.  CJ_U32. */
CJ_API cj_val cj_ring_full(cj_fn *f, const cj_ring *ring);
CJ_API cj_val cj_ring_empty(cj_fn *f, const cj_ring *ring);
CJ_API cj_val cj_ring_stage(cj_fn *f, const cj_ring *ring, cj_val base, cj_val bytes);

/* Arrives at the empty mbarrier of stage `stage`: a copy of ring.index made earlier, or the null
 * value for the stage that the ring is at.
 * PTX ISA 9.0, 9.7.13.15.13 (mbarrier.arrive), sm_80. */
CJ_API void cj_ring_release(cj_fn *f, const cj_ring *ring, cj_val stage);
CJ_API void cj_ring_release_if(cj_fn *f, cj_val p, const cj_ring *ring, cj_val stage);

/* Continues with the next stage: changes `index` and, after the last stage, `parity`. */
CJ_API void cj_ring_next(cj_fn *f, const cj_ring *ring);

/* ---- Copies by threads: cp.async (sm_80) ----------------------------------------------------- */

/* Starts a copy of `bytes` bytes from global to shared memory: 4, 8 or 16, aligned to as many.
 * cj_async_copy_zero reads only `source` of them, 0 to `bytes`, and writes 0 for the others.
 * PTX ISA 9.0, 9.7.9.25.3.1 (cp.async), sm_80.
 * Errors, left in the module:
 *   CJ_EINVAL: `bytes` is not 4, 8 or 16
 *   CJ_EPTX: the global address is in a register that does not have 64 bits */
CJ_API void cj_async_copy(cj_fn *f, cj_val shared, cj_val global, unsigned bytes);
CJ_API void cj_async_copy_zero(cj_fn *f, cj_val shared, cj_val global, unsigned bytes, cj_val source);

/* Closes the group of this thread's copies, and waits until at most `groups` groups are not done.
 * Other threads see the data after a barrier.
 * PTX ISA 9.0, 9.7.9.25.3.2 (cp.async.commit_group), 9.7.9.25.3.3 (cp.async.wait_group), sm_80.
 * Errors, left in the module:
 *   CJ_EINVAL: `groups` is more than 31 */
CJ_API void cj_async_commit(cj_fn *f);
CJ_API void cj_async_wait(cj_fn *f, unsigned groups);

/* ---- Bulk copies (sm_90) --------------------------------------------------------------------- */

/* Starts a copy of `bytes` bytes, a multiple of 16, from global to shared memory; `mbarrier` counts
 * the bytes.  Both addresses are aligned to 16.
 * PTX ISA 9.0, 9.7.9.25.4.1 (cp.async.bulk), sm_90.
 * Errors, left in the module:
 *   CJ_EPTX: `bytes` is a number that is not a multiple of 16
 *   CJ_EPTX: the global address is in a register that does not have 64 bits */
CJ_API void cj_bulk_load(cj_fn *f, cj_val shared, cj_val global, cj_val bytes, cj_val mbarrier);
CJ_API void cj_bulk_load_if(cj_fn *f, cj_val p, cj_val shared, cj_val global, cj_val bytes, cj_val mbarrier);

/* Starts a copy from shared to global memory, in the thread's bulk group.  cj_fence_async_shared
 * comes first if threads wrote the shared memory.
 * PTX ISA 9.0, 9.7.9.25.4.1 (cp.async.bulk), sm_90.
 * Errors, left in the module: those of cj_bulk_load. */
CJ_API void cj_bulk_store(cj_fn *f, cj_val global, cj_val shared, cj_val bytes);
CJ_API void cj_bulk_store_if(cj_fn *f, cj_val p, cj_val global, cj_val shared, cj_val bytes);

/* Closes the thread's bulk group.  cj_bulk_wait waits until at most `groups` groups are not done,
 * cj_bulk_wait_read until their shared memory has been read.
 * PTX ISA 9.0, 9.7.9.27.2.1 (cp.async.bulk.commit_group), 9.7.9.27.2.2 (cp.async.bulk.wait_group),
 * sm_90.
 * Errors, left in the module:
 *   CJ_EINVAL: `groups` is more than 31 */
CJ_API void cj_bulk_commit(cj_fn *f);
CJ_API void cj_bulk_commit_if(cj_fn *f, cj_val p);
CJ_API void cj_bulk_wait(cj_fn *f, unsigned groups);
CJ_API void cj_bulk_wait_if(cj_fn *f, cj_val p, unsigned groups);
CJ_API void cj_bulk_wait_read(cj_fn *f, unsigned groups);
CJ_API void cj_bulk_wait_read_if(cj_fn *f, cj_val p, unsigned groups);

/* Makes the threads' writes to shared memory visible to copies that are started afterwards:
 * each writing thread executes it, then a barrier, then one thread starts the copy.
 * PTX ISA 9.0, 9.7.13.4 (fence.proxy.async), sm_90. */
CJ_API void cj_fence_async_shared(cj_fn *f);

/* ---- The tensor memory accelerator (sm_90) --------------------------------------------------- */

/* Declares a tensor map as a parameter: 128 bytes by value, aligned to 64; a launch takes a
 * cj_tensor_map there (tensor_map.h).  The value is its generic address.  Kernels only.
 * PTX ISA 9.0, 5.1.6.1 (Kernel Function Parameters), 5.5.8 (Tensor-map).
 * Errors, left in the module: those of cj_param_bytes. */
CJ_API cj_val cj_param_tensor_map(cj_fn *f, const char *name);

/* Fetches the map itself, before its first use.
 * PTX ISA 9.0, 9.7.9.15 (prefetch.tensormap), sm_90.
 * Errors, left in the module:
 *   CJ_EPTX: the map's address is in a register that does not have 64 bits */
CJ_API void cj_tma_prefetch(cj_fn *f, cj_val map);
CJ_API void cj_tma_prefetch_if(cj_fn *f, cj_val p, cj_val map);

/* Starts a copy of a tile of the tensor to shared memory, aligned to 128 bytes, or to the swizzle
 * pattern's 256, 512 or 1024.  `mbarrier` counts the bytes of the whole tile, those outside of the
 * tensor too, which are filled.
 * `at`: the coordinates of the tile's first element, the innermost dimension first: a vector of 1
 * to 5 CJ_S32 registers and numbers, as many as the map has dimensions.  They may be negative.  The
 * innermost one is a multiple of 16 bytes: an H100 reports CUDA_ERROR_ILLEGAL_INSTRUCTION else.
 * PTX ISA 9.0, 9.7.9.27.1.2 (cp.async.bulk.tensor), 5.5.3 (Tiled Mode), sm_90. */
CJ_API void cj_tma_load(cj_fn *f, cj_val shared, cj_val map, cj_val at, cj_val mbarrier);
CJ_API void cj_tma_load_if(cj_fn *f, cj_val p, cj_val shared, cj_val map, cj_val at, cj_val mbarrier);

/* The same into each block of the cluster whose bit in `blocks` is set (multicast), at the same
 * address in each of them, and counted by the mbarrier at the same address there.
 * `blocks`: a 16-bit register or a number.
 * PTX ISA 9.0, 9.7.9.27.1.2 (cp.async.bulk.tensor), sm_90. */
CJ_API void cj_tma_load_multicast(cj_fn *f, cj_val shared, cj_val map, cj_val at,
                                    cj_val mbarrier, cj_val blocks);
CJ_API void cj_tma_load_multicast_if(cj_fn *f, cj_val p, cj_val shared, cj_val map, cj_val at,
                                     cj_val mbarrier, cj_val blocks);

/* The same for a map in im2col mode.  `offsets`: a vector of 1 to 3 16-bit registers and numbers,
 * as many as the map has dimensions but 2.
 * PTX ISA 9.0, 9.7.9.27.1.2 (cp.async.bulk.tensor), 5.5.4 (im2col mode), sm_90. */
CJ_API void cj_tma_load_im2col(cj_fn *f, cj_val shared, cj_val map, cj_val at, cj_val offsets, cj_val mbarrier);
CJ_API void cj_tma_load_im2col_if(cj_fn *f, cj_val p, cj_val shared, cj_val map, cj_val at, cj_val offsets,
                                  cj_val mbarrier);

/* Starts a copy of a tile from shared memory to the tensor, in the thread's bulk group; elements
 * outside of the tensor are not written.  cj_tma_store_add adds to what is there.
 * `at`: as cj_tma_load's, and none is negative.  An H100 writes whole units of 16 bytes: where a
 * row of the tensor ends within one, the rest of the unit is written, too.
 * PTX ISA 9.0, 9.7.9.27.1.2 (cp.async.bulk.tensor), 9.7.9.27.1.3 (cp.reduce.async.bulk.tensor),
 * sm_90. */
CJ_API void cj_tma_store(cj_fn *f, cj_val map, cj_val at, cj_val shared);
CJ_API void cj_tma_store_if(cj_fn *f, cj_val p, cj_val map, cj_val at, cj_val shared);
CJ_API void cj_tma_store_add(cj_fn *f, cj_val map, cj_val at, cj_val shared);
CJ_API void cj_tma_store_add_if(cj_fn *f, cj_val p, cj_val map, cj_val at, cj_val shared);

#ifdef __cplusplus
}
#endif
#endif
