/* Rotary position embedding: a block turns pairs of the heads of one token. */
#include "kernels/vectors.h"

typedef struct cjk_rope {
    cjk_code code;
    cj_rope_opts o;
    uint32_t vector;   /* pairs that a thread of the second kernel turns; 0: there is none */
} cjk_rope;

static const cj_object_type rope_type = {
    sizeof rope_type, "cj_rope", sizeof(cjk_rope), cjk_release
};

enum { ROPE_PLAIN, ROPE_VECTORS, ROPE_KERNELS };
enum { ROPE_DIM_MOST = 4096, ROPE_HEADS_MOST = 65535 };

/* -- Code ---------------------------------------------------------------------------------------------------------- */

/* Elements that are loaded before the first one is used. */
typedef struct rope_part { cj_type type; cj_val one; cjk_raw raw; } rope_part;

/* `n` elements, 1 or whole vectors. */
static void rope_load(cj_fn *f, cj_type type, cj_val at, unsigned n, cjk_read how, rope_part *p)
{
    *p = (rope_part){ .type = type };
    if (n == 1) p->one = cjk_load(f, type, at, CJ_F32);
    else cjk_raw_load(f, type, at, 0, n, how, &p->raw);
}

static void rope_values(cj_fn *f, const rope_part *p, unsigned n, cj_val *out)
{
    if (n == 1) out[0] = p->one;
    else cjk_raw_values(f, p->type, &p->raw, n, CJ_F32, out);
}

static void rope_store(cj_fn *f, cj_type type, cj_val at, unsigned n, const cj_val *v)
{
    if (n == 1) cjk_store(f, type, at, v[0]);
    else cjk_vector_store(f, type, at, 0, n, v);
}

/* base + index elements. */
static cj_val rope_at(cj_fn *f, cj_type type, cj_val base, cj_val index)
{
    return cj_as_ptr(f, cj_mad(f, index, cjk_size(type), cj_addr(f, base)), type, CJ_SPACE_GLOBAL);
}

