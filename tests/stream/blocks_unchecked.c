/* Memory of cj_alloc where the driver checks no bounds within an allocation, as on a GPU: blocks are handed out and
 * taken back without a call of it.  Over the CPU device with that check hidden. */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include <cujit/cujit.h>

#include "cuda/abi.h"
#include "tests/device_parts.h"
#include "tests/latch.h"
#include "tests/stream/random_blocks.h"
#include "tests/tap.h"

enum { THREADS = 4, ROUNDS = 500, LIVE = 300, STEPS = 4000 };

static cj_device *dev;
static cj_stream *s, *t;

/* The driver's calls for events, counted; by one thread. */
static unsigned records, queries, waits;
static CUresult (*below_record)(CUevent e, CUstream on), (*below_query)(CUevent e),
    (*below_wait)(CUstream of, CUevent e, unsigned flags);
static CUresult count_record(CUevent e, CUstream on) { return records++, below_record(e, on); }
static CUresult count_query(CUevent e) { return queries++, below_query(e); }
static CUresult count_wait(CUstream of, CUevent e, unsigned flags) { return waits++, below_wait(of, e, flags); }

static void *hide_checks(void *lib, const char *name)
{
    void *const fn = dlsym(lib, name);
    if (strcmp(name, "cujit_sim_suballoc") == 0) return NULL;
    if (strcmp(name, "cuEventRecord") == 0) {
        memcpy(&below_record, &fn, sizeof fn);
        return (void *)(uintptr_t)count_record;
    }
    if (strcmp(name, "cuEventQuery") == 0) {
        memcpy(&below_query, &fn, sizeof fn);
        return (void *)(uintptr_t)count_query;
    }
    if (strcmp(name, "cuStreamWaitEvent") == 0) {
        memcpy(&below_wait, &fn, sizeof fn);
        return (void *)(uintptr_t)count_wait;
    }
    return fn;
}

static cj_alloc_counts counts_of(cj_stream *of)
{
    cj_alloc_counts c;
    cj_alloc_counts_defaults(&c);
    if (of) cj_stream_get_alloc_counts(of, &c);
    else cj_device_get_alloc_counts(dev, &c);
    return c;
}

static void counted(void)
{
    const cj_dptr a = cj_alloc(s, 1000), b = cj_alloc(t, 5000);
    tap_ok(a.addr && b.addr && a.addr % 256 == 0 && b.addr % 256 == 0, "two streams have memory");
    cj_alloc_counts all = counts_of(NULL), of_s = counts_of(s), of_t = counts_of(t);
    tap_ok(of_s.live == 1 && of_s.live_bytes == 1000 && of_t.live == 1 && of_t.live_bytes == 5000,
           "each counts its own");
    tap_ok(all.live == 2 && all.live_bytes == 6000 && all.live_bytes_most == 6000 && all.allocs == 2,
           "the device counts both");
    cj_free(dev, a);
    const cj_dptr again = cj_alloc(s, 900);
    tap_is_uint(again.addr, a.addr, "the stream that freed a block gets it again");
    tap_is_uint(counts_of(s).hits_own, of_s.hits_own + 1, "... from its own list");
    cj_free(dev, again);
    of_s = counts_of(s);
    tap_ok(of_s.live == 0 && of_s.live_bytes == 0 && of_s.live_bytes_most == 1000 && of_s.frees == 2 &&
               of_s.cached_bytes >= 1024,
           "what is freed is cached: %llu bytes", (unsigned long long)of_s.cached_bytes);
    cj_stream *u = cj_stream_create(dev, NULL);
    cj_free(dev, cj_alloc(u, 3000));
    all = counts_of(NULL);
    cj_stream_free(u);
    const cj_alloc_counts later = counts_of(NULL);
    tap_ok(later.allocs == all.allocs && later.frees == all.frees && later.live == 1 &&
               later.hits_own + later.hits_idle + later.misses == all.hits_own + all.hits_idle + all.misses,
           "what a stream did stays counted when it is gone");
    cj_free(dev, b);
}

static void not_freed(uint64_t at, const char *says, const char *what)
{
    tap_is_int(cj_free(dev, (cj_dptr){ at }), CJ_ENOTFOUND, "%s", what);
    tap_has_str(cj_error_last()->message, says, "... which is named");
}

static void rejected(void)
{
    const cj_dptr a = cj_alloc(s, 700);
    not_freed(a.addr + 256, "256 bytes inside the memory", "what does not begin there is not freed");
    not_freed(a.addr + (UINT64_C(1) << 40), "not memory of cj_alloc", "an address with the same low bits is none");
    tap_is_int(cj_free(dev, a), CJ_OK, "memory is freed");
    not_freed(a.addr, "freed before", "... and once");
    tap_is_int(cj_fill32(s, a, 1, 10), CJ_EINVAL, "freed memory is not used");
    tap_has_str(cj_error_last()->message, "freed with cj_free", "... which is named");
    tap_ok(!cj_alloc(s, 0).addr, "there is no memory of 0 bytes");
    tap_has_str(cj_error_last()->message, "0 bytes", "... which is named");
    tap_is_int(cj_free(dev, (cj_dptr){ 0 }), CJ_OK, "no memory is freed at once");
    cj_stream_sync(s);
    cj_stream_sync(s);
}

