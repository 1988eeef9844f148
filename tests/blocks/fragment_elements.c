/* cj_mma_a_position, cj_mma_a_row and the others: which elements of A and B the registers of fragments have. Registers
 * that are loaded one by one from where these calls find their elements are those that ldmatrix gives, and mma.sync
 * multiplies them as plain C does. The places are those of the PTX manual's sections "Matrix Fragments for mma". */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cujit/cujit.h>

#include "tests/tap.h"

enum { LANES = 32, ROWS = 16, COLUMNS = 8, MOST_K = 32, MOST_REGISTERS = 8 };

static const struct shape {
    const char *name;
    cj_mma_shape mma;
    uint32_t bytes;          /* of an element of A and B */
} shapes[] = {
    { "bf16, k 8", { .k = 8, .a = CJ_MMA_BF16, .b = CJ_MMA_BF16, .d = CJ_MMA_F32 }, 2 },
    { "bf16, k 16", { .k = 16, .a = CJ_MMA_BF16, .b = CJ_MMA_BF16, .d = CJ_MMA_F32 }, 2 },
    { "tf32, k 4", { .k = 4, .a = CJ_MMA_TF32, .b = CJ_MMA_TF32, .d = CJ_MMA_F32 }, 4 },
    { "tf32, k 8", { .k = 8, .a = CJ_MMA_TF32, .b = CJ_MMA_TF32, .d = CJ_MMA_F32 }, 4 },
    { "s8, k 16", { .k = 16, .a = CJ_MMA_S8, .b = CJ_MMA_S8, .d = CJ_MMA_S32 }, 1 },
    { "s8 by u8, k 32", { .k = 32, .a = CJ_MMA_S8, .b = CJ_MMA_U8, .d = CJ_MMA_S32 }, 1 },
    { "f64, k 4", { .k = 4, .a = CJ_MMA_F64, .b = CJ_MMA_F64, .d = CJ_MMA_F64 }, 8 },
    { "f64, k 8", { .k = 8, .a = CJ_MMA_F64, .b = CJ_MMA_F64, .d = CJ_MMA_F64 }, 8 },
    { "f64, k 16", { .k = 16, .a = CJ_MMA_F64, .b = CJ_MMA_F64, .d = CJ_MMA_F64 }, 8 },
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* ldmatrix moves the 32 bytes of k that a row has. */
static bool ldmatrix_loads(const struct shape *s) { return s->bytes <= 4 && s->mma.k * s->bytes == 32; }

static uint32_t each_of(const struct shape *s) { return s->bytes < 4 ? 4 / s->bytes : 1; }

/* ---- In plain C: the manual's formulas --------------------------------------------------------------------------- */

/* Row and column of element i of lane `lane`, as the manual has them for each type. */
static void manual_a(const struct shape *s, uint32_t lane, uint32_t i, uint32_t *row, uint32_t *column)
{
    uint32_t group = lane >> 2, in_group = lane % 4;
    switch (s->bytes) {
    case 2:   /* row: group for a0 a1 a4 a5, else + 8; column: in_group * 2 + (i & 1), from a4 on + 8 */
        *row = i % 4 < 2 ? group : group + 8;
        *column = in_group * 2 + (i & 1) + (i < 4 ? 0 : 8);
        break;
    case 1:   /* row: group for a0-a3 and a8-a11, else + 8; column: in_group * 4 + (i & 3), from a8 on + 16 */
        *row = i % 8 < 4 ? group : group + 8;
        *column = in_group * 4 + (i & 3) + (i < 8 ? 0 : 16);
        break;
    default:  /* tf32 and f64; row: group for a0 a2 ..., else + 8; column: in_group, + 4 for each two registers */
        *row = i % 2 == 0 ? group : group + 8;
        *column = in_group + i / 2 * 4;
    }
}

static void manual_b(const struct shape *s, uint32_t lane, uint32_t i, uint32_t *row, uint32_t *column)
{
    uint32_t in_group = lane % 4;
    *column = lane >> 2;
    switch (s->bytes) {
    case 2: *row = in_group * 2 + (i & 1) + (i < 2 ? 0 : 8); break;
    case 1: *row = in_group * 4 + (i & 3) + (i < 4 ? 0 : 16); break;
    default: *row = in_group + 4 * i;
    }
}

/* ---- On the device ----------------------------------------------------------------------------------------------- */

static struct inputs { uint8_t a[ROWS * MOST_K * 8], b[COLUMNS * MOST_K * 8]; } in;    /* k contiguous in both */
static struct outputs {
    double d[ROWS * COLUMNS];                            /* of f64; of 32 bits in the first half */
    uint32_t at[LANES][4];                               /* row and column of A, of B */
    uint32_t differs[LANES];                             /* from ldmatrix: the registers, as bits */
} out;

/* A register of a fragment, from the array of rows of k that begins at byte `start`. */
static void load_register(cj_fn *f, const struct shape *s, cj_val to, cj_val from, size_t start, cj_val outer, cj_val k)
{
    cj_val at = cj_mad(f, cj_mad(f, outer, s->mma.k, k), s->bytes, (uint32_t)start);
    cj_ins(f, s->bytes == 8 ? "ld.global.b64" : "ld.global.b32", to, cj_at(f, from, at));
}

/* Kernel "k"(in, out): one warp. */
static cj_ptx *module_of(const struct shape *s)
{
    const cj_mma_shape *w = &s->mma;
    bool wide = s->bytes == 8;
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val from = cj_param_ptr(f, "in", CJ_U8), to = cj_param_ptr(f, "out", CJ_U8), lane = cj_thread_id(f, CJ_X);
    cj_val p[4], row, column, a = cj_mma_a(f, w), b = cj_mma_b(f, w), d = cj_mma_accumulators(f, w);
    uint32_t each = each_of(s), na = (uint32_t)cj_length_of(f, a), nb = (uint32_t)cj_length_of(f, b);
    cj_mma_a_position(f, w, &p[0], &p[1]);
    cj_mma_b_position(f, w, &p[2], &p[3]);
    for (uint32_t i = 0; i < 4; i++)
        cj_ins(f, "st.global.u32",
               cj_at(f, to, cj_mad(f, lane, 16, (uint32_t)offsetof(struct outputs, at) + 4 * i)), p[i]);
    for (uint32_t r = 0; r < na; r++)
        load_register(f, s, cj_elem(f, a, r), from, offsetof(struct inputs, a),
                      cj_add(f, p[0], cj_mma_a_row(w, r * each)), cj_add(f, p[1], cj_mma_a_column(w, r * each)));
    for (uint32_t r = 0; r < nb; r++)
        load_register(f, s, cj_elem(f, b, r), from, offsetof(struct inputs, b), p[3],
                      cj_add(f, p[2], cj_mma_b_row(w, r * each)));
    cj_assign_all(f, d, wide ? cj_imm(f, 0.0) : cj_imm(f, 0));
    cj_mma(f, w, d, a, b, d);
    cj_mma_acc_position(f, &row, &column);
    for (uint32_t i = 0; i < 4; i++) {
        cj_val element = cj_mad(f, cj_add(f, row, cj_acc_row(i)), COLUMNS, cj_add(f, column, cj_acc_column(i)));
        cj_ins(f, wide ? "st.global.b64" : "st.global.b32", cj_at(f, to, cj_mul(f, element, wide ? 8 : 4)),
               cj_elem(f, d, i));
    }
    if (!ldmatrix_loads(s)) return m;

    /* the same fragments by ldmatrix: rows of 32 bytes; B's second 8 columns are not looked at */
    cj_val shared = cj_shared(f, "rows", CJ_U32, 2 * ROWS * 8), differs = cj_let(f, CJ_U32, cj_imm(f, 0));
    cj_var_align(f, shared, 128);
    for (uint32_t i = 0; i < (ROWS + COLUMNS) * 32; i += 4 * LANES) {
        cj_val word = cj_reg(f, CJ_B32), at = cj_mad(f, lane, 4, i);
        uint32_t skipped = i < ROWS * 32 ? 0 : (uint32_t)offsetof(struct inputs, b) - ROWS * 32;
        cj_ins(f, "ld.global.b32", word, cj_at(f, from, cj_add(f, at, skipped)));
        cj_ins(f, "st.shared.b32", cj_at(f, shared, cj_shr(f, at, 2)), word);
    }
    cj_block_sync(f);
    cj_val fa, fb;
    cj_matrix_load(f, 4, 0, cj_mma_a_at(f, shared, 32, 0, CJ_SWIZZLE_NONE), &fa);
    cj_matrix_load(f, 4, 0, cj_mma_b_at(f, cj_at(f, shared, ROWS * 8), 32, 0, CJ_SWIZZLE_NONE), &fb);
    for (uint32_t r = 0; r < na + nb; r++) {
        cj_val mine = r < na ? cj_elem(f, a, r) : cj_elem(f, b, r - na);
        cj_val theirs = r < na ? cj_elem(f, fa, r) : cj_elem(f, fb, r - na);
        cj_val same = cj_eq(f, cj_bits(f, CJ_U32, mine), cj_bits(f, CJ_U32, theirs));
        cj_assign(f, differs, cj_or(f, differs, cj_select(f, same, 0, 1u << r)));
    }
    cj_ins(f, "st.global.u32", cj_at(f, to, cj_mad(f, lane, 4, (uint32_t)offsetof(struct outputs, differs))), differs);
    return m;
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

/* A small integer: products and sums are exact. */
static int number(const struct shape *s, bool b, uint32_t outer, uint32_t k)
{
    int n = (int)((outer * 64 + k + (b ? 4000 : 0)) * 2654435761u >> 13) % 7 - 3;
    return b && s->mma.b == CJ_MMA_U8 && n < 0 ? -n : n;
}

static void put(uint8_t *at, const struct shape *s, int n)
{
    float f = (float)n;
    double wide = n;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    switch (s->bytes) {
    case 8: memcpy(at, &wide, 8); break;
    case 4: memcpy(at, &bits, 4); break;
    case 2: bits >>= 16, memcpy(at, &bits, 2); break;    /* of the little-endian hosts that have GPUs */
    default: *at = (uint8_t)n;
    }
}

static double result_at(const struct shape *s, uint32_t i)
{
    const uint8_t *at = (const uint8_t *)out.d;
    int32_t n;
    float f;
    if (s->bytes == 8) return out.d[i];
    memcpy(&n, at + 4 * (size_t)i, 4);
    memcpy(&f, at + 4 * (size_t)i, 4);
    return s->bytes == 1 ? (double)n : (double)f;
}

/* ---- The tests --------------------------------------------------------------------------------------------------- */

static void check_places(const struct shape *s)
{
    const cj_mma_shape *w = &s->mma;
    unsigned wrong_a = 0, wrong_b = 0;
    for (uint32_t lane = 0; lane < LANES; lane++) {
        const uint32_t *at = out.at[lane];
        uint32_t row, column;
        for (uint32_t i = 0; i < ROWS * w->k / LANES; i++) {
            manual_a(s, lane, i, &row, &column);
            wrong_a += at[0] + cj_mma_a_row(w, i) != row || at[1] + cj_mma_a_column(w, i) != column;
        }
        for (uint32_t i = 0; i < COLUMNS * w->k / LANES; i++) {
            manual_b(s, lane, i, &row, &column);
            wrong_b += at[2] + cj_mma_b_row(w, i) != row || at[3] != column;
        }
    }
    tap_is_uint(wrong_a, 0, "%s: elements of A are where the manual has them", s->name);
    tap_is_uint(wrong_b, 0, "%s: elements of B are where the manual has them", s->name);
}

static void check_product(const struct shape *s)
{
    unsigned wrong = 0, differs = 0;
    for (uint32_t row = 0; row < ROWS; row++)
        for (uint32_t column = 0; column < COLUMNS; column++) {
            int sum = 0;
            for (uint32_t k = 0; k < s->mma.k; k++) sum += number(s, false, row, k) * number(s, true, column, k);
            wrong += result_at(s, row * COLUMNS + column) != sum;
        }
    tap_is_uint(wrong, 0, "%s: mma.sync multiplies what is loaded there", s->name);
    if (!ldmatrix_loads(s)) return;
    for (uint32_t lane = 0; lane < LANES; lane++) differs |= out.differs[lane];
    tap_is_uint(differs, 0, "%s: ldmatrix loads the same registers", s->name);
}

static void check(cj_device *dev, cj_stream *stream, const struct shape *s)
{
    for (uint32_t k = 0; k < s->mma.k; k++) {
        for (uint32_t r = 0; r < ROWS; r++) put(in.a + (r * s->mma.k + k) * s->bytes, s, number(s, false, r, k));
        for (uint32_t c = 0; c < COLUMNS; c++) put(in.b + (c * s->mma.k + k) * s->bytes, s, number(s, true, c, k));
    }
    memset(&out, 0xff, sizeof out);
    cj_ptx *m = module_of(s);
    cj_kernel *k = cj_kernel_load(dev, m, "k", NULL);
    cj_dptr from = cj_alloc(stream, sizeof in), to = cj_alloc(stream, sizeof out);
    cj_copy_to_device(stream, from, &in, sizeof in);
    cj_copy_to_device(stream, to, &out, sizeof out);
    cj_launch(stream, k, cj_grid(1, LANES), from, to);
    cj_copy_to_host(stream, &out, to, sizeof out);
    if (cj_stream_sync(stream) != CJ_OK) tap_bail("%s: %s", s->name, cj_error_of(stream)->message);
    check_places(s);
    check_product(s);
    cj_free(dev, from);
    cj_free(dev, to);
    cj_kernel_free(k);
    cj_ptx_free(m);
}

int main(void)
{
    tap_need_device(1);
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_device_info info = { .size = sizeof info };
    if (cj_device_get_info(dev, &info) != CJ_OK || info.sm_major < 8)
        tap_skip_all("the GPU has no tensor cores of compute capability 8.0");
    tap_plan(0);
    cj_stream *s = cj_stream_create(dev, NULL);
    for (size_t i = 0; i < SHAPES; i++) {
        if (shapes[i].bytes == 8 && info.sm_major < 9) tap_skip(1, "%s wants compute capability 9.0", shapes[i].name);
        else check(dev, s, &shapes[i]);
    }
    tap_is_uint(cj_mma_a_row(NULL, 3) + cj_mma_a_column(NULL, 0) + cj_mma_b_row(NULL, 0), 0, "no shape: 0");
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
