/* isagen: a row's spelling. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "isagen.h"

static const struct { const char *name; unsigned bit;
} effects[] = {
    { "PURE", 0 },  { "READ", 1 },      { "WRITE", 2 },       { "RW", 3 },      { "ATOMIC", 4 },
    { "ORDER", 8 }, { "SYNC", 16 },     { "ASYNC", 32 },      { "BRANCH", 64 }, { "CALL", 128 },
    { "END", 256 }, { "ALIGNED", 512 }, { "VOLATILE", 1024 },
    { "PARTIAL", 2048 },
};

static unsigned effect_mask(const gen_entry *e, char *text)
{
    unsigned m = 0;
    for (char *w = strtok(text, "| "); w; w = strtok(NULL, "| ")) {
        size_t i = 0;
        while (i < sizeof effects / sizeof *effects && strcmp(effects[i].name, w)) i++;
        if (i == sizeof effects / sizeof *effects) gen_error(e->file, e->line, "no effect '%s'", w);
        else m |= effects[i].bit;
    }
    return m;
}

static int slot_named(const gen_row *r, const char *name)
{
    for (int i = 0; i < r->nslot; i++)
        if (!strcmp(r->slot[i].name, name)) return i;
    return -1;
}

/* One word of the spelling, "add", "<RND>", "m64n<N:N8>k16": a piece. */
static void word_piece(const gen_entry *e, gen_row *r, const char *word, bool optional, const char *needs)
{
    if (r->npiece == 32) { gen_error(e->file, e->line, "more than 32 words"); return; }
    gen_piece *p = &r->piece[r->npiece++];
    if (strlen(word) > 47 && !strchr(word, '<')) {
        gen_error(e->file, e->line, "a word is longer than 47 characters: %.20s...", word);
        return;
    }
    const char *open = strchr(word, '<'), *close = open ? strchr(open, '>') : NULL;
    p->slot = -1;
    if (!open && !optional) {
        snprintf(p->word, sizeof p->word, "%.47s", word);
        return;
    }
    gen_slot slot = { .optional = optional };
    gen_value one[1] = { { .num = -1, .cls = -1 } };
    const gen_value *from = one;
    int n = 1;
    char prefix[48] = "", suffix[48] = "";
    if (open) {
        char inner[512], name[48];
        snprintf(inner, sizeof inner, "%.*s", (int)(close ? close - open - 1 : 0), open + 1);
        snprintf(prefix, sizeof prefix, "%.*s", open - word < 40 ? (int)(open - word) : 40, word);
        snprintf(suffix, sizeof suffix, "%.40s", close ? close + 1 : "");
        char *colon = inner;
        while (isalnum((unsigned char)*colon) || *colon == '_') colon++;
        const char *spec = inner;
        if (*colon == ':' && colon[1] != ':') {
            *colon = 0;
            snprintf(name, sizeof name, "%.47s", inner);
            spec = colon + 1;
        } else snprintf(name, sizeof name, "%.47s", inner);
        int again = slot_named(r, name);
        if (again >= 0 && spec == inner) { p->slot = again; p->again = true; return; }
        if (again >= 0) gen_error(e->file, e->line, "slot %s is there twice", name);
        strcpy(slot.name, name);
        const gen_set *set = gen_set_find(spec, strlen(spec));
        if (set) { from = set->value; n = set->n; }
        else if (strchr(spec, ' ') || (spec != inner && !isupper((unsigned char)*spec))) from = gen_values(e, spec, &n);
        else { gen_error(e->file, e->line, "no SET '%s'", spec); return; }
    } else {
        snprintf(slot.name, sizeof slot.name, "%.47s", word);
        if (slot_named(r, word) >= 0) gen_error(e->file, e->line, "modifier %s is there twice", word);
        snprintf(one->word, sizeof one->word, "%.47s", word);
        one->space = gen_space(word);
    }
    if (r->nslot == CJI_ISA_SLOTS) { gen_error(e->file, e->line, "more than %d slots", CJI_ISA_SLOTS); return; }
    slot.value = gen_alloc((size_t)n * sizeof *slot.value);
    slot.n = n;
    int version = 0, tset = 0;
    if (needs && !gen_needs(e, needs, &version, &tset)) return;
    for (int i = 0; i < n; i++) {
        gen_value *v = &slot.value[i];
        *v = from[i];
        char joined[192];
        snprintf(joined, sizeof joined, "%s%s%s", prefix, from[i].word, suffix);
        snprintf(v->word, sizeof v->word, "%.47s", joined);
        if (!needs) continue;
        if (v->version < version) v->version = version;
        uint64_t m = gen_tsets[v->tset].members & gen_tsets[tset].members;
        int k = 0;
        while (k < n_gen_tsets && gen_tsets[k].members != m) k++;
        if (k == n_gen_tsets) { gen_tsets[n_gen_tsets].members = m; strcpy(gen_tsets[n_gen_tsets++].name, "&"); }
        v->tset = k;
    }
    p->slot = r->nslot;
    r->slot[r->nslot++] = slot;
}

