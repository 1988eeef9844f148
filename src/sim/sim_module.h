/* Images, modules, their functions, and launches (sim_image.c, sim_link.c, sim_module.c, sim_function.c, sim_launch.c). */
#ifndef CJI_SIM_SIM_MODULE_H
#define CJI_SIM_SIM_MODULE_H

#include "sim/simcore.h"

typedef struct sd_options {         /* JIT options, taken apart */
    char *info, *error;
    size_t info_cap, error_cap;
    void **info_size, **error_size; /* slots that get the sizes back */
    void **wall_time;
    unsigned target;                /* CU_JIT_TARGET: 90, 0 none */
} sd_options;

CUresult cji_sd_options(unsigned n, const CUjit_option *option, void **value, sd_options *out);
void cji_sd_options_finish(const sd_options *o, const char *info, const char *error);

/* An image is PTX text or a container of PTX texts, made by cuLinkComplete. */
typedef struct sd_image { cji_sim_text *text; size_t n; void *copy; size_t copy_bytes; } sd_image;
CUresult cji_sd_image_read(const void *image, size_t bytes, sd_image *out, cji_text *log);   /* bytes 0: unknown */
void cji_sd_image_free(sd_image *i);
void cji_sd_link_forget(void *link);
bool cji_sd_container_make(const cji_sim_text *text, size_t n, void **out, size_t *bytes);   /* freed with cji_free */
CUresult cji_sd_check_heads(const cji_sim_text *text, size_t n, cji_text *log);             /* .version and .target of each */
/* Reads, links and predecodes; what the driver's compiler would answer, with its log. */
CUresult cji_sd_build(const cji_sim_text *text, size_t n, cji_sim_program **out, cji_text *log);

struct sd_func {
    sd_module *module;
    const cji_sim_kernel *kernel;
    int max_dynamic, carveout, nonportable, policy, cluster[3];
    CUfunc_cache cache;
};

struct sd_module {
    sd_ctx *ctx;
    sd_module *next, *prev;         /* sd.modules */
    unsigned refs;                  /* the handle, and each work that launches one of its kernels */
    cji_sim_program *program;
    uint64_t ctx_id;                /* the context may have begun a new life */
    CUdeviceptr image;
    uint64_t image_bytes;
    sd_func *func; size_t nfunc;
};
void cji_sd_module_drop(sd_module *m);
void cji_sd_module_forget(sd_module *m);
CUresult cji_sd_func(CUfunction h, sd_func **out);
unsigned cji_sd_func_registers(const sd_func *f);
unsigned cji_sd_func_threads(const sd_func *f);            /* most threads of a block */
/* Checks a launch and makes the work; under the lock. */
typedef struct sd_shape { uint32_t grid[3], block[3], cluster[3], shared; bool cooperative, has_priority, no_cluster; int priority; CUlaunchMemSyncDomain domain; } sd_shape;
CUresult cji_sd_launch_work(sd_func *f, const sd_shape *shape, void **params, void **extra, sd_work **out);
CUresult cji_sd_launch_attribute(CUlaunchAttributeID id, const CUlaunchAttributeValue *v, sd_shape *shape);
CUresult cji_sd_launch_check(const sd_func *f, const sd_shape *shape);
int cji_sd_blocks_per_sm(const sd_func *f, unsigned threads, size_t dynamic);

#endif
