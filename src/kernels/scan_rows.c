/* Scans of rows: the object, short rows, and the choice of kernels.
 *
 * Rows of up to 2048 columns are scanned by a block each.  Longer ones are cut into tiles, of a size that depends on
 * the types only.  A row of one tile needs one kernel.  Several tiles need three kernels, which wait for no other
 * block: the first joins each tile, the second scans the sums, the third scans each tile behind what comes before it.
 * On devices of sm_90 and later a row whose columns lie side by side needs one kernel (scan_stream.c), if it is the
 * only row or has 16 MiB or more. */
#include <string.h>

#include "kernels/scan_core.h"

typedef struct cjk_scan {
    cjk_code code;
    cj_scan_opts o;
    cj_type type, out, wide;
    cjk_scan_shape shape;      /* its join is written with a function of the module that a kernel is in */
    uint32_t blocks, shared;   /* of a grid that scans a row, and bytes of a block; no blocks: there is none */
} cjk_scan;

static const cj_object_type scan_type = {
    sizeof scan_type, "cj_scan", sizeof(cjk_scan), cjk_release
};

enum { SCAN_TOTALS, SCAN_OFFSETS, SCAN_TILES, SCAN_SHORT, SCAN_STREAM, SCAN_EPOCH, SCAN_KERNELS };
enum { SCAN_SHORT_COLUMNS = 2048, SCAN_MOST_BLOCKS = 512, SCAN_LONG_BYTES = 16 << 20 };

/* -- Shapes -------------------------------------------------------------------------------------------------------- */

static uint64_t scan_tiles(const cjk_scan *x, uint64_t columns)
{
    return columns ? (columns - 1) / x->shape.columns + 1 : 1;
}

/* Of the totals of all tiles, and of as many offsets; or of the state of one kernel. */
static size_t scan_need(const cjk_scan *x, uint64_t rows, uint64_t columns)
{
    uint64_t tiles = scan_tiles(x, columns);
    if (tiles == 1 || rows > INT32_MAX / tiles) return 0;
    size_t sums = cjk_whole(rows * tiles * cjk_size(x->wide)) * 2;
    size_t state = rows == 1 && x->blocks ? cjk_whole(cjk_scan_stream_state(&x->shape, tiles)) : 0;
    return sums > state ? sums : state;
}

/* -- Short rows ---------------------------------------------------------------------------------------------------- */

static void block_scan_of(cj_fn *f, const cjk_join *j, cj_val v, cj_val *inclusive, cj_val *exclusive, cj_val *total)
{
    const cj_thread_group all = { .threads = CJK_THREADS };
    if (j->fn) cj_block_scan_fn(f, j->fn, v, cjk_identity(f, j), &all, inclusive, exclusive, total);
    else cj_block_scan(f, j->op, v, &all, inclusive, exclusive, total);
}

/* Scans columns first to end - 1 behind the value `carry`, a register, 256 at a time. */
static void scan_span(cj_fn *f, const cjk_join *j, const cjk_operand *x, cj_val from, const cjk_operand *out, cj_val to,
                      cj_val first, cj_val end, cj_val carry, bool exclusive)
{
    cj_comment(f, "A column of each thread at a time: scan them behind the carry, which then joins them");
    cj_val base = cj_for(f, first, end, CJK_THREADS), scanned, total;
        cj_val i = cj_add(f, base, cjk_thread(f)), inside = cj_lt(f, i, end);
        cj_val v = cj_let(f, j->type, cjk_identity(f, j));
        cj_if(f, inside);
            cj_assign(f, v, cjk_load(f, x->type, cjk_column(f, x, from, i), j->type));
        cj_end(f);
        block_scan_of(f, j, v, exclusive ? NULL : &scanned, exclusive ? &scanned : NULL, &total);
        cj_val result = cjk_combine(f, j, carry, scanned);
        cj_if(f, inside);
            cjk_store(f, out->type, cjk_column(f, out, to, i), result);
        cj_end(f);
        cj_val next = cjk_combine(f, j, carry, total);
        cj_assign(f, carry, next);
        cj_name(f, base, "turn");
        cj_name(f, i, "column");
        cj_name(f, total, "total");
        cj_name(f, result, "result");
    cj_end(f);
}

