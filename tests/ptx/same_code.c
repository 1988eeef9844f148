/* What is printed of a text that was read assembles to the same machine code, for all that nvcc and clang make of
 * tests/ptx/sources and for the samples.
 *
 *     same_code                 the samples, and some sources for one target each
 *     same_code all K N         every source for every target, with -lineinfo and -G: the K-th of N parts
 *     same_code SOURCE TARGET [OPTION]     one source for one target: pointers.cu 100 -G
 *
 * Needs ptxas; without nvcc or clang what they make is skipped. */
#include <cujit/parse.h>

#include "../tap.h"
#include "../tap_folder.h"
#include "../tap_run.h"

#include <dirent.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SOURCES_MOST = 64, NAME_MOST = 64 };

static char ptx_path[220], print_path[220], cubin_path[220];

/* -- Machine code -------------------------------------------------------------------------------------------------- */

typedef struct section { const char *name; const uint8_t *bytes; size_t n; } section;
typedef struct cubin { char *file; size_t bytes, n; section at[512]; } cubin;

/* Sections that say what the GPU does.  Of shared memory only the size is in the file. */
static bool section_counts(const char *name)
{
    return !strncmp(name, ".text", 5) || !strncmp(name, ".nv.constant", 12) || !strncmp(name, ".nv.global", 10) ||
           !strncmp(name, ".nv.shared", 10);
}

static void cubin_sections(cubin *c)
{
    const Elf64_Ehdr *head = (const void *)c->file;
    const Elf64_Shdr *all = (const void *)(c->file + head->e_shoff);
    const char *names = c->file + all[head->e_shstrndx].sh_offset;
    for (unsigned i = 0; i < head->e_shnum && c->n < 512; i++) {
        const char *name = names + all[i].sh_name;
        bool stored = all[i].sh_type != SHT_NOBITS && strncmp(name, ".nv.shared", 10) && strcmp(name, ".nv.global");
        if (section_counts(name))
            c->at[c->n++] = (section){ name, stored ? (uint8_t *)c->file + all[i].sh_offset : NULL, all[i].sh_size };
    }
}

/* Assembles a text, `alone`: without what it names of other modules; false with ptxas' words in the log. */
static bool cubin_make(cubin *c, const char *path, const char *target, bool alone, bool debug)
{
    char arch[32];
    tap_result r;
    snprintf(arch, sizeof arch, "-arch=sm_%s", target);
    const char *argv[] = { tap_ptxas(), arch, path, "-o", cubin_path, alone ? "-c" : "-v", debug ? "-g" : NULL, NULL };
    tap_run(&r, argv, NULL);
    bool fine = r.status == 0;
    if (!fine) tap_diag("%.400s%.400s", r.out, r.err);
    tap_result_free(&r);
    c->n = 0;
    c->file = fine ? tap_slurp(cubin_path, &c->bytes) : NULL;
    if (c->file) cubin_sections(c);
    unlink(cubin_path);
    return c->file != NULL;
}

/* The first section that differs, NULL: none. */
static const char *cubin_difference(const cubin *a, const cubin *b)
{
    for (size_t i = 0; i < a->n; i++) {
        size_t k = 0;
        while (k < b->n && strcmp(a->at[i].name, b->at[k].name)) k++;
        if (k == b->n || a->at[i].n != b->at[k].n) return a->at[i].name;
        if (a->at[i].bytes && memcmp(a->at[i].bytes, b->at[k].bytes, a->at[i].n) != 0) return a->at[i].name;
    }
    return a->n == b->n ? NULL : "the number of sections";
}

/* -- Texts --------------------------------------------------------------------------------------------------------- */

static void write_text(const char *path, const char *text, size_t n)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(text, 1, n, file) != n || fclose(file)) tap_bail("%s cannot be written", path);
}

