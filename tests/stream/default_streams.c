/* The default streams, wrapped on request: the legacy one, and the per-thread one, which is bound to the thread that
 * wrapped it: every call takes them, they are ordered as the driver orders them, and releases made on other threads
 * wait for what the per-thread one was given. */
#include <string.h>

#include "tests/device_bench.h"

enum { WORDS = 64 };


static void on_another_thread(void *(*fn)(void *), void *arg)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, fn, arg)) tap_bail("no thread");
    pthread_join(thread, NULL);
}

/* ---- Every call that is given a stream --------------------------------------------------------------------------- */

typedef struct kit {
    cj_stream *s, *other;
    cj_event *e;
    cj_dptr d, word;
    cj_stream_barrier *meeting;
    cj_graph_exec *x;
    uint32_t host[WORDS], back[WORDS]; /* copied from, copied to */
    uint32_t *pinned;
    int calls;
} kit;

static void count_call(void *user) { ((kit *)user)->calls++; }
static void count_done(void *user, cj_status st) { ((kit *)user)->calls += st == CJ_OK; }

static cj_status do_launch(kit *k)
{
    return cj_launch(k->s, add, cj_threads(WORDS, 32), k->d, WORDS, 1);
}
static cj_status do_host(kit *k) { return cj_host_func(k->s, count_call, k); }
static cj_status do_done(kit *k) { return cj_stream_callback(k->s, count_done, k); }
static cj_status do_in(kit *k) { return cj_copy_to_device(k->s, k->d, k->host, sizeof k->host); }
static cj_status do_out(kit *k) { return cj_copy_to_host(k->s, k->back, k->d, sizeof k->back); }
static cj_status do_copy(kit *k) { return cj_copy(k->s, k->d, (cj_dptr){ k->d.addr + 4 * WORDS / 2 }, 4 * WORDS / 2); }
static cj_status do_set8(kit *k) { return cj_fill8(k->s, k->d, 1, WORDS); }
static cj_status do_set16(kit *k) { return cj_fill16(k->s, k->d, 1, WORDS); }
static cj_status do_set32(kit *k) { return cj_fill32(k->s, k->d, 1, WORDS); }
static cj_status do_wait(kit *k) { return cj_stream_wait(k->s, k->e); }
static cj_status do_record(kit *k) { return cj_event_record(k->e, k->s); }
static cj_status do_fork(kit *k) { return cj_stream_fork(k->s, k->other); }
static cj_status do_join(kit *k) { return cj_stream_join(k->s, k->other); }
static cj_status do_forked(kit *k) { return cj_stream_fork(k->other, k->s); }
static cj_status do_joined(kit *k) { return cj_stream_join(k->other, k->s); }
static cj_status do_barrier(kit *k)
{
    return cj_stream_barrier_enqueue(k->meeting, (cj_stream *[]){ k->other, k->s }, 2);
}
static cj_status do_hub_sync(kit *k)
{
    return cj_stream_barrier_sync_for(k->meeting, (cj_stream *[]){ k->s, k->other }, 2, 10000);
}
static cj_status do_write(kit *k) { return cj_stream_write_value32(k->s, k->word, 5); }
static cj_status do_wait_value(kit *k) { return cj_stream_wait_value32(k->s, k->word, 5, CJ_COMPARE_EQ); }
static cj_status do_values(kit *k)
{
    const cj_mem_op op[2] = { { .kind = CJ_MEM_OP_WRITE32, .d = k->word, .value = 5 },
                              { .kind = CJ_MEM_OP_WAIT32, .how = CJ_COMPARE_EQ, .d = k->word, .value = 5 } };
    return cj_stream_mem_ops(k->s, op, 2);
}
static cj_status do_used(kit *k) { return cj_stream_use(k->s, k->d); }
static cj_status do_upload(kit *k) { return cj_graph_upload(k->s, k->x); }
static cj_status do_graph(kit *k) { return cj_graph_launch(k->s, k->x); }
static cj_status do_alloc(kit *k)
{
    const cj_dptr m = cj_alloc(k->s, 256);
    return m.addr ? cj_free(dev, m) : (cj_status)cj_error_last()->status;
}
static cj_status do_rows(kit *k)
{
    return cj_copy_2d_to_device(k->s, k->d, 16, k->host, 8, 8, 4);
}
static cj_status do_batch(kit *k)
{
    const cj_copy_item item[2] = { { .dst = k->d, .src_host = k->host, .bytes = 4 },
                                   { .dst_host = k->back, .src = k->d, .bytes = 4 } };
    return cj_copy_batch(k->s, item, 2);
}
static cj_status do_capture(kit *k)
{
    cj_status st = cj_capture_begin(k->s, CJ_CAPTURE_THREAD);
    if (st != CJ_OK) return st;
    cj_fill32(k->s, k->d, 3, WORDS);
    cj_graph *g = cj_capture_end(k->s);
    st = (cj_status)cj_error_of(g)->status;
    cj_graph_free(g);
    return st;
}
static cj_status do_query(kit *k)
{
    const cj_status st = cj_stream_query(k->s);
    return st == CJ_ENOTREADY ? CJ_OK : st;
}
static cj_status do_sync_for(kit *k) { return cj_stream_sync_for(k->s, 10000); }
static cj_status do_sync(kit *k) { return cj_stream_sync(k->s); }

