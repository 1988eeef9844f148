/* Matrix products against plain C: every type and layout, sizes at each edge of the tiles, batches, alpha, beta and
 * bias, a function of the user's at the end, captures and streams. Outputs lie between guards and are NaN before. */
#include "tests/kernels/kernels_bench.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 100 * 100, BATCHES = 3 };

/* How a matrix lies: rows or columns one behind the other, with a gap, backwards. */
typedef struct layout { const char *name; int columns, gap, back; } layout;
static const layout layouts[] = {
    { "rows", 0, 0, 0 }, { "columns", 1, 0, 0 }, { "rows with gaps", 0, 3, 0 }, { "columns with gaps", 1, 5, 0 },
    { "rows from the last one", 0, 1, 1 },
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

static size_t place_of(const layout *l, uint64_t rows, uint64_t columns, uint64_t r, uint64_t c)
{
    uint64_t ld = (l->columns ? rows : columns) + (uint64_t)l->gap;
    if (l->back) r = rows - 1 - r;
    return l->columns ? c * ld + r : r * ld + c;
}

static size_t extent_of(const layout *l, uint64_t rows, uint64_t columns)
{
    return l->columns ? columns * (rows + (uint64_t)l->gap) : rows * (columns + (uint64_t)l->gap);
}

static cj_rows rows_of(const kb_memory *m, cj_type t, const layout *l, uint64_t rows, uint64_t columns)
{
    int64_t ld = (int64_t)(l->columns ? rows : columns) + l->gap;
    cj_rows x = { m->data, l->columns ? 1 : ld, l->columns ? ld : 1 };
    if (l->back && rows) {
        x.data = cj_offset(m->data, (int64_t)(rows - 1) * ld * (int64_t)kb_size(t));
        x.stride = -ld;
    }
    return x;
}

static bool is_unsigned(cj_type t) { return t == CJ_U8 || t == CJ_U16 || t == CJ_U32 || t == CJ_U64; }

static int whole(cj_type t, uint64_t i)
{
    int v = (int)((i * 2654435761u >> 9) % 7) - 3;
    return is_unsigned(t) && v < 0 ? -v : v;
}

static void fill_whole(kb_memory *x, cj_type t, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) kb_set((char *)x->host + i * kb_size(t), t, whole(t, seed + i));
    kb_put(x);
}

static double element(const kb_memory *x, cj_type t, size_t i) { return kb_value((char *)x->host + i * kb_size(t), t); }

static kb_memory a, b, c, out, bias;

/* One product without batches of what a and b hold; the number of wrong elements. */
static size_t product(cj_gemm *g, cj_type ta, cj_type tb, cj_type to, const layout *la, const layout *lb,
                      const layout *lo, uint64_t m, uint64_t n, uint64_t k)
{
    size_t wrong = 0, size = kb_size(to), used = extent_of(lo, m, n);
    cj_gemm_args x = { .a = rows_of(&a, ta, la, m, k),
                       .b = rows_of(&b, tb, lb, k, n),
                       .out = rows_of(&out, to, lo, m, n),
                       .m = m,
                       .n = n,
                       .k = k };
    unsigned char *seen = calloc(used + 1, 1);
    if (!seen) tap_bail("no memory");
    kb_blank(&out);
    if (!kb_is_ok(kb_s[0], cj_gemm_launch(kb_s[0], g, &x), "launch") || !kb_get(&out)) wrong++;
    for (uint64_t r = 0; r < m; r++)
        for (uint64_t col = 0; col < n; col++) {
            double sum = 0;
            unsigned char want[8];
            size_t at = place_of(lo, m, n, r, col);
            for (uint64_t i = 0; i < k; i++)
                sum += element(&a, ta, place_of(la, m, k, r, i)) * element(&b, tb, place_of(lb, k, n, i, col));
            kb_set(want, to, sum);
            wrong += memcmp((char *)out.host + at * size, want, size) != 0;
            seen[at] = 1;
        }
    for (size_t i = 0; i < used * size; i++) wrong += !seen[i / size] && ((unsigned char *)out.host)[i] != 0xFF;
    free(seen);
    return wrong;
}

