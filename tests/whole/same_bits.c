/* Both devices give the same bits: each form of the instruction table that computes a register from registers, and
 * chains of instructions that carry, are run on many values, and the results compared with those of a Hopper. The first
 * RANDOM lanes have any values (rounding, NaN, overflow and all), the others values at the edges (same_bits_edges.h).
 *
 *     same_bits                     the device of $CUJIT_DRIVER against tests/oracle/hopper_bits.txt (two
 *                                   hashes a form); on a GPU also lane by lane against the CPU device
 *     same_bits --record FILE       writes that file from the device of $CUJIT_DRIVER (a Hopper)
 *     CUJIT_TEST_ALL=1              every form, not every 16th
 *
 * Approximations (.approx, .full) have bounds instead of bits and are not compared.  What the CPU device does not
 * execute yet is counted: it refuses such a module at load.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/isa.h"
#include "ptx/isa_ids.h"

#include <cujit/cujit.h>

#include "tests/tap.h"
#include "tests/whole/same_bits_edges.h"

enum { RANDOM = 256, EDGES = 768, LANES = RANDOM + EDGES, BATCH = 64, OPERANDS = 4 };

typedef struct subject {
    cji_isa_form form;
    unsigned chain;                  /* not 0: no form but this chain of carries */
    char key[CJI_ISA_SPELLING + 24]; /* spelling, and which of the rows that share it */
    uint64_t hash[2];                /* of the results of the random lanes, of those at the edges */
    uint64_t recorded[2];            /* 0: not recorded */
    bool refused;                    /* the device does not execute it (yet) */
} subject;

static subject *subjects;
static size_t nsubjects;

/* -- Which forms --------------------------------------------------------------------------------------------------- */

static bool plain_type(unsigned t)
{
    return t != CJ_VOID && t != CJ_B128 && cji_type_bits(t) >= 8 && t != CJ_B8 && t != CJ_U8 && t != CJ_S8;
}

static bool comparable(const cji_isa_form *f)
{
    if (f->effect != CJI_FX_PURE || f->nopnd < 2 || f->nopnd > OPERANDS + 1 || f->opnd[0].role != CJI_WRITE)
        return false;
    /* rsqrt.approx.f64 is a Newton step of ours as of theirs; the seed is an approximation, the result hardly ever */
    bool rsqrt64 = f->op == CJI_OP_RSQRT && cji_isa_has(f, CJI_W_F64) && !cji_isa_has(f, CJI_W_FTZ);
    if ((cji_isa_has(f, CJI_W_APPROX) && !rsqrt64) || cji_isa_has(f, CJI_W_FULL)) return false;
    if (f->op == CJI_OP_MOV && f->nopnd == 2 && !(f->opnd[1].kinds & 1u << CJI_K_REG)) return false;
    if (f->op == CJI_OP_CVTA || f->op == CJI_OP_ISSPACEP || f->op == CJI_OP_MBARRIER_PENDING_COUNT ||
        f->op == CJI_OP_CREATEPOLICY_FRACTIONAL || f->op == CJI_OP_CREATEPOLICY_CVT)
        return false; /* addresses and opaque objects differ from device to device */
    /* of NaN: the compiler's own, the manual does not say */
    if (cji_isa_has(f, CJI_W_RNA) && cji_isa_has(f, CJI_W_SATFINITE)) return false;
    for (unsigned i = 0; i < f->nopnd; i++) {
        const cji_isa_opnd *o = &f->opnd[i];
        bool reg = o->kinds & 1u << CJI_K_REG, imm = o->kinds & 1u << CJI_K_IMM;
        if (o->count || (i && o->role != CJI_READ) || (!reg && !imm)) return false;
        if (reg && o->type != CJ_PRED && !plain_type(o->type)) return false;
        if (reg && !(o->types & 1u << o->type)) return false;
    }
    return true;
}

/* Forms that the device of this PTX version and target runs: a Hopper's. */
static bool runs_on_hopper(const cji_isa_form *f)
{
    int target = cji_target_find("sm_90", 5);
    return f->version <= 90 && (cji_target_set(f->targets) >> target & 1) &&
           !(f->end_version && (cji_target_set(f->end_targets) >> target & 1));
}

