/* Products of a matrix and a vector: blocks of ggml in random bytes, elements; vectors of each type, quantised here or
 * before. */
#include "tests/kernels/kernels_bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 37, MOST_COLUMNS = 12544 };

/* -- The formats, as ggml takes them apart ------------------------------------------------------------------------- */

static double half_at(const uint8_t *b) { return kb_f16_value((uint16_t)(b[0] | b[1] << 8)); }

static void q4_0(const uint8_t *b, double *y)
{
    for (int i = 0; i < 16; i++) {
        y[i] = half_at(b) * ((b[2 + i] & 15) - 8);
        y[i + 16] = half_at(b) * ((b[2 + i] >> 4) - 8);
    }
}

static void q8_0(const uint8_t *b, double *y)
{
    for (int i = 0; i < 32; i++) y[i] = half_at(b) * (int8_t)b[2 + i];
}

static void q4_k(const uint8_t *b, double *y)
{
    const uint8_t *q = b + 4, *qs = b + 16;
    for (int j = 0; j < 8; j++) {
        int scale = j < 4 ? q[j] & 63 : (q[j + 4] & 15) | (q[j - 4] >> 6) << 4;
        int least = j < 4 ? q[j + 4] & 63 : q[j + 4] >> 4 | (q[j] >> 6) << 4;
        for (int l = 0; l < 32; l++) {
            int byte = qs[j / 2 * 32 + l], n = j % 2 ? byte >> 4 : byte & 15;
            y[32 * j + l] = half_at(b) * scale * n - half_at(b + 2) * least;
        }
    }
}

static void q6_k(const uint8_t *b, double *y)
{
    const uint8_t *ql = b, *qh = b + 128;
    const int8_t *sc = (const int8_t *)b + 192;
    for (int n = 0; n < 2; n++, ql += 64, qh += 32, sc += 8, y += 128)
        for (int l = 0; l < 32; l++) {
            int is = l / 16;
            y[l] = half_at(b + 208) * sc[is] * (((ql[l] & 15) | (qh[l] & 3) << 4) - 32);
            y[l + 32] = half_at(b + 208) * sc[is + 2] * (((ql[l + 32] & 15) | (qh[l] >> 2 & 3) << 4) - 32);
            y[l + 64] = half_at(b + 208) * sc[is + 4] * ((ql[l] >> 4 | (qh[l] >> 4 & 3) << 4) - 32);
            y[l + 96] = half_at(b + 208) * sc[is + 6] * ((ql[l + 32] >> 4 | (qh[l] >> 6 & 3) << 4) - 32);
        }
}

static const struct {
    const char *name;
    cj_gemv_format format;
    int columns, bytes;
    void (*take)(const uint8_t *, double *);
} formats[] = {
    { "f16", CJ_GEMV_F16, 1, 2, NULL },       { "bf16", CJ_GEMV_BF16, 1, 2, NULL },
    { "Q4_0", CJ_GEMV_Q4_0, 32, 18, q4_0 },   { "Q8_0", CJ_GEMV_Q8_0, 32, 34, q8_0 },
    { "Q4_K", CJ_GEMV_Q4_K, 256, 144, q4_k }, { "Q6_K", CJ_GEMV_Q6_K, 256, 210, q6_k },
};

/* Random bytes, with scales that are numbers. */
static void random_matrix(int f, uint8_t *m, size_t blocks)
{
    static const int half_places[][2] = { { 0, -1 }, { -1, -1 }, { 0, -1 }, { 0, -1 }, { 0, 2 }, { 208, -1 } };
    for (size_t b = 0; b < blocks; b++, m += formats[f].bytes) {
        for (int i = 0; i < formats[f].bytes; i++) m[i] = (uint8_t)(kb_random() >> 9);
        if (f == 1) kb_set(m, CJ_BF16, kb_uniform());
        for (int i = 0; i < 2; i++)
            if (half_places[f][i] >= 0) kb_set(m + half_places[f][i], CJ_F16, kb_uniform() / 16);
    }
}

