/* What callbacks of a waiter may do: add waits, cancel them, free what they used and the waiter itself, call CUDA and
 * cujit; and that the end of a waiter waits for them. */
#include <stdatomic.h>

#include "tests/device_bench.h"
#include "tests/stream/waits.h"

enum { N = 64, CHAIN = 50 };

static const char *const kinds[] = { "the waiter's thread", "a pool", "the caller's thread" };

/* A waiter of each kind; a thread of the test runs the callbacks of CJ_WAITER_CALLER. */
typedef struct runner { cj_waiter *w; int kind; pthread_t thread; } runner;

static void *run_all(void *user)
{
    runner *r = user;
    while (cj_waiter_run(r->w, 4, CJ_WAIT_FOREVER) >= 0) {}
    return NULL;
}

static void runner_begin(runner *r, int kind)
{
    r->kind = kind;
    r->w = cj_waiter_create(dev, CJ_WAITER(.callbacks = kind, .threads = 3));
    if (kind == CJ_WAITER_CALLER) pthread_create(&r->thread, NULL, run_all, r);
}

static void runner_end(runner *r)
{
    if (r->kind == CJ_WAITER_CALLER) {
        cj_waiter_shutdown(r->w);
        pthread_join(r->thread, NULL);
    }
    cj_waiter_free(r->w);
}

/* -- Waits added by callbacks -------------------------------------------------------------------------------------- */

typedef struct chain { cj_waiter *w; int left, failed; seen end; } chain;

static void chain_step(void *user, cj_wait_result result)
{
    chain *c = user;
    if (result != CJ_WAIT_DONE) c->failed++;
    if (--c->left == 0) {
        seen_call(&c->end, result);
        return;
    }
    if (cj_launch(s, add, cj_threads(N, 32), d, N, 1) != CJ_OK) c->failed++;
    if (!cj_waiter_add_stream(c->w, s, CJ_WAIT_FOREVER, chain_step, c)) c->failed++;
}

static void adds_from_callbacks(int kind)
{
    uint32_t h[N];
    runner r;
    chain c = { .left = CHAIN + 1, .end = SEEN_NONE };
    cj_fill32(s, d, 0, N);
    runner_begin(&r, kind);
    c.w = r.w;
    cj_waiter_add_stream(r.w, s, CJ_WAIT_FOREVER, chain_step, &c);
    tap_is_int(seen_wait(&c.end, 1), CJ_WAIT_DONE, "%s: a chain of waits, each added by the callback before",
               kinds[kind]);
    tap_is_int(c.failed, 0, "... without a failure");
    runner_end(&r);
    cj_copy_to_host(s, h, d, sizeof h);
    cj_stream_sync(s);
    tap_is_int(h[N - 1], CHAIN, "... and each callback launched a kernel");
}

/* -- Objects freed by callbacks ------------------------------------------------------------------------------------ */

typedef struct owned { cj_event *e; cj_stream *own; cj_kernel *k; cj_dptr m; seen end; } owned;

static void free_all(void *user, cj_wait_result result)
{
    owned *o = user;
    cj_event_free(o->e);
    cj_free(dev, o->m);
    cj_kernel_free(o->k);
    cj_stream_free(o->own);
    seen_call(&o->end, result);
}

static void frees_from_callbacks(int kind)
{
    runner r;
    owned o = { .end = SEEN_NONE };
    runner_begin(&r, kind);
    o.own = cj_stream_create(dev, NULL);
    o.e = cj_event_create(dev, NULL);
    o.k = cj_kernel_load(dev, module, "add", NULL);
    o.m = cj_alloc(o.own, 4 * N);
    cj_launch(o.own, o.k, cj_threads(N, 32), o.m, N, 1);
    cj_event_record(o.e, o.own);
    cj_waiter_add(r.w, o.e, CJ_WAIT_FOREVER, free_all, &o);
    tap_is_int(seen_wait(&o.end, 1), CJ_WAIT_DONE, "%s: a callback frees what the work used", kinds[kind]);
    runner_end(&r);
}

/* -- The driver and captures from callbacks ------------------------------------------------------------------------ */

typedef struct maker { cj_graph_exec *x; cj_dptr m; cj_status st; bool context; seen end; } maker;

static void make_graph(void *user, cj_wait_result result)
{
    maker *k = user;
    cj_stream *own = cj_stream_create(dev, NULL);
    k->m = cj_alloc(own, 4 * N);
    k->st = cj_capture_begin(own, CJ_CAPTURE_THREAD);
    cj_launch(own, add, cj_threads(N, 32), d, N, 1);
    cj_graph *g = cj_capture_end(own);
    k->x = cj_graph_instantiate(g, NULL);
    if (k->st == CJ_OK) k->st = cj_graph_launch(own, k->x);
    if (k->st == CJ_OK) k->st = cj_stream_sync(own);
    cj_graph_free(g);
    cj_stream_free(own);
    seen_call(&k->end, result);
}

