/* Rows and boxes arrive where they belong and nowhere else, from pinned and from pageable memory; what does not fit is
 * rejected; a batch is given whole or not at all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/device_bench.h"

enum { ROOM = 64 << 10 };
static cj_dptr a, b;
static bool by_graph; /* copies are nodes of graphs, launched once */
static unsigned char *pinned, *pageable, *model, *image; /* ROOM bytes each; image is pageable */

static const struct copy_case {
    const char *name;
    size_t width, height, depth, dst_pitch, dst_rows, src_pitch, src_rows;
} cases[] = {
    { "one row", 1000, 1, 1, 0, 0, 0, 0 },
    { "one row of a wide pitch", 1000, 1, 1, 4096, 0, 2048, 0 },
    { "rows without gaps", 100, 30, 1, 0, 0, 0, 0 },
    { "rows into a pitch", 100, 30, 1, 256, 0, 0, 0 },
    { "rows out of a pitch", 100, 30, 1, 0, 0, 160, 0 },
    { "rows between two pitches", 33, 17, 1, 64, 0, 48, 0 },
    { "slices without gaps", 10, 20, 30, 0, 0, 0, 0 },
    { "slices into rows without gaps", 10, 20, 30, 16, 0, 12, 0 },
    { "slices with gaps at both ends", 10, 20, 13, 16, 24, 12, 31 },
    { "slices of one row", 7, 1, 100, 8, 3, 16, 2 },
    { "one byte a row", 1, 300, 1, 3, 0, 2, 0 },
    { "more than a small staging piece", 600, 60, 1, 700, 0, 1000, 0 },
};

/* What the copy shall do, on the host. */
static void expect(unsigned char *dst, const unsigned char *src, const struct copy_case *c)
{
    size_t dp = c->dst_pitch ? c->dst_pitch : c->width, sp = c->src_pitch ? c->src_pitch : c->width;
    size_t dr = c->dst_rows ? c->dst_rows : c->height, sr = c->src_rows ? c->src_rows : c->height;
    for (size_t z = 0; z < c->depth; z++)
        for (size_t y = 0; y < c->height; y++) memcpy(dst + (z * dr + y) * dp, src + (z * sr + y) * sp, c->width);
}

static void fill_host(unsigned char *h)
{
    static uint32_t x = 1;
    for (size_t i = 0; i < ROOM; i++) h[i] = (unsigned char)((x = x * 1664525 + 1013904223) >> 24);
}

static void box_copy(const struct copy_case *c, cj_dptr dst, void *dst_host, cj_dptr src, const void *src_host)
{
    const cj_copy_3d_params box = { .size = sizeof box,
                                    .width = c->width,
                                    .height = c->height,
                                    .depth = c->depth,
                                    .dst = dst,
                                    .dst_host = dst_host,
                                    .src = src,
                                    .src_host = src_host,
                                    .dst_pitch = c->dst_pitch,
                                    .dst_rows = c->dst_rows,
                                    .src_pitch = c->src_pitch,
                                    .src_rows = c->src_rows };
    if (!by_graph) {
        cj_copy_3d(s, &box);
        return;
    }
    cj_graph *g = cj_graph_create(dev);
    cj_graph_copy_3d(g, NULL, &box);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_free(g);
    cj_graph_launch(s, x);
    cj_stream_sync(s);
    cj_graph_exec_free(x);
}

/* The device's buffer is what the model says. */
static void same_on_device(cj_dptr m, const char *name, const char *what)
{
    cj_copy_to_host(s, image, m, ROOM);
    tap_is_int(cj_stream_sync(s), CJ_OK, "%s, %s: done", name, what);
    tap_is_mem(image, model, ROOM, "%s, %s: every byte", name, what);
}

