/* Names and scopes.
 *
 * A module's functions are flat: registers have numbers, variables and labels one name each.  PTX text is not: braces
 * nest and hide.  So what is declared in a scope gets a name that is free in the whole function (parse_names.c), and
 * the scope only maps the text's name to it. */
#include "ptx/parser.h"

#include <string.h>

enum { SCOPE_DEPTH = 1000 };   /* bounds the search for a name that is hidden again and again */

/* -- Names --------------------------------------------------------------------------------------------------------- */

/* The name's number; CJI_MAP_NONE without memory. */
static uint32_t scope_intern(cji_parser *p, const char *s, size_t n)
{
    uint32_t id = cji_map_intern(&p->names, s, n);
    if (id == CJI_MAP_NONE) return cji_parse_fail(p, CJ_ENOMEM, "no memory for names"), CJI_MAP_NONE;
    if (id < p->cname) return id;
    size_t old = p->cname;
    if (!cji_parse_grow(p, &p->name, &p->cname, (size_t)id + 1, sizeof *p->name)) return CJI_MAP_NONE;
    memset(p->name + old, 0, (p->cname - old) * sizeof *p->name);
    return id;
}

enum { SCOPE_SHORT = 8 };

/* The bytes of a short name, n from 1 to SCOPE_SHORT. */
static inline uint64_t scope_pack(const char *s, size_t n)
{
    uint32_t low = 0, high = 0;
    if (n < 4) return (uint8_t)s[0] | (uint64_t)(uint8_t)s[n / 2] << 8 | (uint64_t)(uint8_t)s[n - 1] << 16;
    memcpy(&low, s, 4);   /* two halves, which may share bytes */
    memcpy(&high, s + n - 4, 4);
    return (uint64_t)high << 32 | low;
}

static inline size_t scope_slot(uint64_t bytes, size_t n, unsigned bits)
{
    return (size_t)((bytes + n) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits));
}

/* The number of a name that has one, else CJI_MAP_NONE.  Short names are looked for in p->recent first: a name keeps
 * its number, so that what is there stays right. */
static uint32_t scope_id(cji_parser *p, const char *s, size_t n)
{
    if (n > SCOPE_SHORT) return cji_map_find(&p->names, s, n);
    uint64_t bytes = scope_pack(s, n);
    cji_recent *r = &p->recent[scope_slot(bytes, n, CJI_RECENT_BITS)];
    if (r->bytes == bytes && r->n == n) return r->id;
    uint32_t id = cji_map_find(&p->names, s, n);
    if (id != CJI_MAP_NONE) *r = (cji_recent){ bytes, (uint32_t)n, id };
    return id;
}

/* A change of what the name stands for. */
static void scope_changes(cji_parser *p, uint32_t name)
{
    if (p->names.entry[name].len <= SCOPE_SHORT) p->bindings++;
}

/* Splits "%r12" into its prefix's length and 12.  0: no such name. */
static size_t scope_split(const char *s, size_t n, uint32_t *number)
{
    size_t k = n;
    uint32_t v = 0, power = 1, digit;   /* both wrap where there are more digits than count */
    for (; k > 0 && (digit = (uint32_t)(uint8_t)s[k - 1] - '0') <= 9; k--, power *= 10) v += digit * power;
    if (k == 0 || k == n || n - k > 9 || (s[k] == '0' && n - k > 1)) return 0;
    *number = v;
    return k;
}

/* The innermost of a prefix's ranges that has that number. */
static const cji_binding *scope_range(const cji_parser *p, uint32_t bind, uint32_t number)
{
    while (bind && number >= p->bind[bind - 1].count) bind = p->bind[bind - 1].outer;
    return bind ? &p->bind[bind - 1] : NULL;
}

static const cji_binding *scope_search(cji_parser *p, const char *s, size_t n, uint32_t *word)
{
    uint32_t number = 0, id;
    size_t prefix = scope_split(s, n, &number);
    const cji_binding *range = NULL;
    if (prefix && (id = scope_id(p, s, prefix)) != CJI_MAP_NONE && p->name[id].range) {
        range = scope_range(p, p->name[id].range, number);
        if (range && !p->name[id].under) return *word = range->word + number, range;
    }
    id = scope_id(p, s, n);
    const cji_binding *own = id != CJI_MAP_NONE && p->name[id].bind ? &p->bind[p->name[id].bind - 1] : NULL;
    if (range && (!own || own->depth < range->depth)) return *word = range->word + number, range;
    if (own) *word = own->word;
    return own;
}

const cji_binding *cji_scope_find(cji_parser *p, const char *s, size_t n, uint32_t *word)
{
    if (n > SCOPE_SHORT) return scope_search(p, s, n, word);
    uint64_t bytes = scope_pack(s, n);
    cji_found *f = &p->found[scope_slot(bytes, n, CJI_FOUND_BITS)];
    if (f->bytes == bytes && f->n == n && f->bindings == p->bindings) return *word = f->word, &p->bind[f->bind];
    const cji_binding *b = scope_search(p, s, n, word);
    if (b) *f = (cji_found){ bytes, (uint32_t)n, p->bindings, *word, (uint32_t)(b - p->bind) };
    return b;
}

/* -- Scopes -------------------------------------------------------------------------------------------------------- */

bool cji_scope_open(cji_parser *p)
{
    if (p->nscope > SCOPE_DEPTH)
        return cji_parse_fail(p, CJ_EUNKNOWN, "braces that are nested more than %d deep", SCOPE_DEPTH);
    if (!cji_parse_grow(p, &p->scope, &p->cscope, p->nscope + 1, sizeof *p->scope) ||
        !cji_parse_grow(p, &p->scope_line, &p->cscope_line, p->nscope + 1, sizeof *p->scope_line))
        return false;
    p->scope[p->nscope] = 0;
    p->scope_line[p->nscope++] = p->x.tok_line;
    return true;
}