static void each_type(void)
{
    static const struct { cj_type a, b, out;
    } types[] = {
        { CJ_F32, CJ_F32, CJ_F32 },   { CJ_F64, CJ_F64, CJ_F64 }, { CJ_F16, CJ_F16, CJ_F16 },
        { CJ_BF16, CJ_BF16, CJ_F32 }, { CJ_F16, CJ_F32, CJ_F32 }, { CJ_S8, CJ_S8, CJ_S32 },
        { CJ_U8, CJ_U8, CJ_U32 },     { CJ_S16, CJ_S16, CJ_S16 }, { CJ_U16, CJ_U16, CJ_U32 },
        { CJ_S32, CJ_S32, CJ_S32 },   { CJ_U32, CJ_U32, CJ_U32 }, { CJ_S64, CJ_S64, CJ_S64 },
        { CJ_U64, CJ_U64, CJ_U64 },
    };
    static const struct { uint64_t m, n, k;
    } sizes[] = {
        { 1, 1, 1 },    { 3, 5, 7 },    { 64, 64, 16 }, { 65, 63, 17 },
        { 1, 130, 33 }, { 129, 1, 15 }, { 31, 32, 50 }, { 67, 66, 0 },
    };
    size_t count = sizeof sizes / sizeof *sizes;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        cj_type ta = types[t].a, tb = types[t].b, to = types[t].out;
        size_t wrong = 0;
        cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = ta, .b_type = tb, .out_type = to));
        if (cj_error_of(g)->status) tap_diag("%s", cj_error_of(g)->message);
        fill_whole(&a, ta, MOST, 1), fill_whole(&b, tb, MOST, 77777);
        for (size_t i = t % 3; i < count; i += tap_is_slow() ? 6 : 3)
            wrong += product(g, ta, tb, to, &layouts[(t + i) % LAYOUTS], &layouts[(t + 2 * i + 1) % LAYOUTS],
                             &layouts[(t + 3 * i) % LAYOUTS], sizes[i].m, sizes[i].n, sizes[i].k);
        tap_is_uint(wrong, 0, "%s by %s to %s is exact", kb_name(ta), kb_name(tb), kb_name(to));
        cj_gemm_free(g);
    }
}

static void each_layout(void)
{
    cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = CJ_F32, .path = CJ_GEMM_SCALAR));
    fill_whole(&a, CJ_F32, MOST, 5), fill_whole(&b, CJ_F32, MOST, 99);
    for (int i = 0; i < LAYOUTS; i++)
        for (int j = i % 2; j < LAYOUTS; j += 2)
            tap_is_uint(
                product(g, CJ_F32, CJ_F32, CJ_F32, &layouts[i], &layouts[j], &layouts[(i + j) % LAYOUTS], 33, 18, 21),
                0, "A by %s, B by %s", layouts[i].name, layouts[j].name);
    cj_gemm_free(g);
}

/* Random numbers: the error of an f32 sum of k products. */
static void random_error(void)
{
    enum { M = 65, N = 21, K = 100 };
    static const cj_type types[] = { CJ_F32, CJ_F64, CJ_F16, CJ_BF16 };
    for (size_t t = 0; t < 4; t++) {
        double worst = 0;
        cj_type type = types[t], to = type == CJ_F64 ? CJ_F64 : CJ_F32;
        cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = type, .out_type = to));
        for (size_t i = 0; i < MOST; i++) {
            kb_set((char *)a.host + i * kb_size(type), type, kb_uniform());
            kb_set((char *)b.host + i * kb_size(type), type, kb_uniform());
        }
        kb_put(&a), kb_put(&b), kb_blank(&out);
        cj_gemm_args x = {
            .a = { a.data, 0, 0 }, .b = { b.data, 0, 0 }, .out = { out.data, 0, 0 }, .m = M, .n = N, .k = K
        };
        kb_is_ok(kb_s[0], cj_gemm_launch(kb_s[0], g, &x), "launch");
        kb_get(&out);
        for (size_t r = 0; r < M; r++)
            for (size_t col = 0; col < N; col++) {
                double sum = 0, all = 0;
                for (size_t i = 0; i < K; i++) {
                    double p = element(&a, type, r * K + i) * element(&b, type, i * N + col);
                    sum += p, all += fabs(p);
                }
                double error = fabs(element(&out, to, r * N + col) - sum) / all;
                kb_note_error(&worst, error);
            }
        tap_ok(worst <= (to == CJ_F64 ? K * 0x1p-53 : K * 0x1p-24), "%s: an error of %.2g of the sum of magnitudes",
               kb_name(type), worst);
        cj_gemm_free(g);
    }
}

