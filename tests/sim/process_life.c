/* The life of the driver in a process: before cuInit, entry points, settings, contexts, fork, exit (semantics 1 - 6).
 * */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/driver_abi.h"

/* Runs `f` in a child; what it returns, or -1 when it did not end by itself.  It comes through a pipe: Valgrind has its
 * own opinion of the exit status of a child that leaves its parent's memory behind. */
static int in_child(int (*f)(void))
{
    int status = 0, result = -1, ends[2];
    fflush(NULL);
    if (pipe(ends)) tap_bail("no pipe");
    pid_t child = fork();
    if (child == 0) {
        result = f();
        _exit(write(ends[1], &result, sizeof result) != sizeof result);
    }
    close(ends[1]);
    if (read(ends[0], &result, sizeof result) != sizeof result) result = -1;
    close(ends[0]);
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? result : -1;
}

static void before_init(void)
{
    int n;
    CUdevice d;
    CUcontext c;
    void *p;
    const char *text = NULL;
    CUdriverProcAddressQueryResult found;
    abi_is(cu.cuDeviceGetCount(&n), CUDA_ERROR_NOT_INITIALIZED, "no devices before cuInit");
    abi_is(cu.cuDeviceGet(&d, 0), CUDA_ERROR_NOT_INITIALIZED, "none to get");
    abi_is(cu.cuCtxGetCurrent(&c), CUDA_ERROR_NOT_INITIALIZED, "no current context");
    abi_is(cu.cuStreamQuery(NULL), CUDA_ERROR_NOT_INITIALIZED, "no streams");
    abi_is(cu.cuDriverGetVersion(&n), CUDA_SUCCESS, "but a version");
    tap_is_int(n, 13000, "13.0");
    abi_is(cu.cuGetErrorName(CUDA_ERROR_INVALID_PTX, &text), CUDA_SUCCESS, "and names");
    tap_is_str(text, "CUDA_ERROR_INVALID_PTX", "of errors");
    abi_is(cu.cuGetErrorName((CUresult)987654, &text), CUDA_ERROR_INVALID_VALUE, "of those that exist");
    abi_is(cu.cuGetProcAddress("cuInit", &p, 12000, 0, &found), CUDA_SUCCESS, "and entry points");
    abi_is(cu.cuInit(1), CUDA_ERROR_INVALID_VALUE, "cuInit takes no flags");
}

static void entry_points(void)
{
    static const struct { const char *name; int version, answer, found; const char *export; } cases[] = {
        { "cuMemAlloc", 12000, CUDA_SUCCESS, CU_GET_PROC_ADDRESS_SUCCESS, "cuMemAlloc_v2" },
        { "cuStreamGetCaptureInfo", 11030, CUDA_SUCCESS, CU_GET_PROC_ADDRESS_SUCCESS, "cuStreamGetCaptureInfo_v2" },
        { "cuStreamGetCaptureInfo", 13000, CUDA_SUCCESS, CU_GET_PROC_ADDRESS_SUCCESS, "cuStreamGetCaptureInfo_v3" },
        { "cuCtxSynchronize", 12080, CUDA_SUCCESS, CU_GET_PROC_ADDRESS_SUCCESS, "cuCtxSynchronize" },
        { "cuCtxSynchronize", 13000, CUDA_SUCCESS, CU_GET_PROC_ADDRESS_SUCCESS, "cuCtxSynchronize_v2" },
        { "cuCtxCreate", 11000, CUDA_SUCCESS, CU_GET_PROC_ADDRESS_SUCCESS, "cuCtxCreate_v2" },
        { "cuCtxCreate", 12000, CUDA_SUCCESS, CU_GET_PROC_ADDRESS_SUCCESS, "cuCtxCreate_v3" },
        { "cuCtxCreate", 13000, CUDA_SUCCESS, CU_GET_PROC_ADDRESS_SUCCESS, "cuCtxCreate_v4" },
        { "cuLaunchKernelEx", 11050, CUDA_SUCCESS, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, NULL },
        { "cuNoSuchThing", 12000, CUDA_SUCCESS, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, NULL },
        { "cuMemAlloc_v2", 12000, CUDA_SUCCESS, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, NULL },
        { "cuMemAlloc", 99000, CUDA_ERROR_INVALID_VALUE, -1, NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        void *p = NULL;
        CUdriverProcAddressQueryResult found = (CUdriverProcAddressQueryResult)-1;
        abi_is(cu.cuGetProcAddress(cases[i].name, &p, cases[i].version, 0, &found), cases[i].answer, "%s at %d",
               cases[i].name, cases[i].version);
        tap_is_int((int)found, cases[i].found, "%s at %d: what was found", cases[i].name, cases[i].version);
        tap_ok(p == (cases[i].export ? cujit_sim_get_symbol(NULL, cases[i].export) : NULL), "%s at %d: its address",
               cases[i].name, cases[i].version);
    }
    CUuuid id = { { 0 } };
    const void *table = &id;
    abi_is(cu.cuGetExportTable(&table, &id), CUDA_ERROR_NOT_FOUND, "no private tables");
    tap_ok(cujit_sim_get_symbol(NULL, "cujit_sim_setup") && !cujit_sim_get_symbol(NULL, "malloc") &&
               !cujit_sim_get_symbol(NULL, NULL),
           "no other symbols");
}

static void setup_is_checked(void)
{
    char build[64];
    snprintf(build, sizeof build, CUJIT_SIM_BUILD_FORMAT, cj_version(), (unsigned long long)cj_table_hash());
    tap_is_int(cujit_sim_setup(CUJIT_SIM_ABI + 1, build, NULL, NULL, NULL, NULL), CJ_ENOTSUP,
               "another abi is rejected");
    tap_is_int(cujit_sim_setup(CUJIT_SIM_ABI, "another", NULL, NULL, NULL, NULL), CJ_ENOTSUP, "another build too");
    tap_has_str(cujit_sim_complaint(), "another", "the complaint names the one");
    tap_has_str(cujit_sim_complaint(), build, "and the other");
    tap_is_int(cujit_sim_setup(CUJIT_SIM_ABI, build, NULL, NULL, NULL, NULL), CJ_OK, "the same is accepted");
}

/* ---- Settings ---------------------------------------------------------------------------------------------------- */

static int two_devices(void)
{
    int n = 0, major = 0, minor = 9;
    char name[80];
    setenv("CUJIT_SIM_DEVICES", "2", 1);
    setenv("CUJIT_SIM_SM", "80", 1);
    if (cu.cuInit(0) || cu.cuDeviceGetCount(&n) || n != 2) return 1;
    if (cu.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 1) || major != 8) return 2;
    if (cu.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 1) || minor != 0) return 3;
    return cu.cuDeviceGetName(name, sizeof name, 1) || !strstr(name, "sm_80") ? 4 : 0;
}

