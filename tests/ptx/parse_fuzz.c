/* The samples changed at random (from fixed seeds): bytes replaced, runs cut out, doubled, exchanged, words of one put
 * into another.  Whatever comes out is accepted, or refused with a status of the reader's and a message that names a
 * line of the text; it never crashes, and never takes long. */
#define CJ_NO_SOURCE_LINES   /* no line of this file among the texts' */
#include <cujit/parse.h>

#include "../tap.h"
#include "ptx/entries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FUZZ_ROOM = 1 << 16, FUZZ_SAMPLES = 6 };

static uint64_t fuzz_state;

static uint32_t fuzz_random(uint32_t below)
{
    fuzz_state ^= fuzz_state << 13;
    fuzz_state ^= fuzz_state >> 7;
    fuzz_state ^= fuzz_state << 17;
    return (uint32_t)(fuzz_state >> 32) % below;
}

static const char *const fuzz_names[FUZZ_SAMPLES] = { "saxpy", "calls", "constant", "switch", "lines", "syntax" };
static char *fuzz_sample[FUZZ_SAMPLES];
static size_t fuzz_bytes[FUZZ_SAMPLES];

/* Words that hurt. */
static const char *const fuzz_words[] = {
    "{",
    "}",
    "{{{{",
    "}}}}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    ";",
    ",",
    ":",
    "@",
    "!",
    "|",
    "_",
    "%",
    "$",
    "\"",
    "/*",
    "*/",
    "//",
    "\n",
    "\\",
    "0x",
    "0f",
    "-",
    "+",
    "18446744073709551615",
    "99999999999999999999999",
    "0f7fffffff",
    "1e999",
    "WARP_SZ",
    "generic(",
    ".reg .b32 %r<65535>;",
    ".reg .b32 %r<4294967295>;",
    ".param .b32 x<4096>;",
    ".global .b8 y[4294967295] = {1};",
    ".entry",
    ".func",
    ".shared",
    ".callprototype",
    ".branchtargets",
    ".loc 1 2 3",
    ".file 1 \"a\"",
    ".version 8.0",
    ".section .x {",
    "%tid.x",
    "%r0",
    "%rd1",
    "%f1",
    "%p1",
    "$L__BB0_2",
    "\xff",
    "\x01",
    "1?2:3",
    "((((((((((((((((((((((((((((((((((((",
    ".align 4294967296",
    ".v4",
    ".b128",
    "::",
};

static size_t fuzz_change(char *text, size_t n)
{
    size_t at = fuzz_random((uint32_t)n), run = 1 + fuzz_random(40);
    switch (fuzz_random(6)) {
    case 0:
        text[at] = (char)fuzz_random(256);
        return n;
    case 1:
        text[at] = (char)(32 + fuzz_random(95));
        return n;
    case 2:
        if (at + run > n) run = n - at;
        memmove(text + at, text + at + run, n - at - run);
        return n - run;
    case 3:
        if (at + run > n) run = n - at;
        if (n + run > FUZZ_ROOM) return n;
        memmove(text + at + run, text + at, n - at);
        return n + run;
    case 4: {
        const char *word = fuzz_words[fuzz_random(sizeof fuzz_words / sizeof *fuzz_words)];
        run = strlen(word);
        if (n + run > FUZZ_ROOM) return n;
        memmove(text + at + run, text + at, n - at);
        memcpy(text + at, word, run);
        return n + run;
    }
    default: {
        uint32_t other = fuzz_random(FUZZ_SAMPLES);
        size_t from = fuzz_random((uint32_t)fuzz_bytes[other]);
        if (from + run > fuzz_bytes[other]) run = fuzz_bytes[other] - from;
        if (at + run > n) run = n - at;
        memcpy(text + at, fuzz_sample[other] + from, run);
        return n;
    }
    }
}

/* What was accepted is printed, and read again as the same text. */
static bool fuzz_prints(cj_ptx *m)
{
    const char *first = NULL, *second = NULL;
    size_t n = 0, k = 0;
    if (cj_ptx_print(m, 0, &first, &n) != CJ_OK) return tap_diag("print: %s", cj_error_of(m)->message), false;
    cj_ptx *again = cj_parse(first, n, "printed");
    bool fine = cj_ptx_print(again, 0, &second, &k) == CJ_OK && n == k && !memcmp(first, second, n);
    if (!fine) {
        size_t i = 0;
        while (second && i < n && i < k && first[i] == second[i]) i++;
        tap_diag("printed: %s; %.60s and %.60s", cj_error_of(again)->message, first + (i > 30 ? i - 30 : 0),
                 second ? second + (i > 30 ? i - 30 : 0) : "");
    }
    cj_ptx_free(again);
    return fine;
}

/* The heads alone say of an accepted text what the whole text says. */
static bool fuzz_heads_agree(const cj_ptx *m, const char *text, size_t n, bool accepted)
{
    cji_entries *heads = cji_entries_read(text, n), *whole = accepted ? cji_entries_of(m) : NULL;
    bool same = heads && (!accepted || (whole && heads->n == whole->n));
    for (size_t i = 0; accepted && same && i < whole->n; i++) {
        const cji_entry *a = &heads->entry[i], *b = cji_entries_find(whole, a->name);
        same = b && a->nparam == b->nparam && (!heads->whole || !a->dynamic_shared == !b->dynamic_shared);
        for (uint32_t k = 0; same && k < a->nparam; k++)
            same = !strcmp(a->param[k].name, b->param[k].name) && a->param[k].offset == b->param[k].offset &&
                   a->param[k].bytes == b->param[k].bytes;
    }
    if (!same) tap_diag("its heads are read in another way");
    cji_entries_release(heads);
    cji_entries_release(whole);
    return same;
}

