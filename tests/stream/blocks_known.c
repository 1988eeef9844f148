/* What is known of the uses of an allocation: by streams, by events; queried and forgotten; all memory of a stream;
 * bytes of freed memory; frees on other threads, and after fork(). */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/device_bench.h"

enum { MIB = 1 << 20, N = 1024, THREADS = 4, ROUNDS = 200 };

static cj_alloc_counts counts(void)
{
    cj_alloc_counts c;
    cj_alloc_counts_defaults(&c);
    cj_device_get_alloc_counts(dev, &c);
    return c;
}

static void by_streams(void)
{
    struct latch l = LATCH_CLOSED;
    cj_dptr a = cj_alloc(s, 4096);
    tap_ok(cj_stream_uses(s, a) && !cj_stream_uses(t, a), "the home stream uses memory, another one does not");
    cj_stream_use(t, cj_offset(a, 100));
    tap_ok(cj_stream_uses(t, a), "... until cj_stream_use");
    bench_hold(t, &l);
    tap_is_int(cj_mem_query(dev, a), CJ_ENOTREADY, "its work is not complete");
    tap_is_int(cj_mem_forget(dev, a), CJ_OK, "a use can be forgotten");
    tap_ok(!cj_stream_uses(t, a) && cj_stream_uses(s, a), "... of other streams");
    tap_is_int(cj_mem_query(dev, a), CJ_OK, "then the release waits for nothing");
    latch_open(&l);
    cj_stream_sync(t);
    cj_free(dev, a);
    tap_is_int(cj_mem_query(dev, a), CJ_ENOTFOUND, "freed memory is not known: %s", cj_error_last()->message);
    tap_is_int(cj_mem_forget(dev, (cj_dptr){ 0 }), CJ_ENOTFOUND, "nor is none: %s", cj_error_last()->message);
    tap_ok(!cj_stream_uses(s, a), "... and no stream uses it");
}

static void by_events(void)
{
    struct latch l = LATCH_CLOSED;
    cj_event *e = cj_event_create(dev, NULL), *reached = cj_event_create(dev, NULL);
    cj_dptr a = cj_alloc(s, 4096), b = cj_alloc(s, 4096);
    cj_event_record(reached, t);
    cj_event_sync(reached);
    bench_hold(t, &l);
    cj_event_record(e, t);
    tap_is_int(cj_event_use(e, a), CJ_OK, "an event marks a use: %s", cj_error_of(e)->message);
    tap_is_int(cj_event_use(reached, b), CJ_OK, "another one is reached");
    cj_event_record(e, s); /* moves it; the use is what it marked before */
    cj_event_sync(e);
    tap_is_int(cj_mem_query(dev, a), CJ_ENOTREADY, "the use lasts, though the event moved on");
    tap_is_int(cj_mem_query(dev, b), CJ_OK, "what is reached is over");
    cj_free(dev, a);
    tap_ok(counts().deferred_bytes >= 4096, "the release waits for the event");
    latch_open(&l);
    cj_stream_sync(t);
    for (int i = 0; i < 100000 && cj_device_collect(dev); i++) sched_yield();
    tap_is_uint(counts().deferred_bytes, 0, "... and no longer");
    tap_is_int(cj_event_use(e, a), CJ_ENOTFOUND, "freed memory has no use: %s", cj_error_of(e)->message);
    cj_free(dev, b);
    cj_event_free(e);
    cj_event_free(reached);
}

static void all_of_a_stream(void)
{
    cj_stream *u = cj_stream_create(dev, NULL);
    cj_dptr kept = cj_alloc(s, 100);
    for (size_t i = 0; i < 150; i++) cj_alloc(u, 64 << i % 12);
    cj_alloc(u, 3 * MIB);
    cj_alloc_counts of_u, of_s;
    cj_alloc_counts_defaults(&of_u);
    cj_alloc_counts_defaults(&of_s);
    tap_ok(cj_stream_get_alloc_counts(u, &of_u) == CJ_OK && of_u.live == 151 && of_u.live_bytes > 3 * MIB,
           "a stream counts its memory");
    tap_ok(cj_stream_get_alloc_counts(s, &of_s) == CJ_OK && of_s.live == 1 && of_s.live_bytes == 100,
           "... and not another stream's");
    tap_is_uint(cj_stream_free_all(u), 151, "all memory of a stream is freed at once");
    tap_is_uint(cj_stream_free_all(u), 0, "... which is all");
    tap_is_uint(counts().live, 1, "memory of other streams stays");
    cj_stream_get_alloc_counts(u, &of_u);
    tap_ok(of_u.live == 0 && of_u.live_bytes == 0 && of_u.frees == 151, "... and counts that");
    cj_stream_free(u);
    cj_free(dev, kept);
}

