/* cujit/memory.h - device memory, pinned and managed host memory, memory between processes.
 *
 *     cj_dptr d = cj_alloc(s, bytes);     ... cj_launch(s, k, dims, d) ...     cj_free(dev, d);
 *
 * A cj_dptr is an address in device memory.  The device keeps a table of its allocations, so an
 * address alone is enough to use, check and free one.  The stream that is passed to an allocating
 * call becomes the allocation's *home stream*.  copy.h copies and fills memory.
 *
 * Lifetime.  cj_free may be called while work that uses the memory is still running.  The memory is
 * released once that work has completed: the release is *deferred*.  For that, cujit must know
 * which streams and graphs use the memory:
 *   work on the home stream         is known
 *   copies and fills                are known on every stream
 *   kernels on another stream       are not known: call cj_stream_use
 *   graphs                          keep alive what graph.h lists under Lifetime
 *
 * Threads.  Any thread.  The caller's current CUDA context is the same after a call as before it.
 *
 * Errors.  A call with a stream leaves its failure in the stream.  Other calls leave it in their
 * device, or in the object that they have in place of one.
 */
#ifndef CUJIT_MEMORY_H
#define CUJIT_MEMORY_H

#include <cujit/driver.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Device memory ---------------------------------------------------------------------------
 *
 * cj_alloc takes memory from chunks, which cujit allocates from the driver's pool and keeps.  A
 * freed block is cached in the free list of its home stream, and cj_alloc on that stream reuses it
 * at once, without a driver call.  Another stream reuses it when all work that was enqueued on the
 * home stream before the free has completed.  If it has not, the other stream waits for it on the
 * device, but only where more memory is cached than is in use, or where the driver or max_total
 * allows no more memory.  Memory of more than 16 MiB, or of more than half a chunk, is allocated
 * and freed by the driver's pool.  See cj_device_set_allocator. */

/* Allocates `bytes` > 0 of device memory in the order of `s`, which becomes its home stream.
 * Work enqueued on `s` later may use it at once.  Another stream may use it after cj_stream_wait
 * for an event of `s`, or after cj_stream_fork from `s`.
 * The contents are undefined.  The address is a multiple of 256.
 * Owned by the caller, free with cj_free.  Returns at once.
 *
 * While `s` is capturing, the memory is for the graph, which keeps it alive: nothing else gets it
 * while the graph or an executable graph of it exists.  cj_free in the same capture allows later
 * calls for the same stream in that capture to reuse it, unless another stream uses it too.
 * cj_graph_mem_alloc in contrast gives memory that the graph allocates when it runs.
 *
 * Returns { 0 } on failure.  Errors, left in `s`:
 *   CJ_EINVAL: `bytes` is 0
 *   CJ_ESTATE: `s` is captured by other code, or the allocator is the driver's and `s` is capturing
 *   CJ_ENOMEM: device or host memory is exhausted, or max_total is reached
 *   CJ_EDRIVER: the driver rejects the call
 * cuMemAllocAsync, CUDA 11.2. */
CJ_API cj_dptr cj_alloc(cj_stream *s, size_t bytes);

/* Where cj_alloc takes memory from. */
typedef enum cj_allocator_source {
    CJ_ALLOCATOR_DEFAULT = 0, /* CUJIT_ALLOCATOR of the environment, else CJ_ALLOCATOR_CUJIT */
    CJ_ALLOCATOR_CUJIT = 1,   /* blocks of chunks */
    CJ_ALLOCATOR_DRIVER = 2   /* each allocation from the driver's pool */
} cj_allocator_source;

typedef struct cj_allocator_opts {
    size_t size;          /* sizeof(cj_allocator_opts) */
    int32_t source;       /* a cj_allocator_source */
    int32_t poison;       /* 1: freed memory is filled with bytes 0xDD behind its last use, so that
                           * a later use is noticed; so is it with CUJIT_POISON=1 */
    uint64_t chunk_bytes; /* of a chunk, rounded up to 2 MiB, at most 1 GiB; 0: 32 MiB */
    uint64_t max_cached;  /* unused chunks are released while more is cached; 0: no limit */
    uint64_t max_total;   /* bytes that cj_alloc holds from the driver at most; 0: no limit */
} cj_allocator_opts;

