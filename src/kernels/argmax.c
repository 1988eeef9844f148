/* Where the greatest element of a row is.  An element becomes a key, an unsigned number of 64 bits in the order of the
 * elements.  Pairs of key and column are joined: the greater key, of equal keys the lesser column. */
#include <string.h>

#include "kernels/vectors.h"

typedef struct cjk_argmax {
    cjk_code code;
    cj_argmax_opts o;
    cj_type type, index;
} cjk_argmax;

static const cj_object_type argmax_type = {
    sizeof argmax_type, "cj_argmax", sizeof(cjk_argmax), cjk_release
};

enum { ARGMAX_PIECES, ARGMAX_PIECES_VECTORS, ARGMAX_END, ARGMAX_ONE, ARGMAX_ONE_VECTORS, ARGMAX_KERNELS };
enum { ARGMAX_MOST = 1024 };

static uint64_t argmax_piece(cj_type type, uint64_t columns) { return cjk_piece_of(type, columns, ARGMAX_MOST); }

static size_t argmax_need(cj_type type, uint64_t rows, uint64_t columns)
{
    uint64_t pieces = cjk_pieces_of(columns, argmax_piece(type, columns));
    return pieces == 1 || rows > INT32_MAX ? 0 : cjk_whole(rows * pieces * 16);
}

/* -- Code ---------------------------------------------------------------------------------------------------------- */

/* The key of `v`.  The bits of floating point are in the order of the numbers when those of negative ones are inverted
 * and the sign of the others is set.  A NaN has the greatest key of all. */
static cj_val key_of(cj_fn *f, cj_val v, bool least)
{
    cj_type type = cj_type_of(v);
    bool floating = type == CJ_F32 || type == CJ_F64, wide = type == CJ_F64;
    cj_val key;
    if (floating) {
        cj_type bits = wide ? CJ_U64 : CJ_U32, whole = wide ? CJ_S64 : CJ_S32;
        cj_val zero = cj_add(f, v, 0.0f), b = cj_bits(f, bits, zero); /* -0 becomes 0 */
        cj_val sign = cj_bits(f, bits, cj_shr(f, cj_bits(f, whole, zero), wide ? 63 : 31));
        cj_val top = cj_imm_bits(f, bits, wide ? (uint64_t)1 << 63 : (uint64_t)1 << 31);
        key = cj_cvt(f, CJ_U64, cj_xor(f, b, cj_or(f, sign, top)));
    } else if (type == CJ_S32 || type == CJ_S64) {
        cj_val as = cj_bits(f, CJ_U64, cj_cvt(f, CJ_S64, v));
        key = cj_xor(f, as, cj_imm_bits(f, CJ_U64, (uint64_t)1 << 63));
    } else {
        key = cj_cvt(f, CJ_U64, v);
    }
    if (least) key = cj_inv(f, key);
    if (floating) key = cj_select(f, cj_ne(f, v, v), cj_imm_bits(f, CJ_U64, UINT64_MAX), key);
    return key;
}

/* The least column of those with the greatest key, of all threads. */
static cj_val first_greatest(cj_fn *f, cj_val key, cj_val column, cj_val *best_key)
{
    const cj_thread_group all = { .threads = CJK_THREADS };
    cj_val first;
    cj_comment(f, "The greatest key of all threads, then the least column that has it");
    cj_block_reduce(f, CJ_COMBINE_MAX, key, &all, best_key);
    cj_val mine = cj_select(f, cj_eq(f, key, *best_key), column, cj_imm_bits(f, CJ_U64, UINT64_MAX));
    cj_block_reduce(f, CJ_COMBINE_MIN, mine, &all, &first);
    cj_name(f, *best_key, "best_key");
    cj_name(f, first, "found");
    return first;
}

/* The better of the thread's pair and another one. */
static void take_pair(cj_fn *f, cj_val key, cj_val column, cj_val other_key, cj_val other_column)
{
    cj_val earlier = cj_lt(f, other_column, column), same = cj_and(f, cj_eq(f, other_key, key), earlier);
    cj_val better = cj_or(f, cj_gt(f, other_key, key), same);
    cj_assign(f, key, cj_select(f, better, other_key, key));
    cj_assign(f, column, cj_select(f, better, other_column, column));
}

/* What a thread has found. */
typedef struct argmax_found { cj_val key, column; bool least; } argmax_found;

static void argmax_take(cj_fn *f, void *of, unsigned i, cj_val v, cj_val base, unsigned offset)
{
    argmax_found *a = of;
    (void)i;
    take_pair(f, a->key, a->column, key_of(f, v, a->least), cj_add(f, base, offset));
}