/* alpha, beta, bias, batches and a function: out = relu(alpha A B + beta C + bias) + batch + step * column. */
static void everything(bool with_c)
{
    enum { M = 66, N = 35, K = 20, GAP = 11 };
    static const int32_t user_types[] = { CJ_F32, CJ_U32 };
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_func(m, "finish");
    cj_val v = cj_param(f, "v", CJ_F32), row = cj_param(f, "row", CJ_U32), column = cj_param(f, "column", CJ_U32);
    cj_val batch = cj_param(f, "batch", CJ_U32), step = cj_param(f, "step", CJ_F32), from = cj_param(f, "from", CJ_U32);
    cj_val more = cj_fma(f, step, cj_cvt(f, CJ_F32, column), cj_cvt(f, CJ_F32, batch));
    cj_val kept = cj_select(f, cj_ge(f, row, from), cj_max(f, v, 0.0f), v);
    cj_result(f, "r", CJ_F32);
    cj_return_value(f, cj_add(f, kept, more));
    cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = CJ_F32, .scaled = 1, .bias = 1, .module = m,
                                                .function = "finish", .user_types = user_types, .user_count = 2));
    tap_is_int(cj_error_of(g)->status, CJ_OK, "a product with everything: %s", cj_error_of(g)->message);
    const cj_arg user[] = { cj_arg_f32(0.5f), cj_arg_u(7) };
    cj_gemm_args x = { .a = { a.data, 0, 0 }, .b = { b.data, 0, 0 }, .c = { c.data, 0, 0 }, .out = { out.data, 0, 0 },
                       .m = M, .n = N, .k = K, .batches = BATCHES, .a_batch = M * K + GAP, .c_batch = M * N,
                       .out_batch = M * N + GAP, .alpha = -2, .beta = with_c ? 0.5 : 0, .bias = bias.data,
                       .user = user, .user_count = 2 };
    size_t wrong = 0;
    fill_whole(&a, CJ_F32, MOST, 3), fill_whole(&b, CJ_F32, MOST, 4), fill_whole(&c, CJ_F32, MOST, 5);
    fill_whole(&bias, CJ_F32, N, 6);
    if (!with_c) kb_blank(&c);
    kb_blank(&out);
    kb_is_ok(kb_s[0], cj_gemm_launch(kb_s[0], g, &x), "launch");
    wrong += !kb_get(&out);
    for (size_t z = 0; z < BATCHES; z++)
        for (size_t r = 0; r < M; r++)
            for (size_t col = 0; col < N; col++) {
                double sum = 0;
                for (size_t i = 0; i < K; i++)
                    sum += element(&a, CJ_F32, z * (M * K + GAP) + r * K + i) * element(&b, CJ_F32, i * N + col);
                sum = -2 * sum + (with_c ? 0.5 * element(&c, CJ_F32, z * M * N + r * N + col) : 0) +
                      element(&bias, CJ_F32, col);
                if (r >= 7 && sum < 0) sum = 0;
                sum += (double)z + 0.5 * (double)col;
                wrong += element(&out, CJ_F32, z * (M * N + GAP) + r * N + col) != sum;
            }
    tap_is_uint(wrong, 0, "alpha, %s, bias, batches and a function of the user's",
                with_c ? "beta" : "beta 0 and a C of NaN");
    cj_gemm_free(g);
    cj_ptx_free(m);
}

