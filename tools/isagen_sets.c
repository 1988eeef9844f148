/* isagen: targets, target sets, register classes, value sets and special registers. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "isagen.h"

static const char *const type_words[] = {
    "void",
#define TY(id, word, bits, cls, prefix) word,
#include "ptx/types.def"
};
static const char *const type_ids[] = {
    "CJ_VOID",
#define TY(id, word, bits, cls, prefix) #id,
#include "ptx/types.def"
};
enum { TYPES = sizeof type_words / sizeof *type_words };

static int type_find(const char *word, size_t n)
{
    for (int i = 0; i < TYPES; i++)
        if (strlen(type_words[i]) == n && !memcmp(type_words[i], word, n)) return i;
    return -1;
}

int gen_version(const gen_entry *e, const char *text)
{
    if (!(isdigit((unsigned char)text[0]) && text[1] == '.' && isdigit((unsigned char)text[2]) && !text[3])) {
        gen_error(e->file, e->line, "'%s' is no PTX version: wants one digit, a point, one digit", text);
        return 20;
    }
    return (text[0] - '0') * 10 + text[2] - '0';
}

static int tset_intern(uint64_t members, const char *name)
{
    for (int i = 0; i < n_gen_tsets; i++)
        if (gen_tsets[i].members == members) return i;
    if (n_gen_tsets == 255) { gen_error("", 0, "more than 255 target sets"); return 0; }
    gen_tsets[n_gen_tsets].members = members;
    snprintf(gen_tsets[n_gen_tsets].name, sizeof gen_tsets[0].name, "%s", name);
    return n_gen_tsets++;
}

/* "90" is sm_90 and every later one; "90a" that one; any other name a TSET. */
int gen_tset_find(const gen_entry *e, const char *name)
{
    for (int i = 0; i < n_gen_tsets; i++)
        if (!strcmp(gen_tsets[i].name, name)) return i;
    uint64_t m = 0;
    int number = atoi(name);
    bool plus = isdigit((unsigned char)name[strlen(name) - 1]) && number;
    for (int i = 0; i < n_gen_targets; i++)
        if (plus ? gen_targets[i].number >= number : !strcmp(gen_targets[i].name + 3, name)) m |= (uint64_t)1 << i;
    if (!m) {
        gen_error(e->file, e->line, "no target set '%s': a number, a target, or a TSET of targets.def", name);
        return 0;
    }
    return tset_intern(m, name);
}

bool gen_needs(const gen_entry *e, const char *text, int *version, int *tset)
{
    char v[16], t[32];
    const char *comma = strchr(text, ',');
    if (!comma || comma - text > 8 || strlen(comma) > 24) {
        gen_error(e->file, e->line, "'@%s' wants @version,target", text);
        return false;
    }
    memcpy(v, text, (size_t)(comma - text));
    v[comma - text] = 0;
    strcpy(t, comma + 1);
    *version = gen_version(e, v);
    *tset = gen_tset_find(e, t);
    return true;
}

void gen_close_tsets(void)
{
    for (int grown = 1; grown;) {
        grown = 0;
        for (int i = 0; i < n_gen_tsets; i++)
            for (int j = 0; j < i; j++) {
                int before = n_gen_tsets;
                tset_intern(gen_tsets[i].members & gen_tsets[j].members, "&");
                grown |= n_gen_tsets != before;
            }
    }
}

static bool row_has_word(const gen_row *r, const char *word, size_t n)
{
    for (int k = 0; k < r->npiece; k++)
        if (r->piece[k].slot < 0 && strlen(r->piece[k].word) == n && !memcmp(r->piece[k].word, word, n)) return true;
    for (int k = 0; k < r->nslot; k++)
        for (int v = 0; v < r->slot[k].n; v++)
            if (strlen(r->slot[k].value[v].word) == n && !memcmp(r->slot[k].value[v].word, word, n)) return true;
    return false;
}

static void unused_order(const gen_order *o)
{
    const char *s = o->words;
    for (size_t n = 0; gen_next_word(&s, &n);) {
        int i = 0;
        while (i < n_gen_rows && !row_has_word(gen_rows[i], s, n)) i++;
        if (i == n_gen_rows) gen_error(o->from->file, o->from->line, "ORDER: no row has '%.*s'", (int)n, s);
    }
}

