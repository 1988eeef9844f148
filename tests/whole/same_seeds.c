/* The f64 approximations rsqrt.approx{.ftz}.f64 and rcp.approx.ftz.f64 give a Hopper's bits: for every upper word in
 * [1, 4) or [1, 2), and for operands of every kind.
 *
 *     same_seeds                  the device of $CUJIT_DRIVER against tests/oracle/hopper_seeds.txt, a hash a table
 *     same_seeds --hashes         prints what belongs into that file (on a Hopper)
 *     same_seeds --record FILE    writes the upper words of the .ftz forms, for tools/fit_seeds.py
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cujit/cujit.h>

#include "tests/tap.h"

enum { PART = 1 << 20, MIXED = 1 << 18, LINE = 100 };

typedef struct table { const char *mnemonic; uint32_t first, count; } table;

/* Words of one launch each; the last takes operands of every kind. */
static const table tables[] = {
    { "rsqrt.approx.ftz.f64", 0x3ff00000, 2 * PART },
    { "rcp.approx.ftz.f64", 0x3ff00000, PART },
    { "rsqrt.approx.f64", 0, MIXED },
    { "rsqrt.approx.ftz.f64", 0, MIXED },
    { "rcp.approx.ftz.f64", 0, MIXED },
};
enum { TABLES = sizeof tables / sizeof *tables, FIRST_MIXED = 2 };

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Random bits, zeros, infinities, NaN, subnormals, numbers near powers of two and near one. */
static uint64_t operand(uint32_t i)
{
    static const uint64_t special[] = { 0, 0x7ff0000000000000, 0x7ff0000000000001, 0x7ff8000000000123, 1,
                                        0x000fffffffffffff, 0x0010000000000000, 0x7fefffffffffffff,
                                        0x7fd0000000000000, 0x7fd0000000000001 };
    uint64_t r = mix(i + 0x9e3779b97f4a7c15u), sign = r >> 63 << 63;
    if (i < 2 * sizeof special / sizeof *special) return special[i / 2] | (uint64_t)(i & 1) << 63;
    switch (i % 8) {
    case 0: return r & 0x000fffffffffffff;
    case 1: return sign | (r & 0x000fffffffffffff) >> (mix(r) % 52);
    case 2: return mix(r) << 52 & 0x7ff0000000000000;
    case 3: return (r & 0x000fffffffffffff) | (uint64_t)(1021 + i / 8 % 4) << 52;
    case 4: return (r & 0x000fffffffffffff) | (uint64_t)(2043 + i / 8 % 4) << 52;
    case 5: return r;
    default: return r & INT64_MAX;
    }
}

static uint64_t input_of(const table *t, uint32_t i)
{
    return t->first ? (uint64_t)(t->first + i) << 32 : operand(i);
}

/* out[i] = mnemonic(in[i]) */
static cj_ptx *build(const char *mnemonic)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "apply");
    cj_val in = cj_param_ptr(f, "in", CJ_F64), out = cj_param_ptr(f, "out", CJ_F64), n = cj_param(f, "n", CJ_U32);
    cj_val i = cj_global_id(f, CJ_X);
    cj_if(f, cj_lt(f, i, n));
    cj_set(f, out, i, cj_def(f, mnemonic, cj_get(f, in, i)));
    cj_end(f);
    return m;
}

/* Replaces v[0..n) by the results. */
static void apply(cj_device *dev, cj_stream *s, const table *t, uint64_t *v)
{
    cj_ptx *m = build(t->mnemonic);
    cj_kernel *k = cj_kernel_load(dev, m, "apply", NULL);
    cj_dptr in = cj_alloc(s, t->count * sizeof *v), out = cj_alloc(s, t->count * sizeof *v);
    for (uint32_t i = 0; i < t->count; i++) v[i] = input_of(t, i);
    cj_copy_to_device(s, in, v, t->count * sizeof *v);
    cj_launch(s, k, cj_threads(t->count, 256), in, out, t->count);
    cj_copy_to_host(s, v, out, t->count * sizeof *v);
    if (cj_stream_sync(s)) tap_bail("%s", cj_error_of(s)->message);
    cj_free(dev, in);
    cj_free(dev, out);
    cj_kernel_free(k);
    cj_ptx_free(m);
}

static uint64_t hash_of(const uint64_t *v, uint32_t n)
{
    uint64_t h = 14695981039346656037u;
    for (uint32_t i = 0; i < n; i++) h = mix(h ^ v[i]) + i;
    return h;
}

/* "MNEMONIC COUNT HASH" */
static void describe(const table *t, const uint64_t *v, char line[LINE])
{
    snprintf(line, LINE, "%s %u %016llx", t->mnemonic, (unsigned)t->count, (unsigned long long)hash_of(v, t->count));
}

static int write_words(const char *path, cj_device *dev, cj_stream *s, uint64_t *v)
{
    FILE *out = fopen(path, "wb");
    if (!out) return perror(path), 1;
    for (int t = 0; t < FIRST_MIXED; t++) {
        apply(dev, s, &tables[t], v);
        for (uint32_t i = 0; i < tables[t].count; i++) {
            uint32_t upper = (uint32_t)(v[i] >> 32);
            fwrite(&upper, sizeof upper, 1, out);
        }
    }
    return fclose(out) != 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    bool hashes = !strcmp(mode, "--hashes"), testing = argc == 1;
    if (testing) {
        tap_need_device(1);
        tap_plan(TABLES);
        tap_timeout(60);
    }
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    uint64_t *v = malloc(2 * PART * sizeof *v);
    char *recorded = tap_slurp(tap_source("tests/oracle/hopper_seeds.txt"), NULL);
    int status = 0;
    if (!v || (testing && !recorded)) tap_bail("no memory, or no tests/oracle/hopper_seeds.txt");
    if (hashes) printf("# Results of %s for tests/whole/same_seeds.c\n", cj_device_name(dev));
    if (argc > 2) status = write_words(argv[2], dev, s, v);
    for (int t = 0; t < TABLES && (testing || hashes); t++) {
        char line[LINE];
        apply(dev, s, &tables[t], v);
        describe(&tables[t], v, line);
        if (hashes) printf("%s\n", line);
        else tap_ok(strstr(recorded, line) != NULL, "%s is a Hopper's", line);
    }
    free(recorded);
    free(v);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return status;
}
