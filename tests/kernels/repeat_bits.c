/* Each object of libcujit-kernels gives the same bits: in launches one behind the other, on four streams at once, in a
 * captured graph beside other launches of the object, in one that is launched a hundred times, in two executable graphs
 * at once.  All of them are compared with single launches.  Objects with workspace have it for as many launches as
 * there are streams; captured launches have that of the graph.  Graphs are launched after their objects were freed. */
#include "tests/kernels/kernels_bench.h"

#include <string.h>

enum { LAUNCHES = 100 };

/* How many launches: one behind the other, of each stream, of one graph, of two graphs at once. */
typedef struct repeat_counts { int runs, rounds, launches, at_once; } repeat_counts;
static const repeat_counts whole = { 30, 3, LAUNCHES, 40 }, fewer = { 30, 1, 10, 6 }, fewest = { 2, 1, 4, 4 };

/* What a launch reads and writes. */
typedef struct repeat_places { cj_dptr in, more, out; } repeat_places;

/* -- The objects --------------------------------------------------------------------------------------------------- */

#define MAKE(name) static void *name(void)
#define LAUNCH(name) static cj_status name(cj_stream *s, void *x, const repeat_places *p)
#define END(name, call) static void name(void *x) { call(x); }

enum { LONG_ROW = 9001 }; /* several blocks have it, and workspace */

MAKE(make_reduce)
{
    return cj_reduce_create(kb_dev, CJ_REDUCE(.type = CJ_F32, .in_flight = KB_STREAMS, .columns = LONG_ROW));
}
LAUNCH(launch_reduce)
{
    return cj_reduce_launch(s, x, &(cj_reduce_args){ .x.data = p->in, .columns = LONG_ROW, .out = p->out });
}
END(end_reduce, cj_reduce_free)

MAKE(make_scan)
{
    return cj_scan_create(kb_dev, CJ_SCAN(.type = CJ_F32, .in_flight = KB_STREAMS, .columns = LONG_ROW));
}
LAUNCH(launch_scan)
{
    return cj_scan_launch(s, x, &(cj_scan_args){ .x.data = p->in, .columns = LONG_ROW, .out.data = p->out });
}
END(end_scan, cj_scan_free)

MAKE(make_argmax)
{
    return cj_argmax_create(kb_dev, CJ_ARGMAX(.type = CJ_F32, .in_flight = KB_STREAMS, .columns = LONG_ROW));
}
LAUNCH(launch_argmax)
{
    return cj_argmax_launch(s, x, &(cj_argmax_args){ .x.data = p->in, .columns = LONG_ROW, .out = p->out });
}
END(end_argmax, cj_argmax_free)

enum { ROWS = 3, COLUMNS = 264, OPEN = 263 };

MAKE(make_softmax) { return cj_softmax_create(kb_dev, CJ_SOFTMAX(.type = CJ_BF16, .columns = COLUMNS)); }
LAUNCH(launch_softmax)
{
    return cj_softmax_launch(s, x, &(cj_softmax_args){ .x.data = p->in, .out.data = p->out, .rows = ROWS });
}
END(end_softmax, cj_softmax_free)

MAKE(make_layer_norm)
{
    return cj_layer_norm_create(kb_dev, CJ_LAYER_NORM(.type = CJ_F16, .weight = 1, .bias = 1, .columns = COLUMNS));
}
LAUNCH(launch_layer_norm)
{
    const cj_layer_norm_args a = { .x.data = p->in, .out.data = p->out, .rows = ROWS, .weight = p->more,
                                   .bias = cj_offset(p->more, COLUMNS * 2) };
    return cj_layer_norm_launch(s, x, &a);
}
END(end_layer_norm, cj_layer_norm_free)

MAKE(make_rms_norm) { return cj_rms_norm_create(kb_dev, CJ_RMS_NORM(.type = CJ_F32, .weight = 1)); }
LAUNCH(launch_rms_norm)
{
    const cj_rms_norm_args a = { .x.data = p->in, .out.data = p->out, .rows = ROWS, .columns = OPEN,
                                 .weight = p->more };
    return cj_rms_norm_launch(s, x, &a);
}
END(end_rms_norm, cj_rms_norm_free)

enum { ROPE_DIM = 48, TOKENS = 7, ROPE_HEADS = 3 };

