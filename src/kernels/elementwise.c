/* Functions of elements: activations, and expressions that a user has written as a function. */
#include <stdio.h>

#include "kernels/vectors.h"

typedef struct cjk_elementwise {
    cjk_code code;
    cj_elementwise_opts o;
    cj_type out;
    unsigned vector, turns;    /* columns of a thread in a turn of the kernel of vectors, turns that it loads at once */
} cjk_elementwise;

static const cj_object_type elementwise_type = {
    sizeof elementwise_type, "cj_elementwise", sizeof(cjk_elementwise), cjk_release
};

enum { ELEMENTS_PLAIN, ELEMENTS_VECTORS, ELEMENTS_KERNELS };
enum { COLUMNS_AT_ONCE = 4, COLUMN_PIECE = COLUMNS_AT_ONCE * CJK_THREADS, COLUMN_PIECES = 65535 };

/* -- Code ---------------------------------------------------------------------------------------------------------- */

static cj_val activate(cj_fn *f, cj_activation a, cj_val x)
{
    switch (a) {
    case CJ_ACTIVATION_RELU: return cj_select(f, cj_lt(f, x, 0.0f), 0.0f, x);
    case CJ_ACTIVATION_SIGMOID: return cj_math_sigmoid(f, x);
    case CJ_ACTIVATION_TANH: return cj_math_tanh(f, x);
    case CJ_ACTIVATION_SILU: return cj_math_silu(f, x);
    case CJ_ACTIVATION_GELU: return cj_math_gelu(f, x);
    case CJ_ACTIVATION_GELU_TANH: return cj_math_gelu_tanh(f, x);
    case CJ_ACTIVATION_SOFTPLUS: return cj_math_softplus(f, x);
    default: return x;
    }
}

/* The result of one column. */
static cj_val element_result(cj_fn *f, const cjk_elementwise *e, cj_fn *function, const cj_val *in,
                             const cj_val *numbers)
{
    cj_val args[2 * CJ_ELEMENTWISE_MAX];
    if (!function) {
        cj_val v = activate(f, (cj_activation)e->o.activation, in[0]);
        return e->o.inputs == 2 ? cj_mul(f, v, in[1]) : v;
    }
    size_t n = 0;
    for (uint32_t i = 0; i < e->o.inputs; i++) args[n++] = in[i];
    for (uint32_t i = 0; i < e->o.numbers; i++) args[n++] = numbers[i];
    return cj_call_n(f, function, args, n);
}

/* -- Kernels ------------------------------------------------------------------------------------------------------- */

/* What a kernel has. */
typedef struct element_code {
    cj_fn *f, *function;
    const cjk_elementwise *e;
    cjk_operand x[CJ_ELEMENTWISE_MAX], out;
    cj_val begin[CJ_ELEMENTWISE_MAX], to, numbers[CJ_ELEMENTWISE_MAX];
} element_code;

static void element_store(const element_code *c, cj_val column)
{
    cj_fn *f = c->f;
    cj_val in[CJ_ELEMENTWISE_MAX];
    for (uint32_t i = 0; i < c->e->o.inputs; i++)
        in[i] = cjk_load(f, c->x[i].type, cjk_column(f, &c->x[i], c->begin[i], column), cjk_wide(c->x[i].type));
    cj_val v = element_result(f, c->e, c->function, in, c->numbers);
    cjk_store(f, c->out.type, cjk_column(f, &c->out, c->to, column), v);
}

/* The address of a column that lies beside the one before it. */
static cj_val element_place(cj_fn *f, const cjk_operand *x, cj_val begin, cj_val column)
{
    return cj_as_ptr(f, cj_mad(f, column, cjk_size(x->type), cj_addr(f, begin)), x->type, CJ_SPACE_GLOBAL);
}

