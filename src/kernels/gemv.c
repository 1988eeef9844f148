/* Products of a matrix and a vector: a warp for each row.
 *
 * A lane takes a unit of 32 columns at a time, which is a block of the quantised vector: a scale, the sum of the
 * numbers, 32 bytes.  The unit's weights become 8 words of 4 numbers in the order of the columns, and dp4a multiplies
 * them: the sum is exact.  Blocks of most formats are aligned to 2 bytes only, so they are loaded by halves. */
#include "kernels/row_values.h"

typedef struct cjk_gemv {
    cjk_code code;
    cj_gemv_opts o;
    cj_type x, out;
} cjk_gemv;

static const cj_object_type gemv_type = {
    sizeof gemv_type, "cj_gemv", sizeof(cjk_gemv), cjk_release
};

enum { GEMV_ROWS, GEMV_QUANTISE, GEMV_KERNELS };
enum { UNIT = 32, UNIT_BYTES = 40, UNIT_WORDS = 8, WARPS = CJK_THREADS / 32 };

/* A format: columns and bytes of a block, its alignment. */
typedef struct block_format { const char *name; uint32_t columns, bytes, align; } block_format;
static const block_format formats[] = {
    [CJ_GEMV_F16] = { "f16", 1, 2, 2 },        [CJ_GEMV_BF16] = { "bf16", 1, 2, 2 },
    [CJ_GEMV_Q4_0] = { "Q4_0", 32, 18, 2 },    [CJ_GEMV_Q8_0] = { "Q8_0", 32, 34, 2 },
    [CJ_GEMV_Q4_K] = { "Q4_K", 256, 144, 4 },  [CJ_GEMV_Q6_K] = { "Q6_K", 256, 210, 2 },
};

static bool has_blocks(const cjk_gemv *g) { return g->o.format >= CJ_GEMV_Q4_0; }

/* -- Loads --------------------------------------------------------------------------------------------------------- */

/* A word at an address that is aligned to 2 bytes. */
static cj_val load_word(cj_fn *f, cj_val at, int64_t offset)
{
    cj_val halves[2];
    for (int i = 0; i < 2; i++) halves[i] = cj_load(f, CJ_U16, cj_mem(f, at, offset + 2 * i));
    return cj_def(f, "mov.b32", cj_vec_n(f, halves, 2));
}

static cj_val load_half(cj_fn *f, cj_val at, int64_t offset)
{
    return cj_cvt(f, CJ_F32, cj_load(f, CJ_F16, cj_mem(f, at, offset)));
}

/* at + index * bytes */
static cj_val bytes_at(cj_fn *f, cj_val at, cj_val index, uint64_t bytes)
{
    return cj_as_ptr(f, cj_mad(f, index, bytes, cj_addr(f, at)), CJ_U8, CJ_SPACE_GLOBAL);
}

/* The bytes' low 4 bits behind a shift of the whole word. */
static cj_val nibbles(cj_fn *f, cj_val word, cj_val shift)
{
    return cj_and(f, cj_shr(f, word, shift), cj_imm_bits(f, CJ_B32, 0x0f0f0f0f));
}

static cj_val dot(cj_fn *f, cj_val weights, cj_val x, cj_val sum)
{
    return cj_bits(f, CJ_S32, cj_def(f, "dp4a.s32.s32", weights, x, sum));
}

static cj_val as_float(cj_fn *f, cj_val v) { return cj_cvt(f, CJ_F32, v); }

/* -- Units of the formats: what 32 columns add to the row ---------------------------------------------------------- */

/* A unit of the vector. */
typedef struct vector_unit { cj_val scale, sum, q[UNIT_WORDS]; } vector_unit;

static void load_unit(cj_fn *f, cj_val x, cj_val unit, vector_unit *v)
{
    cj_val at = bytes_at(f, x, unit, UNIT_BYTES);
    v->scale = cj_load(f, CJ_F32, at);
    v->sum = cj_load(f, CJ_S32, cj_mem(f, at, 4));
    for (unsigned i = 0; i < UNIT_WORDS; i += 2) {
        cj_val two = cj_def(f, "ld.global.v2.b32", cj_mem(f, at, 8 + 4 * i));
        v->q[i] = cj_elem(f, two, 0);
        v->q[i + 1] = cj_elem(f, two, 1);
    }
}