static void captures_from_callbacks(int kind)
{
    runner r;
    maker k = { .end = SEEN_NONE };
    runner_begin(&r, kind);
    cj_capture_begin(s, CJ_CAPTURE_GLOBAL);
    cj_waiter_add_stream(r.w, t, CJ_WAIT_FOREVER, make_graph, &k);
    tap_is_int(seen_wait(&k.end, 1), CJ_WAIT_DONE, "%s: a callback beside a capture of another thread", kinds[kind]);
    if (kind != CJ_WAITER_CALLER)
        tap_is_int(k.st, CJ_OK, "... allocates, captures, instantiates, launches and waits");
    cj_graph *g = cj_capture_end(s);
    tap_is_int(cj_error_of(g)->status, CJ_OK, "... and does not invalidate it");
    cj_graph_free(g);
    cj_graph_exec_free(k.x);
    cj_free(dev, k.m);
    runner_end(&r);
}

/* -- The end of a waiter and its callbacks ------------------------------------------------------------------------- */

static struct latch hold;
static atomic_int returned;

static void slow(void *user, cj_wait_result result)
{
    (void)user, (void)result;
    latch_wait(&hold);
    atomic_fetch_add(&returned, 1);
}

static void *free_it(void *w)
{
    cj_waiter_free(w);
    return (void *)(intptr_t)(100 + atomic_load(&returned));
}

static void end_waits_for_callbacks(int kind)
{
    runner r;
    pthread_t thread;
    void *at_end = NULL;
    latch_close(&hold);
    atomic_store(&returned, 0);
    runner_begin(&r, kind);
    cj_waiter_add_stream(r.w, s, CJ_WAIT_FOREVER, slow, NULL);
    latch_entered(&hold);
    pthread_create(&thread, NULL, free_it, r.w);
    latch_open(&hold);
    pthread_join(thread, &at_end);
    tap_is_int((intptr_t)at_end, 101, "%s: cj_waiter_free returns behind the callback under way", kinds[kind]);
    if (kind == CJ_WAITER_CALLER) pthread_join(r.thread, NULL);
}

/* -- A waiter freed by its own callback ---------------------------------------------------------------------------- */

typedef struct suicide { cj_waiter *w; seen end; } suicide;

static void free_own(void *user, cj_wait_result result)
{
    suicide *o = user;
    cj_waiter_free(o->w);
    seen_call(&o->end, result);
}

static void freed_by_callback(int kind)
{
    enum { OTHERS = 20 };
    suicide o = { .end = SEEN_NONE };
    runner r;
    gate_hold(0, t);
    runner_begin(&r, kind);
    o.w = r.w;
    for (int i = 0; i < OTHERS; i++) cj_waiter_add_stream(r.w, t, CJ_WAIT_FOREVER, seen_call, &o.end);
    cj_waiter_add_stream(r.w, t, CJ_WAIT_FOREVER, NULL, NULL);
    cj_waiter_add_stream(r.w, s, CJ_WAIT_FOREVER, free_own, &o);
    seen_wait(&o.end, OTHERS + 1);
    tap_is_int(seen_of(&o.end, CJ_WAIT_SHUTDOWN), OTHERS, "%s: a callback frees its waiter, and the others are called",
               kinds[kind]);
    tap_is_int(seen_of(&o.end, CJ_WAIT_DONE), 1, "... once each");
    if (kind == CJ_WAITER_CALLER) pthread_join(r.thread, NULL);
    gate_open(0);
    cj_stream_sync(t);
}

/* A callback cancels a wait that is pending, and one that is over. */
typedef struct canceller { cj_waiter *w; cj_wait other, own; cj_status first, second, self; int32_t runs; seen end; }
    canceller;

static void cancel_other(void *user, cj_wait_result result)
{
    canceller *c = user;
    c->first = cj_waiter_cancel(c->w, c->other, NULL);
    c->second = cj_waiter_cancel(c->w, c->other, NULL);
    c->self = cj_waiter_cancel(c->w, c->own, &c->runs);
    seen_call(&c->end, result);
}

static void cancels_from_callbacks(int kind)
{
    canceller c = { .end = SEEN_NONE };
    runner r;
    gate_hold(0, t);
    gate_hold(1, s);
    runner_begin(&r, kind);
    c.w = r.w;
    c.other = cj_waiter_add_stream(r.w, t, CJ_WAIT_FOREVER, seen_call, &c.end);
    c.own = cj_waiter_add_stream(r.w, s, CJ_WAIT_FOREVER, cancel_other, &c);
    gate_open(1);
    seen_wait(&c.end, 2);
    tap_is_int(seen_of(&c.end, CJ_WAIT_CANCELLED), 1, "%s: a callback cancels another wait", kinds[kind]);
    tap_is_int(c.first, CJ_OK, "... which was pending");
    tap_is_int(c.second, CJ_ENOTFOUND, "... once");
    tap_is_int(c.self, CJ_ENOTFOUND, "... and its own wait is over");
    tap_is_int(c.runs, 1, "... whose callback has not returned");
    runner_end(&r);
    gate_open(0);
    cj_stream_sync(t);
}

int main(void)
{
    bench_open(4 * N);
    gates_make(dev);
    for (int kind = CJ_WAITER_THREAD; kind <= CJ_WAITER_CALLER; kind++) {
        adds_from_callbacks(kind);
        frees_from_callbacks(kind);
        captures_from_callbacks(kind);
        end_waits_for_callbacks(kind);
        freed_by_callback(kind);
        cancels_from_callbacks(kind);
    }
    cj_stream_sync(s), cj_stream_sync(t);
    gates_free();
    return bench_close();
}