/* Many live blocks of all sizes: no two overlap. */
static void apart(void)
{
    static struct { cj_dptr at; size_t bytes; } live[LIVE];
    uint64_t random = 1;
    bool right = true;
    for (int i = 0; i < STEPS && right; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const size_t k = (size_t)(random >> 33) % LIVE, bytes = 1 + (size_t)(random >> 20) % ((size_t)64 << k % 13);
        if (live[k].at.addr) right &= cj_free(dev, live[k].at) == CJ_OK;
        live[k].at = cj_alloc(i % 3 ? s : t, live[k].bytes = bytes);
        for (size_t o = 0; o < LIVE; o++)
            right &= o == k || !live[o].at.addr || live[o].at.addr >= live[k].at.addr + bytes ||
                     live[k].at.addr >= live[o].at.addr + live[o].bytes;
        right &= live[k].at.addr != 0;
    }
    uint64_t bytes = 0;
    for (size_t k = 0; k < LIVE; k++) bytes += live[k].at.addr ? live[k].bytes : 0;
    tap_ok(right, "%d live blocks never overlap", LIVE);
    tap_is_uint(counts_of(NULL).live_bytes, bytes, "their bytes are counted");
    for (size_t k = 0; k < LIVE; k++) right &= cj_free(dev, live[k].at) == CJ_OK;
    tap_ok(right && counts_of(NULL).live == 0, "all are freed");
}

/* Each thread allocates on the shared stream, and frees what another one allocated. */
static struct { pthread_mutex_t lock; cj_dptr m[THREADS]; bool wrong; } shared = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void *exchange(void *user)
{
    const size_t me = (size_t)(uintptr_t)user;
    bool wrong = false;
    for (size_t i = 0; i < ROUNDS; i++) {
        const cj_dptr m = cj_alloc(s, 200 * (me + 1));
        pthread_mutex_lock(&shared.lock);
        const cj_dptr old = shared.m[(me + i) % THREADS];
        shared.m[(me + i) % THREADS] = m;
        pthread_mutex_unlock(&shared.lock);
        wrong |= !m.addr || cj_free(dev, old) != CJ_OK;
    }
    pthread_mutex_lock(&shared.lock);
    shared.wrong |= wrong;
    pthread_mutex_unlock(&shared.lock);
    return NULL;
}

static void by_threads(void)
{
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, exchange, (void *)(uintptr_t)i);
    for (size_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (size_t i = 0; i < THREADS; i++) cj_free(dev, shared.m[i]);
    tap_ok(!shared.wrong && counts_of(NULL).live == 0, "threads free each other's memory");
}

/* Two streams in turn take the only block of its size, while the first one's work is held. */
static void handed_over(void)
{
    enum { MIB = 1 << 20, BLOCK = MIB - 4096, HANDED = 200 };
    struct latch l = LATCH_CLOSED;
    bool same = true;
    cj_device_trim(dev, 0);
    cj_device_set_allocator(dev, CJ_ALLOCATOR(.chunk_bytes = 2 * MIB, .max_total = 2 * MIB));
    const cj_dptr other = cj_alloc(s, BLOCK), first = cj_alloc(s, BLOCK);
    bench_hold(s, &l);
    cj_fill32(s, first, 1, 16);
    cj_free(dev, first);
    records = queries = waits = 0;
    for (int i = 1; i <= HANDED; i++) {
        cj_stream *const to = i % 2 ? t : s;
        const cj_dptr m = cj_alloc(to, BLOCK);
        same &= m.addr == first.addr && cj_fill32(to, m, (uint32_t)i, 16) == CJ_OK && cj_free(dev, m) == CJ_OK;
    }
    tap_ok(same, "a block is handed over %d times", HANDED);
    tap_ok(records <= HANDED + 16 && waits == HANDED,
           "... each time behind an event that is recorded then: %u records, %u waits", records, waits);
    tap_ok(queries < HANDED / 4, "... and seldom asked for: %u queries", queries);
    tap_is_int(cj_stream_query(s), CJ_ENOTREADY, "one stream waits for the other");
    tap_is_int(cj_stream_query(t), CJ_ENOTREADY, "... and that for the held work");
    latch_open(&l);
    uint32_t got = 0;
    const cj_dptr last = cj_alloc(s, BLOCK);
    cj_copy_to_host(s, &got, last, sizeof got);
    tap_is_int(cj_stream_sync(s), CJ_OK, "all of it is done: %s", cj_error_of(s)->message);
    tap_is_uint(got, HANDED, "... in the order in which the block was handed over");
    cj_free(dev, last);
    cj_free(dev, other);
    cj_stream_sync(t);
    cj_device_set_allocator(dev, CJ_ALLOCATOR(.chunk_bytes = 2 * MIB));
}

static void random_program(void)
{
    random_blocks r = { .seed = 7, .operations = tap_under_valgrind() ? 1000 : tap_is_slow() ? 3000 : 10000 };
    const bool right = random_blocks_run(dev, &r);
    tap_ok(right, "%llu operations: %llu words have another owner's tag%s%s", (unsigned long long)r.done,
           (unsigned long long)r.wrong, r.why[0] ? "; " : "", r.why);
    const cj_alloc_counts *c = &r.counts;
    tap_ok(c->live == 0 && c->allocs == c->frees && c->live_bytes == 0 && c->deferred_bytes == 0,
           "all of %llu allocations are freed", (unsigned long long)c->allocs);
}

int main(void)
{
    tap_plan(0);
    cj_driver *sim = cj_driver_open("sim");
    cj_driver *drv = cj_driver_open_resolver(hide_checks, cj_driver_raw(sim));
    dev = cj_device_open(drv, 0, NULL);
    s = cj_stream_create(dev, NULL);
    t = cj_stream_create(dev, NULL);
    if (cj_error_of(t)->status != CJ_OK) tap_bail("no device: %s", cj_error_of(t)->message);
    cj_device_set_allocator(dev, CJ_ALLOCATOR(.chunk_bytes = 2 << 20));
    counted();
    rejected();
    apart();
    by_threads();
    handed_over();
    random_program();
    cj_stream_free(s);
    cj_stream_free(t);
    cj_device_close(dev);
    cj_driver_close(drv);
    cj_driver_close(sim);
    return tap_done();
}
