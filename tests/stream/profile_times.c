/* Times of events become times of operations: what the events cost themselves is learnt from operations that follow one
 * another without a pause, and taken off.  No duration is negative, no two operations of a stream overlap, and a stream
 * that waits for the host teaches nothing.  Over a driver whose events have the times of a table. */
#include <stdlib.h>

#include "stream/profile/stream_profile.h"
#include "tests/tap.h"

enum { MOST = 64 };

/* -- Events with times; a handle is the address of its time -------------------------------------------------------- */

static int64_t times[4 * MOST];
static size_t events;

static CUevent event_at(int64_t ns)
{
    times[events] = ns;
    return (CUevent)(void *)&times[events++];
}

static CUresult elapsed(float *ms, CUevent a, CUevent b)
{
    *ms = (float)((double)(*(int64_t *)(void *)b - *(int64_t *)(void *)a) / 1e6);
    return CUDA_SUCCESS;
}

static CUresult reached(CUevent e) { return e ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; }

/* -- A recorder with one stream ------------------------------------------------------------------------------------ */

static cji_cu cu;
static cji_recorder recorder;
static cji_track track;
static CUevent room[4 * MOST];
static cj_profile *profile;
static cj_profile_record rec[MOST];

static void setup(void)
{
    cu.cuEventElapsedTime = elapsed;
    cu.cuEventQuery = reached;
    recorder = (cji_recorder){ .cu = &cu, .number = 1, .free = room, .offset = INT64_MIN };
    track = (cji_track){ .recorder = &recorder, .stream = 7, .last = &track.first, .last_end = INT64_MIN };
    events = 0;
    profile = cj_profile_create(NULL);
}

/* Work that the host enqueued at `submit`, on a device with the same clock. */
static void work(int kind, int64_t submit, int64_t start, int64_t end)
{
    cji_pending *p = cji_zalloc(sizeof *p);
    *p = (cji_pending){ .start = event_at(start), .end = event_at(end), .submit = (uint64_t)submit, .kind = kind,
                        .name = "work", .sink = { profile->turn } };
    *track.last = p;
    track.last = &p->next;
    track.count++;
}

static size_t read_all(void)
{
    cji_profiles_lock();
    cji_track_harvest(&track, SIZE_MAX);
    cji_profiles_unlock();
    return cj_profile_poll(profile, rec, MOST);
}

static void teardown(void) { cj_profile_free(profile); }

static int64_t duration(size_t i) { return rec[i].end - rec[i].start; }

/* -- What is learnt ------------------------------------------------------------------------------------------------ */

enum { KERNEL_NS = 100000, EVENT_NS = 2000, FIRST_NS = 1000000 };

/* So many kernels, enqueued long before their turn, or when the one before had ended. */
static void kernels(int n, int64_t from, bool ahead, int64_t gap, int64_t ns)
{
    for (int i = 0; i < n; i++) {
        const int64_t start = from + i * (ns + gap);
        work(CJ_PROFILE_KERNEL, ahead ? FIRST_NS - 200000 : start, start, start + ns);
    }
}

