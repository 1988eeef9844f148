/* Many copies at once: each is checked before the first is enqueued. */
#include <stdio.h>

#include "stream/memory/stream_memory.h"

enum { BATCH_WHICH = 32 };

/* Item `i`; failures begin with its number, which is written to `which`. */
static cji_copy batch_copy(const cj_stream *s, const cj_copy_item *items, size_t i, char which[BATCH_WHICH])
{
    const cj_copy_item *item = &items[i];
    cji_copy b =
        cji_copy_row(s->dev, (cji_copy_end){ .addr = item->dst.addr, .host = item->dst_host },
                     (cji_copy_end){ .addr = item->src.addr, .host = (void *)(uintptr_t)item->src_host }, item->bytes);
    snprintf(which, BATCH_WHICH, "item %zu: ", i);
    b.which = which;
    return b;
}

cj_status cj_copy_batch(cj_stream *s, const cj_copy_item *items, size_t count)
{
    static const char call[] = "cj_copy_batch";
    char which[BATCH_WHICH];
    cji_scope scope;
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    if (count && !items) return cji_stream_failed(s, cji_fail(s, CJ_EINVAL, call, "%zu items at NULL", count));
    for (size_t i = 0; i < count && st == CJ_OK; i++) {
        cji_copy b = batch_copy(s, items, i, which);
        st = cji_copy_use(s, &b, call);
    }
    if (st == CJ_OK && count) st = cji_scope_begin(s, s->dev, &scope, call);
    if (st != CJ_OK || !count) return st == CJ_OK ? CJ_OK : cji_stream_failed(s, st);
    for (size_t i = 0; i < count && st == CJ_OK; i++) {
        cji_copy b = batch_copy(s, items, i, which);
        st = cji_copy_use(s, &b, call);
        if (st == CJ_OK) st = cji_copy_run(s, &b, call);
    }
    cji_scope_leave(&scope);
    return st == CJ_OK ? CJ_OK : cji_stream_failed(s, st);
}
