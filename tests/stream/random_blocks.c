/* Random work with memory: see random_blocks.h. */
#include "tests/stream/random_blocks.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK_STREAMS = 16, BLOCK_LIVE = 192, BLOCK_THREADS = 32, BLOCK_EVENTS = 8 };

typedef struct owner {
    cj_dptr m;
    size_t bytes;
    uint32_t tag;
    int home;
} owner;

typedef struct blocks {
    random_blocks *r;
    cj_device *dev;
    cj_stream *s[BLOCK_STREAMS];
    cj_event *e[BLOCK_EVENTS];
    cj_kernel *own, *check;
    cj_stream *count;
    cj_dptr wrong; /* counts on the device */
    owner live[BLOCK_LIVE];
    int nlive;
    bool limited;
    uint32_t tags;
    uint64_t state;
} blocks;

/* -- Kernels ------------------------------------------------------------------------------------------------------- */

cj_ptx *random_blocks_module(void)
{
    cj_ptx *m = cj_ptx_create();
    for (int check = 0; check < 2; check++) {
        cj_fn *f = cj_ptx_kernel(m, check ? "check" : "own");
        cj_val p = cj_param_ptr(f, "p", CJ_U32), n = cj_param(f, "n", CJ_U32), tag = cj_param(f, "tag", CJ_U32);
        cj_val wrong = check ? cj_param_ptr(f, "wrong", CJ_U32) : p, i = cj_thread_id(f, CJ_X);
        cj_if(f, cj_lt(f, i, n));
            cj_val last = cj_sub(f, cj_sub(f, n, 1), i);
            for (int end = 0; end < 2; end++) {
                cj_val at = end ? last : i, want = cj_xor(f, tag, at);
                if (check) {
                    cj_if(f, cj_ne(f, cj_get(f, p, at), want));
                        cj_atomic_add(f, cj_at(f, wrong, 0), 1);
                    cj_end(f);
                } else {
                    cj_set(f, p, at, want);
                }
            }
        cj_end(f);
    }
    return m;
}

/* -- Choices ------------------------------------------------------------------------------------------------------- */

static uint32_t blocks_random(blocks *b, uint32_t below)
{
    b->state = b->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((b->state >> 33) % below);
}

/* Log-uniform, a multiple of a word. */
static size_t blocks_size(blocks *b)
{
    const size_t size = (size_t)64 << blocks_random(b, 12);
    return (size + blocks_random(b, (uint32_t)size)) / 4 * 4;
}

static void blocks_fail(blocks *b, const char *what, const void *obj)
{
    if (b->r->why[0]) return;
    snprintf(b->r->why, sizeof b->r->why, "operation %llu: %s: %.400s", (unsigned long long)b->r->done, what,
             obj ? cj_error_of(obj)->message : cj_error_last()->message);
}

/* -- Operations ---------------------------------------------------------------------------------------------------- */

static void launch_on(blocks *b, int stream, cj_kernel *k, const owner *o)
{
    const uint32_t n = (uint32_t)(o->bytes / 4);
    cj_stream *s = b->s[stream];
    const cj_status st = k == b->own ? cj_launch(s, k, cj_grid(1, BLOCK_THREADS), o->m, n, o->tag)
                                     : cj_launch(s, k, cj_grid(1, BLOCK_THREADS), o->m, n, o->tag, b->wrong);
    if (st != CJ_OK) blocks_fail(b, "a launch", s);
}

static void op_alloc(blocks *b)
{
    owner o = { .bytes = blocks_size(b), .tag = ++b->tags * 2654435761u, .home = (int)blocks_random(b, BLOCK_STREAMS) };
    if (b->nlive == BLOCK_LIVE) return;
    o.m = cj_alloc(b->s[o.home], o.bytes);
    if (!o.m.addr) { /* max_total is reached, or else */
        if (cj_stream_sync(b->s[o.home]) != CJ_ENOMEM || !b->limited) blocks_fail(b, "an allocation", NULL);
        b->r->rejected++;
        return;
    }
    for (int i = 0; i < b->nlive; i++) {
        const owner *other = &b->live[i];
        if (o.m.addr < other->m.addr + other->bytes && other->m.addr < o.m.addr + o.bytes)
            blocks_fail(b, "memory has two owners", NULL);
    }
    b->live[b->nlive++] = o;
    launch_on(b, o.home, b->own, &o);
}

static void op_free(blocks *b)
{
    if (!b->nlive) return;
    const int i = (int)blocks_random(b, (uint32_t)b->nlive);
    const owner o = b->live[i];
    b->live[i] = b->live[--b->nlive];
    launch_on(b, o.home, b->check, &o);
    if (cj_free(b->dev, o.m) != CJ_OK) blocks_fail(b, "a free", b->dev);
}

