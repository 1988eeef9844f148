/* Matrix products: options, compilation and launches.  gemm_variants.c chooses among the kernels, gemm_scalar.c,
 * gemm_fma.c, gemm_mma.c and gemm_wgmma.c write them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/gemm_core.h"

static void gemm_release(void *data)
{
    cjk_gemm *g = data;
    pthread_mutex_destroy(&g->launches.lock);
    cjk_release(data);
}

static const cj_object_type gemm_type = {
    sizeof gemm_type, "cj_gemm", sizeof(cjk_gemm), gemm_release
};

/* -- Making -------------------------------------------------------------------------------------------------------- */

void cj_gemm_defaults(cj_gemm_opts *opts)
{
    if (opts) *opts = (cj_gemm_opts){ .size = sizeof *opts };
}

static cj_status check_types(void *x, cjk_gemm *g, const char *call)
{
    static const char *const names[] = { "type", "b_type", "out_type" };
    cj_gemm_opts *o = &g->o;
    if (o->elements < CJ_GEMM_ELEMENTS_TYPE || o->elements > CJ_GEMM_ELEMENTS_E4M3)
        return cjk_fail(x, CJ_EINVAL, call, "there are no elements %d", o->elements);
    cj_type of_elements = o->elements == CJ_GEMM_ELEMENTS_TF32 ? CJ_F32 : CJ_U8;
    if (o->elements && !o->type) o->type = of_elements;
    g->type[CJK_GEMM_A] = (cj_type)o->type;
    g->type[CJK_GEMM_B] = o->b_type ? (cj_type)o->b_type : g->type[CJK_GEMM_A];
    if (o->elements == CJ_GEMM_ELEMENTS_E4M3 && !o->wide) o->wide = CJ_F32;
    bool bytes = cjk_size(g->type[CJK_GEMM_A]) == 1;
    cj_type four = o->elements ? CJ_F32 : cjk_wide(g->type[CJK_GEMM_A]);
    g->type[CJK_GEMM_OUT] = o->out_type ? (cj_type)o->out_type : bytes ? four : g->type[CJK_GEMM_A];
    for (int i = 0; i < 3; i++)
        if (!cjk_size(g->type[i]))
            return cjk_fail_type(x, call, names[i], (int32_t)g->type[i], CJK_ELEMENTS);
    for (int i = 0; i < 2 && o->elements; i++)
        if (g->type[i] != of_elements)
            return cjk_fail(x, CJ_EINVAL, call, "%s is %s; elements of %s are %s", names[i], cjk_type_name(g->type[i]),
                            of_elements == CJ_F32 ? "tf32" : "e4m3", cjk_type_name(of_elements));
    cj_type wide_b = cjk_wide(g->type[CJK_GEMM_B]);
    g->wide = o->wide ? (cj_type)o->wide : cjk_wide(g->type[CJK_GEMM_A]);
    if (!o->wide && cjk_size(wide_b) > cjk_size(g->wide)) g->wide = wide_b;
    if (cjk_size(g->wide) < 4 || g->wide != cjk_wide(g->wide))
        return cjk_fail_type(x, call, "wide", (int32_t)g->wide, "f32, f64 or an integer of 32 or 64 bits");
    for (int i = 0; i < 2; i++)
        if ((cjk_gemm_floating(g->type[i]) || o->elements) && !cjk_gemm_floating(g->wide))
            return cjk_fail(x, CJ_EINVAL, call, "elements of %s are not summed as %s",
                            o->elements ? "8-bit floating point" : cjk_type_name(g->type[i]), cjk_type_name(g->wide));
    if (o->elements && g->wide != CJ_F32)
        return cjk_fail(x, CJ_EINVAL, call, "wide is %s; tf32 and e4m3 are summed in f32", cjk_type_name(g->wide));
    return CJ_OK;
}