static void one_case(const struct copy_case *c, unsigned char *host, const char *kind)
{
    char name[96];
    snprintf(name, sizeof name, "%s, %s%s", c->name, kind, by_graph ? ", as a node" : "");
    cj_fill8(s, a, 0xee, ROOM);
    memset(model, 0xee, ROOM);
    fill_host(host);
    cj_stream_sync(s);
    expect(model, host, c);
    box_copy(c, a, NULL, (cj_dptr){ 0 }, host);
    if (host == pageable && !by_graph) memset(host, 0x11, ROOM); /* a pageable source may change at once */
    same_on_device(a, name, "to the device");

    fill_host(host);
    cj_copy_to_device(s, a, host, ROOM);
    cj_fill8(s, b, 0xdd, ROOM);
    memset(model, 0xdd, ROOM);
    expect(model, host, c);
    box_copy(c, b, NULL, a, NULL);
    same_on_device(b, name, "on the device");

    memcpy(image, host, ROOM);
    memset(host, 0xcc, ROOM);
    memset(model, 0xcc, ROOM);
    expect(model, image, c);
    box_copy(c, (cj_dptr){ 0 }, host, a, NULL);
    tap_is_int(cj_stream_sync(s), CJ_OK, "%s, to the host: done", name);
    tap_is_mem(host, model, ROOM, "%s, to the host: every byte", name);
}

/* A copy to pageable memory returns before it is done, and a captured one runs at each launch. */
static void in_time(void)
{
    struct latch l = LATCH_CLOSED;
    memset(pageable, 1, ROOM);
    cj_fill8(s, a, 7, ROOM);
    bench_hold(s, &l);
    tap_is_int(cj_copy_2d_to_host(s, pageable, 32, a, 16, 10, 100), CJ_OK, "rows to pageable memory behind a latch");
    tap_is_int(cj_copy_2d_to_device(s, b, 64, image, 32, 10, 100), CJ_OK, "and rows from it");
    tap_is_uint(pageable[0], 1, "have not arrived yet");
    latch_open(&l);
    cj_stream_sync(s);
    tap_ok(pageable[0] == 7 && pageable[10] == 1 && pageable[99 * 32 + 9] == 7, "have arrived at the end");

    cj_capture_begin(s, CJ_CAPTURE_THREAD);
    cj_copy_2d_to_device(s, a, 64, pageable, 32, 10, 100);
    cj_copy_2d(s, b, 16, a, 64, 10, 100);
    cj_copy_2d_to_host(s, image, 10, b, 16, 10, 100);
    cj_graph *g = cj_capture_end(s);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    for (int round = 1; round < 4; round++) {
        memset(pageable, 10 * round, ROOM);
        memset(image, 0, ROOM);
        cj_graph_launch(s, x);
        tap_is_int(cj_stream_sync(s), CJ_OK, "launch %d of captured rows", round);
        tap_ok(image[0] == 10 * round && image[999] == 10 * round && image[1000] == 0,
               "... has read and written the host's memory then");
    }
    cj_graph_exec_free(x);
    cj_graph_free(g);
}

/* Rows that are longer than any staging piece. */
static void long_rows(void)
{
    const size_t width = (5 << 20) + 3, pitch = width + 13, all = 2 * pitch;
    unsigned char *from = malloc(all), *to = calloc(1, all);
    cj_dptr m = cj_alloc(s, 2 * width);
    for (size_t i = 0; i < all; i++) from[i] = (unsigned char)(i * 7 >> 5);
    cj_copy_2d_to_device(s, m, 0, from, pitch, width, 2);
    cj_copy_2d_to_host(s, to, pitch, m, 0, width, 2);
    tap_is_int(cj_stream_sync(s), CJ_OK, "rows of 5 MB through staging memory");
    tap_ok(!memcmp(to, from, width) && !memcmp(to + pitch, from + pitch, width) && !to[width], "arrive whole");
    cj_free(dev, m);
    free(from);
    free(to);
}

