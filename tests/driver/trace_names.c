/* Enumerations and flags in texts of calls: each name has its value, types without a name for a value show the number,
 * flags are joined. */
#include <string.h>

#include "driver/interpose/driver_interpose.h"
#include "tests/tap.h"

/* -- The table ----------------------------------------------------------------------------------------------------- */

static size_t named, wrong;
static const char *type_now;

static void of_type(const char *type) { type_now = type; }

static void has_name(const char *name, long long value)
{
    char text[200];
    cji_line l = { text, sizeof text, 0 };
    const bool found = cji_put_named(&l, type_now, strlen(type_now), (uint64_t)value);
    const bool mask = strstr(name, "_MASK") != NULL;
    named++;
    /* another name of the same value may be the first one */
    if (found && (mask || !strcmp(text, name) || strstr(text, "CU_") == text)) return;
    wrong++;
    tap_diag("%s: %s is shown as %s", type_now, name, found ? text : "nothing");
}

#define T(type)
#define V(value, name) _Static_assert((long long)(name) == (value), #name);
#include "driver/interpose/call_names.def"

static void all_names(void)
{
#define T(type) of_type(#type);
#define V(value, name) has_name(#name, value);
#include "driver/interpose/call_names.def"
    tap_is_uint(wrong, 0, "each value has a name");
    tap_ok(named > 300, "%zu names", named);
}

/* -- Values -------------------------------------------------------------------------------------------------------- */

static const struct { const char *type; uint64_t value; const char *text; } values[] = {
    { "CUdevice_attribute", 1, "CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK" },
    { "CUdevice_attribute", 0, NULL },
    { "CUdevice_attribute", 44, NULL },
    { "CUdevice_attribute", 9999, NULL },
    { "CUmemorytype", 2, "CU_MEMORYTYPE_DEVICE" },
    { "CUmemorytype", 3 | 4, NULL },
    { "CUstream_flags", 0, "CU_STREAM_DEFAULT" },
    { "CUevent_flags", 3, "CU_EVENT_DISABLE_TIMING|CU_EVENT_BLOCKING_SYNC" },
    { "CUevent_flags", 0x106, "CU_EVENT_INTERPROCESS|CU_EVENT_DISABLE_TIMING|0x100" },
    { "CUevent_flags", 0x100, "0x100" },
    { "CUstreamWaitValue_flags", 0x40000003, "CU_STREAM_WAIT_VALUE_FLUSH|CU_STREAM_WAIT_VALUE_NOR" },
    { "CUctx_flags", 0x8f, "CU_CTX_SYNC_MEMOPS|CU_CTX_MAP_HOST|CU_CTX_SCHED_BLOCKING_SYNC|CU_CTX_SCHED_YIELD|"
                           "CU_CTX_SCHED_SPIN" },
    { "CU_MEMHOSTALLOC", 3, "CU_MEMHOSTALLOC_DEVICEMAP|CU_MEMHOSTALLOC_PORTABLE" },
    { "CU_MEMHOSTALLOC", 0, NULL },
    { "CUstream", 1, NULL },
    { "CUstream_flags_of_another", 1, NULL },
    { "int", 1, NULL },
};

static void test_values(void)
{
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char text[300] = "";
        cji_line l = { text, sizeof text, 0 };
        const bool found = cji_put_named(&l, values[i].type, strlen(values[i].type), values[i].value);
        tap_ok(found == (values[i].text != NULL), "%s 0x%llx has a name, or none", values[i].type,
               (unsigned long long)values[i].value);
        tap_is_str(text, values[i].text ? values[i].text : "", "... which is this");
    }
}

/* -- Calls --------------------------------------------------------------------------------------------------------- */

static const struct { const char *call, *param, *type; } flags[] = {
    { "cuStreamCreateWithPriority", "flags", "CUstream_flags" },
    { "cuStreamCreate", "Flags", "CUstream_flags" },
    { "cuMemHostGetFlags", "pFlags", "CU_MEMHOSTALLOC" },
    { "cuMemHostRegister", "Flags", "CU_MEMHOSTREGISTER" },
    { "cuGraphInstantiateWithFlags", "flags", "CUgraphInstantiate_flags" },
    { "cuStreamUpdateCaptureDependencies_v2", "flags", "CUstreamUpdateCaptureDependencies_flags" },
    { "cuStreamCreate", "phStream", NULL },
    { "cuInit", "Flags", NULL },
    { "cuMemMap", "flags", NULL },
};

