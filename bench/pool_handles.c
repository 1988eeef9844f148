/* Events and streams of pools: acquired and released, by one thread and by 16, beside creating and destroying by the
 * driver.  64 are acquired and then released in another order. */
#include <stdatomic.h>
#include <stdio.h>

#include "bench/pool_bench.h"

enum { AT_A_TIME = 64, ROUNDS = 2000, REPEATS = 15, THREADS = 16, RAW_ROUNDS = 20, MAIL = 8 };

/* Batches of handles that one thread has acquired and another one releases. */
typedef struct mail {
    _Alignas(64) atomic_uint sent;
    _Alignas(64) atomic_uint taken;
    _Alignas(64) uint64_t batch[MAIL][AT_A_TIME / 2];
} mail;

/* What is acquired and released: one of the pools. */
typedef struct handles {
    pool_bench *b;
    cj_event_pool *events;
    cj_stream_pool *streams;
    uint64_t (*acquire)(struct handles *h);
    cj_status (*release)(struct handles *h, uint64_t handle);
    unsigned rounds;
    double ns[THREADS];   /* processor time of each thread */
    atomic_uint batches;  /* sent */
    mail mail[THREADS];   /* to each thread from the one before it */
} handles;

static uint64_t event_acquire(handles *h) { return cj_event_pool_acquire(h->events, CJ_EVENT_REGULAR); }
static cj_status event_release(handles *h, uint64_t e) { return cj_event_pool_release(h->events, e); }
static uint64_t lease_acquire(handles *h) { return cj_stream_pool_acquire(h->streams, NULL); }
static cj_status lease_release(handles *h, uint64_t l) { return cj_stream_pool_release(h->streams, l); }
static uint64_t alone_acquire(handles *h) { return cj_stream_pool_acquire_exclusive(h->streams, NULL); }

static unsigned shuffled(unsigned i) { return i * 37 % AT_A_TIME; }

static void take_and_return(handles *h, unsigned count)
{
    uint64_t held[AT_A_TIME];
    for (unsigned i = 0; i < count; i++)
        if (!(held[i] = h->acquire(h))) pool_need(h->b, cj_error_last()->status);
    for (unsigned i = 0, at = 0; i < count; at++)
        if (shuffled(at) < count) pool_need(h->b, h->release(h, held[shuffled(at)])), i++;
}

/* Nanoseconds for an acquire and a release: the median of repeats. */
static double one_thread(handles *h, unsigned count)
{
    double ns[REPEATS];
    for (int r = -2; r < REPEATS && !h->b->failed; r++) {
        const double t0 = pool_now_ns();
        for (unsigned i = 0; i < h->rounds; i++) take_and_return(h, count);
        if (r >= 0) ns[r] = (pool_now_ns() - t0) / h->rounds / count;
    }
    return bench_median(ns, REPEATS);
}

/* Releases what was sent. */
static void take_mail(handles *h, mail *m)
{
    unsigned taken = atomic_load(&m->taken);
    while (taken != atomic_load(&m->sent)) {
        for (unsigned i = 0; i < AT_A_TIME / 2; i++) h->release(h, m->batch[taken % MAIL][i]);
        atomic_store(&m->taken, ++taken);
    }
}

/* Half of what a thread acquires is released by the next one, unless that is late. */
static void exchange(void *user, unsigned me)
{
    handles *h = user;
    mail *out = &h->mail[(me + 1) % THREADS];
    const double t0 = pool_thread_ns();
    for (unsigned r = 0; r < h->rounds; r++) {
        uint64_t held[AT_A_TIME];
        for (unsigned i = 0; i < AT_A_TIME; i++) held[i] = h->acquire(h);
        take_mail(h, &h->mail[me]);
        const unsigned sent = atomic_load(&out->sent);
        const bool send = sent - atomic_load(&out->taken) < MAIL;
        for (unsigned i = 0; i < AT_A_TIME; i++) {
            const uint64_t one = held[shuffled(i)];
            if (send && i >= AT_A_TIME / 2) out->batch[sent % MAIL][i - AT_A_TIME / 2] = one;
            else h->release(h, one);
        }
        if (send) {
            atomic_store(&out->sent, sent + 1);
            atomic_fetch_add(&h->batches, 1);
        }
    }
    h->ns[me] = pool_thread_ns() - t0;
}

