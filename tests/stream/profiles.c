/* What a profile records: each operation once, after it has ended, with its name, its order and its stream; nothing
 * while it is off; nothing of a capture. */
#include <string.h>

#include "tests/device_bench.h"

/* Two events that follow each other may seem to be so much the other way round: the driver's times are rounded. */
enum { TICK = 2000 };
enum { MOST = 64, N = 256 };
static cj_profile_record rec[MOST];

static void nothing(void *user) { (void)user; }

static void add_on(cj_stream *on)
{
    tap_is_int(cj_launch(on, add, cj_grid(1, N), d, (uint32_t)N, 1u), CJ_OK, "a kernel is enqueued");
}

static size_t poll_all(cj_profile *p)
{
    cj_stream_sync(s);
    cj_stream_sync(t);
    return cj_profile_poll(p, rec, MOST);
}

static const char *kind_at(size_t n, size_t i)
{
    const char *name = i < n ? cj_enum_name("cj_profile_kind", rec[i].kind) : "none";
    return name ? name : "unknown";
}

/* -- Each kind of work --------------------------------------------------------------------------------------------- */

static float host[N];
static cj_event *event;

static cj_status do_kernel(void) { return cj_launch(s, add, cj_grid(1, N), d, (uint32_t)N, 1u); }
static cj_status do_to_device(void) { return cj_copy_to_device(s, d, host, sizeof host); }
static cj_status do_to_host(void) { return cj_copy_to_host(s, host, d, sizeof host); }
static cj_status do_copy(void) { return cj_copy(s, d, cj_offset(d, 64), 64); }
static cj_status do_rows(void) { return cj_copy_2d(s, d, 64, cj_offset(d, 32), 64, 16, 4); }
static cj_status do_fill(void) { return cj_fill32(s, d, 1, 16); }
static cj_status do_fill64(void) { return cj_fill64(s, d, UINT64_C(0x100000002), 8); }
static cj_status do_host_func(void) { return cj_host_func(s, nothing, NULL); }
static cj_status do_wait(void) { return cj_stream_wait(s, event); }
static cj_status do_join(void) { return cj_stream_join(s, t); }

static const struct {
    const char *name;
    cj_status (*run)(void);
    cj_profile_kind kind;
    const char *called;
    uint64_t bytes;
} kinds[] = {
    { "a launch", do_kernel, CJ_PROFILE_KERNEL, "add", 0 },
    { "a copy to the device", do_to_device, CJ_PROFILE_COPY_TO_DEVICE, "copy to device", sizeof host },
    { "a copy to the host", do_to_host, CJ_PROFILE_COPY_TO_HOST, "copy to host", sizeof host },
    { "a copy on the device", do_copy, CJ_PROFILE_COPY, "copy", 64 },
    { "a copy of rows", do_rows, CJ_PROFILE_COPY, "copy", 64 },
    { "a fill", do_fill, CJ_PROFILE_FILL, "fill", 64 },
    { "a fill that is two of the driver's", do_fill64, CJ_PROFILE_FILL, "fill", 64 },
    { "a host function", do_host_func, CJ_PROFILE_HOST_FUNC, "host function", 0 },
    { "a wait for an event", do_wait, CJ_PROFILE_WAIT, "wait", 0 },
    { "a join", do_join, CJ_PROFILE_WAIT, "wait", 0 },
};

static void check_kinds(cj_profile *p)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        tap_is_int(kinds[i].run(), CJ_OK, "%s is enqueued", kinds[i].name);
        const size_t n = poll_all(p);
        tap_is_uint(n, 1, "%s is one record", kinds[i].name);
        tap_is_str(kind_at(n, 0), cj_enum_name("cj_profile_kind", kinds[i].kind), "%s has its kind", kinds[i].name);
        tap_is_str(n ? rec[0].name : "", kinds[i].called, "%s has its name", kinds[i].name);
        tap_is_uint(rec[0].bytes, kinds[i].bytes, "%s has its bytes", kinds[i].name);
        tap_ok(rec[0].submit <= rec[0].start && rec[0].start <= rec[0].end,
               "%s does not begin before it was enqueued, and does not end before it began", kinds[i].name);
        tap_is_uint(rec[0].stream, cj_stream_id(s), "%s is of its stream", kinds[i].name);
    }
    tap_is_uint(rec[0].from, cj_stream_id(t), "a join knows the stream that it waits for");
    cj_event_record(event, t);
    cj_stream_wait(s, event);
    poll_all(p);
    tap_is_uint(rec[0].from, cj_stream_id(t), "and so does a wait for an event");
    cj_event_free(event);
}

/* -- Work under way ------------------------------------------------------------------------------------------------ */

