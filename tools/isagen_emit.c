/* isagen: writing isa_data.c and isa_ids.h. */
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "isagen.h"

static char *words[4096];
static int word_total;
static uint64_t content = 14695981039346656037u;
static FILE *out;

static void put(const char *fmt, ...)
#if defined __GNUC__
    __attribute__((format(printf, 1, 2)))
#endif
    ;
static void put(const char *fmt, ...)
{
    char text[8192];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    for (int i = 0; i < n; i++) content = (content ^ (unsigned char)text[i]) * 1099511628211u;
    fwrite(text, 1, (size_t)n, out);
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void word_add(const char *w)
{
    for (int i = 0; i < word_total; i++) if (!strcmp(words[i], w)) return;
    if (word_total == 4096) { gen_error("", 0, "more than 4096 words"); return; }
    words[word_total] = gen_alloc(strlen(w) + 1);
    strcpy(words[word_total++], w);
}

static int word_find(const char *w)
{
    char **p = bsearch(&w, words, (size_t)word_total, sizeof *words, by_text);
    return (int)(p - words);
}

static void collect_words(void)
{
    for (int i = 0; i < n_gen_rows; i++) {
        const gen_row *r = gen_rows[i];
        for (int k = 0; k < r->npiece; k++) if (r->piece[k].slot < 0) word_add(r->piece[k].word);
        for (int k = 0; k < r->nslot; k++)
            for (int v = 0; v < r->slot[k].n; v++) word_add(r->slot[k].value[v].word);
    }
    qsort(words, (size_t)word_total, sizeof *words, by_text);
}

static void emit_words(void)
{
    put("const char cji_isa_text[] =\n");
    unsigned pos = 0;
    unsigned *starts = gen_alloc(((size_t)word_total + 1) * sizeof *starts);
    for (int i = 0; i < word_total; i++) {
        put("%s\"%s\"%s", i % 10 ? " " : "    ", words[i], i % 10 == 9 || i + 1 == word_total ? "\n" : "");
        starts[i] = pos;
        pos += (unsigned)strlen(words[i]);
    }
    starts[word_total] = pos;
    put("    ;\nconst uint16_t cji_isa_word_at[] = {");
    for (int i = 0; i <= word_total; i++) put("%s%u,", i % 20 ? " " : "\n    ", starts[i]);
    unsigned size = 1;
    while (size < 2u * (unsigned)word_total) size *= 2;
    uint16_t *table = gen_alloc(size * sizeof *table);
    for (unsigned i = 0; i < size; i++) table[i] = 0xffff;
    for (int i = 0; i < word_total; i++) {
        unsigned h = cji_isa_word_fnv(words[i], (uint32_t)strlen(words[i])) & (size - 1);
        while (table[h] != 0xffff) h = (h + 1) & (size - 1);
        table[h] = (uint16_t)i;
    }
    put("\n};\nconst uint16_t cji_isa_word_count = %d, cji_isa_word_mask = %u;\nconst uint16_t cji_isa_word_hash[] = {",
        word_total, size - 1);
    for (unsigned i = 0; i < size; i++) put("%s%u,", i % 20 ? " " : "\n    ", table[i]);
    put("\n};\n");
    put("const uint8_t cji_isa_word_order[] = {");
    for (int i = 0; i < word_total; i++) put("%s%d,", i % 40 ? " " : "\n    ", gen_order_of(words[i]));
    put("\n};\n");
    put("const uint16_t cji_isa_lead[] = {");
    int n = 0;
    uint16_t *by = gen_alloc((size_t)n_gen_rows * sizeof *by + 2);
    for (int i = 0; i <= word_total; i++) {
        put("%s%d,", i % 20 ? " " : "\n    ", n);
        for (int r = 0; i < word_total && r < n_gen_rows; r++)
            if (!strcmp(gen_rows[r]->piece[0].word, words[i])) by[n++] = (uint16_t)r;
    }
    put("\n};\nconst uint16_t cji_isa_by_lead[] = {");
    for (int i = 0; i < n; i++) put("%s%u,", i % 20 ? " " : "\n    ", by[i]);
    put("\n};\n");
}

static void emit_sets(void)
{
    put("const uint64_t cji_isa_target_sets[] = {");
    for (int i = 0; i < n_gen_tsets; i++)
        put("%s0x%llx,", i % 8 ? " " : "\n    ", (unsigned long long)gen_tsets[i].members);
    put("\n};\nconst uint16_t cji_isa_target_set_count = %d;\nconst uint8_t cji_isa_target_meet[] = {", n_gen_tsets);
    for (int i = 0; i < n_gen_tsets; i++)
        for (int j = 0; j < n_gen_tsets; j++) {
            int k = 0;
            while (gen_tsets[k].members != (gen_tsets[i].members & gen_tsets[j].members)) k++;
            put("%s%d,", j % 32 ? " " : "\n    ", k);
        }
    put("\n};\nconst cji_isa_target cji_isa_target_names[] = {\n");
    for (int i = 0; i < n_gen_targets; i++)
        put("    { \"%s\", %d, %d, '%c' },\n", gen_targets[i].name, gen_targets[i].number, gen_targets[i].since,
            gen_targets[i].kind);
    put("};\nconst uint32_t cji_isa_target_total = %d;\n", n_gen_targets);
    put("const cji_isa_class cji_isa_classes[] = {\n");
    for (int i = 0; i < n_gen_classes; i++)
        put("    { 0x%x, %s, %d }, /* %s */\n", gen_classes[i].c.types, gen_classes[i].type_id,
            gen_classes[i].c.literal, gen_classes[i].name);
    put("};\nconst cji_isa_range cji_isa_ranges[] = {\n    { 1, 0, 1 },\n");
    for (int i = 1; i < n_gen_ranges; i++)
        put("    { INT64_C(%lld), INT64_C(%lld), %d },\n", (long long)gen_ranges[i].lo, (long long)gen_ranges[i].hi,
            gen_ranges[i].step);
    put("};\n");
}

/* Equal lists of values, pieces, slots are stored once. */
typedef struct pool { size_t item; unsigned char *data; unsigned n, cap; } pool;

static unsigned pool_put(pool *p, const void *items, unsigned n)
{
    for (unsigned i = 0; i + n <= p->n; i++)
        if (!memcmp(p->data + i * p->item, items, n * p->item)) return i;
    if (p->n + n > p->cap) {
        unsigned cap = (p->cap + n) * 2;
        unsigned char *d = gen_alloc(cap * p->item);
        if (p->n) memcpy(d, p->data, p->n * p->item);
        p->data = d;
        p->cap = cap;
    }
    memcpy(p->data + p->n * p->item, items, n * p->item);
    p->n += n;
    return (p->n) - n;
}

static void emit_rows(void)
{
    pool values = { .item = sizeof(cji_isa_value) }, slots = { .item = sizeof(cji_isa_slot) }, pieces = { .item = 2 },
         places = { .item = sizeof(cji_isa_place) };
    char sections[20000];
    unsigned nsec = 0, first = 0;
    char *body = gen_alloc((size_t)n_gen_rows * 200 + 200);
    size_t nb = 0;
    for (int i = 0; i < n_gen_rows; i++) {
        const gen_row *r = gen_rows[i];
        cji_isa_slot slot[CJI_ISA_SLOTS];
        uint16_t piece[32];
        memset(slot, 0, sizeof slot);
        for (int k = 0; k < r->nslot; k++) {
            cji_isa_value v[256];
            memset(v, 0, sizeof v);
            for (int j = 0; j < r->slot[k].n; j++) {
                const gen_value *g = &r->slot[k].value[j];
                v[j].word = (uint16_t)word_find(g->word);
                v[j].num = (uint16_t)(g->num < 0 ? 0 : g->num);
                v[j].cls = (uint8_t)(g->cls < 0 ? CJI_ISA_ANY : g->cls);
                v[j].space = (uint8_t)g->space;
                v[j].version = (uint8_t)g->version;
                v[j].targets = (uint8_t)g->tset;
            }
            slot[k].value = (uint16_t)pool_put(&values, v, (unsigned)r->slot[k].n);
            slot[k].count = (uint8_t)r->slot[k].n;
            slot[k].optional = r->slot[k].optional;
        }
        for (int k = 0; k < r->npiece; k++)
            piece[k] = (uint16_t)(r->piece[k].slot < 0
                                      ? word_find(r->piece[k].word)
                                      : r->piece[k].slot | (r->piece[k].again ? CJI_PIECE_AGAIN : CJI_PIECE_SLOT));
        unsigned sec = 0;
        while (sec < nsec && strcmp(sections + sec, r->section)) sec += (unsigned)strlen(sections + sec) + 1;
        if (sec == nsec) { strcpy(sections + nsec, r->section); nsec += (unsigned)strlen(r->section) + 1; }
        unsigned ps = pool_put(&pieces, piece, (unsigned)r->npiece), ss = pool_put(&slots, slot, (unsigned)r->nslot),
                 ls = pool_put(&places, r->place, (unsigned)r->nplace);
        nb +=
            (size_t)sprintf(body + nb,
                            "    { %uu, CJI_OP_%s, %u, %u, %u, %u, %u, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d },\n",
                            first,
                            r->op, ps, ss, ls, sec, r->effect, r->npiece, r->nslot, r->nplace, r->nop,
                            r->nname, r->version, r->tset, r->end_version, r->end_tset, r->late_version,
                            r->late_tset);
        first += (unsigned)r->forms;
    }
    put("const cji_isa_value cji_isa_values[] = {\n");
    const cji_isa_value *v = (const void *)values.data;
    for (unsigned i = 0; i < values.n; i++)
        put("%s{ %d, %d, %d, %d, %d, %d },%s", i % 4 ? " " : "    ", v[i].word, v[i].num, v[i].cls, v[i].space,
            v[i].version, v[i].targets, i % 4 == 3 || i + 1 == values.n ? "\n" : "");
    put("};\nconst cji_isa_slot cji_isa_slots[] = {\n");
    const cji_isa_slot *s = (const void *)slots.data;
    for (unsigned i = 0; i < slots.n; i++)
        put("%s{ %d, %d, %d },%s", i % 8 ? " " : "    ", s[i].value, s[i].count, s[i].optional,
            i % 8 == 7 || i + 1 == slots.n ? "\n" : "");
    put("};\nconst uint16_t cji_isa_pieces[] = {");
    const uint16_t *pc = (const void *)pieces.data;
    for (unsigned i = 0; i < pieces.n; i++) put("%s%u,", i % 20 ? " " : "\n    ", pc[i]);
    put("\n};\nconst cji_isa_place cji_isa_places[] = {\n");
    const cji_isa_place *p = (const void *)places.data;
    for (unsigned i = 0; i < places.n; i++)
        put("    { %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d },\n", p[i].flags,
            p[i].shape, p[i].cls, p[i].cls_slot, p[i].count, p[i].count_slot, p[i].count_div, p[i].cls2, p[i].cls2_slot,
            p[i].count2, p[i].count2_slot, p[i].space, p[i].space_slot, p[i].when, p[i].unless, p[i].version,
            p[i].targets, p[i].pair_version, p[i].pair_targets, p[i].pair_cls, p[i].range);
    put("};\nconst char cji_isa_sections[] =\n");
    for (unsigned i = 0, k = 0; i < nsec; i += (unsigned)strlen(sections + i) + 1, k++)
        put("%s\"%s\\0\"%s", k % 8 ? " " : "    ", sections + i, k % 8 == 7 ? "\n" : "");
    put("    ;\nconst cji_isa_row cji_isa_table[] = {\n");
    for (size_t i = 0; i < nb;) { /* in portions: put() has a buffer */
        size_t n = strcspn(body + i, "\n") + 1;
        put("%.*s", (int)n, body + i);
        i += n;
    }
    put("    { %uu, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }\n};\n", first);
    put("const uint32_t cji_isa_table_rows = %d;\n", n_gen_rows);
}

static void emit_sregs(void)
{
    put("const cji_isa_sreg cji_isa_sreg_table[] = {\n");
    for (int i = 0; i < n_gen_sregs; i++) {
        const gen_sreg *r = &gen_sregs[i];
        put("    { \"%s\", %s, %d, %d, %d, %d, %d },\n", r->name, r->type_id, r->version, r->tset, r->vector, r->least,
            i);
    }
    put("};\nconst uint32_t cji_isa_sreg_total = %d;\n", n_gen_sregs);
}

static void c_name(const char *word, char *name)
{
    for (; *word; word++) *name++ = isalnum((unsigned char)*word) ? (char)toupper((unsigned char)*word) : '_';
    *name = 0;
}

/* Is there a word that differs from `w` only in case and has no capitals? */
static bool shadowed(const char *w)
{
    char low[64];
    size_t i = 0;
    for (; w[i]; i++) low[i] = (char)tolower((unsigned char)w[i]);
    low[i] = 0;
    if (!strcmp(low, w)) return false;
    for (int k = 0; k < word_total; k++) if (!strcmp(words[k], low)) return true;
    return false;
}

static void emit_ids(void)
{
    fprintf(out,
            "/* Made by tools/isagen from src/ptx/isa; do not edit.  Numbers change with the table: never store them.\n"
            " * A word that differs from another only by its capitals has a '_' behind its name (NaN: CJI_W_NAN_). */\n"
            "#ifndef CJI_ISA_IDS_H\n#define CJI_ISA_IDS_H\n\nenum {\n    CJI_OP_NONE = 0,\n");
    for (int i = 0; i < n_gen_rows; i++) {
        int k = 0;
        while (strcmp(gen_rows[k]->op, gen_rows[i]->op)) k++;
        if (k == i) fprintf(out, "    CJI_OP_%s,\n", gen_rows[i]->op);
    }
    fprintf(out, "    CJI_OP_COUNT\n};\n\nenum {\n");
    for (int i = 0; i < word_total; i++) {
        char name[64];
        c_name(words[i], name);
        fprintf(out, "    CJI_W_%s%s = %d,\n", name, shadowed(words[i]) ? "_" : "", i);
    }
    fprintf(out, "    CJI_W_COUNT = %d\n};\n\nenum {\n", word_total);
    for (int i = 0; i < n_gen_sregs; i++) {
        char name[64];
        c_name(gen_sregs[i].name + 1, name);
        fprintf(out, "    CJI_SR_%s = %d,\n", name, i);
    }
    fprintf(out, "    CJI_SR_COUNT = %d\n};\n\n#endif\n", n_gen_sregs);
}

/* Written beside and renamed, so that a broken run leaves the old files. */
static bool begin_file(const char *path, char *beside, size_t size)
{
    snprintf(beside, size, "%s.new", path);
    out = fopen(beside, "wb");
    if (!out) gen_error(path, 0, "cannot be written");
    return out;
}

static bool end_file(const char *path, const char *beside)
{
    bool ok = !ferror(out) && !fclose(out) && !rename(beside, path);
    if (!ok) gen_error(path, 0, "cannot be written");
    return ok;
}

bool gen_emit(const char *data_path, const char *ids_path)
{
    char beside[1024];
    collect_words();
    if (!begin_file(data_path, beside, sizeof beside)) return false;
    put("/* Made by tools/isagen from src/ptx/isa; do not edit. */\n#include \"isa.h\"\n#include \"isa_ids.h\"\n"
        "#include \"isa_sreg.h\"\n#include \"isa_table.h\"\n\n");
    emit_words();
    emit_sets();
    emit_rows();
    emit_sregs();
    uint64_t h = content;
    put("const uint64_t cji_isa_content_hash = UINT64_C(0x%016llx);\n", (unsigned long long)h);
    if (!end_file(data_path, beside)) return false;
    if (!begin_file(ids_path, beside, sizeof beside)) return false;
    emit_ids();
    return end_file(ids_path, beside);
}
