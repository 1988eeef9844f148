/* Work held in flight by a blocked host function: a test decides when a stream goes on, never time. */
#ifndef CUJIT_TESTS_LATCH_H
#define CUJIT_TESTS_LATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include <cujit/cujit.h>

typedef struct latch { pthread_mutex_t lock; pthread_cond_t cond; bool open; } latch;
#define LATCH_CLOSED { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false }

static inline void latch_open(latch *l)
{
    pthread_mutex_lock(&l->lock);
    l->open = true;
    pthread_cond_broadcast(&l->cond);
    pthread_mutex_unlock(&l->lock);
}

/* The host function: waits until the latch is open, 15 s at most, so that a test that failed ends. */
static inline void latch_wait(void *user)
{
    latch *l = (latch *)user;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 15;
    pthread_mutex_lock(&l->lock);
    while (!l->open && !pthread_cond_timedwait(&l->cond, &l->lock, &until)) {}
    pthread_mutex_unlock(&l->lock);
}

static inline void latch_hold(cj_stream *s, latch *l)
{
    pthread_mutex_lock(&l->lock);
    l->open = false;
    pthread_mutex_unlock(&l->lock);
    cj_host_func(s, latch_wait, l);
}

/* add(x, n, v): x[i] += v, with n threads. */
static inline cj_ptx *latch_add_module(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "add");
    cj_val x = cj_param_ptr(f, "x", CJ_U32), n = cj_param(f, "n", CJ_U32), v = cj_param(f, "v", CJ_U32), i = cj_global_id(f, CJ_X);
    cj_if(f, cj_lt(f, i, n));
        cj_set(f, x, i, cj_add(f, cj_get(f, x, i), v));
    cj_end(f);
    return m;
}

#endif
