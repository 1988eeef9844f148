/* ldmatrix, stmatrix and movmatrix give each lane the elements that the PTX manual's figures name, and write them where
 * it says. Rows lie 32 bytes apart, so that matrices do not follow each other. */
#include <string.h>

#include <cujit/cujit.h>

#include "tests/tap.h"

enum { LANES = 32, SIDE = 8, MOST = 4, ROWS = MOST * SIDE, PITCH = 16, SHARED = ROWS * PITCH };

static const struct move {
    const char *name;
    unsigned count;
    int load_transposed, store_transposed;
    bool mov;                  /* movmatrix between */
} moves[] = {
    { "one", 1, 0, 0, false },
    { "two", 2, 0, 0, false },
    { "four", 4, 0, 0, false },
    { "four, loaded transposed", 4, 1, 0, false },
    { "two, stored transposed", 2, 0, 1, false },
    { "one, transposed twice", 1, 1, 1, false },
    { "one, by movmatrix", 1, 0, 0, true },
    { "one, transposed three times", 1, 1, 1, true },
};

static cj_device *dev;
static cj_stream *s;
static uint16_t in[SHARED], out[SHARED];
static uint32_t seen[MOST][LANES];

/* Kernel "k"(in, out, seen): shared memory from `in`, matrices loaded, `seen` by each lane, stored to a second array,
 * which goes to `out`. */
static cj_ptx *module_of(const struct move *c)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val from = cj_param_ptr(f, "in", CJ_U32), to = cj_param_ptr(f, "out", CJ_U32),
           view = cj_param_ptr(f, "seen", CJ_U32), lane = cj_thread_id(f, CJ_X), matrices, area[2], place[2];
    for (int i = 0; i < 2; i++) {
        area[i] = cj_shared(f, i ? "stored" : "loaded", CJ_U32, SHARED / 2);
        cj_var_align(f, area[i], 16);
        cj_val base = cj_addr(f, cj_at(f, area[i], cj_mul(f, lane, PITCH / 2)));
        for (int j = 0; j < PITCH / 2; j++) {
            cj_val v = cj_get(f, i ? to : from, cj_mad(f, lane, PITCH / 2, j));
            cj_set(f, area[i], cj_mad(f, lane, PITCH / 2, j), v);
        }
        place[i] = base;
    }
    cj_block_sync(f);
    cj_matrix_load(f, c->count, c->load_transposed, place[0], &matrices);
    if (c->mov)
        cj_ins(f, "movmatrix.sync.aligned.m8n8.trans.b16", cj_elem(f, matrices, 0), cj_elem(f, matrices, 0));
    for (unsigned i = 0; i < c->count; i++)
        cj_set(f, view, cj_add(f, lane, i * LANES), cj_elem(f, matrices, i));
    cj_matrix_store(f, c->count, c->store_transposed, place[1], matrices);
    cj_block_sync(f);
    for (int j = 0; j < PITCH / 2; j++) {
        cj_val at = cj_mad(f, lane, PITCH / 2, j);
        cj_set(f, to, at, cj_get(f, area[1], at));
    }
    return m;
}

static void run(const struct move *c)
{
    cj_ptx *m = module_of(c);
    cj_kernel *k = cj_kernel_load(dev, m, "k", NULL);
    cj_dptr from = cj_alloc(s, sizeof in), to = cj_alloc(s, sizeof out), view = cj_alloc(s, sizeof seen);
    cj_copy_to_device(s, from, in, sizeof in);
    cj_copy_to_device(s, to, out, sizeof out);
    cj_launch(s, k, cj_grid(1, LANES), from, to, view);
    cj_copy_to_host(s, out, to, sizeof out);
    cj_copy_to_host(s, seen, view, sizeof seen);
    if (cj_stream_sync(s) != CJ_OK) tap_bail("%s: %s", c->name, cj_error_of(s)->message);
    cj_free(dev, from);
    cj_free(dev, to);
    cj_free(dev, view);
    cj_kernel_free(k);
    cj_ptx_free(m);
}

static void check(const struct move *c)
{
    unsigned wrong_lanes = 0, wrong_stores = 0;
    bool turned = c->load_transposed ^ c->mov, back = turned ^ c->store_transposed;
    for (unsigned i = 0; i < SHARED; i++) {
        in[i] = (uint16_t)(i * 40503u + 7);
        out[i] = 0xabcd;
    }
    run(c);
    for (unsigned n = 0; n < c->count; n++)
        for (unsigned lane = 0; lane < LANES; lane++)
            for (unsigned half = 0; half < 2; half++) {
                unsigned row = lane / 4, column = lane % 4 * 2 + half,
                         at = n * SIDE * PITCH + (turned ? column * PITCH + row : row * PITCH + column);
                wrong_lanes += (uint16_t)(seen[n][lane] >> 16 * half) != in[at];
            }
    for (unsigned i = 0; i < SHARED; i++) {
        unsigned row = i / PITCH % SIDE, column = i % PITCH, n = i / (SIDE * PITCH);
        bool written = column < SIDE && n < c->count;
        unsigned at = n * SIDE * PITCH + (back ? column * PITCH + row : row * PITCH + column);
        wrong_stores += out[i] != (written ? in[at] : 0xabcd);
    }
    tap_is_uint(wrong_lanes, 0, "%s: what lanes have", c->name);
    tap_is_uint(wrong_stores, 0, "%s: what is stored", c->name);
}

int main(void)
{
    tap_need_device(1);
    cj_driver *drv = cj_driver_open(NULL);
    dev = cj_device_open(drv, 0, NULL);
    cj_device_info info = { .size = sizeof info };
    if (cj_device_get_info(dev, &info) != CJ_OK || info.sm_major < 9)
        tap_skip_all("stmatrix wants compute capability 9.0");
    tap_plan(0);
    s = cj_stream_create(dev, NULL);
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) check(&moves[i]);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
