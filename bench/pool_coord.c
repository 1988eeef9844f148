/* The coordinator: tasks a second with two dependencies each on 8 streams, beside the events and waits alone, and the
 * same over a driver whose events cost nothing, which is what the coordinator itself takes; memory of a task; events
 * and waits for each dependency. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "bench/pool_bench.h"

enum { TASKS = 1000000, TASKS_SIM = 100000, WINDOW = 4096, REACH = 64, STREAMS = 8, ROUNDS = 3 };

static cj_status no_work(void *user, cj_stream *s) { return (void)user, (void)s, CJ_OK; }

static uint32_t coord_random(uint32_t *state)
{
    *state ^= *state << 13, *state ^= *state >> 17, *state ^= *state << 5;
    return *state;
}

/* Adds `tasks` tasks, each after two of the REACH before it; runs them as it adds where `run` is set. */
static void coord_add(pool_bench *b, cj_coord *c, size_t tasks, bool run)
{
    cj_task last[REACH] = { 0 };
    uint32_t state = 1;
    cj_task_opts o;
    cj_task_defaults(&o);
    o.run = no_work;
    for (size_t i = 0; i < tasks && !b->failed; i++) {
        const cj_task after[2] = { last[coord_random(&state) % REACH], last[coord_random(&state) % REACH] };
        o.after = (cj_tasks){ after, i < REACH ? 0 : 2 };
        last[i % REACH] = cj_coord_add(c, &o);
        if (!last[i % REACH]) pool_need_object(b, c);
        if (run && i % WINDOW == WINDOW - 1)
            for (cj_coord_counts k = { .size = sizeof k };;) { /* leaves some for the next window */
                cj_coord_poll(c);
                pool_need(b, cj_coord_get_counts(c, &k));
                if (k.blocked + k.ready < WINDOW / 2 || b->failed) break;
            }
    }
    if (run) pool_need(b, cj_coord_run(c, 60000));
}

/* -- A driver whose events cost nothing ---------------------------------------------------------------------------- */

/* An event is reached when REACHED later ones were recorded; a query that finds it pending counts as some of them, so
 * that what is left at the end is reached too. */
enum { COORD_REACHED = 512, COORD_QUERY = 32 };
typedef struct coord_event { uint64_t at; } coord_event;
static uint64_t coord_clock;

