/* A capture begun outside of the library on a raw handle takes what the library gives to the stream, pageable copies
 * too, and nothing that the library does meanwhile breaks it. */
#include <string.h>

#include "driver/driver.h"
#include "tests/stream/graph_runs.h"

static unsigned char in[3 * 100], out[3 * 100];

int main(void)
{
    CUgraph g = NULL;
    CUgraphExec x = NULL;
    bench_open(4 * N);
    const cji_cu *cu = &drv->cu;
    CUstream raw = (CUstream)cj_stream_raw(s);
    cj_dptr rows = cj_alloc(s, 3 * 128);
    uint32_t word = 1, back = 0, beside = 5;
    clear();
    cu->cuCtxPushCurrent(dev->ctx);
    tap_is_int(cu->cuStreamBeginCapture(raw, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS,
               "a capture that the library does not know of");
    tap_is_int(cj_copy_to_device(s, d, &word, 4), CJ_OK, "takes a copy of pageable memory");
    tap_is_int(cj_launch(s, add, cj_grid(1, 32), d, 1, 10), CJ_OK, "a kernel");
    tap_is_int(cj_copy_to_host(s, &back, d, 4), CJ_OK, "a copy to pageable memory");
    tap_is_int(cj_copy_2d_to_device(s, rows, 128, in, 100, 100, 3), CJ_OK, "rows");
    tap_is_int(cj_copy_2d_to_host(s, out, 100, rows, 128, 100, 3), CJ_OK, "both ways");
    for (int i = 0; i < 3; i++) {
        cj_copy_to_device(t, cj_offset(d, 4), &beside, 4);
        cj_copy_to_host(t, &beside, cj_offset(d, 4), 4);
        cj_stream_sync(t);
        cj_device_collect(dev);
    }
    tap_is_int(cu->cuStreamEndCapture(raw, &g), CUDA_SUCCESS, "and ends whole, whatever went on beside it");
    tap_is_int(cu->cuGraphInstantiateWithFlags(&x, g, 0), CUDA_SUCCESS, "it can be launched");
    for (int round = 1; round < 3; round++) {
        word = (uint32_t)round * 100;
        memset(in, round, sizeof in);
        memset(out, 0, sizeof out);
        cu->cuGraphLaunch(x, raw);
        tap_is_int(cj_stream_sync(s), CJ_OK, "launch %d", round);
        tap_is_uint(back, word + 10, "reads and writes the host's memory at that time");
        tap_is_mem(out, in, sizeof in, "rows too");
    }
    cu->cuGraphExecDestroy(x);
    cu->cuGraphDestroy(g);
    cu->cuCtxPopCurrent(&(CUcontext){ NULL });
    cj_free(dev, rows);
    return bench_close();
}
