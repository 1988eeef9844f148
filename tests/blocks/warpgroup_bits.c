/* wgmma of each type, with matrices in each layout of shared memory, gives the bits of an H100: against the model of
 * matrix_model.h. Layouts are those of the PTX manual's table "Canonical Layouts". */
#include <stddef.h>
#include <stdio.h>

#include <cujit/cujit.h>

#include "tests/blocks/matrix_model.h"
#include "tests/tap.h"

enum { THREADS = 128, ROWS = 64, MOST_N = 96, MOST_K = 32, BYTES = 16384, REGISTERS = MOST_N / 2, STYLES = 6 };

/* In units of 16 bytes: unit u of row r, in a swizzled or plain array with k (or m, n) contiguous. */
typedef struct layout {
    cj_swizzle swizzle;
    bool turned;               /* m or n is contiguous */
    uint32_t leading, stride;  /* bytes */
} layout;

static const layout in_registers = { CJ_SWIZZLE_NONE, false, 0, 0 },
                    k_none = { CJ_SWIZZLE_NONE, false, 128, 512 }, k_32 = { CJ_SWIZZLE_32B, false, 0, 512 },
                    k_64 = { CJ_SWIZZLE_64B, false, 0, 512 }, k_128 = { CJ_SWIZZLE_128B, false, 0, 1024 },
                    k_128_apart = { CJ_SWIZZLE_128B, false, 0, 2048 },
                    mn_none = { CJ_SWIZZLE_NONE, true, 256, 512 }, mn_32 = { CJ_SWIZZLE_32B, true, 1024, 512 },
                    mn_64 = { CJ_SWIZZLE_64B, true, 2048, 512 }, mn_128 = { CJ_SWIZZLE_128B, true, 4096, 1024 };

static const struct product {
    const char *types;
    uint32_t n, k;
    kind a, b, d;
    const layout *la, *lb;     /* la in_registers: A in registers */
    int sign_a, sign_b;        /* 0: the instruction has none */
    bool fresh;                /* D = A * B */
} products[] = {
    { "f32.f16.f16", 8, 16, F16, F16, F32, &k_128, &k_128, 1, 1, false },
    { "f32.f16.f16", 24, 16, F16, F16, F32, &k_none, &k_none, 1, 1, false },
    { "f32.f16.f16", 32, 16, F16, F16, F32, &k_32, &k_64, -1, 1, false },
    { "f32.f16.f16", 32, 16, F16, F16, F32, &k_64, &k_32, 1, -1, false },
    { "f32.f16.f16", 32, 16, F16, F16, F32, &k_128_apart, &k_128_apart, -1, -1, false },
    { "f32.f16.f16", 64, 16, F16, F16, F32, &mn_128, &mn_128, 1, 1, false },
    { "f32.f16.f16", 64, 16, F16, F16, F32, &mn_64, &mn_64, 1, 1, false },
    { "f32.f16.f16", 64, 16, F16, F16, F32, &mn_32, &mn_32, 1, 1, false },
    { "f32.f16.f16", 64, 16, F16, F16, F32, &mn_none, &mn_none, 1, 1, true },
    { "f32.f16.f16", 16, 16, F16, F16, F32, &mn_128, &k_64, 1, 1, false },
    { "f32.f16.f16", 40, 16, F16, F16, F32, &in_registers, &mn_64, -1, 1, false },
    { "f16.f16.f16", 16, 16, F16, F16, F16, &k_128, &k_128, 1, 1, false },
    { "f16.f16.f16", 48, 16, F16, F16, F16, &in_registers, &mn_32, 1, 1, false },
    { "f32.bf16.bf16", 96, 16, BF16, BF16, F32, &k_128, &k_128, 1, 1, false },
    { "f32.bf16.bf16", 64, 16, BF16, BF16, F32, &in_registers, &mn_128, 1, 1, true },
    { "f32.tf32.tf32", 16, 8, TF32, TF32, F32, &k_128, &k_none, 1, 1, false },
    { "f32.tf32.tf32", 24, 8, TF32, TF32, F32, &in_registers, &k_32, 1, -1, false },
    { "f32.e4m3.e4m3", 16, 32, E4M3, E4M3, F32, &k_128, &k_128, 1, 1, false },
    { "f32.e4m3.e5m2", 8, 32, E4M3, E5M2, F32, &k_64, &k_none, 1, 1, false },
    { "f32.e5m2.e4m3", 24, 32, E5M2, E4M3, F32, &in_registers, &k_32, -1, 1, false },
    { "f32.e5m2.e5m2", 32, 32, E5M2, E5M2, F32, &k_none, &k_64, 1, 1, true },
    { "s32.s8.s8", 64, 32, S8, S8, S32, &k_128, &k_128, 0, 0, false },
    { "s32.u8.u8", 16, 32, U8, U8, S32, &k_64, &k_none, 0, 0, true },
    { "satfinite.s32.s8.s8", 32, 32, S8, S8, S32, &k_none, &k_32, 0, 0, false },
    { "s32.s8.s8", 80, 32, S8, S8, S32, &in_registers, &k_128, 0, 0, false },
    { "satfinite.s32.u8.u8", 24, 32, U8, U8, S32, &in_registers, &k_none, 0, 0, false },
    { "s32.s8.u8", 64, 32, S8, U8, S32, &k_128, &k_128, 0, 0, false },
    { "s32.u8.s8", 24, 32, U8, S8, S32, &k_64, &k_none, 0, 0, true },
    { "s32.u8.s8", 96, 32, U8, S8, S32, &in_registers, &k_64, 0, 0, false },
    { "satfinite.s32.s8.u8", 8, 32, S8, U8, S32, &in_registers, &k_32, 0, 0, false },
    { "satfinite.s32.s8.u8", 32, 32, S8, U8, S32, &k_none, &k_128, 0, 0, false },
    { "satfinite.s32.u8.s8", 48, 32, U8, S8, S32, &k_32, &k_128_apart, 0, 0, false },
};

