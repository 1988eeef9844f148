/* A line of the printed text leads back to the builder's call: each line of every kind, with .loc lines in the text and
 * without. */
#include "../tap.h"

#include <cujit/ptx.h>

#include "ptx/ptx.h"

#include <stdio.h>
#include <string.h>

enum { LINES = 80 };

/* What each line of the text comes from: its first word, and the line of the language; 0: none. */
typedef struct row { const char *begins; uint32_t line; } row;

static const row plain[] = {
    { ".version", 0 },
    { ".target", 0 },
    { ".address_size", 0 },
    { ".visible .func (.reg .f32 result) early", 0 },
    { ".visible .global .align 16 .u32 table[2] = {1, 2};", 1 },
    { ".visible .const .f32 scale[4];", 2 },
    { ".extern .shared .f32 dynamic[];", 14 },
    { "", 10 },
    { ".visible .entry k(", 10 },
    { "\t.param .u64 .ptr .global .align 4 x,", 11 },
    { "\t.param .u32 n", 12 },
    { ")", 10 },
    { ".maxntid 64, 1, 1", 10 },
    { "{", 10 },
    { "\t.reg .pred", 10 },
    { "\t.reg .u32", 10 },
    { "\t.reg .u64", 10 },
    { "\t.reg .f32", 10 },
    { "\t.shared .f32 tile[32];", 13 },
    { "\tld.param.u64", 11 },
    { "\tcvta.to.global.u64", 11 },
    { "\tld.param.u32", 12 },
    { "\tsetp.lt.u32", 15 },
    { "\t@!%p0 bra $L0;", 15 },
    { "\tadd.u32", 16 },
    { "\tadd.u32", 16 },
    { "$L0:", 17 },
    { "\t.pragma \"nounroll\";", 18 },
    { "\tmov.u32", 5000000 },
    { "$T0: .branchtargets $L0;", 20 },
    { "\tcall.uni", 21 },
    { "\tret;", 10 },
    { "}", 10 },
    { "", 30 },
    { ".visible .func (.reg .f32 result) early", 30 },
    { "{", 30 },
    { "\t.reg .f32", 30 },
    { "\tmov.f32", 31 },
    { "\tmov.f32 result", 31 },
    { "\tret;", 31 },
    { "}", 30 },
};

static cj_ptx *make(void)
{
    const uint32_t two[] = { 1, 2 };
    cj_ptx *m = cj_ptx_create();
    cj_ptx_line(m, "user.lang", 1);
    cj_val table = cj_ptx_global(m, "table", CJ_U32, 2, two, 2);
    cj_ptx_var_align(m, table, 16);
    cj_ptx_line(m, "user.lang", 2);
    cj_ptx_const(m, "scale", CJ_F32, 4, NULL, 0);
    cj_ptx_line(m, "user.lang", 10);
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_ptx_line(m, "user.lang", 30);
    cj_fn *g = cj_ptx_func(m, "early");
    cj_fn_max_threads(f, 64, 1, 1);
    cj_line(f, "user.lang", 11);
    cj_param_ptr(f, "x", CJ_F32);
    cj_line(f, "user.lang", 12);
    cj_val n = cj_param(f, "n", CJ_U32);
    cj_line(f, "user.lang", 13);
    cj_shared(f, "tile", CJ_F32, 32);
    cj_line(f, "user.lang", 14);
    cj_shared_dynamic(f, "dynamic", CJ_F32, 0);
    cj_line(f, "user.lang", 15);
    cj_if(f, cj_lt(f, n, cj_imm(f, 7)));
    cj_line(f, "user.lang", 16);
    cj_add(f, cj_add(f, n, n), n);
    cj_line(f, "user.lang", 17);
    cj_end(f);
    cj_line(f, "user.lang", 18);
    cj_pragma(f, "nounroll");
    cj_line(f, "user.lang", 5000000);
    cj_mov(f, n);
    cj_line(f, "user.lang", 20);
    cj_val end = cji_val(cji_word(CJI_K_LABEL, 0), CJ_VOID, f->owner); /* that of the cj_if */
    cj_branch_targets(f, &end, 1);
    cj_line(g, "user.lang", 31);
    cj_return_value(g, cj_let(g, CJ_F32, cj_imm(g, 1)));
    cj_line(f, "user.lang", 21);
    cj_call_n(f, g, NULL, 0);
    return m;
}