/* One object on all streams at once; a captured launch, replayed by two graphs. */
static void at_once(void)
{
    enum { M = 70, N = 65, K = 40 };
    size_t bytes = M * N * 4;
    cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = CJ_F32));
    char *first = malloc(bytes);
    if (!first) tap_bail("no memory");
    for (size_t i = 0; i < MOST; i++)
        kb_set((char *)a.host + 4 * i, CJ_F32, kb_uniform()), kb_set((char *)b.host + 4 * i, CJ_F32, kb_uniform());
    kb_put(&a), kb_put(&b), kb_blank(&out);
    cj_gemm_args x = {
        .a = { a.data, 0, 0 }, .b = { b.data, 0, 0 }, .out = { out.data, 0, 0 }, .m = M, .n = N, .k = K
    };
    for (int i = 0; i < KB_STREAMS; i++) {
        x.out.data = cj_offset(out.data, (int64_t)(bytes * (size_t)i));
        kb_is_ok(kb_s[i], cj_gemm_launch(kb_s[i], g, &x), "launch");
    }
    kb_get(&out);
    memcpy(first, out.host, bytes);
    for (int i = 1; i < KB_STREAMS; i++)
        tap_is_mem((char *)out.host + bytes * (size_t)i, first, bytes, "stream %d has the bits of stream 0", i);
    x.out.data = out.data;
    cj_capture_begin(kb_s[0], CJ_CAPTURE_THREAD);
    cj_gemm_launch(kb_s[0], g, &x);
    cj_graph *graph = cj_capture_end(kb_s[0]);
    cj_graph_exec *x1 = cj_graph_instantiate(graph, NULL), *x2 = cj_graph_instantiate(graph, NULL);
    cj_gemm_free(g);
    kb_blank(&out);
    for (int i = 0; i < (tap_is_slow() ? 2 : 5); i++)
        cj_graph_launch(kb_beside(0), x1), cj_graph_launch(kb_beside(1), x2);
    kb_get(&out);
    tap_is_mem(out.host, first, bytes, "graphs of one capture, at once, have them too");
    cj_graph_exec_free(x1);
    cj_graph_exec_free(x2);
    cj_graph_free(graph);
    free(first);
}

/* Launches of one object by a thread for each stream, with memory that others have too, and with their own. */
enum { THREAD_SIDE = 24, THREAD_LAUNCHES = 30, THREAD_BYTES = THREAD_SIDE * THREAD_SIDE * 4 };
static struct thread_launches { cj_gemm *g; kb_memory *results; int stream; cj_status status; } threads[KB_STREAMS];

static cj_gemm_args thread_args(const struct thread_launches *t, int i)
{
    const int64_t at = (t->stream * THREAD_LAUNCHES + i) * THREAD_BYTES;
    return (cj_gemm_args){ .a = { cj_offset(a.data, i * 7 % 12 * THREAD_BYTES), 0, 0 },
                           .b = { cj_offset(b.data, i % 3 * THREAD_BYTES), 0, 0 },
                           .out = { cj_offset(t->results->data, at), 0, 0 },
                           .m = THREAD_SIDE, .n = THREAD_SIDE, .k = THREAD_SIDE, .alpha = 1 + i % 2 };
}

static void *thread_main(void *all)
{
    struct thread_launches *t = all;
    for (int i = 0; i < THREAD_LAUNCHES && t->status == CJ_OK; i++) {
        const cj_gemm_args x = thread_args(t, i);
        for (int again = 0; again < 2 && t->status == CJ_OK; again++)
            t->status = cj_gemm_launch(kb_s[t->stream], t->g, &x);
    }
    return NULL;
}

