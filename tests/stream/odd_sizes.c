/* Copies and fills of any size, at any offset, from pinned and pageable memory, change exactly the bytes they name. */
#include <stdlib.h>
#include <string.h>

#include "tests/device_bench.h"

enum { ROOM = 300000 };
static cj_dptr e;
static unsigned char *pinned, *plain, *want, *back;

static const struct { size_t offset, bytes;
} ranges[] = {
    { 0, 1 },     { 1, 1 },    { 3, 2 },    { 7, 13 },    { 0, 255 },   { 255, 257 },
    { 13, 4095 }, { 1, 4096 }, { 2, 4097 }, { 5, 65535 }, { 5, 65537 }, { 17, 262144 + 3 },
};

static void pattern(unsigned char *p, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++) p[i] = (unsigned char)(i * 7 + seed + i / 251);
}

/* The device holds `want` after this. */
static void start(unsigned seed)
{
    pattern(want, ROOM, seed);
    memcpy(pinned, want, ROOM);
    cj_copy_to_device(s, d, pinned, ROOM);
    cj_stream_sync(s);
}

static void check_all(const char *what, size_t i)
{
    memset(back, 0, ROOM);
    cj_copy_to_host(s, back, d, ROOM);
    tap_ok(cj_stream_sync(s) == CJ_OK && !memcmp(back, want, ROOM), "%s, %zu bytes at %zu", what, ranges[i].bytes,
           ranges[i].offset);
}

static void check_copies(void)
{
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        size_t at = ranges[i].offset, n = ranges[i].bytes;
        start((unsigned)i);
        pattern(plain, n, 99);
        memcpy(want + at, plain, n);
        cj_copy_to_device(s, cj_offset(d, (int64_t)at), plain, n);
        memset(plain, 0, n);
        check_all("from pageable memory, which changes at once", i);
        pattern(pinned, n, 55);
        memcpy(want + at, pinned, n);
        cj_copy_to_device(s, cj_offset(d, (int64_t)at), pinned, n);
        check_all("from pinned memory", i);
        memset(plain, 0, n);
        cj_copy_to_host(s, plain, cj_offset(d, (int64_t)at), n);
        tap_ok(cj_stream_sync(s) == CJ_OK && !memcmp(plain, want + at, n), "... and back to pageable memory");
        cj_copy(s, cj_offset(e, 1), cj_offset(d, (int64_t)at), n);
        cj_copy(s, d, cj_offset(e, 1), n);
        memmove(want, want + at, n);
        check_all("on the device", i);
    }
}

static void check_fills(void)
{
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        size_t at = ranges[i].offset, n = ranges[i].bytes;
        start((unsigned)i);
        memset(want + at, 0xa5, n);
        cj_fill8(s, cj_offset(d, (int64_t)at), 0xa5, n);
        check_all("filled by bytes", i);
        at &= ~(size_t)3;
        n /= 4;
        for (size_t k = 0; k < 2 * n; k++) memcpy(want + at + 2 * k, "\x34\x12", 2);
        cj_fill16(s, cj_offset(d, (int64_t)at), 0x1234, 2 * n);
        check_all("filled by twos", i);
        for (size_t k = 0; k < n; k++) memcpy(want + at + 4 * k, "\xef\xbe\xad\xde", 4);
        cj_fill32(s, cj_offset(d, (int64_t)at), 0xdeadbeef, n);
        check_all("filled by fours", i);
    }
}

/* Copies of pageable memory do not block, whatever the stream is waiting for. */
static void check_async(void)
{
    struct latch l = LATCH_CLOSED;
    start(1);
    bench_hold(s, &l);
    for (unsigned k = 0; k < 50; k++) {
        pattern(plain, 5000, k);
        cj_copy_to_device(s, d, plain, 5000);
        cj_copy_to_host(s, back, d, 5000);
    }
    memcpy(want, plain, 5000);
    memset(back, 0, 5000);
    memset(plain, 0, 5000);
    tap_is_int(cj_stream_query(s), CJ_ENOTREADY, "100 pageable copies were given while the stream was held");
    tap_ok(back[4999] == 0, "and wrote nothing yet");
    latch_open(&l);
    tap_ok(cj_stream_sync(s) == CJ_OK && !memcmp(back, want, 5000), "each took its source when it was called");
}

int main(void)
{
    bench_open(ROOM);
    pinned = cj_host_alloc(dev, ROOM, NULL);
    plain = malloc(ROOM), want = malloc(ROOM), back = malloc(ROOM);
    e = cj_alloc(s, ROOM);
    if (!pinned || !e.addr) tap_bail("%s", cj_error_of(s)->message);
    check_copies();
    check_fills();
    check_async();
    cj_free(dev, e);
    cj_host_free(dev, pinned);
    free(plain), free(want), free(back);
    return bench_close();
}
