/* A random program over 16 streams in which each block of memory has one owner at a time (random_blocks.h).
 * CUJIT_TEST_SEED=n runs the program of that seed; CUJIT_TEST_ALL=1 a million operations. */
#include <stdlib.h>

#include "tests/device_bench.h"
#include "tests/stream/random_blocks.h"

int main(void)
{
    const char *seed = getenv("CUJIT_TEST_SEED"), *all = getenv("CUJIT_TEST_ALL");
    random_blocks r = { .seed = seed && *seed ? strtoull(seed, NULL, 10) : 20261122,
                        .operations = all && *all ? 1000000 : tap_under_valgrind() ? 2000
                                                     : tap_is_slow() ? 5000 : 20000 };
    bench_open(0);
    if (all && *all) tap_timeout(600);
    tap_diag("seed %llu", (unsigned long long)r.seed);
    const bool right = random_blocks_run(dev, &r);
    tap_ok(right, "%llu operations of seed %llu: %llu words have another owner's tag%s%s", (unsigned long long)r.done,
           (unsigned long long)r.seed, (unsigned long long)r.wrong, r.why[0] ? "; " : "", r.why);
    const cj_alloc_counts *c = &r.counts;
    tap_ok(c->live == 0 && c->allocs == c->frees && c->live_bytes == 0 && c->deferred_bytes == 0,
           "all of %llu allocations are freed", (unsigned long long)c->allocs);
    tap_is_uint(c->hits_own + c->hits_idle + c->hits_waited + c->misses, c->allocs, "each was served in one way");
    tap_diag("own %llu, idle %llu, waited %llu, missed %llu, rejected %llu, %llu chunks made, at most %llu "
             "bytes",
             (unsigned long long)c->hits_own, (unsigned long long)c->hits_idle, (unsigned long long)c->hits_waited,
             (unsigned long long)c->misses, (unsigned long long)r.rejected, (unsigned long long)c->chunks_made,
             (unsigned long long)c->total_bytes_most);
    return bench_close();
}
