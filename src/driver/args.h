/* What a kernel's parameters take, decided once when the kernel is made. */
#ifndef CJI_ARGS_H
#define CJI_ARGS_H

#include "driver/driver.h"

/* Fills take and bits of each parameter, and which arguments are usual. */
void cji_params_prepare(cj_kernel *k);

#endif