/* "mul.<lo hi>|{.ftz}{.sat@7.0,80}.f32": words between points; a word in braces may be left out and may have needs.
 * '|' ends the instruction's name. */
static bool spelling(const gen_entry *e, gen_row *r, const char *s)
{
    while (*s) {
        if (*s == '|') {
            if (r->nname || !r->npiece) {
                gen_error(e->file, e->line, "spelling: a name ends once: '%s'", s);
                return false;
            }
            r->nname = r->npiece;
            s++;
            continue;
        }
        bool optional = *s == '{';
        if (optional) s++;
        if (*s == '.') s++;
        else if (r->npiece || optional) {
            gen_error(e->file, e->line, "spelling: expected '.' at '%s'", s);
            return false;
        }
        char word[512], needs[32];
        size_t n = 0;
        bool inside = false, has_needs = false;
        while (*s && (inside || !strchr(".{}@|", *s)) && n + 1 < sizeof word) {
            if (*s == '<') inside = true;
            if (*s == '>') inside = false;
            word[n++] = *s++;
        }
        word[n] = 0;
        if (*s == '@') {
            if (!optional) {
                gen_error(e->file, e->line, "spelling: only a modifier in braces has needs: '%s'", s);
                return false;
            }
            size_t k = strcspn(s + 1, "}");
            snprintf(needs, sizeof needs, "%.*s", (int)(k < 30 ? k : 30), s + 1);
            has_needs = true;
            s += 1 + k;
        }
        if (!n || inside) { gen_error(e->file, e->line, "spelling: an empty or open word at '%s'", s); return false; }
        if (optional) {
            if (*s != '}') { gen_error(e->file, e->line, "spelling: braces hold one modifier: '%s'", s); return false; }
            s++;
        }
        word_piece(e, r, word, optional, has_needs ? needs : NULL);
    }
    return true;
}

/* The op column must be the spelling's leading words, joined by '_' ('::' as '__'). */
static void check_op(const gen_entry *e, gen_row *r)
{
    char joined[64] = "";
    for (int i = 0; i < r->npiece && r->piece[i].slot < 0; i++) {
        size_t n = strlen(joined);
        if (i) joined[n++] = '_';
        for (const char *w = r->piece[i].word; *w && n + 1 < sizeof joined; w++)
            joined[n++] = *w == ':' ? '_' : (char)toupper((unsigned char)*w);
        joined[n] = 0;
        if (!strcmp(joined, r->op)) { r->nop = i + 1; return; }
    }
    gen_error(e->file, e->line, "op %s is not how '%s' begins", r->op, e->arg[2]);
}

void gen_entry_row(const gen_entry *e)
{
    if (strcmp(e->name, "I")) {
        gen_error(e->file, e->line, "no entry '%s': I, SET, CLASS, ORDER, SREG, TARGET or TSET", e->name);
        return;
    }
    if (e->argc != 7 && e->argc != 9) {
        gen_error(
            e->file, e->line,
            "a row wants op, section, spelling, operands, version, targets, effect (and perhaps an end, or a later "
            "beginning: version, targets); has %d",
            e->argc);
        return;
    }
    if (n_gen_rows == GEN_MAX_ROWS) { gen_error(e->file, e->line, "too many rows"); return; }
    gen_row *r = gen_alloc(sizeof *r);
    int errors = gen_errors;
    r->file = e->file;
    r->line = e->line;
    snprintf(r->op, sizeof r->op, "%s", e->arg[0]);
    snprintf(r->section, sizeof r->section, "%s", e->arg[1]);
    if (strncmp(r->section, "9.7.", 4))
        gen_error(e->file, e->line, "'%s' is no section of the manual's chapter 9.7", r->section);
    r->version = gen_version(e, e->arg[4]);
    r->tset = gen_tset_find(e, e->arg[5]);
    r->effect = effect_mask(e, e->arg[6]);
    if (e->argc == 9 && !strncmp(e->arg[7], ">=", 2)) {
        r->late_version = gen_version(e, e->arg[7] + 2);
        r->late_tset = gen_tset_find(e, e->arg[8]);
    } else if (e->argc == 9) {
        r->end_version = gen_version(e, e->arg[7]);
        r->end_tset = gen_tset_find(e, e->arg[8]);
    }
    if (!spelling(e, r, e->arg[2])) return;
    check_op(e, r);
    if (!r->nname) r->nname = r->nop;
    if (!gen_places(e, r, e->arg[3])) return;
    r->forms = 1;
    for (int i = 0; i < r->nslot; i++) r->forms *= (unsigned)r->slot[i].n + r->slot[i].optional;
    if (r->forms > 20000000)
        gen_error(e->file, e->line, "%llu forms in one row: split it", (unsigned long long)r->forms);
    if (errors == gen_errors) gen_rows[n_gen_rows++] = r;
}
