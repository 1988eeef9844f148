/* Printed are the least .version and .target that the instructions used need; what is fixed is printed as it is. */
#include "../tap.h"

#include <cujit/ptx.h>

#include <string.h>

#define FP8 "cvt.rn.satfinite.e4m3x2.f16x2"

static const struct {
    const char *name, *op;
    int operands;
    const char *version, *target, *least_version, *least_target;
} cases[] = {
    { "nothing used", NULL, 0, NULL, NULL, "2.3", "sm_20" },
    { "an old instruction", "membar.cta", 0, NULL, NULL, "2.3", "sm_20" },
    { "a newer one", "activemask.b32", 1, NULL, NULL, "6.2", "sm_30" },
    { "a fence", "fence.acq_rel.gpu", 0, NULL, NULL, "6.0", "sm_70" },
    { "a cluster barrier", "barrier.cluster.arrive", 0, NULL, NULL, "7.8", "sm_90" },
    { "a modifier with needs of its own", "barrier.cluster.arrive.relaxed", 0, NULL, NULL, "8.0", "sm_90" },
    { "a fixed version", "fence.acq_rel.gpu", 0, "8.4", NULL, "8.4", "sm_70" },
    { "a fixed target brings its version", "membar.cta", 0, NULL, "sm_90a", "8.0", "sm_90a" },
    /* sm_90 had the conversions of fp8 before sm_89 had them */
    { "a conversion of fp8", FP8, 2, NULL, NULL, "8.1", "sm_89" },
    { "on sm_90", FP8, 2, NULL, "sm_90", "7.8", "sm_90" },
    { "on sm_89", FP8, 2, NULL, "sm_89", "8.1", "sm_89" },
    { "in a version in which sm_90 alone has it", FP8, 2, "7.8", NULL, "7.8", "sm_90" },
    { "on sm_90 in that version", FP8, 2, "7.8", "sm_90", "7.8", "sm_90" },
    { "both fixed", "membar.cta", 0, "8.8", "sm_86", "8.8", "sm_86" },
};

/* Which instructions a module with a target may have: all without one. */
static void allowed(void)
{
    static const struct { const char *set, *wanted; int allows; } of[] = {
        { NULL, "sm_100a", 1 },       { NULL, "sm_30", 1 },         { NULL, "sm_1", 0 },
        { NULL, NULL, 0 },            { "sm_75", "sm_75", 1 },      { "sm_75", "sm_70", 1 },
        { "sm_75", "sm_80", 0 },      { "sm_90", "sm_90a", 0 },     { "sm_90a", "sm_90", 1 },
        { "sm_90a", "sm_80", 1 },     { "sm_100a", "sm_90a", 0 },   { "sm_103a", "sm_100f", 1 },
        { "sm_100f", "sm_100a", 0 },  { "sm_100", "sm_100f", 0 },   { "sm_100f", "sm_90", 1 },
        { "sm_100f", "sm_103f", 0 },  { "sm_90", "sm_1", 0 },
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        cj_ptx *m = cj_ptx_create();
        if (of[i].set) cj_ptx_set_target(m, of[i].set);
        tap_is_int(cj_ptx_allows(m, of[i].wanted), of[i].allows, "a module for %s allows what needs %s: %d",
                   of[i].set ? of[i].set : "any target", of[i].wanted ? of[i].wanted : "nothing", of[i].allows);
        cj_ptx_free(m);
    }
}

int main(void)
{
    char head[64];
    const char *text;
    tap_plan(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cj_ptx *m = cj_ptx_create();
        cj_fn *f = cj_ptx_kernel(m, "k");
        if (cases[i].version) cj_ptx_set_version(m, cases[i].version);
        if (cases[i].target) cj_ptx_set_target(m, cases[i].target);
        const cj_val v[] = { cj_reg(f, cases[i].operands == 2 ? CJ_B16 : CJ_B32), cj_reg(f, CJ_B32) };
        if (cases[i].op) cj_ins_n(f, cases[i].op, v, (size_t)cases[i].operands);
        tap_is_int(cj_ptx_print(m, 0, &text, NULL), CJ_OK, "%s: it prints", cases[i].name);
        size_t n = strcspn(text, "\n") + 1;
        n += strcspn(text + n, "\n");
        memcpy(head, text, n < 63 ? n : 63);
        head[n < 63 ? n : 63] = 0;
        char want[64] = ".version ";
        strcat(strcat(strcat(want, cases[i].least_version), "\n.target "), cases[i].least_target);
        tap_is_str(head, want, "%s: the least", cases[i].name);
        tap_is_str(cj_ptx_target(m), cases[i].least_target, "%s: the target that is asked for", cases[i].name);
        tap_is_int(cj_ptx_version(m), (cases[i].least_version[0] - '0') * 10 + cases[i].least_version[2] - '0',
                   "%s: the version that is asked for", cases[i].name);
        cj_ptx_free(m);
    }
    cj_ptx *m = cj_ptx_create();
    cj_param_bytes(cj_ptx_kernel(m, "k"), "many", 5000, 8);
    tap_is_int(cj_ptx_version(m), 81, "many parameters need PTX 8.1");
    tap_is_str(cj_ptx_target(m), "sm_70", "and sm_70");
    cj_fn_required_cluster(cj_ptx_find(m, "k"), 2, 1, 1);
    tap_is_str(cj_ptx_target(m), "sm_90", "a cluster needs sm_90");
    cj_ptx_free(m);
    m = cj_ptx_create();
    cj_sreg(cj_ptx_kernel(m, "k"), "%cluster_ctarank");
    tap_is_int(cj_ptx_version(m), 78, "a special register has needs too");
    cj_ptx_free(m);
    allowed();
    return tap_done();
}
