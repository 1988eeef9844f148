/* Tiles of path wgmma that only some sizes take.  Products of few rows, or of few tiles, and long sums: the blocks of a
 * cluster share a tile (on the CPU device, whose clusters have one block, each block has its own).  Wide tiles: as many
 * products as multiprocessors fill the device.  Whole numbers, compared bit for bit with plain C; results lie
 * between guards, with gaps behind their rows and between batches. */
#include "tests/kernels/kernels_bench.h"

#include <stdlib.h>
#include <string.h>

typedef struct tile_kind { const char *name; cj_type type, out; int32_t elements, promote; } tile_kind;
static const tile_kind tile_kinds[] = {
    { "bf16", CJ_BF16, CJ_BF16, 0, 0 },
    { "f16 to f32", CJ_F16, CJ_F32, 0, 0 },
    { "tf32", CJ_F32, CJ_F32, CJ_GEMM_ELEMENTS_TF32, 0 },
    { "s8", CJ_S8, CJ_S32, 0, 0 },
    { "e4m3 promoted", CJ_U8, CJ_F32, CJ_GEMM_ELEMENTS_E4M3, 1 },
};
enum { TILE_BF16, TILE_F16, TILE_TF32, TILE_S8, TILE_E4M3, TILE_KINDS };

enum { TO = 16, TILE_GAP = 24, SMS = 132 }; /* elements; multiprocessors */

typedef struct tile_row {
    int kind;
    uint64_t m, n, k, batches;
    unsigned how;
} tile_row;

/* B is stored by rows, else by columns; the result by columns; alpha, beta with C in
 * the result's place, a bias and a function; the CPU device takes seconds. */
enum { B_ROWS = 1, OUT_COLUMNS = 2, FUSED = 4, LONG = 8 };

static const tile_row rows[] = {
    { TILE_BF16, 1, 1, 1024, 1, 0 },
    { TILE_BF16, 16, 300, 2041, 1, 0 },
    { TILE_BF16, 64, 129, 1025, 1, FUSED },
    { TILE_BF16, 65, 127, 2048, 1, OUT_COLUMNS },
    { TILE_BF16, 128, 257, 1111, 1, B_ROWS },
    { TILE_BF16, 3, 2200, 1024, 1, LONG },
    { TILE_BF16, 2, 4400, 1024, 1, FUSED | LONG },
    { TILE_BF16, 33, 90, 700, 3, B_ROWS | FUSED },
    { TILE_BF16, 7, 130, 197, 1, 0 },
    { TILE_BF16, 63, 128, 65, 2, OUT_COLUMNS | FUSED },
    { TILE_F16, 9, 256, 1990, 1, 0 },
    { TILE_F16, 127, 64, 4000, 1, B_ROWS | FUSED },
    { TILE_TF32, 17, 131, 900, 1, FUSED },
    { TILE_TF32, 64, 40, 1024, 2, 0 },
    { TILE_S8, 5, 200, 4001, 1, 0 },
    { TILE_S8, 70, 96, 3000, 2, FUSED },
    { TILE_E4M3, 31, 140, 2049, 1, 0 },
    { TILE_E4M3, 64, 66, 4096, 1, FUSED },
    { TILE_BF16, 5, 100, 4099, 1, FUSED },
    { TILE_TF32, 30, 66, 2100, 1, 0 },
    { TILE_E4M3, 20, 65, 8200, 1, FUSED },
    { TILE_BF16, 3, 70, 17000, 1, LONG },
    { TILE_BF16, 40, 100, 9500, 1, B_ROWS | LONG },
    /* 240, 224, 256, 192 and 128 columns: rows that a tensor map stores, and others; two tiles a block */
    { TILE_BF16, 66, 232, 24, SMS, 0 },
    { TILE_F16, 66, 237, 40, SMS, FUSED },
    { TILE_BF16, 66, 221, 24, 2 * SMS, FUSED | LONG },
    { TILE_BF16, 66, 216, 24, 2 * SMS, LONG },
    { TILE_F16, 66, 216, 24, 2 * SMS, LONG },
    { TILE_F16, 70, 221, 40, 2 * SMS, OUT_COLUMNS | FUSED | LONG },
    { TILE_S8, 66, 240, 100, 2 * SMS, LONG },
    { TILE_TF32, 128, 235, 24, SMS, LONG },
    { TILE_BF16, 66, 256, 24, 2 * SMS, B_ROWS | LONG },
    { TILE_BF16, 66, 190, 70, 2 * SMS, B_ROWS | FUSED | LONG },
    { TILE_E4M3, 66, 190, 300, 2 * SMS, LONG },
    { TILE_E4M3, 66, 128, 300, 2 * SMS, FUSED | LONG },
    { TILE_E4M3, 66, 128, 128, SMS, LONG },
};
static bool tile_cpu; /* no more than the CPU device computes in a moment */
enum { ROWS = sizeof rows / sizeof *rows };

