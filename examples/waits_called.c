/* Callbacks drive the work: when a job's step has completed, its callback enqueues the next one.  Four
 * jobs run on four streams, and no thread of the program waits for any single step. */
#include <cujit/cujit.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { JOBS = 4, STEPS = 8, N = 4096 };

struct job {
    cj_stream *s;
    cj_dptr x;
    int steps;
};

static cj_waiter *waiter;
static cj_kernel *step;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static int jobs_left = JOBS, failed;

static void job_ends(int how)
{
    pthread_mutex_lock(&lock);
    failed |= how;
    if (--jobs_left == 0) pthread_cond_signal(&ended);
    pthread_mutex_unlock(&lock);
}

/* Runs on the waiter's thread, once for each step. */
static void stepped(void *user, cj_wait_result result)
{
    struct job *j = user;
    if (result != CJ_WAIT_DONE || j->steps == STEPS) return job_ends(result != CJ_WAIT_DONE);
    j->steps++;
    cj_launch(j->s, step, cj_threads(N, 256), j->x, N);
    if (!cj_waiter_add_stream(waiter, j->s, 5000, stepped, j)) job_ends(1);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--help"))
        return puts("usage: waits_called\nFour jobs of eight steps: a callback enqueues the next step of its job."), 0;

    /* x[i] = 3 * x[i] + 1 */
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "step");
    cj_val x = cj_param_ptr(f, "x", CJ_U32), n = cj_param(f, "n", CJ_U32), i = cj_global_id(f, CJ_X);
    cj_if(f, cj_lt(f, i, n));
        cj_set(f, x, i, cj_mad(f, cj_get(f, x, i), cj_imm(f, 3), cj_imm(f, 1)));
    cj_end(f);

    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    step = cj_kernel_load(dev, m, "step", NULL);
    waiter = cj_waiter_create(dev, NULL);
    if (cj_error_of(step)->status != CJ_OK) return fprintf(stderr, "%s\n", cj_error_of(step)->message), 1;
    if (cj_error_of(waiter)->status != CJ_OK) return fprintf(stderr, "%s\n", cj_error_of(waiter)->message), 1;

    struct job job[JOBS];
    for (int j = 0; j < JOBS; j++) {
        job[j] = (struct job){ .s = cj_stream_create(dev, NULL) };
        job[j].x = cj_alloc(job[j].s, N * sizeof(uint32_t));
        cj_fill32(job[j].s, job[j].x, (uint32_t)j, N);
        if (!cj_waiter_add_stream(waiter, job[j].s, 5000, stepped, &job[j])) job_ends(1);
    }
    pthread_mutex_lock(&lock);
    while (jobs_left > 0) pthread_cond_wait(&ended, &lock);
    pthread_mutex_unlock(&lock);
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
    printf("%s: %d jobs of %d steps by callbacks; %d numbers are wrong\n", cj_device_name(dev), JOBS, STEPS, wrong);

    cj_kernel_free(step);
    cj_ptx_free(m);
    cj_device_close(dev);
    cj_driver_close(drv);
    return wrong != 0;
}