/* `turns` vectors of columns, the first from `column` on: all loads, then all results. */
static void element_vectors(const element_code *c, cj_val column, unsigned turns)
{
    cj_fn *f = c->f;
    unsigned n = c->e->vector, inputs = c->e->o.inputs;
    cjk_raw raw[CJK_IN_FLIGHT][CJ_ELEMENTWISE_MAX];
    cj_val at, v[CJ_ELEMENTWISE_MAX][CJK_WIDEST], in[CJ_ELEMENTWISE_MAX], result[CJK_WIDEST];
    cj_comment(f, "Load vectors of all inputs");
    for (unsigned i = 0; i < inputs; i++) {
        cj_type type = c->x[i].type;
        at = element_place(f, &c->x[i], c->begin[i], column);
        for (unsigned k = 0; k < turns; k++)
            cjk_raw_load(f, type, at, (int64_t)(k * CJK_THREADS * n * cjk_size(type)), n, CJK_READ_ONCE, &raw[k][i]);
    }
    cj_comment(f, "The results of their columns");
    at = element_place(f, &c->out, c->to, column);
    for (unsigned k = 0; k < turns; k++) {
        for (unsigned i = 0; i < inputs; i++)
            cjk_raw_values(f, c->x[i].type, &raw[k][i], n, cjk_wide(c->x[i].type), v[i]);
        for (unsigned e = 0; e < n; e++) {
            for (unsigned i = 0; i < inputs; i++) in[i] = v[i][e];
            result[e] = element_result(f, c->e, c->function, in, c->numbers);
        }
        cjk_vector_store(f, c->out.type, at, (int64_t)(k * CJK_THREADS * n * cjk_size(c->out.type)), n, result);
    }
}

static void vectors_of_elements(const element_code *c, cj_val first, cj_val end)
{
    cj_fn *f = c->f;
    unsigned n = c->e->vector, turn = CJK_THREADS * n, turns = c->e->turns;
    cj_val column = cj_let(f, CJ_U64, cj_mad(f, cjk_thread(f), n, first));
    cj_name(f, column, "column");
    if (turns > 1) {
        cj_comment(f, "Several vectors at a time");
        cj_loop(f);
            cj_break_if(f, cj_gt(f, cj_add(f, column, (turns - 1) * turn + n), end));
            element_vectors(c, column, turns);
            cj_assign(f, column, cj_add(f, column, turns * turn));
        cj_end(f);
    }
    cj_comment(f, "One vector at a time");
    cj_loop(f);
        cj_break_if(f, cj_gt(f, cj_add(f, column, n), end));
        element_vectors(c, column, 1);
        cj_assign(f, column, cj_add(f, column, turn));
    cj_end(f);
    cj_comment(f, "Part of a vector, which one thread has, if any");
    cj_val one = cj_for(f, column, end, 1);
        element_store(c, one);
    cj_end(f);
}

/* Block (r, p) has piece p of row r. */
static void write_elementwise(cj_ptx *m, const char *kernel, const cjk_elementwise *e, cj_fn *function, bool vectors)
{
    element_code c = { .f = cj_ptx_kernel(m, kernel), .function = function, .e = e };
    cj_fn *f = c.f;
    char name[16];
    cj_fn_max_threads(f, CJK_THREADS, 1, 1);
    for (uint32_t i = 0; i < e->o.inputs; i++) {
        snprintf(name, sizeof name, "in%u", i);
        c.x[i] = cjk_operand_of(f, name, (cj_type)e->o.types[i]);
    }
    c.out = cjk_operand_of(f, "out", e->out);
    cj_val columns = cj_param(f, "columns", CJ_U64), piece = cj_param(f, "piece", CJ_U64);
    for (uint32_t i = 0; i < e->o.numbers; i++) {
        snprintf(name, sizeof name, "number%u", i);
        c.numbers[i] = cj_param(f, name, CJ_F32);
    }
    cj_comment(f, "The row and the piece of it that the block has");
    cj_val row = cjk_block(f, CJ_X), first = cj_mul(f, cjk_block(f, CJ_Y), piece);
    cj_val end = cj_min(f, cj_add(f, first, piece), columns);
    for (uint32_t i = 0; i < e->o.inputs; i++) c.begin[i] = cjk_row(f, &c.x[i], row);
    c.to = cjk_row(f, &c.out, row);
    cj_name(f, columns, "columns");
    cj_name(f, row, "row");
    cj_name(f, first, "first");
    cj_name(f, end, "end");
    for (uint32_t i = 0; i < e->o.inputs; i++) {
        snprintf(name, sizeof name, "in%u_row", i);
        cj_name(f, c.begin[i], name);
    }
    cj_name(f, c.to, "out_row");
    if (vectors) {
        vectors_of_elements(&c, first, end);
    } else {
        cj_comment(f, "One column at a time");
        cj_val column = cj_for(f, cj_add(f, first, cjk_thread(f)), end, CJK_THREADS);
        cj_name(f, column, "column");
            element_store(&c, column);
        cj_end(f);
    }
    cj_return(f);
}

