/* Compiling a builder's module, for cj_image and cj_module alike. */
#ifndef CJI_IMAGE_H
#define CJI_IMAGE_H

#include "driver/driver.h"
#include "ptx/ptx.h"

/* How a builder's module is printed for the driver, but for the target, which changes no line: cji_print_target(). */
static inline unsigned cji_print_flags(const cj_compile_opts *o)
{
    return CJI_PRINT_LINK | (o->line_info ? (unsigned)CJ_PRINT_LINES : 0u);
}

/* Prints, freezes and compiles `m` into `img`, which has its device; the options are normalised (cji_compile_take).
 * A failure is recorded in `img`. */
cj_status cji_image_compile(cj_image *img, cj_ptx *m, const cj_compile_opts *o, const char *call);

/* Makes `img` the image of PTX text (its NUL at text[bytes]) that is compiled when it is loaded: for drivers without a
 * linker. */
cj_status cji_image_keep_text(cj_image *img, const char *text, size_t bytes, const cj_compile_opts *o,
                              const char *call);

/* The least number of bytes that an image whose first `bytes` bytes are at `data` must have: a cubin, a fat binary, an
 * image of the CPU device, a text with its NUL. More than `bytes`: it was cut (image_size.c). */
uint64_t cji_image_needs(const void *data, size_t bytes);

#endif
