/* What the builder's verbs and blocks mean: small kernels run on the device, each lane's result compared with the same
 * thing said in C. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cujit/cujit.h>

#include "tests/tap.h"

enum { BLOCKS = 3, BLOCK = 64, LANES = BLOCKS * BLOCK };

/* A kernel body: computes a CJ_U32 from the lane's number in the grid `i` and the array `in` of LANES CJ_U32. */
typedef cj_val (*body)(cj_ptx *m, cj_fn *f, cj_val i, cj_val in);
typedef uint32_t (*same)(uint32_t i, const uint32_t *in);

static uint32_t in_value(uint32_t i) { return (i * 2654435761u) ^ (i << 7); }

/* -- Control flow -------------------------------------------------------------------------------------------------- */

static cj_val b_if_else(cj_ptx *m, cj_fn *f, cj_val i, cj_val in)
{
    (void)m, (void)in;
    cj_val r = cj_let(f, CJ_U32, cj_imm(f, 0));
    cj_if(f, cj_lt(f, i, cj_imm(f, 50)));
        cj_if(f, cj_eq(f, cj_and(f, i, cj_imm(f, 1)), cj_imm(f, 0)));
            cj_assign(f, r, cj_imm(f, 1));
        cj_else(f);
            cj_assign(f, r, cj_imm(f, 2));
        cj_end(f);
    cj_else(f);
        cj_assign(f, r, cj_mul(f, i, cj_imm(f, 3)));
    cj_end(f);
    return r;
}
static uint32_t s_if_else(uint32_t i, const uint32_t *in) { (void)in; return i < 50 ? (i & 1 ? 2 : 1) : i * 3; }

/* Collatz: a loop whose length differs from lane to lane, with break and continue. */
static cj_val b_loops(cj_ptx *m, cj_fn *f, cj_val i, cj_val in)
{
    (void)m, (void)in;
    cj_val n = cj_let(f, CJ_U32, cj_add(f, i, cj_imm(f, 1))), steps = cj_let(f, CJ_U32, cj_imm(f, 0));
    cj_loop(f);
        cj_break_if(f, cj_eq(f, n, cj_imm(f, 1)));
        cj_assign(f, steps, cj_add(f, steps, cj_imm(f, 1)));
        cj_if(f, cj_eq(f, cj_and(f, n, cj_imm(f, 1)), cj_imm(f, 0)));
            cj_assign(f, n, cj_shr(f, n, cj_imm(f, 1)));
            cj_continue(f);
        cj_end(f);
        cj_assign(f, n, cj_add(f, cj_mul(f, n, cj_imm(f, 3)), cj_imm(f, 1)));
    cj_end(f);
    return steps;
}
static uint32_t s_loops(uint32_t i, const uint32_t *in)
{
    (void)in;
    uint32_t steps = 0;
    for (uint32_t n = i + 1; n != 1; steps++) n = n & 1 ? 3 * n + 1 : n / 2;
    return steps;
}

static cj_val b_for(cj_ptx *m, cj_fn *f, cj_val i, cj_val in)
{
    (void)m;
    cj_val sum = cj_let(f, CJ_U32, cj_imm(f, 0));
    cj_val j = cj_for(f, cj_imm(f, 0), i, cj_imm(f, 7));
        cj_continue_if(f, cj_eq(f, cj_and(f, j, cj_imm(f, 3)), cj_imm(f, 2)));
        cj_val k = cj_for(f, cj_cvt(f, CJ_S32, j), cj_imm(f, -1), cj_imm(f, -5)); /* downwards */
            cj_break_unless(f, cj_lt(f, sum, cj_imm(f, 0x70000000)));
            cj_assign(f, sum,
                      cj_add(f, sum, cj_add(f, cj_cvt(f, CJ_U32, k), cj_and(f, cj_get(f, in, j), cj_imm(f, 255)))));
            cj_end(f);
            cj_end(f);
            return sum;
}
static uint32_t s_for(uint32_t i, const uint32_t *in)
{
    uint32_t sum = 0;
    for (uint32_t j = 0; j < i; j += 7) {
        if ((j & 3) == 2) continue;
        for (int32_t k = (int32_t)j; k > -1; k -= 5) {
            if (!(sum < 0x70000000)) break;
            sum += (uint32_t)k + (in[j] & 255);
        }
    }
    return sum;
}