static void row_of(int f, const uint8_t *m, size_t columns, double *w)
{
    for (size_t c = 0; c < columns; c += (size_t)formats[f].columns, m += formats[f].bytes) {
        if (formats[f].take) formats[f].take(m, w + c);
        else w[c] = kb_value(m, f ? CJ_BF16 : CJ_F16);
    }
}

/* The vector as it is multiplied, quantised as kernels.h says. */
static void vector_of(const uint8_t *x, cj_type type, size_t columns, bool blocks, double *v, uint8_t *quantised)
{
    for (size_t i = 0; i < columns; i++) v[i] = kb_value(x + i * kb_size(type), type);
    for (size_t b = 0; blocks && b < columns; b += 32, quantised += 40) {
        float most = 0, factor;
        int32_t sum = 0;
        for (size_t i = b; i < b + 32; i++) most = fmaxf(most, (float)fabs(v[i]));
        float d = most / 127;
        factor = d == 0 ? 0 : 1 / d;
        for (size_t i = b; i < b + 32; i++) {
            int q = (int)nearbyintf((float)v[i] * factor);
            quantised[8 + i - b] = (uint8_t)(int8_t)q;
            sum += q;
            v[i] = (double)d * q;
        }
        memcpy(quantised, &d, 4);
        memcpy(quantised + 4, &sum, 4);
    }
}

/* Whether a launch takes the kernel of bulk copies, which needs no workspace. */
static bool takes_bulk(int f, uint64_t columns, uint64_t row_bytes)
{
    cj_device_info info;
    cj_device_info_defaults(&info);
    cj_device_get_info(kb_dev, &info);
    uint64_t packed = columns / (uint64_t)formats[f].columns * (uint64_t)formats[f].bytes;
    return info.sm_major >= 9 && columns && packed % 16 == 0 && row_bytes % 16 == 0;
}

static bool is_blank(const uint8_t *b, size_t bytes)
{
    while (bytes && *b == 0xFF) b++, bytes--;
    return !bytes;
}

/* The distance of a result of type `t` from `want`, beyond half a unit of the type, as a part of `all`. */
static double error_beyond(double got, double want, double all, cj_type t)
{
    double half = t == CJ_F32 ? 0 : fmax(fabs(want) * (t == CJ_F16 ? 0x1p-11 : 0x1p-8), t == CJ_F16 ? 0x1p-25 : 0);
    double off = fabs(got - want);
    return off == off ? fmax(0, off - half) / (all + 1e-30) : off;
}