static void choose_forms(bool all)
{
    uint32_t n = cji_isa_forms();
    subjects = calloc(n + CHAINS, sizeof *subjects);
    if (!subjects) tap_bail("no memory");
    for (unsigned i = 0; i < CHAINS; i++) {
        subject *s = &subjects[nsubjects++];
        s->chain = i + 1;
        s->form.nopnd = OPERANDS;
        s->form.opnd[0].type = s->form.opnd[1].type = s->form.opnd[2].type = s->form.opnd[3].type = CJ_U64;
        snprintf(s->key, sizeof s->key, "chain/%u", i);
    }
    for (uint32_t i = 0; i < n; i++) {
        subject *s = &subjects[nsubjects];
        unsigned same = 0;
        if ((!all && i % 16) || !cji_isa_get(i, &s->form) || !comparable(&s->form) || !runs_on_hopper(&s->form))
            continue;
        for (uint32_t k = cji_isa_find(s->form.text, s->form.len); k != i && k != CJI_FORM_NONE; same++) {
            cji_isa_form other;
            cji_isa_get(k, &other);
            k = other.next;
        }
        snprintf(s->key, sizeof s->key, same ? "%s/%u" : "%s", s->form.text, same);
        nsubjects++;
    }
}

/* -- Values -------------------------------------------------------------------------------------------------------- */

static const uint64_t f32_values[] = { 0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
                                       0x7fc00000, 0x7f800001, 0xffc12345, 1,          0x80000001, 0x7fffff,
                                       0x800000,   0x7f7fffff, 0xff7fffff, 0x3f000000, 0x40490fdb, 0x4f000000,
                                       0xcf000000, 0x5f000000, 0x4b800001, 0x3effffff, 0x43008000, 0x47800000,
                                       0x477fe000, 0x477ff000, 0x33000000, 0x387fc000, 0x42feffff, 0xc3000000 };
static const uint64_t f64_values[] = { 0,
                                       0x8000000000000000,
                                       0x3ff0000000000000,
                                       0xbff0000000000000,
                                       0x7ff0000000000000,
                                       0xfff0000000000000,
                                       0x7ff8000000000000,
                                       0x7ff0000000000001,
                                       0xfff8123456789abc,
                                       1,
                                       0x8000000000000001,
                                       0xfffffffffffff,
                                       0x10000000000000,
                                       0x7fefffffffffffff,
                                       0xffefffffffffffff,
                                       0x3fe0000000000000,
                                       0x400921fb54442d18,
                                       0x41e0000000000000,
                                       0xc1e0000000000000,
                                       0x43e0000000000000,
                                       0xc3e0000000000000,
                                       0x3ff0000010000000,
                                       0x47efffffe0000000,
                                       0x47effffff0000000,
                                       0x3690000000000000,
                                       0x380fffffc0000000 };
static const uint64_t f16_values[] = { 0,      0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00,
                                       0x7c01, 1,      0x8001, 0x3ff,  0x400,  0x7bff, 0xfbff,
                                       0x3800, 0x3f80, 0x7f80, 0x7f81, 0x7f,   0x80,   0x7f7f };
static const uint64_t int_values[] = { 0,
                                       1,
                                       2,
                                       3,
                                       7,
                                       31,
                                       32,
                                       33,
                                       63,
                                       64,
                                       0x7f,
                                       0x80,
                                       0xff,
                                       0x7fff,
                                       0x8000,
                                       0xffff,
                                       0x7fffffff,
                                       0x80000000,
                                       0xffffffff,
                                       0x7fffffffffffffff,
                                       0x8000000000000000,
                                       0xffffffffffffffff,
                                       0xfffffffffffffffe,
                                       0x123456789abcdef0 };

static uint64_t pick(const uint64_t *v, size_t n, uint64_t h) { return v[h % n]; }
#define PICK(v, h) pick(v, sizeof(v) / sizeof *(v), h)

/* Lane `lane`'s value for operand `j` of type `t`. */
static uint64_t value(unsigned t, unsigned j, unsigned lane)
{
    if (lane >= RANDOM) return edge_value(t, j, lane - RANDOM);
    uint64_t h = edge_mix(((uint64_t)t << 32 | j << 16 | lane) + 0x9e3779b97f4a7c15u), r = edge_mix(h);
    if (j && lane % 8 == 3) return value(t, 0, lane); /* equal operands */
    unsigned mode = h >> 60 & 3;
    switch (t) {
    case CJ_PRED: return h >> 5 & 1;
    case CJ_F32:
        if (mode == 0) return PICK(f32_values, r);
        if (mode == 1) return r & 0xffffffff;
        if (mode == 2) return (r & 0x807fffff) | (uint64_t)(120 + (r >> 32) % 16) << 23;
        return (r & 0x80000000) | (uint64_t)(127 + (r >> 32) % 34) << 23 | (r & 0x7f0000);
    case CJ_F64:
        if (mode == 0) return PICK(f64_values, r);
        if (mode == 1) return r;
        return (r & 0x800fffffffffffff) | (uint64_t)(1016 + edge_mix(r) % (mode == 2 ? 16 : 64)) << 52;
    case CJ_F16: case CJ_BF16: return mode == 0 ? PICK(f16_values, r) : r & 0xffff;
    case CJ_F16X2:
    case CJ_BF16X2: return (mode == 0 ? PICK(f16_values, r) | PICK(f16_values, r >> 32) << 16 : r & 0xffffffff);
    default:
        if (mode == 0) return PICK(int_values, r);
        if (mode == 1) return r % 64;
        return r;
    }
}

