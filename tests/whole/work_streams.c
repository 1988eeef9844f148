/* Streams, events, memory, copies of all kinds, words, callbacks, a barrier. */
#include "tests/whole/work.h"

enum { N = 64 };
static cj_device *dev;
static cj_stream *s, *t;
static cj_dptr d, e;
static uint64_t sum;

static void count_call(void *user) { ++*(int *)user; }
static void count_done(void *user, cj_status st) { *(int *)user += st == CJ_OK; }

static void copies(void)
{
    static uint32_t in[N], out[N], rows[4][6];
    for (uint32_t i = 0; i < N; i++) in[i] = i;
    work_did(cj_copy_to_device(s, d, in, sizeof in));
    work_did(cj_fill64(s, cj_offset(e, 16), UINT64_C(0x400000005), 2));
    work_did(cj_fill_2d(s, cj_offset(e, 33), 8, 1, 6, 4, 3));
    work_did(cj_copy(s, e, d, sizeof in));
    work_did(cj_fill8(s, e, 1, 4));
    work_did(cj_fill16(s, cj_offset(e, 4), 2, 2));
    work_did(cj_fill32(s, cj_offset(e, 8), 3, 1));
    cj_mem_info info;
    cj_mem_info_defaults(&info);
    if (work_did(cj_mem_get_info(dev, cj_offset(e, 8), &info)))
        sum += info.kind == CJ_MEM_KIND_POOL && info.base.addr == e.addr && info.home == s;
    work_did(cj_copy_to_host(s, out, e, sizeof out));
    work_did(cj_copy_2d(s, d, 32, e, 16, 16, 4));
    work_did(cj_copy_2d_to_host(s, rows, 24, d, 32, 16, 4));
    work_waited(s); /* a pageable source is read at the call */
    work_did(cj_copy_2d_to_device(s, e, 16, rows, 24, 16, 4));
    cj_copy_3d_params box, rest = { 0 };
    cj_copy_3d_params_defaults(&box);
    box.width = 8, box.height = 2, box.depth = 2, box.dst = d, box.src = e, box.src_pitch = 16;
    work_did(cj_copy_3d(s, &box));
    rest = *CJ_COPY_3D(.width = 8, .height = 2, .depth = 2, .dst = d, .dst_pitch = 16, .src_host = in, .src_pitch = 12);
    work_did(cj_copy_3d(s, &rest));
    const cj_copy_item items[] = { { .dst = e, .src = d, .bytes = 32 },
                                   { .dst = d, .src_host = in, .bytes = 16 },
                                   { .dst_host = in, .src = e, .bytes = 32 } };
    work_did(cj_copy_batch(s, items, 3));
    if (work_waited(s)) sum += out[0] + out[1] + out[2] + out[63] + rows[3][3] + in[6];
}

static void pinned(void)
{
    uint32_t *h = cj_host_alloc(dev, 4 * N, NULL);
    if (!h) return (void)work_made(dev);
    memset(h, 0, 4 * N);
    const cj_dptr word = { (uint64_t)(uintptr_t)h }, wide = { (uint64_t)(uintptr_t)(h + 2) };
    work_did(cj_stream_write_value32(s, word, 5));
    work_did(cj_stream_write_value64(s, wide, 6));
    bool went = work_waited(s);
    if (went) { /* a word that was not written would hold the stream for good */
        work_did(cj_stream_wait_value32(t, word, 5, CJ_COMPARE_GE));
        work_did(cj_stream_wait_value64(t, wide, 6, CJ_COMPARE_EQ));
    }
    work_did(cj_copy_to_device(t, d, h, 4 * N));
    work_did(cj_copy_to_host(t, h + N / 2, d, 4 * N / 2));
    if (work_waited(t) && went) sum += h[N / 2] + h[N / 2 + 2];
    work_did(cj_host_free(dev, h));
}

static void managed(void)
{
    cj_dptr m = cj_managed_alloc(s, 4 * N);
    if (!m.addr) return (void)work_made(s);
    work_may(cj_managed_advise(dev, m, 4 * N, CJ_ADVICE_READ_MOSTLY));
    work_may(cj_prefetch_to_device(s, m, 4 * N));
    work_did(cj_fill32(s, m, 7, N));
    work_may(cj_prefetch_to_host(s, m, 4 * N));
    work_may(cj_managed_unadvise(dev, m, 4 * N, CJ_ADVICE_READ_MOSTLY));
    if (work_waited(s)) sum += ((uint32_t *)cj_managed_host(m))[N - 1];
    work_did(cj_free(dev, m));
}

/* The allocator: blocks used by two streams, known by an event, reused, counted, trimmed. */
static void reused(void)
{
    cj_allocator_opts opts;
    cj_alloc_counts of_device, of_stream;
    char text[256];
    cj_dptr m[4];
    cj_event *used = cj_event_create(dev, NULL);
    work_made(used);
    cj_allocator_defaults(&opts);
    opts.chunk_bytes = 2 << 20;
    work_did(cj_device_set_allocator(dev, &opts));
    for (int i = 0; i < 4; i++) m[i] = cj_alloc(i < 2 ? s : t, 4 * N + 700 * (size_t)i);
    work_did(cj_stream_fork(s, t));
    work_did(cj_fill32(t, m[0], 5, N));
    work_did(cj_fill32(t, m[1], 6, N));
    work_did(cj_event_record(used, t));
    work_did(cj_event_use(used, m[1]));
    if (cj_stream_uses(t, m[0])) sum += 1;
    const cj_status now = cj_mem_query(dev, m[0]);
    if (now != CJ_ENOTREADY) work_did(now);
    if (work_waited(t)) work_did(cj_mem_forget(dev, m[0]));
    for (int i = 0; i < 2; i++) work_did(cj_free(dev, m[i]));
    m[0] = cj_alloc(t, 4 * N);
    work_did(cj_fill32(t, m[0], 7, N));
    work_waited(t);
    cj_alloc_counts_defaults(&of_device);
    cj_alloc_counts_defaults(&of_stream);
    if (work_did(cj_device_get_alloc_counts(dev, &of_device))) sum += of_device.allocs > of_device.frees;
    if (work_did(cj_stream_get_alloc_counts(t, &of_stream))) sum += of_stream.live;
    if (!cj_device_alloc_report(dev, text, sizeof text)) work_did(cj_error_last()->status);
    sum += cj_stream_free_all(t);
    work_waited(s);
    cj_device_trim(dev, 0);
    work_did(cj_device_set_allocator(dev, NULL));
    cj_event_free(used);
}

