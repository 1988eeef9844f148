/* The activities (activities.h).  None waits for anything but its own work, so each ends by itself. */
#include "tests/stream/activities.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "tests/device_parts.h"

enum { WORDS = 200 };

/* -- What was right ------------------------------------------------------------------------------------------------ */

/* The failure of an object, or nothing. */
static bool act_good(const void *obj, char *why)
{
    const cj_error *e = cj_error_of(obj);
    if (e->status != CJ_OK) snprintf(why, ACTIVITY_WHY, "%.500s", e->message);
    return e->status == CJ_OK;
}

static bool act_is(uint64_t got, uint64_t want, const char *what, char *why)
{
    if (got != want)
        snprintf(why, ACTIVITY_WHY, "%s is %llu, not %llu", what, (unsigned long long)got, (unsigned long long)want);
    return got == want;
}

/* A stream's work is done, without a failure. */
static bool act_done(cj_stream *s, char *why)
{
    if (cj_stream_sync(s) == CJ_OK) return true;
    return act_good(s, why), false;
}

/* What is computed where there is something to compute: `words` of them at `d` are `want`. */
static bool act_holds(cj_stream *s, cj_dptr d, uint32_t want, char *why)
{
    uint32_t got[WORDS] = { 0 };
    cj_copy_to_host(s, got, d, sizeof got);
    if (!act_done(s, why)) return false;
    for (size_t i = 0; i < WORDS; i++)
        if (!act_is(got[i], want, "a word", why)) return false;
    return true;
}

/* -- Streams, events, memory --------------------------------------------------------------------------------------- */

static bool run_memory(const activity_bench *b, uint32_t mine, char *why)
{
    cj_stream *s = cj_stream_create(b->dev, NULL), *t = cj_stream_create(b->dev, NULL);
    cj_dptr d = cj_alloc(s, 4 * WORDS), e = cj_alloc(t, 4 * WORDS);
    cj_fill32(s, d, mine, WORDS);
    cj_launch(s, b->add, cj_threads(WORDS, 64), d, WORDS, 1);
    cj_stream_join(t, s);
    cj_copy(t, e, d, 4 * WORDS);
    cj_stream_use(t, d);
    cj_free(b->dev, d);
    bool right = act_holds(t, e, mine + 1, why);
    cj_free(b->dev, e);
    cj_stream_free(s);
    cj_stream_free(t);
    return right;
}

static bool run_streams(const activity_bench *b, uint32_t mine, char *why)
{
    cj_stream *s = cj_stream_create(b->dev, CJ_STREAM(.priority = CJ_PRIORITY_HIGH)),
              *t = cj_stream_create(b->dev, NULL);
    cj_stream *w = cj_stream_wrap(b->dev, cj_stream_raw(t));
    cj_dptr d = cj_alloc(s, 4 * WORDS);
    cj_stream_counts counts = { .size = sizeof counts };
    cj_fill32(s, d, mine, WORDS);
    cj_stream_fork(s, w);
    cj_fill32(w, d, mine + 2, WORDS);
    cj_stream_join(s, w);
    cj_status asked = cj_stream_query(s);
    bool right = (asked == CJ_OK || asked == CJ_ENOTREADY || act_good(s, why)) &&
                 cj_stream_sync_for(t, 20000) == CJ_OK && cj_stream_query(t) == CJ_OK;
    if (!right) act_good(t, why);
    if (right) right = act_holds(s, d, mine + 2, why);
    cj_stream_get_counts(s, &counts);
    if (right) right = act_is(counts.bytes_to_host, 4 * WORDS, "the count of bytes", why);
    cj_free(b->dev, d);
    cj_stream_free(w);
    cj_stream_free(t);
    cj_stream_free(s);
    return right;
}

