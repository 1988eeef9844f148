/* The CPU device exports every name of CUDA 13.0's libcuda, and cuGetProcAddress finds each by its API name, version
 * and default stream. What it does not have returns CUDA_ERROR_NOT_SUPPORTED and is named in the log.
 * tests/cuda/libcuda.names is what `nm -D` lists of the toolkit's stub library; tests/cuda/abi.sh compares it.
 * libcuda_graphics.names are those of its headers for OpenGL, EGL and VDPAU, which the driver exports too. */
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "tests/conformance/driver_abi.h"

typedef enum sort { PLAIN, OWN_STREAM, LACKS } sort;

static const struct { const char *export, *row; int version; sort sort; } names[] = {
#define CU(name, export, version, need, count, list) { #export, #export, version, PLAIN },
#include "cuda/symbols.def"
#define CU(name, export, version, count, list) { #export, #export, version, PLAIN },
#include "cuda/byvalue.def"
#define CU(name, export, version, count, list) { #export, #export, version, PLAIN },
#define CU_SAME(row, export, version) { #export, #row, version, PLAIN },
#define CU_PER_THREAD(row, export, version) { #export, #row, version, OWN_STREAM },
#define CU_LACKS(export, version, why) { #export, #export, version, LACKS },
#include "cuda/exports.def"
};
enum { NAMES = sizeof names / sizeof *names };

static char last_line[1024];

static void on_line(void *user, cj_log_level level, const char *line)
{
    (void)user;
    if (level == CJ_LOG_ERROR) snprintf(last_line, sizeof last_line, "%s", line);
}

/* Without _vN, _ptsz and _ptds. */
static void api_of(const char *export, char *out, size_t size)
{
    snprintf(out, size, "%s", export);
    size_t n = strlen(out);
    if (n > 5 && (!strcmp(out + n - 5, "_ptsz") || !strcmp(out + n - 5, "_ptds"))) out[n -= 5] = 0;
    if (n > 3 && out[n - 3] == '_' && out[n - 2] == 'v') out[n - 3] = 0;
}

static bool of_own_stream(const char *export)
{
    size_t n = strlen(export);
    return n > 5 && (!strcmp(export + n - 5, "_ptsz") || !strcmp(export + n - 5, "_ptds"));
}

static void all_are_exported(void)
{
    char *stub = tap_slurp(tap_source("tests/cuda/libcuda.names"), NULL), *list = NULL, *save = NULL;
    char *graphics = tap_slurp(tap_source("tests/cuda/libcuda_graphics.names"), NULL);
    unsigned count = 0, missing = 0, extra = 0;
    if (!stub || !graphics || asprintf(&list, "%s%s", stub, graphics) < 0) tap_bail("no lists of names");
    char *copy = strdup(list);
    for (char *p = strtok_r(copy, "\n", &save); p; p = strtok_r(NULL, "\n", &save), count++)
        if (!cujit_sim_get_symbol(NULL, p)) missing++, tap_diag("%s is missing", p);
    for (size_t i = 0; i < NAMES; i++) {
        char line[100];
        snprintf(line, sizeof line, "\n%s\n", names[i].export);
        if (!strstr(list, line) && strncmp(list, line + 1, strlen(line + 1)) != 0)
            extra++, tap_diag("libcuda has no %s", names[i].export);
    }
    tap_is_uint(count, NAMES, "as many names as libcuda has");
    tap_is_uint(missing, 0, "all of them are exported");
    tap_is_uint(extra, 0, "and no others");
    free(copy);
    free(list);
    free(stub);
    free(graphics);
}

static void what_is_not_there_is_reported(CUresult want, const char *when)
{
    unsigned wrong = 0, unnamed = 0, count = 0;
    for (size_t i = 0; i < NAMES; i++) {
        if (names[i].sort != LACKS) continue;
        void *p = cujit_sim_get_symbol(NULL, names[i].export);
        CUresult (*call)(void);
        memcpy(&call, &p, sizeof p);
        *last_line = 0;
        count++;
        if (call() != want) wrong++, tap_diag("%s", names[i].export);
        size_t n = strlen(names[i].export);
        if (want == CUDA_ERROR_NOT_SUPPORTED && (strncmp(last_line, names[i].export, n) != 0 || last_line[n] != ' '))
            unnamed++, tap_diag("%s: the log has '%s'", names[i].export, last_line);
    }
    tap_ok(count && !wrong, "what is not there returns %d %s", want, when);
    tap_is_uint(unnamed, 0, "and names itself in the log %s", when);
}

/* An ABI before the i-th has the same code. */
static bool same_before(size_t i)
{
    for (size_t j = 0; j < NAMES; j++)
        if (names[j].version < names[i].version && names[j].sort == names[i].sort &&
            (!strcmp(names[j].row, names[i].export) || !strcmp(names[i].row, names[j].export) ||
             !strcmp(names[i].row, names[j].row)))
            return true;
    return false;
}

