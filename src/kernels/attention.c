/* Attention: options, the launch, and what the kernels of all paths begin and end with. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/attention.h"

static const cj_object_type attention_type = {
    sizeof attention_type, "cj_attention", sizeof(cjk_attention), cjk_release
};

/* -- Code of all paths --------------------------------------------------------------------------------------------- */

static cjk_heads_param heads_of(cj_fn *f, const char *name)
{
    char part[24];
    cjk_heads_param h = { .data = cj_param_ptr(f, name, CJ_VOID) };
    snprintf(part, sizeof part, "%s_token", name);
    h.token = cj_param(f, part, CJ_S64);
    snprintf(part, sizeof part, "%s_head", name);
    h.head = cj_param(f, part, CJ_S64);
    snprintf(part, sizeof part, "%s_batch", name);
    h.batch = cj_param(f, part, CJ_S64);
    return h;
}

/* The tokens of a head from token `first` on.  Strides may be negative: the product wraps. */
static cjk_tokens tokens_of(cj_fn *f, const cjk_heads_param *h, size_t size, cj_val batch, cj_val head, cj_val first)
{
    cj_val at = cj_mul(f, cj_cvt(f, CJ_S64, batch), h->batch);
    at = cj_mad(f, cj_cvt(f, CJ_S64, head), h->head, at);
    at = cj_mad(f, cj_cvt(f, CJ_S64, first), h->token, at);
    cjk_tokens t;
    t.base = cj_let(f, CJ_U64, cj_mad(f, cj_bits(f, CJ_U64, at), size, cj_addr(f, h->data)));
    t.token = cj_let(f, CJ_U64, cj_mul(f, cj_bits(f, CJ_U64, h->token), size));
    return t;
}

/* The first token of sequence `batch` and their number: of the offsets, if there are any, but not more than `count`.
 * `offsets` is the null value in a kernel that is never launched with any. */
static void sequence_of(cj_fn *f, cj_val offsets, cj_val batch, cj_val count, cj_val *first, cj_val *tokens)
{
    *first = cj_let(f, CJ_S32, 0);
    *tokens = count;
    if (!offsets.bits) return;
    *tokens = cj_let(f, CJ_S32, count);
    cj_if(f, cj_ne(f, cj_addr(f, offsets), 0));
        cj_val next = cj_get(f, offsets, cj_add(f, batch, 1));
        cj_assign(f, *first, cj_get(f, offsets, batch));
        cj_assign(f, *tokens, cj_max(f, cj_min(f, cj_sub(f, next, *first), count), 0));
    cj_end(f);
}

void cjk_attention_params_begin(cj_fn *f, cjk_attention_params *params)
{
    static const char *const names[] = { "q", "k", "v", "out", "lse" };
    cjk_heads_param *const heads[] = { &params->q, &params->k, &params->v, &params->out, &params->lse };
    for (int i = 0; i < 5; i++) *heads[i] = heads_of(f, names[i]);
    params->query_offsets = cj_param_ptr(f, "query_offsets", CJ_S32);
    params->key_offsets = cj_param_ptr(f, "key_offsets", CJ_S32);
    params->queries = cj_param(f, "queries", CJ_S32);
    params->keys = cj_param(f, "keys", CJ_S32);
    params->heads = cj_param(f, "heads", CJ_U32);
    params->shared_by = cj_param(f, "shared_by", CJ_U32);
    params->tiles = cj_param(f, "tiles", CJ_U32);
    params->work = cj_param(f, "work", CJ_U32);
    params->scale = cj_param(f, "scale", CJ_F32);
    params->c = cj_mul(f, params->scale, (float)M_LOG2E);
}

