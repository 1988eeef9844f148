/* Rules 68 - 70: graphs with memory; executables that are destroyed while they run; user objects. */
#include "rules_graphs.h"

/* Allocates, sets a location to `value` and appends 1 to it: `last` is the kernel. */
static CUdeviceptr add_allocation(CUgraph g, unsigned value, CUgraphNode *last)
{
    CUDA_MEM_ALLOC_NODE_PARAMS p = alloc_params(1000), got;
    CUgraphNode alloc = NULL, fill = NULL;
    R_IS(cu.cuGraphAddMemAllocNode(&alloc, g, NULL, 0, &p), CUDA_SUCCESS);
    R_TRUE(p.dptr != 0);                                /* known at once */
    R_IS(cu.cuGraphMemAllocNodeGetParams(alloc, &got), CUDA_SUCCESS);
    R_TRUE(got.dptr == p.dptr && got.bytesize == 1000);
    CUDA_MEMSET_NODE_PARAMS m = { .dst = p.dptr, .value = value, .elementSize = 4, .width = 1, .height = 1 };
    R_IS(cu.cuGraphAddMemsetNode(&fill, g, &alloc, 1, &m, abi_ctx), CUDA_SUCCESS);
    *last = add_append(g, fill, p.dptr, 1);
    return p.dptr;
}

static void freed_in_the_graph(void)
{
    CUgraph g = graph_new(), outer = graph_new(), clone = NULL;
    CUgraphExec x = NULL, y = NULL;
    CUgraphNode last = NULL, freed = NULL, copy = NULL, child = NULL;
    CUstream s = abi_stream();
    CUdeviceptr p = abi_word(0), got = 0, at = add_allocation(g, 4, &last);
    CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                        .srcDevice = at,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = p,
                        .WidthInBytes = 4,
                        .Height = 1,
                        .Depth = 1 };
    R_IS(cu.cuGraphAddMemcpyNode(&copy, g, &last, 1, &c, abi_ctx), CUDA_SUCCESS);
    R_IS(cu.cuGraphAddMemFreeNode(&freed, g, &copy, 1, at), CUDA_SUCCESS);
    R_IS(cu.cuGraphMemFreeNodeGetParams(freed, &got), CUDA_SUCCESS);
    R_TRUE(got == at);
    R_IS(cu.cuGraphAddMemFreeNode(&freed, g, &copy, 1, at), CUDA_ERROR_INVALID_VALUE);      /* twice in one graph */
    R_IS(cu.cuGraphAddMemFreeNode(&freed, g, &copy, 1, p), CUDA_ERROR_INVALID_VALUE);       /* memory of no graph */
    R_TRUE(cu.cuGraphDestroyNode(copy) != CUDA_SUCCESS);
    R_TRUE(cu.cuGraphClone(&clone, g) != CUDA_SUCCESS);
    R_TRUE(cu.cuGraphAddChildGraphNode(&child, outer, NULL, 0, g) != CUDA_SUCCESS);
    R_IS(cu.cuGraphInstantiateWithFlags(&x, g, 0), CUDA_SUCCESS);
    R_IS(cu.cuGraphInstantiateWithFlags(&y, g, 0), CUDA_ERROR_NOT_SUPPORTED);               /* one at a time */
    for (int i = 0; i < 2; i++) R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(abi_read(p), 41);
    R_IS(cu.cuGraphExecDestroy(x), CUDA_SUCCESS);
    R_IS(cu.cuGraphInstantiateWithFlags(&x, g, 0), CUDA_SUCCESS);
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g);
    cu.cuGraphDestroy(outer);
    cu.cuStreamDestroy(s);
    cu.cuMemFree(p);
}