static bool run_events(const activity_bench *b, uint32_t mine, char *why)
{
    cj_stream *s = cj_stream_create(b->dev, NULL), *t = cj_stream_create(b->dev, NULL);
    cj_event *e = cj_event_create(b->dev, CJ_EVENT(.timing = 1)),
             *f = cj_event_create(b->dev, CJ_EVENT(.timing = 1, .blocking = 1));
    cj_dptr d = cj_alloc(s, 4 * WORDS);
    float ms = -1;
    cj_event_record(e, s);
    cj_fill32(s, d, mine, WORDS);
    cj_event_record(f, s);
    cj_stream_wait(t, f);
    cj_launch(t, b->add, cj_threads(WORDS, 64), d, WORDS, 3);
    cj_status asked = cj_event_query(f);
    bool right = (asked == CJ_OK || asked == CJ_ENOTREADY) && cj_event_sync(f) == CJ_OK &&
                 cj_event_sync_for(e, 20000) == CJ_OK && cj_event_elapsed(e, f, &ms) == CJ_OK && ms >= 0;
    if (!right) act_good(act_good(f, why) ? e : f, why);
    cj_event_record(f, b->s);
    if (right) right = act_holds(t, d, mine + 3, why);
    cj_event_free(e);
    cj_event_free(f);
    cj_free(b->dev, d);
    cj_stream_free(s);
    cj_stream_free(t);
    return right;
}

static bool run_managed(const activity_bench *b, uint32_t mine, char *why)
{
    cj_device_info info = { .size = sizeof info };
    cj_device_get_info(b->dev, &info);
    if (!info.managed_memory) return true;
    cj_stream *s = cj_stream_create(b->dev, NULL);
    cj_dptr d = cj_managed_alloc(s, 4 * WORDS);
    cj_status moves = cj_managed_advise(b->dev, d, 4 * WORDS, CJ_ADVICE_PREFER_DEVICE);
    if (moves == CJ_OK) {
        cj_prefetch_to_device(s, d, 4 * WORDS);
        cj_managed_unadvise(b->dev, d, 4 * WORDS, CJ_ADVICE_PREFER_DEVICE);
    }
    cj_fill32(s, d, mine, WORDS);
    if (moves == CJ_OK) cj_prefetch_to_host(s, d, 4 * WORDS);
    bool right = (moves == CJ_OK || moves == CJ_ENOTSUP || act_good(b->dev, why)) && act_done(s, why);
    if (right) right = act_holds(s, d, mine, why);
    cj_free(b->dev, d);
    cj_stream_free(s);
    return right;
}

static bool run_pinned(const activity_bench *b, uint32_t mine, char *why)
{
    cj_stream *s = cj_stream_create(b->dev, NULL);
    uint32_t *h = cj_host_alloc(b->dev, 8 * WORDS, NULL);
    cj_dptr d = cj_alloc(s, 4 * WORDS);
    if (!h) return act_good(b->dev, why), cj_free(b->dev, d), cj_stream_free(s), false;
    for (uint32_t i = 0; i < WORDS; i++) h[i] = mine + i, h[WORDS + i] = 0;
    cj_copy_to_device(s, d, h, 4 * WORDS);
    cj_copy_to_host(s, h + WORDS, d, 4 * WORDS);
    bool right = act_done(s, why) && act_is(h[2 * WORDS - 1], mine + WORDS - 1, "the last word", why);
    cj_free(b->dev, d);
    if (cj_host_free(b->dev, h) != CJ_OK && right) right = act_good(b->dev, why);
    cj_stream_free(s);
    return right;
}

/* Pageable copies of each class of staging memory; the largest is freed when the device is collected. */
static bool run_pageable(const activity_bench *b, uint32_t mine, char *why)
{
    static const size_t sizes[] = { 100, 5000, 70000 };
    static const char zeros[70000];
    static _Thread_local char in[70000], out[70000];
    cj_stream *s = cj_stream_create(b->dev, NULL);
    bool right = true;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && right; i++) {
        cj_dptr d = cj_alloc(s, sizes[i]);
        memset(in, (int)(mine + i) & 127, sizes[i]);
        memcpy(out, zeros, sizes[i]);
        cj_copy_to_device(s, d, in, sizes[i]);
        memcpy(in, zeros, sizes[i]);
        cj_copy_to_host(s, out, d, sizes[i]);
        cj_free(b->dev, d);
        right = act_done(s, why) && act_is((uint64_t)out[sizes[i] - 1], (mine + i) & 127, "the last byte", why);
    }
    cj_device_collect(b->dev);
    cj_stream_free(s);
    return right;
}