MAKE(make_rope) { return cj_rope_create(kb_dev, CJ_ROPE(.type = CJ_BF16, .dim = ROPE_DIM)); }
LAUNCH(launch_rope)
{
    const cj_rope_args a = { .x = p->in, .out = p->out, .tokens = TOKENS, .heads = ROPE_HEADS, .cosines = p->more,
                             .sines = cj_offset(p->more, TOKENS * ROPE_DIM / 2 * 4) };
    return cj_rope_launch(s, x, &a);
}
END(end_rope, cj_rope_free)

MAKE(make_elementwise)
{
    return cj_elementwise_create(kb_dev, CJ_ELEMENTWISE(.inputs = 2, .types = { CJ_F16, CJ_F16 },
                                                        .activation = CJ_ACTIVATION_GELU));
}
LAUNCH(launch_elementwise)
{
    const cj_elementwise_args a = { .in = { { .data = p->in }, { .data = p->more } }, .out.data = p->out,
                                    .rows = ROWS, .columns = OPEN };
    return cj_elementwise_launch(s, x, &a);
}
END(end_elementwise, cj_elementwise_free)

/* Rows of blocks of 18 bytes, which begin anywhere, so the vector is quantised to workspace; at multiples of 16 bytes
 * they come by bulk copies, without workspace. */
enum { GEMV_ROWS = 9, GEMV_COLUMNS = 2240, GEMV_ROW = GEMV_COLUMNS / 32 * 18, GEMV_APART = (GEMV_ROW + 15) / 16 * 16 };

MAKE(make_gemv)
{
    return cj_gemv_create(kb_dev, CJ_GEMV(.format = CJ_GEMV_Q4_0, .in_flight = KB_STREAMS, .columns = GEMV_COLUMNS));
}
static cj_status gemv(cj_stream *s, void *x, const repeat_places *p, uint64_t row_bytes)
{
    const cj_gemv_args a = { .matrix = p->more, .row_bytes = row_bytes, .x = p->in, .out = p->out, .rows = GEMV_ROWS,
                             .columns = GEMV_COLUMNS };
    return cj_gemv_launch(s, x, &a);
}
LAUNCH(launch_gemv) { return gemv(s, x, p, GEMV_ROW); }
LAUNCH(launch_gemv_bulk) { return gemv(s, x, p, GEMV_APART); }
END(end_gemv, cj_gemv_free)

MAKE(make_gemv_f16) { return cj_gemv_create(kb_dev, CJ_GEMV(.format = CJ_GEMV_F16, .x_type = CJ_F16)); }
LAUNCH(launch_gemv_f16)
{
    const cj_gemv_args a = { .matrix = p->more, .x = p->in, .out = p->out, .rows = GEMV_ROWS, .columns = COLUMNS };
    return cj_gemv_launch(s, x, &a);
}

enum { M = 33, N = 40, DEPTH = 72, FEW = 16, WIDE = 512, DEEP = 2048 };

MAKE(make_gemm_scalar) { return cj_gemm_create(kb_dev, CJ_GEMM(.type = CJ_F32, .path = CJ_GEMM_SCALAR)); }
static void *make_gemm(cj_type type, cj_gemm_path path)
{
    return cj_gemm_create(kb_dev, CJ_GEMM(.type = type, .path = path, .a_order = CJ_GEMM_ORDER_ROWS,
                                          .b_order = CJ_GEMM_ORDER_ROWS));
}
MAKE(make_gemm_mma) { return make_gemm(CJ_BF16, CJ_GEMM_MMA); }
MAKE(make_gemm_wgmma) { return make_gemm(CJ_F16, CJ_GEMM_WGMMA); }
static cj_status gemm(cj_stream *s, void *x, const repeat_places *p, uint64_t m, uint64_t n, uint64_t k)
{
    const cj_gemm_args a = { .a.data = p->in, .b.data = p->more, .out.data = p->out, .m = m, .n = n, .k = k };
    return cj_gemm_launch(s, x, &a);
}
LAUNCH(launch_gemm) { return gemm(s, x, p, M, N, DEPTH); }
LAUNCH(launch_gemm_few) { return gemm(s, x, p, FEW, WIDE, DEEP); }
LAUNCH(launch_gemm_many) { return gemm(s, x, p, WIDE, WIDE, WIDE); }
END(end_gemm, cj_gemm_free)

enum { HEAD = 40, HEADS = 2, QUERIES = 20, KEYS = 70, HEAD_LONG = 64, LONG_HEADS = 4, LONG_QUERIES = 700,
       KV_BYTES = KEYS * HEADS * HEAD * 2, LONG_BYTES = LONG_QUERIES * LONG_HEADS * HEAD_LONG * 2 };