void cjk_attention_part(cj_fn *f, const cjk_attention *x, const cjk_attention_params *params, cj_val index,
                        cj_val of_all, uint32_t tile, cjk_part *p)
{
    *p = (cjk_part){ .type = x->type, .dim = x->o.dim, .causal = x->o.causal != 0, .scale = params->scale,
                     .c = params->c };
    cj_comment(f, "The tile of queries: its head, its sequence, and the keys that it sees");
    cj_val first_q, first_k, head = cj_rem(f, of_all, params->heads), batch = cj_div(f, of_all, params->heads);
    sequence_of(f, params->query_offsets, batch, params->queries, &first_q, &p->queries);
    sequence_of(f, params->key_offsets, batch, params->keys, &first_k, &p->keys);
    p->first = cj_let(f, CJ_S32, cj_bits(f, CJ_S32, cj_mul(f, index, tile)));
    cj_val kv_head = cj_div(f, head, params->shared_by);
    p->head = head, p->kv_head = kv_head, p->batch = batch;
    size_t size = cjk_size(x->type);
    p->q = tokens_of(f, &params->q, size, batch, head, first_q);
    p->k = tokens_of(f, &params->k, size, batch, kv_head, first_k);
    p->v = tokens_of(f, &params->v, size, batch, kv_head, first_k);
    p->out = tokens_of(f, &params->out, size, batch, head, first_q);
    p->lse = tokens_of(f, &params->lse, 4, batch, head, first_q);
    p->lse_wanted = cj_ne(f, cj_addr(f, params->lse.data), 0);
    cj_val last = cj_sub(f, cj_min(f, cj_add(f, p->first, tile), p->queries), 1);
    p->end = cj_let(f, CJ_S32, cj_max(f, cjk_attention_seen(f, p, last), 0));
    cj_name(f, head, "head");
    cj_name(f, kv_head, "kv_head");
    cj_name(f, batch, "batch");
    cj_name(f, p->first, "first_query");
    cj_name(f, p->end, "end_of_keys");
}

void cjk_attention_block(cj_fn *f, const cjk_attention *x, uint32_t tile, cjk_part *p)
{
    cjk_attention_params params;
    cjk_attention_params_begin(f, &params);
    cj_val block = cj_block_id(f, CJ_X);
    cj_val index = cj_rem(f, block, params.tiles), of_all = cj_div(f, block, params.tiles);
    if (x->o.causal) index = cj_sub(f, cj_sub(f, params.tiles, 1), index); /* the tiles with most keys first */
    cjk_attention_part(f, x, &params, index, of_all, tile, p);
    cj_return_if(f, cj_ge(f, p->first, p->queries));
}

cj_val cjk_attention_seen(cj_fn *f, const cjk_part *p, cj_val row)
{
    if (!p->causal) return p->keys;
    cj_val more = cj_sub(f, p->keys, p->queries);
    return cj_min(f, cj_add(f, cj_add(f, row, 1), more), p->keys);
}

cj_val cjk_token_at(cj_fn *f, const cjk_tokens *t, cj_val index)
{
    return cj_mad(f, cj_cvt(f, CJ_U64, cj_bits(f, CJ_U32, index)), t->token, t->base);
}

void cjk_attention_store_lse(cj_fn *f, const cjk_part *p, cj_val row, cj_val m, cj_val l, cj_val writes)
{
    cj_comment(f, "The row's log-sum-exp, if it is wanted");
    cj_if(f, cj_and(f, p->lse_wanted, writes));
        cj_val log_l = cj_mul(f, cj_approx_log2(f, l), (float)M_LN2);
        cj_val at = cjk_token_at(f, &p->lse, row);
        cj_store(f, CJ_F32, cj_as_ptr(f, at, CJ_F32, CJ_SPACE_GLOBAL), cj_fma(f, m, p->scale, log_l));
    cj_end(f);
}

cj_val cjk_attention_inverse(cj_fn *f, cj_val l) { return cj_select(f, cj_eq(f, l, 0.0f), 0.0f, cj_approx_rcp(f, l)); }

/* -- Making -------------------------------------------------------------------------------------------------------- */

void cj_attention_defaults(cj_attention_opts *opts)
{
    if (opts) *opts = (cj_attention_opts){ .size = sizeof *opts };
}

static const struct { const char *name, *target; int least, most; } paths[] = {
    [CJ_ATTENTION_SCALAR] = { "CJ_ATTENTION_SCALAR", "any", 0, 1000 },
    [CJ_ATTENTION_MMA] = { "CJ_ATTENTION_MMA", "sm_80", 8, 1000 },
    [CJ_ATTENTION_WGMMA] = { "CJ_ATTENTION_WGMMA", "sm_90a", 9, 9 },
};

