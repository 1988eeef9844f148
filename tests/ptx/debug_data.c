/* Debug data of a text: kept byte for byte and printed with .target's debug, until the module changes. */
#include <cujit/parse.h>

#include "../tap.h"

#include <stdlib.h>
#include <string.h>

static char warning[256];

static void keep_warning(void *user, cj_log_level level, const char *line)
{
    (void)user;
    if (level == CJ_LOG_WARNING) strncpy(warning, line, sizeof warning - 1);
}

/* Each changes the module. */
typedef struct site { cj_ptx *m; cj_fn *f; } site;
static void new_kernel(site *s) { cj_ptx_kernel(s->m, "more"); }
static void new_variable(site *s) { cj_ptx_global(s->m, "more", CJ_U32, 1, NULL, 0); }
static void new_instruction(site *s) { cj_ins(s->f, "ret"); }
static void new_register(site *s) { cj_reg(s->f, CJ_U32); }
static void new_bound(site *s) { cj_fn_max_registers(s->f, 32); }
static void new_label(site *s) { cj_label(s->f); }
static const struct { const char *name; void (*change)(site *s); } changes[] = {
    { "cj_ptx_kernel", new_kernel }, { "cj_ptx_global", new_variable }, { "cj_ins", new_instruction },
    { "cj_reg", new_register }, { "cj_fn_max_registers", new_bound }, { "cj_label", new_label },
};

/* Each changes nothing of what the debug data says. */
static void print_it(site *s) { cj_ptx_print(s->m, CJ_PRINT_LINES, NULL, NULL); }
static void find_it(site *s) { cj_ptx_find(s->m, "nothing"); }
static void raise_it(site *s) { cj_ptx_set_version(s->m, "9.0"); }
static void place_it(site *s) { cj_line(s->f, "a.c", 4); }
static const struct { const char *name; void (*call)(site *s); } calls[] = {
    { "cj_ptx_print", print_it }, { "cj_ptx_find", find_it }, { "cj_ptx_set_version", raise_it },
    { "cj_line", place_it },
};

static cj_ptx *read_again(const char *text, size_t bytes, site *s)
{
    s->m = cj_parse(text, bytes, "debug.ptx");
    if (!tap_is_int(cj_ptx_status(s->m), CJ_OK, "it is read")) tap_diag("%s", cj_error_of(s->m)->message);
    s->f = cj_ptx_find(s->m, "k");
    return s->m;
}

static void prints_all(const char *text, size_t bytes)
{
    static const unsigned flags[] = { 0, CJ_PRINT_LINES };
    const char *first = NULL, *second = NULL;
    size_t n = 0;
    site s;
    for (size_t i = 0; i < 2; i++) {
        read_again(text, bytes, &s);
        tap_is_int(cj_ptx_print(s.m, flags[i], &first, &n), CJ_OK, "it is printed");
        tap_has_str(first, ".target sm_90, debug\n", "with debug");
        for (const char *at = strstr(text, ".section"); at; at = strstr(at + 1, ".section")) {
            size_t len = (size_t)(strstr(at, "\n\t}") + 3 - at);
            const char *there = memmem(first, n, at, len);
            tap_ok(there && there[len] == '\n', "with its section, byte for byte: %.24s", at);
        }
        tap_has_str(first, ".file\t1 \"a.cu\", 7, 70\n", "with its files");
        tap_has_str(first, "\t.loc 1 3 9, function_name $L__info+4, inlined_at 1 8 2\n", "with whole lines");
        tap_has_str(first, "\t.reg .b64\t%SP;\n", "registers have the names that the data has");
        tap_has_str(first, "[%SP+0]", "+0 stays: code for debuggers adds it");
        cj_ptx *clone = cj_ptx_clone(s.m), *again = cj_parse(first, n, "debug.ptx");
        cj_ptx_print(again, flags[i], &second, NULL);
        tap_is_str(second, first, "what is read again prints the same");
        cj_ptx_print(clone, flags[i], &second, NULL);
        tap_is_str(second, first, "so does a clone");
        tap_is_int(cj_ptx_has_debug(clone), 1, "which has debug data");
        cj_ptx_free(again);
        cj_ptx_free(clone);
        cj_ptx_free(s.m);
    }
}

int main(void)
{
    size_t bytes = 0;
    const char *printed = NULL;
    site s;
    cj_set_log(keep_warning, NULL);
    tap_plan(0);
    char *text = tap_slurp(tap_source("tests/ptx/samples/sections.ptx"), &bytes);
    if (!text) tap_bail("there is no sample");
    prints_all(text, bytes);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        *warning = 0;
        read_again(text, bytes, &s);
        changes[i].change(&s);
        tap_is_int(cj_ptx_has_debug(s.m), 0, "%s drops the debug data", changes[i].name);
        tap_has_str(warning, "debug data", "%s: and says so", changes[i].name);
        tap_is_int(cj_ptx_print(s.m, 0, &printed, NULL), CJ_OK, "%s: the module is printed", changes[i].name);
        tap_ok(!strstr(printed, "debug") && !strstr(printed, ".section") && !strstr(printed, ".loc "),
               "%s: without a trace of it", changes[i].name);
        cj_ptx_free(s.m);
    }
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        *warning = 0;
        read_again(text, bytes, &s);
        calls[i].call(&s);
        tap_is_int(cj_ptx_has_debug(s.m), 1, "%s keeps the debug data", calls[i].name);
        tap_is_str(warning, "", "%s warns of nothing", calls[i].name);
        cj_ptx_free(s.m);
    }
    cj_ptx *built = cj_ptx_create();
    tap_is_int(cj_ptx_has_debug(built), 0, "a built module has none");
    cj_ptx_free(built);
    tap_is_int(cj_ptx_has_debug(NULL), 0, "nor has NULL");
    free(text);
    return tap_done();
}