static void *make_attention(cj_type type, cj_attention_path path, int causal, uint32_t dim)
{
    return cj_attention_create(kb_dev, CJ_ATTENTION(.type = type, .dim = dim, .causal = causal, .path = path));
}
MAKE(make_attention_scalar) { return make_attention(CJ_BF16, CJ_ATTENTION_SCALAR, 0, HEAD); }
MAKE(make_attention_mma) { return make_attention(CJ_F16, CJ_ATTENTION_MMA, 1, HEAD); }
MAKE(make_attention_wgmma) { return make_attention(CJ_BF16, CJ_ATTENTION_WGMMA, 1, HEAD); }
MAKE(make_attention_auto) { return make_attention(CJ_F16, CJ_ATTENTION_AUTO, 0, HEAD); }
MAKE(make_attention_long) { return make_attention(CJ_BF16, CJ_ATTENTION_WGMMA, 1, HEAD_LONG); }
static cj_status attention(cj_stream *s, void *x, const repeat_places *p, uint64_t queries, uint64_t keys,
                           uint32_t heads, int64_t kv_bytes)
{
    const cj_attention_args a = { .q.data = p->in, .k.data = p->more, .v.data = cj_offset(p->more, kv_bytes),
                                  .out.data = p->out, .queries = queries, .keys = keys, .heads = heads };
    return cj_attention_launch(s, x, &a);
}
LAUNCH(launch_attention) { return attention(s, x, p, QUERIES, KEYS, HEADS, KV_BYTES); }
LAUNCH(launch_attention_long) { return attention(s, x, p, LONG_QUERIES, LONG_QUERIES, LONG_HEADS, LONG_BYTES); }
END(end_attention, cj_attention_free)

/* Where a launch takes long: the CPU device has fewer of those of tensor cores, and none of many tiles, or of clusters
 * of blocks. */
typedef enum repeat_cost { QUICK, HEAVY, ON_GPU } repeat_cost;

/* Elements of the inputs; bytes of the result. */
static const struct repeated {
    const char *name;
    void *(*make)(void);
    cj_status (*launch)(cj_stream *s, void *x, const repeat_places *p);
    void (*end)(void *x);
    cj_type type, more_type;
    size_t in, more, out;
    repeat_cost cost;
} objects[] = {
    { "reduce", make_reduce, launch_reduce, end_reduce, CJ_F32, CJ_F32, LONG_ROW, 0, 4, QUICK },
    { "scan", make_scan, launch_scan, end_scan, CJ_F32, CJ_F32, LONG_ROW, 0, LONG_ROW * 4, QUICK },
    { "argmax", make_argmax, launch_argmax, end_argmax, CJ_F32, CJ_F32, LONG_ROW, 0, 8, QUICK },
    { "softmax", make_softmax, launch_softmax, end_softmax, CJ_BF16, CJ_F32, ROWS * COLUMNS, 0, ROWS * COLUMNS * 2,
      QUICK },
    { "layer norm", make_layer_norm, launch_layer_norm, end_layer_norm, CJ_F16, CJ_F16, ROWS * COLUMNS, 2 * COLUMNS,
      ROWS * COLUMNS * 2, QUICK },
    { "RMS norm of open columns", make_rms_norm, launch_rms_norm, end_rms_norm, CJ_F32, CJ_F32, ROWS * OPEN, OPEN,
      ROWS * OPEN * 4, QUICK },
    { "rope", make_rope, launch_rope, end_rope, CJ_BF16, CJ_F32, TOKENS * ROPE_HEADS * ROPE_DIM, TOKENS * ROPE_DIM,
      TOKENS * ROPE_HEADS * ROPE_DIM * 2, QUICK },
    { "elementwise", make_elementwise, launch_elementwise, end_elementwise, CJ_F16, CJ_F16, ROWS * OPEN, ROWS * OPEN,
      ROWS * OPEN * 2, QUICK },
    { "gemv of Q4_0 with workspace", make_gemv, launch_gemv, end_gemv, CJ_F32, CJ_U8, GEMV_COLUMNS,
      GEMV_ROWS * GEMV_ROW, GEMV_ROWS * 4, QUICK },
    { "gemv of Q4_0 by bulk copies", make_gemv, launch_gemv_bulk, end_gemv, CJ_F32, CJ_U8, GEMV_COLUMNS,
      GEMV_ROWS * GEMV_APART, GEMV_ROWS * 4, QUICK },
    { "gemv of f16", make_gemv_f16, launch_gemv_f16, end_gemv, CJ_F16, CJ_F16, COLUMNS, GEMV_ROWS * COLUMNS,
      GEMV_ROWS * 4, QUICK },
    { "gemm, scalar", make_gemm_scalar, launch_gemm, end_gemm, CJ_F32, CJ_F32, M * DEPTH, DEPTH * N, M * N * 4, QUICK },
    { "gemm, mma", make_gemm_mma, launch_gemm, end_gemm, CJ_BF16, CJ_BF16, M * DEPTH, DEPTH * N, M * N * 2, HEAVY },
    { "gemm, wgmma", make_gemm_wgmma, launch_gemm, end_gemm, CJ_F16, CJ_F16, M * DEPTH, DEPTH * N, M * N * 2, HEAVY },
    { "gemm of few rows", make_gemm_wgmma, launch_gemm_few, end_gemm, CJ_F16, CJ_F16, FEW * DEEP, DEEP * WIDE,
      FEW * WIDE * 2, ON_GPU },
    { "gemm of many tiles", make_gemm_wgmma, launch_gemm_many, end_gemm, CJ_F16, CJ_F16, WIDE * WIDE, WIDE * WIDE,
      WIDE * WIDE * 2, ON_GPU },
    { "attention, scalar", make_attention_scalar, launch_attention, end_attention, CJ_BF16, CJ_BF16,
      QUERIES * HEADS * HEAD, KV_BYTES, QUERIES * HEADS * HEAD * 2, QUICK },
    { "attention, mma", make_attention_mma, launch_attention, end_attention, CJ_F16, CJ_F16,
      QUERIES * HEADS * HEAD, KV_BYTES, QUERIES * HEADS * HEAD * 2, HEAVY },
    { "attention, wgmma", make_attention_wgmma, launch_attention, end_attention, CJ_BF16, CJ_BF16,
      QUERIES * HEADS * HEAD, KV_BYTES, QUERIES * HEADS * HEAD * 2, HEAVY },
    { "attention, auto", make_attention_auto, launch_attention, end_attention, CJ_F16, CJ_F16,
      QUERIES * HEADS * HEAD, KV_BYTES, QUERIES * HEADS * HEAD * 2, QUICK },
    { "attention of many tiles", make_attention_long, launch_attention_long, end_attention, CJ_BF16, CJ_BF16,
      LONG_BYTES / 2, LONG_BYTES, LONG_BYTES, ON_GPU },
};