static void each_format(void)
{
    static const struct { uint64_t rows, columns; cj_type x, out; bool before; uint64_t gap;
    } cases[] = {
        { 1, 256, CJ_F32, CJ_F32, false, 0 },   { 37, 768, CJ_F16, CJ_F32, false, 4 },
        { 9, 2304, CJ_BF16, CJ_F32, false, 0 }, { 8, 512, CJ_F32, CJ_F32, true, 8 },
        { 17, 1024, CJ_F32, CJ_BF16, true, 0 }, { 5, 0, CJ_F32, CJ_F32, false, 0 },
        { 33, 32, CJ_F32, CJ_F16, false, 0 },   { 3, 301, CJ_F16, CJ_F32, false, 2 },
        { 7, 2048, CJ_F16, CJ_F32, false, 16 }, { 20, 6144, CJ_F32, CJ_F32, true, 0 },
        { 3, 10240, CJ_BF16, CJ_F32, false, 0 }, { 5, 12544, CJ_F32, CJ_F32, true, 16 },
    };
    static double w[MOST_COLUMNS], v[MOST_COLUMNS];
    static uint8_t quantised[MOST_COLUMNS / 32 * 40];
    kb_memory m = kb_take(MOST_ROWS * (MOST_COLUMNS * 2 + 16)), x = kb_take(MOST_COLUMNS * 4),
              out = kb_take(MOST_ROWS * 4);
    kb_memory q = kb_take(sizeof quantised), space = kb_take(sizeof quantised + 256);
    for (int f = 0; f < 6; f++) {
        double worst = 0;
        size_t wrong = 0;
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            uint64_t columns = cases[k].columns, rows = cases[k].rows;
            bool blocks = f >= 2, before = blocks && cases[k].before;
            if (columns % (uint64_t)formats[f].columns || (tap_is_slow() && k % 2)) continue;
            uint64_t row_bytes = columns / (uint64_t)formats[f].columns * (uint64_t)formats[f].bytes +
                                 (f == 4 ? cases[k].gap / 4 * 4 : cases[k].gap);
            cj_gemv *g = cj_gemv_create(kb_dev, CJ_GEMV(.format = formats[f].format, .x_type = cases[k].x,
                                                        .out_type = cases[k].out, .quantised = before,
                                                        .constant_matrix = k % 3 == 1));
            if (cj_error_of(g)->status) tap_diag("%s", cj_error_of(g)->message);
            for (uint64_t r = 0; r < rows; r++)
                random_matrix(f, (uint8_t *)m.host + r * row_bytes, columns / (uint64_t)formats[f].columns);
            for (uint64_t i = 0; i < columns; i++)
                kb_set((char *)x.host + i * kb_size(cases[k].x), cases[k].x, i / 32 == 3 ? 0 : kb_uniform());
            vector_of(x.host, cases[k].x, columns, blocks, v, quantised);
            memcpy(q.host, quantised, sizeof quantised);
            kb_put(&m), kb_put(&x), kb_put(&q), kb_blank(&out), kb_blank(&space);
            cj_gemv_args a = { .matrix = m.data,
                               .row_bytes = row_bytes,
                               .x = before ? q.data : x.data,
                               .out = out.data,
                               .rows = rows,
                               .columns = columns,
                               .workspace = { space.data, cj_gemv_workspace(g, columns) } };
            wrong += !kb_is_ok(kb_s[0], cj_gemv_launch(kb_s[0], g, &a), "gemv") || !kb_get(&out) || !kb_get(&space);
            if (blocks && !before && takes_bulk(f, columns, row_bytes)) wrong += !is_blank(space.host, space.bytes);
            else if (blocks && !before) wrong += memcmp(space.host, quantised, columns / 32 * 40) != 0;
            for (uint64_t r = 0; r < rows; r++) {
                double want = 0, all = 0;
                row_of(f, (uint8_t *)m.host + r * row_bytes, columns, w);
                for (uint64_t i = 0; i < columns; i++) want += w[i] * v[i], all += fabs(w[i] * v[i]);
                double got = kb_value((char *)out.host + r * kb_size(cases[k].out), cases[k].out);
                kb_note_error(&worst, error_beyond(got, want, all, cases[k].out));
            }
            for (size_t i = rows * kb_size(cases[k].out); i < out.bytes; i++) wrong += ((uint8_t *)out.host)[i] != 0xFF;
            cj_gemv_free(g);
        }
        tap_ok(worst < 1e-6, "%s: an error of %.2g of the sum of magnitudes on the same vector", formats[f].name,
               worst);
        tap_is_uint(wrong, 0, "%s: the vector is quantised as the header says, and nothing else is written",
                    formats[f].name);
    }
    kb_drop(&m), kb_drop(&x), kb_drop(&out), kb_drop(&q), kb_drop(&space);
}

