/* The file of a recording.  Prefix cji_rec.
 *
 * A file is a header and records, each padded with zeros to a multiple of 8 bytes.  Numbers have the byte order of the
 * machine, which the header tells.
 *
 *   header   cji_rec_head: "CUJITREC", version, byte order, hash of these 16 bytes
 *   record   cji_rec_record: type, hash of type and size, size of what follows, hash of what follows
 *
 *   START    text: lines "key=value" about the driver and the devices
 *   NAME     uint32_t number, then the entry point's signature: "cuMemFree(CUdeviceptr)"; before its first call
 *   CALL     cji_rec_call, then its arguments
 *   DATA     uint64_t number, then bytes; what copies read and wrote, images.  May be behind the call that names it
 *   WRITE    cji_rec_host, then bytes: host memory as it was when the launch of a graph that copies from it was called
 *   READ     cji_rec_host, then bytes: host memory as it was when a graph that copied to it was complete
 *   END      uint64_t: calls; the driver was closed
 *
 * A file without END ends where the program died, or where it could not be written any more: what is there is a
 * recording.  A file that ends within a record is cut there.  A record whose hash is wrong is an error.
 *
 * Records are ordered by `order`, not by their place: calls that release something have their place when they begin,
 * all others when they have returned.  So what one thread saw of another one's calls is the order of the recording.
 *
 * An argument is a cji_rec_arg, `bytes` bytes padded to 8, and `children` arguments, which are what is at `offset` of
 * those bytes.  So structs with pointers are trees, and who repeats a call needs to know no struct. */
#ifndef CJI_RECORD_FORMAT_H
#define CJI_RECORD_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

#define CJI_REC_MAGIC "CUJITREC"

enum { CJI_REC_VERSION = 1, CJI_REC_ORDER = 0x01020304, CJI_REC_DEPTH = 6, CJI_REC_ARGS = 15 };

typedef struct cji_rec_head {
    char magic[8];
    uint32_t version, order;
    uint64_t check; /* cji_hash() of what is before it */
} cji_rec_head;

typedef enum cji_rec_type {
    CJI_REC_START = 1, CJI_REC_NAME, CJI_REC_CALL, CJI_REC_DATA, CJI_REC_WRITE, CJI_REC_READ, CJI_REC_END,
    CJI_REC_TYPES
} cji_rec_type;

typedef struct cji_rec_record {
    uint32_t type;
    uint32_t head_check; /* of `type` and `bytes` */
    uint64_t bytes;      /* without padding */
    uint64_t check;      /* cji_hash() of them */
} cji_rec_record;

typedef enum cji_rec_what {
    CJI_REC_REPEAT = 0,  /* the call is repeated */
    CJI_REC_QUERY = 1,   /* it changes nothing: it is not repeated */
    CJI_REC_UNKNOWN = 2, /* it cannot be repeated: its only argument is the reason, a text */
    CJI_REC_FAILED = 3,  /* it has failed at once and changed nothing: it is not repeated */
    CJI_REC_WHATS
} cji_rec_what;

typedef struct cji_rec_call {
    uint64_t order;
    uint64_t number; /* of the call, as interposers count */
    uint32_t name;   /* number of a NAME */
    int32_t result;  /* CUresult */
    uint32_t thread;
    uint16_t what;   /* cji_rec_what */
    uint16_t args;
} cji_rec_call;

typedef struct cji_rec_host {
    uint64_t order;
    uint64_t number; /* of the launch */
    uint64_t address, bytes;
} cji_rec_host;

