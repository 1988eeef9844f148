/* Host functions of one context may be called one after another, as an H100's driver does: one that waits for another
 * stream's then waits for ever.  The device cannot see why a host function waits, so this is no deadlock to it: it
 * names both, and goes on waiting. */
#include "tests/conformance/driver_abi.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    int slow, queued, errors, met;
    char text[3000];
    size_t n;
} told = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0, 0, "", 0 };

static void take_log(void *user, cj_log_level level, const char *message)
{
    (void)user;
    pthread_mutex_lock(&told.lock);
    int n = snprintf(told.text + told.n, sizeof told.text - told.n, "%s\n", message);
    if (n > 0 && (size_t)n < sizeof told.text - told.n) told.n += (size_t)n;
    told.errors += level == CJ_LOG_ERROR;
    told.slow += strstr(message, "has not returned") != NULL;
    told.queued += strstr(message, "cannot be called before") != NULL;
    pthread_cond_broadcast(&told.cond);
    pthread_mutex_unlock(&told.lock);
}

static void await_told(const int *count, int least)
{
    pthread_mutex_lock(&told.lock);
    while (*count < least) pthread_cond_wait(&told.cond, &told.lock);
    pthread_mutex_unlock(&told.lock);
}

/* ---- Two that meet ----------------------------------------------------------------------------------------------- */

/* Each opens the other's latch and waits for its own: where they are called side by side, both return. */
typedef struct meeting { struct latch own; struct latch *other; } meeting;

static void meet(void *user)
{
    meeting *m = user;
    pthread_mutex_lock(&told.lock);
    told.met++;
    pthread_cond_broadcast(&told.cond);
    pthread_mutex_unlock(&told.lock);
    latch_open(m->other);
    latch_wait(&m->own);
}

static unsigned long long met_in[2];   /* ids of the streams */

static int count_queued(void)
{
    pthread_mutex_lock(&told.lock);
    int n = told.queued;
    pthread_mutex_unlock(&told.lock);
    return n;
}

static int count_met(void)
{
    pthread_mutex_lock(&told.lock);
    int n = told.met;
    pthread_mutex_unlock(&told.lock);
    return n;
}

/* In streams of two contexts.  Those that do not meet are reported of; then the first is let go from outside.  1: they
 * met; 0: they did not; -1: something went wrong. */
static int met(CUcontext first, CUcontext second)
{
    meeting a = { LATCH_CLOSED, NULL }, b = { LATCH_CLOSED, NULL };
    CUcontext of[2] = { first, second };
    CUstream s[2] = { NULL };
    const int before = count_queued(), met_before = count_met();
    int answer;
    a.other = &b.own;
    b.other = &a.own;
    for (int i = 0; i < 2; i++) {
        cu.cuCtxSetCurrent(of[i]);
        if (cu.cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING) || cu.cuStreamGetId(s[i], &met_in[i]) ||
            cu.cuLaunchHostFunc(s[i], meet, i ? &b : &a))
            return -1;
        if (i == 0) latch_entered(&a.own);
    }
    pthread_mutex_lock(&told.lock);     /* until the second is called, or the log says that it cannot be */
    while (told.queued == before && told.met == met_before + 1) pthread_cond_wait(&told.cond, &told.lock);
    pthread_mutex_unlock(&told.lock);
    answer = count_queued() == before;
    if (!answer && latch_is_entered(&b.own)) answer = -1;
    if (!answer) latch_open(&a.own);
    for (int i = 0; i < 2; i++) {
        cu.cuCtxSetCurrent(of[i]);
        if (cu.cuStreamSynchronize(s[i]) || cu.cuStreamDestroy(s[i])) answer = -1;
    }
    cu.cuCtxSetCurrent(first);
    return answer;
}

