/* Targets are a lattice: what runs on what, the least target of a set, and sets in words. */
#include "ptx/isa.h"
#include "../tap.h"

#include <string.h>

static int at(const char *name) { return cji_target_find(name, strlen(name)); }

static const struct { const char *ptx, *device; bool runs;
} runs[] = {
    { "sm_50", "sm_90", true },     { "sm_90", "sm_50", false },    { "sm_90", "sm_90", true },
    { "sm_90", "sm_90a", true },    { "sm_90a", "sm_90", true },    { "sm_90a", "sm_100", false },
    { "sm_100f", "sm_103", true },  { "sm_100f", "sm_110", false }, { "sm_100f", "sm_120", false },
    { "sm_100a", "sm_103", false }, { "sm_120f", "sm_121", true },  { "sm_121f", "sm_120", false },
};

static const struct { const char *spelling; const char *least; int version; const char *words;
} needs[] = {
    { "add.s32", "sm_20", 20, "sm_20 or newer" },
    { "fma.rn.relu.f16", "sm_80", 70, "sm_80 or newer" },
    { "wgmma.fence.sync.aligned", "sm_90a", 80, "sm_90a" },
    { "tcgen05.wait::ld.sync.aligned", "sm_100a", 86,
      "sm_100a, sm_100f, sm_101a, sm_101f, sm_103a, sm_103f, sm_110a, sm_110f" },
    { "redux.sync.min.f32", "sm_100a", 86, "sm_100a, sm_100f, sm_103a, sm_103f" },
    { "ld.acquire.cluster.global.u32", "sm_90", 78, "sm_90 or newer" },
};

int main(void)
{
    static cji_isa_form f;
    char text[200];
    tap_plan(0);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        tap_is_int(cji_target_runs((uint32_t)at(runs[i].ptx)) >> at(runs[i].device) & 1, runs[i].runs,
                   "PTX of %s on %s", runs[i].ptx, runs[i].device);
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        cji_isa_get(cji_isa_find(needs[i].spelling, strlen(needs[i].spelling)), &f);
        uint8_t version = f.version;
        int least = cji_target_least(cji_target_set(f.targets), &version);
        tap_is_str(cji_target_name((uint32_t)least), needs[i].least, "least target of %s", needs[i].spelling);
        tap_is_int(version, needs[i].version, "  and its version");
        cji_target_list(cji_target_set(f.targets), text, sizeof text);
        tap_is_str(text, needs[i].words, "  and in words");
    }
    uint8_t version = 88;
    int least = cji_target_least(cji_target_set(f.targets) & 0, &version);
    tap_is_int(least, -1, "the empty set has no least target");
    cji_isa_get(cji_isa_find("redux.sync.min.f32", 18), &f);
    least = cji_target_least(cji_target_set(f.targets), &version);
    tap_is_str(cji_target_name((uint32_t)least), "sm_100f",
               "where the version allows it the family's target is taken: it runs on more");
    cji_target_list(0, text, sizeof text);
    tap_is_str(text, "no target", "the empty set in words");
    tap_is_int(at("sm_101a") >= 0, true, "sm_101a is known");
    tap_is_int(at("sm_7"), -1, "a beginning of a name is none");
    tap_is_int(cji_target_since((uint32_t)at("sm_90a")), 80, "sm_90a came with PTX 8.0");

    tap_ok(cji_isa_sregs() > 100, "special registers");
    int tid = cji_isa_sreg_find("%tid.x", 6);
    tap_ok(tid >= 0 && cji_isa_sreg_at((uint32_t)tid)->type == CJ_U32, "%%tid.x is .u32");
    tap_is_int(cji_isa_sreg_find("%tid.w2", 7), -1, "%%tid.w2 is none");
    tap_ok(cji_isa_sreg_find("%pm3_64", 7) >= 0 && cji_isa_sreg_find("%envreg31", 9) >= 0,
           "numbered special registers");
    tap_ok(cji_isa_sreg_at(cji_isa_sregs()) == NULL, "there is none past the last");
    tap_is_str(cji_type_word(CJ_BF16X2), "bf16x2", "a type's word");
    tap_is_int(cji_type_find("f64", 3), CJ_F64, "and back");
    tap_is_int(cji_type_find("f6", 2), -1, "no such type");
    tap_is_int(cji_type_bits(CJ_F16X2), 32, "its bits");
    tap_ok(cji_type_is_float(CJ_F32) && cji_type_is_float(CJ_BF16X2) && !cji_type_is_float(CJ_B32),
           "what is floating point");
    tap_ok(cji_type_is_signed(CJ_S8) && !cji_type_is_signed(CJ_U8), "what is signed");
    return tap_done();
}
