/* Every row of the instruction table against ptxas: what the table takes is accepted at the claimed least version and
 * target, and refused one version or one target lower; what it does not take is rejected.
 *
 * A sample by default; CUJIT_TABLE=all (make check-table) takes every form, CUJIT_TABLE=NAME those whose spelling
 * begins so.
 */
#include "isa_ask.h"
#include "isa_judge.h"
#include "isa_write.h"
#include "ptx/isa_ids.h"
#include "../tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 4000, GROUPS = 4096 };

/* Statements of one version and target and one expectation. */
typedef struct group { uint8_t version, target; bool accepted; const char *why; isa_batch batch; } group;
static group groups[GROUPS];
static size_t ngroups, asked, wrong, shown;
static const char *ptxas;
static bool all;

/* What ptxas takes by accident or wraps without a word, and the table does not: a mistake of whoever wrote it. */
static const struct { const char *begins, *holds, *why, *reason; } accidents[] = {
    { "lop3.", "", "a literal above the range", "immLut is cut to 8 bits" },
    { "lop3.", "", "a literal below the range", "immLut is cut to 8 bits" },
    { "cvt.", "%b128", "a register of the wrong type", "some cvt take .b128, not all of one kind" },
    { "cvt.rz.ftz.f32.f64", "%b64_0", "refused at the claim", "takes wider registers, but not before PTX 7.8" },
    { "cvt.rna.", "0d", "refused at the claim", "takes literals, but not 0d before PTX 7.8" },
    { "atom.", "", "one operand too many", "takes a cache policy without .L2::cache_hint" },
    { "cvt.", ".ue8m0x2", "a register of the wrong type", "looks at nothing but the width of .bf16x2" },
    { "cvt.", ".ue8m0x2", "a float that may not stand there", "the same" },
    { "cp.async.", ".wait_group", "a literal above the range", "wraps" },
    { "cp.async.", ".wait_group", "a literal below the range", "wraps" },
    { "cp.async.bulk.tensor.", ".im2col.", "a register of the wrong type", "takes a cache policy for the mask" },
    { "mbarrier.arrive", "", "a literal above the range", "wraps; the manual has 2^20 - 1" },
    { "st.async.", "", "one operand too few", "takes it without the barrier" },
    { "red.async.", "", "one operand too few", "takes it without the barrier" },
    { "createpolicy.", "", "an integer that may not stand there", "takes one as destination" },
    { "ldmatrix.", "%pred", "a register of the wrong type", "takes predicates" },
    { "stmatrix.", "%pred", "a register of the wrong type", "takes predicates" },
    { "wgmma.", ".wait_group", "a literal above the range", "takes any; the manual has 0 to 7" },
    { "wgmma.mma_async.", "{%pred_1", "a register of the wrong type", "takes predicates for integers of A" },
    { "mma.", ".m8n8k", "a register of the wrong type", "takes .f32 for integers, but not in PTX 6.5" },
    { "mma.", "%pred", "a register of the wrong type", "takes predicates" },
    { "tcgen05.", "%pred", "a register of the wrong type", "takes predicates" },
    { "tcgen05.ld.", "16x32bx2", "a literal above the range", "wraps" },
    { "tcgen05.ld.", "16x32bx2", "a literal below the range", "wraps" },
    { "movmatrix.", "%pred", "a register of the wrong type", "takes predicates" },
    { "movmatrix.", "", "a float that may not stand there", "takes one, but no integer" },
    /* the manual asks for more: older drivers follow it */
    { "cp.async.", "shared::cta", "accepted one version earlier", "::cta is of PTX 7.8" },
    { "fence.acquire.", "", "accepted one version earlier", "of PTX 8.6" },
    { "fence.release.", "", "accepted one version earlier", "of PTX 8.6" },
    { "fence.acquire.", "", "accepted on a lower target", "of sm_90" },
    { "fence.release.", "", "accepted on a lower target", "of sm_90" },
    { "wmma.mma.", ".satfinite", "accepted one version earlier", "of PTX 6.4" },
    { "nanosleep.", "", "accepted one version earlier", "of PTX 6.3" },
    { "setp.", ".bf16x2 ", "a register of the wrong type", "takes a predicate as b" },
    { "set.", ".bf16x2 ", "a register of the wrong type", "takes predicates" },
    { "", "sv+4", "accepted with a symbol", "takes an address with an offset for every register" },
    { "mov.", "16 ", "accepted with a symbol", "takes 16 bits of an address" },
    { "mov.b128", "", "accepted with a symbol", "takes an address as 128 bits" },
    { "createpolicy.fractional.", "", "accepted with a vector of one", "takes one for the fraction" },
    { "mbarrier.arrive", "", "accepted with a vector of one", "takes one for the count" },
    { "mov.", "}, ", "accepted with a symbol", "takes an address apart" },
    { "", "bf16", "accepted with a vector of one", "takes one for each .bf16 and .bf16x2" },
    { "fence.proxy.", "[16]", "accepted with that address", "takes a number" },
    { "tcgen05.", "p]", "accepted with that address", "takes a parameter as an address of tensor memory" },
    { "prefetch.param", "[pp]", "refused with that address", "takes no address of a body's variable" },
    { "tex.a", "f32.s32 ", "accepted in this order", "takes an .f32 register for an integer coordinate" },
};

