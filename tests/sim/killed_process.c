/* A process that recorded an event is killed before the event is reached: who waits for it elsewhere goes on waiting,
 * and that is named in the log; recorded anew, the event is as good as before. */

#include "../peer.h"
#include "tests/conformance/driver_abi.h"

static cji_cu_by_value by_value;
static CUevent their_event;
static CUstream their_stream;
static struct latch their_latch;

/* What the log of the other process was reported. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    int streams, threads, deadlocks, gone;
} told = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0, 0 };

static void take_log(void *user, cj_log_level level, const char *message)
{
    (void)user;
    pthread_mutex_lock(&told.lock);
    if (level == CJ_LOG_ERROR && strstr(message, "deadlock")) told.deadlocks++;
    if (level == CJ_LOG_WARNING && strstr(message, "has waited 40 ms for an event that process")) {
        if (strncmp(message, "stream ", 7) == 0) told.streams++;
        if (strncmp(message, "a thread ", 9) == 0) told.threads++;
        if (strstr(message, "that process is gone, so it never comes")) told.gone++;
    }
    pthread_cond_broadcast(&told.cond);
    pthread_mutex_unlock(&told.lock);
}

static void *synchronize(void *arg)
{
    cu.cuCtxSetCurrent(abi_ctx);
    cu.cuEventSynchronize(their_event);
    return arg;
}

enum { OPEN_EVENT, RECORD_BEHIND_LATCH, WAIT, READ_LOG, QUERY, STREAM_QUERY };

static int64_t begin(const peer_question *q)
{
    char build[64];
    void *p = cujit_sim_get_symbol(NULL, "cuIpcOpenEventHandle");
    CUipcEventHandle h;
    memcpy(&by_value.cuIpcOpenEventHandle, &p, sizeof p);
    memcpy(&h, q->handle, sizeof h);
    setenv("CUJIT_SIM_STALL_MS", "40", 1);
    snprintf(build, sizeof build, CUJIT_SIM_BUILD_FORMAT, cj_version(), (unsigned long long)cj_table_hash());
    if (cujit_sim_setup(CUJIT_SIM_ABI, build, NULL, NULL, take_log, NULL)) return -1;
    abi_load();
    if (cu.cuInit(0) || cu.cuDevicePrimaryCtxRetain(&abi_ctx, 0) || cu.cuCtxSetCurrent(abi_ctx) ||
        cu.cuStreamCreate(&their_stream, CU_STREAM_NON_BLOCKING))
        return -2;
    return by_value.cuIpcOpenEventHandle(&their_event, h);
}

static int64_t wait_twice(void)
{
    pthread_t t;
    const CUresult r = cu.cuStreamWaitEvent(their_stream, their_event, 0);
    if (r || pthread_create(&t, NULL, synchronize, NULL)) return -1;
    pthread_detach(t);
    return 0;
}

/* When both have been named: how often anything was. */
static int64_t read_log(void)
{
    pthread_mutex_lock(&told.lock);
    while (!told.streams || !told.threads) pthread_cond_wait(&told.cond, &told.lock);
    const int64_t n = told.deadlocks * 1000 + told.streams * 100 + told.threads * 10 + told.gone;
    pthread_mutex_unlock(&told.lock);
    return n;
}

/* So often that a wait that was given up would be seen to end. */
static int64_t query_often(void)
{
    CUresult r = CUDA_ERROR_NOT_READY;
    for (int i = 0; i < 20000 && r == CUDA_ERROR_NOT_READY; i++) r = cu.cuStreamQuery(their_stream);
    return r;
}

static int64_t answer(const peer_question *q)
{
    switch (q->what) {
    case OPEN_EVENT: return begin(q);
    case RECORD_BEHIND_LATCH: abi_hold(&their_latch, their_stream); return cu.cuEventRecord(their_event, their_stream);
    case WAIT: return wait_twice();
    case READ_LOG: return read_log();
    case QUERY: return cu.cuEventQuery(their_event);
    case STREAM_QUERY: return query_often();
    default: return -3;
    }
}

int main(int argc, char **argv)
{
    if (argc > 2) return peer_serve(argv[2], answer);
    CUevent event;
    CUipcEventHandle handle;
    peer recorder, waiter;
    abi_open();
    CUstream s = abi_stream();
    abi_is(cu.cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS, "an event");
    abi_is(cu.cuIpcGetEventHandle(&handle, event), CUDA_SUCCESS, "is given to two processes");
    peer_start(&recorder);
    peer_start(&waiter);
    abi_is(peer_ask(&recorder, OPEN_EVENT, 0, &handle), CUDA_SUCCESS, "one opens it");
    abi_is(peer_ask(&waiter, OPEN_EVENT, 0, &handle), CUDA_SUCCESS, "the other too");
    abi_is(peer_ask(&recorder, RECORD_BEHIND_LATCH, 0, NULL), CUDA_SUCCESS, "the first records it, behind a latch");
    peer_kill(&recorder);
    abi_is(cu.cuEventQuery(event), CUDA_ERROR_NOT_READY, "and is killed: the event is not reached");
    abi_is(peer_ask(&waiter, WAIT, 0, NULL), CUDA_SUCCESS, "a stream and a thread of the other wait");
    tap_is_int(peer_ask(&waiter, READ_LOG, 0, NULL), 112,
               "both are named, once, with the process that is gone, and nothing is called a deadlock");
    abi_is(peer_ask(&waiter, STREAM_QUERY, 0, NULL), CUDA_ERROR_NOT_READY, "the stream goes on waiting");
    abi_is(cu.cuEventRecord(event, s), CUDA_SUCCESS, "recorded anew");
    abi_is(cu.cuEventSynchronize(event), CUDA_SUCCESS, "the event is reached here");
    abi_is(peer_ask(&waiter, QUERY, 0, NULL), CUDA_SUCCESS, "and there");
    tap_is_int(peer_end(&waiter), 0, "a process whose stream waits for ever still ends");
    cu.cuEventDestroy(event);
    cu.cuStreamDestroy(s);
    return abi_close();
}
