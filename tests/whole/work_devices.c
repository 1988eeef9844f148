/* Two devices: copies between them, access of kernels, events and captures over both; and what a device tells of
 * itself. */
#include <stdlib.h>
#include <unistd.h>

#include "tests/whole/work.h"

enum { N = 64 };
static cj_device *dev[2];
static cj_stream *s[2];
static cj_dptr d[2];
static uint64_t sum;

static void copies(void)
{
    static uint32_t out[N];
    cj_event *e = cj_event_create(dev[1], NULL);
    work_made(e);
    work_did(cj_fill32(s[1], d[1], 5, N));
    work_did(cj_event_record(e, s[1]));
    work_did(cj_stream_wait(s[0], e));
    work_did(cj_copy_peer(s[0], dev[0], d[0], dev[1], d[1], 4 * N));
    work_did(cj_copy_3d(s[0], CJ_COPY_3D(.width = 8, .height = 2, .depth = 2, .dst = d[1], .dst_device = dev[1],
                                         .dst_pitch = 16, .src = d[0])));
    work_did(cj_stream_use(s[0], d[1]));
    work_did(cj_stream_join(s[1], s[0]));
    work_did(cj_copy_to_host(s[1], out, d[1], 4 * N));
    if (work_waited(s[1]) && work_waited(s[0])) sum += out[0] + out[N - 1];
    cj_event_free(e);
}

/* From an array of one device to one of the other. */
static void arrays(void)
{
    static uint32_t in[N], out[N];
    cj_array *a[2] = { NULL, NULL };
    bool made = true;
    in[N - 1] = 3;
    for (int i = 0; i < 2; i++) {
        a[i] = cj_array_create(dev[i], CJ_ARRAY(.width = N, .type = CJ_U32));
        made = work_made(a[i]) && made;
    }
    if (made) {
        work_did(cj_copy_array(s[0], CJ_COPY_ARRAY(.dst_array = a[0], .src_host = in)));
        work_did(cj_copy_array(s[0], CJ_COPY_ARRAY(.dst_array = a[1], .src_array = a[0])));
        work_did(cj_stream_join(s[1], s[0]));
        work_did(cj_copy_array(s[1], CJ_COPY_ARRAY(.src_array = a[1], .dst_host = out)));
        if (work_waited(s[1]) && work_waited(s[0])) sum += out[N - 1];
    }
    for (int i = 0; i < 2; i++) cj_array_free(a[i]);
}

static void kernels(cj_kernel *k)
{
    static uint32_t out[N];
    cj_device_can_access_peer(dev[0], dev[1]); /* has no failure of its own: asked in vain it is 0 */
    if (work_may(cj_device_enable_peer(dev[0], dev[1]))) {
        work_did(cj_launch(s[0], k, cj_threads(N, 32), d[1], N, 1));
        work_did(cj_stream_use(s[0], d[1]));
    }
    work_did(cj_stream_join(s[1], s[0]));
    work_did(cj_copy_to_host(s[1], out, d[1], 4 * N));
    if (work_waited(s[1]) && work_waited(s[0])) sum += out[N - 1];
    int access = 0;
    if (work_did(cj_device_peer_attribute(dev[0], dev[1], CJ_PEER_ACCESS, &access))) sum += access == 1;
    work_did(cj_device_disable_peer(dev[0], dev[1]));
}

static void captures(void)
{
    static uint32_t out[N];
    work_did(cj_capture_begin(s[0], CJ_CAPTURE_THREAD));
    work_did(cj_stream_fork(s[0], s[1]));
    work_did(cj_fill32(s[1], d[1], 9, N));
    work_did(cj_stream_join(s[0], s[1]));
    work_did(cj_copy_peer(s[0], dev[0], d[0], dev[1], d[1], 4 * N));
    work_did(cj_copy_to_host(s[0], out, d[0], 4 * N));
    cj_graph *g = cj_capture_end(s[0]);
    work_made(g);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    if (work_made(x)) work_did(cj_graph_launch(s[0], x));
    if (work_waited(s[0])) sum += out[N - 1];
    cj_stream_sync(s[1]);
    cj_graph_exec_free(x);
    cj_graph_free(g);
}

