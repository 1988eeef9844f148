/* Events between processes: one event, recorded, waited for and asked in two of them.  Where a driver or its
 * surroundings refuse them, that is said. */
#include "../peer.h"
#include "tests/conformance/driver_abi.h"

static cji_cu_by_value by_value;

static void load_by_value(void)
{
    void *lib = tap_on_gpu() ? dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) : NULL;
    void *p;
#define CU(name, export, version, count, list)                                             \
    p = tap_on_gpu() ? dlsym(lib, #export) : cujit_sim_get_symbol(NULL, #export);          \
    memcpy(&by_value.name, &p, sizeof p);
#include "cuda/byvalue.def"
}

/* ---- The other process ------------------------------------------------------------------------------------------- */

enum { OPEN_EVENT, QUERY, SYNC, RECORD, WAIT, STREAM_QUERY, STREAM_SYNC, HOLD, LET_GO, DESTROY, EXPORT, WAIT_IN_GRAPH };

static CUevent their_event;
static CUstream their_stream;
static struct latch their_latch;

static int64_t begin(const peer_question *q)
{
    abi_load();
    load_by_value();
    if (cu.cuInit(0) || cu.cuDevicePrimaryCtxRetain(&abi_ctx, 0) || cu.cuCtxSetCurrent(abi_ctx) ||
        cu.cuStreamCreate(&their_stream, CU_STREAM_NON_BLOCKING))
        return -2;
    CUipcEventHandle h;
    memcpy(&h, q->handle, sizeof h);
    return by_value.cuIpcOpenEventHandle(&their_event, h);
}

/* A graph whose one node waits for the event, launched. */
static int64_t wait_in_graph(void)
{
    CUgraph g;
    CUgraphNode node;
    CUgraphExec x;
    CUresult r = cu.cuGraphCreate(&g, 0);
    if (!r) r = cu.cuGraphAddEventWaitNode(&node, g, NULL, 0, their_event);
    if (!r) r = cu.cuGraphInstantiateWithFlags(&x, g, 0);
    if (!r) r = cu.cuGraphLaunch(x, their_stream);
    if (!r) r = cu.cuGraphExecDestroy(x);
    return r ? r : cu.cuGraphDestroy(g);
}

static int64_t answer(const peer_question *q)
{
    CUipcEventHandle h;
    switch (q->what) {
    case OPEN_EVENT: return begin(q);
    case QUERY: return cu.cuEventQuery(their_event);
    case SYNC: return cu.cuEventSynchronize(their_event);
    case RECORD: return cu.cuEventRecord(their_event, their_stream);
    case WAIT: return cu.cuStreamWaitEvent(their_stream, their_event, 0);
    case STREAM_QUERY: return cu.cuStreamQuery(their_stream);
    case STREAM_SYNC: return cu.cuStreamSynchronize(their_stream);
    case HOLD: return abi_hold(&their_latch, their_stream), 0;
    case LET_GO: return latch_open(&their_latch), 0;
    case DESTROY: return cu.cuEventDestroy(their_event);
    case EXPORT: return cu.cuIpcGetEventHandle(&h, their_event);
    case WAIT_IN_GRAPH: return wait_in_graph();
    default: return -3;
    }
}

/* ---- This one ---------------------------------------------------------------------------------------------------- */

static CUevent event;
static CUipcEventHandle handle;
static CUstream stream;

static void refusals(void)
{
    CUevent plain = abi_event(), other = NULL;
    CUipcEventHandle h = handle;
    abi_is(cu.cuIpcGetEventHandle(&h, plain), CUDA_ERROR_INVALID_HANDLE, "an event of this process only has no handle");
    abi_is(cu.cuIpcGetEventHandle(NULL, event), CUDA_ERROR_INVALID_VALUE, "a handle wants a place");
    abi_is(by_value.cuIpcOpenEventHandle(&other, handle), CUDA_ERROR_INVALID_CONTEXT,
           "the process that has the event does not open its handle");
    memset(&h, 0x5a, sizeof h);
    abi_is(by_value.cuIpcOpenEventHandle(&other, h), CUDA_ERROR_MAP_FAILED, "bytes that are no handle are rejected");
    cu.cuEventDestroy(plain);
}

static void nothing_recorded(peer *p)
{
    abi_is(peer_ask(p, QUERY, 0, NULL), CUDA_SUCCESS, "never recorded, it is reached in the other process");
    abi_is(peer_ask(p, SYNC, 0, NULL), CUDA_SUCCESS, "is waited for at once");
    abi_is(peer_ask(p, WAIT, 0, NULL), CUDA_SUCCESS, "and a wait of a stream");
    abi_is(peer_ask(p, STREAM_SYNC, 0, NULL), CUDA_SUCCESS, "is none");
}

