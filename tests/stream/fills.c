/* Fills of 8 bytes and of rows, on streams and as nodes: they write what they should and nothing else, and reject what
 * does not fit. */
#include <string.h>

#include "tests/device_bench.h"

enum { N = 64, BYTES = 8 * N };
static uint8_t got[BYTES], want[BYTES];

/* The memory as the stream leaves it, against `want`; both begin as 0xee. */
static void begin(void)
{
    cj_fill8(s, d, 0xee, BYTES);
    memset(want, 0xee, sizeof want);
}

static void is_as_wanted(const char *name)
{
    cj_copy_to_host(s, got, d, BYTES);
    tap_is_int(cj_stream_sync(s), CJ_OK, "%s is done", name);
    tap_is_mem(got, want, BYTES, "... and writes its elements, nothing else");
}

static void wide(void)
{
    static const uint64_t values[] = { 0, UINT64_C(0x0123456789abcdef), UINT64_MAX, UINT64_C(0x7700000077),
                                       UINT64_C(0x5555555555555555) };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        begin();
        for (size_t k = 1; k < 8; k++) memcpy(want + 8 * k, &values[i], 8);
        tap_is_int(cj_fill64(s, cj_offset(d, 8), values[i], 7), CJ_OK, "a fill with 0x%llx",
                   (unsigned long long)values[i]);
        is_as_wanted("it");
    }
    tap_is_int(cj_fill64(s, d, 1, 0), CJ_OK, "no elements are nothing");
    tap_is_int(cj_fill64(s, cj_offset(d, 4), 1, 1), CJ_EINVAL, "an address that is no multiple of 8 is rejected");
    tap_is_int(cj_stream_sync(s), CJ_EINVAL, "... in the stream");
    tap_is_int(cj_fill64(s, d, 1, N + 1), CJ_EINVAL, "what does not fit is rejected");
    cj_stream_sync(s);
    tap_is_int(cj_fill64(s, d, 1, SIZE_MAX / 4), CJ_EINVAL, "what no memory holds too");
    cj_stream_sync(s);
}

static const struct rows_row { size_t at, pitch, element, width, height; uint32_t value; } fits[] = {
    { 3, 16, 1, 5, 4, 0x7f },
    { 4, 12, 2, 3, 7, 0xbeef },
    { 8, 32, 4, 6, 3, 0x89abcdef },
    { 8, 24, 4, 6, 3, 0x01020304 }, /* without gaps */
    { 0, 0, 4, 4, 5, 0x11223344 },
    { 16, 4, 4, 1, 1, 5 },
};

static void want_rows(const struct rows_row *r)
{
    const size_t pitch = r->pitch ? r->pitch : r->width * r->element;
    for (size_t y = 0; y < r->height; y++)
        for (size_t x = 0; x < r->width; x++) memcpy(want + r->at + y * pitch + x * r->element, &r->value, r->element);
}

static void rows_on_stream(void)
{
    for (size_t i = 0; i < sizeof fits / sizeof *fits; i++) {
        const struct rows_row *r = &fits[i];
        begin();
        want_rows(r);
        tap_is_int(cj_fill_2d(s, cj_offset(d, r->at), r->pitch, r->element, r->value, r->width, r->height), CJ_OK,
                   "%zu rows of %zu elements of %zu bytes", r->height, r->width, r->element);
        is_as_wanted("they");
    }
    tap_is_int(cj_fill_2d(s, d, 8, 4, 0, 0, 3), CJ_OK, "rows of nothing are nothing");
}

static const struct bad_row {
    const char *name;
    size_t at, pitch, element, width, height;
    uint32_t value;
    const char *says;
} bad[] = {
    { "elements of 8 bytes", 0, 64, 8, 4, 2, 0, "elements of 8 bytes" },
    { "elements of 3 bytes", 0, 64, 3, 4, 2, 0, "elements of 3 bytes" },
    { "a value that is too great", 0, 64, 2, 4, 2, 0x10000, "does not fit into 2 bytes" },
    { "rows longer than the pitch", 0, 8, 4, 4, 2, 0, "8 bytes from row to row, the rows have 16" },
    { "an odd pitch", 0, 17, 2, 4, 2, 0, "not aligned to 2 bytes" },
    { "an odd address", 2, 16, 4, 4, 2, 0, "not aligned to 4 bytes" },
    { "rows that do not fit", 0, 64, 4, 4, 9, 0, "do not fit" },
    { "rows beyond any memory", 0, SIZE_MAX / 2, 1, 4, 9, 0, "beyond any memory" },
};

static void rejected(void)
{
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct bad_row *b = &bad[i];
        tap_is_int(cj_fill_2d(s, cj_offset(d, b->at), b->pitch, b->element, b->value, b->width, b->height), CJ_EINVAL,
                   "%s", b->name);
        tap_has_str(cj_error_of(s)->message, b->says, "... %s", b->says);
        cj_stream_sync(s);
        cj_graph *g = cj_graph_create(dev);
        cj_node *n =
            cj_graph_fill_2d(g, NULL, cj_offset(d, b->at), b->pitch, b->element, b->value, b->width, b->height);
        tap_is_int(cj_error_of(n)->status, CJ_EINVAL, "... as a node too");
        cj_graph_free(g);
    }
}

static void as_nodes(void)
{
    cj_graph *g = cj_graph_create(dev);
    cj_node *clear = cj_graph_fill8(g, NULL, d, 0xee, BYTES);
    cj_node *two = cj_graph_fill64(g, CJ_NODES(clear), d, UINT64_C(0x0102030405060708), 3);
    cj_node *one = cj_graph_fill64(g, CJ_NODES(two), cj_offset(d, 24), UINT64_C(0x0a0b0c0d0a0b0c0d), 2);
    cj_graph_fill_2d(g, CJ_NODES(one), cj_offset(d, 64), 16, 2, 0x1234, 4, 3);
    tap_is_uint(cj_graph_count(g), 5, "a fill of 8 bytes whose halves differ is two nodes");
    tap_is_int(cj_node_kind_of(two), CJ_NODE_FILL, "... of which the second is returned");
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    memset(want, 0xee, sizeof want);
    const uint64_t a = UINT64_C(0x0102030405060708), b = UINT64_C(0x0a0b0c0d0a0b0c0d);
    for (int i = 0; i < 3; i++) memcpy(want + 8 * i, &a, 8);
    for (int i = 3; i < 5; i++) memcpy(want + 8 * i, &b, 8);
    want_rows(&(struct rows_row){ 64, 16, 2, 4, 3, 0x1234 });
    tap_is_int(cj_graph_launch(s, x), CJ_OK, "a graph of fills: %s", cj_error_of(x)->message);
    is_as_wanted("it");
    cj_graph_exec_free(x);
    cj_graph_free(g);
}

/* A captured fill of 8 bytes is two nodes as well. */
static void captured(void)
{
    begin();
    cj_stream_sync(s);
    cj_capture_begin(s, CJ_CAPTURE_THREAD);
    cj_fill64(s, d, UINT64_C(0x1122334455667788), 2);
    cj_graph *g = cj_capture_end(s);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    const uint64_t a = UINT64_C(0x1122334455667788);
    memcpy(want, &a, 8);
    memcpy(want + 8, &a, 8);
    tap_is_int(cj_graph_launch(s, x), CJ_OK, "a captured fill");
    is_as_wanted("it");
    cj_graph_exec_free(x);
    cj_graph_free(g);
}

int main(void)
{
    bench_open(BYTES);
    wide();
    rows_on_stream();
    rejected();
    as_nodes();
    captured();
    return bench_close();
}