/* Block (r, p) searches piece p of row r: the pair goes to pairs[r][p], or with `one` its column to out[r]. */
static void write_argmax(cj_ptx *m, const char *name, const cjk_argmax *a, bool one, bool vectors)
{
    cj_fn *f = cj_ptx_kernel(m, name);
    cj_fn_max_threads(f, CJK_THREADS, 1, 1);
    cjk_operand x = cjk_operand_of(f, "x", a->type);
    cj_val columns = cj_param(f, "columns", CJ_U64), piece = cj_param(f, "piece", CJ_U64);
    cj_val out = cj_param_ptr(f, "out", one ? a->index : CJ_U64), pieces = cj_param(f, "pieces", CJ_U64);
    cj_comment(f, "The row and the piece of it that the block has");
    cj_val row = cjk_block(f, CJ_X), part = cjk_block(f, CJ_Y);
    cj_val key = cj_let(f, CJ_U64, 0), column = cj_let(f, CJ_U64, cj_imm_bits(f, CJ_U64, UINT64_MAX)), best;
    argmax_found mine = { .key = key, .column = column, .least = a->o.least };
    cjk_walk w = { .x = &x, .begin = cjk_row(f, &x, row), .first = cj_mul(f, part, piece), .as = cjk_wide(a->type),
                   .take = argmax_take, .of = &mine };
    w.end = cj_min(f, cj_add(f, w.first, piece), columns);
    cj_name(f, columns, "columns");
    cj_name(f, row, "row");
    cj_name(f, part, "part");
    cj_name(f, w.begin, "x_row");
    cj_name(f, w.first, "first");
    cj_name(f, w.end, "end");
    cj_name(f, key, "key");
    cj_name(f, column, "column");
    cj_comment(f, "The greatest element of the thread's columns: its key, and its column");
    if (vectors) cjk_walk_vectors(f, &w);
    else cjk_walk_columns(f, &w);
    cj_val found = first_greatest(f, key, column, &best);
    cj_comment(f, one ? "Thread 0 stores the column" : "Thread 0 stores the key and the column");
    cj_if(f, cj_eq(f, cj_thread_id(f, CJ_X), 0));
        if (one) {
            cjk_store(f, a->index, cj_at(f, out, row), found);
        } else {
            cj_val at = cj_mul(f, cj_mad(f, row, pieces, part), 2);
            cj_set(f, out, at, best);
            cj_set(f, out, cj_add(f, at, 1), found);
        }
    cj_end(f);
    cj_return(f);
}

/* Block r joins the pairs of row r. */
static void write_argmax_end(cj_ptx *m, const char *name, const cjk_argmax *a)
{
    cj_fn *f = cj_ptx_kernel(m, name);
    cj_fn_max_threads(f, CJK_THREADS, 1, 1);
    cj_val pairs = cj_param_ptr(f, "pairs", CJ_U64), pieces = cj_param(f, "pieces", CJ_U64);
    cj_val out = cj_param_ptr(f, "out", a->index), row = cjk_block(f, CJ_X), begin = cj_mul(f, row, pieces);
    cj_val key = cj_let(f, CJ_U64, 0), column = cj_let(f, CJ_U64, cj_imm_bits(f, CJ_U64, UINT64_MAX)), best;
    cj_name(f, row, "row");
    cj_name(f, key, "key");
    cj_name(f, column, "column");
    cj_comment(f, "The best pair of those that the thread has");
    cj_val i = cj_for(f, cjk_thread(f), pieces, CJK_THREADS);
        cj_val at = cj_mul(f, cj_add(f, begin, i), 2), other_key = cj_get(f, pairs, at);
        cj_val other_column = cj_get(f, pairs, cj_add(f, at, 1));
        take_pair(f, key, column, other_key, other_column);
    cj_end(f);
    cj_val found = first_greatest(f, key, column, &best);
    cj_comment(f, "Thread 0 stores the column");
    cj_if(f, cj_eq(f, cj_thread_id(f, CJ_X), 0));
        cjk_store(f, a->index, cj_at(f, out, row), found);
    cj_end(f);
    cj_return(f);
}

/* -- Calls --------------------------------------------------------------------------------------------------------- */

void cj_argmax_defaults(cj_argmax_opts *opts)
{
    if (opts) *opts = (cj_argmax_opts){ .size = sizeof *opts };
}

