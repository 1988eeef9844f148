/* Softmax, layer norm and RMS norm of rows: a block for each row, which it reads once if the number of columns is
 * known, else once for each step.
 *
 * Softmax subtracts the greatest element.  An element that equals it is e^0 = 1, also where both are infinite, so a row
 * with infinities has shares, and a row of nothing but -infinity is 0.  A layer norm subtracts a first mean, and takes
 * mean and variance of the differences: nothing cancels where the mean is much larger than the deviation. */
#include <math.h>
#include <string.h>

#include "kernels/row_values.h"

typedef enum norm_kind { NORM_SOFTMAX, NORM_LAYER, NORM_RMS } norm_kind;

typedef struct cjk_norm {
    cjk_code code;
    cj_softmax_opts o;   /* the options of all three have these fields first */
    float eps;
    bool weight, bias;
    cj_type in, out, param;
    cjk_shape plain, vectors;
} cjk_norm;

enum { NORM_PLAIN, NORM_VECTORS, NORM_KERNELS };

static const cj_object_type softmax_type = {
    sizeof softmax_type, "cj_softmax", sizeof(cjk_norm), cjk_release
};
static const cj_object_type layer_norm_type = {
    sizeof layer_norm_type, "cj_layer_norm", sizeof(cjk_norm), cjk_release
};
static const cj_object_type rms_norm_type = {
    sizeof rms_norm_type, "cj_rms_norm", sizeof(cjk_norm), cjk_release
};

/* -- Code ---------------------------------------------------------------------------------------------------------- */

/* What a kernel has. */
typedef struct norm_code {
    const cjk_norm *n;
    const cjk_shape *s;
    cjk_operand x, out, weight, bias;
    cj_val from, to, columns, count, eps; /* where the rows begin; CJ_U64; CJ_F32 */
} norm_code;

static void norm_begin(cj_fn *f, const cjk_norm *n, const cjk_shape *s, norm_code *c)
{
    cj_fn_max_threads(f, s->threads, 1, 1);
    *c = (norm_code){ .n = n, .s = s };
    c->x = cjk_operand_of(f, "x", n->in);
    c->out = cjk_operand_of(f, "out", n->out);
    c->columns = cj_param(f, "columns", CJ_U64);
    c->weight = (cjk_operand){ .base = cj_param_ptr(f, "weight", CJ_VOID), .type = n->param };
    c->bias = (cjk_operand){ .base = cj_param_ptr(f, "bias", CJ_VOID), .type = n->param };
    c->eps = cj_param(f, "eps", CJ_F32);
    c->weight.step = c->bias.step = cj_let(f, CJ_S64, 1);
    cj_val row = cjk_block(f, CJ_X);
    c->from = cjk_row(f, &c->x, row);
    c->to = cjk_row(f, &c->out, row);
    c->count = cj_cvt(f, CJ_F32, c->columns);
}

/* Opens a loop over the thread's columns of an open row: the column, and its element. */
static cj_val walk(cj_fn *f, const norm_code *c, cj_val *v)
{
    cj_val i = cj_for(f, cjk_thread(f), c->columns, c->s->threads);
    *v = cjk_load(f, c->x.type, cjk_column(f, &c->x, c->from, i), CJ_F32);
    return i;
}

/* The share of an element: e^(v - m). */
static cj_val share_of(cj_fn *f, cj_val v, cj_val m)
{
    cj_val e = cj_math_exp(f, cj_sub(f, v, m));
    return cj_select(f, cj_eq(f, v, m), 1.0f, e);
}

/* What shares are multiplied by.  Of a row that is -infinity everywhere 0, but not if it has a NaN. */
static cj_val share_scale(cj_fn *f, cj_val m, cj_val sum)
{
    cj_val masked = cj_and(f, cj_eq(f, m, -INFINITY), cj_eq(f, sum, sum));
    return cj_select(f, masked, 0.0f, cj_div(f, 1.0f, sum));
}