/* Launches of one product with one vector, of elements and quantised, once and again: the same bits. */
static void same_bits(void)
{
    static const struct { uint64_t rows, columns; } cases[] = { { 37, 4096 }, { 6, 10240 }, { 11, 256 } };
    kb_memory m = kb_take(37 * 8192), x = kb_take(10240 * 2), q = kb_take(10240 / 32 * 40), out = kb_take(3 * 37 * 4);
    kb_memory space = kb_take(10240 / 32 * 40 + 256);
    for (int f = 2; f < 6; f++) {
        size_t wrong = 0;
        cj_gemv *g[2];
        for (int i = 0; i < 2; i++)
            g[i] = cj_gemv_create(kb_dev, CJ_GEMV(.format = formats[f].format, .x_type = CJ_F16, .quantised = i));
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            uint64_t rows = cases[k].rows, columns = cases[k].columns;
            random_matrix(f, m.host, rows * columns / (uint64_t)formats[f].columns);
            for (uint64_t i = 0; i < columns; i++) kb_set((char *)x.host + 2 * i, CJ_F16, kb_uniform());
            kb_put(&m), kb_put(&x), kb_blank(&out);
            wrong += !kb_is_ok(kb_s[0], cj_gemv_quantise(kb_s[0], g[0], x.data, columns, q.data), "quantise");
            for (int i = 0; i < 3; i++) {
                cj_gemv_args a = { .matrix = m.data, .x = i == 1 ? q.data : x.data, .rows = rows, .columns = columns,
                                   .out = cj_offset(out.data, (int64_t)(i * rows * 4)),
                                   .workspace = { space.data, space.bytes } };
                wrong += !kb_is_ok(kb_s[0], cj_gemv_launch(kb_s[0], g[i == 1], &a), "gemv");
            }
            wrong += !kb_get(&out);
            for (uint64_t i = 1; i < 3; i++)
                wrong += memcmp(out.host, (char *)out.host + i * rows * 4, rows * 4) != 0;
        }
        tap_is_uint(wrong, 0, "%s: a vector quantised by the launch or before it gives the same bits, once and again",
                    formats[f].name);
        cj_gemv_free(g[0]), cj_gemv_free(g[1]);
    }
    kb_drop(&m), kb_drop(&x), kb_drop(&q), kb_drop(&out), kb_drop(&space);
}

/* More rows than the device has warps at once: each warp takes several, one by one. */
static void many_rows(void)
{
    enum { ROWS = 9001, MOST = 2048 };
    static double v[MOST], w[MOST];
    static uint8_t quantised[MOST / 32 * 40];
    kb_memory m = kb_take((size_t)ROWS * MOST / 256 * 210), x = kb_take(MOST * 4), q = kb_take(sizeof quantised);
    kb_memory out = kb_take(ROWS * 4);
    for (int f = 0; f < 6; f++) {
        uint64_t columns = f < 2 ? 40 : f == 5 ? 2048 : 256, blocks = columns / (uint64_t)formats[f].columns;
        double worst = 0;
        if (tap_is_slow() && f != 2) continue;
        cj_gemv *g = cj_gemv_create(kb_dev, CJ_GEMV(.format = formats[f].format, .quantised = f >= 2,
                                                    .constant_matrix = f % 2));
        random_matrix(f, m.host, ROWS * blocks);
        for (uint64_t i = 0; i < columns; i++) ((float *)x.host)[i] = (float)kb_uniform();
        vector_of(x.host, CJ_F32, columns, f >= 2, v, quantised);
        memcpy(q.host, quantised, sizeof quantised);
        kb_put(&m), kb_put(&q), kb_put(&x), kb_blank(&out);
        cj_gemv_args a = { .matrix = m.data, .x = f >= 2 ? q.data : x.data, .out = out.data, .rows = ROWS,
                           .columns = columns };
        bool good = kb_is_ok(kb_s[0], cj_gemv_launch(kb_s[0], g, &a), "gemv") && kb_get(&out);
        for (size_t r = 0; r < ROWS; r++) {
            double want = 0, all = 0;
            row_of(f, (uint8_t *)m.host + r * blocks * (uint64_t)formats[f].bytes, columns, w);
            for (uint64_t i = 0; i < columns; i++) want += w[i] * v[i], all += fabs(w[i] * v[i]);
            double error = fabs(((float *)out.host)[r] - want) / (all + 1e-30);
            worst = fmax(worst, error == error ? error : INFINITY);
        }
        tap_ok(good && worst < 1e-6, "%s: %d rows: an error of %.2g", formats[f].name, ROWS, worst);
        cj_gemv_free(g);
    }
    kb_drop(&m), kb_drop(&x), kb_drop(&q), kb_drop(&out);
}

