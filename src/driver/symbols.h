/* Filling the table of function pointers. */
#ifndef CJI_SYMBOLS_H
#define CJI_SYMBOLS_H

#include <stdbool.h>

#include "cuda/table.h"

/* Where entry points come from: NULL for one that is not there. */
typedef struct cji_source {
    void *(*get)(void *user, const cji_cu_row *row);
    void *user;
} cji_source;

/* Fills every pointer: what the source lacks gets a stub and a mark in `missing`.  Returns the first required row
 * that is missing, -1 for none. */
int cji_cu_load(cji_cu *cu, bool missing[CJI_CU_COUNT], cji_source source);

/* Fills what takes a struct by value; the source is one of libraries or of a user, not an interposer. */
void cji_cu_load_by_value(cji_cu_by_value *out, cji_source source);

/* A library opened with dlopen: asks its cuGetProcAddress for each row's own version, or dlsym where it has none. */
typedef struct cji_library {
    void *handle;
    void *get_v2, *get_v1; /* its cuGetProcAddress_v2 and cuGetProcAddress, NULL where missing */
} cji_library;

cji_source cji_library_source(cji_library *lib, void *handle);

/* The pointer of a row, and replacing it. */
void *cji_cu_get(const cji_cu *cu, int row);
void cji_cu_set(cji_cu *cu, int row, void *fn);

#endif
