/* The program of make stress: see stress.h. */
#include "tests/stress/stress.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/device_parts.h"
#include "tests/tap.h"

static const stress_part *const parts[] = { &stress_waiter, &stress_pools, &stress_blocks, &stress_tasks,
                                           &stress_pipeline };
enum { PARTS = sizeof parts / sizeof *parts };

stress_world stress;

/* -- Random numbers and failures ----------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t x)
{
    x ^= x >> 30, x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27, x *= UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

uint32_t stress_random(stress_thread *t, uint32_t below)
{
    t->random += UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)((mix(t->random) >> 32) * below >> 32);
}

static atomic_int failures;

void stress_failed(const char *what, const char *why)
{
    if (atomic_fetch_add(&failures, 1) < 10) tap_diag("%s: %s", what, why);
}

bool stress_did(cj_status st, const char *what)
{
    if (st != CJ_OK) stress_failed(what, cj_error_last()->message);
    return st == CJ_OK;
}

/* -- The ledger ---------------------------------------------------------------------------------------------------- */

enum { ENTRIES = 16384 };

/* Closed entries are used again in their order, so that a second completion finds its entry closed. */
static struct {
    pthread_mutex_t lock;
    stress_entry entry[ENTRIES], *first, **last;
    uint64_t opened, closed, revoked;
    atomic_int twice;
} ledger = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void ledger_put(stress_entry *e)
{
    e->next = NULL;
    *ledger.last = e;
    ledger.last = &e->next;
}

static void ledger_begin(void)
{
    ledger.last = &ledger.first;
    for (int i = 0; i < ENTRIES; i++) ledger_put(&ledger.entry[i]);
}

stress_entry *stress_open(void)
{
    pthread_mutex_lock(&ledger.lock);
    stress_entry *e = ledger.opened - ledger.closed - ledger.revoked < ENTRIES / 2 ? ledger.first : NULL;
    if (e) {
        ledger.first = e->next;
        ledger.opened++;
        atomic_store(&e->cancelled, 0);
        atomic_store(&e->open, 1);
    }
    pthread_mutex_unlock(&ledger.lock);
    return e;
}

static void ledger_end_entry(stress_entry *e, uint64_t *counter)
{
    if (atomic_exchange(&e->open, 0) != 1) {
        atomic_fetch_add(&ledger.twice, 1);
        return;
    }
    pthread_mutex_lock(&ledger.lock);
    ++*counter;
    ledger_put(e);
    pthread_mutex_unlock(&ledger.lock);
}

void stress_close(stress_entry *e) { ledger_end_entry(e, &ledger.closed); }
void stress_revoke(stress_entry *e) { ledger_end_entry(e, &ledger.revoked); }

/* -- Threads ------------------------------------------------------------------------------------------------------- */

static atomic_bool over;
static atomic_ulong steps;

static void *thread_run(void *user)
{
    stress_thread *t = user;
    unsigned long made = 0;
    while (!atomic_load_explicit(&over, memory_order_relaxed)) {
        parts[stress_random(t, PARTS)]->step(t);
        made++;
    }
    atomic_fetch_add(&steps, made);
    return NULL;
}

static void world_begin(void)
{
    cj_ptx *m = bench_add_module();
    stress.drv = cj_driver_open(NULL);
    stress.dev = cj_device_open(stress.drv, 0, NULL);
    stress.add = cj_kernel_load(stress.dev, m, "add", NULL);
    cj_ptx_free(m);
    if (cj_error_of(stress.add)->status != CJ_OK) tap_bail("%s", cj_error_of(stress.add)->message);
    for (int i = 0; i < STRESS_STREAMS; i++) {
        stress.s[i] = cj_stream_create(stress.dev, NULL);
        stress.d[i] = cj_alloc(stress.s[i], 4 * STRESS_WORDS);
        if (!stress.d[i].addr) tap_bail("%s", cj_error_of(stress.s[i])->message);
    }
}

static void world_end(void)
{
    for (int i = 0; i < STRESS_STREAMS; i++) {
        cj_free(stress.dev, stress.d[i]);
        stress_did(cj_stream_sync(stress.s[i]), "a stream at the end");
        cj_stream_free(stress.s[i]);
    }
    cj_kernel_free(stress.add);
    tap_is_uint(cj_device_collect(stress.dev), 0, "no release is pending");
    cj_device_close(stress.dev);
    cj_driver_close(stress.drv);
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

int main(void)
{
    tap_need_device(1);
    tap_plan(0);
    const unsigned seconds = (unsigned)number_of("STRESS_SECONDS", 2);
    const uint64_t seed = number_of("STRESS_SEED", (uint64_t)time(NULL));
    tap_timeout(seconds + 60);
    tap_diag("STRESS_SEED=%llu STRESS_SECONDS=%u, %d threads", (unsigned long long)seed, seconds, STRESS_THREADS);
    pthread_t id[STRESS_THREADS];
    stress_thread thread[STRESS_THREADS];
    ledger_begin();
    world_begin();
    for (int i = 0; i < PARTS; i++) parts[i]->begin();
    for (unsigned i = 0; i < STRESS_THREADS; i++) {
        thread[i] = (stress_thread){ i, mix(seed + i) };
        if (pthread_create(&id[i], NULL, thread_run, &thread[i]) != 0) tap_bail("no thread");
    }
    nanosleep(&(struct timespec){ .tv_sec = seconds }, NULL); /* the length of the run: nothing depends on it */
    atomic_store(&over, true);
    for (unsigned i = 0; i < STRESS_THREADS; i++) pthread_join(id[i], NULL);
    for (int i = PARTS; i-- > 0;) parts[i]->end();
    world_end();
    tap_diag("%lu steps, %llu completions", atomic_load(&steps), (unsigned long long)ledger.closed);
    tap_is_int(atomic_load(&failures), 0, "no step fails");
    tap_ok(ledger.closed > 0, "there are completions");
    tap_is_uint(ledger.closed + ledger.revoked, ledger.opened, "what began is complete");
    tap_is_int(atomic_load(&ledger.twice), 0, "nothing is complete twice");
    return tap_done();
}
