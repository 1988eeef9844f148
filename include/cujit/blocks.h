/* cujit/blocks.h - building blocks of kernels: lists of registers, warps, reductions, scans,
 * barriers, clusters, roles of warps.  ptx.h includes it.
 *
 *     cj_val sum, first;
 *     cj_block_reduce(f, CJ_COMBINE_ADD, v, CJ_THREAD_GROUP(.threads = 256), &sum);
 *     cj_warp_broadcast(f, v, 0, &first);
 *
 * async.h has asynchronous copies, mbarriers and rings; tensor_core.h has matrix instructions.
 *
 * A block writes several instructions into the function, all of them visible in the printed PTX.
 * The module's least target and version follow from them, as with all instructions.
 *
 * Order.  A block that waits, communicates, copies or writes memory returns nothing.  It gives its
 * results through pointers; pass NULL for those that are not wanted.  So it cannot be an argument
 * of another call: C leaves the order of arguments open.  A block that returns a cj_val only
 * computes.
 *
 * Values.  Where a block takes a value `v`, it takes a register, a number, or a vector of up to 8
 * registers of one type, unless it says otherwise.  The result has the same type and length.
 *
 * Sources.  "PTX ISA 9.0, 9.7.13.14 (elect.sync)" is a section of the PTX manual of that version
 * and the instruction that it describes.  Other versions have other numbers.
 *
 * Errors.  Each call of blocks.h, async.h and tensor_core.h can fail with the errors that ptx.h
 * lists for all calls, and with this one:
 *   CJ_EPTX: an operand does not fit the instruction
 */
#ifndef CUJIT_PTX_H
#include <cujit/ptx.h> /* which includes this file at its place */
#elif !defined CUJIT_BLOCKS_H
#define CUJIT_BLOCKS_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Lists of registers ---------------------------------------------------------------------- */

/* The number of elements of a vector; 1 for another value; 0 for the null value. */
CJ_API size_t cj_length_of(cj_fn *f, cj_val v);

/* A vector of the `n` elements of `vec` from `first` on.  No instruction is emitted: the elements
 * are the same registers.
 * Errors, left in the module:
 *   CJ_EINVAL: `n` is 0, or `vec` has fewer than first + n elements */
CJ_API cj_val cj_slice(cj_fn *f, cj_val vec, size_t first, size_t n);

/* A vector of the elements of all `n` values, vectors and others, in their order: up to 256.
 * `v`: Copied.
 * Errors, left in the module:
 *   CJ_EINVAL: there are no elements, or more than 256 */
CJ_API cj_val cj_concat_n(cj_fn *f, const cj_val *v, size_t n);

/* Writes the elements of `v` into the registers of the vector `to`, or one value `v` into each of
 * them.  cj_assign_all_if writes only where the predicate `p` holds.
 * Errors, left in the module:
 *   CJ_EINVAL: `v` is a vector of another length
 *   CJ_EPTX: `to` has an element that is no register, or a type differs */
CJ_API void cj_assign_all(cj_fn *f, cj_val to, cj_val v);
CJ_API void cj_assign_all_if(cj_fn *f, cj_val p, cj_val to, cj_val v);

/* ---- Warps ----------------------------------------------------------------------------------- */

/* Which warp of the block, and which group of four warps, this thread belongs to, in a block of one
 * dimension: %tid.x / 32 and %tid.x / 128, CJ_U32.  The compiler is shown that the number is the
 * same in the whole warp: it then keeps descriptors and addresses made of it in uniform registers.
 * All 32 lanes must execute the call together.
 * PTX ISA 9.0, 10.1 (%tid), 9.7.9.6 (shfl.sync), sm_30. */
CJ_API void cj_warp_id(cj_fn *f, cj_val *warp);
CJ_API void cj_warpgroup_id(cj_fn *f, cj_val *warpgroup);

/* The value that lane 0 has, in all lanes, known to be uniform.  `v`: of 32 bits.  All 32 lanes
 * must execute the call together.
 * PTX ISA 9.0, 9.7.9.6 (shfl.sync), sm_30.
 * Errors, left in the module:
 *   CJ_EPTX: the type of `v` does not have 32 bits */
CJ_API void cj_warp_uniform(cj_fn *f, cj_val v, cj_val *uniform);

/* A predicate that holds in exactly one lane of the warp.  All 32 lanes must execute the call
 * together.
 * PTX ISA 9.0, 9.7.13.14 (elect.sync), sm_90. */
CJ_API void cj_warp_elect(cj_fn *f, cj_val *elected);

/* The value of lane `lane`, in all lanes of the warp.  `lane`: CJ_U32 or a number, 0 to 31.  The
 * type of `v` has 16, 32 or 64 bits.  All 32 lanes must execute the call together.
 * PTX ISA 9.0, 9.7.9.6 (shfl.sync), sm_30.
 * Errors, left in the module:
 *   CJ_EINVAL: `lane` is a number out of that range */
CJ_API void cj_warp_broadcast(cj_fn *f, cj_val v, cj_val lane, cj_val *result);

