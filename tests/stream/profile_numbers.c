/* What a report computes from records, of records that are written down here: busy time, overlap, the critical path,
 * totals, percentiles; the trace is JSON and the picture XML, whatever the names are. */
#include <string.h>

#include "stream/profile/stream_profile.h"
#include "tests/stream/profile_texts.h"
#include "tests/tap.h"

enum { MOST = 32 };
static cj_profile_record record[MOST];
static uint32_t lane[MOST];
static cji_profile_lane lanes[4] = { { 7, 0, 0 }, { 8, 0, 0 }, { 0, 0, 0 }, { 9, 1, -1 } };
static cji_profile_clock clocks[2] = { { 1, 0, 0, "first" }, { 2, 1, 0, "second" } };
static cji_snap snap = { .record = record, .lane = lane, .lanes = lanes, .nlanes = 4, .clocks = clocks, .nclocks = 2 };

/* Records in microseconds, in the order of their starts. */
static void put(uint32_t in, int kind, const char *name, int64_t start, int64_t end, uint64_t from)
{
    record[snap.count] = (cj_profile_record){ .name = name, .kind = kind, .device = (int32_t)lanes[in].clock,
                                              .stream = lanes[in].stream, .submit = start * 1000 - 500,
                                              .start = start * 1000, .end = end * 1000, .from = from };
    lane[snap.count++] = in;
}

static cj_profile_summary summary(void)
{
    cj_profile_summary sum = { .size = sizeof sum };
    tap_ok(cji_profile_summarize(&snap, &sum), "the records are summed");
    return sum;
}

static void path_is(const char *want, int64_t us)
{
    char got[200] = "";
    size_t n;
    int64_t ns;
    bool ok;
    size_t *path = cji_profile_critical(&snap, &n, &ns, &ok);
    for (size_t i = 0; i < n && ok; i++) strcat(strcat(got, record[path[i]].name), " ");
    tap_is_str(got, want, "the critical path");
    tap_is_int(ns, us * 1000, "lasts as long as its operations");
    cji_free(path, n * sizeof *path);
}

/* Stream 7 copies while stream 8 computes; 8 waits for the second copy, whose end lets `last` begin. */
static void check_overlap(void)
{
    snap.count = 0;
    put(2, CJ_PROFILE_MEMORY, "memory", 0, 0, 0);
    record[0].bytes = 4096;
    put(0, CJ_PROFILE_COPY_TO_DEVICE, "a", 0, 100, 0);
    put(1, CJ_PROFILE_KERNEL, "k", 40, 80, 0);
    put(1, CJ_PROFILE_WAIT, "wait", 80, 200, 7);
    put(0, CJ_PROFILE_COPY_TO_DEVICE, "b", 100, 200, 0);
    put(1, CJ_PROFILE_KERNEL, "last", 200, 250, 0);
    cj_profile_summary sum = summary();
    tap_is_int(sum.span_ns, 250000, "from the first start to the last end");
    tap_is_int(sum.busy_ns, 290000, "a wait is not busy");
    tap_is_int(sum.active_ns, 250000, "a stream worked all the time");
    tap_is_int(sum.overlap_ns, 40000, "two at a time while the kernel ran beside the copy");
    tap_is_int(sum.copy_overlap_ns, 40000, "which was a copy beside a kernel");
    tap_is_int(sum.wait_ns, 120000, "the wait is counted");
    tap_is_uint(sum.operations, 5, "the sample is no operation");
    tap_is_uint(sum.memory_most, 4096, "it is the most memory");
    tap_is_f64(sum.utilisation, 1.0, "the device was never idle");
    tap_is_int(sum.latency_p50_ns, 50500, "half of the latencies are at most this");
    tap_is_int(sum.latency_p99_ns, 100500, "and nearly all at most that");
    path_is("a b last ", 250);
}

/* A wait that held nothing up leads nowhere; what is within a mark is not counted. */
static void check_marks(void)
{
    snap.count = 0;
    put(0, CJ_PROFILE_KERNEL, "early", 0, 10, 0);
    put(1, CJ_PROFILE_KERNEL, "first", 0, 50, 0);
    put(1, CJ_PROFILE_WAIT, "wait", 50, 51, 7);
    put(1, CJ_PROFILE_KERNEL, "mark", 60, 90, 0);
    put(1, CJ_PROFILE_KERNEL, "inside", 61, 80, 0);
    record[snap.count - 1].inside_mark = 1;
    cj_profile_summary sum = summary();
    tap_is_int(sum.busy_ns, 90000, "what is within a mark is counted by the mark");
    tap_is_int(sum.active_ns, 80000, "and the pause before it is idle");
    path_is("first mark ", 80);
}

static void check_two_devices(void)
{
    snap.count = 0;
    put(0, CJ_PROFILE_KERNEL, "k", 0, 100, 0);
    put(3, CJ_PROFILE_KERNEL, "k", 0, 50, 0);
    cj_profile_summary sum = summary();
    tap_is_uint(sum.devices, 2, "two devices");
    tap_is_uint(sum.streams, 2, "two streams");
    tap_is_int(sum.overlap_ns, 0, "streams of two devices do not overlap");
    tap_is_int(sum.active_ns, 150000, "each device has its time");
    tap_is_f64(sum.utilisation, 0.75, "of which a quarter is idle");
    size_t n;
    bool ok;
    cj_profile_total *total = cji_profile_sum(&snap, &n, &ok);
    tap_is_uint(n, 1, "one name is one total");
    tap_ok(total && total->count == 2 && total->ns == 150000 && total->least_ns == 50000 && total->most_ns == 100000,
           "of both records");
    cji_free(total, n * sizeof *total);
}