static bool run_boxes(const activity_bench *b, uint32_t mine, char *why)
{
    uint8_t in[8][16], out[8][16] = { { 0 } };
    memset(in, (int)(mine & 127), sizeof in);
    cj_stream *s = cj_stream_create(b->dev, NULL);
    cj_dptr d = cj_alloc(s, 8 * 32), e = cj_alloc(s, 8 * 32);
    cj_copy_2d_to_device(s, d, 32, in, 16, 10, 8);
    cj_copy_2d(s, e, 16, d, 32, 10, 8);
    cj_copy_3d(s,
               CJ_COPY_3D(.width = 10, .height = 4, .depth = 2, .dst = d, .dst_pitch = 16, .src = e, .src_pitch = 16));
    cj_copy_2d_to_host(s, out, 16, d, 16, 10, 8);
    bool right = act_done(s, why) && act_is(out[7][9], mine & 127, "the last byte", why) &&
                 act_is(out[7][10], 0, "a byte beside the box", why);
    const cj_copy_item items[] = { { .dst = d, .src_host = in, .bytes = 16 },
                                   { .dst = e, .src = d, .bytes = 16 },
                                   { .dst_host = out, .src = e, .bytes = 16 } };
    cj_copy_batch(s, items, 3);
    if (right) right = act_done(s, why) && act_is(out[0][15], mine & 127, "a byte of the batch", why);
    cj_free(b->dev, d);
    cj_free(b->dev, e);
    cj_stream_free(s);
    return right;
}

/* -- Order, callbacks ---------------------------------------------------------------------------------------------- */

static bool run_hub(const activity_bench *b, uint32_t mine, char *why)
{
    cj_stream_barrier *h = cj_stream_barrier_create(b->dev);
    cj_stream *const two[] = { cj_stream_create(b->dev, NULL), cj_stream_create(b->dev, NULL) };
    cj_stream_barrier_time took = { .size = sizeof took };
    cj_dptr d = cj_alloc(two[0], 4 * WORDS);
    cj_fill32(two[0], d, mine, WORDS);
    cj_stream_barrier_enqueue(h, two, 2);
    cj_launch(two[1], b->add, cj_threads(WORDS, 64), d, WORDS, 4);
    bool right = cj_stream_barrier_sync_for(h, two, 2, 20000) == CJ_OK &&
                 cj_stream_barrier_elapsed(h, &took) == CJ_OK &&
                 act_is((uint64_t)took.clock, CJ_STREAM_BARRIER_CLOCK_HOST, "the clock", why);
    if (!right) act_good(h, why);
    if (right) right = act_holds(two[1], d, mine + 4, why);
    cj_stream_barrier_enqueue(h, two, 2);
    cj_free(b->dev, d);
    cj_stream_free(two[0]);
    cj_stream_free(two[1]);
    if (right) right = act_good(h, why);
    cj_stream_barrier_free(h);
    return right;
}

static void count_status(void *user, cj_status st) { if (st == CJ_OK) atomic_fetch_add((atomic_uint *)user, 1); }
static void count_call(void *user) { atomic_fetch_add((atomic_uint *)user, 1); }

static bool run_callbacks(const activity_bench *b, uint32_t mine, char *why)
{
    atomic_uint calls = 0;
    cj_stream *s = cj_stream_create(b->dev, NULL);
    cj_event *e = cj_event_create(b->dev, NULL);
    (void)mine;
    cj_host_func(s, count_call, &calls);
    cj_stream_callback(s, count_status, &calls);
    cj_event_record(e, s);
    while (cj_event_query(e) == CJ_ENOTREADY) {}
    bool right = act_good(e, why) && act_done(s, why) && act_is(atomic_load(&calls), 2, "the count of calls", why);
    cj_event_free(e);
    cj_stream_free(s);
    return right;
}

