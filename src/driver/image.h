/* Compiling a builder's module, for cj_image and cj_module alike. */
#ifndef CJI_IMAGE_H
#define CJI_IMAGE_H

#include "driver/driver.h"

/* Prints, freezes and compiles `m` into `img`, which has its device.  A failure is recorded in `img`. */
cj_status cji_image_compile(cj_image *img, cj_ptx *m, const char *call);

#endif