/* 0: nobody met, 1: those of one context, 2: those of two, 3: all; 9: something went wrong. */
static int meetings(void)
{
    CUcontext other = NULL;
    if (cu.cuCtxCreate(&other, 0, 0)) return 9;
    cu.cuCtxSetCurrent(abi_ctx);
    int two = met(abi_ctx, other), one = met(abi_ctx, abi_ctx);
    cu.cuCtxDestroy(other);
    cu.cuCtxSetCurrent(abi_ctx);
    return one < 0 || two < 0 ? 9 : one + 2 * two;
}

static void one_after_another(void)
{
    char name[80];
    tap_is_int(meetings(), 2, "two host functions of one context do not meet, those of two contexts do");
    snprintf(name, sizeof name, "a host function of stream %llu", met_in[1]);
    tap_has_str(told.text, name, "the log names the one that is not called");
    snprintf(name, sizeof name, "before the one of stream %llu", met_in[0]);
    tap_has_str(told.text, name, "and the one that it cannot be called before");
    tap_has_str(told.text, "If that one waits for this one, or for work behind it, neither ever ends",
                "and what that may mean");
}

static void setup(const char *schedule)
{
    char build[64];
    if (schedule) setenv("CUJIT_SIM_SCHEDULE", schedule, 1);
    setenv("CUJIT_SIM_STALL_MS", "8", 1);
    snprintf(build, sizeof build, CUJIT_SIM_BUILD_FORMAT, cj_version(), (unsigned long long)cj_table_hash());
    if (cujit_sim_setup(CUJIT_SIM_ABI, build, NULL, NULL, take_log, NULL))
        tap_bail("the CPU device: %s", cujit_sim_complaint());
}

/* The schedule is read by cuInit: each has a process of its own, whose verdict comes through a pipe. */
static int meetings_under(const char *schedule)
{
    int fd[2], n = -1;
    if (pipe(fd) != 0) tap_bail("no pipe");
    pid_t child = fork();
    if (child == 0) {
        setup(schedule);
        abi_load();
        if (!cu.cuInit(0) && !cu.cuDevicePrimaryCtxRetain(&abi_ctx, 0) && !cu.cuCtxSetCurrent(abi_ctx))
            n = meetings() + (told.errors ? 10 : 0);
        ssize_t written = write(fd[1], &n, sizeof n);
        _exit(written == sizeof n ? 0 : 1);
    }
    close(fd[1]);
    if (child < 0 || read(fd[0], &n, sizeof n) != (ssize_t)sizeof n) tap_fail("%s: a verdict", schedule);
    close(fd[0]);
    if (child > 0) waitpid(child, NULL, 0);
    return n;
}

static void schedules(void)
{
    unsigned seen = 0;
    tap_is_int(meetings_under("eager"), 2, "eager: host functions of a context are called one after another");
    tap_is_int(meetings_under("adversarial"), 2, "adversarial: so they are");
    tap_is_int(meetings_under("lazy"), 3, "lazy: side by side");
    for (char seed[] = "random:1"; seed[7] <= '8'; seed[7]++) {
        int n = meetings_under(seed);
        if (n != 2 && n != 3) tap_fail("%s: %d", seed, n);
        seen |= n == 2 ? 1 : n == 3 ? 2 : 0;
    }
    tap_is_uint(seen, 3, "random: as the seed says, the one or the other");
}

/* ---- The order of turns ------------------------------------------------------------------------------------------ */

static struct { unsigned digits; int inside, most; } calls;

static void note_call(void *user)
{
    int inside = __atomic_add_fetch(&calls.inside, 1, __ATOMIC_SEQ_CST);
    if (inside > calls.most) calls.most = inside;
    calls.digits = calls.digits * 10 + *(const unsigned *)user;   /* no lock: they are called one after another */
    __atomic_sub_fetch(&calls.inside, 1, __ATOMIC_SEQ_CST);
}