typedef enum cji_rec_kind {
    CJI_REC_VALUE = 1,     /* `value` */
    CJI_REC_ADDRESS,       /* a device address; `room` 1: 0 where it is not known */
    CJI_REC_HANDLE,        /* of class `about` */
    CJI_REC_HOST,          /* a host address that the driver handed out or registered */
    CJI_REC_REGION,        /* a host address whose `room` bytes nodes of a graph copy, or that are registered */
    CJI_REC_MEMORY,        /* points to a copy of the bytes; `about` 1: addresses in them are translated; 2: kept */
    CJI_REC_SOURCE,        /* points to the bytes of DATA `value`; `room` of them */
    CJI_REC_TARGET,        /* points to `room` bytes that become those of DATA `value`, 0: any; `about` 1: kept */
    CJI_REC_FUNCTION,      /* a function of the program: one that does nothing; `about` says which type */
    CJI_REC_IMAGE,         /* points to an image: DATA `value`; `about`: cji_rec_image; LINKED: link `value` made it */
    CJI_REC_LINK,          /* where the driver writes the address of what link `value` made */
    CJI_REC_NEW_HANDLE,    /* in MEMORY: the driver writes a handle of class `about` there, `value` then */
    CJI_REC_SEEN_HANDLE,   /* the same of a handle that the program may know already */
    CJI_REC_NEW_ADDRESS,   /* in MEMORY: the address of `room` bytes of device memory, `value` then */
    CJI_REC_NEW_HOST,      /* in MEMORY: the address of `room` bytes of host memory, `value` then */
    CJI_REC_SEEN_HANDLES,  /* in MEMORY: the address of an array of handles; its bytes are those of then */
    CJI_REC_NEW_HANDLES,   /* the same of handles that the call made */
    CJI_REC_KINDS
} cji_rec_kind;

typedef struct cji_rec_arg {
    uint8_t kind, about;
    uint16_t children;
    uint32_t offset; /* in the parent's bytes */
    uint64_t bytes;  /* that follow */
    uint64_t value;
    uint64_t room;
} cji_rec_arg;

/* How many bytes of a record are its fixed part. */
static inline size_t cji_rec_front(uint32_t type)
{
    switch (type) {
    case CJI_REC_NAME: return sizeof(uint32_t);
    case CJI_REC_CALL: return sizeof(cji_rec_call);
    case CJI_REC_DATA: case CJI_REC_END: return sizeof(uint64_t);
    case CJI_REC_WRITE: case CJI_REC_READ: return sizeof(cji_rec_host);
    default: return 0;
    }
}

/* The hash of a record's two parts: the fixed one, and what is behind it. */
static inline uint64_t cji_rec_check(const void *a, size_t na, const void *b, size_t nb)
{
    const uint64_t pair[2] = { na ? cji_hash(a, na) : 1, nb ? cji_hash(b, nb) : 2 };
    return cji_hash(pair, sizeof pair);
}

static inline uint32_t cji_rec_head_check(uint32_t type, uint64_t bytes)
{
    const uint64_t pair[2] = { type, bytes };
    return (uint32_t)cji_hash(pair, sizeof pair);
}

/* Classes of handles: H(CLASS, type). */
#define CJI_REC_CLASSES(H)                                                                                        \
    H(CONTEXT, CUcontext) H(MODULE, CUmodule) H(FUNCTION, CUfunction) H(STREAM, CUstream) H(EVENT, CUevent)         \
    H(GRAPH, CUgraph) H(NODE, CUgraphNode) H(EXEC, CUgraphExec) H(POOL, CUmemoryPool) H(USER, CUuserObject)         \
    H(LINKER, CUlinkState) H(ARRAY, CUarray) H(CONDITION, CUgraphConditionalHandle)                               \
    H(PHYSICAL, CUmemGenericAllocationHandle) H(MIPMAP, CUmipmappedArray) H(TEXTURE, CUtexObject)                  \
    H(SURFACE, CUsurfObject)

typedef enum cji_rec_class {
    CJI_HANDLE_NONE,
#define CJI_REC_CLASS_ENUM(CLASS, type) CJI_HANDLE_##CLASS,
    CJI_REC_CLASSES(CJI_REC_CLASS_ENUM)
#undef CJI_REC_CLASS_ENUM
    CJI_HANDLE_COUNT
} cji_rec_class;

typedef enum cji_rec_function {
    CJI_REC_HOST_FN = 1,    /* CUhostFn */
    CJI_REC_CALLBACK_FN,    /* CUstreamCallback */
    CJI_REC_FUNCTIONS
} cji_rec_function;

typedef enum cji_rec_image {
    CJI_REC_PTX = 1, /* a text */
    CJI_REC_FOREIGN, /* machine code of one architecture that no link of the recording made */
    CJI_REC_FAT,     /* the driver chooses what is in it */
    CJI_REC_LINKED,  /* of a link of the recording */
    CJI_REC_IMAGES
} cji_rec_image;

#endif
