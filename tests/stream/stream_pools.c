/* Streams of a pool: shared and exclusive leases, strategies, growth and shrinking, waits. */
#include <string.h>

#include "tests/device_bench.h"

enum { N = 64 };

static cj_stream_pool_stats stats_of(cj_stream_pool *pool)
{
    cj_stream_pool_stats now;
    cj_stream_pool_stats_defaults(&now);
    tap_is_int(cj_stream_pool_get_stats(pool, &now), CJ_OK, "the statistics are read");
    return now;
}

static void wrong_options(void)
{
    static const struct { const char *name; cj_stream_pool_opts o; const char *message; } wrong[] = {
        { "more streams than the bound", { .size = sizeof(cj_stream_pool_opts), .streams = 9, .streams_max = 8 },
          ".streams_max is 8" },
        { "too many streams", { .size = sizeof(cj_stream_pool_opts), .streams_max = 2000 }, "at most 1024" },
        { "a strategy that is none", { .size = sizeof(cj_stream_pool_opts), .strategy = 5 }, "strategy 5" },
        { "no size", { .size = 0 }, "cj_stream_pool_defaults" },
    };
    static const struct { const char *name; cj_stream_request r; const char *message; } requests[] = {
        { "a priority without streams", { sizeof(cj_stream_request), 0, CJ_PRIORITY_RAW, NULL, NULL }, "priority 3" },
        { "a work that is none", { sizeof(cj_stream_request), 4, 0, NULL, NULL }, "work 4" },
        { "no size", { 0, 0, 0, NULL, NULL }, "cj_stream_request_defaults" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cj_stream_pool *pool = cj_stream_pool_create(dev, &wrong[i].o);
        tap_is_int(cj_error_of(pool)->status, CJ_EINVAL, "%s is rejected", wrong[i].name);
        tap_has_str(cj_error_of(pool)->message, wrong[i].message, "... and named");
        cj_stream_pool_free(pool);
    }
    cj_stream_pool *pool = cj_stream_pool_create(dev, CJ_STREAM_POOL(.streams = 1));
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        tap_is_uint(cj_stream_pool_acquire(pool, &requests[i].r), 0, "%s is rejected", requests[i].name);
        tap_is_int(cj_error_of(pool)->status, CJ_EINVAL, "... with CJ_EINVAL");
        tap_has_str(cj_error_of(pool)->message, requests[i].message, "... and named");
    }
    tap_is_uint(stats_of(pool).failed, 3, "failures are counted");
    cj_stream_pool_free(pool);
}

