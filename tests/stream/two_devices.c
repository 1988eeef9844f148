/* Two devices: copies and waits between them, memory that a stream of the other one uses, access of kernels, captures.
 * */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/device_parts.h"
#include "tests/tap.h"

enum { N = 256, BYTES = N * 4 };
static cj_device *dev[2];
static cj_stream *s[2];
static cj_dptr d[2];
static uint32_t out[N];

static uint32_t first_of(int i)
{
    memset(out, 0, sizeof out);
    cj_copy_to_host(s[i], out, d[i], BYTES);
    tap_is_int(cj_stream_sync(s[i]), CJ_OK, "device %d is done", i);
    return out[0] == out[N - 1] ? out[0] : UINT32_MAX;
}

static void copies(void)
{
    struct latch l = LATCH_CLOSED;
    cj_event *e = cj_event_create(dev[0], NULL);
    bench_hold(s[0], &l);
    cj_fill32(s[0], d[0], 41, N);
    cj_event_record(e, s[0]);
    cj_stream_wait(s[1], e);
    tap_is_int(cj_copy_peer(s[1], dev[1], d[1], dev[0], d[0], BYTES), CJ_OK,
               "a stream of one device takes from the other");
    tap_is_int(cj_stream_query(s[1]), CJ_ENOTREADY, "behind an event of that");
    latch_open(&l);
    tap_is_uint(first_of(1), 41, "and has it");
    cj_fill32(s[0], d[0], 42, N);
    tap_is_int(cj_copy_peer(s[0], dev[1], d[1], dev[0], d[0], BYTES), CJ_OK, "a stream gives to the other");
    cj_stream_join(s[1], s[0]);
    tap_is_uint(first_of(1), 42, "which has it behind a join");
    tap_is_int(cj_copy_peer(s[0], dev[1], d[1], dev[1], d[1], 4), CJ_EINVAL, "an overlap on another device is seen");
    cj_stream_sync(s[0]);
    tap_is_int(cj_copy_peer(s[0], dev[1], cj_offset(d[1], 8), dev[0], d[0], BYTES), CJ_EINVAL,
               "so is what does not fit there");
    tap_has_str(cj_error_of(s[0])->message, "1024 bytes do not fit, 1016 are left", "with its numbers");
    cj_stream_sync(s[0]);
    tap_is_int(cj_copy_peer(s[0], dev[1], d[1], dev[0], d[0], 0), CJ_OK, "no bytes are nothing");
    cj_event_free(e);
}

/* Before anything has let a device reach the other.  What a GPU's driver answers was not measured. */
static void fills(const cj_driver *drv)
{
    char says[80];
    if (strcmp(cj_driver_kind(drv), "sim")) return;
    snprintf(says, sizeof says, "0x%llx is memory of device 1, the stream is of device 0",
             (unsigned long long)d[1].addr);
    tap_is_int(cj_fill32(s[0], d[1], 1, N), CJ_EDRIVER, "a fill of the other device's memory");
    tap_has_str(cj_error_of(s[0])->message, says, "names the device");
    cj_stream_sync(s[0]);
}

static void copies_3d(void)
{
    uint32_t in[N];
    for (uint32_t i = 0; i < N; i++) in[i] = i;
    cj_copy_to_device(s[0], d[0], in, BYTES);
    cj_fill32(s[1], d[1], 9, N);
    cj_stream_join(s[0], s[1]);
    /* 3 slices of 4 rows of 8 bytes */
    tap_is_int(
        cj_copy_3d(s[0], CJ_COPY_3D(.width = 8, .height = 4, .depth = 3, .dst = d[1], .dst_device = dev[1],
                                    .dst_pitch = 16, .dst_rows = 5, .src = d[0], .src_pitch = 12, .src_rows = 6)),
        CJ_OK, "a box between devices");
    cj_stream_join(s[1], s[0]);
    first_of(1);
    bool right = true;
    for (uint32_t z = 0; z < 3; z++)
        for (uint32_t y = 0; y < 4; y++)
            for (uint32_t x = 0; x < 2; x++) right = right && out[(z * 5 + y) * 4 + x] == (z * 6 + y) * 3 + x;
    tap_ok(right, "arrives");
    tap_ok(out[2] == 9 && out[16] == 9, "and changes nothing between");
    /* the same without a gap between slices: one slice of 12 rows */
    cj_fill32(s[1], d[1], 9, N);
    cj_stream_join(s[0], s[1]);
    tap_is_int(cj_copy_3d(s[0], CJ_COPY_3D(.width = 8, .height = 4, .depth = 3, .dst = d[1], .dst_device = dev[1],
                                           .dst_pitch = 16, .src = d[0], .src_pitch = 12)),
               CJ_OK, "slices that lie close together");
    cj_stream_join(s[1], s[0]);
    first_of(1);
    for (uint32_t y = 0; y < 12; y++)
        right = right && out[y * 4] == y * 3 && out[y * 4 + 1] == y * 3 + 1 && out[y * 4 + 2] == 9;
    tap_ok(right, "arrive too");
    tap_is_int(cj_copy_3d(s[0], CJ_COPY_3D(.width = 8, .height = 1, .depth = 1, .dst = d[1], .dst_device = dev[1],
                                           .src_host = in)),
               CJ_EINVAL, "host memory goes by a stream of its device");
    tap_has_str(cj_error_of(s[0])->message, "copy on a stream or in a graph of the device that has the other end",
                "and that is said");
    cj_stream_sync(s[0]);
}

