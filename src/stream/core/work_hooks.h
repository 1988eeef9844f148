/* Hooks around work: who measures it registers a table of functions, which is NULL while nobody does.  Prefix
 * cji_work.
 *
 * A call that enqueues measured work begins, with its handles checked, with
 *
 *     if (cji_work_measured()) return launch_measured(...);
 *
 * That function calls cji_work_begin(), the same call once more, and cji_work_end().  Between the two
 * cji_work_measured() is false on the thread, so that the call does its work, and what it calls is not measured a
 * second time.  While there are no hooks that is a load, a test and a branch. */
#ifndef CJI_WORK_HOOKS_H
#define CJI_WORK_HOOKS_H

#include <cujit/profile.h>

#include "stream/core/stream_core.h"

/* What was enqueued; `name` is "" for the kind's. */
typedef struct cji_work_info {
    int kind; /* a cj_profile_kind */
    const char *name;
    uint64_t bytes;
    uint64_t from; /* of a wait: the stream's id; 0: not known */
} cji_work_info;

enum { CJI_WORK_SINKS = 4 };

/* Work that is being enqueued.  Its fields but `hooks` are those of the hooks. */
typedef struct cji_work {
    const struct cji_work_hooks *hooks; /* NULL: there were none */
    struct cji_timing *timing;          /* the stream's; NULL: the work is not measured */
    CUevent start, end;
    uint64_t submit;
    uint32_t sink[CJI_WORK_SINKS];      /* who collects it; 0: nobody */
} cji_work;

typedef struct cji_work_hooks {
    void (*begin)(cji_work *w, cj_stream *s);
    /* done: the driver has accepted the work */
    void (*end)(cji_work *w, cj_stream *s, bool done, const cji_work_info *what);
    /* memory of the device of `queue`: bytes that are allocated now */
    void (*memory)(const cji_release_queue *queue, uint64_t bytes);
} cji_work_hooks;

static inline uintptr_t cji_work_hooks_word(void) /* 0: there are none */
{
#ifdef CJI_WORK_NO_HOOKS /* tests/stream/profile_off.sh: calls as they are without hooks */
    return 0;
#endif
    return (uintptr_t)atomic_load_explicit(&cji_process.work_hooks, memory_order_relaxed);
}
static inline bool cji_work_hooked(void) { return __builtin_expect(cji_work_hooks_word() != 0, 0); }
static inline bool cji_work_measured(void) { return cji_work_hooked() && !cji_thread()->measures; }

void cji_work_begin(cji_work *w, cj_stream *s);
void cji_work_end(cji_work *w, cj_stream *s, bool done, const cji_work_info *what);
void cji_work_memory(const cji_release_queue *queue, uint64_t bytes);

/* Functions for measured work are not on the way of other calls. */
#define CJI_COLD __attribute__((cold, noinline))
/* Nor are those for what is usual and yet not the quickest. */
#define CJI_APART __attribute__((noinline))

/* -- What was measured of a stream, for its counters --------------------------------------------------------------- */

/* Buckets of times: four for each power of two of nanoseconds. */
enum { CJI_TIMING_BUCKETS = 4 * 48 };

/* The first member of what the hooks keep of a stream.  References: the stream's, and those of the hooks. */
typedef struct cji_timing {
    atomic_uint refs;
    void (*release)(struct cji_timing *t); /* the last reference is dropped */
    atomic_uint_fast64_t operations, busy_ns, wait_ns, latencies, latency_ns;
    atomic_uint_fast32_t bucket[CJI_TIMING_BUCKETS]; /* of latencies */
} cji_timing;

void cji_timing_drop(cji_timing *t); /* NULL is fine */
void cji_timing_latency(cji_timing *t, uint64_t ns);
/* The bucket of a time, and the middle of a bucket. */
unsigned cji_timing_bucket(uint64_t ns);
uint64_t cji_timing_middle(unsigned bucket);
/* The time below which `percent` of the latencies lie; 0 without any. */
uint64_t cji_timing_percentile(const cji_timing *t, unsigned percent);

#endif
