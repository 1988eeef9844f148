/* The kernels of bench/math and tests/math/check_math: each function of math.h can be loaded in a loop, and the loop
 * adds up the bits that the function has elsewhere; on the CPU device those that it has on numbers. */
#include <string.h>

#include "ptx/math/math.h"
#include "tests/math/math_functions.h"
#include "tests/tap.h"

static const struct { const char *name; cji_math_part part[2]; } parts[] = {
#define F(name, ...) { #name, { CJI_MATH_##name##_f32, CJI_MATH_##name##_f64 } },
#include "tests/math/math_functions.def"
};

enum { THREADS = 32, TURNS = 8, ALL = THREADS * TURNS };
static cj_device *dev;
static cj_stream *s;

static uint64_t drawn(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * UINT64_C(2685821657736338717);
}

/* Operand i of a thread begins with start + i step. */
typedef struct operands { uint64_t start[2][THREADS], step[2], at[2][ALL]; } operands;

/* Half of them around 1, others of any bits. */
static void choose(operands *o, const math_function *t, cj_type type)
{
    const bool single = type == CJ_F32;
    uint64_t state = 88172645463325252;
    for (int k = 0; k < 2; k++) {
        o->step[k] = single ? 0x4321 + (uint64_t)k : UINT64_C(0x432100000001) + (uint64_t)k;
        for (int i = 0; i < THREADS; i++) {
            const uint64_t any = drawn(&state);
            uint64_t u = single ? any >> 32 : any;
            if (i & 1) u = single ? 0x3f000000 + u % 0x1000000 : 0x3fe0000000000000 + u % 0x20000000000000;
            if (k && t->kind == FUNCTION_INT) u = any % 100;
            o->start[k][i] = u;
            for (int turn = 0; turn < TURNS; turn++) {
                const uint64_t at = u + o->step[k] * (unsigned)turn;
                o->at[k][i * TURNS + turn] = single ? (uint32_t)at : at;
            }
        }
    }
}

static void put(cj_dptr to, cj_type type, const uint64_t *words, size_t n)
{
    uint32_t narrow[ALL];
    for (size_t i = 0; i < n; i++) narrow[i] = (uint32_t)words[i];
    cj_copy_to_device(s, to, type == CJ_F32 ? (const void *)narrow : words, n * (type == CJ_F32 ? 4 : 8));
}

static void get(uint64_t *words, cj_type type, cj_dptr from)
{
    uint32_t narrow[ALL];
    if (type == CJ_F32) cj_copy_to_host(s, narrow, from, sizeof narrow);
    else cj_copy_to_host(s, words, from, ALL * sizeof *words);
    cj_stream_sync(s);
    for (size_t i = 0; i < ALL && type == CJ_F32; i++) words[i] = narrow[i];
}

static bool is_nan(cj_type type, uint64_t u)
{
    return type == CJ_F32 ? (u & 0x7fffffff) > 0x7f800000 : (u & INT64_MAX) > 0x7ff0000000000000;
}

static bool same(cj_type type, bool whole, uint64_t a, uint64_t c)
{
    if (whole) return (uint32_t)a == (uint32_t)c;
    return a == c || (is_nan(type, a) && is_nan(type, c));
}

static unsigned differ_on_numbers(size_t row, cj_type type, const operands *o, uint64_t (*results)[ALL])
{
    const math_function *t = &math_functions[row];
    unsigned n = 0;
    for (size_t i = 0; i < ALL; i++) {
        const uint64_t in[CJI_MATH_ARGS] = { o->at[0][i], o->at[1][i] };
        uint64_t out[CJI_MATH_ARGS];
        cji_math_bits(parts[row].part[type == CJ_F64], in, out);
        for (unsigned q = 0; q < function_results(t); q++)
            n += !same(type, function_is_whole(t, q), out[q], results[q][i]);
    }
    return n;
}

static unsigned other_sums(const math_function *t, cj_type type, const uint32_t *sums, uint64_t (*results)[ALL])
{
    unsigned n = 0;
    for (size_t i = 0; i < THREADS; i++) {
        uint32_t want = 0;
        for (unsigned q = 0; q < function_results(t); q++)
            for (size_t k = i * TURNS; k < (i + 1) * TURNS; k++)
                want += (uint32_t)results[q][k] + (type == CJ_F64 ? (uint32_t)(results[q][k] >> 32) : 0);
        n += want != sums[i];
    }
    return n;
}

static void run_function(size_t row, cj_type type)
{
    static operands o;
    static uint64_t results[2][ALL];
    const math_function *t = &math_functions[row];
    const char *name = type == CJ_F32 ? "f32" : "f64";
    uint32_t sums[THREADS] = { 0 };
    cj_dptr d[5];
    choose(&o, t, type);
    cj_ptx *p = cj_ptx_create();
    function_loop(t, p, type, CJ_MATH_ACCURATE);
    function_values(t, p, type, CJ_MATH_ACCURATE);
    cj_module *mod = cj_module_load(dev, p, NULL);
    if (!mod) tap_fail("%s of %s: %s", t->name, name, cj_error_of(p)->message);
    cj_ptx_free(p);
    if (!mod) return;
    for (int i = 0; i < 5; i++) d[i] = cj_alloc(s, 8 * ALL);
    put(d[0], type, o.start[0], THREADS);
    put(d[1], type, o.start[1], THREADS);
    cj_kernel *loop = cj_module_kernel(mod, "loop"), *values = cj_module_kernel(mod, "values");
    if (type == CJ_F32)
        cj_launch(s, loop, cj_grid(1, THREADS), d[0], d[1], d[2], TURNS, (uint32_t)o.step[0], (uint32_t)o.step[1]);
    else cj_launch(s, loop, cj_grid(1, THREADS), d[0], d[1], d[2], TURNS, o.step[0], o.step[1]);
    cj_copy_to_host(s, sums, d[2], sizeof sums);
    put(d[0], type, o.at[0], ALL);
    put(d[1], type, o.at[1], ALL);
    cj_launch(s, values, cj_grid(ALL / 64, 64), (uint32_t)ALL, d[0], d[1], d[3], d[4]);
    for (unsigned q = 0; q < function_results(t); q++) get(results[q], type, d[3 + q]);
    tap_ok(!cj_stream_sync(s), "%s of %s: runs", t->name, name);
    tap_is_uint(other_sums(t, type, sums, results), 0, "%s of %s: the loop adds up what the function gives", t->name,
                name);
    if (!tap_on_gpu()) /* whose approximate instructions have bits of their own */
        tap_is_uint(differ_on_numbers(row, type, &o, results), 0, "%s of %s: the bits that it has on numbers", t->name,
                    name);
    for (int i = 0; i < 5; i++) cj_free(dev, d[i]);
    cj_kernel_free(loop);
    cj_kernel_free(values);
    cj_module_free(mod);
}

int main(void)
{
    tap_need_device(1);
    tap_plan(0);
    tap_timeout(120);
    cj_driver *drv = cj_driver_open(NULL);
    dev = cj_device_open(drv, 0, NULL);
    s = cj_stream_create(dev, NULL);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        tap_is_str(math_functions[i].name, parts[i].name, "row %zu", i);
        /* a GPU's compiler takes its time; bench/math has all */
        if ((tap_is_slow() || tap_on_gpu()) && i % 8) continue;
        run_function(i, CJ_F32);
        run_function(i, CJ_F64);
    }
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