/* Accepted, or refused as it should be. */
static bool fuzz_is_fine(const char *text, size_t n, size_t *accepted)
{
    cj_ptx *m = cj_parse(text, n, "fuzz");
    const cj_error *e = cj_error_of(m);
    unsigned lines = 1;
    for (size_t i = 0; i < n; i++) lines += text[i] == '\n';
    bool fine = e->status == CJ_OK;
    *accepted += fine;
    if (e->status == CJ_EPTX || e->status == CJ_EUNKNOWN || e->status == CJ_ENOTSUP)
        fine = !strncmp(e->message, "fuzz:", 5) && e->line >= 1 && e->line <= (int32_t)lines && strlen(e->message) > 12;
    if (!fine) tap_diag("%s: %s", cj_status_name(e->status), e->message);
    if (e->status == CJ_OK) fine = fuzz_prints(m);
    fine = fuzz_heads_agree(m, text, n, e->status == CJ_OK) && fine;
    cj_ptx_free(m);
    return fine;
}

int main(void)
{
    static char text[FUZZ_ROOM];
    size_t accepted = 0, rounds = tap_is_slow() ? 60 : 6000;
    tap_plan(0);
    for (unsigned i = 0; i < FUZZ_SAMPLES; i++) {
        char path[64];
        snprintf(path, sizeof path, "tests/ptx/samples/%s.ptx", fuzz_names[i]);
        fuzz_sample[i] = tap_slurp(tap_source(path), &fuzz_bytes[i]);
        if (!fuzz_sample[i] || fuzz_bytes[i] > FUZZ_ROOM / 2) tap_bail("%s is missing, or too long", path);
    }
    for (unsigned i = 0; i < FUZZ_SAMPLES; i++) {
        size_t bad = 0;
        for (size_t round = 0; round < rounds / FUZZ_SAMPLES; round++) {
            size_t n = fuzz_bytes[i];
            fuzz_state = 0x9e3779b97f4a7c15 * (round * FUZZ_SAMPLES + i + 1);
            memcpy(text, fuzz_sample[i], n);
            for (uint32_t changes = 1 + fuzz_random(6); changes && n > 50; changes--) n = fuzz_change(text, n);
            if (fuzz_is_fine(text, n, &accepted)) continue;
            tap_diag("%s, round %zu", fuzz_names[i], round);
            bad++;
        }
        tap_is_uint(bad, 0, "%s, changed: accepted, or refused with a line", fuzz_names[i]);
    }
    tap_ok(accepted > 0, "some of them are still PTX");

    /* Shapes that grow: each has to take time that grows with it, so a time limit is all that is needed. */
    static const struct { const char *head, *body, *what;
    } grows[] = {
        { "", "{", "braces" },
        { "", "(", "parentheses" },
        { ".version 8.0\n.target sm_90\n.entry k() {", "{", "scopes" },
        { ".version 8.0\n.target sm_90\n.entry k() {", "bra L;", "branches to nowhere" },
        { ".version 8.0\n.target sm_90\n.entry k() {", "{bra L;", "branches in scopes" },
        { ".version 8.0\n.target sm_90\n.entry k() {", "{.reg .b32 %r<3>;}", "registers in scopes" },
        { ".version 8.0\n.target sm_90\n.entry k() {", "{.param .b32 x;}", "variables in scopes" },
        { ".version 8.0\n.target sm_90\n", ".global .b32 x = -", "declarations" },
        { ".version 8.0\n.target sm_90\n.global .b32 x = ", "-", "signs" },
        { ".version 8.0\n.target sm_90\n.global .b32 x = ", "1+", "sums" },
        { ".version 8.0\n.target sm_90\n.global .b32 x = ", "1?", "choices" },
        { ".version 8.0\n.target sm_90\n.global .b8 x[] = {", "1,", "values" },
        { ".version 8.0\n.target sm_90\n.global .b8 x[2] = ", "{", "braces of values" },
        { "/*", "*", "comments" },
        { "", "\"", "quotes" },
        { ".version 8.0\n.target sm_90\n.entry k() { call ", "(", "lists" },
        { ".version 8.0\n.target sm_90\n.entry k() {", "L:", "labels" },
        { ".version 8.0\n.target sm_90\n.entry k() { .loc 1 1 1 ", "\n.file", "files" },
        { ".version 8.0\n.target sm_90\n.entry k(", ".param .b32 a,", "parameters" },
        { ".version 8.0\n.target sm_90\n.global .b32 a", "[1]", "dimensions" },
        { ".version 8.0\n.target sm_90\n.entry k() {add", ".s32", "modifiers" },
    };
    for (size_t i = 0; i < sizeof grows / sizeof *grows; i++) {
        size_t n = (size_t)snprintf(text, sizeof text, "%s", grows[i].head), step = strlen(grows[i].body),
               most = tap_is_slow() ? FUZZ_ROOM / 16 : FUZZ_ROOM;
        for (; n + step < most; n += step) memcpy(text + n, grows[i].body, step);
        tap_ok(fuzz_is_fine(text, n, &accepted), "many %s", grows[i].what);
    }
    for (unsigned i = 0; i < FUZZ_SAMPLES; i++) free(fuzz_sample[i]);
    return tap_done();
}
