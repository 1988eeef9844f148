/* bench/sim: each form of the instruction table that computes a register from registers, alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cujit/ptx.h>

#include "bench/sim_bench.h"
#include "ptx/isa.h"
#include "ptx/isa_ids.h"

enum { OPERANDS = 4, THREADS = 256, BLOCKS = 4, COPIES = 64, SLOTS = CJ_TYPE_COUNT * OPERANDS };

static const double goal = 0.5e9;

/* -- Which forms --------------------------------------------------------------------------------------------------- */

static bool scalar(const cji_isa_form *f)
{
    if (f->effect != CJI_FX_PURE || f->nopnd < 2 || f->nopnd > OPERANDS + 1 || f->opnd[0].role != CJI_WRITE)
        return false;
    if (f->op == CJI_OP_MOV && !(f->opnd[1].kinds & 1u << CJI_K_REG)) return false;
    if (f->op == CJI_OP_MBARRIER_PENDING_COUNT) return false;    /* of an opaque object */
    for (unsigned i = 0; i < f->nopnd; i++) {
        const cji_isa_opnd *o = &f->opnd[i];
        bool reg = o->kinds & 1u << CJI_K_REG, imm = o->kinds & 1u << CJI_K_IMM;
        if (o->count || (i && o->role != CJI_READ) || (!reg && !imm)) return false;
        if (reg && (!(o->types & 1u << o->type) || cji_type_bits(o->type) > 64)) return false;
    }
    return true;
}

static bool runs_on_hopper(const cji_isa_form *f)
{
    int target = cji_target_find("sm_90", 5);
    return f->version <= 90 && (cji_target_set(f->targets) >> target & 1) &&
           !(f->end_version && (cji_target_set(f->end_targets) >> target & 1));
}

/* -- One form in a loop -------------------------------------------------------------------------------------------- */

/* Ordinary values: no NaN, no infinity, no subnormal, no zero. */
static uint64_t ordinary(unsigned t, unsigned j, unsigned thread)
{
    uint64_t n = thread * 7 + j * 3;
    switch (t) {
    case CJ_PRED: return thread & 1;
    case CJ_F16: return 0x3c00 + (n & 0x1ff);
    case CJ_BF16: return 0x3f80 + (n & 0x3f);
    case CJ_F16X2: return (0x3c00 + (n & 0x1ff)) * 0x10001;
    case CJ_BF16X2: return (0x3f80 + (n & 0x3f)) * 0x10001;
    case CJ_F32: return 0x3f800000 + (n << 12);
    case CJ_F64: return 0x3ff0000000000000 + (n << 40);
    default: return j ? n % 29 + 1 : n * 0x9e3779b97f4a7c15u | 1;
    }
}

static char *form_text(const cji_isa_form *x)
{
    cj_ptx *m = cj_ptx_create();
    cj_ptx_set_version(m, "9.0");
    cj_ptx_set_target(m, "sm_90");
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val in = cj_param_ptr(f, "in", CJ_U64);
    cj_val rounds = cj_param(f, "rounds", CJ_U32), left = cj_reg(f, CJ_U32), more = cj_reg(f, CJ_PRED);
    cj_val thread = cj_def_n(f, "mov.u32", (const cj_val[]){ cj_sreg(f, "%tid.x") }, 1);
    cj_val at = cj_def_n(f, "mad.wide.u32", (const cj_val[]){ thread, cj_imm_i(f, SLOTS * 8), in }, 3);
    cj_val v[OPERANDS + 1], none = { 0 };
    v[0] = cj_reg(f, (cj_type)x->opnd[0].type);
    for (unsigned j = 1; j < x->nopnd; j++) {
        const cji_isa_opnd *o = &x->opnd[j];
        if (!(o->kinds & 1u << CJI_K_REG)) {
            v[j] = cj_imm_i(f, o->lo <= o->hi ? o->lo + (o->hi - o->lo) * 5 / 8 : 3);
            continue;
        }
        cj_val bits = cj_def_n(f, "ld.global.u64",
                               (const cj_val[]){ cj_mem(f, at, (int64_t)(o->type * OPERANDS + j - 1) * 8) }, 1);
        if (o->type == CJ_PRED) v[j] = cj_def_n(f, "setp.ne.u64", (const cj_val[]){ bits, cj_imm_i(f, 0) }, 2);
        else {
            unsigned width = cji_type_bits(o->type);
            v[j] = cj_reg(f, (cj_type)o->type);
            cj_val part = width == 64 ? bits
                                      : cj_def_n(f, width == 32 ? "cvt.u32.u64" : "cvt.u16.u64", &bits, 1);
            if (width >= 16)
                cj_ins_n(f, width == 64 ? "mov.b64" : width == 32 ? "mov.b32" : "mov.b16",
                         (const cj_val[]){ v[j], part }, 2);
            else cj_ins_n(f, "cvt.u8.u16", (const cj_val[]){ v[j], part }, 2);
        }
    }
    cj_ins_n(f, "mov.u32", (const cj_val[]){ left, rounds }, 2);
    cj_val loop = cj_label(f);
    cj_label_bind(f, loop);
    for (int i = 0; i < COPIES; i++) cj_ins_form(f, x->form + 1, none, v, x->nopnd);
    cj_ins_n(f, "sub.u32", (const cj_val[]){ left, left, cj_imm_i(f, 1) }, 3);
    cj_ins_n(f, "setp.ne.u32", (const cj_val[]){ more, left, cj_imm_i(f, 0) }, 3);
    cj_ins_if_n(f, more, "bra", &loop, 1);
    cj_ins_n(f, "ret", NULL, 0);
    const char *text = NULL;
    size_t bytes = 0;
    char *copy = cj_ptx_print(m, 0, &text, &bytes) == CJ_OK ? strdup(text) : NULL;
    cj_ptx_free(m);
    return copy;
}