/* Leases of one stream; a lease that was released is none any more. */
static void leases(void)
{
    uint32_t sharers = 0;
    cj_stream_pool *pool = cj_stream_pool_create(dev, CJ_STREAM_POOL(.streams = 2, .streams_max = 2));
    cj_pooled_stream l[5];
    for (int i = 0; i < 5; i++) l[i] = cj_stream_pool_acquire(pool, NULL);
    cj_stream *one = cj_stream_pool_stream(pool, l[0]), *two = cj_stream_pool_stream(pool, l[1]);
    tap_ok(one && two && one != two, "two leases have two streams");
    tap_ok(cj_stream_pool_stream(pool, l[2]) == one && cj_stream_pool_stream(pool, l[3]) == two &&
               cj_stream_pool_stream(pool, l[4]) == one,
           "in turn");
    tap_is_int(cj_stream_pool_sharers(pool, l[0], &sharers), CJ_OK, "the sharers of a stream");
    tap_is_uint(sharers, 3, "... are counted");
    tap_is_int(cj_stream_pool_sharers(pool, l[0], NULL), CJ_EINVAL, "... not to NULL");
    cj_stream_pool_stats now = stats_of(pool);
    tap_ok(now.leases == 5 && now.peak == 5 && now.in_use == 2 && now.streams == 2 && now.utilisation == 1 &&
               now.acquired == 5,
           "and so are the leases of the pool");
    tap_is_uint(cj_stream_pool_acquire_exclusive(pool, NULL), 0, "no stream is free for an exclusive lease");
    tap_is_int(cj_error_of(pool)->status, CJ_ENOMEM, "... CJ_ENOMEM");
    tap_has_str(cj_error_of(pool)->message, "2 streams", "... with the bound");
    tap_is_int(cj_stream_pool_release(pool, l[1]), CJ_OK, "a lease is released");
    tap_is_int(cj_stream_pool_release(pool, l[1]), CJ_EHANDLE, "once");
    tap_has_str(cj_error_of(pool)->message, "was released before", "... a second time is detected");
    tap_ok(!cj_stream_pool_stream(pool, l[1]), "... it has no stream");
    tap_is_int(cj_stream_pool_release(pool, 0), CJ_EHANDLE, "0 is no lease");
    cj_stream_pool_release(pool, l[3]);
    cj_pooled_stream alone = cj_stream_pool_acquire_exclusive(pool, NULL);
    tap_ok(cj_stream_pool_stream(pool, alone) == two, "an exclusive lease has the stream that nobody shares");
    now = stats_of(pool);
    tap_ok(now.exclusive == 1 && now.acquired_exclusive == 1, "... counted");
    for (int i = 0; i < 3; i++) {
        cj_pooled_stream other = cj_stream_pool_acquire(pool, NULL);
        tap_ok(cj_stream_pool_stream(pool, other) == one, "others get another one");
        cj_stream_pool_release(pool, other);
    }
    cj_stream_pool_release(pool, l[0]), cj_stream_pool_release(pool, l[2]), cj_stream_pool_release(pool, l[4]);
    l[0] = cj_stream_pool_acquire_exclusive(pool, NULL);
    tap_ok(l[0] != 0, "both are exclusive");
    tap_is_uint(cj_stream_pool_acquire(pool, NULL), 0, "then none is left");
    tap_has_str(cj_error_of(pool)->message, "an exclusive lease", "... as it says");
    cj_stream_pool_release(pool, alone);
    l[1] = cj_stream_pool_acquire(pool, NULL);
    tap_ok(cj_stream_pool_stream(pool, l[1]) == two, "until one is released");
    cj_stream_free(two);
    tap_has_str(cj_error_last()->message, "belongs to a stream pool", "cj_stream_free is rejected");
    tap_is_int(cj_fill32(two, d, 0, N), CJ_OK, "... and the stream lives");
    cj_stream_pool_sync(pool);
    cj_stream_pool_free(pool);
}