/* ---- Reductions and scans -------------------------------------------------------------------- */

/* What joins two values.  CJ_COMBINE_MIN and _MAX ignore NaN, as cj_min and cj_max do. */
typedef enum cj_combine_op {
    CJ_COMBINE_ADD = 0,
    CJ_COMBINE_MUL = 1,
    CJ_COMBINE_MIN = 2,
    CJ_COMBINE_MAX = 3,
    CJ_COMBINE_AND = 4, /* integers and untyped registers */
    CJ_COMBINE_OR = 5,
    CJ_COMBINE_XOR = 6
} cj_combine_op;

/* Joins the values of the lanes of a warp, or of each `width` lanes that follow one another: 1, 2,
 * 4, 8, 16 or 32.  Each lane gets the result.  The order of the operations is fixed: the same
 * values give the same bits.  The type of `v` has 16, 32 or 64 bits.  All 32 lanes must execute the
 * call together.
 * PTX ISA 9.0, 9.7.9.6 (shfl.sync), sm_30.
 * Errors, left in the module:
 *   CJ_EINVAL: `op` or `width` is none of those */
CJ_API void cj_warp_reduce(cj_fn *f, cj_combine_op op, cj_val v, unsigned width, cj_val *result);

/* The same with a function of the module.  For a value of n registers it has 2n parameters, those
 * of the lower lanes first, and n results.  It must be associative; it need not be commutative.
 * PTX ISA 9.0, 9.7.9.6 (shfl.sync), sm_30.
 * Errors, left in the module:
 *   CJ_EINVAL: `width` is none of those, or `op` is a kernel or of another module
 *   CJ_EHANDLE: `op` is no function
 *   CJ_EPTX: the parameters or results of `op` do not fit */
CJ_API void cj_warp_reduce_fn(cj_fn *f, cj_fn *op, cj_val v, unsigned width, cj_val *result);

/* Joins the values of the lanes up to this one (*inclusive) and of those below it (*exclusive).
 * Lane 0 of each `width` lanes gets the operation's identity as *exclusive; cj_warp_scan_fn takes
 * it as `identity`, which may be the null value if `exclusive` is NULL.
 * PTX ISA 9.0, 9.7.9.6 (shfl.sync), sm_30.
 * Errors, left in the module: those of cj_warp_reduce and cj_warp_reduce_fn, and
 *   CJ_EINVAL: `exclusive` is wanted without `identity` */
CJ_API void cj_warp_scan(cj_fn *f, cj_combine_op op, cj_val v, unsigned width, cj_val *inclusive, cj_val *exclusive);
CJ_API void cj_warp_scan_fn(cj_fn *f, cj_fn *op, cj_val v, cj_val identity, unsigned width, cj_val *inclusive,
                            cj_val *exclusive);

/* Threads of a block that work together: whole warps.  { .threads = n } is a block of n threads in
 * one dimension: CJ_THREAD_GROUP(.threads = n). */
typedef struct cj_thread_group {
    uint32_t threads; /* how many: a multiple of 32, up to 1024 */
    uint32_t once;    /* 1: `scratch` is not used again before the group's next barrier */
    cj_val index;     /* this thread's index in the group, CJ_U32; { 0 }: %tid.x */
    cj_val barrier;   /* the named barrier of the group, 0 to 15; { 0 }: cj_block_sync, and the group
                       * is then the whole block */
    cj_val scratch;   /* shared memory of the group; { 0 }: a variable of the call's own */
} cj_thread_group;

/* The bytes of `scratch` that a call with a value of `bytes` bytes needs, aligned to 8; 0 if the
 * group is not valid. */
CJ_API size_t cj_thread_group_scratch(const cj_thread_group *group, size_t bytes);

/* As the calls for warps, over all threads of the group in the order of their indices.  All threads
 * of the group must execute the call together: it has barriers.  One barrier less if `once` is 1.
 * *total: all values joined, in each thread.
 * PTX ISA 9.0, 9.7.9.6 (shfl.sync), 9.7.13.1 (bar.sync), sm_30.
 * Errors, left in the module: those of the calls for warps, and
 *   CJ_EINVAL: `group` is NULL, or its number of threads is out of range */
CJ_API void cj_block_reduce(cj_fn *f, cj_combine_op op, cj_val v, const cj_thread_group *group, cj_val *total);
CJ_API void cj_block_reduce_fn(cj_fn *f, cj_fn *op, cj_val v, const cj_thread_group *group, cj_val *total);
CJ_API void cj_block_scan(cj_fn *f, cj_combine_op op, cj_val v, const cj_thread_group *group,
                          cj_val *inclusive, cj_val *exclusive, cj_val *total);
CJ_API void cj_block_scan_fn(cj_fn *f, cj_fn *op, cj_val v, cj_val identity, const cj_thread_group *group,
                             cj_val *inclusive, cj_val *exclusive, cj_val *total);

