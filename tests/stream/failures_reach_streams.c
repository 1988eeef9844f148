/* A call that orders, protects or feeds work of a stream leaves its failure in every stream concerned: each driver call
 * inside each such call fails once, and the streams tell at their sync.  And how many driver calls the usual ones make.
 * */
#include <stdlib.h>
#include <string.h>

#include "tests/device_bench.h"

enum { N = 64 };

/* -- The interposer ------------------------------------------------------------------------------------------------ */

static bool armed;
static int64_t made, fail_call;  /* calls since armed; the one that fails, 0: none */
static char failed_name[64];

static int count_and_fail(void *user, uint64_t number, const char *name)
{
    (void)user, (void)number;
    if (!armed || ++made != fail_call) return 0;
    strncpy(failed_name, name, sizeof failed_name - 1);
    return 999; /* CUDA_ERROR_UNKNOWN */
}

/* Calls whose failure keeps nothing from being done: the context is pushed without having been asked for, a mode is not
 * relaxed, nobody is capturing. */
static bool is_harmless(const char *name)
{
    static const char *const names[] = { "cuCtxGetCurrent",     "cuCtxPushCurrent",
                                         "cuCtxPopCurrent",     "cuThreadExchangeStreamCaptureMode",
                                         "cuStreamIsCapturing", "cuEventDestroy",
                                         "cuMemGetAddressRange" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i])) return true;
    return false;
}

/* -- The calls ----------------------------------------------------------------------------------------------------- */

static cj_device *other; /* NULL: there is one device */
static cj_stream *over;  /* of that */
static cj_event *event;
static cj_stream_barrier *barrier;
static cj_dptr mem, far;

static cj_status do_barrier(void) { return cj_stream_barrier_enqueue(barrier, (cj_stream *const[]){ s, t }, 2); }
static cj_status do_fork(void) { return cj_stream_fork(s, t); }
static cj_status do_join(void) { return cj_stream_join(s, t); }
static cj_status do_record(void) { return cj_event_record(event, s); }
static cj_status do_wait(void) { return cj_stream_wait(t, event); }
static cj_status do_free(void) { return cj_free(dev, mem); }
static cj_status do_peer(void) { return cj_device_enable_peer(dev, other); }
static cj_status do_use(void) { return cj_stream_use(s, far); }
static cj_status do_copy_peer(void) { return cj_copy_peer(s, other, far, dev, d, 16); }
static cj_status do_launch(void) { return cj_launch(s, add, cj_threads(N, 32), d, N, 1); }
static cj_status do_fill(void) { return cj_fill32(s, d, 1, N); }

static void prepare_memory(void) { mem = cj_alloc(s, 256); }

enum { OF_S = 1, OF_T = 2, LATER = 4 };
static const struct reach_row {
    const char *name;
    cj_status (*call)(void);
    void (*prepare)(void); /* before each time */
    int streams;           /* that are concerned: of s, t, and those made later */
    bool peers;            /* wants two devices */
    int most;              /* driver calls at most; 0: no matter */
} rows[] = {
    { "a barrier", do_barrier, NULL, OF_S | OF_T, false, 9 },
    { "a fork", do_fork, NULL, OF_S | OF_T, false, 2 },
    { "a join", do_join, NULL, OF_S | OF_T, false, 2 },
    { "a record of an event", do_record, NULL, OF_S, false, 1 },
    { "a wait for an event", do_wait, NULL, OF_T, false, 1 },
    { "a launch", do_launch, NULL, OF_S, false, 1 },
    { "a fill", do_fill, NULL, OF_S, false, 4 },
    { "cj_free", do_free, prepare_memory, OF_S, false, 0 },
    { "cj_device_enable_peer", do_peer, NULL, OF_S | OF_T | LATER, true, 0 },
    { "cj_stream_use of another device's memory", do_use, NULL, OF_S, true, 0 },
    { "cj_copy_peer", do_copy_peer, NULL, OF_S, true, 0 },
};

/* Makes the call with its n-th driver call failing; its status. */
static cj_status make_call(const struct reach_row *row, int64_t n)
{
    if (row->prepare) row->prepare();
    made = 0;
    fail_call = n;
    failed_name[0] = 0;
    armed = true;
    cj_status st = row->call();
    armed = false;
    return st;
}

/* Whether the stream's sync tells what the call returned. */
static bool tells(cj_stream *of, cj_status st) { return cj_stream_sync(of) == st; }

static bool later_tells(cj_status st)
{
    cj_stream *later = cj_stream_create(dev, NULL);
    bool told = tells(later, st);
    cj_stream_free(later);
    return told;
}

static void check_row(const struct reach_row *row)
{
    int64_t calls;
    int failures = 0;
    make_call(row, 0); /* events and streams that are made at first use */
    tap_is_int(make_call(row, 0), CJ_OK, "%s", row->name);
    calls = made;
    if (row->most) tap_ok(calls <= row->most, "... in %d driver calls at most: %d", row->most, (int)calls);
    for (int64_t n = 1; n <= calls; n++) {
        cj_status st = make_call(row, n);
        const bool harmless = is_harmless(failed_name);
        bool told = true;
        failures += st != CJ_OK;
        if (row->streams & OF_S) told &= tells(s, st);
        if (row->streams & OF_T) told &= tells(t, st);
        if (row->streams & LATER) told &= later_tells(st);
        tap_ok(told && (harmless || st != CJ_OK), "... every stream concerned tells that call %d failed, %s: %d",
               (int)n, failed_name, (int)st);
        tap_ok(cj_stream_sync(s) == CJ_OK && cj_stream_sync(t) == CJ_OK, "... once");
    }
    tap_ok(failures > 0, "... some of its calls matter");
    tap_is_int(make_call(row, 0), CJ_OK, "... and it works again");
    if (row->streams & LATER) tap_ok(later_tells(CJ_OK), "... after which new streams begin without a failure");
}

/* A list with a stream of nothing: the others learn of it. */
static void check_list(void)
{
    cj_stream *const list[] = { s, NULL, t };
    tap_ok(cj_stream_barrier_enqueue(barrier, list, 3) != CJ_OK, "a barrier over a list with NULL in it fails");
    tap_ok(cj_stream_sync(s) != CJ_OK && cj_stream_sync(t) != CJ_OK, "... in each valid stream of the list");
}

int main(void)
{
    setenv("CUJIT_ALLOCATOR", "driver", 1); /* what releases do to the driver is seen */
    setenv("CUJIT_SIM_DEVICES", "2", 1);
    bench_open_over(CJ_INTERPOSER(.before = count_and_fail), 4 * N);
    event = cj_event_create(dev, NULL);
    barrier = cj_stream_barrier_create(dev);
    if (cj_device_count(drv) > 1) {
        other = cj_device_open(drv, 1, NULL);
        over = cj_stream_create(other, NULL);
        far = cj_alloc(over, 256);
        cj_stream_sync(over);
    }
    const bool peers = other && cj_device_can_access_peer(dev, other);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!rows[i].peers || peers) check_row(&rows[i]);
        else tap_skip(1, "%s wants two devices that can access each other", rows[i].name);
    }
    check_list();
    cj_stream_barrier_free(barrier);
    cj_event_free(event);
    cj_stream_sync(s);
    if (other) {
        cj_free(other, far);
        cj_stream_free(over);
        cj_device_collect(other);
        cj_device_close(other);
    }
    cj_error_clear(dev);
    return bench_close();
}