/* A vector has 16 bytes of the smallest type, less where the others would need too many registers; 4 bytes at least.
 * Long functions are not written out often: warps in flight hide the loads. */
static void choose_vector(cjk_elementwise *e)
{
    size_t least = cjk_size(e->out), sum = 0;
    for (uint32_t i = 0; i < e->o.inputs; i++) {
        size_t bytes = cjk_size((cj_type)e->o.types[i]);
        sum += bytes;
        if (bytes < least) least = bytes;
    }
    e->vector = (unsigned)(CJK_VECTOR_BYTES / least);
    while (e->vector > 4 && e->vector * sum > 8 * CJK_VECTOR_BYTES) e->vector /= 2;
    bool moves = !e->o.function && e->o.activation <= CJ_ACTIVATION_RELU;
    size_t turns = moves && sum ? CJK_IN_FLIGHT * CJK_VECTOR_BYTES / (e->vector * sum) : 8 / e->vector;
    e->turns = turns < 1 ? 1 : turns > CJK_IN_FLIGHT ? CJK_IN_FLIGHT : (unsigned)turns;
}

/* -- Calls --------------------------------------------------------------------------------------------------------- */

void cj_elementwise_defaults(cj_elementwise_opts *opts)
{
    if (opts) *opts = (cj_elementwise_opts){ .size = sizeof *opts };
}

static cj_status elementwise_check(void *x, cjk_elementwise *e, const char *call)
{
    const cj_elementwise_opts *o = &e->o;
    char name[16];
    if (o->inputs > CJ_ELEMENTWISE_MAX || o->numbers > CJ_ELEMENTWISE_MAX)
        return cjk_fail(x, CJ_EINVAL, call, "%u inputs and %u numbers; wants at most %d of each", o->inputs, o->numbers,
                        CJ_ELEMENTWISE_MAX);
    e->out = o->out_type ? (cj_type)o->out_type : o->inputs ? (cj_type)o->types[0] : CJ_VOID;
    for (uint32_t i = 0; i < o->inputs; i++)
        if (!cjk_size((cj_type)o->types[i])) {
            snprintf(name, sizeof name, "types[%u]", i);
            return cjk_fail_type(x, call, name, o->types[i], CJK_ELEMENTS);
        }
    if (!o->function != !o->module)
        return cjk_fail(x, CJ_EINVAL, call, "%s is NULL", o->module ? "function" : "module");
    if (o->function && !cjk_size(e->out)) return cjk_fail_type(x, call, "out_type", e->out, CJK_ELEMENTS);
    if (o->function) return CJ_OK;
    if (o->activation < CJ_ACTIVATION_NONE || o->activation > CJ_ACTIVATION_SOFTPLUS)
        return cjk_fail(x, CJ_EINVAL, call, "activation %d does not exist", o->activation);
    if (o->inputs < 1 || o->inputs > 2 || o->numbers)
        return cjk_fail(x, CJ_EINVAL, call, "%u inputs and %u numbers; an activation has one or two inputs", o->inputs,
                        o->numbers);
    for (uint32_t i = 0; i < o->inputs; i++)
        if (cjk_wide((cj_type)o->types[i]) != CJ_F32) {
            snprintf(name, sizeof name, "types[%u]", i);
            return cjk_fail_type(x, call, name, o->types[i], CJK_REALS " for an activation");
        }
    return cjk_size(e->out) ? CJ_OK : cjk_fail_type(x, call, "out_type", e->out, CJK_ELEMENTS);
}

/* Whether the kernels could call the user's function.  False: the failure is left in `x`. */
static bool elementwise_fits(void *x, const cjk_elementwise *e, const char *call)
{
    char wants[160];
    size_t n = (size_t)snprintf(wants, sizeof wants, "parameters of");
    for (uint32_t i = 0; i < e->o.inputs; i++)
        n += (size_t)snprintf(wants + n, sizeof wants - n, " %s,", cjk_type_name(cjk_wide((cj_type)e->o.types[i])));
    for (uint32_t i = 0; i < e->o.numbers; i++) n += (size_t)snprintf(wants + n, sizeof wants - n, " f32,");
    snprintf(wants + n, sizeof wants - n, " and one result");
    return cjk_function_fits(x, &e->code, e->o.function, e->o.inputs + e->o.numbers ? wants : "one result", call);
}

