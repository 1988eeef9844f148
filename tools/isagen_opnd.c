/* isagen: a row's operand list.
 *
 *   place   := flags core [ '|' flags class [ '?' [ '@' needs ] ] ] [ '?' [ '!' ] [ modifier ] ] [ '@' needs ]
 *   flags   := any of  = written  + read and written  % register only  $ or a special register
 *              & or a symbol's address  ! may be negated  _ result may be dropped
 *              ~ a vector of one means its element
 *              &(S) of a symbol in that slot's state space, or in the state space S
 *   core    := class [ '(' lo/hi [ /step ] ')' ] | lo/hi [ /step ] | { class * count } | [ space ]
 *              | [ base , { class * count ... } ] | label | fn | (sig) | targets
 *              | nothing at all behind the flag _: the result is always dropped
 *   class   := a CLASS, or a slot whose value has one          count := number, slot, slot/number
 *
 * A slot in front of the * stands for its value's class, behind it for its value's number: "{C*C}" is a vector by both.
 * A step of 255 stands for powers of two ("4/16x2").
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "isagen.h"

static const gen_entry *at;
static gen_row *row;

static bool fail(const char *what, const char *where)
{
    gen_error(at->file, at->line, "operands: %s at '%.30s'", what, where);
    return false;
}

static int slot_of(const char *name, size_t n)
{
    for (int i = 0; i < row->nslot; i++)
        if (strlen(row->slot[i].name) == n && !memcmp(row->slot[i].name, name, n)) return i;
    return -1;
}

static bool take_flags(const char **s, unsigned *flags)
{
    for (;; ++*s) {
        switch (**s) {
        case '=': *flags = (*flags & ~(unsigned)CJI_OF_READ) | CJI_OF_WRITE; break;
        case '+': *flags |= CJI_OF_READ | CJI_OF_WRITE; break;
        case '%': *flags |= CJI_OF_REGONLY; break;
        case '$': *flags |= CJI_OF_SREG; break;
        case '&': *flags |= CJI_OF_SYM; break;
        case '!': *flags |= CJI_OF_NOT; break;
        case '_': *flags |= CJI_OF_SINK; break;
        case '~': *flags |= CJI_OF_ONE; break;
        default: return true;
        }
    }
}

static size_t name_len(const char *s)
{
    size_t n = 0;
    while (isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] == '.' || s[n] == '+' || s[n] == '~') n++;
    return n;
}

static bool take_class(const char **s, uint8_t *cls, uint8_t *slot)
{
    size_t n = name_len(*s);
    int k = slot_of(*s, n);
    *slot = CJI_ISA_ANY;
    *cls = 0;
    if (k >= 0) {
        for (int i = 0; i < row->slot[k].n; i++)
            if (row->slot[k].value[i].cls < 0) return fail("the slot has a value without a class", *s);
        *slot = (uint8_t)k;
    } else {
        int c = gen_class_find(*s, n);
        if (c < 0) return fail("no class and no slot", *s);
        *cls = (uint8_t)c;
    }
    *s += n;
    return true;
}

static bool take_count(const char **s, uint8_t *count, uint8_t *slot, uint8_t *div)
{
    *slot = CJI_ISA_ANY;
    *count = 1;
    if (div) *div = 1;
    if (**s != '*') return true;
    ++*s;
    if (isdigit((unsigned char)**s)) {
        size_t n = name_len(*s);
        int k = slot_of(*s, n);
        if (k < 0) { *count = (uint8_t)strtol(*s, (char **)(uintptr_t)s, 10); return true; }
    }
    size_t n = name_len(*s);
    int k = slot_of(*s, n);
    if (k < 0) return fail("no slot", *s);
    for (int i = 0; i < row->slot[k].n; i++)
        if (row->slot[k].value[i].num < 0) return fail("the slot has a value without a number", *s);
    *slot = (uint8_t)k;
    *s += n;
    if (**s == '/' && div) { ++*s; *div = (uint8_t)strtol(*s, (char **)(uintptr_t)s, 10); }
    return true;
}

static bool take_range(const char **s, uint8_t *range)
{
    cji_isa_range r = { .step = 1 };
    char *end;
    r.lo = strtoll(*s, &end, 0);
    if (*end != '/') return fail("expected lo/hi", *s);
    r.hi = strtoll(end + 1, &end, 0);
    if (*end == '/') r.step = (uint8_t)strtol(end + 1, &end, 0);
    else if (end[0] == 'x' && end[1] == '2') { r.step = 255; end += 2; }
    *s = end;
    if (!n_gen_ranges) n_gen_ranges = 1;
    int i = 1;
    while (i < n_gen_ranges && (gen_ranges[i].lo != r.lo || gen_ranges[i].hi != r.hi || gen_ranges[i].step != r.step))
        i++;
    if (i == 256) return fail("too many ranges", *s);
    if (i == n_gen_ranges) gen_ranges[n_gen_ranges++] = r;
    *range = (uint8_t)i;
    return true;
}

static bool take_memory(const char **s, cji_isa_place *p)
{
    ++*s;
    p->shape = CJI_SH_MEM;
    p->space_slot = CJI_ISA_ANY;
    const char *comma = strchr(*s, ','), *end = strchr(*s, ']');
    if (!end) return fail("no ']'", *s);
    if (!comma || comma > end) {
        size_t n = (size_t)(end - *s);
        int k = n ? slot_of(*s, n) : -1;
        if (k >= 0) p->space_slot = (uint8_t)k;
        else if (n) {
            char word[32];
            snprintf(word, sizeof word, "%.*s", (int)n, *s);
            p->space = (uint8_t)gen_space(word);
            if (!strcmp(word, "tmem")) p->flags |= CJI_OF_TMEM;
            else if (!strcmp(word, "any")) p->flags |= CJI_OF_ANY;
            else if (!p->space && strcmp(word, "generic")) return fail("no state space and no slot", *s);
        }
        *s = end + 1;
        return true;
    }
    p->shape = CJI_SH_TEXMEM;
    *s = comma + 1;
    while (**s == ' ') ++*s;
    if (**s != '{') return fail("expected '{' of the coordinates", *s);
    ++*s;
    if (!take_class(s, &p->cls, &p->cls_slot) || !take_count(s, &p->count, &p->count_slot, &p->count_div)) return false;
    if (**s == ' ') { /* what came first leads */
        if (p->count_slot != CJI_ISA_ANY && p->count_div != 1) return fail("a leading count is a number or a slot", *s);
        p->cls2 = p->cls, p->cls2_slot = p->cls_slot, p->count2 = p->count, p->count2_slot = p->count_slot;
        ++*s;
        if (!take_class(s, &p->cls, &p->cls_slot) || !take_count(s, &p->count, &p->count_slot, &p->count_div))
            return false;
    }
    if (s[0][0] != '}' || s[0][1] != ']') return fail("expected '}]'", *s);
    *s += 2;
    return true;
}

