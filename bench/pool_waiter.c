/* Waiters: how long after the end of its work a wait is reported, and what the thread that watches costs; beside them a
 * raw cuEventQuery that spins, and a raw cuEventSynchronize on an event that blocks.
 *
 * The end of the work is a write to pinned memory behind the kernel, which the main thread reads without a pause.  The
 * latency is what passes from the moment it sees that until the report.  So the raw queries are made by a thread of
 * their own, as the waiter's are: a thread that reads the memory between two of its queries sees the end late, by the
 * query under way, and so measures a shorter latency (waiter.latency_raw_one_thread_us). */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "bench/pool_bench.h"

enum {
    SHORT_ROUNDS = 400,
    LONG_ROUNDS = 12,
    SHORT_NS = 20000, /* the first of three kernels: 20, 50 and 80 us */
    SHORT_STEP_NS = 30000,
    LONG_NS = 100000000,
    CPU_STREAMS = 8,
    CPU_WAITS = 1000,
    CPU_ROUNDS = 5,
    CPU_MS = 100
};

typedef struct waiter_bench {
    pool_bench *b;
    cj_stream *s;
    cj_kernel *spin;
    volatile uint32_t *flag; /* pinned */
    uint32_t turn;
    cj_waiter *w;
    CUevent event, blocking;
} waiter_bench;

/* -- One piece of work --------------------------------------------------------------------------------------------- */

static atomic_int waiter_told;
static double waiter_told_ns;

static void waiter_note(void *user, cj_wait_result result)
{
    waiter_bench *x = user;
    waiter_told_ns = pool_now_ns();
    if (result != CJ_WAIT_DONE) pool_need(x->b, CJ_EDRIVER);
    atomic_store_explicit(&waiter_told, 1, memory_order_release);
}

/* A kernel, then the write that says that it has ended. */
static void work_enqueue(waiter_bench *x, uint32_t ns)
{
    x->turn++;
    pool_need(x->b, cj_launch(x->s, x->spin, cj_grid(1, 1), ns));
    pool_need(x->b, cj_stream_write_value32(x->s, (cj_dptr){ (uint64_t)(uintptr_t)x->flag }, x->turn));
}

static bool work_ended(const waiter_bench *x) { return *x->flag == x->turn; }

/* -- Latency ------------------------------------------------------------------------------------------------------- */

/* The thread that spins: queries from the moment that a record is behind the work. */
static atomic_int raw_turn; /* odd: it queries; even: it has seen the end; -1: it returns */

static void *raw_thread(void *user)
{
    waiter_bench *x = user;
    x->b->cu.cuCtxSetCurrent(x->b->ctx);
    for (int turn; (turn = atomic_load_explicit(&raw_turn, memory_order_acquire)) >= 0;) {
        if (turn % 2 == 0) continue;
        while (x->b->cu.cuEventQuery(x->event) == CUDA_ERROR_NOT_READY) {}
        waiter_told_ns = pool_now_ns();
        atomic_store_explicit(&raw_turn, turn + 1, memory_order_release);
    }
    return NULL;
}

static double latency_raw(waiter_bench *x, uint32_t ns)
{
    double ended = 0;
    work_enqueue(x, ns);
    pool_need_raw(x->b, x->b->cu.cuEventRecord(x->event, cj_stream_raw(x->s)), "cuEventRecord");
    const int turn = atomic_fetch_add(&raw_turn, 1) + 1;
    while (atomic_load_explicit(&raw_turn, memory_order_acquire) == turn)
        if (ended == 0 && work_ended(x)) ended = pool_now_ns();
    return ended == 0 || waiter_told_ns < ended ? 0 : waiter_told_ns - ended;
}

static double latency_raw_one_thread(waiter_bench *x, uint32_t ns)
{
    double ended = 0;
    work_enqueue(x, ns);
    pool_need_raw(x->b, x->b->cu.cuEventRecord(x->event, cj_stream_raw(x->s)), "cuEventRecord");
    for (;;) {
        if (ended == 0 && work_ended(x)) ended = pool_now_ns();
        if (x->b->failed || x->b->cu.cuEventQuery(x->event) != CUDA_ERROR_NOT_READY) break;
    }
    const double now = pool_now_ns();
    return ended == 0 ? 0 : now - ended;
}

