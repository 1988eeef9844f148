/* Products of a matrix and a vector: options, quantisation of the vector, launches.  gemv_rows.c and gemv_bulk.c write
 * the kernels of the product. */
#include "kernels/gemv.h"

static const cj_object_type gemv_type = {
    sizeof gemv_type, "cj_gemv", sizeof(cjk_gemv), cjk_release
};

const cjk_gemv_format cjk_gemv_formats[] = {
    [CJ_GEMV_F16] = { "f16", 1, 2, 2, 8, 4 },         [CJ_GEMV_BF16] = { "bf16", 1, 2, 2, 8, 4 },
    [CJ_GEMV_Q4_0] = { "Q4_0", 32, 18, 2, 64, 2 },    [CJ_GEMV_Q8_0] = { "Q8_0", 32, 34, 2, 64, 1 },
    [CJ_GEMV_Q4_K] = { "Q4_K", 256, 144, 4, 64, 2 },  [CJ_GEMV_Q6_K] = { "Q6_K", 256, 210, 2, 64, 1 },
};

/* -- Quantising ---------------------------------------------------------------------------------------------------- */

/* A warp for each unit, a lane for each element. */
static void write_quantise(cj_ptx *m, const char *name, const cjk_gemv *g)
{
    cj_fn *f = cj_ptx_kernel(m, name);
    cj_fn_max_threads(f, CJK_THREADS, 1, 1);
    cj_val x = cj_param_ptr(f, "x", CJ_U8), out = cj_param_ptr(f, "out", CJ_U8), units = cj_param(f, "units", CJ_U64);
    cj_comment(f, "The unit of the warp, the column of the lane");
    cj_val thread = cj_thread_id(f, CJ_X), lane = cj_and(f, thread, 31), most, sum;
    cj_val unit = cj_mad(f, cjk_block(f, CJ_X), CJK_GEMV_WARPS, cj_cvt(f, CJ_U64, cj_shr(f, thread, 5)));
    cj_return_if(f, cj_ge(f, unit, units));
    cj_val column = cj_mad(f, unit, CJK_UNIT, cj_cvt(f, CJ_U64, lane));
    cj_val v = cjk_load(f, g->x, cjk_bytes_at(f, x, column, cjk_size(g->x)), CJ_F32);
    cj_comment(f, "The scale, by the greatest magnitude, and the numbers");
    cj_warp_reduce(f, CJ_COMBINE_MAX, cj_abs(f, v), 32, &most);
    cj_val scale = cj_div(f, most, 127.0f);
    cj_val factor = cj_select(f, cj_eq(f, scale, 0.0f), 0.0f, cj_rcp(f, scale));
    cj_val q = cj_def(f, "cvt.rni.s32.f32", cj_mul(f, v, factor));
    cj_val number = cj_max(f, cj_min(f, q, 127), -127);
    cj_warp_reduce(f, CJ_COMBINE_ADD, number, 32, &sum);
    cj_name(f, lane, "lane");
    cj_name(f, unit, "unit");
    cj_name(f, column, "column");
    cj_name(f, scale, "scale");
    cj_name(f, number, "number");
    cj_name(f, sum, "sum");
    cj_comment(f, "Each lane stores its number, lane 0 the scale and the sum of the numbers too");
    cj_val at = cjk_bytes_at(f, out, unit, CJK_UNIT_BYTES);
    cj_store(f, CJ_S8, cj_mem(f, cjk_bytes_at(f, at, cj_cvt(f, CJ_U64, lane), 1), 8), number);
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
    uint64_t units = columns / CJK_UNIT + (columns % CJK_UNIT != 0);
    return units > SIZE_MAX / 2 / CJK_UNIT_BYTES ? 0 : (size_t)units * CJK_UNIT_BYTES;
}

static bool is_vector_type(cj_type t) { return t == CJ_F32 || t == CJ_F16 || t == CJ_BF16; }

static size_t gemv_need(const cjk_gemv *g, uint64_t columns)
{
    return cjk_gemv_has_blocks(g) && !g->o.quantised ? cjk_whole(cj_gemv_quantised_bytes(columns)) : 0;
}

/* What the device allows.  Bulk copies are of PTX 8.0, which drivers of CUDA 12.0 compile; captured launches are
 * programmatic from CUDA 12.3 on. */
static void bulk_begin_device(cjk_gemv *g, cj_device *dev)
{
    const int driver = cj_driver_version(cj_device_driver(dev));
    cj_device_info info;
    cj_device_info_defaults(&info);
    if (cj_device_get_info(dev, &info) != CJ_OK) return;
    g->multiprocessors = (uint32_t)info.multiprocessors;
    g->shared = (uint32_t)info.multiprocessor_shared;
    g->block_shared = (uint32_t)info.block_shared_most;
    g->bulk = info.sm_major >= 9 && driver >= 12000;
    g->code.early = g->bulk && driver >= 12030;
}

