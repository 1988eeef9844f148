/* Memory that grows in place, for vmem.c and vmem_share.c.  Prefix cji_vmem. */
#ifndef CJI_STREAM_VMEM_H
#define CJI_STREAM_VMEM_H

#include <pthread.h>

#include "stream/memory/stream_memory.h"

enum { CJI_VMEM_DEVICES = 64 }; /* that may access the memory */

typedef struct cji_vmem_piece cji_vmem_piece;

typedef struct cji_vmem_body {
    cji_mem mem;            /* first; its bytes are the committed ones */
    pthread_mutex_t lock;   /* guards what follows, and the pieces */
    size_t grain, reserved; /* pieces are multiples of the one; bytes of the range */
    bool ipc;               /* its own pieces can be exported */
    cji_vmem_piece *pieces;     /* by address */
    cji_vmem_piece **end;       /* where the first one behind the committed part is, or will be */
    size_t ndevices;
    CUmemAccessDesc device[CJI_VMEM_DEVICES];
} cji_vmem_body;

struct cji_vmem_piece {
    cji_deferred deferred;
    cji_vmem_piece *next;
    cji_vmem_body *of;          /* NULL: it is unmapped, and only waits to be freed */
    cj_device *dev;         /* retained while it is waiting */
    uint64_t addr;
    size_t bytes;
    bool ipc;               /* it can be exported: another process may have it */
    bool live;              /* in the committed part */
    bool waiting;           /* in the release queue */
    bool again;             /* it has left the committed part once more since */
};

struct cj_vmem {
    cji_obj obj;
    cj_device *dev;         /* retained */
    cji_vmem_body *body;        /* NULL: failed */
};

/* A handle of another process's memory, of the device (vmem_share.c); *cu_call is what failed.  In a scope. */
CUresult cji_vmem_open(const cji_vmem_body *b, int fd, CUmemGenericAllocationHandle *handle, const char **cu_call);
/* Such memory at the end of the committed part (vmem.c), in a scope.  *in_the_way: what has left the committed part is
 * in use and still mapped there.  *cu_call stays as it is where it does not fit. */
CUresult cji_vmem_take(cji_vmem_body *b, int fd, size_t bytes, bool *in_the_way, const char **cu_call);

#endif