/* Another stream verifies the tag, behind the home stream, and its use is declared, or marked by an event. */
static void op_use(blocks *b)
{
    if (!b->nlive) return;
    const owner *o = &b->live[blocks_random(b, (uint32_t)b->nlive)];
    const int other = (int)blocks_random(b, BLOCK_STREAMS);
    cj_stream *s = b->s[other];
    if (cj_stream_fork(b->s[o->home], s) != CJ_OK) blocks_fail(b, "a fork", s);
    launch_on(b, other, b->check, o);
    if (blocks_random(b, 4)) {
        if (cj_stream_use(s, o->m) != CJ_OK) blocks_fail(b, "a use", s);
        return;
    }
    cj_event *e = b->e[blocks_random(b, BLOCK_EVENTS)];
    if (cj_event_record(e, s) != CJ_OK || cj_event_use(e, o->m) != CJ_OK) blocks_fail(b, "a use by an event", e);
}

static void op_sync(blocks *b)
{
    cj_stream *s = b->s[blocks_random(b, BLOCK_STREAMS)];
    if (cj_stream_sync(s) != CJ_OK) blocks_fail(b, "a wait", s);
}

/* A stream is replaced; memory whose home it was is freed later, or with it. */
static void op_replace(blocks *b)
{
    const int i = (int)blocks_random(b, BLOCK_STREAMS);
    for (int j = b->nlive; j-- > 0;) {
        const owner o = b->live[j];
        if (o.home != i) continue;
        launch_on(b, i, b->check, &o);
        b->live[j] = b->live[--b->nlive];
    }
    cj_stream_free_all(b->s[i]);
    cj_stream_free(b->s[i]);
    b->s[i] = cj_stream_create(b->dev, NULL);
    if (cj_error_of(b->s[i])->status) blocks_fail(b, "a stream", b->s[i]);
}

/* Limits change, so that streams wait for each other's blocks, and chunks come and go. */
static void op_limits(blocks *b)
{
    static const uint64_t cached[] = { 0, 0, 1, 4 << 20 }, total[] = { 0, 4 << 20, 6 << 20, 8 << 20 };
    cj_allocator_opts o;
    cj_allocator_defaults(&o);
    o.chunk_bytes = 2 << 20;
    o.max_cached = cached[blocks_random(b, 4)];
    o.max_total = total[blocks_random(b, 4)];
    b->limited = o.max_total != 0;
    if (cj_device_set_allocator(b->dev, &o) != CJ_OK) blocks_fail(b, "limits", b->dev);
    if (!blocks_random(b, 4)) cj_device_trim(b->dev, 0);
}

static void blocks_step(blocks *b)
{
    const uint32_t what = blocks_random(b, 1000);
    if (what < 420) op_alloc(b);
    else if (what < 830) op_free(b);
    else if (what < 960) op_use(b);
    else if (what < 990) op_sync(b);
    else if (what < 995) op_replace(b);
    else op_limits(b);
    b->r->done++;
}

/* -- The program --------------------------------------------------------------------------------------------------- */

static bool blocks_make(blocks *b)
{
    cj_ptx *m = random_blocks_module();
    b->own = cj_kernel_load(b->dev, m, "own", NULL);
    b->check = cj_kernel_load(b->dev, m, "check", NULL);
    cj_ptx_free(m);
    for (int i = 0; i < BLOCK_STREAMS; i++) b->s[i] = cj_stream_create(b->dev, NULL);
    for (int i = 0; i < BLOCK_EVENTS; i++) b->e[i] = cj_event_create(b->dev, NULL);
    if (cj_error_of(b->own)->status || cj_error_of(b->check)->status) blocks_fail(b, "the kernels", b->check);
    op_limits(b);
    b->count = cj_stream_create(b->dev, NULL);
    b->wrong = cj_ipc_alloc(b->count, 4);
    cj_fill32(b->count, b->wrong, 0, 1);
    if (cj_stream_sync(b->count) != CJ_OK) blocks_fail(b, "the count", b->count);
    return !b->r->why[0];
}

static void blocks_end(blocks *b)
{
    uint32_t wrong = 0;
    while (b->nlive) op_free(b);
    for (int i = 0; i < BLOCK_STREAMS; i++)
        if (cj_stream_sync(b->s[i]) != CJ_OK) blocks_fail(b, "the last wait", b->s[i]);
    cj_copy_to_host(b->count, &wrong, b->wrong, sizeof wrong);
    if (cj_stream_sync(b->count) != CJ_OK) blocks_fail(b, "the count", b->count);
    b->r->wrong = wrong;
    cj_free(b->dev, b->wrong);
    cj_device_collect(b->dev);
    cj_alloc_counts_defaults(&b->r->counts);
    cj_device_get_alloc_counts(b->dev, &b->r->counts);
    for (int i = 0; i < BLOCK_STREAMS; i++) cj_stream_free(b->s[i]);
    for (int i = 0; i < BLOCK_EVENTS; i++) cj_event_free(b->e[i]);
    cj_stream_free(b->count);
    cj_kernel_free(b->own);
    cj_kernel_free(b->check);
}

bool random_blocks_run(cj_device *dev, random_blocks *r)
{
    static blocks b;
    b = (blocks){ .r = r, .dev = dev, .state = r->seed * 2 + 1 };
    r->done = r->wrong = 0;
    r->why[0] = 0;
    if (blocks_make(&b))
        while (r->done < r->operations && !r->why[0] && !(r->stop && *r->stop)) blocks_step(&b);
    blocks_end(&b);
    return !r->why[0] && !r->wrong;
}
