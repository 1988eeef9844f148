/* transformer: the forward pass of a small language model on random weights, from tokens to logits, with the kernels of
 * libcujit-kernels and one of its own.  It is captured once and launched as a graph; plain C computes the same. */
#include <cujit/kernels.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS = 13, WORDS = 96, DIM = 64, HEADS = 4, KV_HEADS = 2, HEAD = 16, HIDDEN = 160, LAYERS = 2 };
enum { Q = HEADS * HEAD, KV = KV_HEADS * HEAD };

/* A layer's weights, as Linear of PyTorch keeps them: a row for each output. */
enum { NORM_1, TO_Q, TO_K, TO_V, FROM_HEADS, NORM_2, GATE, UP, DOWN, IN_LAYER };
static const struct { int out, in; } shapes[IN_LAYER] = {
    { 1, DIM }, { Q, DIM }, { KV, DIM }, { KV, DIM }, { DIM, Q }, { 1, DIM }, { HIDDEN, DIM }, { HIDDEN, DIM },
    { DIM, HIDDEN }
};

typedef struct weight { float *host; cj_dptr d; } weight; /* bf16 on the device; the same numbers on the host */

typedef struct model {
    cj_device *dev;
    cj_stream *s;
    weight words, last_norm, of[LAYERS][IN_LAYER];
    cj_kernel *embed;
    cj_rms_norm *norm;
    cj_gemm *product, *add, *logits; /* to bf16; added to x; to f32 */
    cj_rope *rope;
    cj_attention *attention;
    cj_elementwise *gate;
    cj_dptr tokens, x, h, q, k, v, heads, g, u, cosines, sines, out;
} model;

/* -- Weights ------------------------------------------------------------------------------------------------------- */

static uint32_t state = 1;

static float drawn(void)
{
    state = state * 1664525u + 1013904223u;
    return (float)(state >> 8) * 0x1p-23f - 1;
}

/* The nearest number of bf16, which has the upper half of an f32's bits. */
static float rounded(float x, uint16_t *bits)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    u = (u + 0x7fff + (u >> 16 & 1)) & 0xffff0000;
    *bits = (uint16_t)(u >> 16);
    memcpy(&x, &u, sizeof x);
    return x;
}

/* `about` and numbers up to `spread` around it.  The stream keeps what it copies until the synchronization below. */
static weight make_weight(model *m, size_t n, float about, float spread)
{
    weight w = { malloc(n * sizeof *w.host), cj_alloc(m->s, n * 2) };
    uint16_t *bits = malloc(n * sizeof *bits);
    if (!w.host || !bits) exit(1);
    for (size_t i = 0; i < n; i++) w.host[i] = rounded(about + spread * drawn(), &bits[i]);
    cj_copy_to_device(m->s, w.d, bits, n * sizeof *bits);
    cj_stream_sync(m->s);
    free(bits);
    return w;
}

static void free_weight(model *m, weight *w)
{
    cj_free(m->dev, w->d);
    free(w->host);
}

/* -- The device ---------------------------------------------------------------------------------------------------- */

/* x[t] = words[tokens[t]], in f32 from here on. */
static cj_kernel *make_embed(cj_device *dev)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "embed");
    cj_val words = cj_param_ptr(f, "words", CJ_BF16), tokens = cj_param_ptr(f, "tokens", CJ_U32);
    cj_val x = cj_param_ptr(f, "x", CJ_F32);
    cj_val t = cj_block_id(f, CJ_X), i = cj_thread_id(f, CJ_X);
    cj_val word = cj_get(f, words, cj_mad(f, cj_get(f, tokens, t), DIM, i));
    cj_set(f, x, cj_mad(f, t, DIM, i), cj_cvt(f, CJ_F32, word));
    cj_kernel *k = cj_kernel_load(dev, m, "embed", NULL);
    cj_ptx_free(m);
    return k;
}