/* Which kernels the object has: those of the path.  With wgmma those of mma.sync take what tensor maps do not. */
static cj_status choose_kernels(void *object, cjk_attention *x, cj_device *dev, const char *call)
{
    cj_device_info info;
    cj_device_info_defaults(&info);
    if (cj_device_get_info(dev, &info) != CJ_OK) return cj_object_fail_from(object, dev, call);
    bool halves = x->type != CJ_F32;
    bool sim = !strcmp(cj_driver_kind(cj_device_driver(dev)), "sim"); /* which counts instructions, not flops */
    int32_t path = x->o.path;
    if (path < CJ_ATTENTION_AUTO || path >= (int32_t)(sizeof paths / sizeof *paths))
        return cjk_fail(object, CJ_EINVAL, call, "there is no path %d", path);
    if (path == CJ_ATTENTION_AUTO)
        path = !halves || sim || info.sm_major < 8 ? CJ_ATTENTION_SCALAR
               : info.sm_major == 9 ? CJ_ATTENTION_WGMMA
                                    : CJ_ATTENTION_MMA;
    if (path != CJ_ATTENTION_SCALAR && !halves)
        return cjk_fail(object, CJ_ENOTSUP, call, "the path %s takes f16 and bf16, not %s", paths[path].name,
                        cjk_type_name(x->type));
    if (info.sm_major < paths[path].least || info.sm_major > paths[path].most)
        return cjk_fail(object, CJ_ENOTSUP, call, "the path %s needs %s, the device is %s", paths[path].name,
                        paths[path].target, cj_device_sm(dev));
    x->multiprocessors = (uint32_t)info.multiprocessors;
    x->has[ATTENTION_SCALAR] = path == CJ_ATTENTION_SCALAR;
    x->has[ATTENTION_MMA] = x->has[ATTENTION_MMA_PLAIN] = path != CJ_ATTENTION_SCALAR;
    x->has[ATTENTION_WGMMA] = path == CJ_ATTENTION_WGMMA;
    x->has[ATTENTION_WGMMA_LONG] = path == CJ_ATTENTION_WGMMA && x->o.causal && x->o.dim <= CJK_WGMMA_CHUNK;
    return CJ_OK;
}

static bool is_wgmma(unsigned kernel) { return kernel == ATTENTION_WGMMA || kernel == ATTENTION_WGMMA_LONG; }

cj_attention *cj_attention_create(cj_device *dev, const cj_attention_opts *opts)
{
    static const char call[] = "cj_attention_create";
    static const char *const all[] = {
        "cj_attention_scalar", "cj_attention_mma", "cj_attention_mma_plain", "cj_attention_wgmma",
        "cj_attention_wgmma_long"
    };
    const char *names[ATTENTION_KERNELS] = { NULL };
    void *object = cj_object_create(&attention_type, call);
    cjk_attention *x = cj_object_data(object, &attention_type, NULL, call);
    if (!x) return object;
    if (!cjk_options(object, call, &x->o, sizeof x->o, opts)) return cjk_failed(object), object;
    x->type = (cj_type)x->o.type;
    if (x->type != CJ_F32 && x->type != CJ_F16 && x->type != CJ_BF16)
        cjk_fail_type(object, call, "type", x->o.type, CJK_REALS);
    else if (!x->o.dim)
        cjk_fail(object, CJ_EINVAL, call, "dim is 0; wants the elements of a head");
    else if (x->o.dim > CJ_ATTENTION_DIM_MOST)
        cjk_fail(object, CJ_ENOTSUP, call, "dim is %u; heads have at most %d elements", x->o.dim,
                 CJ_ATTENTION_DIM_MOST);
    if (cj_error_of(object)->status != CJ_OK) return cjk_failed(object), object;
    if (!cjk_begin(object, &x->code, dev, NULL, call)) return object;
    if (choose_kernels(object, x, dev, call) != CJ_OK) return cjk_failed(object), object;
    for (unsigned i = 0; i < ATTENTION_KERNELS; i++) {
        if (!x->has[i]) continue;
        names[i] = all[i];
        if (i == ATTENTION_SCALAR) cjk_attention_write_scalar(x->code.m, names[i], x);
        else if (is_wgmma(i)) cjk_attention_write_wgmma(x->code.m, names[i], x, i);
        else cjk_attention_write_mma(x->code.m, names[i], x, i == ATTENTION_MMA_PLAIN);
    }
    cjk_end(object, &x->code, names, ATTENTION_KERNELS, x->o.cache, 0, 0, call);
    x->o.cache = NULL;
    return object;
}

/* -- Launching ----------------------------------------------------------------------------------------------------- */

/* What `h` points at, with the defaults put in: `batches` sequences of `tokens` tokens of `heads` heads of `dim`
 * elements of `size` bytes.  False: the failure is left in `s`. */
