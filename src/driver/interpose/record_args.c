/* The arguments of a call, written down by their types; a few calls have rules of their own. */
#include "driver/interpose/record_file.h"

/* -- Classes of calls ---------------------------------------------------------------------------------------------- */

static const uint16_t query_rows[] = {
#define Q(name) CJI_CU_ID_##name,
    Q(cuGetErrorName) Q(cuGetErrorString) Q(cuDriverGetVersion) Q(cuGetProcAddress) Q(cuGetExportTable)
    Q(cuDeviceGetCount) Q(cuDeviceGet) Q(cuDeviceGetName) Q(cuDeviceGetAttribute) Q(cuDeviceTotalMem)
    Q(cuDeviceGetUuid) Q(cuDeviceGetPCIBusId) Q(cuDeviceGetByPCIBusId) Q(cuDeviceCanAccessPeer)
    Q(cuDeviceGetP2PAttribute) Q(cuDeviceGetGraphMemAttribute) Q(cuDevicePrimaryCtxGetState) Q(cuCtxGetCurrent)
    Q(cuCtxGetDevice) Q(cuCtxGetDevice_v2) Q(cuCtxGetStreamPriorityRange) Q(cuCtxGetFlags) Q(cuCtxGetLimit)
    Q(cuCtxGetApiVersion) Q(cuCtxGetId) Q(cuModuleGetFunctionCount) Q(cuModuleGetLoadingMode) Q(cuFuncGetAttribute)
    Q(cuFuncGetModule) Q(cuFuncGetName) Q(cuFuncGetParamInfo) Q(cuFuncIsLoaded)
    Q(cuOccupancyMaxActiveBlocksPerMultiprocessor) Q(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)
    Q(cuOccupancyMaxPotentialBlockSize) Q(cuOccupancyMaxPotentialBlockSizeWithFlags)
    Q(cuOccupancyAvailableDynamicSMemPerBlock) Q(cuOccupancyMaxPotentialClusterSize) Q(cuOccupancyMaxActiveClusters)
    Q(cuMemGetInfo) Q(cuMemGetAddressRange) Q(cuMemHostGetDevicePointer) Q(cuMemHostGetFlags)
    Q(cuMemRangeGetAttribute) Q(cuPointerGetAttribute) Q(cuPointerGetAttributes) Q(cuMemPoolGetAttribute)
    Q(cuMemPoolGetAccess) Q(cuMemGetAllocationGranularity) Q(cuStreamGetPriority) Q(cuStreamGetFlags)
    Q(cuStreamGetCtx) Q(cuStreamGetId) Q(cuStreamGetDevice) Q(cuStreamGetAttribute) Q(cuStreamIsCapturing)
    Q(cuEventElapsedTime) Q(cuGraphKernelNodeGetParams) Q(cuGraphKernelNodeGetAttribute)
    Q(cuGraphMemcpyNodeGetParams) Q(cuGraphMemsetNodeGetParams) Q(cuGraphHostNodeGetParams)
    Q(cuGraphEventRecordNodeGetEvent) Q(cuGraphEventWaitNodeGetEvent) Q(cuGraphBatchMemOpNodeGetParams)
    Q(cuGraphMemAllocNodeGetParams) Q(cuGraphMemFreeNodeGetParams) Q(cuGraphGetEdges) Q(cuGraphGetEdges_v2)
    Q(cuArray3DGetDescriptor) Q(cuMemGetAllocationPropertiesFromHandle)
    Q(cuGraphNodeGetType) Q(cuGraphDebugDotPrint) Q(cuGraphExecGetFlags) Q(cuGraphNodeGetEnabled)
#undef Q
};

static const uint16_t release_rows[] = {
    CJI_CU_ID_cuMemFree, CJI_CU_ID_cuMemFreeAsync, CJI_CU_ID_cuMemFreeHost, CJI_CU_ID_cuMemHostUnregister,
    CJI_CU_ID_cuMemAddressFree, CJI_CU_ID_cuMemRelease, CJI_CU_ID_cuMemUnmap, CJI_CU_ID_cuMemPoolDestroy,
    CJI_CU_ID_cuStreamDestroy, CJI_CU_ID_cuEventDestroy, CJI_CU_ID_cuModuleUnload, CJI_CU_ID_cuGraphDestroy,
    CJI_CU_ID_cuGraphExecDestroy, CJI_CU_ID_cuGraphDestroyNode, CJI_CU_ID_cuLinkDestroy, CJI_CU_ID_cuCtxDestroy,
    CJI_CU_ID_cuDevicePrimaryCtxRelease, CJI_CU_ID_cuDevicePrimaryCtxReset, CJI_CU_ID_cuUserObjectRelease,
    CJI_CU_ID_cuArrayDestroy, CJI_CU_ID_cuMipmappedArrayDestroy, CJI_CU_ID_cuTexObjectDestroy,
    CJI_CU_ID_cuSurfObjectDestroy,
};

