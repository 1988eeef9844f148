/* The file of a recording: whatever is changed in one, reading and listing it ends with a sentence or with lines, reads
 * nothing beyond it and takes little memory. Every second input has its hashes set right again, so that what lies
 * behind is read. */
#include <cujit/cujit.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "driver/interpose/replay_parts.h"
#include "tests/device_parts.h"
#include "tests/driver/record_parts.h"
#include "tests/fuzz/fuzz.h"

const char cji_fuzz_name[] = "recording";
const bool cji_fuzz_is_text = false, cji_fuzz_has_threads = false;

static size_t taken, most; /* bytes of the library's memory, and how many an input may take */

static void *count_realloc(void *user, void *p, size_t old, size_t size)
{
    (void)user;
    taken += size - old;
    if (most && taken > most && size > old) cji_fuzz_fail("%zu bytes of memory are taken", taken);
    if (size) return realloc(p, size);
    free(p);
    return NULL;
}

void cji_fuzz_begin(void) { cj_set_allocator(count_realloc, NULL); }

/* One recording of a driver alone, one of a kernel, copies and a graph. */
void cji_fuzz_seeds(void)
{
    cj_driver *under = cj_driver_open("sim");
    for (int i = 0; i < 2; i++) {
        static uint32_t h[16];
        cj_driver *drv = cj_driver_open_recorded(under, record_path("seed"));
        if (cj_error_of(drv)->status) cji_fuzz_fail("%s", cj_error_of(drv)->message);
        if (i) {
            cj_device *dev = cj_device_open(drv, 0, NULL);
            cj_stream *s = cj_stream_create(dev, NULL);
            cj_ptx *m = bench_add_module();
            cj_kernel *k = cj_kernel_load(dev, m, "add", NULL);
            cj_dptr d = cj_alloc(s, sizeof h);
            cj_copy_2d_to_device(s, d, 16, h, 20, 12, 3);
            cj_graph *g = cj_graph_create(dev);
            cj_node *n = cj_graph_kernel(g, NULL, k, cj_threads(16, 16), d, 16u, 3u);
            cj_graph_copy_to_host(g, CJ_NODES(n), h, d, sizeof h);
            cj_graph_exec *x = cj_graph_instantiate(g, NULL);
            cj_graph_launch(s, x);
            cj_stream_sync(s);
            cj_graph_exec_free(x);
            cj_graph_free(g);
            cj_free(dev, d);
            cj_kernel_free(k);
            cj_ptx_free(m);
            cj_stream_free(s);
            cj_device_close(dev);
        }
        cj_driver_close(drv);
        record_bytes file = record_read(record_path("seed"));
        cji_fuzz_add(file.p, file.n);
        free(file.p);
    }
    cj_driver_close(under);
}

/* The hashes of all records up to the first one that is too large. */
static void seal_all(const record_bytes *file)
{
    cji_rec_head head;
    size_t at = sizeof head;
    if (file->n < sizeof head) return;
    memcpy(&head, file->p, sizeof head);
    head.check = cji_hash(&head, offsetof(cji_rec_head, check));
    memcpy(file->p, &head, sizeof head);
    for (const cji_rec_record *r; (r = record_at(file, at)) && r->bytes <= file->n - at - sizeof *r;
         at = record_next(file, at))
        record_seal(file, at);
}

static void look_at_line(void *user, const char *line) { *(size_t *)user += strlen(line); }

int cji_fuzz_one(const uint8_t *data, size_t size)
{
    record_bytes file = { malloc(size ? size : 1), size };
    size_t letters = 0;
    cji_recording r;
    if (!file.p) cji_fuzz_fail("no memory");
    if (size) memcpy(file.p, data, size);
    if (size & 1) seal_all(&file);
    most = taken + 8 * size + 65536;
    const cj_status status = cji_recording_read(&r, file.p, size);
    if (status == CJ_OK) {
        cji_replay rp = { .rec = &r, .opts = { .line = look_at_line, .user = &letters } };
        cji_replay_describe(&rp);
        cji_replay_list(&rp);
        if (!letters) cji_fuzz_fail("a recording without a line");
    } else if (status != CJ_EINVAL || !*r.why) {
        cji_fuzz_fail("status %d, \"%s\"", (int)status, r.why);
    }
    cji_recording_free(&r);
    most = 0;
    free(file.p);
    return status == CJ_OK;
}
