/* The table of function pointers: resolving each entry point, and stubs for those that are missing. */
#include "driver/symbols.h"

#include <dlfcn.h>
#include <string.h>

_Static_assert(sizeof(cji_cu) == CJI_CU_COUNT * sizeof(void *),
               "the table is an array of pointers in the order of the rows");
_Static_assert(sizeof(void (*)(void)) == sizeof(void *), "dlsym hands out functions as data pointers");

void *cji_cu_get(const cji_cu *cu, int row)
{
    void *fn;
    memcpy(&fn, (const char *)cu + (size_t)row * sizeof fn, sizeof fn);
    return fn;
}

void cji_cu_set(cji_cu *cu, int row, void *fn) { memcpy((char *)cu + (size_t)row * sizeof fn, &fn, sizeof fn); }

/* -- Stubs --------------------------------------------------------------------------------------------------------- */

#define STUB_UNUSED(T, a) (void)a;
#define CU(name, export, version, need, count, list)                             \
    static CUresult stub_##name(CJI_CU_DECL(count, list))                        \
    {                                                                            \
        CJI_CU_EACH(count, STUB_UNUSED, list)                                    \
        return CUDA_ERROR_NOT_SUPPORTED;                                         \
    }
#include "cuda/symbols.def"
#undef STUB_UNUSED

static const cji_cu stub_table = {
#define CU(name, export, version, need, count, list) .name = stub_##name,
#include "cuda/symbols.def"
};

int cji_cu_load(cji_cu *cu, bool missing[CJI_CU_COUNT], cji_source source)
{
    int lacks = -1;
    for (int i = 0; i < CJI_CU_COUNT; i++) {
        void *fn = source.get(source.user, &cji_cu_rows[i]);
        missing[i] = !fn;
        cji_cu_set(cu, i, fn ? fn : cji_cu_get(&stub_table, i));
        if (!fn && cji_cu_rows[i].required && lacks < 0) lacks = i;
    }
    return lacks;
}

void cji_cu_load_by_value(cji_cu_by_value *out, cji_source source)
{
    static const cji_cu_row rows[] = {
#define CU(name, export, version, count, list) { #name, #export, version, false, count, { { NULL, NULL } } },
#include "cuda/byvalue.def"
    };
    _Static_assert(sizeof *out == sizeof rows / sizeof *rows * sizeof(void *), "pointers in the order of the rows");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *fn = source.get(source.user, &rows[i]);
        memcpy((char *)out + i * sizeof fn, &fn, sizeof fn);
    }
}

/* -- Libraries ----------------------------------------------------------------------------------------------------- */

typedef CUresult (*proc_address_v1)(const char *symbol, void **pfn, int version, cuuint64_t flags); /* CUDA 11.3 */

static void *library_get(void *user, const cji_cu_row *row)
{
    cji_library *lib = user;
    char name[64];
    void *fn = NULL;
    if (!lib->get_v2 && !lib->get_v1) return dlsym(lib->handle, row->export_name);
    cji_cu_api_name(row, name, sizeof name);
    CUresult r;
    if (lib->get_v2) {
        cji_PFN_cuGetProcAddress get;
        CUdriverProcAddressQueryResult why;
        memcpy(&get, &lib->get_v2, sizeof get);
        r = get(name, &fn, row->version, CU_GET_PROC_ADDRESS_DEFAULT, &why);
    } else {
        proc_address_v1 get;
        memcpy(&get, &lib->get_v1, sizeof get);
        r = get(name, &fn, row->version, CU_GET_PROC_ADDRESS_DEFAULT);
    }
    return r == CUDA_SUCCESS ? fn : NULL;
}

cji_source cji_library_source(cji_library *lib, void *handle)
{
    lib->handle = handle;
    lib->get_v2 = dlsym(handle, "cuGetProcAddress_v2");
    lib->get_v1 = dlsym(handle, "cuGetProcAddress");
    return (cji_source){ library_get, lib };
}
