/* A launch of a product behind others enqueues what it would enqueue alone, over a driver of stubs: the same kernel,
 * grid and bytes of each argument, or the same failure.  New addresses alone are put into the tensor maps before; a
 * driver that cannot do this encodes these maps.
 *
 * With the word `cost` it makes the launches whose instructions tests/kernels/launch_cost.sh counts. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cujit/kernels.h>

#include "tests/stub_driver.h"
#include "tests/tap.h"

enum { COST_CALLS = 100, MOST_NAMES = 64, VALUES = 400, M = 256, N = 256, K = 64, USER = 2 };

/* -- Stubs that note what they are called with --------------------------------------------------------------------- */

static char names[MOST_NAMES][64];
static unsigned name_count, encoded, replaced, launched;
static struct launch {
    const char *name;
    unsigned grid[3], block, shared, early;
    size_t n;
    unsigned char values[VALUES * 8];
} seen;
static bool scaled;         /* the object has alpha, beta, C, a bias and a function */
static bool lacks_replace;  /* the driver has no cuTensorMapReplaceAddress */
static bool rejects_replace;

/* Called by all threads that load a product's kernels. */
static CUresult noted_function(CUfunction *out, CUmodule mod, const char *name)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    unsigned i = 0;
    (void)mod;
    pthread_mutex_lock(&lock);
    while (i < name_count && strcmp(names[i], name)) i++;
    if (i == name_count && name_count < MOST_NAMES) snprintf(names[name_count++], sizeof names[0], "%s", name);
    *out = (CUfunction)(void *)names[i];
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

static void note(const void *p, size_t bytes)
{
    if (seen.n + bytes <= sizeof seen.values) memcpy(seen.values + seen.n, p, bytes), seen.n += bytes;
}

static CUresult noted_launch(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                             unsigned shared, CUstream s, void **params, void **extra)
{
    const char *name = (const char *)f;
    bool maps = strstr(name, "wgmma") || strstr(name, "split");
    (void)by, (void)bz, (void)s, (void)extra;
    launched++;
    seen = (struct launch){ .name = name, .grid = { gx, gy, gz }, .block = bx, .shared = shared };
    for (int i = 0; i < 16; i++) note(*params++, i < 9 || i > 12 ? 8 : 4);
    for (int i = 0; scaled && i < 7 + USER; i++) note(*params++, i == 4 || i == 5 || i >= 7 ? 4 : 8);
    for (int i = 0; maps && i < (scaled ? 2 : 3); i++) note(*params++, 128);
    if (maps && !scaled) note(*params, 4);
    return CUDA_SUCCESS;
}

static CUresult noted_encode(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                             const cuuint64_t *extent, const cuuint64_t *stride, const cuuint32_t *tile,
                             const cuuint32_t *step, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                             CUtensorMapL2promotion l2, CUtensorMapFloatOOBfill fill)
{
    const uint64_t all[] = { (uint64_t)(uintptr_t)address, extent[0], extent[1], extent[2], stride[0], stride[1],
                             tile[0], tile[1], (uint64_t)type, rank, (uint64_t)swizzle };
    (void)step, (void)interleave, (void)l2, (void)fill;
    memcpy(map, all, sizeof all);
    encoded++;
    return CUDA_SUCCESS;
}

static CUresult noted_replace(CUtensorMap *map, void *address)
{
    if (rejects_replace) return CUDA_ERROR_INVALID_VALUE;
    map->opaque[0] = (uint64_t)(uintptr_t)address;
    replaced++;
    return CUDA_SUCCESS;
}

static CUresult quick_launch(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                             unsigned shared, CUstream s, void **params, void **extra)
{
    (void)f, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)s, (void)params;
    (void)extra;
    return CUDA_SUCCESS;
}

/* Kernels by tensor maps begin early, so they are launched with an attribute. */
static CUresult noted_launch_ex(const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
    CUresult r = noted_launch(f, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY, c->blockDimZ,
                              c->sharedMemBytes, c->hStream, params, extra);
    for (unsigned i = 0; i < c->numAttrs; i++)
        seen.early |= c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
                      c->attrs[i].value.programmaticStreamSerializationAllowed == 1;
    return r;
}