/* -- One batch of forms as a kernel -------------------------------------------------------------------------------- */

static cj_val inputs[CJ_TYPE_COUNT][OPERANDS];

static cj_val input(cj_fn *f, cj_val in, cj_val lane, unsigned t, unsigned j)
{
    if (!inputs[t][j].bits) {
        cj_val slot =
            cj_add(f, cj_mul(f, lane, cj_imm(f, (unsigned)(CJ_TYPE_COUNT * OPERANDS))), cj_imm(f, t * OPERANDS + j));
        cj_val place = cj_at(f, in, slot);
        if (t == CJ_PRED) inputs[t][j] = cj_ne(f, cj_load(f, CJ_U32, place), cj_imm(f, 0));
        else inputs[t][j] = cj_load(f, (cj_type)t, place);
    }
    return inputs[t][j];
}

/* A chain: each result in a register of its own, so that nothing comes between two instructions; then all of them in
 * one number. */
static cj_val build_chain(cj_fn *f, unsigned chain, cj_val in, cj_val lane)
{
    chain_step step[CHAIN_STEPS];
    unsigned n = chain_steps(chain, step);
    cj_val d[CHAIN_STEPS], none = { 0 }, all = cj_let(f, CJ_U64, cj_imm(f, 0));
    for (unsigned i = 0; i < n; i++) {
        cj_type t = step[i].wide ? CJ_U64 : CJ_U32;
        for (unsigned j = 0; j < 3; j++) input(f, in, lane, t, j);
        d[i] = cj_reg(f, t);
    }
    for (unsigned i = 0; i < n; i++) {
        cj_type t = step[i].wide ? CJ_U64 : CJ_U32;
        cj_val v[] = { d[i], inputs[t][step[i].a], inputs[t][step[i].b], inputs[t][step[i].c] };
        cj_ins_form(f, cji_isa_find(step[i].text, strlen(step[i].text)) + 1, none, v, step[i].mad ? 4 : 3);
    }
    for (unsigned i = 0; i < n; i++)
        all = cj_add(f, cj_mul(f, all, cj_imm(f, 0x1000003)), step[i].wide ? d[i] : cj_cvt(f, CJ_U64, d[i]));
    return all;
}

static cj_ptx *build(const subject *s, size_t n)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "forms");
    cj_val in = cj_param_ptr(f, "in", CJ_U64), out = cj_param_ptr(f, "out", CJ_U64), lane = cj_global_id(f, CJ_X);
    memset(inputs, 0, sizeof inputs);
    for (size_t i = 0; i < n; i++) {
        const cji_isa_form *x = &s[i].form;
        if (s[i].chain) {
            cj_val place = cj_at(f, out, cj_add(f, lane, cj_imm(f, (unsigned)(i * LANES))));
            cj_store(f, CJ_U64, place, build_chain(f, s[i].chain, in, lane));
            continue;
        }
        cj_val v[OPERANDS], none = { 0 };
        bool divides = (x->op == CJI_OP_DIV || x->op == CJI_OP_REM) && !cji_type_is_float(x->opnd[0].type);
        for (unsigned j = 1; j < x->nopnd; j++) {
            const cji_isa_opnd *o = &x->opnd[j];
            if (!(o->kinds & 1u << CJI_K_REG))
                v[j - 1] = cj_imm_i(f, o->lo <= o->hi ? o->lo + (o->hi - o->lo) * 5 / 8 : 3);
            else v[j - 1] = input(f, in, lane, o->type, j - 1);
            if (divides && j == 2) v[1] = cj_or(f, v[1], cj_imm(f, 1)); /* x / 0 is not specified */
        }
        cj_val d = cj_reg(f, (cj_type)x->opnd[0].type), all[OPERANDS + 1] = { d };
        memcpy(all + 1, v, (x->nopnd - 1u) * sizeof *v);
        cj_ins_form(f, x->form + 1, none, all, x->nopnd);
        cj_val place = cj_at(f, out, cj_add(f, lane, cj_imm(f, (unsigned)(i * LANES))));
        if (x->opnd[0].type == CJ_PRED)
            cj_store(f, CJ_U32, place,
                     cj_select(f, d, cj_let(f, CJ_U32, cj_imm(f, 1)), cj_let(f, CJ_U32, cj_imm(f, 0))));
        else cj_store(f, (cj_type)x->opnd[0].type, place, d);
    }
    return m;
}

