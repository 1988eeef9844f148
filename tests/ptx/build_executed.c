/* What the everyday verbs compute: kernels built in memory, printed, and run by the CPU device's engine against C. */
#include "../tap.h"

#include <cujit/ptx.h>

#include "sim/exec/exec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Running ----------------------------------------------------------------------------------------------------- */

enum { SLOTS = 512, MEMORY = 0x10000000 };
static uint64_t memory[2 * SLOTS];     /* what the kernel reads, then what it writes */

static bool find_memory(void *user, uint64_t address, cji_exec_span *span, char *why, size_t size)
{
    (void)user;
    if (size) *why = 0;
    if (address < MEMORY || address >= MEMORY + sizeof memory) return false;
    *span = (cji_exec_span){ .lo = MEMORY, .hi = MEMORY + sizeof memory, .host = (unsigned char *)memory };
    return true;
}

/* Runs the module's kernel "k" with the two halves of memory as its parameters. */
static void run(cj_ptx *m, uint32_t threads, const char *name)
{
    const uint64_t params[2] = { MEMORY, MEMORY + SLOTS * sizeof *memory };
    const char *text;
    size_t bytes;
    cji_text log = { 0 };
    cji_exec_fault fault;
    if (cj_ptx_print(m, 0, &text, &bytes) != CJ_OK) tap_bail("%s: %s", name, cj_error_of(m)->message);
    const cji_exec_text source = { .name = name, .text = text, .bytes = bytes };
    cji_exec_program *p = cji_exec_program_make(&source, 1, &log);
    if (!p) tap_bail("%s: %s", name, cji_text_str(&log));
    cji_exec_program_place(p, 0, NULL);
    const cji_exec_launch launch = { .program = p,
                                     .kernel = cji_exec_program_kernel(p, "k"),
                                     .grid = { 1, 1, 1 },
                                     .block = { threads, 1, 1 },
                                     .params = params,
                                     .memory = { .find = find_memory } };
    memset(&fault, 0, sizeof fault);
    bool ran = cji_exec_run(&launch, &fault);
    tap_ok(ran, "%s runs%s%s", name, ran ? "" : ": ", fault.sentence);
    cji_exec_program_free(p);
    cji_text_free(&log);
    cj_ptx_free(m);
}

/* ---- Arithmetic: one row a verb and type ------------------------------------------------------------------------- */

typedef struct row {
    const char *name;
    cj_type type, result;
    cj_val (*one)(cj_fn *, cj_val);
    cj_val (*two)(cj_fn *, cj_val, cj_val);
    cj_val (*three)(cj_fn *, cj_val, cj_val, cj_val);
    uint64_t a, b, c, want;
} row;
static row table[SLOTS / 3];
static size_t rows_made;

static uint64_t bits_of(const void *p, size_t n)
{
    uint64_t b = 0;
    memcpy(&b, p, n);
    return b;
}

#define ROW(T, ctype, rtype, rT, member, verb, expr) \
    do { \
        const ctype x = (ctype)a, y = (ctype)b, z = (ctype)c; \
        const rtype want = (rtype)(expr); \
        table[rows_made++] = (row){ .name = #verb " of ." #T, .type = CJ_##T, .result = rT, .member = verb, \
                                    .a = bits_of(&x, sizeof x), .b = bits_of(&y, sizeof y), \
                                    .c = bits_of(&z, sizeof z), .want = bits_of(&want, sizeof want) }; \
    } while (0)
#define R1(T, ctype, verb, expr) ROW(T, ctype, ctype, CJ_##T, one, verb, expr)
#define R2(T, ctype, verb, expr) ROW(T, ctype, ctype, CJ_##T, two, verb, expr)
#define R3(T, ctype, verb, expr) ROW(T, ctype, ctype, CJ_##T, three, verb, expr)
#define P2(T, ctype, verb, expr) ROW(T, ctype, uint32_t, CJ_PRED, two, verb, expr)