/* Block r scans row r. */
static void write_short(cj_ptx *m, const char *name, const cjk_scan_shape *s)
{
    cj_fn *f = cj_ptx_kernel(m, name);
    cj_fn_max_threads(f, CJK_THREADS, 1, 1);
    cjk_operand x = cjk_operand_of(f, "x", s->type), out = cjk_operand_of(f, "out", s->out);
    cj_val end = cj_param(f, "columns", CJ_U64);
    cj_comment(f, "The row of the block");
    cj_val row = cjk_block(f, CJ_X);
    cj_val carry = cj_let(f, s->join.type, cjk_identity(f, &s->join));
    cj_name(f, end, "columns");
    cj_name(f, row, "row");
    cj_name(f, carry, "carry");
    scan_span(f, &s->join, &x, cjk_row(f, &x, row), &out, cjk_row(f, &out, row), cj_let(f, CJ_U64, 0), end, carry,
              s->exclusive);
    cj_return(f);
}

/* -- Calls --------------------------------------------------------------------------------------------------------- */

void cj_scan_defaults(cj_scan_opts *opts)
{
    if (opts) *opts = (cj_scan_opts){ .size = sizeof *opts };
}

static cj_status scan_check(void *x, cjk_scan *r, const char *call)
{
    r->type = (cj_type)r->o.type;
    r->out = r->o.out_type ? (cj_type)r->o.out_type : r->type;
    r->wide = r->o.wide ? (cj_type)r->o.wide : cjk_wide(r->type);
    return cjk_check_join(x, &(cjk_join_opts){ r->type, r->out, r->wide, r->o.op, r->o.module, r->o.function }, call);
}

/* Whether the device can scan a row by one kernel, and with how many blocks.  False: the failure is left in `x`. */
static bool scan_device(void *x, cjk_scan *r, cj_device *dev, const char *call)
{
    cj_device_info d = { .size = sizeof d };
    if (cj_device_get_info(dev, &d) != CJ_OK) return cj_object_fail_from(x, dev, call), false;
    uint32_t blocks = (uint32_t)d.multiprocessors, most = (uint32_t)d.block_shared_most;
    if (blocks > SCAN_MOST_BLOCKS) blocks = SCAN_MOST_BLOCKS;
    r->shared = cjk_scan_stream_shared(&r->shape, blocks);
    if (d.sm_major >= 9 && d.cooperative && cjk_scan_streams(&r->shape) && r->shared <= most) r->blocks = blocks;
    return true;
}

static const char *const scan_names[SCAN_KERNELS] = { "cj_scan_totals", "cj_scan_offsets", "cj_scan_tiles",
                                                      "cj_scan_short", "cj_scan_stream", "cj_scan_epoch" };

static void scan_write(cj_ptx *m, const cjk_scan *r, unsigned i)
{
    cjk_scan_shape s = r->shape;
    const char *name = scan_names[i];
    s.join = (cjk_join){ (cj_combine_op)r->o.op, NULL, r->wide, cjk_bounds(r->type, r->wide, r->out), r->o.identity };
    if (r->o.function) s.join.fn = cj_ptx_find(m, r->o.function);
    switch (i) {
    case SCAN_TOTALS: cjk_write_scan_totals(m, name, &s); break;
    case SCAN_OFFSETS: cjk_write_scan_offsets(m, name, &s); break;
    case SCAN_TILES: cjk_write_scan_tiles(m, name, &s); break;
    case SCAN_SHORT: write_short(m, name, &s); break;
    case SCAN_STREAM: cjk_write_scan_stream(m, name, &s, r->blocks); break;
    default: cjk_write_scan_epoch(m, name); break;
    }
}

/* The kernels, each in a module of its own, and all of them in the one that is printed.  A failure is left in `x`. */
static void scan_make(void *x, cjk_scan *r, const char *call)
{
    cjk_module_part part[SCAN_KERNELS];
    cj_ptx *user = cj_ptx_clone(r->code.m);
    cj_kernel_cache *cache = cjk_cache_begin(x, &r->code, r->o.cache, call);
    unsigned count = r->blocks ? SCAN_KERNELS : SCAN_STREAM;
    for (unsigned i = 0; i < count; i++) {
        part[i] = (cjk_module_part){ .m = cj_ptx_clone(user), .name = scan_names[i] };
        scan_write(part[i].m, r, i);
        scan_write(r->code.m, r, i);
    }
    cjk_join_fits(x, &r->code, r->o.function, r->wide, call);
    cj_status st = cj_error_of(x)->status;
    if (st == CJ_OK) st = cj_object_fail_from(x, r->code.m, call);
    for (unsigned i = 0; i < count && st == CJ_OK; i++) st = cj_object_fail_from(x, part[i].m, call);
    if (st == CJ_OK && cache) cjk_load_parts(cache, part, count, NULL, NULL);
    for (unsigned i = 0; i < count; i++) {
        r->code.k[i] = part[i].kernel;
        if (part[i].kernel) cj_object_fail_from(x, part[i].kernel, call);
        cj_ptx_free(part[i].m);
    }
    cj_ptx_free(user);
}