/* d, then 16 bytes: column i is in the low bits of byte i, column i + 16 in the high ones; 8 is 0. */
static cj_val unit_q4_0(cj_fn *f, cj_val row, cj_val unit, const vector_unit *x)
{
    cj_val at = bytes_at(f, row, unit, 18), d = load_half(f, at, 0), sum = cj_mul(f, x->sum, -8);
    for (unsigned i = 0; i < 4; i++) {
        cj_val w = load_word(f, at, 2 + 4 * i);
        sum = dot(f, nibbles(f, w, cj_imm_i(f, 0)), x->q[i], sum);
        sum = dot(f, nibbles(f, w, cj_imm_i(f, 4)), x->q[i + 4], sum);
    }
    return cj_mul(f, cj_mul(f, d, x->scale), as_float(f, sum));
}

/* d, then 32 signed bytes. */
static cj_val unit_q8_0(cj_fn *f, cj_val row, cj_val unit, const vector_unit *x)
{
    cj_val at = bytes_at(f, row, unit, 34), d = load_half(f, at, 0), sum = cj_let(f, CJ_S32, 0);
    for (unsigned i = 0; i < UNIT_WORDS; i++) sum = dot(f, load_word(f, at, 2 + 4 * i), x->q[i], sum);
    return cj_mul(f, cj_mul(f, d, x->scale), as_float(f, sum));
}

/* d, dmin, 12 bytes with 8 scales and 8 least values of 6 bits, 128 bytes.  Units 2 i and 2 i + 1 are the low and high
 * bits of the 32 bytes from 32 i on.  Scale j < 4 is in the low 6 bits of byte j, its least value in those of byte j +
 * 4; of the others the low 4 bits are those of byte j + 4, or its high ones; the high 2 those of byte j - 4, or j. */
static cj_val unit_q4_k(cj_fn *f, cj_val row, cj_val unit, const vector_unit *x)
{
    cj_val block = cj_shr(f, unit, 3), j = cj_cvt(f, CJ_U32, cj_and(f, unit, 7)), at = bytes_at(f, row, block, 144);
    cj_val d = load_half(f, at, 0), least = load_half(f, at, 2), words[3];
    for (unsigned i = 0; i < 3; i++) words[i] = cj_load(f, CJ_U32, cj_mem(f, at, 4 + 4 * i));
    cj_val by = cj_shl(f, cj_and(f, j, 3), 3), low = cj_lt(f, j, 4);
    cj_val a = cj_and(f, cj_shr(f, words[0], by), 255), b = cj_and(f, cj_shr(f, words[1], by), 255);
    cj_val c = cj_and(f, cj_shr(f, words[2], by), 255);
    cj_val scale_high = cj_or(f, cj_and(f, c, 15), cj_shl(f, cj_shr(f, a, 6), 4));
    cj_val least_high = cj_or(f, cj_shr(f, c, 4), cj_shl(f, cj_shr(f, b, 6), 4));
    cj_val scale = cj_select(f, low, cj_and(f, a, 63), scale_high);
    cj_val minimum = cj_select(f, low, cj_and(f, b, 63), least_high);
    cj_val quarter = cj_cvt(f, CJ_U64, cj_shr(f, j, 1)), bytes = bytes_at(f, at, quarter, 32);
    cj_val shift = cj_shl(f, cj_and(f, j, 1), 2), sum = cj_let(f, CJ_S32, 0);
    for (unsigned i = 0; i < UNIT_WORDS; i++)
        sum = dot(f, nibbles(f, cj_load(f, CJ_B32, cj_mem(f, bytes, 16 + 4 * i)), shift), x->q[i], sum);
    cj_val more = cj_mul(f, cj_mul(f, d, cj_cvt(f, CJ_F32, scale)), as_float(f, sum));
    cj_val less = cj_mul(f, cj_mul(f, least, cj_cvt(f, CJ_F32, minimum)), as_float(f, x->sum));
    return cj_mul(f, x->scale, cj_sub(f, more, less));
}

