/* __cuda_array_interface__ in and out as text; and the order with streams of other code, by their numbers. */
#include <stdio.h>
#include <string.h>

#include "tests/device_bench.h"

enum { N = 64 };

/* Texts with %llu for the address. */
static const struct {
    const char *name, *text;
    cj_status status;
    const char *says;
    uint64_t elements, bytes;
    int code, bits, read_only;
    int64_t stream;
} rows[] = {
    { "repr() of Python",
      "{'shape': (4, 8), 'typestr': '<f4', 'descr': [('', '<f4')], 'stream': 1, 'version': 3, 'strides': None,"
      " 'data': (%llu, False)}", CJ_OK, NULL, 32, 128, CJ_TENSOR_FLOAT, 32, 0, 1 },
    { "JSON", "{ \"data\": [%llu, true], \"shape\": [5], \"strides\": [8], \"typestr\": \"<i4\", \"stream\": null }",
      CJ_OK, NULL, 5, 36, CJ_TENSOR_INT, 32, 1, -1 },
    { "a scalar", "{'shape': (), 'typestr': '|u1', 'data': (%llu, False), 'version': 2}", CJ_OK, NULL, 1, 1,
      CJ_TENSOR_UINT, 8, 0, -1 },
    { "one dimension with a comma", "{'shape': (3,), 'typestr': '|b1', 'data': (%llu, False), 'mask': None}", CJ_OK,
      NULL, 3, 3, CJ_TENSOR_BOOL, 8, 0, -1 },
    { "complex numbers, nested extras",
      "{'x': {'y': [1, (2, 'z}')]}, 'shape': (2,), 'typestr': '<c8', 'data': (%llu, False), 'n': -1.5e3}", CJ_OK, NULL,
      2, 16, CJ_TENSOR_COMPLEX, 64, 0, -1 },
    { "no dictionary", "[%llu]",
      .status = CJ_EINVAL, .says = "begins with {" },
    { "cut", "{'shape': (4, 8), 'data': (%llu, Fal",
      .status = CJ_EINVAL, .says = "at character" },
    { "more behind it", "{'shape': (1,), 'typestr': '<f4', 'data': (%llu, False)} x",
      .status = CJ_EINVAL, .says = "more behind" },
    { "no shape", "{'typestr': '<f4', 'data': (%llu, False)}",
      .status = CJ_EINVAL, .says = "required" },
    { "a size that is none", "{'shape': (1.5,), 'typestr': '<f4', 'data': (%llu, False)}",
      .status = CJ_EINVAL, .says = "protocol" },
    { "a size beyond 64 bits", "{'shape': (99999999999999999999,), 'data': (%llu, False)}",
      .status = CJ_EINVAL, .says = "protocol" },
    { "stream 0", "{'shape': (1,), 'typestr': '<f4', 'data': (%llu, False), 'stream': 0}",
      .status = CJ_EINVAL, .says = "stream is 0" },
    { "odd strides", "{'shape': (4,), 'typestr': '<f4', 'strides': (6,), 'data': (%llu, False)}",
      .status = CJ_EINVAL, .says = "no multiple" },
    { "strides of another number", "{'shape': (4,), 'typestr': '<f4', 'strides': (4, 4), 'data': (%llu, False)}",
      .status = CJ_EINVAL, .says = "2 strides" },
    { "big-endian", "{'shape': (4,), 'typestr': '>f4', 'data': (%llu, False)}",
      .status = CJ_ENOTSUP, .says = "big-endian" },
    { "records", "{'shape': (4,), 'typestr': '|V8', 'data': (%llu, False)}",
      .status = CJ_ENOTSUP, .says = "no numbers" },
    { "a mask", "{'shape': (4,), 'typestr': '<f4', 'data': (%llu, False), 'mask': (1,)}",
      .status = CJ_ENOTSUP, .says = "mask" },
    { "version 1", "{'shape': (4,), 'typestr': '<f4', 'data': (%llu, False), 'version': 1}",
      .status = CJ_ENOTSUP, .says = "version 1" },
    { "too much", "{'shape': (999,), 'typestr': '<f4', 'data': (%llu, False)}",
      .status = CJ_EINVAL, .says = "the allocation has" },
};

static void read_text(size_t i)
{
    char text[400];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, rows[i].text, (unsigned long long)d.addr);
#pragma GCC diagnostic pop
    cj_tensor *x = cj_tensor_from_array_interface(dev, text);
    cj_tensor_info info = { .size = sizeof info };
    tap_is_int(cj_error_of(x)->status, rows[i].status, "%s: %s", rows[i].name, cj_error_of(x)->message);
    if (rows[i].says) tap_has_str(cj_error_of(x)->message, rows[i].says, "%s: and why", rows[i].name);
    if (rows[i].status == CJ_OK) {
        cj_tensor_get_info(x, &info);
        tap_ok(info.data.addr == d.addr && info.elements == rows[i].elements && info.bytes == rows[i].bytes &&
                   info.type.code == rows[i].code && info.type.bits == rows[i].bits &&
                   info.read_only == rows[i].read_only && info.stream == rows[i].stream && info.place == CJ_TENSOR_CUDA,
               "%s: what it says", rows[i].name);
    }
    cj_tensor_free(x);
}

