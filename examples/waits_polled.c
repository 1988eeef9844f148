/* The work of waits_called without any callback: an event loop of poll(2) reads records of completed
 * steps and enqueues the next ones.  No thread of the library runs code of the program. */
#include <cujit/cujit.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

enum { JOBS = 4, STEPS = 8, N = 4096 };

struct job {
    cj_stream *s;
    cj_dptr x;
    int steps;
};

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--help"))
        return puts("usage: waits_polled\nFour jobs of eight steps: a loop of poll(2) enqueues the next steps."), 0;

    /* x[i] = 3 * x[i] + 1 */
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "step");
    cj_val x = cj_param_ptr(f, "x", CJ_U32), n = cj_param(f, "n", CJ_U32), i = cj_global_id(f, CJ_X);
    cj_if(f, cj_lt(f, i, n));
        cj_set(f, x, i, cj_mad(f, cj_get(f, x, i), cj_imm(f, 3), cj_imm(f, 1)));
    cj_end(f);

    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_kernel *step = cj_kernel_load(dev, m, "step", NULL);
    cj_waiter *waiter = cj_waiter_create(dev, NULL);
    if (cj_error_of(step)->status != CJ_OK) return fprintf(stderr, "%s\n", cj_error_of(step)->message), 1;
    if (cj_error_of(waiter)->status != CJ_OK) return fprintf(stderr, "%s\n", cj_error_of(waiter)->message), 1;

    struct job job[JOBS];
    int pending = 0, failed = 0;
    for (int j = 0; j < JOBS; j++) {
        job[j] = (struct job){ .s = cj_stream_create(dev, NULL) };
        job[j].x = cj_alloc(job[j].s, N * sizeof(uint32_t));
        cj_fill32(job[j].s, job[j].x, (uint32_t)j, N);
        pending += cj_waiter_add_stream(waiter, job[j].s, 5000, NULL, &job[j]) != 0;
    }

    struct pollfd fd = { .fd = cj_waiter_fd(waiter), .events = POLLIN }; /* beside a program's own */
    while (pending > 0 && poll(&fd, 1, 10000) > 0) {
        cj_wait_record r[JOBS];
        int got = cj_waiter_poll(waiter, r, JOBS, 0);
        for (int k = 0; k < got; k++) {
            struct job *j = r[k].user;
            pending--;
            failed |= r[k].result != CJ_WAIT_DONE;
            if (r[k].result != CJ_WAIT_DONE || j->steps == STEPS) continue;
            j->steps++;
            cj_launch(j->s, step, cj_threads(N, 256), j->x, N);
            pending += cj_waiter_add_stream(waiter, j->s, 5000, NULL, j) != 0;
        }
    }
    cj_waiter_free(waiter);

    int wrong = failed ? N : 0;
    for (int j = 0; j < JOBS; j++) {
        static uint32_t h[N];
        uint32_t want = (uint32_t)j;
        for (int k = 0; k < STEPS; k++) want = 3 * want + 1;
        cj_copy_to_host(job[j].s, h, job[j].x, sizeof h);
        cj_free(dev, job[j].x);
        if (cj_stream_sync(job[j].s) != CJ_OK) return fprintf(stderr, "%s\n", cj_error_of(job[j].s)->message), 1;
        for (int k = 0; k < N; k++) wrong += h[k] != want;
        cj_stream_free(job[j].s);
    }
    printf("%s: %d jobs of %d steps by poll; %d numbers are wrong\n", cj_device_name(dev), JOBS, STEPS, wrong);

    cj_kernel_free(step);
    cj_ptx_free(m);
    cj_device_close(dev);
    cj_driver_close(drv);
    return wrong != 0;
}