static void softmax_known(cj_fn *f, const norm_code *c)
{
    const cjk_shape *s = c->s;
    cjk_row_values r;
    cj_val m = cj_let(f, CJ_F32, -INFINITY), sum = cj_let(f, CJ_F32, 0.0f), all, total;
    cjk_row_load(f, s, &c->x, c->from, -INFINITY, &r);
    for (unsigned k = 0; k < s->chunks; k++)
        for (unsigned i = 0; i < s->vector; i++) cj_assign(f, m, cj_max(f, m, r.v[k][i]));
    cjk_row_join(f, s, CJ_COMBINE_MAX, m, &all);
    for (unsigned k = 0; k < s->chunks; k++)
        for (unsigned i = 0; i < s->vector; i++) {
            cj_val e = share_of(f, r.v[k][i], all);
            r.v[k][i] = cjk_row_inside(f, &r, k, e, 0);
            cj_assign(f, sum, cj_add(f, sum, r.v[k][i]));
        }
    cjk_row_join(f, s, CJ_COMBINE_ADD, sum, &total);
    cj_val scale = share_scale(f, all, total);
    for (unsigned k = 0; k < s->chunks; k++)
        for (unsigned i = 0; i < s->vector; i++) r.v[k][i] = cj_mul(f, r.v[k][i], scale);
    cjk_row_store(f, s, &c->out, c->to, &r);
}

static void softmax_open(cj_fn *f, const norm_code *c)
{
    cj_val m = cj_let(f, CJ_F32, -INFINITY), sum = cj_let(f, CJ_F32, 0.0f), all, total, v;
    walk(f, c, &v);
        cj_assign(f, m, cj_max(f, m, v));
    cj_end(f);
    cjk_row_join(f, c->s, CJ_COMBINE_MAX, m, &all);
    walk(f, c, &v);
        cj_val e = share_of(f, v, all);
        cj_assign(f, sum, cj_add(f, sum, e));
    cj_end(f);
    cjk_row_join(f, c->s, CJ_COMBINE_ADD, sum, &total);
    cj_val scale = share_scale(f, all, total);
    cj_val i = walk(f, c, &v);
        cj_val share = share_of(f, v, all);
        cjk_store(f, c->out.type, cjk_column(f, &c->out, c->to, i), cj_mul(f, share, scale));
    cj_end(f);
}

/* The mean of the differences to a first mean, and the reciprocal of the deviation. */
static void moments(cj_fn *f, const norm_code *c, cj_val sums, cj_val *rest, cj_val *factor)
{
    *rest = cj_div(f, cj_elem(f, sums, 0), c->count);
    cj_val square = cj_div(f, cj_elem(f, sums, 1), c->count);
    cj_val variance = cj_sub(f, square, cj_mul(f, *rest, *rest));
    cj_val positive = cj_select(f, cj_lt(f, variance, 0.0f), 0.0f, variance); /* a NaN stays one */
    *factor = cj_rcp(f, cj_sqrt(f, cj_add(f, positive, c->eps)));
}

/* v * weight + bias of a column, as far as there are any. */
static cj_val with_parameters(cj_fn *f, const norm_code *c, cj_val v, cj_val weight, cj_val bias)
{
    if (c->n->weight && c->n->bias) return cj_fma(f, v, weight, bias);
    if (c->n->weight) return cj_mul(f, v, weight);
    return c->n->bias ? cj_add(f, v, bias) : v;
}

/* (v - mean - rest) * factor, with the parameters, to `out`. */
static void norm_store_known(cj_fn *f, const norm_code *c, cjk_row_values *r, cj_val rest, cj_val factor)
{
    const cjk_shape *s = c->s;
    static const cjk_row_values none;
    cjk_row_values w = none, b = none;
    for (unsigned k = 0; k < s->chunks; k++) { /* chunk by chunk: the parameters of a long row do not fit beside it */
        if (c->n->weight) cjk_chunk_load(f, s, &c->weight, c->weight.base, k, 0, CJK_READ_AGAIN, &w);
        if (c->n->bias) cjk_chunk_load(f, s, &c->bias, c->bias.base, k, 0, CJK_READ_AGAIN, &b);
        for (unsigned i = 0; i < s->vector; i++) {
            cj_val v = rest.bits ? cj_sub(f, r->v[k][i], rest) : r->v[k][i];
            r->v[k][i] = with_parameters(f, c, cj_mul(f, v, factor), w.v[k][i], b.v[k][i]);
        }
        cjk_chunk_store(f, s, &c->out, c->to, k, r);
    }
}