static void check_learnt(void)
{
    setup();
    work(CJ_PROFILE_KERNEL, FIRST_NS, FIRST_NS, FIRST_NS + KERNEL_NS); /* aligns the clocks */
    kernels(24, FIRST_NS + KERNEL_NS + EVENT_NS, true, EVENT_NS, KERNEL_NS);
    tap_is_uint(read_all(), 25, "twenty-five kernels without a pause");
    tap_ok(llabs(duration(1) - KERNEL_NS) < 20, "the first has the time of its events: %lld", (long long)duration(1));
    tap_ok(llabs(recorder.event_ns - EVENT_NS) < 20, "the events' cost is learnt: %lld", (long long)recorder.event_ns);
    tap_ok(llabs(duration(24) - (KERNEL_NS - EVENT_NS)) < 40, "and taken off later ones: %lld",
           (long long)duration(24));
    tap_ok(llabs(rec[24].end - rec[23].end - KERNEL_NS - EVENT_NS) < 40, "the ends are where they were");

    int64_t at = FIRST_NS + 30 * (KERNEL_NS + EVENT_NS);
    work(CJ_PROFILE_KERNEL, at, at, at + EVENT_NS / 2);
    work(CJ_PROFILE_WAIT, at, at + EVENT_NS, at + EVENT_NS);
    work(CJ_PROFILE_RANGE, at, at - 5000, at + 5000);
    tap_is_uint(read_all(), 3, "a kernel shorter than its events, a wait and a range");
    tap_is_int((int)duration(0), 0, "the kernel lasts for no time, not for less");
    tap_ok(llabs(rec[0].end - rec[2].start - 5000 - EVENT_NS / 2) < 40, "and ends when it did");
    tap_is_int((int)duration(1), 0, "nor does the wait");
    tap_ok(llabs(duration(2) - 10000) < 20, "a range has the time of its events");

    at = FIRST_NS + 60 * (KERNEL_NS + EVENT_NS);
    kernels(24, at, true, EVENT_NS / 2, KERNEL_NS);
    read_all();
    tap_ok(llabs(recorder.event_ns - EVENT_NS / 2) < 20, "a lower cost takes its place");
    kernels(24, at + 40 * (KERNEL_NS + EVENT_NS), true, 3 * EVENT_NS, KERNEL_NS);
    read_all();
    tap_ok(llabs(recorder.event_ns - EVENT_NS / 2) < 20, "a higher one does not");
    teardown();
}

/* A kernel loses the time of its launch, with the events in it; other work that of the events. */
static void check_launches(void)
{
    enum { LAUNCH_NS = 3500 };
    static const struct { const char *name; int kind; int64_t events, launch, lasts; } cases[] = {
        { "a kernel", CJ_PROFILE_KERNEL, EVENT_NS, LAUNCH_NS, KERNEL_NS - LAUNCH_NS },
        { "a copy", CJ_PROFILE_COPY_TO_DEVICE, EVENT_NS, LAUNCH_NS, KERNEL_NS - EVENT_NS },
        { "a kernel where the events took longer", CJ_PROFILE_KERNEL, EVENT_NS, EVENT_NS / 2, KERNEL_NS - EVENT_NS },
        { "a kernel where only the launch is known", CJ_PROFILE_KERNEL, 0, LAUNCH_NS, KERNEL_NS - LAUNCH_NS },
        { "a range", CJ_PROFILE_RANGE, EVENT_NS, LAUNCH_NS, KERNEL_NS },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setup();
        recorder.event_ns = cases[i].events;
        recorder.launch_ns = cases[i].launch;
        work(cases[i].kind, FIRST_NS, FIRST_NS, FIRST_NS + KERNEL_NS);
        read_all();
        tap_ok(llabs(duration(0) - cases[i].lasts) < 20, "%s: %lld", cases[i].name, (long long)duration(0));
        teardown();
    }
}

static CUresult stream_state;
static int destroyed, unloaded;
static CUresult stream_query(CUstream s) { return s ? stream_state : CUDA_ERROR_INVALID_HANDLE; }
static CUresult stream_destroy(CUstream s) { return destroyed++, s ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; }
static CUresult event_destroy(CUevent e) { return destroyed++, e ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; }
static CUresult module_unload(CUmodule m) { return unloaded++, m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; }

/* Empty kernels, of which the slow ones waited for something. */
static void launches_of(bool good)
{
    setup();
    cu.cuStreamQuery = stream_query;
    cu.cuStreamDestroy = stream_destroy;
    cu.cuEventDestroy = event_destroy;
    cu.cuModuleUnload = module_unload;
    destroyed = unloaded = 0;
    recorder.launches.stream = (CUstream)(void *)&stream_state;
    recorder.launches.module = (CUmodule)(void *)&unloaded;
    recorder.launches.good = good;
    for (int i = 0; i < CJI_LAUNCHES; i++) {
        recorder.launches.start[i] = event_at(i * 100000);
        recorder.launches.end[i] = event_at(i * 100000 + (i % 2 ? 3000 : 50000) + i);
    }
}