typedef struct machine { cj_driver *drv; cj_device *dev; cj_stream *s; cj_dptr in, out; uint64_t *host; } machine;

static void open_machine(machine *c, const char *which)
{
    size_t in = (size_t)LANES * CJ_TYPE_COUNT * OPERANDS, out = (size_t)LANES * BATCH;
    c->drv = cj_driver_open(which);
    c->dev = cj_device_open(c->drv, 0, NULL);
    c->s = cj_stream_create(c->dev, NULL);
    c->host = cj_host_alloc(c->dev, (in > out ? in : out) * 8, NULL);
    if (!c->host) tap_bail("%s", cj_error_of(c->dev)->message);
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned t = 0; t < CJ_TYPE_COUNT; t++)
            for (unsigned j = 0; j < OPERANDS; j++)
                c->host[(lane * CJ_TYPE_COUNT + t) * OPERANDS + j] = value(t, j, lane);
    c->in = cj_alloc(c->s, in * 8);
    c->out = cj_alloc(c->s, out * 8);
    cj_copy_to_device(c->s, c->in, c->host, in * 8);
    if (cj_stream_sync(c->s)) tap_bail("%s", cj_error_of(c->s)->message);
}

static void close_machine(machine *c)
{
    cj_free(c->dev, c->in);
    cj_free(c->dev, c->out);
    cj_host_free(c->dev, c->host);
    cj_stream_free(c->s);
    cj_device_close(c->dev);
    cj_driver_close(c->drv);
}

/* Runs `n` forms; c->host holds their results. False with a diagnosis when the device refuses them. */
static bool run(machine *c, const subject *s, size_t n, char *why, size_t size)
{
    cj_ptx *m = build(s, n);
    cj_kernel *k = cj_kernel_load(c->dev, m, "forms", NULL);
    cj_fill32(c->s, c->out, 0, (size_t)LANES * BATCH * 2);
    cj_launch(c->s, k, cj_grid(LANES / 256, 256), c->in, c->out);
    cj_copy_to_host(c->s, c->host, c->out, (size_t)LANES * n * 8);
    bool ok = cj_stream_sync(c->s) == CJ_OK;
    if (!ok) snprintf(why, size, "%s", cj_error_of(c->s)->message);
    cj_kernel_free(k);
    cj_ptx_free(m);
    return ok;
}

static uint64_t hash_results(const uint64_t *v, unsigned n)
{
    uint64_t h = 14695981039346656037u;
    for (unsigned i = 0; i < n; i++) h = edge_mix(h ^ v[i]) + i;
    return h ? h : 1;
}

/* -- The record ---------------------------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b) { return strcmp(((const subject *)a)->key, ((const subject *)b)->key); }

static void read_record(void)
{
    char *text = tap_slurp(tap_source("tests/oracle/hopper_bits.txt"), NULL), *line;
    if (!text) return;
    for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        subject key = { .chain = 0 }, *s;
        char *space = strchr(line, ' ');
        if (*line == '#' || !space) continue;
        snprintf(key.key, sizeof key.key, "%.*s", (int)(space - line), line);
        if (!(s = bsearch(&key, subjects, nsubjects, sizeof *subjects, by_key))) continue;
        s->recorded[0] = strtoull(space, &space, 16);
        s->recorded[1] = strtoull(space, NULL, 16);
    }
    free(text);
}

static int record(const char *path, const machine *c)
{
    FILE *out = fopen(path, "w");
    if (!out) return perror(path), 1;
    fprintf(out, "# Results of %s (driver %d) for tests/whole/same_bits.c: spelling, hash of %d random lanes,"
                 " of %d at the edges.\n",
            cj_device_name(c->dev), cj_driver_version(c->drv), RANDOM, EDGES);
    for (size_t i = 0; i < nsubjects; i++)
        if (!subjects[i].refused)
            fprintf(out, "%s %016llx %016llx\n", subjects[i].key, (unsigned long long)subjects[i].hash[0],
                    (unsigned long long)subjects[i].hash[1]);
    return fclose(out) != 0;
}

/* -- Running everything -------------------------------------------------------------------------------------------- */