static void norm_store_open(cj_fn *f, const norm_code *c, cj_val mean, cj_val rest, cj_val factor)
{
    cj_val v, w = { 0 }, b = { 0 }, i = walk(f, c, &v);
        if (mean.bits) v = cj_sub(f, cj_sub(f, v, mean), rest);
        if (c->n->weight) w = cjk_load(f, c->n->param, cjk_column(f, &c->weight, c->weight.base, i), CJ_F32);
        if (c->n->bias) b = cjk_load(f, c->n->param, cjk_column(f, &c->bias, c->bias.base, i), CJ_F32);
        cj_val result = with_parameters(f, c, cj_mul(f, v, factor), w, b);
        cjk_store(f, c->out.type, cjk_column(f, &c->out, c->to, i), result);
    cj_end(f);
}

static void layer_known(cj_fn *f, const norm_code *c)
{
    const cjk_shape *s = c->s;
    cjk_row_values r;
    cj_val sum = cj_let(f, CJ_F32, 0.0f), total, rest, factor, sums;
    cj_val parts[2] = { cj_let(f, CJ_F32, 0.0f), cj_let(f, CJ_F32, 0.0f) };
    cjk_row_load(f, s, &c->x, c->from, 0, &r);
    for (unsigned k = 0; k < s->chunks; k++)
        for (unsigned i = 0; i < s->vector; i++) cj_assign(f, sum, cj_add(f, sum, r.v[k][i]));
    cjk_row_join(f, s, CJ_COMBINE_ADD, sum, &total);
    cj_val mean = cj_div(f, total, c->count);
    for (unsigned k = 0; k < s->chunks; k++)
        for (unsigned i = 0; i < s->vector; i++) {
            cj_val d = cj_sub(f, r.v[k][i], mean);
            r.v[k][i] = cjk_row_inside(f, &r, k, d, 0);
            cj_assign(f, parts[0], cj_add(f, parts[0], r.v[k][i]));
            cj_assign(f, parts[1], cj_fma(f, r.v[k][i], r.v[k][i], parts[1]));
        }
    cjk_row_join(f, s, CJ_COMBINE_ADD, cj_vec_n(f, parts, 2), &sums);
    moments(f, c, sums, &rest, &factor);
    norm_store_known(f, c, &r, rest, factor);
}

static void layer_open(cj_fn *f, const norm_code *c)
{
    cj_val sum = cj_let(f, CJ_F32, 0.0f), total, rest, factor, sums, v;
    cj_val parts[2] = { cj_let(f, CJ_F32, 0.0f), cj_let(f, CJ_F32, 0.0f) };
    walk(f, c, &v);
        cj_assign(f, sum, cj_add(f, sum, v));
    cj_end(f);
    cjk_row_join(f, c->s, CJ_COMBINE_ADD, sum, &total);
    cj_val mean = cj_div(f, total, c->count);
    walk(f, c, &v);
        cj_val d = cj_sub(f, v, mean);
        cj_assign(f, parts[0], cj_add(f, parts[0], d));
        cj_assign(f, parts[1], cj_fma(f, d, d, parts[1]));
    cj_end(f);
    cjk_row_join(f, c->s, CJ_COMBINE_ADD, cj_vec_n(f, parts, 2), &sums);
    moments(f, c, sums, &rest, &factor);
    norm_store_open(f, c, mean, rest, factor);
}

static cj_val rms_factor(cj_fn *f, const norm_code *c, cj_val squares)
{
    cj_val total;
    cjk_row_join(f, c->s, CJ_COMBINE_ADD, squares, &total);
    cj_val mean = cj_div(f, total, c->count);
    return cj_rcp(f, cj_sqrt(f, cj_add(f, mean, c->eps)));
}