/* The value of the thread with the index `from`, in all threads of the group.  `from`: CJ_U32, the
 * same in all of them, or a number.
 * PTX ISA 9.0, 9.7.13.1 (bar.sync); of 32 threads 9.7.9.6 (shfl.sync), sm_30.
 * Errors, left in the module: those of cj_block_reduce, and
 *   CJ_EINVAL: `from` is a number that is not below group->threads */
CJ_API void cj_block_broadcast(cj_fn *f, cj_val v, cj_val from, const cj_thread_group *group, cj_val *result);

/* ---- Barriers -------------------------------------------------------------------------------- */

/* A named barrier of the block.  It opens when `threads` threads have
 * arrived, a multiple of 32.  cj_named_barrier_sync waits until then; cj_named_barrier_arrive does
 * not.  `barrier`: 0 to 15, a 32-bit register or a number.  All lanes of a warp arrive together.
 * PTX ISA 9.0, 9.7.13.1 (bar.sync, bar.arrive). */
CJ_API void cj_named_barrier_sync(cj_fn *f, cj_val barrier, cj_val threads);
CJ_API void cj_named_barrier_arrive(cj_fn *f, cj_val barrier, cj_val threads);

/* A barrier of all thread blocks of the grid.  Memory accesses before the barrier are visible to
 * all threads of the grid after it.  All threads of the grid must execute it, and all blocks must
 * be resident: launch with CJ_LAUNCH(.cooperative = 1).
 * `state`: the address of 4 bytes of global memory that are 0 before the first launch.  Nothing
 * resets them: later launches on the same stream use them as they are.  Two launches that run at
 * once need two states.  Blocks of up to three dimensions; the grid has less than 2^31 blocks.
 * PTX ISA 9.0, 9.7.13.1 (bar.sync), 9.7.13.4 (membar), 9.7.13.5 (atom), 9.7.9.8 (ld.volatile). */
CJ_API void cj_grid_sync(cj_fn *f, cj_val state);

/* Programmatic dependent launch.  launch_dependents: the next kernel of the stream, if it is
 * launched with CJ_LAUNCH(.programmatic = 1), may start once each block has called it or has ended.
 * wait: returns when the kernels before have ended and their writes are visible.
 * PTX ISA 9.0, 9.7.13.13 (griddepcontrol), sm_90. */
CJ_API void cj_grid_launch_dependents(cj_fn *f);
CJ_API void cj_grid_wait(cj_fn *f);

/* ---- Clusters of thread blocks (sm_90) ------------------------------------------------------- */

/* The block's rank in its cluster, and the number of blocks of the cluster.  CJ_U32.
 * PTX ISA 9.0, 10.16 (%cluster_ctarank), 10.17 (%cluster_nctarank), sm_90. */
CJ_API cj_val cj_cluster_rank(cj_fn *f);
CJ_API cj_val cj_cluster_size(cj_fn *f);

/* A barrier of all threads of the cluster.  cj_cluster_sync is cj_cluster_arrive and
 * cj_cluster_wait.  Memory accesses before the arrival are visible after the wait.
 * PTX ISA 9.0, 9.7.13.3 (barrier.cluster), sm_90. */
CJ_API void cj_cluster_sync(cj_fn *f);
CJ_API void cj_cluster_arrive(cj_fn *f);
CJ_API void cj_cluster_wait(cj_fn *f);

/* The address in the cluster's shared memory (.shared::cluster) that corresponds, in the block of
 * rank `rank`, to the shared address `address` of this block.  CJ_U32.
 * PTX ISA 9.0, 9.7.9.23 (mapa), sm_90. */
CJ_API cj_val cj_cluster_at(cj_fn *f, cj_val address, cj_val rank);

/* ---- Roles of warps (sm_90a) ----------------------------------------------------------------- */

/* Opens a code block that runs in the warpgroups from `first` to first + count - 1, and sets how
 * many registers each of their threads has from there on: fewer than at the start in cj_role_fewer,
 * more in cj_role_more.  cj_end closes the code block.
 * `warpgroup`: what cj_warpgroup_id gave.  `registers`: a multiple of 8 from 24 to 256.
 * PTX ISA 9.0, 9.7.19.5 (setmaxnreg), sm_90a.
 * Errors, left in the module:
 *   CJ_EINVAL: `count` is 0, or `registers` is out of range */
CJ_API void cj_role_fewer(cj_fn *f, cj_val warpgroup, unsigned first, unsigned count, unsigned registers);
CJ_API void cj_role_more(cj_fn *f, cj_val warpgroup, unsigned first, unsigned count, unsigned registers);

#ifdef __cplusplus
}
#endif

/* ---- CJ_THREAD_GROUP(.threads = 256, .once = 1); C and C++20 --------------------------------- */

#ifndef __cplusplus
#define CJ_THREAD_GROUP(...) (&(const cj_thread_group){ __VA_ARGS__ })
#elif __cplusplus >= 202002L
#ifndef CJI_KEEP
#define CJI_KEEP
namespace cji { template<class T> inline const T *keep(const T &t) { return &t; } }
#endif
#define CJ_THREAD_GROUP(...) cji::keep(cj_thread_group{ __VA_ARGS__ })
#endif

#endif
