/* Scans of rows.  A row is cut into pieces that depend on its length only.  The first kernel joins each piece, the
 * second scans the pieces' results, the third scans each piece behind what comes before it.  No block waits for another
 * one: launches that share a workspace and have the same arguments, as executable graphs of one capture do, may run at
 * once. */
#include <string.h>

#include "kernels/kernels_core.h"

typedef struct cjk_scan {
    cjk_code code;
    cj_scan_opts o;
    cj_type type, out, wide;
} cjk_scan;

static const cj_object_type scan_type = {
    sizeof scan_type, "cj_scan", sizeof(cjk_scan), cjk_release
};

enum { SCAN_TOTALS, SCAN_OFFSETS, SCAN_PIECES, SCAN_ONE, SCAN_KERNELS };
enum { SCAN_PIECE = 2048, SCAN_MOST = 4096 };

/* -- Shapes -------------------------------------------------------------------------------------------------------- */

static uint64_t scan_piece(uint64_t columns)
{
    uint64_t piece = columns / SCAN_MOST + 1;
    piece = (piece + CJK_THREADS - 1) / CJK_THREADS * CJK_THREADS;
    return piece < SCAN_PIECE ? SCAN_PIECE : piece;
}

static uint64_t scan_pieces(uint64_t columns) { return columns ? (columns - 1) / scan_piece(columns) + 1 : 1; }

static size_t scan_need(const cjk_scan *x, uint64_t rows, uint64_t columns)
{
    uint64_t pieces = scan_pieces(columns);
    return pieces == 1 || rows > INT32_MAX ? 0 : cjk_whole(rows * pieces * cjk_size(x->wide));
}

/* -- Code ---------------------------------------------------------------------------------------------------------- */

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
    cj_end(f);
}

/* Block (r, p) writes the value that joins piece p of row r to totals[r][p]. */
static void write_totals(cj_ptx *m, const char *name, const cjk_join *j, cj_type in)
{
    cj_fn *f = cj_ptx_kernel(m, name);
    cj_fn_max_threads(f, CJK_THREADS, 1, 1);
    cjk_operand x = cjk_operand_of(f, "x", in);
    cj_val columns = cj_param(f, "columns", CJ_U64), piece = cj_param(f, "piece", CJ_U64);
    cj_val totals = cj_param_ptr(f, "totals", j->type), pieces = cj_param(f, "pieces", CJ_U64);
    cj_val row = cjk_block(f, CJ_X), part = cjk_block(f, CJ_Y), begin = cjk_row(f, &x, row);
    cj_val first = cj_mul(f, part, piece), end = cj_min(f, cj_add(f, first, piece), columns);
    cj_val total = cj_let(f, j->type, cjk_identity(f, j)), joined;
    cj_val base = cj_for(f, first, end, CJK_THREADS);
        cj_val i = cj_add(f, base, cjk_thread(f)), v = cj_let(f, j->type, cjk_identity(f, j));
        cj_if(f, cj_lt(f, i, end));
            cj_assign(f, v, cjk_load(f, in, cjk_column(f, &x, begin, i), j->type));
        cj_end(f);
        cjk_block_total(f, j, v, &joined);
        cj_val more = cjk_combine(f, j, total, joined);
        cj_assign(f, total, more);
    cj_end(f);
    cj_if(f, cj_eq(f, cj_thread_id(f, CJ_X), 0));
        cj_set(f, totals, cj_mad(f, row, pieces, part), total);
    cj_end(f);
    cj_return(f);
}

/* Block r replaces the totals of row r by what comes before each of them. */
static void write_offsets(cj_ptx *m, const char *name, const cjk_join *j)
{
    cj_fn *f = cj_ptx_kernel(m, name);
    cj_fn_max_threads(f, CJK_THREADS, 1, 1);
    cj_val totals = cj_param_ptr(f, "totals", j->type), offsets = cj_param_ptr(f, "offsets", j->type);
    cj_val pieces = cj_param(f, "pieces", CJ_U64), begin = cj_mul(f, cjk_block(f, CJ_X), pieces);
    cjk_operand x = { .base = totals, .stride = cj_let(f, CJ_S64, 0), .step = cj_let(f, CJ_S64, 1), .type = j->type };
    cjk_operand out = { .base = offsets, .stride = x.stride, .step = x.step, .type = j->type };
    cj_val carry = cj_let(f, j->type, cjk_identity(f, j));
    scan_span(f, j, &x, cj_at(f, totals, begin), &out, cj_at(f, offsets, begin), cj_let(f, CJ_U64, 0), pieces, carry,
              true);
    cj_return(f);
}