static void rms_known(cj_fn *f, const norm_code *c)
{
    const cj_val none = { 0 };
    cjk_row_values r;
    cj_val squares = cj_let(f, CJ_F32, 0.0f);
    cjk_row_load(f, c->s, &c->x, c->from, 0, &r);
    for (unsigned k = 0; k < c->s->chunks; k++)
        for (unsigned i = 0; i < c->s->vector; i++)
            cj_assign(f, squares, cj_fma(f, r.v[k][i], r.v[k][i], squares));
    cj_val factor = rms_factor(f, c, squares);
    norm_store_known(f, c, &r, none, factor);
}

static void rms_open(cj_fn *f, const norm_code *c)
{
    const cj_val none = { 0 };
    cj_val squares = cj_let(f, CJ_F32, 0.0f), v;
    walk(f, c, &v);
        cj_assign(f, squares, cj_fma(f, v, v, squares));
    cj_end(f);
    cj_val factor = rms_factor(f, c, squares);
    norm_store_open(f, c, none, none, factor);
}

static void write_norm(cj_ptx *m, const char *name, norm_kind kind, const cjk_norm *n, const cjk_shape *s)
{
    cj_fn *f = cj_ptx_kernel(m, name);
    norm_code c;
    norm_begin(f, n, s, &c);
    switch (kind) {
    case NORM_SOFTMAX: s->columns ? softmax_known(f, &c) : softmax_open(f, &c); break;
    case NORM_LAYER: s->columns ? layer_known(f, &c) : layer_open(f, &c); break;
    default: s->columns ? rms_known(f, &c) : rms_open(f, &c); break;
    }
    cj_return(f);
}

/* -- Making -------------------------------------------------------------------------------------------------------- */

static bool is_real(cj_type t) { return t == CJ_F32 || t == CJ_F16 || t == CJ_BF16; }

/* Vectors of the smallest type that fit the others, too: 16 bytes of it are 32 of a larger one. */
static size_t least_bytes(const cjk_norm *n)
{
    size_t b = cjk_size(n->in);
    if (cjk_size(n->out) < b) b = cjk_size(n->out);
    if ((n->weight || n->bias) && cjk_size(n->param) < b) b = cjk_size(n->param);
    return b;
}

static void norm_make(void *x, cjk_norm *n, norm_kind kind, cj_device *dev, const char *name, const char *call)
{
    const char *names[NORM_KERNELS] = { name };
    char wide[48] = { 0 };
    n->in = (cj_type)n->o.type;
    n->out = n->o.out_type ? (cj_type)n->o.out_type : n->in;
    if (!n->param) n->param = n->in;
    if (!is_real(n->in) || !is_real(n->out) || !is_real(n->param)) {
        cjk_fail(x, CJ_EINVAL, call, "%s is %s; wants f32, f16 or bf16",
                 !is_real(n->in) ? "type" : !is_real(n->out) ? "out_type" : "param_type",
                 cjk_type_name(!is_real(n->in) ? n->in : !is_real(n->out) ? n->out : n->param));
        cjk_failed(x);
        return;
    }
    if (!cjk_begin(x, &n->code, dev, NULL, call)) return;
    size_t bytes = least_bytes(n);
    n->plain = cjk_shape_of(n->o.columns, bytes, false);
    write_norm(n->code.m, name, kind, n, &n->plain);
    if (n->plain.columns && n->o.columns % (16 / bytes) == 0) {
        n->vectors = cjk_shape_of(n->o.columns, bytes, true);
        strcpy(wide, name);
        strcat(wide, "_vectors");
        names[NORM_VECTORS] = wide;
        write_norm(n->code.m, wide, kind, n, &n->vectors);
    }
    cjk_end(x, &n->code, names, NORM_KERNELS, n->o.cache, 0, 0, call);
    n->o.cache = NULL;
}

void cj_softmax_defaults(cj_softmax_opts *opts)
{
    if (opts) *opts = (cj_softmax_opts){ .size = sizeof *opts };
}

void cj_layer_norm_defaults(cj_layer_norm_opts *opts)
{
    if (opts) *opts = (cj_layer_norm_opts){ .size = sizeof *opts };
}