void gen_unused(void)
{
    for (int i = 0; i < n_gen_classes; i++)
        if (!gen_classes[i].used)
            gen_error(gen_classes[i].from->file, gen_classes[i].from->line, "CLASS %s is used nowhere",
                      gen_classes[i].name);
    for (int i = 0; i < n_gen_sets; i++)
        if (!gen_sets[i].used)
            gen_error(gen_sets[i].from->file, gen_sets[i].from->line, "SET %s is used nowhere", gen_sets[i].name);
    for (int i = 0; i < n_gen_orders; i++) unused_order(&gen_orders[i]);
}

static int class_named(const char *name, size_t len)
{
    for (int i = 0; i < n_gen_classes; i++)
        if (strlen(gen_classes[i].name) == len && !memcmp(gen_classes[i].name, name, len)) return i;
    return -1;
}

/* The registers wider than `bits` that a class of that letter takes: those of the same letter's classes for b, u and
 * s, else the untyped ones. */
static uint32_t wider_registers(char letter, int bits)
{
    uint32_t types = 0;
    for (int w = bits * 2; w <= 64; w *= 2) {
        char name[16];
        snprintf(name, sizeof name, "%c%d", letter, w);
        int c = letter == 'f' ? -1 : class_named(name, strlen(name));
        name[0] = 'b';
        types |= c >= 0 ? gen_classes[c].c.types : 1u << type_find(name, strlen(name));
    }
    return types;
}

/* NAME.cvt and NAME.wide, made from the class NAME; -1: no such name. */
static int class_derived(const char *name, size_t len)
{
    bool wide = len > 5 && !memcmp(name + len - 5, ".wide", 5), cvt = len > 4 && !memcmp(name + len - 4, ".cvt", 4);
    size_t base = len - (wide ? 5 : 4);
    if (len >= sizeof gen_classes->name || !(wide || cvt)) return -1;
    int bits = atoi(name + 1) * (memchr(name, 'x', base) ? 2 : 1),
        c = bits == 8 ? class_named("b8", 2) : class_named(name, base);
    if (c < 0 || n_gen_classes == (int)(sizeof gen_classes / sizeof *gen_classes)) return -1;
    gen_class *k = &gen_classes[n_gen_classes];
    *k = gen_classes[c];
    memcpy(k->name, name, len);
    k->name[len] = 0;
    if (bits == 8) {
        int t = type_find(name[0] == 's' ? "s32" : "u32", 3);
        k->c.type = (uint8_t)t;
        strcpy(k->type_id, type_ids[t]);
    }
    k->c.types |= wider_registers(name[0], bits) | (wide ? 1u << type_find("b128", 4) : 0);
    return n_gen_classes++;
}

int gen_class_find(const char *name, size_t len)
{
    int c = class_named(name, len);
    if (c < 0) c = class_derived(name, len);
    if (c >= 0) gen_classes[c].used = true;
    return c;
}

const gen_set *gen_set_find(const char *name, size_t len)
{
    for (int i = 0; i < n_gen_sets; i++)
        if (strlen(gen_sets[i].name) == len && !memcmp(gen_sets[i].name, name, len))
            return gen_sets[i].used = true, &gen_sets[i];
    return NULL;
}

int gen_space(const char *word)
{
    static const char *const names[] = { "", "reg", "sreg", "const", "global", "local", "param", "shared" };
    size_t n = strcspn(word, ":");
    for (int i = 1; i < 8; i++)
        if (strlen(names[i]) == n && !memcmp(names[i], word, n)) return i;
    return 0;
}

