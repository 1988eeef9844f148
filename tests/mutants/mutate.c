/* Puts one of the faults of generated.def into a copy of the sources (mutants.sh).
 *
 *     mutate --list                            name and test of each fault
 *     mutate --candidates SOURCES FUNCTION     every fault that the operators can make in a function
 *     mutate --check SOURCES                   the faults that have no place any more
 *     mutate SOURCES NAME ORIGINAL             changes the copy in SOURCES, prints the file, its line before and after;
 *     the
 *                                              file as it was goes to ORIGINAL
 *
 * A fault is an operator at a place: the n-th that it finds in one function, or in those lines of the function that
 * contain a text. So a fault holds still while other functions change, and while files are renamed. */
#include <ctype.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mutants/operators.h"

typedef struct fault { const char *name, *function, *op; int nth; const char *line, *test; } fault;

static const fault faults[] = {
#define MUTANT(function, op, nth, line, test) { #function "." #op "." #nth, #function, #op, nth, line, test },
#include "tests/mutants/generated.def"
    { NULL, NULL, NULL, 0, NULL, NULL },
};

static const char *wanted;          /* the function that is searched for */
static mutant_text found;
static char found_path[4096];

static char *read_whole(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    *bytes = (size_t)ftell(f);
    rewind(f);
    text = malloc(*bytes + 1);
    if (text) *bytes = fread(text, 1, *bytes, f), text[*bytes] = 0;
    fclose(f);
    return text;
}

static int look_into(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    size_t n = strlen(path), bytes;
    mutant_text t;
    (void)st, (void)where;
    if (kind != FTW_F || n < 3 || strcmp(path + n - 2, ".c")) return 0;
    char *text = read_whole(path, &bytes);
    if (!text) return 0;
    if (strstr(text, wanted) && mutant_find(&t, text, bytes, wanted)) {
        found = t;
        snprintf(found_path, sizeof found_path, "%s", path);
        return 1;
    }
    free(text);
    return 0;
}

static bool find_function(const char *sources, const char *function)
{
    char folder[4096];
    wanted = function;
    snprintf(folder, sizeof folder, "%s/src", sources);
    if (nftw(folder, look_into, 16, FTW_PHYS) == 1) return true;
    fprintf(stderr, "mutate: no function %s in %s\n", function, folder);
    return false;
}

static void print_line(const char *mark, const char *text, size_t at)
{
    size_t from = at, to = at;
    while (from && text[from - 1] != '\n') from--;
    while (text[to] && text[to] != '\n') to++;
    while (text[from] == ' ') from++;
    printf("%s %.*s\n", mark, (int)(to - from), text + from);
}

static int list_faults(void)
{
    for (size_t i = 0; faults[i].name; i++) printf("%s %s\n", faults[i].name, faults[i].test);
    return 0;
}

static int list_candidates(const char *sources, const char *function)
{
    if (!find_function(sources, function)) return 1;
    for (size_t op = 0; mutant_operators[op].name; op++) {
        mutant_change c;
        for (int n = 1; mutant_place(&found, &mutant_operators[op], n, NULL, &c); n++) {
            printf("%s %s %d: ", function, mutant_operators[op].name, n);
            print_line("", found.text, c.at);
        }
    }
    return 0;
}

static bool write_whole(const char *path, const char *a, size_t na, const char *b, const char *c, size_t nc)
{
    FILE *out = fopen(path, "wb");
    if (!out) return false;
    fwrite(a, 1, na, out);
    fputs(b, out);
    fwrite(c, 1, nc, out);
    return !fclose(out);
}

/* Where a fault is; says on standard error why there is no place for it. */
static bool find_place(const char *sources, const fault *f, mutant_change *c)
{
    const mutant_operator *op = mutant_operators;
    while (op->name && strcmp(op->name, f->op)) op++;
    if (!op->name) return fprintf(stderr, "mutate: no operator %s\n", f->op), false;
    if (!find_function(sources, f->function)) return false;
    if (mutant_place(&found, op, f->nth, f->line, c)) return true;
    fprintf(stderr, "mutate: %s: %s has no place %d for %s%s%s\n", found_path, f->function, f->nth, f->op,
            f->line ? " in a line with " : "", f->line ? f->line : "");
    return false;
}

static int check_faults(const char *sources)
{
    int lost = 0;
    for (size_t i = 0; faults[i].name; i++) {
        mutant_change c;
        found = (mutant_text){ .text = NULL };
        lost += !find_place(sources, &faults[i], &c);
        free(found.text);
        free(found.code);
    }
    return lost != 0;
}

static int apply(const char *sources, const fault *f, const char *original)
{
    mutant_change c;
    if (!find_place(sources, f, &c)) return 1;
    const size_t behind = c.at + c.bytes;
    if (!write_whole(original, found.text, found.size, "", "", 0)) return perror(original), 1;
    if (!write_whole(found_path, found.text, c.at, c.with, found.text + behind, found.size - behind))
        return perror(found_path), 1;
    printf("%s\n", found_path + strlen(sources) + 1);
    print_line("-", found.text, c.at);
    size_t bytes;
    char *now = read_whole(found_path, &bytes);
    if (now) print_line("+", now, c.at);
    free(now);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "--list")) return list_faults();
    if (argc == 3 && !strcmp(argv[1], "--check")) return check_faults(argv[2]);
    if (argc == 4 && !strcmp(argv[1], "--candidates")) return list_candidates(argv[2], argv[3]);
    for (size_t i = 0; argc == 4 && faults[i].name; i++)
        if (!strcmp(faults[i].name, argv[2])) return apply(argv[1], &faults[i], argv[3]);
    fprintf(stderr, "usage: mutate --list | --candidates SOURCES FUNCTION | --check SOURCES | SOURCES NAME ORIGINAL\n");
    return 1;
}
