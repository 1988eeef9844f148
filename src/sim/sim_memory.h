/* Memory: address ranges and what lies in them, pools. */
#ifndef CJI_SIM_SIM_MEMORY_H
#define CJI_SIM_SIM_MEMORY_H

#include "sim/sim_core.h"

/* ---- Addresses (sim_address.c) ----------------------------------------------------------------------------------- */

typedef enum sim_place { SIM_DEVICE, SIM_PINNED, SIM_REGISTERED, SIM_MANAGED } sim_place;

/* What cuMemAdvise and cuMemPrefetchAsync said last of an allocation. */
typedef struct sim_advice { bool read_mostly; CUdevice preferred, prefetched; unsigned accessed; } sim_advice;

/* The part of a file that an allocation lies in, so that other processes may map it (sim_ipc_memory.c). */
typedef struct sim_ipc_part {
    bool mapped, exported;          /* it has one; a handle of it was given out */
    unsigned opens;                 /* of a handle of another process, whose file it is; 0: of this process */
    uint64_t inode, device;         /* of that file */
    uint64_t at;                    /* in the file */
    uint32_t word;                  /* exported: number of the file's word that says so */
} sim_ipc_part;

/* One allocation.  Found by any address in it; addresses of pinned, registered and managed memory are host addresses. */
typedef struct sim_range {
    uint64_t lo, bytes;             /* what was asked for */
    uint64_t room;                  /* what it takes */
    sim_place place;
    sim_device *dev;                 /* where it was made */
    sim_ctx *ctx;
    sim_pool *pool;                  /* stream-ordered memory, else NULL */
    unsigned flags;                 /* of cuMemHostAlloc, cuMemHostRegister */
    bool module;                    /* a module's variables: not for cuMemFree */
    bool freed;                     /* stays known for a while, so that a late use can be named */
    bool absent;                    /* a graph's memory, at present not allocated */
    sim_graph_mem *graph;                 /* memory of a graph's allocation node, else NULL */
    bool sync_memops;               /* CU_POINTER_ATTRIBUTE_SYNC_MEMOPS */
    sim_advice advice;               /* of managed memory */
    sim_ipc_part part;
    uint64_t id;
    void *block; size_t block_bytes;  /* of the allocator, to be freed with it; NULL none */
} sim_range;

bool cji_sim_space_open(sim_device *dev);                                   /* reserves its addresses; false without memory */
void cji_sim_space_close(sim_device *dev);
CUresult cji_sim_space_alloc(sim_device *dev, sim_ctx *c, uint64_t bytes, sim_pool *pool, bool module, CUdeviceptr *out);
/* Of cuMemAlloc: in the device's file, if there can be one; or the part of the file `fd` (-1: the device's). */
CUresult cji_sim_space_alloc_part(sim_device *dev, sim_ctx *c, uint64_t bytes, int fd, const sim_ipc_part *part, CUdeviceptr *out);
bool cji_sim_space_find_part(const sim_ctx *c, const sim_ipc_part *part, uint64_t *lo);   /* that the context has open already: opens it once more */
CUresult cji_sim_space_add(const sim_range *r);                             /* memory that lies elsewhere */
CUresult cji_sim_space_drop(uint64_t lo, sim_place place, sim_range *was);   /* INVALID_VALUE: no allocation begins there */
void cji_sim_space_change(uint64_t lo, void (*change)(sim_range *r, void *user), void *user);   /* of the live allocation that begins there */
bool cji_sim_space_find(uint64_t address, sim_range *out);                  /* a live allocation that holds it */
void cji_sim_space_drop_ctx(sim_ctx *c);                                    /* everything it made */
/* `bytes` bytes at `address` as we see them; NULL when they do not lie in one live allocation that `c` reaches. */
unsigned char *cji_sim_space_at(const sim_ctx *c, uint64_t address, uint64_t bytes);
bool cji_sim_space_is_host(uint64_t address);                              /* pinned, registered or managed */
bool cji_sim_space_is_outside(uint64_t address);                           /* the host, or another process, may write to it */
bool cji_sim_space_why(uint64_t address, char *why, size_t size);          /* end of a sentence that begins with the address; true: was freed */
bool cji_sim_memory_find(void *ctx, uint64_t address, cji_exec_span *span, char *why, size_t size);   /* for the engine */
void cji_sim_kernel_print(void *ctx, const char *text, size_t bytes);
void cji_sim_space_end(void);

/* ---- Pools (sim_pool.c) ------------------------------------------------------------------------------------------ */

struct sim_pool {
    sim_device *dev;
    sim_pool *next;
    bool is_default, destroyed;
    uint64_t max_bytes;             /* 0: none */
    uint64_t threshold;
    uint64_t used, used_high, reserved, reserved_high;
    int reuse[3];                   /* CU_MEMPOOL_ATTR_REUSE_*; kept, all reuse is legal here */
    unsigned access;                /* bit of each other device that may reach it */
};
sim_pool *cji_sim_pool_new(sim_device *dev);
void cji_sim_pool_take(sim_pool *p, uint64_t bytes);
void cji_sim_pool_give(sim_pool *p, uint64_t bytes);         /* a free has been reached in stream order */
void cji_sim_pool_trim(sim_pool *p, uint64_t keep);
void cji_sim_pool_settle(sim_device *dev);                   /* a synchronization: gives back what is above the threshold */
void cji_sim_pools_end(sim_device *dev);

#endif
