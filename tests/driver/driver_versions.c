/* A driver of each CUDA version from 11.4 on: what works with all of them, what needs a newer one and which driver the
 * message then names.  The drivers are the CPU device with the entry points and the compiler of that version. */
#include <cujit/cujit.h>

#include <stdio.h>
#include <string.h>

#include "cuda/table.h"
#include "tests/tap.h"

static const struct {
    int cuda, ptx, branch;
} versions[] = {
    { 11040, 74, 470 }, { 11050, 75, 495 }, { 11060, 76, 510 }, { 11070, 77, 515 }, { 11080, 78, 520 },
    { 12000, 80, 525 }, { 12010, 81, 530 }, { 12020, 82, 535 }, { 12030, 83, 545 }, { 12040, 84, 550 },
    { 12050, 85, 555 }, { 12060, 85, 560 }, { 12070, 86, 565 }, { 12080, 87, 570 }, { 12090, 88, 575 },
    { 13000, 90, 580 }, { 13010, 91, 590 },
};

/* -- The fake ------------------------------------------------------------------------------------------------------ */

static struct {
    cj_driver *device;  /* the CPU device */
    int cuda, ptx;
    const char *hidden; /* an entry point that the driver lacks all the same */
    CUresult init;      /* what cuInit answers */
    int rejected;       /* PTX that is too new for the compiler */
} fake;

static CUresult fake_init(unsigned int flags)
{
    cji_PFN_cuInit real;
    void *entry = cj_driver_symbol(fake.device, "cuInit");
    memcpy(&real, &entry, sizeof real);
    return fake.init ? fake.init : real(flags);
}

static CUresult fake_version(int *version)
{
    *version = fake.cuda;
    return CUDA_SUCCESS;
}

static CUresult fake_link(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name,
                          unsigned int n, CUjit_option *options, void **values)
{
    int major = 0, minor = 0;
    const char *at = strstr(data, ".version");
    cji_PFN_cuLinkAddData real;
    void *entry = cj_driver_symbol(fake.device, "cuLinkAddData_v2");
    memcpy(&real, &entry, sizeof real);
    if (type == CU_JIT_INPUT_PTX && (!at || sscanf(at, ".version %d.%d", &major, &minor) != 2 ||
                                     major * 10 + minor > fake.ptx)) {
        fake.rejected++;
        return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    }
    return real(state, type, data, size, name, n, options, values);
}

/* A function as dlsym returns it. */
#define ENTRY(fn)                     \
    do {                              \
        __typeof__(&fn) typed_ = fn;  \
        void *entry_;                 \
        memcpy(&entry_, &typed_, sizeof entry_); \
        return entry_;                \
    } while (0)

static void *fake_symbol(void *user, const char *symbol)
{
    const int row = cji_cu_find_export(symbol);
    (void)user;
    if (row >= 0 && cji_cu_rows[row].version > fake.cuda) return NULL;
    if (fake.hidden && !strcmp(fake.hidden, symbol)) return NULL;
    if (!strcmp(symbol, "cuInit")) ENTRY(fake_init);
    if (!strcmp(symbol, "cuDriverGetVersion")) ENTRY(fake_version);
    if (!strcmp(symbol, "cuLinkAddData_v2")) ENTRY(fake_link);
    return cj_driver_symbol(fake.device, symbol);
}

/* -- What is done with each version -------------------------------------------------------------------------------- */

typedef struct bench {
    cj_device *dev;
    cj_stream *s;
    cj_ptx *m;
    cj_kernel *k; /* more(x, by, n): x[i] += by */
    cj_dptr d;    /* N numbers */
} bench;

enum { N = 256, MESSAGE = 480 };

static cj_kernel *load(bench *b)
{
    b->m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(b->m, "more");
    cj_val x = cj_param_ptr(f, "x", CJ_U32), by = cj_param(f, "by", CJ_U32), n = cj_param(f, "n", CJ_U32);
    cj_val i = cj_global_id(f, CJ_X);
    cj_if(f, cj_lt(f, i, n));
        cj_set(f, x, i, cj_add(f, cj_get(f, x, i), by));
    cj_end(f);
    return cj_kernel_load(b->dev, b->m, "more", NULL);
}