static bool has_kernel(const cjk_gemv *g, unsigned i)
{
    if (i == CJK_GEMV_QUANTISE) return cjk_gemv_has_blocks(g) && !g->o.quantised;
    return i == CJK_GEMV_ROWS || g->bulk;
}

/* Writes kernel `i` into `m`; returns its name. */
static const char *write_kernel(cj_ptx *m, const cjk_gemv *g, unsigned i)
{
    static const char *const names[] = { "cj_gemv", "cj_gemv_quantise", "cj_gemv_bulk", "cj_gemv_bulk_pairs" };
    if (i == CJK_GEMV_ROWS) cjk_gemv_write_rows(m, names[i], g);
    else if (i == CJK_GEMV_QUANTISE) write_quantise(m, names[i], g);
    else cjk_gemv_write_bulk(m, names[i], g, i == CJK_GEMV_BULK ? 1 : CJK_BULK_ROWS);
    return names[i];
}

/* The kernels, each in a module of its own, and all of them in the one that is printed.  False: the failure is left in
 * `x`, which has failed. */
static bool make_kernels(void *x, cjk_gemv *g, const char *call)
{
    cjk_module_part part[CJK_GEMV_KERNELS];
    unsigned which[CJK_GEMV_KERNELS], n = 0;
    cj_kernel_cache *cache = cjk_cache_begin(x, &g->code, g->o.cache, call);
    for (unsigned i = 0; i < CJK_GEMV_KERNELS; i++) {
        if (!has_kernel(g, i)) continue;
        part[n] = (cjk_module_part){ .m = cjk_module_for(g->code.dev, NULL) };
        part[n].name = write_kernel(part[n].m, g, i);
        write_kernel(g->code.m, g, i);
        cj_object_fail_from(x, part[n].m, call);
        which[n++] = i;
    }
    if (cj_object_fail_from(x, g->code.m, call) == CJ_OK && cj_error_of(x)->status == CJ_OK && cache)
        cjk_load_parts(cache, part, n, NULL, NULL);
    for (unsigned i = 0; i < n; i++) {
        g->code.k[which[i]] = part[i].kernel;
        if (part[i].kernel && cj_error_of(x)->status == CJ_OK) cj_object_fail_from(x, part[i].kernel, call);
        cj_ptx_free(part[i].m);
    }
    if (cj_error_of(x)->status == CJ_OK) return true;
    cjk_failed(x);
    return false;
}

cj_gemv *cj_gemv_create(cj_device *dev, const cj_gemv_opts *opts)
{
    static const char call[] = "cj_gemv_create";
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
    else if (g->o.quantised && !cjk_gemv_has_blocks(g))
        cjk_fail(x, CJ_ENOTSUP, call, "a matrix of %s is not multiplied by a quantised vector",
                 cjk_gemv_formats[g->o.format].name);
    if (cj_error_of(x)->status != CJ_OK) return cjk_failed(x), x;
    if (!cjk_begin(x, &g->code, dev, NULL, call)) return x;
    if (cjk_gemv_has_blocks(g) && !cj_ptx_allows(g->code.m, "sm_61")) {
        cjk_fail(x, CJ_ENOTSUP, call, "a matrix of %s needs sm_61 (dp4a), the device has %s",
                 cjk_gemv_formats[g->o.format].name, cj_device_sm(dev));
        return cjk_failed(x), x;
    }
    bulk_begin_device(g, dev);
    if (make_kernels(x, g, call))
        cjk_end(x, &g->code, NULL, 0, g->o.cache, g->o.in_flight, gemv_need(g, g->o.columns), call);
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
    uint64_t units = columns / CJK_UNIT;
    const uint32_t grid[3] = { (uint32_t)((units - 1) / CJK_GEMV_WARPS + 1), 1, 1 };
    const cj_arg args[] = { cj_arg_ptr(x), cj_arg_ptr(out), cj_arg_u(units) };
    return cjk_launch(s, &g->code, CJK_GEMV_QUANTISE, grid, CJK_THREADS, args, 3);
}

static cj_status enqueue_bulk(cj_stream *s, const cjk_gemv *g, const cj_gemv_args *a, uint64_t row_bytes,
                              uint64_t packed, const cjk_bulk_shape *shape)
{
    const cj_dims dims =
        cjk_early_dims(&g->code, cj_dims_shared(cj_grid(shape->blocks, CJK_THREADS), shape->shared));
    const cj_arg args[] = { cj_arg_ptr(a->matrix), cj_arg_u(row_bytes), cj_arg_ptr(a->x), cj_arg_ptr(a->out),
                            cj_arg_u(a->rows), cj_arg_u(a->columns), cj_arg_u(packed), cj_arg_u(shape->segments),
                            cj_arg_u(shape->rounds), cj_arg_u(shape->rest), cj_arg_u(shape->stages) };
    return cj_launch_n(s, g->code.k[shape->rows == 1 ? CJK_GEMV_BULK : CJK_GEMV_BULK_PAIRS], &dims, args, 11);
}