static uint64_t padded(uint64_t x) { return (x + TO - 1) / TO * TO; }
static int whole_at(uint64_t i, uint64_t seed)
{
    return (int)((i * 2654435761u + seed * 40503u) >> 9 & 0x7fff) % 7 - 3;
}

/* -3 to 3 as e4m3. */
static void tile_set(const tile_kind *t, void *at, int v)
{
    static const unsigned char bits[] = { 0, 0x38, 0x40, 0x44 };
    if (t->elements != CJ_GEMM_ELEMENTS_E4M3) kb_set(at, t->type, v);
    else *(unsigned char *)at = (unsigned char)(bits[abs(v)] | (v < 0 ? 0x80 : 0));
}

typedef struct tile_operand { kb_memory memory; int *value; uint64_t count; } tile_operand;

static tile_operand tile_take(const tile_kind *t, uint64_t count, uint64_t seed)
{
    tile_operand x = { .memory = kb_take(count * kb_size(t->type)), .value = malloc(count * sizeof(int)), count };
    if (!x.value) tap_bail("no memory");
    for (uint64_t i = 0; i < count; i++) {
        x.value[i] = whole_at(i, seed);
        tile_set(t, (char *)x.memory.host + i * kb_size(t->type), x.value[i]);
    }
    kb_put(&x.memory);
    return x;
}

static void tile_drop(tile_operand *x)
{
    kb_drop(&x->memory);
    free(x->value);
}

/* What a user's function adds to a sum. */
static int added(uint64_t row, uint64_t column, uint64_t batch) { return (int)(row + 2 * column + 4 * batch); }

static void write_added(cj_ptx *m, cj_type wide)
{
    cj_fn *f = cj_ptx_func(m, "finish");
    cj_val v = cj_param(f, "v", wide), row = cj_param(f, "row", CJ_U32), column = cj_param(f, "column", CJ_U32);
    cj_val batch = cj_param(f, "batch", CJ_U32);
    cj_val more = cj_mad(f, batch, 4, cj_mad(f, column, 2, row));
    cj_result(f, "r", wide);
    cj_return_value(f, cj_add(f, v, cj_cvt(f, wide, more)));
}

static cj_gemm *tile_make(const tile_row *r)
{
    const tile_kind *t = &tile_kinds[r->kind];
    const bool fused = r->how & FUSED;
    cj_ptx *m = fused ? cj_ptx_create() : NULL;
    if (fused) write_added(m, t->out == CJ_S32 ? CJ_S32 : CJ_F32);
    cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = t->type, .out_type = t->out, .path = CJ_GEMM_WGMMA,
                                                .elements = t->elements, .promote = t->promote, .scaled = fused,
                                                .bias = fused, .module = m, .function = fused ? "finish" : NULL,
                                                .a_order = CJ_GEMM_ORDER_ROWS));
    cj_ptx_free(m);
    return g;
}