static bool run_values(const activity_bench *b, uint32_t mine, char *why)
{
    cj_stream *s = cj_stream_create(b->dev, NULL), *t = cj_stream_create(b->dev, NULL);
    volatile uint32_t *h = cj_host_alloc(b->dev, 64, NULL);
    if (!h) return act_good(b->dev, why), cj_stream_free(s), cj_stream_free(t), false;
    const cj_dptr word = { (uint64_t)(uintptr_t)h };
    *h = 0;
    cj_status st = cj_stream_write_value32(s, word, mine | 1);
    if (st == CJ_OK) st = cj_stream_wait_value32(t, word, mine | 1, CJ_COMPARE_EQ);
    bool right = st == CJ_OK ? act_done(s, why) && act_done(t, why) && act_is(*h, mine | 1, "the word", why)
                             : st == CJ_ENOTSUP || act_good(s, why);
    const cj_mem_op ops[2] = {
        { .kind = CJ_MEM_OP_WRITE64, .d = cj_offset(word, 8), .value = mine },
        { .kind = CJ_MEM_OP_WAIT64, .how = CJ_COMPARE_GE, .d = cj_offset(word, 8), .value = mine }
    };
    if (right && st == CJ_OK) {
        cj_graph *g = cj_graph_create(b->dev);
        cj_node *n = cj_graph_mem_ops(g, NULL, ops, 2);
        cj_graph_exec *x = cj_graph_instantiate(g, NULL);
        cj_stream_mem_ops(t, ops, 2);
        cj_stream_join(s, t);
        cj_graph_launch(s, x);
        right = act_good(n, why) && act_good(x, why) && act_done(s, why) && act_done(t, why) &&
                act_is(h[2], mine, "the other word", why);
        cj_graph_exec_free(x);
        cj_graph_free(g);
    }
    cj_host_free(b->dev, (void *)(uintptr_t)h);
    cj_stream_free(s);
    cj_stream_free(t);
    return right;
}

/* -- Code ---------------------------------------------------------------------------------------------------------- */

static bool run_compile(const activity_bench *b, uint32_t mine, char *why)
{
    cj_ptx *m = bench_add_module();
    cj_stream *s = cj_stream_create(b->dev, NULL);
    cj_kernel *k = cj_kernel_load(b->dev, m, "add", NULL);
    cj_dptr d = cj_alloc(s, 4 * WORDS);
    cj_fill32(s, d, mine, WORDS);
    cj_launch(s, k, cj_threads(WORDS, 64), d, WORDS, 5);
    cj_kernel_free(k);
    bool right = act_holds(s, d, mine + 5, why);
    cj_free(b->dev, d);
    cj_stream_free(s);
    cj_ptx_free(m);
    return right;
}

static bool run_modules(const activity_bench *b, uint32_t mine, char *why)
{
    static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .u32 word[4];\n"
                               ".visible .entry k(.param .u32 n)\n{\n ret;\n}\n";
    size_t bytes = 0;
    cj_stream *s = cj_stream_create(b->dev, NULL);
    cj_image *img = cj_image_create_text(b->dev, text, NULL);
    cj_module *mod = cj_module_load_image(b->dev, img), *same = cj_module_load_text(b->dev, text, NULL),
              *kept = cj_module_load_image(b->dev, b->image);
    cj_kernel *k = cj_module_kernel(kept, "add");
    cj_dptr var = cj_module_var(mod, "word", &bytes), d = cj_alloc(s, 4 * WORDS);
    cj_fill32(s, var, mine, bytes / 4);
    cj_fill32(s, d, mine, WORDS);
    cj_launch(s, k, cj_dims_shared(cj_grid(WORDS / 50, 50), 50000), d, WORDS, 6);
    bool right = act_good(img, why) && act_good(mod, why) && act_good(same, why) && act_good(k, why) &&
                 act_is(bytes, 16, "the size of the variable", why);
    if (right) right = act_holds(s, d, mine + 6, why);
    cj_kernel_free(k);
    cj_module_free(kept);
    cj_module_free(same);
    cj_module_free(mod);
    cj_image_free(img);
    cj_free(b->dev, d);
    cj_stream_free(s);
    return right;
}

