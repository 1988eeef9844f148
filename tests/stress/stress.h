/* make stress: many threads do random work of all parts of the stream layer at once, for some time.
 *
 * A part is a file stress_<part>.c with three functions, and a line of the table in stress.c.  Each thread takes a part
 * at random, again and again, and makes one step of it.  A step is short, ends by itself, and leaves nothing that its
 * part's end does not release.
 *
 * The ledger counts completions, independently of the library: what begins opens an entry, its one completion closes
 * it.  An entry that is closed twice, or never, is a failure. */
#ifndef CUJIT_TESTS_STRESS_H
#define CUJIT_TESTS_STRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <cujit/cujit.h>

enum { STRESS_THREADS = 24, STRESS_STREAMS = 8, STRESS_WORDS = 256 };

/* What all parts share. */
typedef struct stress_world {
    cj_driver *drv;
    cj_device *dev;
    cj_stream *s[STRESS_STREAMS]; /* of all threads */
    cj_kernel *add;               /* add(x, n, v) */
    cj_dptr d[STRESS_STREAMS];    /* STRESS_WORDS words each, used on the stream of that index */
} stress_world;
extern stress_world stress;

/* A thread that makes steps. */
typedef struct stress_thread { unsigned index; uint64_t random; } stress_thread;
uint32_t stress_random(stress_thread *t, uint32_t below); /* 0 .. below - 1 */

typedef struct stress_part {
    const char *name;
    void (*begin)(void);
    void (*step)(stress_thread *t);
    void (*end)(void); /* when all threads have ended */
} stress_part;
extern const stress_part stress_pools, stress_waiter, stress_blocks, stress_tasks, stress_pipeline;

/* A failure is reported at the end; the first ones with their sentences. */
void stress_failed(const char *what, const char *why);
/* The same for a status. */
bool stress_did(cj_status st, const char *what);

/* -- The ledger ---------------------------------------------------------------------------------------------------- */

typedef struct stress_entry {
    atomic_int open;      /* 1: its completion is to come */
    atomic_int cancelled; /* a cancel has succeeded */
    struct stress_entry *next;
} stress_entry;

/* NULL: there are too many open ones; let some complete first. */
stress_entry *stress_open(void);
void stress_close(stress_entry *e);  /* a completion */
void stress_revoke(stress_entry *e); /* what it was opened for did not begin */

#endif