static CUresult quick_launch_ex(const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
    (void)c, (void)f, (void)params, (void)extra;
    return CUDA_SUCCESS;
}

static CUresult quick_current(CUcontext *ctx) { return *ctx = (CUcontext)(void *)stub_handle, CUDA_SUCCESS; }

static void *noted_symbol(void *user, const char *symbol)
{
    if (!strcmp(symbol, "cuModuleGetFunction")) return (void *)(uintptr_t)noted_function;
    if (!strcmp(symbol, "cuTensorMapEncodeTiled")) return (void *)(uintptr_t)noted_encode;
    if (!strcmp(symbol, "cuTensorMapReplaceAddress"))
        return lacks_replace ? NULL : (void *)(uintptr_t)noted_replace;
    if (!strcmp(symbol, "cuLaunchKernel")) return (void *)(uintptr_t)(user ? quick_launch : noted_launch);
    if (!strcmp(symbol, "cuLaunchKernelEx")) return (void *)(uintptr_t)(user ? quick_launch_ex : noted_launch_ex);
    if (!strcmp(symbol, "cuCtxGetCurrent")) return (void *)(uintptr_t)quick_current;
    return stub_symbol(user, symbol);
}

/* -- Launches behind others ---------------------------------------------------------------------------------------- */

static cj_driver *drv;
static cj_device *dev;
static cj_stream *s;

static cj_gemm *make_product(void)
{
    static const int32_t types[USER] = { CJ_F32, CJ_U32 };
    cj_gemm_opts o = { .size = sizeof o, .type = CJ_BF16, .a_order = CJ_GEMM_ORDER_ROWS };
    o.b_order = CJ_GEMM_ORDER_COLUMNS;
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_func(m, "finish");
    cj_val v = cj_param(f, "v", CJ_F32);
    static const char *const rest[] = { "row", "column", "batch" };
    for (int i = 0; i < 3; i++) cj_param(f, rest[i], CJ_U32);
    cj_val step = cj_param(f, "step", CJ_F32);
    cj_param(f, "from", CJ_U32);
    cj_return_value(f, cj_mul(f, v, step));
    if (scaled) o.scaled = o.bias = 1, o.module = m, o.function = "finish", o.user_types = types, o.user_count = USER;
    cj_gemm *g = cj_gemm_create(dev, &o);
    cj_ptx_free(m);
    return g;
}

static cj_arg user[USER];

static cj_gemm_args first_args(void)
{
    const cj_dptr d = { (uint64_t)(uintptr_t)stub_handle };
    cj_gemm_args a = { .a = { cj_offset(d, 256), 0, 0 }, .b = { cj_offset(d, 512), 1, K },
                       .out = { cj_offset(d, 768), 0, 0 }, .m = M, .n = N, .k = K };
    user[0] = cj_arg_f32(2), user[1] = cj_arg_u(7);
    if (scaled) {
        a.c.data = cj_offset(d, 1024), a.bias = cj_offset(d, 1280), a.alpha = 2, a.beta = 1;
        a.user = user, a.user_count = USER;
    }
    return a;
}

static void move(cj_dptr *d, int64_t by) { *d = cj_offset(*d, by); }

