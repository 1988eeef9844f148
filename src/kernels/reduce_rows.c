/* Reductions of rows.  A row is cut into pieces that depend on its length only.  A block joins a piece, one more block
 * the pieces' results in their order.
 *
 * In a piece, operations of the builder are joined class by class (vectors.h): first the columns of a class in their
 * order, then the classes of a thread by halves, then the threads.  The plain kernel hands the classes over in shared
 * memory, so both kernels join in the same order. */
#include <string.h>

#include "kernels/vectors.h"

typedef struct cjk_reduce {
    cjk_code code;
    cj_reduce_opts o;
    cj_type type, out, wide;
} cjk_reduce;

static const cj_object_type reduce_type = {
    sizeof reduce_type, "cj_reduce", sizeof(cjk_reduce), cjk_release
};

/* With .atomic, the kernels of one piece join atomically, and there are no others. */
enum { REDUCE_PIECES, REDUCE_PIECES_VECTORS, REDUCE_END, REDUCE_ONE, REDUCE_ONE_VECTORS, REDUCE_KERNELS };
enum { REDUCE_MOST = 4096 };

/* -- Shapes -------------------------------------------------------------------------------------------------------- */

static uint64_t piece_of(cj_type type, uint64_t columns) { return cjk_piece_of(type, columns, REDUCE_MOST); }

static uint64_t pieces_of(cj_type type, uint64_t columns) { return cjk_pieces_of(columns, piece_of(type, columns)); }

static size_t reduce_need(const cjk_reduce *r, uint64_t rows, uint64_t columns)
{
    uint64_t pieces = pieces_of(r->type, columns);
    if (r->o.atomic || pieces == 1 || rows > INT32_MAX) return 0;
    return cjk_whole(rows * pieces * cjk_size(r->wide));
}

/* -- Code ---------------------------------------------------------------------------------------------------------- */

/* What joins the columns of a thread: a value for each of its classes. */
typedef struct reduce_classes { const cjk_join *j; cj_val acc[CJK_WIDEST]; } reduce_classes;

static void reduce_take(cj_fn *f, void *of, unsigned i, cj_val v, cj_val base, unsigned offset)
{
    reduce_classes *c = of;
    (void)base, (void)offset;
    cj_assign(f, c->acc[i], cjk_combine(f, c->j, c->acc[i], v));
}

/* Gives thread t, which has the classes t, t + CJK_THREADS, ..., those that lie side by side. */
static void exchange_classes(cj_fn *f, reduce_classes *c, unsigned n)
{
    cj_comment(f, "The classes that lie side by side, from the threads that joined them");
    cj_val shared = cj_shared(f, "classes", c->j->type, CJK_THREADS * n), t = cj_thread_id(f, CJ_X);
    for (unsigned k = 0; k < n; k++) cj_set(f, shared, cj_add(f, t, k * CJK_THREADS), c->acc[k]);
    cj_block_sync(f);
    cj_val first = cj_mul(f, t, n);
    for (unsigned i = 0; i < n; i++) c->acc[i] = cj_get(f, shared, cj_add(f, first, i));
}

/* Joins x[first ... end - 1] of a row by an operation of the builder. */
static cj_val total_by_classes(cj_fn *f, const cjk_join *j, const cjk_walk *walk, bool vectors)
{
    unsigned n = cjk_vector_of(walk->x->type);
    reduce_classes c = { .j = j };
    cjk_walk w = *walk;
    cj_val total;
    w.take = reduce_take, w.of = &c;
    cj_comment(f, "Join the columns of each class in their order");
    for (unsigned i = 0; i < n; i++) c.acc[i] = cj_let(f, j->type, cjk_identity(f, j));
    cj_name(f, cj_vec_n(f, c.acc, n), "class");
    if (vectors) {
        cjk_walk_vectors(f, &w);
    } else {
        cjk_walk_columns(f, &w);
        exchange_classes(f, &c, n);
    }
    cj_comment(f, "Join the classes of the thread, then the threads");
    for (unsigned k = n / 2; k; k /= 2)
        for (unsigned i = 0; i < k; i++) c.acc[i] = cjk_combine(f, j, c.acc[i], c.acc[i + k]);
    cjk_block_total(f, j, c.acc[0], &total);
    return total;
}

