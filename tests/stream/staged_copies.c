/* Copies never block and never read late: pageable memory goes through pinned pieces, pinned memory does not; ranges
 * are checked; sizes are any. */
#include <stdlib.h>
#include <string.h>

#include "tests/stream/watched.h"
#include "tests/tap.h"

static const struct { const char *name; size_t bytes; int parts; } sizes[] = {
    { "1 byte", 1, 1 },
    { "a small odd size", 4095, 1 },
    { "exactly a small piece", 4096, 1 },
    { "one byte more", 4097, 1 },
    { "a middle size", 65536, 1 },
    { "one byte more than that", 65537, 1 },
    { "a large piece", 4 << 20, 1 },
    { "a large piece and a byte", (4 << 20) + 1, 2 },
    { "several pieces", (9 << 20) + 12345, 3 },
};

static void fill_bytes(unsigned char *p, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++) p[i] = (unsigned char)(seed + i * 31 + i / 253);
}

static void check_sizes(watch_bench *b)
{
    const size_t most = (9 << 20) + 12345;
    unsigned char *from = malloc(most), *want = malloc(most), *to = malloc(most);
    cj_dptr d = cj_alloc(b->s, most);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t n = sizes[i].bytes;
        fill_bytes(from, n, (unsigned)i);
        memcpy(want, from, n);
        memset(to, 0, n);
        watch_hold(cj_stream_raw(b->s));
        watch_forget();
        cj_copy_to_device(b->s, d, from, n);
        memset(from, 0xee, n); /* allowed: the source was read */
        cj_copy_to_host(b->s, to, d, n);
        tap_is_int(watch_calls(CJI_CU_ID_cuMemcpyHtoDAsync), sizes[i].parts, "%s: parts to the device", sizes[i].name);
        tap_is_int(watch_calls(CJI_CU_ID_cuMemcpyDtoHAsync), sizes[i].parts, "... and back");
        tap_is_int(watch_calls(CJI_CU_ID_cuStreamSynchronize) + watch_calls(CJI_CU_ID_cuEventSynchronize), 0,
                   "... waiting for nothing");
        tap_ok(to[0] == 0, "... nothing arrived while the stream is held");
        watch_release(cj_stream_raw(b->s));
        tap_ok(!memcmp(to, want, n), "... and the bytes of the time of the call arrive when it is let go");
    }
    int pinned = watch.pinned;
    for (int i = 0; i < 100; i++)
        cj_copy_to_device(b->s, d, from, 4 << 20), cj_copy_to_host(b->s, to, d, 1000), watch_settle();
    tap_is_int(watch.pinned, pinned, "pieces are used again");
    cj_device_collect(b->dev);
    tap_ok(watch.pinned < pinned, "large idle ones go back when the device is collected");
    cj_free(b->dev, d);
    free(from), free(want), free(to);
}

static void check_pinned(watch_bench *b)
{
    char *h = cj_host_alloc(b->dev, 1000, NULL), pageable[100];
    cj_dptr d = cj_alloc(b->s, 1000);
    watch_forget();
    cj_copy_to_device(b->s, d, h, 1000);
    int at = watch_find(CJI_CU_ID_cuMemcpyHtoDAsync, 0);
    tap_ok(at >= 0 && watch.log[at].arg[1] == (uintptr_t)h, "pinned memory goes to the driver as it is");
    cj_copy_to_host(b->s, h + 1, d, 999);
    tap_is_int(watch_calls(CJI_CU_ID_cuLaunchHostFunc), 0, "in both directions");
    cj_copy_to_host(b->s, pageable, d, 100);
    tap_is_int(watch_calls(CJI_CU_ID_cuLaunchHostFunc), 1, "pageable memory is filled by a host function");
    tap_is_int(cj_copy_to_device(b->s, d, (void *)(uintptr_t)d.addr, 10), CJ_EINVAL, "device memory is no host memory");
    tap_has_str(cj_error_of(b->s)->message, "cj_copy", "the fix is named");
    cj_stream_sync(b->s);
    cj_free(b->dev, d);
    cj_host_free(b->dev, h);
}

static void check_ranges(watch_bench *b)
{
    char host[64] = { 0 };
    cj_dptr d = cj_alloc(b->s, 64), none = { 0 };
    tap_is_int(cj_copy_to_device(b->s, d, NULL, 0), CJ_OK, "no bytes are no copy");
    tap_is_int(cj_copy_to_device(b->s, none, host, 0), CJ_OK, "to wherever");
    const struct { const char *name; cj_status got; const char *message;
    } cases[] = {
        { "a NULL source", cj_copy_to_device(b->s, d, NULL, 4), "the host's address is NULL" },
        { "no device memory", cj_copy_to_device(b->s, none, host, 4), "the destination is { 0 }" },
        { "no device source", cj_copy_to_host(b->s, host, none, 4), "the source is { 0 }" },
        { "a range beyond its allocation", cj_copy_to_host(b->s, host, cj_offset(d, 60), 5),
          "5 bytes do not fit, 4 are left" },
        { "a range around the address space", cj_copy_to_host(b->s, host, d, SIZE_MAX), "beyond any memory" },
        { "overlapping ranges", cj_copy(b->s, d, cj_offset(d, 8), 16), "overlap" },
        { "ranges that overlap the other way", cj_copy(b->s, cj_offset(d, 8), d, 16), "overlap" },
        { "the same range", cj_copy(b->s, d, d, 1), "overlap" },
        { "a 2-byte fill at an odd address", cj_fill16(b->s, cj_offset(d, 1), 7, 1), "not aligned to 2" },
        { "a 4-byte fill at an even address", cj_fill32(b->s, cj_offset(d, 2), 7, 1), "not aligned to 4" },
        { "a fill that is too long", cj_fill32(b->s, d, 7, 17), "68 bytes do not fit, 64 are left" },
        { "a fill of more than there is", cj_fill32(b->s, d, 7, SIZE_MAX / 2), "beyond any memory" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        tap_is_int(cases[i].got, CJ_EINVAL, "%s is rejected", cases[i].name);
    cj_stream_sync(b->s);
    for (size_t i = 0; i < 2; i++) {
        cj_status st = i ? cj_copy_to_host(b->s, host, cj_offset(d, 60), 5) : cj_fill32(b->s, cj_offset(d, 2), 7, 1);
        tap_has_str(cj_error_of(b->s)->message, cases[i ? 3 : 9].message, "the message of %d says what", st);
        cj_stream_sync(b->s);
    }
    tap_is_int(cj_copy(b->s, d, cj_offset(d, 32), 32), CJ_OK, "ranges that touch do not overlap");
    cj_fill8(b->s, d, 0xab, 63);
    cj_fill16(b->s, cj_offset(d, 2), 0x1234, 3);
    cj_fill32(b->s, cj_offset(d, 60), 0x55667788, 1);
    cj_copy_to_host(b->s, host, d, 64);
    unsigned char want[64];
    memset(want, 0xab, 64);
    for (int i = 0; i < 3; i++) want[2 + 2 * i] = 0x34, want[3 + 2 * i] = 0x12;
    memcpy(want + 60, "\x88\x77\x66\x55", 4);
    watch_settle();
    tap_is_mem(host, want, 64, "fills of 1, 2 and 4 bytes put what they say");
    cj_free(b->dev, d);
}

int main(void)
{
    watch_bench b;
    tap_plan(0);
    watch_setup(&b);
    check_sizes(&b);
    check_pinned(&b);
    check_ranges(&b);
    tap_is_int(cj_stream_sync(b.s), CJ_OK, "nothing else failed");
    watch_teardown(&b);
    return tap_done();
}
