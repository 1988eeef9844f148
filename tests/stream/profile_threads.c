/* Profiles of many threads: each begins and ends ranges on a stream of its own, and on one that all share, while other
 * threads turn profiles on and off, clear them, and read them.  Then each does a known amount of work: no record is
 * lost, and each is of its stream. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "tests/device_bench.h"

enum { THREADS = 4, SWITCHERS = 2, N = 32 };

static cj_profile *profiles[SWITCHERS];
static cj_stream *own[THREADS];
static cj_dptr memory[THREADS];
static atomic_int working;
static int rounds;

static void work_once(int i, const char *outer)
{
    cj_profile_begin(own[i], outer);
    cj_profile_begin(own[i], "inner");
    cj_launch(own[i], add, cj_grid(1, N), memory[i], (uint32_t)N, 1u);
    cj_profile_end(own[i]);
    cj_profile_mark(own[i], CJ_PROFILE_FILL, "mark");
    cj_fill32(own[i], memory[i], 0, N);
    cj_profile_end(own[i]);
    cj_profile_end(own[i]);
}

static void *works(void *index)
{
    const int i = *(const int *)index;
    char name[32];
    for (int n = 0; n < rounds; n++) {
        snprintf(name, sizeof name, "thread %d", (i + n) % 7);
        work_once(i, name);
        cj_profile_begin(s, "shared");
        cj_profile_end(s);
        if (n % 8 == 0) cj_stream_sync(own[i]);
    }
    cj_stream_sync(own[i]);
    atomic_fetch_sub(&working, 1);
    return NULL;
}

static void *switches(void *index)
{
    cj_profile *p = profiles[*(const int *)index];
    cj_profile_record rec[16];
    cj_profile_total total[4];
    cj_profile_summary sum;
    cj_profile_summary_defaults(&sum);
    for (int n = 0; atomic_load(&working); n++) {
        cj_profile_on(p);
        for (size_t got = cj_profile_poll(p, rec, 16), i = 0; i < got; i++)
            if (rec[i].end < rec[i].start) tap_fail("a record ends before it begins");
        cj_profile_totals(p, NULL, total, 4);
        cj_profile_get_summary(p, NULL, &sum);
        cj_profile_report(p, NULL, (cj_profile_format)(n % 3), NULL);
        if (n % 3 == 0) cj_profile_clear(p);
        cj_profile_off(p);
    }
    return NULL;
}

static void together(void *(*second)(void *), int seconds)
{
    static const int index[THREADS] = { 0, 1, 2, 3 };
    pthread_t id[THREADS], other[SWITCHERS];
    atomic_store(&working, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&id[i], NULL, works, (void *)(uintptr_t)&index[i]) != 0) tap_bail("no thread");
    for (int i = 0; i < seconds; i++)
        if (pthread_create(&other[i], NULL, second, (void *)(uintptr_t)&index[i]) != 0) tap_bail("no thread");
    for (int i = 0; i < THREADS; i++) pthread_join(id[i], NULL);
    for (int i = 0; i < seconds; i++) pthread_join(other[i], NULL);
}

/* Records by kind of what each stream did. */
static void exact(void)
{
    cj_profile *p = profiles[0];
    size_t count[THREADS][CJ_PROFILE_MEMORY + 1] = { { 0 } }, others = 0, got;
    cj_profile_record rec[64];
    cj_profile_clear(p);
    cj_profile_on(p);
    together(NULL, 0);
    cj_stream_sync(s);
    cj_profile_off(p);
    while ((got = cj_profile_poll(p, rec, 64)))
        for (size_t n = 0; n < got; n++) {
            int i = 0;
            while (i < THREADS && rec[n].stream != cj_stream_id(own[i])) i++;
            if (i < THREADS) count[i][rec[n].kind]++;
            else others += rec[n].kind == CJ_PROFILE_RANGE && rec[n].stream == cj_stream_id(s);
        }
    const size_t all = (size_t)rounds;
    for (int i = 0; i < THREADS; i++) {
        tap_is_uint(count[i][CJ_PROFILE_KERNEL], all, "stream %d has its kernels", i);
        tap_is_uint(count[i][CJ_PROFILE_FILL], 2 * all, "... its fills and marks");
        tap_is_uint(count[i][CJ_PROFILE_RANGE], 2 * all, "... and its ranges");
    }
    tap_is_uint(others, THREADS * all, "the stream of all threads has each range");
}

int main(void)
{
    bench_open(4 * N);
    rounds = tap_is_slow() ? 20 : 100;
    for (int i = 0; i < SWITCHERS; i++) profiles[i] = cj_profile_create(NULL);
    for (int i = 0; i < THREADS; i++) {
        own[i] = cj_stream_create(dev, NULL);
        memory[i] = cj_alloc(own[i], 4 * N);
    }
    for (int i = 0; i < THREADS; i++) {
        work_once(i, "alone"); /* the kernel's dimensions are known from here on: helgrind knows no atomic reads */
        cj_stream_sync(own[i]);
    }
    together(switches, SWITCHERS);
    tap_is_int(cj_error_of(profiles[0])->status, CJ_OK, "profiles are switched and read while work is enqueued");
    exact();
    for (int i = 0; i < THREADS; i++) {
        cj_free(dev, memory[i]);
        tap_is_int(cj_stream_sync(own[i]), CJ_OK, "stream %d has no failure", i);
        cj_stream_free(own[i]);
    }
    for (int i = 0; i < SWITCHERS; i++) cj_profile_free(profiles[i]);
    return bench_close();
}
