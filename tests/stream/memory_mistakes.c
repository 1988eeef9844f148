/* Mistakes with memory: sizes that wrap, freeing twice, freeing what is not the library's, using what is freed. Each
 * fails with a status and a sentence that names the address or the size, whatever kind of memory it is. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/device_bench.h"

static uint32_t here[64];
static void *pinned;
static cj_dptr mine, managed, ipc, gone, gone_vmem;
static cj_vmem *grows;
static cj_array *array;
static void *registered;
static cj_mem_info info = { .size = sizeof info };

/* -- Calls: the status of one mistake each; the failure is in *where ----------------------------------------------- */

static const void *where;
static cj_status in_stream(cj_status st) { return where = s, st; }
static cj_status in_device(cj_status st) { return where = dev, st; }
static cj_error said; /* by an object that was not made, where `where` is NULL */
static cj_status not_made(const void *object)
{
    said = *cj_error_of(object);
    return where = NULL, (cj_status)said.status;
}
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

/* -- Memory that grows --------------------------------------------------------------------------------------------- */

static cj_status in_vmem(cj_status st) { return where = grows, st; }
static cj_status vmem_wraps(void)
{
    cj_vmem *v = cj_vmem_create(s, SIZE_MAX, NULL);
    const cj_status st = not_made(v);
    return cj_vmem_free(v), st;
}
static cj_status vmem_grow_wraps(void) { return in_vmem(cj_vmem_grow(grows, SIZE_MAX)); }
static cj_status vmem_import_wraps(void) { return in_vmem(cj_vmem_import(grows, 0, 0 - cj_vmem_granularity(grows))); }
static cj_status vmem_import_odd(void) { return in_vmem(cj_vmem_import(grows, 0, 4097)); }
static cj_status vmem_import_null(void)
{
    const int fd = open("/dev/null", O_RDWR);
    const cj_status st = cj_vmem_import(grows, fd, cj_vmem_granularity(grows));
    return close(fd), in_vmem(st);
}
static cj_status vmem_import_more(void)
{
    int fd = -1;
    size_t bytes = 0;
    cj_vmem *v = cj_vmem_create(s, 1, CJ_VMEM(.bytes = 1, .ipc = 1));
    cj_vmem_export(v, 0, &fd, &bytes);
    const cj_status st = cj_vmem_import(grows, fd, 2 * bytes);
    return close(fd), cj_vmem_free(v), in_vmem(st);
}
static cj_status vmem_export_plain(void)
{
    int fd;
    size_t bytes;
    return in_vmem(cj_vmem_export(grows, 0, &fd, &bytes));
}
static cj_status free_vmem(void) { return in_device(cj_free(dev, cj_vmem_address(grows))); }
static cj_status free_inside_vmem(void) { return in_device(cj_free(dev, cj_offset(cj_vmem_address(grows), 16))); }
static cj_status fill_uncommitted(void)
{
    return in_stream(cj_fill8(s, cj_offset(cj_vmem_address(grows), (int64_t)cj_vmem_bytes(grows)), 1, 4));
}
static cj_status fill_freed_vmem(void) { return in_stream(cj_fill8(s, gone_vmem, 1, 4)); }

/* -- Arrays, textures, surfaces ------------------------------------------------------------------------------------ */

