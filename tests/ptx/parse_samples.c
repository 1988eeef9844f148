/* Every sample is read, printed, read again and printed again: the same text, and the same module. */
#include <cujit/parse.h>

#include "ptx/ptx.h"

#include "../tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct { const char *name; size_t functions, kernels; const char *has[4];
} samples[] = {
    { "saxpy", 1, 1, { ".visible .entry saxpy(", "fma.rn.f32", ".param .u64 saxpy_param_2" } },
    { "reduce",
      2,
      2,
      { "shfl.sync.down.b32 ", ".extern .shared .align 16 .b8 dyn[];", ".maxntid 256, 1, 1",
        ".shared .align 4 .b8 " } },
    { "histogram", 2, 2, { "atom.shared.add.u32", "vote.sync.ballot.b32", "membar.gl" } },
    { "calls", 7, 1, { "table[2] = {_Z5twicei, _Z6squarei}", "call.uni (", ".callprototype", "[12]" } },
    { "half", 1, 1, { "setp.lt.f16" } },
    { "switch", 1, 1, { "bfind.shiftamt.u32", "bra.uni $L__BB0_23" } },
    { "interpret", 1, 1, { "popc.b32" } },
    { "constant", 1, 1, { ".const .align 4 .b8 weights[20] = {205, 204", "= generic(counter)", "= generic(name)+5" } },
    { "print",
      3,
      1,
      { ".extern .func (.param .b32 func_retval0) vprintf(", "$str$1", ".local .align 16 .b8 __local_depot0[16]" } },
    { "loops", 4, 4, { "ld.global.v4.f32 {", ".shared .align 4 .b8" } },
    { "math", 1, 1, { "ex2.approx.f32", "sqrt.rn.f64" } },
    { "lines", 1, 1, { "fma.rn.f32" } },
    { "debug", 2, 1, { "call.uni" } },
    { "sections", 1, 1, { ".target sm_90, debug", "inlined_at 1 8 2", ".section", "%SP" } },
    { "old", 1, 1, { ".target sm_20", "mul.ftz.f32", "mad.rn.ftz.f32", ".const .align 4 .b8 weights[12]" } },
    { "declared",
      4,
      1,
      { ".alias other, turn;", "call (v1), turn, (v0, ", "= {addr_mode_0 = wrap, addr_mode_1 = clamp_to_edge",
        ".extern .global .u64 table[2];" } },
    { "syntax",
      8,
      3,
      { "matrix[2][3] = {{1, 2, 4}, {5, 6}}", "generic(matrix)+8", ".branchtargets ONE, TWO, OUTSIDE;",
        ".attribute(.managed)" } },
};

/* The two modules hold the same: what differs, or NULL. */
static const char *difference(const cj_ptx *a, const cj_ptx *b)
{
    if (a->nfn != b->nfn || a->nvar != b->nvar) return "functions or variables";
    for (size_t i = 0; i < a->nfn; i++) {
        /* the order of declarations may differ */
        const cj_fn *f = a->fn[i], *g = cji_ptx_find_fn(b, cji_ptx_name(a, f->name));
        if (f->proto) continue;
        if (!g || f->kernel != g->kernel || f->linkage != g->linkage || f->body != g->body) return "a function's head";
        if (f->nparam != g->nparam || f->nresult != g->nresult || f->nvar != g->nvar ||
            memcmp(&f->bounds, &g->bounds, sizeof f->bounds) != 0)
            return "a function's parameters";
        if (f->nins != g->nins || f->nreg != g->nreg || f->nlabel != g->nlabel) return "a function's size";
        for (size_t k = 0; k < f->nins; k++) {
            const cji_form *x = cji_ins_form(a, &f->ins[k]), *y = cji_ins_form(b, &g->ins[k]);
            if ((x ? x->isa->form : f->ins[k].form) != (y ? y->isa->form : g->ins[k].form)) return "an instruction";
            if (cji_ins_n(f, &f->ins[k]) != cji_ins_n(g, &g->ins[k])) return "an instruction's operands";
        }
    }
    return NULL;
}

int main(void)
{
    tap_plan(0);
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        char path[80], name[80];
        const char *first = NULL, *second = NULL;
        size_t bytes = 0, n = 0, kernels = 0, functions = 0;
        snprintf(path, sizeof path, "tests/ptx/samples/%s.ptx", samples[i].name);
        snprintf(name, sizeof name, "%s.ptx", samples[i].name);
        char *text = tap_slurp(tap_source(path), &bytes);
        if (!text) tap_bail("%s is missing", path);

        cj_ptx *m = cj_parse(text, bytes, name);
        if (!tap_is_int(cj_ptx_status(m), CJ_OK, "%s is read", name)) tap_diag("%s", cj_error_of(m)->message);
        tap_is_int(cj_ptx_print(m, 0, &first, &n), CJ_OK, "%s is printed", name);
        for (unsigned k = 0; k < 4 && samples[i].has[k]; k++)
            tap_has_str(first ? first : "", samples[i].has[k], "%s holds %s", name, samples[i].has[k]);
        for (size_t k = 0; k < m->nfn; k++) functions += !m->fn[k]->proto, kernels += m->fn[k]->kernel;
        tap_is_uint(functions, samples[i].functions, "%s: functions and kernels", name);
        tap_is_uint(kernels, samples[i].kernels, "%s: kernels", name);

        cj_ptx *again = cj_parse(first ? first : "", n, "again.ptx");
        if (!tap_is_int(cj_ptx_status(again), CJ_OK, "what %s printed is read", name))
            tap_diag("%s", cj_error_of(again)->message);
        cj_ptx_print(again, 0, &second, NULL);
        tap_is_str(second ? second : "", first ? first : "(none)", "%s: printed twice, the same text", name);
        tap_is_str(difference(m, again), NULL, "%s: read twice, the same module", name);
        cj_ptx_free(again);
        cj_ptx_free(m);
        free(text);
    }
    return tap_done();
}
