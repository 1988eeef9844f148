/* The CUDA runtime and the library in one process: its memory in our kernels and copies, ours in its copies, order with
 * its streams by number and by wrapping.  Skipped where there is no libcudart; the CPU device has none. */
#include <dlfcn.h>
#include <string.h>

#include "tests/device_bench.h"

enum { N = 1000, BYTES = 4 * N, TO_DEVICE = 1, TO_HOST = 2 };

/* The calls of the runtime that are used, each of which returns a cudaError_t. */
static struct runtime {
    int (*cudaMalloc)(void **p, size_t bytes);
    int (*cudaFree)(void *p);
    int (*cudaMemset)(void *p, int value, size_t bytes);
    int (*cudaMemsetAsync)(void *p, int value, size_t bytes, void *stream);
    int (*cudaMemcpy)(void *dst, const void *src, size_t bytes, int kind);
    int (*cudaMemcpyAsync)(void *dst, const void *src, size_t bytes, int kind, void *stream);
    int (*cudaStreamCreate)(void **stream);
    int (*cudaStreamDestroy)(void *stream);
    int (*cudaStreamSynchronize)(void *stream);
    int (*cudaDeviceSynchronize)(void);
} rt;

static bool open_runtime(void)
{
    static const char *const files[] = { "libcudart.so",    "libcudart.so.13",
                                         "libcudart.so.12", "libcudart.so.11.0",
                                         "/usr/local/cuda/lib64/libcudart.so" };
    void *lib = NULL;
    for (size_t i = 0; i < sizeof files / sizeof *files && !lib; i++) lib = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    if (!lib) return false;
    const struct { const char *name; void *call; } calls[] = {
#define CALL(name) { #name, &rt.name }
        CALL(cudaMalloc),       CALL(cudaFree),          CALL(cudaMemset),
        CALL(cudaMemsetAsync),  CALL(cudaMemcpy),        CALL(cudaMemcpyAsync),
        CALL(cudaStreamCreate), CALL(cudaStreamDestroy), CALL(cudaStreamSynchronize),
        CALL(cudaDeviceSynchronize),
#undef CALL
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        void *found = dlsym(lib, calls[i].name);
        if (!found) tap_bail("libcudart has no %s", calls[i].name);
        memcpy(calls[i].call, &found, sizeof found);
    }
    return true;
}

static uint32_t out[N];

static size_t others_than(uint32_t want)
{
    size_t wrong = 0;
    for (size_t i = 0; i < N; i++) wrong += out[i] != want;
    memset(out, 0, sizeof out);
    return wrong;
}

static void its_memory(void)
{
    void *p = NULL;
    tap_is_int(rt.cudaMalloc(&p, BYTES), 0, "cudaMalloc");
    tap_is_int(rt.cudaMemset(p, 0, BYTES), 0, "cudaMemset");
    const cj_dptr there = { (uint64_t)(uintptr_t)p };
    tap_is_int(rt.cudaDeviceSynchronize(), 0, "... is complete");
    tap_is_int(cj_launch(s, add, cj_threads(N, 128), there, N, 5), CJ_OK, "our kernel: %s", cj_error_of(s)->message);
    tap_is_int(cj_stream_sync(s), CJ_OK, "... is complete");
    tap_is_int(rt.cudaMemcpy(out, p, BYTES, TO_HOST), 0, "cudaMemcpy");
    tap_is_uint(others_than(5), 0, "... has what the kernel wrote");
    tap_is_int(cj_mem_wrap(s, there, BYTES), CJ_OK, "its bounds are made known");
    tap_is_int(cj_fill32(s, there, 1, N + 1), CJ_EINVAL, "... and checked");
    cj_stream_sync(s);
    tap_is_int(cj_free(dev, there), CJ_OK, "... and forgotten");
    cj_stream_sync(s);
    tap_is_int(rt.cudaFree(p), 0, "cudaFree");
}

static void our_memory(void)
{
    const cj_dptr mine = cj_alloc(s, BYTES);
    for (uint32_t i = 0; i < N; i++) out[i] = 8;
    cj_stream_sync(s);
    tap_is_int(rt.cudaMemcpy((void *)(uintptr_t)mine.addr, out, BYTES, TO_DEVICE), 0, "cudaMemcpy to our memory");
    tap_is_int(cj_launch(s, add, cj_threads(N, 128), mine, N, 1), CJ_OK, "our kernel adds");
    memset(out, 0, sizeof out);
    cj_copy_to_host(s, out, mine, BYTES);
    tap_is_int(cj_stream_sync(s), CJ_OK, "... is complete");
    tap_is_uint(others_than(9), 0, "... to what the runtime wrote");
    cj_free(dev, mine);
}

/* Its fill, our kernel, its copy: in that order, without the host. */
static void its_streams(void)
{
    void *p = NULL, *stream = NULL;
    tap_is_int(rt.cudaMalloc(&p, BYTES) || rt.cudaStreamCreate(&stream), 0, "memory and a stream of the runtime");
    const cj_dptr there = { (uint64_t)(uintptr_t)p };
    const int64_t number = (int64_t)(uintptr_t)stream;
    tap_is_int(rt.cudaMemsetAsync(p, 1, BYTES, stream), 0, "cudaMemsetAsync");
    tap_is_int(cj_stream_wait_foreign(s, number), CJ_OK, "our stream waits: %s", cj_error_of(s)->message);
    tap_is_int(cj_launch(s, add, cj_threads(N, 128), there, N, 2), CJ_OK, "our kernel adds");
    tap_is_int(cj_stream_signal_foreign(s, number), CJ_OK, "its stream waits: %s", cj_error_of(s)->message);
    tap_is_int(rt.cudaMemcpyAsync(out, p, BYTES, TO_HOST, stream), 0, "cudaMemcpyAsync");
    tap_is_int(rt.cudaStreamSynchronize(stream), 0, "... is complete");
    tap_is_uint(others_than(0x01010103), 0, "... behind our kernel");
    cj_stream *wrapped = cj_stream_wrap(dev, stream);
    tap_is_int(cj_error_of(wrapped)->status, CJ_OK, "its stream is wrapped: %s", cj_error_of(wrapped)->message);
    tap_is_int(rt.cudaMemsetAsync(p, 0, BYTES, stream), 0, "cudaMemsetAsync");
    tap_is_int(cj_launch(wrapped, add, cj_threads(N, 128), there, N, 3), CJ_OK, "our kernel on it");
    tap_is_int(rt.cudaMemcpyAsync(out, p, BYTES, TO_HOST, stream), 0, "cudaMemcpyAsync");
    tap_is_int(rt.cudaStreamSynchronize(stream), 0, "... is complete");
    tap_is_uint(others_than(3), 0, "... in that order");
    cj_stream_free(wrapped);
    tap_is_int(rt.cudaStreamDestroy(stream), 0, "cudaStreamDestroy");
    tap_is_int(rt.cudaFree(p), 0, "cudaFree");
}

int main(void)
{
    tap_need_gpu(1);
    if (!open_runtime()) tap_skip_all("no libcudart.so");
    bench_open(0);
    its_memory(), our_memory(), its_streams();
    return bench_close();
}