/* Block (r, p) scans piece p of row r; `with_offsets`: behind offsets[r][p]. */
static void write_scan(cj_ptx *m, const char *name, const cjk_join *j, cj_type in, cj_type to, bool exclusive,
                       bool with_offsets)
{
    cj_fn *f = cj_ptx_kernel(m, name);
    cj_fn_max_threads(f, CJK_THREADS, 1, 1);
    cjk_operand x = cjk_operand_of(f, "x", in), out = cjk_operand_of(f, "out", to);
    cj_val columns = cj_param(f, "columns", CJ_U64), piece = cj_param(f, "piece", CJ_U64);
    cj_val offsets = cj_param_ptr(f, "offsets", j->type), pieces = cj_param(f, "pieces", CJ_U64);
    cj_val row = cjk_block(f, CJ_X), part = cjk_block(f, CJ_Y);
    cj_val first = cj_mul(f, part, piece), end = cj_min(f, cj_add(f, first, piece), columns);
    cj_val carry = cj_let(f, j->type, cjk_identity(f, j));
    if (with_offsets) cj_assign(f, carry, cj_get(f, offsets, cj_mad(f, row, pieces, part)));
    scan_span(f, j, &x, cjk_row(f, &x, row), &out, cjk_row(f, &out, row), first, end, carry, exclusive);
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

cj_scan *cj_scan_create(cj_device *dev, const cj_scan_opts *opts)
{
    static const char call[] = "cj_scan_create";
    static const char *const names[SCAN_KERNELS] = { "cj_scan_totals", "cj_scan_offsets", "cj_scan_pieces",
                                                     "cj_scan_one" };
    void *x = cj_object_create(&scan_type, call);
    cjk_scan *r = cj_object_data(x, &scan_type, NULL, call);
    if (!r) return x;
    if (!cjk_options(x, call, &r->o, sizeof r->o, opts) || scan_check(x, r, call) != CJ_OK) return cjk_failed(x), x;
    if (!cjk_begin(x, &r->code, dev, r->o.module, call)) return x;
    cj_ptx *m = r->code.m;
    cjk_join j = { .op = (cj_combine_op)r->o.op, .type = r->wide, .identity = r->o.identity };
    if (r->o.function) j.fn = cj_ptx_find(m, r->o.function);
    if (j.fn && cj_object_fail_from(x, j.fn, call) != CJ_OK) return cjk_failed(x), x;
    write_totals(m, names[SCAN_TOTALS], &j, r->type);
    write_offsets(m, names[SCAN_OFFSETS], &j);
    write_scan(m, names[SCAN_PIECES], &j, r->type, r->out, r->o.exclusive, true);
    write_scan(m, names[SCAN_ONE], &j, r->type, r->out, r->o.exclusive, false);
    cj_kernel_cache *cache = r->o.cache;
    cjk_end(x, &r->code, names, SCAN_KERNELS, cache, r->o.in_flight,
            scan_need(r, r->o.rows ? r->o.rows : 1, r->o.columns) * 2, call);
    r->o.module = NULL, r->o.function = NULL, r->o.cache = NULL;
    return x;
}

size_t cj_scan_workspace(const cj_scan *x, uint64_t rows, uint64_t columns)
{
    const cjk_scan *own = cj_object_data(x, &scan_type, NULL, "cj_scan_workspace");
    return own ? scan_need(own, rows ? rows : 1, columns) * 2 : 0;
}

cj_status cj_scan_launch(cj_stream *s, cj_scan *object, const cj_scan_args *a)
{
    static const char call[] = "cj_scan_launch";
    cjk_scan *r = cj_object_data(object, &scan_type, s, call);
    cjk_matrix x, out;
    cj_dptr space;
    if (!r) return cj_error_last()->status;
    if (!a) return cjk_fail(s, CJ_EINVAL, call, "the arguments are NULL");
    uint64_t rows = a->rows ? a->rows : 1, pieces = scan_pieces(a->columns), piece = scan_piece(a->columns);
    if (!a->columns) return CJ_OK;
    if (rows > INT32_MAX)
        return cjk_fail(s, CJ_EINVAL, call, "%llu rows are more than a grid has blocks", (unsigned long long)rows);
    if (!cjk_matrix_of(s, &a->x, rows, a->columns, cjk_size(r->type), "x", &x, call) ||
        !cjk_matrix_of(s, &a->out, rows, a->columns, cjk_size(r->out), "out", &out, call)) return CJ_EINVAL;
    size_t half = scan_need(r, rows, a->columns);
    if (!cjk_space_begin(s, &r->code, half * 2, &a->workspace, &space, call)) return cj_error_last()->status;
    cj_dptr totals = space, offsets = cj_offset(space, (int64_t)half);
    const uint32_t all[3] = { (uint32_t)rows, (uint32_t)pieces, 1 }, each_row[3] = { (uint32_t)rows, 1, 1 };
    const cj_arg scan_args[] = { cj_arg_ptr(x.data), cj_arg_i(x.stride), cj_arg_i(x.step), cj_arg_ptr(out.data),
                                 cj_arg_i(out.stride), cj_arg_i(out.step), cj_arg_u(a->columns), cj_arg_u(piece),
                                 cj_arg_ptr(offsets), cj_arg_u(pieces) };
    if (pieces == 1) return cjk_launch(s, &r->code, SCAN_ONE, each_row, CJK_THREADS, scan_args, 10);
    const cj_arg total_args[] = { cj_arg_ptr(x.data), cj_arg_i(x.stride), cj_arg_i(x.step), cj_arg_u(a->columns),
                                  cj_arg_u(piece), cj_arg_ptr(totals), cj_arg_u(pieces) };
    const cj_arg offset_args[] = { cj_arg_ptr(totals), cj_arg_ptr(offsets), cj_arg_u(pieces) };
    cj_status st = cjk_launch(s, &r->code, SCAN_TOTALS, all, CJK_THREADS, total_args, 7);
    if (st == CJ_OK) st = cjk_launch(s, &r->code, SCAN_OFFSETS, each_row, CJK_THREADS, offset_args, 3);
    if (st == CJ_OK) st = cjk_launch(s, &r->code, SCAN_PIECES, all, CJK_THREADS, scan_args, 10);
    return st;
}

cj_status cj_scan_ptx(cj_scan *x, unsigned flags, const char **text, size_t *bytes)
{
    return cjk_print(x, &scan_type, flags, text, bytes, "cj_scan_ptx");
}

void cj_scan_free(cj_scan *x) { cj_object_free(x, &scan_type, "cj_scan_free"); }
