/* A kernel of vectors and the plain one give the same bits: rows at each alignment of their elements, of odd sizes.
 * Results lie in bytes 0xFF for rows at a multiple of 16 bytes, in bytes 0 for the others: what is not written
 * differs. */
#include "tests/kernels/kernels_bench.h"

#include <math.h>
#include <string.h>

static const cj_type types[] = { CJ_U8,  CJ_S8,  CJ_U16, CJ_S16,  CJ_U32, CJ_S32,
                                 CJ_U64, CJ_S64, CJ_F16, CJ_BF16, CJ_F32, CJ_F64 };
enum { TYPES = sizeof types / sizeof *types, VECTOR = 16 };

/* Numbers of all magnitudes, whose sums depend on the order. */
static void random_elements(void *at, cj_type type, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *e = (char *)at + i * kb_size(type);
        uint64_t bits = (uint64_t)kb_random() << 32 | kb_random();
        if (kb_floating(type)) kb_set(e, type, kb_uniform() * ldexp(1, (int)(kb_random() >> 8) % 12));
        else memcpy(e, &bits, kb_size(type));
    }
}

static unsigned char fill_of(size_t off) { return off ? 0 : 0xFF; }

static void fill(const kb_memory *m, size_t off) { cj_fill8(kb_s[0], m->data, fill_of(off), m->bytes); }

/* Joins in f32, which is not quite associative. */
static cj_ptx *sums_module(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_func(m, "plus");
    cj_val a = cj_param(f, "a", CJ_F32), b = cj_param(f, "b", CJ_F32);
    cj_return_value(f, cj_add(f, a, b));
    return m;
}

/* ---- Reductions -------------------------------------------------------------------------------------------------- */

static const uint64_t lengths[] = { 1, 7, 16, 255, 1027, 4096, 5003, 16384, 20011, 37000 };
enum { LENGTHS = sizeof lengths / sizeof *lengths, LONGEST = 37000 };

/* Results of `r`, of `out_bytes` bytes, with x at each alignment, less those that are the same as at a multiple of 16
 * bytes. */
static size_t different_sums(cj_reduce *r, cj_type type, size_t out_bytes, kb_memory *x, kb_memory *out,
                             const kb_memory *space, size_t l)
{
    static char elements[LONGEST * 8];
    size_t size = kb_size(type), bytes = lengths[l] * size, wrong = 0;
    unsigned char first[8] = { 0 };
    random_elements(elements, type, lengths[l]);
    for (size_t off = 0; off < VECTOR; off += tap_is_slow() && off ? 8 : size) {
        memcpy((char *)x->host + off, elements, bytes);
        kb_put(x), fill(out, off);
        cj_reduce_args a = { .x = { cj_offset(x->data, (int64_t)off), 0, 0 }, .columns = lengths[l], .out = out->data,
                             .workspace = { space->data, space->bytes } };
        wrong += !kb_is_ok(kb_s[0], cj_reduce_launch(kb_s[0], r, &a), "reduce") || !kb_get(out);
        if (!off) memcpy(first, out->host, out_bytes);
        wrong += memcmp(first, out->host, out_bytes) != 0;
    }
    return wrong;
}

static void reductions(void)
{
    kb_memory x = kb_take(LONGEST * 8 + VECTOR), out = kb_take(8), space = kb_take(1 << 16);
    for (size_t t = 0; t < TYPES; t++) {
        size_t wrong = 0;
        cj_reduce *r = cj_reduce_create(kb_dev, CJ_REDUCE(.type = types[t]));
        if (cj_error_of(r)->status) tap_diag("%s", cj_error_of(r)->message);
        for (size_t l = t % 4; l < LENGTHS; l += tap_is_slow() ? 9 : 4)
            wrong += different_sums(r, types[t], kb_size(types[t]), &x, &out, &space, l);
        tap_is_uint(wrong, 0, "sums of %s have the same bits at each alignment", kb_name(types[t]));
        cj_reduce_free(r);
    }
    cj_ptx *m = sums_module();
    cj_reduce *r = cj_reduce_create(kb_dev, CJ_REDUCE(.type = CJ_BF16, .out_type = CJ_F32, .module = m,
                                                      .function = "plus"));
    size_t wrong = 0;
    if (cj_error_of(r)->status) tap_diag("%s", cj_error_of(r)->message);
    for (size_t l = 0; l < LENGTHS; l += 3) wrong += different_sums(r, CJ_BF16, 4, &x, &out, &space, l);
    tap_is_uint(wrong, 0, "sums by a function have the same bits at each alignment");
    cj_reduce_free(r);
    cj_ptx_free(m);
    kb_drop(&x), kb_drop(&out), kb_drop(&space);
}