static bool heads_checked(cj_stream *s, cj_heads *h, const char *name, uint64_t batches, uint64_t tokens,
                          uint64_t heads, uint32_t dim, size_t size, const char *call)
{
    if (!h->head) h->head = dim;
    if (!h->token) h->token = (int64_t)(heads * (uint64_t)h->head);
    if (!h->batch) h->batch = (int64_t)(tokens * (uint64_t)h->token);
    if (!tokens) return true;
    if (!h->data.addr) return cjk_fail(s, CJ_EINVAL, call, "%s has no memory", name), false;
    if (h->data.addr % size)
        return cjk_fail(s, CJ_EINVAL, call, "%s is at 0x%llx, which is not aligned to its elements of %zu bytes", name,
                        (unsigned long long)h->data.addr, size), false;
    if (cjk_distance(h->token, tokens) > INT64_MAX / 64 || cjk_distance(h->head, heads) > INT64_MAX / 64 ||
        cjk_distance(h->batch, batches) > INT64_MAX / 64)
        return cjk_fail(s, CJ_EINVAL, call, "%s: tokens, heads and sequences %lld, %lld and %lld elements apart are "
                        "beyond any memory", name, (long long)h->token, (long long)h->head, (long long)h->batch),
               false;
    return true;
}

/* Whether no two elements of what is written are in one place.  Sequences and tokens are 1 where offsets say where
 * they are: how many tokens there are is not known then. */
static bool heads_apart(cj_stream *s, const cj_heads *h, const char *name, uint64_t batches, uint64_t tokens,
                        uint64_t heads, uint32_t dim, const char *call)
{
    const struct { int64_t by; uint64_t n; } index[] = {
        { h->batch, batches }, { h->token, tokens }, { h->head, heads }, { 1, dim },
    };
    for (int i = 0; i < 4; i++)
        for (int k = i + 1; k < 4; k++)
            if (cjk_places_meet(index[i].by, index[i].n, index[k].by, index[k].n))
                return cjk_fail(s, CJ_EINVAL, call, "%s: sequences, tokens and heads of %u elements, %lld, %lld and "
                                "%lld elements apart, have several elements in one place", name, dim,
                                (long long)h->batch, (long long)h->token, (long long)h->head), false;
    return true;
}

static bool offsets_checked(cj_stream *s, cj_dptr offsets, const char *name, const char *call)
{
    if (offsets.addr % 4 == 0) return true;
    return cjk_fail(s, CJ_EINVAL, call, "%s is at 0x%llx, wants memory aligned to 4 bytes", name,
                    (unsigned long long)offsets.addr), false;
}

/* Checks the sizes; puts the defaults in. */
static bool sizes_checked(cj_stream *s, cj_attention_args *a, const char *call)
{
    const struct { const char *name; uint64_t is; } sizes[] = {
        { "queries", a->queries }, { "keys", a->keys }, { "batches", a->batches }, { "heads", a->heads },
    };
    if (!a->batches) a->batches = 1;
    if (!a->kv_heads) a->kv_heads = a->heads;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].is > INT32_MAX - 256)
            return cjk_fail(s, CJ_EINVAL, call, "%s is %llu, at most %d is possible", sizes[i].name,
                            (unsigned long long)sizes[i].is, INT32_MAX - 256), false;
    if (!a->heads) return cjk_fail(s, CJ_EINVAL, call, "heads is 0"), false;
    if (a->kv_heads > a->heads || a->heads % a->kv_heads)
        return cjk_fail(s, CJ_EINVAL, call, "kv_heads is %u, which does not divide heads, %u", a->kv_heads, a->heads),
               false;
    if (!(a->scale >= 0) || isinf(a->scale))
        return cjk_fail(s, CJ_EINVAL, call, "scale is %g; wants a number above 0, or 0 for 1 / sqrt(dim)",
                        (double)a->scale), false;
    return offsets_checked(s, a->query_offsets, "query_offsets", call) &&
           offsets_checked(s, a->key_offsets, "key_offsets", call);
}

/* Whether rows of `h` are at multiples of 16 bytes. */
static bool rows_aligned(const cj_heads *h)
{
    return h->data.addr % 16 == 0 && (h->token | h->head | h->batch) % 8 == 0;
}

