/* Devices, their attributes, and contexts (sim_device.c, sim_attribute.c, sim_context.c). */
#ifndef CJI_SIM_SIM_DEVICE_H
#define CJI_SIM_SIM_DEVICE_H

#include <cujit/sim.h>

#include "sim/sim_core.h"
#include "sim/sim_memory.h"

struct sim_ctx {
    sim_device *dev;
    uint64_t id;
    bool alive, primary;
    unsigned flags, retained;
    int cancel;                     /* its kernels stop at their next back edge */
    CUresult fault;                 /* sticky; CUDA_SUCCESS none */
    cujit_sim_fault_info fault_info;   /* of the first one */
    sim_stream *streams;             /* all, destroyed ones with pending work too; the first is the legacy stream */
    sim_stream *legacy;
    sim_op *first, *last;            /* unfinished ops, oldest first */
    size_t limit[SIM_LIMITS]          ;
    unsigned sync_waiters;
    sim_op *host;                    /* where host functions are called one after another: the one whose turn it is */
    sim_op *host_first, *host_last;  /* and those that are ready but for that, through next_ready */
    sim_ctx *next;                   /* dev->contexts */
};

struct sim_device {
    int ordinal;
    sim_ctx primary;
    sim_ctx *contexts;               /* made by cuCtxCreate; kept until the end, so that a stale handle is recognised */
    sim_pool *default_pool, *pool;   /* pool: the current one */
    sim_pool *pools;
    unsigned peers;                 /* bit of each device whose memory it may reach */
    /* Addresses (sim_address.c): lo .. lo+span-1 is PROT_NONE, its bytes lie at host. */
    uint64_t lo, span;
    unsigned char *host;
    sim_pool graph_pool;             /* counts memory of graphs */
    bool has_file; int file, file_pid;   /* that its allocations lie in; the process that made it */
    uint64_t file_end; uint32_t file_words;   /* used so foreign (sim_ipc_memory.c) */
    uint64_t used, committed, hint; /* bytes allocated; offset up to which they are accessible; no gap lies below this address */
};

sim_device *cji_sim_device(CUdevice d);                      /* NULL: no such device */
void cji_sim_device_end(sim_device *d);
CUresult cji_sim_ctx_start(sim_ctx *c, sim_device *dev);      /* under the lock: makes it alive */
void cji_sim_ctx_stop(sim_ctx *c);                           /* under the lock, which it gives up while it waits: everything in it is destroyed */
bool cji_sim_ctx_flags_ok(unsigned flags);
void cji_sim_ctx_end(sim_ctx *c);                            /* at exit: everything in it, without its work */
CUresult cji_sim_ctx_current(sim_ctx **c);                           /* under the lock: the current one; its sticky fault is an error */
CUresult cji_sim_ctx_current_any(sim_ctx **c);                       /* the same, whatever its fault */
bool cji_sim_ctx_sees(const sim_ctx *c, const sim_device *dev);  /* whether its kernels and copies reach memory of `dev` */
void cji_sim_ctx_poison(sim_ctx *c, const cujit_sim_fault_info *info);   /* under the lock: a fault; the first one stays */
CUresult cji_sim_device_attribute(int *value, int attribute, const sim_device *dev);   /* sim_attribute.c */
int cji_sim_limit(CUdevice_attribute a);                    /* an H100's, for checks of launches */

#endif
