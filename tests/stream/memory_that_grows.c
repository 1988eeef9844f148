/* Memory that grows in place: addresses stay, kernels in flight go on, what shrinking takes away waits for its uses and
 * is taken back by growing, copies know the committed size, graphs hold it, other devices get access. */
#include <string.h>

#include "stream/memory/stream_memory.h"
#include "tests/device_bench.h"

enum { N = 1024 };

static cj_vmem *v;
static size_t grain;

static uint32_t word_at(size_t offset)
{
    uint32_t w = 0;
    cj_copy_to_host(s, &w, cj_offset(cj_vmem_address(v), (int64_t)offset), 4);
    cj_stream_sync(s);
    return w;
}

static cj_status fill_at(cj_stream *on, size_t offset, uint32_t value)
{
    return cj_fill32(on, cj_offset(cj_vmem_address(v), (int64_t)offset), value, N);
}

/* How many ranges the device's table of memory has: lookups are slower while there are any. */
static unsigned ranges(void) { return cji_mem_state_of(dev)->nreserving; }

static void grows(void)
{
    struct latch l = LATCH_CLOSED;
    v = cj_vmem_create(s, 64 << 20, CJ_VMEM(.bytes = 1));
    tap_is_int(cj_error_of(v)->status, CJ_OK, "addresses are reserved: %s", cj_error_of(v)->message);
    tap_is_uint(ranges(), 1, "the table has a range");
    grain = cj_vmem_granularity(v);
    const cj_dptr at = cj_vmem_address(v);
    tap_ok(grain && at.addr % grain == 0 && cj_vmem_reserved(v) % grain == 0, "in multiples of the granularity");
    tap_is_uint(cj_vmem_bytes(v), grain, "one byte is one grain");
    fill_at(s, 0, 7);
    bench_hold(s, &l);
    cj_launch(s, add, cj_threads(N, 128), at, N, 1);
    tap_is_int(cj_vmem_grow(v, 3 * grain), CJ_OK, "it grows while a stream is held in front of a kernel");
    tap_is_uint(cj_vmem_bytes(v), 3 * grain, "to what was asked for");
    tap_is_uint(cj_vmem_address(v).addr, at.addr, "and stays where it is");
    tap_is_int(cj_vmem_grow(v, 2 * grain), CJ_OK, "growing to less than there is does nothing");
    tap_is_uint(cj_vmem_bytes(v), 3 * grain, "as it never shrinks");
    latch_open(&l);
    tap_is_int(fill_at(s, 3 * grain - 4 * N, 9), CJ_OK, "the new memory is used");
    tap_is_uint(word_at(0), 8, "the kernel found its memory");
    tap_is_uint(word_at(3 * grain - 4), 9, "and the new one keeps what it is given");
}

static void size_is_known(void)
{
    cj_mem_info info;
    cj_mem_info_defaults(&info);
    tap_is_int(fill_at(s, 3 * grain, 1), CJ_EINVAL, "what is not committed is not filled");
    tap_has_str(cj_error_of(s)->message, "reserved by a cj_vmem, and no memory is committed", "which says why");
    cj_stream_sync(s);
    tap_is_int(fill_at(s, 3 * grain - 4, 1), CJ_EINVAL, "nor what is behind the end");
    tap_has_str(cj_error_of(s)->message, "4096 bytes do not fit, 4 are left", "with its numbers");
    cj_stream_sync(s);
    cj_mem_get_info(dev, cj_offset(cj_vmem_address(v), 5), &info);
    tap_ok(info.kind == CJ_MEM_KIND_VIRTUAL && info.bytes == 3 * grain && info.home == s && info.device == dev,
           "an address in it leads to all of it");
    tap_is_int(cj_free(dev, cj_vmem_address(v)), CJ_ESTATE, "cj_free does not free it");
    tap_has_str(cj_error_of(dev)->message, "cj_vmem_free", "and says what does");
    tap_is_int(cj_vmem_grow(v, (64 << 20) + 1), CJ_EINVAL, "it does not grow beyond what is reserved");
    tap_has_str(cj_error_of(v)->message, "67108864 bytes of addresses are reserved", "which is named");
    tap_is_int(cj_vmem_grow(v, SIZE_MAX), CJ_EINVAL, "nor to a size that wraps");
    tap_is_uint(cj_vmem_bytes(v), 3 * grain, "and stays as it is");
}

