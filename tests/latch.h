/* Work held in flight until a test opens a latch, and the other way round: a test that waits for a callback. Never
 * time.
 *
 *     struct latch l;
 *     abi_hold(&l, stream);       // or bench_hold(stream, &l) through the library: a host function that waits for the
 *     latch ...                         // what follows in the stream waits
 *     latch_open(&l);
 *
 * A test that never opens its latch is ended by its alarm (tap_plan). */
#ifndef CUJIT_TESTS_LATCH_H
#define CUJIT_TESTS_LATCH_H

#include <pthread.h>
#include <stdbool.h>

struct latch { pthread_mutex_t lock; pthread_cond_t cond; bool entered, open; };
#define LATCH_CLOSED { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, false }

/* Closed again, and nobody has entered it. Only while no thread uses it. */
void latch_close(struct latch *l);
/* Once open it stays open. */
void latch_open(struct latch *l);
/* The host function: returns when the latch is open. */
void latch_wait(void *latch);
/* Returns when somebody is in latch_wait, or has been. */
void latch_entered(struct latch *l);
/* Whether somebody is in latch_wait, or has been. */
bool latch_is_entered(struct latch *l);

#endif
