/* What processes share: files that have no name, the handles that lead to them, and the points of events in them.
 *
 * A file is a memfd, so that nothing is left behind when its processes are killed.  A handle names a process, a descriptor in it and the
 * identity of the file behind that; another process opens it through /proc, while the first still has it. */
#ifndef CJI_SIM_SHARED_H
#define CJI_SIM_SHARED_H

#include "sim/sim_memory.h"

enum { SD_HANDLE_BYTES = 64 };

typedef enum sd_shared_kind { SD_SHARED_EVENT = 1, SD_SHARED_MEMORY = 2 } sd_shared_kind;

/* ---- Files and handles (sim_shared.c) ---------------------------------------------------------------------------- */

int cji_sd_file_make(const char *name, uint64_t bytes);    /* all 0; -1: the system has no more */
bool cji_sd_file_grow(int fd, uint64_t bytes);             /* to that size */

/* What a handle leads to: `bytes` at `at` of a file. */
typedef struct sd_way { int fd; uint32_t word; uint64_t inode, device, at, bytes; } sd_way;
/* Fills the 64 bytes at `out` from fd, word, at and bytes; false: the system tells nothing about the file. */
bool cji_sd_handle_fill(void *out, sd_shared_kind kind, const sd_way *way);
/* Opens what the 64 bytes at `handle` lead to.  INVALID_VALUE: they are no handle of that kind; INVALID_CONTEXT: of this process; INVALID_HANDLE: there
 * is nothing any more, or it may not be opened. */
CUresult cji_sd_handle_open(const void *handle, sd_shared_kind kind, sd_way *way);

/* ---- Parts of files (sim_shared_memory.c); under the address table's lock ---------------------------------------- */

/* The allocation gets its bytes from a file: the part of `fd`, or, where that is -1, a new one of its device's.  False: it has none. */
bool cji_sd_part_begin(sd_range *r, int fd, const sd_part *part);
void cji_sd_part_end(sd_range *r);                         /* it is freed: gives the bytes back */
void cji_sd_part_close(sd_device *dev);

/* ---- Points of events (sim_shared_event.c); under the lock unless said ------------------------------------------- */

sd_shared *cji_sd_shared_new(void);                        /* NULL: no memory, or no file */
sd_shared *cji_sd_shared_hold(sd_shared *h);
void cji_sd_shared_drop(sd_shared *h);
/* `point` is what the event stands for from now on, in every process; false: too many of its points are under way. */
bool cji_sd_shared_record(sd_event *e, sd_op *point);
void cji_sd_shared_reach(sd_op *point);                    /* a point that was recorded is done */
/* What the event stands for: *near an operation of this process, or *far a point of another; neither where that is reached already. */
void cji_sd_event_now(const sd_event *e, sd_op **near, uint64_t *far);
bool cji_sd_shared_orphaned(const sd_event *e);            /* what holds its point back was recorded by a process that is gone */
CUresult cji_sd_far_work(const sd_event *e, uint64_t far, sd_ctx *c, sd_work **out);   /* waits for it */
void cji_sd_run_far(const sd_op *op, const sd_work *w);    /* without the lock */
CUresult cji_sd_far_sync(sd_event *e, uint64_t far);       /* given up while waiting */

bool cji_sd_event_recorded(const sd_event *e);             /* ever, by any process */

/* What takes a handle by value. */
#define CU(name, export, version, count, list) CUresult cji_sd_##name(CJI_CU_DECL(count, list));
#include "cuda/byvalue.def"

#endif
