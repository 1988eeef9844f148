/* The table of live handles: open addressing by pointer, so that a stale or foreign handle is rejected without being
 * read. */
#include "sim/core/sim_core.h"

#include <string.h>

typedef struct sim_slot { void *p; sim_kind kind; } sim_slot;
static struct { sim_slot *slot; size_t n, cap; } sim_table;   /* cap is a power of two, at most 2/3 full */

static size_t sim_slot_home(const void *p, size_t cap)
{
    uint64_t h = (uint64_t)(uintptr_t)p * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(h >> 20) & (cap - 1);
}

static void sim_slot_put(sim_slot *slot, size_t cap, sim_slot what)
{
    size_t i = sim_slot_home(what.p, cap);
    while (slot[i].p) i = (i + 1) & (cap - 1);
    slot[i] = what;
}

bool cji_sim_handle_add(sim_kind kind, void *p)
{
    if (3 * (sim_table.n + 1) > 2 * sim_table.cap) {
        size_t cap = sim_table.cap ? 2 * sim_table.cap : 64;
        sim_slot *slot = cji_zalloc(cap * sizeof *slot);
        if (!slot) return false;
        for (size_t i = 0; i < sim_table.cap; i++)
            if (sim_table.slot[i].p) sim_slot_put(slot, cap, sim_table.slot[i]);
        cji_free(sim_table.slot, sim_table.cap * sizeof *slot);
        sim_table.slot = slot;
        sim_table.cap = cap;
    }
    sim_slot_put(sim_table.slot, sim_table.cap, (sim_slot){ p, kind });
    sim_table.n++;
    return true;
}

static size_t sim_slot_find(const void *p)
{
    if (!p || !sim_table.cap) return SIZE_MAX;
    for (size_t i = sim_slot_home(p, sim_table.cap); sim_table.slot[i].p; i = (i + 1) & (sim_table.cap - 1))
        if (sim_table.slot[i].p == p) return i;
    return SIZE_MAX;
}

void cji_sim_handle_drop(void *p)
{
    size_t i = sim_slot_find(p), mask = sim_table.cap - 1;
    if (i == SIZE_MAX) return;
    sim_table.n--;
    /* The entries behind it move up, so that no search breaks off early. */
    for (size_t k = (i + 1) & mask; sim_table.slot[k].p; k = (k + 1) & mask) {
        size_t home = sim_slot_home(sim_table.slot[k].p, sim_table.cap);
        if (((k - home) & mask) >= ((k - i) & mask)) {
            sim_table.slot[i] = sim_table.slot[k];
            i = k;
        }
    }
    sim_table.slot[i] = (sim_slot){ NULL, SIM_NOTHING };
}

bool cji_sim_handle_is(sim_kind kind, const void *p)
{
    size_t i = sim_slot_find(p);
    return i != SIZE_MAX && sim_table.slot[i].kind == kind;
}

void *cji_sim_handle_next(sim_kind kind, bool (*wanted)(const void *p, const void *user), const void *user, size_t *at)
{
    /* Dropping handles moves others to where they were: what was passed is looked at again before the end. */
    for (size_t from = *at;; from = 0) {
        for (size_t i = from; i < sim_table.cap; i++) {
            const sim_slot *s = &sim_table.slot[i];
            if (s->p && s->kind == kind && (!wanted || wanted(s->p, user))) {
                *at = i;
                return s->p;
            }
        }
        if (!from) return NULL;
    }
}

void cji_sim_handle_table_free(void)
{
    cji_free(sim_table.slot, sim_table.cap * sizeof *sim_table.slot);
    memset(&sim_table, 0, sizeof sim_table);
}