static void make_objects(model *m)
{
    float angle[2][TOKENS][HEAD / 2];
    m->embed = make_embed(m->dev);
    m->norm = cj_rms_norm_create(m->dev, CJ_RMS_NORM(.type = CJ_F32, .out_type = CJ_BF16, .param_type = CJ_BF16,
                                                     .weight = 1, .columns = DIM));
    m->product = cj_gemm_create(m->dev, CJ_GEMM(.type = CJ_BF16));
    m->add = cj_gemm_create(m->dev, CJ_GEMM(.type = CJ_BF16, .out_type = CJ_F32, .scaled = 1));
    m->logits = cj_gemm_create(m->dev, CJ_GEMM(.type = CJ_BF16, .out_type = CJ_F32));
    m->rope = cj_rope_create(m->dev, CJ_ROPE(.type = CJ_BF16, .dim = HEAD));
    m->attention = cj_attention_create(m->dev, CJ_ATTENTION(.type = CJ_BF16, .dim = HEAD, .causal = 1));
    m->gate = cj_elementwise_create(m->dev, CJ_ELEMENTWISE(.inputs = 2, .types = { CJ_BF16, CJ_BF16 },
                                                           .activation = CJ_ACTIVATION_SILU));
    const struct { cj_dptr *d; size_t bytes; } memory[] = {
        { &m->tokens, TOKENS * 4 }, { &m->x, TOKENS * DIM * 4 }, { &m->h, TOKENS * DIM * 2 },
        { &m->q, TOKENS * Q * 2 }, { &m->k, TOKENS * KV * 2 }, { &m->v, TOKENS * KV * 2 },
        { &m->heads, TOKENS * Q * 2 }, { &m->g, TOKENS * HIDDEN * 2 }, { &m->u, TOKENS * HIDDEN * 2 },
        { &m->cosines, sizeof angle[0] }, { &m->sines, sizeof angle[1] }, { &m->out, TOKENS * WORDS * 4 },
    };
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) *memory[i].d = cj_alloc(m->s, memory[i].bytes);
    for (int t = 0; t < TOKENS; t++)
        for (int i = 0; i < HEAD / 2; i++) {
            angle[0][t][i] = (float)cos(t * pow(10000, -2.0 * i / HEAD));
            angle[1][t][i] = (float)sin(t * pow(10000, -2.0 * i / HEAD));
        }
    cj_copy_to_device(m->s, m->cosines, angle[0], sizeof angle[0]);
    cj_copy_to_device(m->s, m->sines, angle[1], sizeof angle[1]);
    cj_stream_sync(m->s);
}

/* y = x * w', w being out x in; with `m->add` it is added to what y has. */
static void linear(model *m, cj_gemm *g, cj_dptr y, cj_dptr x, cj_dptr w, int out, int in)
{
    cj_gemm_args a = { .a = { .data = x }, .b = { w, 1, in }, .out = { .data = y }, .m = TOKENS, .n = (uint64_t)out,
                       .k = (uint64_t)in };
    if (g == m->add) a.c.data = y, a.alpha = 1, a.beta = 1;
    cj_gemm_launch(m->s, g, &a);
}

static void norm(model *m, cj_dptr w)
{
    cj_rms_norm_launch(m->s, m->norm, &(const cj_rms_norm_args){ .x = { .data = m->x }, .out = { .data = m->h },
                                                                 .rows = TOKENS, .weight = w });
}

static void rotate(model *m, cj_dptr x, uint32_t heads)
{
    cj_rope_launch(m->s, m->rope, &(const cj_rope_args){ .x = x, .out = x, .tokens = TOKENS, .heads = heads,
                                                         .cosines = m->cosines, .sines = m->sines });
}

static void layer(model *m, const weight *w)
{
    norm(m, w[NORM_1].d);
    linear(m, m->product, m->q, m->h, w[TO_Q].d, Q, DIM);
    linear(m, m->product, m->k, m->h, w[TO_K].d, KV, DIM);
    linear(m, m->product, m->v, m->h, w[TO_V].d, KV, DIM);
    rotate(m, m->q, HEADS);
    rotate(m, m->k, KV_HEADS);
    cj_attention_launch(m->s, m->attention, &(const cj_attention_args){
                                                .q = { .data = m->q }, .k = { .data = m->k }, .v = { .data = m->v },
                                                .out = { .data = m->heads }, .queries = TOKENS, .keys = TOKENS,
                                                .heads = HEADS, .kv_heads = KV_HEADS });
    linear(m, m->add, m->x, m->heads, w[FROM_HEADS].d, DIM, Q);
    norm(m, w[NORM_2].d);
    linear(m, m->product, m->g, m->h, w[GATE].d, HIDDEN, DIM);
    linear(m, m->product, m->u, m->h, w[UP].d, HIDDEN, DIM);
    cj_elementwise_launch(m->s, m->gate, &(const cj_elementwise_args){
                                             .in = { { .data = m->g }, { .data = m->u } }, .out = { .data = m->g },
                                             .rows = TOKENS, .columns = HIDDEN });
    linear(m, m->add, m->x, m->g, w[DOWN].d, DIM, HIDDEN);
}