/* Thread i of the block (token, *) turns `n` pairs of a head: unit i % units of head i / units. */
static void write_rope(cj_ptx *m, const char *name, const cjk_rope *r, unsigned n)
{
    cj_type type = (cj_type)r->o.type;
    uint32_t half = r->o.dim / 2, units = half / n;
    cj_fn *f = cj_ptx_kernel(m, name);
    cj_fn_max_threads(f, CJK_THREADS, 1, 1);
    cj_val x = cj_param_ptr(f, "x", CJ_VOID), x_token = cj_param(f, "x_token", CJ_U64),
           x_head = cj_param(f, "x_head", CJ_U64);
    cj_val out = cj_param_ptr(f, "out", CJ_VOID), out_token = cj_param(f, "out_token", CJ_U64);
    cj_val out_head = cj_param(f, "out_head", CJ_U64), heads = cj_param(f, "heads", CJ_U32);
    cj_val cosines = cj_param_ptr(f, "cosines", CJ_F32), sines = cj_param_ptr(f, "sines", CJ_F32);
    cj_val positions = cj_param_ptr(f, "positions", CJ_S32), first = cj_param(f, "first", CJ_U32);
    cj_comment(f, "The token of the block, the head and the pairs of the thread");
    cj_val token = cjk_block(f, CJ_X), i = cj_mad(f, cj_block_id(f, CJ_Y), CJK_THREADS, cj_thread_id(f, CJ_X));
    cj_return_if(f, cj_ge(f, i, cj_mul(f, heads, units)));
    cj_val head = cj_div(f, i, units), unit = cj_rem(f, i, units);
    cj_comment(f, "The token's position, and where the tables have its angles");
    cj_val position = cj_cvt(f, CJ_U64, first), pair = cj_cvt(f, CJ_U64, cj_mul(f, unit, n));
    if (r->o.positions) position = cj_bits(f, CJ_U64, cj_cvt(f, CJ_S64, cj_get(f, positions, token)));
    else position = cj_add(f, position, token);
    cj_val entry = cj_mad(f, position, half, pair), h = cj_cvt(f, CJ_U64, head);
    cj_val from = cj_mad(f, token, x_token, cj_mul(f, h, x_head));
    cj_val to = cj_mad(f, token, out_token, cj_mul(f, h, out_head));
    cj_name(f, heads, "heads");
    cj_name(f, token, "token");
    cj_name(f, head, "head");
    cj_name(f, pair, "pair");
    cj_name(f, position, "position");
    cj_name(f, entry, "entry");
    cj_name(f, from, "from");
    cj_name(f, to, "to");
    cj_comment(f, "Load both halves of the pairs, their cosines and sines");
    cj_val c[CJK_WIDEST], s[CJK_WIDEST], e[CJK_WIDEST], result[CJK_WIDEST];
    rope_part cosine, sine, one, other;
    cj_val low = r->o.interleaved ? cj_mul(f, pair, 2) : pair, high = cj_add(f, low, r->o.interleaved ? n : half);
    rope_load(f, type, rope_at(f, type, x, cj_add(f, from, low)), n, CJK_READ_ONCE, &one);
    rope_load(f, type, rope_at(f, type, x, cj_add(f, from, high)), n, CJK_READ_ONCE, &other);
    rope_load(f, CJ_F32, rope_at(f, CJ_F32, cosines, entry), n, CJK_READ_AGAIN, &cosine); /* by each head */
    rope_load(f, CJ_F32, rope_at(f, CJ_F32, sines, entry), n, CJK_READ_AGAIN, &sine);
    cj_comment(f, "Turn the pairs: (a cos - b sin, b cos + a sin)");
    rope_values(f, &one, n, e);
    rope_values(f, &other, n, e + n);
    rope_values(f, &cosine, n, c);
    rope_values(f, &sine, n, s);
    for (unsigned k = 0; k < n; k++) {
        unsigned a = r->o.interleaved ? 2 * k : k, b = r->o.interleaved ? 2 * k + 1 : k + n;
        result[a] = cj_fma(f, e[a], c[k], cj_neg(f, cj_mul(f, e[b], s[k])));
        result[b] = cj_fma(f, e[b], c[k], cj_mul(f, e[a], s[k]));
    }
    cj_comment(f, "Store both halves");
    rope_store(f, type, rope_at(f, type, out, cj_add(f, to, low)), n, result);
    rope_store(f, type, rope_at(f, type, out, cj_add(f, to, high)), n, result + n);
    cj_return(f);
}

/* -- Calls --------------------------------------------------------------------------------------------------------- */

void cj_rope_defaults(cj_rope_opts *opts)
{
    if (opts) *opts = (cj_rope_opts){ .size = sizeof *opts };
}

cj_rope *cj_rope_create(cj_device *dev, const cj_rope_opts *opts)
{
    static const char call[] = "cj_rope_create";
    const char *names[ROPE_KERNELS] = { "cj_rope", NULL };
    void *x = cj_object_create(&rope_type, call);
    cjk_rope *r = cj_object_data(x, &rope_type, NULL, call);
    if (!r) return x;
    if (!cjk_options(x, call, &r->o, sizeof r->o, opts)) return cjk_failed(x), x;
    cj_type type = (cj_type)r->o.type;
    if (type != CJ_F32 && type != CJ_F16 && type != CJ_BF16)
        cjk_fail_type(x, call, "type", r->o.type, CJK_REALS);
    else if (!r->o.dim || r->o.dim % 2 || r->o.dim > ROPE_DIM_MOST)
        cjk_fail(x, CJ_EINVAL, call, "dim is %u; wants an even number from 2 to %d", r->o.dim, ROPE_DIM_MOST);
    if (cj_error_of(x)->status != CJ_OK) return cjk_failed(x), x;
    if (!cjk_begin(x, &r->code, dev, NULL, call)) return x;
    uint32_t vector = (uint32_t)(16 / cjk_size(type));
    write_rope(r->code.m, names[ROPE_PLAIN], r, 1);
    if (r->o.dim / 2 % vector == 0) {
        r->vector = vector;
        names[ROPE_VECTORS] = "cj_rope_vectors";
        write_rope(r->code.m, names[ROPE_VECTORS], r, vector);
    }
    cjk_end(x, &r->code, names, ROPE_KERNELS, r->o.cache, 0, 0, call);
    r->o.cache = NULL;
    return x;
}