/* The pool grows when a stream has many leases, also in a capture, and shrinks again. */
static void grows(void)
{
    uint32_t freed = 9;
    cj_pooled_stream l[12];
    cj_stream_pool *pool = cj_stream_pool_create(dev, CJ_STREAM_POOL(.streams = 1, .streams_max = 3, .sharers = 2));
    cj_capture_begin(s, CJ_CAPTURE_GLOBAL);
    for (int i = 0; i < 12; i++) l[i] = cj_stream_pool_acquire(pool, NULL);
    cj_fill32(s, d, 1, N);
    cj_graph *g = cj_capture_end(s);
    tap_is_int(cj_error_of(g)->status, CJ_OK, "a pool that grows harms no capture: %s", cj_error_of(g)->message);
    cj_graph_free(g);
    cj_stream_pool_stats now = stats_of(pool);
    tap_ok(now.streams == 3 && now.grown == 2, "the pool has grown to its bound");
    tap_ok(now.leases == 12 && now.in_use == 3, "all streams are used");
    cj_stream_pool_trim(pool, &freed);
    tap_is_uint(freed, 0, "none is freed while it has leases");
    struct latch latch = LATCH_CLOSED;
    cj_stream *last = cj_stream_pool_stream(pool, l[0]); /* the stream that was made last */
    for (int i = 1; i < 12; i++) {
        cj_stream *other = cj_stream_pool_stream(pool, l[i]);
        if (cj_stream_id(other) > cj_stream_id(last)) last = other;
    }
    bench_hold(last, &latch);
    for (int i = 0; i < 12; i++) cj_stream_pool_release(pool, l[i]);
    cj_stream_pool_trim(pool, &freed);
    now = stats_of(pool);
    tap_ok(now.streams == 1 && freed == 2 && now.shrunk == 2, "idle streams are freed, down to the first number");
    l[0] = cj_stream_pool_acquire(pool, NULL);
    tap_ok(cj_stream_pool_stream(pool, l[0]) == last, "a busy one is not");
    cj_stream_pool_release(pool, l[0]);
    latch_open(&latch);
    cj_stream_pool_sync(pool);
    cj_stream_pool_trim(pool, &freed);
    now = stats_of(pool);
    tap_ok(!freed && now.streams == 1 && now.shrunk == 2, "then no more are");
    cj_stream_pool_free(pool);

    pool = cj_stream_pool_create(dev, CJ_STREAM_POOL(.streams = 1, .sharers = 1, .idle_ms = 1));
    for (int i = 0; i < 8; i++) l[i] = cj_stream_pool_acquire(pool, NULL);
    tap_ok(stats_of(pool).grown >= 3, "a pool with more streams");
    for (int i = 0; i < 8; i++) cj_stream_pool_release(pool, l[i]);
    while (now.streams = 0, cj_stream_pool_get_stats(pool, &now), now.streams > 1)
        cj_stream_pool_release(pool, cj_stream_pool_acquire(pool, NULL));
    tap_is_uint(now.streams, 1, "shrinks by itself when they have been idle");
    cj_stream_pool_free(pool);
}

