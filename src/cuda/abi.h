/* The CUDA driver's ABI, declared by ourselves: no cuda.h is needed to build cujit.  Types, fields and constants
 * carry NVIDIA's own
 * names (toolkit 13.0), so that its manual explains them; tests/cuda compares each with a real cuda.h where there is
 * one.
 *
 * Kept here is what the rows of symbols.def take.  A struct that NVIDIA has in several versions has the name of the
 * version that the
 * rows use.  64-bit Linux only: pointers and size_t have 64 bits. */
#ifndef CJI_CUDA_ABI_H
#define CJI_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

#include "cuda/enums.h"

#define CUE(name, value, text) name = value,
typedef enum CUresult {
#include "cuda/errors.def"
    CJI_CU_RESULT_LIMIT = 1000
} CUresult;

/* ---- Handles ----------------------------------------------------------------------------------------------------- */

typedef uint32_t cuuint32_t;
typedef uint64_t cuuint64_t;
typedef unsigned long long CUdeviceptr;
typedef int CUdevice;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUkern_st *CUkernel;
typedef struct CUarray_st *CUarray;
typedef struct CUevent_st *CUevent;
typedef struct CUstream_st *CUstream;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUgraphDeviceUpdatableNode_st *CUgraphDeviceNode;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef struct CUuserObject_st *CUuserObject;
typedef struct CUgreenCtx_st *CUgreenCtx;
typedef struct CUlib_st *CUlibrary;
typedef struct CUlinkState_st *CUlinkState;
typedef cuuint64_t CUgraphConditionalHandle;
typedef struct CUuuid { char bytes[16]; } CUuuid;
typedef struct CUipcEventHandle { char reserved[64]; } CUipcEventHandle;
typedef struct CUipcMemHandle { char reserved[64]; } CUipcMemHandle;
typedef struct CUmemPoolPtrExportData { unsigned char reserved[64]; } CUmemPoolPtrExportData;

typedef void (*CUhostFn)(void *userData);
typedef void (*CUstreamCallback)(CUstream hStream, CUresult status, void *userData);
typedef size_t (*CUoccupancyB2DSize)(int blockSize);

#define CU_STREAM_LEGACY ((CUstream)0x1)
#define CU_STREAM_PER_THREAD ((CUstream)0x2)
#define CU_DEVICE_CPU ((CUdevice)-1)
#define CU_DEVICE_INVALID ((CUdevice)-2)
#define CU_MEMHOSTALLOC_PORTABLE 0x01
#define CU_MEMHOSTALLOC_DEVICEMAP 0x02
#define CU_MEMHOSTALLOC_WRITECOMBINED 0x04
#define CU_MEMHOSTREGISTER_PORTABLE 0x01
#define CU_MEMHOSTREGISTER_DEVICEMAP 0x02
#define CU_MEMHOSTREGISTER_IOMEMORY 0x04
#define CU_MEMHOSTREGISTER_READ_ONLY 0x08
#define CU_LAUNCH_PARAM_END ((void *)0x00)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *)0x01)
#define CU_LAUNCH_PARAM_BUFFER_SIZE ((void *)0x02)
#define CU_GRAPH_COND_ASSIGN_DEFAULT 0x1
#define CU_GRAPH_KERNEL_NODE_PORT_DEFAULT 0
#define CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC 1
#define CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER 2

/* ---- Devices ----------------------------------------------------------------------------------------------------- */

typedef struct CUdevprop {
    int maxThreadsPerBlock;
    int maxThreadsDim[3], maxGridSize[3];
    int sharedMemPerBlock, totalConstantMemory; /* bytes */
    int SIMDWidth, memPitch, regsPerBlock;
    int clockRate; /* kHz */
    int textureAlign;
} CUdevprop;

/* ---- Contexts ---------------------------------------------------------------------------------------------------- */

typedef struct CUexecAffinityParam {
    CUexecAffinityType type;
    union { struct { unsigned int val; } smCount; } param;
} CUexecAffinityParam;

typedef struct CUctxCigParam {
    CUcigDataType sharedDataType;
    void *sharedData;
} CUctxCigParam;

typedef struct CUctxCreateParams {
    CUexecAffinityParam *execAffinityParams; /* numExecAffinityParams of them, or NULL */
    int numExecAffinityParams;
    CUctxCigParam *cigParams; /* or NULL */
} CUctxCreateParams;

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

