/* Host memory of the caller, registered: copies read it when the stream reaches them, kernels reach it, it is unlocked
 * once; and mistakes are named. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/device_bench.h"

enum { PAGE = 4096, BYTES = 4 * PAGE, N = 1024 };
static unsigned char *mine;

static void used(void)
{
    struct latch l = LATCH_CLOSED;
    uint32_t *w = (uint32_t *)mine, out = 0;
    tap_is_int(cj_host_register(dev, mine, BYTES, 0), CJ_OK, "memory of mmap is registered");
    cj_mem_info info;
    cj_mem_info_defaults(&info);
    cj_mem_get_info(dev, (cj_dptr){ (uintptr_t)mine }, &info);
    tap_is_int(info.kind, CJ_MEM_KIND_HOST, "it is page-locked host memory now");
    w[0] = 1;
    bench_hold(s, &l);
    cj_copy_to_device(s, d, mine, 4 * N);
    w[0] = 2;
    latch_open(&l);
    cj_copy_to_host(s, &out, d, 4);
    cj_stream_sync(s);
    tap_is_uint(out, 2, "a copy reads it when the stream reaches it");
    cj_launch(s, add, cj_threads(N, 128), (cj_dptr){ (uintptr_t)mine }, N, 40);
    cj_stream_sync(s);
    tap_is_uint(w[0], 42, "a kernel uses it at its host address");
}

static void mistakes(void)
{
    static uint32_t on_stack;
    const struct {
        const char *name, *says;
        void *p;
        size_t bytes;
        int read_only;
        cj_status status;
    } registers[] = {
        { "no address", "64 bytes at", NULL, 64, 0, CJ_EINVAL },
        { "no bytes", "0 bytes at", mine, 0, 0, CJ_EINVAL },
        { "bytes that wrap", "are no memory", mine, SIZE_MAX, 0, CJ_EINVAL },
        { "another flag", "read_only is 2", mine, BYTES, 2, CJ_EINVAL },
        { "what is registered", "registered already", mine, BYTES, 0, CJ_ESTATE },
        { "a part of it", "registered already", mine + PAGE, PAGE, 0, CJ_ESTATE },
    }, frees[] = {
        { "the middle of it", "was not passed to cj_host_register", mine + PAGE, 0, 0, CJ_EDRIVER },
        { "other memory", "was not passed to cj_host_register", &on_stack, 0, 0, CJ_ENOTFOUND },
    };
    for (size_t i = 0; i < sizeof registers / sizeof *registers; i++) {
        tap_is_int(cj_host_register(dev, registers[i].p, registers[i].bytes, registers[i].read_only),
                   registers[i].status, "%s is not registered", registers[i].name);
        tap_has_str(cj_error_of(dev)->message, registers[i].says, "... which says why");
    }
    for (size_t i = 0; i < sizeof frees / sizeof *frees; i++) {
        tap_is_int(cj_host_unregister(dev, frees[i].p), frees[i].status, "%s is not unregistered", frees[i].name);
        tap_has_str(cj_error_of(dev)->message, frees[i].says, "... which says why");
    }
    tap_is_int(cj_host_free(dev, mine), CJ_EDRIVER, "cj_host_free does not free it");
}

static void given_back(void)
{
    tap_is_int(cj_host_unregister(dev, mine), CJ_OK, "it is unregistered");
    tap_is_int(cj_host_unregister(dev, mine), CJ_ENOTFOUND, "once");
    tap_has_str(cj_error_of(dev)->message, "it has been unregistered", "which says so");
    tap_is_int(cj_host_unregister(dev, NULL), CJ_OK, "NULL is ignored");
    mprotect(mine, BYTES, PROT_READ);
    cj_status st = cj_host_register(dev, mine, BYTES, 1);
    if (st == CJ_OK) {
        uint32_t out = 0;
        cj_copy_to_device(s, d, mine, 4);
        cj_copy_to_host(s, &out, d, 4);
        cj_stream_sync(s);
        tap_is_uint(out, 42, "memory that the process cannot write is registered for reading");
        tap_is_int(cj_host_unregister(dev, mine), CJ_OK, "and unregistered");
    } else {
        tap_skip(2, "this device registers no memory for reading only");
    }
}

int main(void)
{
    bench_open(4 * N);
    mine = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(mine, 0, BYTES);
    used();
    mistakes();
    given_back();
    munmap(mine, BYTES);
    return bench_close();
}