/* Memory that is freed while a stream of the other device uses it stays until that is over. */
static void freed_in_use(void)
{
    struct latch l = LATCH_CLOSED;
    cj_dptr source = cj_alloc(s[0], BYTES);
    cj_fill32(s[0], source, 77, N);
    cj_stream_sync(s[0]);
    bench_hold(s[1], &l);
    cj_copy_peer(s[1], dev[1], d[1], dev[0], source, BYTES);
    tap_is_int(cj_free(dev[0], source), CJ_OK, "memory is freed that a copy of the other device will read");
    tap_is_uint(cj_device_collect(dev[0]), 1, "it waits");
    latch_open(&l);
    tap_is_uint(first_of(1), 77, "the copy was right");
    cj_stream_sync(s[0]);
    cj_device_sync(dev[0]);
    tap_is_uint(cj_device_collect(dev[0]), 0, "and then the memory goes");

    source = cj_alloc(s[0], BYTES);
    cj_stream_sync(s[0]);
    bench_hold(s[1], &l);
    tap_is_int(cj_stream_use(s[1], source), CJ_OK, "a use by a stream of the other device can be said");
    cj_free(dev[0], source);
    tap_is_uint(cj_device_collect(dev[0]), 1, "and is waited for");
    latch_open(&l);
    cj_stream_sync(s[1]);
    cj_device_sync(dev[0]);
    tap_is_uint(cj_device_collect(dev[0]), 0, "until it is over");
}

static void captured(void)
{
    cj_dptr source = cj_alloc(s[0], BYTES);
    cj_fill32(s[0], source, 5, N);
    cj_stream_sync(s[0]);
    cj_capture_begin(s[1], CJ_CAPTURE_THREAD);
    tap_is_int(cj_copy_peer(s[1], dev[1], d[1], dev[0], source, BYTES), CJ_OK, "a copy between devices is captured");
    cj_graph *g = cj_capture_end(s[1]);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_free(g);
    tap_is_int(cj_error_of(x)->status, CJ_OK, "the graph is whole");
    cj_free(dev[0], source);
    cj_graph_launch(s[1], x);
    tap_is_uint(first_of(1), 5, "and runs, with memory of the other device that was freed meanwhile");
    cj_graph_exec_free(x);
    cj_device_sync(dev[0]);
    cj_device_collect(dev[1]);
    tap_is_uint(cj_device_collect(dev[0]), 0, "which goes with the graph");
}

/* A graph of each device copies to the other: plain, and a box of it. */
static void as_nodes(void)
{
    cj_dptr source = cj_alloc(s[0], BYTES);
    cj_fill32(s[0], source, 6, N);
    cj_fill32(s[1], d[1], 1, N);
    cj_stream_sync(s[0]);
    cj_stream_sync(s[1]);
    for (int on = 0; on < 2; on++) {
        cj_graph *g = cj_graph_create(dev[on]);
        cj_node *fill = on ? NULL : cj_graph_fill32(g, NULL, source, 7, N);
        cj_node *n = cj_graph_copy_peer(g, fill ? CJ_NODES(fill) : NULL, dev[1], d[1], dev[0], source, BYTES);
        cj_node *m =
            cj_graph_copy_3d(g, CJ_NODES(n),
                             CJ_COPY_3D(.width = 4, .height = 8, .depth = 2, .dst = d[0], .dst_pitch = 16,
                                        .dst_device = dev[0], .src = d[1], .src_pitch = 8, .src_device = dev[1]));
        tap_is_int(cj_error_of(n)->status, CJ_OK, "a copy between devices as a node of device %d: %s", on,
                   cj_error_of(n)->message);
        tap_is_int(cj_error_of(m)->status, CJ_OK, "and a box back: %s", cj_error_of(m)->message);
        cj_graph_exec *x = cj_graph_instantiate(g, NULL);
        cj_graph_free(g);
        cj_fill32(s[0], d[0], 0, N);
        cj_stream_sync(s[0]);
        if (on) cj_free(dev[0], source); /* the graph keeps it */
        tap_is_int(cj_graph_launch(s[on], x), CJ_OK, "are launched: %s", cj_error_of(x)->message);
        cj_stream_sync(s[on]);
        tap_is_uint(first_of(1), 7, "and there");
        uint32_t back[64] = { 0 };
        cj_copy_to_host(s[0], back, d[0], sizeof back);
        cj_stream_sync(s[0]);
        tap_ok(back[0] == 7 && back[4] == 7 && back[60] == 7 && !back[1] && !back[61], "row by row");
        cj_graph_exec_free(x);
    }
    cj_device_sync(dev[0]);
    cj_device_sync(dev[1]);
    cj_device_collect(dev[1]);
    tap_is_uint(cj_device_collect(dev[0]), 0, "what they used goes with them");
}