static const struct { const char *name; cj_status (*call)(kit *k);
} calls[] = {
    { "cj_launch", do_launch },
    { "cj_host_func", do_host },
    { "cj_stream_callback", do_done },
    { "cj_copy_to_device", do_in },
    { "cj_copy_to_host", do_out },
    { "cj_copy", do_copy },
    { "cj_fill8", do_set8 },
    { "cj_fill16", do_set16 },
    { "cj_fill32", do_set32 },
    { "cj_copy_2d_to_device", do_rows },
    { "cj_copy_batch", do_batch },
    { "cj_event_record", do_record },
    { "cj_stream_wait", do_wait },
    { "cj_stream_fork", do_fork },
    { "cj_stream_join", do_join },
    { "cj_stream_fork to it", do_forked },
    { "cj_stream_join of it", do_joined },
    { "cj_stream_barrier_enqueue", do_barrier },
    { "cj_stream_barrier_sync_for", do_hub_sync },
    { "cj_stream_write_value32", do_write },
    { "cj_stream_wait_value32", do_wait_value },
    { "cj_stream_mem_ops", do_values },
    { "cj_stream_use", do_used },
    { "cj_alloc", do_alloc },
    { "cj_graph_upload", do_upload },
    { "cj_graph_launch", do_graph },
    { "cj_stream_query", do_query },
    { "cj_stream_sync_for", do_sync_for },
    { "cj_capture_begin", do_capture },
    { "cj_stream_sync", do_sync },
};

static void kit_make(kit *k, cj_stream *on)
{
    *k = (kit){ .s = on, .other = cj_stream_create(dev, NULL), .e = cj_event_create(dev, NULL),
                .meeting = cj_stream_barrier_create(dev) };
    k->d = cj_alloc(k->other, sizeof k->host);
    k->pinned = cj_host_alloc(dev, sizeof *k->pinned, NULL);
    if (k->pinned) *k->pinned = 0;
    k->word = (cj_dptr){ (uint64_t)(uintptr_t)k->pinned };
    cj_capture_begin(k->other, CJ_CAPTURE_THREAD);
    cj_fill32(k->other, k->d, 9, WORDS);
    cj_graph *g = cj_capture_end(k->other);
    k->x = cj_graph_instantiate(g, NULL);
    cj_graph_free(g);
    tap_is_int(cj_stream_sync(k->other), CJ_OK, "what the calls need is there");
}

static void kit_free(kit *k)
{
    cj_graph_exec_free(k->x);
    cj_stream_barrier_free(k->meeting);
    cj_event_free(k->e);
    cj_free(dev, k->d);
    tap_is_int(cj_stream_sync(k->other), CJ_OK, "the other stream has no failure");
    cj_stream_free(k->other);
    cj_host_free(dev, k->pinned);
}

static void every_call(cj_stream *on, const char *which)
{
    kit k;
    cj_stream_counts n;
    const bool legacy = cj_stream_raw(on) == (void *)1;
    kit_make(&k, on);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const bool refused = legacy && calls[i].call == do_capture;
        tap_is_int(calls[i].call(&k), refused ? CJ_ESTATE : CJ_OK, "%s: %s%s", which, calls[i].name,
                   refused ? " is rejected" : "");
        if (refused) cj_stream_sync(on);
    }
    tap_is_int(k.calls, 2, "%s: both functions ran", which);
    cj_stream_counts_defaults(&n);
    tap_ok(cj_stream_get_counts(on, &n) == CJ_OK && n.operations > 15 && n.launches == 1,
           "%s: what was enqueued on it is counted", which);
    kit_free(&k);
}