static bool take_core(const char **s, cji_isa_place *p, unsigned *flags)
{
    static const struct { const char *word; int shape; } fixed[] = {
        { "label", CJI_SH_LABEL }, { "fn", CJI_SH_FUNC }, { "(sig)", CJI_SH_LIST }, { "targets", CJI_SH_TARGETS },
    };
    for (size_t i = 0; i < 4; i++) {
        size_t n = strlen(fixed[i].word);
        if (strncmp(*s, fixed[i].word, n) || isalnum((unsigned char)(*s)[n])) continue;
        p->shape = (uint8_t)fixed[i].shape;
        *s += n;
        return true;
    }
    if (!**s && *flags & CJI_OF_SINK) {
        p->shape = CJI_SH_SINK;
        *flags |= CJI_OF_WRITE;
        *flags &= ~(unsigned)CJI_OF_READ;
        return true;
    }
    if (**s == '[') { bool ok = take_memory(s, p); *flags |= p->flags; return ok; }
    if (**s == '{') {
        ++*s;
        p->shape = CJI_SH_VEC;
        take_flags(s, flags);
        if (!take_class(s, &p->cls, &p->cls_slot) || !take_count(s, &p->count, &p->count_slot, &p->count_div))
            return false;
        if (**s != '}') return fail("expected '}'", *s);
        ++*s;
        return true;
    }
    if (isdigit((unsigned char)**s) || **s == '-') { p->shape = CJI_SH_IMM; return take_range(s, &p->range); }
    if (!take_class(s, &p->cls, &p->cls_slot)) return false;
    if (**s == '(') {
        ++*s;
        if (!take_range(s, &p->range)) return false;
        if (**s != ')') return fail("expected ')'", *s);
        ++*s;
    }
    return true;
}