/* The same in the order of the columns: each thread joins a vector's, the block joins the threads', then the next turn
 * follows. */
static cj_val total_in_order(cj_fn *f, const cjk_join *j, const cjk_walk *w, bool vectors)
{
    cj_type type = w->x->type;
    unsigned n = cjk_vector_of(type);
    cj_comment(f, "Join the columns in their order, a turn of all threads at a time");
    cj_val total = cj_let(f, j->type, cjk_identity(f, j)), part, each[CJK_WIDEST];
    cj_val base = cj_for(f, w->first, w->end, CJK_THREADS * n);
        cj_val i = cj_mad(f, cjk_thread(f), n, base), v = cj_let(f, j->type, cjk_identity(f, j));
        if (vectors) {
            cjk_raw raw;
            cj_if(f, cj_le(f, cj_add(f, i, n), w->end));
                cj_val at = cj_mad(f, i, cjk_size(type), cj_addr(f, w->begin));
                cjk_raw_load(f, type, cj_as_ptr(f, at, type, CJ_SPACE_GLOBAL), 0, n, CJK_READ_CONSTANT, &raw);
                cjk_raw_values(f, type, &raw, n, j->type, each);
                for (unsigned k = 0; k < n; k++) cj_assign(f, v, cjk_combine(f, j, v, each[k]));
            cj_else(f);
        }
        cj_val column = cj_for(f, i, cj_min(f, cj_add(f, i, n), w->end), 1);
            cj_val one = cjk_load(f, type, cjk_column(f, w->x, w->begin, column), j->type);
            cj_assign(f, v, cjk_combine(f, j, v, one));
        cj_end(f);
        if (vectors) cj_end(f);
        cjk_block_total(f, j, v, &part);
        cj_val joined = cjk_combine(f, j, total, part);
        cj_assign(f, total, joined);
    cj_end(f);
    return total;
}

static void join_atomically(cj_fn *f, const cjk_join *j, cj_val at, cj_val v)
{
    switch (j->op) {
    case CJ_COMBINE_MIN: cj_atomic_min(f, at, v); break;
    case CJ_COMBINE_MAX: cj_atomic_max(f, at, v); break;
    case CJ_COMBINE_AND: cj_atomic_and(f, at, v); break;
    case CJ_COMBINE_OR: cj_atomic_or(f, at, v); break;
    case CJ_COMBINE_XOR: cj_atomic_xor(f, at, v); break;
    default: cj_atomic_add(f, at, v); break;
    }
}

/* Block (r, p) joins piece p of row r, and writes value p of row r of `out`. */
static void write_reduce(cj_ptx *m, const char *name, const cjk_join *j, cj_type in, cj_type out, bool atomic,
                         bool vectors)
{
    cj_fn *f = cj_ptx_kernel(m, name);
    cj_fn_max_threads(f, CJK_THREADS, 1, 1);
    cjk_operand x = cjk_operand_of(f, "x", in);
    cj_val columns = cj_param(f, "columns", CJ_U64), piece = cj_param(f, "piece", CJ_U64);
    cj_val to = cj_param_ptr(f, "out", out), pieces = cj_param(f, "pieces", CJ_U64);
    cj_comment(f, "The row and the piece of it that the block has");
    cj_val row = cjk_block(f, CJ_X), part = cjk_block(f, CJ_Y);
    cjk_walk w = { .x = &x, .begin = cjk_row(f, &x, row), .first = cj_mul(f, part, piece), .as = j->type };
    w.end = cj_min(f, cj_add(f, w.first, piece), columns);
    cj_name(f, columns, "columns");
    cj_name(f, row, "row");
    cj_name(f, part, "part");
    cj_name(f, w.begin, "x_row");
    cj_name(f, w.first, "first");
    cj_name(f, w.end, "end");
    cj_val total = j->fn ? total_in_order(f, j, &w, vectors) : total_by_classes(f, j, &w, vectors);
    cj_name(f, total, "total");
    cj_comment(f, atomic ? "Thread 0 joins the total with what out has" : "Thread 0 stores the total");
    cj_if(f, cj_eq(f, cj_thread_id(f, CJ_X), 0));
        if (atomic) join_atomically(f, j, cj_at(f, to, row), total);
        else cjk_store(f, out, cj_at(f, to, cj_mad(f, row, pieces, part)), total);
    cj_end(f);
    cj_return(f);
}