/* ---- The thread rule --------------------------------------------------------------------------------------------- */

static void *refuse(void *arg)
{
    kit *k = arg;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        tap_is_int(calls[i].call(k), CJ_ESTATE, "on another thread: %s", calls[i].name);
        if (i == 0)
            tap_has_str(cj_error_last()->message, "make the call there, or use a stream of cj_stream_create",
                        "with the rule and the fix");
    }
    cj_stream_counts n;
    cj_stream_counts_defaults(&n);
    tap_ok(cj_stream_raw(k->s) == (void *)2 && cj_stream_id(k->s) && cj_stream_device(k->s) == dev &&
               cj_stream_flags(k->s) == 0,
           "what it is may be read");
    tap_ok(cj_stream_get_counts(k->s, &n) == CJ_OK && n.operations == 0 && !cj_stream_is_capturing(k->s),
           "and what was enqueued on it: nothing");
    return NULL;
}

static void refused_elsewhere(cj_stream *on)
{
    kit k;
    kit_make(&k, on);
    on_another_thread(refuse, &k);
    tap_is_int(cj_stream_sync(on), CJ_ESTATE, "the stream keeps the first refusal until it is synchronised");
    tap_is_int(cj_stream_sync(on), CJ_OK, "then it has none");
    tap_is_int(cj_stream_sync(k.other), CJ_ESTATE, "and so does the stream that was given with it");
    tap_is_int(k.calls, 0, "nothing of it ran");
    kit_free(&k);
}

static void *free_in_capture(void *arg)
{
    cj_stream_free(arg);
    tap_is_int(cj_error_last()->status, CJ_ESTATE, "another thread does not free it while it is being captured");
    return NULL;
}

static void captured(cj_stream *on)
{
    tap_is_int(cj_capture_begin(on, CJ_CAPTURE_RELAXED), CJ_OK, "a capture");
    on_another_thread(free_in_capture, on);
    cj_graph *g = cj_capture_end(on);
    tap_is_int(cj_error_of(g)->status, CJ_OK, "goes on, and ends");
    cj_graph_free(g);
    tap_is_int(cj_stream_sync(on), CJ_OK, "and nothing failed");
}

/* ---- Order ------------------------------------------------------------------------------------------------------- */

static void *wrap_and_ask(void *arg)
{
    cj_stream *own = cj_stream_wrap(dev, (void *)2), *on = arg;
    tap_ok(cj_stream_id(own) && cj_stream_id(own) != cj_stream_id(on), "on another thread it is another stream");
    tap_is_int(cj_stream_sync_for(own, 10000), CJ_OK, "which nothing holds");
    cj_stream_free(own);
    return NULL;
}

static void order(cj_stream *legacy, cj_stream *on)
{
    struct latch l = LATCH_CLOSED;
    cj_stream *same = cj_stream_wrap(dev, (void *)2);
    tap_is_uint(cj_stream_id(same), cj_stream_id(on), "wrapped again it is the same stream");
    bench_hold(on, &l);
    tap_is_int(cj_stream_query(same), CJ_ENOTREADY, "and holds what is held");
    tap_is_int(cj_stream_query(legacy), CJ_ENOTREADY, "the legacy default stream waits for it");
    on_another_thread(wrap_and_ask, on);
    latch_open(&l);
    tap_is_int(cj_stream_sync(legacy), CJ_OK, "until it goes on");
    tap_is_int(cj_stream_sync(same), CJ_OK, "all pass");
    cj_stream_free(same);
}

/* ---- Releases on other threads ----------------------------------------------------------------------------------- */

typedef struct release { cj_dptr own, used; cj_stream *gone; cj_kernel *k; cj_graph_exec *x; size_t waiting; } release;

static void *release_all(void *arg)
{
    release *r = arg;
    cj_free(dev, r->own);
    cj_free(dev, r->used);
    cj_graph_exec_free(r->x);
    cj_stream_free(r->gone);
    r->waiting = cj_device_collect(dev);
    return NULL;
}

/* How many releases are pending when the device has nothing left to do. A release is work itself, and may be what
 * another one waits for. */