/* -- Graphs -------------------------------------------------------------------------------------------------------- */

static void keep_count(void *user) { atomic_fetch_sub((atomic_uint *)user, 1); }

static bool run_graphs(const activity_bench *b, uint32_t mine, char *why)
{
    static atomic_uint kept;
    uint32_t host = 0;
    cj_stream *s = cj_stream_create(b->dev, NULL);
    cj_dptr d = cj_alloc(s, 4 * WORDS);
    cj_graph *g = cj_graph_create(b->dev);
    cj_node *fill = cj_graph_fill32(g, NULL, d, mine, WORDS),
            *k = cj_graph_kernel(g, CJ_NODES(fill), b->add, cj_threads(WORDS, 64), d, WORDS, 7);
    cj_graph_copy_to_host(g, CJ_NODES(k), &host, d, 4);
    atomic_fetch_add(&kept, 1);
    if (cj_graph_on_release(g, keep_count, &kept) != CJ_OK) atomic_fetch_sub(&kept, 1);
    cj_graph *c = cj_graph_clone(g), *outer = cj_graph_create(b->dev);
    cj_graph_child(outer, NULL, c);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL), *y = cj_graph_instantiate(outer, NULL);
    cj_graph_info info = { .size = sizeof info };
    cj_graph_get_info(outer, &info);
    cj_graph_upload(s, x);
    cj_graph_launch(s, y);
    cj_graph_exec_set_args(x, k, d, WORDS, 8);
    cj_graph_launch(s, x);
    cj_graph_exec_enable(x, k, 0);
    cj_graph_launch(s, x);
    cj_graph_exec_enable(x, k, 1);
    cj_graph_exec_update(x, c);
    cj_graph_launch(s, x);
    bool right = strlen(cj_graph_dot(outer)) > 100 && act_is(info.all, 4, "the count of nodes", why) &&
                 act_good(x, why) && act_good(y, why);
    cj_graph_free(g);
    cj_graph_free(c);
    cj_graph_free(outer);
    if (right) right = act_done(s, why) && act_is(host, mine + 7, "the word copied by the graph", why);
    cj_graph_exec_free(x);
    cj_graph_exec_free(y);
    cj_free(b->dev, d);
    cj_stream_free(s);
    return right;
}

static bool run_capture(const activity_bench *b, uint32_t mine, char *why)
{
    uint32_t host[WORDS] = { 0 };
    cj_stream *s = cj_stream_create(b->dev, NULL), *t = cj_stream_create(b->dev, NULL);
    cj_dptr d = cj_alloc(s, 4 * WORDS), e = cj_alloc(t, 64);
    cj_capture_begin_opts(s, CJ_CAPTURE(.mode = (int32_t)(mine % 3), .join = 1));
    cj_fill32(s, d, mine, WORDS);
    cj_stream_fork(s, t);
    cj_fill32(t, e, mine, 16);
    cj_dptr beside = cj_alloc(b->s, 64);
    cj_launch(s, b->add, cj_threads(WORDS, 64), d, WORDS, 9);
    cj_free(b->dev, beside);
    cj_copy_to_host(s, host, d, sizeof host);
    cj_graph *g = cj_capture_end(s);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_launch(s, x);
    cj_graph_exec_free(x);
    cj_graph_free(g);
    bool right = act_done(s, why) && act_is(host[WORDS - 1], mine + 9, "the last word", why);
    cj_free(b->dev, d);
    cj_free(b->dev, e);
    cj_stream_free(s);
    cj_stream_free(t);
    return right;
}