static void freed_outside(void)
{
    CUgraph g = graph_new(), freeing = graph_new();
    CUgraphExec x = NULL, y = NULL;
    CUgraphNode last = NULL, freed = NULL;
    CUstream s = abi_stream();
    CUdeviceptr at = add_allocation(g, 7, &last);
    R_IS(cu.cuGraphInstantiateWithFlags(&x, g, 0), CUDA_SUCCESS);
    for (int i = 0; i < 2; i++) {
        R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
        R_IS(cu.cuGraphLaunch(x, s), CUDA_ERROR_INVALID_VALUE);     /* not again before its memory is freed */
        R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
        R_IS(abi_read(at), 71);                                     /* which outlives the launch */
        if (i == 0) R_IS(cu.cuMemFreeAsync(at, s), CUDA_SUCCESS);
        else R_IS(cu.cuMemFree(at), CUDA_SUCCESS);
    }
    /* a graph that frees another's memory */
    R_IS(cu.cuGraphAddMemFreeNode(&freed, freeing, NULL, 0, at), CUDA_SUCCESS);
    R_IS(cu.cuGraphInstantiateWithFlags(&y, freeing, 0), CUDA_SUCCESS);
    R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
    R_IS(cu.cuGraphLaunch(y, s), CUDA_SUCCESS);
    R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(cu.cuMemFree(at), CUDA_SUCCESS);
    R_IS(cu.cuGraphExecDestroy(x), CUDA_SUCCESS);
    R_IS(cu.cuGraphInstantiateWithFlags(&x, g, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH), CUDA_SUCCESS);
    for (int i = 0; i < 3; i++) R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(abi_read(at), 71);
    cu.cuGraphExecDestroy(x);
    cu.cuGraphExecDestroy(y);
    cu.cuGraphDestroy(freeing);
    cu.cuGraphDestroy(g);
    R_IS(cu.cuMemFree(at), CUDA_SUCCESS);                           /* even when the graph is gone */
    cu.cuStreamDestroy(s);
}

static void memory_in_use(void)
{
    cuuint64_t used = 9, high = 0, zero = 0;
    R_IS(cu.cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used), CUDA_SUCCESS);
    if (!tap_on_gpu()) R_IS(used, 0);                   /* a GPU's driver frees it later than the last executable */
    R_IS(cu.cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &high), CUDA_SUCCESS);
    R_TRUE(high > 0);
    R_IS(cu.cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &zero), CUDA_SUCCESS);
    R_IS(cu.cuDeviceGraphMemTrim(0), CUDA_SUCCESS);
    R_IS(cu.cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &used), CUDA_SUCCESS);
    R_IS(used, 0);
}

static void rule_68(void)
{
    R_NEED(cuGraphAddMemAllocNode);
    freed_in_the_graph();
    freed_outside();
    memory_in_use();
}