static uint32_t first(bench *b)
{
    uint32_t h[N] = { 0 };
    cj_copy_to_host(b->s, h, b->d, sizeof h);
    if (cj_stream_sync(b->s) != CJ_OK) return 999;
    for (int i = 1; i < N; i++)
        if (h[i] != h[0]) return 998;
    return h[0];
}

static cj_status failure(const void *object) { return (cj_status)cj_error_of(object)->status; }

/* Each returns what its feature said and leaves the message in *says; CJ_OK: it worked. */
static cj_status take(const void *object, cj_status status, char *says)
{
    snprintf(says, MESSAGE, "%s", status == CJ_OK ? "" : cj_error_of(object)->message);
    return status;
}

static cj_status do_launch(bench *b, char *says)
{
    cj_fill32(b->s, b->d, 5, N);
    cj_launch(b->s, b->k, cj_threads(N, 64), b->d, 2u, (uint32_t)N);
    cj_status status = take(b->s, cj_stream_sync(b->s), says);
    return status == CJ_OK && first(b) != 7 ? CJ_EINVAL : status;
}

static cj_status do_capture(bench *b, char *says)
{
    cj_fill32(b->s, b->d, 1, N);
    cj_capture_begin(b->s, CJ_CAPTURE_THREAD);
    cj_launch(b->s, b->k, cj_threads(N, 64), b->d, 2u, (uint32_t)N);
    cj_fill32(b->s, cj_offset(b->d, 0), 4, N);
    cj_launch(b->s, b->k, cj_threads(N, 64), b->d, 3u, (uint32_t)N);
    cj_graph *g = cj_capture_end(b->s);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_launch(b->s, x);
    cj_graph_launch(b->s, x);
    cj_status status = take(x, failure(x), says);
    if (status == CJ_OK) status = take(b->s, cj_stream_sync(b->s), says);
    if (status == CJ_OK && first(b) != 7) status = CJ_EINVAL;
    if (status == CJ_OK) status = take(x, cj_graph_exec_update(x, g), says);
    cj_graph_exec_free(x);
    cj_graph_free(g);
    return status;
}

static cj_status do_memory(bench *b, char *says)
{
    cj_dptr d = cj_alloc(b->s, 1 << 16), m = cj_managed_alloc(b->s, 4096);
    cj_fill8(b->s, d, 1, 1 << 16);
    cj_free(b->dev, d);
    cj_free(b->dev, m);
    void *h = cj_host_alloc(b->dev, 4096, NULL);
    cj_host_free(b->dev, h);
    if (!d.addr || !m.addr || !h) return take(b->dev, failure(b->dev), says);
    return take(b->s, cj_stream_sync(b->s), says);
}

static cj_status do_events(bench *b, char *says)
{
    cj_event *e = cj_event_create(b->dev, NULL);
    cj_stream *t = cj_stream_create(b->dev, NULL);
    cj_event_record(e, b->s);
    cj_stream_wait(t, e);
    cj_status status = take(t, cj_stream_sync(t), says);
    cj_stream_free(t);
    cj_event_free(e);
    return status;
}

static cj_status do_write_value(bench *b, char *says)
{
    cj_status status = take(b->s, cj_stream_write_value32(b->s, b->d, 3), says);
    cj_stream_sync(b->s);
    return status;
}

static cj_status do_mem_ops(bench *b, char *says)
{
    const cj_mem_op op = { .kind = CJ_MEM_OP_WRITE32, .d = b->d, .value = 3 };
    cj_status status = take(b->s, cj_stream_mem_ops(b->s, &op, 1), says);
    cj_stream_sync(b->s);
    return status;
}

static cj_status do_cooperative(bench *b, char *says)
{
    cj_dims dims = cj_grid(1, 32);
    dims.cooperative = 1;
    cj_status status = take(b->s, cj_launch(b->s, b->k, dims, b->d, 2u, (uint32_t)N), says);
    cj_stream_sync(b->s);
    return status;
}

