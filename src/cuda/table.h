/* symbols.def and errors.def as data: what the loader, the tracing layer and the CPU device look up. */
#ifndef CJI_CUDA_TABLE_H
#define CJI_CUDA_TABLE_H

#include <stdbool.h>

#include "cuda/abi.h"

/* Number of an entry point: CJI_CU_ID_cuInit ... */
typedef enum cji_cu_id {
#define CU(name, export, version, need, count, list) CJI_CU_ID_##name,
#include "cuda/symbols.def"
    CJI_CU_COUNT
} cji_cu_id;

#define CJI_CU_PARAMS 15 /* most parameters of an entry point */

typedef struct cji_cu_param { const char *type, *name; } cji_cu_param;

typedef struct cji_cu_row {
    const char *name;          /* the field of cji_cu */
    const char *export_name;   /* the symbol in the library */
    uint16_t version;          /* of its ABI: 11040 */
    uint8_t required;
    uint8_t count;             /* parameters */
    cji_cu_param param[CJI_CU_PARAMS + 1];
} cji_cu_row;

extern const cji_cu_row cji_cu_rows[CJI_CU_COUNT];

/* The row with that exported symbol ("cuMemAlloc_v2"), -1 for none. */
int cji_cu_find_export(const char *symbol);

/* The name under which cuGetProcAddress knows a row: the export without its _vN.  Writes at most `size` bytes with
 * the NUL. */
void cji_cu_api_name(const cji_cu_row *row, char *out, size_t size);

/* For a cuGetProcAddress of our own: the newest row of that API name whose version is not above `version`; -1 for
 * none, and then
 * *known tells whether the name exists at all in a newer version. */
int cji_cu_find_api(const char *name, int version, bool *known);

/* Names and texts of a CUresult ("CUDA_ERROR_INVALID_VALUE", "invalid argument"); NULL for a value that is none. */
const char *cji_cu_error_name(int code);
const char *cji_cu_error_text(int code);

/* The oldest Linux driver branch with that CUDA version: 520 for 11080. */
int cji_cu_driver_branch(int cuda_version);

#endif
