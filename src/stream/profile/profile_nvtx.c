/* Ranges as NVTX ranges, where a tool asks for them (NVTX_INJECTION64_PATH, as it sets that for the programs that it
 * starts) or libnvToolsExt is installed.  Neither is needed.
 *
 * A tool's library exports InitializeInjectionNvtx2.  It is handed a function that gives it tables; the one of
 * callbacks leads to places of function pointers, which the tool sets. */
#include <dlfcn.h>

#include "base/environment.h"
#include "stream/profile/stream_profile.h"

/* As nvtxTypes.h of NVTX 3 has them. */
enum { NVTX_TABLE_CALLBACKS = 1, NVTX_TABLE_VERSION = 3, NVTX_MODULE_CORE = 1, NVTX_PUSH = 9, NVTX_POP = 11,
       NVTX_CORE_SIZE = 16, NVTX_VERSION_NUMBER = 3 };
typedef void (*nvtx_fn)(void);

static pthread_once_t nvtx_once = PTHREAD_ONCE_INIT;
static int (*nvtx_push)(const char *name);
static int (*nvtx_pop)(void);

static nvtx_fn nvtx_place[NVTX_CORE_SIZE];        /* set by the tool */
static nvtx_fn *nvtx_core[NVTX_CORE_SIZE + 1];    /* where these are */

static int nvtx_module(int32_t module, nvtx_fn ***table, unsigned *size)
{
    if (module != NVTX_MODULE_CORE) return 0;
    for (unsigned i = 0; i < NVTX_CORE_SIZE; i++) nvtx_core[i] = &nvtx_place[i];
    if (table) *table = nvtx_core;
    if (size) *size = NVTX_CORE_SIZE;
    return 1;
}

static void nvtx_set_version(uint32_t version) { (void)version; }

static const struct { size_t size; int (*module)(int32_t, nvtx_fn ***, unsigned *); } nvtx_callbacks = {
    sizeof nvtx_callbacks, nvtx_module
};
static const struct { size_t size; uint32_t version, reserved; void (*set)(uint32_t); } nvtx_version = {
    sizeof nvtx_version, NVTX_VERSION_NUMBER, 0, nvtx_set_version
};

static const void *nvtx_table(uint32_t which)
{
    return which == NVTX_TABLE_CALLBACKS ? (const void *)&nvtx_callbacks
           : which == NVTX_TABLE_VERSION ? (const void *)&nvtx_version
                                         : NULL;
}

/* A function of a library; ISO C has no conversion of an object's pointer. */
static void nvtx_symbol(void *lib, const char *name, void *fn)
{
    void *p = dlsym(lib, name);
    memcpy(fn, &p, sizeof p);
}

static bool nvtx_injected(const char *path)
{
    int (*begin)(const void *(*table)(uint32_t)) = NULL;
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (lib) nvtx_symbol(lib, "InitializeInjectionNvtx2", &begin);
    if (!begin || !begin(nvtx_table)) return false;
    memcpy(&nvtx_push, &nvtx_place[NVTX_PUSH], sizeof nvtx_push);
    memcpy(&nvtx_pop, &nvtx_place[NVTX_POP], sizeof nvtx_pop);
    return true;
}

static void nvtx_open(void)
{
    const char *path = cji_env_get(CJI_ENV_NVTX);
    if (path && nvtx_injected(path)) return;
    void *lib = dlopen("libnvToolsExt.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!lib) return;
    nvtx_symbol(lib, "nvtxRangePushA", &nvtx_push);
    nvtx_symbol(lib, "nvtxRangePop", &nvtx_pop);
}

void cji_nvtx_push(const char *name)
{
    pthread_once(&nvtx_once, nvtx_open);
    if (nvtx_push && nvtx_pop) nvtx_push(name);
}

void cji_nvtx_pop(void)
{
    pthread_once(&nvtx_once, nvtx_open);
    if (nvtx_push && nvtx_pop) nvtx_pop();
}
