/* Rows of cuda/symbols.def that the CPU device does not have yet: neither exported nor found by cuGetProcAddress.  A row that is done
 * loses its line here. */
#ifndef CJI_SIM_LACKS_H
#define CJI_SIM_LACKS_H

#define SD_LACKS_cuDeviceGraphMemTrim ~, 1,
#define SD_LACKS_cuDeviceGetGraphMemAttribute ~, 1,
#define SD_LACKS_cuDeviceSetGraphMemAttribute ~, 1,
#define SD_LACKS_cuMemRangeGetAttribute ~, 1,
#define SD_LACKS_cuIpcGetEventHandle ~, 1,
#define SD_LACKS_cuGraphAddBatchMemOpNode ~, 1,
#define SD_LACKS_cuGraphAddMemAllocNode ~, 1,
#define SD_LACKS_cuGraphMemAllocNodeGetParams ~, 1,
#define SD_LACKS_cuGraphAddMemFreeNode ~, 1,
#define SD_LACKS_cuGraphMemFreeNodeGetParams ~, 1,
#define SD_LACKS_cuGraphConditionalHandleCreate ~, 1,
#define SD_LACKS_cuGraphExecChildGraphNodeSetParams ~, 1,
#define SD_LACKS_cuUserObjectCreate ~, 1,
#define SD_LACKS_cuUserObjectRetain ~, 1,
#define SD_LACKS_cuUserObjectRelease ~, 1,
#define SD_LACKS_cuGraphRetainUserObject ~, 1,
#define SD_LACKS_cuGraphReleaseUserObject ~, 1,

#endif