/* A list "word=num:class@version,target ..."; a word may hold '::'. */
gen_value *gen_values(const gen_entry *e, const char *spec, int *n)
{
    gen_value *all = gen_alloc(256 * sizeof *all);
    *n = 0;
    while (*spec) {
        while (*spec == ' ') spec++;
        if (!*spec) break;
        char item[128];
        size_t len = strcspn(spec, " ");
        if (len >= sizeof item || *n == 255) {
            gen_error(e->file, e->line, "a value or a list of values is too long");
            return all;
        }
        memcpy(item, spec, len);
        item[len] = 0;
        spec += len;
        gen_value *v = &all[(*n)++];
        v->num = -1;
        v->cls = -1;
        char *at = strchr(item, '@');
        if (at) { *at = 0; gen_needs(e, at + 1, &v->version, &v->tset); }
        char *colon = NULL;
        for (char *c = item; *c; c++) {
            if (c[0] == ':' && c[1] == ':') { c++; continue; }
            if (*c == ':') colon = c;
        }
        if (colon) {
            *colon = 0;
            v->cls = gen_class_find(colon + 1, strlen(colon + 1));
            if (v->cls < 0) gen_error(e->file, e->line, "no CLASS '%s'", colon + 1);
        }
        char *eq = strchr(item, '=');
        if (eq) { *eq = 0; v->num = atoi(eq + 1); }
        if (!item[0] || strlen(item) >= sizeof v->word) {
            gen_error(e->file, e->line, "a value has no word, or too long a one");
            continue;
        }
        strcpy(v->word, item);
        if (v->cls < 0) v->cls = gen_class_find(item, strlen(item));
        v->space = gen_space(item);
        for (int i = 0; i + 1 < *n; i++)
            if (!strcmp(all[i].word, item)) gen_error(e->file, e->line, "value '%s' is there twice", item);
    }
    if (!*n) gen_error(e->file, e->line, "a set without values");
    return all;
}

static void entry_target(const gen_entry *e)
{
    gen_target *t = &gen_targets[n_gen_targets++];
    snprintf(t->name, sizeof t->name, "%s", e->arg[0]);
    t->number = atoi(t->name + 3);
    char last = t->name[strlen(t->name) - 1];
    t->kind = last == 'a' || last == 'f' ? last : ' ';
    t->since = gen_version(e, e->arg[1]);
    t->line = e->line;
    if (strncmp(t->name, "sm_", 3) || !t->number) gen_error(e->file, e->line, "'%s' is no target name", t->name);
}

static void entry_tset(const gen_entry *e)
{
    uint64_t m = 0;
    char *save = e->arg[1];
    for (char *w = strtok(save, " "); w; w = strtok(NULL, " ")) {
        int lo, hi;
        uint64_t had = m;
        for (int i = 0; i < n_gen_targets; i++) {
            const gen_target *t = &gen_targets[i];
            if (sscanf(w, "%d..%d", &lo, &hi) == 2 ? t->number >= lo && t->number <= hi : !strcmp(t->name + 3, w))
                m |= (uint64_t)1 << i;
        }
        if (m == had) gen_error(e->file, e->line, "TSET %s: no target '%s'", e->arg[0], w);
    }
    tset_intern(m, e->arg[0]);
}

static void entry_class(const gen_entry *e)
{
    gen_class *c = &gen_classes[n_gen_classes];
    snprintf(c->name, sizeof c->name, "%s", e->arg[0]);
    int t = type_find(e->arg[1], strlen(e->arg[1]));
    if (t < 0) { gen_error(e->file, e->line, "CLASS %s: no type '%s'", c->name, e->arg[1]); return; }
    c->c.type = (uint8_t)t;
    c->from = e;
    strcpy(c->type_id, type_ids[t]);
    for (char *w = strtok(e->arg[2], " "); w; w = strtok(NULL, " ")) {
        t = type_find(w, strlen(w));
        if (t < 0) gen_error(e->file, e->line, "CLASS %s: no type '%s'", c->name, w);
        else c->c.types |= 1u << t;
    }
    for (char *w = strtok(e->arg[3], "|"); w; w = strtok(NULL, "|")) {
        if (!strcmp(w, "INT")) c->c.literal |= CJI_CLS_INT;
        else if (!strcmp(w, "F32")) c->c.literal |= CJI_CLS_F32;
        else if (!strcmp(w, "F64")) c->c.literal |= CJI_CLS_F64;
        else if (strcmp(w, "NONE")) gen_error(e->file, e->line, "CLASS %s: no kind of literal '%s'", c->name, w);
    }
    n_gen_classes++;
}