static cj_status gemm_check(void *x, cjk_gemm *g, const char *call)
{
    const cj_gemm_opts *o = &g->o;
    cj_status st = check_types(x, g, call);
    if (st != CJ_OK) return st;
    if (o->path < CJ_GEMM_AUTO || o->path > CJ_GEMM_WGMMA)
        return cjk_fail(x, CJ_EINVAL, call, "there is no path %d", o->path);
    if (o->a_order < CJ_GEMM_ORDER_ANY || o->a_order > CJ_GEMM_ORDER_COLUMNS || o->b_order < CJ_GEMM_ORDER_ANY ||
        o->b_order > CJ_GEMM_ORDER_COLUMNS)
        return cjk_fail(x, CJ_EINVAL, call, "there are no orders %d and %d", o->a_order, o->b_order);
    if (o->promote && o->elements != CJ_GEMM_ELEMENTS_E4M3)
        return cjk_fail(x, CJ_EINVAL, call, "promote is for elements of e4m3");
    if (!o->function != !o->module)
        return cjk_fail(x, CJ_EINVAL, call, "%s is NULL", o->module ? "function" : "module");
    if (o->user_count && !o->function) return cjk_fail(x, CJ_EINVAL, call, "there are user_types without a function");
    if (o->user_count > CJK_GEMM_USER)
        return cjk_fail(x, CJ_EINVAL, call, "%zu user_types are more than %d", o->user_count, CJK_GEMM_USER);
    if (o->user_count && !o->user_types) return cjk_fail(x, CJ_EINVAL, call, "user_types is NULL");
    g->user = (uint32_t)o->user_count;
    return CJ_OK;
}

/* Writes variant `i` into `m`. */
static void write_variant(cj_ptx *m, const cjk_gemm *g, size_t i, cj_fn *epilogue)
{
    char name[CJK_GEMM_NAME];
    cjk_gemm_name(&g->v[i], name);
    if (g->v[i].path == CJ_GEMM_WGMMA) cjk_gemm_write_wgmma(m, name, g, &g->v[i], epilogue);
    else if (g->v[i].path == CJ_GEMM_MMA) cjk_gemm_write_mma(m, name, g, &g->v[i], epilogue);
    else if (cjk_gemm_maps_tiles(&g->v[i])) cjk_gemm_write_fma(m, name, g, &g->v[i], epilogue);
    else if (cjk_gemm_is_large(&g->v[i])) cjk_gemm_write_large(m, name, g, &g->v[i], epilogue);
    else cjk_gemm_write_scalar(m, name, g, &g->v[i], epilogue);
}

/* Whether the kernel in `m` could call the user's function.  False: the failure is left in `x`. */
static bool epilogue_fits(void *x, const cjk_gemm *g, cj_ptx *m, const char *call)
{
    const cjk_code code = { .m = m };
    char wants[200];
    snprintf(wants, sizeof wants, "the value in %s, row, column and batch in u32%s, and one result: an integer of 16 "
             "to 64 bits, f16, bf16, f32 or f64", cjk_type_name(cjk_gemm_end_type(g)),
             g->user ? ", then the user_types" : "");
    return cjk_function_fits(x, &code, g->o.function, wants, call);
}

static void write_part(const void *data, size_t i, cj_ptx *m)
{
    const cjk_gemm *g = data;
    write_variant(m, g, i, g->o.function ? cj_ptx_find(m, g->o.function) : NULL);
}

/* The kernels of a path, each in a module of its own.  `last`: there is no other path.  Else a failure of the compiler,
 * which may be older than the instructions, is not recorded. */
