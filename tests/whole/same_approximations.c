/* The approximate instructions of f32, f16 and bf16 give a Hopper's bits: whole binades, and all patterns of 16 bits.
 *
 *     same_approximations                 the device of $CUJIT_DRIVER against tests/oracle/hopper_approximations.txt,
 *                                         a hash for every 61st operand of a binade
 *     CUJIT_TEST_ALL=1                    of the binades that are recorded whole, every operand
 *     same_approximations --hashes        prints what belongs into that file (on a Hopper)
 *     same_approximations --record FILE   writes the answers that tools/fit_mufu.py reads (on a Hopper)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cujit/cujit.h>

#include "tests/tap.h"

enum { BINADE = 1 << 23, STEP = 61, SAMPLE = (BINADE + STEP - 1) / STEP, HALVES = 1 << 16, LINE_SIZE = 119 };

/* The first operand of a range; results of `bits`. */
typedef struct range { const char *mnemonic; uint32_t first, step, count; unsigned bits; } range;

/* 2^e, negative where `minus` */
static uint32_t power(int e, bool minus) { return (uint32_t)(127 + e) << 23 | (uint32_t)minus << 31; }

/* What is recorded: every line begins "MNEMONIC FIRST STEP COUNT ". */
static const struct {
    const char *mnemonic;
    signed char from, to; /* binades */
    bool minus;
} binades[] = {
    { "rcp.approx.f32", 0, 0, false },       { "rcp.approx.ftz.f32", -126, -125, false },
    { "rcp.approx.f32", 125, 127, true },    { "rsqrt.approx.f32", 0, 1, false },
    { "rsqrt.approx.ftz.f32", 0, 1, false }, { "sqrt.approx.f32", 0, 1, false },
    { "sqrt.approx.ftz.f32", 0, 1, false },  { "lg2.approx.f32", -2, 2, false },
    { "lg2.approx.ftz.f32", 64, 64, false }, { "ex2.approx.f32", -3, 1, false },
    { "ex2.approx.ftz.f32", 6, 6, false },   { "ex2.approx.f32", -10, -10, false },
    { "ex2.approx.f32", 0, 0, true },        { "ex2.approx.f32", -2, -2, true },
    { "ex2.approx.f32", 6, 7, true },        { "sin.approx.f32", -2, 3, false },
    { "sin.approx.ftz.f32", -6, -6, false }, { "sin.approx.f32", 4, 30, true },
    { "cos.approx.f32", -2, 0, false },      { "cos.approx.ftz.f32", 1, 30, false },
    { "tanh.approx.f32", -12, 3, false },    { "rcp.approx.f32", -127, -127, false },
    { "rsqrt.approx.f32", -127, -127, false }, { "sqrt.approx.f32", -127, -127, false },
    { "lg2.approx.f32", -127, -127, false },
};
static const char *const halves[] = { "ex2.approx.f16", "tanh.approx.f16", "ex2.approx.ftz.bf16",
                                      "tanh.approx.bf16" };

/* What tools/fit_mufu.py wants. */
static const struct { const char *name, *mnemonic; signed char from, to; } records[] = {
    { "rcp", "rcp.approx.ftz.f32", 0, 0 },   { "rsqrt", "rsqrt.approx.ftz.f32", 0, 1 },
    { "sqrt", "sqrt.approx.ftz.f32", 0, 1 }, { "lg2", "lg2.approx.ftz.f32", 0, 0 },
    { "ex2", "ex2.approx.ftz.f32", 0, 0 },   { "sin", "sin.approx.ftz.f32", -1, 1 },
    { "tanh", "tanh.approx.f32", -8, 2 },
};

typedef struct machine { cj_driver *drv; cj_device *dev; cj_stream *s; cj_dptr out; uint32_t *host; } machine;

/* out[i] = mnemonic(first + i step) */
static cj_ptx *build(const range *x)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "apply");
    cj_val out = cj_param_ptr(f, "out", CJ_U32), first = cj_param(f, "first", CJ_U32);
    cj_val step = cj_param(f, "step", CJ_U32), n = cj_param(f, "n", CJ_U32), i = cj_global_id(f, CJ_X);
    cj_if(f, cj_lt(f, i, n));
    cj_val bits = cj_add(f, first, cj_mul(f, i, step));
    if (x->bits == 32) {
        cj_val a = cj_reg(f, CJ_F32);
        cj_ins(f, "mov.b32", a, bits);
        cj_val r = cj_def(f, x->mnemonic, a), u = cj_reg(f, CJ_B32);
        cj_ins(f, "mov.b32", u, r);
        cj_ins(f, "st.global.b32", cj_at(f, out, i), u);
    } else {
        cj_val a = cj_reg(f, CJ_B16), r = cj_reg(f, CJ_B16), u = cj_reg(f, CJ_U32);
        cj_ins(f, "cvt.u16.u32", a, bits);
        cj_ins(f, x->mnemonic, r, a);
        cj_ins(f, "cvt.u32.u16", u, r);
        cj_ins(f, "st.global.u32", cj_at(f, out, i), u);
    }
    cj_end(f);
    return m;
}