/* Undoes one binding of the innermost scope, or hands a pending label on to the next. */
static bool scope_drop(cji_parser *p, uint32_t at)
{
    cji_binding *b = &p->bind[at];
    uint32_t depth = (uint32_t)p->nscope - 1;
    if (b->pending && depth <= 1) {
        p->line = b->line;
        return cji_parse_fail(p, CJ_EPTX,
                              "there is no label '%s' in this function, or only in a block that this line is not in",
                              cji_short_n(p->names.entry[b->name].key, p->names.entry[b->name].len));
    }
    if (b->pending) {
        b->depth--;
        b->next = p->scope[depth - 1];
        p->scope[depth - 1] = at + 1;
    } else if (b->kind == CJI_BIND_RANGE) {
        p->name[b->name].range = b->outer;
        p->bindings++;
    } else {
        p->name[b->name].bind = b->outer;
        scope_changes(p, b->name);
    }
    return true;
}

bool cji_scope_close(cji_parser *p)
{
    uint32_t at = p->scope[p->nscope - 1];
    bool fine = true;
    while (at && fine) {
        uint32_t next = p->bind[at - 1].next;
        fine = scope_drop(p, at - 1);
        at = next;
    }
    p->nscope--;
    return fine;
}

static cji_binding *scope_bind(cji_parser *p, uint32_t name, uint8_t kind, uint32_t word, uint32_t count)
{
    if (!cji_parse_grow(p, &p->bind, &p->cbind, p->nbind + 1, sizeof *p->bind)) return NULL;
    uint32_t *place = kind == CJI_BIND_RANGE ? &p->name[name].range : &p->name[name].bind;
    uint32_t depth = (uint32_t)p->nscope - 1;
    cji_binding *b = &p->bind[p->nbind++];
    *b = (cji_binding){ .word = word, .count = count, .line = p->x.tok_line, .name = name, .outer = *place,
                        .next = p->scope[depth], .depth = (uint16_t)depth, .kind = kind };
    *place = p->scope[depth] = (uint32_t)p->nbind;
    if (kind == CJI_BIND_RANGE) p->bindings++;
    else scope_changes(p, name);
    return b;
}

static bool scope_twice(cji_parser *p, const char *s, size_t n, uint32_t bind)
{
    const cji_binding *b = bind ? &p->bind[bind - 1] : NULL;
    if (!b || b->depth != p->nscope - 1) return false;
    cji_parse_fail(p, CJ_EPTX, "'%s' is declared twice in one scope; first at line %u", cji_short_n(s, n), b->line);
    return true;
}

bool cji_scope_free(cji_parser *p, const char *s, size_t n)
{
    uint32_t id = cji_map_find(&p->names, s, n);
    return id == CJI_MAP_NONE || !scope_twice(p, s, n, p->name[id].bind);
}

bool cji_scope_declare(cji_parser *p, const char *s, size_t n, uint8_t kind, uint32_t word, uint32_t count)
{
    uint32_t id = scope_intern(p, s, n), number = 0, under = CJI_MAP_NONE;
    if (id == CJI_MAP_NONE) return false;
    size_t prefix = kind == CJI_BIND_RANGE ? 0 : scope_split(s, n, &number);
    if (scope_twice(p, s, n, kind == CJI_BIND_RANGE ? p->name[id].range : p->name[id].bind)) return false;
    if (prefix) {
        under = scope_intern(p, s, prefix);
        if (under == CJI_MAP_NONE) return false;
        uint32_t range = p->name[under].range;
        if (range && number < p->bind[range - 1].count && scope_twice(p, s, n, range)) return false;
        p->name[under].under++;
    }
    return scope_bind(p, id, kind, word, count) != NULL;
}

/* -- Labels -------------------------------------------------------------------------------------------------------- */

/* The name's binding when it is a label. */
static cji_binding *scope_as_label(cji_parser *p, uint32_t id)
{
    cji_binding *b = p->name[id].bind ? &p->bind[p->name[id].bind - 1] : NULL;
    return b && b->kind == CJI_BIND_WORD && cji_word_kind(b->word) == CJI_K_LABEL ? b : NULL;
}

/* A new label of that name in the innermost scope. */
static cji_binding *scope_new_label(cji_parser *p, uint32_t id, const char *s, size_t n)
{
    size_t len = 0;
    if (scope_twice(p, s, n, p->name[id].bind)) return NULL;
    const char *name = cji_scope_unique(p, s, n, &len);
    uint32_t word = name ? cji_fn_label(p->f, name, len) : 0;
    if (!word) return cji_parse_fine(p), NULL;
    return scope_bind(p, id, CJI_BIND_WORD, word, 0);
}

uint32_t cji_scope_label(cji_parser *p, const char *s, size_t n)
{
    uint32_t id = scope_intern(p, s, n);
    if (id == CJI_MAP_NONE) return 0;
    cji_binding *b = scope_as_label(p, id);
    if (b) return b->word;
    b = scope_new_label(p, id, s, n);
    if (!b) return 0;
    b->pending = 1;
    return b->word;
}

bool cji_scope_bind_label(cji_parser *p, const char *s, size_t n)
{
    uint32_t id = scope_intern(p, s, n);
    if (id == CJI_MAP_NONE) return false;
    cji_binding *b = scope_as_label(p, id);
    if (!b || b->depth != p->nscope - 1 || !b->pending) b = scope_new_label(p, id, s, n);
    if (!b) return false;
    b->pending = 0;
    cji_fn_bind(p->f, b->word);
    return cji_parse_fine(p);
}
