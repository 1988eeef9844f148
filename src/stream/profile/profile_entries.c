/* Records kept by a profile, and polled; what a report is made of. */
#include <stdlib.h>

#include "stream/profile/stream_profile.h"

const char *const cji_profile_kind_names[CJ_PROFILE_MEMORY + 1] = {
    [0] = "",
    [CJ_PROFILE_KERNEL] = "kernel",
    [CJ_PROFILE_COPY_TO_DEVICE] = "copy to device",
    [CJ_PROFILE_COPY_TO_HOST] = "copy to host",
    [CJ_PROFILE_COPY] = "copy",
    [CJ_PROFILE_FILL] = "fill",
    [CJ_PROFILE_PREFETCH] = "memory prefetch",
    [CJ_PROFILE_HOST_FUNC] = "host function",
    [CJ_PROFILE_GRAPH] = "graph",
    [CJ_PROFILE_WAIT] = "wait",
    [CJ_PROFILE_WRITE] = "write of memory",
    [CJ_PROFILE_RANGE] = "range",
    [CJ_PROFILE_MEMORY] = "memory",
};

/* -- Keeping; with the lock held ----------------------------------------------------------------------------------- */

const char *cji_profile_name(const char *name)
{
    cji_map *names = &cji_process.profiles.names;
    if (!cji_process.profiles.all) return NULL; /* nobody reads it, and nobody would free it */
    const uint32_t i = cji_map_intern(names, name, strlen(name));
    return i == CJI_MAP_NONE ? NULL : names->entry[i].key;
}

/* The index of the recorder's clock, whose offset is renewed; SIZE_MAX without memory. */
static size_t entry_clock(cj_profile *p, const cji_recorder *r)
{
    size_t i = 0;
    while (i < p->clocks && p->clock[i].number != r->number) i++;
    if (i == p->clocks) {
        if (!cji_grow(&p->clock, &p->clock_cap, i + 1, sizeof *p->clock)) return SIZE_MAX;
        p->clock[p->clocks++] = (cji_profile_clock){ .number = r->number, .device = r->device };
        memcpy(p->clock[i].name, r->name, sizeof p->clock[i].name);
    }
    p->clock[i].offset = r->offset;
    return i;
}

/* The index of the stream's lane; SIZE_MAX without memory. */
static size_t entry_lane(cj_profile *p, const cji_recorder *r, uint64_t stream, int priority)
{
    const uint64_t key[2] = { r->number, stream };
    const size_t clock = entry_clock(p, r);
    if (clock == SIZE_MAX) return SIZE_MAX;
    uint32_t lane = cji_map_find(&p->lane_map, (const char *)key, sizeof key);
    if (lane != CJI_MAP_NONE) return lane;
    if (!cji_grow(&p->lane, &p->lane_cap, p->lanes + 1, sizeof *p->lane)) return SIZE_MAX;
    lane = cji_map_intern(&p->lane_map, (const char *)key, sizeof key);
    if (lane == CJI_MAP_NONE) return SIZE_MAX;
    p->lane[p->lanes++] = (cji_profile_lane){ .stream = stream, .clock = (uint32_t)clock, .priority = priority };
    return lane;
}

void cji_profile_keep(cj_profile *p, const cji_recorder *r, uint64_t stream, int priority, const cji_profile_entry *e)
{
    const size_t lane = p->count < p->most ? entry_lane(p, r, stream, priority) : SIZE_MAX;
    if (lane == SIZE_MAX || !cji_grow(&p->entry, &p->cap, p->count + 1, sizeof *p->entry)) {
        p->lost++;
        return;
    }
    p->entry[p->count] = *e;
    p->entry[p->count++].lane = (uint32_t)lane;
}

void cji_profile_drop_entries(cj_profile *p)
{
    cji_free(p->entry, p->cap * sizeof *p->entry);
    cji_free(p->lane, p->lane_cap * sizeof *p->lane);
    cji_free(p->clock, p->clock_cap * sizeof *p->clock);
    cji_map_free(&p->lane_map);
    p->entry = NULL;
    p->lane = NULL;
    p->clock = NULL;
    p->count = p->cap = p->polled = p->lanes = p->lane_cap = p->clocks = p->clock_cap = 0;
    p->lost = 0;
}

void cji_profile_show(const cj_profile *p, const cji_profile_entry *e, cj_profile_record *out)
{
    const cji_profile_lane *lane = &p->lane[e->lane];
    const cji_profile_clock *clock = &p->clock[lane->clock];
    const int64_t offset = e->kind == CJ_PROFILE_MEMORY ? 0 : clock->offset;
    *out = (cj_profile_record){ .name = e->name,
                                .kind = e->kind,
                                .device = clock->device,
                                .stream = lane->stream,
                                .bytes = e->bytes,
                                .submit = (int64_t)e->submit,
                                .start = e->start + offset,
                                .end = e->end + offset,
                                .from = e->from,
                                .depth = e->depth,
                                .inside_mark = e->inside_mark };
}