/* 128 bytes of low bits, 64 bytes of high ones, 16 scales as signed bytes, d.  Unit j: half n = j / 4 of the block,
 * group g = j % 4 of it.  The low 4 bits are in the bytes 64 n + 32 (g % 2) on, in their low bits for g < 2; the high 2
 * are bits 2 g of the bytes 32 n on.  32 is 0.  Each 16 columns have a scale. */
static cj_val unit_q6_k(cj_fn *f, cj_val row, cj_val unit, const vector_unit *x)
{
    cj_val block = cj_shr(f, unit, 3), j = cj_cvt(f, CJ_U32, cj_and(f, unit, 7)), at = bytes_at(f, row, block, 210);
    cj_val n = cj_shr(f, j, 2), g = cj_and(f, j, 3), d = load_half(f, at, 208);
    cj_val low_at = cj_mad(f, n, 64, cj_shl(f, cj_and(f, g, 1), 5)), high_at = cj_mad(f, n, 32, 128);
    cj_val lows = bytes_at(f, at, cj_cvt(f, CJ_U64, low_at), 1), highs = bytes_at(f, at, cj_cvt(f, CJ_U64, high_at), 1);
    cj_val scales = bytes_at(f, at, cj_cvt(f, CJ_U64, cj_add(f, cj_mul(f, j, 2), 192)), 1);
    cj_val low_shift = cj_shl(f, cj_shr(f, g, 1), 2), high_shift = cj_shl(f, g, 1), total = cj_let(f, CJ_S32, 0);
    for (unsigned part = 0; part < 2; part++) {
        cj_val sum = cj_let(f, CJ_S32, 0), ones = cj_let(f, CJ_S32, 0);
        for (unsigned i = 4 * part; i < 4 * part + 4; i++) {
            cj_val high =
                cj_and(f, cj_shr(f, load_word(f, highs, 4 * i), high_shift), cj_imm_bits(f, CJ_B32, 0x03030303));
            cj_val w = cj_or(f, nibbles(f, load_word(f, lows, 4 * i), low_shift), cj_shl(f, high, 4));
            sum = dot(f, w, x->q[i], sum);
            ones = dot(f, cj_imm_bits(f, CJ_B32, 0x01010101), x->q[i], ones);
        }
        cj_val scale = cj_bits(f, CJ_S32, cj_load(f, CJ_S8, cj_mem(f, scales, part)));
        total = cj_mad(f, scale, cj_sub(f, sum, cj_mul(f, ones, 32)), total);
    }
    return cj_mul(f, cj_mul(f, d, x->scale), as_float(f, total));
}

/* -- Kernels ------------------------------------------------------------------------------------------------------- */

static cj_val unit_product(cj_fn *f, cj_gemv_format format, cj_val row, cj_val unit, const vector_unit *x)
{
    switch (format) {
    case CJ_GEMV_Q4_0: return unit_q4_0(f, row, unit, x);
    case CJ_GEMV_Q8_0: return unit_q8_0(f, row, unit, x);
    case CJ_GEMV_Q4_K: return unit_q4_k(f, row, unit, x);
    default: return unit_q6_k(f, row, unit, x);
    }
}

