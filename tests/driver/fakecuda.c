/* A libcuda of the tests' own, CUDA 11.4: every entry point answers success.  FAKECUDA_INIT is cuInit's answer,
 * FAKECUDA_DEVICES how many devices
 * there are, FAKECUDA_NULL an entry point for which cuGetProcAddress answers success and NULL.  It refuses versions
 * above its own, as a driver does. */
#include <stdlib.h>
#include <string.h>

#include "cuda/table.h"

#define EXPORT __attribute__((visibility("default")))

static int number(const char *name, int otherwise)
{
    const char *s = getenv(name);
    return s ? atoi(s) : otherwise;
}

static void *entry(int row);

static CUresult answer(int id, const uint64_t *a)
{
    void *p = (void *)(uintptr_t)a[0];
    int value = id == CJI_CU_ID_cuDriverGetVersion ? 11040 : number("FAKECUDA_DEVICES", 1), row;
    bool known;
    switch (id) {
    case CJI_CU_ID_cuInit: return (CUresult)number("FAKECUDA_INIT", 0);
    case CJI_CU_ID_cuDriverGetVersion:
    case CJI_CU_ID_cuDeviceGetCount: memcpy(p, &value, sizeof value); return CUDA_SUCCESS;
    case CJI_CU_ID_cuGetErrorName: /* left to the caller's own table */
    case CJI_CU_ID_cuGetErrorString: return CUDA_ERROR_INVALID_VALUE;
    case CJI_CU_ID_cuGetProcAddress:
        if ((int)a[2] > 11040) return CUDA_ERROR_INVALID_VALUE;
        row = cji_cu_find_api(p, (int)a[2], &known);
        if (getenv("FAKECUDA_NULL") && !strcmp(getenv("FAKECUDA_NULL"), p)) row = -1;
        p = row < 0 ? NULL : entry(row);
        memcpy((void *)(uintptr_t)a[1], &p, sizeof p);
        return CUDA_SUCCESS;
    default: return CUDA_SUCCESS;
    }
}

#define VALUE(T, a) (uint64_t)(uintptr_t)(a),
#define CU(name, export, version, need, count, list) \
    EXPORT CUresult export(CJI_CU_DECL(count, list)); \
    CUresult export(CJI_CU_DECL(count, list)) \
    { \
        return answer(CJI_CU_ID_##name, (const uint64_t[]){ CJI_CU_EACH(count, VALUE, list) 0 }); \
    }
#include "cuda/symbols.def"

static void *entry(int row)
{
    static const cji_cu all = {
#define CU(name, export, version, need, count, list) .name = export,
#include "cuda/symbols.def"
    };
    void *fn;
    memcpy(&fn, (const char *)&all + (size_t)row * sizeof fn, sizeof fn);
    return fn;
}
