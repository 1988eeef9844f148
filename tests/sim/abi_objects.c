/* User objects: the destructor is called once, when the last reference is gone: the caller's, a graph's, an executable's, a launch's (semantics 70). */
#include "tests/conformance/driver_abi.h"

typedef struct thing { pthread_mutex_t lock; pthread_cond_t cond; int destroyed, answer; } thing;
#define THING { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, -1 }

static void destroy(void *user)
{
    thing *t = user;
    CUdeviceptr p;
    int answer = tap_on_gpu() ? -1 : (int)cu.cuMemAlloc(&p, 4);   /* a GPU's driver may hang on it */
    pthread_mutex_lock(&t->lock);
    t->destroyed++;
    t->answer = answer;
    pthread_cond_broadcast(&t->cond);
    pthread_mutex_unlock(&t->lock);
}

static int count(thing *t)
{
    pthread_mutex_lock(&t->lock);
    int n = t->destroyed;
    pthread_mutex_unlock(&t->lock);
    return n;
}

/* Until it is called: no call of the driver waits for that. */
static int await(thing *t)
{
    pthread_mutex_lock(&t->lock);
    while (!t->destroyed) pthread_cond_wait(&t->cond, &t->lock);
    int n = t->destroyed;
    pthread_mutex_unlock(&t->lock);
    return n;
}

static CUuserObject object(thing *t)
{
    CUuserObject o = NULL;
    abi_is(cu.cuUserObjectCreate(&o, t, destroy, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC), CUDA_SUCCESS, "an object");
    return o;
}

static void callers_references(void)
{
    thing t = THING;
    CUuserObject o = NULL;
    abi_is(cu.cuUserObjectCreate(&o, &t, destroy, 1, 0), CUDA_ERROR_INVALID_VALUE, "the flag is wanted");
    abi_is(cu.cuUserObjectCreate(&o, &t, destroy, 0, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC), CUDA_ERROR_INVALID_VALUE, "so is a reference");
    o = object(&t);
    abi_is(cu.cuUserObjectRetain(o, 2), CUDA_SUCCESS, "two more");
    abi_is(cu.cuUserObjectRelease(o, 2), CUDA_SUCCESS, "and back");
    tap_is_int(count(&t), 0, "it lives");
    abi_is(cu.cuUserObjectRelease(o, 1), CUDA_SUCCESS, "the last one");
    tap_is_int(await(&t), 1, "destroyed once");
    if (!tap_on_gpu()) tap_is_int(t.answer, CUDA_ERROR_NOT_PERMITTED, "a destructor may not call the driver");
}

static void graphs_references(void)
{
    thing t = THING;
    CUgraph g, clone, outer;
    CUgraphNode node;
    CUgraphExec x;
    cu.cuGraphCreate(&g, 0);
    cu.cuGraphCreate(&outer, 0);
    CUuserObject o = object(&t);
    abi_is(cu.cuGraphRetainUserObject(g, o, 1, CU_GRAPH_USER_OBJECT_MOVE), CUDA_SUCCESS, "the reference moves into a graph");
    abi_is(cu.cuGraphClone(&clone, g), CUDA_SUCCESS, "a clone has its own");
    abi_is(cu.cuGraphAddChildGraphNode(&node, outer, NULL, 0, clone), CUDA_SUCCESS, "so has a child");
    cu.cuGraphDestroy(g);
    cu.cuGraphDestroy(clone);
    tap_is_int(count(&t), 0, "it lives in the child");
    abi_is(cu.cuGraphInstantiateWithFlags(&x, outer, 0), CUDA_SUCCESS, "instantiate");
    cu.cuGraphDestroy(outer);
    tap_is_int(count(&t), 0, "it lives in the executable");
    cu.cuGraphExecDestroy(x);
    tap_is_int(await(&t), 1, "and is destroyed with it");
}

static void launches_keep_it(void)
{
    thing t = THING, u = THING;
    abi_latch latch;
    CUgraph g, other;
    CUgraphExec x;
    CUgraphExecUpdateResultInfo info;
    CUgraphNode node;
    CUstream s = abi_stream();
    cu.cuGraphCreate(&g, 0);
    cu.cuGraphCreate(&other, 0);
    cu.cuGraphAddEmptyNode(&node, g, NULL, 0);
    cu.cuGraphAddEmptyNode(&node, other, NULL, 0);
    CUuserObject o = object(&t), q = object(&u);
    cu.cuGraphRetainUserObject(g, o, 1, CU_GRAPH_USER_OBJECT_MOVE);
    abi_is(cu.cuGraphRetainUserObject(other, q, 1, 0), CUDA_SUCCESS, "a reference of its own");
    cu.cuUserObjectRelease(q, 1);
    cu.cuGraphInstantiateWithFlags(&x, g, 0);
    cu.cuGraphDestroy(g);
    abi_latch_put(&latch, s);
    abi_is(cu.cuGraphLaunch(x, s), CUDA_SUCCESS, "a launch that waits");
    memset(&info, 0, sizeof info);
    if (cu.cuGraphExecUpdate_v2) abi_is(cu.cuGraphExecUpdate_v2(x, other, &info), CUDA_SUCCESS, "the executable is given another graph");
    cu.cuGraphDestroy(other);
    cu.cuGraphExecDestroy(x);
    tap_is_int(count(&t), 0, "the launch keeps the object that it was made with");
    abi_latch_open(&latch);
    cu.cuStreamSynchronize(s);
    tap_is_int(await(&t), 1, "until it is done");
    tap_is_int(await(&u), 1, "the other graph's is gone too");
    cu.cuStreamDestroy(s);
}

int main(void)
{
    abi_open();
    if (!cu.cuUserObjectCreate) {
        tap_skip(1, "this driver has no user objects");
        return abi_close();
    }
    callers_references();
    graphs_references();
    launches_keep_it();
    return abi_close();
}
