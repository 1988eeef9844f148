/* What goes from one thread to another without a lock, told to Helgrind, which knows locks and threads but no C11
 * atomics: each flag whose
 * store-release and load-acquire hand something over is named here by its users.  The requests are Valgrind's public
 * binary interface; outside
 * of Valgrind they are a few instructions that do nothing.  The thread sanitizer understands the atomics by itself. */
#ifndef CJI_HANDOVER_H
#define CJI_HANDOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Helgrind's numbers (helgrind.h of Valgrind 3.4 and newer): 'H' 'G', then one for each request. */
enum { CJI_HG_SEND = 0x48470000 + 289, CJI_HG_RECEIVE = 0x48470000 + 290, CJI_HG_UNTRACKED = 0x48470000 + 295,
       CJI_HG_RUNNING = 0x1001 /* of Valgrind's core */ };

static inline uintptr_t cji_hg_request(uintptr_t request, uintptr_t a, uintptr_t b)
{
    uintptr_t result = 0;
#if defined __x86_64__ && defined __linux__
    volatile uintptr_t args[6] = { request, a, b, 0, 0, 0 };
    __asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi; xchgq %%rbx, %%rbx"
                     : "+d"(result)
                     : "a"(&args[0])
                     : "cc", "memory");
#else
    (void)request, (void)a, (void)b;
#endif
    return result;
}

/* Whether Valgrind runs the process. */
static inline bool cji_hg_running(void) { return cji_hg_request(CJI_HG_RUNNING, 0, 0) != 0; }

/* `flag` is read and written atomically only, from now until its memory is freed. */
static inline void cji_handover_flag(const volatile void *flag, size_t bytes)
{
    cji_hg_request(CJI_HG_UNTRACKED, (uintptr_t)flag, bytes);
}

/* Before the store-release that hands over; after the load-acquire that has seen it. */
static inline void cji_handover_give(const volatile void *flag) { cji_hg_request(CJI_HG_SEND, (uintptr_t)flag, 0); }
static inline void cji_handover_take(const volatile void *flag) { cji_hg_request(CJI_HG_RECEIVE, (uintptr_t)flag, 0); }

#endif
