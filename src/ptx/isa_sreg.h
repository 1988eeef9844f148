/* The special registers' table, compiled from isa/sregs.def; read through isa.h. */
#ifndef CJI_ISA_SREG_H
#define CJI_ISA_SREG_H

#include "isa.h"

extern const cji_isa_sreg cji_isa_sreg_table[];
extern const uint32_t cji_isa_sreg_total;

#endif
