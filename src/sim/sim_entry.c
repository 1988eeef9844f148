/* The exported entry points, thin and made from cuda/symbols.def and cuda/byvalue.def: each asks cji_sd_begin() whether it may go on, and calls the function
 * that does it.  Nothing inside calls an exported name: whoever has loaded another libcuda first does not get our calls.
 *
 * A row that the CPU device does not have yet is named in sim_lacks.h; it is neither exported nor found by cuGetProcAddress. */
#include "sim/simcore.h"
#include "sim/sim_shared.h"

#include <string.h>

#include <cujit/sim.h>

#include "sim/sim_lacks.h"

/* SD_IF_HAS(name, text): `text` unless sim_lacks.h has SD_LACKS_name (which is "~,"). */
#define SD_SECOND(a, b, ...) b
#define SD_SECOND_OF(...) SD_SECOND(__VA_ARGS__)
#define SD_IS_LACKING(name) SD_SECOND_OF(SD_LACKS_##name 1, 0, )
#define SD_IS_FREE(name) SD_SECOND_OF(SD_FREE_##name 1, 0, )
#define SD_TAKE_0(...) __VA_ARGS__
#define SD_TAKE_1(...)
#define SD_TAKE_(lacks) SD_TAKE_##lacks
#define SD_TAKE(lacks) SD_TAKE_(lacks)
#define SD_LACKING(name) SD_IS_LACKING(name)

/* These answer before cuInit, after fork() and inside host functions too. */
#define SD_FREE_cuInit ~, 1,
#define SD_FREE_cuDriverGetVersion ~, 1,
#define SD_FREE_cuGetErrorName ~, 1,
#define SD_FREE_cuGetErrorString ~, 1,
#define SD_FREE_cuGetProcAddress ~, 1,
#define SD_FREE_cuGetExportTable ~, 1,

/* The declaration and the definition of one entry point. */
#define SD_ENTRY(name, export, count, list)                                        \
    CJ_API CUresult export(CJI_CU_DECL(count, list));                              \
    CUresult export(CJI_CU_DECL(count, list))                                      \
    {                                                                              \
        enum { needs_init = !SD_IS_FREE(name) };                                   \
        CUresult r = cji_sd_begin(needs_init);                                     \
        if (r != CUDA_SUCCESS) return r;                                           \
        r = cji_sd_##name(CJI_CU_NAMES(count, list));                              \
        if (needs_init) cji_sd_end();                                              \
        return r;                                                                  \
    }

#define CU(name, export, version, need, count, list) SD_TAKE(SD_LACKING(name))(SD_ENTRY(name, export, count, list))
#include "cuda/symbols.def"

/* Those of cuda/byvalue.def. */
#define CU(name, export, version, count, list)                                     \
    CJ_API CUresult export(CJI_CU_DECL(count, list));                              \
    CUresult export(CJI_CU_DECL(count, list))                                      \
    {                                                                              \
        CUresult r = cji_sd_begin(true);                                           \
        if (r != CUDA_SUCCESS) return r;                                           \
        r = cji_sd_##name(CJI_CU_NAMES(count, list));                              \
        cji_sd_end();                                                              \
        return r;                                                                  \
    }
#include "cuda/byvalue.def"

typedef void (*sd_code)(void);

#define SD_ADDRESS_0(export) (sd_code)export
#define SD_ADDRESS_1(export) NULL
#define SD_ADDRESS_(lacks) SD_ADDRESS_##lacks
#define SD_ADDRESS(lacks) SD_ADDRESS_(lacks)
static const sd_code sd_entries[CJI_CU_COUNT] = {
#define CU(name, export, version, need, count, list) SD_ADDRESS(SD_LACKING(name))(export),
#include "cuda/symbols.def"
};

static const struct { const char *api, *export; int version; sd_code code; } sd_by_value[] = {
#define CU(name, export, version, count, list) { #name, #export, version, (sd_code)export },
#include "cuda/byvalue.def"
};
enum { SD_BY_VALUE = sizeof sd_by_value / sizeof *sd_by_value };

static void *sd_address(sd_code code)
{
    void *p;
    memcpy(&p, &code, sizeof p);
    return p;
}

/* The newest row of `name` that is there and not above `version`; *later: there is one above it. */
static int sd_find_api(const char *name, int version, bool *later)
{
    int best = -1;
    *later = false;
    for (int i = 0; i < CJI_CU_COUNT; i++) {
        char api[80];
        if (!sd_entries[i]) continue;
        cji_cu_api_name(&cji_cu_rows[i], api, sizeof api);
        if (strcmp(api, name) != 0) continue;
        if (cji_cu_rows[i].version > version) *later = true;
        else if (best < 0 || cji_cu_rows[i].version > cji_cu_rows[best].version) best = i;
    }
    return best;
}

CUresult cji_sd_cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags, CUdriverProcAddressQueryResult *found)
{
    if (!symbol || !pfn || version > SD_DRIVER_VERSION || version < 0 || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
        || flags == (CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM))
        return CUDA_ERROR_INVALID_VALUE;
    bool later;
    int i = sd_find_api(symbol, version, &later);
    *pfn = i < 0 ? NULL : sd_address(sd_entries[i]);
    for (int v = 0; v < SD_BY_VALUE; v++)
        if (strcmp(sd_by_value[v].api, symbol) == 0) {
            later = version < sd_by_value[v].version;
            *pfn = later ? NULL : sd_address(sd_by_value[v].code);
        }
    if (found)
        *found = *pfn ? CU_GET_PROC_ADDRESS_SUCCESS : later ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return CUDA_SUCCESS;
}

/* The table that the CUDA runtime asks for; the runtime is not supported here. */
CUresult cji_sd_cuGetExportTable(const void **table, const CUuuid *id)
{
    if (!table || !id) return CUDA_ERROR_INVALID_VALUE;
    *table = NULL;
    return CUDA_ERROR_NOT_FOUND;
}

void *cujit_sim_get_symbol(void *user, const char *name)
{
    (void)user;
    if (!name) return NULL;
    int i = cji_cu_find_export(name);
    if (i >= 0) return sd_entries[i] ? sd_address(sd_entries[i]) : NULL;
    for (int v = 0; v < SD_BY_VALUE; v++)
        if (strcmp(sd_by_value[v].export, name) == 0) return sd_address(sd_by_value[v].code);
    if (strcmp(name, "cujit_sim_setup") == 0) return sd_address((sd_code)cujit_sim_setup);
    if (strcmp(name, "cujit_sim_complaint") == 0) return sd_address((sd_code)cujit_sim_complaint);
    if (strcmp(name, "cujit_sim_get_symbol") == 0) return sd_address((sd_code)cujit_sim_get_symbol);
    return NULL;
}
