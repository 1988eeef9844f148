/* Two streams and events: one stream copies a chunk while the other computes on the last one.  Two
 * buffers alternate.  One event marks a full buffer, another a used one. */
#include <cujit/cujit.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK = 1 << 15, CHUNKS = 8 };

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--help"))
        return puts("usage: overlap\n"
                    "Adds the squares of eight chunks: one stream copies a chunk while another computes on the last."),
               0;

    /* total += x[i] * x[i], over the threads */
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "squares");
    cj_val x = cj_param_ptr(f, "x", CJ_U64), n = cj_param(f, "n", CJ_U32), total = cj_param_ptr(f, "total", CJ_U64);
    cj_val sum = cj_let(f, CJ_U64, 0);
    cj_val i = cj_for(f, cj_global_id(f, CJ_X), n, cj_global_size(f, CJ_X));
        cj_val v = cj_get(f, x, i);
        cj_assign(f, sum, cj_mad(f, v, v, sum));
    cj_end(f);
    cj_atomic_add(f, total, sum);

    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *bring = cj_stream_create(dev, NULL),
              *compute = cj_stream_create(dev, CJ_STREAM(.priority = CJ_PRIORITY_HIGH));
    cj_kernel *k = cj_kernel_load(dev, m, "squares", NULL);
    cj_event *full[2], *used[2];
    cj_dptr buffer[2], d = cj_alloc(compute, sizeof(uint64_t));
    uint64_t *h = cj_host_alloc(dev, (CHUNKS * CHUNK + 1) * sizeof *h, NULL), want = 0;
    if (!h) return fprintf(stderr, "%s\n", cj_error_of(dev)->message), 1;
    uint64_t *result = h + CHUNKS * CHUNK;
    for (uint64_t j = 0; j < CHUNKS * CHUNK; j++) h[j] = j % 1000, want += h[j] * h[j];
    for (int b = 0; b < 2; b++) {
        full[b] = cj_event_create(dev, NULL), used[b] = cj_event_create(dev, NULL);
        buffer[b] = cj_alloc(bring, CHUNK * sizeof *h);
    }
    cj_fill8(compute, d, 0, sizeof(uint64_t));

    for (int c = 0; c < CHUNKS; c++) {
        int b = c % 2;
        cj_stream_wait(bring, used[b]); /* the first time no wait: it was never recorded */
        cj_copy_to_device(bring, buffer[b], h + c * CHUNK, CHUNK * sizeof *h);
        cj_event_record(full[b], bring);
        cj_stream_wait(compute, full[b]);
        cj_launch(compute, k, cj_grid(16, 256), buffer[b], CHUNK, d);
        cj_event_record(used[b], compute);
    }
    for (int b = 0; b < 2; b++) cj_stream_use(compute, buffer[b]), cj_free(dev, buffer[b]);
    cj_copy_to_host(compute, result, d, sizeof *result);
    if (cj_stream_sync(bring) != CJ_OK) return fprintf(stderr, "%s\n", cj_error_of(bring)->message), 1;
    if (cj_stream_sync(compute) != CJ_OK) return fprintf(stderr, "%s\n", cj_error_of(compute)->message), 1;
    uint64_t sum_of_squares = *result;
    printf("%s: %d chunks of %d numbers through two buffers: the sum of squares is %llu, %s\n", cj_device_name(dev),
           CHUNKS, CHUNK, (unsigned long long)sum_of_squares, sum_of_squares == want ? "right" : "wrong");

    for (int b = 0; b < 2; b++) cj_event_free(full[b]), cj_event_free(used[b]);
    cj_free(dev, d);
    cj_host_free(dev, h);
    cj_kernel_free(k);
    cj_ptx_free(m);
    cj_stream_free(bring);
    cj_stream_free(compute);
    cj_device_close(dev);
    cj_driver_close(drv);
    return sum_of_squares != want;
}