/* Operands are chosen by each caller as a, b, c. */
#define COMPARE(T, ctype) \
    P2(T, ctype, cj_eq, x == y); \
    P2(T, ctype, cj_ne, x != y); \
    P2(T, ctype, cj_lt, x < y); \
    P2(T, ctype, cj_le, x <= y); \
    P2(T, ctype, cj_gt, x > y); \
    P2(T, ctype, cj_ge, x >= y)
#define INTEGER(T, ctype, utype) \
    R2(T, ctype, cj_add, (utype)x + (utype)y); R2(T, ctype, cj_sub, (utype)x - (utype)y); \
    R2(T, ctype, cj_mul, (uint64_t)x * (uint64_t)y); R3(T, ctype, cj_mad, (uint64_t)x * (uint64_t)y + (uint64_t)z); \
    R2(T, ctype, cj_div, x / y); R2(T, ctype, cj_rem, x % y); \
    R2(T, ctype, cj_min, x < y ? x : y); R2(T, ctype, cj_max, x > y ? x : y); \
    R2(T, ctype, cj_and, x & y); R2(T, ctype, cj_or, x | y); \
    R2(T, ctype, cj_xor, x ^ y); R1(T, ctype, cj_inv, ~x); COMPARE(T, ctype)
#define FLOATING(T, ctype, s) \
    R2(T, ctype, cj_add, x + y); R2(T, ctype, cj_sub, x - y); R2(T, ctype, cj_mul, x * y); \
    R2(T, ctype, cj_div, x / y); R3(T, ctype, cj_fma, fma##s(x, y, z)); \
    R2(T, ctype, cj_min, fmin##s(x, y)); R2(T, ctype, cj_max, fmax##s(x, y)); \
    R1(T, ctype, cj_neg, -x); R1(T, ctype, cj_abs, fabs##s(x)); R1(T, ctype, cj_sqrt, sqrt##s(x)); \
    R1(T, ctype, cj_rcp, 1 / x); R1(T, ctype, cj_floor, floor##s(x)); R1(T, ctype, cj_ceil, ceil##s(x)); \
    R1(T, ctype, cj_trunc, trunc##s(x)); R1(T, ctype, cj_round, rint##s(x)); COMPARE(T, ctype)

static void make_rows(void)
{
    {
        const uint64_t a = 0x9e3779b97f4a7c15u, b = 1000003, c = 77;
        INTEGER(U16, uint16_t, uint16_t); INTEGER(U32, uint32_t, uint32_t); INTEGER(U64, uint64_t, uint64_t);
    }
    {
        const int64_t a = -123456789012345678, b = 30011, c = -9;
        INTEGER(S16, int16_t, uint16_t); INTEGER(S32, int32_t, uint32_t); INTEGER(S64, int64_t, uint64_t);
        R1(S32, int32_t, cj_neg, -x); R1(S64, int64_t, cj_abs, x < 0 ? -x : x);
        ROW(S32, int32_t, int64_t, CJ_S64, two, cj_mul_wide, (int64_t)x * y);
        ROW(S64, int64_t, uint32_t, CJ_U32, one, cj_popc, __builtin_popcountll((uint64_t)x));
        ROW(S32, int32_t, uint32_t, CJ_U32, one, cj_clz, x ? __builtin_clz((uint32_t)x) : 32);
    }
    {
        const double a = 2.7182818284590451, b = 0.3333333333333333, c = -0.90609394281968175;
        FLOATING(F64, double, ); FLOATING(F32, float, f);
    }
    {
        const double a = NAN, b = 2.5, c = 0;
        COMPARE(F64, double); R2(F32, float, cj_min, fminf(x, y)); R2(F64, double, cj_max, fmax(x, y));
        (void)c;
    }
}

static void arithmetic(void)
{
    make_rows();
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val in = cj_param_ptr(f, "in", CJ_U64), out = cj_param_ptr(f, "out", CJ_U64);
    for (size_t i = 0; i < rows_made; i++) {
        const row *r = &table[i];
        cj_val v[3];
        memcpy(&memory[3 * i], &r->a, 24);
        for (int k = 0; k < 3; k++) v[k] = cj_load(f, r->type, cj_mem(f, in, (int64_t)(24 * i + 8 * (size_t)k)));
        cj_val d = r->one ? r->one(f, v[0]) : r->two ? r->two(f, v[0], v[1]) : r->three(f, v[0], v[1], v[2]);
        if (r->result == CJ_PRED) d = cj_cvt(f, CJ_U32, d);
        cj_store(f, r->result == CJ_PRED ? CJ_U32 : r->result, cj_mem(f, out, (int64_t)(8 * i)), d);
    }
    run(m, 1, "arithmetic");
    for (size_t i = 0; i < rows_made; i++) tap_is_uint(memory[SLOTS + i], table[i].want, "%s", table[i].name);
}

/* ---- Control flow, calls, conversions, shared memory ------------------------------------------------------------- */

/* Sums i of 0 .. n-1 but multiples of 3, stops at 50; counts down; doubles in a while; through a function. */
static void control_flow(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *g = cj_ptx_func(m, "triple_or_one");
    cj_val v = cj_param(g, "v", CJ_U32);
    cj_if(g, cj_gt(g, v, cj_imm(g, 100)));
        cj_return_value(g, cj_imm_bits(g, CJ_U32, 1));
    cj_else(g);
        cj_return_value(g, cj_mul(g, v, cj_imm(g, 3)));
    cj_end(g);

    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val in = cj_param_ptr(f, "in", CJ_U64), out = cj_param_ptr(f, "out", CJ_U64);
    cj_val n = cj_cvt(f, CJ_U32, cj_get(f, in, cj_imm(f, 0))), sum = cj_let(f, CJ_U32, cj_imm(f, 0));
    cj_val i = cj_for(f, cj_imm(f, 0), n, cj_imm(f, 1));
        cj_continue_if(f, cj_eq(f, cj_rem(f, i, cj_imm(f, 3)), cj_imm(f, 0)));
        cj_break_unless(f, cj_lt(f, i, cj_imm(f, 50)));
        cj_if(f, cj_not(f, cj_lt(f, i, cj_imm(f, 10))));
            cj_assign(f, sum, cj_add(f, sum, i));
        cj_else(f);
            cj_assign(f, sum, cj_add(f, sum, cj_imm(f, 1000)));
        cj_end(f);
    cj_end(f);
    cj_set(f, out, cj_imm(f, 0), cj_cvt(f, CJ_U64, sum));

    cj_val down = cj_let(f, CJ_S64, cj_imm(f, 0));
    cj_val j = cj_for(f, cj_cvt(f, CJ_S64, n), cj_imm(f, -3), cj_imm(f, -2));
        cj_assign(f, down, cj_add(f, cj_mul(f, down, cj_imm(f, 7)), j));
    cj_end(f);
    cj_set(f, out, cj_imm(f, 1), down);

    cj_val x = cj_let(f, CJ_F64, cj_imm(f, 1.5)), more = cj_lt(f, x, cj_imm(f, 1000));
    cj_while(f, more);
        cj_assign(f, x, cj_add(f, x, x));
        cj_assign(f, more, cj_lt(f, x, cj_imm(f, 1000)));
    cj_end(f);
    cj_store(f, CJ_F64, cj_at(f, out, cj_imm(f, 2)), x);
    cj_val a = cj_call(f, g, 14), b = cj_call(f, g, n);
    cj_set(f, out, cj_imm(f, 3), cj_cvt(f, CJ_U64, cj_mad(f, a, cj_imm(f, 1000), b)));
    cj_set(f, out, cj_imm(f, 4), cj_cvt(f, CJ_U64, cj_select(f, cj_not(f, cj_eq(f, a, b)), cj_imm(f, 5), a)));

    memory[0] = 200;
    uint64_t want_sum = 0, want_down = 0;
    for (unsigned k = 0; k < 200; k++) {
        if (k % 3 == 0) continue;
        if (k >= 50) break;
        want_sum += k < 10 ? 1000 : k;
    }
    for (int64_t k = 200; k > -3; k -= 2) want_down = want_down * 7 + (uint64_t)k;
    run(m, 1, "control flow");
    const double doubled = 1536;
    tap_is_uint(memory[SLOTS], want_sum, "for, continue, break, if and else");
    tap_is_uint(memory[SLOTS + 1], want_down, "for, downwards");
    tap_is_uint(memory[SLOTS + 2], bits_of(&doubled, 8), "while");
    tap_is_uint(memory[SLOTS + 3], 42 * 1000 + 1, "calls and early returns");
    tap_is_uint(memory[SLOTS + 4], 5, "select by a negated predicate");
}

/* Sixty-four threads: reversed through shared memory, summed by shuffles, counted by votes and atomics. */
static void many_threads(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val in = cj_param_ptr(f, "in", CJ_U64), out = cj_param_ptr(f, "out", CJ_U64);
    cj_val tile = cj_shared(f, "tile", CJ_F64, 64), count = cj_shared(f, "count", CJ_U32, 1);
    cj_val t = cj_thread_id(f, CJ_X), first = cj_eq(f, t, cj_imm(f, 0));
    cj_if(f, first);
        cj_set(f, count, cj_imm(f, 0), cj_imm(f, 0));
    cj_end(f);
    cj_set(f, tile, t, cj_cvt(f, CJ_F64, cj_get(f, in, t)));
    cj_block_sync(f);
    cj_val other = cj_get(f, tile, cj_sub(f, cj_imm(f, 63), t));
    cj_set(f, out, t, cj_cvt(f, CJ_U64, other));
    cj_val sum = cj_mov(f, other);
    for (int step = 16; step; step /= 2) {
        cj_val far = cj_shfl_xor(f, sum, cj_imm(f, step));
        cj_assign(f, sum, cj_add(f, sum, far));
    }
    cj_val odd = cj_cvt(f, CJ_PRED, cj_and(f, t, cj_imm(f, 1)));
    cj_val ballot = cj_vote_ballot(f, cj_not(f, odd));
    cj_if(f, odd);
        cj_atomic_add(f, count, cj_imm(f, 3));
    cj_end(f);
    cj_block_sync(f);
    cj_if(f, cj_eq(f, cj_lane_id(f), cj_imm(f, 0)));
        cj_val at = cj_add(f, cj_imm(f, 64), cj_shr(f, t, cj_imm(f, 5)));
        cj_set(f, out, at, cj_cvt(f, CJ_U64, sum));
    cj_end(f);
    cj_if(f, first);
        cj_set(f, out, cj_imm(f, 66), cj_cvt(f, CJ_U64, cj_get(f, count, cj_imm(f, 0))));
        cj_set(f, out, cj_imm(f, 67), cj_cvt(f, CJ_U64, ballot));
    cj_end(f);

    uint64_t sums[2] = { 0, 0 };
    for (unsigned k = 0; k < 64; k++) {
        memory[k] = 10 * k + 1;
        sums[k < 32] += memory[k]; /* the lower warp holds the upper half */
    }
    run(m, 64, "many threads");
    bool reversed = true;
    for (unsigned k = 0; k < 64; k++) reversed &= memory[SLOTS + k] == 10 * (63 - k) + 1;
    tap_ok(reversed, "reversed through shared memory");
    tap_is_uint(memory[SLOTS + 64], sums[0], "a sum by shuffles");
    tap_is_uint(memory[SLOTS + 65], sums[1], "the other warp's");
    tap_is_uint(memory[SLOTS + 66], 96, "counted by atomics");
    tap_is_uint(memory[SLOTS + 67], 0x55555555, "a ballot");
}

/* Numbers only: loops of them, conditions that are constants with blocks that never run, registers that they are put
 * into. */
static void numbers(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val out = (cj_param_ptr(f, "in", CJ_U64), cj_param_ptr(f, "out", CJ_U64)), t = cj_thread_id(f, CJ_X),
           sum = cj_let(f, CJ_U32, 0);
    cj_val i = cj_for(f, cj_sub(f, 10, 1), cj_div(f, -7, 2), -3);
        cj_assign(f, sum, cj_add(f, cj_mul(f, sum, 10), cj_cvt(f, CJ_U32, cj_add(f, i, 4))));
    cj_end(f);
    cj_set(f, out, 0, cj_cvt(f, CJ_U64, sum));
    cj_if(f, cj_lt(f, 1, 2));
        cj_set(f, out, 1, 11);
    cj_else(f);
        cj_set(f, out, 1, 12);
    cj_end(f);
    cj_if(f, cj_gt(f, 1, 2));
        cj_set(f, out, 2, 21);
        cj_if(f, cj_eq(f, t, 0));
            cj_return(f);
        cj_end(f);
    cj_else(f);
        cj_set(f, out, 2, 22);
    cj_end(f);
    cj_while(f, 0);
        cj_set(f, out, 3, 31);
    cj_end(f);
    cj_val turns = cj_let(f, CJ_U64, 0);
    cj_while(f, cj_ne(f, 1, 2));
        cj_assign(f, turns, cj_add(f, turns, 1));
        cj_break_if(f, cj_ge(f, turns, 5));
        cj_continue_if(f, cj_lt(f, 2, 1));
        cj_assign(f, turns, cj_add(f, turns, 100));
        cj_break_unless(f, cj_lt(f, 2, 1));
        cj_assign(f, turns, 7);
    cj_end(f);
    cj_set(f, out, 4, turns);
    cj_set(f, out, 5, cj_select(f, cj_lt(f, 1, 2), cj_add(f, 40, 2), 0));
    cj_set(f, out, 6, cj_cvt(f, CJ_U64, cj_select(f, cj_eq(f, t, 0), 1, 0)));
    cj_set(f, out, 7, cj_cvt(f, CJ_U64, cj_vote_ballot(f, cj_lt(f, 1, 2))));
    cj_store(f, CJ_F64, cj_at(f, out, 8), cj_sqrt(f, 2));
    cj_store(f, CJ_F32, cj_at(f, out, 9), cj_mov(f, 1.5f));
    cj_set(f, out, 10, cj_cvt(f, CJ_U64, cj_clz(f, 255)));
    cj_val constant = cj_let(f, CJ_PRED, cj_eq(f, 3, 3));
    cj_set(f, out, 11, cj_cvt(f, CJ_U64, cj_xor(f, constant, cj_eq(f, t, 1))));
    cj_ins_if(f, 0, "st.global.u64", cj_at(f, out, 12), 1);
    cj_ins_unless(f, cj_lt(f, 2, 1), "st.global.u64", cj_at(f, out, 13), 1);
    cj_set(f, out, 14, cj_shl(f, 1, 40));
    cj_return_if(f, cj_lt(f, 1, 2));
    cj_set(f, out, 15, 1);
    memset(memory, 0, sizeof memory);
    run(m, 1, "numbers");
    const double root = sqrt(2);
    const float half = 1.5f;
    const uint64_t want[] = { 13 * 1000 + 10 * 100 + 7 * 10 + 4,
                              11,
                              22,
                              0,
                              101,
                              42,
                              1,
                              1,
                              bits_of(&root, 8),
                              bits_of(&half, 4),
                              24,
                              1,
                              0,
                              1,
                              (uint64_t)1 << 40,
                              0 };
    for (size_t k = 0; k < sizeof want / sizeof *want; k++)
        tap_is_uint(memory[SLOTS + k], want[k], "numbers, slot %zu", k);
}

int main(void)
{
    tap_plan(0);
    arithmetic();
    numbers();
    control_flow();
    many_threads();
    return tap_done();
}
