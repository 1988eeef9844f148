/* The examples about streams say what they should, and that their own comparison with the host found nothing. */
#include <stdlib.h>

#include <cujit/cujit.h>

#include "tests/tap.h"
#include "tests/tap_run.h"

static const struct { const char *program, *says;
} examples[] = {
    { "examples/graph_replay",
      "a graph of 10 nodes launched 100 times; generator 1 is at 645503657, 0 of 4096 are wrong\n" },
    { "examples/overlap", "8 chunks of 32768 numbers through two buffers: the sum of squares is 87203361984, right\n" },
    { "examples/pools", "32 chunks on 4 streams, 32 leases: the sum of squares is "},
    { "examples/pipeline_file", "200001 bytes in 7 chunks, encrypted and back: unreadable, the same again\n" },
    { "examples/halo", "steps; 400 bytes sent across; 0 cells are wrong\n" },
    { "examples/graph_loop", "one launch took 9 turns; the root of 144 is 12.000, 0 of 1000 are wrong\n" },
    { "examples/timeline", "18 operations on 2 streams; 524288 bytes of memory at most; the sum is 4\n" },
    { "examples/waits_called", "4 jobs of 8 steps by callbacks; 0 numbers are wrong\n" },
    { "examples/waits_polled", "4 jobs of 8 steps by poll; 0 numbers are wrong\n" },
    { "examples/scratch_memory", "10 steps, 11 allocations, 1 by the driver; 0 of 16384 numbers are wrong\n" },
    { "examples/graph_picture", "5 nodes and 5 edges, 4 one after another; 0 of 65536 are wrong\n" },
    { "examples/tasks", "5 tasks, 6 dependencies, 6 of them from memory; 0 of 65536 are wrong\n" },
    { "examples/tasks_pull", "5 tasks ended, the last one is 'store': yes; 0 of 16384 are wrong\n" },
    { "examples/all_reduce", "12 loads, 8 computes, an all-reduce at CJ_PRIORITY_CRITICAL on " },
};

/* The one that is for two devices, on two. */
static void halo_on_two(void)
{
    const char *argv[] = { tap_build("examples/halo"), "9", NULL };
    tap_result r;
    tap_run(&r, argv, NULL);
    tap_is_int(r.status, 0, "examples/halo on two devices ends well");
    tap_is_str(r.out, "8192 cells on two devices, 9 steps; 36 bytes sent across; 0 cells are wrong\n",
               "... and prints its result");
    tap_is_str(r.err, "", "... and nothing else");
    tap_result_free(&r);
}

int main(void)
{
    tap_need_device(1);
    tap_plan(0);
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        const char *argv[] = { tap_build(examples[i].program), NULL };
        tap_result r;
        tap_run(&r, argv, NULL);
        tap_is_int(r.status, 0, "%s ends well", examples[i].program);
        tap_has_str(r.out, examples[i].says, "... and prints its result");
        tap_is_str(r.err, "", "... and nothing else");
        tap_result_free(&r);
    }
    if (tap_on_gpu()) {
        cj_driver *drv = cj_driver_open(NULL);
        const int devices = cj_device_count(drv);
        cj_driver_close(drv);
        if (devices > 1) halo_on_two();
        else tap_skip(3, "one GPU only");
    } else {
        setenv("CUJIT_SIM_DEVICES", "2", 1);
        halo_on_two();
    }
    return tap_done();
}