static void check_reading_of_launches(void)
{
    launches_of(true);
    stream_state = CUDA_ERROR_NOT_READY;
    cji_launches_read(&recorder);
    tap_ok(!recorder.launch_ns && !destroyed, "empty kernels that are not complete are not read");
    stream_state = CUDA_SUCCESS;
    cji_launches_read(&recorder);
    tap_ok(llabs(recorder.launch_ns - 3009) < 2, "complete ones tell the time of a launch: %lld",
           (long long)recorder.launch_ns);
    tap_ok(destroyed == 2 * CJI_LAUNCHES + 1 && unloaded == 1 && !recorder.launches.stream,
           "and all that they had is released");
    teardown();
    launches_of(false);
    cji_launches_read(&recorder);
    tap_ok(!recorder.launch_ns && unloaded == 1, "some that could not be enqueued tell nothing");
    teardown();
    launches_of(true);
    stream_state = CUDA_ERROR_NOT_READY;
    cji_launches_drop(&recorder);
    tap_ok(destroyed == 2 * CJI_LAUNCHES + 1 && !unloaded && !recorder.launches.stream,
           "the module of kernels that run is left to the context");
    teardown();
}

static void check_idle(void)
{
    setup();
    kernels(30, FIRST_NS, false, EVENT_NS, KERNEL_NS);
    read_all();
    tap_is_int((int)recorder.event_ns, 0, "a stream that waits for the host teaches nothing");
    tap_ok(llabs(duration(29) - KERNEL_NS) < 40, "its times stay as they are: %lld", (long long)duration(29));
    teardown();
}

/* Marks begin before the work in them and end behind it. */
static void check_marks(void)
{
    setup();
    work(CJ_PROFILE_KERNEL, FIRST_NS, FIRST_NS, FIRST_NS + KERNEL_NS);
    for (int i = 1; i <= 10; i++) {
        const int64_t at = FIRST_NS + i * 4 * KERNEL_NS;
        work(CJ_PROFILE_KERNEL, FIRST_NS - 200000, at + EVENT_NS, at + EVENT_NS + KERNEL_NS);
        work(CJ_PROFILE_KERNEL, FIRST_NS - 200000, at, at + 2 * KERNEL_NS);
    }
    tap_is_uint(read_all(), 21, "marks with kernels in them");
    bool positive = true, ordered = true;
    for (size_t i = 0; i < 21; i++) positive &= duration(i) >= 0;
    for (size_t i = 1; i < 21; i++) ordered &= rec[i].start >= rec[i - 1].end;
    tap_ok(positive, "no time is negative");
    tap_ok(ordered, "and none begins before the one before it has ended");
    teardown();
}

/* Times at random. */
static void check_random(void)
{
    uint32_t x = 12345;
    bool positive = true, ordered = true;
    for (int round = 0; round < 50; round++) {
        int64_t at = FIRST_NS;
        setup();
        for (int i = 0; i < MOST; i++) {
            x = x * 1664525 + 1013904223;
            const int64_t gap = x >> 20, ns = (x >> 8 & 0xfff) * (round % 3), submit = at - (x >> 12 & 0x3ffff);
            work(CJ_PROFILE_KERNEL, submit > 0 ? submit : 0, at + gap, at + gap + ns);
            at += gap + ns;
        }
        const size_t n = read_all();
        for (size_t i = 0; i < n; i++) positive &= duration(i) >= 0;
        for (size_t i = 1; i < n; i++) ordered &= rec[i].start >= rec[i - 1].end;
        teardown();
    }
    tap_ok(positive, "at random: no time is negative");
    tap_ok(ordered, "at random: and none begins before the one before it has ended");
}

int main(void)
{
    tap_plan(0);
    check_learnt();
    check_launches();
    check_reading_of_launches();
    check_idle();
    check_marks();
    check_random();
    return tap_done();
}
