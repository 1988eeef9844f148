/* cujit/sim.h - the CPU device, libcujit-sim: the CUDA driver ABI in software.
 *
 * Programs need nothing from here: cj_driver_open("sim") finds the shared object, and "auto" does where there is no GPU.  This header is
 * for static and drop-in users, who link libcujit-sim.a and open it with
 *
 *     cj_driver *d = cj_driver_open_resolver(cujit_sim_get_symbol, NULL);
 *
 * and for the loader of libcujit.  Everything here may be called from any thread, before cuInit.
 *
 * What the device is like is read from the environment by cuInit:
 *   CUJIT_SIM_DEVICES   how many devices there are, 1 (the default) to 16
 *   CUJIT_SIM_SM        their compute capability, as in PTX: 90a (the default), 80, 100a ...
 *   CUJIT_SIM_THREADS   how many threads one grid is spread over; default: the machine's processors
 *   CUJIT_SIM_SCHEDULE  when work begins, and what first: eager (the default: at once, side by side), lazy (when the program waits),
 *                       adversarial (lazily, one after the other, the latest first), random:SEED.  Every one keeps the semantics: a program
 *                       that misses a dependency fails under one of them.  Host functions of a context are called one after another under the eager
 *                       and the adversarial one, as an H100's driver does: one that waits for another stream's never returns; side by side under the
 *                       lazy one: two that share something without a lock meet; under a random one as its seed says
 *   CUJIT_SIM_STALL_MS  a host function or memory wait that takes longer is named in the log, as a warning, with the host functions that cannot be called
 *                       before it returns; 10000 by default, 0: never.  Memory waits that wait for each other for ever are reported as an error
 *                       with all their members, one line for each, whatever this says
 * cuInit answers CUDA_ERROR_INVALID_VALUE, and the log says why, when one of them cannot be read.
 */
#ifndef CUJIT_SIM_H
#define CUJIT_SIM_H

#include <cujit/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header's calls.  Changes when they do. */
#define CUJIT_SIM_ABI 1u

/* The build that the caller belongs to, as text: snprintf(id, sizeof id, CUJIT_SIM_BUILD_FORMAT, cj_version(), (unsigned long long)cj_table_hash()). */
#define CUJIT_SIM_BUILD_FORMAT "%s+%016llx"

/* First call of libcujit into the shared object: checks that both come from one build and hands over the hooks (NULL: the default ones).  `abi`
 * is CUJIT_SIM_ABI, `build_id` text as above, copied.  May be repeated with the same hooks.
 * Errors: CJ_ENOTSUP when abi or build differ (cujit_sim_complaint() names both files and both builds), CJ_EBUSY for other hooks after cuInit. */
CJ_API cj_status cujit_sim_setup(uint32_t abi, const char *build_id, cj_realloc_fn allocator, void *alloc_user, cj_log_fn log, void *log_user);

/* The sentence behind the latest cujit_sim_setup() that failed, "" without one.  Static; changes with the next failure. */
CJ_API const char *cujit_sim_complaint(void);

/* A resolver for cj_driver_open_resolver(): the address of an entry point by its exported name ("cuMemAlloc_v2", "cujit_sim_setup"), NULL when there
 * is none of that name.  `user` is not used. */
CJ_API void *cujit_sim_get_symbol(void *user, const char *name);

#ifdef __cplusplus
}
#endif
#endif
