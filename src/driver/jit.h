/* The driver's compiler: options with log buffers that grow. */
#ifndef CJI_JIT_H
#define CJI_JIT_H

#include "driver/driver.h"

enum { CJI_JIT_OPTIONS = 8, CJI_JIT_LOG = 4096 };

/* One try of a compilation: options whose values point into `info` and `error`. */
typedef struct cji_jit {
    char *info, *error;
    size_t size;             /* of each buffer */
    CUjit_option option[CJI_JIT_OPTIONS];
    void *value[CJI_JIT_OPTIONS];
    unsigned count;
} cji_jit;

/* Takes the caller's options into *out: checked, and normalised, so that equal options compile to equal code.  A
 * failure is recorded in `obj`. */
cj_status cji_compile_take(cj_compile_opts *out, const cj_compile_opts *opts, void *obj, const char *call);
/* The name of the first option in which two normalised sets differ; NULL: none. */
const char *cji_compile_differ(const cj_compile_opts *a, const cj_compile_opts *b);

/* Where lines of a text lead: the builder that it was printed from, and how; { NULL } for text of another origin. */
typedef struct cji_jit_source { const cj_ptx *m; unsigned flags; } cji_jit_source;

/* Buffers of `size` bytes and the options for them.  False without memory. */
bool cji_jit_begin(cji_jit *jit, size_t size, const cj_compile_opts *o);
/* Whether a log was cut, so that the whole thing is to be tried again with larger buffers. */
bool cji_jit_cut(const cji_jit *jit);
/* Puts both logs into `log` (error first), each line of PTX followed by the builder's "(FILE:LINE)", and releases the
 * buffers. */
void cji_jit_end(cji_jit *jit, cji_jit_source from, cji_text *log);

/* Records that the compiler rejected the PTX: its first sentence, and the line of `ptx` that it names. */
cj_status cji_jit_fail(void *obj, const cj_driver *drv, CUresult r, const char *cu_call, const char *call,
                       cji_text *log, const char *ptx, cji_jit_source from);

/* Compiles PTX text (NUL-terminated) to a cubin by cuLink*: *data is of the allocator hook.  Context current.  A
 * failure is recorded in `obj`. */
cj_status cji_jit_link(void *obj, cj_device *dev, const char *ptx, size_t bytes, cji_jit_source from,
                       const cj_compile_opts *o, void **data, size_t *size, cji_text *log, const char *call);

/* Before that: what a builder's module needs and this driver or device has not. */
cj_status cji_jit_able(void *obj, const cj_device *dev, cj_ptx *m, const char *call);

#endif
