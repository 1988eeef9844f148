/* Schedules of the CPU device: each is an order that the semantics allow, and together they show what a program takes
 * for granted. */
#include "tests/conformance/driver_abi.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STREAMS = 5 };

static struct { pthread_mutex_t lock; unsigned digits; } ran = { PTHREAD_MUTEX_INITIALIZER, 0 };

static void note(void *user)
{
    pthread_mutex_lock(&ran.lock);
    ran.digits = ran.digits * 10 + *(const unsigned *)user;
    pthread_mutex_unlock(&ran.lock);
}

/* In a child: one host function in each of five streams, all of them ready at one moment; the digits in the order in
 * which they were called. */
static unsigned order_of_streams(bool chained)
{
    static const unsigned digit[STREAMS] = { 1, 2, 3, 4, 5 };
    CUstream s[STREAMS + 1];
    CUevent e;
    struct latch latch = LATCH_CLOSED;
    abi_load();
    if (cu.cuInit(0) || cu.cuDevicePrimaryCtxRetain(&abi_ctx, 0) || cu.cuCtxSetCurrent(abi_ctx) ||
        cu.cuEventCreate(&e, CU_EVENT_DISABLE_TIMING))
        return 1;
    for (int i = 0; i <= STREAMS; i++)
        if (cu.cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING)) return 2;
    if (cu.cuLaunchHostFunc(s[STREAMS], latch_wait, &latch)) return 3;
    cu.cuEventRecord(e, s[STREAMS]);
    for (unsigned i = 0; i < STREAMS; i++) {
        cu.cuStreamWaitEvent(s[i], e, 0);
        if (cu.cuLaunchHostFunc(s[i], note, (void *)&digit[i])) return 4;
        if (chained) cu.cuEventRecord(e, s[i]);
    }
    latch_entered(&latch);
    latch_open(&latch);
    if (cu.cuCtxSynchronize()) return 5;
    for (int i = 0; i <= STREAMS; i++) cu.cuStreamDestroy(s[i]);
    cu.cuEventDestroy(e);
    cu.cuDevicePrimaryCtxRelease(0);
    return ran.digits;
}

/* In a child: every thread of the device is inside a host function or a wait; work that the program waits for is done
 * all the same. */
static unsigned work_beside(bool chained)
{
    CUstream s[2];
    CUdeviceptr p = 0;
    struct latch latch = LATCH_CLOSED;
    unsigned v = 0;
    (void)chained;
    abi_load();
    if (cu.cuInit(0) || cu.cuDevicePrimaryCtxRetain(&abi_ctx, 0) || cu.cuCtxSetCurrent(abi_ctx) || cu.cuMemAlloc(&p, 4))
        return 1;
    for (int i = 0; i < 2; i++)
        if (cu.cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING)) return 2;
    if (cu.cuLaunchHostFunc(s[0], latch_wait, &latch)) return 3;
    latch_entered(&latch);
    if (cu.cuMemcpyHtoD(p, &(unsigned){ 41 }, 4)) return 4;                           /* waits for its own work */
    if (cu.cuMemsetD32Async(p, 42, 1, s[1]) || cu.cuStreamSynchronize(s[1])) return 5;  /* for a stream's */
    if (cu.cuMemcpyDtoH(&v, p, 4)) return 6;
    latch_open(&latch);
    if (cu.cuCtxSynchronize()) return 7;
    for (int i = 0; i < 2; i++) cu.cuStreamDestroy(s[i]);
    cu.cuMemFree(p);
    cu.cuDevicePrimaryCtxRelease(0);
    return v;
}

/* cuInit reads the schedule, so each has a process of its own; its verdict comes through a pipe. */
static unsigned under(const char *schedule, unsigned (*verdict)(bool chained), bool chained)
{
    int fd[2];
    unsigned v = 0;
    if (pipe(fd) != 0) tap_bail("no pipe");
    pid_t child = fork();
    if (child == 0) {
        setenv("CUJIT_SIM_SCHEDULE", schedule, 1);
        v = verdict(chained);
        ssize_t n = write(fd[1], &v, sizeof v);
        _exit(n == sizeof v ? 0 : 1);
    }
    close(fd[1]);
    if (child < 0 || read(fd[0], &v, sizeof v) != (ssize_t)sizeof v) tap_fail("%s: a verdict", schedule);
    close(fd[0]);
    if (child > 0) waitpid(child, NULL, 0);
    return v;
}

static bool each_digit_once(unsigned v)
{
    unsigned seen = 0;
    for (int i = 0; i < STREAMS; i++, v /= 10) seen |= 1u << v % 10;
    return !v && seen == 0x3e;
}

int main(void)
{
    static const char *const schedules[] = { "eager",      "lazy",     "random:1",
                                             "random:2",   "random:3", "random:18446744073709551615",
                                             "adversarial" };
    tap_need_device(1);
    tap_plan(0);
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++)
        tap_is_uint(under(schedules[i], order_of_streams, true), 12345,
                    "%s: what is ordered by events runs in that order", schedules[i]);
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++)
        tap_is_uint(under(schedules[i], work_beside, false), 42,
                    "%s: work that is waited for runs beside a host function that blocks", schedules[i]);
    tap_is_uint(under("adversarial", order_of_streams, false), 54321,
                "adversarial: what is not runs the other way round");
    bool differ = false;
    unsigned first = under("random:1", order_of_streams, false);
    tap_ok(each_digit_once(first), "random: each runs once");
    for (char seed[] = "random:2"; seed[7] <= '9' && !differ; seed[7]++)
        differ = under(seed, order_of_streams, false) != first;
    tap_ok(differ, "random: in an order of the seed's");
    tap_is_uint(under("sideways", order_of_streams, true), 1, "a schedule that does not exist: cuInit refuses it");
    return tap_done();
}
