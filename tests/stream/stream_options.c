/* Priorities are mapped onto the device's range, options are checked, a stream knows what it is, foreign streams are
 * wrapped with care. */
#include <string.h>

#include "tests/stream/watched.h"
#include "tests/tap.h"

/* The fake device's range is 0 (least urgent) to -5. */
static const struct { const char *name; cj_stream_opts opts; int priority; } priorities[] = {
    { "HIGH is the most urgent end", { sizeof(cj_stream_opts), CJ_PRIORITY_HIGH, 0, 0 }, -5 },
    { "NORMAL is the middle", { sizeof(cj_stream_opts), CJ_PRIORITY_NORMAL, 0, 0 }, -2 },
    { "LOW is the least urgent end", { sizeof(cj_stream_opts), CJ_PRIORITY_LOW, 0, 0 }, 0 },
    { "RAW is taken as it is", { sizeof(cj_stream_opts), CJ_PRIORITY_RAW, -4, 0 }, -4 },
    { "RAW out of range is clamped by the driver, and told", { sizeof(cj_stream_opts), CJ_PRIORITY_RAW, -99, 0 }, -5 },
};

static const struct { const char *name; size_t size; int32_t priority; const char *message; } wrong[] = {
    { "a size of 0", 0, 0, "cj_stream_defaults" },
    { "a size that is no size", 3, 0, "cj_stream_defaults" },
    { "a priority that is none", sizeof(cj_stream_opts), 17, "priority 17" },
};

static void check_priorities(watch_bench *b)
{
    for (size_t i = 0; i < sizeof priorities / sizeof *priorities; i++) {
        cj_stream *s = cj_stream_create(b->dev, &priorities[i].opts);
        tap_is_int(cj_stream_priority(s), priorities[i].priority, "%s", priorities[i].name);
        tap_is_uint(cj_stream_flags(s), 1, "... and the stream is non-blocking");
        cj_stream_free(s);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cj_stream_opts o = { .size = wrong[i].size, .priority = wrong[i].priority };
        cj_stream *s = cj_stream_create(b->dev, &o);
        tap_is_int(cj_error_of(s)->status, CJ_EINVAL, "%s is rejected", wrong[i].name);
        tap_has_str(cj_error_of(s)->message, wrong[i].message, "... and named");
        cj_stream_free(s);
    }
    struct { cj_stream_opts o; uint64_t later; } grown = { { .size = sizeof grown, .priority = CJ_PRIORITY_HIGH }, 0 };
    cj_stream *s = cj_stream_create(b->dev, &grown.o);
    tap_is_int(cj_error_of(s)->status, CJ_OK,
               "a longer struct of a later version is served while its new fields are 0");
    cj_stream_free(s);
    grown.later = 1;
    s = cj_stream_create(b->dev, &grown.o);
    tap_is_int(cj_error_of(s)->status, CJ_EINVAL, "and refused when one of them is set");
    cj_stream_free(s);
}

static void check_wrap(watch_bench *b)
{
    void *raw = cj_stream_raw(b->s);
    cj_stream *w = cj_stream_wrap(b->dev, raw);
    tap_ok(cj_stream_raw(w) == raw && cj_stream_id(w) == cj_stream_id(b->s), "a wrapped stream is that stream");
    int destroyed = watch_calls(CJI_CU_ID_cuStreamDestroy);
    cj_stream_free(w);
    tap_is_int(watch_calls(CJI_CU_ID_cuStreamDestroy), destroyed, "and is not destroyed with its cj_stream");
    w = cj_stream_wrap(b->dev, NULL);
    tap_is_int(cj_error_of(w)->status, CJ_EINVAL, "NULL is not wrapped");
    tap_ok(!cj_stream_raw(w) && !cj_stream_id(w) && !cj_stream_device(w), "... and the failed stream knows nothing");
    cj_stream_free(w);
    watch_capture_foreign(raw, true);
    watch_forget();
    w = cj_stream_wrap(b->dev, raw);
    tap_is_int(cj_error_of(w)->status, CJ_ESTATE, "a stream that is being captured is not wrapped");
    tap_is_int(watch_calls(CJI_CU_ID_cuStreamGetId), 0, "... and not asked what would break the capture");
    cj_stream_free(w);
    watch_capture_foreign(raw, false);
    w = cj_stream_wrap(b->dev, (void *)1);
    tap_is_uint(cj_stream_flags(w), 0, "the legacy stream can be wrapped, and is a blocking one");
    tap_is_int(cj_capture_begin(w, CJ_CAPTURE_THREAD), CJ_ESTATE, "but not captured");
    cj_stream_free(w);
}

/* The per-thread default stream has a stream of its own beside it, which follows it. */
static void check_per_thread(watch_bench *b)
{
    static const int needs[] = { CJI_CU_ID_cuEventCreate, CJI_CU_ID_cuStreamCreateWithPriority };
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        watch_forget();
        watch_fail(needs[i], 0, CUDA_ERROR_OUT_OF_MEMORY);
        cj_stream *w = cj_stream_wrap(b->dev, (void *)2);
        tap_is_int(cj_error_of(w)->status, CJ_ENOMEM, "the per-thread default stream is not wrapped without %s",
                   cji_cu_rows[needs[i]].name);
        tap_is_int(watch_calls(CJI_CU_ID_cuEventDestroy), (int)i, "... and nothing is left");
        cj_stream_free(w);
    }
    cj_stream *w = cj_stream_wrap(b->dev, (void *)2);
    cj_dptr d = cj_alloc(w, 64);
    watch_forget();
    cj_fill32(w, d, 0, 16);
    tap_ok(watch_calls(CJI_CU_ID_cuEventRecord) == 1 && watch_calls(CJI_CU_ID_cuStreamWaitEvent) == 1,
           "the other stream follows each piece of work");
    watch_fail(CJI_CU_ID_cuEventRecord, 0, CUDA_ERROR_OUT_OF_MEMORY);
    tap_is_int(cj_fill32(w, d, 0, 16), CJ_OK, "where it cannot");
    tap_is_int(watch_calls(CJI_CU_ID_cuStreamSynchronize), 1, "the work is waited for");
    watch_capture_foreign((void *)2, true);
    watch_forget();
    cj_fill32(w, d, 0, 16);
    tap_is_int(watch_calls(CJI_CU_ID_cuStreamWaitEvent), 0,
               "it is not made to join a capture begun outside of the library");
    watch_capture_foreign((void *)2, false);
    cj_free(b->dev, d);
    watch_forget();
    cj_stream_free(w);
    tap_ok(watch_calls(CJI_CU_ID_cuStreamDestroy) == 1 && watch_calls(CJI_CU_ID_cuEventDestroy) == 1,
           "and it goes with the cj_stream");
}

int main(void)
{
    watch_bench b;
    tap_plan(0);
    watch_setup(&b);
    check_priorities(&b);
    check_wrap(&b);
    check_per_thread(&b);
    tap_ok(cj_stream_device(b.s) == b.dev, "a stream knows its device");
    watch_forget();
    cj_stream_id(b.s), cj_stream_flags(b.s), cj_stream_priority(b.s);
    tap_is_int((int64_t)watch.count, 0, "and asks the driver nothing for what it read when it was made");
    watch_teardown(&b);
    return tap_done();
}