static void check_pending(cj_profile *p)
{
    struct latch l = LATCH_CLOSED;
    bench_hold(s, &l); /* a host function, which has begun */
    latch_entered(&l);
    add_on(s);
    tap_is_uint(cj_profile_poll(p, rec, MOST), 0, "work that has not ended has no record");
    cj_profile_summary sum;
    cj_profile_summary_defaults(&sum);
    tap_is_int(cj_profile_get_summary(p, NULL, &sum), CJ_OK, "a summary while work is under way");
    tap_is_uint(sum.lost, 0, "nothing of it is lost");
    add_on(t);
    cj_stream_sync(t);
    tap_is_uint(cj_profile_poll(p, rec, MOST), 1, "work of another stream that has ended has one");
    tap_is_uint(rec[0].stream, cj_stream_id(t), "of that stream");
    latch_open(&l);
    const size_t n = poll_all(p);
    tap_is_uint(n, 2, "when it has ended there are two");
    tap_is_str(kind_at(n, 0), "CJ_PROFILE_HOST_FUNC", "first the host function");
    tap_is_str(kind_at(n, 1), "CJ_PROFILE_KERNEL", "then the kernel");
    tap_ok(rec[0].end <= rec[1].start, "which began when the host function had ended");
}

/* -- Ranges -------------------------------------------------------------------------------------------------------- */

static void check_ranges(cj_profile *p)
{
    tap_is_int(cj_profile_begin(s, "outer"), CJ_OK, "a range begins");
    tap_is_int(cj_profile_begin(t, "other"), CJ_OK, "and one of another stream");
    add_on(s);
    tap_is_int(cj_profile_begin(s, "inner"), CJ_OK, "a range within the range");
    add_on(s);
    tap_is_int(cj_profile_end(s), CJ_OK, "the inner one ends");
    tap_is_int(cj_profile_end(s), CJ_OK, "the outer one ends");
    tap_is_int(cj_profile_end(t), CJ_OK, "that of the other stream ends");
    tap_is_int(cj_profile_end(s), CJ_OK, "an end without a begin does nothing");
    const size_t n = poll_all(p);
    tap_is_uint(n, 5, "two kernels and three ranges");
    const cj_profile_record *outer = NULL, *inner = NULL, *other = NULL, *kernel[2] = { NULL, NULL };
    size_t kernels = 0;
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(rec[i].name, "outer")) outer = &rec[i];
        else if (!strcmp(rec[i].name, "inner")) inner = &rec[i];
        else if (!strcmp(rec[i].name, "other")) other = &rec[i];
        else if (kernels < 2) kernel[kernels++] = &rec[i];
    }
    if (!tap_ok(outer && inner && other && kernels == 2, "each has its name")) return;
    tap_is_uint(outer->stream, cj_stream_id(s), "the outer range is of its stream");
    tap_is_uint(other->stream, cj_stream_id(t), "the other range is of the other stream");
    tap_is_uint(inner->depth, 1, "the inner one lies in one");
    tap_is_uint(kernel[1]->depth, 2, "the second kernel in two");
    tap_is_uint(kernel[0]->depth, 1, "the first in one");
    tap_ok(outer->start <= kernel[0]->start + TICK && kernel[1]->end <= outer->end + TICK,
           "the outer range has both kernels");
    tap_ok(kernel[0]->end <= inner->end + TICK && inner->start <= kernel[1]->end + TICK &&
               inner->end <= outer->end + TICK,
           "the inner one the second");
    cj_profile_total total[8];
    const size_t totals = cj_profile_totals(p, t, total, 8);
    bool found = false;
    for (size_t i = 0; i < totals && i < 8; i++) {
        if (total[i].kind == CJ_PROFILE_RANGE) found |= !strcmp(total[i].name, "other") && total[i].count == 1;
        tap_ok(strcmp(total[i].name, "outer") != 0, "a total of a stream has no range of another: %s", total[i].name);
    }
    tap_ok(found, "the totals of the second stream have its range");
    tap_is_int(cj_profile_begin(s, NULL), CJ_EINVAL, "a range needs a name");
    cj_error_clear(s);
}