cj_elementwise *cj_elementwise_create(cj_device *dev, const cj_elementwise_opts *opts)
{
    static const char call[] = "cj_elementwise_create";
    static const char *const names[ELEMENTS_KERNELS] = { "cj_elementwise", "cj_elementwise_vectors" };
    void *x = cj_object_create(&elementwise_type, call);
    cjk_elementwise *e = cj_object_data(x, &elementwise_type, NULL, call);
    cj_fn *function;
    if (!e) return x;
    if (!cjk_options(x, call, &e->o, sizeof e->o, opts) || elementwise_check(x, e, call) != CJ_OK)
        return cjk_failed(x), x;
    if (!cjk_begin(x, &e->code, dev, e->o.module, call)) return x;
    if (!cjk_function(x, &e->code, e->o.function, &function, call)) return x;
    choose_vector(e);
    for (unsigned v = 0; v < ELEMENTS_KERNELS; v++) write_elementwise(e->code.m, names[v], e, function, v);
    if (!elementwise_fits(x, e, call)) return x;
    cjk_end(x, &e->code, names, ELEMENTS_KERNELS, e->o.cache, 0, 0, call);
    e->o.module = NULL, e->o.function = NULL, e->o.cache = NULL;
    return x;
}

/* Whether the rows follow one another, so that they are one row. */
static bool is_one_row(const cjk_matrix *m, uint64_t columns)
{
    return m->stride == (int64_t)((uint64_t)m->step * columns);
}

cj_status cj_elementwise_launch(cj_stream *s, cj_elementwise *object, const cj_elementwise_args *a)
{
    static const char call[] = "cj_elementwise_launch";
    cjk_elementwise *e = cj_object_data(object, &elementwise_type, s, call);
    cj_arg args[3 * CJ_ELEMENTWISE_MAX + 5 + CJ_ELEMENTWISE_MAX];
    size_t n = 0;
    cjk_matrix matrices[CJ_ELEMENTWISE_MAX + 1];
    bool one = true, vectors = true;
    if (!e) return cj_error_last()->status;
    if (!a) return cjk_fail(s, CJ_EINVAL, call, "the arguments are NULL");
    uint64_t rows = a->rows ? a->rows : 1, columns = a->columns;
    if (!columns) return CJ_OK;
    if (rows > INT32_MAX)
        return cjk_fail(s, CJ_EINVAL, call, "%llu rows are more than a grid has blocks", (unsigned long long)rows);
    for (uint32_t i = 0; i <= e->o.inputs; i++) {
        bool is_out = i == e->o.inputs;
        cj_type type = is_out ? e->out : (cj_type)e->o.types[i];
        cjk_matrix *m = &matrices[i];
        char name[] = "in[0]";
        name[3] = (char)('0' + i);
        if (is_out ? !cjk_results_of(s, &a->out, rows, columns, cjk_size(type), m, call)
                   : !cjk_matrix_of(s, &a->in[i], rows, columns, cjk_size(type), name, m, call)) return CJ_EINVAL;
        one = one && is_one_row(m, columns);
        args[n++] = cj_arg_ptr(m->data);
        args[n++] = cj_arg_i(m->stride);
        args[n++] = cj_arg_i(m->step);
    }
    if (one) columns *= rows, rows = 1;
    for (uint32_t i = 0; i <= e->o.inputs; i++)
        vectors = vectors &&
                  cjk_fits_vectors(&matrices[i], rows, cjk_size(i == e->o.inputs ? e->out : (cj_type)e->o.types[i]));
    uint64_t turn = vectors ? (uint64_t)CJK_THREADS * e->vector * e->turns : COLUMN_PIECE;
    uint64_t piece = ((columns - 1) / COLUMN_PIECES + turn) / turn * turn;
    args[n++] = cj_arg_u(columns);
    args[n++] = cj_arg_u(piece);
    for (uint32_t i = 0; i < e->o.numbers; i++) args[n++] = cj_arg_f32(a->numbers[i]);
    const uint32_t grid[3] = { (uint32_t)rows, (uint32_t)((columns - 1) / piece + 1), 1 };
    return cjk_launch(s, &e->code, vectors ? ELEMENTS_VECTORS : ELEMENTS_PLAIN, grid, CJK_THREADS, args, n);
}

cj_status cj_elementwise_ptx(cj_elementwise *x, unsigned flags, const char **text, size_t *bytes)
{
    return cjk_print(x, &elementwise_type, flags, text, bytes, "cj_elementwise_ptx");
}

void cj_elementwise_free(cj_elementwise *x) { cj_object_free(x, &elementwise_type, "cj_elementwise_free"); }
