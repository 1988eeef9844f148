/* The parts of an allocation that an allocator of the program hands out: an access outside of them is a fault, as if
 * each was an allocation of its own. Parts that are not live any more stay known until others lie there. */
#include "sim/core/sim_core.h"

#include <string.h>

/* The first part behind `address`. */
static size_t parts_above(const sim_parts *p, uint64_t address)
{
    size_t a = 0, b = p->n;
    while (a < b) {
        size_t m = (a + b) / 2;
        if (p->part[m].lo <= address) a = m + 1;
        else b = m;
    }
    return a;
}

const sim_part *cji_sim_parts_near(const sim_parts *p, uint64_t address)
{
    size_t i = parts_above(p, address);
    return i ? &p->part[i - 1] : NULL;
}

/* Removes what overlaps the range; where its own place is then. */
static size_t parts_clear(sim_parts *p, uint64_t lo, uint64_t bytes)
{
    size_t from = parts_above(p, lo), to = from;
    if (from && lo - p->part[from - 1].lo < p->part[from - 1].bytes) from--;
    while (to < p->n && p->part[to].lo - lo < bytes) to++;
    if (to > from) memmove(&p->part[from], &p->part[to], (p->n - to) * sizeof *p->part);
    p->n -= to - from;
    return from;
}

bool cji_sim_parts_come(const sim_parts *p, uint64_t address, uint64_t bytes)
{
    for (size_t i = 0; i < p->ncoming; i++) {
        const sim_part *part = &p->coming[i];
        if (address - part->lo < part->bytes && bytes <= part->bytes - (address - part->lo)) return true;
    }
    return false;
}

static void parts_come(sim_parts *p, uint64_t lo, uint64_t bytes)
{
    if (!cji_grow(&p->coming, &p->coming_cap, p->ncoming + 1, sizeof *p->coming)) {
        p->unknown = true;
        return;
    }
    p->coming[p->ncoming++] = (sim_part){ .lo = lo, .bytes = bytes };
}

static void parts_came(sim_parts *p, uint64_t lo, uint64_t bytes)
{
    size_t i = 0;
    while (i < p->ncoming && (p->coming[i].lo != lo || p->coming[i].bytes != bytes)) i++;
    if (i < p->ncoming) p->coming[i] = p->coming[--p->ncoming];
}

void cji_sim_parts_set(sim_parts *p, uint64_t lo, uint64_t bytes, sim_part_change change)
{
    size_t i = parts_above(p, lo);
    if (change == SIM_PART_ENDS) {
        if (i && p->part[i - 1].lo == lo) p->part[i - 1].live = false;
        return;
    }
    if (change == SIM_PART_COMES) {
        parts_come(p, lo, bytes);
        return;
    }
    parts_came(p, lo, bytes);
    i = parts_clear(p, lo, bytes);
    if (!cji_grow(&p->part, &p->cap, p->n + 1, sizeof *p->part)) {
        p->unknown = true;
        return;
    }
    memmove(&p->part[i + 1], &p->part[i], (p->n - i) * sizeof *p->part);
    p->part[i] = (sim_part){ .lo = lo, .bytes = bytes, .live = true };
    p->n++;
}

void cji_sim_parts_free(sim_parts *p)
{
    if (!p) return;
    cji_free(p->part, p->cap * sizeof *p->part);
    cji_free(p->coming, p->coming_cap * sizeof *p->coming);
    cji_free(p, sizeof *p);
}