/* What is different from the launch before. */
#define CHANGE(name) static void name(cj_gemm_args *a)
CHANGE(nothing) { (void)a; }
CHANGE(all_moved) { move(&a->a.data, 32), move(&a->b.data, 64), move(&a->out.data, 128); }
CHANGE(a_moved) { move(&a->a.data, 16); }
CHANGE(b_moved) { move(&a->b.data, 16); }
CHANGE(out_moved) { move(&a->out.data, 16); }
CHANGE(out_moved_by_2) { move(&a->out.data, 2); }
CHANGE(a_moved_by_2) { move(&a->a.data, 2); }
CHANGE(a_moved_by_1) { move(&a->a.data, 1); }
CHANGE(a_missing) { a->a.data.addr = 0; }
CHANGE(out_missing) { a->out.data.addr = 0; }
CHANGE(more_rows) { a->m += 64; }
CHANGE(less_k) { a->k = 32; }
CHANGE(no_columns) { a->n = 0; }
CHANGE(b_with_gaps) { a->b.step = K + 8; }
CHANGE(batches) { a->batches = 3, a->a_batch = M * K, a->out_batch = M * N; }
CHANGE(alpha_without_scaled) { a->alpha = 0.5; }
CHANGE(c_moved) { move(&a->c.data, 16); }
CHANGE(c_moved_by_1) { move(&a->c.data, 1); }
CHANGE(c_missing) { a->c.data.addr = 0; }
CHANGE(bias_moved) { move(&a->bias, 16); }
CHANGE(bias_missing) { a->bias.addr = 0; }
CHANGE(another_alpha) { a->alpha = -3; }
CHANGE(another_beta) { a->beta = 0.25; }
CHANGE(beta_of_0) { a->beta = 0; }
CHANGE(another_number) { (void)a, user[0] = cj_arg_f32(9); }
CHANGE(a_double) { (void)a, user[0] = cj_arg_f64(0.1); }
CHANGE(an_integer_for_a_float) { (void)a, user[0] = cj_arg_u(0); }
CHANGE(too_large) { (void)a, user[1] = cj_arg_u(UINT64_C(1) << 40); }
CHANGE(one_user_argument) { a->user_count = 1; }
CHANGE(no_user_arguments) { a->user = NULL; }

/* plain, with_all: for which of the two objects.  maps: how many have another address; -1: any are encoded. */
static const struct change {
    const char *name;
    void (*change)(cj_gemm_args *);
    bool plain, with_all;
    int maps;
} changes[] = {
    { "nothing", nothing, true, true, 0 },
    { "all moved", all_moved, true, false, 3 },
    { "all moved, the result without a map", all_moved, false, true, 2 },
    { "A moved", a_moved, true, true, 1 },
    { "B moved", b_moved, true, true, 1 },
    { "the result moved", out_moved, true, false, 1 },
    { "the result moved, which no map stores", out_moved, false, true, 0 },
    { "the result moved by 2 bytes", out_moved_by_2, true, true, -1 },
    { "A moved by 2 bytes", a_moved_by_2, true, true, -1 },
    { "A moved by a byte", a_moved_by_1, true, true, -1 },
    { "A missing", a_missing, true, true, -1 },
    { "the result missing", out_missing, true, true, -1 },
    { "more rows", more_rows, true, true, -1 },
    { "less k", less_k, true, true, -1 },
    { "no columns", no_columns, true, true, -1 },
    { "B with gaps", b_with_gaps, true, true, -1 },
    { "batches", batches, true, true, -1 },
    { "alpha without .scaled", alpha_without_scaled, true, false, -1 },
    { "C moved", c_moved, false, true, 0 },
    { "C moved by a byte", c_moved_by_1, false, true, -1 },
    { "C missing", c_missing, false, true, -1 },
    { "the bias moved", bias_moved, false, true, 0 },
    { "the bias missing", bias_missing, false, true, -1 },
    { "another alpha", another_alpha, false, true, 0 },
    { "another beta", another_beta, false, true, 0 },
    { "beta of 0", beta_of_0, false, true, -1 },
    { "another number for the function", another_number, false, true, 0 },
    { "a double for the function", a_double, false, true, 0 },
    { "an integer where the function takes f32", an_integer_for_a_float, false, true, -1 },
    { "a number that is too large", too_large, false, true, -1 },
    { "one of the function's arguments", one_user_argument, false, true, -1 },
    { "the function's arguments missing", no_user_arguments, false, true, -1 },
};

/* Launches, and returns what was enqueued, or the failure. */
static struct launch launch_of(cj_gemm *g, const cj_gemm_args *a, char message[300])
{
    seen = (struct launch){ .name = "none" };
    cj_status st = cj_gemm_launch(s, g, a);
    const char *why = st ? strchr(cj_error_of(s)->message, ':') : ""; /* behind the call, which may be a launch's own */
    snprintf(message, 300, "%d %s", (int)st, why ? why : "");
    cj_error_clear(s);
    return seen;
}