static void write_gemv(cj_ptx *m, const char *name, const cjk_gemv *g)
{
    cj_fn *f = cj_ptx_kernel(m, name);
    cj_fn_max_threads(f, CJK_THREADS, 1, 1);
    cj_val matrix = cj_param_ptr(f, "matrix", CJ_U8), row_bytes = cj_param(f, "row_bytes", CJ_U64);
    cj_val x = cj_param_ptr(f, "x", CJ_U8), out = cj_param_ptr(f, "out", g->out);
    cj_val rows = cj_param(f, "rows", CJ_U64), columns = cj_param(f, "columns", CJ_U64), total;
    cj_val warp = cj_shr(f, cj_thread_id(f, CJ_X), 5), lane = cj_cvt(f, CJ_U64, cj_and(f, cj_thread_id(f, CJ_X), 31));
    cj_val row = cj_mad(f, cjk_block(f, CJ_X), WARPS, cj_cvt(f, CJ_U64, warp));
    cj_return_if(f, cj_ge(f, row, rows));
    cj_val begin = cj_as_ptr(f, cj_mad(f, row, row_bytes, cj_addr(f, matrix)), CJ_U8, CJ_SPACE_GLOBAL);
    cj_val sum = cj_let(f, CJ_F32, 0.0f), product;
    if (has_blocks(g)) {
        cj_val unit = cj_for(f, lane, cj_shr(f, columns, 5), 32);
            vector_unit v;
            load_unit(f, x, unit, &v);
            product = unit_product(f, (cj_gemv_format)g->o.format, begin, unit, &v);
            cj_assign(f, sum, cj_add(f, sum, product));
        cj_end(f);
    } else {
        cj_type weight = g->o.format == CJ_GEMV_F16 ? CJ_F16 : CJ_BF16;
        cj_val c = cj_for(f, lane, columns, 32);
            cj_val w = cjk_load(f, weight, bytes_at(f, begin, c, 2), CJ_F32);
            cj_val v = cjk_load(f, g->x, bytes_at(f, x, c, cjk_size(g->x)), CJ_F32);
            cj_assign(f, sum, cj_fma(f, w, v, sum));
        cj_end(f);
    }
    cj_warp_reduce(f, CJ_COMBINE_ADD, sum, 32, &total);
    cj_if(f, cj_eq(f, lane, 0));
        cjk_store(f, g->out, cj_at(f, out, row), total);
    cj_end(f);
    cj_return(f);
}

/* A warp for each unit, a lane for each element. */
static void write_quantise(cj_ptx *m, const char *name, const cjk_gemv *g)
{
    cj_fn *f = cj_ptx_kernel(m, name);
    cj_fn_max_threads(f, CJK_THREADS, 1, 1);
    cj_val x = cj_param_ptr(f, "x", CJ_U8), out = cj_param_ptr(f, "out", CJ_U8), units = cj_param(f, "units", CJ_U64);
    cj_val thread = cj_thread_id(f, CJ_X), lane = cj_and(f, thread, 31), most, sum;
    cj_val unit = cj_mad(f, cjk_block(f, CJ_X), WARPS, cj_cvt(f, CJ_U64, cj_shr(f, thread, 5)));
    cj_return_if(f, cj_ge(f, unit, units));
    cj_val column = cj_mad(f, unit, UNIT, cj_cvt(f, CJ_U64, lane));
    cj_val v = cjk_load(f, g->x, bytes_at(f, x, column, cjk_size(g->x)), CJ_F32);
    cj_warp_reduce(f, CJ_COMBINE_MAX, cj_abs(f, v), 32, &most);
    cj_val scale = cj_div(f, most, 127.0f);
    cj_val factor = cj_select(f, cj_eq(f, scale, 0.0f), 0.0f, cj_rcp(f, scale));
    cj_val q = cj_def(f, "cvt.rni.s32.f32", cj_mul(f, v, factor));
    cj_val number = cj_max(f, cj_min(f, q, 127), -127);
    cj_warp_reduce(f, CJ_COMBINE_ADD, number, 32, &sum);
    cj_val at = bytes_at(f, out, unit, UNIT_BYTES);
    cj_store(f, CJ_S8, cj_mem(f, bytes_at(f, at, cj_cvt(f, CJ_U64, lane), 1), 8), number);
    cj_if(f, cj_eq(f, lane, 0));
        cj_store(f, CJ_F32, at, scale);
        cj_store(f, CJ_S32, cj_mem(f, at, 4), sum);
    cj_end(f);
    cj_return(f);
}

/* -- Calls --------------------------------------------------------------------------------------------------------- */

void cj_gemv_defaults(cj_gemv_opts *opts)
{
    if (opts) *opts = (cj_gemv_opts){ .size = sizeof *opts };
}

