/* Growing text, text in a fixed place, and the arena. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/process.h"

/* -- Growing text -------------------------------------------------------------------------------------------------- */

bool cji_text_room(cji_text *t, size_t more)
{
    if (t->failed) return false;
    if (t->n + more + 1 <= t->cap) return true;
    if (!cji_grow(&t->p, &t->cap, t->n + more + 1, 1)) t->failed = true;
    return !t->failed;
}

void cji_text_put(cji_text *t, const char *s, size_t n)
{
    if (!cji_text_room(t, n)) return;
    if (n) memcpy(t->p + t->n, s, n);
    t->n += n;
    t->p[t->n] = 0;
}

void cji_text_putc(cji_text *t, char c) { cji_text_put(t, &c, 1); }

void cji_text_vprintf(cji_text *t, const char *fmt, va_list args)
{
    va_list again;
    if (!cji_text_room(t, 64)) return; /* enough for nearly all: it is written once */
    va_copy(again, args);
    int n = vsnprintf(t->p + t->n, t->cap - t->n, fmt, args);
    bool fits = n >= 0 && (size_t)n < t->cap - t->n;
    if (!fits && n > 0 && cji_text_room(t, (size_t)n))
        fits = vsnprintf(t->p + t->n, t->cap - t->n, fmt, again) == n;
    if (fits) t->n += (size_t)n;
    else if (t->p) t->p[t->n] = 0;
    va_end(again);
}

void cji_text_printf(cji_text *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    cji_text_vprintf(t, fmt, args);
    va_end(args);
}

const char *cji_text_str(cji_text *t) { return t->p && !t->failed ? t->p : ""; }

void cji_text_free(cji_text *t)
{
    cji_free(t->p, t->cap);
    *t = (cji_text){ 0 };
}

/* -- Text in a fixed place ----------------------------------------------------------------------------------------- */

void cji_say(cji_line *l, const char *fmt, ...)
{
    if (l->n + 1 >= l->size) return;
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(l->p + l->n, l->size - l->n, fmt, args);
    va_end(args);
    if (n > 0) l->n += (size_t)n < l->size - l->n ? (size_t)n : l->size - l->n - 1;
}

char *cji_shorten(char *room, size_t size, const char *name, size_t n)
{
    size_t part = (size - 4) / 2;
    if (n < size) {
        memcpy(room, name, n);
        room[n] = 0;
        return room;
    }
    memcpy(room, name, part);
    memcpy(room + part, "...", 3);
    memcpy(room + part + 3, name + n - part, part);
    room[part + 3 + part] = 0;
    return room;
}

const char *cji_short_n(const char *name, size_t n)
{
    cji_thread_state *t = cji_thread();
    t->next_name = (t->next_name + 1) % CJI_SHORT_NAMES;
    return cji_shorten(t->name[t->next_name], CJI_SHORT_ROOM, name, n);
}

const char *cji_short(const char *name)
{
    size_t n = name ? strlen(name) : 0;
    return !name ? "" : n < CJI_SHORT_ROOM ? name : cji_short_n(name, n);
}

/* -- Arena --------------------------------------------------------------------------------------------------------- */

/* The first chunk is small, each next one twice as large: a small module takes little, a large one asks rarely. */
enum { ARENA_FIRST = 256, ARENA_MOST = 4096, ARENA_KEPT = 65536 };

struct cji_arena_chunk {
    struct cji_arena_chunk *next;
    size_t used, size; /* of data */
    size_t pad;
    _Alignas(16) unsigned char data[];
};

/* Bytes of the next chunk, which is to hold a block of `size`: it and three more like it, or that block alone. */
static size_t chunk_room(const struct cji_arena_chunk *c, size_t size)
{
    size_t bytes = c ? 2 * (sizeof *c + c->size) : ARENA_FIRST;
    while (bytes < ARENA_MOST && size > (bytes - sizeof *c) / 4) bytes *= 2;
    if (bytes > ARENA_MOST) bytes = ARENA_MOST;
    return size > (bytes - sizeof *c) / 4 ? size : bytes - sizeof *c;
}

void *cji_arena_alloc(cji_arena *a, size_t size)
{
    if (size > SIZE_MAX - 4096) return NULL;
    size = (size + 15) & ~(size_t)15;
    struct cji_arena_chunk *c = a->chunk;
    if (!c || c->size - c->used < size) {
        size_t room = chunk_room(c, size);
        struct cji_arena_chunk *fresh = cji_zalloc(sizeof *fresh + room);
        if (!fresh) return NULL;
        fresh->size = room;
        if (c && room == size) { /* a large block of its own goes behind the chunk that still has room */
            fresh->next = c->next;
            c->next = fresh;
        } else {
            fresh->next = c;
            a->chunk = fresh;
        }
        c = fresh;
    }
    void *p = c->data + c->used;
    c->used += size;
    return p;
}

char *cji_arena_strndup(cji_arena *a, const char *s, size_t n)
{
    char *p = cji_arena_alloc(a, n + 1);
    if (p) memcpy(p, s, n);
    return p;
}

void cji_arena_clear(cji_arena *a)
{
    struct cji_arena_chunk *c = a->chunk;
    size_t room = 0;
    if (c && !c->next && c->size <= ARENA_KEPT) {
        memset(c->data, 0, c->used);
        c->used = 0;
        return;
    }
    for (; c; c = c->next) room += c->size;
    cji_arena_free(a);
    if (room > ARENA_KEPT) room = ARENA_KEPT;
    if (room && (c = cji_zalloc(sizeof *c + room)) != NULL) {
        c->size = room;
        a->chunk = c;
    }
}

void cji_arena_free(cji_arena *a)
{
    for (struct cji_arena_chunk *c = a->chunk, *next; c; c = next) {
        next = c->next;
        cji_free(c, sizeof *c + c->size);
    }
    a->chunk = NULL;
}

size_t cji_arena_bytes(const cji_arena *a)
{
    size_t bytes = 0;
    for (const struct cji_arena_chunk *c = a->chunk; c; c = c->next) bytes += sizeof *c + c->size;
    return bytes;
}
