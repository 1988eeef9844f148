/* Copies between arrays, device memory and host memory of both kinds: boxes of every shape arrive where they belong,
 * through captures too, and what does not fit is rejected with the figures. */
#include <stdlib.h>
#include <string.h>

#include "tests/device_bench.h"

enum { W = 12, H = 7, D = 5, ALL = W * H * D };

static uint32_t in[D][H][W], out[D][H][W];

static void count_up(void)
{
    for (uint32_t i = 0; i < ALL; i++) ((uint32_t *)in)[i] = i + 1;
    memset(out, 0, sizeof out);
}

/* -- Boxes --------------------------------------------------------------------------------------------------------- */

typedef struct box { const char *name; size_t x, y, z, width, height, depth; } box;
static const box boxes[] = {
    { "all of it", 0, 0, 0, 0, 0, 0 },
    { "the rest from an offset on", 3, 2, 1, 0, 0, 0 },
    { "one element", 11, 6, 4, 1, 1, 1 },
    { "a row", 0, 3, 2, 12, 1, 1 },
    { "a column", 4, 0, 1, 1, 7, 1 },
    { "a slice", 0, 0, 3, 12, 7, 1 },
    { "a box inside", 2, 1, 1, 5, 4, 3 },
};

/* Which of the elements that are not in the box are 0, and which in it are right. */
static size_t wrong_elements(const box *b)
{
    const size_t w = b->width ? b->width : W - b->x, h = b->height ? b->height : H - b->y;
    const size_t n = b->depth ? b->depth : D - b->z;
    size_t wrong = 0;
    for (size_t z = 0; z < D; z++)
        for (size_t y = 0; y < H; y++)
            for (size_t x = 0; x < W; x++) {
                const bool inside = x - b->x < w && y - b->y < h && z - b->z < n;
                wrong += out[z][y][x] != (inside ? in[z][y][x] : 0);
            }
    return wrong;
}

/* Host to array and back, with the pitches of the whole: the box lies at the same place in both. */
static void boxes_pass(cj_array *a, const char *kind, uint32_t *from, uint32_t *to)
{
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++) {
        const box *b = &boxes[i];
        const size_t at = (b->z * H + b->y) * W + b->x;
        count_up();
        if (from != &in[0][0][0]) memcpy(from, in, sizeof in), memset(to, 0, sizeof out);
        cj_copy_array_params p;
        cj_copy_array_params_defaults(&p);
        p.width = b->width, p.height = b->height, p.depth = b->depth;
        p.dst_array = a, p.dst_x = b->x, p.dst_y = b->y, p.dst_z = b->z;
        p.src_host = from + at, p.src_pitch = sizeof in[0][0], p.src_rows = H;
        tap_is_int(cj_copy_array(s, &p), CJ_OK, "%s, %s memory: up: %s", b->name, kind, cj_error_of(s)->message);
        cj_copy_array_params_defaults(&p);
        p.width = b->width, p.height = b->height, p.depth = b->depth;
        p.src_array = a, p.src_x = b->x, p.src_y = b->y, p.src_z = b->z;
        p.dst_host = to + at, p.dst_pitch = sizeof out[0][0], p.dst_rows = H;
        tap_is_int(cj_copy_array(s, &p), CJ_OK, "%s, %s memory: down: %s", b->name, kind, cj_error_of(s)->message);
        tap_is_int(cj_stream_sync(s), CJ_OK, "... both are complete");
        if (to != &out[0][0][0]) memcpy(out, to, sizeof out);
        tap_is_uint(wrong_elements(b), 0, "... and only the box has arrived");
    }
}

