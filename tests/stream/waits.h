/* What tests of the waiter share: a callback that counts, and a thread that waits until it was called. */
#ifndef CUJIT_TESTS_WAITS_H
#define CUJIT_TESTS_WAITS_H

#include <pthread.h>

#include <cujit/cujit.h>

enum { SEEN_RESULTS = 5 };

/* A ledger of completions, kept by callbacks of any thread. */
typedef struct seen {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    int calls;
    int of[SEEN_RESULTS];   /* by result */
    int last;               /* the latest result, -1: none */
} seen;
#define SEEN_NONE { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, { 0 }, -1 }

void seen_call(void *user, cj_wait_result result); /* the callback; `user` is a seen */
int seen_wait(seen *n, int calls);                 /* returns the latest result when there were that many */
int seen_calls(seen *n);
int seen_of(seen *n, cj_wait_result result);

/* One completion of a waiter of any kind, taken as its kind delivers it: -1 when none comes in time. A wait with the
 * callback seen_call must have `n` as its user, one without a function a record. */
int seen_take(cj_waiter *w, int callbacks, seen *n, int calls);

/* Streams held at any number, opened in any order: they wait for locations of pinned memory. */
enum { GATES = 32 };
void gates_make(cj_device *dev);
void gates_free(void);              /* no stream waits at one */
void gate_hold(int gate, cj_stream *on); /* what is enqueued behind this waits until gate_open; closes the gate */
void gate_open(int gate);

#endif