static const uint16_t wait_rows[] = {
    CJI_CU_ID_cuStreamSynchronize, CJI_CU_ID_cuCtxSynchronize, CJI_CU_ID_cuCtxSynchronize_v2,
    CJI_CU_ID_cuEventSynchronize, CJI_CU_ID_cuStreamQuery, CJI_CU_ID_cuEventQuery,
};

static bool row_in(const uint16_t *rows, size_t n, int id)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i] == id) return true;
    return false;
}

#define ROW_IN(rows, id) row_in(rows, sizeof(rows) / sizeof *(rows), id)
bool cji_rec_is_query(int id) { return ROW_IN(query_rows, id); }
bool cji_rec_is_release(int id) { return ROW_IN(release_rows, id); }
bool cji_rec_is_wait(int id) { return ROW_IN(wait_rows, id); }

/* -- Pieces -------------------------------------------------------------------------------------------------------- */

static uint64_t read_u64(uint64_t pointer)
{
    uint64_t v = 0;
    if (pointer) memcpy(&v, (const void *)(uintptr_t)pointer, sizeof v);
    return v;
}

static void put_plain(cji_rec_build *b, uint64_t value) { cji_rec_put(b, CJI_REC_VALUE, 0, value, 0, 0, NULL, 0); }

static void put_bytes(cji_rec_build *b, uint64_t pointer, size_t n)
{
    if (pointer) cji_rec_put(b, CJI_REC_MEMORY, 0, 0, 0, 0, (const void *)(uintptr_t)pointer, n);
    else put_plain(b, 0);
}

/* Where the driver writes `n` bytes. */
static size_t put_room(cji_rec_build *b, uint64_t pointer, size_t n)
{
    static const char zeros[64];
    if (pointer) return cji_rec_put(b, CJI_REC_MEMORY, 0, 0, 0, 0, zeros, n < sizeof zeros ? n : sizeof zeros);
    put_plain(b, 0);
    return SIZE_MAX;
}

/* Where the driver has written one handle or address. */
static void put_new(cji_rec_build *b, uint64_t pointer, cji_rec_kind kind, unsigned about, uint64_t room)
{
    const size_t at = put_room(b, pointer, 8);
    if (at != SIZE_MAX && b->result == CUDA_SUCCESS)
        cji_rec_put_in(b, at, kind, about, read_u64(pointer), room, 0, NULL, 0);
}

static void put_handles(cji_rec_build *b, uint64_t pointer, size_t count, cji_rec_kind kind, unsigned class)
{
    if (!pointer) {
        put_plain(b, 0);
        return;
    }
    if (count > UINT16_MAX) {
        b->unknown = "it has more than 65535 nodes";
        count = 0;
    }
    const size_t at = cji_rec_put(b, CJI_REC_MEMORY, 0, 0, 0, 0, (const void *)(uintptr_t)pointer, count * 8);
    for (size_t i = 0; i < count; i++)
        cji_rec_put_in(b, at, kind, class, read_u64(pointer + i * 8), 0, i * 8, NULL, 0);
}

/* An address of a pointer to handles, which the driver has written; their number is there. */
static void put_handles_at(cji_rec_build *b, uint64_t pointer, uint64_t number, cji_rec_kind kind, unsigned class)
{
    const size_t at = put_room(b, pointer, 8);
    const uint64_t array = read_u64(pointer), count = read_u64(number);
    if (at == SIZE_MAX || b->result != CUDA_SUCCESS || !array || !count) return;
    cji_rec_put_in(b, at, kind, class, 0, count, 0, (const void *)(uintptr_t)array, count * 8);
}

static int param_named(const cji_cu_row *row, const char *name)
{
    for (int i = 0; i < row->count; i++)
        if (!strcmp(row->param[i].name, name)) return i;
    return -1;
}

static uint64_t named_value(const cji_rec_build *b, const char *name)
{
    const int i = param_named(&cji_cu_rows[b->id], name);
    return i < 0 ? 0 : b->value[i];
}

/* -- Single calls -------------------------------------------------------------------------------------------------- */

enum { REC_LOG = 1024 }; /* room for a compiler's log when the call is repeated */

/* Options of a compiler: numbers in an array of pointers, logs that it writes.  The driver writes to those of
 * cuLinkCreate until the link is destroyed. */