size_t cj_gemv_quantised_bytes(uint64_t columns)
{
    uint64_t units = columns / UNIT + (columns % UNIT != 0);
    return units > SIZE_MAX / 2 / UNIT_BYTES ? 0 : (size_t)units * UNIT_BYTES;
}

static bool is_vector_type(cj_type t) { return t == CJ_F32 || t == CJ_F16 || t == CJ_BF16; }

static size_t gemv_need(const cjk_gemv *g, uint64_t columns)
{
    return has_blocks(g) && !g->o.quantised ? cjk_whole(cj_gemv_quantised_bytes(columns)) : 0;
}

cj_gemv *cj_gemv_create(cj_device *dev, const cj_gemv_opts *opts)
{
    static const char call[] = "cj_gemv_create";
    const char *names[GEMV_KERNELS] = { "cj_gemv", NULL };
    void *x = cj_object_create(&gemv_type, call);
    cjk_gemv *g = cj_object_data(x, &gemv_type, NULL, call);
    if (!g) return x;
    if (!cjk_options(x, call, &g->o, sizeof g->o, opts)) return cjk_failed(x), x;
    g->x = g->o.x_type ? (cj_type)g->o.x_type : CJ_F32;
    g->out = g->o.out_type ? (cj_type)g->o.out_type : CJ_F32;
    if (g->o.format < CJ_GEMV_F16 || g->o.format > CJ_GEMV_Q6_K)
        cjk_fail(x, CJ_EINVAL, call, "format %d does not exist", g->o.format);
    else if (!is_vector_type(g->x) || !is_vector_type(g->out))
        cjk_fail(x, CJ_EINVAL, call, "%s is %s; wants f32, f16 or bf16", is_vector_type(g->x) ? "out_type" : "x_type",
                 cjk_type_name(is_vector_type(g->x) ? g->out : g->x));
    else if (g->o.quantised && !has_blocks(g))
        cjk_fail(x, CJ_ENOTSUP, call, "a matrix of %s is not multiplied by a quantised vector",
                 formats[g->o.format].name);
    if (cj_error_of(x)->status != CJ_OK) return cjk_failed(x), x;
    if (!cjk_begin(x, &g->code, dev, NULL, call)) return x;
    write_gemv(g->code.m, names[GEMV_ROWS], g);
    if (has_blocks(g) && !g->o.quantised) {
        names[GEMV_QUANTISE] = "cj_gemv_quantise";
        write_quantise(g->code.m, names[GEMV_QUANTISE], g);
    }
    cjk_end(x, &g->code, names, GEMV_KERNELS, g->o.cache, g->o.in_flight, gemv_need(g, g->o.columns), call);
    g->o.cache = NULL;
    return x;
}

size_t cj_gemv_workspace(const cj_gemv *g, uint64_t columns)
{
    const cjk_gemv *own = cj_object_data(g, &gemv_type, NULL, "cj_gemv_workspace");
    return own ? gemv_need(own, columns) : 0;
}

static bool gemv_fits(cj_stream *s, cj_dptr at, size_t align, const char *name, const char *call)
{
    if (at.addr && at.addr % align == 0) return true;
    cjk_fail(s, CJ_EINVAL, call, "%s is at 0x%llx, wants memory aligned to %zu bytes", name,
             (unsigned long long)at.addr, align);
    return false;
}

static cj_status enqueue_quantise(cj_stream *s, const cjk_gemv *g, cj_dptr x, uint64_t columns, cj_dptr out)
{
    uint64_t units = columns / UNIT;
    const uint32_t grid[3] = { (uint32_t)((units - 1) / WARPS + 1), 1, 1 };
    const cj_arg args[] = { cj_arg_ptr(x), cj_arg_ptr(out), cj_arg_u(units) };
    return cjk_launch(s, &g->code, GEMV_QUANTISE, grid, CJK_THREADS, args, 3);
}