static double many_threads(handles *h)
{
    double ns[5];
    for (int r = -1; r < 5; r++) {
        double sum = 0;
        pool_threads(THREADS, exchange, h);
        for (unsigned i = 0; i < THREADS; i++) sum += h->ns[i];
        for (unsigned i = 0; i < THREADS; i++) take_mail(h, &h->mail[i]);
        if (r >= 0) ns[r] = sum / THREADS / h->rounds / AT_A_TIME;
    }
    return bench_median(ns, 5);
}

static void report_handles(handles *h, const char *name)
{
    char metric[80];
    const double one = one_thread(h, AT_A_TIME);
    snprintf(metric, sizeof metric, "%s.ns", name);
    pool_report(h->b, metric, one, "ns");
    atomic_store(&h->batches, 0);
    const double many = many_threads(h);
    snprintf(metric, sizeof metric, "%s.threads_ns", name);
    pool_report(h->b, metric, many, "ns");
    snprintf(metric, sizeof metric, "%s.threads_ratio", name);
    pool_report(h->b, metric, many / one, "ratio");
    snprintf(metric, sizeof metric, "%s.exchanged", name);
    pool_report(h->b, metric, (double)atomic_load(&h->batches) / 2 / (6.0 * THREADS * h->rounds), "share");
}

/* -- Beside the driver --------------------------------------------------------------------------------------------- */

static double raw_events(pool_bench *b)
{
    double ns[REPEATS];
    CUevent e[AT_A_TIME];
    for (int r = -2; r < REPEATS && !b->failed; r++) {
        const double t0 = pool_now_ns();
        for (int k = 0; k < RAW_ROUNDS; k++) {
            for (int i = 0; i < AT_A_TIME; i++)
                pool_need_raw(b, b->cu.cuEventCreate(&e[i], CU_EVENT_DISABLE_TIMING), "cuEventCreate");
            for (unsigned i = 0; i < AT_A_TIME; i++)
                pool_need_raw(b, b->cu.cuEventDestroy(e[shuffled(i)]), "cuEventDestroy");
        }
        if (r >= 0) ns[r] = (pool_now_ns() - t0) / RAW_ROUNDS / AT_A_TIME;
    }
    return bench_median(ns, REPEATS);
}

static double raw_streams(pool_bench *b)
{
    double ns[REPEATS];
    CUstream s[AT_A_TIME];
    for (int r = -2; r < REPEATS && !b->failed; r++) {
        const double t0 = pool_now_ns();
        for (int i = 0; i < AT_A_TIME; i++)
            pool_need_raw(b, b->cu.cuStreamCreateWithPriority(&s[i], CU_STREAM_NON_BLOCKING, 0),
                          "cuStreamCreateWithPriority");
        for (unsigned i = 0; i < AT_A_TIME; i++)
            pool_need_raw(b, b->cu.cuStreamDestroy(s[shuffled(i)]), "cuStreamDestroy");
        if (r >= 0) ns[r] = (pool_now_ns() - t0) / AT_A_TIME;
    }
    return bench_median(ns, REPEATS);
}

void pool_events(pool_bench *b)
{
    handles h = { .b = b, .acquire = event_acquire, .release = event_release, .rounds = ROUNDS };
    h.events = cj_event_pool_create(b->dev, CJ_EVENT_POOL(.regular = AT_A_TIME));
    pool_need_object(b, h.events);
    if (!b->failed) {
        report_handles(&h, "event_pool");
        pool_report(b, "event_pool.create_ns", raw_events(b), "ns");
    }
    cj_event_pool_free(h.events);
}

void pool_streams(pool_bench *b)
{
    handles h = { .b = b, .acquire = lease_acquire, .release = lease_release, .rounds = ROUNDS };
    h.streams = cj_stream_pool_create(b->dev, CJ_STREAM_POOL(.streams = AT_A_TIME, .streams_max = AT_A_TIME));
    pool_need_object(b, h.streams);
    if (!b->failed) {
        report_handles(&h, "stream_pool");
        h.acquire = alone_acquire;
        h.rounds /= 10;
        pool_report(b, "stream_pool.exclusive_ns", one_thread(&h, AT_A_TIME / 4), "ns");
        pool_report(b, "stream_pool.create_ns", raw_streams(b), "ns");
    }
    cj_stream_pool_free(h.streams);
}
