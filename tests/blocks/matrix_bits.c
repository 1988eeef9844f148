/* mma.sync of each shape and type gives the bits of an H100, for numbers of all magnitudes, subnormal ones, infinities
 * and NaN: against a model in C that computes with f64 what docs/semantics.md says of the tensor cores. */
#include <fenv.h>

#include <cujit/cujit.h>

#include "tests/blocks/matrix_model.h"
#include "tests/tap.h"

enum { LANES = 32, STYLES = 6, BLOCKS = 24, ROWS = 16, COLUMNS = 8, MOST_K = 32, MOST_REGISTERS = 8 };
enum { WORDS = 20 * LANES };

/* Registers of D, A, B, C; the rest follows from rows, k and types. */
static const struct form {
    const char *mnemonic;
    uint8_t rows, k;
    kind a, b, d;
    bool saturate;
    int round;                 /* of f64 */
} forms[] = {
    { "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", 16, 8, F16, F16, F32, false, 0 },
    { "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 16, 16, F16, F16, F32, false, 0 },
    { "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", 16, 8, F16, F16, F16, false, 0 },
    { "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", 16, 16, F16, F16, F16, false, 0 },
    { "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", 16, 8, BF16, BF16, F32, false, 0 },
    { "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 16, 16, BF16, BF16, F32, false, 0 },
    { "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", 16, 4, TF32, TF32, F32, false, 0 },
    { "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 16, 8, TF32, TF32, F32, false, 0 },
    { "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", 16, 32, E4M3, E4M3, F32, false, 0 },
    { "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", 16, 32, E4M3, E5M2, F32, false, 0 },
    { "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32", 16, 32, E5M2, E5M2, F32, false, 0 },
    { "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", 8, 16, S8, S8, S32, false, 0 },
    { "mma.sync.aligned.m8n8k16.row.col.satfinite.s32.u8.s8.s32", 8, 16, U8, S8, S32, true, 0 },
    { "mma.sync.aligned.m16n8k16.row.col.s32.u8.u8.s32", 16, 16, U8, U8, S32, false, 0 },
    { "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32", 16, 32, S8, U8, S32, false, 0 },
    { "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32", 16, 32, S8, S8, S32, true, 0 },
    { "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", 8, 4, F64, F64, F64, false, FE_TONEAREST },
    { "mma.sync.aligned.m8n8k4.row.col.rz.f64.f64.f64.f64", 8, 4, F64, F64, F64, false, FE_TOWARDZERO },
    { "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64", 16, 4, F64, F64, F64, false, FE_TONEAREST },
    { "mma.sync.aligned.m16n8k8.row.col.rp.f64.f64.f64.f64", 16, 8, F64, F64, F64, false, FE_UPWARD },
    { "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", 16, 16, F64, F64, F64, false, FE_TONEAREST },
    { "mma.sync.aligned.m16n8k16.row.col.rm.f64.f64.f64.f64", 16, 16, F64, F64, F64, false, FE_DOWNWARD },
};

/* ---- The model ------------------------------------------------------------------------------------------------- */

static uint64_t want_of(const struct form *f, const uint64_t *a, const uint64_t *b, uint64_t c)
{
    term p[MOST_K];
    if (f->d == F64) {
        volatile double sum = value_of(F64, c);
        uint64_t bits;
        double v;
        fesetround(f->round);
        for (unsigned k = 0; k < f->k; k++) {
            volatile double x = value_of(F64, a[k]), y = value_of(F64, b[k]);
            sum = fma(x, y, sum);
        }
        fesetround(FE_TONEAREST);
        v = sum;
        return memcpy(&bits, &v, 8), bits;
    }
    if (f->d == S32) {
        double sum = value_of(S32, c);
        for (unsigned k = 0; k < f->k; k++) sum += value_of(f->a, a[k]) * value_of(f->b, b[k]);
        if (f->saturate) sum = sum > 2147483647.0 ? 2147483647.0 : sum < -2147483648.0 ? -2147483648.0 : sum;
        return (uint32_t)(int64_t)sum;
    }
    bool bytes = bits_of(f->a) == 8;
    unsigned n = 0;
    for (unsigned k = 0; k < f->k; k++, n++) {
        p[n] = (term){ value_of(f->a, a[k]), value_of(f->b, b[k]), 0 };
        p[n].exponent = isfinite(p[n].a) && isfinite(p[n].b)
                            ? exponent_of(bytes ? F16 : f->a, p[n].a) + exponent_of(bytes ? F16 : f->b, p[n].b)
                            : 0;
    }
    double cv = value_of(f->d, c);
    if (!bytes) {
        double v = fused(p, n, cv, isfinite(cv) ? exponent_of(f->d, cv) : 0, 25);
        return f->d == F16 ? f16_of(v) : f32_of(v, 23);
    }
    /* two products of half precision: the lower two bytes of each register, then the upper two */
    double sum = 0;
    for (unsigned upper = 0; upper < 2; upper++) {
        term q[MOST_K];
        unsigned m = 0;
        for (unsigned k = 0; k < f->k; k++)
            if (k % 4 / 2 == upper) q[m++] = p[k];
        uint64_t kept = f32_of(fused(q, m, sum, isfinite(sum) ? exponent_of(F32, sum) : 0, 25), 23);
        sum = value_of(F32, kept);
    }
    return f32_of(cv + sum, 0);
}

/* ---- Fragments, as the manual has them --------------------------------------------------------------------------- */

/* Element i of a lane's registers of A: a row of its group, and the neighbours in k that its registers hold. */
static void place_a(const struct form *f, unsigned lane, unsigned i, unsigned *row, unsigned *column)
{
    unsigned each = bits_of(f->a) >= 32 ? 1 : 32 / bits_of(f->a), reg = i / each;
    *row = lane / 4 + (f->rows == 16 && reg % 2 ? 8 : 0);
    *column = lane % 4 * each + i % each + (f->rows == 16 ? reg / 2 : reg) * 4 * each;
}

static void place_b(const struct form *f, unsigned lane, unsigned i, unsigned *row, unsigned *column)
{
    unsigned each = bits_of(f->b) >= 32 ? 1 : 32 / bits_of(f->b);
    *row = lane % 4 * each + i % each + i / each * 4 * each;
    *column = lane / 4;
}

/* Words of a block's input: A, B, C; each register has 32 lanes. */
static unsigned registers(unsigned elements, kind t) { return elements * (t == F64 ? 32 : bits_of(t)) / 32 / LANES; }

static uint64_t in[BLOCKS][WORDS], out[BLOCKS][4 * LANES];

static void put_element(uint64_t *words, kind t, unsigned lane, unsigned i, uint64_t v)
{
    unsigned each = bits_of(t) >= 32 ? 1 : 32 / bits_of(t);
    words[i / each * LANES + lane] |= v << i % each * bits_of(t);
}

static uint64_t element_at(const uint64_t *words, kind t, unsigned lane, unsigned i)
{
    unsigned each = bits_of(t) >= 32 ? 1 : 32 / bits_of(t);
    uint64_t v = words[i / each * LANES + lane] >> i % each * bits_of(t);
    return bits_of(t) == 64 ? v : v & ((UINT64_C(1) << bits_of(t)) - 1);
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */

static cj_device *dev;
static cj_stream *s;

/* Each register travels as 64 bits. */
static cj_val load(cj_fn *f, cj_val base, unsigned *at, unsigned n, kind t)
{
    cj_val r = cj_regs(f, t == F64 ? CJ_F64 : t == F32 ? CJ_F32 : t == S32 ? CJ_S32 : CJ_B32, n);
    for (unsigned i = 0; i < n; i++, (*at) += LANES)
        cj_ins(f, t == F64 ? "ld.global.b64" : "ld.global.b32", cj_elem(f, r, i), cj_mem(f, base, 8 * (int64_t)*at));
    return r;
}

static cj_ptx *module_of(const struct form *c)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val from = cj_param_ptr(f, "in", CJ_U64), to = cj_param_ptr(f, "out", CJ_U64);
    cj_val lane = cj_thread_id(f, CJ_X), block = cj_block_id(f, CJ_X);
    cj_val base = cj_addr(f, cj_at(f, from, cj_mad(f, block, WORDS, lane)));
    cj_val result = cj_addr(f, cj_at(f, to, cj_mad(f, block, 4 * LANES, lane)));
    unsigned at = 0, n = registers(c->rows * COLUMNS, c->d);
    cj_val a = load(f, base, &at, registers((unsigned)c->rows * c->k, c->a), c->a);
    cj_val b = load(f, base, &at, registers(COLUMNS * (unsigned)c->k, c->b), c->b);
    cj_val acc = load(f, base, &at, n, c->d);
    cj_ins(f, c->mnemonic, acc, a, b, acc);
    for (unsigned i = 0; i < n; i++)
        cj_ins(f, c->d == F64 ? "st.global.b64" : "st.global.b32", cj_mem(f, result, 8 * (int64_t)i * LANES),
               cj_elem(f, acc, i));
    return m;
}

static void launch(const struct form *c)
{
    cj_ptx *m = module_of(c);
    cj_kernel *k = cj_kernel_load(dev, m, "k", NULL);
    cj_dptr from = cj_alloc(s, sizeof in), to = cj_alloc(s, sizeof out);
    cj_copy_to_device(s, from, in, sizeof in);
    cj_copy_to_device(s, to, out, sizeof out);
    cj_launch(s, k, cj_grid(BLOCKS, LANES), from, to);
    cj_copy_to_host(s, out, to, sizeof out);
    if (cj_stream_sync(s) != CJ_OK) tap_bail("%s: %s", c->mnemonic, cj_error_of(s)->message);
    cj_free(dev, from);
    cj_free(dev, to);
    cj_kernel_free(k);
    cj_ptx_free(m);
}

static uint64_t a[BLOCKS][ROWS][MOST_K], b[BLOCKS][COLUMNS][MOST_K], acc[BLOCKS][ROWS][COLUMNS];

static void fill_block(const struct form *c, unsigned block)
{
    unsigned row, column, style = block % STYLES, at_b = registers((unsigned)c->rows * c->k, c->a) * LANES,
             at_c = at_b + registers(COLUMNS * (unsigned)c->k, c->b) * LANES;
    for (unsigned i = 0; i < c->rows; i++)
        for (unsigned k = 0; k < c->k; k++) a[block][i][k] = random_number(c->a, style);
    for (unsigned j = 0; j < COLUMNS; j++)
        for (unsigned k = 0; k < c->k; k++) b[block][j][k] = random_number(c->b, style);
    for (unsigned i = 0; i < c->rows; i++)
        for (unsigned j = 0; j < COLUMNS; j++)
            acc[block][i][j] = block < BLOCKS / 2 ? random_number(c->d, style) : 0;
    for (unsigned lane = 0; lane < LANES; lane++) {
        for (unsigned i = 0; i < (unsigned)c->rows * c->k / LANES; i++) {
            place_a(c, lane, i, &row, &column);
            put_element(in[block], c->a, lane, i, a[block][row][column]);
        }
        for (unsigned i = 0; i < COLUMNS * (unsigned)c->k / LANES; i++) {
            place_b(c, lane, i, &row, &column);
            put_element(in[block] + at_b, c->b, lane, i, b[block][column][row]);
        }
        for (unsigned i = 0; i < c->rows * COLUMNS / LANES; i++)
            put_element(in[block] + at_c, c->d, lane, i, acc[block][lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2]);
    }
}

static unsigned wrong_in(const struct form *c, unsigned block)
{
    unsigned wrong = 0;
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned i = 0; i < c->rows * COLUMNS / LANES; i++) {
            unsigned row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
            uint64_t got = element_at(out[block], c->d, lane, i),
                     want = want_of(c, a[block][row], b[block][column], acc[block][row][column]);
            bool nan = c->d == F64 && isnan(value_of(F64, got)) && isnan(value_of(F64, want));
            if (got == want || nan) continue;
            if (!wrong++)
                tap_diag("block %u, row %u, column %u: 0x%llx, wants 0x%llx", block, row, column,
                         (unsigned long long)got, (unsigned long long)want);
        }
    return wrong;
}

int main(void)
{
    tap_need_device(1);
    cj_driver *drv = cj_driver_open(NULL);
    dev = cj_device_open(drv, 0, NULL);
    cj_device_info info = { .size = sizeof info };
    if (cj_device_get_info(dev, &info) != CJ_OK || info.sm_major != 9)
        tap_skip_all("the bits are those of compute capability 9.0");
    tap_plan(0);
    s = cj_stream_create(dev, NULL);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const struct form *c = &forms[i];
        unsigned wrong = 0;
        if (c->d == F64 && c->round != FE_TONEAREST && tap_under_valgrind()) {
            tap_skip(1, "valgrind rounds to nearest");
            continue;
        }
        memset(in, 0, sizeof in);
        memset(out, 0, sizeof out);
        for (unsigned block = 0; block < BLOCKS; block++) fill_block(c, block);
        launch(c);
        for (unsigned block = 0; block < BLOCKS; block++) wrong += wrong_in(c, block);
        tap_is_uint(wrong, 0, "%s", c->mnemonic);
    }
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
