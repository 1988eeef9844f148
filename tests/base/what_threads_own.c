/* What a thread owns: each has a failure and a number of its own, also more threads at once than have room in the
 * library; what ends is used again, and a destructor that runs later may still fail. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/obj.h"
#include "tests/tap.h"

enum { THREADS = 300, FEW = 3 };

static atomic_llong bytes;
static atomic_int allocations;
static void *counting(void *user, void *p, size_t old, size_t size)
{
    (void)user;
    atomic_fetch_add(&bytes, (long long)size - (long long)old);
    if (size) atomic_fetch_add(&allocations, 1);
    if (size) return realloc(p, size);
    free(p);
    return NULL;
}

static pthread_barrier_t all_have_failed;
static atomic_int wrong;
static uint64_t number[THREADS];

static void *fail_beside_others(void *user)
{
    const int me = (int)(uintptr_t)user;
    if (cji_err_latest() != CJ_OK) atomic_fetch_add(&wrong, 1); /* it begins without a failure */
    cji_fail(NULL, me % 2 ? CJ_EINVAL : CJ_ESTATE, "call", "thread %d", me);
    pthread_barrier_wait(&all_have_failed);
    number[me] = cji_thread_id();
    if (cji_err_latest() != (me % 2 ? CJ_EINVAL : CJ_ESTATE)) atomic_fetch_add(&wrong, 1);
    return NULL;
}

static void run_threads(int count)
{
    pthread_t id[THREADS];
    pthread_barrier_init(&all_have_failed, NULL, (unsigned)count);
    for (int i = 0; i < count; i++)
        if (pthread_create(&id[i], NULL, fail_beside_others, (void *)(uintptr_t)i) != 0) tap_bail("no thread");
    for (int i = 0; i < count; i++) pthread_join(id[i], NULL);
    pthread_barrier_destroy(&all_have_failed);
}

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void many(void)
{
    cji_fail(NULL, CJ_EHANDLE, "call", "the first thread");
    const uint64_t mine = cji_thread_id();
    run_threads(THREADS);
    tap_is_int(atomic_load(&wrong), 0, "%d threads at once have failures of their own", THREADS);
    const int allocated = atomic_load(&allocations);
    tap_ok(allocated > 0 && atomic_load(&bytes) == 0, "what some of them allocated is freed");
    qsort(number, THREADS, sizeof *number, by_value);
    int same = 0;
    for (int i = 0; i < THREADS; i++) same += number[i] == mine || (i && number[i] == number[i - 1]);
    tap_is_int(same, 0, "each has a number of its own");
    for (int i = 0; i < 200; i++) run_threads(FEW);
    tap_is_int(atomic_load(&wrong), 0, "threads that come later begin without a failure");
    tap_is_int(atomic_load(&allocations), allocated, "... and have what others had");
    tap_is_int(cji_err_latest(), CJ_EHANDLE, "the first thread has still its own");
    tap_is_uint(cji_thread_id(), mine, "... and its number");
}

/* -- At the end of a thread ---------------------------------------------------------------------------------------- */

static pthread_key_t later;
static int runs;

static void fail_at_the_end(void *user)
{
    cji_fail(NULL, CJ_EINVAL, "call", "at the end");
    if (++runs < 2) pthread_setspecific(later, user); /* once more: the thread sanitizer allows no third time */
}

static void *end_with_a_failure(void *user)
{
    cji_fail(NULL, CJ_ESTATE, "call", "before the end");
    pthread_setspecific(later, user);
    return NULL;
}

static void ends(void)
{
    pthread_t id;
    pthread_key_create(&later, fail_at_the_end);
    if (pthread_create(&id, NULL, end_with_a_failure, &later) != 0) tap_bail("no thread");
    pthread_join(id, NULL);
    pthread_key_delete(later);
    tap_is_int(runs, 2, "destructors of a thread fail after its end has begun");
    run_threads(FEW);
    tap_is_int(atomic_load(&wrong), 0, "... and leave nothing for the next ones");
}

int main(void)
{
    tap_plan(0);
    cj_set_allocator(counting, NULL);
    many(), ends();
    return tap_done();
}