static bool make_path(void *x, cjk_gemm *g, int path, bool last, cj_kernel_cache *cache, const char *call)
{
    cjk_module_part part[CJK_KERNELS];
    char name[CJK_KERNELS][CJK_GEMM_NAME];
    cj_status st = CJ_OK;
    cjk_gemm_list(g, path);
    for (uint32_t i = 0; i < g->variants; i++) {
        cjk_gemm_name(&g->v[i], name[i]);
        part[i] = (cjk_module_part){ .m = cj_ptx_clone(g->code.m), .name = name[i] };
    }
    cjk_load_parts(cache, part, g->variants, write_part, g);
    for (uint32_t i = 0; i < g->variants; i++) {
        if (st == CJ_OK && !epilogue_fits(x, g, part[i].m, call)) st = cj_error_of(x)->status;
        if (st == CJ_OK) st = cj_object_fail_from(x, part[i].m, call);
    }
    for (uint32_t i = 0; i < g->variants; i++) {
        g->code.k[i] = part[i].kernel;
        if (st == CJ_OK && part[i].kernel)
            st = last ? cj_object_fail_from(x, part[i].kernel, call) : cj_error_of(part[i].kernel)->status;
        cj_ptx_free(part[i].m);
    }
    if (st == CJ_OK) return true;
    for (uint32_t i = 0; i < g->variants; i++) cj_kernel_free(g->code.k[i]), g->code.k[i] = NULL;
    return false;
}

/* Whether there are kernels of multiply-adds by tensor maps. */
static bool has_fma(const cjk_gemm *g, int sm)
{
    bool f32 = g->type[CJK_GEMM_A] == CJ_F32 && g->type[CJK_GEMM_B] == CJ_F32 && g->wide == CJ_F32;
    return f32 && !g->o.elements && sm == 90;
}

/* The paths that the options allow, the fastest first.  Returns how many; 0: the failure is left in `x`. */
static size_t paths_of(void *x, cjk_gemm *g, const cj_device_info *d, int out[4], const char *call)
{
    const char *why = cjk_gemm_types_fail(g), *forced = g->o.path == CJ_GEMM_MMA ? "mma" : "wgmma";
    int sm = d->sm_major * 10 + d->sm_minor, least = g->o.elements == CJ_GEMM_ELEMENTS_E4M3 ? 89 : 80;
    size_t n = 0;
    bool only_scalar = g->o.path == CJ_GEMM_SCALAR, any = g->o.path == CJ_GEMM_AUTO;
    if (!only_scalar && !any && why)
        return cjk_fail(x, CJ_ENOTSUP, call, "path %s has no product of %s and %s in %s: %s", forced,
                        cjk_type_name(g->type[CJK_GEMM_A]), cjk_type_name(g->type[CJK_GEMM_B]),
                        cjk_type_name(g->wide), why), 0;
    if (g->o.path == CJ_GEMM_MMA && sm < least)
        return cjk_fail(x, CJ_ENOTSUP, call, "path mma needs sm_%d for these types, the device has sm_%d", least,
                        sm), 0;
    if (g->o.path == CJ_GEMM_WGMMA && sm != 90)
        return cjk_fail(x, CJ_ENOTSUP, call, "path wgmma needs sm_90a, the device has sm_%d", sm), 0;
    if (!why && sm == 90 && (any || g->o.path == CJ_GEMM_WGMMA)) out[n++] = CJ_GEMM_WGMMA;
    if (!why && sm >= least && (any || g->o.path == CJ_GEMM_MMA)) out[n++] = CJ_GEMM_MMA;
    if (any && has_fma(g, sm)) out[n++] = CJK_GEMM_FMA;
    if (any || only_scalar) out[n++] = CJ_GEMM_SCALAR;
    return n;
}

/* Whether the user's function can be applied to each of a thread's accumulators, which makes as many copies of it: it
 * is short, calls nothing, and gives what f32 has. */
