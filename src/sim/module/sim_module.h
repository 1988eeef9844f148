/* Images, modules, their functions, and launches (sim_image.c, sim_link.c, sim_module.c, sim_function.c,
 * sim_launch.c). */
#ifndef CJI_SIM_MODULE_H
#define CJI_SIM_MODULE_H

#include "ptx/layout.h"
#include "sim/core/sim_core.h"

enum { SIM_JIT_OPTIONS = 35 };

typedef struct sim_options {         /* JIT options, taken apart */
    char *info, *error;
    size_t info_cap, error_cap;
    void **info_size, **error_size; /* slots that get the sizes back */
    void **wall_time;
    unsigned target;                /* CU_JIT_TARGET: 90, 0 none */
    unsigned max_registers;         /* CU_JIT_MAX_REGISTERS, 0 none */
} sim_options;

CUresult cji_sim_jit_options(unsigned n, const CUjit_option *option, void **value, sim_options *out);
void cji_sim_jit_options_finish(const sim_options *o, const char *info, const char *error);

/* An image is PTX text or a container of PTX texts, made by cuLinkComplete. */
typedef struct sim_image { cji_exec_text *text; size_t n; void *copy; size_t copy_bytes; } sim_image;
CUresult cji_sim_image_read(const void *image, size_t bytes, sim_image *out, cji_text *log);   /* bytes 0: unknown */
void cji_sim_image_free(sim_image *i);
/* Sets CU_JIT_MAX_REGISTERS of the texts, but not of a container: what is compiled keeps its own. */
void cji_sim_image_limit(sim_image *i, unsigned max_registers);
bool cji_sim_is_fatbin(const unsigned char *p, size_t bytes);
CUresult cji_sim_fatbin_read(const unsigned char *p, size_t bytes, sim_image *out, cji_text *log); /* `out` is empty */
/* Host objects with device code, and archives (sim_archive.c): `found` gets each fat binary, or each member. */
typedef CUresult (*sim_part_fn)(void *user, const unsigned char *p, size_t bytes, cji_text *log);
bool cji_sim_is_host_object(const unsigned char *p, size_t bytes);
CUresult cji_sim_object_read(const unsigned char *p, size_t bytes, sim_part_fn found, void *user, cji_text *log);
bool cji_sim_is_archive(const unsigned char *p, size_t bytes);
CUresult cji_sim_archive_read(const unsigned char *p, size_t bytes, sim_part_fn found, void *user, cji_text *log);
/* taken[i]: member i of the libraries defines a name that the inputs, or members that are taken, lack. False without
 * memory. */
bool cji_sim_members_choose(const sim_image *input, size_t n, const sim_image *member, size_t members, bool *taken);
CUresult cji_sim_file_read(const char *path, void **data, size_t *size);   /* freed with cji_free, size + 1 bytes */
/* The first line of a compiler's log is why the call in progress returns `r`. */
CUresult cji_sim_reject_log(CUresult r, cji_text *log);
void cji_sim_link_forget(void *link);
bool cji_sim_container_make(const cji_exec_text *text, size_t n, void **out, size_t *bytes);   /* freed with cji_free */
CUresult cji_sim_check_heads(const cji_exec_text *text, size_t n, cji_text *log); /* .version and .target of each */
/* Reads, links and predecodes; the result of the driver's compiler, with its log. */
CUresult cji_sim_module_build(const cji_exec_text *text, size_t n, cji_exec_program **out, cji_text *log);
/* A kernel with more static shared memory; NULL: none. */
const cji_exec_kernel *cji_sim_shared_above(const cji_exec_program *p, uint64_t most);

typedef struct sim_steps sim_steps;

struct sim_func {
    sim_module *module;
    sim_steps *steps;               /* of the launch calls before CUDA 4.0 (sim_launch_steps.c), or NULL */
    const cji_exec_kernel *kernel;
    int max_dynamic, carveout, nonportable, policy, cluster[3];
    unsigned own;                   /* bits of attributes that cuFuncSetAttribute has set: they hold */
    CUfunc_cache cache;
};

struct sim_module {
    sim_ctx *ctx;
    sim_module *next, *prev;         /* sim_modules */
    unsigned refs;                  /* the handle, and each work that launches one of its kernels */
    cji_exec_program *program;
    uint64_t ctx_id;                /* the context may have begun a new life */
    CUdeviceptr image, memory;       /* of its variables: aligned, and as it was allocated */
    uint64_t image_bytes;
    sim_func *func; size_t nfunc;
    bool managed;                   /* its variables are managed memory */
    struct sim_library *library;    /* that it belongs to, or NULL */
    sim_module *of_library;         /* the next of that library */
};

/* A kernel of a library, in no context: its function in a context is made when it is needed. */
typedef struct sim_kern { struct sim_library *library; size_t index; } sim_kern;

/* What cuLibraryLoadData makes. */
typedef struct sim_library {
    CUresult status;                /* CUDA_ERROR_INVALID_PTX: the text does not compile; it has no kernels */
    sim_image image;                /* modules are made of it */
    sim_module catalog;             /* in no context: names, parameters, attributes */
    sim_kern *kern; size_t nkern;
    sim_func *setting[SIM_MAX_DEVICES];   /* attributes set for a device, nkern each; NULL: none */
    sim_module *modules;            /* one in each context that has used it, through of_library */
} sim_library;
extern const sim_room cji_sim_room_module;

/* What cuFuncSetBlockShape, cuFuncSetSharedSize and cuParamSet* have set for the next launch. */
enum { SIM_PARAM_BYTES = 32764 };
struct sim_steps {
    unsigned block[3], shared, bytes;
    unsigned char param[SIM_PARAM_BYTES];
};

CUresult cji_sim_program_load(const char *call, const void *data, size_t bytes, const sim_options *o, sim_image *image,
                              cji_exec_program **program);
/* Under the lock; takes over the program when it succeeds. */
CUresult cji_sim_module_make(sim_ctx *c, cji_exec_program *program, sim_module **out);
bool cji_sim_module_funcs(sim_module *m);                    /* no handles where it has no context */
void cji_sim_module_forget(sim_module *m);
void cji_sim_module_drop(sim_module *m);
void cji_sim_library_forget(void *library);
/* A function, or a library's kernel in the context `c` (NULL: the current one). */
CUresult cji_sim_func_in(CUfunction h, sim_ctx *c, sim_func **out);
CUresult cji_sim_func_get(CUfunction h, sim_func **out);     /* the same in the current one */
CUresult cji_sim_kern_func(const sim_kern *k, sim_ctx *c, sim_func **out);
CUresult cji_sim_func_attribute(const sim_func *f, CUfunction_attribute attribute, int *value);
CUresult cji_sim_func_set(sim_func *f, CUfunction_attribute attribute, int value);
CUresult cji_sim_kernel_param(const cji_exec_kernel *k, size_t i, size_t *offset, size_t *size);
unsigned cji_sim_func_registers(const sim_func *f);
unsigned cji_sim_func_threads(const sim_func *f);            /* most threads of a block */
int cji_sim_blocks_per_sm(const sim_func *f, unsigned threads, size_t dynamic);

#endif