static void refusals(void)
{
    const cj_dptr none = { 0 };
    const struct { const char *name, *says; cj_status st;
    } rows[] = {
        { "no destination", "the destination is NULL",
          cj_copy_3d(s, CJ_COPY_3D(.width = 1, .height = 1, .depth = 1, .src = a)) },
        { "two sources", "the source is in both memories",
          cj_copy_3d(s, CJ_COPY_3D(.width = 1, .height = 1, .depth = 1, .dst = b, .src = a, .src_host = pinned)) },
        { "two hosts", "both ends are host memory",
          cj_copy_3d(s, CJ_COPY_3D(.width = 1, .height = 1, .depth = 1, .dst_host = image, .src_host = pinned)) },
        { "a short pitch", "the source has 9 bytes from row to row, the rows have 10",
          cj_copy_2d(s, b, 16, a, 9, 10, 2) },
        { "short slices", "the destination has 3 rows from slice to slice, the slices have 4",
          cj_copy_3d(s, CJ_COPY_3D(.width = 1, .height = 4, .depth = 2, .dst = b, .src = a, .dst_rows = 3)) },
        { "past the end", "the destination: 65537 bytes do not fit, 65536 are left",
          cj_copy_2d(s, b, 65536, a, 1, 1, 2) },
        { "beyond any memory", "beyond any memory", cj_copy_2d(s, b, SIZE_MAX / 2, a, SIZE_MAX / 2, 1, 4) },
        { "an overlap", "source and destination overlap", cj_copy_2d(s, cj_offset(a, 5), 10, a, 10, 10, 4) },
        { "the device as host", "is device memory",
          cj_copy_2d_to_device(s, b, 10, (void *)(uintptr_t)a.addr, 10, 10, 2) },
        { "no box", "the parameters are NULL", cj_copy_3d(s, NULL) },
        { "no items", "3 items at NULL", cj_copy_batch(s, NULL, 3) },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        tap_is_int(rows[i].st, CJ_EINVAL, "%s is rejected", rows[i].name);
    cj_stream_sync(s);
    cj_stream_sync(s);
    /* Each again, for its sentence: the first failure stays until a sync. */
    cj_copy_2d(s, b, 16, a, 9, 10, 2);
    tap_has_str(cj_error_of(s)->message, rows[3].says, "... and says: %s", rows[3].says);
    tap_is_int(cj_stream_sync(s), CJ_EINVAL, "... at the sync too");
    cj_copy_2d(s, b, 65536, a, 1, 1, 2);
    tap_has_str(cj_error_of(s)->message, rows[5].says, "... and says: %s", rows[5].says);
    cj_stream_sync(s);
    tap_is_int(cj_copy_2d(s, none, 0, none, 0, 10, 0), CJ_OK, "no rows are nothing to copy");
    tap_is_int(cj_copy_3d(s, CJ_COPY_3D(.width = 10)), CJ_OK, "nor is a box without height and depth");
    tap_is_int(cj_stream_sync(s), CJ_OK, "and no failure is left");
}

/* What a node cannot copy is reported by node and graph. */
static void refused_nodes(void)
{
    cj_graph *g = cj_graph_create(dev), *other = cj_graph_create(dev);
    cj_node *good = cj_graph_copy_3d(g, NULL, CJ_COPY_3D(.width = 4, .height = 2, .depth = 1, .dst = b, .src = a));
    const struct { const char *name, *says; cj_node *n;
    } rows[] = {
        { "no box", "the parameters are NULL", cj_graph_copy_3d(g, NULL, NULL) },
        { "no destination", "the destination is NULL",
          cj_graph_copy_3d(g, NULL, CJ_COPY_3D(.width = 1, .height = 1, .depth = 1, .src = a)) },
        { "two hosts", "both ends are host memory",
          cj_graph_copy_3d(g, NULL,
                           CJ_COPY_3D(.width = 1, .height = 1, .depth = 1, .dst_host = image, .src_host = pinned)) },
        { "nothing to copy", "0 bytes; a node copies at least one",
          cj_graph_copy_3d(g, NULL, CJ_COPY_3D(.width = 1, .height = 1, .dst = b, .src = a)) },
        { "past the end", "the destination: 65537 bytes do not fit, 65536 are left",
          cj_graph_copy_3d(g, NULL,
                           CJ_COPY_3D(.width = 1, .height = 2, .depth = 1, .dst = b, .dst_pitch = 65536, .src = a)) },
        { "an overlap", "source and destination overlap",
          cj_graph_copy_peer(g, NULL, dev, cj_offset(a, 5), dev, a, 10) },
        { "no device", "the source's device", cj_graph_copy_peer(g, NULL, dev, b, NULL, a, 10) },
        { "a node of another graph before it", "",
          cj_graph_copy_3d(other, CJ_NODES(good),
                           CJ_COPY_3D(.width = 1, .height = 1, .depth = 1, .dst = b, .src = a)) },
    };
    tap_is_int(cj_error_of(good)->status, CJ_OK, "a node that copies rows: %s", cj_error_of(good)->message);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tap_ok(cj_error_of(rows[i].n)->status != CJ_OK, "%s is rejected as a node", rows[i].name);
        tap_has_str(cj_error_of(rows[i].n)->message, rows[i].says, "... and says: %s", rows[i].says);
    }
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    tap_has_str(cj_error_of(x)->message, rows[0].says, "a graph that lacks a node says which");
    cj_graph_exec_free(x);
    cj_graph_free(g);
    cj_graph_free(other);
}