void cj_rms_norm_defaults(cj_rms_norm_opts *opts)
{
    if (opts) *opts = (cj_rms_norm_opts){ .size = sizeof *opts };
}

cj_softmax *cj_softmax_create(cj_device *dev, const cj_softmax_opts *opts)
{
    static const char call[] = "cj_softmax_create";
    void *x = cj_object_create(&softmax_type, call);
    cjk_norm *n = cj_object_data(x, &softmax_type, NULL, call);
    if (!n) return x;
    if (!cjk_options(x, call, &n->o, sizeof n->o, opts)) return cjk_failed(x), x;
    norm_make(x, n, NORM_SOFTMAX, dev, "cj_softmax", call);
    return x;
}

cj_layer_norm *cj_layer_norm_create(cj_device *dev, const cj_layer_norm_opts *opts)
{
    static const char call[] = "cj_layer_norm_create";
    void *x = cj_object_create(&layer_norm_type, call);
    cjk_norm *n = cj_object_data(x, &layer_norm_type, NULL, call);
    cj_layer_norm_opts o = { 0 };
    if (!n) return x;
    if (!cjk_options(x, call, &o, sizeof o, opts)) return cjk_failed(x), x;
    n->o = (cj_softmax_opts){ .type = o.type, .out_type = o.out_type, .columns = o.columns, .cache = o.cache };
    n->param = (cj_type)o.param_type, n->weight = o.weight, n->bias = o.bias, n->eps = o.eps != 0 ? o.eps : 1e-5f;
    norm_make(x, n, NORM_LAYER, dev, "cj_layer_norm", call);
    return x;
}

cj_rms_norm *cj_rms_norm_create(cj_device *dev, const cj_rms_norm_opts *opts)
{
    static const char call[] = "cj_rms_norm_create";
    void *x = cj_object_create(&rms_norm_type, call);
    cjk_norm *n = cj_object_data(x, &rms_norm_type, NULL, call);
    cj_rms_norm_opts o = { 0 };
    if (!n) return x;
    if (!cjk_options(x, call, &o, sizeof o, opts)) return cjk_failed(x), x;
    n->o = (cj_softmax_opts){ .type = o.type, .out_type = o.out_type, .columns = o.columns, .cache = o.cache };
    n->param = (cj_type)o.param_type, n->weight = o.weight, n->eps = o.eps != 0 ? o.eps : 1e-5f;
    norm_make(x, n, NORM_RMS, dev, "cj_rms_norm", call);
    return x;
}

/* -- Launches ------------------------------------------------------------------------------------------------------ */

/* What the arguments of all three have. */
typedef struct norm_args { cj_rows x, out; uint64_t rows, columns; cj_dptr weight, bias; } norm_args;

static bool parameter_fits(cj_stream *s, const cjk_norm *n, bool wanted, cj_dptr at, const char *name, const char *call)
{
    if (!wanted || (at.addr && at.addr % cjk_size(n->param) == 0)) return true;
    cjk_fail(s, CJ_EINVAL, call, "%s is at 0x%llx, wants memory aligned to %zu bytes", name,
             (unsigned long long)at.addr, cjk_size(n->param));
    return false;
}

