/* Arrays of two devices: copied from one to the other on a stream of either, from and to memory of the other; the
 * release of an array waits for a stream of the other device. */
#include <stdlib.h>
#include <string.h>

#include "tests/device_parts.h"
#include "tests/tap.h"

enum { W = 16, H = 6, N = W * H };
static cj_driver *drv;
static cj_device *dev[2];
static cj_stream *s[2];
static uint32_t in[N], out[N];

static cj_array *array_of(int i) { return cj_array_create(dev[i], CJ_ARRAY(.width = W, .height = H, .type = CJ_U32)); }

/* The array of device `i` has the numbers from `from` on. */
static void fill(cj_array *a, int i, uint32_t from)
{
    for (uint32_t k = 0; k < N; k++) in[k] = from + k;
    cj_copy_array(s[i], CJ_COPY_ARRAY(.dst_array = a, .src_host = in));
    tap_is_int(cj_stream_sync(s[i]), CJ_OK, "an array of device %d is filled: %s", i, cj_error_of(s[i])->message);
}

static const uint32_t *read_back(cj_array *a, int i)
{
    memset(out, 0, sizeof out);
    cj_copy_array(s[i], CJ_COPY_ARRAY(.src_array = a, .dst_host = out));
    tap_is_int(cj_stream_sync(s[i]), CJ_OK, "... and read: %s", cj_error_of(s[i])->message);
    return out;
}

static void arrays(void)
{
    cj_array *a[2] = { array_of(0), array_of(1) };
    for (int on = 0; on < 2; on++)
        for (int to = 0; to < 2; to++) {
            fill(a[!to], !to, (uint32_t)(100 * (2 * on + to) + 1));
            tap_is_int(cj_copy_array(s[on], CJ_COPY_ARRAY(.dst_array = a[to], .src_array = a[!to])), CJ_OK,
                       "a stream of device %d copies an array to device %d: %s", on, to, cj_error_of(s[on])->message);
            cj_stream_sync(s[on]);
            tap_is_mem(read_back(a[to], to), in, sizeof in, "... all of it");
        }
    fill(a[0], 0, 5000), fill(a[1], 1, 7000);
    cj_copy_array(s[0], CJ_COPY_ARRAY(.width = 3, .height = 2, .dst_array = a[1], .dst_x = 4, .dst_y = 1,
                                      .src_array = a[0], .src_x = 1, .src_y = 3));
    cj_stream_sync(s[0]);
    read_back(a[1], 1);
    tap_ok(out[W + 4] == 5000 + 3 * W + 1 && out[2 * W + 6] == 5000 + 4 * W + 3, "a box goes to its place");
    tap_ok(out[W + 3] == 7000 + W + 3 && out[W + 7] == 7000 + W + 7 && out[3 * W + 4] == 7000 + 3 * W + 4,
           "and changes nothing beside it");
    cj_array_free(a[0]), cj_array_free(a[1]);
}

static void memory(void)
{
    cj_array *a = array_of(0);
    const cj_dptr d = cj_alloc(s[1], sizeof in);
    fill(a, 0, 31);
    cj_fill32(s[1], d, 0, N);
    cj_stream_sync(s[1]);
    tap_is_int(cj_copy_array(s[1], CJ_COPY_ARRAY(.src_array = a, .dst = d)), CJ_OK,
               "to memory of the stream's device: %s", cj_error_of(s[1])->message);
    cj_copy_to_host(s[1], out, d, sizeof out);
    cj_stream_sync(s[1]);
    tap_is_mem(out, in, sizeof in, "the array of the other one arrives");
    cj_fill32(s[1], d, 8, N);
    cj_stream_sync(s[1]);
    tap_is_int(cj_copy_array(s[0], CJ_COPY_ARRAY(.dst_array = a, .src = d, .src_device = dev[1], .height = 2)), CJ_OK,
               "from memory of the other device: %s", cj_error_of(s[0])->message);
    cj_stream_sync(s[0]);
    read_back(a, 0);
    tap_ok(out[0] == 8 && out[2 * W - 1] == 8 && out[2 * W] == 31 + 2 * W, "two rows arrive");
    tap_is_int(cj_copy_array(s[0], CJ_COPY_ARRAY(.dst_array = a, .src = cj_offset(d, 4), .src_device = dev[1])),
               CJ_EINVAL, "what does not fit there is rejected");
    tap_has_str(cj_error_of(s[0])->message, "384 bytes do not fit, 380 are left", "with the figures");
    cj_stream_sync(s[0]);
    cj_free(dev[1], d);
    cj_array_free(a);
}

