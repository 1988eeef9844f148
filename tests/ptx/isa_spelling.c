/* Spellings are found in the manual's order and in other orders that ptxas reads; what is none gets a sentence that
 * helps. */
#include "ptx/isa.h"
#include "ptx/isa_ids.h"
#include "../tap.h"

#include <string.h>

static const struct { const char *spelling, *canonical; } found[] = {
    { "add.s32", "add.s32" },
    { "fma.rn.f32", "fma.rn.f32" },
    { "fma.rn.ftz.sat.f32", "fma.rn.ftz.sat.f32" },
    { "fma.rn.sat.ftz.f32", "fma.rn.ftz.sat.f32" },
    { "ld.global.volatile.u32", "ld.volatile.global.u32" },
    { "ld.v4.global.f32", "ld.global.v4.f32" },
    { "ld.L2::128B.global.L1::evict_last.u32", "ld.global.L1::evict_last.L2::128B.u32" },
    { "atom.global.gpu.relaxed.add.u32", "atom.relaxed.gpu.global.add.u32" },
    { "atom.shared::cta.add.u32", "atom.shared::cta.add.u32" },
    { "setp.eq.and.u32", "setp.eq.and.u32" },
    { "cvt.sat.rni.s32.f32", "cvt.rni.sat.s32.f32" },
    { "cvt.f32.f32", "cvt.f32.f32" },
    { "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32" },
    { "wgmma.mma_async.sync.aligned.m64n248k16.f32.f16.f16", "wgmma.mma_async.sync.aligned.m64n248k16.f32.f16.f16" },
    { "tcgen05.ld.sync.aligned.16x256b.x4.b32", "tcgen05.ld.sync.aligned.16x256b.x4.b32" },
    { "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster",
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster" },
    { "call.uni", "call.uni" },
    /* ptxas reads a set of modifiers behind the name */
    { "vote.ballot.sync.b32", "vote.sync.ballot.b32" },
    { "ldmatrix.sync.aligned.x4.m8n8.shared.b16", "ldmatrix.sync.aligned.m8n8.x4.shared.b16" },
    { "max.s16x2.relu", "max.relu.s16x2" },
    { "mma.aligned.sync.m16n8k8.row.col.f32.f16.f16.f32", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32" },
    { "mad.lo.u32.cc", "mad.lo.cc.u32" },
    { "barrier.cta.aligned.sync", "barrier.cta.sync.aligned" },
    { "createpolicy.fractional.b64.L2::evict_last.L2::evict_first",
      "createpolicy.fractional.L2::evict_last.L2::evict_first.b64" },
    /* types keep their order: other ones are meant */
    { "cvt.f16.rn.f32", "cvt.rn.f16.f32" },
    { "cvt.f32.ftz.f16", "cvt.ftz.f32.f16" },
};

static const struct { const char *spelling, *parts[3];
} unknown[] = {
    { "fma.f32",
      { "no instruction \"fma.f32\": fma wants a rounding mode: fma.rn.f32, fma.rz.f32, fma.rm.f32, fma.rp.f32" } },
    { "fmaa.rn.f32", { "no instruction \"fmaa\"; did you mean fma" } },
    { "add.sta.f32", { "no modifier .sta in \"add.sta.f32\"; did you mean .sat" } },
    { "ld.relaxed.f32", { "wants a scope", "ld.relaxed.gpu.f32" } },
    { "setp.u32", { "wants a comparison", "setp.eq.u32", "..." } },
    { "mul.u32", { "mul wants", "mul.lo.u32", "mul.hi.u32" } },
    { "shfl.sync.b32", { "shfl wants", "shfl.sync.up.b32" } },
    { "add", { "add wants a type" } },
    { "xyzzy", { "no instruction \"xyzzy\"" } },
    { "", { "no instruction is named" } },
    { "add.s32.s32", { "\"add.s32.s32\"" } },
    { "add..s32", { "no modifier" } },
    { ".add", { "no instruction" } },
    { "fma.rn.f32.", { "no modifier" } },
    { "add.sat.u32", { "do not go together" } },
    { "mul.s32.lo.wide.s16.u32.u64", { "do not go together" } },
    /* a word of a name is not what is missing */
    { "mbarrier.b64", { "mbarrier wants .init, .inval, .expect_tx, .complete_tx" } },
    { "mbarrier.relaxed.cta.b64", { "mbarrier wants .init" } },
    { "mbarrier.inval.expect_tx.b64", { "do not go together" } },
    /* the name keeps its order */
    { "mul.u32.lo", { "do not go together" } },
    { "bar.sync.cta", { "do not go together" } },
    { "barrier.cta.aligned.arrive", { "do not go together" } },
    { "bar.red.cta.popc.u32", { "do not go together" } },
    { "mbarrier.arrive_drop.shared.expect_tx.b64", { "do not go together" } },
    { "mbarrier.try_wait.shared.parity.b64", { "do not go together" } },
    { "cvta.global.to.u64", { "do not go together" } },
    /* and so do state spaces and layouts */
    { "cp.async.ca.global.shared", { "do not go together" } },
    { "mma.sync.aligned.m16n8k8.col.row.f32.f16.f16.f32", { "do not go together" } },
    { "cvt.u8.f32", { "wants a rounding mode", "cvt.rni.u8.f32" } },
};

int main(void)
{
    static cji_isa_form f;
    char text[400], tiny[8];
    tap_plan(0);
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        uint32_t form = cji_isa_find(found[i].spelling, strlen(found[i].spelling));
        tap_is_str(form != CJI_FORM_NONE && cji_isa_get(form, &f) ? f.text : "nothing", found[i].canonical, "%s",
                   found[i].spelling);
    }
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        size_t len = strlen(unknown[i].spelling);
        tap_is_uint(cji_isa_find(unknown[i].spelling, len), CJI_FORM_NONE, "'%s' is none", unknown[i].spelling);
        tap_is_int(cji_isa_explain(unknown[i].spelling, len, text, sizeof text), CJ_EUNKNOWN, "'%s' is unknown",
                   unknown[i].spelling);
        for (size_t k = 0; k < 3 && unknown[i].parts[k]; k++)
            tap_has_str(text, unknown[i].parts[k], "and is reported so");
    }
    cji_isa_explain("fma.f32", 7, tiny, sizeof tiny);
    tap_is_str(tiny, "no inst", "a short buffer is filled and ended");
    cji_isa_get(cji_isa_find("fma.rz.ftz.f32", 14), &f);
    tap_ok(cji_isa_has(&f, CJI_W_FTZ) && cji_isa_has(&f, CJI_W_RZ) && !cji_isa_has(&f, CJI_W_SAT),
           "a form knows its words");
    tap_is_uint(f.op, CJI_OP_FMA, "and its op");
    return tap_done();
}