/* The text cut into lines; how many. */
static uint32_t cut(char *text, char **line)
{
    uint32_t n = 0;
    for (char *p = text; *p && n < 2 * LINES;) {
        line[++n] = p;
        p += strcspn(p, "\n");
        if (*p) *p++ = 0;
    }
    return n;
}

static uint32_t line_of(const cj_ptx *m, unsigned flags, uint32_t at)
{
    const char *file = NULL;
    uint32_t line = 7;
    bool known = cji_ptx_line_of(m, flags, at, &file, &line);
    if (known != (line != 0) || strcmp(file, known ? "user.lang" : "")) return 77777;
    return line;
}

static void with_loc(cj_ptx *m)
{
    static char text[8192];
    char *line[2 * LINES + 1];
    const char *p;
    unsigned file = 0, said = 0;
    cj_ptx_print(m, CJ_PRINT_LINES, &p, NULL);
    snprintf(text, sizeof text, "%s", p);
    uint32_t n = cut(text, line), wrong = 0, locs = 0;
    for (uint32_t i = 1; i <= n; i++) {
        if (*line[i] == '}') said = 0;
        if (sscanf(line[i], "\t.loc %u %u", &file, &said) == 2) locs++;
        if (said && *line[i] == '\t' && strcmp(line[i], "\tret;") && !strstr(line[i], ".pragma") &&
            line_of(m, CJ_PRINT_LINES, i) != said)
            tap_diag("line %u: %s is of line %u", i, line[i], line_of(m, CJ_PRINT_LINES, i)), wrong++;
    }
    tap_ok(locs == 7 && !wrong, "with .loc lines in the text: each instruction's is the line that .loc says");
}

int main(void)
{
    static char text[8192];
    char *line[2 * LINES + 1];
    const char *p;
    tap_plan(0);
    cj_ptx *m = make();
    if (!tap_is_int(cj_ptx_print(m, 0, &p, NULL), CJ_OK, "it prints")) tap_bail("%s", cj_error_of(m)->message);
    snprintf(text, sizeof text, "%s", p);
    uint32_t n = cut(text, line);
    tap_is_int(n, sizeof plain / sizeof *plain, "all lines are in the table");
    for (uint32_t i = 1; i <= n && i <= sizeof plain / sizeof *plain; i++) {
        const row *r = &plain[i - 1];
        tap_ok(!strncmp(line[i], r->begins, strlen(r->begins)), "line %u: %s", i, line[i]);
        tap_is_int(line_of(m, 0, i), r->line, "    comes from line %u", r->line);
    }
    tap_is_int(line_of(m, 0, 0), 0, "there is no line 0");
    tap_is_int(line_of(m, 0, n + 1), 0, "nor one behind the last");
    with_loc(m);
    cj_ptx_free(m);

    m = cj_ptx_create();
    int here = __LINE__ + 1;
    cj_fn *f = cj_ptx_kernel(m, "k");
    int sync = __LINE__ + 1;
    cj_block_sync(f);
    const char *file;
    uint32_t at = 0;
    tap_ok(cji_ptx_line_of(m, 0, 7, &file, &at), "a C program's line is known");
    tap_is_int(at, sync, "it is that of the call");
    tap_is_str(file, __FILE__, "in its file");
    cji_ptx_line_of(m, 0, 5, &file, &at);
    tap_is_int(at, here, "a kernel's head is that of cj_ptx_kernel");
    cj_ptx_free(m);
    return tap_done();
}