/* Fills `opts` with its size and the defaults.  `opts`: May be NULL. */
CJ_API void cj_allocator_defaults(cj_allocator_opts *opts);

/* Chooses how cj_alloc works on the device from now on.  Memory that is allocated already stays as
 * it is.  `opts`: May be NULL, for the defaults.  Copied.  Returns at once.
 * Errors, left in `dev`:
 *   CJ_EINVAL: an option is out of range, or opts->size is wrong
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_status cj_device_set_allocator(cj_device *dev, const cj_allocator_opts *opts);

/* Returns cached memory to the driver: chunks of which no block is in use, until at most `keep`
 * bytes are cached.  Does not wait: blocks whose last use has not completed stay.  Does nothing
 * while a stream of the device is capturing.  Returns how many bytes were released.
 * cuMemFreeAsync. */
CJ_API size_t cj_device_trim(cj_device *dev, size_t keep);

/* What cj_alloc did and holds.  Of a stream: of memory whose home it is; fields from room_bytes on
 * are then 0, but cached_bytes. */
typedef struct cj_alloc_counts {
    size_t size;              /* sizeof(cj_alloc_counts) */
    uint64_t live, live_bytes; /* allocations that are not freed; bytes as requested */
    uint64_t live_bytes_most; /* the largest value of live_bytes so far */
    uint64_t allocs, frees;   /* calls that succeeded */
    uint64_t hits_own;        /* allocations from the stream's own free list */
    uint64_t hits_idle;       /* from memory that no work used any more */
    uint64_t hits_waited;     /* from another stream's free list, behind its work */
    uint64_t misses;          /* for which the driver allocated */
    uint64_t waits;           /* waits for other streams that were enqueued */
    uint64_t room_bytes;      /* of allocations that are not freed, with rounding */
    uint64_t cached_bytes;    /* in chunks, and free */
    uint64_t idle_bytes;      /* of these, that any stream gets without waiting */
    uint64_t deferred_bytes;  /* freed, and still used by other streams, or kept by graphs */
    uint64_t total_bytes;     /* held from the driver */
    uint64_t total_bytes_most; /* the largest value of total_bytes so far */
    uint64_t chunks, chunks_made;
    uint64_t trimmed_bytes;   /* returned to the driver so far */
    uint64_t idle_blocks, largest_idle; /* pieces of idle_bytes; bytes of the largest */
    double fragmentation;     /* 1 - largest_idle / idle_bytes; 0 if nothing is idle */
} cj_alloc_counts;

/* Fills `counts` with its size and zeros. */
CJ_API void cj_alloc_counts_defaults(cj_alloc_counts *counts);

/* Fills *counts, up to counts->size bytes.  Returns at once.
 * Errors, left in the first argument:
 *   CJ_EINVAL: `counts` is NULL, or its size is not set */
CJ_API cj_status cj_device_get_alloc_counts(cj_device *dev, cj_alloc_counts *counts);
CJ_API cj_status cj_stream_get_alloc_counts(cj_stream *s, cj_alloc_counts *counts);

