/* Arrays of several shapes, copies from and to them, textures and surfaces, used by streams and kept by a graph. */
#include "tests/whole/work.h"

enum { W = 8, H = 4, N = W * H };
static cj_device *dev;
static cj_stream *s;
static cj_array *a, *mips;
static cj_dptr d;
static uint64_t sum;

static void copies(void)
{
    static uint32_t in[N], out[N], part[N];
    uint32_t *pinned = cj_host_alloc(dev, sizeof in, NULL);
    if (!pinned) work_made(dev);
    for (uint32_t i = 0; i < N; i++) in[i] = i;
    cj_copy_array_params p;
    cj_copy_array_params_defaults(&p);
    p.dst_array = a, p.src_host = in;
    work_did(cj_copy_array(s, &p));
    work_did(cj_copy_array(s, CJ_COPY_ARRAY(.src_array = a, .dst = d)));
    work_did(cj_copy_array(s, CJ_COPY_ARRAY(.width = 4, .dst_array = a, .src_array = a, .src_x = 4)));
    work_did(cj_copy_array(s, CJ_COPY_ARRAY(.src_array = a, .dst_host = out)));
    work_did(cj_copy_to_host(s, part, d, sizeof part));
    if (pinned) work_did(cj_copy_array(s, CJ_COPY_ARRAY(.src_array = a, .dst_host = pinned)));
    if (work_waited(s)) sum += out[1] + out[N - 1] + part[1] + (pinned ? pinned[2] : 0);
    work_did(cj_host_free(dev, pinned));
}

static void levels(void)
{
    static const uint32_t in[N / 4] = { 3, 5 };
    static uint32_t out[N / 4];
    cj_array_info info;
    cj_array_info_defaults(&info);
    cj_array *l = cj_array_level(mips, 1), *w = cj_array_wrap(dev, cj_array_raw(l));
    if (work_made(l)) work_did(cj_copy_array(s, CJ_COPY_ARRAY(.dst_array = l, .src_host = in)));
    if (work_made(w)) work_did(cj_copy_array(s, CJ_COPY_ARRAY(.src_array = w, .dst_host = out)));
    if (work_made(w) && work_did(cj_array_get_info(w, &info))) sum += info.width + info.element_bytes;
    cj_array_free(l);
    if (work_waited(s)) sum += out[0] + out[1];
    cj_array_free(w);
}

/* Up, from array to array, down, as nodes. */
static void nodes(void)
{
    static uint32_t in[N] = { 2, 4 }, out[N];
    cj_array *b = cj_array_create(dev, CJ_ARRAY(.width = W, .height = H, .type = CJ_U32));
    cj_graph *g = cj_graph_create(dev);
    if (!work_made(b) || !work_made(g)) return cj_array_free(b), cj_graph_free(g);
    cj_node *up = cj_graph_copy_array(g, NULL, CJ_COPY_ARRAY(.dst_array = b, .src_host = in));
    cj_node *over = cj_graph_copy_array(g, CJ_NODES(up), CJ_COPY_ARRAY(.src_array = b, .dst = d));
    cj_graph_copy_to_host(g, CJ_NODES(over), out, d, sizeof out);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_array_free(b);
    cj_graph_free(g);
    if (work_made(x)) work_did(cj_graph_launch(s, x));
    if (work_waited(s)) sum += out[0] + out[1];
    cj_graph_exec_free(x);
}

static void textures(void)
{
    cj_sampler_opts o;
    cj_texture_memory_params m;
    cj_sampler_defaults(&o);
    cj_texture_memory_params_defaults(&m);
    m.memory = cj_ipc_alloc(s, 4096), m.width = W;
    if (!m.memory.addr) work_made(s);
    o.normalized = 1, o.filter = CJ_FILTER_LINEAR;
    cj_texture *one = cj_texture_create(a, NULL), *two = cj_texture_create(mips, &o);
    cj_texture *three = cj_texture_create_memory(dev, m.memory.addr ? &m : NULL, NULL);
    cj_texture_view_params v;
    cj_texture_view_params_defaults(&v);
    v.first_level = 1;
    cj_texture *four = cj_texture_create_view(mips, &v, &o);
    cj_surface *x = cj_surface_create(a);
    if (m.memory.addr) work_did(cj_free(dev, m.memory));
    const void *const all[] = { one, two, three, four, x };
    bool made = true;
    for (int i = 0; i < 5; i++) made = work_made(all[i]) && made;
    if (made) sum += cj_texture_raw(one) && cj_texture_raw(two) && cj_texture_raw(three) && cj_surface_raw(x);
    if (work_made(one)) work_did(cj_stream_use_texture(s, one));
    work_did(cj_capture_begin(s, CJ_CAPTURE_THREAD));
    if (work_made(two)) work_did(cj_stream_use_texture(s, two));
    if (work_made(x)) work_did(cj_stream_use_surface(s, x));
    work_did(cj_copy_array(s, CJ_COPY_ARRAY(.src_array = a, .dst = d)));
    cj_graph *g = cj_capture_end(s);
    cj_graph_exec *exec = cj_graph_instantiate(g, NULL);
    cj_graph_free(g);
    cj_texture_free(one), cj_texture_free(two), cj_texture_free(three), cj_texture_free(four), cj_surface_free(x);
    if (work_made(exec)) work_did(cj_graph_launch(s, exec));
    work_waited(s);
    cj_graph_exec_free(exec);
}

int main(void)
{
    cj_driver *drv = cj_driver_open(NULL);
    dev = cj_device_open(drv, 0, NULL);
    s = cj_stream_create(dev, NULL);
    cj_array_opts o;
    cj_array_defaults(&o);
    o.width = W, o.height = H, o.type = CJ_U32, o.surface = 1;
    a = cj_array_create(dev, &o);
    mips = cj_array_create(dev, CJ_ARRAY(.width = W, .height = H, .levels = 2));
    d = cj_alloc(s, 4 * N);
    if (!d.addr) work_made(s);
    if (d.addr && work_made(a) && work_made(mips)) copies(), levels(), nodes(), textures();
    work_did(cj_free(dev, d));
    cj_array_free(a);
    cj_array_free(mips);
    cj_stream_free(s);
    cj_device_collect(dev);
    cj_device_close(dev);
    cj_driver_close(drv);
    return work_end("arrays", sum);
}
