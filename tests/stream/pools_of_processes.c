/* Pools that the program makes: of the device and of the host, their limits and counts; memory of a pool in two
 * processes.  The other process is this program, started anew, which has the pool's descriptor from its parent. */
#include <fcntl.h>

#include "tests/peer.h"
#include "tests/device_parts.h"

enum { N = 1000, BYTES = 4 * N };

/* -- The other process --------------------------------------------------------------------------------------------- */

enum { BEGIN, IMPORT, TAKE, TAKE_AGAIN, TAKE_SHORT, ALLOC, EXPORT, READ, READ_HERE, ADD, OTHER_POOL, NO_POOL, FREE };

static struct {
    cj_driver *drv;
    cj_device *dev;
    cj_stream *s;
    cj_ptx *m;
    cj_kernel *add;
    cj_mem_pool *p;
    cj_dptr d, again;
    unsigned char handle[CJ_MEM_POOL_MEM_BYTES];
} their;

static int64_t begin(void)
{
    their.drv = cj_driver_open(NULL);
    their.dev = cj_device_open(their.drv, 0, NULL);
    their.s = cj_stream_create(their.dev, NULL);
    their.m = bench_add_module();
    their.add = cj_kernel_load(their.dev, their.m, "add", NULL);
    return cj_error_of(their.add)->status;
}

/* The status of an import that fails; CJ_OK: it has not. */
static int64_t fails(cj_mem_pool *p, const void *handle, size_t bytes)
{
    const cj_dptr d = cj_mem_pool_import_mem(p, their.s, handle, bytes);
    const cj_status st = d.addr ? CJ_OK : cj_error_last()->status;
    cj_free(their.dev, d);
    cj_stream_sync(their.s);
    return st;
}

static int64_t read_word(void)
{
    uint32_t word = 0;
    cj_copy_to_host(their.s, &word, their.d, 4);
    return cj_stream_sync(their.s) == CJ_OK ? (int64_t)word : -1;
}

static int64_t add(void)
{
    cj_launch(their.s, their.add, cj_threads(N, 128), their.d, N, 100);
    return cj_stream_sync(their.s);
}

static int64_t no_pool(void)
{
    const int fd = open("/dev/null", O_RDWR);
    cj_mem_pool *p = cj_mem_pool_import(their.dev, fd);
    const cj_status st = cj_error_of(p)->status;
    cj_mem_pool_free(p);
    close(fd);
    return st;
}

static int64_t answer(const peer_question *q)
{
    int fd;
    cj_mem_pool *other;
    int64_t st;
    switch (q->what) {
    case BEGIN: return begin();
    case IMPORT: their.p = cj_mem_pool_import(their.dev, (int)q->value); return cj_error_of(their.p)->status;
    case TAKE:
        memcpy(their.handle, q->handle, sizeof q->handle);
        memcpy(their.handle + 64, &q->value, 8);
        their.d = cj_mem_pool_import_mem(their.p, their.s, their.handle, sizeof their.handle);
        return their.d.addr ? CJ_OK : cj_error_last()->status;
    case TAKE_AGAIN: return fails(their.p, q->handle, CJ_MEM_POOL_MEM_BYTES - 1);
    case TAKE_SHORT:
        their.handle[20] ^= 1;
        st = fails(their.p, their.handle, sizeof their.handle);
        their.handle[20] ^= 1;
        return st;
    case ALLOC: st = cj_mem_pool_alloc(their.p, their.s, 4).addr ? CJ_OK : cj_error_last()->status;
                cj_stream_sync(their.s); return st;
    case EXPORT: return cj_mem_pool_export(their.p, &fd);
    case READ: return read_word();
    case READ_HERE: return *(const uint32_t *)cj_managed_host(their.d);
    case ADD: return add();
    case OTHER_POOL:
        other = cj_mem_pool_import(their.dev, (int)q->value);
        st = cj_error_of(other)->status == CJ_OK ? fails(other, their.handle, sizeof their.handle) : -98;
        cj_mem_pool_free(other);
        return st;
    case NO_POOL: return no_pool();
    case FREE:
        cj_free(their.dev, their.d);
        st = cj_stream_sync(their.s);
        cj_mem_pool_free(their.p);
        return st == CJ_OK ? (int64_t)cj_device_collect(their.dev) : -1;
    default: return -99;
    }
}

/* -- This one ------------------------------------------------------------------------------------------------------ */

static cj_device *dev;
static cj_stream *s;