/* Whether tensor maps can describe the heads; a stride of 2^40 bytes is too large for them. */
static bool fits_a_map(const cj_heads *h)
{
    const int64_t most = (int64_t)1 << 38;
    return h->token > 0 && h->head > 0 && h->batch > 0 && h->token < most && h->head < most && h->batch < most;
}

/* Whether the kernel for long sequences takes them: it has tiles of more queries, and all blocks want two at least. */
static bool is_long(const cjk_attention *x, const cj_attention_args *a)
{
    cjk_wgmma_sizes sizes;
    if (!x->has[ATTENTION_WGMMA_LONG] || a->queries < CJK_LONG_QUERIES) return false;
    cjk_attention_wgmma_sizes(x, ATTENTION_WGMMA_LONG, &sizes);
    const uint64_t tiles = (a->queries + sizes.queries - 1) / sizes.queries, heads = (uint64_t)a->heads * a->batches;
    return heads >= 2 * (uint64_t)x->multiprocessors || tiles * heads >= 2 * (uint64_t)x->multiprocessors;
}

/* The kernel for these arguments. */
static unsigned kernel_for(const cjk_attention *x, const cj_attention_args *a)
{
    const cj_heads *const rows[] = { &a->q, &a->k, &a->v, &a->out };
    bool aligned = true, mapped = a->keys && !a->query_offsets.addr && !a->key_offsets.addr;
    if (x->has[ATTENTION_SCALAR]) return ATTENTION_SCALAR;
    for (int i = 0; i < 4; i++) {
        aligned = aligned && rows_aligned(rows[i]);
        mapped = mapped && fits_a_map(rows[i]);
    }
    if (!aligned) return ATTENTION_MMA_PLAIN;
    if (!mapped || !x->has[ATTENTION_WGMMA]) return ATTENTION_MMA;
    return is_long(x, a) ? ATTENTION_WGMMA_LONG : ATTENTION_WGMMA;
}

/* The queries of a tile. */
static uint32_t tile_queries(const cjk_attention *x, unsigned kernel)
{
    cjk_wgmma_sizes sizes;
    if (!is_wgmma(kernel)) return kernel == ATTENTION_SCALAR ? CJK_SCALAR_QUERIES : CJK_MMA_QUERIES;
    cjk_attention_wgmma_sizes(x, kernel, &sizes);
    return sizes.queries;
}

/* The map of tiles of `rows` tokens of a head, 64 elements each. */
static cj_status map_heads(cj_stream *s, const cjk_attention *x, const cj_heads *h, uint64_t tokens, uint64_t heads,
                           uint64_t batches, uint32_t rows, cj_tensor_map *map, const char *call)
{
    const cj_tensor_map_opts o = { .size = sizeof o,
                                   .type = x->type == CJ_BF16 ? CJ_TENSOR_MAP_BF16 : CJ_TENSOR_MAP_F16,
                                   .dims = 4,
                                   .address = h->data,
                                   .extent = { x->o.dim, tokens, heads, batches },
                                   .stride = { (uint64_t)h->token * 2, (uint64_t)h->head * 2, (uint64_t)h->batch * 2 },
                                   .tile = { CJK_WGMMA_CHUNK, rows, 1, 1 },
                                   .swizzle = CJ_SWIZZLE_128B,
                                   .l2 = CJ_TENSOR_MAP_L2_128B };
    if (cj_tensor_map_tiled(x->code.dev, &o, map) == CJ_OK) return CJ_OK;
    return cj_object_fail_from(s, x->code.dev, call);
}