/* The tokens of m->tokens to the logits of m->out. */
static void forward(model *m)
{
    cj_launch(m->s, m->embed, cj_grid(TOKENS, DIM), m->words.d, m->tokens, m->x);
    for (int i = 0; i < LAYERS; i++) layer(m, m->of[i]);
    norm(m, m->last_norm.d);
    linear(m, m->logits, m->out, m->h, m->words.d, WORDS, DIM);
}

/* -- Plain C ------------------------------------------------------------------------------------------------------- */

static void host_linear(double *y, const double *x, const float *w, int out, int in, int add)
{
    for (int t = 0; t < TOKENS; t++)
        for (int o = 0; o < out; o++) {
            double sum = add ? y[t * out + o] : 0;
            for (int i = 0; i < in; i++) sum += x[t * in + i] * w[o * in + i];
            y[t * out + o] = sum;
        }
}

static void host_norm(double *y, const double *x, const float *w)
{
    for (int t = 0; t < TOKENS; t++) {
        double squares = 0;
        for (int i = 0; i < DIM; i++) squares += x[t * DIM + i] * x[t * DIM + i];
        for (int i = 0; i < DIM; i++) y[t * DIM + i] = x[t * DIM + i] / sqrt(squares / DIM + 1e-5) * w[i];
    }
}

static void host_rotate(double *x, int heads)
{
    for (int t = 0; t < TOKENS; t++)
        for (int h = 0; h < heads; h++)
            for (int i = 0; i < HEAD / 2; i++) {
                double *a = x + (t * heads + h) * HEAD + i, *b = a + HEAD / 2, left = *a, right = *b;
                const double angle = t * pow(10000, -2.0 * i / HEAD);
                *a = left * cos(angle) - right * sin(angle);
                *b = right * cos(angle) + left * sin(angle);
            }
}

static void host_attention(double *out, const double *q, const double *k, const double *v)
{
    for (int t = 0; t < TOKENS; t++)
        for (int h = 0; h < HEADS; h++) {
            const int shared = h * KV_HEADS / HEADS;
            double share[TOKENS], sum = 0, *to = out + (t * HEADS + h) * HEAD;
            for (int j = 0; j <= t; j++) {
                double score = 0;
                for (int i = 0; i < HEAD; i++)
                    score += q[(t * HEADS + h) * HEAD + i] * k[(j * KV_HEADS + shared) * HEAD + i];
                sum += share[j] = exp(score / sqrt(HEAD));
            }
            for (int i = 0; i < HEAD; i++) {
                to[i] = 0;
                for (int j = 0; j <= t; j++) to[i] += share[j] / sum * v[(j * KV_HEADS + shared) * HEAD + i];
            }
        }
}

static void host_forward(const model *m, const uint32_t *tokens, double *logits)
{
    static double x[TOKENS * DIM], h[TOKENS * DIM], q[TOKENS * Q], k[TOKENS * KV], v[TOKENS * KV], heads[TOKENS * Q];
    static double g[TOKENS * HIDDEN], u[TOKENS * HIDDEN];
    for (int i = 0; i < TOKENS * DIM; i++) x[i] = m->words.host[tokens[i / DIM] * DIM + i % DIM];
    for (int l = 0; l < LAYERS; l++) {
        const weight *w = m->of[l];
        host_norm(h, x, w[NORM_1].host);
        host_linear(q, h, w[TO_Q].host, Q, DIM, 0);
        host_linear(k, h, w[TO_K].host, KV, DIM, 0);
        host_linear(v, h, w[TO_V].host, KV, DIM, 0);
        host_rotate(q, HEADS);
        host_rotate(k, KV_HEADS);
        host_attention(heads, q, k, v);
        host_linear(x, heads, w[FROM_HEADS].host, DIM, Q, 1);
        host_norm(h, x, w[NORM_2].host);
        host_linear(g, h, w[GATE].host, HIDDEN, DIM, 0);
        host_linear(u, h, w[UP].host, HIDDEN, DIM, 0);
        for (int i = 0; i < TOKENS * HIDDEN; i++) g[i] = g[i] / (1 + exp(-g[i])) * u[i];
        host_linear(x, g, w[DOWN].host, DIM, HIDDEN, 1);
    }
    host_norm(h, x, m->last_norm.host);
    host_linear(logits, h, m->words.host, WORDS, DIM, 0);
}

/* -- The program --------------------------------------------------------------------------------------------------- */

static void make_model(model *m)
{
    m->words = make_weight(m, WORDS * DIM, 0, 1);
    m->last_norm = make_weight(m, DIM, 1, 0.25f);
    for (int l = 0; l < LAYERS; l++)
        for (int i = 0; i < IN_LAYER; i++) {
            const int one = shapes[i].out == 1; /* a norm */
            m->of[l][i] = make_weight(m, (size_t)(shapes[i].out * shapes[i].in), one ? 1 : 0,
                                      one ? 0.25f : 1.7f / sqrtf((float)shapes[i].in));
        }
    make_objects(m);
}