/* -- The runs ------------------------------------------------------------------------------------------------------ */

/* The object's memory: an input for each stream, results in pieces. */
typedef struct repeat_bench {
    const struct repeated *r;
    repeat_counts n;
    void *x;
    size_t in_piece, piece;   /* bytes from one to the next: as aligned as the first */
    kb_memory in, more, single, out, all;
} repeat_bench;

static size_t piece_of(size_t bytes) { return (bytes + 255) / 256 * 256; }

static cj_dptr result(const repeat_bench *b, int i) { return cj_offset(b->all.data, (int64_t)b->piece * i); }

/* A failure leaves the result blank. */
static bool launch(const repeat_bench *b, cj_stream *s, int input, cj_dptr out)
{
    const repeat_places p = { cj_offset(b->in.data, (int64_t)b->in_piece * input), b->more.data, out };
    return kb_is_ok(s, b->r->launch(s, b->x, &p), b->r->name);
}

/* How many of the first `n` results are not those of single launches; result i has the input i mod `inputs`. */
static unsigned differing(repeat_bench *b, int n, int inputs)
{
    unsigned wrong = !kb_get(&b->all);
    for (int i = 0; i < n; i++)
        wrong += memcmp((char *)b->all.host + b->piece * (size_t)i,
                        (char *)b->single.host + b->piece * (size_t)(i % inputs), b->r->out) != 0;
    kb_blank(&b->all);
    return wrong;
}

/* Whole bytes below 96: as f16 they are finite. */
static void fill_random(const kb_memory *m, cj_type type)
{
    for (size_t i = 0; i < m->bytes / kb_size(type); i++)
        kb_set((char *)m->host + i * kb_size(type), type, type == CJ_U8 ? kb_random() % 96 : kb_uniform());
    kb_put(m);
}

static void single_launches(repeat_bench *b)
{
    unsigned wrong = 0;
    for (int i = 0; i < KB_STREAMS; i++) {
        wrong += !launch(b, kb_s[0], i, cj_offset(b->single.data, (int64_t)b->piece * i));
        cj_stream_sync(kb_s[0]);
    }
    wrong += !kb_get(&b->single);
    for (size_t i = 1; i < KB_STREAMS; i++)
        wrong += memcmp(b->single.host, (char *)b->single.host + b->piece * i, b->r->out) == 0;
    tap_is_uint(wrong, 0, "%s: single launches, whose inputs and results differ", b->r->name);
}