/* Writes a report of fragmentation to `text`, a buffer of `size` bytes: a line for the device, and
 * one for each chunk.  The text ends with 0 and is cut where it is full.  `text`: May be NULL, if
 * `size` is 0.  Returns the length of the whole report; 0 on failure.
 * Errors, left in `dev`:
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API size_t cj_device_alloc_report(cj_device *dev, char *text, size_t size);

/* Makes device memory that other code allocated known to cujit: `bytes` > 0 from `d` on, in the
 * context of the stream's device.  `s` becomes its home stream.  Copies and fills then check their
 * ranges against it.  Graphs and cj_stream_use record its uses.
 *
 * cj_free forgets the memory and does not free it.  Its owner may free it when all work that uses
 * it has completed and all graphs and execs that use it are gone.  To find out, free these and call
 * cj_free: it is so when cj_device_collect then returns 0.
 * Returns at once.
 * Errors, left in `s`:
 *   CJ_EINVAL: `d` is { 0 }, `bytes` is 0, or the range ends beyond the address space
 *   CJ_ESTATE: the range overlaps a known allocation, or `s` is capturing
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_status cj_mem_wrap(cj_stream *s, cj_dptr d, size_t bytes);

/* Frees memory of cj_alloc, cj_managed_alloc, cj_ipc_alloc, cj_ipc_import, cj_graph_mem_alloc,
 * cj_mem_pool_alloc or cj_mem_pool_import_mem.  Forgets memory of cj_mem_wrap.  { 0 } is ignored.
 *
 * The memory is released when all work that was enqueued before this call on the streams that use
 * it has completed, and no graph keeps it alive.  These streams are its home stream, streams with
 * copies or fills of it, and streams that were passed to cj_stream_use.
 * Memory of cj_graph_mem_alloc is free until the next launch that allocates it (graph.h).
 *
 * Returns at once for memory of cj_alloc, cj_mem_wrap, cj_graph_mem_alloc and of pools.  Other
 * memory is released by cuMemFree or cuIpcCloseMemHandle, which may block until the device is idle.
 * cj_free makes that driver call if all work has completed, else a later call of cujit on the
 * device does.
 * Errors, left in `dev`:
 *   CJ_ENOTFOUND: `d` is not the start of an allocation of this device, or was freed before
 *   CJ_ESTATE: memory of a graph that is not allocated now, or that the graph frees itself
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: the driver rejects the release, which is then deferred; left in the home stream too
 * cuMemFreeAsync, CUDA 11.2. */
CJ_API cj_status cj_free(cj_device *dev, cj_dptr d);

/* Records that work on `s` uses the allocation that holds `d`.  The release by cj_free then waits
 * for that work too.  Needed for kernels on a stream that is not the home stream.  Returns at once.
 *
 * The allocation is looked up in all open devices of the stream's driver, the stream's own first.
 *   `s` is of the memory's device    all work enqueued on `s` before cj_free is covered, whether it
 *                                    is enqueued before or after this call
 *   `s` is of another device         only work enqueued on `s` before this call is covered
 *
 * While `s` is capturing, the graph keeps the allocation alive.  cj_dptr arguments of its kernels
 * need no call.  Addresses that are stored in memory or passed in another form do.
 * Errors, left in `s`:
 *   CJ_ENOTFOUND: no allocation of an open device holds `d`
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: the driver rejects a call */
CJ_API cj_status cj_stream_use(cj_stream *s, cj_dptr d);

/* Returns 1 if work on `s` is known to use the allocation that holds `d`, so that its release waits
 * for that work: `s` is its home stream, or a copy, a fill or cj_stream_use has noted the use.
 * With more than 64 streams of a device, streams share this knowledge.  Else returns 0, and for
 * memory that is not known.  Returns at once. */
CJ_API int cj_stream_uses(cj_stream *s, cj_dptr d);

/* Records that work before the recorded point of `e` uses the allocation that holds `d`: work of a
 * stream that cujit does not know, for example.  Its release then waits for that point, also if `e`
 * is recorded again.  Returns at once.
 * Errors, left in `e`:
 *   CJ_ENOTFOUND: no allocation of an open device holds `d`
 *   CJ_ESTATE: the event was last recorded in a capture
 *   CJ_ENOMEM: memory is exhausted
 *   CJ_EDRIVER: the driver rejects a call
 * cuStreamWaitEvent. */
CJ_API cj_status cj_event_use(cj_event *e, cj_dptr d);

/* Returns CJ_OK if the release of the allocation that holds `d` would wait for nothing now: all
 * work that was enqueued so far on the streams that are known to use it has completed, and no graph
 * keeps it alive.  Else returns CJ_ENOTREADY.  Returns at once.
 * Errors, left in `dev`:
 *   CJ_ENOTFOUND: no allocation of an open device holds `d` */
CJ_API cj_status cj_mem_query(cj_device *dev, cj_dptr d);