/* A barrier over streams of both devices. */
static void barrier(void)
{
    struct latch l = LATCH_CLOSED;
    cj_stream_barrier *h = cj_stream_barrier_create(dev[1]);
    cj_stream_barrier_time t;
    cj_stream_barrier_time_defaults(&t);
    bench_hold(s[0], &l);
    cj_fill32(s[0], d[0], 90, N);
    tap_is_int(cj_stream_barrier_enqueue(h, s, 2), CJ_OK, "a barrier over both devices");
    cj_copy_peer(s[1], dev[1], d[1], dev[0], d[0], BYTES);
    tap_is_int(cj_stream_query(s[1]), CJ_ENOTREADY, "holds the one for the other");
    tap_is_int(cj_stream_barrier_elapsed(h, &t), CJ_ENOTREADY, "and has no time yet");
    latch_open(&l);
    tap_is_uint(first_of(1), 90, "then it goes on");
    tap_ok(cj_stream_barrier_elapsed(h, &t) == CJ_OK && t.clock == CJ_STREAM_BARRIER_CLOCK_DEVICE && t.ms >= 0,
           "and tells its time on its device");
    tap_is_int(cj_stream_barrier_sync_for(h, s, 2, 10000), CJ_OK, "the host waits for both");
    cj_stream_barrier_free(h);
}

/* What a kernel's argument leads to stays for the graph, also where it is memory of another device: captured, as a
 * node, set in an exec. */
static void graphs_of_there(cj_kernel *add)
{
    static const char *const how[] = { "captured", "a node", "set in an exec" };
    for (int i = 0; i < 3; i++) {
        cj_dptr m = cj_alloc(s[0], BYTES);
        cj_fill32(s[0], m, 40, N);
        cj_stream_join(s[1], s[0]);
        cj_graph *g;
        cj_node *n = NULL;
        if (i == 0) {
            cj_capture_begin(s[1], CJ_CAPTURE_THREAD);
            cj_launch(s[1], add, cj_threads(N, 64), m, N, 4);
            g = cj_capture_end(s[1]);
        } else {
            g = cj_graph_create(dev[1]);
            n = cj_graph_kernel(g, NULL, add, cj_threads(N, 64), i == 1 ? m : d[1], N, 4);
        }
        cj_graph_exec *x = cj_graph_instantiate(g, NULL);
        if (i == 2) cj_graph_exec_set_args(x, n, m, N, 4);
        cj_graph_free(g);
        cj_free(dev[0], m);
        cj_graph_launch(s[1], x);
        tap_is_int(cj_stream_sync(s[1]), CJ_OK, "%s: memory of the other device that was freed is there", how[i]);
        cj_graph_exec_free(x);
        cj_device_collect(dev[1]);
        tap_is_uint(cj_device_collect(dev[0]), 0, "... and goes with the graph");
    }
}

/* What the driver knows of the way there; access is taken back and given again. */
static void access_ends(cj_kernel *add)
{
    static const cj_peer_attr known[] = { CJ_PEER_PERFORMANCE_RANK, CJ_PEER_ACCESS, CJ_PEER_NATIVE_ATOMICS,
                                          CJ_PEER_ARRAY_ACCESS };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        int value = -1;
        tap_is_int(cj_device_peer_attribute(dev[1], dev[0], known[i], &value), CJ_OK, "attribute %d: %s",
                   (int)known[i], cj_error_of(dev[1])->message);
        tap_ok(value >= 0 && (known[i] != CJ_PEER_ACCESS || value == 1), "... is %d", value);
    }
    tap_is_int(cj_device_peer_attribute(dev[1], dev[0], CJ_PEER_ACCESS, NULL), CJ_EINVAL, "a place is needed");
    int value;
    tap_is_int(cj_device_peer_attribute(dev[1], dev[0], (cj_peer_attr)9, &value), CJ_EINVAL, "and an attribute");
    tap_is_int(cj_device_peer_attribute(dev[1], dev[1], CJ_PEER_ACCESS, &value), CJ_EINVAL, "and two devices");
    tap_has_str(cj_error_of(dev[1])->message, "device 1 is no peer of itself", "... which is said");
    tap_is_int(cj_device_disable_peer(dev[1], dev[0]), CJ_OK, "access is taken back: %s",
               cj_error_of(dev[1])->message);
    tap_is_int(cj_device_disable_peer(dev[1], dev[0]), CJ_OK, "also where there is none");
    tap_is_int(cj_device_disable_peer(dev[1], dev[1]), CJ_OK, "and from itself, where nothing happens");
    cj_copy_peer(s[1], dev[1], d[1], dev[0], d[0], 4);
    tap_is_int(cj_stream_sync(s[1]), CJ_OK, "copies between the devices go on");
    tap_is_int(cj_device_enable_peer(dev[1], dev[0]), CJ_OK, "it is given again");
    cj_launch(s[1], add, cj_threads(N, 64), d[0], N, 3);
    cj_stream_use(s[1], d[0]);
    tap_is_int(cj_stream_sync(s[1]), CJ_OK, "and works: %s", cj_error_of(s[1])->message);
}