static void rule_69(void)
{
    struct latch latch;
    CUdeviceptr p = abi_word(0);
    CUgraph g = graph_new();
    CUstream s = abi_stream(), t = abi_stream();
    add_append(g, add_append(g, NULL, p, 1), p, 2);
    CUgraphExec x = executable(g);
    abi_hold(&latch, s);
    R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
    R_IS(cu.cuGraphLaunch(x, t), CUDA_SUCCESS);         /* waits for the launch before */
    R_IS(cu.cuGraphExecDestroy(x), CUDA_SUCCESS);
    R_IS(cu.cuGraphDestroy(g), CUDA_SUCCESS);
    R_IS(cu.cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    R_IS(cu.cuStreamQuery(t), CUDA_ERROR_NOT_READY);
    latch_open(&latch);
    R_IS(cu.cuStreamSynchronize(t), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(abi_read(p), 1212);
    cu.cuStreamDestroy(s);
    cu.cuStreamDestroy(t);
    cu.cuMemFree(p);
}

typedef struct witness { pthread_mutex_t lock; pthread_cond_t cond; int calls, inside; pthread_t thread; } witness;
#define WITNESS { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, -1, pthread_self() }

/* The destructor. */
static void bear_witness(void *user)
{
    witness *w = user;
    CUdeviceptr p;
    int inside = tap_on_gpu() ? -1 : (int)cu.cuMemAlloc(&p, 4);     /* a GPU's driver may hang on it */
    pthread_mutex_lock(&w->lock);
    w->calls++;
    w->inside = inside;
    w->thread = pthread_self();
    pthread_cond_broadcast(&w->cond);
    pthread_mutex_unlock(&w->lock);
}

static int witnessed(witness *w)
{
    pthread_mutex_lock(&w->lock);
    int n = w->calls;
    pthread_mutex_unlock(&w->lock);
    return n;
}

/* Returns when the destructor has been called: no call of the driver waits for that. */
static int await_witness(witness *w)
{
    pthread_mutex_lock(&w->lock);
    while (!w->calls) pthread_cond_wait(&w->cond, &w->lock);
    int n = w->calls;
    pthread_mutex_unlock(&w->lock);
    return n;
}

static CUuserObject object_of(witness *w)
{
    CUuserObject o = NULL;
    R_IS(cu.cuUserObjectCreate(&o, w, bear_witness, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC), CUDA_SUCCESS);
    return o;
}

static void references_of_the_caller(void)
{
    witness w = WITNESS;
    CUuserObject o = NULL;
    R_IS(cu.cuUserObjectCreate(&o, &w, bear_witness, 1, 0), CUDA_ERROR_INVALID_VALUE);      /* the flag is required */
    R_IS(cu.cuUserObjectCreate(&o, &w, bear_witness, 0, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC), CUDA_ERROR_INVALID_VALUE);
    o = object_of(&w);
    R_IS(cu.cuUserObjectRetain(o, 2), CUDA_SUCCESS);
    R_IS(cu.cuUserObjectRelease(o, 2), CUDA_SUCCESS);
    R_IS(witnessed(&w), 0);
    R_IS(cu.cuUserObjectRelease(o, 1), CUDA_SUCCESS);
    R_IS(await_witness(&w), 1);
    if (!tap_on_gpu()) R_IS(w.inside, CUDA_ERROR_NOT_PERMITTED);    /* a destructor may not call the driver */
}

/* A clone and a child have references of their own. */
static void references_of_graphs(void)
{
    witness w = WITNESS;
    CUgraph g = graph_new(), outer = graph_new(), clone = NULL;
    CUgraphNode node = NULL;
    R_IS(cu.cuGraphRetainUserObject(g, object_of(&w), 1, CU_GRAPH_USER_OBJECT_MOVE), CUDA_SUCCESS);
    R_IS(cu.cuGraphClone(&clone, g), CUDA_SUCCESS);
    R_IS(cu.cuGraphAddChildGraphNode(&node, outer, NULL, 0, clone), CUDA_SUCCESS);
    R_IS(cu.cuGraphDestroy(g), CUDA_SUCCESS);
    R_IS(cu.cuGraphDestroy(clone), CUDA_SUCCESS);
    R_IS(witnessed(&w), 0);
    CUgraphExec x = executable(outer);
    R_IS(cu.cuGraphDestroy(outer), CUDA_SUCCESS);
    R_IS(witnessed(&w), 0);
    R_IS(cu.cuGraphExecDestroy(x), CUDA_SUCCESS);
    R_IS(await_witness(&w), 1);
}

/* A launch holds the object that it was made with, though the executable is updated and destroyed meanwhile. */
static void references_of_launches(void)
{
    witness w = WITNESS, u = WITNESS;
    struct latch latch;
    CUgraph g = graph_new(), other = graph_new();
    CUgraphExecUpdateResultInfo info = { CU_GRAPH_EXEC_UPDATE_SUCCESS, NULL, NULL };
    CUgraphNode node = NULL;
    CUstream s = abi_stream();
    R_IS(cu.cuGraphAddEmptyNode(&node, g, NULL, 0), CUDA_SUCCESS);
    R_IS(cu.cuGraphAddEmptyNode(&node, other, NULL, 0), CUDA_SUCCESS);
    CUuserObject second = object_of(&u);
    R_IS(cu.cuGraphRetainUserObject(g, object_of(&w), 1, CU_GRAPH_USER_OBJECT_MOVE), CUDA_SUCCESS);
    R_IS(cu.cuGraphRetainUserObject(other, second, 1, 0), CUDA_SUCCESS);
    R_IS(cu.cuUserObjectRelease(second, 1), CUDA_SUCCESS);
    CUgraphExec x = executable(g);
    R_IS(cu.cuGraphDestroy(g), CUDA_SUCCESS);
    abi_hold(&latch, s);
    R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
    if (cu.cuGraphExecUpdate_v2) R_IS(cu.cuGraphExecUpdate_v2(x, other, &info), CUDA_SUCCESS);
    R_IS(cu.cuGraphDestroy(other), CUDA_SUCCESS);
    R_IS(cu.cuGraphExecDestroy(x), CUDA_SUCCESS);
    R_IS(witnessed(&w), 0);
    latch_open(&latch);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(await_witness(&w), 1);
    R_TRUE(!pthread_equal(w.thread, pthread_self()));
    R_IS(await_witness(&u), 1);
    cu.cuStreamDestroy(s);
}

static void rule_70(void)
{
    R_NEED(cuUserObjectCreate);
    R_NEED(cuGraphRetainUserObject);
    references_of_the_caller();
    references_of_graphs();
    references_of_launches();
}

static const rule rules[] = {
    { 68, "a graph's memory has a fixed address, one executable, and must be freed before the next launch", rule_68,
      0 },
    { 69, "an executable may be destroyed while it runs", rule_69, 0 },
    { 70, "a user object is destroyed once, when the last launch that needs it is done, in a thread of the driver",
      rule_70, 0 },
};
RULES_MAIN(rules)
