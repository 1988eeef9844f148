/* The exported entry points, thin and made from cuda/symbols.def, byvalue.def and exports.def: each asks
 * cji_sim_enter() whether it may go on, and calls the function that does it. Nothing inside calls an exported name:
 * whoever has loaded another libcuda first does not get our calls. */
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
#define SIM_FREE_cuGetProcAddress_v1 ~, 1,
#define SIM_FREE_cuGetExportTable ~, 1,

/* The declaration and the definition of each entry point, and what stands behind its names with another default
 * stream. */
#define SIM_ENTRY(name, export, count, list)                                       \
    CJ_API CUresult export(CJI_CU_DECL(count, list));                              \
    CUresult export(CJI_CU_DECL(count, list))                                      \
    {                                                                              \
        enum { needs_init = !SIM_IS_FREE(name) };                                  \
        CUresult r = cji_sim_enter(needs_init);                                    \
        if (r != CUDA_SUCCESS) return r;                                           \
        r = cji_sim_##name(CJI_CU_NAMES(count, list));                             \
        if (needs_init) cji_sim_leave(#export, r);                                 \
        return r;                                                                  \
    }                                                                              \
    __attribute__((unused)) static CUresult sim_own_##export(CJI_CU_DECL(count, list)) \
    {                                                                              \
        CUresult r = cji_sim_enter(true);                                          \
        if (r != CUDA_SUCCESS) return r;                                           \
        cji_sim_thread()->own_default = true;                                      \
        r = cji_sim_##name(CJI_CU_NAMES(count, list));                             \
        cji_sim_thread()->own_default = false;                                     \
        cji_sim_leave(#export, r);                                                 \
        return r;                                                                  \
    }
#define CU(name, export, version, need, count, list) SIM_ENTRY(name, export, count, list)
#include "cuda/symbols.def"
#define CU(name, export, version, count, list) SIM_ENTRY(name, export, count, list)
#include "cuda/byvalue.def"
#define CU(name, export, version, count, list) SIM_ENTRY(name, export, count, list)
#include "cuda/exports.def"

static CUresult sim_lacks(const char *name, const char *why)
{
    CUresult r = cji_sim_enter(true);
    if (r != CUDA_SUCCESS) return r;
    r = cji_sim_reject(CUDA_ERROR_NOT_SUPPORTED, "the CPU device does not have it (%s)", why);
    cji_sim_leave(name, r);
    return r;
}

/* The other names. The caller of what is not here passes arguments that nobody reads. */
#define CU_SAME(row, export, version) CJ_API __typeof__(row) export __attribute__((alias(#row)));
#define CU_PER_THREAD(row, export, version) CJ_API __typeof__(row) export __attribute__((alias("sim_own_" #row)));
#define CU_LACKS(export, version, why)                                             \
    CJ_API CUresult export(void);                                                  \
    CUresult export(void) { return sim_lacks(#export, why); }
#include "cuda/exports.def"

/* ---- Look-ups ---------------------------------------------------------------------------------------------------- */

typedef void (*sim_code)(void);

/* Every name with its ABI's version. */
static const struct { const char *export; sim_code code; uint16_t version; bool per_thread; } sim_names[] = {
#define CU(name, export, version, need, count, list) { #export, (sim_code)export, version, false },
#include "cuda/symbols.def"
#define CU(name, export, version, count, list) { #export, (sim_code)export, version, false },
#include "cuda/byvalue.def"
#define SIM_IS_PER_THREAD(export) (sizeof #export > 6 && #export[sizeof #export - 6] == '_' && \
                                   #export[sizeof #export - 5] == 'p' && #export[sizeof #export - 4] == 't')
#define CU(name, export, version, count, list) { #export, (sim_code)export, version, false },
#define CU_SAME(row, export, version) { #export, (sim_code)export, version, false },
#define CU_PER_THREAD(row, export, version) { #export, (sim_code)export, version, true },
#define CU_LACKS(export, version, why) { #export, (sim_code)export, version, SIM_IS_PER_THREAD(export) },
#include "cuda/exports.def"
};
enum { SIM_NAMES = sizeof sim_names / sizeof *sim_names };

static void *sim_address(sim_code code)
{
    void *p;
    memcpy(&p, &code, sizeof p);
    return p;
}

/* Length of an exported name without its _vN, _ptsz and _ptds: of the name that cuGetProcAddress knows. */
static size_t sim_api_length(const char *export)
{
    size_t n = strlen(export);
    if (n > 5 && (strcmp(export + n - 5, "_ptsz") == 0 || strcmp(export + n - 5, "_ptds") == 0)) n -= 5;
    if (n > 3 && export[n - 3] == '_' && export[n - 2] == 'v' && export[n - 1] >= '0' && export[n - 1] <= '9') n -= 3;
    return n;
}

/* The newest name of an API that is not above `version`, -1 for none; *later: there is one above it. Names with the
 * calling thread's default stream come before the others where they are wanted. */
static int sim_find_api(const char *api, int version, bool per_thread, bool *later)
{
    size_t n = strlen(api);
    int best = -1;
    *later = false;
    for (int i = 0; i < SIM_NAMES; i++) {
        if (strncmp(sim_names[i].export, api, n) != 0 || sim_api_length(sim_names[i].export) != n) continue;
        if (sim_names[i].per_thread && !per_thread) continue;
        if (sim_names[i].version > version) *later = true;
        else if (best < 0 || sim_names[i].per_thread > sim_names[best].per_thread ||
                 (sim_names[i].per_thread == sim_names[best].per_thread &&
                  sim_names[i].version > sim_names[best].version))
            best = i;
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
    int i = sim_find_api(symbol, version, flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &later);
    *pfn = i < 0 ? NULL : sim_address(sim_names[i].code);
    if (found)
        *found = *pfn    ? CU_GET_PROC_ADDRESS_SUCCESS
                 : later ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                         : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuGetProcAddress_v1(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
    return cji_sim_cuGetProcAddress(symbol, pfn, version, flags, NULL);
}

/* The tables that the CUDA runtime asks for; the runtime is not supported here. */
CUresult cji_sim_cuGetExportTable(const void **table, const CUuuid *id)
{
    if (!table || !id) return CUDA_ERROR_INVALID_VALUE;
    *table = NULL;
    cji_log(CJ_LOG_ERROR,
            "cuGetExportTable returns CUDA_ERROR_NOT_FOUND: the CPU device has no private tables, so programs of the "
            "CUDA runtime (cudart) cannot run on it; programs of the driver API can");
    return CUDA_ERROR_NOT_FOUND;
}

void *cujit_sim_get_symbol(void *user, const char *name)
{
    (void)user;
    if (!name) return NULL;
    for (int i = 0; i < SIM_NAMES; i++)
        if (strcmp(sim_names[i].export, name) == 0) return sim_address(sim_names[i].code);
    if (strcmp(name, "cujit_sim_setup") == 0) return sim_address((sim_code)cujit_sim_setup);
    if (strcmp(name, "cujit_sim_complaint") == 0) return sim_address((sim_code)cujit_sim_complaint);
    if (strcmp(name, "cujit_sim_fault") == 0) return sim_address((sim_code)cujit_sim_fault);
    if (strcmp(name, "cujit_sim_work") == 0) return sim_address((sim_code)cujit_sim_work);
    if (strcmp(name, "cujit_sim_suballoc") == 0) return sim_address((sim_code)cujit_sim_suballoc);
    if (strcmp(name, "cujit_sim_reset") == 0) return sim_address((sim_code)cujit_sim_reset);
    if (strcmp(name, "cujit_sim_get_symbol") == 0) return sim_address((sim_code)cujit_sim_get_symbol);
    return NULL;
}