static bool accident(const group *g, const char *line)
{
    for (size_t i = 0; i < sizeof accidents / sizeof *accidents; i++)
        if (!strncmp(line, accidents[i].begins, strlen(accidents[i].begins)) && strstr(line, accidents[i].holds) &&
            (!*accidents[i].why || !strcmp(g->why, accidents[i].why))) return true;
    return false;
}

static void settle(group *g)
{
    if (!g->batch.n) return;
    char **message = calloc(g->batch.n, sizeof *message);
    const char *target = cji_target_name(g->target);
    if (!isa_ask(ptxas, g->version, target, &g->batch, message))
        tap_bail("ptxas cannot be asked about %s, PTX %u.%u", target, g->version / 10u, g->version % 10u);
    asked += g->batch.n;
    for (size_t i = 0; i < g->batch.n; i++) {
        if (!message[i] != g->accepted && !accident(g, isa_batch_line(&g->batch, i))) {
            wrong++;
            if (shown++ < 4000)
                tap_diag("%s: %s  [PTX %u.%u %s] %s", g->why, isa_batch_line(&g->batch, i), g->version / 10u,
                         g->version % 10u, target, message[i] ? message[i] : "");
        }
        free(message[i]);
    }
    free(message);
    isa_batch_clear(&g->batch);
}

/* The sample asks a few groups only: what fits in its time. */
static void expect(uint8_t version, int target, bool accepted, const char *why, const char *line)
{
    if (version < 23) version = 23;
    for (size_t i = 0; i < ngroups; i++) {
        group *g = &groups[i];
        if (g->version != version || g->target != target || g->accepted != accepted || g->why != why) continue;
        isa_batch_add(&g->batch, line);
        if (g->batch.n >= BATCH) settle(g);
        return;
    }
    if (ngroups == GROUPS) tap_bail("too many groups");
    groups[ngroups] = (group){ .version = version, .target = (uint8_t)target, .accepted = accepted, .why = why };
    isa_batch_add(&groups[ngroups++].batch, line);
}

static uint8_t before(uint8_t version)
{
    static const uint8_t known[] = { 23, 30, 31, 32, 40, 41, 42, 43, 50, 60, 61, 62, 63, 64, 65, 70, 71,
                                     72, 73, 74, 75, 76, 77, 78, 80, 81, 82, 83, 84, 85, 86, 87, 88, 90 };
    uint8_t best = 0;
    for (size_t i = 0; i < sizeof known; i++)
        if (known[i] < version) best = known[i];
    return best;
}

static bool in_order_of_number(uint32_t a, uint32_t b)
{
    return atoi(cji_target_name(a) + 3) < atoi(cji_target_name(b) + 3);
}

