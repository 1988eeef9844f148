/* A program that is recorded, and the recording repeated. */
#include <stdlib.h>
#include <unistd.h>

#include <cujit/replay.h>

#include "tests/whole/work.h"

enum { N = 64 };

/* Copies of both kinds, a launch, a graph. */
static uint64_t program(cj_driver *drv, cj_ptx *m)
{
    uint64_t sum = 0;
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_kernel *k = cj_kernel_load(dev, m, "add", NULL);
    uint32_t *h = cj_host_alloc(dev, 4 * N, NULL);
    cj_dptr d = cj_alloc(s, 4 * N);
    if (!h) work_made(dev);
    if (!d.addr) work_made(s);
    if (h && d.addr && work_made(k)) {
        for (uint32_t i = 0; i < N; i++) h[i] = i;
        work_did(cj_copy_to_device(s, d, h, 4 * N));
        work_did(cj_launch(s, k, cj_threads(N, 32), d, N, 1));
        if (work_waited(s)) {
            cj_graph *g = cj_graph_create(dev);
            cj_node *a = cj_graph_kernel(g, NULL, k, cj_threads(N, 32), d, N, 2);
            cj_graph_copy_to_host(g, CJ_NODES(a), h, d, 4 * N);
            cj_graph_exec *x = cj_graph_instantiate(g, NULL);
            if (work_made(x)) work_did(cj_graph_launch(s, x));
            if (work_waited(s)) sum += h[N - 1];
            cj_graph_exec_free(x);
            cj_graph_free(g);
        }
    }
    cj_stream_sync(s);
    work_did(cj_free(dev, d));
    cj_kernel_free(k);
    cj_host_free(dev, h);
    cj_stream_free(s);
    cj_device_collect(dev);
    cj_device_close(dev);
    return sum;
}

/* What fails while calls are repeated is a difference, and no failure of cj_replay_file. */
static void repeated(cj_driver *drv, const char *path)
{
    cj_replay_opts o;
    cj_replay_result x;
    cj_replay_defaults(&o);
    cj_replay_result_defaults(&x);
    if (!work_did(cj_replay_file(drv, path, &o, &x)) || work_first[0]) return;
    if (!x.complete || x.impossible || x.different || x.results)
        snprintf(work_first, sizeof work_first, "the recording is not whole, or its repetition differs");
}

int main(void)
{
    uint64_t sum = 0;
    char path[] = "/tmp/cujit-work-XXXXXX";
    const int fd = mkstemp(path);
    if (fd < 0) return 3;
    close(fd);
    cj_driver *under = cj_driver_open(NULL);
    cj_driver *drv = cj_driver_open_recorded(under, path);
    cj_ptx *m = bench_add_module();
    const bool made = work_made(drv) && work_made(m);
    if (made) sum = program(drv, m);
    cj_driver_close(drv);
    if (made) repeated(under, path);
    cj_ptx_free(m);
    cj_driver_close(under);
    unlink(path);
    return work_end("records", sum);
}