/* The piece that begins at 1 grain has 2 of them. */
static void shrinks(void)
{
    struct latch l = LATCH_CLOSED;
    uint32_t seen = 0;
    tap_is_int(cj_vmem_shrink(v, 2 * grain), CJ_OK, "shrinking into a piece");
    tap_is_uint(cj_vmem_bytes(v), 3 * grain, "leaves it whole");
    fill_at(s, 2 * grain, 5);
    cj_stream_sync(s);
    bench_hold(t, &l);
    cj_copy_to_host(t, &seen, cj_offset(cj_vmem_address(v), 2 * (int64_t)grain), 4);
    tap_is_int(cj_vmem_shrink(v, grain), CJ_OK, "a piece leaves while a stream will read it");
    tap_is_uint(cj_vmem_bytes(v), grain, "the size says so at once");
    tap_is_int(fill_at(s, 2 * grain, 6), CJ_EINVAL, "and new work is rejected");
    cj_stream_sync(s);
    tap_is_uint(cj_device_collect(dev), 1, "its release waits");
    tap_is_int(cj_vmem_grow(v, 2 * grain), CJ_OK, "growing takes it back");
    tap_is_uint(cj_vmem_bytes(v), 3 * grain, "whole");
    latch_open(&l);
    tap_is_int(cj_stream_sync(t), CJ_OK, "the reader");
    tap_is_uint(seen, 5, "found its memory");
    tap_is_uint(cj_device_collect(dev), 0, "nothing is pending");
    tap_is_uint(word_at(2 * grain), 5, "and what was taken back is still mapped");
}

/* Work that is enqueued between two departures of one piece is waited for too. */
static void leaves_twice(void)
{
    struct latch l = LATCH_CLOSED, m = LATCH_CLOSED;
    uint32_t *seen = cj_host_alloc(dev, 8, NULL); /* pinned: no host function copies it while another one is held */
    const cj_dptr at = cj_offset(cj_vmem_address(v), 2 * (int64_t)grain);
    bench_hold(t, &l);
    cj_copy_to_host(t, &seen[0], at, 4);
    cj_vmem_shrink(v, grain);
    cj_vmem_grow(v, 3 * grain);
    bench_hold(s, &m);
    cj_copy_to_host(s, &seen[1], at, 4);
    cj_vmem_shrink(v, grain);
    latch_open(&l);
    cj_stream_sync(t);
    tap_is_uint(cj_device_collect(dev), 1, "a piece that left twice waits for the work in between");
    latch_open(&m);
    cj_stream_sync(s);
    tap_ok(seen[0] == 5 && seen[1] == 5, "which found it: %u %u", seen[0], seen[1]);
    cj_host_free(dev, seen);
    tap_is_uint(cj_device_collect(dev), 0, "then it goes");
    tap_is_int(cj_vmem_grow(v, 2 * grain), CJ_OK, "its addresses are used again");
    tap_is_uint(cj_vmem_bytes(v), 2 * grain, "by a piece of another size");
    fill_at(s, grain, 3);
    tap_is_uint(word_at(grain), 3, "which works");
    tap_is_int(cj_vmem_shrink(v, 0), CJ_OK, "all of it leaves");
    cj_device_collect(dev);
    tap_is_uint(cj_vmem_bytes(v), 0, "the addresses stay");
    tap_is_int(cj_vmem_grow(v, 2 * grain), CJ_OK, "and take new memory");
}

static void graphs(void)
{
    cj_capture_begin(s, CJ_CAPTURE_THREAD);
    cj_fill32(s, cj_vmem_address(v), 77, 4);
    cj_graph *g = cj_capture_end(s);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    tap_is_int(cj_vmem_shrink(v, 0), CJ_ESTATE, "what a graph uses does not shrink");
    tap_has_str(cj_error_of(v)->message, "a graph or a texture uses the memory at 0x", "which says why");
    tap_is_uint(cj_vmem_bytes(v), 2 * grain, "and its size is what it was");
    tap_is_int(cj_vmem_grow(v, 4 * grain), CJ_OK, "but it grows");
    cj_graph_launch(s, x);
    tap_is_uint(word_at(0), 77, "the graph runs");
    const cj_dptr at = cj_vmem_address(v);
    cj_vmem_free(v);
    tap_is_int(cj_graph_launch(s, x), CJ_OK, "and after the memory is freed, which it keeps");
    tap_is_int(cj_stream_sync(s), CJ_OK, "without a fault");
    tap_is_int(cj_fill32(s, at, 1, 4), CJ_EINVAL, "other work may not use it any more");
    tap_has_str(cj_error_of(s)->message, "was freed", "which says why");
    cj_stream_sync(s);
    tap_is_uint(ranges(), 1, "its range is still in the table");
    cj_graph_exec_free(x);
    cj_graph_free(g);
    tap_is_uint(cj_device_collect(dev), 0, "it leaves with the graph");
    tap_is_uint(ranges(), 0, "and so does its range");
}

