/* Rows of cuda/symbols.def that the CPU device does not have yet: neither exported nor found by cuGetProcAddress.  A row that is done
 * loses its line here. */
#ifndef CJI_SIM_LACKS_H
#define CJI_SIM_LACKS_H


#endif