typedef struct form_run { const sim_bench *b; sim_bench_code code; CUdeviceptr in; uint32_t rounds; } form_run;

static void form_round(void *user)
{
    form_run *r = user;
    void *params[] = { &r->in, &r->rounds };
    sim_bench_launch(r->b, r->code.kernel, (const unsigned[]){ BLOCKS, 1 }, (const unsigned[]){ THREADS, 1 }, params);
}

/* Instructions a second; 0 when the device does not execute the form. */
static double form_rate(const sim_bench *b, CUdeviceptr in, const cji_isa_form *x)
{
    char log[2000], *text = form_text(x);
    form_run r = { .b = b, .in = in, .rounds = 1 };
    bool loads = text && sim_bench_load(b, text, "k", &r.code, log, sizeof log);
    if (!loads && b->all) fprintf(stderr, "sim: %s: %s\n", x->text, text ? log : "cannot be built");
    free(text);
    if (!loads) return 0;
    double t = sim_bench_cpu();
    form_round(&r);
    t = sim_bench_cpu() - t;
    double once = t > 1e-6 ? t : 1e-6, wanted = b->seconds / 20 / once;
    r.rounds = wanted > 1000 ? 1000 : wanted < 1 ? 1 : (uint32_t)wanted;
    t = sim_bench_best(&(sim_bench){ .seconds = 0 }, form_round, &r);
    b->cuModuleUnload(r.code.module);
    return (double)BLOCKS * THREADS * (COPIES + 3) * r.rounds / t;
}

/* The rate of the form's loop in C, with the threads' operands; 0: there is none. */
static double loop_rate(const sim_bench *b, const cji_isa_form *x)
{
    static uint64_t in[3][SIM_BENCH_LANES];
    for (unsigned j = 1; j <= 3; j++) {
        unsigned t = j < x->nopnd ? x->opnd[j].type : x->opnd[1].type, width = cji_type_bits(t) / 8;
        for (unsigned i = 0; i < SIM_BENCH_LANES; i++) {
            uint64_t v = ordinary(t, j - 1, i % THREADS);
            memcpy((char *)in[j - 1] + (size_t)i * width, &v, width);
        }
    }
    return sim_bench_loop(b, x->text, (const void *const[]){ in[0], in[1], in[2] });
}

/* A form's rate, and what part of its loop's in C it is. */
static void report_form(const sim_bench *b, const cji_isa_form *x, double rate, double in_c)
{
    sim_bench_report("form", x->text, "", rate * 1e-9, "G/s");
    if (!b->all && !in_c) in_c = loop_rate(b, x);
    if (in_c) sim_bench_report("form", x->text, "beside_c", rate / in_c, "ratio");
}

bool sim_bench_forms(const sim_bench *b)
{
    size_t bytes = (size_t)THREADS * SLOTS * 8, n = 0, slow = 0, missing = 0, beside = 0;
    uint64_t *values = malloc(bytes);
    CUdeviceptr in;
    if (!values) return fprintf(stderr, "sim: no memory\n"), false;
    for (unsigned i = 0; i < THREADS * SLOTS; i++)
        values[i] = ordinary(i % SLOTS / OPERANDS, i % OPERANDS, i / SLOTS);
    sim_bench_check(b->cuMemAlloc_v2(&in, bytes), "cuMemAlloc");
    sim_bench_check(b->cuMemcpyHtoD_v2(in, values, bytes), "cuMemcpyHtoD");
    free(values);
    cji_isa_form x, slowest = { 0 };
    double least = 0;
    for (uint32_t i = 0; i < cji_isa_forms(); i++) {
        if (!cji_isa_get(i, &x) || (b->only && strncmp(x.text, b->only, strlen(b->only)))) continue;
        if (!scalar(&x) || !runs_on_hopper(&x)) continue;
        double rate = form_rate(b, in, &x);
        if (!rate) {
            missing++;
            continue;
        }
        n++;
        slow += rate < goal;
        double in_c = loop_rate(b, &x);
        beside += in_c > 0;
        if (b->all) report_form(b, &x, rate, in_c);
        else if (least && slowest.op == x.op && rate >= least) continue;
        else {
            if (least && slowest.op != x.op) report_form(b, &slowest, least, 0);
            slowest = x;
            least = rate;
        }
    }
    if (least) report_form(b, &slowest, least, 0);
    sim_bench_report("forms", "", "measured", (double)n, "forms");
    sim_bench_report("forms", "", "below_half_g", (double)slow, "forms");
    sim_bench_report("forms", "", "not_executed", (double)missing, "forms");
    sim_bench_report("forms", "", "beside_c", (double)beside, "forms");
    b->cuMemFree_v2(in);
    if (!b->only && beside != sim_bench_loops())
        return fprintf(stderr, "sim: %zu loops in C have no form\n", sim_bench_loops() - beside), false;
    return n > 0;
}