static int no_devices(void)
{
    setenv("CUJIT_SIM_DEVICES", "0", 1);
    return (int)cu.cuInit(0);
}

static int bad_setting(void)
{
    setenv("CUJIT_SIM_SM", "ninety", 1);
    return (int)cu.cuInit(0);
}

static void settings(void)
{
    tap_is_int(in_child(two_devices), 0, "two devices of another kind");
    tap_is_int(in_child(no_devices), CUDA_ERROR_NO_DEVICE, "none");
    tap_is_int(in_child(bad_setting), CUDA_ERROR_INVALID_VALUE, "a setting that cannot be read");
}

/* ---- Contexts ---------------------------------------------------------------------------------------------------- */

/* The newer ABIs of the same names. */
static void newer_calls(CUcontext a)
{
    CUcontext b, c;
    CUdevice d = 9;
    CUexecAffinityParam affinity = { .type = CU_EXEC_AFFINITY_TYPE_SM_COUNT, .param = { .smCount = { 4 } } };
    CUctxCreateParams params = { .execAffinityParams = &affinity, .numExecAffinityParams = 1 };
    abi_is(cu.cuCtxCreate_v4(&b, NULL, 0, 0), CUDA_SUCCESS, "a context, by the newest call");
    abi_is(cu.cuCtxGetDevice_v2(&d, a), CUDA_SUCCESS, "the device of another context than the current one");
    tap_is_int(d, 0, "the first");
    abi_is(cu.cuCtxSynchronize_v2(a), CUDA_SUCCESS, "which can be waited for");
    abi_is(cu.cuCtxSynchronize_v2(NULL), CUDA_SUCCESS, "as the current one");
    abi_is(cu.cuCtxDestroy(b), CUDA_SUCCESS, "destroy");
    abi_is(cu.cuCtxSynchronize_v2(b), CUDA_ERROR_INVALID_CONTEXT, "it is gone");
    abi_is(cu.cuCtxCreate_v3(&b, NULL, 0, 0, 0), CUDA_SUCCESS, "a context, by the call before");
    cu.cuCtxDestroy(b);
    abi_is(cu.cuCtxCreate_v4(&b, &params, 0, 0), CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, "a part of the device");
    params.execAffinityParams = NULL;
    abi_is(cu.cuCtxCreate_v4(&b, &params, 0, 0), CUDA_ERROR_INVALID_VALUE, "parameters without any");
    abi_is(cu.cuCtxGetCurrent(&c), CUDA_SUCCESS, "current");
    tap_ok(c == a, "as before");
}