static double latency_waiter(waiter_bench *x, uint32_t ns)
{
    double ended = 0;
    atomic_store(&waiter_told, 0);
    work_enqueue(x, ns);
    if (!cj_waiter_add_stream(x->w, x->s, CJ_WAIT_FOREVER, waiter_note, x)) pool_need_object(x->b, x->w);
    while (!x->b->failed && !atomic_load_explicit(&waiter_told, memory_order_acquire))
        if (ended == 0 && work_ended(x)) ended = pool_now_ns();
    return ended == 0 || waiter_told_ns < ended ? 0 : waiter_told_ns - ended;
}

typedef struct blocked { waiter_bench *x; double told; } blocked;

static void *latency_block(void *user)
{
    blocked *k = user;
    k->x->b->cu.cuCtxSetCurrent(k->x->b->ctx);
    k->x->b->cu.cuEventSynchronize(k->x->blocking);
    k->told = pool_now_ns();
    return NULL;
}

static double latency_blocking(waiter_bench *x, uint32_t ns)
{
    pthread_t thread;
    blocked k = { x, 0 };
    double ended = 0;
    work_enqueue(x, ns);
    pool_need_raw(x->b, x->b->cu.cuEventRecord(x->blocking, cj_stream_raw(x->s)), "cuEventRecord");
    if (x->b->failed || pthread_create(&thread, NULL, latency_block, &k) != 0) return 0;
    while (!work_ended(x)) {}
    ended = pool_now_ns();
    pthread_join(thread, NULL);
    return k.told < ended ? 0 : k.told - ended;
}

static double latency_median(waiter_bench *x, double (*one)(waiter_bench *, uint32_t), unsigned rounds, uint32_t ns,
                             uint32_t step)
{
    static double value[SHORT_ROUNDS];
    for (unsigned i = 0; i < rounds && !x->b->failed; i++) {
        value[i] = one(x, ns + i % 3 * step);
        pool_need(x->b, cj_stream_sync(x->s));
    }
    return bench_median(value, rounds) / 1000;
}

static void waiter_latency(waiter_bench *x)
{
    pthread_t thread;
    double raw = 0;
    atomic_store(&raw_turn, 0);
    if (pthread_create(&thread, NULL, raw_thread, x) == 0) {
        raw = latency_median(x, latency_raw, SHORT_ROUNDS, SHORT_NS, SHORT_STEP_NS);
        atomic_store(&raw_turn, -1);
        pthread_join(thread, NULL);
    }
    const double our = latency_median(x, latency_waiter, SHORT_ROUNDS, SHORT_NS, SHORT_STEP_NS);
    pool_report(x->b, "waiter.latency_raw_us", raw, "us");
    pool_report(x->b, "waiter.latency_us", our, "us");
    if (raw > 0) pool_report(x->b, "waiter.latency_ratio", our / raw, "ratio");
    pool_report(x->b, "waiter.latency_raw_one_thread_us",
                latency_median(x, latency_raw_one_thread, SHORT_ROUNDS, SHORT_NS, SHORT_STEP_NS), "us");
    pool_report(x->b, "waiter.latency_blocking_us",
                latency_median(x, latency_blocking, SHORT_ROUNDS, SHORT_NS, SHORT_STEP_NS), "us");
    pool_report(x->b, "waiter.latency_long_us", latency_median(x, latency_waiter, LONG_ROUNDS, LONG_NS, 0), "us");
    pool_report(x->b, "waiter.latency_long_blocking_us", latency_median(x, latency_blocking, LONG_ROUNDS, LONG_NS, 0),
                "us");
}

/* -- Processor time ------------------------------------------------------------------------------------------------ */

static atomic_int waiter_ends;
static clockid_t waiter_clock;

static void waiter_count(void *user, cj_wait_result result)
{
    (void)user, (void)result;
    atomic_fetch_add(&waiter_ends, 1);
}

static void waiter_find_clock(void *user, cj_wait_result result)
{
    (void)user, (void)result;
    pthread_getcpuclockid(pthread_self(), &waiter_clock);
    atomic_store(&waiter_told, 1);
}