/* -- Calls --------------------------------------------------------------------------------------------------------- */

void cj_reduce_defaults(cj_reduce_opts *opts)
{
    if (opts) *opts = (cj_reduce_opts){ .size = sizeof *opts };
}

static bool has_atomic(cj_type wide, cj_combine_op op)
{
    if (op == CJ_COMBINE_MUL) return false;
    if (wide == CJ_F32 || wide == CJ_F64) return op == CJ_COMBINE_ADD;
    return true;
}

static cj_status reduce_check(void *x, cjk_reduce *r, const char *call)
{
    r->type = (cj_type)r->o.type;
    r->out = r->o.out_type ? (cj_type)r->o.out_type : r->type;
    r->wide = r->o.wide ? (cj_type)r->o.wide : cjk_wide(r->type);
    cj_status st =
        cjk_check_join(x, &(cjk_join_opts){ r->type, r->out, r->wide, r->o.op, r->o.module, r->o.function }, call);
    if (st != CJ_OK) return st;
    if (!r->o.atomic) return CJ_OK;
    if (r->o.function) return cjk_fail(x, CJ_ENOTSUP, call, "a function is not joined by atomic operations");
    if (r->out != r->wide) return cjk_fail(x, CJ_EINVAL, call, "atomic wants out_type to be wide, %s; it is %s",
                                           cjk_type_name(r->wide), cjk_type_name(r->out));
    if (!has_atomic(r->wide, (cj_combine_op)r->o.op))
        return cjk_fail(x, CJ_ENOTSUP, call, "there is no atomic operation for %s of %s",
                        cj_enum_name("cj_combine_op", r->o.op), cjk_type_name(r->wide));
    return CJ_OK;
}

cj_reduce *cj_reduce_create(cj_device *dev, const cj_reduce_opts *opts)
{
    static const char call[] = "cj_reduce_create";
    static const char *const names[REDUCE_KERNELS] = { "cj_reduce_pieces", "cj_reduce_pieces_vectors", "cj_reduce_end",
                                                       "cj_reduce_one", "cj_reduce_one_vectors" };
    static const char *const atomic_names[REDUCE_KERNELS] = {
        [REDUCE_ONE] = "cj_reduce_atomic", [REDUCE_ONE_VECTORS] = "cj_reduce_atomic_vectors"
    };
    void *x = cj_object_create(&reduce_type, call);
    cjk_reduce *r = cj_object_data(x, &reduce_type, NULL, call);
    if (!r) return x;
    if (!cjk_options(x, call, &r->o, sizeof r->o, opts) || reduce_check(x, r, call) != CJ_OK) return cjk_failed(x), x;
    if (!cjk_begin(x, &r->code, dev, r->o.module, call)) return x;
    cj_ptx *m = r->code.m;
    cjk_join j = { (cj_combine_op)r->o.op, NULL, r->wide, cjk_bounds(r->type, r->wide, r->out), r->o.identity };
    if (!cjk_function(x, &r->code, r->o.function, &j.fn, call)) return x;
    for (unsigned v = 0; v < 2; v++) {
        if (!r->o.atomic) write_reduce(m, names[REDUCE_PIECES + v], &j, r->type, r->wide, false, v);
        write_reduce(m, (r->o.atomic ? atomic_names : names)[REDUCE_ONE + v], &j, r->type, r->out, r->o.atomic, v);
    }
    if (!r->o.atomic) write_reduce(m, names[REDUCE_END], &j, r->wide, r->out, false, false);
    cj_kernel_cache *cache = r->o.cache;
    if (!cjk_join_fits(x, &r->code, r->o.function, r->wide, call)) return x;
    cjk_end(x, &r->code, r->o.atomic ? atomic_names : names, REDUCE_KERNELS, cache, r->o.in_flight,
            reduce_need(r, r->o.rows ? r->o.rows : 1, r->o.columns), call);
    r->o.module = NULL, r->o.function = NULL, r->o.cache = NULL;
    return x;
}

