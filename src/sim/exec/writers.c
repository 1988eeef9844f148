/* The count of threads that may write device memory (writers.h). */
#include "sim/exec/writers.h"

#include <sched.h>

#include "sim/exec/exec.h"

cji_exec_writers cji_writers;

void cji_exec_write_begin(void)
{
    __atomic_fetch_add(&cji_writers.n, 1, __ATOMIC_SEQ_CST);
    for (unsigned i = 0; __atomic_load_n(&cji_writers.plain, __ATOMIC_SEQ_CST); i++)
        if (i >= 64) sched_yield();    /* its thread may have lost its processor */
}

void cji_exec_write_end(void) { __atomic_fetch_sub(&cji_writers.n, 1, __ATOMIC_SEQ_CST); }