static bool is_short(const cjk_gemm *g)
{
    enum { MOST_LINES = 100 };
    cj_ptx *m = cj_ptx_clone(g->code.m);
    cj_fn *f = cj_ptx_kernel(m, "cj_gemm_element");
    cj_val arg[CJK_GEMM_OWN + CJK_GEMM_USER] = { cj_param(f, "value", CJ_F32) };
    static const char *const own[] = { "row", "column", "batch" };
    const char *text = "";
    char user[24];
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) arg[1 + i] = cj_param(f, own[i], CJ_U32);
    for (uint32_t i = 0; i < g->user; i++) {
        snprintf(user, sizeof user, "user_%u", i);
        arg[CJK_GEMM_OWN + i] = cj_param(f, user, (cj_type)g->o.user_types[i]);
    }
    const cj_type type = cj_type_of(cj_call_n(f, cj_ptx_find(m, g->o.function), arg, CJK_GEMM_OWN + (size_t)g->user));
    bool fits = (type == CJ_F32 || type == CJ_F16 || type == CJ_BF16) && cj_ptx_print(m, 0, &text, NULL) == CJ_OK;
    const char *body = fits ? strstr(text, ".entry cj_gemm_element") : NULL;
    fits = body && cjk_lines(body) <= MOST_LINES && !strstr(body, "\tcall");
    cj_ptx_free(m);
    return fits;
}

/* A tensor map stores what the accumulators have, or f16 and bf16. */
static bool stores_by_map(const cjk_gemm *g)
{
    cj_type out = g->type[CJK_GEMM_OUT];
    if (g->o.scaled) return false;
    if (g->wide == CJ_F32)
        return (out == CJ_F16 || out == CJ_BF16 || out == CJ_F32) && (!g->o.function || is_short(g));
    return !g->o.bias && !g->o.function && (out == CJ_S32 || out == CJ_U32);
}

/* How many clusters of a split variant run at once: multiprocessors come in groups that clusters do not fill. */
static void count_clusters(cjk_gemm *g)
{
    for (uint32_t v = 0; v < g->variants; v++)
        for (uint32_t i = 1; i < CJK_SPLIT_SIZES && g->v[v].split; i++) {
            cj_dims dims = cj_dims_shared(cj_grid(1u << i, g->v[v].threads), g->v[v].shared);
            uint32_t n = 0;
            for (int d = 0; d < 3; d++) dims.cluster[d] = d ? 1 : 1u << i;
            if (cj_kernel_max_clusters(g->code.k[v], &dims, &n) != CJ_OK) cj_error_clear(g->code.k[v]);
            if (n < g->clusters[i]) g->clusters[i] = n;
        }
}

static void gemm_make(void *x, cjk_gemm *g, cj_device *dev, const char *call)
{
    int path[4];
    cj_device_info d = { .size = sizeof d };
    if (!cjk_begin(x, &g->code, dev, g->o.module, call)) return;
    if (!cjk_function(x, &g->code, g->o.function, &g->epilogue, call)) return;
    if (cj_device_get_info(dev, &d) != CJ_OK) {
        cj_object_fail_from(x, dev, call);
        return;
    }
    g->multiprocessors = (uint32_t)d.multiprocessors;
    bool cpu = !strncmp(cj_device_name(dev), "cujit CPU device", 16); /* whose clusters have one block */
    bool clusters = d.clusters && !cpu;
    for (int i = 0; i < CJK_SPLIT_SIZES; i++) g->clusters[i] = clusters ? g->multiprocessors >> i : 0;
    g->by_map = stores_by_map(g);
    g->code.early = cjk_starts_early(dev);
    g->replaces = cj_driver_symbol(cj_device_driver(dev), "cuTensorMapReplaceAddress") != NULL;
    size_t n = paths_of(x, g, &d, path, call);
    cj_kernel_cache *cache = cjk_cache_begin(x, &g->code, g->o.cache, call);
    for (size_t i = 0; i < n && cache && cj_error_of(x)->status == CJ_OK; i++)
        if (make_path(x, g, path[i], i + 1 == n, cache, call)) {
            if (clusters) count_clusters(g);
            return;
        }
}