static void lower(const cji_isa_form *f, const char *line, uint8_t version, cji_targets targets, int least)
{
    uint8_t earlier = before(version < 23 ? 23 : version);
    if (earlier && earlier >= cji_target_since((uint32_t)least))
        expect(earlier, least, false, "accepted one version earlier", line);
    int below = -1;
    for (uint32_t t = 0; t < cji_target_count(); t++) {
        if (targets >> t & 1) continue;
        bool base = !strpbrk(cji_target_name(t) + 3, "af");
        if (in_order_of_number(t, (uint32_t)least)) { if (base) below = (int)t; continue; }
        uint8_t v = version > cji_target_since(t) ? version : cji_target_since(t);
        if (all) expect(v, (int)t, false, "accepted on a target outside", line);
    }
    if (below >= 0) {
        uint8_t v = version > cji_target_since((uint32_t)below) ? version : cji_target_since((uint32_t)below);
        expect(v, below, false, "accepted on a lower target", line);
    }
    for (uint32_t t = 0; f->end_version && t < cji_target_count(); t++)
        if (cji_target_set(f->end_targets) >> t & 1 && cji_target_since(t) <= f->end_version)
            expect(f->end_version, (int)t, false, "accepted after its end", line);
}

/* The form that takes a line's operands, CJI_FORM_NONE. */
static uint32_t taken_by(const char *line)
{
    static isa_line l;
    if (!isa_read(line, &l)) { tap_diag("cannot be read back: %s", line); return CJI_FORM_NONE; }
    return cji_isa_match(cji_isa_find(l.spelling, l.len), l.arg, l.n, NULL, NULL, 0);
}

/* The version that the form needs on that target. */
static uint8_t on_target(const cji_isa_form *f, uint8_t version, int target)
{
    if (target < 0) return version;
    if (version < cji_target_since((uint32_t)target)) version = cji_target_since((uint32_t)target);
    bool late = version < f->late_version && cji_target_set(f->late_targets) >> target & 1;
    return late ? f->late_version : version;
}

/* Every exchange of neighbouring modifiers: the table takes what ptxas takes, as another form or none. */
static void ask_order(const cji_isa_form *f, const char *line, uint8_t version, int target)
{
    char out[ISA_LINE];
    const char *why;
    for (unsigned k = 1; k < f->nwords; k++) {
        if (!isa_write_swapped(f, line, k, out)) continue;
        bool taken = isa_judge(out, version < 23 ? 23 : version, (uint32_t)target, &why);
        expect(version, target, taken, taken ? "refused in this order" : "accepted in this order", out);
    }
}

/* Odd operands: the table takes those that ptxas takes. */
static void ask_odd(const cji_isa_form *f, uint8_t version, int target)
{
    static const char *const whys[ISA_ODD_COUNT][2] = {
        [ISA_ODD_UNLIKE] = { "accepted with unlike elements", "refused with these elements" },
        [ISA_ODD_ADDRESS] = { "accepted with that address", "refused with that address" },
        [ISA_ODD_SYMBOL] = { "accepted with a symbol", "refused with a symbol" },
        [ISA_ODD_ONE] = { "accepted with a vector of one", "refused with a vector of one" },
    };
    char line[ISA_LINE];
    isa_odd what;
    const char *why;
    for (size_t i = 0; i < f->nopnd; i++)
        for (unsigned way = 0; isa_write_odd(f, i, way, line, &what); way++) {
            bool taken = isa_judge(line, version, (uint32_t)target, &why);
            expect(version, target, taken, whys[what][taken], line);
        }
}

