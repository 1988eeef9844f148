/* A fault in a pipeline: the chunk whose work it was is named, with the kernel's own report, the pipeline ends, and
 * everything is released.  On the CPU device, where a context ends with its device.
 *
 * What the library finds out first is made certain: it counts a launch only when the fault has happened, or it has no
 * report of the fault, as on a GPU. */
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/table.h"
#include "tests/stream/pipeline_parts.h"
#include "tests/tap.h"

enum { CHUNKS = 9, CHUNK = 32, BYTES = CHUNKS * CHUNK };
static pipe_job job;
static uint64_t bad_chunk;

/* -- A driver between the library and the CPU device --------------------------------------------------------------- */

static struct {
    void *(*get_symbol)(void *user, const char *name);
    CUresult (*write)(CUstream s, CUdeviceptr at, cuuint32_t value, unsigned flags);
    CUresult (*query)(CUstream s);
    bool silent; /* it does not describe faults */
    bool late;   /* a launch of the bad chunk is counted when its fault has happened */
} below;

static CUresult write_late(CUstream s, CUdeviceptr at, cuuint32_t value, unsigned flags)
{
    const bool bad = below.late && job.launches == bad_chunk + 1;
    while (bad && below.query(s) == CUDA_ERROR_NOT_READY) sched_yield();
    return below.write(s, at, value, flags);
}

static void *symbol_between(void *user, const char *name)
{
    (void)user;
    if (below.silent && !strcmp(name, "cujit_sim_fault")) return NULL;
    void *p = below.get_symbol(NULL, name);
    if (!p || strncmp(name, "cuStreamWriteValue32", 20) != 0) return p;
    CUresult (*const mine)(CUstream, CUdeviceptr, cuuint32_t, unsigned) = write_late;
    memcpy(&below.write, &p, sizeof p);
    memcpy(&p, &mine, sizeof p);
    return p;
}

static cj_driver *driver_between(void)
{
    void *lib = dlopen(getenv("CUJIT_SIM"), RTLD_NOW | RTLD_LOCAL);
    void *p = lib ? dlsym(lib, "cujit_sim_get_symbol") : NULL;
    if (!p) tap_bail("%s", dlerror());
    memcpy(&below.get_symbol, &p, sizeof p);
    p = below.get_symbol(NULL, "cuStreamQuery");
    memcpy(&below.query, &p, sizeof p);
    return cj_driver_open_resolver(symbol_between, NULL);
}

/* -- What goes wrong ----------------------------------------------------------------------------------------------- */

typedef enum fault_way {
    OUTSIDE,   /* the chunk's kernel writes where nothing is */
    BESIDE,    /* a kernel on another stream, for which the chunk waits, writes to the chunk's output, misaligned */
    ELSEWHERE  /* the same where nothing is */
} fault_way;

static struct { fault_way way; cj_stream *side; cj_kernel *odd; } bad;

/* odd(x): a word at x + 1 */
static cj_kernel *odd_kernel(cj_device *dev)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "odd");
    cj_store(f, CJ_U32, cj_mem(f, cj_param_ptr(f, "x", CJ_U32), 1), 1);
    cj_kernel *k = cj_kernel_load(dev, m, "odd", NULL);
    if (cj_error_of(k)->status) tap_bail("%s", cj_error_of(k)->message);
    cj_ptx_free(m);
    return k;
}

static cj_status faulty(void *user, cj_chunk *c)
{
    cj_chunk wrong = *c;
    if (c->index != bad_chunk) return pipe_launch(user, c);
    if (bad.way != BESIDE) wrong.out = cj_offset(c->out, 1 << 30);
    if (bad.way == OUTSIDE) return pipe_launch(user, &wrong);
    cj_launch(bad.side, bad.odd, cj_grid(1, 1), wrong.out);
    cj_stream_join(c->stream, bad.side);
    return pipe_launch(user, c);
}

/* -- One case, in a process of its own: nothing runs on the device any more after a fault -------------------------- */

typedef struct outcome { cj_status status, restarted; char message[480]; uint64_t done; bool clean; } outcome;
typedef struct fault_case { int32_t overlap; uint32_t depth; bool two, between; fault_way way; } fault_case;