static cj_status made_with(const cj_mem_pool_opts *o, const char *part)
{
    cj_mem_pool *p = cj_mem_pool_create(dev, o);
    const cj_status st = cj_error_of(p)->status;
    if (st != CJ_OK) tap_has_str(cj_error_of(p)->message, part, "the sentence: %s", cj_error_of(p)->message);
    cj_mem_pool_free(p);
    return st;
}

static void not_made(void)
{
    cj_mem_pool_opts o = { .size = 3 };
    int fd = -1;
    cj_dptr d = { 0 };
    unsigned char handle[CJ_MEM_POOL_MEM_BYTES];
    tap_is_int(made_with(&o, "size"), CJ_EINVAL, "options of another size");
    tap_is_int(made_with(CJ_MEM_POOL(.place = 3), ".place is 3"), CJ_EINVAL, "a place that is none");
    tap_is_int(made_with(CJ_MEM_POOL(.ipc = 2), ".ipc is 2"), CJ_EINVAL, "an .ipc of 2");
    tap_is_int(made_with(CJ_MEM_POOL(.place = CJ_MEM_PLACE_HOST, .ipc = 1), "stays in its process"), CJ_EINVAL,
               "the host's memory for other processes");
    tap_is_int(made_with(CJ_MEM_POOL(.place = CJ_MEM_PLACE_HOST_NUMA, .numa_node = 4711), ""),
               cj_driver_version(cj_device_driver(dev)) < 13000 ? CJ_ENOTSUP : CJ_EINVAL, "a node that is not there");
    cj_mem_pool *p = cj_mem_pool_wrap(dev, NULL);
    tap_is_int(cj_error_of(p)->status, CJ_EINVAL, "a pool of nothing");
    tap_ok(cj_mem_pool_raw(p) == NULL, "which has no handle");
    cj_mem_pool_free(p);
    p = cj_mem_pool_import(dev, -1);
    tap_is_int(cj_error_of(p)->status, CJ_EINVAL, "a pool of no descriptor");
    cj_mem_pool_free(p);
    p = cj_mem_pool_create(dev, NULL);
    tap_is_int(cj_mem_pool_export(p, &fd), CJ_ESTATE, "a pool that was not made for it stays");
    tap_has_str(cj_error_of(p)->message, "make it with CJ_MEM_POOL(.ipc = 1)", "and the fix is named");
    d = cj_mem_pool_alloc(p, s, 4);
    tap_is_int(cj_mem_pool_export_mem(p, d, handle, sizeof handle), CJ_ESTATE, "and so does its memory");
    memset(handle, 0, sizeof handle);
    tap_ok(!cj_mem_pool_import_mem(p, s, handle, sizeof handle).addr && cj_error_last()->status == CJ_ESTATE,
           "nothing is imported from a pool of one's own");
    tap_is_int(cj_stream_sync(s), CJ_ESTATE, "which the stream reports");
    tap_ok(!cj_mem_pool_alloc(p, s, 0).addr, "0 bytes are none");
    tap_is_int(cj_stream_sync(s), CJ_EINVAL, "which it reports too");
    tap_is_int(cj_mem_pool_get_counts(p, NULL), CJ_EINVAL, "counts want a place");
    cj_free(dev, d);
    cj_mem_pool_free(p);
}