cj_status cj_attention_launch(cj_stream *s, cj_attention *object, const cj_attention_args *args)
{
    static const char call[] = "cj_attention_launch";
    cjk_attention *x = cj_object_data(object, &attention_type, s, call);
    enum { MAPS = 4 }; /* the first arguments of the wgmma kernel: the last one only if results leave by map */
    cj_tensor_map map[MAPS];
    cj_arg arg[32 + MAPS];
    size_t n = MAPS;
    if (!x) return cj_error_last()->status;
    if (!args) return cjk_fail(s, CJ_EINVAL, call, "the arguments are NULL");
    cj_attention_args a = *args;
    if (!sizes_checked(s, &a, call)) return CJ_EINVAL;
    size_t size = cjk_size(x->type);
    const struct { cj_heads *h; const char *name; uint64_t tokens; cj_dptr offsets; uint32_t heads; bool lse; } rows[] =
    {
        { &a.q, "q", a.queries, a.query_offsets, a.heads, false },
        { &a.k, "k", a.keys, a.key_offsets, a.kv_heads, false },
        { &a.v, "v", a.keys, a.key_offsets, a.kv_heads, false },
        { &a.out, "out", a.queries, a.query_offsets, a.heads, false },
        { &a.lse, "lse", a.lse.data.addr ? a.queries : 0, a.query_offsets, a.heads, true },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cj_heads *h = rows[i].h;
        if (!heads_checked(s, h, rows[i].name, a.batches, rows[i].tokens, rows[i].heads, rows[i].lse ? 1 : x->o.dim,
                           rows[i].lse ? 4 : size, call)) return CJ_EINVAL;
        if (rows[i].offsets.addr) h->batch = 0; /* the offsets say where a sequence begins */
        bool many = !rows[i].offsets.addr;
        uint64_t sequences = many ? a.batches : 1, tokens = many ? rows[i].tokens : 1;
        if (i >= 3 && rows[i].tokens && !heads_apart(s, h, rows[i].name, sequences, tokens, rows[i].heads,
                                                     rows[i].lse ? 1 : x->o.dim, call)) return CJ_EINVAL;
        arg[n++] = cj_arg_ptr(h->data);
        arg[n++] = cj_arg_i(h->token);
        arg[n++] = cj_arg_i(h->head);
        arg[n++] = cj_arg_i(h->batch);
    }
    unsigned kernel = kernel_for(x, &a);
    uint32_t tile = tile_queries(x, kernel);
    uint64_t tiles = (a.queries + tile - 1) / tile, each = tiles * a.heads, blocks;
    if (!tiles) return CJ_OK;
    if (__builtin_mul_overflow(each, a.batches, &blocks) || blocks > INT32_MAX)
        return cjk_fail(s, CJ_EINVAL, call,
                        "%llu queries of %u heads of %llu sequences are more tiles than a grid has blocks",
                        (unsigned long long)a.queries, a.heads, (unsigned long long)a.batches);
    arg[n++] = cj_arg_ptr(a.query_offsets);
    arg[n++] = cj_arg_ptr(a.key_offsets);
    arg[n++] = cj_arg_u(a.queries);
    arg[n++] = cj_arg_u(a.keys);
    arg[n++] = cj_arg_u(a.heads);
    arg[n++] = cj_arg_u(a.heads / a.kv_heads);
    arg[n++] = cj_arg_u(tiles);
    arg[n++] = cj_arg_u(blocks);
    arg[n++] = cj_arg_f32(a.scale != 0 ? a.scale : 1 / sqrtf((float)x->o.dim));
    cj_dims dims = cj_grid3((uint32_t)blocks, 1, 1, CJK_ATTENTION_THREADS, 1, 1);
    if (kernel == ATTENTION_MMA || kernel == ATTENTION_MMA_PLAIN) dims.shared = cjk_attention_mma_shared(x->o.dim);
    if (!is_wgmma(kernel)) return cj_launch_n(s, x->code.k[kernel], &dims, arg + MAPS, n - MAPS);
    cjk_wgmma_sizes sizes;
    cjk_attention_wgmma_sizes(x, kernel, &sizes);
    const uint32_t map_rows[MAPS] = { sizes.queries, CJK_WGMMA_KEYS, CJK_WGMMA_KEYS, CJK_WGMMA_QUERIES };
    const unsigned first = sizes.by_map ? 0 : 1;
    for (unsigned i = 0; i < MAPS - first; i++) {
        cj_status st = map_heads(s, x, rows[i].h, rows[i].tokens, rows[i].heads, a.batches, map_rows[i], &map[i], call);
        if (st != CJ_OK) return st;
        arg[first + i] = cj_arg_tensor_map(&map[i]);
    }
    dims = cj_grid3(cjk_attention_wgmma_blocks(x, kernel, (uint32_t)blocks), 1, 1, sizes.threads, 1, 1);
    dims.shared = sizes.shared;
    return cj_launch_n(s, x->code.k[kernel], &dims, arg + first, n - first);
}

cj_status cj_attention_ptx(cj_attention *x, unsigned flags, const char **text, size_t *bytes)
{
    return cjk_print(x, &attention_type, flags, text, bytes, "cj_attention_ptx");
}

void cj_attention_free(cj_attention *x) { cj_object_free(x, &attention_type, "cj_attention_free"); }
