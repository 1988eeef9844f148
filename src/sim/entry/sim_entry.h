/* The highest room: the exported entry points, made from cuda/symbols.def, and the beginning and the end of the
 * process. Nothing calls it. */
#ifndef CJI_SIM_ENTRY_H
#define CJI_SIM_ENTRY_H

#include "sim/core/sim_core.h"

#endif