static cj_val b_while(cj_ptx *m, cj_fn *f, cj_val i, cj_val in)
{
    (void)m, (void)in;
    cj_val a = cj_let(f, CJ_U32, cj_add(f, i, cj_imm(f, 12))), b = cj_let(f, CJ_U32, cj_imm(f, 18));
    cj_val p = cj_ne(f, b, cj_imm(f, 0));
    cj_while(f, p);
        cj_val r = cj_rem(f, a, b);
        cj_assign(f, a, b);
        cj_assign(f, b, r);
        cj_assign(f, p, cj_ne(f, b, cj_imm(f, 0)));
    cj_end(f);
    return a;
}
static uint32_t s_while(uint32_t i, const uint32_t *in)
{
    (void)in;
    uint32_t a = i + 12, b = 18;
    while (b) {
        uint32_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* -- Functions ----------------------------------------------------------------------------------------------------- */

static cj_fn *square_plus(cj_ptx *m)
{
    cj_fn *g = cj_ptx_func(m, "square_plus");
    cj_val x = cj_param(g, "x", CJ_U32), y = cj_param(g, "y", CJ_U32);
    cj_if(g, cj_gt(g, x, cj_imm(g, 100)));
        cj_return_value(g, y);
    cj_end(g);
    cj_return_value(g, cj_add(g, cj_mul(g, x, x), y));
    return g;
}
static cj_val b_call(cj_ptx *m, cj_fn *f, cj_val i, cj_val in)
{
    cj_fn *g = square_plus(m);
    cj_val once = cj_call(f, g, i, cj_get(f, in, i));
    return cj_call(f, g, once, 7);
}
static uint32_t f_square_plus(uint32_t x, uint32_t y) { return x > 100 ? y : x * x + y; }
static uint32_t s_call(uint32_t i, const uint32_t *in) { return f_square_plus(f_square_plus(i, in[i]), 7); }

/* -- Memory -------------------------------------------------------------------------------------------------------- */

/* Each block reverses its part through shared memory. */
static cj_val b_shared(cj_ptx *m, cj_fn *f, cj_val i, cj_val in)
{
    (void)m;
    cj_val part = cj_shared(f, "part", CJ_U16, BLOCK), t = cj_thread_id(f, CJ_X);
    cj_set(f, part, t, cj_cvt(f, CJ_U16, cj_get(f, in, i)));
    cj_block_sync(f);
    return cj_cvt(f, CJ_U32, cj_get(f, part, cj_sub(f, cj_imm(f, BLOCK - 1), t)));
}
static uint32_t s_shared(uint32_t i, const uint32_t *in)
{
    return in[i / BLOCK * BLOCK + BLOCK - 1 - i % BLOCK] & 0xffff;
}

static cj_val b_dynamic(cj_ptx *m, cj_fn *f, cj_val i, cj_val in)
{
    (void)m;
    cj_val part = cj_shared_dynamic(f, "bytes", CJ_U64, 8), t = cj_thread_id(f, CJ_X);
    cj_set(f, part, t, cj_mul_wide(f, cj_get(f, in, i), cj_imm(f, 0x10001)));
    cj_block_sync(f);
    return cj_cvt(f, CJ_U32, cj_shr(f, cj_get(f, part, cj_xor(f, t, cj_imm(f, 5))), cj_imm(f, 16)));
}
static uint32_t s_dynamic(uint32_t i, const uint32_t *in) { return (uint32_t)((uint64_t)in[i ^ 5] * 0x10001 >> 16); }

static const int16_t table_init[5] = { -7, 300, 0, 12, -32768 };
static cj_val b_variables(cj_ptx *m, cj_fn *f, cj_val i, cj_val in)
{
    (void)in;
    cj_val t = cj_ptx_const(m, "table", CJ_S16, 8, table_init, 5),
           g = cj_ptx_global(m, "number", CJ_F64, 1, &(double){ 2.5 }, 1);
    cj_val a = cj_cvt(f, CJ_S32, cj_get(f, t, cj_and(f, i, cj_imm(f, 7))));
    cj_val b = cj_cvt(f, CJ_S32, cj_mul(f, cj_get(f, g, cj_imm(f, 0)), cj_imm(f, 100)));
    return cj_cvt(f, CJ_U32, cj_add(f, a, b));
}
static uint32_t s_variables(uint32_t i, const uint32_t *in)
{
    (void)in;
    return (uint32_t)((i & 7) < 5 ? table_init[i & 7] : 0) + 250;
}

static cj_val b_local(cj_ptx *m, cj_fn *f, cj_val i, cj_val in)
{
    (void)m, (void)in;
    cj_val a = cj_local(f, "a", CJ_U8, 16);
    cj_val j = cj_for(f, cj_let(f, CJ_U32, cj_imm(f, 0)), cj_imm(f, 16), cj_imm(f, 1));
        cj_set(f, a, j, cj_mul(f, cj_add(f, i, j), cj_imm(f, 37)));
    cj_end(f);
    cj_val low = cj_cvt(f, CJ_U32, cj_get(f, a, cj_and(f, i, cj_imm(f, 15))));
    cj_val word = cj_load(f, CJ_U32, cj_mem(f, a, 4));
    return cj_xor(f, low, word);
}
static uint32_t s_local(uint32_t i, const uint32_t *in)
{
    uint8_t a[16];
    uint32_t word;
    (void)in;
    for (uint32_t j = 0; j < 16; j++) a[j] = (uint8_t)((i + j) * 37);
    memcpy(&word, a + 4, 4);
    return a[i & 15] ^ word;
}

static cj_val b_signed_bytes(cj_ptx *m, cj_fn *f, cj_val i, cj_val in)
{
    (void)m;
    cj_val bytes = cj_as_ptr(f, in, CJ_S8, CJ_SPACE_GLOBAL);
    return cj_cvt(f, CJ_U32, cj_cvt(f, CJ_S32, cj_get(f, bytes, cj_add(f, i, cj_imm(f, 3)))));
}
static uint32_t s_signed_bytes(uint32_t i, const uint32_t *in)
{
    return (uint32_t)(int32_t)((const int8_t *)in)[i + 3];
}

/* -- Lanes --------------------------------------------------------------------------------------------------------- */

static cj_val b_shuffles(cj_ptx *m, cj_fn *f, cj_val i, cj_val in)
{
    (void)m;
    cj_val v = cj_get(f, in, i);
    cj_val down = cj_shfl_down(f, v, cj_imm(f, 3));
    cj_val up = cj_shfl_up(f, v, cj_imm(f, 1));
    cj_val other = cj_shfl_xor(f, v, cj_imm(f, 16));
    cj_val wide = cj_shfl_idx(f, cj_mul_wide(f, v, v), cj_imm(f, 9));
    cj_val r = cj_add(f, cj_add(f, down, up), other);
    return cj_add(f, r, cj_cvt(f, CJ_U32, cj_shr(f, wide, cj_imm(f, 24))));
}
static uint32_t s_shuffles(uint32_t i, const uint32_t *in)
{
    uint32_t l = i % 32, w = i - l;
    uint32_t down = l + 3 < 32 ? in[i + 3] : in[i], up = l >= 1 ? in[i - 1] : in[i];
    return down + up + in[w + (l ^ 16)] + (uint32_t)((uint64_t)in[w + 9] * in[w + 9] >> 24);
}

static cj_val b_votes(cj_ptx *m, cj_fn *f, cj_val i, cj_val in)
{
    (void)m;
    cj_val p = cj_eq(f, cj_and(f, cj_get(f, in, i), cj_imm(f, 4)), cj_imm(f, 4));
    cj_val ballot = cj_vote_ballot(f, p);
    cj_val any = cj_vote_any(f, cj_eq(f, i, cj_imm(f, 77)));
    cj_val all = cj_vote_all(f, cj_lt(f, i, cj_imm(f, 64)));
    cj_val one = cj_let(f, CJ_U32, cj_imm(f, 1)), zero = cj_let(f, CJ_U32, cj_imm(f, 0));
    cj_val r = cj_xor(f, cj_bits(f, CJ_U32, ballot), cj_popc(f, ballot));
    return cj_add(f, r, cj_add(f, cj_select(f, any, one, zero), cj_shl(f, cj_select(f, all, one, zero), cj_imm(f, 1))));
}
static uint32_t s_votes(uint32_t i, const uint32_t *in)
{
    uint32_t w = i / 32 * 32, ballot = 0;
    for (uint32_t l = 0; l < 32; l++) ballot |= (in[w + l] >> 2 & 1) << l;
    return (ballot ^ (uint32_t)__builtin_popcount(ballot)) + (w == 64) + (w < 64 ? 2 : 0);
}

/* Lanes of one warp that hand a token on, each waiting for the lane before it: the warp's lanes must make progress by
 * themselves. */
static cj_val b_token(cj_ptx *m, cj_fn *f, cj_val i, cj_val in)
{
    (void)in;
    cj_val token = cj_ptx_global(m, "token", CJ_U32, BLOCKS, NULL, 0), b = cj_block_id(f, CJ_X),
           t = cj_thread_id(f, CJ_X);
    cj_val place = cj_at(f, token, b), seen = cj_let(f, CJ_U32, cj_imm(f, 0));
    cj_loop(f);
        cj_ins(f, "ld.acquire.gpu.global.u32", seen, cj_mem(f, place, 0));
        cj_break_if(f, cj_eq(f, seen, t));
    cj_end(f);
    cj_ins(f, "st.release.gpu.global.u32", cj_mem(f, place, 0), cj_add(f, t, cj_imm(f, 1)));
    return cj_add(f, seen, i);
}
static uint32_t s_token(uint32_t i, const uint32_t *in) { (void)in; return i % BLOCK + i; }

/* -- Atomics ------------------------------------------------------------------------------------------------------- */

/* Every lane adds to its block's counter and, when all have, looks at it. */
static cj_val b_atomics(cj_ptx *m, cj_fn *f, cj_val i, cj_val in)
{
    (void)m;
    cj_val c = cj_shared(f, "counter", CJ_U32, 4), t = cj_thread_id(f, CJ_X),
           v = cj_and(f, cj_get(f, in, i), cj_imm(f, 0xffff));
    cj_if(f, cj_lt(f, t, cj_imm(f, 4)));
        cj_set(f, c, t, cj_imm(f, 0));
    cj_end(f);
    cj_block_sync(f);
    cj_atomic_add(f, cj_at(f, c, cj_imm(f, 0)), v);
    cj_atomic_max(f, cj_at(f, c, cj_imm(f, 1)), v);
    cj_atomic_xor(f, cj_at(f, c, cj_imm(f, 2)), v);
    cj_val old = cj_atomic_cas(f, cj_at(f, c, cj_imm(f, 3)), cj_imm(f, 0), cj_let(f, CJ_U32, cj_imm(f, 9)));
    cj_block_sync(f);
    cj_val sum = cj_add(f, cj_get(f, c, cj_imm(f, 0)), cj_get(f, c, cj_imm(f, 1)));
    cj_val lost = cj_ne(f, old, cj_imm(f, 0));
    cj_ins(f, "and.b32", old, old, 6); /* 0 for the winner, 9 & 6 = 0 for the others */
    cj_val losers = cj_reg(f, CJ_U32);
    cj_ins(f, "bar.red.popc.u32", losers, 0, lost);
    return cj_add(f, cj_add(f, cj_xor(f, sum, cj_get(f, c, cj_imm(f, 2))), losers), old);
}
static uint32_t s_atomics(uint32_t i, const uint32_t *in)
{
    uint32_t sum = 0, most = 0, bits = 0, b = i / BLOCK * BLOCK;
    for (uint32_t t = 0; t < BLOCK; t++) {
        uint32_t v = in[b + t] & 0xffff;
        sum += v;
        bits ^= v;
        if (v > most) most = v;
    }
    return ((sum + most) ^ bits) + BLOCK - 1;
}

/* -- Arithmetic of several types ----------------------------------------------------------------------------------- */

static cj_val b_floats(cj_ptx *m, cj_fn *f, cj_val i, cj_val in)
{
    (void)m;
    cj_val x = cj_cvt(f, CJ_F32, cj_get(f, in, i)), y = cj_add(f, cj_cvt(f, CJ_F32, i), cj_imm(f, 0.5f));
    cj_val r = cj_sub(f, cj_div(f, x, y), cj_sqrt(f, x));
    r = cj_fma(f, r, cj_imm(f, 1e-3f), cj_max(f, y, cj_imm(f, 20)));
    return cj_bits(f, CJ_U32, cj_neg(f, cj_floor(f, r)));
}
static uint32_t s_floats(uint32_t i, const uint32_t *in)
{
    volatile float x = (float)in[i], y = (float)i + 0.5f, q = x / y, root = sqrtf(x), r = q - root;
    float v = -floorf(fmaf(r, 1e-3f, fmaxf(y, 20)));
    uint32_t bits;
    memcpy(&bits, &v, 4);
    return bits;
}

static cj_val b_wide(cj_ptx *m, cj_fn *f, cj_val i, cj_val in)
{
    (void)m;
    cj_val a = cj_cvt(f, CJ_S64, cj_bits(f, CJ_S32, cj_get(f, in, i))), b = cj_cvt(f, CJ_S64, i);
    cj_val r = cj_mad(f, a, cj_imm(f, -1000003), cj_shl(f, b, cj_imm(f, 33)));
    r = cj_rem(f, r, cj_add(f, b, cj_imm(f, 1000)));
    return cj_cvt(f, CJ_U32, cj_abs(f, cj_min(f, r, cj_imm(f, 500))));
}
static uint32_t s_wide(uint32_t i, const uint32_t *in)
{
    int64_t r = (int64_t)(int32_t)in[i] * -1000003 + ((int64_t)i << 33);
    r %= (int64_t)i + 1000;
    if (r > 500) r = 500;
    return (uint32_t)(r < 0 ? -r : r);
}

static const struct { const char *name; body build; same c; uint32_t shared; } cases[] = {
    { "if and else, nested", b_if_else, s_if_else, 0 },
    { "a loop with break and continue, of another length in each lane", b_loops, s_loops, 0 },
    { "for, up and down, nested", b_for, s_for, 0 },
    { "while", b_while, s_while, 0 },
    { "calls of a function with two returns", b_call, s_call, 0 },
    { "16-bit elements in shared memory", b_shared, s_shared, 0 },
    { "dynamic shared memory", b_dynamic, s_dynamic, BLOCK * 8 },
    { "const and global variables with initialisers", b_variables, s_variables, 0 },
    { "a local array of bytes", b_local, s_local, 0 },
    { "signed bytes", b_signed_bytes, s_signed_bytes, 0 },
    { "shuffles of 32 and 64 bits", b_shuffles, s_shuffles, 0 },
    { "votes", b_votes, s_votes, 0 },
    { "lanes that wait for each other", b_token, s_token, 0 },
    { "atomics in shared memory, and a barrier that counts", b_atomics, s_atomics, 0 },
    { "f32", b_floats, s_floats, 0 },
    { "64-bit integers", b_wide, s_wide, 0 },
};

int main(void)
{
    tap_need_device(1);
    tap_plan(0);
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    uint32_t *h = cj_host_alloc(dev, 2 * LANES * sizeof *h, NULL);
    if (!h) tap_bail("%s", cj_error_of(dev)->message);
    cj_dptr in = cj_alloc(s, 2 * LANES * sizeof *h), out = cj_offset(in, LANES * sizeof *h);
    for (uint32_t i = 0; i < LANES; i++) h[i] = in_value(i);
    cj_copy_to_device(s, in, h, LANES * sizeof *h);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        cj_ptx *m = cj_ptx_create();
        cj_fn *f = cj_ptx_kernel(m, "k");
        cj_val pin = cj_param_ptr(f, "in", CJ_U32), pout = cj_param_ptr(f, "out", CJ_U32), i = cj_global_id(f, CJ_X);
        cj_set(f, pout, i, cases[c].build(m, f, i, pin));
        cj_kernel *k = cj_kernel_load(dev, m, "k", NULL);
        cj_fill32(s, out, 0xdeadbeef, LANES);
        cj_launch(s, k, cj_dims_shared(cj_grid(BLOCKS, BLOCK), cases[c].shared), in, out);
        cj_copy_to_host(s, h + LANES, out, LANES * sizeof *h);
        cj_status st = cj_stream_sync(s);
        int wrong = 0;
        for (uint32_t j = 0; st == CJ_OK && j < LANES; j++) {
            uint32_t want = cases[c].c(j, h);
            if (h[LANES + j] != want && !wrong++) tap_diag("lane %u: %08x, wants %08x", j, h[LANES + j], want);
        }
        if (st) tap_diag("%s", cj_error_of(s)->message);
        tap_ok(st == CJ_OK && !wrong, "%s", cases[c].name);
        cj_kernel_free(k);
        cj_ptx_free(m);
    }
    cj_free(dev, in);
    cj_host_free(dev, h);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
