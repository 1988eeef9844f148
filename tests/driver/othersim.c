/* What a CPU device of another build answers. */
#include <cujit/sim.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT cj_status cujit_sim_setup(uint32_t abi, const char *build_id, cj_realloc_fn allocator, void *alloc_user,
                                 cj_log_fn log, void *log_user)
{
    (void)abi, (void)build_id, (void)allocator, (void)alloc_user, (void)log, (void)log_user;
    return CJ_ENOTSUP;
}

EXPORT const char *cujit_sim_complaint(void)
{
    return "libcujit.so.0 and libcujit-sim.so are not of one build: install both from the same";
}