static void run_case(const fault_case *f, outcome *o)
{
    cj_pipeline_stats now = { .size = sizeof now };
    cj_driver *drv = f->between ? driver_between() : cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL), *const more[] = { cj_device_open(drv, 1, NULL) };
    job.k = pipe_kernel(dev), job.k2 = pipe_kernel(more[0]);
    bad.way = f->way;
    bad.side = cj_stream_create(dev, NULL);
    bad.odd = odd_kernel(dev);
    pipe_job_reset(&job, BYTES);
    cj_pipeline *p = cj_pipeline_create(
        dev, CJ_PIPELINE(.bytes = BYTES, .chunk = CHUNK, .overlap = f->overlap, .depth = f->depth, .fill = pipe_fill,
                         .launch = faulty, .drain = pipe_drain, .user = &job, .devices = more,
                         .device_count = f->two));
    o->status = cj_pipeline_work(p);
    snprintf(o->message, sizeof o->message, "%s", cj_error_of(p)->message);
    cj_pipeline_get_stats(p, &now);
    o->done = now.chunks_done;
    o->restarted = cj_pipeline_restart(p, BYTES);
    cj_pipeline_free(p);
    cj_stream_free(bad.side);
    cj_kernel_free(bad.odd);
    cj_kernel_free(job.k);
    cj_kernel_free(job.k2);
    o->clean = cj_device_collect(dev) == 0;
    cj_device_close(dev);
    cj_device_close(more[0]);
    cj_driver_close(drv);
}

static outcome case_in_child(const fault_case *f, const char *name)
{
    outcome o = { .status = CJ_OK };
    int ends[2], status = 1;
    if (pipe(ends)) tap_bail("no pipe");
    const pid_t child = fork();
    if (!child) {
        run_case(f, &o);
        exit(write(ends[1], &o, sizeof o) == sizeof o ? 0 : 1); /* the driver ends its threads */
    }
    close(ends[1]);
    const bool all = read(ends[0], &o, sizeof o) == sizeof o;
    close(ends[0]);
    tap_ok(waitpid(child, &status, 0) == child && status == 0 && all, "%s, a fault in chunk %d", name, (int)bad_chunk);
    tap_is_int(o.status, CJ_EDRIVER, "... is a failure of the device");
    tap_ok(o.done <= bad_chunk, "... and the chunk is not drained");
    tap_is_int(o.restarted, CJ_ESTATE, "the pipeline does not begin again");
    tap_ok(o.clean, "and everything is released");
    return o;
}

/* -- Tables -------------------------------------------------------------------------------------------------------- */

static const struct { const char *name; int32_t overlap; uint32_t depth; bool two; } forms[] = {
    { "without overlap", CJ_OVERLAP_NEVER, 0, false },
    { "with two buffers", CJ_OVERLAP_ALWAYS, 2, false },
    { "with eight buffers", CJ_OVERLAP_ALWAYS, 8, false },
    { "measured", CJ_OVERLAP_MEASURED, 0, false },
    { "two devices", CJ_OVERLAP_ALWAYS, 3, true },
};
enum { FORMS = sizeof forms / sizeof *forms };

static const struct { const char *name; bool late, silent; const char *says; } drivers[] = {
    { "", false, false, ": " },
    { ", found when the launch is counted", true, false, ": " },
    { ", and the driver describes nothing", true, true, ", the first one that is not known to be complete: " },
};

static void kernels_of_chunks(size_t f, size_t d)
{
    static const uint64_t at[] = { 0, CHUNKS / 2, CHUNKS - 1 };
    char name[128], text[96];
    for (size_t i = 0; i < 3; i++) {
        bad_chunk = at[i];
        below.late = drivers[d].late, below.silent = drivers[d].silent;
        snprintf(name, sizeof name, "%s%s", forms[f].name, drivers[d].name);
        const outcome o = case_in_child(&(fault_case){ forms[f].overlap, forms[f].depth, forms[f].two, d > 0, OUTSIDE },
                                        name);
        snprintf(text, sizeof text, "chunk %d of %d, compute%s", (int)at[i], CHUNKS, drivers[d].says);
        tap_has_str(o.message, text, "the chunk is named");
        if (!drivers[d].silent) tap_has_str(o.message, "kernel flip", "... and its kernel");
    }
}

static const struct { const char *name; fault_way way; uint64_t chunk; const char *says; } ways[] = {
    { "a kernel on another stream, in the chunk's buffer", BESIDE, 4, "chunk 4 of 9, compute: " },
    { "a kernel on another stream, anywhere", ELSEWHERE, 0, "or other work of the device: " },
};

static void other_work(size_t f)
{
    char name[128];
    below.late = below.silent = false;
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        bad_chunk = ways[w].chunk;
        snprintf(name, sizeof name, "%s: %s", forms[f].name, ways[w].name);
        const outcome o = case_in_child(&(fault_case){ forms[f].overlap, forms[f].depth, forms[f].two, false,
                                                       ways[w].way }, name);
        tap_has_str(o.message, ways[w].says, "is reported as what it is");
    }
}

int main(void)
{
    setenv("CUJIT_SIM_DEVICES", "2", 1);
    tap_plan(0);
    for (size_t f = 0; f < FORMS; f++) {
        for (size_t d = 0; d < sizeof drivers / sizeof *drivers; d++) kernels_of_chunks(f, d);
        if (!forms[f].two) other_work(f);
    }
    return tap_done();
}