/* One waits for a word of its stream and was submitted first; those of other streams do not stand behind it. */
static void as_they_are_ready(void)
{
    static const unsigned digit[5] = { 1, 2, 3, 4, 5 };
    void *h = NULL;
    CUdeviceptr d = 0;
    CUstream s[5];
    calls.most = 0;
    cu.cuMemHostAlloc(&h, 4, CU_MEMHOSTALLOC_DEVICEMAP);
    cu.cuMemHostGetDevicePointer(&d, h, 0);
    __atomic_store_n((unsigned *)h, 0, __ATOMIC_SEQ_CST);
    for (int i = 0; i < 5; i++) {
        s[i] = abi_stream();
        if (i == 0) cu.cuStreamWaitValue32(s[0], d, 1, CU_STREAM_WAIT_VALUE_EQ);
        for (int n = 0; n < 10; n++) cu.cuLaunchHostFunc(s[i], note_call, (void *)&digit[i]);
    }
    for (int i = 1; i < 5; i++)
        abi_is(cu.cuStreamSynchronize(s[i]), CUDA_SUCCESS,
               "a host function that is ready does not wait for one that is not");
    calls.digits = 0;
    __atomic_store_n((unsigned *)h, 1, __ATOMIC_SEQ_CST);
    abi_is(cu.cuCtxSynchronize(), CUDA_SUCCESS, "and that one is called too");
    tap_is_uint(calls.digits, 1111111111, "last");
    tap_is_int(calls.most, 1, "one after another");
    for (int i = 0; i < 5; i++) cu.cuStreamDestroy(s[i]);
    cu.cuMemFreeHost(h);
}

static int status_of_callback = -1;
static void take_status(CUstream s, CUresult status, void *user)
{
    (void)s, (void)user;
    __atomic_store_n(&status_of_callback, (int)status, __ATOMIC_SEQ_CST);
}

static void a_callback_has_its_turn(void)
{
    struct latch latch;
    CUstream a = abi_stream(), b = abi_stream();
    const int before = told.queued; /* the report may come before the next call returns */
    abi_hold(&latch, a);
    latch_entered(&latch);
    abi_is(cu.cuStreamAddCallback(b, take_status, NULL, 0), CUDA_SUCCESS, "a callback");
    abi_is(cu.cuStreamQuery(b), CUDA_ERROR_NOT_READY, "waits for its turn as well");
    await_told(&told.queued, before + 1);
    tap_is_int(__atomic_load_n(&status_of_callback, __ATOMIC_SEQ_CST), -1, "and is not called meanwhile");
    latch_open(&latch);
    abi_is(cu.cuStreamSynchronize(b), CUDA_SUCCESS, "then it is called");
    tap_is_int(__atomic_load_n(&status_of_callback, __ATOMIC_SEQ_CST), CUDA_SUCCESS, "with success");
    cu.cuStreamDestroy(a);
    cu.cuStreamDestroy(b);
}

/* Nobody calls the driver while they wait: they are reported of all the same, and one that comes later is as well. */
static void told_without_a_caller(void)
{
    struct latch latch;
    CUstream a = abi_stream(), b = abi_stream();
    static const unsigned digit = 7;
    int slow = told.slow, queued = told.queued;
    abi_hold(&latch, a);
    await_told(&told.slow, slow + 1);
    tap_is_int(told.queued, queued, "a host function that blocks is named while no thread waits for it");
    cu.cuLaunchHostFunc(b, note_call, (void *)&digit);
    await_told(&told.queued, queued + 1);
    tap_is_int(told.slow, slow + 1, "one that comes later is named too, the first not again");
    latch_open(&latch);
    abi_is(cu.cuStreamSynchronize(b), CUDA_SUCCESS, "both end");
    cu.cuStreamDestroy(a);
    cu.cuStreamDestroy(b);
}

int main(void)
{
    tap_need_device(1);
    tap_plan(0);
    schedules();
    setup("eager");
    abi_open();
    one_after_another();
    as_they_are_ready();
    a_callback_has_its_turn();
    told_without_a_caller();
    tap_is_int(told.errors, 0, "none of it is called a deadlock");
    return abi_close();
}
