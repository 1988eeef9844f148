/* Mistakes with memory: sizes that wrap, freeing twice, freeing what is not the library's, using what is freed. Each
 * fails with a status and a sentence that names the address or the size, whatever kind of memory it is. */
#include <stdlib.h>

#include "tests/device_bench.h"

static uint32_t here[64];
static void *pinned;
static cj_dptr mine, managed, ipc, gone;
static cj_mem_info info = { .size = sizeof info };

/* -- Calls: the status of one mistake each; the failure is in *where ----------------------------------------------- */

static const void *where;
static cj_status in_stream(cj_status st) { return where = s, st; }
static cj_status in_device(cj_status st) { return where = dev, st; }
static cj_status none_on_stream(cj_dptr p) { return in_stream(p.addr ? CJ_OK : cj_error_of(s)->status); }

static cj_status alloc_wraps(void) { return none_on_stream(cj_alloc(s, SIZE_MAX)); }
static cj_status alloc_wraps_rounded(void) { return none_on_stream(cj_alloc(s, SIZE_MAX - 300)); }
static cj_status alloc_nothing(void) { return none_on_stream(cj_alloc(s, 0)); }
static cj_status managed_wraps(void) { return none_on_stream(cj_managed_alloc(s, SIZE_MAX)); }
static cj_status ipc_wraps(void) { return none_on_stream(cj_ipc_alloc(s, SIZE_MAX)); }
static cj_status host_wraps(void)
{
    return in_device(cj_host_alloc(dev, SIZE_MAX, NULL) ? CJ_OK : cj_error_of(dev)->status);
}
static cj_status wrap_wraps(void) { return in_stream(cj_mem_wrap(s, (cj_dptr){ UINT64_MAX - 8 }, 64)); }
static cj_status copy_wraps(void) { return in_stream(cj_copy_to_host(s, here, mine, SIZE_MAX)); }
static cj_status fill_wraps(void) { return in_stream(cj_fill32(s, mine, 1, SIZE_MAX / 2)); }
static cj_status rows_wrap(void) { return in_stream(cj_copy_2d_to_host(s, here, 0, mine, SIZE_MAX / 2, 4, 4)); }
static cj_status register_wraps(void) { return in_device(cj_host_register(dev, here, SIZE_MAX, 0)); }
static cj_status free_twice(void) { return in_device(cj_free(dev, gone)); }
static cj_status free_inside(void) { return in_device(cj_free(dev, cj_offset(mine, 16))); }
static cj_status free_inside_managed(void) { return in_device(cj_free(dev, cj_offset(managed, 16))); }
static cj_status free_inside_ipc(void) { return in_device(cj_free(dev, cj_offset(ipc, 16))); }
static cj_status free_host_variable(void) { return in_device(cj_free(dev, (cj_dptr){ (uintptr_t)here })); }
static cj_status free_pinned(void) { return in_device(cj_free(dev, (cj_dptr){ (uintptr_t)pinned })); }
static cj_status free_number(void) { return in_device(cj_free(dev, (cj_dptr){ 0x1234 })); }
static cj_status host_free_device(void) { return in_device(cj_host_free(dev, (void *)(uintptr_t)mine.addr)); }
static cj_status host_free_variable(void) { return in_device(cj_host_free(dev, here)); }
static cj_status host_free_inside(void) { return in_device(cj_host_free(dev, (char *)pinned + 8)); }
static cj_status unregister_pinned(void) { return in_device(cj_host_unregister(dev, pinned)); }
static cj_status unregister_variable(void) { return in_device(cj_host_unregister(dev, here)); }
static cj_status copy_freed(void) { return in_stream(cj_copy_to_host(s, here, gone, 4)); }
static cj_status fill_freed(void) { return in_stream(cj_fill8(s, gone, 1, 4)); }
static cj_status use_freed(void) { return in_stream(cj_stream_use(s, gone)); }
static cj_status query_freed(void) { return in_device(cj_mem_query(dev, gone)); }
static cj_status info_of_number(void) { return in_device(cj_mem_get_info(dev, (cj_dptr){ 0x1234 }, &info)); }
static cj_status export_plain(void)
{
    char handle[CJ_IPC_MEM_BYTES];
    return in_device(cj_ipc_export(dev, mine, handle, sizeof handle));
}
static cj_status advise_wraps(void)
{
    return in_device(cj_managed_advise(dev, managed, SIZE_MAX, CJ_ADVICE_READ_MOSTLY));
}

