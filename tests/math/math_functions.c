/* The functions of math.h of f32 and f64, by their calls, and kernels of them. */
#include "tests/math/math_functions.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The functions ---- */

#define CALL_ONE(name) .one = cj_math_##name
#define CALL_WHOLE(name) .one = cj_math_##name
#define CALL_TWO(name) .two = cj_math_##name
#define CALL_INT(name) .two = cj_math_##name
#define CALL_PAIR(name) .pair = cj_math_##name
#define CALL_EXPONENT(name) .pair = cj_math_##name
#define CALL_QUOTIENT(name) .pair_two = cj_math_##name

const math_function math_functions[] = {
#define F(name_, kind_, cuda_, limit32, limit64, from_, to_, how_, least_, most_, branch_least, branch_most)        \
    { .name = #name_, .cuda = #cuda_, .kind = FUNCTION_##kind_, CALL_##kind_(name_), .limit = { limit32, limit64 }, \
      .from = from_, .to = to_, .how = ARGUMENTS_##how_, .least = { least_, branch_least },                         \
      .most = { most_, branch_most } },
#include "tests/math/math_functions.def"
};
const unsigned math_function_count = sizeof math_functions / sizeof *math_functions;

bool function_has_two(const math_function *t)
{
    return t->kind == FUNCTION_TWO || t->kind == FUNCTION_INT || t->kind == FUNCTION_QUOTIENT;
}

unsigned function_results(const math_function *t)
{
    return t->kind == FUNCTION_PAIR || t->kind == FUNCTION_EXPONENT || t->kind == FUNCTION_QUOTIENT ? 2 : 1;
}

bool function_is_whole(const math_function *t, unsigned result)
{
    return result ? t->kind == FUNCTION_EXPONENT || t->kind == FUNCTION_QUOTIENT : t->kind == FUNCTION_WHOLE;
}

static void applied(const math_function *t, cj_fn *f, cj_val x, cj_val y, cj_val *r)
{
    if (t->one) r[0] = t->one(f, x);
    if (t->two) r[0] = t->two(f, x, y);
    if (t->pair) r[0] = t->pair(f, x, &r[1]);
    if (t->pair_two) r[0] = t->pair_two(f, x, y, &r[1]);
}

/* ---- Kernels ---- */

static cj_type integer_of(cj_type type) { return type == CJ_F32 ? CJ_S32 : CJ_S64; }
static cj_type word_of(cj_type type) { return type == CJ_F32 ? CJ_U32 : CJ_U64; }

void function_values(const math_function *t, cj_ptx *p, cj_type type, cj_math_accuracy accuracy)
{
    cj_fn *f = cj_ptx_kernel(p, "values");
    const bool whole = t->kind == FUNCTION_INT;
    cj_val n = cj_param(f, "n", CJ_U32), x = cj_param_ptr(f, "x", type);
    cj_val y = cj_param_ptr(f, "y", whole ? integer_of(type) : type), to[2], r[2], second = cj_imm_i(f, 0);
    for (unsigned q = 0; q < 2; q++)
        to[q] = cj_param_ptr(f, q ? "r1" : "r0", function_is_whole(t, q) ? integer_of(type) : type);
    cj_val i = cj_global_id(f, CJ_X);
    cj_return_if(f, cj_ge(f, i, n));
    cj_math_set_accuracy(f, accuracy);
    if (function_has_two(t)) second = cj_get(f, y, i);
    if (whole && type == CJ_F64) second = cj_cvt(f, CJ_S32, second);
    applied(t, f, cj_get(f, x, i), second, r);
    for (unsigned q = 0; q < function_results(t); q++)
        cj_set(f, to[q], i, function_is_whole(t, q) && type == CJ_F64 ? cj_cvt(f, CJ_S64, r[q]) : r[q]);
}

