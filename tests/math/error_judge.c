/* The judge of tests/math/check_math finds errors that are put into results, and lists the worst; its operands are all
 * that there are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/math/error_passes.h"
#include "tests/tap.h"

static error_bench b;

static uint64_t bits64(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static uint32_t bits32(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

/* ---- Results beside what is wanted ---- */

/* What is judged: a result, what is wanted, and what the judge has to find. */
static const struct verdict {
    const char *name;
    cj_type type;
    error_unit unit;
    double x, got, want, low;
    uint64_t distance, wrong;
    double real;              /* the error; NAN: not looked at */
} verdicts[] = {
    { "the nearest float", CJ_F32, ERROR_ULP, 1, 0x1.000002p0, 0x1.0000021p0, 0, 0, 0, 0x1p-5 },
    { "the next float", CJ_F32, ERROR_ULP, 1, 0x1.000002p0, 0x1.0000004p0, 0, 1, 0, 0.875 },
    { "two floats off", CJ_F32, ERROR_ULP, 1, 0x1.000004p0, 1, 0, 2, 0, 2 },
    { "below a power of two", CJ_F32, ERROR_ULP, 1, 0x1.fffffep-1, 1, 0, 1, 0, 0.5 },
    { "across zero", CJ_F32, ERROR_ULP, 1, -0x1p-149, 0x1p-149, 0, 2, 0, 2 },
    { "subnormal floats", CJ_F32, ERROR_ULP, 1, 0x1.8p-148, 0x1p-149, 0, 2, 0, 2 },
    { "infinite, but the largest float is wanted", CJ_F32, ERROR_ULP, 1, INFINITY, 0x1.fffffep127, 0, 1, 0, 1 },
    { "infinite, as what overflows", CJ_F32, ERROR_ULP, 1, INFINITY, 0x1p128, 0, 0, 0, 0 },
    { "infinite, of the wrong sign", CJ_F32, ERROR_ULP, 1, -INFINITY, INFINITY, 0, 0, 1, 0 },
    { "the wrong zero", CJ_F32, ERROR_ULP, 1, -0.0, 0.0, 0, 0, 1, 0 },
    { "the right zero", CJ_F32, ERROR_ULP, 1, -0.0, -0.0, 0, 0, 0, 0 },
    { "a zero for what underflows", CJ_F32, ERROR_ULP, 1, 0.0, 0x1p-160, 0, 0, 0, 0 },
    { "a number for NaN", CJ_F32, ERROR_ULP, 1, 1, NAN, 0, 0, 1, 0 },
    { "NaN for a number", CJ_F32, ERROR_ULP, 1, NAN, 1, 0, 0, 1, 0 },
    { "NaN for NaN", CJ_F32, ERROR_ULP, 1, NAN, NAN, 0, 0, 0, 0 },
    { "outside the interval", CJ_F32, ERROR_ULP, 100, 1, 2, 0, 0, 0, 0 },
    { "outside the interval, NaN", CJ_F32, ERROR_ULP, NAN, 1, NAN, 0, 0, 0, 0 },
    { "in the part that is left out", CJ_F32, ERROR_ULP, 7, 1, 2, 0, 0, 0, 0 },
    { "too small a result", CJ_F32, ERROR_ULP, -1, 1, 0x1p-20, 0, 0, 0, 0 },
    { "as small, but of a positive operand", CJ_F32, ERROR_ULP, 1, 0x1p-20, 0x1.00004p-20, 0, 32, 0, 32 },
    { "absolute, of a small result", CJ_F32, ERROR_ABSOLUTE, 1, 0.25, 0.2500001, 0, 0, 0, 1e-7 },
    { "absolute, of a large result", CJ_F32, ERROR_ABSOLUTE, 1, 4, 4.0000004, 0, 0, 0, 1e-7 },
    { "relative", CJ_F32, ERROR_RELATIVE, 1, 0.25, 0.2500001, 0, 0, 0, 4e-7 },
    { "absolute, and infinite", CJ_F32, ERROR_ABSOLUTE, 1, INFINITY, 1, 0, 0, 1, 0 },
    { "absolute: zeros have no sign", CJ_F32, ERROR_ABSOLUTE, 1, -0.0, 0, 0, 0, 0, 0 },
    { "the nearest double", CJ_F64, ERROR_ULP, 1, 1, 1, 0x1p-54, 0, 0, 0.25 },
    { "the next double", CJ_F64, ERROR_ULP, 1, 0x1.0000000000001p0, 1, 0x1p-54, 1, 0, 0.75 },
    { "subnormal doubles", CJ_F64, ERROR_ULP, 1, 0x1.8p-1073, 0x1p-1074, 0, 2, 0, 2 },
    { "small doubles", CJ_F64, ERROR_ULP, 1, 0x1.0000000000002p-1000, 0x1p-1000, 0, 2, 0, 2 },
    { "a double of the wrong sign", CJ_F64, ERROR_ULP, 1, 0.0, -0.0, 0, 0, 1, 0 },
    { "relative, with what double has lost", CJ_F64, ERROR_RELATIVE, 1, 1, 1, 0x1p-60, 0, 0, 0x1p-60 },
    { "the same whole number", CJ_F32, ERROR_EQUAL, 1, 7, 7, 0, 0, 0, 0 },
    { "another whole number", CJ_F32, ERROR_EQUAL, 1, 7, -7, 0, 0, 1, 0 },
    { "another whole number of 64 bits", CJ_F64, ERROR_EQUAL, 1, -7, 7, 0, 0, 1, 0 },
};