cj_scan *cj_scan_create(cj_device *dev, const cj_scan_opts *opts)
{
    static const char call[] = "cj_scan_create";
    void *x = cj_object_create(&scan_type, call);
    cjk_scan *r = cj_object_data(x, &scan_type, NULL, call);
    if (!r) return x;
    if (!cjk_options(x, call, &r->o, sizeof r->o, opts) || scan_check(x, r, call) != CJ_OK) return cjk_failed(x), x;
    if (!cjk_begin(x, &r->code, dev, r->o.module, call)) return x;
    r->shape = cjk_scan_shape_of(r->type, r->out, r->wide, r->o.exclusive);
    if (!scan_device(x, r, dev, call)) return cjk_failed(x), x;
    cj_fn *function; /* each of the modules finds it again */
    if (!cjk_function(x, &r->code, r->o.function, &function, call)) return x;
    scan_make(x, r, call);
    if (cj_error_of(x)->status != CJ_OK) return cjk_failed(x), x;
    cjk_end(x, &r->code, NULL, 0, r->o.cache, r->o.in_flight,
            scan_need(r, r->o.rows ? r->o.rows : 1, r->o.columns), call);
    r->o.module = NULL, r->o.function = NULL, r->o.cache = NULL;
    return x;
}

size_t cj_scan_workspace(const cj_scan *x, uint64_t rows, uint64_t columns)
{
    const cjk_scan *own = cj_object_data(x, &scan_type, NULL, "cj_scan_workspace");
    return own ? scan_need(own, rows ? rows : 1, columns) : 0;
}

/* Whether each row is scanned by one kernel: rows that are the only one, or so long that a kernel for each of them is
 * quicker than three for all. */
static bool scan_streams(const cjk_scan *r, const cjk_matrix *x, const cjk_matrix *out, uint64_t rows,
                         uint64_t columns)
{
    uint64_t least = rows == 1 ? r->shape.columns + 1 : SCAN_LONG_BYTES / cjk_size(r->type);
    return r->blocks && columns >= least && cjk_fits_vectors(x, rows, cjk_size(r->type)) &&
           cjk_fits_vectors(out, rows, cjk_size(r->out));
}

/* The state of a row begins as 0, or with a new number.  In a graph each row has its own. */
static cj_status launch_streams(cj_stream *s, cjk_scan *r, const cj_scan_args *a, const cjk_matrix *x,
                                const cjk_matrix *out, uint64_t rows, uint64_t tiles, const char *call)
{
    cjk_space state;
    cj_status st = CJ_OK;
    bool in_graph = cj_stream_is_capturing(s);
    size_t each = cjk_whole(cjk_scan_stream_state(&r->shape, tiles));
    uint32_t blocks = tiles < r->blocks ? (uint32_t)tiles : r->blocks;
    cj_dims dims = cj_dims_shared(cj_grid(blocks, CJK_SCAN_THREADS), r->shared);
    dims.cooperative = 1;
    if (in_graph ? !cjk_zeros_begin(s, &r->code, rows * each, &state, call)
                 : !cjk_space_begin(s, &r->code, scan_need(r, rows, a->columns), &a->workspace, &state, call))
        return cj_error_last()->status;
    for (uint64_t row = 0; row < rows && st == CJ_OK; row++) {
        int64_t x_row = (int64_t)row * x->stride, out_row = (int64_t)row * out->stride;
        cj_dptr own = cj_offset(state.at, in_graph ? (int64_t)(row * each) : 0);
        const cj_arg epoch_args[] = { cj_arg_ptr(own), cj_arg_u(blocks) };
        st = in_graph ? cjk_launch(s, &r->code, SCAN_EPOCH, (const uint32_t[]){ 1, 1, 1 }, 1, epoch_args, 2)
                      : cj_fill32(s, own, 0, each / 4);
        const cj_arg args[] = { cj_arg_ptr(cj_offset(x->data, x_row * (int64_t)cjk_size(r->type))),
                                cj_arg_ptr(cj_offset(out->data, out_row * (int64_t)cjk_size(r->out))),
                                cj_arg_u(a->columns), cj_arg_u(a->columns / r->shape.columns), cj_arg_u(tiles),
                                cj_arg_ptr(own) };
        if (st == CJ_OK) st = cj_launch_n(s, r->code.k[SCAN_STREAM], &dims, args, 6);
    }
    return cjk_space_end(s, &r->code, &state, st);
}

