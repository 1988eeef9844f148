/* Kernels' parameters, out of PTX text.
 *
 * "Heads" are what is kept of a text: a line for each kernel and one for each of its parameters, in order,
 *     E name
 *     P type pointer bytes align name        numbers in decimal; type a cj_type; pointer 0 or 1
 * so that they outlive the text and need no reader of instructions. */
#ifndef CJI_ENTRY_H
#define CJI_ENTRY_H

#include "driver/driver.h"

/* Appends the heads of every .entry of `ptx` to `heads`.  A head that cannot be read is left out: its kernel's parameters are then not known. */
void cji_entry_heads(const char *ptx, cji_text *heads);

/* Fills k->param and k->nparam from the heads; -1 where the kernel is not there.  False without memory. */
bool cji_entry_params(cj_kernel *k, const char *heads, const char *name);

/* The names of all kernels, separated by ", ", for a message; cut with "..." where they do not fit. */
void cji_entry_names(const char *heads, char *out, size_t size);

#endif
