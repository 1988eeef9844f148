/* Ranges as NVTX ranges, where a tool asks for them (NVTX_INJECTION64_PATH, as it sets that for the programs that it
 * starts; or the tool is in the process already) or libnvToolsExt is installed.  Neither is needed.
 *
 * They are NVTX's start and end ranges, which have a number: ranges of several streams do not nest in each other, and
 * one may end on another thread than it began on.  Push and pop would mix them up.
 *
 * A tool's library exports InitializeInjectionNvtx2.  It is handed a function that gives it tables; the one of
 * callbacks leads to places of function pointers, module by module, which the tool sets. */
#include <dlfcn.h>

#include "base/environment.h"
#include "stream/profile/stream_profile.h"

/* As nvtxTypes.h of NVTX 3 has them. */
enum { NVTX_TABLE_CALLBACKS = 1, NVTX_TABLE_VERSION = 3, NVTX_MODULE_CORE = 1, NVTX_MODULES = 7, NVTX_START = 5,
       NVTX_END = 7, NVTX_MODULE_SIZE = 16, NVTX_VERSION_NUMBER = 3 };
typedef void (*nvtx_fn)(void);
typedef uint64_t (*nvtx_start_fn)(const char *name);
typedef void (*nvtx_end_fn)(uint64_t id);

static pthread_once_t nvtx_once = PTHREAD_ONCE_INIT;
static nvtx_start_fn nvtx_start;
static nvtx_end_fn nvtx_end;

/* Functions of each module: none, core, CUDA driver, OpenCL, CUDA runtime, core of domains, synchronisation. */
static const unsigned nvtx_sizes[NVTX_MODULES] = { 0, NVTX_MODULE_SIZE, 9, 15, 7, NVTX_MODULE_SIZE, 7 };
static nvtx_fn nvtx_place[NVTX_MODULES][NVTX_MODULE_SIZE];       /* set by the tool */
static nvtx_fn *nvtx_module_table[NVTX_MODULES][NVTX_MODULE_SIZE + 1]; /* where these are; function 0 is none */

static int nvtx_module(int32_t module, nvtx_fn ***table, unsigned *size)
{
    if (module < NVTX_MODULE_CORE || module >= NVTX_MODULES) return 0;
    for (unsigned i = 1; i < nvtx_sizes[module]; i++) nvtx_module_table[module][i] = &nvtx_place[module][i];
    if (table) *table = nvtx_module_table[module];
    if (size) *size = nvtx_sizes[module];
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

/* The tool of that file; NULL: one that is in the process. */
static bool nvtx_injected(const char *path, const char *name)
{
    int (*begin)(const void *(*table)(uint32_t)) = NULL;
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (lib) nvtx_symbol(lib, name, &begin);
    if (!begin || !begin(nvtx_table)) return false;
    memcpy(&nvtx_start, &nvtx_place[NVTX_MODULE_CORE][NVTX_START], sizeof nvtx_start);
    memcpy(&nvtx_end, &nvtx_place[NVTX_MODULE_CORE][NVTX_END], sizeof nvtx_end);
    return true;
}

static void nvtx_open(void)
{
    const char *path = cji_env_get(CJI_ENV_NVTX);
    if (path ? nvtx_injected(path, "InitializeInjectionNvtx2")
             : nvtx_injected(NULL, "InitializeInjectionNvtx2Preinject"))
        return;
    void *lib = dlopen("libnvToolsExt.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!lib) return;
    nvtx_symbol(lib, "nvtxRangeStartA", &nvtx_start);
    nvtx_symbol(lib, "nvtxRangeEnd", &nvtx_end);
}

uint64_t cji_nvtx_start(const char *name)
{
    pthread_once(&nvtx_once, nvtx_open);
    return nvtx_start && nvtx_end ? nvtx_start(name) : 0;
}

void cji_nvtx_end(uint64_t id)
{
    pthread_once(&nvtx_once, nvtx_open);
    if (nvtx_start && nvtx_end) nvtx_end(id);
}