/* Memory outlives its pool; a limit holds; what is freed is counted no more. */
static void of_the_device(void)
{
    cj_mem_pool_counts c;
    cj_mem_info info;
    uint32_t out[N];
    cj_mem_pool_counts_defaults(&c);
    cj_mem_info_defaults(&info);
    cj_mem_pool *p = cj_mem_pool_create(dev, CJ_MEM_POOL(.max_bytes = 64 << 20, .keep_bytes = 32 << 20));
    tap_is_int(cj_error_of(p)->status, CJ_OK, "a pool with a limit: %s", cj_error_of(p)->message);
    const cj_dptr d = cj_mem_pool_alloc(p, s, BYTES), e = cj_mem_pool_alloc(p, s, BYTES);
    tap_ok(d.addr && e.addr && d.addr != e.addr, "gives memory");
    tap_is_int(cj_mem_get_info(dev, cj_offset(d, 8), &info), CJ_OK, "which is known");
    tap_ok(info.kind == CJ_MEM_KIND_POOL && info.base.addr == d.addr && info.bytes == BYTES && info.home == s,
           "with its size and its home stream");
    cj_fill32(s, d, 7, N);
    cj_copy_to_host(s, out, d, BYTES);
    tap_is_int(cj_fill32(s, d, 7, N + 1), CJ_EINVAL, "a fill beyond its end is rejected");
    cj_stream_sync(s);
    tap_is_uint(out[N - 1], 7, "and one within it is done");
    tap_is_int(cj_mem_pool_get_counts(p, &c), CJ_OK, "the pool counts");
    tap_ok(c.used_bytes >= 2 * BYTES && c.reserved_bytes >= c.used_bytes, "what is in use");
    tap_ok(!cj_mem_pool_alloc(p, s, (size_t)128 << 20).addr && cj_error_last()->status == CJ_ENOMEM,
           "more than its limit it has not: %s", cj_error_last()->message);
    cj_stream_sync(s);
    tap_is_int(cj_free(dev, e), CJ_OK, "it is freed as all memory");
    tap_is_int(cj_free(dev, e), CJ_ENOTFOUND, "once");
    cj_stream_sync(s);
    const uint64_t two = c.used_bytes;
    cj_mem_pool_get_counts(p, &c);
    tap_ok(c.used_bytes < two && c.used_bytes_most >= two, "and is in use no more");
    tap_ok(cj_mem_pool_raw(p) != NULL, "its handle");
    cj_mem_pool *same = cj_mem_pool_wrap(dev, cj_mem_pool_raw(p));
    const cj_dptr w = cj_mem_pool_alloc(same, s, 64);
    tap_ok(w.addr != 0, "is a pool for other code");
    cj_free(dev, w);
    cj_mem_pool_free(same);
    tap_is_int(cj_mem_pool_trim(p, 0), CJ_OK, "it gives back what it does not use, and stays");
    cj_mem_pool_free(p);
    cj_fill32(s, d, 8, N);
    cj_copy_to_host(s, out, d, BYTES);
    cj_stream_sync(s);
    tap_is_uint(out[0], 8, "memory outlives its pool");
    cj_free(dev, d);
    tap_is_int(cj_stream_sync(s), CJ_OK, "and is freed without it");
}

static void of_the_host(int place, cj_kernel *add)
{
    cj_mem_pool *p = cj_mem_pool_create(dev, CJ_MEM_POOL(.place = place));
    if (cj_error_of(p)->status == CJ_ENOTSUP) {
        tap_skip(1, "%s", cj_error_of(p)->message);
        cj_mem_pool_free(p);
        return;
    }
    tap_is_int(cj_error_of(p)->status, CJ_OK, "a pool of the host: %s", cj_error_of(p)->message);
    const cj_dptr d = cj_mem_pool_alloc(p, s, BYTES);
    tap_is_int(cj_stream_sync(s), CJ_OK, "gives memory in stream order");
    uint32_t *h = cj_managed_host(d);
    for (uint32_t i = 0; i < N && h; i++) h[i] = i;
    cj_launch(s, add, cj_threads(N, 128), d, N, 5);
    tap_is_int(cj_stream_sync(s), CJ_OK, "which kernels write");
    tap_is_uint(h ? h[N - 1] : 0, N + 4, "and the host reads");
    tap_is_int(cj_free(dev, d), CJ_OK, "it is freed as all memory");
    tap_is_int(cj_stream_sync(s), CJ_OK, "in stream order");
    cj_mem_pool_free(p);
}

/* A driver may reject copies to the host from memory that lies there (580.159.04 does): on a GPU the host reads it. */
static bool host_reads(int place) { return place == CJ_MEM_PLACE_HOST_NUMA && tap_on_gpu(); }

static uint32_t first_word(int place, cj_dptr d)
{
    uint32_t word = 0;
    if (host_reads(place)) return *(const uint32_t *)cj_managed_host(d);
    cj_copy_to_host(s, &word, d, 4);
    return cj_stream_sync(s) == CJ_OK ? word : 0;
}

