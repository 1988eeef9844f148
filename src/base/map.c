/* The interning map: byte strings to dense numbers. */
#include <string.h>

#include "base/mem.h"

uint64_t cji_hash(const void *p, size_t n)
{
    const unsigned char *s = p;
    const bool tail = n >= 8;
    uint64_t h = n * 0x9e3779b97f4a7c15u, w = 0;
    uint32_t low, high;
    if (n >= 4 && n < 8) { /* two halves, which may share bytes */
        memcpy(&low, s, 4);
        memcpy(&high, s + n - 4, 4);
        w = (uint64_t)high << 32 | low;
    } else if (n && n < 4) {
        w = s[0] | (uint64_t)s[n / 2] << 8 | (uint64_t)s[n - 1] << 16;
    }
    for (; n > 8; n -= 8, s += 8) {
        memcpy(&w, s, 8);
        h = (h ^ w) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    if (tail) memcpy(&w, s + n - 8, 8); /* the last eight bytes, some of them for the second time */
    h = (h ^ w) * 0xff51afd7ed558ccdu;
    h = (h ^ h >> 32) * 0xc4ceb9fe1a85ec53u;   /* the highest bits are a name's last letters: they reach the lowest */
    return h ^ h >> 29;
}

/* Names that differ in their last letter only, which are often numbered, lie side by side: a run of them takes few
 * lines of the cache. */
static uint32_t name_hash(const char *key, size_t len)
{
    return len ? (uint32_t)cji_hash_near(key, len - 1, (uint8_t)key[len - 1]) : 0;
}

/* The slot that holds `key`, or the empty one where it belongs.  Slots hold entry number + 1. */
static size_t probe(const cji_map *m, const char *key, size_t len, uint32_t hash)
{
    size_t mask = m->nslots - 1, i = hash & mask;
    for (;; i = (i + 1) & mask) {
        uint32_t s = m->slot[i];
        if (!s) return i;
        const cji_map_entry *e = &m->entry[s - 1];
        if (e->hash == hash && e->len == len && cji_equal(e->key, key, len)) return i;
    }
}

uint32_t cji_map_find(const cji_map *m, const char *key, size_t len)
{
    if (!m->nslots) return CJI_MAP_NONE;
    uint32_t s = m->slot[probe(m, key, len, name_hash(key, len))];
    return s ? s - 1 : CJI_MAP_NONE;
}

static bool grow_slots(cji_map *m)
{
    size_t want = m->nslots ? m->nslots * 2 : 8;
    uint32_t *fresh = cji_zalloc(want * sizeof *fresh);
    if (!fresh) return false;
    cji_free(m->slot, m->nslots * sizeof *m->slot);
    m->slot = fresh;
    m->nslots = want;
    for (size_t i = 0; i < m->n; i++) {
        size_t at = m->entry[i].hash & (want - 1);
        while (fresh[at]) at = (at + 1) & (want - 1);
        fresh[at] = (uint32_t)i + 1;
    }
    return true;
}

uint32_t cji_map_intern(cji_map *m, const char *key, size_t len)
{
    uint32_t hash = name_hash(key, len);
    if (m->n >= CJI_MAP_NONE - 1 || len > UINT32_MAX) return CJI_MAP_NONE;
    if ((m->n + 1) * 2 > m->nslots && !grow_slots(m)) return CJI_MAP_NONE;
    size_t at = probe(m, key, len, hash);
    if (m->slot[at]) return m->slot[at] - 1;
    if (!cji_grow(&m->entry, &m->cap, m->n + 1, sizeof *m->entry)) return CJI_MAP_NONE;
    const char *copy = len ? cji_arena_strndup(&m->keys, key, len) : "";
    if (!copy) return CJI_MAP_NONE;
    m->entry[m->n] = (cji_map_entry){ .key = copy, .len = (uint32_t)len, .hash = hash };
    m->slot[at] = (uint32_t)++m->n;
    return (uint32_t)m->n - 1;
}

void cji_map_free(cji_map *m)
{
    cji_free(m->entry, m->cap * sizeof *m->entry);
    cji_free(m->slot, m->nslots * sizeof *m->slot);
    cji_arena_free(&m->keys);
    *m = (cji_map){ 0 };
}