/* One assertion: the text and its print are the same code. */
static void same_code(const char *text, size_t bytes, const char *target, const char *what)
{
    static cubin before, after;
    const char *printed = NULL, *difference = "the text is not read";
    size_t n = 0;
    bool lines = strstr(text, ".loc\t") != NULL, debug = strstr(text, ", debug") != NULL;
    bool alone = strtod(strstr(text, ".version") + 8, NULL) >= 3.1;
    cj_ptx *m = cj_parse(text, bytes, what);
    before.file = after.file = NULL;
    if (cj_ptx_print(m, lines ? CJ_PRINT_LINES : 0, &printed, &n) != CJ_OK) {
        tap_diag("%s", cj_error_of(m)->message);
        printed = NULL;
    }
    if (printed) {
        write_text(ptx_path, text, bytes);
        write_text(print_path, printed, n);
        difference = "ptxas";
        if (cubin_make(&before, ptx_path, target, alone, debug) &&
            cubin_make(&after, print_path, target, alone, debug))
            difference = cubin_difference(&before, &after);
    }
    tap_is_str(difference, NULL, "%s, sm_%s: the same code", what, target);
    free(before.file);
    free(after.file);
    cj_ptx_free(m);
}

/* The target of a text, for targets that this ptxas makes code for. */
static void target_of(const char *text, char *target, size_t size)
{
    const char *at = strstr(text, ".target sm_");
    size_t n = at ? strcspn(at + 11, ", \n") : 0;
    snprintf(target, size, "%.*s", (int)n, at ? at + 11 : "");
    if (atoi(target) < 75) snprintf(target, size, "75");
}

static void samples(void)
{
    DIR *dir = opendir(tap_source("tests/ptx/samples"));
    char path[320], target[16];
    size_t bytes = 0;
    if (!dir) tap_bail("no samples");
    for (const struct dirent *e; (e = readdir(dir));) {
        /* the debug data of sections.ptx is no DWARF, which only reading it does not see */
        if (!strstr(e->d_name, ".ptx") || !strcmp(e->d_name, "sections.ptx")) continue;
        snprintf(path, sizeof path, "tests/ptx/samples/%s", e->d_name);
        char *text = tap_slurp(tap_source(path), &bytes);
        if (!text) tap_bail("%s cannot be read", path);
        target_of(text, target, sizeof target);
        same_code(text, bytes, target, e->d_name);
        free(text);
    }
    closedir(dir);
}

/* -- Compilers ----------------------------------------------------------------------------------------------------- */

static const char *nvcc_path(void)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s", tap_ptxas());
    strcpy(strrchr(path, '/') ? strrchr(path, '/') + 1 : path, "nvcc");
    return access(path, X_OK) == 0 ? path : NULL;
}

/* Compiles a source to PTX and asks for its code; `option` NULL, -G or -lineinfo. */
static void compiled(const char *name, const char *target, const char *option)
{
    char source[256], arch[32], what[160];
    size_t bytes = 0;
    tap_result r;
    bool opencl = strstr(name, ".cl") != NULL;
    const char *nvcc = opencl ? NULL : nvcc_path();
    snprintf(what, sizeof what, "%s%s%s", name, option ? " " : "", option ? option : "");
    snprintf(source, sizeof source, "tests/ptx/sources/%s", name);
    snprintf(arch, sizeof arch, opencl ? "sm_%s" : "-arch=compute_%s", target);
    const char *in = tap_source(source);
    const char *by_clang[] = { "/usr/bin/clang", "-target", "nvptx64", "-S", "-O2", "-cl-std=CL2.0", "-Xclang",
                               "-finclude-default-header", "-Xclang", "-target-cpu", "-Xclang", arch, in, "-o",
                               ptx_path, option, NULL };
    const char *by_nvcc[] = { nvcc, "-ptx", "-rdc=true", arch, in, "-o", ptx_path, option, NULL };
    if (opencl ? access(by_clang[0], X_OK) != 0 : !nvcc) {
        tap_skip(1, "no %s: %s", opencl ? "clang" : "nvcc", what);
        return;
    }
    tap_run(&r, opencl ? by_clang : by_nvcc, NULL);
    if (r.status) tap_diag("%.400s", r.err);
    char *text = r.status ? NULL : tap_slurp(ptx_path, &bytes);
    if (text) same_code(text, bytes, target, what);
    else tap_ok(false, "%s, sm_%s: compiled", what, target);
    free(text);
    tap_result_free(&r);
}