static void nodes(void)
{
    static uint32_t out[N];
    cj_graph *g = cj_graph_create(dev[0]);
    cj_node *fill = cj_graph_fill32(g, NULL, d[0], 10, N),
            *over = cj_graph_copy_peer(g, CJ_NODES(fill), dev[1], d[1], dev[0], d[0], 4 * N);
    cj_graph_copy_3d(
        g, CJ_NODES(over),
        CJ_COPY_3D(.width = 8, .height = 4, .depth = 1, .dst = d[0], .src = cj_offset(d[0], 128), .src_pitch = 16));
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    if (work_made(x)) work_did(cj_graph_launch(s[0], x));
    work_did(cj_stream_join(s[1], s[0]));
    work_did(cj_copy_to_host(s[1], out, d[1], 4 * N));
    if (work_waited(s[1]) && work_waited(s[0])) sum += out[N - 1];
    cj_graph_exec_free(x);
    cj_graph_free(g);
}

static void told(cj_driver *drv)
{
    cj_device_info info;
    size_t room = 0, total = 0;
    int threads = 0;
    cj_device_info_defaults(&info);
    cj_host_opts pinned;
    cj_host_defaults(&pinned);
    pinned.mapped = 1;
    void *p = cj_host_alloc(dev[0], 64, &pinned);
    if (!p) work_made(dev[0]);
    work_did(cj_host_free(dev[0], p));
    work_did(cj_device_get_info(dev[1], &info));
    work_did(cj_device_memory(dev[1], &room, &total));
    work_did(cj_device_attribute(dev[1], 1, &threads));
    sum += info.warp_size + (room <= total) + (threads == info.block_threads) + (cj_device_ordinal(dev[1]) == 1) +
           (cj_device_driver(dev[1]) == drv);
    cj_device *again = cj_device_wrap(drv, cj_device_context(dev[1]));
    if (work_made(again)) sum += again == dev[1] && cj_device_raw(again) == cj_device_raw(dev[1]);
    cj_device_close(again);
    work_did(cj_mem_wrap(s[0], (cj_dptr){ 4096 }, 64));
    work_did(cj_free(dev[0], (cj_dptr){ 4096 }));
    sum += *cj_device_name(dev[1]) && *cj_device_sm(dev[1]);
}

/* Maps of memory, where the device has any. */
static void maps(void)
{
    cj_tensor_map map;
    cj_tensor_map_opts o;
    cj_tensor_map_defaults(&o);
    o.type = CJ_TENSOR_MAP_U32, o.dims = 3, o.address = d[0], o.channels = 4, o.pixels = 8;
    for (int i = 0; i < 3; i++) o.extent[i] = 4, o.tile[i] = 4;
    o.stride[0] = 16, o.stride[1] = 64;
    if (work_may(cj_tensor_map_tiled(dev[0], &o, &map)) &&
        work_may(cj_tensor_map_replace_address(dev[0], &map, cj_offset(d[0], 16))))
        sum += map.opaque[0] == 0;
    if (work_may(cj_tensor_map_im2col(dev[0], &o, &map))) sum += map.opaque[0] == 0;
}

/* The first piece, in another cj_vmem too. */
static void shares(cj_vmem *v, size_t grain)
{
    uint32_t seen = 0;
    size_t bytes = 0;
    int fd = -1;
    cj_vmem *w = cj_vmem_create(s[1], 4 << 20, NULL);
    if (work_made(w) && work_may(cj_vmem_export(v, 0, &fd, &bytes)) && work_did(cj_vmem_import(w, fd, bytes))) {
        work_did(cj_fill32(s[1], cj_vmem_address(v), 11, N));
        work_did(cj_copy_to_host(s[1], &seen, cj_vmem_address(w), 4));
        if (work_waited(s[1])) sum += seen == 11 && cj_vmem_pieces(w) == 1 && bytes == grain;
    }
    if (fd >= 0) close(fd);
    cj_vmem_free(w);
}