static void by_threads(void)
{
    pthread_t thread[KB_STREAMS];
    kb_memory results = kb_take(KB_STREAMS * THREAD_LAUNCHES * THREAD_BYTES);
    cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = CJ_F32, .scaled = 1));
    size_t wrong = 0;
    fill_whole(&a, CJ_F32, MOST, 13), fill_whole(&b, CJ_F32, MOST, 14);
    kb_blank(&results);
    for (int i = 0; i < KB_STREAMS; i++) {
        threads[i] = (struct thread_launches){ .g = g, .results = &results, .stream = i };
        if (pthread_create(&thread[i], NULL, thread_main, &threads[i])) tap_bail("no thread");
    }
    for (int i = 0; i < KB_STREAMS; i++) {
        pthread_join(thread[i], NULL);
        kb_is_ok(kb_s[i], threads[i].status, "launches of a thread");
    }
    wrong += !kb_get(&results);
    for (int i = 0; i < KB_STREAMS * THREAD_LAUNCHES; i++) {
        const int launch = i % THREAD_LAUNCHES, x = launch * 7 % 12 * THREAD_BYTES / 4;
        const int y = launch % 3 * THREAD_BYTES / 4;
        for (int at = 0; at < THREAD_SIDE * THREAD_SIDE; at++) {
            double sum = 0;
            for (int k = 0; k < THREAD_SIDE; k++)
                sum += element(&a, CJ_F32, (size_t)(x + at / THREAD_SIDE * THREAD_SIDE + k)) *
                       element(&b, CJ_F32, (size_t)(y + k * THREAD_SIDE + at % THREAD_SIDE));
            wrong += element(&results, CJ_F32, (size_t)(i * THREAD_BYTES / 4 + at)) != sum * (1 + launch % 2);
        }
    }
    tap_is_uint(wrong, 0, "threads launch one object on their streams at once");
    cj_gemm_free(g);
    kb_drop(&results);
}

/* More products than a grid has blocks in y, each one element: what lies behind is in z, or a block loops over it. */
static void many_batches(void)
{
    enum { MANY = 65540 };
    static const struct { const char *name; int32_t path; } paths[] = {
        { "scalar", CJ_GEMM_SCALAR }, { "mma", CJ_GEMM_MMA }, { "any", CJ_GEMM_AUTO }
    };
    bool cpu = !strcmp(cj_driver_kind(kb_drv), "sim");
    kb_memory many = kb_take(MANY * 4);
    fill_whole(&a, CJ_S8, 16, 3), fill_whole(&b, CJ_S8, MANY, 71);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (cpu) {
            tap_skip(1, "%d products by path %s take the CPU device minutes", MANY, paths[i].name);
            continue;
        }
        cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = CJ_S8, .path = paths[i].path));
        if (cj_error_of(g)->status == CJ_ENOTSUP) {
            tap_skip(1, "the device has no path %s", paths[i].name);
            cj_gemm_free(g);
            continue;
        }
        const cj_gemm_args args = { .a = { a.data, 0, 0 }, .b = { b.data, 0, 0 }, .out = { many.data, 0, 0 }, .m = 1,
                                    .n = 1, .k = 1, .batches = MANY, .b_batch = 1, .out_batch = 1 };
        size_t wrong = 0;
        kb_blank(&many);
        kb_is_ok(kb_s[0], cj_gemm_launch(kb_s[0], g, &args), "launch");
        if (!kb_get(&many)) wrong++;
        for (size_t j = 0; j < MANY; j++)
            wrong += element(&many, CJ_S32, j) != element(&a, CJ_S8, 0) * element(&b, CJ_S8, j);
        tap_is_uint(wrong, 0, "%d products of one element by path %s", MANY, paths[i].name);
        cj_gemm_free(g);
    }
    kb_drop(&many);
}