static void recorded_here(peer *p)
{
    struct latch latch;
    abi_hold(&latch, stream);
    abi_is(cu.cuEventRecord(event, stream), CUDA_SUCCESS, "recorded here behind a latch");
    abi_is(peer_ask(p, QUERY, 0, NULL), CUDA_ERROR_NOT_READY, "it is not reached there");
    abi_is(peer_ask(p, WAIT, 0, NULL), CUDA_SUCCESS, "a stream there waits for it");
    abi_is(peer_ask(p, STREAM_QUERY, 0, NULL), CUDA_ERROR_NOT_READY, "and is held");
    peer_ask_only(p, SYNC, 0, NULL);
    latch_open(&latch);
    abi_is(peer_answer(p), CUDA_SUCCESS, "until it is passed here: a thread goes on");
    abi_is(peer_ask(p, STREAM_SYNC, 0, NULL), CUDA_SUCCESS, "and the stream");
    abi_is(peer_ask(p, QUERY, 0, NULL), CUDA_SUCCESS, "then it is reached there");
    cu.cuStreamSynchronize(stream);
}

static void recorded_there(peer *p)
{
    CUdeviceptr at = abi_word(0);
    peer_ask(p, HOLD, 0, NULL);
    abi_is(peer_ask(p, RECORD, 0, NULL), CUDA_SUCCESS, "recorded there behind a latch");
    abi_is(cu.cuEventQuery(event), CUDA_ERROR_NOT_READY, "it is not reached here");
    abi_is(cu.cuStreamWaitEvent(stream, event, 0), CUDA_SUCCESS, "a stream here waits for it");
    cu.cuMemsetD32Async(at, 7, 1, stream);
    abi_is(cu.cuStreamQuery(stream), CUDA_ERROR_NOT_READY, "and is held");
    peer_ask(p, LET_GO, 0, NULL);
    abi_is(cu.cuEventSynchronize(event), CUDA_SUCCESS, "until it is passed there: a thread goes on");
    abi_is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS, "and the stream");
    tap_is_uint(abi_read(at), 7, "with what came behind the wait");
    cu.cuMemFree(at);
}

/* Recorded again in the other process, the event moves in both; what waits already keeps its point. */
static void recorded_again(peer *p)
{
    struct latch latch;
    CUstream second = abi_stream();
    abi_hold(&latch, stream);
    cu.cuEventRecord(event, stream);
    abi_is(peer_ask(p, WAIT, 0, NULL), CUDA_SUCCESS, "a stream there waits for what was recorded here");
    abi_is(peer_ask(p, RECORD, 0, NULL), CUDA_SUCCESS, "and the event is recorded behind that");
    cu.cuStreamWaitEvent(second, event, 0);
    abi_is(cu.cuStreamQuery(second), CUDA_ERROR_NOT_READY, "which holds a second stream here");
    latch_open(&latch);
    abi_is(cu.cuStreamSynchronize(second), CUDA_SUCCESS, "from one process to the other and back");
    abi_is(peer_ask(p, STREAM_SYNC, 0, NULL), CUDA_SUCCESS, "all pass");
    cu.cuStreamSynchronize(stream);

    abi_hold(&latch, stream);
    cu.cuEventRecord(event, stream);
    abi_is(peer_ask(p, RECORD, 0, NULL), CUDA_SUCCESS, "recorded there while a point of here is pending");
    abi_is(peer_ask(p, QUERY, 0, NULL), CUDA_ERROR_NOT_READY, "the new point waits for the one before it, there");
    abi_is(cu.cuEventQuery(event), CUDA_ERROR_NOT_READY, "and here");
    cu.cuStreamWaitEvent(second, event, 0);
    peer_ask(p, WAIT, 0, NULL);
    abi_is(cu.cuStreamQuery(second), CUDA_ERROR_NOT_READY, "as a stream here");
    abi_is(peer_ask(p, STREAM_QUERY, 0, NULL), CUDA_ERROR_NOT_READY, "and there");
    peer_ask_only(p, SYNC, 0, NULL);
    latch_open(&latch);
    abi_is(peer_answer(p), CUDA_SUCCESS, "that one passed, the new one is");
    abi_is(cu.cuStreamSynchronize(second), CUDA_SUCCESS, "here");
    abi_is(peer_ask(p, STREAM_SYNC, 0, NULL), CUDA_SUCCESS, "and there");
    cu.cuStreamSynchronize(stream);
    cu.cuStreamDestroy(second);
}

static void in_a_graph(peer *p)
{
    struct latch latch;
    abi_hold(&latch, stream);
    cu.cuEventRecord(event, stream);
    const CUresult r = (CUresult)peer_ask(p, WAIT_IN_GRAPH, 0, NULL);
    if (r) {
        tap_diag("a graph cannot wait for such an event: %d", (int)r);
    } else {
        abi_is(peer_ask(p, STREAM_QUERY, 0, NULL), CUDA_ERROR_NOT_READY, "a node of a graph there waits for it");
    }
    latch_open(&latch);
    abi_is(peer_ask(p, STREAM_SYNC, 0, NULL), CUDA_SUCCESS, "and the stream comes to its end");
    cu.cuStreamSynchronize(stream);
}

