/* The bias and the user's function of cj_gemm on path wgmma, which are applied to the accumulators of whole tiles, and
 * in tiles at the edges to the sums that are stored: the function reads memory at its row and column, which ends where
 * the result does.  Whole numbers, against plain C; results lie between guards, and are NaN before. */
#include "tests/kernels/kernels_bench.h"

#include <string.h>

enum { M = 150, N = 200, K = 40, BATCHES = 2, ALL = BATCHES * M * N, A_BY = 152 /* elements from a k to the next */ };
static kb_memory a, b, out, bias;
static cj_dptr row_add, column_add;
static double sum[ALL];

static int small(size_t i, size_t step, int most) { return (int)(i * step % (2 * (size_t)most + 1)) - most; }

/* A is stored by columns, so that no blocks share a tile.  So is B, which is the same in each batch. */
static void fill(void)
{
    for (size_t i = 0; i < BATCHES * M * K; i++) {
        const size_t batch = i / K / M, row = i / K % M, at = (batch * K + i % K) * A_BY + row;
        kb_set((char *)a.host + 2 * at, CJ_BF16, small(i, 37, 2));
    }
    for (size_t i = 0; i < N * K; i++) kb_set((char *)b.host + 2 * i, CJ_BF16, small(i, 53, 1));
    int32_t of_rows[M], of_columns[N];
    for (size_t i = 0; i < M; i++) of_rows[i] = small(i, 7, 9);
    for (size_t i = 0; i < N; i++) of_columns[i] = small(i, 11, 20);
    cj_copy_to_device(kb_s[0], row_add, of_rows, sizeof of_rows);
    cj_copy_to_device(kb_s[0], column_add, of_columns, sizeof of_columns);
    cj_stream_sync(kb_s[0]);
    kb_put(&a), kb_put(&b);
    for (size_t e = 0; e < ALL; e++) {
        const size_t r = e / N, c = e % N;
        sum[e] = 0;
        for (size_t i = 0; i < K; i++) sum[e] += small(r * K + i, 37, 2) * small(c * K + i, 53, 1);
    }
}

/* v + rows[row] + columns[column] + 3 * batch, in `result`; the numbers are exact in each type. */
static cj_ptx *adding(cj_type result)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_func(m, "add");
    cj_val v = cj_param(f, "v", CJ_F32), row = cj_param(f, "row", CJ_U32), column = cj_param(f, "column", CJ_U32);
    cj_val batch = cj_param(f, "batch", CJ_U32);
    cj_val rows = cj_param_ptr(f, "rows", CJ_S32), columns = cj_param_ptr(f, "columns", CJ_S32);
    cj_val more = cj_add(f, cj_get(f, rows, row), cj_get(f, columns, column));
    more = cj_add(f, more, cj_bits(f, CJ_S32, cj_mul(f, batch, 3)));
    cj_val r = cj_add(f, v, cj_cvt(f, CJ_F32, more));
    cj_return_value(f, result == CJ_F32 ? r : cj_cvt(f, result, r));
    return m;
}

/* More than is copied for each sum: 60 additions of 1. */
static cj_ptx *counting(cj_type result)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_func(m, "add");
    cj_val v = cj_param(f, "v", CJ_F32), row = cj_param(f, "row", CJ_U32);
    cj_param(f, "column", CJ_U32), cj_param(f, "batch", CJ_U32);
    cj_param_ptr(f, "rows", CJ_S32), cj_param_ptr(f, "columns", CJ_S32);
    for (int i = 0; i < 120; i++) v = cj_add(f, v, cj_select(f, cj_gt(f, row, (uint32_t)i), 1.0f, 0.0f));
    cj_return_value(f, cj_cvt(f, result, v));
    return m;
}

static const struct {
    const char *name;
    cj_type out, result;       /* CJ_VOID: no function */
    bool bias, is_long;
    int pad;                   /* elements between rows: rows that are no multiple of 16 bytes have no tensor map */
} rows[] = {
    { "a bias to bf16", CJ_BF16, CJ_VOID, true, false, 0 },
    { "a function to bf16", CJ_BF16, CJ_F32, false, false, 8 },
    { "a bias and a function to f16", CJ_F16, CJ_F32, true, false, 0 },
    { "a function of f16 to f32", CJ_F32, CJ_F16, false, false, 4 },
    { "a bias and a function of bf16 to f32", CJ_F32, CJ_BF16, true, false, 0 },
    { "a function of s32 to f32", CJ_F32, CJ_S32, false, false, 0 },
    { "a long function to f32", CJ_F32, CJ_F32, true, true, 0 },
    { "a bias and a function to bf16, rows of no multiple", CJ_BF16, CJ_F32, true, false, 3 },
};

