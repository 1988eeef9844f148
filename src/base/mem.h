/* Memory through the one allocator hook; growing arrays; an arena; growing text, text in a fixed place. */
#ifndef CJI_MEM_H
#define CJI_MEM_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cujit/base.h>

void *cji_realloc(void *p, size_t old, size_t size);          /* the hook itself */
void *cji_alloc(size_t size);                                 /* NULL without memory; contents undefined */
void *cji_zalloc(size_t size);                                /* zeroed */
void cji_free(void *p, size_t size);                          /* NULL is fine; the size it was given with */
char *cji_strdup(const char *s);                              /* freed with cji_strfree */
void cji_strfree(char *s);
void cji_set_hook(cj_realloc_fn fn, void *user);              /* unchecked: for the CPU device's setup call */
void cji_get_hook(cj_realloc_fn *fn, void **user);

/* Makes room for `need` elements of `each` bytes in *p (capacity *cap), doubling.  False without memory, *p
 * unchanged. */
bool cji_grow(void *p, size_t *cap, size_t need, size_t each);

/* ---- Arena: blocks released together ---- */
typedef struct cji_arena { struct cji_arena_chunk *chunk; } cji_arena; /* {0} is empty */
void *cji_arena_alloc(cji_arena *a, size_t size); /* 16-byte aligned, zeroed; NULL without memory */
char *cji_arena_strndup(cji_arena *a, const char *s, size_t n);
void cji_arena_clear(cji_arena *a);               /* frees all blocks and keeps room for as many, within limits */
void cji_arena_free(cji_arena *a);
size_t cji_arena_bytes(const cji_arena *a);       /* that its chunks take */

/* ---- Growing text ---- */
typedef struct cji_text {
    char *p;
    size_t n, cap;
    bool failed;
} cji_text;                                        /* {0} is empty; failed: memory ran out, contents cut */
bool cji_text_room(cji_text *t, size_t more);      /* at least `more` + 1 bytes behind n */
void cji_text_put(cji_text *t, const char *s, size_t n);
static inline void cji_text_puts(cji_text *t, const char *s) { cji_text_put(t, s, strlen(s)); }
void cji_text_putc(cji_text *t, char c);
void cji_text_printf(cji_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void cji_text_vprintf(cji_text *t, const char *fmt, va_list args);
const char *cji_text_str(cji_text *t);             /* NUL-terminated; "" when empty or failed */
void cji_text_free(cji_text *t);

/* Names in messages: any name, over 60 characters as its first 28, "...", its last 28; NULL is "". Good for a message
 * of
 * this thread with at most CJI_SHORT_NAMES names. cji_short_n is for a name without NUL. */
enum { CJI_SHORT_NAMES = 2, CJI_SHORT_ROOM = 61 };
const char *cji_short(const char *name);
const char *cji_short_n(const char *name, size_t n);
/* The same into `size` bytes (at least 8): as many first as last characters. */
char *cji_shorten(char *room, size_t size, const char *name, size_t n);

/* ---- Text in a place of fixed size: cut where that is full, NUL-terminated ---- */
typedef struct cji_line { char *p; size_t size, n; } cji_line; /* n < size, or size is 0 and nothing is written */
void cji_say(cji_line *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- Interning map: byte strings to dense numbers 0, 1, 2 ... ---- */
typedef struct cji_map_entry {
    const char *key;
    uint32_t len;
    uint32_t hash;
    void *data;
} cji_map_entry; /* data: the user's */
typedef struct cji_map { cji_map_entry *entry; size_t n, cap; uint32_t *slot; size_t nslots; cji_arena keys; } cji_map;
#define CJI_MAP_NONE UINT32_MAX
uint32_t cji_map_find(const cji_map *m, const char *key, size_t len);          /* CJI_MAP_NONE when absent */
uint32_t cji_map_intern(cji_map *m, const char *key, size_t len);              /* CJI_MAP_NONE without memory */
void cji_map_free(cji_map *m);

uint64_t cji_hash(const void *p, size_t n);        /* word-wise, not for adversaries */
/* The same for a key of these bytes and one more: those that differ in the lowest four bits of `last` alone have
 * hashes in one block of 16. */
static inline uint64_t cji_hash_near(const void *p, size_t n, uint8_t last)
{
    return (cji_hash(p, n) + (uint64_t)(last >> 4) * 0x9e3779b97f4a7c15u) ^ (last & 15);
}

/* memcmp() for short texts, without a call: whole words, the last one reaching back into the one before. */
static inline bool cji_equal(const char *a, const char *b, size_t n)
{
    uint64_t x, y;
    if (n < sizeof x) return !memcmp(a, b, n);
    for (size_t i = 0; i + sizeof x < n; i += sizeof x) {
        memcpy(&x, a + i, sizeof x);
        memcpy(&y, b + i, sizeof y);
        if (x != y) return false;
    }
    memcpy(&x, a + n - sizeof x, sizeof x);
    memcpy(&y, b + n - sizeof y, sizeof y);
    return x == y;
}

#endif