static void poisoned(void)
{
    uint32_t got[2] = { 0, 0 }, used[2] = { 0, 0 };
    cj_device_set_allocator(dev, CJ_ALLOCATOR(.chunk_bytes = 2 * MIB, .poison = 1));
    cj_dptr a = cj_alloc(s, sizeof(uint32_t) * N);
    cj_fill32(s, a, 1, N);
    cj_launch(s, add, cj_threads(N, 256), a, N, 4);
    cj_copy_to_host(s, used, a, sizeof used);
    cj_free(dev, a);
    cj_dptr b = cj_alloc(s, sizeof(uint32_t) * N);
    tap_is_uint(b.addr, a.addr, "the stream gets the block again");
    cj_copy_to_host(s, got, b, sizeof got);
    cj_stream_sync(s);
    tap_ok(used[0] == 5 && used[1] == 5, "the poison comes behind the last use");
    tap_ok(got[0] == 0xdddddddd && got[1] == 0xdddddddd, "freed memory has bytes 0xDD");
    struct latch l = LATCH_CLOSED;
    cj_fill32(s, b, 2, N);
    cj_stream_fork(s, t);
    bench_hold(t, &l);
    cj_copy_to_host(t, used, b, sizeof used);
    cj_free(dev, b);
    cj_stream_sync(s);
    latch_open(&l);
    cj_stream_sync(t);
    tap_ok(used[0] == 2 && used[1] == 2, "... of other streams too");
    cj_device_collect(dev);
    cj_device_set_allocator(dev, CJ_ALLOCATOR(.chunk_bytes = 2 * MIB));
}

/* Each thread allocates on the shared stream, and frees what the next one allocated. */
static struct { pthread_mutex_t lock; cj_dptr m[THREADS]; bool wrong; } shared = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void *exchange(void *user)
{
    const size_t me = (size_t)(uintptr_t)user;
    for (int i = 0; i < ROUNDS; i++) {
        const cj_dptr m = cj_alloc(s, 256 * (me + 1));
        pthread_mutex_lock(&shared.lock);
        const cj_dptr old = shared.m[(me + (size_t)i) % THREADS];
        shared.m[(me + (size_t)i) % THREADS] = m;
        pthread_mutex_unlock(&shared.lock);
        if (!m.addr || cj_free(dev, old) != CJ_OK) shared.wrong = true;
    }
    return NULL;
}

static void by_other_threads(void)
{
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, exchange, (void *)(uintptr_t)i);
    for (size_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (size_t i = 0; i < THREADS; i++) cj_free(dev, shared.m[i]);
    tap_ok(!shared.wrong && counts().live == 0, "threads free each other's memory");
}

static void after_a_fork(void)
{
    const cj_dptr a = cj_alloc(s, 512);
    int ends[2];
    char none = 0;
    if (pipe(ends)) tap_bail("no pipe");
    const pid_t child = fork();
    if (!child) {   /* its exit status is that of a checker of leaks, perhaps */
        none = cj_free(dev, a) == CJ_EFORKED && !cj_alloc(s, 8).addr && cj_mem_query(dev, a) == CJ_EFORKED;
        _exit(write(ends[1], &none, 1) != 1);
    }
    close(ends[1]);
    tap_ok(read(ends[0], &none, 1) == 1 && none, "a forked process has none of it");
    close(ends[0]);
    waitpid(child, NULL, 0);
    tap_is_int(cj_free(dev, a), CJ_OK, "... and its parent still has");
}

int main(void)
{
    bench_open(0);
    cj_device_set_allocator(dev, CJ_ALLOCATOR(.chunk_bytes = 2 * MIB));
    by_streams();
    by_events();
    all_of_a_stream();
    poisoned();
    by_other_threads();
    after_a_fork();
    return bench_close();
}