/* ---- Where elements are ------------------------------------------------------------------------------------------ */

/* ((T,w,m),(8,k)):((1,T,LBO),(wT,SBO)) and ((8,m),(T,2k)):((wT,SBO),(1,T)); without swizzle ((T,1,m),(8,k)):((1,T,SBO),
 * (1T,LBO)) and ((8,m),(T,2k)):((1T,SBO),(1,LBO)): T elements are 16 bytes, w such units a row of the pattern. */
static uint32_t place(const layout *l, kind t, uint32_t mn, uint32_t k)
{
    static const uint32_t units[] = { 1, 2, 4, 8 };
    uint32_t size = bits_of(t) / 8, T = 16 / size, w = units[l->swizzle], at;
    if (l->turned && !l->swizzle) at = mn % T * size + mn / T * l->stride + k % 8 * 16 + k / 8 * l->leading;
    else if (l->turned)
        at = mn % T * size + mn / T % w * 16 + mn / (T * w) * l->leading + k % 8 * 16 * w + k / 8 * l->stride;
    else at = mn % 8 * 16 * w + mn / 8 * l->stride + k % T * size + k / T * (l->swizzle ? 16 : l->leading);
    switch (l->swizzle) {
    case CJ_SWIZZLE_32B: return at ^ (at & 0x80) >> 3;
    case CJ_SWIZZLE_64B: return at ^ (at & 0x180) >> 3;
    case CJ_SWIZZLE_128B: return at ^ (at & 0x380) >> 3;
    default: return at;
    }
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */

static cj_device *dev;
static cj_stream *s;

static struct input {
    uint8_t a[BYTES], b[BYTES];
    uint32_t a_registers[4][THREADS], d[REGISTERS][THREADS];
} in;
static uint32_t out[REGISTERS][THREADS];
static uint64_t c[ROWS][MOST_N];

/* Elements of A and B: bits, value, exponent where it is finite. */
static struct element { uint64_t bits; double v; int exponent; } a[ROWS][MOST_K], b[MOST_N][MOST_K];

static cj_val load(cj_fn *f, cj_val words, cj_val thread, size_t offset, cj_type type, uint32_t n)
{
    cj_val r = cj_regs(f, type, n);
    for (uint32_t i = 0; i < n; i++)
        cj_ins(f, "ld.global.b32", cj_elem(f, r, i),
               cj_at(f, words, cj_add(f, thread, (int)(offset / 4 + i * (size_t)THREADS))));
    return r;
}

static cj_ptx *module_of(const struct product *p)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val words = cj_param_ptr(f, "in", CJ_U32), to = cj_param_ptr(f, "out", CJ_U32), t = cj_thread_id(f, CJ_X);
    uint32_t registers = p->n / (p->d == F16 ? 4 : 2);
    cj_fn_max_threads(f, THREADS, 1, 1);
    cj_val shared[2];
    for (int i = 0; i < 2; i++) {
        shared[i] = cj_shared(f, i ? "bs" : "as", CJ_U32, BYTES / 4);
        cj_var_align(f, shared[i], 1024);
        cj_val at = cj_for(f, 0, BYTES / 4 / THREADS, 1);
            cj_val word = cj_mad(f, at, THREADS, t);
            cj_set(f, shared[i], word, cj_get(f, words, cj_add(f, word, i * BYTES / 4)));
        cj_end(f);
    }
    cj_fence_async_shared(f);
    cj_block_sync(f);
    cj_type type = p->d == F32 ? CJ_F32 : p->d == S32 ? CJ_S32 : CJ_B32;
    cj_val d = load(f, words, t, offsetof(struct input, d), type, registers);
    cj_wgmma_matrix am, bm;
    cj_wgmma_matrix_begin(f, shared[0], p->la->leading, p->la->stride, p->la->swizzle, &am);
    cj_wgmma_matrix_begin(f, shared[1], p->lb->leading, p->lb->stride, p->lb->swizzle, &bm);
    cj_val v[8] = { d }, adds = cj_ne(f, t, p->fresh ? t : cj_imm(f, -1));
    size_t n = 1;
    v[n++] = p->la == &in_registers ? load(f, words, t, offsetof(struct input, a_registers), CJ_B32, 4)
                                    : cj_wgmma_operand(f, &am, cj_imm(f, 0));
    v[n++] = cj_wgmma_operand(f, &bm, cj_imm(f, 0));
    v[n++] = adds;
    if (p->sign_a) {
        v[n++] = cj_imm(f, p->sign_a);
        v[n++] = cj_imm(f, p->sign_b);
    }
    if (bits_of(p->a) == 16) {
        if (p->la != &in_registers) v[n++] = cj_imm(f, p->la->turned);
        v[n++] = cj_imm(f, p->lb->turned);
    }
    char mnemonic[120];
    snprintf(mnemonic, sizeof mnemonic, "wgmma.mma_async.sync.aligned.m64n%uk%u.%s", p->n, p->k, p->types);
    cj_wgmma_fence(f);
    cj_ins_n(f, mnemonic, v, n);
    cj_wgmma_commit(f);
    cj_wgmma_wait(f, 0);
    for (uint32_t i = 0; i < registers; i++)
        cj_ins(f, "st.global.b32", cj_at(f, to, cj_add(f, t, (int)(i * THREADS))), cj_elem(f, d, i));
    return m;
}