static void check_marks(cj_profile *p)
{
    cj_stream_counts before, after;
    cj_stream_counts_defaults(&before);
    after = before;
    cj_stream_get_counts(s, &before);
    tap_is_int(cj_profile_mark(s, CJ_PROFILE_KERNEL, "gemm of another library"), CJ_OK, "a mark begins");
    add_on(s);
    tap_is_int(cj_profile_end(s), CJ_OK, "and ends");
    const size_t n = poll_all(p);
    tap_is_uint(n, 2, "the kernel and the mark");
    tap_is_str(n == 2 ? rec[1].name : "", "gemm of another library", "the mark has its name");
    tap_ok(rec[0].inside_mark == 1 && rec[1].inside_mark == 0, "the kernel is known to be within it");
    cj_stream_get_counts(s, &after);
    tap_is_uint(after.measured - before.measured, 1, "both count as one operation");
    tap_is_uint(after.busy_ns - before.busy_ns, (uint64_t)(rec[1].end - rec[1].start), "which lasts as the mark does");
    tap_is_int(cj_profile_mark(s, CJ_PROFILE_RANGE, "x"), CJ_EINVAL, "a mark is no range");
    cj_error_clear(s);
}

/* -- On, off, clear ------------------------------------------------------------------------------------------------ */

static void check_switch(cj_profile *p)
{
    struct latch l = LATCH_CLOSED;
    bench_hold(s, &l);
    tap_is_int(cj_profile_off(p), CJ_OK, "the profile is turned off");
    add_on(s);
    cj_profile_begin(s, "off");
    cj_profile_end(s);
    latch_open(&l);
    tap_is_uint(poll_all(p), 1, "what was enqueued before still is recorded, what comes later is not");
    tap_is_int(rec[0].kind, CJ_PROFILE_HOST_FUNC, "which is the host function");
    tap_is_int(cj_profile_on(p), CJ_OK, "on again");
    tap_is_int(cj_profile_on(p), CJ_OK, "twice");
    add_on(s);
    tap_is_uint(poll_all(p), 1, "records one");
    latch_close(&l);
    bench_hold(s, &l);
    add_on(t);
    cj_stream_sync(t);
    tap_is_int(cj_profile_clear(p), CJ_OK, "cleared");
    latch_open(&l);
    tap_is_uint(poll_all(p), 0, "nothing that was enqueued before is left, nor comes later");
    cj_profile_summary sum;
    cj_profile_summary_defaults(&sum);
    cj_profile_get_summary(p, NULL, &sum);
    tap_is_uint(sum.records, 0, "the summary is empty");
    add_on(s);
    tap_is_uint(poll_all(p), 1, "and it records again");
}

static void check_several(cj_profile *p)
{
    cj_profile *more[CJ_PROFILES_ON] = { NULL };
    for (int i = 0; i < CJ_PROFILES_ON; i++) more[i] = cj_profile_create(CJ_PROFILE(.records = 2));
    for (int i = 0; i < CJ_PROFILES_ON - 1; i++) tap_is_int(cj_profile_on(more[i]), CJ_OK, "profile %d is on", i);
    tap_is_int(cj_profile_on(more[CJ_PROFILES_ON - 1]), CJ_EBUSY, "one more cannot be");
    for (int i = 0; i < 3; i++) add_on(s);
    tap_is_uint(poll_all(p), 3, "the first has three records");
    tap_is_uint(cj_profile_poll(more[0], rec, MOST), 2, "one that keeps two has two");
    cj_profile_summary sum;
    cj_profile_summary_defaults(&sum);
    cj_profile_get_summary(more[0], NULL, &sum);
    tap_is_uint(sum.lost, 1, "and has lost one");
    for (int i = 0; i < CJ_PROFILES_ON; i++) cj_profile_free(more[i]);
    add_on(s);
    tap_is_uint(poll_all(p), 1, "the first goes on without them");
}

/* -- Captures ------------------------------------------------------------------------------------------------------ */

static void check_capture(cj_profile *p)
{
    tap_is_int(cj_capture_begin(s, CJ_CAPTURE_GLOBAL), CJ_OK, "a capture begins");
    cj_profile_begin(s, "captured");
    add_on(s);
    cj_stream_fork(s, t);
    add_on(t);
    cj_stream_join(s, t);
    cj_profile_end(s);
    tap_is_uint(cj_profile_poll(p, rec, MOST), 0, "nothing of it is recorded");
    cj_graph *g = cj_capture_end(s);
    tap_is_int(cj_error_of(g)->status, CJ_OK, "the capture ends: %s", cj_error_of(g)->message);
    cj_graph_info info;
    cj_graph_info_defaults(&info);
    cj_graph_get_info(g, &info);
    tap_is_uint(info.nodes, 2, "the graph has the two kernels alone");
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    tap_is_int(cj_graph_launch(s, x), CJ_OK, "the graph is launched");
    const size_t n = poll_all(p);
    tap_is_uint(n, 1, "which is one record");
    tap_is_str(kind_at(n, 0), "CJ_PROFILE_GRAPH", "of a graph");
    cj_graph_exec_free(x);
    cj_graph_free(g);
}