/* Launches that follow one another at once, in a stream and in a graph: each waits for its vector and its matrix, which
 * the kernel in front of it writes. */
static void chains(void)
{
    enum { SIZE = 512, LINKS = 8 };
    const size_t bytes = (size_t)SIZE * SIZE * 2;
    kb_memory m[2] = { kb_take(bytes), kb_take(bytes) }, used = kb_take(bytes);
    kb_memory x = kb_take(SIZE * 2), out = kb_take((LINKS + 1) * SIZE * 2), want = kb_take((LINKS + 1) * SIZE * 2);
    cj_gemv *g = cj_gemv_create(kb_dev, CJ_GEMV(.format = CJ_GEMV_F16, .x_type = CJ_F16, .out_type = CJ_F16));
    cj_elementwise *copy = cj_elementwise_create(kb_dev, CJ_ELEMENTWISE(.inputs = 1, .types[0] = CJ_F16));
    for (int i = 0; i < 2; i++) {
        for (size_t k = 0; k < bytes / 2; k++) kb_set((char *)m[i].host + 2 * k, CJ_F16, kb_uniform() / 16);
        kb_put(&m[i]);
    }
    for (size_t k = 0; k < SIZE; k++) kb_set((char *)x.host + 2 * k, CJ_F16, kb_uniform());
    kb_put(&x), kb_blank(&out), kb_blank(&want), kb_blank(&used);
    for (int way = 0; way < 3; way++) { /* one by one; at once; in a graph */
        cj_stream *s = kb_s[0];
        cj_dptr to = way ? out.data : want.data, from = x.data;
        if (way == 2) kb_blank(&out), cj_capture_begin(s, CJ_CAPTURE_THREAD);
        for (int i = 0; i < LINKS; i++) {
            cj_dptr next = cj_offset(to, i * SIZE * 2);
            cj_elementwise_args c = { .in = { { .data = m[i % 2].data } }, .out = { .data = used.data }, .rows = 1,
                                      .columns = bytes / 2 };
            cj_gemv_args a = { .matrix = used.data, .x = from, .out = next, .rows = SIZE, .columns = SIZE };
            cj_elementwise_launch(s, copy, &c);
            if (!way) cj_stream_sync(s);
            cj_gemv_launch(s, g, &a);
            if (!way) cj_stream_sync(s);
            from = next;
        }
        cj_gemv_args last = { .matrix = used.data, .x = from, .out = cj_offset(to, LINKS * SIZE * 2), .rows = SIZE,
                              .columns = SIZE };
        cj_gemv_launch(s, g, &last);
        if (way == 2) {
            cj_graph *graph = cj_capture_end(s);
            cj_graph_exec *exec = cj_graph_instantiate(graph, NULL);
            for (int i = 0; i < 3; i++) cj_graph_launch(s, exec);
            tap_is_int(cj_stream_sync(s), CJ_OK, "the graph: %s", cj_error_of(exec)->message);
            cj_graph_exec_free(exec);
            cj_graph_free(graph);
        }
        bool good = kb_get(&out) && kb_get(&want);
        if (way) tap_ok(good && !memcmp(out.host, want.host, out.bytes), "a chain of launches %s",
                        way == 1 ? "in a stream" : "in a graph");
    }
    cj_gemv_free(g);
    cj_elementwise_free(copy);
    kb_drop(&m[0]), kb_drop(&m[1]), kb_drop(&used), kb_drop(&x), kb_drop(&out), kb_drop(&want);
}