static cj_status norm_launch(cj_stream *s, const cjk_norm *n, const norm_args *a, const char *call)
{
    uint64_t rows = a->rows ? a->rows : 1, columns = a->columns ? a->columns : n->o.columns;
    cjk_matrix x, out;
    if (n->o.columns && columns != n->o.columns)
        return cjk_fail(s, CJ_EINVAL, call, "the rows have %llu columns, and the kernel is made for %llu",
                        (unsigned long long)columns, (unsigned long long)n->o.columns);
    if (!columns) return CJ_OK;
    if (rows > INT32_MAX)
        return cjk_fail(s, CJ_EINVAL, call, "%llu rows are more than a grid has blocks", (unsigned long long)rows);
    if (!cjk_matrix_of(s, &a->x, rows, columns, cjk_size(n->in), "x", &x, call) ||
        !cjk_matrix_of(s, &a->out, rows, columns, cjk_size(n->out), "out", &out, call) ||
        !parameter_fits(s, n, n->weight, a->weight, "weight", call) ||
        !parameter_fits(s, n, n->bias, a->bias, "bias", call)) return CJ_EINVAL;
    bool vectors = n->vectors.columns && cjk_fits_vectors(&x, rows, cjk_size(n->in)) &&
                   cjk_fits_vectors(&out, rows, cjk_size(n->out)) && (!n->weight || a->weight.addr % 16 == 0) &&
                   (!n->bias || a->bias.addr % 16 == 0);
    const uint32_t grid[3] = { (uint32_t)rows, 1, 1 };
    const cj_arg args[] = { cj_arg_ptr(x.data),    cj_arg_i(x.stride),   cj_arg_i(x.step),      cj_arg_ptr(out.data),
                            cj_arg_i(out.stride),  cj_arg_i(out.step),   cj_arg_u(columns),     cj_arg_ptr(a->weight),
                            cj_arg_ptr(a->bias),   cj_arg_f32(n->eps) };
    return cjk_launch(s, &n->code, vectors ? NORM_VECTORS : NORM_PLAIN, grid,
                      vectors ? n->vectors.threads : n->plain.threads, args, sizeof args / sizeof *args);
}

cj_status cj_softmax_launch(cj_stream *s, cj_softmax *x, const cj_softmax_args *args)
{
    static const char call[] = "cj_softmax_launch";
    cjk_norm *n = cj_object_data(x, &softmax_type, s, call);
    if (!n) return cj_error_last()->status;
    if (!args) return cjk_fail(s, CJ_EINVAL, call, "the arguments are NULL");
    return norm_launch(s, n, &(norm_args){ args->x, args->out, args->rows, args->columns, { 0 }, { 0 } }, call);
}

cj_status cj_layer_norm_launch(cj_stream *s, cj_layer_norm *x, const cj_layer_norm_args *args)
{
    static const char call[] = "cj_layer_norm_launch";
    cjk_norm *n = cj_object_data(x, &layer_norm_type, s, call);
    if (!n) return cj_error_last()->status;
    if (!args) return cjk_fail(s, CJ_EINVAL, call, "the arguments are NULL");
    return norm_launch(s, n, &(norm_args){ args->x, args->out, args->rows, args->columns, args->weight, args->bias },
                       call);
}

cj_status cj_rms_norm_launch(cj_stream *s, cj_rms_norm *x, const cj_rms_norm_args *args)
{
    static const char call[] = "cj_rms_norm_launch";
    cjk_norm *n = cj_object_data(x, &rms_norm_type, s, call);
    if (!n) return cj_error_last()->status;
    if (!args) return cjk_fail(s, CJ_EINVAL, call, "the arguments are NULL");
    return norm_launch(s, n, &(norm_args){ args->x, args->out, args->rows, args->columns, args->weight, { 0 } }, call);
}

cj_status cj_softmax_ptx(cj_softmax *x, unsigned flags, const char **text, size_t *bytes)
{
    return cjk_print(x, &softmax_type, flags, text, bytes, "cj_softmax_ptx");
}

cj_status cj_layer_norm_ptx(cj_layer_norm *x, unsigned flags, const char **text, size_t *bytes)
{
    return cjk_print(x, &layer_norm_type, flags, text, bytes, "cj_layer_norm_ptx");
}

cj_status cj_rms_norm_ptx(cj_rms_norm *x, unsigned flags, const char **text, size_t *bytes)
{
    return cjk_print(x, &rms_norm_type, flags, text, bytes, "cj_rms_norm_ptx");
}

void cj_softmax_free(cj_softmax *x) { cj_object_free(x, &softmax_type, "cj_softmax_free"); }
void cj_layer_norm_free(cj_layer_norm *x) { cj_object_free(x, &layer_norm_type, "cj_layer_norm_free"); }
void cj_rms_norm_free(cj_rms_norm *x) { cj_object_free(x, &rms_norm_type, "cj_rms_norm_free"); }