static void contexts(void)
{
    CUcontext a = NULL, b = NULL, c = NULL;
    unsigned flags;
    int active = 1;
    CUstream s;
    abi_is(cu.cuInit(0), CUDA_SUCCESS, "init");
    abi_is(cu.cuInit(0), CUDA_SUCCESS, "again");
    abi_is(cu.cuDevicePrimaryCtxRetain(&a, 0), CUDA_SUCCESS, "retain");
    abi_is(cu.cuDevicePrimaryCtxRetain(&b, 0), CUDA_SUCCESS, "twice");
    tap_ok(a == b, "is one context");
    abi_is(cu.cuCtxGetCurrent(&c), CUDA_SUCCESS, "current");
    tap_ok(c == NULL, "retaining does not make it so");
    abi_is(cu.cuMemAlloc(&(CUdeviceptr){ 0 }, 4), CUDA_ERROR_INVALID_CONTEXT, "without one there is no memory");
    abi_is(cu.cuCtxPopCurrent(&c), CUDA_ERROR_INVALID_CONTEXT, "nothing to pop");
    abi_is(cu.cuCtxPushCurrent(a), CUDA_SUCCESS, "push");
    abi_is(cu.cuCtxCreate(&b, 0, 0), CUDA_SUCCESS, "a context of one's own is pushed");
    abi_is(cu.cuCtxGetCurrent(&c), CUDA_SUCCESS, "current");
    tap_ok(c == b, "that one");
    abi_is(cu.cuStreamCreate(&s, 1), CUDA_SUCCESS, "a stream in it");
    abi_is(cu.cuCtxDestroy(b), CUDA_SUCCESS, "destroy");
    abi_is(cu.cuStreamQuery(s), CUDA_ERROR_INVALID_HANDLE, "the stream went with it");
    abi_is(cu.cuCtxGetCurrent(&c), CUDA_SUCCESS, "current");
    tap_ok(c == a, "the one below");
    newer_calls(a);
    abi_is(cu.cuCtxSetCurrent(NULL), CUDA_SUCCESS, "none");
    abi_is(cu.cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS, "release");
    cu.cuDevicePrimaryCtxGetState(0, &flags, &active);
    tap_is_int(active, 1, "still active");
    abi_is(cu.cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS, "release again");
    cu.cuDevicePrimaryCtxGetState(0, &flags, &active);
    tap_is_int(active, 0, "not any more");
    abi_is(cu.cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT, "once too often");
}

/* ---- Fork and exit ----------------------------------------------------------------------------------------------- */

static int forked(void)
{
    int n = (int)cu.cuInit(0) == CUDA_ERROR_NOT_INITIALIZED;
    n += (int)cu.cuCtxSetCurrent(abi_ctx) == CUDA_ERROR_NOT_INITIALIZED;
    n += (int)cu.cuStreamQuery(NULL) == CUDA_ERROR_NOT_INITIALIZED;
    n += (int)cu.cuMemFree(1) == CUDA_ERROR_NOT_INITIALIZED;
    return n;
}

static bool late;

/* A program of its own: it ends while kernels spin and much is alive. */
static int exits_in_the_middle(void)
{
    CUmodule m = NULL;
    CUgraph g;
    if (cu.cuInit(0) || cu.cuDevicePrimaryCtxRetain(&abi_ctx, 0) || cu.cuCtxSetCurrent(abi_ctx)) return 1;
    CUfunction spin = abi_kernel(&m, "spin"), add = abi_kernel(&m, "add");
    CUdeviceptr flag = abi_word(0), p = 0;
    CUstream s = abi_stream(), t = abi_stream();
    for (int i = 0; i < 3; i++) abi_launch(spin, 4, 1, i ? abi_stream() : s, flag, 0);
    abi_launch(add, 1, 1, s, flag, 1);
    cu.cuStreamBeginCapture(t, CU_STREAM_CAPTURE_MODE_RELAXED);
    abi_launch(add, 1, 1, t, flag, 1);
    cu.cuMemAllocAsync(&p, 100, s);
    cu.cuEventRecord(abi_event(), s);
    cu.cuGraphCreate(&g, 0);
    return 5;
}

static void fork_and_exit(const char *self)
{
    cu.cuDevicePrimaryCtxRetain(&abi_ctx, 0);
    cu.cuCtxSetCurrent(abi_ctx);
    tap_is_int(in_child(forked), 4, "after fork() every call answers that there is no driver");
    abi_is(cu.cuStreamQuery(NULL), CUDA_SUCCESS, "the parent goes on");
    cu.cuCtxSetCurrent(NULL);
    cu.cuDevicePrimaryCtxRelease(0);
    for (int last = 0; last < 2; last++) {
        int status = 0;
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            execl(self, self, last ? "late" : "middle", (char *)NULL);
            _exit(127);
        }
        waitpid(child, &status, 0);
        tap_is_int(WIFEXITED(status) ? WEXITSTATUS(status) : -1, last ? 17 : 5,
                   last ? "a call at exit answers that the driver is gone" : "a process may end in the middle");
    }
}

int main(int argc, char **argv)
{
    abi_load();
    if (argc > 1 && strcmp(argv[1], "middle") == 0) return exits_in_the_middle();
    if (argc > 1) {
        late = true;
        cu.cuInit(0);
        return 18;   /* at_the_very_end() makes it 17 */
    }
    tap_plan(0);
    before_init();
    setup_is_checked();
    settings();
    entry_points();
    contexts();
    fork_and_exit(argv[0]);
    return tap_done();
}

/* Runs behind the driver's own end: of destructors, the smaller priority is the later. */
__attribute__((destructor(101))) static void at_the_very_end(void)
{
    if (late) _exit(cu.cuStreamQuery(NULL) == CUDA_ERROR_DEINITIALIZED ? 17 : 18);
}
