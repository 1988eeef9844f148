/* Where the code of a first launch begins and ends, and fetching it. */
#include "base/first.h"

#include <stdint.h>

#include "base/process.h"

enum {
    FIRST_LINE = 64,        /* bytes of a line of the processor's cache, on the usual ones */
    FIRST_MOST = 64 << 10   /* what has more bytes is something else */
};

static CJI_FIRST_PART("0") __attribute__((used, noinline)) void cji_first_begin(void) {}
static CJI_FIRST_PART("2") __attribute__((used, noinline)) void cji_first_end(void) {}

void cji_first_fetch(void)
{
    const uintptr_t begin = (uintptr_t)cji_first_begin, end = (uintptr_t)cji_first_end;
    if (end - begin > FIRST_MOST) return;
    for (uintptr_t p = begin; p < end; p += FIRST_LINE) __builtin_prefetch((const void *)p);
}

void cji_first_fetch_early(void)
{
    if (atomic_load_explicit(&cji_process.first_fetched, memory_order_relaxed)) return;
    atomic_store_explicit(&cji_process.first_fetched, true, memory_order_relaxed);
    cji_first_fetch();
}