/* ---- Operands ---------------------------------------------------------------------------------------------------- */

static struct element random_element(kind t, unsigned style)
{
    struct element e = { random_number(t, style), 0, 0 };
    e.v = value_of(t, e.bits);
    if (t != S8 && t != U8 && isfinite(e.v)) e.exponent = exponent_of(t, e.v);
    return e;
}

static void fill(const struct product *p, unsigned style)
{
    uint32_t size_a = bits_of(p->a) / 8, size_b = bits_of(p->b) / 8, each = 4 / size_a;
    memset(&in, 0, sizeof in);
    for (uint32_t i = 0; i < ROWS; i++)
        for (uint32_t k = 0; k < p->k; k++) {
            a[i][k] = random_element(p->a, style);
            if (p->la != &in_registers) memcpy(in.a + place(p->la, p->a, i, k), &a[i][k].bits, size_a);
        }
    for (uint32_t j = 0; j < p->n; j++)
        for (uint32_t k = 0; k < p->k; k++) {
            b[j][k] = random_element(p->b, style);
            memcpy(in.b + place(p->lb, p->b, j, k), &b[j][k].bits, size_b);
        }
    for (uint32_t t = 0; t < THREADS; t++) {
        uint32_t row = t / 32 * 16 + t % 32 / 4;
        for (uint32_t i = 0; i < 4; i++)
            for (uint32_t e = 0; e < each; e++)
                in.a_registers[i][t] |=
                    (uint32_t)a[row + i % 2 * 8][t % 4 * each + e + i / 2 * 4 * each].bits << e * bits_of(p->a) % 32;
        for (uint32_t i = 0; i < p->n / 2; i++) {
            uint64_t *e = &c[row + i / 2 % 2 * 8][i / 4 * 8 + t % 4 * 2 + i % 2];
            *e = random_number(p->d, style);
            if (p->d == F16) in.d[i / 2][t] |= (uint32_t)*e << i % 2 * 16;
            else in.d[i][t] = (uint32_t)*e;
        }
    }
}