static void exported(void)
{
    unsigned char handle[CJ_IPC_MEM_BYTES];
    const cj_dptr m = cj_ipc_alloc(s, 4 * N);
    work_did(cj_fill32(s, m, 1, N));
    if (m.addr) work_did(cj_ipc_export(dev, m, handle, sizeof handle));
    work_did(cj_free(dev, m));
}

static void events(void)
{
    float ms = -1;
    char handle[CJ_IPC_EVENT_BYTES];
    cj_event *a = cj_event_create(dev, CJ_EVENT(.timing = 1)),
             *b = cj_event_create(dev, CJ_EVENT(.timing = 1, .blocking = 1)),
             *c = cj_event_create(dev, CJ_EVENT(.ipc = 1));
    work_made(a), work_made(b), work_made(c);
    if (cj_event_raw(a)) {
        cj_event *same = cj_event_wrap(dev, cj_event_raw(a));
        if (work_made(same)) work_did(cj_event_record(same, s));
        cj_event_free(same);
    }
    work_did(cj_event_record(a, s));
    work_did(cj_stream_fork(s, t));
    work_did(cj_fill32(t, d, 8, N));
    work_did(cj_stream_join(s, t));
    work_did(cj_event_record(b, s));
    work_did(cj_stream_wait(t, b));
    work_did(cj_event_record(c, t));
    cj_status asked = cj_event_query(b);
    if (asked != CJ_ENOTREADY) work_did(asked);
    work_did(cj_event_sync(b));
    work_did(cj_event_sync_for(c, 5000));
    if (work_did(cj_event_elapsed(a, b, &ms)) && ms >= 0) sum += 1;
    /* some drivers refuse that to its own process */
    if (work_may(cj_event_export(c, handle, sizeof handle))) cj_event_free(cj_event_import(dev, handle, sizeof handle));
    if (cj_event_device(a) == dev && cj_event_raw(a)) sum += 1;
    cj_event_free(a);
    cj_event_free(b);
    cj_event_free(c);
}

static void callbacks(void)
{
    static int calls;
    cj_stream_barrier *h = cj_stream_barrier_create(dev);
    cj_stream *const both[] = { s, t };
    cj_stream_barrier_time took;
    cj_stream_barrier_time_defaults(&took);
    work_made(h);
    work_did(cj_host_func(s, count_call, &calls));
    work_did(cj_stream_callback(s, count_done, &calls));
    work_did(cj_stream_barrier_enqueue(h, both, 2));
    work_did(cj_stream_barrier_wait(h, s));
    work_did(cj_stream_barrier_sync_for(h, both, 2, 5000));
    if (work_did(cj_stream_barrier_elapsed(h, &took))) sum += took.streams;
    work_waited(s); /* they must not outlive their count */
    cj_stream_sync(t);
    sum += (uint64_t)calls;
    cj_stream_barrier_free(h);
}

static void streams(void)
{
    cj_stream_counts counts;
    cj_stream_opts opts;
    cj_stream_defaults(&opts);
    opts.priority = CJ_PRIORITY_LOW;
    cj_stream *u = cj_stream_create(dev, &opts), *w = cj_stream_wrap(dev, cj_stream_raw(u));
    work_made(u), work_made(w);
    work_did(cj_fill32(w, d, 9, N));
    work_did(cj_stream_use(w, d));
    cj_status asked = cj_stream_query(w);
    if (asked != CJ_ENOTREADY) work_did(asked);
    work_did(cj_stream_sync_for(u, 5000));
    cj_stream_counts_defaults(&counts);
    if (work_did(cj_stream_get_counts(w, &counts))) sum += counts.operations;
    if (cj_stream_id(u) && cj_stream_device(u) == dev && cj_stream_priority(u) >= cj_stream_priority(s) &&
        cj_stream_flags(u) == 1 && !cj_stream_is_capturing(u))
        sum += 1;
    cj_stream_free(w);
    cj_stream_free(u);
}

int main(void)
{
    cj_driver *drv = cj_driver_open(NULL);
    cj_event_opts usual;
    dev = cj_device_open(drv, 0, NULL);
    s = cj_stream_create(dev, NULL);
    t = cj_stream_create(dev, NULL);
    cj_event_defaults(&usual);
    d = cj_alloc(s, 4 * N), e = cj_alloc(s, 4 * N);
    if (!d.addr || !e.addr) work_made(s);
    if (d.addr && e.addr && work_made(t)) {
        work_did(cj_stream_join(t, s));
        copies(), pinned(), managed(), exported(), reused(), events(), callbacks(), streams();
    }
    work_did(cj_free(dev, d));
    work_did(cj_free(dev, e));
    work_did(cj_device_sync(dev));
    cj_stream_free(s);
    cj_stream_free(t);
    cj_device_collect(dev);
    cj_device_close(dev);
    cj_driver_close(drv);
    return work_end("streams", sum);
}