static bool take_needs(const char **s, uint8_t *version, uint8_t *targets)
{
    char text[32];
    size_t n = strcspn(*s + 1, " ?|");
    snprintf(text, sizeof text, "%.*s", (int)(n < 30 ? n : 30), *s + 1);
    int v = 0, t = 0;
    if (!gen_needs(at, text, &v, &t)) return false;
    *version = (uint8_t)v;
    *targets = (uint8_t)t;
    *s += 1 + n;
    return true;
}

static bool take_place(const char *s, cji_isa_place *p)
{
    unsigned flags = CJI_OF_READ;
    *p = (cji_isa_place){ .cls_slot = CJI_ISA_ANY,
                          .count = 0,
                          .count_slot = CJI_ISA_ANY,
                          .count_div = 1,
                          .cls2_slot = CJI_ISA_ANY,
                          .count2_slot = CJI_ISA_ANY,
                          .space_slot = CJI_ISA_ANY,
                          .when = CJI_ISA_ANY,
                          .unless = CJI_ISA_ANY };
    take_flags(&s, &flags);
    if (flags & CJI_OF_SYM && *s == '(') { /* "&(S)u64": a symbol of that state space */
        size_t n = strcspn(s + 1, ")");
        int k = slot_of(s + 1, n);
        char word[32];
        snprintf(word, sizeof word, "%.*s", (int)(n < 31 ? n : 31), s + 1);
        if (k >= 0) p->space_slot = (uint8_t)k;
        else if (!(p->space = (uint8_t)gen_space(word))) return fail("no state space and no slot", s);
        s += n + 2;
    }
    if (!take_core(&s, p, &flags)) return false;
    if (*s == '|') {
        unsigned second = 0;
        uint8_t slot;
        s++;
        take_flags(&s, &second);
        if (!take_class(&s, &p->pair_cls, &slot)) return false;
        flags |= CJI_OF_PAIR;
        if (second & CJI_OF_SINK) flags |= CJI_OF_SINK2;
        if (*s == '?' && !isalpha((unsigned char)s[1])) s++;
        else flags |= CJI_OF_PAIRONLY;
        if (*s == '@' && !take_needs(&s, &p->pair_version, &p->pair_targets)) return false;
    }
    if (*s == '?') {
        s++;
        bool unless = *s == '!';
        if (unless) s++;
        size_t n = strcspn(s, "@ ");
        if (!n) flags |= CJI_OF_OPTIONAL;
        else {
            int k = slot_of(s, n);
            if (k < 0) return fail("no modifier", s);
            *(unless ? &p->unless : &p->when) = (uint8_t)k;
        }
        s += n;
    }
    if (*s == '@' && !take_needs(&s, &p->version, &p->targets)) return false;
    if (*s) return fail("what is left over", s);
    if (flags & CJI_OF_WRITE) flags |= CJI_OF_REGONLY;
    p->flags = (uint16_t)flags;
    return true;
}

bool gen_places(const gen_entry *e, gen_row *r, const char *text)
{
    at = e;
    row = r;
    while (*text) {
        while (*text == ' ') text++;
        char one[256];
        size_t n = 0;
        int depth = 0;
        for (; *text && !(*text == ',' && !depth); text++) {
            if (*text == '@') { /* the needs' own comma */
                while (*text && *text != ',' && n + 1 < sizeof one) one[n++] = *text++;
                if (*text && n + 1 < sizeof one) one[n++] = *text++;
                while (isalnum((unsigned char)*text) && n + 1 < sizeof one) one[n++] = *text++;
                text--;
                continue;
            }
            depth +=
                (*text == '{') + (*text == '[') + (*text == '(') - (*text == '}') - (*text == ']') - (*text == ')');
            if (n + 1 < sizeof one) one[n++] = *text;
        }
        if (*text == ',') text++;
        while (n && one[n - 1] == ' ') n--;
        one[n] = 0;
        if (!n) return fail("an empty operand", text);
        if (r->nplace == 12) return fail("more than 12 operands", text);
        if (!take_place(one, &r->place[r->nplace++])) return false;
    }
    return true;
}