/* The sum and the words of a result's bits. */
static void add_up(cj_fn *f, cj_val sum, cj_type type, bool whole, cj_val r)
{
    if (whole || type == CJ_F32) {
        cj_assign(f, sum, cj_add(f, sum, cj_bits(f, CJ_U32, r)));
        if (whole && type == CJ_F64) /* the upper word of its 64 bits is its sign */
            cj_assign(f, sum, cj_add(f, sum, cj_bits(f, CJ_U32, cj_shr(f, r, 31))));
        return;
    }
    cj_val u = cj_bits(f, CJ_U64, r);
    cj_assign(f, sum, cj_add(f, sum, cj_cvt(f, CJ_U32, u)));
    cj_assign(f, sum, cj_add(f, sum, cj_cvt(f, CJ_U32, cj_shr(f, u, 32))));
}

void function_loop(const math_function *t, cj_ptx *p, cj_type type, cj_math_accuracy accuracy)
{
    enum { UNROLLED = 4 };
    cj_fn *f = cj_ptx_kernel(p, "loop");
    const cj_type word = word_of(type);
    cj_val xs = cj_param_ptr(f, "x", word), ys = cj_param_ptr(f, "y", word), sums = cj_param_ptr(f, "sums", CJ_U32);
    cj_val n = cj_param(f, "n", CJ_U32), step_x = cj_param(f, "step_x", word), step_y = cj_param(f, "step_y", word);
    cj_val i = cj_global_id(f, CJ_X), x = cj_mov(f, cj_get(f, xs, i)), y = cj_mov(f, cj_get(f, ys, i));
    cj_val sum = cj_let(f, CJ_U32, 0);
    cj_math_set_accuracy(f, accuracy);
    cj_pragma(f, "nounroll");
    cj_for(f, 0, n, UNROLLED);
    for (int k = 0; k < UNROLLED; k++) {
        cj_val r[2], second = t->kind != FUNCTION_INT ? cj_bits(f, type, y)
            : cj_bits(f, CJ_S32, type == CJ_F64 ? cj_cvt(f, CJ_U32, y) : y);
        applied(t, f, cj_bits(f, type, x), second, r);
        for (unsigned q = 0; q < function_results(t); q++) add_up(f, sum, type, function_is_whole(t, q), r[q]);
        cj_assign(f, x, cj_add(f, x, step_x));
        if (function_has_two(t)) cj_assign(f, y, cj_add(f, y, step_y));
    }
    cj_end(f);
    cj_set(f, sums, i, sum);
}

/* ---- CUDA's ---- */

char *function_peer(const char *folder, const math_function *t, cj_type type)
{
    char path[1000];
    char *text = NULL;
    snprintf(path, sizeof path, "%s/%s.%s.ptx", folder, t->name, type == CJ_F32 ? "f32" : "f64");
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    if (!fseek(f, 0, SEEK_END)) {
        const long bytes = ftell(f);
        rewind(f);
        text = bytes > 0 ? calloc((size_t)bytes + 1, 1) : NULL;
        if (text && fread(text, 1, (size_t)bytes, f) != (size_t)bytes) {
            free(text);
            text = NULL;
        }
    }
    fclose(f);
    return text;
}

/* ---- Threads ---- */

typedef struct crew {
    unsigned count;
    void (*run)(void *context, unsigned i);
    void *context;
    atomic_uint next;
} crew;

static void *work_for(void *p)
{
    crew *c = p;
    for (unsigned i; (i = atomic_fetch_add(&c->next, 1)) < c->count;) c->run(c->context, i);
    return NULL;
}

void in_threads(unsigned threads, unsigned count, void (*run)(void *context, unsigned i), void *context)
{
    enum { MOST = 256 };
    crew c = { .count = count, .run = run, .context = context };
    pthread_t others[MOST];
    unsigned started = 0;
    while (started < MOST && started + 1 < threads && started + 1 < count &&
           !pthread_create(&others[started], NULL, work_for, &c))
        started++;
    work_for(&c);
    for (unsigned i = 0; i < started; i++) pthread_join(others[i], NULL);
}