static double waiter_thread_ns(void)
{
    struct timespec t;
    clock_gettime(waiter_clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The share of a core that the thread that watches uses while all waits are pending. */
static double waiter_cpu_once(waiter_bench *x, cj_stream **on)
{
    const struct timespec ms = { 0, CPU_MS * 1000000 };
    *x->flag = 0;
    atomic_store(&waiter_ends, 0);
    for (int i = 0; i < CPU_STREAMS; i++)
        pool_need(x->b, cj_stream_wait_value32(on[i], (cj_dptr){ (uint64_t)(uintptr_t)x->flag }, 1, CJ_COMPARE_EQ));
    const double wall = pool_now_ns(), cpu = waiter_thread_ns();
    for (int i = 0; i < CPU_WAITS; i++)
        if (!cj_waiter_add_stream(x->w, on[i % CPU_STREAMS], CJ_WAIT_FOREVER, waiter_count, NULL))
            pool_need_object(x->b, x->w);
    nanosleep(&ms, NULL);
    *x->flag = 1;
    while (!x->b->failed && atomic_load(&waiter_ends) < CPU_WAITS) nanosleep(&(struct timespec){ 0, 100000 }, NULL);
    return 100 * (waiter_thread_ns() - cpu) / (pool_now_ns() - wall);
}

static void waiter_cpu(waiter_bench *x)
{
    cj_stream *on[CPU_STREAMS];
    double value[CPU_ROUNDS];
    atomic_store(&waiter_told, 0);
    if (!cj_waiter_add_stream(x->w, x->s, CJ_WAIT_FOREVER, waiter_find_clock, NULL)) pool_need_object(x->b, x->w);
    while (!x->b->failed && !atomic_load(&waiter_told)) {}
    for (int i = 0; i < CPU_STREAMS; i++) pool_need_object(x->b, on[i] = cj_stream_create(x->b->dev, NULL));
    for (int i = 0; i < CPU_ROUNDS && !x->b->failed; i++) value[i] = waiter_cpu_once(x, on);
    pool_report(x->b, "waiter.cpu", bench_median(value, CPU_ROUNDS), "% of a core");
    for (int i = 0; i < CPU_STREAMS; i++) {
        cj_stream_sync(on[i]);
        cj_stream_free(on[i]);
    }
}

/* -- Adding -------------------------------------------------------------------------------------------------------- */

/* One wait that is added and completes, without any work; the raw peer is a record and a query. */
static void waiter_add(waiter_bench *x)
{
    enum { ADDS = 20000 };
    cj_event *e = cj_event_create(x->b->dev, NULL);
    atomic_store(&waiter_ends, 0);
    double begun = pool_now_ns();
    for (int i = 0; i < ADDS && !x->b->failed; i++)
        if (!cj_waiter_add(x->w, e, CJ_WAIT_FOREVER, waiter_count, NULL)) pool_need_object(x->b, x->w);
    pool_report(x->b, "waiter.add_ns", (pool_now_ns() - begun) / ADDS, "ns");
    while (!x->b->failed && atomic_load(&waiter_ends) < ADDS) {}
    pool_report(x->b, "waiter.add_and_end_ns", (pool_now_ns() - begun) / ADDS, "ns");
    begun = pool_now_ns();
    for (int i = 0; i < ADDS && !x->b->failed; i++) {
        pool_need_raw(x->b, x->b->cu.cuEventRecord(x->event, cj_stream_raw(x->s)), "cuEventRecord");
        x->b->cu.cuEventQuery(x->event);
    }
    pool_report(x->b, "waiter.add_raw_ns", (pool_now_ns() - begun) / ADDS, "ns");
    cj_event_free(e);
}

void pool_waiter(pool_bench *b)
{
    waiter_bench x = { .b = b };
    x.s = cj_stream_create(b->dev, NULL);
    x.spin = pool_spin_kernel(b);
    x.w = cj_waiter_create(b->dev, NULL);
    x.flag = cj_host_alloc(b->dev, 64, NULL);
    pool_need_object(b, x.s);
    pool_need_object(b, x.w);
    if (!x.flag) pool_need_object(b, b->dev);
    pool_need_raw(b, b->cu.cuEventCreate(&x.event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    pool_need_raw(b, b->cu.cuEventCreate(&x.blocking, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC),
                  "cuEventCreate");
    if (!b->failed) {
        *x.flag = 0;
        waiter_latency(&x);
        waiter_cpu(&x);
        waiter_add(&x);
    }
    cj_waiter_free(x.w);
    cj_stream_sync(x.s);
    if (x.event) b->cu.cuEventDestroy(x.event);
    if (x.blocking) b->cu.cuEventDestroy(x.blocking);
    if (x.flag) cj_host_free(b->dev, (void *)(uintptr_t)x.flag);
    cj_kernel_free(x.spin);
    cj_stream_free(x.s);
}