/* -- The whole ----------------------------------------------------------------------------------------------------- */

/* The least target of a source: its first line may say "sm N". */
static int least_target(const char *name)
{
    char path[256], line[128] = "";
    snprintf(path, sizeof path, "tests/ptx/sources/%s", name);
    FILE *file = fopen(tap_source(path), "r");
    if (!file || !fgets(line, sizeof line, file)) tap_bail("%s cannot be read", path);
    fclose(file);
    const char *sm = strstr(line, "sm ");
    return sm ? atoi(sm + 3) : 0;
}

static int by_name(const void *a, const void *b) { return strcmp(a, b); }

static size_t list_sources(char names[][NAME_MOST])
{
    size_t n = 0;
    DIR *dir = opendir(tap_source("tests/ptx/sources"));
    if (!dir) tap_bail("no sources");
    for (const struct dirent *e; (e = readdir(dir)) && n < SOURCES_MOST;)
        if ((strstr(e->d_name, ".cu") || strstr(e->d_name, ".cl")) && strlen(e->d_name) < NAME_MOST)
            strcpy(names[n++], e->d_name);
    closedir(dir);
    qsort(names, n, sizeof names[0], by_name);
    return n;
}

static void all_sources(unsigned part, unsigned parts)
{
    static const char *const targets[] = { "75", "80",  "86",  "87",  "88",  "89",
                                           "90", "100", "103", "110", "120", "121" };
    static const char *const options[] = { NULL, "-lineinfo", "-G" };
    static char names[SOURCES_MOST][NAME_MOST];
    size_t n = list_sources(names), k = 0;
    tap_ok(n >= 33, "there are %zu sources", n);
    for (size_t i = 0; i < n; i++) {
        bool opencl = strstr(names[i], ".cl") != NULL;
        for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
            if (atoi(targets[t]) < least_target(names[i]) || (opencl && atoi(targets[t]) > 86)) continue;
            for (size_t o = 0; o < (opencl ? 1 : 3); o++)
                if (k++ % parts == part) compiled(names[i], targets[t], options[o]);
        }
    }
}

static const struct { const char *name, *target, *option; } some[] = {
    { "libraries.cu", "75", NULL }, { "constants.cu", "90", NULL }, { "switches.cu", "120", "-lineinfo" },
    { "structs.cu", "80", "-G" },   { "pointers.cu", "100", NULL }, { "recursion.cu", "89", "-G" },
    { "pointers.cu", "100", "-G" }, { "matrices.cu", "120", "-G" }, { "textures.cu", "90", NULL },
    { "assembly.cu", "103", NULL }, { "vectors.cl", "80", NULL },   { "functions.cl", "75", NULL },
};

int main(int argc, char **argv)
{
    tap_need_ptxas();
    tap_plan(0);
    tap_timeout(argc > 1 ? 3600 : 120);
    const char *folder = tap_folder("code");
    snprintf(ptx_path, sizeof ptx_path, "%s/a.ptx", folder);
    snprintf(print_path, sizeof print_path, "%s/b.ptx", folder);
    snprintf(cubin_path, sizeof cubin_path, "%s/c.cubin", folder);
    if (argc == 4 && !strcmp(argv[1], "all")) {
        all_sources((unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]));
    } else if (argc == 3 || argc == 4) {
        compiled(argv[1], argv[2], argc == 4 ? argv[3] : NULL);
    } else {
        samples();
        for (size_t i = 0; i < sizeof some / sizeof *some; i++) compiled(some[i].name, some[i].target, some[i].option);
    }
    return tap_done();
}
