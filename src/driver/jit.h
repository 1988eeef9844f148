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

#define CJI_JIT_INPUT "cujit" /* what the linker's only input is called */

/* Where lines of a text lead. */
typedef struct cji_jit_source {
    const cj_ptx *m;       /* the builder that it was printed from; NULL: another origin */
    unsigned flags;        /* how */
    const char *text;      /* NULL: not known */
    const char *name;      /* what the linker was told that it is called; NULL: CJI_JIT_INPUT */
} cji_jit_source;

/* Buffers of `size` bytes and the options for them.  False without memory. */
bool cji_jit_begin(cji_jit *jit, size_t size, const cj_compile_opts *o);
/* Whether a log was cut, so that the whole thing is to be tried again with larger buffers. */
bool cji_jit_cut(const cji_jit *jit);
/* Puts both logs into `log` (error first; cji_jit_log), and releases the buffers. */
void cji_jit_end(cji_jit *jit, cji_jit_source from, cji_text *log);

/* ---- jit_log.c ---- */

/* Puts the compiler's lines into `log`.  Behind the number of a PTX line comes the builder's "(FILE:LINE)", and behind
 * the first lines with such a number that PTX line, between the two before it and the two after it. */
void cji_jit_log(cji_text *log, const char *lines, cji_jit_source from);

/* Records that the compiler rejected the PTX: its first sentence, and the line that it names.  Writes the PTX to the
 * folder of CUJIT_DUMP. */
cj_status cji_jit_fail(void *obj, const cj_device *dev, CUresult r, const char *cu_call, const char *call,
                       cji_text *log, cji_jit_source from);

/* Whether that result is about the text or image, and not about the driver's state. */
bool cji_jit_rejects(CUresult r);

/* Writes the text, and the log behind it as comments, to the folder of CUJIT_DUMP; without that variable, or where it
 * cannot, nothing happens. */
void cji_jit_dump(const char *text, const char *log);

/* ---- jit.c ---- */

/* Whether the driver has no linker: PTX is then kept as text and compiled by cuModuleLoadDataEx.  Says so in the log,
 * once. */
bool cji_jit_lacks_linker(cj_driver *drv);
/* cuLinkCreate answered that it is not supported: the same from now on. */
void cji_jit_no_linker(cj_driver *drv);

/* Compiles PTX text (NUL-terminated) to a cubin by cuLink*: *data is of the allocator hook.  Context current.  A
 * failure is recorded in `obj`.  CJ_OK with *data NULL: the driver turns out to have no linker, or the
 * module none that it can be an input of; the text is compiled when it is loaded. */
cj_status cji_jit_link(void *obj, cj_device *dev, const char *ptx, size_t bytes, cji_jit_source from,
                       const cj_compile_opts *o, void **data, size_t *size, cji_text *log, const char *call);

/* The target that `m`, which is finished (cji_ptx_finish), is printed with for that device (cji_print_target).  A
 * failure, of what the device or its driver does not have, names the instruction and is recorded in `obj`
 * (jit_target.c). */
cj_status cji_jit_target(void *obj, const cj_device *dev, const cj_ptx *m, int *target, const char *call);

#endif
