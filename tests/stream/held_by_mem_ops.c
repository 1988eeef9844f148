/* On a device: a stream waits for a word and goes on when another stream, or the host, writes it; waits with a timeout;
 * callbacks. */
#include <stdatomic.h>

#include "tests/device_bench.h"

static uint32_t *h; /* pinned: four words */

static const struct { const char *name; uint32_t from, to, value; cj_compare how; } words[] = {
    { "not less", 3, 5, 5, CJ_COMPARE_GE },
    { "not less, wrapped around", 0xfffffff0u, 2, 1, CJ_COMPARE_GE },
    { "equal", 3, 5, 5, CJ_COMPARE_EQ },
    { "and", 3, 4, 4, CJ_COMPARE_AND },
};

static void another_stream_writes(void)
{
    const cj_dptr at = { (uintptr_t)h }; /* an H100 (driver 580) takes no words in memory of a pool, cj_alloc's */
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        cj_fill32(s, at, words[i].from, 1);
        cj_stream_sync(s);
        cj_status st = cj_stream_wait_value32(s, at, words[i].value, words[i].how);
        if (st == CJ_ENOTSUP) {
            cj_stream_sync(s);
            tap_skip(4, "this device has no waits for values");
            continue;
        }
        tap_is_int(st, CJ_OK, "%s: a wait for a word", words[i].name);
        tap_is_int(cj_stream_query(s), CJ_ENOTREADY, "... holds the stream");
        tap_is_int(cj_stream_write_value32(t, at, words[i].to), CJ_OK, "... until another one writes it");
        tap_is_int(cj_stream_sync_for(s, 10000), CJ_OK, "... then it goes on");
    }
}

static void the_host_writes(void)
{
    _Atomic uint32_t *word = (_Atomic uint32_t *)(void *)h;
    const cj_dptr at = { (uintptr_t)h };
    atomic_store(word, 0);
    cj_status st = cj_stream_wait_value32(s, at, 1, CJ_COMPARE_EQ);
    if (st == CJ_ENOTSUP) {
        cj_stream_sync(s);
        tap_skip(4, "this device has no waits for values");
        return;
    }
    tap_is_int(st, CJ_OK, "a wait for a word of pinned memory");
    cj_stream_write_value64(s, (cj_dptr){ (uintptr_t)(h + 2) }, UINT64_C(0x100000002));
    tap_is_int(cj_stream_sync_for(s, 1), CJ_ETIMEOUT, "a wait with a timeout gives up");
    atomic_store(word, 1);
    tap_is_int(cj_stream_sync_for(s, 10000), CJ_OK, "and the stream goes on when the host writes the word");
    tap_ok(h[2] == 2 && h[3] == 1, "it has written 64 bits behind it");
}

static atomic_int times, seen;
static void note(void *user, cj_status status)
{
    atomic_store(&seen, status);
    atomic_fetch_add(&times, *(int *)user);
}

static void callbacks(void)
{
    struct latch l = LATCH_CLOSED;
    int one = 1;
    cj_event *e = cj_event_create(dev, NULL);
    bench_hold(s, &l);
    tap_is_int(cj_stream_callback(s, note, &one), CJ_OK, "a callback behind a latch");
    cj_event_record(e, s);
    tap_is_int(atomic_load(&times), 0, "is not called yet");
    tap_is_int(cj_event_sync_for(e, 1), CJ_ETIMEOUT, "an event behind it is not reached");
    latch_open(&l);
    tap_is_int(cj_event_sync_for(e, 10000), CJ_OK, "until the latch is open");
    tap_is_int(cj_stream_sync(s), CJ_OK, "the stream's end is behind the callback");
    tap_ok(atomic_load(&times) == 1 && atomic_load(&seen) == CJ_OK, "which has run once");
    cj_event_free(e);
}

static void ordered_with_legacy(void)
{
    struct latch l = LATCH_CLOSED;
    cj_stream *old = cj_stream_create(dev, CJ_STREAM(.legacy_order = 1)), *legacy = cj_stream_wrap(dev, (void *)1);
    tap_is_uint(cj_stream_flags(old), 0, "a stream in order with the legacy stream has no flag");
    bench_hold(old, &l);
    cj_fill32(legacy, d, 1, 1);
    cj_fill32(s, cj_offset(d, 4), 1, 1);
    tap_is_int(cj_stream_query(legacy), CJ_ENOTREADY, "the legacy stream waits for it");
    tap_is_int(cj_stream_sync_for(s, 10000), CJ_OK, "one of the usual kind does not wait");
    latch_open(&l);
    tap_is_int(cj_stream_sync(legacy), CJ_OK, "then it goes on");
    cj_stream_free(legacy);
    cj_stream_free(old);
}

int main(void)
{
    bench_open(64);
    h = cj_host_alloc(dev, 4 * sizeof *h, NULL);
    if (!h) tap_bail("%s", cj_error_last()->message);
    another_stream_writes();
    the_host_writes();
    callbacks();
    ordered_with_legacy();
    cj_stream_sync(s), cj_stream_sync(t);
    cj_host_free(dev, h);
    return bench_close();
}