static cj_status do_kernel_node(bench *b, char *says)
{
    cj_graph *g = cj_graph_create(b->dev);
    cj_graph_kernel(g, NULL, b->k, cj_threads(N, 64), b->d, 2u, (uint32_t)N);
    cj_status status = take(g, failure(g), says);
    cj_graph_free(g);
    return status;
}

static cj_status do_enable(bench *b, char *says)
{
    cj_graph *g = cj_graph_create(b->dev);
    cj_node *n = cj_graph_fill_2d(g, NULL, b->d, 64, 1, 3, 16, 4);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_status status = take(x, cj_graph_exec_enable(x, n, 0), says);
    cj_graph_exec_free(x);
    cj_graph_free(g);
    return status;
}

static cj_status do_while(bench *b, char *says)
{
    cj_graph *g = cj_graph_create(b->dev), *body = NULL;
    const uint64_t more = cj_graph_condition(g, 1);
    cj_status status = take(g, failure(g), says);
    if (more) cj_graph_while(g, NULL, &body, more), status = take(g, failure(g), says);
    cj_graph_free(g);
    return status;
}

static cj_status do_capture_into(bench *b, char *says)
{
    cj_graph *g = cj_graph_create(b->dev);
    cj_status status = take(b->s, cj_capture_begin_opts(b->s, CJ_CAPTURE(.into = g)), says);
    if (status == CJ_OK) cj_graph_free(cj_capture_end(b->s));
    cj_graph_free(g);
    cj_stream_sync(b->s);
    return status;
}

/* A module whose one instruction needs that PTX version. */
static cj_status load_newer(bench *b, const char *version, char *says)
{
    char text[300];
    snprintf(text, sizeof text, ".version %s\n.target sm_70\n.address_size 64\n.visible .entry k()\n{\n ret;\n}\n",
             version);
    cj_ptx *m = cj_parse(text, strlen(text), "newer.ptx");
    cj_module *mod = cj_module_load(b->dev, m, NULL);
    cj_status status = take(mod, failure(mod), says);
    cj_module_free(mod);
    cj_ptx_free(m);
    return status;
}
static cj_status do_ptx_78(bench *b, char *says) { return load_newer(b, "7.8", says); }
static cj_status do_ptx_83(bench *b, char *says) { return load_newer(b, "8.3", says); }
static cj_status do_ptx_90(bench *b, char *says) { return load_newer(b, "9.0", says); }

static const struct {
    const char *name;
    int since;         /* the CUDA version that has it */
    cj_status (*run)(bench *b, char *says);
    const char *lacks; /* what an older driver lacks, in the message */
} features[] = {
    { "a launch", 11040, do_launch, "" },
    { "a capture and its graph", 11040, do_capture, "" },
    { "memory", 11040, do_memory, "" },
    { "events", 11040, do_events, "" },
    { "a cooperative launch", 11060, do_cooperative, "has no cuLaunchKernelEx (needs driver 510 or newer)" },
    { "disabled nodes", 11060, do_enable, "has no cuGraphNodeSetEnabled (needs driver 510 or newer)" },
    { "written values", 11070, do_write_value, "has no cuStreamWriteValue32 (needs driver 515 or newer)" },
    { "memory operations", 11070, do_mem_ops, "has no cuStreamBatchMemOp (needs driver 515 or newer)" },
    { "kernel nodes", 12000, do_kernel_node, "has no cuGraphAddKernelNode (needs driver 525 or newer)" },
    { "conditional nodes", 12030, do_while, "has no cuGraphConditionalHandleCreate (needs driver 545 or newer)" },
    { "captures into a graph", 12030, do_capture_into,
      "has no cuStreamBeginCaptureToGraph (needs driver 545 or newer)" },
    { "PTX 7.8", 11080, do_ptx_78, "supports PTX up to" },
    { "PTX 8.3", 12030, do_ptx_83, "supports PTX up to" },
    { "PTX 9.0", 13000, do_ptx_90, "supports PTX up to" },
};

