/* Texts of 64 KiB that repeat one thing are accepted or rejected in a time that grows with them: one that took the
 * square of it would not end before the time limit of a test. */
#include "tests/ptx/reader_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

#define HEAD ".version 8.0\n.target sm_90\n"
#define BODY HEAD ".entry k() {"

enum { ROOM = 1 << 16 };

static const struct {
    const char *name, *head, *each;
    cj_status status;
} cases[] = {
    { "braces", "", "{", CJ_EPTX },
    { "parentheses", "", "(", CJ_EPTX },
    { "scopes", BODY, "{", CJ_EUNKNOWN },
    { "branches to nowhere", BODY, "bra L;", CJ_EPTX },
    { "branches in scopes", BODY, "{bra L;", CJ_EUNKNOWN },
    { "registers in scopes", BODY, "{.reg .b32 %r<3>;}", CJ_EPTX },
    { "variables in scopes", BODY, "{.param .b32 x;}", CJ_EPTX },
    { "declarations", HEAD, ".global .b32 x = -", CJ_EPTX },
    { "signs", HEAD ".global .b32 x = ", "-", CJ_EUNKNOWN },
    { "sums", HEAD ".global .b32 x = ", "1+", CJ_EPTX },
    { "choices", HEAD ".global .b32 x = ", "1?", CJ_EUNKNOWN },
    { "values", HEAD ".global .b8 x[] = {", "1,", CJ_EPTX },
    { "braces of values", HEAD ".global .b8 x[2] = ", "{", CJ_EPTX },
    { "comments", "/*", "*", CJ_EPTX },
    { "quotes", "", "\"", CJ_EPTX },
    { "lists", BODY " call ", "(", CJ_EUNKNOWN },
    { "labels", BODY, "L:", CJ_EPTX },
    { "files", BODY " .loc 1 1 1 ", "\n.file", CJ_EPTX },
    { "parameters", HEAD ".entry k(", ".param .b32 a,", CJ_EPTX },
    { "dimensions", HEAD ".global .b32 a", "[1]", CJ_EUNKNOWN },
    { "modifiers", BODY "add", ".s32", CJ_EUNKNOWN },
};

/* The same, closed: it is PTX. */
static const struct {
    const char *name, *head, *each, *end;
} closed[] = {
    { "scopes with registers", BODY, "{.reg .b32 %r<3>;}", "ret;}" },
    { "scopes with variables", BODY, "{.param .b32 x;}", "ret;}" },
    { "statements", BODY ".reg .b32 %r<3>;", "add.s32 %r0,%r1,%r2;", "ret;}" },
    { "comments of stars", HEAD "/*", "*", "/" },
    { "values of a variable", HEAD ".global .b8 x[] = {0", ",1", "};" },
};

static size_t write_text(char *text, const char *head, const char *each, const char *end, size_t most)
{
    size_t n = strlen(head), step = strlen(each), last = strlen(end);
    memcpy(text, head, n);
    for (; n + step + last < most; n += step) memcpy(text + n, each, step);
    memcpy(text + n, end, last);
    return n + last;
}

static void check(const char *text, size_t n, cj_status status, const char *name)
{
    cj_ptx *m = cj_parse(text, n, "many");
    const char *fault = reader_fault(m, text, n, "many");
    tap_is_str(cj_status_name(cj_error_of(m)->status), cj_status_name(status), "many %s", name);
    if (!tap_ok(!fault, "many %s: the rules of the reader hold", name)) tap_diag("%s", fault);
    cj_ptx_free(m);
}

int main(void)
{
    static char text[ROOM];
    size_t most = tap_is_slow() ? ROOM / 4 : ROOM;   /* all limits are reached */
    tap_plan(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(text, write_text(text, cases[i].head, cases[i].each, "", most), cases[i].status, cases[i].name);
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++)
        check(text, write_text(text, closed[i].head, closed[i].each, closed[i].end, most), CJ_OK, closed[i].name);
    return tap_done();
}