cj_gemm *cj_gemm_create(cj_device *dev, const cj_gemm_opts *opts)
{
    static const char call[] = "cj_gemm_create";
    void *x = cj_object_create(&gemm_type, call);
    cjk_gemm *g = cj_object_data(x, &gemm_type, NULL, call);
    if (!g) return x;
    pthread_mutex_init(&g->launches.lock, NULL);
    if (cjk_options(x, call, &g->o, sizeof g->o, opts) && gemm_check(x, g, call) == CJ_OK) gemm_make(x, g, dev, call);
    if (cj_error_of(x)->status != CJ_OK) cjk_failed(x);
    g->o.module = NULL, g->o.function = NULL, g->o.cache = NULL, g->o.user_types = NULL;
    return x;
}

/* -- Launching ----------------------------------------------------------------------------------------------------- */

/* alpha or beta as the type that they are computed in; false: it has no such value. */
static bool scalar_arg(cj_type type, double v, cj_arg *arg)
{
    bool negative = type == CJ_S32 || type == CJ_S64;
    double most = type == CJ_U32 ? 4294967295.0 : type == CJ_S32 ? 2147483647.0 : 9007199254740992.0;
    if (type == CJ_F32) return *arg = cj_arg_f32((float)v), true;
    if (type == CJ_F64) return *arg = cj_arg_f64(v), true;
    if (v != floor(v) || v > most || v < (negative ? -most : 0)) return false;
    return *arg = v < 0 ? cj_arg_i((int64_t)v) : cj_arg_u((uint64_t)v), true;
}

static cj_status check_sizes(cj_stream *s, const cjk_gemm *g, const cj_gemm_args *a, uint64_t *tiles, const char *call)
{
    const struct { const char *name; uint64_t is; } sizes[] = {
        { "m", a->m }, { "n", a->n }, { "k", a->k }, { "batches", a->batches },
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].is > INT32_MAX)
            return cjk_fail(s, CJ_EINVAL, call, "%s is %llu, at most 2^31 - 1 is possible", sizes[i].name,
                            (unsigned long long)sizes[i].is);
    *tiles = ((a->m + CJK_SCALAR_TILE - 1) / CJK_SCALAR_TILE) * ((a->n + CJK_SCALAR_TILE - 1) / CJK_SCALAR_TILE);
    if (*tiles > INT32_MAX)
        return cjk_fail(s, CJ_EINVAL, call, "%llu x %llu elements are more tiles than a grid has blocks",
                        (unsigned long long)a->m, (unsigned long long)a->n);
    if (a->user_count != g->user || (a->user_count && !a->user))
        return cjk_fail(s, CJ_EINVAL, call, "there are %zu user arguments, the function takes %u",
                        a->user ? a->user_count : 0, g->user);
    if (!cjk_option_at(s, g->o.bias, a->bias, cjk_size(g->type[CJK_GEMM_OUT]), "bias", call)) return CJ_EINVAL;
    if (!g->o.scaled && ((a->alpha != 0 && a->alpha != 1) || a->beta != 0 || a->c.data.addr))
        return cjk_fail(s, CJ_EINVAL, call, "there are alpha %g, beta %g and %s C, and the object was made without; "
                        "set .scaled = 1 in the options", a->alpha, a->beta, a->c.data.addr ? "a" : "no");
    if (a->batches > 1 && !a->out_batch)
        return cjk_fail(s, CJ_EINVAL, call, "out_batch is 0, with %llu batches", (unsigned long long)a->batches);
    const struct { const char *name; int64_t by; } apart[] = {
        { "a", a->a_batch }, { "b", a->b_batch }, { "c", a->c_batch }, { "out", a->out_batch },
    };
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++)
        if (!cjk_batches_fit(apart[i].by, a->batches))
            return cjk_fail(s, CJ_EINVAL, call, "%s: %llu batches %lld elements apart are beyond any memory",
                            apart[i].name, (unsigned long long)a->batches, (long long)apart[i].by);
    const struct { const char *name; uint64_t is, of_options; } known[] = {
        { "m", a->m, g->o.m }, { "n", a->n, g->o.n }, { "k", a->k, g->o.k },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].of_options && known[i].is != known[i].of_options)
            return cjk_fail(s, CJ_EINVAL, call, "%s is %llu, the options have %llu", known[i].name,
                            (unsigned long long)known[i].is, (unsigned long long)known[i].of_options);
    return CJ_OK;
}