/* Rows of which some are at multiples of 16 bytes, and rows that all are. */
static void rows_of_reductions(void)
{
    enum { ROWS = 5, COLUMNS = 1100 };
    kb_memory x = kb_take(ROWS * (COLUMNS + 4) * 4), out = kb_take(ROWS * 4);
    static float elements[ROWS][COLUMNS], first[ROWS];
    cj_reduce *r = cj_reduce_create(kb_dev, CJ_REDUCE(.type = CJ_F32));
    size_t wrong = 0;
    random_elements(elements, CJ_F32, ROWS * COLUMNS);
    for (size_t gap = 0; gap <= 4; gap++) {
        for (size_t i = 0; i < ROWS; i++)
            memcpy((float *)x.host + i * (COLUMNS + gap), elements[i], sizeof elements[i]);
        kb_put(&x), fill(&out, gap);
        cj_reduce_args a = { .x = { x.data, (int64_t)(COLUMNS + gap), 0 }, .rows = ROWS, .columns = COLUMNS,
                             .out = out.data };
        wrong += !kb_is_ok(kb_s[0], cj_reduce_launch(kb_s[0], r, &a), "reduce") || !kb_get(&out);
        if (!gap) memcpy(first, out.host, sizeof first);
        wrong += memcmp(first, out.host, sizeof first) != 0;
    }
    tap_is_uint(wrong, 0, "and rows at any distance");
    cj_reduce_free(r);
    kb_drop(&x), kb_drop(&out);
}

/* The elements are random, so a wrong column has another element. */
static void greatest(void)
{
    static char elements[LONGEST * 8];
    kb_memory x = kb_take(LONGEST * 8 + VECTOR), out = kb_take(8), space = kb_take(1 << 16);
    for (size_t t = 0; t < TYPES; t++) {
        size_t wrong = 0, size = kb_size(types[t]);
        cj_argmax *c = cj_argmax_create(kb_dev, CJ_ARGMAX(.type = types[t], .least = t % 2));
        if (cj_error_of(c)->status) tap_diag("%s", cj_error_of(c)->message);
        for (size_t l = t % 5; l < LENGTHS; l += tap_is_slow() ? 9 : 5) {
            uint64_t first = 0;
            random_elements(elements, types[t], lengths[l]);
            for (size_t off = 0; off < VECTOR; off += tap_is_slow() && off ? 8 : size) {
                memcpy((char *)x.host + off, elements, lengths[l] * size);
                kb_put(&x), fill(&out, off);
                cj_argmax_args a = { .x = { cj_offset(x.data, (int64_t)off), 0, 0 }, .columns = lengths[l],
                                     .out = out.data, .workspace = { space.data, space.bytes } };
                wrong += !kb_is_ok(kb_s[0], cj_argmax_launch(kb_s[0], c, &a), "argmax") || !kb_get(&out);
                if (!off) first = *(uint64_t *)out.host;
                wrong += *(uint64_t *)out.host != first || first >= lengths[l];
            }
        }
        tap_is_uint(wrong, 0, "the %s element of %s is found at each alignment", t % 2 ? "least" : "greatest",
                    kb_name(types[t]));
        cj_argmax_free(c);
    }
    kb_drop(&x), kb_drop(&out), kb_drop(&space);
}

/* ---- Functions of elements --------------------------------------------------------------------------------------- */

/* out = a * number + b, computed in f32, of elements of two types. */
static cj_ptx *fused_module(cj_type a, cj_type b)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_func(m, "fused");
    cj_val x = cj_param(f, "x", a), y = cj_param(f, "y", b), number = cj_param(f, "number", CJ_F32);
    cj_val wide = a == CJ_F32 ? x : cj_cvt(f, CJ_F32, x), more = b == CJ_F32 ? y : cj_cvt(f, CJ_F32, y);
    cj_return_value(f, cj_fma(f, wide, number, more));
    return m;
}