static bool run_cache(const activity_bench *b, uint32_t mine, char *why)
{
    cj_stream *s = cj_stream_create(b->dev, NULL);
    cj_dptr d = cj_alloc(s, 4 * WORDS);
    cj_graph_exec_cache *c = cj_graph_exec_cache_create(b->dev, CJ_GRAPH_EXEC_CACHE(.execs = 2));
    cj_graph_exec_cache_info info = { .size = sizeof info };
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t key = i % 4;
        if (cj_graph_exec_cache_launch(c, &key, sizeof key, s) != CJ_ENOTFOUND) continue;
        cj_graph *g = cj_graph_create(b->dev);
        cj_node *fill = cj_graph_fill32(g, NULL, d, mine + key, WORDS);
        if (key % 2) cj_graph_fill32(g, CJ_NODES(fill), d, mine + key, WORDS);
        cj_graph_exec_cache_put(c, &key, sizeof key, g, s);
        cj_graph_free(g);
    }
    cj_graph_exec_cache_get_info(c, &info);
    bool right =
        act_good(c, why) && act_is(info.builds + info.updates + info.launches, 6, "the count of launches", why);
    if (right) right = act_holds(s, d, mine + 1, why);
    cj_graph_exec_cache_free(c);
    cj_free(b->dev, d);
    cj_stream_free(s);
    return right;
}

/* -- Devices ------------------------------------------------------------------------------------------------------- */

static bool run_devices(const activity_bench *b, uint32_t mine, char *why)
{
    size_t room = 0, total = 0;
    int value = 0;
    cj_device *same = cj_device_open(b->drv, 0, NULL);
    cj_stream *s = cj_stream_create(same, NULL);
    cj_dptr d = cj_alloc(s, 4 * WORDS);
    bool right = cj_device_memory(same, &room, &total) == CJ_OK && cj_device_attribute(same, 16, &value) == CJ_OK &&
                 room <= total && value > 0;
    if (!right) act_good(same, why);
    cj_fill32(s, d, mine, WORDS);
    cj_device_close(same);
    if (right) right = act_holds(s, d, mine, why);
    cj_free(cj_stream_device(s), d);
    cj_device_collect(b->dev);
    cj_stream_free(s);
    return right;
}

/* The second device is opened and closed, and its memory used from the first. */
static bool run_peers(const activity_bench *b, uint32_t mine, char *why)
{
    if (!b->other) return true;
    cj_device *two = cj_device_open(b->drv, 1, NULL);
    cj_stream *s = cj_stream_create(b->dev, NULL), *t = cj_stream_create(two, NULL);
    cj_dptr d = cj_alloc(s, 4 * WORDS), e = cj_alloc(t, 4 * WORDS);
    cj_event *ready = cj_event_create(two, NULL);
    if (cj_device_can_access_peer(b->dev, two)) cj_device_enable_peer(b->dev, two);
    cj_fill32(t, e, mine, WORDS);
    cj_event_record(ready, t);
    cj_stream_wait(s, ready);
    cj_copy_peer(s, b->dev, d, two, e, 4 * WORDS);
    cj_free(two, e);
    bool right = act_holds(s, d, mine, why) && act_done(t, why);
    cj_event_free(ready);
    cj_free(b->dev, d);
    cj_stream_free(s);
    cj_stream_free(t);
    cj_device_collect(two);
    cj_device_close(two);
    return right;
}

const activity activities[] = {
    { "memory", run_memory },        { "streams", run_streams },
    { "events", run_events },        { "managed memory", run_managed },
    { "pinned memory", run_pinned }, { "pageable copies", run_pageable },
    { "boxes", run_boxes },          { "a meeting", run_hub },
    { "callbacks", run_callbacks },  { "values", run_values },
    { "a compiler", run_compile },   { "modules", run_modules },
    { "graphs", run_graphs },        { "a capture", run_capture },
    { "an exec cache", run_cache },  { "devices", run_devices },
    { "a peer", run_peers },
};
const size_t activity_count = sizeof activities / sizeof *activities;
