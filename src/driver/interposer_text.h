/* A call to the driver as one line of text. */
#ifndef CJI_INTERPOSER_TEXT_H
#define CJI_INTERPOSER_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "cuda/table.h"

enum { CJI_INTERPOSER_TEXT = 1536 }; /* room for the longest call */

/* "cuMemAlloc(dptr=0x7ffc04a8 -> 0x302000000, bytesize=64) = CUDA_SUCCESS": entry point `id`, its arguments widened
 * to 64 bits, its answer. */
void cji_interposer_text(char *out, size_t size, int id, const uint64_t *value, CUresult r);

#endif
