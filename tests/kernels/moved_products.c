/* Products launched with other memory than the launch before, which is noted: only the addresses in their tensor maps
 * and arguments differ.  Results are compared with plain C.  On the CPU device memory that a kernel must not read makes
 * such a launch fail as it makes any other one. */
#include <stdlib.h>
#include <string.h>

#include <cujit/kernels.h>

#include "tests/tap.h"

enum { SIDE = 64, PLACES = 3, ELEMENTS = SIDE * SIDE, AHEAD = 8 /* elements in front, for other alignments */ };
enum { ROOM = PLACES * ELEMENTS + AHEAD };

static cj_driver *drv;
static cj_device *dev;
static cj_stream *s;
static bool maps;            /* the device has path wgmma */
static cj_dptr a, b, c, out; /* PLACES matrices each, of bf16 and of f32 */
static uint16_t in[2][ROOM];
static float add_to[ROOM], got[ROOM];

static float value_of(uint16_t bits)
{
    uint32_t w = (uint32_t)bits << 16;
    float x;
    memcpy(&x, &w, sizeof x);
    return x;
}

/* Whole numbers from -4 to 4. */
static void fill(void)
{
    for (size_t i = 0; i < ROOM; i++) {
        const float x[] = { (float)(i * 7 % 9) - 4, (float)(i * 5 % 7) - 3 };
        for (int m = 0; m < 2; m++) {
            uint32_t w;
            memcpy(&w, &x[m], sizeof w);
            in[m][i] = (uint16_t)(w >> 16);
        }
        add_to[i] = (float)(i % 11);
    }
    cj_copy_to_device(s, a, in[0], sizeof in[0]);
    cj_copy_to_device(s, b, in[1], sizeof in[1]);
    cj_copy_to_device(s, c, add_to, sizeof add_to);
}

static void open_device(void)
{
    drv = cj_driver_open(NULL);
    dev = cj_device_open(drv, 0, NULL);
    s = cj_stream_create(dev, NULL);
    a = cj_alloc(s, sizeof in[0]), b = cj_alloc(s, sizeof in[1]);
    c = cj_alloc(s, sizeof add_to), out = cj_alloc(s, sizeof got);
    fill();
    if (cj_stream_sync(s) != CJ_OK) tap_bail("%s", cj_error_of(s)->message);
}

static void close_device(void)
{
    const cj_dptr all[] = { a, b, c, out };
    for (int i = 0; i < 4; i++) cj_free(dev, all[i]);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
}

/* Where the four matrices are: elements behind the beginnings. */
typedef struct places { size_t a, b, c, out; } places;

static cj_gemm_args args_at(places at, bool scaled)
{
    return (cj_gemm_args){ .a = { cj_offset(a, (int64_t)at.a * 2), 0, 0 },
                           .b = { cj_offset(b, (int64_t)at.b * 2), 1, SIDE },
                           .c = { scaled ? cj_offset(c, (int64_t)at.c * 4) : (cj_dptr){ 0 }, 0, 0 },
                           .out = { cj_offset(out, (int64_t)at.out * 4), 0, 0 },
                           .alpha = scaled ? 2 : 0, .beta = scaled, .m = SIDE, .n = SIDE, .k = SIDE };
}

static float sum_at(places at, bool scaled, size_t row, size_t column)
{
    float sum = 0;
    for (size_t k = 0; k < SIDE; k++)
        sum += value_of(in[0][at.a + row * SIDE + k]) * value_of(in[1][at.b + column * SIDE + k]);
    return scaled ? 2 * sum + add_to[at.c + row * SIDE + column] : sum;
}

static void launch_at(cj_gemm *g, places at, bool scaled, cj_status wants, const char *name)
{
    const cj_gemm_args args = args_at(at, scaled);
    size_t wrong = 0;
    for (size_t i = 0; i < ROOM; i++) got[i] = -9999;
    cj_copy_to_device(s, out, got, sizeof got);
    const cj_status st = cj_gemm_launch(s, g, &args);
    tap_is_int(st, wants, "%s: %s", name, cj_error_of(s)->message);
    cj_error_clear(s);
    cj_copy_to_host(s, got, out, sizeof got);
    if (cj_stream_sync(s) != CJ_OK) tap_bail("%s: %s", name, cj_error_of(s)->message);
    for (size_t i = 0; i < ROOM; i++) {
        const bool inside = !st && i >= at.out && i < at.out + ELEMENTS;
        const size_t k = i - at.out;
        wrong += got[i] != (inside ? sum_at(at, scaled, k / SIDE, k % SIDE) : -9999);
    }
    tap_is_uint(wrong, 0, "%s: the result is right, and nothing else is written", name);
}

/* `maps`: what a launch by tensor maps alone answers. */
static const struct change { const char *name; places at; cj_status maps; } changes[] = {
    { "A moved", { ELEMENTS, 0, 0, 0 }, CJ_OK },
    { "B moved", { 0, ELEMENTS, 0, 0 }, CJ_OK },
    { "C moved", { 0, 0, ELEMENTS, 0 }, CJ_OK },
    { "the result moved", { 0, 0, 0, ELEMENTS }, CJ_OK },
    { "all moved", { ELEMENTS, 2 * ELEMENTS, ELEMENTS, 2 * ELEMENTS }, CJ_OK },
    { "all moved by 16 bytes", { 8, 8, 4, 4 }, CJ_OK },
    { "A moved by an element", { 1, 0, 0, 0 }, CJ_ENOTSUP },
    { "B moved by an element", { 0, ELEMENTS + 1, 0, 0 }, CJ_ENOTSUP },
    { "C moved by an element", { 0, 0, 1, 0 }, CJ_OK },
    { "the result moved by an element", { 0, 0, 0, 1 }, CJ_OK },
};