/* Launches that read their constant matrix early, and wait for the vector that the one in front of them writes. */
static void constant_matrix(void)
{
    enum { SIZE = 512, LINKS = 8 };
    const size_t bytes = (size_t)SIZE * SIZE * 2;
    kb_memory m = kb_take(bytes), x = kb_take(SIZE * 2), out = kb_take(2 * LINKS * SIZE * 2);
    for (size_t k = 0; k < bytes / 2; k++) kb_set((char *)m.host + 2 * k, CJ_F16, kb_uniform() / 16);
    for (size_t k = 0; k < SIZE; k++) kb_set((char *)x.host + 2 * k, CJ_F16, kb_uniform());
    kb_put(&m), kb_put(&x), kb_blank(&out);
    for (int way = 0; way < 2; way++) { /* one by one; in a graph, constant */
        cj_gemv *g = cj_gemv_create(kb_dev, CJ_GEMV(.format = CJ_GEMV_F16, .x_type = CJ_F16, .out_type = CJ_F16,
                                                    .constant_matrix = way));
        cj_stream *s = kb_s[0];
        cj_dptr from = x.data;
        cj_stream_sync(s);
        if (way) cj_capture_begin(s, CJ_CAPTURE_THREAD);
        for (int i = 0; i < LINKS; i++) {
            cj_dptr next = cj_offset(out.data, (way * LINKS + i) * SIZE * 2);
            cj_gemv_launch(s, g, &(cj_gemv_args){ .matrix = m.data, .x = from, .out = next, .rows = SIZE,
                                                  .columns = SIZE });
            if (!way) cj_stream_sync(s);
            from = next;
        }
        if (way) {
            cj_graph *graph = cj_capture_end(s);
            cj_graph_exec *exec = cj_graph_instantiate(graph, NULL);
            for (int i = 0; i < 3; i++) cj_graph_launch(s, exec);
            tap_is_int(cj_stream_sync(s), CJ_OK, "a graph with a constant matrix: %s", cj_error_of(exec)->message);
            cj_graph_exec_free(exec);
            cj_graph_free(graph);
        }
        cj_gemv_free(g);
    }
    tap_ok(kb_get(&out) && !memcmp(out.host, (char *)out.host + LINKS * SIZE * 2, LINKS * SIZE * 2),
           "a chain of launches with a constant matrix");
    kb_drop(&m), kb_drop(&x), kb_drop(&out);
}

/* Rows are copied in front of the wait for other kernels if the matrix is constant; the vector never is. */
static void reads_in_front(void)
{
    for (int constant = 0; constant < 2; constant++) {
        const char *text = "";
        unsigned waits = 0, early = 0, vector = 0;
        cj_gemv *g = cj_gemv_create(kb_dev, CJ_GEMV(.format = CJ_GEMV_Q4_0, .quantised = 1,
                                                    .constant_matrix = constant));
        cj_gemv_ptx(g, 0, &text, NULL);
        for (const char *at = strstr(text, "griddepcontrol.wait"); at; at = strstr(at + 1, "griddepcontrol.wait")) {
            const char *entry = at;
            while (entry > text && strncmp(entry, ".entry", 6) != 0) entry--;
            const char *rows = strstr(entry, "cp.async.bulk.shared"), *x = strstr(entry, "ld.global");
            waits++;
            early += rows && rows < at;
            vector += x && x < at;
        }
        if (!waits) tap_skip(1, "there is no kernel of bulk copies");
        else tap_is_uint(early, constant ? waits : 0, "rows of %s are copied %s the wait for other kernels",
                         constant ? "a constant matrix" : "another matrix", constant ? "in front of" : "behind");
        tap_is_uint(vector, 0, "the vector is loaded behind it");
        cj_gemv_free(g);
    }
}

static void note_shared(void *user, uint64_t number, const char *name, const char *text, int result)
{
    const char *at = strstr(text, ", shared ");
    (void)number, (void)result;
    if (!strcmp(name, "cuLaunchKernelEx") && at) *(long *)user = strtol(at + strlen(", shared "), NULL, 10);
}

/* Two blocks of a multiprocessor take all of its shared memory, with a constant matrix two thirds of it, if the rest is
 * enough for another block. */