static cj_status launch_tiles(cj_stream *s, cjk_scan *r, const cj_scan_args *a, const cjk_matrix *x,
                              const cjk_matrix *out, uint64_t rows, uint64_t tiles, const char *call)
{
    cjk_space space;
    if (!cjk_space_begin(s, &r->code, scan_need(r, rows, a->columns), &a->workspace, &space, call))
        return cj_error_last()->status;
    cj_dptr offsets = cj_offset(space.at, (int64_t)(tiles > 1 ? cjk_whole(rows * tiles * cjk_size(r->wide)) : 0));
    const uint32_t all[3] = { (uint32_t)(rows * tiles), 1, 1 }, each_row[3] = { (uint32_t)rows, 1, 1 };
    uint32_t fits = cjk_fits_vectors(x, rows, cjk_size(r->type));
    uint32_t out_fits = cjk_fits_vectors(out, rows, cjk_size(r->out));
    const cj_arg total_args[] = { cj_arg_ptr(x->data), cj_arg_i(x->stride), cj_arg_i(x->step), cj_arg_u(a->columns),
                                  cj_arg_u(tiles), cj_arg_ptr(space.at), cj_arg_u(fits) };
    const cj_arg offset_args[] = { cj_arg_ptr(space.at), cj_arg_ptr(offsets), cj_arg_u(tiles) };
    const cj_arg tile_args[] = { cj_arg_ptr(x->data), cj_arg_i(x->stride), cj_arg_i(x->step), cj_arg_u(a->columns),
                                 cj_arg_u(tiles), cj_arg_ptr(out->data), cj_arg_i(out->stride), cj_arg_i(out->step),
                                 cj_arg_ptr(offsets), cj_arg_u(fits), cj_arg_u(out_fits) };
    cj_status st = CJ_OK;
    if (tiles > 1) st = cjk_launch(s, &r->code, SCAN_TOTALS, all, CJK_SCAN_THREADS, total_args, 7);
    if (tiles > 1 && st == CJ_OK)
        st = cjk_launch(s, &r->code, SCAN_OFFSETS, each_row, CJK_SCAN_THREADS, offset_args, 3);
    if (st == CJ_OK) st = cjk_launch(s, &r->code, SCAN_TILES, all, CJK_SCAN_THREADS, tile_args, 11);
    return cjk_space_end(s, &r->code, &space, st);
}

cj_status cj_scan_launch(cj_stream *s, cj_scan *object, const cj_scan_args *a)
{
    static const char call[] = "cj_scan_launch";
    cjk_scan *r = cj_object_data(object, &scan_type, s, call);
    cjk_matrix x, out;
    if (!r) return cj_error_last()->status;
    if (!a) return cjk_fail(s, CJ_EINVAL, call, "the arguments are NULL");
    uint64_t rows = a->rows ? a->rows : 1, tiles = scan_tiles(r, a->columns);
    if (!a->columns) return CJ_OK;
    if (tiles > INT32_MAX || rows > INT32_MAX / tiles)
        return cjk_fail(s, CJ_EINVAL, call, "%llu rows of %llu columns are more tiles than a grid has blocks",
                        (unsigned long long)rows, (unsigned long long)a->columns);
    if (!cjk_matrix_of(s, &a->x, rows, a->columns, cjk_size(r->type), "x", &x, call) ||
        !cjk_results_of(s, &a->out, rows, a->columns, cjk_size(r->out), &out, call)) return CJ_EINVAL;
    if (a->columns <= SCAN_SHORT_COLUMNS) {
        const cj_arg args[] = { cj_arg_ptr(x.data), cj_arg_i(x.stride), cj_arg_i(x.step), cj_arg_ptr(out.data),
                                cj_arg_i(out.stride), cj_arg_i(out.step), cj_arg_u(a->columns) };
        return cjk_launch(s, &r->code, SCAN_SHORT, (const uint32_t[]){ (uint32_t)rows, 1, 1 }, CJK_THREADS, args, 7);
    }
    return scan_streams(r, &x, &out, rows, a->columns) ? launch_streams(s, r, a, &x, &out, rows, tiles, call)
                                                       : launch_tiles(s, r, a, &x, &out, rows, tiles, call);
}

cj_status cj_scan_ptx(cj_scan *x, unsigned flags, const char **text, size_t *bytes)
{
    return cjk_print(x, &scan_type, flags, text, bytes, "cj_scan_ptx");
}

void cj_scan_free(cj_scan *x) { cj_object_free(x, &scan_type, "cj_scan_free"); }