static cj_status array_wraps(void)
{
    cj_array *a = cj_array_create(dev, CJ_ARRAY(.width = SIZE_MAX));
    const cj_status st = not_made(a);
    return cj_array_free(a), st;
}
static cj_status array_level_beyond(void)
{
    cj_array *a = cj_array_level(array, 1);
    const cj_status st = not_made(a);
    return cj_array_free(a), st;
}
static cj_status array_copy_behind(void)
{
    return in_stream(cj_copy_array(s, CJ_COPY_ARRAY(.dst_array = array, .src_host = here, .dst_x = 17)));
}
static cj_status array_copy_wraps(void)
{
    return in_stream(
        cj_copy_array(s, CJ_COPY_ARRAY(.dst_array = array, .src_host = here, .dst_x = 1, .width = SIZE_MAX)));
}
static cj_status array_copy_freed(void)
{
    return in_stream(cj_copy_array(s, CJ_COPY_ARRAY(.dst_array = array, .src = gone)));
}
static cj_status free_array(void) { return in_device(cj_free(dev, (cj_dptr){ (uintptr_t)cj_array_raw(array) })); }
static cj_status texture_of(cj_dptr at, size_t width, size_t height)
{
    cj_texture_memory_params p;
    cj_texture_memory_params_defaults(&p);
    p.memory = at, p.width = width, p.height = height;
    cj_texture *x = cj_texture_create_memory(dev, &p, NULL);
    const cj_status st = not_made(x);
    return cj_texture_free(x), st;
}
static cj_status texture_wraps(void) { return texture_of(mine, SIZE_MAX / 2, 8); }
static cj_status texture_beyond(void) { return texture_of(mine, 1000, 0); }
static cj_status texture_freed(void) { return texture_of(gone, 8, 0); }
static cj_status surface_without(void)
{
    cj_surface *x = cj_surface_create(array);
    const cj_status st = not_made(x);
    return cj_surface_free(x), st;
}

/* -- Registered and imported memory, tensors ----------------------------------------------------------------------- */