/* Forgets the recorded uses of the allocation that holds `d`: its release waits for its home stream
 * only.  The caller has waited for the other work.  Returns at once.
 * Errors, left in `dev`:
 *   CJ_ENOTFOUND: no allocation of an open device holds `d` */
CJ_API cj_status cj_mem_forget(cj_device *dev, cj_dptr d);

/* Frees, as cj_free, all memory whose home stream is `s`, except that of graphs.  Call it before
 * cj_stream_free where nobody else has the addresses.  Returns how many allocations it freed. */
CJ_API size_t cj_stream_free_all(cj_stream *s);

/* Runs all deferred releases of the device that are possible now, and returns idle memory of copies
 * and graphs to the driver.  Does not wait for work that is still running.  The release of managed
 * memory and of memory between processes may block until the device is idle (cj_free).
 * Returns how many releases are still deferred. */
CJ_API size_t cj_device_collect(cj_device *dev);

/* ---- What memory an address is in ------------------------------------------------------------ */

typedef enum cj_mem_kind {
    CJ_MEM_KIND_POOL = 1,         /* cj_alloc, cj_mem_pool_alloc */
    CJ_MEM_KIND_MANAGED = 2,      /* cj_managed_alloc, or managed memory of other code */
    CJ_MEM_KIND_IPC = 3,          /* cj_ipc_alloc */
    CJ_MEM_KIND_IPC_IMPORTED = 4, /* cj_ipc_import, cj_mem_pool_import_mem */
    CJ_MEM_KIND_GRAPH = 5,        /* cj_graph_mem_alloc */
    CJ_MEM_KIND_HOST = 6,         /* page-locked host memory, of cj_host_alloc or other code */
    CJ_MEM_KIND_FOREIGN = 7,      /* device memory that other code allocated */
    CJ_MEM_KIND_WRAPPED = 8,      /* cj_mem_wrap */
    CJ_MEM_KIND_VIRTUAL = 9       /* the committed part of a cj_vmem */
} cj_mem_kind;

typedef struct cj_mem_info {
    size_t size;       /* sizeof(cj_mem_info) */
    int32_t kind;      /* a cj_mem_kind */
    cj_dptr base;      /* where the allocation begins */
    size_t bytes;      /* of the allocation */
    cj_stream *home;   /* its home stream; NULL if that was freed, or the kind has none */
    cj_device *device; /* whose memory it is; NULL if that device is not open */
} cj_mem_info;

/* Fills `info` with its size and zeros. */
CJ_API void cj_mem_info_defaults(cj_mem_info *info);

/* Fills *info, up to info->size bytes, with the allocation that holds `d`, any address.  It is
 * looked up in all open devices of the driver of `dev`, then by the driver.  `home` and `device`
 * are Borrowed until cj_stream_free and cj_device_close.  Returns at once.  Any thread.
 * Errors, left in `dev`:
 *   CJ_EINVAL: `info` is NULL, or its size is not set
 *   CJ_ENOTFOUND: `d` is in no memory that the driver knows
 * cuPointerGetAttributes. */
CJ_API cj_status cj_mem_get_info(cj_device *dev, cj_dptr d, cj_mem_info *info);

/* ---- Pinned host memory ---------------------------------------------------------------------- */

typedef struct cj_host_opts {
    size_t size;            /* sizeof(cj_host_opts) */
    int32_t write_combined; /* 1: fast to upload from, very slow for the host to read
                             * (CU_MEMHOSTALLOC_WRITECOMBINED) */
    int32_t mapped;         /* 1: requests CU_MEMHOSTALLOC_DEVICEMAP; with unified addressing
                             * all page-locked memory is mapped without it */
} cj_host_opts;

/* Fills `opts` with its size and the defaults.  `opts`: May be NULL. */
CJ_API void cj_host_defaults(cj_host_opts *opts);