/* -- Polling ------------------------------------------------------------------------------------------------------- */

size_t cj_profile_poll(cj_profile *p, cj_profile_record *out, size_t max)
{
    static const char call[] = "cj_profile_poll";
    if (cji_check(p, CJI_TAG_PROFILE, call) != CJ_OK) return 0;
    if (!out) return cji_fail(p, CJ_EINVAL, call, "there is no room for records: `out` is NULL"), 0;
    size_t n = 0;
    cji_profiles_lock();
    cji_harvest_all();
    while (n < max && p->polled < p->count) cji_profile_show(p, &p->entry[p->polled++], &out[n++]);
    cji_profiles_unlock();
    return n;
}

/* -- Snapshots ----------------------------------------------------------------------------------------------------- */

typedef struct snap_item { cj_profile_record record; uint32_t lane; } snap_item;

/* By start; what is around comes first. */
static int snap_order(const void *a, const void *b)
{
    const cj_profile_record *x = &((const snap_item *)a)->record, *y = &((const snap_item *)b)->record;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    if (x->end != y->end) return x->end > y->end ? -1 : 1;
    return (x->depth > y->depth) - (x->depth < y->depth);
}

/* With the lock held; `number` 0: all streams. */
static bool snap_copy(const cj_profile *p, uint64_t stream, uint32_t number, cji_snap *snap)
{
    const size_t count = p->count ? p->count : 1, lanes = p->lanes ? p->lanes : 1, clocks = p->clocks ? p->clocks : 1;
    snap_item *item = cji_alloc(count * sizeof *item);
    snap->cap = count;
    snap->lane_room = lanes;
    snap->record = cji_alloc(count * sizeof *snap->record);
    snap->lane = cji_alloc(count * sizeof *snap->lane);
    snap->lanes = cji_alloc(lanes * sizeof *snap->lanes);
    snap->nclocks = clocks;
    snap->clocks = cji_zalloc(clocks * sizeof *snap->clocks);
    const bool ok = item && snap->record && snap->lane && snap->lanes && snap->clocks;
    for (size_t i = 0; i < p->count && ok; i++) {
        const cji_profile_lane *lane = &p->lane[p->entry[i].lane];
        if (number && (lane->stream != stream || p->clock[lane->clock].number != number)) continue;
        cji_profile_show(p, &p->entry[i], &item[snap->count].record);
        item[snap->count++].lane = p->entry[i].lane;
    }
    if (ok) qsort(item, snap->count, sizeof *item, snap_order);
    for (size_t i = 0; i < snap->count; i++) {
        snap->record[i] = item[i].record;
        snap->lane[i] = item[i].lane;
    }
    if (ok && p->lanes) memcpy(snap->lanes, p->lane, p->lanes * sizeof *p->lane);
    if (ok && p->clocks) memcpy(snap->clocks, p->clock, p->clocks * sizeof *p->clock);
    snap->nlanes = p->lanes;
    snap->lost = p->lost;
    cji_free(item, count * sizeof *item);
    return ok;
}

cj_status cji_snap_take(cj_profile *p, cj_stream *s, cji_snap *snap, const char *call)
{
    *snap = (cji_snap){ .count = 0 };
    cj_status st = cji_check(p, CJI_TAG_PROFILE, call);
    if (st == CJ_OK && s) st = cji_check_arg(p, s, CJI_TAG_STREAM, call, "the stream");
    if (st != CJ_OK) return st;
    cji_profiles_lock();
    cji_harvest_all();
    const cji_track *t = s ? (const cji_track *)atomic_load(&s->timing) : NULL;
    const bool ok = snap_copy(p, s ? s->id : 0, t ? t->recorder->number : s ? UINT32_MAX : 0, snap);
    cji_profiles_unlock();
    if (ok) return CJ_OK;
    cji_snap_free(snap);
    return cji_fail(p, CJ_ENOMEM, call, "no memory for %zu records", p->count);
}

void cji_snap_free(cji_snap *snap)
{
    cji_free(snap->record, snap->cap * sizeof *snap->record);
    cji_free(snap->lane, snap->cap * sizeof *snap->lane);
    cji_free(snap->lanes, snap->lane_room * sizeof *snap->lanes);
    cji_free(snap->clocks, snap->nclocks * sizeof *snap->clocks);
    *snap = (cji_snap){ .count = 0 };
}