static size_t released_after_sync(void)
{
    size_t left = 1;
    for (int i = 0; left && i < 3; i++) {
        cj_device_sync(dev);
        left = cj_device_collect(dev);
    }
    return left;
}

/* Memory whose home it is, memory of another stream and a graph, all under way on a stream that is held, are released
 * by another thread; with the stream or before. */
static void released_elsewhere(cj_stream *on, bool stream_too)
{
    struct latch l = LATCH_CLOSED;
    const char *how = stream_too ? "with the stream" : "the stream stays";
    cj_stream *mine = cj_stream_wrap(dev, (void *)2), *home = cj_stream_create(dev, NULL);
    release r = { .own = cj_alloc(mine, 4096), .used = cj_alloc(home, 4096), .gone = stream_too ? mine : NULL };
    cj_stream_sync(home);
    cj_capture_begin(home, CJ_CAPTURE_THREAD);
    cj_fill32(home, r.used, 4, 1024);
    cj_graph *g = cj_capture_end(home);
    r.x = cj_graph_instantiate(g, NULL);
    cj_graph_free(g);
    tap_is_int(cj_device_collect(dev), 0, "%s: nothing waits to be released", how);
    bench_hold(mine, &l);
    cj_fill32(mine, r.own, 1, 1024);
    cj_copy(mine, r.used, r.own, 4096);
    tap_is_int(cj_graph_launch(mine, r.x), CJ_OK, "%s: work on a held stream", how);
    on_another_thread(release_all, &r);
    tap_ok(r.waiting >= 1, "%s: the graph waits, and with it the memory that it keeps: %zu releases", how, r.waiting);
    cj_dptr again = cj_alloc(home, 4096);
    cj_fill32(home, again, 2, 1024);
    tap_is_int(cj_stream_sync(home), CJ_OK, "%s: other streams go on meanwhile", how);
    latch_open(&l);
    tap_is_int(cj_stream_sync(on), CJ_OK, "%s: what was enqueued runs with its memory", how);
    if (!stream_too) tap_is_int(cj_stream_sync(mine), CJ_OK, "%s: without a failure", how);
    cj_free(dev, again);
    cj_stream_sync(home);
    tap_is_uint(released_after_sync(), 0, "%s: then all is released", how);
    if (!stream_too) cj_stream_free(mine);
    cj_stream_free(home);
}

/* A thread that leaves its stream held and ends. */
static void *leave(void *arg)
{
    release *r = ((void **)arg)[0];
    struct latch *l = ((void **)arg)[1];
    r->gone = cj_stream_wrap(dev, (void *)2);
    bench_hold(r->gone, l);
    cj_fill32(r->gone, r->used, 1, 1024);
    return NULL;
}

static void thread_ends(void)
{
    struct latch l = LATCH_CLOSED;
    cj_stream *home = cj_stream_create(dev, NULL);
    release r = { .used = cj_alloc(home, 4096) };
    void *arg[] = { &r, &l };
    cj_stream_sync(home);
    on_another_thread(leave, arg);
    tap_is_int(cj_stream_query(r.gone), CJ_ESTATE, "the stream of a thread that has ended is rejected");
    cj_free(dev, r.used);
    cj_stream_free(r.gone);
    tap_ok(cj_device_collect(dev) >= 1, "its work is waited for");
    latch_open(&l);
    tap_is_uint(released_after_sync(), 0, "and then all is released");
    cj_stream_free(home);
}

int main(void)
{
    bench_open(0);
    cj_stream *legacy = cj_stream_wrap(dev, (void *)1), *own = cj_stream_wrap(dev, (void *)2);
    tap_is_int(cj_error_of(legacy)->status, CJ_OK, "the legacy default stream is wrapped");
    tap_is_int(cj_error_of(own)->status, CJ_OK, "and the per-thread default stream");
    tap_ok(cj_stream_raw(own) == (void *)2, "whose handle is given out");
    refused_elsewhere(own);
    every_call(legacy, "legacy");
    every_call(own, "per thread");
    captured(own);
    order(legacy, own);
    released_elsewhere(own, false);
    released_elsewhere(own, true);
    thread_ends();
    tap_is_int(cj_stream_sync(own), CJ_OK, "nothing failed");
    cj_stream_free(own);
    cj_stream_free(legacy);
    return bench_close();
}