static cj_gemm *make(int path, bool scaled)
{
    cj_gemm *g = cj_gemm_create(dev, CJ_GEMM(.type = CJ_BF16, .out_type = CJ_F32, .path = path, .scaled = scaled,
                                             .m = SIDE, .n = SIDE, .k = SIDE, .a_order = CJ_GEMM_ORDER_ROWS,
                                             .b_order = CJ_GEMM_ORDER_COLUMNS));
    if (cj_error_of(g)->status) tap_bail("%s", cj_error_of(g)->message);
    return g;
}

static void check_changes(int path, bool scaled)
{
    const places first = { 0, 0, 0, 0 };
    cj_gemm *g = make(path, scaled);
    launch_at(g, first, scaled, CJ_OK, "the first launch");
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        if (maps && path == CJ_GEMM_AUTO && changes[i].maps == CJ_OK) continue; /* path wgmma does these */
        const cj_status wants = path == CJ_GEMM_WGMMA ? changes[i].maps : CJ_OK;
        launch_at(g, changes[i].at, scaled, wants, changes[i].name);
        launch_at(g, changes[i].at, scaled, wants, changes[i].name);
        launch_at(g, first, scaled, CJ_OK, "the first one again");
    }
    cj_gemm_free(g);
}

/* Captured behind a noted launch: the graph has the map of its own memory. */
static void check_captured(void)
{
    const places first = { 0, 0, 0, 0 }, moved = { ELEMENTS, ELEMENTS, 0, ELEMENTS };
    const cj_gemm_args args = args_at(moved, false);
    size_t wrong = 0;
    cj_gemm *g = make(CJ_GEMM_WGMMA, false);
    launch_at(g, first, false, CJ_OK, "before a capture");
    cj_capture_begin(s, CJ_CAPTURE_GLOBAL);
    tap_is_int(cj_gemm_launch(s, g, &args), CJ_OK, "all moved, in a capture: %s", cj_error_of(s)->message);
    cj_graph *graph = cj_capture_end(s);
    cj_graph_exec *x = cj_graph_instantiate(graph, NULL);
    launch_at(g, first, false, CJ_OK, "behind a capture");
    cj_graph_launch(s, x);
    cj_copy_to_host(s, got, out, sizeof got);
    tap_is_int(cj_stream_sync(s), CJ_OK, "the graph runs: %s", cj_error_of(s)->message);
    for (size_t i = 0; i < ELEMENTS; i++) wrong += got[ELEMENTS + i] != sum_at(moved, false, i / SIDE, i % SIDE);
    tap_is_uint(wrong, 0, "... with its own memory");
    cj_graph_exec_free(x);
    cj_graph_free(graph);
    cj_gemm_free(g);
}

/* -- Memory that is not there -------------------------------------------------------------------------------------- */

typedef enum where { SMALLER, FREED, OF_ANOTHER_DEVICE } where;

/* Each loses the context, so each has a driver of its own. */
static void check_fault(where w, const char *name)
{
    open_device();
    cj_device *other = cj_device_open(drv, 1, NULL);
    cj_stream *t = cj_stream_create(other, NULL);
    cj_gemm *g = make(CJ_GEMM_WGMMA, false);
    cj_gemm_args args = args_at((places){ 0, 0, 0, 0 }, false);
    cj_dptr bad = w == OF_ANOTHER_DEVICE ? cj_alloc(t, sizeof in[0]) : cj_alloc(s, w == SMALLER ? 256 : sizeof in[0]);
    cj_stream_sync(t);
    tap_is_int(cj_gemm_launch(s, g, &args), CJ_OK, "%s: a launch before: %s", name, cj_error_of(s)->message);
    if (w == FREED) cj_free(dev, bad);
    if (cj_stream_sync(s) != CJ_OK) tap_bail("%s: %s", name, cj_error_of(s)->message);
    cj_device_collect(dev);
    args.a.data = bad;
    cj_gemm_launch(s, g, &args);
    tap_is_int(cj_stream_sync(s), CJ_EDRIVER, "%s: the launch fails", name);
    tap_has_str(cj_error_of(s)->message, "wgmma", "%s: ... the message names the kernel", name);
    if (w == OF_ANOTHER_DEVICE) cj_free(other, bad);
    cj_gemm_free(g);
    cj_stream_free(t);
    cj_device_close(other);
    cj_device *again = cj_device_reset(dev);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_device_close(again);
    cj_driver_close(drv);
}

int main(void)
{
    setenv("CUJIT_SIM_DEVICES", "2", 1);
    setenv("CUJIT_ALLOCATOR", "driver", 1); /* each allocation has its own end */
    tap_need_device(1);
    tap_plan(0);
    open_device();
    cj_device_info info = { .size = sizeof info };
    cj_device_get_info(dev, &info);
    maps = info.sm_major == 9;
    check_changes(CJ_GEMM_AUTO, false);
    check_changes(CJ_GEMM_AUTO, true);
    for (int scaled = 0; maps && scaled < 2; scaled++)
        check_changes(CJ_GEMM_WGMMA, scaled);
    if (maps) check_captured();
    close_device();
    if (maps && !tap_on_gpu()) {
        check_fault(SMALLER, "smaller memory");
        check_fault(FREED, "freed memory");
        check_fault(OF_ANOTHER_DEVICE, "memory of another device");
    }
    return tap_done();
}