/* Adds the tensor maps, with room for them in the arguments, and the dimensions. */
static cj_status add_maps(cj_stream *s, const cjk_gemm *g, const cjk_gemm_choice *choice, cjk_gemm_ready *l,
                          const char *call)
{
    cjk_map_key *key = &l->key;
    const cjk_gemm_variant *v = &g->v[key->variant];
    uint64_t m = key->x[CJK_GEMM_A].outer, columns = key->x[CJK_GEMM_B].outer, batches = key->batches;
    uint32_t tiles = (uint32_t)(cjk_pieces(m, v->rows) * cjk_pieces(columns, v->columns));
    uint32_t beside = batches < 65535 ? (uint32_t)batches : 65535;
    bool loops = v->path == CJ_GEMM_SCALAR && !cjk_gemm_is_large(v); /* over batches */
    uint32_t behind = loops ? 1 : (uint32_t)cjk_pieces(batches, beside);
    cj_dims dims = cj_grid3(tiles, beside, behind, v->threads, 1, 1);
    l->maps = 0;
    if (cjk_gemm_maps_tiles(v)) {
        bool takes_out = v->path == CJ_GEMM_WGMMA && g->by_map;
        key->by_map = choice->by_map;
        l->first_map = l->count;
        l->maps = takes_out ? 3 : 2;
        for (uint32_t i = 0; i < l->maps; i++) {
            cj_status st = cjk_gemm_map_of(s, g, key, (int)i, &l->map[i], call);
            if (st != CJ_OK) return st;
        }
        l->count += l->maps;
        if (takes_out) l->arg[l->count++] = cj_arg_u(choice->by_map);
        uint64_t all = tiles * batches, resident = (uint64_t)g->multiprocessors * (v->blocks ? v->blocks : 1);
        dims = cj_grid3((uint32_t)(all < resident ? all : resident), 1, 1, v->threads, 1, 1);
        if (v->split)
            dims = cj_grid3((uint32_t)cjk_pieces(columns, v->columns) * choice->blocks,
                            (uint32_t)cjk_pieces(m, v->rows), (uint32_t)batches, v->threads, 1, 1);
        for (int i = 0; i < 3 && choice->blocks > 1; i++) dims.cluster[i] = i ? 1 : choice->blocks;
        if (v->split) dims = cjk_early_dims(&g->code, dims);
    }
    l->dims = cj_dims_shared(dims, v->shared);
    return CJ_OK;
}

/* Puts in what may differ in launches that are alike: addresses, alpha and beta, the user's arguments.  Returns how
 * many arguments there are before the tensor maps; 0: the failure is left in `s`. */
static uint32_t put_gemm_values(cj_stream *s, const cjk_gemm *g, const cj_gemm_args *args, cj_arg *arg,
                                const char *call)
{
    uint32_t n = g->o.scaled ? CJK_ARG_SCALED : CJK_ARG_UNSCALED;
    arg[CJK_ARG_A] = cj_arg_ptr(args->a.data);
    arg[CJK_ARG_B] = cj_arg_ptr(args->b.data);
    arg[CJK_ARG_OUT] = cj_arg_ptr(args->out.data);
    if (g->o.scaled) {
        const double factor[] = { args->alpha, args->beta };
        const cj_type end = cjk_gemm_end_type(g);
        arg[CJK_ARG_MORE] = cj_arg_ptr(args->beta != 0 ? args->c.data : (cj_dptr){ 0 });
        for (int i = 0; i < 2; i++)
            if (!scalar_arg(end, factor[i], &arg[CJK_ARG_ALPHA + i])) {
                cjk_fail(s, CJ_EINVAL, call, "%s is %g, which %s does not have", i ? "beta" : "alpha", factor[i],
                         cjk_type_name(end));
                return 0;
            }
    }
    if (g->o.bias) arg[n++] = cj_arg_ptr(args->bias);
    for (size_t i = 0; i < args->user_count; i++) arg[n++] = args->user[i];
    return n;
}

