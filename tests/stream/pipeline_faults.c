/* A kernel's fault in a pipeline: the chunk whose kernel it was is named, with the kernel's own report, the pipeline
 * ends, and everything is released.  On the CPU device, where a context ends with its device. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/stream/pipeline_parts.h"
#include "tests/tap.h"

enum { CHUNKS = 9, CHUNK = 32, BYTES = CHUNKS * CHUNK };
static pipe_job job;
static uint64_t bad_chunk;

static cj_status faulty(void *user, cj_chunk *c)
{
    cj_chunk wrong = *c;
    if (c->index == bad_chunk) wrong.out = cj_offset(c->out, 1 << 30);
    const cj_status st = pipe_launch(user, &wrong);
    return st;
}

typedef struct outcome { cj_status status, restarted; char message[480]; uint64_t done; bool clean; } outcome;

static const struct { const char *name; int32_t overlap; uint32_t depth; bool two; } forms[] = {
    { "without overlap", CJ_OVERLAP_NEVER, 0, false },
    { "with two buffers", CJ_OVERLAP_ALWAYS, 2, false },
    { "with eight buffers", CJ_OVERLAP_ALWAYS, 8, false },
    { "measured", CJ_OVERLAP_MEASURED, 0, false },
    { "two devices", CJ_OVERLAP_ALWAYS, 3, true },
};

static void run_case(size_t f, outcome *o)
{
    cj_pipeline_stats now = { .size = sizeof now };
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL), *const more[] = { cj_device_open(drv, 1, NULL) };
    job.k = pipe_kernel(dev), job.k2 = pipe_kernel(more[0]);
    pipe_job_reset(&job, BYTES);
    cj_pipeline *p = cj_pipeline_create(
        dev, CJ_PIPELINE(.bytes = BYTES, .chunk = CHUNK, .overlap = forms[f].overlap, .depth = forms[f].depth,
                         .fill = pipe_fill, .launch = faulty, .drain = pipe_drain, .user = &job, .devices = more,
                         .device_count = forms[f].two));
    o->status = cj_pipeline_work(p);
    snprintf(o->message, sizeof o->message, "%s", cj_error_of(p)->message);
    cj_pipeline_get_stats(p, &now);
    o->done = now.chunks_done;
    o->restarted = cj_pipeline_restart(p, BYTES);
    cj_pipeline_free(p);
    cj_kernel_free(job.k);
    cj_kernel_free(job.k2);
    o->clean = cj_device_collect(dev) == 0;
    cj_device_close(dev);
    cj_device_close(more[0]);
    cj_driver_close(drv);
}

/* In a process of its own: nothing runs on the device any more after a fault. */
static bool case_in_child(size_t f, outcome *o)
{
    int ends[2], status = 1;
    if (pipe(ends)) return false;
    const pid_t child = fork();
    if (!child) {
        outcome mine = { .status = CJ_OK };
        run_case(f, &mine);
        exit(write(ends[1], &mine, sizeof mine) == sizeof mine ? 0 : 1); /* the driver ends its threads */
    }
    close(ends[1]);
    const bool all = read(ends[0], o, sizeof *o) == sizeof *o;
    close(ends[0]);
    return waitpid(child, &status, 0) == child && status == 0 && all;
}

int main(void)
{
    static const uint64_t at[] = { 0, CHUNKS / 2, CHUNKS - 1 };
    char text[64];
    setenv("CUJIT_SIM_DEVICES", "2", 1);
    tap_plan(0);
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
        for (size_t i = 0; i < 3; i++) {
            outcome o = { .status = CJ_OK };
            bad_chunk = at[i];
            tap_ok(case_in_child(f, &o), "%s, a fault in chunk %d", forms[f].name, (int)at[i]);
            tap_is_int(o.status, CJ_EDRIVER, "... is a failure of the device");
            snprintf(text, sizeof text, "chunk %d of %d, compute: ", (int)at[i], CHUNKS);
            tap_has_str(o.message, text, "... which names the chunk");
            tap_has_str(o.message, "kernel flip", "... and its kernel");
            tap_ok(o.done <= at[i], "... which is not drained");
            tap_is_int(o.restarted, CJ_ESTATE, "the pipeline does not begin again");
            tap_ok(o.clean, "and everything is released");
        }
    return tap_done();
}