static void kernels(void)
{
    cj_ptx *m = bench_add_module();
    cj_kernel *add = cj_kernel_load(dev[1], m, "add", NULL);
    if (!cj_device_can_access_peer(dev[1], dev[0])) {
        tap_is_int(cj_device_enable_peer(dev[1], dev[0]), CJ_ENOTSUP,
                   "these devices cannot reach each other, and that is said");
        tap_skip(28, "no access between these devices");
    } else {
        tap_is_int(cj_device_enable_peer(dev[1], dev[0]), CJ_OK, "device 1 may reach device 0");
        tap_is_int(cj_device_enable_peer(dev[1], dev[0]), CJ_OK, "asked for twice too");
        cj_fill32(s[0], d[0], 30, N);
        cj_stream_join(s[1], s[0]);
        tap_is_int(cj_launch(s[1], add, cj_threads(N, 64), d[0], N, 3), CJ_OK,
                   "a kernel there is given memory of here");
        cj_stream_use(s[1], d[0]);
        cj_stream_join(s[0], s[1]);
        tap_is_uint(first_of(0), 33, "and has changed it");
        graphs_of_there(add);
        access_ends(add);
    }
    tap_is_int(cj_device_can_access_peer(dev[0], dev[0]), 1, "a device reaches itself");
    tap_is_int(cj_device_enable_peer(dev[0], dev[0]), CJ_OK, "and may");
    cj_kernel_free(add);
    cj_ptx_free(m);
}

/* A waiter is of one device. */
static void waits(void)
{
    cj_wait_record r;
    cj_waiter *w[2] = { cj_waiter_create(dev[0], NULL), cj_waiter_create(dev[1], NULL) };
    cj_event *e = cj_event_create(dev[1], NULL);
    tap_is_uint(cj_waiter_add(w[0], e, 0, NULL, NULL), 0, "a waiter rejects the event of another device");
    tap_has_str(cj_error_of(w[0])->message, "event of device 1", "... which is named");
    tap_is_int(cj_error_of(e)->status, CJ_EINVAL, "... in the event, too");
    tap_is_uint(cj_waiter_add_stream(w[0], s[1], 0, NULL, NULL), 0, "... and its stream");
    tap_is_int(cj_stream_sync(s[1]), CJ_EINVAL, "... which has the failure");
    for (int i = 0; i < 2; i++) {
        tap_ok(cj_waiter_add_stream(w[i], s[i], CJ_WAIT_FOREVER, NULL, NULL) != 0, "the waiter of device %d", i);
        tap_is_int(cj_waiter_poll(w[i], &r, 1, 10000), 1, "... reports a stream of its own");
        cj_waiter_free(w[i]);
    }
    cj_event_free(e);
}

int main(void)
{
    setenv("CUJIT_SIM_DEVICES", "2", 1);
    tap_need_device(2);
    tap_plan(0);
    cj_driver *drv = cj_driver_open(NULL);
    for (int i = 0; i < 2; i++) {
        dev[i] = cj_device_open(drv, i, NULL);
        s[i] = cj_stream_create(dev[i], NULL);
        d[i] = cj_alloc(s[i], BYTES);
        if (!d[i].addr) tap_bail("device %d: %s", i, cj_error_last()->message);
        cj_stream_sync(s[i]);
    }
    copies();
    copies_3d();
    fills(drv);
    as_nodes(); /* before anything has let a device reach the other */
    freed_in_use();
    barrier();
    kernels();
    captured();
    waits();
    for (int i = 0; i < 2; i++) {
        tap_is_int(cj_stream_sync(s[i]), CJ_OK, "nothing failed on device %d", i);
        cj_free(dev[i], d[i]);
        cj_stream_free(s[i]);
    }
    for (int i = 0; i < 2; i++) cj_device_close(dev[i]);
    cj_driver_close(drv);
    return tap_done();
}
