/* Compiling a builder's module, for cj_image and cj_module alike. */
#ifndef CJI_IMAGE_H
#define CJI_IMAGE_H

#include "driver/driver.h"

/* Prints, freezes and compiles `m` into `img`, which has its device; the options are normalised (cji_compile_take).  A failure is recorded in `img`. */
cj_status cji_image_compile(cj_image *img, cj_ptx *m, const cj_compile_opts *o, const char *call);

#endif