/* Allocates `bytes` > 0 of page-locked host memory, which the host and all devices of the driver
 * can read and write (CU_MEMHOSTALLOC_PORTABLE).  Copies from and to it run asynchronously without
 * a staging copy.  The contents are undefined.  `opts`: May be NULL, for the defaults.
 * On a device with unified addressing (cj_device_info) kernels use it at its host address, which is
 * passed as a cj_dptr: (cj_dptr){ (uintptr_t)p }.
 * Owned by the caller, free with cj_host_free.  Blocks: locking pages takes about 1 s per GB.
 * Returns NULL on failure.  Errors, left in `dev`:
 *   CJ_EINVAL: `bytes` is 0, or opts->size is wrong
 *   CJ_ENOMEM: memory is exhausted
 * cuMemHostAlloc. */
CJ_API void *cj_host_alloc(cj_device *dev, size_t bytes, const cj_host_opts *opts);

/* Frees memory of cj_host_alloc at once: the release is not deferred.  All work that accesses it
 * must have completed: copies, kernels, memory operations and graph launches.  `p`: May be NULL.
 * May wait until the device is idle: Blocks.
 * Errors, left in `dev`:
 *   CJ_EDRIVER: `p` is not memory of cj_host_alloc
 * cuMemFreeHost. */
CJ_API cj_status cj_host_free(cj_device *dev, void *p);

/* Locks the pages of `bytes` > 0 of host memory that the caller has from malloc, mmap or elsewhere,
 * so that copies from and to it run as with cj_host_alloc, and kernels of all devices use it at its
 * host address (on a device with unified addressing).  `read_only` is 1 for memory that the process
 * itself cannot write, a file that is mapped for reading; then devices only read it.
 * The memory stays the caller's: call cj_host_unregister before it is freed.
 * Blocks: locking pages takes about 1 s per GB.
 * Errors, left in `dev`:
 *   CJ_EINVAL: `p` is NULL, `bytes` is 0, the range ends beyond the address space, or `read_only`
 *     is neither 0 nor 1
 *   CJ_ESTATE: a part of the memory is registered already
 *   CJ_ENOTSUP: the device has no registered or no read-only host memory
 *   CJ_ENOMEM: memory is exhausted, or the limit of locked memory is reached
 *   CJ_EDRIVER: the memory is not mapped in this process, or is memory of cj_host_alloc
 * cuMemHostRegister. */
CJ_API cj_status cj_host_register(cj_device *dev, void *p, size_t bytes, int read_only);

/* Unlocks memory of cj_host_register.  `p` is the address that was registered; NULL is ignored.
 * All work that accesses it must have completed.  May wait until the device is idle: Blocks.
 * Errors, left in `dev`:
 *   CJ_ENOTFOUND: no memory is registered at `p`, or it was unregistered before
 *   CJ_EDRIVER: `p` lies inside registered memory, or is memory of cj_host_alloc
 * cuMemHostUnregister. */
CJ_API cj_status cj_host_unregister(cj_device *dev, void *p);

/* ---- Managed memory: one address for host and devices ---------------------------------------- */

/* Allocates `bytes` > 0 of memory that the host and every device use at one address.  `s` becomes
 * its home stream.
 *
 * With CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS (cj_device_attribute) the host may access it
 * at any time.  Without it the host may access it only while no work at all runs on the device, not
 * even work that does not use the memory: call cj_device_sync first.
 *
 * Not in the order of `s`: every stream may use it at once.  Blocks.
 * Owned by the caller, free with cj_free.
 * Returns { 0 } on failure.  Errors, left in `s`:
 *   CJ_EINVAL: `bytes` is 0
 *   CJ_ENOTSUP: the device has no managed memory
 *   CJ_ESTATE: `s` is capturing
 *   CJ_ENOMEM: memory is exhausted
 *   CJ_EDRIVER: the driver rejects the call
 * cuMemAllocManaged. */
CJ_API cj_dptr cj_managed_alloc(cj_stream *s, size_t bytes);

/* The host address of managed memory, and of memory of a pool of the host. */
static inline void *cj_managed_host(cj_dptr d) { return (void *)(uintptr_t)d.addr; }

