/* Softmax, layer norm and RMS norm of rows: the objects, and what their kernels have in common.  A block has a row, or
 * a cluster of blocks a long one.  If the number of columns is known, the row is read once, else once for each step. */
#include <math.h>
#include <string.h>

#include "kernels/norms.h"

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

static void norm_begin(cj_fn *f, const cjk_norm *n, const cjk_shape *s, cjk_norm_code *c)
{
    cjk_shape_limits(f, s);
    *c = (cjk_norm_code){ .n = n };
    c->x = cjk_operand_of(f, "x", n->in);
    c->out = cjk_operand_of(f, "out", n->out);
    cj_val columns = cj_param(f, "columns", CJ_U64);
    c->weight = (cjk_operand){ .base = cj_param_ptr(f, "weight", CJ_VOID), .type = n->param };
    c->bias = (cjk_operand){ .base = cj_param_ptr(f, "bias", CJ_VOID), .type = n->param };
    c->eps = cj_param(f, "eps", CJ_F32);
    c->weight.step = c->bias.step = cj_let(f, CJ_S64, 1);
    cj_comment(f, s->blocks > 1 ? "The part of a row that this block of the cluster has" : "The row of the block");
    cjk_stretch_begin(f, s, columns, &c->b);
    c->from = cjk_stretch_at(f, &c->b, &c->x, cjk_row(f, &c->x, c->b.row));
    c->to = cjk_stretch_at(f, &c->b, &c->out, cjk_row(f, &c->out, c->b.row));
    if (n->weight) c->weight.base = cjk_stretch_at(f, &c->b, &c->weight, c->weight.base);
    if (n->bias) c->bias.base = cjk_stretch_at(f, &c->b, &c->bias, c->bias.base);
    c->count = cj_cvt(f, CJ_F32, columns);
    cj_name(f, columns, "columns");
    cj_name(f, c->eps, "eps");
    cj_name(f, c->b.row, "row");
    cj_name(f, c->from, "x_row");
    cj_name(f, c->to, "out_row");
    cj_name(f, c->count, "count");
    cjk_start_early(f, &n->code);
}

cj_val cjk_norm_walk(cj_fn *f, const cjk_norm_code *c, cj_val *v)
{
    cj_val i = cj_for(f, cjk_thread(f), c->b.columns, c->b.s->threads);
    cj_name(f, i, "column");
    *v = cjk_load(f, c->x.type, cjk_column(f, &c->x, c->from, i), CJ_F32);
    return i;
}

void cjk_sums_begin(cj_fn *f, cjk_long_sums *s, unsigned n, const char *name)
{
    *s = (cjk_long_sums){ .n = n };
    for (unsigned k = 0; k < n; k++) {
        s->group[k] = cj_let(f, CJ_F32, 0.0f);
        s->all[k] = cj_let(f, CJ_F32, 0.0f);
    }
    cj_name(f, cj_vec_n(f, s->group, n), "group_sum");
    cj_name(f, cj_vec_n(f, s->all, n), name);
}

void cjk_sums_end(cj_fn *f, const cjk_norm_code *c, cjk_long_sums *s, cj_val i, cj_val sums[2])
{
    enum { GROUP = 64 }; /* columns of a thread, which has every threads-th one */
    uint32_t last = (GROUP - 1) * c->b.s->threads;
    cj_val ends = cj_let(f, CJ_PRED, cj_eq(f, cj_and(f, i, last), last));
    for (unsigned k = 0; k < s->n; k++) {
        cj_assign(f, s->all[k], cj_add(f, s->all[k], cj_select(f, ends, s->group[k], 0.0f)));
        cj_assign(f, s->group[k], cj_select(f, ends, 0.0f, s->group[k]));
    }
    cj_end(f);
    for (unsigned k = 0; k < s->n; k++) sums[k] = cj_let(f, CJ_F32, cj_add(f, s->all[k], s->group[k]));
}

