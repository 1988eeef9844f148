/* Rules 30 - 35: host functions and callbacks. */
#include "rules.h"

typedef struct look_at { unsigned *word, seen; int calls; } look_at;

static void take_a_look(void *user)
{
    look_at *l = user;
    l->seen = __atomic_load_n(l->word, __ATOMIC_ACQUIRE);
    __atomic_fetch_add(&l->calls, 1, __ATOMIC_ACQ_REL);
}

static void rule_30(void)
{
    CUfunction append = rule_kernel("append");
    CUstream s = abi_stream();
    rule_gate g = gate_make();      /* a mapped word */
    look_at l = { g.flag, 99, 0 };
    abi_launch(append, 1, 1, s, g.at, 4);
    R_IS(cu.cuLaunchHostFunc(s, take_a_look, &l), CUDA_SUCCESS);
    abi_launch(append, 1, 1, s, g.at, 2);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(l.seen, 4);
    R_IS(l.calls, 1);
    R_IS(*g.flag, 42);
    R_IS(cu.cuLaunchHostFunc(s, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    cu.cuStreamDestroy(s);
    gate_free(&g);
}

static void rule_31(void)
{
    CUstream s = abi_stream();
    CUgraph g = NULL;
    CUgraphExec x = NULL;
    unsigned word = 0;
    look_at l = { &word, 99, 0 };
    R_IS(cu.cuLaunchHostFunc(s, take_a_look, &l), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(l.calls, 1);
    R_IS(cu.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
    R_IS(cu.cuLaunchHostFunc(s, take_a_look, &l), CUDA_SUCCESS);
    R_IS(cu.cuStreamEndCapture(s, &g), CUDA_SUCCESS);
    R_IS(l.calls, 1);
    R_IS(cu.cuGraphInstantiateWithFlags(&x, g, 0), CUDA_SUCCESS);
    for (int i = 0; i < 3; i++) R_IS(cu.cuGraphLaunch(x, s), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(l.calls, 4);
    cu.cuGraphExecDestroy(x);
    cu.cuGraphDestroy(g);
    cu.cuStreamDestroy(s);
}

static void ask_the_driver(void *user)
{
    size_t a = 0, b = 0;
    *(int *)user = (int)cu.cuMemGetInfo(&a, &b);
}

static void rule_32(void)
{
    CUstream s = abi_stream();
    int answer = -1;
    R_IS(cu.cuLaunchHostFunc(s, ask_the_driver, &answer), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(answer, CUDA_ERROR_NOT_PERMITTED);
    cu.cuStreamDestroy(s);
}

static int after_calls;
static void after_error(void *user) { (void)user; __atomic_fetch_add(&after_calls, 1, __ATOMIC_ACQ_REL); }

typedef struct status_of_callback { struct latch called; int status; } status_of_callback;

static void take_status(CUstream s, CUresult status, void *user)
{
    status_of_callback *c = user;
    (void)s;
    c->status = (int)status;
    latch_open(&c->called);
}

static int await_status(status_of_callback *c)
{
    latch_wait(&c->called);
    return c->status;
}

/* On a GPU the stream's waiter may return before the callback is called. */
static void rule_33(void)
{
    struct latch latch;
    status_of_callback c = { LATCH_CLOSED, -1 };
    CUstream s = abi_stream();
    R_NEED(cuStreamAddCallback);
    abi_hold(&latch, s);
    R_IS(abi_launch(rule_kernel("wild"), 1, 1, s, 0, 1), CUDA_SUCCESS);
    R_IS(cu.cuLaunchHostFunc(s, after_error, NULL), CUDA_SUCCESS);
    R_IS(cu.cuStreamAddCallback(s, take_status, &c, 0), CUDA_SUCCESS);
    latch_open(&latch);
    R_IS(cu.cuStreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS);
    R_IS(await_status(&c), CUDA_ERROR_ILLEGAL_ADDRESS);
    R_IS(after_calls, 0);
}

static void rule_34(void)
{
    CUstream s = abi_stream();
    CUgraph g = NULL;
    CUgraphNode node = NULL;
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    size_t n = 1;
    unsigned word = 0;
    look_at l = { &word, 0, 0 };
    R_IS(cu.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
    R_IS(cu.cuLaunchHostFunc(s, take_a_look, &l), CUDA_SUCCESS);
    R_IS(cu.cuStreamEndCapture(s, &g), CUDA_SUCCESS);
    R_IS(cu.cuGraphGetNodes(g, &node, &n), CUDA_SUCCESS);
    R_IS(n, 1);
    R_IS(cu.cuGraphNodeGetType(node, &type), CUDA_SUCCESS);
    R_IS(type, CU_GRAPH_NODE_TYPE_HOST);
    cu.cuGraphDestroy(g);
    R_NEED(cuStreamAddCallback);
    status_of_callback c = { LATCH_CLOSED, -1 };
    R_IS(cu.cuStreamAddCallback(s, take_status, &c, 0), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
    R_IS(await_status(&c), CUDA_SUCCESS);               /* outside of a capture it runs, with the status */
    R_IS(cu.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
    R_IS(cu.cuStreamAddCallback(s, take_status, &c, 0), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    R_IS(cu.cuStreamEndCapture(s, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    cu.cuStreamDestroy(s);
}

/* A host function of another context of the device is called while one blocks. */
static void beside_another_context(void)
{
    struct latch latch;
    CUcontext other = NULL;
    unsigned word = 0;
    look_at l = { &word, 0, 0 };
    CUstream a = abi_stream(), b;
    if (cu.cuCtxCreate(&other, 0, 0)) return;   /* which is current now */
    b = abi_stream();
    cu.cuCtxSetCurrent(abi_ctx);
    abi_hold(&latch, a);
    latch_entered(&latch);
    cu.cuCtxSetCurrent(other);
    R_IS(cu.cuLaunchHostFunc(b, take_a_look, &l), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(b), CUDA_SUCCESS);
    R_IS(l.calls, 1);
    cu.cuCtxSetCurrent(abi_ctx);
    R_IS(cu.cuStreamQuery(a), CUDA_ERROR_NOT_READY);
    latch_open(&latch); /* before the other context goes: an H100's driver destroys none while a host function blocks */
    R_IS(cu.cuStreamSynchronize(a), CUDA_SUCCESS);
    cu.cuStreamDestroy(a);
    cu.cuCtxSetCurrent(other);
    cu.cuStreamDestroy(b);
    cu.cuCtxDestroy(other);
    cu.cuCtxSetCurrent(abi_ctx);
}

/* A host function whose stream's kernel still runs does not hold up those of other streams. */
static void beside_one_that_is_not_ready(void)
{
    unsigned word = 0;
    look_at first = { &word, 0, 0 }, second = { &word, 0, 0 };
    CUstream a = abi_stream(), b = abi_stream();
    rule_gate g = gate_make();
    gate_put(&g, a);
    R_IS(cu.cuLaunchHostFunc(a, take_a_look, &first), CUDA_SUCCESS);
    R_IS(cu.cuLaunchHostFunc(b, take_a_look, &second), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(b), CUDA_SUCCESS);
    R_IS(second.calls, 1);
    R_IS(cu.cuStreamQuery(a), CUDA_ERROR_NOT_READY);
    gate_open(&g);
    R_IS(cu.cuStreamSynchronize(a), CUDA_SUCCESS);
    R_IS(first.calls, 1);
    cu.cuStreamDestroy(a);
    cu.cuStreamDestroy(b);
    gate_free(&g);
}

/* Both are called in the end; whether the second is called while the first blocks is the device's decision (an H100's
 * driver and the CPU device call host functions of one context one after another: tests/sim/blocked_host_functions). */
static void rule_35(void)
{
    struct latch latch;
    CUstream a = abi_stream(), b = abi_stream();
    unsigned word = 0;
    look_at l = { &word, 0, 0 };
    abi_hold(&latch, a);
    latch_entered(&latch);
    R_IS(cu.cuLaunchHostFunc(b, take_a_look, &l), CUDA_SUCCESS);
    latch_open(&latch);
    R_IS(cu.cuStreamSynchronize(a), CUDA_SUCCESS);
    R_IS(cu.cuStreamSynchronize(b), CUDA_SUCCESS);
    R_IS(l.calls, 1);
    cu.cuStreamDestroy(a);
    cu.cuStreamDestroy(b);
    beside_another_context();
    beside_one_that_is_not_ready();
}

static const rule rules[] = {
    { 30, "a host function runs after the work before it and before the work behind it", rule_30, 0 },
    { 31, "it runs once for each launch; captured, once for each launch of the graph", rule_31, 0 },
    { 32, "a driver call inside a host function fails with NOT_PERMITTED", rule_32, 0 },
    { 33, "after an error of the context host functions are not called; callbacks are, with the error", rule_33,
      RULE_ALONE },
    { 34, "a callback cannot be captured; a host function becomes a node", rule_34, 0 },
    { 35, "host functions of independent streams have no order; they may be called one after another", rule_35, 0 },
};
RULES_MAIN(rules)