static void freed_in_use(void)
{
    struct latch l = LATCH_CLOSED;
    uint32_t seen = 0;
    v = cj_vmem_create(s, 8 << 20, CJ_VMEM(.bytes = 2 << 20));
    fill_at(s, 0, 4);
    cj_stream_sync(s);
    bench_hold(t, &l);
    cj_copy_to_host(t, &seen, cj_vmem_address(v), 4);
    cj_vmem_shrink(v, 0); /* a piece waits when all is freed */
    cj_vmem_free(v);
    tap_is_uint(cj_device_collect(dev), 2, "memory that is freed in use waits, and so does its piece");
    latch_open(&l);
    tap_is_int(cj_stream_sync(t), CJ_OK, "the reader");
    tap_is_uint(seen, 4, "found it");
    tap_is_uint(cj_device_collect(dev), 0, "then both go");
    tap_is_uint(ranges(), 0, "no range is left");
}

static const struct { const char *name; size_t reserve, bytes; cj_status status; const char *says; } mistakes[] = {
    { "no addresses", 0, 0, CJ_EINVAL, "0 bytes of addresses" },
    { "more memory than addresses", 4096, 4097, CJ_EINVAL, "4097 bytes do not fit into 4096" },
    { "addresses that wrap", SIZE_MAX, 0, CJ_ENOMEM, "18446744073709551615 bytes of addresses" },
};

static void rejected(void)
{
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        v = cj_vmem_create(s, mistakes[i].reserve, CJ_VMEM(.bytes = mistakes[i].bytes));
        tap_is_int(cj_error_of(v)->status, mistakes[i].status, "%s", mistakes[i].name);
        tap_has_str(cj_error_of(v)->message, mistakes[i].says, "... named");
        tap_ok(!cj_vmem_address(v).addr && !cj_vmem_bytes(v) && !cj_vmem_reserved(v) && !cj_vmem_granularity(v),
               "... without memory");
        cj_vmem_free(v);
    }
    cj_vmem_free(NULL);
    tap_is_uint(cj_device_collect(dev), 0, "nothing is left of them");
}

/* More than the device has; what was committed stays. */
static void exhausted(void)
{
    struct latch l = LATCH_CLOSED;
    size_t room = 0, total = 0;
    cj_device_memory(dev, &room, &total);
    v = cj_vmem_create(s, 2 * total, CJ_VMEM(.bytes = 1));
    if (cj_error_of(v)->status == CJ_ENOMEM) { /* under a tool that leaves the process few addresses */
        tap_skip(6, "%s", cj_error_of(v)->message);
        cj_vmem_free(v);
        return;
    }
    fill_at(s, 0, 11);
    tap_is_int(cj_vmem_grow(v, 2 * total), CJ_ENOMEM, "more than the device has is not committed");
    tap_has_str(cj_error_of(v)->message, "bytes of virtual memory", "which is named");
    tap_is_uint(cj_vmem_bytes(v), cj_vmem_granularity(v), "the size is what it was");
    tap_is_uint(word_at(0), 11, "and so are the contents");
    cj_vmem_grow(v, 2 * grain);
    bench_hold(t, &l);
    cj_stream_use(t, cj_vmem_address(v));
    cj_vmem_shrink(v, grain);
    tap_is_int(cj_vmem_grow(v, 2 * total), CJ_ENOMEM, "nor with a piece that is taken back first");
    tap_is_uint(cj_vmem_bytes(v), grain, "which leaves again");
    latch_open(&l);
    cj_stream_sync(t);
    cj_vmem_free(v);
    cj_device_collect(dev);
}

int main(void)
{
    bench_open(4 * N);
    grows();
    size_is_known();
    shrinks();
    leaves_twice();
    graphs();
    freed_in_use();
    rejected();
    exhausted();
    return bench_close();
}
