/* What processes share: files that have no name, the handles that lead to them, and the points of events in them.
 *
 * A file is a memfd, so that nothing is left behind when its processes are killed.  A handle names a process, a descriptor in it and the
 * identity of the file behind that; another process opens it through /proc, while the first still has it. */
#ifndef CJI_SIM_SHARED_H
#define CJI_SIM_SHARED_H

#include "sim/sim_memory.h"

enum { SIM_IPC_HANDLE_BYTES = 64 };

typedef enum sim_ipc_kind { SIM_IPC_EVENT = 1, SIM_IPC_MEMORY = 2 } sim_ipc_kind;

/* ---- Files and handles (sim_ipc.c) ---------------------------------------------------------------------------- */

int cji_sim_ipc_file_make(const char *name, uint64_t bytes);    /* all 0; -1: the system has no more */
bool cji_sim_ipc_file_grow(int fd, uint64_t bytes);             /* to that size */

/* What a handle leads to: `bytes` at `at` of a file. */
typedef struct sim_ipc_way { int fd; uint32_t word; uint64_t inode, device, at, bytes; } sim_ipc_way;
/* Fills the 64 bytes at `out` from fd, word, at and bytes; false: the system tells nothing about the file. */
bool cji_sim_ipc_handle_fill(void *out, sim_ipc_kind kind, const sim_ipc_way *way);
/* Opens what the 64 bytes at `handle` lead to.  INVALID_VALUE: they are no handle of that kind; INVALID_CONTEXT: of this process; INVALID_HANDLE: there
 * is nothing any more, or it may not be opened. */
CUresult cji_sim_ipc_handle_open(const void *handle, sim_ipc_kind kind, sim_ipc_way *way);

/* ---- Parts of files (sim_ipc_memory.c); under the address table's lock ---------------------------------------- */

/* The allocation gets its bytes from a file: the part of `fd`, or, where that is -1, a new one of its device's.  False: it has none. */
bool cji_sim_ipc_part_begin(sim_range *r, int fd, const sim_ipc_part *part);
void cji_sim_ipc_part_end(sim_range *r);                         /* it is freed: gives the bytes back */
void cji_sim_ipc_part_close(sim_device *dev);

/* ---- Points of events (sim_ipc_event.c); under the lock unless said ------------------------------------------- */

sim_ipc_event *cji_sim_ipc_event_new(void);                        /* NULL: no memory, or no file */
sim_ipc_event *cji_sim_ipc_event_hold(sim_ipc_event *h);
void cji_sim_ipc_event_drop(sim_ipc_event *h);
/* `point` is what the event stands for from now on, in every process; false: too many of its points are under way. */
bool cji_sim_ipc_event_record(sim_event *e, sim_op *point);
void cji_sim_ipc_event_reach(sim_op *point);                    /* a point that was recorded is done */
/* What the event stands for: *own an operation of this process, or *foreign a point of another; neither where that is reached already. */
void cji_sim_event_now(const sim_event *e, sim_op **own, uint64_t *foreign);
bool cji_sim_ipc_event_orphaned(const sim_event *e);            /* what holds its point back was recorded by a process that is gone */
CUresult cji_sim_ipc_event_work(const sim_event *e, uint64_t foreign, sim_ctx *c, sim_work **out);   /* waits for it */
void cji_sim_ipc_event_run(const sim_op *op, const sim_work *w);    /* without the lock */
CUresult cji_sim_ipc_event_sync(sim_event *e, uint64_t foreign);       /* given up while waiting */

bool cji_sim_event_recorded(const sim_event *e);             /* ever, by any process */

/* What takes a handle by value. */
#define CU(name, export, version, count, list) CUresult cji_sim_##name(CJI_CU_DECL(count, list));
#include "cuda/byvalue.def"

#endif