/* `says` is a part of the message. */
static const struct { const char *name; cj_status (*make)(void); cj_status status; const char *says; } mistakes[] = {
    { "an allocation of all bytes", alloc_wraps, CJ_ENOMEM, "18446744073709551615 bytes" },
    { "an allocation that wraps when it is rounded", alloc_wraps_rounded, CJ_ENOMEM, "18446744073709551315 bytes" },
    { "an allocation of nothing", alloc_nothing, CJ_EINVAL, "0 bytes of memory" },
    { "managed memory of all bytes", managed_wraps, CJ_ENOMEM, "18446744073709551615 bytes of managed" },
    { "memory for other processes of all bytes", ipc_wraps, CJ_ENOMEM, "18446744073709551615 bytes of IPC" },
    { "pinned memory of all bytes", host_wraps, CJ_ENOMEM, "18446744073709551615 bytes of pinned" },
    { "a wrapped range that wraps", wrap_wraps, CJ_EINVAL, "64 bytes at 0xfffffffffffffff7 are beyond any memory" },
    { "a copy of all bytes", copy_wraps, CJ_EINVAL, "beyond any memory" },
    { "a fill whose bytes wrap", fill_wraps, CJ_EINVAL, "beyond any memory" },
    { "rows whose pitch wraps", rows_wrap, CJ_EINVAL, "beyond any memory" },
    { "registered memory that wraps", register_wraps, CJ_EINVAL, "18446744073709551615 bytes at 0x" },
    { "freeing twice", free_twice, CJ_ENOTFOUND, "or it was freed before" },
    { "freeing an address inside", free_inside, CJ_ENOTFOUND, "lies 16 bytes inside the memory at 0x" },
    { "freeing an address inside managed memory", free_inside_managed, CJ_ENOTFOUND, "lies 16 bytes inside" },
    { "freeing an address inside IPC memory", free_inside_ipc, CJ_ENOTFOUND, "lies 16 bytes inside" },
    { "freeing a variable of the host", free_host_variable, CJ_ENOTFOUND, "is not memory of cj_alloc on device 0" },
    { "freeing pinned memory as device memory", free_pinned, CJ_ENOTFOUND, "is not memory of cj_alloc" },
    { "freeing a number", free_number, CJ_ENOTFOUND, "0x1234 is not memory of cj_alloc" },
    { "freeing device memory as host memory", host_free_device, CJ_EDRIVER, "was not returned by cj_host_alloc" },
    { "freeing a variable as host memory", host_free_variable, CJ_EDRIVER, "was not returned by cj_host_alloc" },
    { "freeing an address inside host memory", host_free_inside, CJ_EDRIVER, "was not returned by cj_host_alloc" },
    { "unregistering pinned memory", unregister_pinned, CJ_EDRIVER, "was not passed to cj_host_register" },
    { "unregistering a variable", unregister_variable, CJ_ENOTFOUND, "was not passed to cj_host_register" },
    { "copying what is freed", copy_freed, CJ_EINVAL, "was freed with cj_free" },
    { "filling what is freed", fill_freed, CJ_EINVAL, "was freed with cj_free" },
    { "declaring a use of what is freed", use_freed, CJ_ENOTFOUND, "is in no allocation" },
    { "asking about what is freed", query_freed, CJ_ENOTFOUND, "0x" },
    { "asking what a number is", info_of_number, CJ_ENOTFOUND, "0x1234 is in no memory" },
    { "exporting memory of cj_alloc", export_plain, CJ_EINVAL, "cj_ipc_alloc" },
    { "advice on all bytes", advise_wraps, CJ_EDRIVER, "18446744073709551615 bytes at 0x" },
};

int main(void)
{
    cj_device_info has;
    bench_open(0);
    cj_device_info_defaults(&has);
    cj_device_get_info(dev, &has);
    mine = cj_alloc(s, sizeof here);
    gone = cj_alloc(s, sizeof here);
    ipc = cj_ipc_alloc(s, sizeof here);
    if (has.managed_memory) managed = cj_managed_alloc(s, sizeof here);
    pinned = cj_host_alloc(dev, sizeof here, NULL);
    cj_free(dev, gone);
    tap_is_int(cj_stream_sync(s), CJ_OK, "there is memory of each kind");
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        const cj_status st = mistakes[i].make();
        if (st == CJ_ENOTSUP) { /* of a device without such memory, which is reported as that */
            tap_skip(2, "%s", mistakes[i].name);
            cj_stream_sync(s);
            continue;
        }
        tap_is_int(st, mistakes[i].status, "%s", mistakes[i].name);
        tap_has_str(cj_error_of(where)->message, mistakes[i].says, "... is named");
        cj_stream_sync(s);
    }
    tap_is_int(cj_fill32(s, mine, 7, 64), CJ_OK, "the memory is usable as before");
    cj_copy_to_host(s, here, mine, sizeof here);
    tap_is_int(cj_stream_sync(s), CJ_OK, "all of it");
    tap_is_uint(here[63], 7, "and has what it is given");
    cj_free(dev, mine);
    cj_free(dev, ipc);
    cj_free(dev, managed);
    tap_is_int(cj_host_free(dev, pinned), CJ_OK, "pinned memory is freed");
    tap_is_int(cj_host_free(dev, pinned), CJ_EDRIVER, "once");
    cj_device_collect(dev);
    return bench_close();
}