/* -- Much work ----------------------------------------------------------------------------------------------------- */

static void check_many(cj_profile *p)
{
    enum { MANY = 1000 };
    size_t n = 0, kernels = 0, got;
    bool order = true;
    int64_t last = INT64_MIN;
    for (int i = 0; i < MANY; i++) cj_launch(s, add, cj_grid(1, 32), d, 32u, 1u);
    cj_stream_sync(s);
    while ((got = cj_profile_poll(p, rec, MOST))) {
        for (size_t i = 0; i < got; i++) {
            kernels += rec[i].kind == CJ_PROFILE_KERNEL;
            order &= rec[i].start >= last && rec[i].end >= rec[i].start;
            last = rec[i].end;
        }
        n += got;
    }
    tap_is_uint(n, MANY, "a thousand launches are a thousand records");
    tap_is_uint(kernels, MANY, "each of a kernel");
    tap_ok(order, "in the stream's order, none before the one before it has ended");
    cj_profile_total total;
    cj_profile_clear(p);
    tap_is_uint(cj_profile_totals(p, NULL, &total, 1), 0, "a cleared profile has no totals");
}

static void check_counts(cj_profile *p)
{
    cj_stream *own = cj_stream_create(dev, NULL);
    cj_stream_counts c;
    cj_stream_counts_defaults(&c);
    cj_stream_get_counts(own, &c);
    tap_ok(!c.measured && !c.busy_ns && !c.latency_p50_ns, "a new stream has measured nothing");
    int64_t busy = 0, latency = 0;
    for (int i = 0; i < 8; i++) cj_launch(own, add, cj_grid(1, 32), d, 32u, 1u);
    cj_stream_wait(own, NULL);
    cj_error_clear(own);
    cj_stream_sync(own);
    const size_t n = cj_profile_poll(p, rec, MOST);
    for (size_t i = 0; i < n; i++) busy += rec[i].end - rec[i].start, latency += rec[i].end - rec[i].submit;
    cj_stream_get_counts(own, &c);
    tap_is_uint(c.measured, 8, "eight operations are measured");
    tap_is_uint(c.busy_ns, (uint64_t)busy, "the stream was busy for the time of its records");
    tap_ok(c.latency_p50_ns <= c.latency_p90_ns && c.latency_p90_ns <= c.latency_p99_ns, "percentiles ascend");
    cj_profile_summary sum;
    cj_profile_summary_defaults(&sum);
    tap_is_int(cj_profile_get_summary(p, own, &sum), CJ_OK, "the summary of one stream");
    tap_is_uint(sum.operations, 8, "has its operations");
    tap_is_uint((uint64_t)sum.busy_ns, (uint64_t)busy, "its busy time");
    tap_is_uint((uint64_t)sum.latency_mean_ns, (uint64_t)(latency / 8), "and its mean latency");
    tap_is_uint(sum.streams, 1, "it is one stream");
    tap_is_uint((uint64_t)sum.overlap_ns, 0, "which overlaps with none");
    cj_stream_free(own);
}

static void check_memory(cj_profile *p)
{
    cj_profile_clear(p);
    cj_dptr a = cj_alloc(s, 4096), b = cj_alloc(t, 1000);
    cj_free(dev, a);
    cj_free(dev, b);
    const size_t n = poll_all(p);
    const uint64_t base = n ? rec[0].bytes - 4096 : 0;
    static const uint64_t want[] = { 4096, 5096, 1000, 0 };
    tap_is_uint(n, 4, "two allocations and two releases are four samples");
    for (size_t i = 0; i < 4 && i < n; i++) {
        tap_is_uint(rec[i].bytes, base + want[i], "sample %zu has the bytes that are allocated then", i);
        tap_is_str(kind_at(n, i), "CJ_PROFILE_MEMORY", "it is a sample");
        tap_ok(!rec[i].stream && rec[i].start == rec[i].end, "of no stream, at one time");
    }
}

int main(void)
{
    bench_open(4 * N);
    cj_profile *p = cj_profile_create(NULL);
    cj_profile_defaults(NULL);
    add_on(s);
    tap_is_uint(poll_all(p), 0, "a new profile is off");
    event = cj_event_create(dev, NULL);
    cj_event_record(event, t);
    tap_is_int(cj_profile_on(p), CJ_OK, "it is turned on");
    check_kinds(p);
    check_pending(p);
    check_ranges(p);
    check_marks(p);
    check_switch(p);
    check_several(p);
    check_capture(p);
    check_many(p);
    check_counts(p);
    check_memory(p);
    cj_profile_free(p);
    add_on(s);
    return bench_close();
}
