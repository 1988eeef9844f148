/* Who may write device memory at the moment.
 *
 * An atomic operation needs no locked instruction while one thread alone can write the place. Every
 * thread that writes device memory is counted: threads that work on grids, and threads between
 * cji_exec_write_begin() and cji_exec_write_end() of exec.h. A thread that finds itself alone announces
 * a plain section before it looks again; a thread that comes waits until no plain section is under way.
 * Both sides write their own word, then read the other's, in one order for all (sequentially
 * consistent), so at least one of them sees the other: no plain section runs beside a second writer.
 * A plain section is one warp's instruction, so the wait is short.
 *
 * It says nothing of memory that others reach: the host's (pinned, registered, managed memory) and other
 * processes'. Their spans are not device_only, and an exported or imported allocation counts as a writer
 * for the rest of the process. */
#ifndef CJI_EXEC_WRITERS_H
#define CJI_EXEC_WRITERS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cji_exec_writers {
    uint32_t n;        /* threads that may write */
    uint32_t plain;    /* 1: one of them is in a plain section */
} cji_exec_writers;
extern cji_exec_writers cji_writers;   /* writers.c */

/* By a counted thread. True: until cji_plain_end() no other thread writes device memory. */
static inline bool cji_plain_begin(void)
{
    if (__atomic_load_n(&cji_writers.n, __ATOMIC_RELAXED) != 1) return false;
    __atomic_store_n(&cji_writers.plain, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&cji_writers.n, __ATOMIC_SEQ_CST) == 1) return true;
    __atomic_store_n(&cji_writers.plain, 0, __ATOMIC_RELEASE);
    return false;
}

static inline void cji_plain_end(void) { __atomic_store_n(&cji_writers.plain, 0, __ATOMIC_RELEASE); }

#endif
