/* What a kernel's parameters take, decided once when the kernel is made. */
#ifndef CJI_ARGS_H
#define CJI_ARGS_H

#include "driver/driver.h"

/* Fills take and bits of each parameter.  NULL and -1: nothing to do. */
void cji_params_prepare(cji_param *param, int n);

#endif
