/* A path of cj_gemm that is forced: what path wgmma does not serve is a sentence with the operand, its value and the
 * fix; path scalar is plain code for each type. */
#include "tests/kernels/kernels_bench.h"

#include <string.h>

enum { SIDE = 32, K = 64 };

/* A of 32 x 64 by rows, B of 64 x 32 by columns; each row changes a little of it. */
static const struct { const char *name; cj_gemm_args is; int at[2]; const char *says; } cases[] = {
    { "an address", { .k = K }, { 2, 0 },
      "a: the address is 2 bytes behind a multiple of 16; path wgmma wants an address and distances of multiples of 16 "
      "bytes; CJ_GEMM_AUTO serves it" },
    { "rows", { .k = K, .a = { .stride = 66 } }, { 0, 0 }, "a: rows are 66 elements (132 bytes) apart; path wgmma" },
    { "short rows", { .k = 60 }, { 0, 0 }, "a: rows are 60 elements (120 bytes) apart; path wgmma" },
    { "columns", { .k = K, .b = { .stride = 1, .step = 67 } }, { 0, 0 },
      "b: columns are 67 elements (134 bytes) apart; path wgmma" },
    { "A by columns", { .k = K, .a = { .stride = 1, .step = 35 } }, { 0, 0 },
      "a: columns are 35 elements (70 bytes) apart; path wgmma" },
    { "a step", { .k = K, .a = { .stride = 136, .step = 2 } }, { 0, 0 },
      "a: columns are 2 elements apart and rows 136; path wgmma wants an address and distances of multiples of 16 "
      "bytes, and neighbours along a row or a column; CJ_GEMM_AUTO serves it" },
    { "rows from the last one", { .k = K, .a = { .stride = -K } }, { 4096, 0 },
      "a: rows are -64 elements apart; path wgmma wants an address and distances of multiples of 16 bytes, upwards; "
      "CJ_GEMM_AUTO serves it" },
    { "one row for all", { .k = K, .a = { .stride = CJ_ROWS_SAME } }, { 0, 0 },
      "a: all rows are in one place (CJ_ROWS_SAME); path wgmma wants an address and distances of multiples of 16 "
      "bytes, upwards" },
    { "rows far apart", { .k = K, .a = { .stride = INT64_C(1) << 40 } }, { 0, 0 },
      "a: rows are 1099511627776 elements apart; path wgmma wants an address and distances of multiples of 16 bytes, "
      "below 2^40" },
    { "batches of A", { .k = K, .batches = 2, .a_batch = 3 }, { 0, 0 },
      "a: batches are 3 elements (6 bytes) apart; path wgmma" },
    { "batches of B", { .k = K, .batches = 2, .a_batch = K, .b_batch = -8 }, { 0, 0 },
      "b: batches are -8 elements apart; path wgmma wants an address and distances of multiples of 16 bytes, upwards" },
    { "one column of A, and B", { .k = 1, .a = { .stride = 1 }, .b = { .stride = 1, .step = 3 } }, { 0, 0 },
      "b: columns are 3 elements (6 bytes) apart; path wgmma" },
    { "an address of B", { .k = K }, { 0, 10 }, "b: the address is 10 bytes behind a multiple of 16; path wgmma" },
};

static void misfits(cj_gemm *g, cj_gemm *other, cj_dptr data)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cj_gemm_args x = cases[i].is;
        x.m = x.n = SIDE;
        x.a.data = cj_offset(data, cases[i].at[0]), x.b.data = cj_offset(data, 8192 + cases[i].at[1]);
        if (!x.b.step) x.b.stride = 1, x.b.step = K;
        x.out.data = cj_offset(data, 16384), x.out_batch = SIDE * SIDE;
        tap_is_int(cj_gemm_launch(kb_s[0], g, &x), CJ_ENOTSUP, "%s: path wgmma does not serve it", cases[i].name);
        tap_has_str(cj_error_of(kb_s[0])->message, cases[i].says, "... and says what and why");
        cj_error_clear(kb_s[0]);
        if (x.a.stride > 4096) continue;
        kb_is_ok(kb_s[0], cj_gemm_launch(kb_s[0], other, &x), cases[i].name);
        tap_is_int(cj_stream_sync(kb_s[0]), CJ_OK, "... and CJ_GEMM_AUTO does");
    }
}

