/* Handles and addresses of a recording, and what they are now. */
#include "driver/interpose/replay_parts.h"

enum { MAP_SLOTS = 64, MAP_PAGE = 4096 };

/* -- Handles ------------------------------------------------------------------------------------------------------- */

static size_t slot_of(const cji_replay_maps *m, unsigned class, uint64_t then)
{
    size_t i = (size_t)((then ^ class) * 0x9e3779b97f4a7c15u >> 20) & (m->slots - 1);
    while (m->handle[i].class && (m->handle[i].class != class || m->handle[i].then != then))
        i = (i + 1) & (m->slots - 1);
    return i;
}

static bool grow_handles(cji_replay_maps *m)
{
    cji_replay_maps larger = { .slots = m->slots ? m->slots * 2 : MAP_SLOTS };
    larger.handle = cji_zalloc(larger.slots * sizeof *larger.handle);
    if (!larger.handle) return false;
    for (size_t i = 0; i < m->slots; i++)
        if (m->handle[i].class) larger.handle[slot_of(&larger, m->handle[i].class, m->handle[i].then)] = m->handle[i];
    cji_free(m->handle, m->slots * sizeof *m->handle);
    m->handle = larger.handle;
    m->slots = larger.slots;
    return true;
}

bool cji_replay_bind(cji_replay_maps *m, unsigned class, uint64_t then, uint64_t now, uint64_t owner)
{
    if (m->handles * 2 >= m->slots && !grow_handles(m)) return false;
    cji_replay_handle *h = &m->handle[slot_of(m, class, then)];
    if (!h->class) m->handles++;
    *h = (cji_replay_handle){ .then = then, .now = now, .owner = owner, .class = (uint8_t)class, .live = true };
    return true;
}

cji_replay_handle *cji_replay_find(const cji_replay_maps *m, unsigned class, uint64_t then)
{
    if (!m->slots) return NULL;
    cji_replay_handle *h = &m->handle[slot_of(m, class, then)];
    return h->class && h->live ? h : NULL;
}

void cji_replay_forget_nodes(cji_replay_maps *m, uint64_t graph)
{
    for (size_t i = 0; i < m->slots; i++) {
        cji_replay_handle *h = &m->handle[i];
        if (h->class == CJI_HANDLE_NODE && (!h->owner || h->owner == graph)) h->live = false;
    }
}

/* -- Addresses ----------------------------------------------------------------------------------------------------- */

/* The first range that ends behind the address. */
static size_t range_at(const cji_replay_maps *m, uint64_t then)
{
    size_t low = 0, high = m->ranges;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (m->range[middle].then + m->range[middle].bytes > then) high = middle;
        else low = middle + 1;
    }
    return low;
}

/* Memory of a range stays until the end: a graph may use it. */
typedef struct owned_memory { struct owned_memory *next; void *p; size_t n; } owned_memory;

static bool own_memory(cji_replay_maps *m, void *p, size_t n)
{
    owned_memory *o = cji_zalloc(sizeof *o);
    if (!o) return false;
    *o = (owned_memory){ .next = m->owned, .p = p, .n = n };
    m->owned = o;
    return true;
}

bool cji_replay_map(cji_replay_maps *m, uint64_t then, uint64_t bytes, uint64_t now)
{
    if (!bytes) bytes = 1;
    if (then + bytes < then || !cji_grow(&m->range, &m->range_cap, m->ranges + 1, sizeof *m->range)) return false;
    const size_t first = range_at(m, then);
    size_t last = first; /* those from first to last are where the new one is */
    while (last < m->ranges && m->range[last].then < then + bytes) last++;
    memmove(m->range + first + 1, m->range + last, (m->ranges - last) * sizeof *m->range);
    m->range[first] = (cji_replay_range){ .then = then, .bytes = bytes, .now = now };
    m->ranges += 1 - (last - first);
    return true;
}

bool cji_replay_address(const cji_replay_maps *m, uint64_t then, uint64_t *now)
{
    const size_t i = range_at(m, then);
    if (i < m->ranges && m->range[i].then <= then) {
        *now = m->range[i].now + (then - m->range[i].then);
        return m->range[i].now != 0;
    }
    if (i && m->range[i - 1].now && m->range[i - 1].then + m->range[i - 1].bytes == then) { /* behind the last byte */
        *now = m->range[i - 1].now + m->range[i - 1].bytes;
        return true;
    }
    return false;
}

bool cji_replay_is_lost(const cji_replay_maps *m, uint64_t then)
{
    const size_t i = range_at(m, then);
    return i < m->ranges && m->range[i].then <= then && !m->range[i].now;
}

void *cji_replay_region(cji_replay_maps *m, uint64_t then, uint64_t bytes, bool anew)
{
    const size_t i = range_at(m, then);
    if (!anew && i < m->ranges && m->range[i].now && m->range[i].then <= then &&
        bytes <= m->range[i].bytes - (then - m->range[i].then))
        return (void *)(uintptr_t)(m->range[i].now + (then - m->range[i].then));
    const size_t n = (size_t)bytes + 2 * MAP_PAGE;
    char *p = cji_zalloc(n);
    if (!p || !own_memory(m, p, n)) {
        cji_free(p, n);
        return NULL;
    }
    const uint64_t page = ((uint64_t)(uintptr_t)p + MAP_PAGE - 1) & ~(uint64_t)(MAP_PAGE - 1);
    const uint64_t now = page + then % MAP_PAGE;
    return cji_replay_map(m, then, bytes, now) ? (void *)(uintptr_t)now : NULL;
}

void cji_replay_maps_free(cji_replay_maps *m)
{
    for (owned_memory *o = m->owned, *next; o; o = next) {
        next = o->next;
        cji_free(o->p, o->n);
        cji_free(o, sizeof *o);
    }
    cji_free(m->handle, m->slots * sizeof *m->handle);
    cji_free(m->range, m->range_cap * sizeof *m->range);
    *m = (cji_replay_maps){ .slots = 0 };
}
