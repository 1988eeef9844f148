/* cujit/virtual_memory.h - memory that grows in place, at addresses that stay.
 *
 * A cj_vmem is a range of addresses, of which the first bytes have physical memory: the committed
 * part.  It grows at its end, and no address in it ever changes.
 *
 * Growing and shrinking are calls of the host: they are not in the order of a stream.  Kernels that
 * run meanwhile go on.  New memory may be used by all work that is enqueued after cj_vmem_grow has
 * returned.
 *
 * Memory that cj_vmem_shrink and cj_vmem_free take away stays mapped until the work that uses it is
 * complete, as with cj_free: the release is deferred.  The rules of cj_stream_use hold.  Work that
 * is enqueued later must not use it.  Unmapping may block until the device is idle; a later call of
 * cujit on the device does it.
 *
 * A failure of these calls is left in the cj_vmem.
 *
 * Threads.  Any thread.  The caller's current CUDA context is the same after a call as before it.
 */
#ifndef CUJIT_VIRTUAL_MEMORY_H
#define CUJIT_VIRTUAL_MEMORY_H

#include <cujit/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cj_vmem cj_vmem;

typedef struct cj_vmem_opts {
    size_t size;  /* sizeof(cj_vmem_opts) */
    size_t bytes; /* that are committed at once; 0: none */
    int32_t ipc;  /* 1: cj_vmem_export can give the memory to other processes */
} cj_vmem_opts;

/* Fills `opts` with its size and the defaults.  `opts`: May be NULL. */
CJ_API void cj_vmem_defaults(cj_vmem_opts *opts);

/* Reserves `reserve` > 0 bytes of addresses, rounded up to the granularity.  Addresses cost almost
 * nothing: reserve what may ever be needed.  `s` becomes the memory's home stream, which need not
 * outlive it.  `opts`: May be NULL.
 * Never NULL.  Owned by the caller, free with cj_vmem_free.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: `reserve` is 0, or less than opts->bytes; opts->size or opts->ipc is wrong
 *   CJ_ENOTSUP: the device or the driver cannot map memory
 *   CJ_ENOMEM: addresses or memory are exhausted
 *   CJ_EDRIVER: the driver rejects a call
 * cuMemAddressReserve, CUDA 10.2. */
CJ_API cj_vmem *cj_vmem_create(cj_stream *s, size_t reserve, const cj_vmem_opts *opts);

/* Frees the memory and its addresses when the work that uses it is complete, and no graph uses it.
 * `v`: May be NULL. */
CJ_API void cj_vmem_free(cj_vmem *v);

/* Commits memory at the end, until at least `bytes` are committed; does nothing if they are.  The
 * contents of new memory are undefined.  When it fails, what was committed stays as it was.
 * Errors:
 *   CJ_EINVAL: `bytes` is more than what is reserved
 *   CJ_ENOMEM: device or host memory is exhausted
 *   CJ_EDRIVER: the driver rejects a call
 * cuMemCreate, cuMemMap, cuMemSetAccess. */
CJ_API cj_status cj_vmem_grow(cj_vmem *v, size_t bytes);

/* Takes memory at the end away, so that at least `bytes` stay committed; does nothing if no more
 * are.  Memory is released in the pieces that calls of cj_vmem_grow have added: a piece that begins
 * before `bytes` stays whole.  Its contents do not change.  Returns at once.
 * Errors:
 *   CJ_ESTATE: a graph or a texture uses the memory
 * cuMemUnmap. */
CJ_API cj_status cj_vmem_shrink(cj_vmem *v, size_t bytes);

/* Lets kernels of `peer` read and write the memory, present and future.  cj_device_enable_peer does
 * not cover it.
 * Errors:
 *   CJ_EINVAL: the devices belong to different drivers
 *   CJ_ENOTSUP: `peer` cannot access memory of the device; use cj_copy_peer
 *   CJ_ENOMEM: 64 devices have access already
 *   CJ_EDRIVER: the driver rejects the call
 * cuMemSetAccess. */
CJ_API cj_status cj_vmem_enable_peer(cj_vmem *v, cj_device *peer);

/* How many pieces the committed part has: one for each cj_vmem_grow and cj_vmem_import that has
 * added memory.  0 of a failed object. */
CJ_API size_t cj_vmem_pieces(const cj_vmem *v);

/* Writes a descriptor of piece number `piece`, counted from 0 at the start, to *fd, and its size to
 * *bytes.  Another process gets the descriptor over a socket (SCM_RIGHTS) or by fork and exec, and
 * passes both to cj_vmem_import.  The memory lives while a process maps it or has a descriptor of
 * it; so it may be freed here before it is there.  The processes order their use of the memory by
 * shared events (cj_event_export).
 * `fd`: Owned by the caller, free with close.  Returns at once.
 * Errors:
 *   CJ_EINVAL: `fd` or `bytes` is NULL
 *   CJ_ENOTFOUND: there is no such piece
 *   CJ_ESTATE: the cj_vmem was made without .ipc = 1
 *   CJ_ENOTSUP: the driver has no descriptors of memory
 *   CJ_EDRIVER: the driver rejects the call
 * cuMemRetainAllocationHandle, cuMemExportToShareableHandle, CUDA 11.0. */
CJ_API cj_status cj_vmem_export(cj_vmem *v, size_t piece, int *fd, size_t *bytes);

/* Commits memory of another process, or of another cj_vmem of this one, at the end: `bytes` bytes
 * behind the descriptor `fd`, as cj_vmem_export has written them.  The contents are what that
 * process has.  `fd` stays the caller's and may be closed.  The piece leaves with cj_vmem_shrink
 * and cj_vmem_free as others do, in this process only.  When it fails, what was committed stays.
 * Errors:
 *   CJ_EINVAL: `fd` is negative, `bytes` is 0 or no multiple of the granularity, they do not fit
 *     into what is reserved, or the memory is another device's
 *   CJ_EBUSY: memory that cj_vmem_shrink took away is in use at those addresses
 *   CJ_ENOTSUP: the driver has no descriptors of memory
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: `fd` is no descriptor of memory, or of fewer bytes
 * cuMemImportFromShareableHandle, cuMemGetAllocationPropertiesFromHandle, cuMemMap. */
CJ_API cj_status cj_vmem_import(cj_vmem *v, int fd, size_t bytes);

/* The first address; how many bytes are committed and reserved; the granularity of both, 2 MiB on
 * an H100.  { 0 } and 0 of a failed object.  Return at once. */
CJ_API cj_dptr cj_vmem_address(const cj_vmem *v);
CJ_API size_t cj_vmem_bytes(const cj_vmem *v);
CJ_API size_t cj_vmem_reserved(const cj_vmem *v);
CJ_API size_t cj_vmem_granularity(const cj_vmem *v);

#ifdef __cplusplus
}
#endif

/* ---- Option literals: CJ_VMEM(.bytes = n); C and C++20 --------------------------------------- */
#ifndef __cplusplus
#define CJ_VMEM(...) (&(const cj_vmem_opts){ .size = sizeof(cj_vmem_opts), __VA_ARGS__ })
#elif __cplusplus >= 202002L
#ifndef CJI_KEEP
#define CJI_KEEP
namespace cji { template<class T> inline const T *keep(const T &t) { return &t; } }
#endif
#define CJ_VMEM(...) cji::keep(cj_vmem_opts{ .size = sizeof(cj_vmem_opts), __VA_ARGS__ })
#endif

#endif