static void strategies(void)
{
    cj_device_info info;
    cj_device_info_defaults(&info);
    cj_device_get_info(dev, &info);
    struct latch latch = LATCH_CLOSED;
    cj_stream_pool *pool = cj_stream_pool_create(dev, CJ_STREAM_POOL(.streams = 3, .strategy = CJ_POOL_LEAST_LOADED));
    cj_pooled_stream a = cj_stream_pool_acquire(pool, NULL), b = cj_stream_pool_acquire(pool, NULL),
                     c = cj_stream_pool_acquire(pool, NULL);
    cj_stream *sa = cj_stream_pool_stream(pool, a), *sb = cj_stream_pool_stream(pool, b),
              *sc = cj_stream_pool_stream(pool, c);
    tap_ok(sa != sb && sb != sc && sa != sc, "least loaded: three leases have three streams");
    cj_stream_pool_release(pool, a), cj_stream_pool_release(pool, b), cj_stream_pool_release(pool, c);
    for (int i = 0; i < 5; i++) cj_fill32(sa, d, 0, N);
    for (int i = 0; i < 3; i++) cj_fill32(sb, d, 0, N);
    for (int i = 0; i < 4; i++) cj_fill32(sc, d, 0, N);
    a = cj_stream_pool_acquire(pool, NULL);
    tap_ok(cj_stream_pool_stream(pool, a) == sb, "the one with the fewest operations");
    cj_stream_pool_release(pool, a);
    cj_stream_sync(sa);
    a = cj_stream_pool_acquire(pool, NULL);
    tap_ok(cj_stream_pool_stream(pool, a) == sa, "a stream that was synchronised has none left");
    cj_stream_pool_release(pool, a);
    cj_stream_pool_sync(pool);
    cj_stream_pool_free(pool);

    pool = cj_stream_pool_create(dev, CJ_STREAM_POOL(.streams = 8, .strategy = CJ_POOL_WORKLOAD));
    cj_stream *first = NULL;
    int memory = 0;
    for (int i = 0; i < 4; i++) {
        a = cj_stream_pool_acquire(pool, CJ_STREAM_REQUEST(.work = CJ_WORK_MEMORY));
        sa = cj_stream_pool_stream(pool, a);
        if (!first) first = sa;
        memory += sa == first;
        b = cj_stream_pool_acquire(pool, NULL);
        tap_ok(cj_stream_pool_stream(pool, b) != sa, "workload: compute has other streams than memory");
    }
    tap_is_int(memory, 2, "... of which memory has two");
    cj_stream_pool_free(pool);

    pool = cj_stream_pool_create(dev, CJ_STREAM_POOL(.streams = 2, .high = 1, .strategy = CJ_POOL_PRIORITY));
    a = cj_stream_pool_acquire(pool, CJ_STREAM_REQUEST(.priority = CJ_PRIORITY_HIGH));
    b = cj_stream_pool_acquire(pool, CJ_STREAM_REQUEST(.priority = CJ_PRIORITY_LOW));
    c = cj_stream_pool_acquire(pool, CJ_STREAM_REQUEST(.work = CJ_WORK_COORDINATION));
    sa = cj_stream_pool_stream(pool, a), sb = cj_stream_pool_stream(pool, b), sc = cj_stream_pool_stream(pool, c);
    tap_is_int(cj_stream_priority(sa), info.priority_greatest, "priority: high");
    tap_is_int(cj_stream_priority(sb), info.priority_least, "... low, for which the pool grows");
    tap_ok(sc == sa, "... and high for coordination");
    cj_pooled_stream critical = cj_stream_pool_acquire(pool, CJ_STREAM_REQUEST(.priority = CJ_PRIORITY_CRITICAL));
    cj_pooled_stream cleanup = cj_stream_pool_acquire(pool, CJ_STREAM_REQUEST(.priority = CJ_PRIORITY_CLEANUP));
    tap_ok(cj_stream_pool_stream(pool, critical) == sa, "... critical is as high");
    tap_ok(cj_stream_pool_stream(pool, cleanup) == sb, "... cleanup is as low");
    cj_stream_pool_release(pool, critical), cj_stream_pool_release(pool, cleanup);
    bench_hold(sb, &latch);
    tap_is_int(cj_stream_pool_sync_priority(pool, CJ_PRIORITY_CRITICAL), CJ_OK, "the same streams are waited for");
    tap_is_int(cj_stream_pool_sync_priority(pool, CJ_PRIORITY_HIGH), CJ_OK, "one priority is waited for");
    tap_is_int(cj_stream_query(sb), CJ_ENOTREADY, "... and no others");
    tap_is_int(cj_stream_pool_sync_priority(pool, CJ_PRIORITY_RAW), CJ_EINVAL, "... of no other kind");
    latch_open(&latch);
    tap_is_int(cj_stream_pool_sync(pool), CJ_OK, "all are waited for");
    tap_is_int(cj_stream_query(sb), CJ_OK, "... the low one too");
    cj_stream_pool_free(pool);

    pool = cj_stream_pool_create(dev, CJ_STREAM_POOL(.streams = 3, .strategy = CJ_POOL_DEPENDENCY));
    a = cj_stream_pool_acquire(pool, NULL);
    sa = cj_stream_pool_stream(pool, a);
    cj_fill32(sa, d, 0, N);
    b = cj_stream_pool_acquire(pool, CJ_STREAM_REQUEST(.after = sa));
    c = cj_stream_pool_acquire(pool, CJ_STREAM_REQUEST(.after = sa));
    tap_ok(cj_stream_pool_stream(pool, b) == sa, "dependency: what follows has the same stream");
    tap_ok(cj_stream_pool_stream(pool, c) != sa, "... once; a second follower gets another one");
    cj_fill32(sa, d, 0, N);
    b = cj_stream_pool_acquire(pool, CJ_STREAM_REQUEST(.after = sa));
    tap_ok(cj_stream_pool_stream(pool, b) == sa, "... and so does what follows later work");
    b = cj_stream_pool_acquire(pool, CJ_STREAM_REQUEST(.after = s));
    tap_ok(cj_stream_pool_stream(pool, b) != s, "a stream that is not the pool's is not taken");
    cj_stream_pool_sync(pool);
    cj_stream_pool_free(pool);
}