/* Checks the arguments, and makes of them what is enqueued. */
static cj_status make_ready(cj_stream *s, cjk_gemm *g, const cj_gemm_args *args, cjk_gemm_ready *l, const char *call)
{
    cjk_matrix a, b, c = { { 0 }, 0, 0 }, out;
    cj_arg *arg = l->arg;
    uint64_t tiles = 0;
    l->count = 0;
    cj_status st = check_sizes(s, g, args, &tiles, call);
    if (st != CJ_OK) return st;
    if (!cjk_matrix_of(s, &args->a, args->m, args->k, cjk_size(g->type[CJK_GEMM_A]), "a", &a, call)) return CJ_EINVAL;
    if (!cjk_matrix_of(s, &args->b, args->k, args->n, cjk_size(g->type[CJK_GEMM_B]), "b", &b, call)) return CJ_EINVAL;
    if (!cjk_results_of(s, &args->out, args->m, args->n, cjk_size(g->type[CJK_GEMM_OUT]), &out, call)) return CJ_EINVAL;
    uint64_t many = args->batches && tiles ? args->batches : 1;
    if (cjk_places_meet(args->out_batch, many, out.stride, args->m) ||
        cjk_places_meet(args->out_batch, many, out.step, args->n))
        return cjk_fail(s, CJ_EINVAL, call, "out: batches %lld elements apart have elements in one place, with a "
                        "stride of %lld and a step of %lld", (long long)args->out_batch, (long long)out.stride,
                        (long long)out.step);
    bool reads_c = g->o.scaled && args->beta != 0;
    if (reads_c && !cjk_matrix_of(s, &args->c, args->m, args->n, cjk_size(g->type[CJK_GEMM_OUT]), "c", &c, call))
        return CJ_EINVAL;
    if (!tiles) return CJ_OK;
    uint32_t batches = args->batches ? (uint32_t)args->batches : 1;
    const struct { const cjk_matrix *x; int at; } four[] = {
        { &a, CJK_ARG_A }, { &b, CJK_ARG_B }, { &out, CJK_ARG_OUT }, { &c, CJK_ARG_MORE },
    };
    for (int i = 0; i < (g->o.scaled ? 4 : 3); i++) {
        arg[four[i].at + 1] = cj_arg_i(four[i].x->stride);
        arg[four[i].at + 2] = cj_arg_i(four[i].x->step);
    }
    if (g->o.scaled) arg[CJK_ARG_MORE + 3] = cj_arg_i(args->c_batch);
    const uint64_t sizes[] = { args->m, args->n, args->k, batches };
    for (int i = 0; i < 4; i++) arg[CJK_ARG_SIZES + i] = cj_arg_u(sizes[i]);
    const int64_t strides[] = { args->a_batch, args->b_batch, args->out_batch };
    for (int i = 0; i < 3; i++) arg[CJK_ARG_BATCHES + i] = cj_arg_i(strides[i]);
    cjk_map_key *key = &l->key;
    bool more = batches > 1;
    key->batches = batches, key->by_map = 0;
    key->x[CJK_GEMM_A] = (cjk_gemm_operand){ a.data, args->m, args->k, a.stride, a.step, more ? args->a_batch : 0 };
    key->x[CJK_GEMM_B] = (cjk_gemm_operand){ b.data, args->n, args->k, b.step, b.stride, more ? args->b_batch : 0 };
    key->x[CJK_GEMM_OUT] =
        (cjk_gemm_operand){ out.data, args->m, args->n, out.stride, out.step, more ? args->out_batch : 0 };
    const char *why = NULL;
    char text[300];
    const cjk_gemm_choice choice = cjk_gemm_choose(g, key->x, batches, &why);
    uint32_t n = put_gemm_values(s, g, args, arg, call);
    if (!n) return CJ_EINVAL;
    if (choice.variant >= g->variants)
        return cjk_fail(s, CJ_ENOTSUP, call, "%s", why ? why : cjk_gemm_misfit(g, key->x, text, sizeof text));
    key->variant = choice.variant;
    l->count = n;
    return add_maps(s, g, &choice, l, call);
}