/* Whether the columns are a number that a product can have. */
static bool columns_fit(cj_stream *s, const cjk_gemv *g, uint64_t columns, uint32_t of, const char *call)
{
    if (columns % of == 0 && columns / UNIT / WARPS < INT32_MAX) return true;
    cjk_fail(s, CJ_EINVAL, call, "%llu columns; %s wants a multiple of %u", (unsigned long long)columns,
             formats[g->o.format].name, of);
    return false;
}

cj_status cj_gemv_quantise(cj_stream *s, cj_gemv *object, cj_dptr x, uint64_t columns, cj_dptr out)
{
    static const char call[] = "cj_gemv_quantise";
    cjk_gemv *g = cj_object_data(object, &gemv_type, s, call);
    if (!g) return cj_error_last()->status;
    if (!g->code.k[GEMV_QUANTISE])
        return cjk_fail(s, CJ_ENOTSUP, call, "the product was made for %s; make another one",
                        has_blocks(g) ? "vectors that are quantised" : "elements");
    if (!columns_fit(s, g, columns, UNIT, call) || !gemv_fits(s, x, cjk_size(g->x), "x", call) ||
        !gemv_fits(s, out, 8, "out", call)) return CJ_EINVAL;
    return columns ? enqueue_quantise(s, g, x, columns, out) : CJ_OK;
}

cj_status cj_gemv_launch(cj_stream *s, cj_gemv *object, const cj_gemv_args *a)
{
    static const char call[] = "cj_gemv_launch";
    cjk_gemv *g = cj_object_data(object, &gemv_type, s, call);
    cj_dptr space;
    if (!g) return cj_error_last()->status;
    if (!a) return cjk_fail(s, CJ_EINVAL, call, "the arguments are NULL");
    const block_format *b = &formats[g->o.format];
    if (!a->rows) return CJ_OK;
    if ((a->rows - 1) / WARPS >= INT32_MAX)
        return cjk_fail(s, CJ_EINVAL, call, "%llu rows are more than a grid has blocks", (unsigned long long)a->rows);
    if (!columns_fit(s, g, a->columns, b->columns, call)) return CJ_EINVAL;
    uint64_t packed = a->columns / b->columns * b->bytes, row_bytes = a->row_bytes ? a->row_bytes : packed;
    if (row_bytes < packed || row_bytes % b->align || row_bytes > INT64_MAX / (a->rows + 1))
        return cjk_fail(s, CJ_EINVAL, call,
                        "rows of %llu bytes; %llu columns of %s have %llu, and want a multiple of %u",
                        (unsigned long long)row_bytes, (unsigned long long)a->columns, b->name,
                        (unsigned long long)packed, b->align);
    if (!gemv_fits(s, a->matrix, b->align, "matrix", call) || !gemv_fits(s, a->out, cjk_size(g->out), "out", call) ||
        !gemv_fits(s, a->x, g->o.quantised ? 8 : cjk_size(g->x), "x", call)) return CJ_EINVAL;
    if (!cjk_space_begin(s, &g->code, gemv_need(g, a->columns), &a->workspace, &space, call))
        return cj_error_last()->status;
    cj_dptr x = space.addr ? space : a->x;
    cj_status st = space.addr ? enqueue_quantise(s, g, a->x, a->columns, x) : CJ_OK;
    const uint32_t grid[3] = { (uint32_t)((a->rows - 1) / WARPS + 1), 1, 1 };
    const cj_arg args[] = { cj_arg_ptr(a->matrix), cj_arg_u(row_bytes), cj_arg_ptr(x), cj_arg_ptr(a->out),
                            cj_arg_u(a->rows), cj_arg_u(a->columns) };
    return st == CJ_OK ? cjk_launch(s, &g->code, GEMV_ROWS, grid, CJK_THREADS, args, 6) : st;
}

cj_status cj_gemv_ptx(cj_gemv *g, unsigned flags, const char **text, size_t *bytes)
{
    return cjk_print(g, &gemv_type, flags, text, bytes, "cj_gemv_ptx");
}

void cj_gemv_free(cj_gemv *g) { cj_object_free(g, &gemv_type, "cj_gemv_free"); }