static void exported(cj_mem_pool *p, cj_dptr at)
{
    unsigned char handle[CJ_MEM_POOL_MEM_BYTES];
    int fd = -1;
    if (work_did(cj_mem_pool_export_mem(p, at, handle, sizeof handle)) && work_did(cj_mem_pool_export(p, &fd))) {
        cj_mem_pool *there = cj_mem_pool_import(dev[1], fd);
        if (work_made(there)) sum += cj_mem_pool_raw(there) != NULL;
        cj_mem_pool_free(there);
        close(fd);
    }
}

/* Pools: memory of one, which the other device may use too. */
static void pools(void)
{
    uint32_t seen = 0;
    cj_mem_pool_opts o;
    cj_mem_pool_counts c;
    cj_mem_pool_defaults(&o);
    cj_mem_pool_counts_defaults(&c);
    o.ipc = 1;
    o.keep_bytes = 1;
    cj_mem_pool *p = cj_mem_pool_create(dev[1], &o), *same = NULL;
    cj_mem_pool *host = cj_mem_pool_create(dev[1], CJ_MEM_POOL(.place = CJ_MEM_PLACE_HOST));
    work_made(host);
    cj_mem_pool_free(host);
    if (work_made(p) && work_made(same = cj_mem_pool_wrap(dev[1], cj_mem_pool_raw(p)))) {
        const cj_dptr at = cj_mem_pool_alloc(same, s[1], 4 * N);
        if (!at.addr) work_made(s[1]);
        work_may(cj_mem_pool_enable_peer(p, dev[0]));
        work_did(cj_mem_pool_get_counts(p, &c));
        if (at.addr) {
            work_did(cj_fill32(s[1], at, 6, N));
            work_did(cj_copy_to_host(s[1], &seen, at, 4));
            exported(p, at);
        }
        if (work_waited(s[1])) sum += seen == 6 && c.used_bytes >= 4 * N;
        if (at.addr) work_did(cj_free(dev[1], at));
        work_did(cj_mem_pool_trim(p, 0));
    }
    cj_mem_pool_free(same);
    cj_mem_pool_free(p);
}

/* Memory that grows: used by both devices, shrunk, freed while a piece waits. */
static void grows(cj_kernel *k)
{
    static uint32_t out[N];
    cj_vmem_opts o;
    cj_vmem_defaults(&o);
    o.bytes = 1;
    o.ipc = 1;
    cj_vmem *v = cj_vmem_create(s[1], 8 << 20, &o);
    if (work_made(v)) {
        const size_t grain = cj_vmem_granularity(v);
        if (work_did(cj_vmem_grow(v, 2 * grain)))
            work_did(cj_fill32(s[1], cj_offset(cj_vmem_address(v), (int64_t)grain), 3, N));
        shares(v, grain);
        work_did(cj_stream_join(s[0], s[1]));
        if (work_may(cj_vmem_enable_peer(v, dev[0])))
            work_did(cj_launch(s[0], k, cj_threads(N, 32), cj_vmem_address(v), N, 1));
        work_did(cj_stream_use(s[0], cj_vmem_address(v)));
        work_did(cj_vmem_shrink(v, grain));
        work_did(cj_copy_to_host(s[1], out, cj_vmem_address(v), 4 * N));
        if (work_waited(s[0]) && work_waited(s[1])) sum += cj_vmem_bytes(v) == grain && cj_vmem_reserved(v) == 8 << 20;
    }
    cj_vmem_free(v);
}

static void released(void *user) { *(int *)user = 1; }