/* How a program will use managed memory. */
typedef enum cj_advice {
    CJ_ADVICE_READ_MOSTLY = 0,    /* each reader may have a copy of its own */
    CJ_ADVICE_PREFER_DEVICE = 1,  /* keep it on the device */
    CJ_ADVICE_PREFER_HOST = 2,    /* keep it on the host */
    CJ_ADVICE_USED_BY_DEVICE = 3, /* keep it mapped on the device, wherever it is */
    CJ_ADVICE_USED_BY_HOST = 4    /* keep it mapped on the host, wherever it is */
} cj_advice;

/* Gives the driver advice about a range of managed memory, or withdraws it.  The contents do not
 * change.  Takes effect before the call returns.  Blocks.
 * Errors, left in `dev`:
 *   CJ_EINVAL: `advice` is not a cj_advice, `d` is { 0 }, or `bytes` is 0
 *   CJ_ENOTSUP: the device has no concurrent managed access
 *   CJ_EDRIVER: the range is not managed memory
 * cuMemAdvise. */
CJ_API cj_status cj_managed_advise(cj_device *dev, cj_dptr d, size_t bytes, cj_advice advice);
CJ_API cj_status cj_managed_unadvise(cj_device *dev, cj_dptr d, size_t bytes, cj_advice advice);

/* ---- Peer access ----------------------------------------------------------------------------- */

/* 1 if `dev` can access the memory of `peer`; 0 if not, and for a failed device.  Returns at once.
 * cuDeviceCanAccessPeer. */
CJ_API int cj_device_can_access_peer(cj_device *dev, cj_device *peer);

/* Lets kernels of `dev` read and write memory of cj_alloc and cj_ipc_alloc of `peer`, present and
 * future.  Memory of cj_graph_mem_alloc is not covered.  Managed and page-locked memory needs no
 * call.  The other direction needs a call of its own.  Call cj_stream_use for memory that such
 * kernels use.  Returns at once.
 *
 * A failure is left in `dev` and in each open stream of `dev`.  A stream of `dev` that is created
 * later begins with that failure, until a call for `peer` has succeeded.
 * Errors:
 *   CJ_EINVAL: the devices belong to different drivers; this is left in `dev` only
 *   CJ_ENOTSUP: `dev` cannot access the memory of `peer`; use cj_copy_peer
 *   CJ_EDRIVER: the driver rejects a call
 * cuCtxEnablePeerAccess, cuMemPoolSetAccess. */
CJ_API cj_status cj_device_enable_peer(cj_device *dev, cj_device *peer);

/* Takes back what cj_device_enable_peer has given; does nothing without it.  Work that accesses the
 * memory must have completed.  Copies between the devices do not need the access, copies in graphs
 * do.  A cj_vmem keeps its own.  Other code of the process that uses the same context loses the
 * access too.
 * Errors, left in `dev`:
 *   CJ_EINVAL: the devices belong to different drivers
 *   CJ_EDRIVER: the driver rejects a call
 * cuCtxDisablePeerAccess, cuMemPoolSetAccess. */
CJ_API cj_status cj_device_disable_peer(cj_device *dev, cj_device *peer);

/* What is known of the way between two devices.  The numbers are those of CUdevice_P2PAttribute. */
typedef enum cj_peer_attr {
    CJ_PEER_PERFORMANCE_RANK = 1, /* 0 is the fastest of the machine */
    CJ_PEER_ACCESS = 2,           /* 1: as cj_device_can_access_peer */
    CJ_PEER_NATIVE_ATOMICS = 3,   /* 1: atomic operations work over the link */
    CJ_PEER_ARRAY_ACCESS = 4,     /* 1: arrays of the other device can be accessed */
    CJ_PEER_PARTIAL_ATOMICS = 5   /* 1: only some atomic operations do; of CUDA 13.0 */
} cj_peer_attr;

/* Writes an attribute of the way from `dev` to `peer`, two devices, to *value.  Returns at once.
 * Errors, left in `dev`:
 *   CJ_EINVAL: the devices belong to different drivers or are the same one, `attribute` is no
 *     cj_peer_attr, or `value` is NULL
 *   CJ_ENOTSUP: the driver does not have the query
 *   CJ_EDRIVER: the driver does not have the attribute
 * cuDeviceGetP2PAttribute. */