static uint32_t memory_type = 4, got = 6;
static CUjit_option options[] = { CU_JIT_TARGET, CU_JIT_LTO, (CUjit_option)777 };
static CUlaunchAttribute attributes[] = { { .id = CU_LAUNCH_ATTRIBUTE_PRIORITY }, { .id = (CUlaunchAttributeID)99 } };
static CUlaunchConfig config = { 1, 1, 1, 32, 1, 1, 0, NULL, attributes, 2 };
static CUDA_MEMCPY3D copy = { .srcMemoryType = CU_MEMORYTYPE_HOST, .dstMemoryType = CU_MEMORYTYPE_ARRAY, .Height = 1 };
static CUmemLocation place = { CU_MEM_LOCATION_TYPE_HOST, 0 };

#define AT(x) (uint64_t)(uintptr_t)(x)
static const struct { int id; uint64_t value[6]; CUresult result; const char *text; } calls[] = {
    { CJI_CU_ID_cuDeviceGetAttribute, { 0, 16, 0 }, CUDA_SUCCESS,
      "attrib=CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, dev=0) = CUDA_SUCCESS" },
    { CJI_CU_ID_cuDeviceGetAttribute, { 0, 9999, 0 }, CUDA_ERROR_INVALID_VALUE,
      "attrib=9999, dev=0) = CUDA_ERROR_INVALID_VALUE" },
    { CJI_CU_ID_cuEventCreate, { 0, 2 }, CUDA_SUCCESS, "Flags=CU_EVENT_DISABLE_TIMING) =" },
    { CJI_CU_ID_cuInit, { 0 }, CUDA_SUCCESS, "cuInit(Flags=0) =" },
    { CJI_CU_ID_cuPointerGetAttribute, { AT(&memory_type), 2, 4096 }, CUDA_SUCCESS,
      " -> CU_MEMORYTYPE_UNIFIED, attribute=CU_POINTER_ATTRIBUTE_MEMORY_TYPE" },
    { CJI_CU_ID_cuPointerGetAttribute, { AT(&memory_type), 1, 4096 }, CUDA_SUCCESS,
      ", attribute=CU_POINTER_ATTRIBUTE_CONTEXT, ptr=0x1000)" },
    { CJI_CU_ID_cuPointerGetAttribute, { AT(&memory_type), 2, 4096 }, CUDA_ERROR_INVALID_VALUE,
      ", attribute=CU_POINTER_ATTRIBUTE_MEMORY_TYPE" },
    { CJI_CU_ID_cuEventQuery, { 0 }, CUDA_ERROR_NOT_READY, ") = CUDA_ERROR_NOT_READY" },
    { CJI_CU_ID_cuLinkCreate, { 3, AT(options), 0, 0 }, CUDA_ERROR_UNKNOWN,
      " {CU_JIT_TARGET, CU_JIT_LTO, 777}, optionValues=0x0" },
    { CJI_CU_ID_cuLinkCreate, { 0, AT(options), 0, 0 }, CUDA_ERROR_UNKNOWN, ", optionValues=0x0" },
    { CJI_CU_ID_cuLaunchKernelEx, { AT(&config), 0, 0, 0 }, CUDA_SUCCESS,
      "attributes CU_LAUNCH_ATTRIBUTE_PRIORITY 99}, f=0x0" },
    { CJI_CU_ID_cuMemcpy3DAsync, { AT(&copy), 0 }, CUDA_SUCCESS,
      "{CU_MEMORYTYPE_ARRAY 0 pitch 0 from CU_MEMORYTYPE_HOST 0" },
    { CJI_CU_ID_cuMemHostGetFlags, { AT(&got), 0 }, CUDA_SUCCESS,
      " -> CU_MEMHOSTALLOC_WRITECOMBINED|CU_MEMHOSTALLOC_DEVICEMAP, p=0x0" },
    { CJI_CU_ID_cuMemPoolGetAccess, { AT(&got), 0, AT(&place) }, CUDA_ERROR_UNKNOWN,
      "{CU_MEM_LOCATION_TYPE_HOST, id 0}" },
    { CJI_CU_ID_cuStreamIsCapturing, { 0, AT(&memory_type) }, CUDA_SUCCESS, " -> 4) = CUDA_SUCCESS" },
};

static void test_calls(void)
{
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        const char *type = cji_call_flags(flags[i].call, flags[i].param);
        tap_is_str(type ? type : "", flags[i].type ? flags[i].type : "", "%s of %s", flags[i].param, flags[i].call);
    }
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        char text[CJI_INTERPOSER_TEXT];
        cji_interposer_text(text, sizeof text, calls[i].id, calls[i].value, calls[i].result);
        tap_has_str(text, calls[i].text, "%zu: %.30s", i, text);
        const bool written = calls[i].result == CUDA_SUCCESS && strstr(calls[i].text, "->");
        tap_ok(!strstr(text, "->") == !written, "... and shows what was written only where something was");
    }
}

int main(void)
{
    tap_plan(0);
    all_names();
    test_values();
    test_calls();
    return tap_done();
}