/* Memory of the device as a tensor: out in every form, and in again; order with a stream of other code. */
static void tensors(void)
{
    const int64_t shape[] = { 4, N / 4 };
    char text[300];
    int done = 0;
    cj_tensor_info x = { .size = sizeof x, .data = d[0], .ndim = 2, .type = { CJ_TENSOR_UINT, 32, 1 }, .shape = shape };
    cj_tensor *t = cj_tensor_create(dev[0], &x, released, &done);
    if (!work_made(t)) {
        cj_tensor_free(t);
        return;
    }
    cj_tensor_info_defaults(&x);
    if (work_did(cj_tensor_get_info(t, &x)) && cj_tensor_device(t) == dev[0]) sum += x.elements;
    cj_tensor *in[3] = { NULL, NULL, NULL };
    cj_dlpack_managed *old = cj_tensor_to_dlpack(t);
    if (!old) work_made(t);
    else if (!work_made(in[0] = cj_tensor_from_dlpack(dev[0], old))) old->deleter(old);
    cj_dlpack_versioned *new = cj_tensor_to_dlpack_versioned(t);
    if (!new) work_made(t);
    else if (!work_made(in[1] = cj_tensor_from_dlpack_versioned(dev[0], new))) new->deleter(new);
    if (!cj_tensor_to_array_interface(t, text, sizeof text)) work_made(t);
    else work_made(in[2] = cj_tensor_from_array_interface(dev[0], text));
    for (int i = 0; i < 3; i++) cj_tensor_free(in[i]);
    cj_tensor_free(t);
    sum += (uint64_t)done;
}

/* Order with a stream of other code, which is one of the library here. */
static void foreign_streams(void)
{
    cj_stream *other = cj_stream_create(dev[0], NULL);
    if (work_made(other)) {
        const int64_t number = (int64_t)(uintptr_t)cj_stream_raw(other);
        work_did(cj_fill32(other, d[0], 3, N));
        work_did(cj_stream_wait_foreign(s[0], number));
        work_did(cj_fill32(s[0], d[0], 4, N));
        work_did(cj_stream_signal_foreign(s[0], number));
        work_waited(other);
    }
    work_waited(s[0]);
    cj_stream_free(other);
}

static void registered(void)
{
    uint32_t *h = aligned_alloc(4096, 4096);
    if (!h) abort();
    memset(h, 1, 4096);
    if (work_did(cj_host_register(dev[0], h, 4096, 0))) {
        work_did(cj_copy_to_device(s[0], d[0], h, 4 * N));
        work_waited(s[0]);
        work_did(cj_host_unregister(dev[0], h));
    }
    free(h);
    cj_dptr m = cj_managed_alloc(s[0], 4 * N);
    if (!m.addr) work_made(s[0]);
    if (m.addr) work_may(cj_prefetch(s[0], m, 4 * N, dev[1]));
    work_waited(s[0]);
    if (m.addr) work_did(cj_free(dev[0], m));
}

int main(void)
{
    setenv("CUJIT_SIM_DEVICES", "2", 1);
    cj_driver *drv = cj_driver_open(NULL);
    cj_ptx *m = bench_add_module();
    cj_device_opts o;
    cj_device_defaults(&o);
    o.schedule = CJ_SCHEDULE_YIELD;
    for (int i = 0; i < 2; i++) {
        dev[i] = cj_device_open(drv, i, &o);
        s[i] = cj_stream_create(dev[i], NULL);
        d[i] = cj_alloc(s[i], 4 * N);
        if (!d[i].addr) work_made(s[i]);
    }
    cj_kernel *k = cj_kernel_load(dev[0], m, "add", NULL);
    if (d[0].addr && d[1].addr && work_made(k)) {
        told(drv), copies(), arrays(), maps(), kernels(k), captures(), nodes();
        grows(k), pools(), registered(), tensors(), foreign_streams();
    }
    for (int i = 0; i < 2; i++) work_did(cj_free(dev[i], d[i]));
    cj_kernel_free(k);
    for (int i = 0; i < 2; i++) {
        cj_stream_free(s[i]);
        cj_device_collect(dev[i]);
    }
    for (int i = 0; i < 2; i++) cj_device_close(dev[i]);
    cj_driver_close(drv);
    cj_ptx_free(m);
    return work_end("devices", sum);
}