/* What is written is read again, and is the same; a buffer that is small is not exceeded. */
static void written(const char *name, cj_tensor_info *x, const char *typestr)
{
    char text[300], again[300], small[9] = "xxxxxxxx";
    cj_tensor *a = cj_tensor_create(dev, x, NULL, NULL);
    const size_t n = cj_tensor_to_array_interface(a, text, sizeof text);
    tap_has_str(text, typestr, "%s: the type", name);
    tap_is_uint(n, strlen(text), "%s: the length", name);
    tap_is_uint(cj_tensor_to_array_interface(a, small, 8), n, "%s: the same length without room", name);
    tap_is_uint(strlen(small), 7, "%s: cut", name);
    tap_is_uint(cj_tensor_to_array_interface(a, NULL, 0), n, "%s: the length alone", name);
    cj_tensor *b = cj_tensor_from_array_interface(dev, text);
    cj_tensor_to_array_interface(b, again, sizeof again);
    tap_is_str(again, text, "%s: is read again", name);
    cj_tensor_free(a);
    cj_tensor_free(b);
}

static void foreign_streams(void)
{
    static uint32_t got[2];
    struct latch held = LATCH_CLOSED;
    cj_stream *other = cj_stream_create(dev, NULL);
    const int64_t number = (int64_t)(uintptr_t)cj_stream_raw(other);
    cj_fill32(s, d, 0, 2);
    cj_stream_sync(s);
    bench_hold(other, &held);
    cj_fill32(other, d, 7, 1);
    tap_is_int(cj_stream_wait_foreign(s, number), CJ_OK, "a stream waits for one of other code");
    cj_copy_to_host(s, got, d, 4);
    tap_is_int(cj_stream_query(s), CJ_ENOTREADY, "its work is held");
    latch_open(&held);
    cj_stream_sync(s);
    tap_is_uint(got[0], 7, "and comes behind the other's");
    struct latch more = LATCH_CLOSED;
    bench_hold(s, &more);
    cj_fill32(s, d, 8, 1);
    tap_is_int(cj_stream_signal_foreign(s, number), CJ_OK, "the other way round");
    cj_copy_to_host(other, got + 1, d, 4);
    tap_is_int(cj_stream_query(other), CJ_ENOTREADY, "the other's work is held");
    latch_open(&more);
    cj_stream_sync(other);
    cj_stream_sync(s);
    tap_is_uint(got[1], 8, "and comes behind ours");
    tap_is_int(cj_stream_wait_foreign(s, -1), CJ_OK, "-1 is no stream");
    tap_is_int(cj_stream_wait_foreign(s, 1), CJ_OK, "1 is the legacy default stream");
    tap_is_int(cj_stream_signal_foreign(s, 2), CJ_OK, "2 is the thread's");
    tap_is_int(cj_stream_wait_foreign(other, number), CJ_OK, "a stream waits for itself");
    tap_is_int(cj_stream_sync(s), CJ_OK, "nothing fails");
    tap_is_int(cj_stream_wait_foreign(s, 0), CJ_EINVAL, "0 is rejected");
    tap_is_int(cj_stream_sync(s), CJ_EINVAL, "and left in the stream");
    cj_stream_sync(s);
    const int64_t none[] = { -2, INT64_MIN, INT64_MAX }; /* a GPU's driver dereferences positive ones */
    for (size_t i = 0; i < (strcmp(cj_driver_kind(drv), "sim") ? 2 : 3); i++) {
        char says[80];
        snprintf(says, sizeof says, "the stream's number is %lld, which is no stream", (long long)none[i]);
        tap_is_int(cj_stream_wait_foreign(s, none[i]), CJ_EINVAL, "%lld is no stream", (long long)none[i]);
        tap_has_str(cj_error_of(s)->message, says, "which the message says");
        cj_stream_sync(s);
        cj_stream_sync(s);
    }
    cj_stream_free(other);
}

int main(void)
{
    const int64_t shape[] = { 4, 8 }, columns[] = { 1, 4 };
    bench_open(4 * N);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) read_text(i);
    cj_tensor *none = cj_tensor_from_array_interface(dev, NULL);
    tap_is_int(cj_error_of(none)->status, CJ_EINVAL, "no text");
    cj_tensor_free(none);
    cj_tensor_info x = { .size = sizeof x, .data = d, .ndim = 2, .shape = shape, .stream = 2 };
    x.type = (cj_tensor_type){ CJ_TENSOR_FLOAT, 32, 1 };
    written("rows", &x, "\"<f4\"");
    x.strides = columns;
    written("columns", &x, "\"strides\": [4, 16]");
    x.type = (cj_tensor_type){ CJ_TENSOR_BFLOAT, 16, 1 };
    written("bfloat16", &x, "\"<u2\"");
    x.type = (cj_tensor_type){ CJ_TENSOR_BOOL, 8, 1 };
    x.read_only = 1;
    written("read-only bytes", &x, "true");
    x.type = (cj_tensor_type){ CJ_TENSOR_FLOAT, 32, 2 };
    cj_tensor *lanes = cj_tensor_create(dev, &x, NULL, NULL);
    tap_is_uint(cj_tensor_to_array_interface(lanes, NULL, 0), 0, "lanes are not written");
    tap_is_int(cj_error_of(lanes)->status, CJ_ENOTSUP, "... which is an error");
    cj_tensor_free(lanes);
    foreign_streams();
    return bench_close();
}