/* A copy in flight on a stream of the other device. */
static void releases(void)
{
    struct latch l = LATCH_CLOSED;
    cj_array *a = cj_array_create(dev[0], CJ_ARRAY(.width = W, .height = H, .levels = 2, .type = CJ_U32));
    cj_array *from = cj_array_level(a, 0), *to = array_of(1);
    fill(from, 0, 900);
    cj_device_collect(dev[0]);
    bench_hold(s[1], &l);
    tap_is_int(cj_copy_array(s[1], CJ_COPY_ARRAY(.dst_array = to, .src_array = from)), CJ_OK,
               "a copy waits on the other device: %s", cj_error_of(s[1])->message);
    cj_array_free(from), cj_array_free(a);
    tap_is_uint(cj_device_collect(dev[0]), 1, "the release of its source waits for it");
    latch_open(&l);
    cj_stream_sync(s[1]);
    cj_device_sync(dev[0]);
    tap_is_uint(cj_device_collect(dev[0]), 0, "and follows it");
    tap_is_mem(read_back(to, 1), in, sizeof in, "which was right");
    cj_array_free(to);
}

static void rejects(void)
{
    cj_array *a = array_of(0), *b = array_of(1);
    const struct { const char *name; cj_copy_array_params p; const char *says; } wrongs[] = {
        { "host memory with an array of the other device",
          { .src_array = b, .dst_host = out },
          "the array is of device 1, the stream or the graph of device 0" },
        { "another device for an array",
          { .dst_array = a, .dst_device = dev[1], .src_array = b },
          "the destination is an array of device 0, and another device is set for it" },
    };
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        cj_copy_array_params p = wrongs[i].p;
        p.size = sizeof p;
        tap_is_int(cj_copy_array(s[0], &p), CJ_EINVAL, "%s", wrongs[i].name);
        tap_has_str(cj_error_of(s[0])->message, wrongs[i].says, "... is named");
        cj_stream_sync(s[0]);
    }
    cj_capture_begin(s[0], CJ_CAPTURE_THREAD);
    tap_is_int(cj_copy_array(s[0], CJ_COPY_ARRAY(.dst_array = a, .src_array = b)), CJ_ENOTSUP, "in a capture");
    tap_has_str(cj_error_of(s[0])->message, "while the stream is capturing", "... is named");
    cj_graph_free(cj_capture_end(s[0]));
    cj_stream_sync(s[0]);
    cj_graph *g = cj_graph_create(dev[0]);
    cj_node *n = cj_graph_copy_array(g, NULL, CJ_COPY_ARRAY(.dst_array = a, .src_array = b));
    tap_is_int(cj_error_of(n)->status, CJ_ENOTSUP, "as a node");
    tap_has_str(cj_error_of(n)->message, "copy the array to device memory", "... is named");
    cj_graph_free(g);
    cj_driver *second = cj_driver_open_interposed(drv, NULL);
    cj_device *there = cj_device_open(second, 0, NULL);
    cj_array *apart = cj_array_create(there, CJ_ARRAY(.width = W, .height = H, .type = CJ_U32));
    tap_is_int(cj_copy_array(s[0], CJ_COPY_ARRAY(.dst_array = a, .src_array = apart)), CJ_EINVAL, "of two drivers");
    tap_has_str(cj_error_of(s[0])->message, "the source is of another driver", "... is named");
    cj_stream_sync(s[0]);
    cj_array_free(apart), cj_array_free(a), cj_array_free(b);
    cj_device_close(there);
    cj_driver_close(second);
}

int main(void)
{
    setenv("CUJIT_SIM_DEVICES", "2", 1);
    tap_need_device(2);
    tap_plan(0);
    drv = cj_driver_open(NULL);
    for (int i = 0; i < 2; i++) {
        dev[i] = cj_device_open(drv, i, NULL);
        s[i] = cj_stream_create(dev[i], NULL);
    }
    arrays(), memory(), releases(), rejects();
    for (int i = 0; i < 2; i++) {
        tap_is_int(cj_stream_sync(s[i]), CJ_OK, "nothing else has failed: %s", cj_error_of(s[i])->message);
        cj_stream_free(s[i]);
    }
    for (int i = 0; i < 2; i++) {
        cj_device_sync(dev[i]);
        tap_is_uint(cj_device_collect(dev[i]), 0, "nothing is left to be released");
    }
    for (int i = 0; i < 2; i++) cj_device_close(dev[i]);
    cj_driver_close(drv);
    return tap_done();
}