static double expected(size_t i, size_t e, double bias_of_column)
{
    const size_t batch = e / N / M, row = e / N % M, column = e % N;
    double v = sum[e] + bias_of_column;
    if (rows[i].is_long) v += (double)(row < 120 ? row : 120);
    else if (rows[i].result) v += small(row, 7, 9) + small(column, 11, 20) + 3 * (double)batch;
    return v;
}

static void fused(size_t i)
{
    static const int32_t pointers[] = { CJ_U64, CJ_U64 };
    const cj_arg user[] = { cj_arg_ptr(row_add), cj_arg_ptr(column_add) };
    const size_t size = kb_size(rows[i].out), by = N + (size_t)rows[i].pad;
    cj_ptx *m = rows[i].result ? (rows[i].is_long ? counting : adding)(rows[i].result) : NULL;
    for (size_t c = 0; c < N; c++) kb_set((char *)bias.host + c * size, rows[i].out, small(c, 3, 4));
    kb_put(&bias);
    cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = CJ_BF16, .out_type = rows[i].out, .path = CJ_GEMM_WGMMA,
                                                .bias = rows[i].bias, .module = m, .function = m ? "add" : NULL,
                                                .user_types = m ? pointers : NULL, .user_count = m ? 2 : 0,
                                                .a_order = CJ_GEMM_ORDER_COLUMNS, .b_order = CJ_GEMM_ORDER_COLUMNS));
    cj_ptx_free(m);
    cj_gemm_args x = { .a = { a.data, 1, A_BY }, .b = { b.data, 1, K }, .out = { out.data, (int64_t)by, 1 },
                       .m = M, .n = N, .k = K, .batches = BATCHES, .a_batch = K * A_BY, .out_batch = (int64_t)(M * by),
                       .bias = rows[i].bias ? bias.data : (cj_dptr){ 0 }, .user = m ? user : NULL,
                       .user_count = m ? 2 : 0 };
    size_t wrong = 0, beside = 0;
    kb_blank(&out);
    bool ok = kb_is_ok(kb_s[0], cj_gemm_launch(kb_s[0], g, &x), "launch") && kb_get(&out);
    for (size_t z = 0; z < BATCHES; z++)
        for (size_t at = 0; at < M * by; at++) {
            const unsigned char *got = (unsigned char *)out.host + (z * M * by + at) * size;
            const size_t row = at / by, column = at % by, e = (z * M + row) * N + column;
            unsigned char want[8];
            memset(want, 0xff, sizeof want);
            if (column >= N) beside += memcmp(got, want, size) != 0;
            if (column >= N) continue;
            kb_set(want, rows[i].out, expected(i, e, rows[i].bias ? small(column, 3, 4) : 0));
            wrong += memcmp(got, want, size) != 0;
        }
    tap_ok(ok && !wrong, "%s: %zu of %d results are wrong", rows[i].name, wrong, ALL);
    tap_is_uint(beside, 0, "... and nothing beside them is written");
    cj_gemm_free(g);
}

int main(void)
{
    kb_open();
    tap_timeout(100);
    cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = CJ_BF16, .path = CJ_GEMM_WGMMA));
    const bool lacks = cj_error_of(g)->status == CJ_ENOTSUP;
    cj_gemm_free(g);
    if (lacks) tap_skip(2 * (int)(sizeof rows / sizeof *rows), "this device has no path wgmma");
    a = kb_take(BATCHES * K * A_BY * 2), b = kb_take(N * K * 2), out = kb_take(BATCHES * M * (N + 8) * 4);
    bias = kb_take(N * 4), row_add = cj_alloc(kb_s[0], M * 4), column_add = cj_alloc(kb_s[0], N * 4);
    fill();
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !lacks; i++) fused(i);
    kb_drop(&a), kb_drop(&b), kb_drop(&out), kb_drop(&bias);
    cj_free(kb_dev, row_add), cj_free(kb_dev, column_add);
    return kb_close();
}
