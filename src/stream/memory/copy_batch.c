/* Many copies at once: each is measured before the first is given. */
#include <stdio.h>

#include "stream/core/stream_core.h"

static cji_copy_job batch_copy(const cj_stream *s, const cj_copy_item *items, size_t i)
{
    const cj_copy_item *item = &items[i];
    cji_copy_job b = { .width = item->bytes, .height = 1, .depth = 1,
                  .dst = { .dev = s->dev, .addr = item->dst.addr, .host = item->dst_host },
                  .src = { .dev = s->dev, .addr = item->src.addr, .host = (void *)(uintptr_t)item->src_host } };
    snprintf(b.which, sizeof b.which, "item %zu: ", i);
    return b;
}

cj_status cj_copy_batch(cj_stream *s, const cj_copy_item *items, size_t count)
{
    static const char call[] = "cj_copy_batch";
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    if (count && !items) return cji_stream_failed(s, cji_fail(s, CJ_EINVAL, call, "%zu items at NULL", count));
    for (size_t i = 0; i < count && st == CJ_OK; i++) {
        cji_copy_job b = batch_copy(s, items, i);
        st = cji_copy_use(s, &b, call);
    }
    for (size_t i = 0; i < count && st == CJ_OK; i++) {
        cji_copy_job b = batch_copy(s, items, i);
        st = cji_copy_use(s, &b, call);
        if (st == CJ_OK) st = cji_copy_run(s, &b, call);
    }
    return st == CJ_OK ? CJ_OK : cji_stream_failed(s, st);
}