static void free_model(model *m)
{
    const cj_dptr all[] = {
        m->tokens, m->x, m->h, m->q, m->k, m->v, m->heads, m->g, m->u, m->cosines, m->sines, m->out
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) cj_free(m->dev, all[i]);
    for (int l = 0; l < LAYERS; l++)
        for (int i = 0; i < IN_LAYER; i++) free_weight(m, &m->of[l][i]);
    free_weight(m, &m->words);
    free_weight(m, &m->last_norm);
    cj_kernel_free(m->embed);
    cj_rms_norm_free(m->norm);
    cj_gemm_free(m->product);
    cj_gemm_free(m->add);
    cj_gemm_free(m->logits);
    cj_rope_free(m->rope);
    cj_attention_free(m->attention);
    cj_elementwise_free(m->gate);
}

/* For programs that compute the same: the sizes, then the weights in f32, as Linear of PyTorch keeps them. */
static void write_model(const model *m, FILE *file)
{
    static const int32_t sizes[] = { TOKENS, WORDS, DIM, HEADS, KV_HEADS, HEAD, HIDDEN, LAYERS };
    fwrite(sizes, sizeof sizes, 1, file);
    fwrite(m->words.host, sizeof(float), WORDS * DIM, file);
    fwrite(m->last_norm.host, sizeof(float), DIM, file);
    for (int l = 0; l < LAYERS; l++)
        for (int i = 0; i < IN_LAYER; i++)
            fwrite(m->of[l][i].host, sizeof(float), (size_t)(shapes[i].out * shapes[i].in), file);
}

/* Two inputs through one graph; returns the greatest difference to plain C, over the greatest logit.  `file`, or NULL,
 * gets each input's tokens and logits. */
static double run(model *m, cj_graph_exec *x, FILE *file)
{
    static float got[TOKENS * WORDS];
    static double want[TOKENS * WORDS];
    double worst = 0, most = 0;
    for (int input = 0; input < 2; input++) {
        uint32_t tokens[TOKENS];
        for (int t = 0; t < TOKENS; t++) tokens[t] = (uint32_t)(7 * t * t + 31 * input) % WORDS;
        cj_copy_to_device(m->s, m->tokens, tokens, sizeof tokens);
        cj_graph_launch(m->s, x);
        cj_copy_to_host(m->s, got, m->out, sizeof got);
        if (cj_stream_sync(m->s) != CJ_OK) return 1;
        if (file) fwrite(tokens, sizeof tokens, 1, file), fwrite(got, sizeof got, 1, file);
        host_forward(m, tokens, want);
        for (int i = 0; i < TOKENS * WORDS; i++) {
            most = fmax(most, fabs(want[i]));
            const double difference = fabs(got[i] - want[i]);
            if (worst == worst && !(difference <= worst)) worst = difference; /* NaN stays */
        }
    }
    return worst / most;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--help"))
        return puts("usage: transformer [FILE]\nA transformer's forward pass on random weights, beside plain C. "
                    "FILE: weights, tokens and logits"), 0;
    FILE *file = argc > 1 ? fopen(argv[1], "wb") : NULL;
    if (argc > 1 && !file) return perror(argv[1]), 1;
    model m = { 0 };
    cj_driver *drv = cj_driver_open(NULL);
    m.dev = cj_device_open(drv, 0, NULL);
    m.s = cj_stream_create(m.dev, NULL);
    make_model(&m);
    if (file) write_model(&m, file);
    cj_capture_begin(m.s, CJ_CAPTURE_THREAD);
    forward(&m);
    cj_graph *g = cj_capture_end(m.s);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    const double difference = run(&m, x, file);
    int failed = cj_error_of(x)->status != CJ_OK || cj_stream_sync(m.s) != CJ_OK;
    if (file && fclose(file)) perror(argv[1]), failed = 1;
    if (failed) fprintf(stderr, "transformer: %s\n", cj_error_last()->message);
    else
        printf("%s: %d layers, %d tokens: logits differ from plain C's by %.1f of a thousand at most\n",
               cj_device_name(m.dev), LAYERS, TOKENS, 1000 * difference);
    cj_graph_exec_free(x);
    cj_graph_free(g);
    free_model(&m);
    cj_stream_free(m.s);
    cj_device_close(m.dev);
    cj_driver_close(drv);
    return failed || difference > 1e-2;
}
