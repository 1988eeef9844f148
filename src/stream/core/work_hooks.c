/* Hooks around work, and the times of a stream. */
#include "stream/core/work_hooks.h"

void cji_work_begin(cji_work *w, cj_stream *s)
{
    *w = (cji_work){ .hooks = atomic_load_explicit(&cji_process.work_hooks, memory_order_acquire) };
    cji_thread()->measures = true;
    if (w->hooks) w->hooks->begin(w, s);
}

void cji_work_end(cji_work *w, cj_stream *s, bool done, const cji_work_info *what)
{
    if (w->hooks) w->hooks->end(w, s, done, what);
    cji_thread()->measures = false;
}

void cji_work_memory(const cji_release_queue *queue, uint64_t bytes)
{
    const cji_work_hooks *hooks = atomic_load_explicit(&cji_process.work_hooks, memory_order_acquire);
    if (hooks) hooks->memory(queue, bytes);
}

/* -- Times --------------------------------------------------------------------------------------------------------- */

void cji_timing_drop(cji_timing *t)
{
    if (t && atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) == 1) t->release(t);
}

unsigned cji_timing_bucket(uint64_t ns)
{
    if (ns < 4) return (unsigned)ns;
    const unsigned log = 63 - (unsigned)__builtin_clzll(ns), bucket = 4 * (log - 1) + (unsigned)(ns >> (log - 2) & 3);
    return bucket < CJI_TIMING_BUCKETS ? bucket : CJI_TIMING_BUCKETS - 1;
}

uint64_t cji_timing_middle(unsigned bucket)
{
    if (bucket < 4) return bucket;
    const unsigned log = bucket / 4 + 1;
    const uint64_t width = UINT64_C(1) << (log - 2);
    return (4 + bucket % 4) * width + width / 2;
}

void cji_timing_latency(cji_timing *t, uint64_t ns)
{
    atomic_fetch_add_explicit(&t->latencies, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&t->latency_ns, ns, memory_order_relaxed);
    atomic_fetch_add_explicit(&t->bucket[cji_timing_bucket(ns)], 1, memory_order_relaxed);
}

uint64_t cji_timing_percentile(const cji_timing *t, unsigned percent)
{
    uint64_t all = 0, below = 0;
    for (unsigned i = 0; i < CJI_TIMING_BUCKETS; i++) all += atomic_load_explicit(&t->bucket[i], memory_order_relaxed);
    for (unsigned i = 0; i < CJI_TIMING_BUCKETS && all; i++) {
        below += atomic_load_explicit(&t->bucket[i], memory_order_relaxed);
        if (below * 100 >= all * percent) return cji_timing_middle(i);
    }
    return 0;
}