cj_status cj_rope_launch(cj_stream *s, cj_rope *object, const cj_rope_args *a)
{
    static const char call[] = "cj_rope_launch";
    cjk_rope *r = cj_object_data(object, &rope_type, s, call);
    if (!r) return cj_error_last()->status;
    if (!a) return cjk_fail(s, CJ_EINVAL, call, "the arguments are NULL");
    size_t bytes = cjk_size((cj_type)r->o.type);
    if (!a->tokens) return CJ_OK;
    if (!a->heads || a->heads > ROPE_HEADS_MOST || a->tokens > INT32_MAX)
        return cjk_fail(s, CJ_EINVAL, call,
                        "%llu tokens of %u heads; wants 1 to %d heads and at most 2147483647 tokens",
                        (unsigned long long)a->tokens, a->heads, ROPE_HEADS_MOST);
    if (!cjk_elements_at(s, a->x, bytes, "x", call) || !cjk_elements_at(s, a->out, bytes, "out", call) ||
        !cjk_elements_at(s, a->cosines, 4, "cosines", call) || !cjk_elements_at(s, a->sines, 4, "sines", call) ||
        !cjk_option_at(s, r->o.positions, a->positions, 4, "positions", call)) return CJ_EINVAL;
    int64_t head = a->head_stride ? a->head_stride : r->o.dim;
    int64_t token = a->token_stride ? a->token_stride : (int64_t)((uint64_t)head * a->heads);
    int64_t out_head = a->out_head_stride ? a->out_head_stride : head;
    int64_t out_token = a->out_token_stride ? a->out_token_stride : token;
    if (cjk_places_meet(out_token, a->tokens, out_head, a->heads) ||
        cjk_places_meet(out_head, a->heads, 1, r->o.dim) || cjk_places_meet(out_token, a->tokens, 1, r->o.dim))
        return cjk_fail(s, CJ_EINVAL, call, "out: tokens and heads of %u elements, %lld and %lld elements apart, have "
                        "several elements in one place", r->o.dim, (long long)out_token, (long long)out_head);
    uint64_t places = a->x.addr | a->out.addr | a->cosines.addr | a->sines.addr;
    uint64_t strides = ((uint64_t)head | (uint64_t)token | (uint64_t)out_head | (uint64_t)out_token) * bytes;
    uint32_t pairs = r->vector && places % 16 == 0 && strides % 16 == 0 ? r->vector : 1;
    uint32_t units = a->heads * (r->o.dim / 2 / pairs);
    const uint32_t grid[3] = { (uint32_t)a->tokens, (units - 1) / CJK_THREADS + 1, 1 };
    const cj_arg args[] = { cj_arg_ptr(a->x),
                            cj_arg_u((uint64_t)token),
                            cj_arg_u((uint64_t)head),
                            cj_arg_ptr(a->out),
                            cj_arg_u((uint64_t)out_token),
                            cj_arg_u((uint64_t)out_head),
                            cj_arg_u(a->heads),
                            cj_arg_ptr(a->cosines),
                            cj_arg_ptr(a->sines),
                            cj_arg_ptr(a->positions),
                            cj_arg_u(a->first) };
    if (grid[1] > 65535)
        return cjk_fail(s, CJ_EINVAL, call, "%u heads of %u elements are more than a grid has blocks", a->heads,
                        r->o.dim);
    return cjk_launch(s, &r->code, pairs > 1 ? ROPE_VECTORS : ROPE_PLAIN, grid, CJK_THREADS, args,
                      sizeof args / sizeof *args);
}

cj_status cj_rope_ptx(cj_rope *x, unsigned flags, const char **text, size_t *bytes)
{
    return cjk_print(x, &rope_type, flags, text, bytes, "cj_rope_ptx");
}

void cj_rope_free(cj_rope *x) { cj_object_free(x, &rope_type, "cj_rope_free"); }