/* Launches the judge over n results that are in memory. */
static void launch_judge(const struct verdict *v, uint32_t n, double threshold, uint64_t *words)
{
    cj_ptx *p = cj_ptx_create();
    error_judge(p, v->type, v->unit);
    cj_kernel *k = cj_kernel_load(b.dev, p, "judge", NULL);
    if (!k) tap_fail("%s: %s", v->name, cj_error_of(p)->message);
    cj_fill64(b.s, b.again, 0, JUDGED_WORDS);
    cj_launch(b.s, k, cj_grid(2, 64), n, (uint64_t)5, b.x, b.y, b.r[0], b.w[0],
              v->type == CJ_F64 ? b.low[0] : (cj_dptr){ 0 }, b.again, b.list, (uint64_t)1000, threshold, -10.0, 10.0,
              6.0, 8.0, (double)INFINITY, 0x1p-10, (uint32_t)1);
    cj_copy_to_host(b.s, words, b.again, sizeof(uint64_t) * JUDGED_WORDS);
    tap_ok(!cj_stream_sync(b.s), "%s: is judged", v->name);
    cj_kernel_free(k);
    cj_ptx_free(p);
}

static void put_one(const struct verdict *v)
{
    const bool single = v->type == CJ_F32, whole = v->unit == ERROR_EQUAL;
    const uint64_t got = whole ? (uint64_t)(int64_t)v->got : single ? bits32((float)v->got) : bits64(v->got);
    const uint64_t x = single ? bits32((float)v->x) : bits64(v->x);
    cj_copy_to_device(b.s, b.x, &x, 8);
    cj_copy_to_device(b.s, b.r[0], &got, 8);
    cj_copy_to_device(b.s, b.w[0], &v->want, 8);
    cj_copy_to_device(b.s, b.low[0], &v->low, 8);
}

static void verdict_of(const struct verdict *v)
{
    uint64_t words[JUDGED_WORDS] = { 0 };
    double real;
    put_one(v);
    launch_judge(v, 1, -1, words);
    memcpy(&real, &words[JUDGED_REAL], sizeof real);
    tap_is_uint(words[JUDGED_GREATEST] >> JUDGED_INDEX_BITS, v->distance, "%s: the distance", v->name);
    tap_is_uint(words[JUDGED_NOT_NEAREST], v->distance != 0, "%s: whether it is the nearest", v->name);
    tap_is_uint(words[JUDGED_WRONG], v->wrong, "%s: whether it is wrong", v->name);
    tap_is_uint(words[JUDGED_WRONG_AT], v->wrong ? 6 : 0, "%s: which one is wrong", v->name);
    tap_ok(fabs(real - v->real) <= 1e-6 * v->real, "%s: the error is %g, wants %g", v->name, real, v->real);
}

/* ---- The list of the worst ---- */

/* Result i is i mod 50 floats off. */
static void many_results(void)
{
    enum { MANY = 3000, APART = 50, ABOVE = 47, LISTED = MANY / APART * 2 };
    static float x[MANY], got[MANY];
    static double want[MANY];
    static uint64_t list[LISTED][LIST_WORDS];
    const struct verdict v = { .name = "many results", .type = CJ_F32, .unit = ERROR_ULP };
    uint64_t words[JUDGED_WORDS] = { 0 };
    unsigned wrong = 0;
    for (int i = 0; i < MANY; i++) {
        x[i] = 1 + (float)i * 0x1p-20f;
        want[i] = 1;
        got[i] = 1 + (float)(i % APART) * 0x1p-23f;
    }
    cj_copy_to_device(b.s, b.x, x, sizeof x);
    cj_copy_to_device(b.s, b.r[0], got, sizeof got);
    cj_copy_to_device(b.s, b.w[0], want, sizeof want);
    launch_judge(&v, MANY, ABOVE, words);
    cj_copy_to_host(b.s, list, b.list, sizeof list);
    cj_stream_sync(b.s);
    tap_is_uint(words[JUDGED_GREATEST] >> JUDGED_INDEX_BITS, APART - 1, "many results: the greatest distance");
    tap_is_uint((words[JUDGED_GREATEST] & ((UINT64_C(1) << JUDGED_INDEX_BITS) - 1)) % APART, (APART - 1 + 5) % APART,
                "many results: one that has it");
    tap_is_uint(words[JUDGED_NOT_NEAREST], MANY - MANY / APART, "many results: those that are not the nearest");
    tap_is_uint(words[JUDGED_LISTED], LISTED, "many results: those above the threshold");
    for (int i = 0; i < LISTED; i++) {
        float at, result;
        memcpy(&at, &list[i][1], sizeof at);
        memcpy(&result, &list[i][3], sizeof result);
        const int number = (int)((at - 1) * 0x1p20f);
        wrong += number % APART <= ABOVE || result != got[number] || list[i][0] != bits64(number % APART);
    }
    tap_is_uint(wrong, 0, "many results: the list has them, with their operands");
}