static void room_for_the_next(void)
{
    const struct { uint64_t columns; long blocks; } cases[] = { { 256, 3 }, { 8192, 2 } };
    long shared = 0;
    cj_driver *drv = cj_driver_open_interposed(kb_drv, CJ_INTERPOSER(.after = note_shared, .user = &shared));
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_device_info info;
    cj_device_info_defaults(&info);
    cj_device_get_info(dev, &info);
    for (int k = 0; k < 4; k++) {
        const long blocks = k % 2 ? cases[k / 2].blocks : 2;
        cj_dptr at = { .addr = 1 << 20 }; /* nothing is launched */
        cj_gemv *g = cj_gemv_create(dev, CJ_GEMV(.format = CJ_GEMV_Q4_0, .quantised = 1, .constant_matrix = k % 2));
        shared = 0;
        cj_capture_begin(s, CJ_CAPTURE_THREAD);
        cj_gemv_launch(s, g, &(cj_gemv_args){ .matrix = at, .x = at, .out = at, .columns = cases[k / 2].columns,
                                              .rows = (uint64_t)info.multiprocessors * 32 });
        cj_graph_free(cj_capture_end(s));
        if (!shared) tap_skip(1, "there is no programmatic kernel of bulk copies");
        else if (info.multiprocessor_shared < 200 << 10) tap_skip(1, "two blocks do not fit");
        else tap_is_int(info.multiprocessor_shared / (shared + 1024), blocks, "room for %ld blocks, %llu columns",
                        blocks, (unsigned long long)cases[k / 2].columns);
        cj_gemv_free(g);
    }
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
}

/* A product behind kernels of two streams, one of which writes its matrix, the other one its vector. */
static void joined_streams(void)
{
    enum { SIZE = 512 };
    const size_t bytes = (size_t)SIZE * SIZE * 2;
    kb_memory m = kb_take(bytes), used = kb_take(bytes), x = kb_take(SIZE * 2), out = kb_take(4 * SIZE * 2);
    cj_gemv *g = cj_gemv_create(kb_dev, CJ_GEMV(.format = CJ_GEMV_F16, .x_type = CJ_F16, .out_type = CJ_F16));
    cj_elementwise *copy = cj_elementwise_create(kb_dev, CJ_ELEMENTWISE(.inputs = 1, .types[0] = CJ_F16));
    for (size_t k = 0; k < bytes / 2; k++) kb_set((char *)m.host + 2 * k, CJ_F16, kb_uniform() / 16);
    for (size_t k = 0; k < SIZE; k++) kb_set((char *)x.host + 2 * k, CJ_F16, kb_uniform());
    kb_put(&m), kb_put(&x), kb_blank(&out), kb_blank(&used);
    for (int way = 0; way < 2; way++) { /* one by one; in a graph */
        cj_stream *s = kb_s[0], *t = way ? kb_s[1] : s;
        cj_dptr first = cj_offset(out.data, 2 * way * SIZE * 2), second = cj_offset(first, SIZE * 2);
        cj_elementwise_args c = { .in = { { .data = m.data } }, .out = { .data = used.data }, .rows = 1,
                                  .columns = bytes / 2 };
        cj_gemv_args a = { .matrix = m.data, .x = x.data, .out = first, .rows = SIZE, .columns = SIZE };
        cj_gemv_args b = { .matrix = used.data, .x = first, .out = second, .rows = SIZE, .columns = SIZE };
        if (way) {
            kb_blank(&used);
            cj_capture_begin(s, CJ_CAPTURE_THREAD);
            cj_stream_fork(s, t);
        }
        cj_elementwise_launch(t, copy, &c);
        cj_gemv_launch(s, g, &a);
        if (way) cj_stream_join(s, t);
        else cj_stream_sync(s);
        cj_gemv_launch(s, g, &b);
        if (way) {
            cj_graph *graph = cj_capture_end(s);
            cj_graph_exec *exec = cj_graph_instantiate(graph, NULL);
            cj_graph_launch(s, exec);
            tap_is_int(cj_stream_sync(s), CJ_OK, "a graph of two streams: %s", cj_error_of(exec)->message);
            cj_graph_exec_free(exec);
            cj_graph_free(graph);
        }
        cj_stream_sync(s);
    }
    tap_ok(kb_get(&out) && !memcmp(out.host, (char *)out.host + 2 * SIZE * 2, 2 * SIZE * 2),
           "a product behind kernels of two streams");
    cj_gemv_free(g);
    cj_elementwise_free(copy);
    kb_drop(&m), kb_drop(&used), kb_drop(&x), kb_drop(&out);
}