void cjk_write_norm(cj_ptx *m, const char *name, const cjk_norm *n, const cjk_shape *s)
{
    cj_fn *f = cj_ptx_kernel(m, name);
    cjk_norm_code c;
    norm_begin(f, n, s, &c);
    switch (n->kind) {
    case CJK_NORM_SOFTMAX: cjk_write_softmax(f, &c); break;
    case CJK_NORM_LAYER: cjk_write_layer_norm(f, &c); break;
    default: cjk_write_rms_norm(f, &c); break;
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

/* Whether blocks can share a row.  The CPU device has clusters of one block only. */
static bool has_clusters(cj_device *dev)
{
    cj_device_info info;
    cj_device_info_defaults(&info);
    return cj_device_get_info(dev, &info) == CJ_OK && info.clusters && info.sm_major >= 9 &&
           strcmp(cj_driver_kind(cj_device_driver(dev)), "sim") != 0;
}

void cjk_norm_shapes(cjk_norm *n, bool clusters)
{
    uint32_t vector = (uint32_t)(CJK_VECTOR_BYTES / least_bytes(n));
    bool half = cjk_size(n->out) == 2; /* else the elements may be held as CJ_F32 */
    cjk_shape_need need = { n->o.columns, 1, 4, 512, clusters, false };
    n->plain = cjk_shape_of(&need);
    if (!n->o.columns || n->o.columns % vector) return;
    need.vector = vector;
    need.wide = n->kind != CJK_NORM_SOFTMAX;
    if (n->kind == CJK_NORM_SOFTMAX && half) need.threads = 256; /* faster in clusters */
    need.held = half ? (uint32_t)cjk_size(n->in) : 4;
    n->vectors = cjk_shape_of(&need);
}

static void norm_make(void *x, cjk_norm *n, cjk_norm_kind kind, cj_device *dev, const char *name, const char *call)
{
    const char *names[NORM_KERNELS] = { name };
    char wide[48] = { 0 };
    n->kind = kind;
    n->in = (cj_type)n->o.type;
    n->out = n->o.out_type ? (cj_type)n->o.out_type : n->in;
    if (!n->param) n->param = n->in;
    if (!is_real(n->in)) cjk_fail_type(x, call, "type", n->in, CJK_REALS);
    else if (!is_real(n->out)) cjk_fail_type(x, call, "out_type", n->out, CJK_REALS);
    else if (!is_real(n->param)) cjk_fail_type(x, call, "param_type", n->param, CJK_REALS);
    else if (!(n->eps >= 0)) cjk_fail(x, CJ_EINVAL, call, "eps is %g; wants a number above 0, or 0 for 1e-5", n->eps);
    if (cj_error_of(x)->status != CJ_OK) {
        cjk_failed(x);
        return;
    }
    if (!cjk_begin(x, &n->code, dev, NULL, call)) return;
    n->code.early = cjk_starts_early(dev);
    cjk_norm_shapes(n, has_clusters(dev));
    cjk_write_norm(n->code.m, name, n, &n->plain);
    if (n->vectors.columns) {
        strcpy(wide, name);
        strcat(wide, "_vectors");
        names[NORM_VECTORS] = wide;
        cjk_write_norm(n->code.m, wide, n, &n->vectors);
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
    norm_make(x, n, CJK_NORM_SOFTMAX, dev, "cj_softmax", call);
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
    norm_make(x, n, CJK_NORM_LAYER, dev, "cj_layer_norm", call);
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
    norm_make(x, n, CJK_NORM_RMS, dev, "cj_rms_norm", call);
    return x;
}

/* -- Launches ------------------------------------------------------------------------------------------------------ */

/* What the arguments of all three have. */
typedef struct norm_args { cj_rows x, out; uint64_t rows, columns; cj_dptr weight, bias; } norm_args;

static cj_status norm_launch(cj_stream *s, const cjk_norm *n, const norm_args *a, const char *call)
{
    uint64_t rows = a->rows ? a->rows : 1, columns = a->columns ? a->columns : n->o.columns;
    cjk_matrix x, out;
    if (n->o.columns && columns != n->o.columns)
        return cjk_fail(s, CJ_EINVAL, call, "the rows have %llu columns, and the kernel is made for %llu",
                        (unsigned long long)columns, (unsigned long long)n->o.columns);
    if (!columns) return CJ_OK;
    if (!cjk_matrix_of(s, &a->x, rows, columns, cjk_size(n->in), "x", &x, call) ||
        !cjk_results_of(s, &a->out, rows, columns, cjk_size(n->out), &out, call) ||
        !cjk_option_at(s, n->weight, a->weight, cjk_size(n->param), "weight", call) ||
        !cjk_option_at(s, n->bias, a->bias, cjk_size(n->param), "bias", call)) return CJ_EINVAL;
    bool vectors = n->vectors.columns && cjk_fits_vectors(&x, rows, cjk_size(n->in)) &&
                   cjk_fits_vectors(&out, rows, cjk_size(n->out)) && (!n->weight || a->weight.addr % 16 == 0) &&
                   (!n->bias || a->bias.addr % 16 == 0);
    const cjk_shape *shape = vectors ? &n->vectors : &n->plain;
    if (rows > INT32_MAX / shape->blocks)
        return cjk_fail(s, CJ_EINVAL, call, "%llu rows are more than a grid has blocks", (unsigned long long)rows);
    const cj_arg args[] = { cj_arg_ptr(x.data),    cj_arg_i(x.stride),   cj_arg_i(x.step),      cj_arg_ptr(out.data),
                            cj_arg_i(out.stride),  cj_arg_i(out.step),   cj_arg_u(columns),     cj_arg_ptr(a->weight),
                            cj_arg_ptr(a->bias),   cj_arg_f32(n->eps) };
    const cj_dims dims = cjk_early_dims(&n->code, cj_grid((uint32_t)rows * shape->blocks, shape->threads));
    return cj_launch_n(s, n->code.k[vectors ? NORM_VECTORS : NORM_PLAIN], &dims, args, sizeof args / sizeof *args);
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