static void ask_form(const cji_isa_form *f, bool every_way, bool every_target)
{
    char line[ISA_LINE];
    uint8_t version;
    cji_targets targets;
    size_t places = f->nopnd ? f->nopnd : 1;
    for (size_t i = 0; i < places; i++)
        for (unsigned way = 0; isa_write(f, i, way, line, &version, &targets); way++) {
            if (i && !way && !f->opnd[i].optional && f->op != CJI_OP_CALL) continue; /* written before */
            uint8_t written = version;
            int least = cji_target_least(targets, &version);
            version = on_target(f, version, least);
            if (least < 0) { tap_diag("no target: %s", line); wrong++; break; }
            if (taken_by(line) != f->form) { tap_diag("its own form does not take it: %s", line); wrong++; }
            expect(version, least, true, "refused at the claim", line);
            if (!i && !way) {
                lower(f, line, version, targets, least);
                if (every_way) ask_order(f, line, version, least);
                for (uint32_t t = 0; every_target && t < cji_target_count(); t++)
                    if (targets >> t & 1 && (!f->end_version || !(cji_target_set(f->end_targets) >> t & 1)))
                        expect(on_target(f, written, (int)t), (int)t, true, "refused on a target inside", line);
            }
            if (!every_way && !(i && f->opnd[i].optional)) break;
        }
    if (!every_way || f->end_version) return;
    version = 90;
    int top = cji_target_least(cji_target_set(f->targets), &version);
    ask_odd(f, 90, top);
    for (size_t i = 0; i <= f->nopnd; i++) {
        const char *what = "a wrong operand";
        for (unsigned way = 0; isa_write_wrong(f, i, way, line, &what); way++)
            if (what && taken_by(line) == CJI_FORM_NONE) expect(90, top, false, what, line);
    }
}

/* Each special register where it is claimed to begin, and not before. */
static void ask_sregs(void)
{
    static const cji_isa_form none;
    for (uint32_t i = 0; i < cji_isa_sregs(); i++) {
        const cji_isa_sreg *r = cji_isa_sreg_at(i);
        uint8_t version = r->version;
        cji_targets targets = cji_target_set(r->targets);
        int least = cji_target_least(targets, &version);
        char line[100];
        if (r->vector) snprintf(line, sizeof line, "mov.v4.u32 {%%u32_0, %%u32_1, %%u32_2, %%u32_3}, %s;", r->name);
        else snprintf(line, sizeof line, "mov.%s %%%s_0, %s;", cji_type_word(r->type), cji_type_word(r->type), r->name);
        expect(version, least, true, "refused at the claim", line);
        lower(&none, line, version, targets, least);
    }
}

int main(void)
{
    tap_need_ptxas();
    tap_plan(0);
    ptxas = tap_ptxas();
    const char *mode = getenv("CUJIT_TABLE");
    all = mode != NULL;
    if (all) tap_timeout(3600);
    cji_isa_form f;
    uint32_t row = UINT32_MAX, nth = 0, forms = 0;
    for (uint32_t i = 0; i < cji_isa_forms(); i++) {
        if (!cji_isa_get(i, &f)) tap_bail("form %u cannot be decoded", i);
        nth = f.row == row ? nth + 1 : 0;
        row = f.row;
        if (all && strcmp(mode, "all") && strncmp(f.text, mode, strlen(mode))) continue;
        if (!all && nth) continue;
        /* the sample: the first form of each row */
        forms++;
        ask_form(&f, all ? nth < 24 || nth % 64 == 0 : f.row % 6 == 0, all && nth % 200 == 0);
    }
    if (!all || !strcmp(mode, "all") || !strcmp(mode, "%")) ask_sregs();
    if (!all) { /* the largest groups only: each run of ptxas takes up to 40 ms */
        for (int run = 0; run < 5; run++) {
            group *most = &groups[0];
            for (size_t i = 1; i < ngroups; i++)
                if (groups[i].batch.n > most->batch.n) most = &groups[i];
            settle(most);
        }
    } else {
        for (size_t i = 0; i < ngroups; i++) settle(&groups[i]);
    }
    for (size_t i = 0; i < ngroups; i++) isa_batch_free(&groups[i].batch);
    tap_diag("%u forms, %zu statements asked", forms, asked);
    tap_is_uint(wrong, 0, "ptxas agrees with every statement made from the table");
    return tap_done();
}
