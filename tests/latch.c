/* Latches: see latch.h. */
#include "tests/latch.h"

void latch_close(struct latch *l)
{
    pthread_mutex_lock(&l->lock);
    l->entered = l->open = false;
    pthread_mutex_unlock(&l->lock);
}

void latch_open(struct latch *l)
{
    pthread_mutex_lock(&l->lock);
    l->open = true;
    pthread_cond_broadcast(&l->cond);
    pthread_mutex_unlock(&l->lock);
}

void latch_wait(void *latch)
{
    struct latch *l = latch;
    pthread_mutex_lock(&l->lock);
    l->entered = true;
    pthread_cond_broadcast(&l->cond);
    while (!l->open) pthread_cond_wait(&l->cond, &l->lock);
    pthread_mutex_unlock(&l->lock);
}

void latch_entered(struct latch *l)
{
    pthread_mutex_lock(&l->lock);
    while (!l->entered) pthread_cond_wait(&l->cond, &l->lock);
    pthread_mutex_unlock(&l->lock);
}

bool latch_is_entered(struct latch *l)
{
    pthread_mutex_lock(&l->lock);
    bool entered = l->entered;
    pthread_mutex_unlock(&l->lock);
    return entered;
}
