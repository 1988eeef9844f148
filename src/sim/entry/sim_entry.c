/* The exported entry points, thin and made from cuda/symbols.def and cuda/byvalue.def: each asks cji_sim_enter()
 * whether it may go on, and calls the function that does it. Nothing inside calls an exported name: whoever has
 * loaded another libcuda first does not get our calls. */
#include "sim/entry/sim_entry.h"

#include <string.h>

#include <cujit/sim.h>


/* SIM_IS_FREE(name): 1 where there is SIM_FREE_name (which is "~, 1,"), else 0. */
#define SIM_SECOND(a, b, ...) b
#define SIM_SECOND_OF(...) SIM_SECOND(__VA_ARGS__)
#define SIM_IS_FREE(name) SIM_SECOND_OF(SIM_FREE_##name 1, 0, )

/* These work before cuInit, after fork() and inside host functions too. */
#define SIM_FREE_cuInit ~, 1,
#define SIM_FREE_cuDriverGetVersion ~, 1,
#define SIM_FREE_cuGetErrorName ~, 1,
#define SIM_FREE_cuGetErrorString ~, 1,
#define SIM_FREE_cuGetProcAddress ~, 1,
#define SIM_FREE_cuGetExportTable ~, 1,

/* The declaration and the definition of each entry point. */
#define CU(name, export, version, need, count, list)                               \
    CJ_API CUresult export(CJI_CU_DECL(count, list));                              \
    CUresult export(CJI_CU_DECL(count, list))                                      \
    {                                                                              \
        enum { needs_init = !SIM_IS_FREE(name) };                                  \
        CUresult r = cji_sim_enter(needs_init);                                    \
        if (r != CUDA_SUCCESS) return r;                                           \
        r = cji_sim_##name(CJI_CU_NAMES(count, list));                             \
        if (needs_init) cji_sim_leave();                                           \
        return r;                                                                  \
    }
#include "cuda/symbols.def"

/* Those of cuda/byvalue.def. */
#define CU(name, export, version, count, list)                                     \
    CJ_API CUresult export(CJI_CU_DECL(count, list));                              \
    CUresult export(CJI_CU_DECL(count, list))                                      \
    {                                                                              \
        CUresult r = cji_sim_enter(true);                                           \
        if (r != CUDA_SUCCESS) return r;                                           \
        r = cji_sim_##name(CJI_CU_NAMES(count, list));                              \
        cji_sim_leave();                                                              \
        return r;                                                                  \
    }
#include "cuda/byvalue.def"

typedef void (*sim_code)(void);

static const sim_code sim_entries[CJI_CU_COUNT] = {
#define CU(name, export, version, need, count, list) (sim_code)export,
#include "cuda/symbols.def"
};

static const struct { const char *api, *export; int version; sim_code code; } sim_by_value[] = {
#define CU(name, export, version, count, list) { #name, #export, version, (sim_code)export },
#include "cuda/byvalue.def"
};
enum { SIM_BY_VALUE = sizeof sim_by_value / sizeof *sim_by_value };

static void *sim_address(sim_code code)
{
    void *p;
    memcpy(&p, &code, sizeof p);
    return p;
}

/* The newest row of `name` that is not above `version`; *later: there is one above it. */
static int sim_find_api(const char *name, int version, bool *later)
{
    int best = -1;
    *later = false;
    for (int i = 0; i < CJI_CU_COUNT; i++) {
        char api[80];
        cji_cu_api_name(&cji_cu_rows[i], api, sizeof api);
        if (strcmp(api, name) != 0) continue;
        if (cji_cu_rows[i].version > version) *later = true;
        else if (best < 0 || cji_cu_rows[i].version > cji_cu_rows[best].version) best = i;
    }
    return best;
}

CUresult cji_sim_cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags,
                                  CUdriverProcAddressQueryResult *found)
{
    if (!symbol || !pfn || version > SIM_DRIVER_VERSION || version < 0 ||
        flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM ||
        flags == (CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM))
        return CUDA_ERROR_INVALID_VALUE;
    bool later;
    int i = sim_find_api(symbol, version, &later);
    *pfn = i < 0 ? NULL : sim_address(sim_entries[i]);
    for (int v = 0; v < SIM_BY_VALUE; v++)
        if (strcmp(sim_by_value[v].api, symbol) == 0) {
            later = version < sim_by_value[v].version;
            *pfn = later ? NULL : sim_address(sim_by_value[v].code);
        }
    if (found)
        *found = *pfn    ? CU_GET_PROC_ADDRESS_SUCCESS
                 : later ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                         : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return CUDA_SUCCESS;
}

/* The table that the CUDA runtime asks for; the runtime is not supported here. */
CUresult cji_sim_cuGetExportTable(const void **table, const CUuuid *id)
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
    if (i >= 0) return sim_address(sim_entries[i]);
    for (int v = 0; v < SIM_BY_VALUE; v++)
        if (strcmp(sim_by_value[v].export, name) == 0) return sim_address(sim_by_value[v].code);
    if (strcmp(name, "cujit_sim_setup") == 0) return sim_address((sim_code)cujit_sim_setup);
    if (strcmp(name, "cujit_sim_complaint") == 0) return sim_address((sim_code)cujit_sim_complaint);
    if (strcmp(name, "cujit_sim_fault") == 0) return sim_address((sim_code)cujit_sim_fault);
    if (strcmp(name, "cujit_sim_get_symbol") == 0) return sim_address((sim_code)cujit_sim_get_symbol);
    return NULL;
}
