/* ptxas takes the kernels of softmax and norms whose rows a block or a cluster of blocks has, without a warning and
 * without spills.  A row is loaded before any of it is used, and no fence of the cluster waits for memory.  The
 * library's own functions write them, so no device is needed.  With CUJIT_TEST_ALL=1 all lengths, else some. */
#include "kernels/norms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/tap_run.h"

static char folder[] = "/tmp/cujit-rows.XXXXXX";

static const char *const kind_words[] = { "softmax", "layer norm", "RMS norm" };

typedef struct row_text {
    uint64_t columns;
    bool clusters;
    cj_type in, out;
    uint32_t plain, softmax, norm; /* blocks of a row, the latter two in vectors; 0: it is open, or no such kernel */
} row_text;

static const row_text texts[] = {
    { 4096, true, CJ_BF16, CJ_BF16, 1, 1, 1 },    { 16384, true, CJ_BF16, CJ_BF16, 1, 1, 1 },
    { 32768, true, CJ_BF16, CJ_BF16, 2, 2, 1 },   { 32768, false, CJ_BF16, CJ_BF16, 1, 1, 1 },
    { 50257, true, CJ_F16, CJ_F16, 4, 0, 0 },     { 65544, true, CJ_F16, CJ_F16, 8, 8, 4 },
    { 131072, true, CJ_BF16, CJ_BF16, 8, 8, 4 },  { 131080, true, CJ_BF16, CJ_BF16, 0, 8, 8 },
    { 262144, true, CJ_BF16, CJ_BF16, 0, 8, 8 },  { 262152, true, CJ_BF16, CJ_BF16, 0, 0, 0 },
    { 33000, false, CJ_BF16, CJ_BF16, 0, 0, 0 },  { 16384, true, CJ_F32, CJ_F32, 1, 1, 1 },
    { 32768, true, CJ_F32, CJ_F32, 2, 2, 2 },     { 32768, false, CJ_F32, CJ_F32, 1, 1, 1 },
    { 131072, true, CJ_F32, CJ_F32, 8, 8, 8 },    { 131076, true, CJ_F32, CJ_F32, 0, 0, 0 },
    { 49160, true, CJ_F32, CJ_BF16, 4, 8, 4 },    { 32768, true, CJ_BF16, CJ_F32, 2, 2, 2 },
    { UINT64_MAX - 7, true, CJ_BF16, CJ_BF16, 0, 0, 0 },
};

static void assemble_row(const char *text, const char *name)
{
    char source[64], result[64];
    tap_result r;
    snprintf(source, sizeof source, "%s/k.ptx", folder);
    snprintf(result, sizeof result, "%s/k.cubin", folder);
    FILE *f = fopen(source, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0) tap_bail("cannot write %s", source);
    const char *const argv[] = { tap_ptxas(), "-v", "-arch=sm_90a", "-o", result, source, NULL };
    tap_run(&r, argv, NULL);
    bool spills = false;
    for (const char *p = r.err; (p = strstr(p, " bytes spill")); p++) spills = spills || p[-1] != '0' || p[-2] != ' ';
    if (!tap_ok(r.status == 0 && !spills && !strstr(r.err, "warning") && !strstr(r.err, "error"), "%s", name))
        tap_diag("%.2000s", r.err);
    tap_result_free(&r);
    unlink(source);
    unlink(result);
}

/* Before the first value is used all of them are loaded. */
static bool loads_come_first(const char *text, unsigned loads)
{
    const char *first_use = strstr(text, "max."), *sum = strstr(text, "add.rn.f32");
    const char *square = strstr(text, "fma.rn.f32");
    unsigned before = 0;
    if (!first_use || (sum && sum < first_use)) first_use = sum;
    if (!first_use || (square && square < first_use)) first_use = square;
    for (const char *p = text; first_use && (p = strstr(p, "\tld.global.")) && p < first_use; p++) before++;
    return before >= loads;
}

/* `wide`: the parameters are f32. */
static void write_text(const row_text *t, cjk_norm_kind kind, bool wide)
{
    cjk_norm n = { .kind = kind, .in = t->in, .out = t->out, .param = wide ? CJ_F32 : t->in, .eps = 1e-5f,
                   .weight = kind != CJK_NORM_SOFTMAX, .bias = kind == CJK_NORM_LAYER, .o.columns = t->columns,
                   .code.early = t->clusters };
    char name[100];
    cjk_norm_shapes(&n, t->clusters);
    snprintf(name, sizeof name, "%s of %llu columns of %s to %s%s, %s clusters",
             kind_words[kind], (unsigned long long)t->columns, cjk_type_name(t->in), cjk_type_name(t->out),
             wide ? " with f32 parameters" : "", t->clusters ? "with" : "no");
    uint32_t plain = n.plain.columns ? n.plain.blocks : 0, vectors = n.vectors.columns ? n.vectors.blocks : 0;
    bool shaped = plain == t->plain && vectors == (kind == CJK_NORM_SOFTMAX ? t->softmax : t->norm);
    if (!tap_ok(shaped, "%s: shapes", name)) tap_diag("%u and %u blocks", plain, vectors);
    for (int v = 0; v < 2; v++) {
        const cjk_shape *s = v ? &n.vectors : &n.plain;
        const char *text = "";
        if (v && !vectors) continue;
        cj_ptx *m = cj_ptx_create();
        cjk_write_norm(m, "k", &n, s);
        cj_ptx_print(m, 0, &text, NULL);
        if (cj_error_of(m)->status) tap_diag("%s", cj_error_of(m)->message);
        bool clustered = strstr(text, "barrier.cluster") && strstr(text, "st.async");
        tap_ok(clustered == (s->blocks > 1) && !strstr(text, "arrive.release") && !strstr(text, "fence.acq"),
               "%s: blocks exchange sums without a fence", name);
        const char *wait = strstr(text, "griddepcontrol.wait"), *access = strstr(text, "ld.global");
        const bool right = n.code.early ? wait && access && wait < access : !wait;
        tap_ok(right, "%s: waits, if early, in front of its loads", name);
        if (s->columns) tap_ok(loads_come_first(text, s->chunks), "%s: the row is loaded first", name);
        assemble_row(text, name);
        cj_ptx_free(m);
    }
}

int main(void)
{
    bool all = getenv("CUJIT_TEST_ALL") != NULL;
    unsigned number = 0;
    tap_need_ptxas();
    tap_plan(0);
    tap_timeout(all ? 600 : 120);
    if (!mkdtemp(folder)) tap_bail("no folder");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int kind = CJK_NORM_SOFTMAX; kind <= CJK_NORM_RMS; kind++)
            for (int wide = 0; wide <= (kind != CJK_NORM_SOFTMAX && texts[i].in != CJ_F32); wide++)
                if (all || number++ % 5 == 0) write_text(&texts[i], (cjk_norm_kind)kind, wide);
    rmdir(folder);
    return tap_done();
}
