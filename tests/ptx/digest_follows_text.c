/* The digest of a module stands for its text: two modules with different texts have different digests, whatever is
 * changed in a text; the same builder calls, a copy, and a text that is read twice have the same one. */
#define CJ_NO_SOURCE_LINES
#include <cujit/parse.h>

#include "ptx/ptx.h"
#include "tests/tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const samples[] = { "calls", "constant", "debug",   "declared", "half",  "histogram",
                                       "lines", "loops",    "math",    "old",      "print", "reduce",
                                       "saxpy", "sections", "syntax",  "switch" };

/* Reads and finishes; NULL: it cannot be read. */
static cj_ptx *read_text(const char *text, size_t bytes)
{
    cj_ptx *m = cj_parse(text, bytes, "sample.ptx");
    if (cj_ptx_status(m) == CJ_OK && cji_ptx_finish(m, "test") == CJ_OK) return m;
    cj_ptx_free(m);
    return NULL;
}

typedef struct told { cji_hash128 hash, with_lines; cji_text text, lines; } told;

static told tell_of(cj_ptx *m)
{
    told t = { .hash = cji_ptx_digest(m, CJI_PRINT_LINK), .with_lines = cji_ptx_digest(m, CJI_PRINT_LINK | 1) };
    cji_ptx_write(m, CJI_PRINT_LINK, &t.text);
    cji_ptx_write(m, CJI_PRINT_LINK | 1, &t.lines);
    return t;
}

static void told_free(told *t)
{
    cji_text_free(&t->text);
    cji_text_free(&t->lines);
}

static bool same_text(const cji_text *a, const cji_text *b) { return a->n == b->n && !memcmp(a->p, b->p, a->n); }

/* How many changed texts that can be read have another text and the same digest. */
static void change_each_byte(const char *name, size_t places)
{
    char file[80];
    size_t bytes = 0;
    snprintf(file, sizeof file, "tests/ptx/samples/%s.ptx", name);
    char *text = tap_slurp(tap_source(file), &bytes);
    cj_ptx *m = text ? read_text(text, bytes) : NULL;
    if (!m) tap_bail("%s cannot be read", file);
    told first = tell_of(m);
    cj_ptx *copy = cj_ptx_clone(m), *again = read_text(text, bytes);
    tap_ok(cji_hash128_equal(first.hash, cji_ptx_digest(copy, CJI_PRINT_LINK)), "%s: a copy has the same digest", name);
    tap_ok(cji_hash128_equal(first.with_lines, cji_ptx_digest(again, CJI_PRINT_LINK | 1)),
           "%s: the same text read twice has the same digest", name);
    cj_ptx_free(copy);
    cj_ptx_free(again);
    cj_ptx_free(m);
    size_t changed = 0, missed = 0, step = bytes / places + 1;
    for (size_t i = step / 2; i < bytes; i += step) {
        static const char with[] = "12_xe";
        char before = text[i];
        text[i] = before == with[i % 5] ? '3' : with[i % 5];
        m = read_text(text, bytes);
        if (m) {
            told t = tell_of(m);
            bool text_differs = !same_text(&t.text, &first.text), lines_differ = !same_text(&t.lines, &first.lines);
            changed += text_differs || lines_differ;
            bool miss = (text_differs && cji_hash128_equal(t.hash, first.hash)) ||
                        (lines_differ && cji_hash128_equal(t.with_lines, first.with_lines));
            if (miss && !missed++) tap_diag("%s: byte %zu: '%c' becomes '%c'", name, i, before, text[i]);
            told_free(&t);
            cj_ptx_free(m);
        }
        text[i] = before;
    }
    tap_ok((changed || tap_is_slow()) && !missed, "%s: %zu changed texts, of which %zu have the digest of the first",
           name, changed, missed);
    told_free(&first);
    free(text);
}

/* -- What only a builder can have ---------------------------------------------------------------------------------- */

typedef struct variant {
    const char *name;
    int target, version, lines, literal, name_of, second, order, init, pragma;
} variant;

static cj_ptx *built(const variant *v)
{
    cj_ptx *m = cj_ptx_create();
    if (v->version) cj_ptx_set_version(m, "8.0");
    if (v->target) cj_ptx_set_target(m, "sm_80");
    cj_ptx_line(m, v->lines ? "b.c" : "a.c", 1 + v->lines);
    const uint32_t values[2] = { 1, (uint32_t)(2 + v->init) };
    cj_val table = cj_ptx_global(m, "table", CJ_U32, 2, values, 2);
    cj_fn *f = cj_ptx_kernel(m, v->name_of ? "other" : "k");
    cj_line(f, v->lines ? "b.c" : "a.c", 10 + v->lines);
    cj_val x = cj_param_ptr(f, "x", CJ_U32), i = cj_global_id(f, CJ_X);
    if (v->order) cj_set(f, x, cj_imm(f, 0), cj_get(f, table, cj_imm(f, 1)));
    cj_set(f, x, i, cj_add(f, i, cj_imm(f, 7 + v->literal)));
    if (!v->order) cj_set(f, x, cj_imm(f, 0), cj_get(f, table, cj_imm(f, 1)));
    if (v->second) cj_set(f, x, cj_imm(f, 1), i);
    return m;
}

static void variants(void)
{
    static const variant rows[] = {
        { .name = "the first one" },           { .name = "another target", .target = 1 },
        { .name = "another version", .version = 1 }, { .name = "another literal", .literal = 1 },
        { .name = "another name", .name_of = 1 }, { .name = "one instruction more", .second = 1 },
        { .name = "another order", .order = 1 }, { .name = "another initial value", .init = 1 },
    };
    enum { N = sizeof rows / sizeof *rows };
    cji_hash128 hash[N];
    for (int i = 0; i < N; i++) {
        cj_ptx *a = built(&rows[i]), *b = built(&rows[i]);
        if (cji_ptx_finish(a, "test") || cji_ptx_finish(b, "test")) tap_bail("%s", cj_error_of(a)->message);
        hash[i] = cji_ptx_digest(a, CJI_PRINT_LINK);
        tap_ok(cji_hash128_equal(hash[i], cji_ptx_digest(b, CJI_PRINT_LINK)), "%s: built twice", rows[i].name);
        for (int k = 0; k < i; k++)
            tap_ok(!cji_hash128_equal(hash[i], hash[k]), "%s: not the digest of %s", rows[i].name, rows[k].name);
        cj_ptx_free(a);
        cj_ptx_free(b);
    }
    const variant elsewhere = { .lines = 5 };
    cj_ptx *a = built(&rows[0]), *b = built(&elsewhere);
    tap_ok(cji_hash128_equal(hash[0], cji_ptx_digest(b, CJI_PRINT_LINK)), "other source lines: the same digest");
    tap_ok(!cji_hash128_equal(cji_ptx_digest(a, CJI_PRINT_LINK | CJ_PRINT_LINES),
                              cji_ptx_digest(b, CJI_PRINT_LINK | CJ_PRINT_LINES)),
           "where lines are printed: another digest");
    cj_ptx_free(a);
    cj_ptx_free(b);
}

int main(void)
{
    tap_plan(0);
    const bool all = getenv("CUJIT_TEST_ALL") != NULL;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        change_each_byte(samples[i], all ? SIZE_MAX : tap_is_slow() ? 90 : 150);
    variants();
    return tap_done();
}