static void between(int place)
{
    cj_mem_pool *p = cj_mem_pool_create(dev, CJ_MEM_POOL(.place = place, .ipc = 1));
    cj_mem_pool *q = cj_mem_pool_create(dev, CJ_MEM_POOL(.place = place, .ipc = 1));
    unsigned char handle[CJ_MEM_POOL_MEM_BYTES];
    int first = -1, second = -1;
    uint64_t bytes;
    peer o;
    if (cj_error_of(p)->status == CJ_ENOTSUP) {
        tap_skip(1, "%s", cj_error_of(p)->message);
        goto out;
    }
    const cj_dptr d = cj_mem_pool_alloc(p, s, BYTES);
    cj_fill32(s, d, 22, N);
    tap_is_int(cj_stream_sync(s), CJ_OK, "memory of a pool that processes share: %s", cj_error_of(p)->message);
    tap_is_int(cj_mem_pool_export(p, NULL), CJ_EINVAL, "no place for a descriptor");
    tap_is_int(cj_mem_pool_export(p, &first), CJ_OK, "a descriptor: %s", cj_error_of(p)->message);
    cj_mem_pool_export(q, &second);
    const int fd = dup(first), other = dup(second); /* without the mark that closes it */
    tap_is_int(cj_mem_pool_export_mem(p, cj_offset(d, 4), handle, sizeof handle), CJ_EINVAL, "not from the middle");
    tap_is_int(cj_mem_pool_export_mem(p, d, handle, sizeof handle - 1), CJ_EINVAL, "not with little room");
    tap_is_int(cj_mem_pool_export_mem(p, d, handle, sizeof handle), CJ_OK, "a handle: %s", cj_error_of(p)->message);
    memcpy(&bytes, handle + 64, 8);
    tap_is_uint(bytes, BYTES, "with its size");
    peer_start(&o);
    tap_is_int(peer_ask(&o, BEGIN, 0, NULL), CJ_OK, "another process");
    tap_is_int(peer_ask(&o, IMPORT, (uint64_t)fd, NULL), CJ_OK, "imports the pool");
    tap_is_int(peer_ask(&o, TAKE, bytes, handle), CJ_OK, "and the memory");
    tap_is_int(peer_ask(&o, host_reads(place) ? READ_HERE : READ, 0, NULL), 22, "which it reads");
    tap_is_int(peer_ask(&o, ADD, 0, NULL), CJ_OK, "and its kernels write");
    tap_is_uint(first_word(place, d), 122, "as is seen here");
    if (place == CJ_MEM_PLACE_HOST_NUMA) {
        *(uint32_t *)cj_managed_host(d) = 133;
        tap_is_int(peer_ask(&o, READ_HERE, 0, NULL), 133, "its host reads what this one writes");
        *(uint32_t *)cj_managed_host(d) = 122;
    }
    tap_is_int(peer_ask(&o, ALLOC, 0, NULL), CJ_ESTATE, "it allocates nothing from that pool");
    tap_is_int(peer_ask(&o, EXPORT, 0, NULL), CJ_ESTATE, "nor exports it");
    tap_is_int(peer_ask(&o, TAKE_AGAIN, 0, handle), CJ_EINVAL, "nor takes less than a handle");
    if (!tap_on_gpu()) {
        tap_is_int(peer_ask(&o, TAKE_SHORT, 0, NULL), CJ_EDRIVER, "nor one with a changed bit");
        tap_is_int(peer_ask(&o, OTHER_POOL, (uint64_t)other, NULL), CJ_EDRIVER, "nor from another pool");
    }
    tap_is_int(peer_ask(&o, NO_POOL, 0, NULL), CJ_EDRIVER, "nor what is no pool");
    tap_is_int(peer_ask(&o, FREE, 0, NULL), 0, "it frees the memory, in stream order");
    tap_is_int(peer_end(&o), 0, "and ends well");
    tap_is_uint(first_word(place, d), 122, "the memory stays here");
    cj_free(dev, d);
    close(fd), close(other), close(first), close(second);
out:
    cj_mem_pool_free(p);
    cj_mem_pool_free(q);
}

int main(int argc, char **argv)
{
    if (argc > 2) return peer_serve(argv[2], answer);
    tap_need_device(1);
    tap_plan(0);
    cj_driver *drv = cj_driver_open(NULL);
    dev = cj_device_open(drv, 0, NULL);
    s = cj_stream_create(dev, NULL);
    cj_ptx *m = bench_add_module();
    cj_kernel *k = cj_kernel_load(dev, m, "add", NULL);
    not_made();
    of_the_device();
    of_the_host(CJ_MEM_PLACE_HOST, k);
    of_the_host(CJ_MEM_PLACE_HOST_NUMA, k);
    between(CJ_MEM_PLACE_DEVICE);
    between(CJ_MEM_PLACE_HOST_NUMA);
    tap_is_int(cj_stream_sync(s), CJ_OK, "nothing failed");
    tap_is_uint(cj_device_collect(dev), 0, "and nothing is left");
    cj_kernel_free(k);
    cj_ptx_free(m);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