/* ---- Passes: more results above the threshold than the list has room for ---- */

static void worst_points(void)
{
    static error_found found[ERROR_RESULTS];
    error_row row = { .name = "exp", .type = CJ_F32, .accuracy = CJ_MATH_ACCURATE,
                      .part = { -INFINITY, INFINITY, 1, 1, INFINITY, 0, 0 } };
    const uint64_t values = tap_is_slow() ? 3000 : 200000;
    unsigned unordered = 0;
    for (unsigned i = 0; i < math_function_count; i++)
        if (!strcmp(math_functions[i].name, "exp")) row.t = &math_functions[i];
    tap_ok(error_row_load(&b, &row, NULL), "exp: is loaded");
    tap_ok(error_pass(&b, &row, REFERENCE_HOST, 0x3f800000, values, found), "exp: is compared");
    for (unsigned i = 1; i < found->worst_count; i++) unordered += found->worst[i - 1].error < found->worst[i].error;
    tap_is_uint(found->worst_count, WORST_POINTS, "exp: as many of the worst as there is room for");
    tap_is_uint(unordered, 0, "exp: the worst first");
    const double worst = found->worst[0].error;
    tap_ok(worst > 0.5 && worst < 3, "exp: the worst error is %g", worst);
    tap_is_uint(found->words[JUDGED_WRONG], 0, "exp: no special value is wrong");
    tap_ok(found->at.x, "exp: the greatest error is at %llx", (unsigned long long)found->at.x);
    cj_module_free(row.ours);
}

/* ---- Operands ---- */

/* The numbers of one operand of f32 are its bits; the others are spread over all exponents. */
static void operands(void)
{
    enum { SOME = 4096 };
    static uint32_t single[SOME];
    static uint64_t wide[SOME];
    for (int type = 0; type < 2; type++) {
        cj_ptx *p = cj_ptx_create();
        error_arguments(p, &math_functions[0], type ? CJ_F64 : CJ_F32);
        cj_kernel *k = cj_kernel_load(b.dev, p, "arguments", NULL);
        if (!k) tap_fail("operands: %s", cj_error_of(p)->message);
        cj_launch(b.s, k, cj_grid(SOME / 64, 64), (uint32_t)SOME, (uint64_t)0x7f000000, (uint64_t)1, b.x, b.y);
        cj_copy_to_host(b.s, type ? (void *)wide : (void *)single, b.x, type ? sizeof wide : sizeof single);
        cj_stream_sync(b.s);
        cj_kernel_free(k);
        cj_ptx_free(p);
    }
    unsigned others = 0, same = 0, inside = 0;
    bool exponents[2048] = { false };
    for (unsigned i = 0; i < SOME; i++) {
        double x;
        memcpy(&x, &wide[i], sizeof x);
        others += single[i] != 0x7f000000 + i;
        same += i && wide[i] == wide[i - 1];
        inside += x >= math_functions[0].from && x <= math_functions[0].to;
        exponents[wide[i] >> 52 & 2047] = true;
    }
    unsigned seen = 0;
    for (unsigned i = 0; i < 2048; i++) seen += exponents[i];
    tap_is_uint(others, 0, "operands of f32 are all bits in their order");
    tap_is_uint(same, 0, "operands of f64 differ");
    tap_ok(inside > SOME / 2 && inside < SOME, "%u of %d operands of f64 are in the interval", inside, SOME);
    tap_ok(seen > 600, "operands of f64 have %u exponents", seen);
}

int main(void)
{
    tap_need_device(1);
    tap_plan(0);
    if (!tap_ok(error_bench_open(&b, 1 << 18, 2), "the device is there")) return tap_done();
    b.quiet = true;
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++) verdict_of(&verdicts[i]);
    many_results();
    worst_points();
    operands();
    error_bench_close(&b);
    return tap_done();
}