static void check_totals(void)
{
    size_t n;
    bool ok;
    snap.count = 0;
    put(0, CJ_PROFILE_KERNEL, "k", 0, 10, 0);
    put(0, CJ_PROFILE_RANGE, "k", 0, 30, 0);
    put(0, CJ_PROFILE_KERNEL, "l", 10, 30, 0);
    put(0, CJ_PROFILE_KERNEL, "l", 30, 31, 0);
    cj_profile_total *total = cji_profile_sum(&snap, &n, &ok);
    if (tap_is_uint(n, 3, "a range and a kernel of one name are two totals")) {
        tap_is_int(total[0].kind, CJ_PROFILE_RANGE, "the longest is the first");
        tap_is_str(total[1].name, "l", "then the next");
        tap_is_int(total[1].ns, 21000, "with the time of both");
        tap_is_int(total[2].ns, 10000, "and not of the other");
    }
    cji_free(total, n * sizeof *total);
}

/* -- Percentiles of the counters ----------------------------------------------------------------------------------- */

static void check_buckets(void)
{
    bool near = true, ascending = true;
    for (uint64_t ns = 1; ns < UINT64_C(1) << 46; ns += 1 + ns / 7) {
        const uint64_t middle = cji_timing_middle(cji_timing_bucket(ns));
        near &= (middle > ns ? middle - ns : ns - middle) * 100 <= 13 * ns;
        ascending &= cji_timing_bucket(ns) <= cji_timing_bucket(ns + 1);
    }
    tap_ok(near, "the middle of a bucket is within 13 percent of each time in it");
    tap_ok(ascending, "buckets ascend");
    tap_ok(cji_timing_bucket(UINT64_MAX) < CJI_TIMING_BUCKETS, "the last bucket has all longer times");
    static cji_timing t;
    tap_is_uint(cji_timing_percentile(&t, 50), 0, "no latency has no percentile");
    for (unsigned i = 0; i < 98; i++) cji_timing_latency(&t, 1000);
    for (unsigned i = 0; i < 2; i++) cji_timing_latency(&t, 1000000);
    const uint64_t half = cji_timing_percentile(&t, 50), most = cji_timing_percentile(&t, 99);
    tap_ok(half > 880 && half < 1120, "the half of 98 short ones and two long ones is short");
    tap_ok(most > 880000 && most < 1120000, "of 99 percent one is long");
}

/* -- Text that others read ----------------------------------------------------------------------------------------- */

static void check_names(void)
{
    static const char *const names[] = { "plain", "quote \" and \\", "<tag> & more", "tab\tand\nline", "caf\xc3\xa9",
                                         "not utf \xff\xc3", "", "\xe2\x82\xac", "\xed\xa0\x80" };
    enum { NAMES = sizeof names / sizeof *names };
    cji_text trace = { .n = 0 }, picture = { .n = 0 }, table = { .n = 0 };
    snap.count = 0;
    put(2, CJ_PROFILE_MEMORY, "memory", 0, 0, 0);
    for (unsigned i = 0; i < NAMES; i++)
        put(0, i % 2 ? CJ_PROFILE_RANGE : CJ_PROFILE_KERNEL, names[i], 10 * i, 10 * i + 9, 0);
    cji_profile_write_trace(&snap, &trace);
    cji_profile_write_svg(&snap, &picture);
    cji_profile_write_text(&snap, &table);
    const char *rest = profile_json_end(cji_text_str(&trace));
    tap_is_str(rest ? rest : "no JSON", "\n", "the trace is one JSON value, whatever the names are");
    tap_has_str(cji_text_str(&trace), "caf\xc3\xa9", "a name in UTF-8 stays");
    tap_has_str(cji_text_str(&trace), "\\ufffd", "what is not is replaced");
    tap_has_str(cji_text_str(&trace), "\"ts\":10.000,\"dur\":9.000", "times are microseconds from the first record");
    tap_ok(profile_xml_is_closed(cji_text_str(&picture)), "the picture's tags are closed and its text is escaped");
    tap_has_str(cji_text_str(&table), "5 operations on 1 streams of 1 devices", "the table counts operations");
    cji_text_free(&trace);
    cji_text_free(&picture);
    cji_text_free(&table);
}

static void check_empty(void)
{
    cji_text out = { .n = 0 };
    snap.count = 0;
    cji_profile_write_trace(&snap, &out);
    const char *rest = profile_json_end(cji_text_str(&out));
    tap_is_str(rest ? rest : "no JSON", "\n", "a trace without records is JSON");
    out.n = 0;
    cji_profile_write_svg(&snap, &out);
    tap_ok(profile_xml_is_closed(cji_text_str(&out)), "a picture without records is XML");
    cji_text_free(&out);
    path_is("", 0);
}

/* Many records of one pixel are drawn as one: a picture has a bounded size. */
static void check_many(void)
{
    enum { MANY = 20000 };
    static cj_profile_record many[MANY];
    static uint32_t where[MANY];
    for (int i = 0; i < MANY; i++)
        many[i] = (cj_profile_record){ .name = "k", .kind = CJ_PROFILE_KERNEL, .stream = 7, .start = 10 * i,
                                       .end = 10 * i + 9 };
    cji_snap much = snap;
    cji_text out = { .n = 0 };
    much.record = many;
    much.lane = where;
    much.count = MANY;
    cji_profile_write_svg(&much, &out);
    tap_ok(out.n < 400000, "twenty thousand records are a picture of %zu bytes", out.n);
    cji_text_free(&out);
}

int main(void)
{
    tap_plan(0);
    check_overlap();
    check_marks();
    check_two_devices();
    check_totals();
    check_buckets();
    check_names();
    check_empty();
    check_many();
    return tap_done();
}