static void put_options(cji_rec_build *b, int which, uint64_t count, uint64_t options, uint64_t values)
{
    const CUjit_option *option = (const void *)(uintptr_t)options;
    if (count > UINT16_MAX || !option || !values) {
        put_plain(b, 0);
        return;
    }
    if (which == 0) {
        cji_rec_put(b, CJI_REC_MEMORY, 2, 0, 0, 0, option, (size_t)count * sizeof *option);
        return;
    }
    const size_t at = cji_rec_put(b, CJI_REC_MEMORY, 2, 0, 0, 0, (const void *)(uintptr_t)values, (size_t)count * 8);
    for (size_t i = 0; i < count; i++) {
        const uint64_t room = REC_LOG;
        if (option[i] == CU_JIT_GLOBAL_SYMBOL_NAMES || option[i] == CU_JIT_GLOBAL_SYMBOL_ADDRESSES)
            b->unknown = "a compiler's option has addresses of symbols";
        if (option[i] == CU_JIT_INFO_LOG_BUFFER || option[i] == CU_JIT_ERROR_LOG_BUFFER)
            cji_rec_put_in(b, at, CJI_REC_TARGET, 1, 0, room, i * 8, NULL, 0);
        /* the driver has overwritten the size by that of the log */
        const bool size =
            option[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES || option[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES;
        if (size && !b->out.failed) memcpy(b->out.p + at + sizeof(cji_rec_arg) + i * 8, &room, sizeof room);
    }
}

/* Whether the rules of single calls have written the argument. */
static bool special_argument(cji_rec_build *b, int i)
{
    const uint64_t *v = b->value, p = v[i];
    switch (b->id) {
    case CJI_CU_ID_cuLaunchKernel:
        if (i == 9)
            return cji_rec_launch_params(b, SIZE_MAX, 0, (CUfunction)(uintptr_t)v[0], (void **)(uintptr_t)p), true;
        if (i == 10) return cji_rec_launch_extra(b, SIZE_MAX, 0, (void **)(uintptr_t)p), true;
        return false;
    case CJI_CU_ID_cuLaunchCooperativeKernel:
        if (i == 9)
            return cji_rec_launch_params(b, SIZE_MAX, 0, (CUfunction)(uintptr_t)v[0], (void **)(uintptr_t)p), true;
        return false;
    case CJI_CU_ID_cuLaunchKernelEx:
        if (i == 2)
            return cji_rec_launch_params(b, SIZE_MAX, 0, (CUfunction)(uintptr_t)v[1], (void **)(uintptr_t)p), true;
        if (i == 3) return cji_rec_launch_extra(b, SIZE_MAX, 0, (void **)(uintptr_t)p), true;
        return false;
    case CJI_CU_ID_cuModuleLoadData:
        return i == 1 && (cji_rec_put_image(b, p), true);
    case CJI_CU_ID_cuModuleLoadDataEx:
        if (i == 1) return cji_rec_put_image(b, p), true;
        return i >= 3 && (put_options(b, i - 3, v[2], v[3], v[4]), true);
    case CJI_CU_ID_cuLinkCreate:
        return (i == 1 || i == 2) && (put_options(b, i - 1, v[0], v[1], v[2]), true);
    case CJI_CU_ID_cuLinkAddData:
        if (i == 2) return put_bytes(b, p, (size_t)v[3]), true;
        return i >= 6 && (put_options(b, i - 6, v[5], v[6], v[7]), true);
    case CJI_CU_ID_cuLinkComplete:
        if (i != 1) return false;
        cji_rec_linked(b);
        return true;
    case CJI_CU_ID_cuMemAlloc: case CJI_CU_ID_cuMemAllocAsync: case CJI_CU_ID_cuMemAllocFromPoolAsync:
    case CJI_CU_ID_cuMemAllocManaged: case CJI_CU_ID_cuMemAddressReserve:
        if (i == 0) return put_new(b, p, CJI_REC_NEW_ADDRESS, b->id == CJI_CU_ID_cuMemAllocManaged, v[1]), true;
        if (b->id == CJI_CU_ID_cuMemAddressReserve && i == 3)
            return cji_rec_put(b, CJI_REC_ADDRESS, 0, p, 1, 0, NULL, 0), true;
        return false;
    case CJI_CU_ID_cuModuleGetGlobal:
        return i == 0 && (put_new(b, p, CJI_REC_NEW_ADDRESS, 0, v[1] ? read_u64(v[1]) : 1), true);
    case CJI_CU_ID_cuMemHostAlloc: case CJI_CU_ID_cuMemAllocHost:
        return i == 0 && (put_new(b, p, CJI_REC_NEW_HOST, 0, v[1]), true);
    case CJI_CU_ID_cuMemFreeHost: case CJI_CU_ID_cuMemHostUnregister:
        return i == 0 && (cji_rec_put(b, CJI_REC_HOST, 0, p, 0, 0, NULL, 0), true);
    case CJI_CU_ID_cuMemHostRegister:
        return i == 0 && (cji_rec_put(b, CJI_REC_REGION, 1, p, v[1], 0, NULL, 0), true);
    case CJI_CU_ID_cuLaunchHostFunc: case CJI_CU_ID_cuStreamAddCallback:
        return i == 2 && (put_plain(b, 0), true);
    case CJI_CU_ID_cuUserObjectCreate:
        return i == 1 && (put_plain(b, 0), true);
    case CJI_CU_ID_cuMemPoolSetAttribute:
        return i == 2 && (put_bytes(b, p, v[1] <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES ? 4 : 8), true);
    case CJI_CU_ID_cuDeviceSetGraphMemAttribute:
        return i == 2 && (put_bytes(b, p, 8), true);
    case CJI_CU_ID_cuPointerSetAttribute:
        return i == 0 && (put_bytes(b, p, 4), true);
    case CJI_CU_ID_cuMemPoolSetAccess:
        return i == 1 && (put_bytes(b, p, (size_t)v[2] * sizeof(CUmemAccessDesc)), true);
    case CJI_CU_ID_cuMemSetAccess:
        return i == 2 && (put_bytes(b, p, (size_t)v[3] * sizeof(CUmemAccessDesc)), true);
    case CJI_CU_ID_cuStreamUpdateCaptureDependencies: case CJI_CU_ID_cuStreamUpdateCaptureDependencies_v2:
        return i == 1 && (put_handles(b, p, (size_t)named_value(b, "numDependencies"), CJI_REC_HANDLE, CJI_HANDLE_NODE),
                          true);
    case CJI_CU_ID_cuStreamGetCaptureInfo: case CJI_CU_ID_cuStreamGetCaptureInfo_v3:
        if (i == 3) return put_new(b, p, CJI_REC_SEEN_HANDLE, CJI_HANDLE_GRAPH, 0), true;
        return i == 4 && (put_handles_at(b, p, named_value(b, "numDependencies_out"), CJI_REC_SEEN_HANDLES,
                                         CJI_HANDLE_NODE), true);
    case CJI_CU_ID_cuModuleEnumerateFunctions:
        return i == 0 && (put_handles(b, p, (size_t)v[1], CJI_REC_SEEN_HANDLE, CJI_HANDLE_FUNCTION), true);
    case CJI_CU_ID_cuModuleGetFunction:
        return i == 0 && (put_new(b, p, CJI_REC_SEEN_HANDLE, CJI_HANDLE_FUNCTION, 0), true);
    case CJI_CU_ID_cuGraphGetNodes: case CJI_CU_ID_cuGraphGetRootNodes:
    case CJI_CU_ID_cuGraphNodeGetDependencies: case CJI_CU_ID_cuGraphNodeGetDependentNodes:
        if (i == 1) return put_handles(b, p, (size_t)read_u64(v[2]), CJI_REC_SEEN_HANDLE, CJI_HANDLE_NODE), true;
        return i == 2 && (put_bytes(b, p, 8), true);
    case CJI_CU_ID_cuGraphChildGraphNodeGetGraph:
        return i == 1 && (put_new(b, p, CJI_REC_SEEN_HANDLE, CJI_HANDLE_GRAPH, 0), true);
    case CJI_CU_ID_cuGraphNodeFindInClone:
        return i == 0 && (put_new(b, p, CJI_REC_SEEN_HANDLE, CJI_HANDLE_NODE, 0), true);
    case CJI_CU_ID_cuDeviceGetDefaultMemPool: case CJI_CU_ID_cuDeviceGetMemPool:
        return i == 0 && (put_new(b, p, CJI_REC_NEW_HANDLE, CJI_HANDLE_POOL, 0), true);
    case CJI_CU_ID_cuCtxPopCurrent:
        put_room(b, p, 8);
        return true;
    case CJI_CU_ID_cuThreadExchangeStreamCaptureMode:
        cji_rec_put(b, CJI_REC_MEMORY, 0, 0, 0, 0, &b->mode, sizeof b->mode); /* the call has overwritten it */
        return true;
    case CJI_CU_ID_cuGraphExecUpdate:
        return i == 2 && (put_room(b, p, 8), true);
    case CJI_CU_ID_cuCtxCreate_v3:
        if (i == 1 && p) b->unknown = "it limits the multiprocessors of a context";
        return i == 1 && (put_plain(b, 0), true);
    case CJI_CU_ID_cuCtxCreate_v4:
        if (i == 1 && p) b->unknown = "it makes a context with parameters";
        return i == 1 && (put_plain(b, 0), true);
    case CJI_CU_ID_cuIpcGetMemHandle: case CJI_CU_ID_cuIpcGetEventHandle: case CJI_CU_ID_cuIpcCloseMemHandle:
    case CJI_CU_ID_cuMemExportToShareableHandle: case CJI_CU_ID_cuMemImportFromShareableHandle:
    case CJI_CU_ID_cuMemPoolExportToShareableHandle: case CJI_CU_ID_cuMemPoolImportFromShareableHandle:
    case CJI_CU_ID_cuMemPoolExportPointer: case CJI_CU_ID_cuMemPoolImportPointer:
        b->unknown = "memory and events of other processes are not in a recording";
        return true;
    case CJI_CU_ID_cuTensorMapEncodeTiled: case CJI_CU_ID_cuTensorMapEncodeIm2col:
    case CJI_CU_ID_cuTensorMapReplaceAddress:
        b->unknown = "a tensor map has a device address inside, which a replay cannot translate";
        return true;
    case CJI_CU_ID_cuMemRetainAllocationHandle:
        return i == 1 && (cji_rec_put(b, CJI_REC_ADDRESS, 0, p, 0, 0, NULL, 0), true);
    case CJI_CU_ID_cuStreamWaitValue32: case CJI_CU_ID_cuStreamWaitValue64:
        if (i == 1) cji_rec_wait_place(b, p);
        return false;
    default: return false;
    }
}

/* -- By type ------------------------------------------------------------------------------------------------------- */

/* A pointer to a type that is not const: the driver writes there. */
static void written_argument(cji_rec_build *b, const cji_cu_param *p, uint64_t v)
{
    const size_t n = strlen(p->type) - 2; /* without " *" */
    const cji_rec_class class = cji_rec_class_of(p->type, n);
    if (class) put_new(b, v, CJI_REC_NEW_HANDLE, class, 0);
    else if (!cji_rec_struct(b, p->type, n, v)) put_room(b, v, 64);
}

static void read_argument(cji_rec_build *b, const cji_cu_param *p, uint64_t v)
{
    const char *type = p->type + 6; /* without "const " */
    const size_t n = strlen(type) - 2;
    const cji_rec_class class = cji_rec_class_of(type, n);
    if (!strcmp(type, "char *")) put_bytes(b, v, v ? strlen((const char *)(uintptr_t)v) + 1 : 0);
    else if (class) put_handles(b, v, (size_t)named_value(b, "numDependencies"), CJI_REC_HANDLE, class);
    else if (!strcmp(type, "CUgraphEdgeData *"))
        put_bytes(b, v, (size_t)named_value(b, "numDependencies") * sizeof(CUgraphEdgeData));
    else if (!cji_rec_struct(b, type, n, v)) {
        if (v) b->unknown = "it has an argument of a type that recordings do not know";
        put_plain(b, v);
    }
}

static void put_argument_by_type(cji_rec_build *b, const cji_cu_param *p, uint64_t v)
{
    const size_t n = strlen(p->type);
    const cji_rec_class class = cji_rec_class_of(p->type, n);
    if (class) cji_rec_put(b, CJI_REC_HANDLE, class, v, 0, 0, NULL, 0);
    else if (!strcmp(p->type, "CUdeviceptr")) cji_rec_put(b, CJI_REC_ADDRESS, 0, v, 0, 0, NULL, 0);
    else if (!strcmp(p->type, "CUhostFn")) cji_rec_put(b, CJI_REC_FUNCTION, CJI_REC_HOST_FN, v, 0, 0, NULL, 0);
    else if (!strcmp(p->type, "CUstreamCallback"))
        cji_rec_put(b, CJI_REC_FUNCTION, CJI_REC_CALLBACK_FN, v, 0, 0, NULL, 0);
    else if (p->type[n - 1] != '*') put_plain(b, v);
    else if (!strncmp(p->type, "const ", 6)) read_argument(b, p, v);
    else written_argument(b, p, v);
}

void cji_rec_arguments(cji_rec_build *b, const cji_rec_copy *copy)
{
    const cji_cu_row *row = &cji_cu_rows[b->id];
    for (int i = 0; i < row->count; i++) {
        const bool side = copy && cji_rec_copy_argument(b, copy, i);
        if (!side && !special_argument(b, i)) put_argument_by_type(b, &row->param[i], b->value[i]);
    }
}