/* Device memory to array, to another array at another place, to device memory. */
static void arrays_pass(cj_array *a)
{
    cj_array *b = cj_array_create(dev, CJ_ARRAY(.width = 2 * W, .height = 2 * H, .depth = 2 * D, .type = CJ_S32));
    const cj_dptr from = cj_alloc(s, sizeof in), to = cj_alloc(s, sizeof out);
    count_up();
    cj_copy_to_device(s, from, in, sizeof in);
    cj_fill8(s, to, 0, sizeof out);
    cj_copy_array(s, CJ_COPY_ARRAY(.dst_array = a, .src = from));
    tap_is_int(cj_copy_array(s, CJ_COPY_ARRAY(.width = W, .height = H, .depth = D, .dst_array = b, .dst_x = 9,
                                              .dst_y = 5, .dst_z = 3, .src_array = a)),
               CJ_OK, "an array is copied into another one: %s", cj_error_of(s)->message);
    cj_copy_array(s, CJ_COPY_ARRAY(.width = W, .height = H, .depth = D, .src_array = b, .src_x = 9, .src_y = 5,
                                   .src_z = 3, .dst = to));
    cj_copy_to_host(s, out, to, sizeof out);
    tap_is_int(cj_stream_sync(s), CJ_OK, "through device memory");
    tap_is_mem(out, in, sizeof in, "everything arrives");
    cj_copy_array(s, CJ_COPY_ARRAY(.width = 6, .height = 7, .depth = 5, .dst_array = a, .src_array = a, .src_x = 6));
    cj_copy_array(s, CJ_COPY_ARRAY(.src_array = a, .dst_host = out));
    tap_is_int(cj_stream_sync(s), CJ_OK, "and within one array");
    tap_ok(out[1][2][0] == in[1][2][6] && out[1][2][6] == in[1][2][6], "to where it shall");
    cj_free(dev, from), cj_free(dev, to);
    cj_array_free(b);
}

/* -- Parts --------------------------------------------------------------------------------------------------------- */

/* Pageable memory of more than 8 MiB passes through device memory part by part: slices, and rows of a slice. */
static void parts(void)
{
    static const struct { const char *name; size_t width, height, depth; } rows[] = {
        { "rows of a large slice", 1024, 520, 0 },
        { "two slices at a time", 512, 360, 3 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t n = rows[i].width * rows[i].height * (rows[i].depth ? rows[i].depth : 1);
        cj_array *a = cj_array_create(dev, CJ_ARRAY(.width = rows[i].width, .height = rows[i].height,
                                                    .depth = rows[i].depth, .channels = 4, .type = CJ_U32));
        uint32_t *up = malloc(16 * n), *down = calloc(n, 16);
        if (!up || !down) tap_bail("no memory");
        for (size_t k = 0; k < 4 * n; k++) up[k] = (uint32_t)(k * 2654435761u);
        cj_copy_array(s, CJ_COPY_ARRAY(.dst_array = a, .src_host = up));
        cj_copy_array(s, CJ_COPY_ARRAY(.src_array = a, .dst_host = down));
        tap_is_int(cj_stream_sync(s), CJ_OK, "%s: %s", rows[i].name, cj_error_of(s)->message);
        tap_ok(!memcmp(up, down, 16 * n), "... all of it arrives");
        free(up), free(down);
        cj_array_free(a);
    }
}

/* -- Other shapes -------------------------------------------------------------------------------------------------- */

static const struct { const char *name; cj_array_opts o; size_t slices, rows; } shapes[] = {
    { "1D", { .width = W }, 1, 1 },
    { "2D", { .width = W, .height = H }, 1, H },
    { "layers of 1D", { .width = W, .layers = D }, D, 1 },
    { "layers of 2D", { .width = W, .height = H, .layers = D }, D, H },
};

static void shapes_pass(void)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        cj_array_opts o = shapes[i].o;
        const size_t bytes = 4 * W * shapes[i].rows * shapes[i].slices;
        o.size = sizeof o;
        o.type = CJ_U32;
        cj_array *a = cj_array_create(dev, &o);
        count_up();
        cj_copy_array(s, CJ_COPY_ARRAY(.dst_array = a, .src_host = in));
        cj_copy_array(s, CJ_COPY_ARRAY(.src_array = a, .dst_host = out));
        tap_is_int(cj_stream_sync(s), CJ_OK, "%s: %s", shapes[i].name, cj_error_of(s)->message);
        tap_is_mem(out, in, bytes, "%s: all elements", shapes[i].name);
        cj_array_free(a);
    }
    cj_array *cube = cj_array_create(dev, CJ_ARRAY(.width = 2, .height = 2, .cubemap = 1, .layers = 2, .type = CJ_U32));
    count_up();
    cj_copy_array(s, CJ_COPY_ARRAY(.dst_array = cube, .src_host = in));
    cj_copy_array(s, CJ_COPY_ARRAY(.src_array = cube, .src_z = 6 * 1 + 4, .depth = 1, .dst_host = out));
    tap_is_int(cj_stream_sync(s), CJ_OK, "a face of a cubemap: %s", cj_error_of(s)->message);
    tap_is_mem(out, (uint32_t *)in + 40, 16, "is slice 6 * n + f");
    cj_array_free(cube);
}