/* Also in one process alone, and without another that knows of the event. */
static void in_their_order(void)
{
    struct latch latch;
    CUevent e = NULL;
    CUstream second = abi_stream(), third = abi_stream();
    abi_is(cu.cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS,
           "an event that nobody opens");
    abi_hold(&latch, stream);
    cu.cuEventRecord(e, stream);
    cu.cuEventRecord(e, second);
    abi_is(cu.cuStreamQuery(second), CUDA_ERROR_NOT_READY,
           "is recorded in two streams, of which the second waits for the first's point");
    cu.cuStreamWaitEvent(third, e, 0);
    abi_is(cu.cuEventQuery(e), CUDA_ERROR_NOT_READY, "it is not reached before the first is");
    abi_is(cu.cuStreamQuery(third), CUDA_ERROR_NOT_READY, "nor does a stream pass it");
    latch_open(&latch);
    abi_is(cu.cuEventSynchronize(e), CUDA_SUCCESS, "then it is");
    abi_is(cu.cuStreamSynchronize(third), CUDA_SUCCESS, "and does");
    abi_is(cu.cuStreamSynchronize(second), CUDA_SUCCESS, "as the second");
    cu.cuEventDestroy(e);
    cu.cuStreamDestroy(second);
    cu.cuStreamDestroy(third);
}

/* Destroyed by one process while the other's stream waits. */
static void destroyed_there(peer *p)
{
    struct latch latch;
    abi_hold(&latch, stream);
    cu.cuEventRecord(event, stream);
    abi_is(peer_ask(p, WAIT, 0, NULL), CUDA_SUCCESS, "a stream there waits");
    abi_is(peer_ask(p, DESTROY, 0, NULL), CUDA_SUCCESS, "and the event is destroyed there");
    abi_is(peer_ask(p, STREAM_QUERY, 0, NULL), CUDA_ERROR_NOT_READY, "the wait still holds");
    latch_open(&latch);
    abi_is(peer_ask(p, STREAM_SYNC, 0, NULL), CUDA_SUCCESS, "and ends");
    abi_is(cu.cuEventSynchronize(event), CUDA_SUCCESS, "here it lives on");
    cu.cuStreamSynchronize(stream);
}

/* What the process that has the event recorded and reached stays so when the other has gone, and the handle is of no
 * use when it is destroyed. */
static void later(peer *p)
{
    CUipcEventHandle old = handle;
    peer second;
    tap_is_int(peer_end(p), 0, "the other process ends well");
    abi_is(cu.cuEventQuery(event), CUDA_SUCCESS, "the event is reached here");
    abi_is(cu.cuEventRecord(event, stream), CUDA_SUCCESS, "and is recorded again");
    abi_is(cu.cuEventSynchronize(event), CUDA_SUCCESS, "and reached");
    abi_is(cu.cuEventDestroy(event), CUDA_SUCCESS, "it is destroyed");
    peer_start(&second);
    const CUresult r = (CUresult)peer_ask(&second, OPEN_EVENT, 0, &old);
    if (tap_on_gpu()) tap_diag("the handle of a destroyed event: %d", (int)r);
    else abi_is(r, CUDA_ERROR_INVALID_HANDLE, "its handle leads nowhere");
    tap_is_int(peer_end(&second), 0, "which is said, and no more");
}

int main(int argc, char **argv)
{
    if (argc > 2) return peer_serve(argv[2], answer);
    abi_open();
    load_by_value();
    stream = abi_stream();
    CUresult r = cu.cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
    if (!r) r = cu.cuIpcGetEventHandle(&handle, event);
    if (r && tap_on_gpu()) {
        tap_skip(1, "this driver gives out no events: %d", (int)r);
        return abi_close();
    }
    abi_is(r, CUDA_SUCCESS, "the event has a handle");
    peer p;
    peer_start(&p);
    r = (CUresult)peer_ask(&p, OPEN_EVENT, 0, &handle);
    if (r && tap_on_gpu()) {
        tap_skip(1, "this driver opens no event of another process: %d", (int)r);
        peer_end(&p);
        return abi_close();
    }
    abi_is(r, CUDA_SUCCESS, "which another process opens");
    refusals();
    abi_is(peer_ask(&p, EXPORT, 0, NULL), CUDA_ERROR_INVALID_HANDLE, "but does not give out again");
    nothing_recorded(&p);
    recorded_here(&p);
    recorded_there(&p);
    recorded_again(&p);
    in_their_order();
    in_a_graph(&p);
    destroyed_there(&p);
    later(&p);
    cu.cuStreamDestroy(stream);
    return abi_close();
}