static void entry_sreg(const gen_entry *e)
{
    char base[40];
    int n = 0, lo = -1, hi = -1;
    snprintf(base, sizeof base, "%s", e->arg[0]);
    /* "%envreg<0..31>" is a row for each number */
    char *open = strchr(base, '<');
    char tail[16] = "";
    if (open) {
        if (sscanf(open, "<%d..%d>%15s", &lo, &hi, tail) < 2)
            gen_error(e->file, e->line, "'%s' wants <first..last>", base);
        *open = 0;
    } else lo = hi = 0;
    int t = type_find(e->arg[1], strlen(e->arg[1]));
    if (t < 0) { gen_error(e->file, e->line, "SREG %s: no type '%s'", base, e->arg[1]); return; }
    int version = gen_version(e, e->arg[2]), tset = gen_tset_find(e, e->arg[3]);
    bool vector = false, narrow = false;
    for (char *w = e->argc > 4 ? strtok(e->arg[4], "|") : NULL; w; w = strtok(NULL, "|")) {
        if (!strcmp(w, "VECTOR")) vector = true;
        else if (!strcmp(w, "MOV16")) narrow = true;
        else gen_error(e->file, e->line, "SREG %s: no flag '%s'", base, w);
    }
    for (int i = lo; i <= hi; i++)
        for (int k = vector ? -1 : 0; k < (vector ? 4 : 1); k++, n++) {
            gen_sreg *r = &gen_sregs[n_gen_sregs++];
            if (open) snprintf(r->name, sizeof r->name, "%.24s%d%s", base, i, tail);
            else if (vector && k >= 0) snprintf(r->name, sizeof r->name, "%.30s.%c", base, "xyzw"[k]);
            else strcpy(r->name, base);
            strcpy(r->type_id, type_ids[t]);
            r->version = version;
            r->tset = tset;
            r->vector = vector && k < 0 ? 4 : 0;
            r->least = narrow ? 16 : 255;
        }
}

/* The words of a text, one after another: true while *s has one more, which is s[0 .. *n). */
bool gen_next_word(const char **s, size_t *n)
{
    *s += *n;
    *s += strspn(*s, " ");
    *n = strcspn(*s, " ");
    return *n > 0;
}

int gen_order_of(const char *word)
{
    for (int i = 0; i < n_gen_orders; i++) {
        const char *s = gen_orders[i].words;
        for (size_t n = 0; gen_next_word(&s, &n);)
            if (strlen(word) == n && !memcmp(word, s, n)) return i + 1;
    }
    return 0;
}

static void entry_order(const gen_entry *e)
{
    const char *s = e->arg[0];
    if (n_gen_orders == (int)(sizeof gen_orders / sizeof *gen_orders)) {
        gen_error(e->file, e->line, "too many ORDER entries");
        return;
    }
    for (size_t n = 0; gen_next_word(&s, &n);) {
        char word[48];
        snprintf(word, sizeof word, "%.*s", (int)(n < 47 ? n : 47), s);
        if (gen_order_of(word)) gen_error(e->file, e->line, "'%s' is in another ORDER", word);
    }
    gen_orders[n_gen_orders++] = (gen_order){ e->arg[0], e };
}

void gen_entry_sets(const gen_entry *e)
{
    static const struct { const char *name; int least, most; void (*take)(const gen_entry *);
    } kinds[] = {
        { "TARGET", 2, 2, entry_target },
        { "TSET", 2, 2, entry_tset },
        { "CLASS", 4, 4, entry_class },
        { "SREG", 4, 5, entry_sreg },
        { "ORDER", 1, 1, entry_order },
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(e->name, kinds[i].name)) continue;
        if (e->argc < kinds[i].least || e->argc > kinds[i].most)
            gen_error(e->file, e->line, "%s wants %d arguments", e->name, kinds[i].least);
        else kinds[i].take(e);
        return;
    }
    if (strcmp(e->name, "SET")) { gen_entry_row(e); return; }
    if (e->argc != 2 && e->argc != 4) {
        gen_error(e->file, e->line, "SET wants name and values, and perhaps version and target");
        return;
    }
    if (gen_set_find(e->arg[0], strlen(e->arg[0]))) {
        gen_error(e->file, e->line, "SET %s is there twice", e->arg[0]);
        return;
    }
    gen_set *s = &gen_sets[n_gen_sets++];
    snprintf(s->name, sizeof s->name, "%s", e->arg[0]);
    s->from = e;
    s->value = gen_values(e, e->arg[1], &s->n);
    if (e->argc == 4) {
        int version = gen_version(e, e->arg[2]), tset = gen_tset_find(e, e->arg[3]);
        for (int i = 0; i < s->n; i++) {
            if (s->value[i].version < version) s->value[i].version = version;
            uint64_t m = gen_tsets[s->value[i].tset].members & gen_tsets[tset].members;
            s->value[i].tset = tset_intern(m, "&");
        }
    }
}