/* Whether the columns are a number that a product can have. */
static bool columns_fit(cj_stream *s, const cjk_gemv *g, uint64_t columns, uint32_t of, const char *call)
{
    if (columns % of == 0 && columns / CJK_UNIT / CJK_GEMV_WARPS < INT32_MAX) return true;
    cjk_fail(s, CJ_EINVAL, call, "%llu columns; %s wants a multiple of %u", (unsigned long long)columns,
             cjk_gemv_formats[g->o.format].name, of);
    return false;
}

cj_status cj_gemv_quantise(cj_stream *s, cj_gemv *object, cj_dptr x, uint64_t columns, cj_dptr out)
{
    static const char call[] = "cj_gemv_quantise";
    cjk_gemv *g = cj_object_data(object, &gemv_type, s, call);
    if (!g) return cj_error_last()->status;
    if (!g->code.k[CJK_GEMV_QUANTISE])
        return cjk_fail(s, CJ_ENOTSUP, call, "the product was made for %s; make another one",
                        cjk_gemv_has_blocks(g) ? "vectors that are quantised" : "elements");
    if (!columns_fit(s, g, columns, CJK_UNIT, call) || !gemv_fits(s, x, cjk_size(g->x), "x", call) ||
        !gemv_fits(s, out, 8, "out", call)) return CJ_EINVAL;
    return columns ? enqueue_quantise(s, g, x, columns, out) : CJ_OK;
}

cj_status cj_gemv_launch(cj_stream *s, cj_gemv *object, const cj_gemv_args *a)
{
    static const char call[] = "cj_gemv_launch";
    cjk_gemv *g = cj_object_data(object, &gemv_type, s, call);
    cjk_space space;
    if (!g) return cj_error_last()->status;
    if (!a) return cjk_fail(s, CJ_EINVAL, call, "the arguments are NULL");
    const cjk_gemv_format *b = &cjk_gemv_formats[g->o.format];
    if (!a->rows) return CJ_OK;
    if ((a->rows - 1) / CJK_GEMV_WARPS >= INT32_MAX)
        return cjk_fail(s, CJ_EINVAL, call, "%llu rows are more than a grid has blocks", (unsigned long long)a->rows);
    if (!columns_fit(s, g, a->columns, b->columns, call)) return CJ_EINVAL;
    uint64_t packed = a->columns / b->columns * b->bytes, row_bytes = a->row_bytes ? a->row_bytes : packed;
    if (row_bytes > INT64_MAX / (a->rows + 1))
        return cjk_fail(s, CJ_EINVAL, call, "%llu rows of %llu bytes are beyond any memory",
                        (unsigned long long)a->rows, (unsigned long long)row_bytes);
    if (row_bytes < packed || row_bytes % b->align)
        return cjk_fail(s, CJ_EINVAL, call,
                        "rows of %llu bytes; %llu columns of %s have %llu, and want a multiple of %u",
                        (unsigned long long)row_bytes, (unsigned long long)a->columns, b->name,
                        (unsigned long long)packed, b->align);
    if (!gemv_fits(s, a->matrix, b->align, "matrix", call) || !gemv_fits(s, a->out, cjk_size(g->out), "out", call) ||
        !gemv_fits(s, a->x, g->o.quantised ? 8 : cjk_size(g->x), "x", call)) return CJ_EINVAL;
    cjk_bulk_shape shape;
    if (cjk_gemv_bulk_fits(g, a, row_bytes, packed, &shape)) return enqueue_bulk(s, g, a, row_bytes, packed, &shape);
    if (!cjk_space_begin(s, &g->code, gemv_need(g, a->columns), &a->workspace, &space, call))
        return cj_error_last()->status;
    cj_dptr x = space.at.addr ? space.at : a->x;
    cj_status st = space.at.addr ? enqueue_quantise(s, g, a->x, a->columns, x) : CJ_OK;
    const uint32_t grid[3] = { (uint32_t)((a->rows - 1) / CJK_GEMV_WARPS + 1), 1, 1 };
    const cj_arg args[] = { cj_arg_ptr(a->matrix), cj_arg_u(row_bytes), cj_arg_ptr(x), cj_arg_ptr(a->out),
                            cj_arg_u(a->rows), cj_arg_u(a->columns) };
    if (st == CJ_OK) st = cjk_launch(s, &g->code, CJK_GEMV_ROWS, grid, CJK_THREADS, args, 6);
    return cjk_space_end(s, &g->code, &space, st);
}

cj_status cj_gemv_ptx(cj_gemv *g, unsigned flags, const char **text, size_t *bytes)
{
    return cjk_print(g, &gemv_type, flags, text, bytes, "cj_gemv_ptx");
}

void cj_gemv_free(cj_gemv *g) { cj_object_free(g, &gemv_type, "cj_gemv_free"); }