/* Makes `l`, a launch like it, into the one with these arguments.  The arguments that are tensor maps are not set. */
static cj_status change_ready(cj_stream *s, cjk_gemm *g, const cj_gemm_args *args, cjk_gemm_ready *l, const char *call)
{
    const cj_dptr data[] = { args->a.data, args->b.data, args->out.data };
    if (!put_gemm_values(s, g, args, l->arg, call)) return CJ_EINVAL;
    for (int i = 0; i < 3; i++) {
        bool moved = l->key.x[i].data.addr != data[i].addr;
        l->key.x[i].data = data[i];
        if (!moved || i >= (int)l->maps) continue;
        cj_status st = cjk_gemm_map_move(s, g, &l->key, i, &l->map[i], call);
        if (st != CJ_OK) return st;
    }
    return CJ_OK;
}

/* Enqueues a launch whose arguments' bytes are known to be what the kernel reads. */
static cj_status launch_known(cj_stream *s, const cjk_gemm *g, cjk_gemm_ready *l)
{
    void *at[CJK_GEMM_ARGS];
    for (uint32_t i = 0; i < l->count; i++) at[i] = &l->arg[i].v;
    for (uint32_t i = 0; i < l->maps; i++) at[l->first_map + i] = &l->map[i];
    return cj_launch_raw(s, g->code.k[l->key.variant], &l->dims, at);
}

/* Enqueues a launch whose user's arguments are checked as any launch's are. */
static cj_status launch_checking(cj_stream *s, const cjk_gemm *g, cjk_gemm_ready *l)
{
    for (uint32_t i = 0; i < l->maps; i++) l->arg[l->first_map + i] = cj_arg_tensor_map(&l->map[i]);
    return cj_launch_n(s, g->code.k[l->key.variant], &l->dims, l->arg, l->count);
}

cj_status cj_gemm_launch(cj_stream *s, cj_gemm *object, const cj_gemm_args *args)
{
    static const char call[] = "cj_gemm_launch";
    cjk_gemm *g = cj_object_data(object, &gemm_type, s, call);
    _Alignas(128) cjk_gemm_ready l;
    if (!g) return cj_error_last()->status;
    if (!args) return cjk_fail(s, CJ_EINVAL, call, "the arguments are NULL");
    cjk_known known = cjk_gemm_recall(g, args, &l);
    if (known == CJK_KNOWN_SAME) return launch_known(s, g, &l);
    cj_status st = known ? change_ready(s, g, args, &l, call) : make_ready(s, g, args, &l, call);
    if (st != CJ_OK || !l.count) return st;
    st = known && !g->user ? launch_known(s, g, &l) : launch_checking(s, g, &l);
    if (st == CJ_OK) cjk_gemm_note(g, args, &l);
    return st;
}

/* Text is seldom printed: the kernels are compiled from modules of their own. */
cj_status cj_gemm_ptx(cj_gemm *object, unsigned flags, const char **text, size_t *bytes)
{
    static const char call[] = "cj_gemm_ptx";
    cjk_gemm *g = cj_object_data(object, &gemm_type, NULL, call);
    for (uint32_t i = 0; g && !g->printed && i < g->variants; i++) write_variant(g->code.m, g, i, g->epilogue);
    if (g) g->printed = true;
    return cjk_print(object, &gemm_type, flags, text, bytes, call);
}

void cj_gemm_free(cj_gemm *g) { cj_object_free(g, &gemm_type, "cj_gemm_free"); }