/* The number of wrong elements, and of bytes that were written beside them; in each launch the same. */
static size_t tile_wrong(const tile_row *r)
{
    const tile_kind *t = &tile_kinds[r->kind];
    const uint64_t m = r->m, n = r->n, k = r->k, size = kb_size(t->out);
    const bool b_rows = r->how & B_ROWS, out_columns = r->how & OUT_COLUMNS;
    const uint64_t a_by = padded(k), a_batch = padded(m * a_by + TILE_GAP);
    const uint64_t b_by = b_rows ? padded(n) : padded(k), b_batch = padded((b_rows ? k : n) * b_by + TILE_GAP);
    const uint64_t o_by = (out_columns ? m : n) + (n % 8 ? 3 : 8), o_batch = (out_columns ? n : m) * o_by + TILE_GAP;
    tile_operand a = tile_take(t, a_batch * r->batches, 1), b = tile_take(t, b_batch * r->batches, 2);
    kb_memory out = kb_take(o_batch * r->batches * size), bias = kb_take(n * size);
    unsigned char *want = malloc(o_batch * r->batches * size), *before = malloc(o_batch * r->batches * size);
    size_t wrong = 0;
    if (!want || !before) tap_bail("no memory");
    for (uint64_t c = 0; c < n; c++) kb_set((char *)bias.host + c * size, t->out, whole_at(c, 3));
    kb_put(&bias);
    memset(want, 0xFF, o_batch * r->batches * size);
    memset(before, 0xFF, o_batch * r->batches * size);
    for (uint64_t z = 0; z < r->batches; z++)
        for (uint64_t row = 0; row < m; row++)
            for (uint64_t c = 0; c < n; c++) {
                const int *x = a.value + z * a_batch + row * a_by;
                const int *y = b.value + z * b_batch + (b_rows ? c : c * b_by);
                const uint64_t step = b_rows ? b_by : 1;
                int sum = 0;
                for (uint64_t i = 0; i < k; i++) sum += x[i] * y[i * step];
                const uint64_t at = z * o_batch + (out_columns ? c * o_by + row : row * o_by + c);
                if (r->how & FUSED) sum = 3 * sum + whole_at(at, 4) + whole_at(c, 3) + added(row, c, z);
                kb_set(before + at * size, t->out, whole_at(at, 4));
                kb_set(want + at * size, t->out, sum);
            }
    cj_gemm *g = tile_make(r);
    cj_rows rows_of_b = b_rows ? (cj_rows){ b.memory.data, (int64_t)b_by, 1 }
                                  : (cj_rows){ b.memory.data, 1, (int64_t)b_by };
    cj_rows rows_of_out = out_columns ? (cj_rows){ out.data, 1, (int64_t)o_by }
                                         : (cj_rows){ out.data, (int64_t)o_by, 1 };
    cj_gemm_args args = { .a = { a.memory.data, (int64_t)a_by, 1 }, .b = rows_of_b, .out = rows_of_out, .m = m, .n = n,
                          .k = k, .batches = r->batches, .a_batch = (int64_t)a_batch, .b_batch = (int64_t)b_batch,
                          .out_batch = (int64_t)o_batch };
    if (r->how & FUSED) {
        args.c = rows_of_out, args.c_batch = (int64_t)o_batch, args.alpha = 3, args.beta = 1;
        args.bias = bias.data;
    }
    for (int again = 0; again < (tile_cpu ? 1 : 3); again++) {
        kb_blank(&out);
        if (r->how & FUSED) memcpy(out.host, before, o_batch * r->batches * size), kb_put(&out);
        if (!kb_is_ok(kb_s[0], cj_gemm_launch(kb_s[0], g, &args), "launch") || !kb_get(&out)) wrong++;
        for (uint64_t i = 0; i < o_batch * r->batches * size; i++) wrong += ((unsigned char *)out.host)[i] != want[i];
    }
    cj_gemm_free(g);
    free(want);
    free(before);
    tile_drop(&a), tile_drop(&b);
    kb_drop(&out), kb_drop(&bias);
    return wrong;
}

int main(void)
{
    kb_open();
    tap_timeout(200);
    cj_gemm *g = tile_make(&rows[0]);
    cj_status st = cj_error_of(g)->status;
    cj_gemm_free(g);
    tile_cpu = tap_is_slow() || (!strcmp(cj_driver_kind(kb_drv), "sim") && !getenv("CUJIT_TEST_ALL"));
    if (st == CJ_ENOTSUP) tap_skip(ROWS, "this device has no path wgmma");
    for (size_t i = 0; i < ROWS && st != CJ_ENOTSUP; i++) {
        const tile_row *r = &rows[i];
        if ((tile_cpu && (r->how & LONG)) || (tap_is_slow() && r->m * r->n * r->k * r->batches > 2000000)) continue;
        tap_is_uint(tile_wrong(r), 0, "%s, %llu x %llu x %llu, %llu batches%s%s%s", tile_kinds[r->kind].name,
                    (unsigned long long)r->m, (unsigned long long)r->n, (unsigned long long)r->k,
                    (unsigned long long)r->batches, (r->how & B_ROWS) ? ", B by rows" : "",
                    (r->how & OUT_COLUMNS) ? ", result by columns" : "", (r->how & FUSED) ? ", everything fused" : "");
    }
    return kb_close();
}