/* Orders that the types or the options rule out. */
static void orders(cj_dptr data)
{
    static const struct { cj_gemm_opts o; bool a_by_columns, b_by_rows; const char *says; } rows[] = {
        { { .type = CJ_S8 }, false, true,
          "b: neighbours are along a row; path wgmma wants those of 8-bit and tf32 elements along a column; "
          "CJ_GEMM_AUTO serves it" },
        { { .type = CJ_F32, .elements = CJ_GEMM_ELEMENTS_TF32 }, true, false,
          "a: neighbours are along a column; path wgmma wants those of 8-bit and tf32 elements along a row" },
        { { .type = CJ_F16, .a_order = CJ_GEMM_ORDER_ROWS }, true, false,
          "a: neighbours are along a column, and a_order has them along a row; CJ_GEMM_ORDER_ANY is for both" },
        { { .type = CJ_F16, .b_order = CJ_GEMM_ORDER_COLUMNS }, false, true,
          "b: neighbours are along a row, and b_order has them along a column; CJ_GEMM_ORDER_ANY is for both" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cj_gemm_opts o = rows[i].o;
        o.size = sizeof o, o.path = CJ_GEMM_WGMMA, o.m = o.n = SIDE, o.k = K;
        cj_gemm *g = cj_gemm_create(kb_dev, &o);
        const cj_rows by_rows_a = { data, K, 1 }, by_columns_a = { data, 1, SIDE };
        const cj_rows by_rows_b = { data, SIDE, 1 }, by_columns_b = { data, 1, K };
        const cj_gemm_args x = { .a = rows[i].a_by_columns ? by_columns_a : by_rows_a,
                                 .b = rows[i].b_by_rows ? by_rows_b : by_columns_b,
                                 .out = { cj_offset(data, 16384), 0, 0 }, .m = SIDE, .n = SIDE, .k = K };
        tap_is_int(cj_gemm_launch(kb_s[0], g, &x), CJ_ENOTSUP, "an order that path wgmma does not serve");
        tap_has_str(cj_error_of(kb_s[0])->message, rows[i].says, "... and says which");
        cj_error_clear(kb_s[0]);
        cj_gemm_free(g);
    }
}

/* No tensor core, TMA, mbarrier, cluster or early start: CJ_GEMM_AUTO has them for some types. */
static void scalar_is_plain(bool sm_90)
{
    static const cj_type types[] = { CJ_F32, CJ_F16, CJ_BF16, CJ_F64, CJ_S8, CJ_S32 };
    static const char *const not_plain[] = { "mma", "tensor", "mbarrier", "cluster", "griddepcontrol", "cp.async" };
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const char *text = "", *found = NULL;
        cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = types[t], .path = CJ_GEMM_SCALAR));
        tap_is_int(cj_gemm_ptx(g, 0, &text, NULL), CJ_OK, "path scalar of %s is printed", kb_name(types[t]));
        for (size_t i = 0; i < sizeof not_plain / sizeof *not_plain; i++)
            if (strstr(text, not_plain[i])) found = not_plain[i];
        tap_ok(strstr(text, ".entry cj_gemm_scalar(") && !found, "... and is plain code%s%s", found ? ": has " : "",
               found ? found : "");
        cj_gemm_free(g);
    }
    const char *text = "";
    cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = CJ_F32, .m = SIDE, .n = SIDE));
    cj_gemm_ptx(g, 0, &text, NULL);
    if (sm_90) tap_has_str(text, "cp.async.bulk.tensor", "f32 without a path has tensor maps");
    else tap_skip(1, "the device is no sm_90");
    cj_gemm_free(g);
}

int main(void)
{
    cj_device_info d = { .size = sizeof d };
    kb_open();
    if (cj_device_get_info(kb_dev, &d) != CJ_OK) tap_bail("no device");
    const bool sm_90 = d.sm_major == 9 && d.sm_minor == 0;
    kb_memory memory = kb_take(32768);
    memset(memory.host, 0, memory.bytes), kb_put(&memory);
    scalar_is_plain(sm_90);
    cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = CJ_BF16, .path = CJ_GEMM_WGMMA, .m = SIDE, .n = SIDE));
    cj_gemm *other = cj_gemm_create(kb_dev, CJ_GEMM(.type = CJ_BF16, .m = SIDE, .n = SIDE));
    if (cj_error_of(g)->status == CJ_OK) misfits(g, other, memory.data), orders(memory.data);
    else tap_skip(1, "%s", cj_error_of(g)->message);
    cj_gemm_free(g), cj_gemm_free(other);
    kb_drop(&memory);
    return kb_close();
}