/* -- Captures ------------------------------------------------------------------------------------------------------ */

static void captured(void)
{
    uint32_t *pinned = cj_host_alloc(dev, sizeof in, NULL);
    cj_array *a = cj_array_create(dev, CJ_ARRAY(.width = W, .height = H, .depth = D, .type = CJ_U32));
    cj_array *b = cj_array_create(dev, CJ_ARRAY(.width = W, .height = H, .depth = D, .type = CJ_U32));
    count_up();
    cj_capture_begin(s, CJ_CAPTURE_THREAD);
    cj_copy_array(s, CJ_COPY_ARRAY(.dst_array = a, .src_host = in));
    cj_copy_array(s, CJ_COPY_ARRAY(.dst_array = b, .src_array = a));
    cj_copy_array(s, CJ_COPY_ARRAY(.src_array = b, .dst_host = pinned));
    cj_copy_array(s, CJ_COPY_ARRAY(.src_array = b, .dst_host = out));
    cj_graph *g = cj_capture_end(s);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    tap_is_int(cj_error_of(x)->status, CJ_OK, "copies of arrays are captured: %s", cj_error_of(x)->message);
    cj_array_free(a), cj_array_free(b);
    tap_is_uint(cj_device_collect(dev), 0, "the graph keeps the arrays, so no release waits");
    for (int i = 0; i < 2; i++) {
        in[1][1][1] += 100;
        memset(out, 0, sizeof out);
        cj_graph_launch(s, x);
        tap_is_int(cj_stream_sync(s), CJ_OK, "launch %d", i);
        tap_is_mem(out, in, sizeof in, "reads pageable memory at the launch");
        tap_is_mem(pinned, in, sizeof in, "and writes pinned memory");
    }
    cj_graph_exec_free(x);
    cj_graph_free(g);
    cj_host_free(dev, pinned);
}

/* -- In flight ----------------------------------------------------------------------------------------------------- */

static void freed_in_flight(void)
{
    struct latch l = LATCH_CLOSED;
    uint32_t *pinned = cj_host_alloc(dev, sizeof in, NULL);
    cj_array *a = cj_array_create(dev, CJ_ARRAY(.width = W, .height = H, .levels = 2, .type = CJ_U32));
    cj_array *level = cj_array_level(a, 0);
    count_up();
    cj_copy_array(s, CJ_COPY_ARRAY(.dst_array = level, .src_host = in));
    cj_stream_sync(s);
    bench_hold(t, &l);
    cj_copy_array(t, CJ_COPY_ARRAY(.src_array = level, .dst_host = pinned));
    cj_array_free(level);
    cj_array_free(a);
    tap_is_uint(cj_device_collect(dev), 1, "the release of a level's array waits for a copy of the level");
    latch_open(&l);
    tap_is_int(cj_stream_sync(t), CJ_OK, "which is made");
    tap_is_mem(pinned, in, 4 * W * H, "from an array that is there");
    tap_is_uint(cj_device_collect(dev), 0, "then it is released");
    cj_host_free(dev, pinned);
}

/* -- What is rejected ---------------------------------------------------------------------------------------------- */