size_t cj_reduce_workspace(const cj_reduce *r, uint64_t rows, uint64_t columns)
{
    const cjk_reduce *own = cj_object_data(r, &reduce_type, NULL, "cj_reduce_workspace");
    return own ? reduce_need(own, rows ? rows : 1, columns) : 0;
}

static cj_status reduce_enqueue(cj_stream *s, const cjk_reduce *r, unsigned kernel, const cjk_matrix *x, uint64_t rows,
                                uint64_t columns, uint64_t piece, cj_dptr out)
{
    uint64_t pieces = columns ? (columns - 1) / piece + 1 : 1;
    const uint32_t grid[3] = { (uint32_t)rows, (uint32_t)pieces, 1 };
    const cj_arg args[] = { cj_arg_ptr(x->data), cj_arg_i(x->stride), cj_arg_i(x->step), cj_arg_u(columns),
                            cj_arg_u(piece), cj_arg_ptr(out), cj_arg_u(pieces) };
    return cjk_launch(s, &r->code, kernel, grid, CJK_THREADS, args, sizeof args / sizeof *args);
}

cj_status cj_reduce_launch(cj_stream *s, cj_reduce *object, const cj_reduce_args *a)
{
    static const char call[] = "cj_reduce_launch";
    cjk_reduce *r = cj_object_data(object, &reduce_type, s, call);
    cjk_matrix x;
    cjk_space space;
    if (!r) return cj_error_last()->status;
    if (!a) return cjk_fail(s, CJ_EINVAL, call, "the arguments are NULL");
    uint64_t rows = a->rows ? a->rows : 1, pieces = pieces_of(r->type, a->columns);
    uint64_t piece = piece_of(r->type, a->columns);
    if (rows > INT32_MAX) return cjk_fail(s, CJ_EINVAL, call, "%llu rows are more than a grid has blocks",
                                          (unsigned long long)rows);
    if (!cjk_matrix_of(s, &a->x, rows, a->columns, cjk_size(r->type), "x", &x, call)) return CJ_EINVAL;
    if (!cjk_elements_at(s, a->out, cjk_size(r->out), "out", call)) return CJ_EINVAL;
    unsigned vectors = cjk_fits_vectors(&x, rows, cjk_size(r->type));
    if (r->o.atomic || pieces == 1)
        return reduce_enqueue(s, r, REDUCE_ONE + vectors, &x, rows, a->columns, piece, a->out);
    if (!cjk_space_begin(s, &r->code, reduce_need(r, rows, a->columns), &a->workspace, &space, call))
        return cj_error_last()->status;
    const cjk_matrix parts = { space.at, (int64_t)pieces, 1 };
    cj_status st = reduce_enqueue(s, r, REDUCE_PIECES + vectors, &x, rows, a->columns, piece, space.at);
    if (st == CJ_OK) st = reduce_enqueue(s, r, REDUCE_END, &parts, rows, pieces, pieces, a->out);
    return cjk_space_end(s, &r->code, &space, st);
}

cj_status cj_reduce_ptx(cj_reduce *r, unsigned flags, const char **text, size_t *bytes)
{
    return cjk_print(r, &reduce_type, flags, text, bytes, "cj_reduce_ptx");
}

void cj_reduce_free(cj_reduce *r) { cj_object_free(r, &reduce_type, "cj_reduce_free"); }
