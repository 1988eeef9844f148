/* The room of compiling and linking, above the driver's root: cj_linker (linker.c), one link (link_run.c). */
#ifndef CJI_COMPILE_H
#define CJI_COMPILE_H

#include <cujit/linker.h>

#include "driver/driver.h"
#include "driver/jit.h"

/* ---- Inputs of a link: they never change, and are shared by reference ---- */

typedef struct cji_link_input {
    atomic_uint refs;
    CUjitInputType type;
    char *name;                /* what the driver's linker and messages call it */
    void *data;                /* of a text with its NUL */
    size_t bytes;              /* a text's NUL counted in */
    cj_ptx *source;            /* the builder, retained; NULL: none */
    unsigned flags;            /* how it was printed */
    cji_entries *entries;      /* of PTX; NULL: not known */
} cji_link_input;

cji_link_input *cji_link_input_retain(cji_link_input *in);
void cji_link_input_release(cji_link_input *in);   /* may be NULL */

struct cj_linker {
    cji_obj obj;               /* keeps the first failure of an added input */
    cj_device *dev;
    cj_compile_opts compile;   /* normalised */
    cji_link_input **input; size_t n, cap;
};

/* ---- link_run.c ---- */

/* Links the inputs into `img`, which has its device.  A failure is recorded in `img`. */
cj_status cji_link_run(cj_image *img, cji_link_input *const *input, size_t n, const cj_compile_opts *o,
                       const char *call);

#endif