static void test_version(size_t v)
{
    fake.cuda = versions[v].cuda, fake.ptx = versions[v].ptx, fake.rejected = 0;
    const char name[] = { (char)('0' + fake.cuda / 10000), (char)('0' + fake.cuda / 1000 % 10), '.',
                          (char)('0' + fake.cuda / 10 % 10), 0 };
    cj_driver *drv = cj_driver_open_resolver(fake_symbol, NULL);
    tap_is_int(cj_error_of(drv)->status, CJ_OK, "CUDA %s opens (%s)", name, cj_error_of(drv)->message);
    tap_is_int(cj_driver_ptx_version(drv), versions[v].ptx, "CUDA %s compiles that PTX", name);
    tap_is_int(cji_cu_driver_branch(fake.cuda), versions[v].branch, "CUDA %s came with that driver", name);
    bench b = { .dev = cj_device_open(drv, 0, NULL) };
    b.s = cj_stream_create(b.dev, NULL);
    b.k = load(&b);
    b.d = cj_alloc(b.s, N * sizeof(uint32_t));
    cj_fill32(b.s, b.d, 0, N);
    cj_stream_sync(b.s);
    tap_is_int(cj_kernel_params(b.k), 3, "CUDA %s: the parameters of a kernel are known (%s)", name,
               cj_error_of(b.k)->message);
    for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
        char says[MESSAGE] = "";
        const cj_status status = features[i].run(&b, says);
        if (fake.cuda >= features[i].since) {
            tap_is_int(status, CJ_OK, "CUDA %s has %s (%s)", name, features[i].name, says);
        } else {
            tap_is_int(status, CJ_ENOTSUP, "CUDA %s has not %s (%s)", name, features[i].name, says);
            tap_has_str(says, features[i].lacks, "CUDA %s: what is missing for %s", name, features[i].name);
        }
    }
    tap_is_int(fake.rejected, 0, "CUDA %s: the compiler is given no PTX that it rejects", name);
    tap_is_int(cj_stream_sync(b.s), CJ_OK, "CUDA %s: the stream works at the end (%s)", name,
               cj_error_of(b.s)->message);
    cj_free(b.dev, b.d);
    cj_kernel_free(b.k);
    cj_ptx_free(b.m);
    cj_stream_free(b.s);
    cj_device_close(b.dev);
    cj_driver_close(drv);
}

/* Drivers that are none, or lack what every one has. */
static const struct {
    const char *name, *hidden;
    CUresult init;
    int cuda;
    cj_status want;
    const char *says;
} broken[] = {
    { "one without a required entry point", "cuMemAlloc_v2", CUDA_SUCCESS, 12040, CJ_ENODRIVER,
      "has no cuMemAlloc (needs driver 470 or newer)" },
    { "one older than 11.4", NULL, CUDA_SUCCESS, 11020, CJ_ENODRIVER, "(needs driver 470 or newer)" },
    { "a stub", NULL, CUDA_ERROR_STUB_LIBRARY, 13000, CJ_ENODRIVER, "stub library, not a driver" },
    { "versions that do not match", NULL, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 13000, CJ_ENODRIVER,
      "have different versions" },
    { "a package for older drivers", NULL, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, 13000, CJ_ENODRIVER,
      "forward-compatibility package" },
    { "one without an optional entry point", "cuStreamGetId", CUDA_SUCCESS, 13000, CJ_OK, "" },
};

int main(void)
{
    tap_need_device(1);
    tap_plan(0);
    fake.device = cj_driver_open("sim");
    if (cj_error_of(fake.device)->status) tap_bail("%s", cj_error_of(fake.device)->message);
    for (size_t v = 0; v < sizeof versions / sizeof *versions; v++) test_version(v);
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        fake.cuda = broken[i].cuda, fake.hidden = broken[i].hidden, fake.init = broken[i].init;
        cj_driver *drv = cj_driver_open_resolver(fake_symbol, NULL);
        tap_is_int(cj_error_of(drv)->status, broken[i].want, "%s: status", broken[i].name);
        tap_has_str(cj_error_of(drv)->message, broken[i].says, "%s: message", broken[i].name);
        cj_driver_close(drv);
    }
    cj_driver_close(fake.device);
    return tap_done();
}