static void mistakes(void)
{
    cj_ptx *m = cj_ptx_create();
    const cj_gemm_opts wrong[] = {
        { .size = sizeof *wrong },
        { .size = sizeof *wrong, .type = CJ_PRED },
        { .size = sizeof *wrong, .type = CJ_F32, .out_type = CJ_PRED },
        { .size = sizeof *wrong, .type = CJ_F32, .wide = CJ_F16 },
        { .size = sizeof *wrong, .type = CJ_F32, .wide = CJ_S32 },
        { .size = sizeof *wrong, .type = CJ_F32, .path = 9 },
        { .size = sizeof *wrong, .type = CJ_F32, .function = "f" },
        { .size = sizeof *wrong, .type = CJ_F32, .user_count = 1 },
        { .size = 3, .type = CJ_F32 },
        { .size = sizeof *wrong, .type = CJ_F32, .module = m, .function = "none" },
    };
    static const char *const parts[] = {
        "type is not set; wants an integer of 8 to 64 bits, f16, bf16, f32 or f64",
        "is no type of elements",
        "out_type",
        "wide is f16",
        "elements of f32 are not summed as s32",
        "there is no path 9",
        "module is NULL",
        "user_types without a function",
        "size is 3",
        "none",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cj_gemm *g = cj_gemm_create(kb_dev, &wrong[i]);
        tap_ok(cj_error_of(g)->status != CJ_OK, "it fails: %s", parts[i]);
        tap_has_str(cj_error_of(g)->message, parts[i], "... and says why");
        cj_gemm_free(g);
    }
    cj_ptx_free(m);
    cj_gemm *g = cj_gemm_create(kb_dev, CJ_GEMM(.type = CJ_F32, .scaled = 1, .bias = 1)),
            *s32 = cj_gemm_create(kb_dev, CJ_GEMM(.type = CJ_S32, .scaled = 1));
    const cj_gemm_args good = { .a = { a.data, 0, 0 },
                                .b = { b.data, 0, 0 },
                                .out = { out.data, 0, 0 },
                                .m = 2,
                                .n = 2,
                                .k = 2,
                                .alpha = 1,
                                .bias = bias.data };
    cj_gemm_args x[8];
    for (int i = 0; i < 8; i++) x[i] = good;
    x[0].m = (uint64_t)1 << 31;
    x[1].m = x[1].n = (uint64_t)1 << 23;
    x[2].a.data.addr += 2;
    x[3].bias.addr = 0;
    x[4].batches = 2;
    x[5].beta = 1;
    x[6].user_count = 1, x[6].user = &(const cj_arg){ CJ_ARG_U, 8, { 0 } };
    x[7].alpha = 0.5, x[7].bias.addr = 0;
    static const char *const why[] = { "m is 2147483648, at most 2^31 - 1",
                                       "more tiles than a grid has blocks",
                                       "a is at",
                                       "bias has no memory",
                                       "out_batch is 0, with 2 batches",
                                       "c has no memory",
                                       "1 user arguments, the function takes 0",
                                       "alpha is 0.5, which s32 does not have" };
    for (int i = 0; i < 8; i++) {
        tap_is_int(cj_gemm_launch(kb_s[0], i == 7 ? s32 : g, &x[i]), CJ_EINVAL, "a launch fails: %s", why[i]);
        tap_has_str(cj_error_of(kb_s[0])->message, why[i], "... and says why");
        cj_error_clear(kb_s[0]);
    }
    tap_is_int(cj_gemm_launch(kb_s[0], g, NULL), CJ_EINVAL, "NULL arguments");
    cj_error_clear(kb_s[0]);
    x[0] = good, x[0].m = 0;
    tap_is_int(cj_gemm_launch(kb_s[0], g, &x[0]), CJ_OK, "no rows: nothing is done");
    const char *text = "";
    tap_is_int(cj_gemm_ptx(g, 0, &text, NULL), CJ_OK, "the code is printed");
    tap_has_str(text, ".entry cj_gemm_scalar(", "... with its kernel");
    cj_gemm_free(g);
    cj_gemm_free(s32);
}

int main(void)
{
    kb_open();
    tap_timeout(60);
    a = kb_take(MOST * 8), b = kb_take(MOST * 8), c = kb_take(MOST * 8), out = kb_take(MOST * 8), bias = kb_take(4096);
    each_type();
    each_layout();
    random_error();
    everything(true);
    everything(false);
    at_once();
    by_threads();
    many_batches();
    mistakes();
    kb_drop(&a), kb_drop(&b), kb_drop(&c), kb_drop(&out), kb_drop(&bias);
    return kb_close();
}