static size_t differing;

static void compare_lanes(const subject *s, const uint64_t *gpu, const uint64_t *cpu)
{
    differing += memcmp(gpu, cpu, LANES * sizeof *gpu) != 0;
    for (unsigned lane = 0, shown = 0; lane < LANES && shown < 4 && differing < 80; lane++) {
        if (gpu[lane] == cpu[lane]) continue;
        shown++;
        char text[300];
        int n = snprintf(text, sizeof text, "%s: GPU %llx, CPU device %llx from", s->key, (unsigned long long)gpu[lane],
                         (unsigned long long)cpu[lane]);
        for (unsigned j = 1; j < s->form.nopnd; j++)
            n += snprintf(text + n, sizeof text - (size_t)n, " %llx",
                          (unsigned long long)value(s->form.opnd[j].type, j - 1, lane));
        tap_diag("%s", text);
    }
}

static void run_batch(machine *c, machine *cpu, subject *s, size_t n)
{
    char why[600];
    if (!run(c, s, n, why, sizeof why)) {
        if (n == 1) {
            s->refused = true;
            tap_diag("%s: %s", s->key, why);
            return;
        }
        run_batch(c, cpu, s, n / 2);
        run_batch(c, cpu, s + n / 2, n - n / 2);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        s[i].hash[0] = hash_results(c->host + i * LANES, RANDOM);
        s[i].hash[1] = hash_results(c->host + i * LANES + RANDOM, EDGES);
    }
    if (!cpu) return;
    if (run(cpu, s, n, why, sizeof why)) {
        for (size_t i = 0; i < n; i++) compare_lanes(&s[i], c->host + i * LANES, cpu->host + i * LANES);
    } else if (n == 1) {
        s->refused = true;
        tap_diag("%s: %s", s->key, why);
    } else {
        run_batch(c, cpu, s, n / 2);
        run_batch(c, cpu, s + n / 2, n - n / 2);
    }
}

int main(int argc, char **argv)
{
    bool recording = argc > 2 && !strcmp(argv[1], "--record");
    machine c, cpu;
    if (!recording) {
        tap_need_device(1);
        tap_plan(0);
        tap_timeout(120);
    }
    choose_forms(recording || getenv("CUJIT_TEST_ALL"));
    qsort(subjects, nsubjects, sizeof *subjects, by_key);
    open_machine(&c, NULL);
    bool both = !recording && tap_on_gpu();
    if (both) open_machine(&cpu, "sim");
    for (size_t i = 0; i < nsubjects; i += BATCH)
        run_batch(&c, both ? &cpu : NULL, subjects + i, nsubjects - i < BATCH ? nsubjects - i : BATCH);
    int status = 0;
    if (recording) {
        status = record(argv[2], &c);
    } else {
        size_t compared = 0, at_edges = 0, wrong = 0, refused = 0, forms = nsubjects - CHAINS;
        read_record();
        for (size_t i = 0; i < nsubjects; i++) {
            subject *s = &subjects[i];
            refused += s->refused;
            if (s->refused) continue;
            compared += s->recorded[0] && !s->chain;
            at_edges += s->recorded[1] != 0;
            for (unsigned e = 0; e < 2; e++)
                if (s->recorded[e] && s->hash[e] != s->recorded[e] && wrong++ < 40)
                    tap_diag("%s differs from the Hopper's%s", s->key, e ? ", at the edges" : "");
        }
        tap_ok(nsubjects > 50, "the table has %zu forms to compare here", nsubjects);
        tap_ok(refused * 100 <= nsubjects, "%zu of them are not executed here", refused);
        tap_ok((compared + refused) * 100 >= forms * 99, "%zu of them are recorded", compared);
        tap_ok((at_edges + refused) * 100 >= nsubjects * 99, "%zu at the edges, and chains", at_edges);
        tap_is_int((int64_t)wrong, 0, "and give the recorded bits");
        if (both) tap_is_int((int64_t)differing, 0, "and the CPU device's, lane by lane");
    }
    if (both) close_machine(&cpu);
    close_machine(&c);
    free(subjects);
    return recording ? status : tap_done();
}