static void launches_of_streams(repeat_bench *b)
{
    for (int i = 0; i < b->n.runs; i++) launch(b, kb_s[0], 0, result(b, i));
    tap_is_uint(differing(b, b->n.runs, 1), 0, "%s: %d launches one behind the other", b->r->name, b->n.runs);
    const int n = b->n.rounds * KB_STREAMS;
    for (int i = 0; i < n; i++) launch(b, kb_s[i % KB_STREAMS], i % KB_STREAMS, result(b, i));
    tap_is_uint(differing(b, n, KB_STREAMS), 0, "%s: %d streams at once", b->r->name, KB_STREAMS);
}

static void launch_graph(const repeat_bench *b, cj_stream *s, cj_graph_exec *e, int i)
{
    if (!kb_is_ok(s, cj_graph_launch(s, e), "a graph")) return;
    cj_copy(s, result(b, i), b->out.data, b->r->out);
}

/* The graph has input 0 and memory of its own; all pieces of the object's workspace are taken beside it. */
static void graph_beside_launches(repeat_bench *b, cj_graph_exec *e)
{
    const int n = (b->n.rounds + 1) * KB_STREAMS;
    for (int i = 0; i < n; i++) {
        const int k = i % KB_STREAMS;
        if (k) launch(b, kb_s[k], k, result(b, i));
        else launch_graph(b, kb_s[0], e, i);
        for (int j = 0; j < KB_STREAMS && k == KB_STREAMS - 1; j++) cj_stream_sync(kb_s[j]);
    }
    tap_is_uint(differing(b, n, KB_STREAMS), 0, "%s: a graph beside launches of its object", b->r->name);
}

static void launches_of_graphs(repeat_bench *b)
{
    cj_capture_begin(kb_s[0], CJ_CAPTURE_THREAD);
    launch(b, kb_s[0], 0, b->out.data);
    cj_graph *g = cj_capture_end(kb_s[0]);
    cj_graph_exec *e[2] = { cj_graph_instantiate(g, NULL), cj_graph_instantiate(g, NULL) };
    graph_beside_launches(b, e[0]);
    b->r->end(b->x);
    for (int i = 0; i < b->n.launches; i++) {
        cj_fill8(kb_s[0], b->out.data, 0xFF, b->r->out);
        launch_graph(b, kb_s[0], e[0], i);
    }
    tap_is_uint(differing(b, b->n.launches, 1), 0, "%s: a graph, launched %d times", b->r->name, b->n.launches);
    kb_blank(&b->out);
    for (int i = 0; i < b->n.at_once; i++) launch_graph(b, kb_beside(i % 2), e[i % 2], i);
    tap_is_uint(differing(b, b->n.at_once, 1) + !kb_get(&b->out), 0, "%s: two executable graphs at once", b->r->name);
    cj_graph_exec_free(e[0]), cj_graph_exec_free(e[1]);
    cj_graph_free(g);
}

static void repeat(const struct repeated *r)
{
    repeat_bench b = { .r = r, .x = r->make(), .in_piece = piece_of(r->in * kb_size(r->type)),
                       .piece = piece_of(r->out),
                       .n = tap_is_slow() ? fewest : tap_on_gpu() || r->cost == QUICK ? whole : fewer };
    const cj_error *e = cj_error_of(b.x);
    if (e->status == CJ_ENOTSUP) tap_skip(1, "%s: %s", r->name, e->message);
    else if (e->status) tap_fail("%s: %s", r->name, e->message);
    if (e->status) {
        r->end(b.x);
        return;
    }
    b.in = kb_take(KB_STREAMS * b.in_piece), b.more = kb_take(r->more * kb_size(r->more_type));
    b.single = kb_take(KB_STREAMS * b.piece), b.out = kb_take(r->out), b.all = kb_take(LAUNCHES * b.piece);
    fill_random(&b.in, r->type), fill_random(&b.more, r->more_type);
    kb_blank(&b.single), kb_blank(&b.out), kb_blank(&b.all);
    single_launches(&b);
    launches_of_streams(&b);
    launches_of_graphs(&b);
    kb_drop(&b.in), kb_drop(&b.more), kb_drop(&b.single), kb_drop(&b.out), kb_drop(&b.all);
}

int main(void)
{
    kb_open();
    tap_timeout(60);
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        if (tap_on_gpu() || objects[i].cost != ON_GPU) repeat(&objects[i]);
    return kb_close();
}
