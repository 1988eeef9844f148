/* Targets: a lattice, not a number.  sm_N runs on N and later, sm_Nf on its family, sm_Na on N alone. */
#include <stdio.h>
#include <string.h>

#include "base/first.h"
#include "isa.h"
#include "isa_table.h"

uint32_t cji_target_count(void) { return cji_isa_target_total; }
const char *cji_target_name(uint32_t i) { return i < cji_isa_target_total ? cji_isa_target_names[i].name : "sm_?"; }
uint8_t cji_target_since(uint32_t i) { return i < cji_isa_target_total ? cji_isa_target_names[i].since : 0; }
cji_targets cji_target_set(uint8_t set) { return set < cji_isa_target_set_count ? cji_isa_target_sets[set] : 0; }

int cji_target_find(const char *name, size_t len)
{
    for (uint32_t i = 0; i < cji_isa_target_total; i++)
        if (!strncmp(cji_isa_target_names[i].name, name, len) && !cji_isa_target_names[i].name[len]) return (int)i;
    return -1;
}

/* The family that sm_Nf belongs to: 100, 101 and 103 with 107; 110; 120 and 121. */
static int family(int number) { return number / 10; }

bool cji_target_runs_on(uint32_t i, uint32_t device)
{
    if (i >= cji_isa_target_total || device >= cji_isa_target_total) return false;
    const cji_isa_target *t = &cji_isa_target_names[i], *d = &cji_isa_target_names[device];
    return t->kind == 'a'   ? d->number == t->number && d->kind != 'f'
           : t->kind == 'f' ? d->number >= t->number && family(d->number) == family(t->number)
                            : d->number >= t->number;
}

cji_targets cji_target_runs(uint32_t i)
{
    cji_targets set = 0;
    for (uint32_t k = 0; k < cji_isa_target_total; k++)
        if (cji_target_runs_on(i, k)) set |= (cji_targets)1 << k;
    return set;
}

cji_targets cji_target_on(uint32_t device)
{
    cji_targets set = 0;
    for (uint32_t i = 0; i < cji_isa_target_total; i++)
        if (cji_target_runs_on(i, device)) set |= (cji_targets)1 << i;
    return set;
}

static int least_number(cji_targets set)
{
    int least = INT32_MAX;
    for (const cji_isa_target *t = cji_isa_target_names; set; set >>= 1, t++)
        if (set & 1 && t->number < least) least = t->number;
    return least;
}

CJI_FIRST int cji_target_least(cji_targets set, uint8_t *version)
{
    /* The smallest number; of its variants the one that asks for the least version above *version, then the one that
     * runs on most devices. */
    static const char order[] = " fa";
    set &= ((cji_targets)1 << (cji_isa_target_total - 1) << 1) - 1; /* those that there are */
    int best = -1, best_version = 0;
    const int number = least_number(set);
    for (uint32_t i = 0; i < cji_isa_target_total; i++) {
        const cji_isa_target *t = &cji_isa_target_names[i];
        if (t->number != number || !(set >> i & 1)) continue;
        int wants = t->since > *version ? t->since : *version;
        if (best < 0 || wants < best_version ||
            (wants == best_version && strchr(order, t->kind) < strchr(order, cji_isa_target_names[best].kind))) {
            best = (int)i;
            best_version = wants;
        }
    }
    if (best >= 0) *version = (uint8_t)best_version;
    return best;
}

CJI_FIRST bool cji_target_before(uint32_t a, uint32_t b)
{
    const cji_isa_target *x = &cji_isa_target_names[a], *y = &cji_isa_target_names[b];
    if ((x->kind == ' ') != (y->kind == ' ')) return x->kind == ' ';
    if (x->number != y->number) return x->kind == ' ' ? x->number < y->number : x->number > y->number;
    return x->since != y->since ? x->since < y->since : x->kind > y->kind;
}

bool cji_target_has_wide_grids(uint32_t i) { return cji_isa_target_names[i].number >= 30; }

void cji_target_list(cji_targets set, char *out, size_t size)
{
    if (!size) return;
    out[0] = 0;
    cji_targets plus = 0;
    uint32_t first = 0;
    while (first < cji_isa_target_total && !(set >> first & 1)) first++;
    if (first == cji_isa_target_total) { snprintf(out, size, "no target"); return; }
    for (uint32_t k = 0; k < cji_isa_target_total; k++)
        if (cji_isa_target_names[k].number >= cji_isa_target_names[first].number) plus |= (cji_targets)1 << k;
    if (plus == set && cji_isa_target_names[first].kind == ' ') {
        snprintf(out, size, "%s or newer", cji_isa_target_names[first].name);
        return;
    }
    size_t n = 0;
    for (uint32_t i = first; i < cji_isa_target_total; i++) {
        if (!(set >> i & 1)) continue;
        int w = snprintf(out + n, size - n, "%s%s", n ? ", " : "", cji_isa_target_names[i].name);
        if (w < 0 || (size_t)w >= size - n) { out[n] = 0; return; }
        n += (size_t)w;
    }
}