static void quantised_once(void)
{
    kb_memory x = kb_take(64 * 4), q = kb_take(80);
    uint8_t want[80];
    double v[64];
    cj_gemv *g = cj_gemv_create(kb_dev, CJ_GEMV(.format = CJ_GEMV_Q8_0)),
            *e = cj_gemv_create(kb_dev, CJ_GEMV(.format = CJ_GEMV_F16));
    for (int i = 0; i < 64; i++) ((float *)x.host)[i] = (float)kb_uniform();
    vector_of(x.host, CJ_F32, 64, true, v, want);
    kb_put(&x), kb_blank(&q);
    kb_is_ok(kb_s[0], cj_gemv_quantise(kb_s[0], g, x.data, 64, q.data), "quantise");
    tap_ok(kb_get(&q) && !memcmp(q.host, want, 80), "a vector is quantised for several products");
    tap_is_uint(cj_gemv_quantised_bytes(64), 80, "its size");
    const struct { cj_status got; const char *says; } cases[] = {
        { cj_gemv_quantise(kb_s[0], e, x.data, 64, q.data), "made for elements" },
    };
    tap_has_str(cj_error_of(kb_s[0])->message, cases[0].says, "%s", cj_error_of(kb_s[0])->message);
    cj_error_clear(kb_s[0]);
    tap_is_int(
        cj_gemv_launch(kb_s[0], g,
                       &(cj_gemv_args){ .matrix = x.data, .x = x.data, .out = q.data, .rows = 1, .columns = 33 }),
        CJ_EINVAL, "33 columns");
    tap_has_str(cj_error_of(kb_s[0])->message, "33 columns; Q8_0 wants a multiple of 32", "%s",
                cj_error_of(kb_s[0])->message);
    cj_error_clear(kb_s[0]);
    tap_is_int(
        cj_gemv_launch(
            kb_s[0], g,
            &(cj_gemv_args){ .matrix = cj_offset(x.data, 1), .x = x.data, .out = q.data, .rows = 1, .columns = 32 }),
        CJ_EINVAL, "an odd address");
    tap_has_str(cj_error_of(kb_s[0])->message, "wants memory aligned to 2 bytes", "%s", cj_error_of(kb_s[0])->message);
    cj_error_clear(kb_s[0]);
    tap_is_int(
        cj_gemv_launch(
            kb_s[0], g,
            &(cj_gemv_args){ .matrix = x.data, .row_bytes = 20, .x = x.data, .out = q.data, .rows = 1, .columns = 32 }),
        CJ_EINVAL, "short rows");
    tap_has_str(cj_error_of(kb_s[0])->message, "rows of 20 bytes; 32 columns of Q8_0 have 34", "%s",
                cj_error_of(kb_s[0])->message);
    cj_error_clear(kb_s[0]);
    cj_gemv_free(g), cj_gemv_free(e);
    g = cj_gemv_create(kb_dev, CJ_GEMV(.format = CJ_GEMV_BF16, .quantised = 1));
    tap_is_int(cj_error_of(g)->status, CJ_ENOTSUP, "%s", cj_error_of(g)->message);
    cj_gemv_free(g);
    kb_drop(&x), kb_drop(&q);
}

int main(void)
{
    kb_open();
    tap_timeout(60);
    each_format();
    same_bits();
    many_rows();
    chains();
    constant_matrix();
    reads_in_front();
    room_for_the_next();
    joined_streams();
    quantised_once();
    return kb_close();
}
