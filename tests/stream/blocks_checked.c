/* Memory of cj_alloc lies in chunks; the CPU device finds an access outside of each allocation all the same, before it
 * is allocated, after it is freed, and between two of them. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cujit/sim.h>

#include "tests/device_parts.h"
#include "tests/tap.h"

enum { N = 64, BYTES = 4 * N };

typedef struct work {
    cj_device *dev;
    cj_stream *s, *t;
    cj_kernel *add;
    cj_dptr a, b; /* two allocations of BYTES, beside each other in a chunk */
} work;

static void right(work *w)
{
    cj_launch(w->s, w->add, cj_threads(N, 32), w->a, N, 1);
    cj_launch(w->s, w->add, cj_threads(N, 32), w->b, N, 1);
}
static void one_too_far(work *w) { cj_launch(w->s, w->add, cj_threads(N + 1, 32), w->a, N + 1, 1); }
static void before_its_start(work *w)
{
    cj_dptr d = { w->b.addr - 4 };
    cj_launch(w->s, w->add, cj_threads(1, 32), d, 1, 1);
}
static void after_the_free(work *w)
{
    cj_free(w->dev, w->a);
    cj_launch(w->s, w->add, cj_threads(N, 32), w->a, N, 1);
}
static void behind_the_free(work *w)
{
    struct latch l = LATCH_CLOSED;
    bench_hold(w->s, &l);
    cj_launch(w->s, w->add, cj_threads(N, 32), w->a, N, 1);
    cj_free(w->dev, w->a);
    latch_open(&l);
    cj_stream_sync(w->s);
}
static void of_a_smaller_one(work *w)
{
    cj_free(w->dev, w->a);
    w->a = cj_alloc(w->s, BYTES - 8);
    cj_launch(w->s, w->add, cj_threads(N, 32), w->a, N, 1);
}
static void of_one_used_again(work *w)
{
    cj_free(w->dev, w->a);
    w->a = cj_alloc(w->s, BYTES);
    cj_launch(w->s, w->add, cj_threads(N, 32), w->a, N, 1);
}
static void of_deferred_memory(work *w)
{
    struct latch l = LATCH_CLOSED;
    bench_hold(w->t, &l);
    cj_stream_use(w->t, w->a);
    cj_free(w->dev, w->a);
    cj_launch(w->s, w->add, cj_threads(N, 32), w->a, N, 1);
    cj_stream_sync(w->s);
    latch_open(&l);
    cj_stream_sync(w->t);
}
static void never_allocated(work *w)
{
    cj_dptr d = { w->a.addr + (1 << 20) };
    cj_launch(w->s, w->add, cj_threads(1, 32), d, 1, 1);
}
static void a_fill_too_far(work *w)
{
    cj_dptr d = { w->a.addr + BYTES };
    cj_fill32(w->s, d, 0, 1);
}

static const struct {
    const char *name;
    void (*run)(work *w);
    cj_status status;
    const char *says; /* a part of the message */
} cases[] = {
    { "uses of the whole", right, CJ_OK, "" },
    { "one element too far", one_too_far, CJ_EDRIVER, "past the end of the 256 bytes" },
    { "one element before the start", before_its_start, CJ_EDRIVER, "past the end of the 256 bytes" },
    { "a use behind the free", after_the_free, CJ_EDRIVER, "was freed: it lay in 256 bytes" },
    { "a use before the free", behind_the_free, CJ_OK, "" },
    { "a smaller allocation in its place", of_a_smaller_one, CJ_EDRIVER, "of the 248 bytes" },
    { "one that is used again", of_one_used_again, CJ_OK, "" },
    { "a use while the release is deferred", of_deferred_memory, CJ_OK, "" },
    { "memory of a chunk that nobody has", never_allocated, CJ_EDRIVER, "past the end" },
    { "a fill behind the end", a_fill_too_far, CJ_EINVAL, "behind the end of an allocation" },
};

/* Of a driver that has not begun. */
static void suballocations(void)
{
    tap_ok(cujit_sim_get_symbol(NULL, "cujit_sim_suballoc") != NULL, "the resolver finds cujit_sim_suballoc");
    tap_ok(cujit_sim_suballoc(NULL, 1, 4096, 16, 1) != 0, "a part of no allocation is rejected");
}

typedef struct outcome { cj_status status; uint64_t apart; char message[512]; } outcome;

static outcome run_case(size_t i)
{
    cj_driver *drv = cj_driver_open(NULL);
    work w = { .dev = cj_device_open(drv, 0, NULL) };
    cj_ptx *m = bench_add_module();
    w.s = cj_stream_create(w.dev, NULL);
    w.t = cj_stream_create(w.dev, NULL);
    w.add = cj_kernel_load(w.dev, m, "add", NULL);
    w.a = cj_alloc(w.s, BYTES);
    w.b = cj_alloc(w.s, BYTES);
    cj_fill32(w.s, w.a, 0, N);
    cj_fill32(w.s, w.b, 0, N);
    outcome out = { .apart = w.b.addr - w.a.addr };
    cases[i].run(&w);
    out.status = cj_stream_sync(w.s);
    snprintf(out.message, sizeof out.message, "%s", out.status ? cj_error_last()->message : "");
    cj_kernel_free(w.add);
    cj_ptx_free(m);
    cj_stream_free(w.s);
    cj_stream_free(w.t);
    cj_device_close(w.dev);
    cj_driver_close(drv);
    return out;
}

/* A fault ends the device for a process, so each case has a process of its own. */
static outcome run_apart(size_t i)
{
    int ends[2];
    outcome out = { .status = CJ_ESTATE };
    if (pipe(ends)) return out;
    const pid_t child = fork();
    if (!child) {
        const outcome own = run_case(i);
        _exit(write(ends[1], &own, sizeof own) == sizeof own ? 0 : 1);
    }
    close(ends[1]);
    if (read(ends[0], &out, sizeof out) != sizeof out) out = (outcome){ .status = CJ_ESTATE };
    close(ends[0]);
    waitpid(child, NULL, 0);
    return out;
}

int main(void)
{
    tap_plan(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const outcome out = run_apart(i);
        tap_is_uint(out.apart, 2 * BYTES, "two allocations lie side by side, with a gap");
        tap_is_int(out.status, cases[i].status, "%s: %s", cases[i].name, out.message);
        if (*cases[i].says) tap_has_str(out.message, cases[i].says, "... and why");
    }
    suballocations();
    return tap_done();
}