static cj_status register_twice(void) { return in_device(cj_host_register(dev, registered, 4096, 0)); }
static cj_status unregister_inside(void) { return in_device(cj_host_unregister(dev, (char *)registered + 64)); }
static cj_status host_free_registered(void) { return in_device(cj_host_free(dev, registered)); }
static cj_status free_registered(void) { return in_device(cj_free(dev, (cj_dptr){ (uintptr_t)registered })); }
static cj_status unregister_twice(void)
{
    void *p = aligned_alloc(4096, 4096);
    cj_host_register(dev, p, 4096, 0);
    cj_host_unregister(dev, p);
    const cj_status st = in_device(cj_host_unregister(dev, p));
    return free(p), st;
}
static cj_status import_bytes(void)
{
    char handle[CJ_IPC_MEM_BYTES];
    memset(handle, 0x5a, sizeof handle);
    return none_on_stream(cj_ipc_import(s, handle, sizeof handle));
}
static cj_status import_few_bytes(void)
{
    char handle[CJ_IPC_MEM_BYTES] = { 0 };
    return none_on_stream(cj_ipc_import(s, handle, 10));
}
static cj_status tensor_of(cj_dptr at, int64_t rows, int64_t columns)
{
    const int64_t shape[] = { rows, columns };
    const cj_tensor_info x = {
        .size = sizeof x, .data = at, .ndim = 2, .shape = shape, .type = { CJ_TENSOR_UINT, 32, 1 }
    };
    cj_tensor *made = cj_tensor_create(dev, &x, NULL, NULL);
    const cj_status st = not_made(made);
    return cj_tensor_free(made), st;
}
static cj_status tensor_wraps(void) { return tensor_of(mine, INT64_MAX, 4); }
static cj_status tensor_beyond(void) { return tensor_of(mine, 65, 1); }
static cj_status tensor_of_number(void) { return tensor_of((cj_dptr){ 0x1234 }, 4, 4); }
static cj_status tensor_of_freed(void) { return tensor_of(gone, 4, 4); }

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
    { "a range of all addresses", vmem_wraps, CJ_ENOMEM, "18446744073709551615 bytes of addresses" },
    { "growing to all bytes", vmem_grow_wraps, CJ_EINVAL, "18446744073709551615 bytes do not fit" },
    { "importing nearly all bytes", vmem_import_wraps, CJ_EINVAL, "bytes do not fit, " },
    { "importing an odd size", vmem_import_odd, CJ_EINVAL, "descriptor 0 with 4097 bytes" },
    { "importing what is no memory", vmem_import_null, CJ_EDRIVER, " is no memory, or of fewer than " },
    { "importing more than there is", vmem_import_more, CJ_EDRIVER, " is no memory, or of fewer than " },
    { "exporting what stays here", vmem_export_plain, CJ_ESTATE, "make the cj_vmem with CJ_VMEM(.ipc = 1)" },
    { "freeing the memory of a cj_vmem", free_vmem, CJ_ESTATE, "free that with cj_vmem_free" },
    { "freeing an address inside a cj_vmem", free_inside_vmem, CJ_ENOTFOUND, "lies 16 bytes inside the memory at 0x" },
    { "filling what is not committed", fill_uncommitted, CJ_EINVAL, "no memory is committed" },
    { "filling a cj_vmem that is freed", fill_freed_vmem, CJ_EINVAL, "was freed" },
    { "an array of all elements", array_wraps, CJ_EINVAL, "18446744073709551615 elements; a 1D array of device 0" },
    { "a level that an array has not", array_level_beyond, CJ_EINVAL, "the array is not mipmapped" },
    { "copying behind an array", array_copy_behind, CJ_EINVAL, "has 16 x 1 x 1 elements" },
    { "copying all elements", array_copy_wraps, CJ_EINVAL, "18446744073709551615" },
    { "copying an array from what is freed", array_copy_freed, CJ_EINVAL, "was freed with cj_free" },
    { "freeing an array as memory", free_array, CJ_ENOTFOUND, "is not memory of cj_alloc" },
    { "a texture of all memory", texture_wraps, CJ_EINVAL, "are beyond any memory" },
    { "a texture beyond its memory", texture_beyond, CJ_EINVAL, "4000 bytes do not fit" },
    { "a texture of what is freed", texture_freed, CJ_EINVAL, "was freed with cj_free" },
    { "a surface of an array without", surface_without, CJ_EINVAL, "make it with .surface = 1" },
    { "registering twice", register_twice, CJ_ESTATE, "is registered already" },
    { "unregistering an address inside", unregister_inside, CJ_EDRIVER, "was not passed to cj_host_register" },
    { "unregistering twice", unregister_twice, CJ_ENOTFOUND, "was not passed to cj_host_register" },
    { "freeing registered memory as pinned", host_free_registered, CJ_EDRIVER, "was not returned by cj_host_alloc" },
    { "freeing registered memory as device memory", free_registered, CJ_ENOTFOUND, "is not memory of cj_alloc" },
    { "importing bytes that are no handle", import_bytes, CJ_EDRIVER, "the bytes are no handle of cj_ipc_export" },
    { "importing too few bytes", import_few_bytes, CJ_EINVAL, "a handle has 72 bytes, not 10" },
    { "a tensor whose bytes wrap", tensor_wraps, CJ_EINVAL, "exceed 64 bits" },
    { "a tensor beyond its memory", tensor_beyond, CJ_EINVAL, "the elements take 260 bytes from 0x" },
    { "a tensor of a number", tensor_of_number, CJ_EINVAL, "0x1234 is in no memory" },
    { "a tensor of what is freed", tensor_of_freed, CJ_EINVAL, "in no memory" },
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
    grows = cj_vmem_create(s, 64 << 20, CJ_VMEM(.bytes = 1));
    cj_vmem *freed = cj_vmem_create(s, 64 << 20, CJ_VMEM(.bytes = 1));
    gone_vmem = cj_vmem_address(freed);
    cj_vmem_free(freed);
    array = cj_array_create(dev, CJ_ARRAY(.width = 16));
    registered = aligned_alloc(4096, 4096);
    cj_host_register(dev, registered, 4096, 0);
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
        tap_has_str(where ? cj_error_of(where)->message : said.message, mistakes[i].says, "... is named");
        cj_stream_sync(s);
    }
    tap_is_int(cj_fill32(s, mine, 7, 64), CJ_OK, "the memory is usable as before");
    cj_copy_to_host(s, here, mine, sizeof here);
    tap_is_int(cj_stream_sync(s), CJ_OK, "all of it");
    tap_is_uint(here[63], 7, "and has what it is given");
    cj_vmem_free(grows);
    cj_array_free(array);
    tap_is_int(cj_host_unregister(dev, registered), CJ_OK, "registered memory is unregistered");
    free(registered);
    cj_free(dev, mine);
    cj_free(dev, ipc);
    cj_free(dev, managed);
    tap_is_int(cj_host_free(dev, pinned), CJ_OK, "pinned memory is freed");
    tap_is_int(cj_host_free(dev, pinned), CJ_EDRIVER, "once");
    cj_device_collect(dev);
    return bench_close();
}
