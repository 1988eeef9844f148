/* The table of live handles: open addressing by pointer, so that a stale or foreign handle is refused without being read. */
#include "sim/simcore.h"

#include <string.h>

typedef struct sd_slot { void *p; sd_kind kind; } sd_slot;
static struct { sd_slot *slot; size_t n, cap; } sd_table;   /* cap is a power of two, at most 2/3 full */

static size_t sd_place_of(const void *p, size_t cap)
{
    uint64_t h = (uint64_t)(uintptr_t)p * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(h >> 20) & (cap - 1);
}

static void sd_slot_put(sd_slot *slot, size_t cap, sd_slot what)
{
    size_t i = sd_place_of(what.p, cap);
    while (slot[i].p) i = (i + 1) & (cap - 1);
    slot[i] = what;
}

bool cji_sd_handle_add(sd_kind kind, void *p)
{
    if (3 * (sd_table.n + 1) > 2 * sd_table.cap) {
        size_t cap = sd_table.cap ? 2 * sd_table.cap : 64;
        sd_slot *slot = cji_zalloc(cap * sizeof *slot);
        if (!slot) return false;
        for (size_t i = 0; i < sd_table.cap; i++)
            if (sd_table.slot[i].p) sd_slot_put(slot, cap, sd_table.slot[i]);
        cji_free(sd_table.slot, sd_table.cap * sizeof *slot);
        sd_table.slot = slot;
        sd_table.cap = cap;
    }
    sd_slot_put(sd_table.slot, sd_table.cap, (sd_slot){ p, kind });
    sd_table.n++;
    return true;
}

static size_t sd_slot_find(const void *p)
{
    if (!p || !sd_table.cap) return SIZE_MAX;
    for (size_t i = sd_place_of(p, sd_table.cap); sd_table.slot[i].p; i = (i + 1) & (sd_table.cap - 1))
        if (sd_table.slot[i].p == p) return i;
    return SIZE_MAX;
}

void cji_sd_handle_drop(void *p)
{
    size_t i = sd_slot_find(p), mask = sd_table.cap - 1;
    if (i == SIZE_MAX) return;
    sd_table.n--;
    /* The entries behind it move up, so that no search breaks off early. */
    for (size_t k = (i + 1) & mask; sd_table.slot[k].p; k = (k + 1) & mask) {
        size_t home = sd_place_of(sd_table.slot[k].p, sd_table.cap);
        if (((k - home) & mask) >= ((k - i) & mask)) {
            sd_table.slot[i] = sd_table.slot[k];
            i = k;
        }
    }
    sd_table.slot[i] = (sd_slot){ NULL, SD_NOTHING };
}

bool cji_sd_handle_is(sd_kind kind, const void *p)
{
    size_t i = sd_slot_find(p);
    return i != SIZE_MAX && sd_table.slot[i].kind == kind;
}

void *cji_sd_handle_next(sd_kind kind, bool (*wanted)(const void *p, const void *user), const void *user)
{
    for (size_t i = 0; i < sd_table.cap; i++)
        if (sd_table.slot[i].p && sd_table.slot[i].kind == kind && (!wanted || wanted(sd_table.slot[i].p, user))) return sd_table.slot[i].p;
    return NULL;
}

void cji_sd_handle_table_free(void)
{
    cji_free(sd_table.slot, sd_table.cap * sizeof *sd_table.slot);
    memset(&sd_table, 0, sizeof sd_table);
}