static void behind_others(cj_gemm *g, const struct change *c)
{
    char message[2][300];
    cj_gemm *alone = make_product();
    cj_gemm_args a = first_args(), b = a;
    launch_of(g, &a, message[0]);
    launch_of(g, &a, message[0]);
    c->change(&b);
    encoded = replaced = 0;
    const struct launch behind = launch_of(g, &b, message[0]);
    const unsigned maps = lacks_replace ? encoded : replaced, others = lacks_replace ? replaced : encoded;
    const struct launch again = launch_of(g, &b, message[0]), single = launch_of(alone, &b, message[1]);
    tap_is_str(message[0], message[1], "%s: the same status", c->name);
    tap_ok(!strcmp(behind.name, single.name) && !memcmp(&behind.grid, &single.grid, sizeof behind - sizeof behind.name),
           "%s: the same is enqueued as alone, %s", c->name, single.name);
    tap_ok(!memcmp(&again.grid, &single.grid, sizeof again - sizeof again.name), "%s: and once more", c->name);
    if (c->maps >= 0) {
        tap_is_uint(maps, (unsigned)c->maps, "%s: so many maps have another address", c->name);
        tap_is_uint(others, 0, "%s: the others stay", c->name);
    }
    cj_gemm_args back = first_args();
    const struct launch first = launch_of(g, &back, message[0]), of_alone = launch_of(alone, &back, message[1]);
    tap_ok(!memcmp(&first.grid, &of_alone.grid, sizeof first - sizeof first.name), "%s: and the first one again",
           c->name);
    cj_gemm_free(alone);
}

/* A result that no map stores, as it is not aligned to 16 bytes, moves: there is no map to change. */
static void moved_without_a_map(cj_gemm *g)
{
    char message[300];
    cj_gemm *alone = make_product();
    cj_gemm_args a = first_args(), b = a;
    out_moved_by_2(&a), out_moved_by_2(&b), out_moved(&b);
    launch_of(g, &a, message);
    encoded = replaced = 0;
    const struct launch behind = launch_of(g, &b, message);
    tap_is_uint(encoded + replaced, 0, "a result without a map moved: no map changes");
    const struct launch single = launch_of(alone, &b, message);
    tap_ok(!memcmp(&behind.grid, &single.grid, sizeof behind - sizeof behind.name), "... as if launched alone");
    cj_gemm_free(alone);
}

/* Bytes that a user's argument points at are read at each launch. */
static void bytes_are_read(void)
{
    float number = 3;
    char message[300];
    cj_gemm *g = make_product();
    cj_gemm_args a = first_args();
    user[0] = cj_arg_bytes(&number, sizeof number);
    struct launch one = launch_of(g, &a, message);
    number = 4;
    struct launch two = launch_of(g, &a, message);
    number = 3;
    tap_ok(one.n && memcmp(one.values, two.values, one.n), "bytes of the user's are read at each launch");
    two = launch_of(g, &a, message);
    tap_ok(!memcmp(one.values, two.values, one.n), "... and again: %s", message);
    cj_gemm_free(g);
}

/* -- What is counted ----------------------------------------------------------------------------------------------- */

#define SITE __attribute__((noinline))
SITE void cost_launch(cj_kernel *k, const cj_tensor_map map[3], cj_dptr d);
SITE void cost_product(cj_gemm *g, const cj_gemm_args *a);
SITE void cost_moved(cj_gemm *g, const cj_gemm_args *a);

/* As many bytes of arguments as a product on path wgmma. */
SITE void cost_launch(cj_kernel *k, const cj_tensor_map map[3], cj_dptr d)
{
    cj_launch(s, k, cj_grid(2, 384), d, 64, 1, d, 1, 64, d, 256, 1, 256u, 256u, 64u, 1u, 0, 0, 0,
              cj_arg_tensor_map(&map[0]), cj_arg_tensor_map(&map[1]), cj_arg_tensor_map(&map[2]), 1u);
}

SITE void cost_product(cj_gemm *g, const cj_gemm_args *a) { cj_gemm_launch(s, g, a); }

/* With other memory for A, B and the result than in the launches that are noted. */
SITE void cost_moved(cj_gemm *g, const cj_gemm_args *a) { cj_gemm_launch(s, g, a); }