static void apply(machine *c, const range *x)
{
    cj_ptx *m = build(x);
    cj_kernel *k = cj_kernel_load(c->dev, m, "apply", NULL);
    cj_launch(c->s, k, cj_threads(x->count, 256), c->out, x->first, x->step, x->count);
    cj_copy_to_host(c->s, c->host, c->out, x->count * sizeof *c->host);
    if (cj_stream_sync(c->s)) tap_bail("%s", cj_error_of(c->s)->message);
    cj_kernel_free(k);
    cj_ptx_free(m);
}

/* "MNEMONIC FIRST STEP COUNT", then the hash */
static int title(const range *x, char line[LINE_SIZE])
{
    return snprintf(line, LINE_SIZE, "%s %08x %u %u ", x->mnemonic, (unsigned)x->first, (unsigned)x->step,
                    (unsigned)x->count);
}

static void describe(machine *c, const range *x, char line[LINE_SIZE])
{
    uint64_t h = 14695981039346656037u;
    apply(c, x);
    for (uint32_t i = 0; i < x->count; i++) h = (h ^ c->host[i]) * 0x100000001b3u, h ^= h >> 29;
    int n = title(x, line);
    snprintf(line + n, (size_t)(LINE_SIZE - n), "%016llx", (unsigned long long)h);
}

/* One range: printed, or compared where it is recorded; NULL prints. */
static void treat(machine *c, const range *x, const char *recorded)
{
    char line[LINE_SIZE + 1] = "\n"; /* "sqrt" is in "rsqrt" */
    if (recorded) {
        title(x, line + 1);
        if (!strstr(recorded, line)) return;
    }
    describe(c, x, line + 1);
    if (recorded) tap_ok(strstr(recorded, line) != NULL, "%s is a Hopper's", line + 1);
    else printf("%s\n", line + 1);
}

static void treat_all(machine *c, const char *recorded, bool whole)
{
    for (size_t i = 0; i < sizeof binades / sizeof *binades; i++)
        for (int e = binades[i].from; e <= binades[i].to; e++) {
            range x = { binades[i].mnemonic, power(e, binades[i].minus), STEP, SAMPLE, 32 };
            treat(c, &x, recorded);
            x.step = 1;
            x.count = BINADE;
            if (whole) treat(c, &x, recorded);
        }
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++)
        treat(c, &(range){ halves[i], 0, 1, HALVES, 16 }, recorded);
    /* from 3 on: a quadrant whose cosine is negative */
    treat(c, &(range){ "cos.approx.f32", 0x40400000, STEP, SAMPLE, 32 }, recorded);
}

static void write_block(FILE *out, const char *name, const machine *c, const range *x)
{
    char padded[8] = "";
    uint32_t head[3] = { x->first, x->step, x->count };
    memcpy(padded, name, strlen(name));
    fwrite(padded, sizeof padded, 1, out);
    fwrite(head, sizeof head, 1, out);
    fwrite(c->host, sizeof *c->host, x->count, out);
}

static int write_answers(machine *c, const char *path)
{
    FILE *out = fopen(path, "wb");
    if (!out) return perror(path), 1;
    for (size_t i = 0; i < sizeof records / sizeof *records; i++)
        for (int e = records[i].from; e <= records[i].to; e++) {
            range x = { records[i].mnemonic, power(e, false), 1, BINADE, 32 };
            apply(c, &x);
            write_block(out, records[i].name, c, &x);
        }
    return fclose(out) != 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    bool testing = argc == 1;
    if (testing) {
        tap_need_device(1);
        tap_plan(0);
        tap_timeout(getenv("CUJIT_TEST_ALL") ? 600 : 60);
    }
    machine c = { .drv = cj_driver_open(NULL) };
    c.dev = cj_device_open(c.drv, 0, NULL);
    c.s = cj_stream_create(c.dev, NULL);
    c.out = cj_alloc(c.s, BINADE * sizeof *c.host);
    c.host = malloc(BINADE * sizeof *c.host);
    char *recorded = tap_slurp(tap_source("tests/oracle/hopper_approximations.txt"), NULL);
    int status = 0;
    if (!c.host || (testing && !recorded)) tap_bail("no memory, or no tests/oracle/hopper_approximations.txt");
    if (!strcmp(mode, "--hashes")) {
        printf("# Results of %s for tests/whole/same_approximations.c\n", cj_device_name(c.dev));
        treat_all(&c, NULL, true);
    } else if (argc > 2) {
        status = write_answers(&c, argv[2]);
    } else {
        treat_all(&c, recorded, getenv("CUJIT_TEST_ALL") != NULL);
    }
    free(recorded);
    free(c.host);
    cj_free(c.dev, c.out);
    cj_stream_free(c.s);
    cj_device_close(c.dev);
    cj_driver_close(c.drv);
    return testing ? tap_done() : status;
}