static void waits(void)
{
    struct latch la = LATCH_CLOSED, lb = LATCH_CLOSED;
    size_t which = 9;
    cj_stream_pool *pool = cj_stream_pool_create(dev, CJ_STREAM_POOL(.streams = 2, .streams_max = 2));
    const cj_pooled_stream l[] = { cj_stream_pool_acquire(pool, NULL), cj_stream_pool_acquire(pool, NULL) };
    cj_stream *a = cj_stream_pool_stream(pool, l[0]), *b = cj_stream_pool_stream(pool, l[1]);
    tap_is_int(cj_stream_pool_has_ready(pool), CJ_OK, "a new pool is ready");
    bench_hold(a, &la);
    tap_is_int(cj_stream_pool_has_ready(pool), CJ_OK, "so is one with an idle stream");
    tap_is_int(cj_stream_pool_wait_any(pool, l, 2, 0, &which), CJ_OK, "which is found");
    tap_is_uint(which, 1, "... and named");
    latch_entered(&la);
    if (!tap_on_gpu()) bench_hold(b, &lb);
    else cj_stream_join(b, a); /* host functions of a context run one at a time there */
    tap_is_int(cj_stream_pool_has_ready(pool), CJ_ENOTREADY, "no stream is ready");
    tap_is_int(cj_stream_pool_wait_any(pool, l, 2, 2, &which), CJ_ETIMEOUT, "a wait for any ends in time");
    tap_has_str(cj_error_last()->message, "after 2 ms", "... and says when");
    tap_is_int(cj_error_of(pool)->status, CJ_OK, "... which is no failure of the pool");
    tap_is_int(cj_stream_pool_wait_any(pool, NULL, 0, 0, NULL), CJ_ETIMEOUT, "nor is any other stream");
    latch_open(&la);
    tap_is_int(cj_stream_pool_wait_any(pool, l, 1, 10000, &which), CJ_OK, "until one is complete");
    latch_open(&lb);
    tap_is_int(cj_stream_pool_wait_any(pool, NULL, 0, 10000, NULL), CJ_OK, "any stream of the pool is");
    cj_stream_pool_sync(pool);
    cj_capture_begin(a, CJ_CAPTURE_THREAD);
    tap_is_int(cj_stream_pool_wait_any(pool, l, 1, 0, &which), CJ_ESTATE, "a stream that is capturing is never ready");
    tap_is_int(cj_stream_pool_wait_any(pool, l, 2, 0, &which), CJ_OK, "... the other one is");
    tap_is_int(cj_stream_pool_sync(pool), CJ_ESTATE, "... and the pool cannot be waited for");
    cj_fill32(a, d, 1, N);
    cj_graph *g = cj_capture_end(a);
    tap_is_int(cj_error_of(g)->status, CJ_OK, "none of which harms the capture: %s", cj_error_of(g)->message);
    cj_graph_free(g);
    cj_fill16(b, cj_offset(d, 1), 0, 1);
    tap_is_int(cj_stream_pool_sync(pool), CJ_EINVAL, "the first failure of the streams is returned");
    tap_is_int(cj_stream_pool_sync(pool), CJ_OK, "... once");
    tap_is_int(cj_stream_pool_release(pool, l[0]), CJ_OK, "released");
    tap_is_int(cj_stream_pool_wait_any(pool, l, 1, 0, &which), CJ_EHANDLE, "a released lease is rejected");
    tap_is_int(cj_stream_pool_wait_any(pool, NULL, 1, 0, &which), CJ_EINVAL, "and leases at NULL");
    cj_stream_pool_free(pool);
    cj_stream_pool_free(NULL);
}

int main(void)
{
    bench_open(4 * N);
    wrong_options(), leases(), grows(), strategies(), waits();
    return bench_close();
}
