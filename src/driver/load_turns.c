/* Images that several threads load at once.
 *
 * A driver loads one at a time.  Threads that wait for its lock are woken one by one, which takes longer than a load of
 * a small image.  So the thread that comes first loads the images of the others too, one behind the other, and each of
 * them sleeps until its own is loaded.  The CPU device reads texts, and reads several at once. */
#include "base/first.h"
#include "driver/driver.h"

typedef struct cji_turn {
    const void *image;
    CUmodule mod;
    CUresult loaded;
    cji_wanted *wanted;        /* NULL: no function */
    bool done;
    pthread_cond_t ends;
    struct cji_turn *next;
} cji_turn;

CJI_FIRST void cji_code_load(const cj_device *dev, CUfunction fn)
{
    int threads;
    if (!dev->drv->missing[CJI_CU_ID_cuFuncLoad]) dev->api.cuFuncLoad(fn);
    else dev->api.cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, fn);
}

static CJI_FIRST void load_now(cj_device *dev, cji_turn *t)
{
    cji_scope scope;
    t->loaded = CUDA_ERROR_INVALID_CONTEXT;
    if (cji_queue_scope(&dev->queue, &scope)) {
        t->loaded = dev->api.cuModuleLoadData(&t->mod, t->image);
        if (t->loaded == CUDA_SUCCESS && t->wanted) {
            t->wanted->asked = true;
            t->wanted->result = dev->api.cuModuleGetFunction(&t->wanted->fn, t->mod, t->wanted->name);
            if (t->wanted->result == CUDA_SUCCESS) cji_code_load(dev, t->wanted->fn);
        }
    }
    cji_scope_leave(&scope);
}

/* With the lock held: until the thread that loads has done this one. */
static void wait_for(cji_turns *turns, cji_turn *t)
{
    pthread_cond_init(&t->ends, NULL);
    while (!t->done) pthread_cond_wait(&t->ends, &turns->lock);
    pthread_cond_destroy(&t->ends);
}

/* With the lock held, which is open while an image is loaded: all that is there. */
static CJI_FIRST void load_all(cj_device *dev, cji_turns *turns, const cji_turn *mine)
{
    turns->busy = true;
    turns->loader = pthread_self();
    for (cji_turn *t; (t = turns->first);) {
        turns->first = t->next;
        if (!t->next) turns->last = NULL;
        pthread_mutex_unlock(&turns->lock);
        load_now(dev, t);
        pthread_mutex_lock(&turns->lock);
        t->done = true;
        if (t != mine) pthread_cond_signal(&t->ends);
    }
    turns->busy = false;
}

/* A layer over the driver may load something while this thread loads. */
static CJI_FIRST bool loads_already(const cji_turns *turns)
{
    return turns->busy && pthread_equal(turns->loader, pthread_self());
}

CJI_FIRST CUresult cji_load_in_turn(cj_device *dev, CUmodule *mod, const void *image, cji_wanted *wanted)
{
    cji_turns *turns = &dev->turns;
    cji_turn mine = { .image = image, .wanted = wanted };
    bool alone = dev->drv->complaint != NULL;
    if (!alone) {
        pthread_mutex_lock(&turns->lock);
        alone = loads_already(turns);
        if (!alone) {
            if (turns->last) turns->last->next = &mine;
            else turns->first = &mine;
            turns->last = &mine;
            if (turns->busy) wait_for(turns, &mine);
            else load_all(dev, turns, &mine);
        }
        pthread_mutex_unlock(&turns->lock);
    }
    if (alone) load_now(dev, &mine);
    *mod = mine.loaded == CUDA_SUCCESS ? mine.mod : NULL;
    return mine.loaded;
}