static cj_ptx *peer_module(void)
{
    static const char *const pointers[] = { "a", "b", "out" }, *const maps[] = { "map_a", "map_b", "map_out" };
    char name[20];
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "peer");
    for (int i = 0; i < 16; i++) {
        snprintf(name, sizeof name, "p%d", i);
        if (i < 9 && i % 3 == 0) cj_param_ptr(f, pointers[i / 3], CJ_F32);
        else cj_param(f, name, i < 9 || i > 12 ? CJ_S64 : CJ_U32);
    }
    for (int i = 0; i < 3; i++) cj_param_tensor_map(f, maps[i]);
    cj_param(f, "by_map", CJ_U32);
    return m;
}

static int count_costs(void)
{
    cj_ptx *m = peer_module();
    cj_kernel *k = cj_kernel_load(dev, m, "peer", NULL);
    cj_gemm *g = make_product();
    const cj_gemm_args a = first_args();
    const cj_tensor_map map[3] = { { { 0 } } };
    for (int i = 0; i < COST_CALLS; i++) {
        cost_launch(k, map, a.a.data);
        cost_product(g, &a);
    }
    for (int i = 1; i <= COST_CALLS; i++) {
        cj_gemm_args b = a;
        move(&b.a.data, i * 256), move(&b.b.data, i * 256), move(&b.out.data, i * 256);
        cost_moved(g, &b);
    }
    cj_status st = cj_stream_sync(s);
    if (st != CJ_OK) fprintf(stderr, "repeated_launches: %s\n", cj_error_of(s)->message);
    cj_gemm_free(g);
    cj_kernel_free(k);
    cj_ptx_free(m);
#ifdef __OPTIMIZE__
    printf("optimised\n");
#endif
    return st != CJ_OK;
}

static void open_stubs(void *cost)
{
    drv = cj_driver_open_resolver(noted_symbol, cost);
    dev = cj_device_open(drv, 0, NULL);
    s = cj_stream_create(dev, NULL);
}

static void close_stubs(void)
{
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
}

/* A driver that rejects an address: nothing is enqueued, and nothing of it is noted. */
static void a_rejected_address(void)
{
    char message[300];
    lacks_replace = scaled = false;
    open_stubs(NULL);
    cj_gemm *g = make_product();
    cj_gemm_args a = first_args(), moved = a;
    all_moved(&moved);
    const struct launch one = launch_of(g, &a, message);
    rejects_replace = true;
    const struct launch none = launch_of(g, &moved, message);
    tap_is_str(none.name, "none", "a rejected address: nothing is enqueued");
    tap_has_str(message, "cuTensorMapReplaceAddress", "... the driver's call is named");
    rejects_replace = false;
    const struct launch again = launch_of(g, &a, message), other = launch_of(g, &moved, message);
    tap_ok(!memcmp(&again.grid, &one.grid, sizeof again - sizeof again.name), "... the launch before can be repeated");
    tap_ok(!strcmp(other.name, one.name) && memcmp(other.values, one.values, other.n), "... and so can this one: %s",
           message);
    cj_gemm_free(g);
    close_stubs();
}

/* On both objects, over a driver with or without cuTensorMapReplaceAddress. */
static void behind_all_others(bool lacks)
{
    lacks_replace = lacks;
    open_stubs(NULL);
    for (int all = 0; all < 2; all++) {
        scaled = all;
        cj_gemm *g = make_product();
        tap_is_int(cj_error_of(g)->status, CJ_OK, "a product is made: %s", cj_error_of(g)->message);
        for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
            if (all ? changes[i].with_all : changes[i].plain) behind_others(g, &changes[i]);
        moved_without_a_map(g);
        cj_gemm_free(g);
    }
    bytes_are_read();
    close_stubs();
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "cost")) {
        open_stubs(stub_handle);
        const int status = count_costs();
        close_stubs();
        return status;
    }
    tap_plan(0);
    behind_all_others(false);
    behind_all_others(true);
    a_rejected_address();
    tap_ok(launched > 0, "%u launches", launched);
    return tap_done();
}