/* The type that elements are handed over in. */
static cj_type wide_of(cj_type t)
{
    static const cj_type wide[][2] = { { CJ_U8, CJ_U32 },  { CJ_S8, CJ_S32 },  { CJ_U16, CJ_U32 }, { CJ_S16, CJ_S32 },
                                       { CJ_F16, CJ_F32 }, { CJ_BF16, CJ_F32 } };
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (wide[i][0] == t) return wide[i][1];
    return t;
}

/* From row to row, so that each begins at a multiple of 16 bytes; there are gaps between them. */
static uint64_t stride_of(uint64_t columns) { return (columns + 15) / 16 * 16; }

/* Three rows from element `off` of each matrix on. */
static bool run_elements(cj_elementwise *e, const cj_type t[3], kb_memory m[3], uint64_t columns, size_t off)
{
    cj_rows r[3];
    for (int i = 0; i < 3; i++) {
        const int64_t stride = (int64_t)stride_of(columns) + (i ? 0 : 16);
        r[i] = (cj_rows){ cj_offset(m[i].data, (int64_t)(off * kb_size(t[i]))), stride, 0 };
    }
    cj_elementwise_args a = { .in = { r[0], r[1] }, .out = r[2], .rows = 3, .columns = columns, .numbers = { 0.75f } };
    return kb_is_ok(kb_s[0], cj_elementwise_launch(kb_s[0], e, &a), "elementwise");
}

static void elements(void)
{
    enum { MOST = 5003, ALL = 3 * (MOST + 5 + 16) + 16 };
    static const uint64_t columns[] = { 16, 1, 1023, 2048, MOST };
    static char data[2][ALL * 8];
    for (size_t k = 0; k < TYPES; k++) {
        const cj_type t[3] = { types[k], types[(k * 5 + 3) % TYPES], types[(k * 7 + 8) % TYPES] };
        cj_ptx *module = fused_module(wide_of(t[0]), wide_of(t[1]));
        cj_elementwise *e = cj_elementwise_create(kb_dev, CJ_ELEMENTWISE(.inputs = 2, .types = { t[0], t[1] },
                                                                         .out_type = t[2], .numbers = 1,
                                                                         .module = module, .function = "fused"));
        if (cj_error_of(e)->status) tap_diag("%s", cj_error_of(e)->message);
        kb_memory m[3];
        size_t wrong = 0;
        for (int i = 0; i < 3; i++) m[i] = kb_take(ALL * kb_size(t[i]));
        for (int i = 0; i < 2; i++) random_elements(data[i], t[i], ALL);
        for (size_t c = tap_is_slow() ? 2 : 0; c < sizeof columns / sizeof *columns; c += tap_is_slow() ? 2 : 1) {
            const size_t size = kb_size(t[2]), stride = stride_of(columns[c]), bytes = 3 * stride * size;
            static char first[ALL * 8];
            for (size_t off = 0; off < VECTOR; off += off ? 5 : 1) {
                for (int i = 0; i < 2; i++)
                    memcpy((char *)m[i].host + off * kb_size(t[i]), data[i], (ALL - off) * kb_size(t[i])),
                        kb_put(&m[i]);
                fill(&m[2], off);
                wrong += !run_elements(e, t, m, columns[c], off) || !kb_get(&m[2]);
                const char *got = (char *)m[2].host + off * size;
                if (!off) memcpy(first, got, bytes);
                for (size_t row = 0; row < 3; row++)
                    wrong += memcmp(first + row * stride * size, got + row * stride * size, columns[c] * size) != 0;
                for (size_t i = 0; i < m[2].bytes / size - off; i++)
                    if (i >= 3 * stride || i % stride >= columns[c])
                        wrong += (unsigned char)got[i * size] != fill_of(off);
            }
        }
        tap_is_uint(wrong, 0, "%s of %s and %s has the same bits at each alignment", kb_name(t[2]), kb_name(t[0]),
                    kb_name(t[1]));
        cj_elementwise_free(e);
        cj_ptx_free(module);
        for (int i = 0; i < 3; i++) kb_drop(&m[i]);
    }
}

int main(void)
{
    kb_open();
    reductions();
    rows_of_reductions();
    greatest();
    elements();
    return kb_close();
}