static void batches(void)
{
    uint32_t in[4] = { 1, 2, 3, 4 }, out[4] = { 0 };
    const cj_copy_item good[] = {
        { .dst = a, .src_host = in, .bytes = 8 },
        { .dst = cj_offset(a, 8), .src_host = in + 2, .bytes = 8 },
        { .bytes = 0 },
        { .dst = b, .src = a, .bytes = 16 },
        { .dst_host = out, .src = b, .bytes = 16 },
    };
    cj_copy_item bad[5];
    cj_stream_counts before = { .size = sizeof before }, after = { .size = sizeof after };
    cj_stream_get_counts(s, &before);
    tap_is_int(cj_copy_batch(s, good, 5), CJ_OK, "a batch of copies");
    tap_is_int(cj_stream_sync(s), CJ_OK, "is done");
    tap_is_mem(out, in, sizeof in, "in its order");
    cj_stream_get_counts(s, &after);
    tap_ok(after.operations - before.operations == 4 && after.bytes_to_device - before.bytes_to_device == 16 &&
               after.bytes_to_host - before.bytes_to_host == 16 && after.bytes_on_device - before.bytes_on_device == 16,
           "and counted: four operations, 16 bytes each way and on the device");
    memcpy(bad, good, sizeof bad);
    bad[4].bytes = ROOM + 1;
    memset(out, 0, sizeof out);
    tap_is_int(cj_copy_batch(s, bad, 5), CJ_EINVAL, "a batch with one that does not fit is rejected");
    tap_has_str(cj_error_of(s)->message, "item 4: the source: 65537 bytes do not fit", "which is named");
    cj_stream_get_counts(s, &before);
    tap_ok(before.operations == after.operations, "and none of it was given");
    cj_stream_sync(s);
    tap_is_int(cj_copy_batch(s, good, 0), CJ_OK, "an empty batch is nothing");
    tap_is_int(cj_stream_sync(s), CJ_OK, "and no failure is left");
}

int main(void)
{
    bench_open(0);
    a = cj_alloc(s, ROOM);
    b = cj_alloc(s, ROOM);
    pinned = cj_host_alloc(dev, ROOM, NULL);
    pageable = malloc(ROOM);
    model = malloc(ROOM);
    image = malloc(ROOM);
    if (!pinned || !a.addr || !b.addr) tap_bail("%s", cj_error_last()->message);
    for (int way = 0; way < 2; way++) {
        by_graph = way;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            one_case(&cases[i], pinned, "pinned");
            one_case(&cases[i], pageable, "pageable");
        }
    }
    refused_nodes();
    in_time();
    long_rows();
    refusals();
    batches();
    free(image), free(model), free(pageable);
    cj_host_free(dev, pinned);
    cj_free(dev, a);
    cj_free(dev, b);
    return bench_close();
}