typedef struct CUDA_MEMCPY2D {
    size_t srcXInBytes, srcY;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    size_t srcPitch; /* bytes */
    size_t dstXInBytes, dstY;
    CUmemorytype dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    size_t dstPitch;
    size_t WidthInBytes, Height;
} CUDA_MEMCPY2D;

typedef struct CUDA_MEMCPY3D {
    size_t srcXInBytes, srcY, srcZ, srcLOD;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    void *reserved0; /* NULL */
    size_t srcPitch, srcHeight;
    size_t dstXInBytes, dstY, dstZ, dstLOD;
    CUmemorytype dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    void *reserved1; /* NULL */
    size_t dstPitch, dstHeight;
    size_t WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D;

typedef struct CUDA_MEMCPY3D_PEER {
    size_t srcXInBytes, srcY, srcZ, srcLOD;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    CUcontext srcContext;
    size_t srcPitch, srcHeight;
    size_t dstXInBytes, dstY, dstZ, dstLOD;
    CUmemorytype dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    CUcontext dstContext;
    size_t dstPitch, dstHeight;
    size_t WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D_PEER;

/* ---- Pools ------------------------------------------------------------------------------------------------------- */

typedef struct CUmemLocation {
    CUmemLocationType type;
    int id;
} CUmemLocation;

typedef struct CUmemAccessDesc {
    CUmemLocation location;
    CUmemAccess_flags flags;
} CUmemAccessDesc;

typedef struct CUmemPoolProps {
    CUmemAllocationType allocType;
    CUmemAllocationHandleType handleTypes;
    CUmemLocation location;
    void *win32SecurityAttributes;
    size_t maxSize;
    unsigned short usage;
    unsigned char reserved[54]; /* zero */
} CUmemPoolProps;

#include "cuda/abi_memory.h"

/* ---- Launches ---------------------------------------------------------------------------------------------------- */

typedef struct CUaccessPolicyWindow {
    void *base_ptr;
    size_t num_bytes;
    float hitRatio;
    CUaccessProperty hitProp, missProp;
} CUaccessPolicyWindow;

typedef struct CUlaunchMemSyncDomainMap {
    unsigned char default_, remote;
} CUlaunchMemSyncDomainMap;

typedef union CUlaunchAttributeValue {
    char pad[64];
    CUaccessPolicyWindow accessPolicyWindow;
    int cooperative;
    CUsynchronizationPolicy syncPolicy;
    struct { unsigned int x, y, z; } clusterDim;
    CUclusterSchedulingPolicy clusterSchedulingPolicyPreference;
    int programmaticStreamSerializationAllowed;
    struct { CUevent event; int flags; int triggerAtBlockStart; } programmaticEvent;
    struct { CUevent event; int flags; } launchCompletionEvent;
    int priority;
    CUlaunchMemSyncDomainMap memSyncDomainMap;
    CUlaunchMemSyncDomain memSyncDomain;
    struct { unsigned int x, y, z; } preferredClusterDim;
    struct { int deviceUpdatable; CUgraphDeviceNode devNode; } deviceUpdatableKernelNode;
    unsigned int sharedMemCarveout;
    unsigned int nvlinkUtilCentricScheduling;
} CUlaunchAttributeValue;

typedef CUlaunchAttributeID CUstreamAttrID;
typedef CUlaunchAttributeID CUkernelNodeAttrID;
typedef CUlaunchAttributeValue CUstreamAttrValue;
typedef CUlaunchAttributeValue CUkernelNodeAttrValue;

typedef struct CUlaunchAttribute {
    CUlaunchAttributeID id;
    char pad[8 - sizeof(CUlaunchAttributeID)];
    CUlaunchAttributeValue value;
} CUlaunchAttribute;

typedef struct CUlaunchConfig {
    unsigned int gridDimX, gridDimY, gridDimZ;
    unsigned int blockDimX, blockDimY, blockDimZ;
    unsigned int sharedMemBytes;
    CUstream hStream;
    CUlaunchAttribute *attrs; /* numAttrs of them */
    unsigned int numAttrs;
} CUlaunchConfig;

/* ---- Memory operations in streams -------------------------------------------------------------------------------- */

typedef union CUstreamBatchMemOpParams {
    CUstreamBatchMemOpType operation;
    struct CUstreamMemOpValueParams {
        CUstreamBatchMemOpType operation;
        CUdeviceptr address;
        union { cuuint32_t value; cuuint64_t value64; };
        unsigned int flags;
        CUdeviceptr alias;
    } waitValue, writeValue;
    struct CUstreamMemOpFlagParams {
        CUstreamBatchMemOpType operation;
        unsigned int flags;
    } flushRemoteWrites, memoryBarrier;
    cuuint64_t pad[6];
} CUstreamBatchMemOpParams;

/* ---- Graph nodes ------------------------------------------------------------------------------------------------- */

typedef struct CUDA_KERNEL_NODE_PARAMS_v1 {
    CUfunction func;
    unsigned int gridDimX, gridDimY, gridDimZ;
    unsigned int blockDimX, blockDimY, blockDimZ;
    unsigned int sharedMemBytes;
    void **kernelParams;
    void **extra;
} CUDA_KERNEL_NODE_PARAMS_v1;

typedef struct CUDA_KERNEL_NODE_PARAMS_v2 {
    CUfunction func;
    unsigned int gridDimX, gridDimY, gridDimZ;
    unsigned int blockDimX, blockDimY, blockDimZ;
    unsigned int sharedMemBytes;
    void **kernelParams;
    void **extra;
    CUkernel kern; /* used when func is NULL */
    CUcontext ctx; /* with kern */
} CUDA_KERNEL_NODE_PARAMS_v2;

typedef struct CUDA_MEMCPY_NODE_PARAMS {
    int flags, reserved; /* zero */
    CUcontext copyCtx;
    CUDA_MEMCPY3D copyParams;
} CUDA_MEMCPY_NODE_PARAMS;

typedef struct CUDA_MEMSET_NODE_PARAMS {
    CUdeviceptr dst;
    size_t pitch;
    unsigned int value, elementSize;
    size_t width, height;
} CUDA_MEMSET_NODE_PARAMS;

typedef struct CUDA_MEMSET_NODE_PARAMS_v2 {
    CUdeviceptr dst;
    size_t pitch;
    unsigned int value, elementSize;
    size_t width, height;
    CUcontext ctx;
} CUDA_MEMSET_NODE_PARAMS_v2;

typedef struct CUDA_HOST_NODE_PARAMS {
    CUhostFn fn;
    void *userData;
} CUDA_HOST_NODE_PARAMS;

typedef struct CUDA_BATCH_MEM_OP_NODE_PARAMS {
    CUcontext ctx;
    unsigned int count;
    CUstreamBatchMemOpParams *paramArray;
    unsigned int flags;
} CUDA_BATCH_MEM_OP_NODE_PARAMS;

typedef struct CUDA_MEM_ALLOC_NODE_PARAMS {
    CUmemPoolProps poolProps;
    const CUmemAccessDesc *accessDescs;
    size_t accessDescCount;
    size_t bytesize;
    CUdeviceptr dptr; /* out */
} CUDA_MEM_ALLOC_NODE_PARAMS;

typedef struct CUDA_MEM_FREE_NODE_PARAMS { CUdeviceptr dptr; } CUDA_MEM_FREE_NODE_PARAMS;
typedef struct CUDA_EVENT_RECORD_NODE_PARAMS { CUevent event; } CUDA_EVENT_RECORD_NODE_PARAMS;
typedef struct CUDA_EVENT_WAIT_NODE_PARAMS { CUevent event; } CUDA_EVENT_WAIT_NODE_PARAMS;

typedef struct CUDA_CHILD_GRAPH_NODE_PARAMS {
    CUgraph graph;
    CUgraphChildGraphNodeOwnership ownership;
} CUDA_CHILD_GRAPH_NODE_PARAMS;

typedef struct CUDA_CONDITIONAL_NODE_PARAMS {
    CUgraphConditionalHandle handle;
    CUgraphConditionalNodeType type;
    unsigned int size;    /* graphs: 1, for IF 1 or 2 */
    CUgraph *phGraph_out; /* out: size of them */
    CUcontext ctx;
} CUDA_CONDITIONAL_NODE_PARAMS;

typedef struct CUgraphNodeParams {
    CUgraphNodeType type;
    int reserved0[3];
    union {
        long long reserved1[29];
        CUDA_KERNEL_NODE_PARAMS_v2 kernel;
        CUDA_MEMCPY_NODE_PARAMS memcpy;
        CUDA_MEMSET_NODE_PARAMS_v2 memset;
        CUDA_HOST_NODE_PARAMS host;
        CUDA_CHILD_GRAPH_NODE_PARAMS graph;
        CUDA_EVENT_WAIT_NODE_PARAMS eventWait;
        CUDA_EVENT_RECORD_NODE_PARAMS eventRecord;
        CUDA_MEM_ALLOC_NODE_PARAMS alloc;
        CUDA_MEM_FREE_NODE_PARAMS free;
        CUDA_BATCH_MEM_OP_NODE_PARAMS memOp;
        CUDA_CONDITIONAL_NODE_PARAMS conditional;
    };
    long long reserved2;
} CUgraphNodeParams;

typedef struct CUgraphEdgeData {
    unsigned char from_port, to_port;
    unsigned char type; /* CUgraphDependencyType */
    unsigned char reserved[5];
} CUgraphEdgeData;

typedef struct CUDA_GRAPH_INSTANTIATE_PARAMS {
    cuuint64_t flags;
    CUstream hUploadStream;
    CUgraphNode hErrNode_out;
    CUgraphInstantiateResult result_out;
} CUDA_GRAPH_INSTANTIATE_PARAMS;

typedef struct CUgraphExecUpdateResultInfo {
    CUgraphExecUpdateResult result;
    CUgraphNode errorNode, errorFromNode;
} CUgraphExecUpdateResultInfo;

/* ---- Taking a row's parameter list apart ------------------------------------------------------------------------- */

/* CJI_CU_DECL(2, (int, a, char *, b))     int a, char *b       void for none
 * CJI_CU_NAMES(2, (int, a, char *, b))    a, b
 * CJI_CU_EACH(2, M, (int, a, char *, b))  M(int, a) M(char *, b) */
#define CJI_CU_DECL(n, list) CJI_CU_PASTE(CJI_CU_DECL_, n) list
#define CJI_CU_NAMES(n, list) CJI_CU_PASTE(CJI_CU_NAMES_, n) list
#define CJI_CU_EACH(n, M, list) CJI_CU_APPLY(CJI_CU_PASTE(CJI_CU_EACH_, n), M, CJI_CU_OPEN list)
#define CJI_CU_PASTE(a, b) CJI_CU_PASTE_(a, b)
#define CJI_CU_PASTE_(a, b) a##b
#define CJI_CU_OPEN(...) __VA_ARGS__
#define CJI_CU_APPLY(F, ...) CJI_CU_APPLY_(F, __VA_ARGS__)
#define CJI_CU_APPLY_(F, ...) F(__VA_ARGS__)

#define CJI_CU_DECL_0() void
#define CJI_CU_DECL_1(T, a) T a
#define CJI_CU_NAMES_0()
#define CJI_CU_NAMES_1(T, a) a
#define CJI_CU_EACH_0(M, ...)
#define CJI_CU_EACH_1(M, T, a) M(T, a)
#define CJI_CU_DECL_2(T, a, ...) T a, CJI_CU_DECL_1(__VA_ARGS__)
#define CJI_CU_DECL_3(T, a, ...) T a, CJI_CU_DECL_2(__VA_ARGS__)
#define CJI_CU_DECL_4(T, a, ...) T a, CJI_CU_DECL_3(__VA_ARGS__)
#define CJI_CU_DECL_5(T, a, ...) T a, CJI_CU_DECL_4(__VA_ARGS__)
#define CJI_CU_DECL_6(T, a, ...) T a, CJI_CU_DECL_5(__VA_ARGS__)
#define CJI_CU_DECL_7(T, a, ...) T a, CJI_CU_DECL_6(__VA_ARGS__)
#define CJI_CU_DECL_8(T, a, ...) T a, CJI_CU_DECL_7(__VA_ARGS__)
#define CJI_CU_DECL_9(T, a, ...) T a, CJI_CU_DECL_8(__VA_ARGS__)
#define CJI_CU_DECL_10(T, a, ...) T a, CJI_CU_DECL_9(__VA_ARGS__)
#define CJI_CU_DECL_11(T, a, ...) T a, CJI_CU_DECL_10(__VA_ARGS__)
#define CJI_CU_DECL_12(T, a, ...) T a, CJI_CU_DECL_11(__VA_ARGS__)
#define CJI_CU_DECL_13(T, a, ...) T a, CJI_CU_DECL_12(__VA_ARGS__)
#define CJI_CU_DECL_14(T, a, ...) T a, CJI_CU_DECL_13(__VA_ARGS__)
#define CJI_CU_DECL_15(T, a, ...) T a, CJI_CU_DECL_14(__VA_ARGS__)
#define CJI_CU_NAMES_2(T, a, ...) a, CJI_CU_NAMES_1(__VA_ARGS__)
#define CJI_CU_NAMES_3(T, a, ...) a, CJI_CU_NAMES_2(__VA_ARGS__)
#define CJI_CU_NAMES_4(T, a, ...) a, CJI_CU_NAMES_3(__VA_ARGS__)
#define CJI_CU_NAMES_5(T, a, ...) a, CJI_CU_NAMES_4(__VA_ARGS__)
#define CJI_CU_NAMES_6(T, a, ...) a, CJI_CU_NAMES_5(__VA_ARGS__)
#define CJI_CU_NAMES_7(T, a, ...) a, CJI_CU_NAMES_6(__VA_ARGS__)
#define CJI_CU_NAMES_8(T, a, ...) a, CJI_CU_NAMES_7(__VA_ARGS__)
#define CJI_CU_NAMES_9(T, a, ...) a, CJI_CU_NAMES_8(__VA_ARGS__)
#define CJI_CU_NAMES_10(T, a, ...) a, CJI_CU_NAMES_9(__VA_ARGS__)
#define CJI_CU_NAMES_11(T, a, ...) a, CJI_CU_NAMES_10(__VA_ARGS__)
#define CJI_CU_NAMES_12(T, a, ...) a, CJI_CU_NAMES_11(__VA_ARGS__)
#define CJI_CU_NAMES_13(T, a, ...) a, CJI_CU_NAMES_12(__VA_ARGS__)
#define CJI_CU_NAMES_14(T, a, ...) a, CJI_CU_NAMES_13(__VA_ARGS__)
#define CJI_CU_NAMES_15(T, a, ...) a, CJI_CU_NAMES_14(__VA_ARGS__)
#define CJI_CU_EACH_2(M, T, a, ...) M(T, a) CJI_CU_EACH_1(M, __VA_ARGS__)
#define CJI_CU_EACH_3(M, T, a, ...) M(T, a) CJI_CU_EACH_2(M, __VA_ARGS__)
#define CJI_CU_EACH_4(M, T, a, ...) M(T, a) CJI_CU_EACH_3(M, __VA_ARGS__)
#define CJI_CU_EACH_5(M, T, a, ...) M(T, a) CJI_CU_EACH_4(M, __VA_ARGS__)
#define CJI_CU_EACH_6(M, T, a, ...) M(T, a) CJI_CU_EACH_5(M, __VA_ARGS__)
#define CJI_CU_EACH_7(M, T, a, ...) M(T, a) CJI_CU_EACH_6(M, __VA_ARGS__)
#define CJI_CU_EACH_8(M, T, a, ...) M(T, a) CJI_CU_EACH_7(M, __VA_ARGS__)
#define CJI_CU_EACH_9(M, T, a, ...) M(T, a) CJI_CU_EACH_8(M, __VA_ARGS__)
#define CJI_CU_EACH_10(M, T, a, ...) M(T, a) CJI_CU_EACH_9(M, __VA_ARGS__)
#define CJI_CU_EACH_11(M, T, a, ...) M(T, a) CJI_CU_EACH_10(M, __VA_ARGS__)
#define CJI_CU_EACH_12(M, T, a, ...) M(T, a) CJI_CU_EACH_11(M, __VA_ARGS__)
#define CJI_CU_EACH_13(M, T, a, ...) M(T, a) CJI_CU_EACH_12(M, __VA_ARGS__)
#define CJI_CU_EACH_14(M, T, a, ...) M(T, a) CJI_CU_EACH_13(M, __VA_ARGS__)
#define CJI_CU_EACH_15(M, T, a, ...) M(T, a) CJI_CU_EACH_14(M, __VA_ARGS__)

/* ---- The table of function pointers ------------------------------------------------------------------------------ */

#define CU(name, export, version, need, count, list) typedef CUresult (*cji_PFN_##name)(CJI_CU_DECL(count, list));
#include "cuda/symbols.def"

typedef struct cji_cu {
#define CU(name, export, version, need, count, list) cji_PFN_##name name;
#include "cuda/symbols.def"
} cji_cu;

/* Those of byvalue.def; NULL where the driver has none. */
#define CU(name, export, version, count, list) typedef CUresult (*cji_PFN_##name)(CJI_CU_DECL(count, list));
#include "cuda/byvalue.def"

typedef struct cji_cu_by_value {
#define CU(name, export, version, count, list) cji_PFN_##name name;
#include "cuda/byvalue.def"
} cji_cu_by_value;

#endif