static uint32_t want_at(const struct product *p, uint32_t row, uint32_t column)
{
    term q[MOST_K];
    double v = p->fresh ? 0 : value_of(p->d, c[row][column]), sign = p->sign_a * p->sign_b < 0 ? -1 : 1;
    int fraction = bits_of(p->a) == 8 ? 13 : 25;
    for (uint32_t k = 0; k < p->k; k++) {
        const struct element *x = &a[row][k], *y = &b[column][k];
        q[k] = (term){ sign * x->v, y->v, x->exponent + y->exponent };
    }
    if (p->d == S32) {
        for (uint32_t k = 0; k < p->k; k++) v += q[k].a * q[k].b;
        if (p->types[0] == 's' && p->types[1] == 'a') v = fmin(fmax(v, -2147483648.0), 2147483647.0);
        return (uint32_t)(int64_t)v;
    }
    v = fused(q, p->k, v, isfinite(v) ? exponent_of(p->d, v) : 0, fraction);
    return p->d == F16 ? f16_of(v) : f32_of(v, fraction == 13 ? 13 : 23);
}

static unsigned wrong_of(const struct product *p, unsigned style)
{
    unsigned wrong = 0;
    for (uint32_t t = 0; t < THREADS; t++)
        for (uint32_t i = 0; i < p->n / 2; i++) {
            uint32_t row = t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + t % 4 * 2 + i % 2;
            uint32_t got = p->d == F16 ? out[i / 2][t] >> i % 2 * 16 & 0xffff : out[i][t];
            uint32_t want = want_at(p, row, column);
            if (got == want) continue;
            if (!wrong++) tap_diag("numbers %u, row %u, column %u: 0x%x, wants 0x%x", style, row, column, got, want);
        }
    return wrong;
}

static void check(const struct product *p)
{
    static const char *const swizzles[] = { "none", "32", "64", "128" };
    unsigned wrong = 0;
    cj_ptx *m = module_of(p);
    cj_kernel *k = cj_kernel_load(dev, m, "k", NULL);
    cj_dptr from = cj_alloc(s, sizeof in), to = cj_alloc(s, sizeof out);
    for (unsigned style = 0; style < STYLES; style++) {
        fill(p, style);
        cj_copy_to_device(s, from, &in, sizeof in);
        cj_launch(s, k, cj_grid(1, THREADS), from, to);
        cj_copy_to_host(s, out, to, sizeof out);
        if (cj_stream_sync(s) != CJ_OK) tap_bail("%s: %s", p->types, cj_error_of(s)->message);
        wrong += wrong_of(p, style);
    }
    tap_is_uint(wrong, 0, "m64n%uk%u.%s, A %s%s, B %s%s%s", p->n, p->k, p->types,
                p->la == &in_registers ? "in registers" : swizzles[p->la->swizzle], p->la->turned ? " by m" : "",
                swizzles[p->lb->swizzle], p->lb->turned ? " by n" : "", p->fresh ? ", D not added" : "");
    cj_free(dev, from);
    cj_free(dev, to);
    cj_kernel_free(k);
    cj_ptx_free(m);
}

int main(void)
{
    tap_need_device(1);
    cj_driver *drv = cj_driver_open(NULL);
    dev = cj_device_open(drv, 0, NULL);
    cj_device_info info = { .size = sizeof info };
    if (cj_device_get_info(dev, &info) != CJ_OK || info.sm_major != 9)
        tap_skip_all("wgmma wants compute capability 9.0");
    tap_plan(0);
    s = cj_stream_create(dev, NULL);
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) check(&products[i]);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
