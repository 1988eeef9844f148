/* Devices, their attributes, and contexts (sim_device.c, sim_attribute.c, sim_context.c). */
#ifndef CJI_SIM_SIM_DEVICE_H
#define CJI_SIM_SIM_DEVICE_H

#include "sim/simcore.h"
#include "sim/sim_memory.h"

struct sd_ctx {
    sd_device *dev;
    uint64_t id;
    bool alive, primary;
    unsigned flags, retained;
    int cancel;                     /* its kernels stop at their next back edge */
    CUresult fault;                 /* sticky; CUDA_SUCCESS none */
    sd_stream *streams;             /* all, destroyed ones with pending work too; the first is the legacy stream */
    sd_stream *legacy;
    sd_op *first, *last;            /* unfinished ops, oldest first */
    size_t limit[SD_LIMITS]          ;
    unsigned sync_waiters;
    sd_op *host;                    /* where host functions are called one after another: the one whose turn it is */
    sd_op *host_first, *host_last;  /* and those that are ready but for that, through next_ready */
    sd_ctx *next;                   /* dev->contexts */
};

struct sd_device {
    int ordinal;
    sd_ctx primary;
    sd_ctx *contexts;               /* made by cuCtxCreate; kept until the end, so that a stale handle is recognised */
    sd_pool *default_pool, *pool;   /* pool: the current one */
    sd_pool *pools;
    unsigned peers;                 /* bit of each device whose memory it may reach */
    /* Addresses (sim_address.c): lo .. lo+span-1 is PROT_NONE, its bytes lie at host. */
    uint64_t lo, span;
    unsigned char *host;
    sd_pool graph_pool;             /* counts memory of graphs */
    bool has_file; int file, file_pid;   /* that its allocations lie in; the process that made it */
    uint64_t file_end; uint32_t file_words;   /* used so far (sim_shared_memory.c) */
    uint64_t used, committed, hint; /* bytes allocated; offset up to which they are accessible; no gap lies below this address */
};

sd_device *cji_sd_device(CUdevice d);                      /* NULL: no such device */
void cji_sd_device_end(sd_device *d);
CUresult cji_sd_ctx_start(sd_ctx *c, sd_device *dev);      /* under the lock: makes it alive */
void cji_sd_ctx_stop(sd_ctx *c);                           /* under the lock, which it gives up while it waits: everything in it is destroyed */
bool cji_sd_ctx_flags_ok(unsigned flags);
void cji_sd_ctx_end(sd_ctx *c);                            /* at exit: everything in it, without its work */
CUresult cji_sd_ctx(sd_ctx **c);                           /* under the lock: the current one; its sticky fault is an error */
CUresult cji_sd_ctx_any(sd_ctx **c);                       /* the same, whatever its fault */
bool cji_sd_ctx_sees(const sd_ctx *c, const sd_device *dev);  /* whether its kernels and copies reach memory of `dev` */
void cji_sd_ctx_poison(sd_ctx *c, CUresult code, const char *sentence);
CUresult cji_sd_device_attribute(int *value, int attribute, const sd_device *dev);   /* sim_attribute.c */
int cji_sd_limit(CUdevice_attribute a);                    /* an H100's, for checks of launches */

#endif