/* Each name by its own version, and nothing newer by the version before it. */
static void found_by_version(void)
{
    unsigned wrong = 0, early = 0;
    for (size_t i = 0; i < NAMES; i++) {
        char api[80];
        api_of(names[i].export, api, sizeof api);
        bool own = of_own_stream(names[i].export);
        cuuint64_t flags = own ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : CU_GET_PROC_ADDRESS_LEGACY_STREAM;
        CUdriverProcAddressQueryResult found;
        void *p = NULL, *old = NULL;
        CUresult r = cu.cuGetProcAddress(api, &p, names[i].version, flags, &found);
        if (r || found != CU_GET_PROC_ADDRESS_SUCCESS || p != cujit_sim_get_symbol(NULL, names[i].export))
            wrong++, tap_diag("%s", names[i].export);
        r = cu.cuGetProcAddress(api, &old, names[i].version - 1, flags, &found);
        if (r || (old == p && !same_before(i)) || (!old && found != CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT))
            early++, tap_diag("%s before %d", names[i].export, names[i].version);
    }
    tap_is_uint(wrong, 0, "every name is found at its version, with its default stream");
    tap_is_uint(early, 0, "and not before");
}

/* As measured on an H100; status -1: without a status. */
static void found_as_measured(void)
{
    static const struct { const char *api; int version; cuuint64_t flags; int status; const char *export; } cases[] = {
        { "cuGetProcAddress", 11030, 0, 0, "cuGetProcAddress" },
        { "cuGetProcAddress", 12000, 0, 0, "cuGetProcAddress_v2" },
        { "cuGetProcAddress", 11020, 0, 2, NULL },
        { "cuDeviceGetUuid", 11030, 0, 0, "cuDeviceGetUuid" },
        { "cuGraphAddKernelNode", 11030, 0, 0, "cuGraphAddKernelNode" },
        { "cuGraphAddKernelNode", 12000, 0, 0, "cuGraphAddKernelNode_v2" },
        { "cuGraphInstantiate", 11030, 0, 0, "cuGraphInstantiate_v2" },
        { "cuGraphInstantiate", 10000, 0, 0, "cuGraphInstantiate" },
        { "cuMemcpyHtoD", 13000, 2, 0, "cuMemcpyHtoD_v2_ptds" },
        { "cuMemcpyHtoD", 13000, 1, 0, "cuMemcpyHtoD_v2" },
        { "cuMemAlloc", 13000, 2, 0, "cuMemAlloc_v2" },
        { "cuGreenCtxCreate", 13000, 0, 0, "cuGreenCtxCreate" },
        { "cuGreenCtxCreate", 12030, 0, 2, NULL },
        { "cuNoSuchThing", 13000, 0, 1, NULL },
        { "cuMemcpyHtoD_v2_ptds", 13000, 0, 1, NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        void *p = &p, *q = &q;
        CUdriverProcAddressQueryResult found = (CUdriverProcAddressQueryResult)-1;
        abi_is(cu.cuGetProcAddress(cases[i].api, &p, cases[i].version, cases[i].flags, &found), CUDA_SUCCESS,
               "%s at %d with %d", cases[i].api, cases[i].version, (int)cases[i].flags);
        tap_is_int((int)found, cases[i].status, "its status");
        tap_ok(p == (cases[i].export ? cujit_sim_get_symbol(NULL, cases[i].export) : NULL), "its address");
        abi_is(cx.cuGetProcAddress_v1(cases[i].api, &q, cases[i].version, cases[i].flags), CUDA_SUCCESS,
               "the call without a status");
        tap_ok(q == p, "finds the same");
    }
    void *p;
    abi_is(cx.cuGetProcAddress_v1("cuInit", &p, 13010, 0), CUDA_ERROR_INVALID_VALUE, "above the driver's version");
    abi_is(cx.cuGetProcAddress_v1("cuInit", &p, 13000, 3), CUDA_ERROR_INVALID_VALUE, "both default streams");
}

int main(void)
{
    tap_plan(0);
    cji_set_log_hook(on_line, NULL);
    abi_load();
    what_is_not_there_is_reported(CUDA_ERROR_NOT_INITIALIZED, "before cuInit");
    all_are_exported();
    found_by_version();
    found_as_measured();
    abi_is(cu.cuInit(0), CUDA_SUCCESS, "cuInit");
    what_is_not_there_is_reported(CUDA_ERROR_NOT_SUPPORTED, "after cuInit");
    CUuuid id = { { 0 } };
    const void *table;
    *last_line = 0;
    abi_is(cu.cuGetExportTable(&table, &id), CUDA_ERROR_NOT_FOUND, "no private tables");
    tap_has_str(last_line, "programs of the CUDA runtime (cudart) cannot run on it", "and the log says who wants them");
    return tap_done();
}