cj_argmax *cj_argmax_create(cj_device *dev, const cj_argmax_opts *opts)
{
    static const char call[] = "cj_argmax_create";
    static const char *const names[ARGMAX_KERNELS] = { "cj_argmax_pieces", "cj_argmax_pieces_vectors", "cj_argmax_end",
                                                       "cj_argmax_one", "cj_argmax_one_vectors" };
    void *x = cj_object_create(&argmax_type, call);
    cjk_argmax *a = cj_object_data(x, &argmax_type, NULL, call);
    if (!a) return x;
    if (!cjk_options(x, call, &a->o, sizeof a->o, opts)) return cjk_failed(x), x;
    a->type = (cj_type)a->o.type;
    a->index = a->o.index_type ? (cj_type)a->o.index_type : CJ_S64;
    if (!cjk_size(a->type)) cjk_fail_type(x, call, "type", a->o.type, CJK_ELEMENTS);
    else if (a->index != CJ_U32 && a->index != CJ_S32 && a->index != CJ_U64 && a->index != CJ_S64)
        cjk_fail_type(x, call, "index_type", a->o.index_type, "an integer of 32 or 64 bits");
    if (cj_error_of(x)->status != CJ_OK) return cjk_failed(x), x;
    if (!cjk_begin(x, &a->code, dev, NULL, call)) return x;
    cj_ptx *m = a->code.m;
    for (unsigned v = 0; v < 2; v++) {
        write_argmax(m, names[ARGMAX_PIECES + v], a, false, v);
        write_argmax(m, names[ARGMAX_ONE + v], a, true, v);
    }
    write_argmax_end(m, names[ARGMAX_END], a);
    cjk_end(x, &a->code, names, ARGMAX_KERNELS, a->o.cache, a->o.in_flight,
            argmax_need(a->type, a->o.rows ? a->o.rows : 1, a->o.columns), call);
    a->o.cache = NULL;
    return x;
}

size_t cj_argmax_workspace(const cj_argmax *x, uint64_t rows, uint64_t columns)
{
    const cjk_argmax *own = cj_object_data(x, &argmax_type, NULL, "cj_argmax_workspace");
    return own ? argmax_need(own->type, rows ? rows : 1, columns) : 0;
}

cj_status cj_argmax_launch(cj_stream *s, cj_argmax *object, const cj_argmax_args *args)
{
    static const char call[] = "cj_argmax_launch";
    cjk_argmax *a = cj_object_data(object, &argmax_type, s, call);
    cjk_matrix x;
    cjk_space space;
    if (!a) return cj_error_last()->status;
    if (!args) return cjk_fail(s, CJ_EINVAL, call, "the arguments are NULL");
    if (!args->columns) return cjk_fail(s, CJ_EINVAL, call, "rows of 0 columns have no greatest element");
    uint64_t rows = args->rows ? args->rows : 1, piece = argmax_piece(a->type, args->columns),
             pieces = cjk_pieces_of(args->columns, piece);
    if (rows > INT32_MAX)
        return cjk_fail(s, CJ_EINVAL, call, "%llu rows are more than a grid has blocks", (unsigned long long)rows);
    uint64_t most = a->index == CJ_U32 ? UINT32_MAX : a->index == CJ_S32 ? INT32_MAX : INT64_MAX;
    if (args->columns - 1 > most)
        return cjk_fail(s, CJ_EINVAL, call, "%llu columns are more than index_type %s counts; make the object with "
                        ".index_type = CJ_S64", (unsigned long long)args->columns, cjk_type_name(a->index));
    if (!cjk_matrix_of(s, &args->x, rows, args->columns, cjk_size(a->type), "x", &x, call)) return CJ_EINVAL;
    if (!cjk_elements_at(s, args->out, cjk_size(a->index), "out", call)) return CJ_EINVAL;
    if (!cjk_space_begin(s, &a->code, argmax_need(a->type, rows, args->columns), &args->workspace, &space, call))
        return cj_error_last()->status;
    const uint32_t all[3] = { (uint32_t)rows, (uint32_t)pieces, 1 }, each_row[3] = { (uint32_t)rows, 1, 1 };
    const cj_arg first[] = { cj_arg_ptr(x.data), cj_arg_i(x.stride), cj_arg_i(x.step), cj_arg_u(args->columns),
                             cj_arg_u(piece), cj_arg_ptr(pieces == 1 ? args->out : space.at), cj_arg_u(pieces) };
    const cj_arg second[] = { cj_arg_ptr(space.at), cj_arg_u(pieces), cj_arg_ptr(args->out) };
    unsigned vectors = cjk_fits_vectors(&x, rows, cjk_size(a->type));
    unsigned kernel = (pieces == 1 ? ARGMAX_ONE : ARGMAX_PIECES) + vectors;
    cj_status st = cjk_launch(s, &a->code, kernel, all, CJK_THREADS, first, 7);
    if (st == CJ_OK && pieces > 1) st = cjk_launch(s, &a->code, ARGMAX_END, each_row, CJK_THREADS, second, 3);
    return cjk_space_end(s, &a->code, &space, st);
}

cj_status cj_argmax_ptx(cj_argmax *x, unsigned flags, const char **text, size_t *bytes)
{
    return cjk_print(x, &argmax_type, flags, text, bytes, "cj_argmax_ptx");
}

void cj_argmax_free(cj_argmax *x) { cj_object_free(x, &argmax_type, "cj_argmax_free"); }