static void rejects(cj_array *a)
{
    cj_array *wide = cj_array_create(dev, CJ_ARRAY(.width = W, .height = H, .depth = D, .channels = 4));
    cj_array *mips = cj_array_create(dev, CJ_ARRAY(.width = W, .height = H, .levels = 2));
    cj_array *failed = cj_array_create(dev, NULL);
    const cj_dptr small = cj_alloc(s, 64);
    uint32_t *device = (uint32_t *)(uintptr_t)small.addr;
    const struct { const char *name; cj_copy_array_params p; const char *says; } wrongs[] = {
        { "no source", { .dst_array = a }, "the source is not set" },
        { "no destination", { .src_array = a }, "the destination is not set" },
        { "two sources", { .dst_array = a, .src = small, .src_host = in }, "the source is set more than once" },
        { "two destinations", { .dst_array = a, .dst = small, .src_host = in }, "the destination is set more" },
        { "no array", { .width = 4, .dst = small, .src_host = in }, "no end is an array; copy memory with cj_copy_3d" },
        { "an array that failed", { .dst_array = failed, .src_host = in }, "cj_array_create: " },
        { "a mipmapped array", { .dst_array = mips, .src_host = in }, "is mipmapped; copy one of its levels" },
        { "an offset behind the end",
          { .dst_array = a, .dst_x = W, .src_host = in },
          "the destination has 12 x 7 x 5 elements, and the copy begins at (12, 0, 0)" },
        { "an offset in device memory",
          { .width = 4, .height = 1, .depth = 1, .dst_array = a, .src = small, .src_x = 4 },
          "the source is memory and has the offset (4, 0, 0), which is for arrays; add it to the address" },
        { "an offset in host memory",
          { .src_array = a, .dst_host = out, .dst_z = 1 },
          "the destination is memory and has the offset (0, 0, 1), which is for arrays" },
        { "a row too much",
          { .height = H, .src_array = a, .src_y = 1, .dst_host = out },
          "12 x 7 x 5 elements at (0, 1, 0) do not fit into the source, which has 12 x 7 x 5" },
        { "a slice too much", { .depth = D + 1, .dst_array = a, .src_host = in }, "12 x 7 x 6 elements at (0, 0, 0)" },
        { "a width that wraps", { .width = SIZE_MAX, .dst_array = a, .src_host = in }, "18446744073709551615 x 7" },
        { "a pitch that is too small",
          { .dst_array = a, .src_host = in, .src_pitch = 4 * W - 1 },
          "the source has 47 bytes from row to row, the rows have 48" },
        { "too few rows",
          { .src_array = a, .dst_host = out, .dst_rows = H - 1 },
          "the destination has 6 rows from slice to slice, the slices have 7" },
        { "a pitch that wraps", { .dst_array = a, .src_host = in, .src_pitch = SIZE_MAX / 8 }, "beyond any memory" },
        { "rows that wrap", { .dst_array = a, .src_host = in, .src_rows = SIZE_MAX / 100 }, "beyond any memory" },
        { "device memory that is too small",
          { .dst_array = a, .src = small },
          "the source: 1680 bytes do not fit, 64 are left in the allocation" },
        { "device memory as host memory", { .dst_array = a, .src_host = device }, "is device memory" },
        { "elements of two sizes",
          { .dst_array = a, .src_array = wide },
          "the elements of the destination have 4 bytes, those of the source 16" },
        { "ranges that overlap",
          { .width = 6, .dst_array = a, .src_array = a, .src_x = 5 },
          "source and destination overlap in one array" },
    };
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        cj_copy_array_params p = wrongs[i].p;
        p.size = sizeof p;
        tap_ok(cj_copy_array(s, &p) < 0, "%s", wrongs[i].name);
        tap_has_str(cj_error_of(s)->message, wrongs[i].says, "... is named");
        cj_stream_sync(s);
    }
    tap_is_int(cj_copy_array(s, NULL), CJ_EINVAL, "parameters that are NULL");
    cj_stream_sync(s);
    tap_is_int(cj_copy_array(s, &(cj_copy_array_params){ .dst_array = a }), CJ_EINVAL, "and such without their size");
    cj_stream_sync(s);
    cj_free(dev, small);
    cj_array_free(wide), cj_array_free(mips), cj_array_free(failed);
}

int main(void)
{
    bench_open(0);
    cj_array *a = cj_array_create(dev, CJ_ARRAY(.width = W, .height = H, .depth = D, .type = CJ_U32));
    uint32_t *from = cj_host_alloc(dev, sizeof in, NULL), *to = cj_host_alloc(dev, sizeof out, NULL);
    boxes_pass(a, "pageable", &in[0][0][0], &out[0][0][0]);
    boxes_pass(a, "pinned", from, to);
    arrays_pass(a);
    rejects(a);
    cj_array_free(a);
    cj_host_free(dev, from), cj_host_free(dev, to);
    shapes_pass(), parts(), captured(), freed_in_flight();
    return bench_close();
}