static CUresult stub_create(CUevent *e, unsigned flags)
{
    (void)flags;
    *e = calloc(1, sizeof(coord_event));
    return *e ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
static CUresult stub_destroy(CUevent e) { return free(e), CUDA_SUCCESS; }
static CUresult stub_record(CUevent e, CUstream s)
{
    (void)s;
    ((coord_event *)e)->at = ++coord_clock;
    return CUDA_SUCCESS;
}
static CUresult stub_query(CUevent e)
{
    if (((coord_event *)e)->at + COORD_REACHED <= coord_clock) return CUDA_SUCCESS;
    coord_clock += COORD_QUERY;
    return CUDA_ERROR_NOT_READY;
}
static CUresult stub_wait(CUstream s, CUevent e, unsigned flags) { return (void)s, (void)e, (void)flags, CUDA_SUCCESS; }

static void *stub_symbol(void *lib, const char *symbol)
{
    static const struct { const char *symbol; void (*fn)(void); } stubs[] = {
        { "cuEventCreate", (void (*)(void))stub_create },     { "cuEventDestroy_v2", (void (*)(void))stub_destroy },
        { "cuEventRecord", (void (*)(void))stub_record },     { "cuEventQuery", (void (*)(void))stub_query },
        { "cuStreamWaitEvent", (void (*)(void))stub_wait },
    };
    void *p = dlsym(lib, symbol);
    for (size_t k = 0; k < sizeof stubs / sizeof *stubs; k++)
        if (!strcmp(symbol, stubs[k].symbol)) memcpy(&p, &stubs[k].fn, sizeof p);
    return p;
}

static double coord_rate(pool_bench *b, cj_device *dev, cj_coord_counts *k);

static void coord_own(pool_bench *b)
{
    double rate[ROUNDS];
    cj_coord_counts k = { .size = sizeof k };
    void *lib = dlopen(cj_driver_path(b->drv), RTLD_NOW | RTLD_LOCAL);
    cj_driver *drv = cj_driver_open_resolver(stub_symbol, lib);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    pool_need_object(b, dev);
    for (int round = 0; round < ROUNDS && !b->failed; round++) rate[round] = coord_rate(b, dev, &k);
    if (!b->failed) pool_report(b, "coordinator.own_tasks_per_s", bench_median(rate, ROUNDS), "1/s");
    cj_device_close(dev);
    cj_driver_close(drv);
}

/* -- Rates --------------------------------------------------------------------------------------------------------- */

static double coord_rate(pool_bench *b, cj_device *dev, cj_coord_counts *k)
{
    const size_t tasks = b->gpu ? TASKS : TASKS_SIM;
    cj_coord *c = cj_coord_create(dev, CJ_COORD(.streams = STREAMS));
    pool_need_object(b, c);
    const double begun = pool_now_ns();
    coord_add(b, c, tasks, true);
    const double rate = (double)tasks / (pool_now_ns() - begun) * 1e9;
    pool_need(b, cj_coord_get_counts(c, k));
    cj_coord_free(c);
    return rate;
}

static void coord_tasks(pool_bench *b)
{
    const size_t tasks = b->gpu ? TASKS : TASKS_SIM;
    double rate[ROUNDS];
    cj_coord_counts k = { .size = sizeof k };
    for (int round = 0; round < ROUNDS && !b->failed; round++) rate[round] = coord_rate(b, b->dev, &k);
    if (b->failed) return;
    pool_report(b, "coordinator.tasks_per_s", bench_median(rate, ROUNDS), "1/s");
    pool_report(b, "coordinator.events_per_edge", (double)k.events / (double)k.edges, "1");
    pool_report(b, "coordinator.waits_per_edge", (double)k.waits / (double)k.edges, "1");
    pool_report(b, "coordinator.implied_share", (double)k.implied / (double)(k.implied + k.waits), "1");
    pool_report(b, "coordinator.host_ns", (double)k.coordinate_ns / (double)tasks, "ns");
}

/* All tasks there at once. */
static void coord_bytes(pool_bench *b)
{
    const size_t tasks = b->gpu ? TASKS : TASKS_SIM;
    cj_coord_counts k = { .size = sizeof k };
    cj_coord *c = cj_coord_create(b->dev, CJ_COORD(.streams = STREAMS));
    pool_need_object(b, c);
    coord_add(b, c, tasks, false);
    pool_need(b, cj_coord_get_counts(c, &k));
    pool_report(b, "coordinator.task_bytes", (double)k.bytes / (double)tasks, "bytes");
    const double begun = pool_now_ns();
    pool_need(b, cj_coord_run(c, 60000));
    if (!b->failed)
        pool_report(b, "coordinator.run_tasks_per_s", (double)tasks / (pool_now_ns() - begun) * 1e9, "1/s");
    cj_coord_free(c);
}

/* What the driver alone takes for one record and two waits a task. */
static void coord_raw(pool_bench *b)
{
    enum { EVENTS = 1024 };
    static CUevent event[EVENTS];
    CUstream stream[STREAMS];
    const size_t tasks = b->gpu ? TASKS : TASKS_SIM;
    for (int i = 0; i < STREAMS; i++)
        pool_need_raw(b, b->cu.cuStreamCreateWithPriority(&stream[i], CU_STREAM_NON_BLOCKING, 0), "cuStreamCreate");
    for (int i = 0; i < EVENTS; i++)
        pool_need_raw(b, b->cu.cuEventCreate(&event[i], CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    if (b->failed) return;
    const double begun = pool_now_ns();
    for (size_t i = 0; i < tasks; i++) {
        CUstream s = stream[i % STREAMS];
        b->cu.cuStreamWaitEvent(s, event[(i + EVENTS - 3) % EVENTS], 0);
        b->cu.cuStreamWaitEvent(s, event[(i + EVENTS - 5) % EVENTS], 0);
        b->cu.cuEventRecord(event[i % EVENTS], s);
    }
    for (int i = 0; i < STREAMS; i++) pool_need_raw(b, b->cu.cuStreamSynchronize(stream[i]), "cuStreamSynchronize");
    pool_report(b, "coordinator.raw_tasks_per_s", (double)tasks / (pool_now_ns() - begun) * 1e9, "1/s");
    for (int i = 0; i < EVENTS; i++) b->cu.cuEventDestroy(event[i]);
    for (int i = 0; i < STREAMS; i++) b->cu.cuStreamDestroy(stream[i]);
}

void pool_coord(pool_bench *b)
{
    coord_tasks(b);
    coord_own(b);
    coord_bytes(b);
    coord_raw(b);
}