CJ_API cj_status cj_device_peer_attribute(cj_device *dev, cj_device *peer, cj_peer_attr attribute,
                                          int *value);

/* ---- Memory between processes ---------------------------------------------------------------- */

enum { CJ_IPC_MEM_BYTES = 72 }; /* bytes of the handle of an allocation for other processes */

/* Allocates `bytes` > 0 of device memory that other processes can import.  Memory of cj_alloc
 * cannot be exported.  `s` becomes its home stream.  The contents are undefined.
 * The memory does not come from a pool.  Allocating and releasing it costs more.  Its release may
 * block until the device is idle (cj_free).
 * Not in the order of `s`: every stream may use it at once.  Blocks.
 * Owned by the caller, free with cj_free.
 * Returns { 0 } on failure.  Errors, left in `s`:
 *   CJ_EINVAL: `bytes` is 0
 *   CJ_ESTATE: `s` is capturing
 *   CJ_ENOMEM: memory is exhausted
 *   CJ_EDRIVER: the driver rejects the call
 * cuMemAlloc. */
CJ_API cj_dptr cj_ipc_alloc(cj_stream *s, size_t bytes);

/* Writes the handle of the allocation that starts at `d` to `handle`, a buffer of `bytes` >=
 * CJ_IPC_MEM_BYTES bytes.  Another process passes these bytes to cj_ipc_import.
 * The handle stays valid until this process frees the memory.
 * The processes order their use of the memory by shared events (cj_event_export).  Returns at once.
 * Errors, left in `dev`:
 *   CJ_EINVAL: `d` is not the start of memory of cj_ipc_alloc, or the buffer is too small
 *   CJ_ENOTSUP: the driver has no memory between processes
 *   CJ_EDRIVER: the driver rejects the call
 * cuIpcGetMemHandle. */
CJ_API cj_status cj_ipc_export(cj_device *dev, cj_dptr d, void *handle, size_t bytes);

/* Maps memory of another process into this one.  `handle` holds `bytes` >= CJ_IPC_MEM_BYTES bytes.
 * `s` becomes the memory's home stream.  Every stream may use it at once.  Blocks.
 * Owned by the caller, free with cj_free.  This unmaps it from this process only.
 *
 * The exporting process must not free the memory before it is unmapped here.  Free the graphs and
 * execs that use it and call cj_free.  Call cj_device_collect until it returns 0.  Then notify the
 * exporting process.
 * Returns { 0 } on failure.  Errors, left in `s`:
 *   CJ_EINVAL: too few bytes, or memory of this process
 *   CJ_ESTATE: the memory is already imported, or `s` is capturing
 *   CJ_ENOTSUP: the driver has no memory between processes
 *   CJ_ENOMEM: memory is exhausted
 *   CJ_EDRIVER: the bytes are not a handle, the exporting process has freed the memory, or the
 *     driver rejects the call
 * cuIpcOpenMemHandle, cuIpcCloseMemHandle. */
CJ_API cj_dptr cj_ipc_import(cj_stream *s, const void *handle, size_t bytes);

#ifdef __cplusplus
}
#endif

/* ---- Option literals: CJ_HOST(.write_combined = 1); C and C++20 ------------------------------ */

#ifndef __cplusplus
#define CJ_ALLOCATOR(...) \
    (&(const cj_allocator_opts){ .size = sizeof(cj_allocator_opts), __VA_ARGS__ })
#define CJ_HOST(...) (&(const cj_host_opts){ .size = sizeof(cj_host_opts), __VA_ARGS__ })
#elif __cplusplus >= 202002L
#ifndef CJI_KEEP
#define CJI_KEEP
namespace cji { template<class T> inline const T *keep(const T &t) { return &t; } }
#endif
#define CJ_ALLOCATOR(...) \
    cji::keep(cj_allocator_opts{ .size = sizeof(cj_allocator_opts), __VA_ARGS__ })
#define CJ_HOST(...) cji::keep(cj_host_opts{ .size = sizeof(cj_host_opts), __VA_ARGS__ })
#endif

#endif
