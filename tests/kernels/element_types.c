/* Functions of elements with each number of inputs and of numbers, of integers of each type, in place and not; and
 * elements of each type that become ones of another type. */
#include "tests/kernels/kernels_bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const cj_type types[] = { CJ_U8,  CJ_S8,  CJ_U16, CJ_S16,  CJ_U32, CJ_S32,
                                 CJ_U64, CJ_S64, CJ_F16, CJ_BF16, CJ_F32, CJ_F64 };
enum { TYPES = sizeof types / sizeof *types, INTEGERS = 8, INPUTS = CJ_ELEMENTWISE_MAX };
enum { COLUMNS = 2311, MOST = (COLUMNS + 1) * 8 };

static bool is_signed(cj_type t) { return t == CJ_S8 || t == CJ_S16 || t == CJ_S32 || t == CJ_S64; }

/* The type that an element is handed over in. */
static cj_type parameter_of(cj_type t)
{
    if (kb_size(t) >= 4) return t;
    return kb_floating(t) ? CJ_F32 : is_signed(t) ? CJ_S32 : CJ_U32;
}

/* The bits of an element of integers, as 64 bits. */
static uint64_t whole_of(const void *at, cj_type t)
{
    uint64_t u = 0;
    unsigned above = 64 - 8 * (unsigned)kb_size(t);
    memcpy(&u, at, kb_size(t));
    return is_signed(t) ? (uint64_t)((int64_t)(u << above) >> above) : u;
}

static void random_bits(kb_memory *m)
{
    for (size_t i = 0; i < m->bytes / 4; i++) ((uint32_t *)m->host)[i] = kb_random();
    kb_put(m);
}

/* ---- Any number of inputs ---------------------------------------------------------------------------------------- */

/* Horner's rule in u64: 1, times 31 plus the first input, and so on; behind them the numbers, which are whole. */
static cj_ptx *horner_module(unsigned inputs, const cj_type *in, unsigned numbers)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_func(m, "horner");
    cj_val v[2 * INPUTS], sum = cj_let(f, CJ_U64, 1);
    char name[16];
    for (unsigned i = 0; i < inputs + numbers; i++) {
        snprintf(name, sizeof name, "v%u", i);
        v[i] = cj_param(f, name, i < inputs ? parameter_of(in[i]) : CJ_F32);
    }
    for (unsigned i = 0; i < inputs + numbers; i++) {
        cj_val whole = i >= inputs || is_signed(in[i]) ? cj_bits(f, CJ_U64, cj_cvt(f, CJ_S64, v[i]))
                                                       : cj_cvt(f, CJ_U64, v[i]);
        cj_assign(f, sum, cj_mad(f, sum, 31, whole));
    }
    cj_return_value(f, sum);
    return m;
}

static uint64_t horner(const cj_elementwise_opts *o, char *const *e, size_t column, const float *numbers)
{
    uint64_t sum = 1;
    for (unsigned i = 0; i < o->inputs; i++) {
        cj_type t = (cj_type)o->types[i];
        sum = sum * 31 + whole_of(e[i] + column * kb_size(t), t);
    }
    for (unsigned i = 0; i < o->numbers; i++) sum = sum * 31 + (uint64_t)(int64_t)numbers[i];
    return sum;
}

/* Rows from element `shift` on; in place of the last input, which has elements of the size of the results. */
static size_t wrong_results(cj_elementwise *x, const cj_elementwise_opts *o, kb_memory *in, kb_memory *out,
                            size_t shift, bool place)
{
    size_t wrong = 0, size = kb_size((cj_type)o->out_type);
    char *e[INPUTS];
    static char last[MOST];
    cj_elementwise_args a = { .out = { cj_offset(out->data, (int64_t)(shift * size)), 0, 0 }, .columns = COLUMNS };
    for (unsigned i = 0; i < o->inputs; i++) {
        size_t bytes = shift * kb_size((cj_type)o->types[i]);
        random_bits(&in[i]);
        e[i] = (char *)in[i].host + bytes;
        a.in[i] = (cj_rows){ cj_offset(in[i].data, (int64_t)bytes), 0, 0 };
    }
    for (unsigned i = 0; i < o->numbers; i++) a.numbers[i] = (float)(i * 5) - 11;
    if (place) {
        a.out = a.in[o->inputs - 1];
        memcpy(last, in[o->inputs - 1].host, MOST);
        e[o->inputs - 1] = last + shift * size;
        out = &in[o->inputs - 1];
    } else {
        kb_blank(out);
    }
    wrong += !kb_is_ok(kb_s[0], cj_elementwise_launch(kb_s[0], x, &a), "elementwise") || !kb_get(out);
    for (size_t c = 0; c < COLUMNS; c++) {
        uint64_t want = horner(o, e, c, a.numbers);
        wrong += memcmp((char *)out->host + (c + shift) * size, &want, size) != 0;
    }
    return wrong;
}

static void inputs_of_integers(void)
{
    kb_memory in[INPUTS], out = kb_take(MOST);
    for (int i = 0; i < INPUTS; i++) in[i] = kb_take(MOST);
    for (unsigned n = 0; n <= INPUTS; n++) {
        /* of one size and of the other sign, so that they may be in one place */
        cj_elementwise_opts o = { .size = sizeof o, .inputs = n, .numbers = n % 4 == 3 ? 0 : (n * 3 + 8) % 9,
                                  .function = "horner", .out_type = CJ_U16 };
        cj_type t[INPUTS];
        for (unsigned i = 0; i < n; i++) o.types[i] = t[i] = types[(n * 3 + i * 5) % INTEGERS];
        if (n) o.out_type = types[((n * 3 + (n - 1) * 5) % INTEGERS) ^ 1];
        o.module = horner_module(n, t, o.numbers);
        cj_elementwise *x = cj_elementwise_create(kb_dev, &o);
        if (cj_error_of(x)->status) tap_diag("%s", cj_error_of(x)->message);
        size_t wrong = 0;
        for (size_t shift = 0; shift < 2; shift++)
            for (int place = 0; place <= (n > 0); place++) wrong += wrong_results(x, &o, in, &out, shift, place);
        tap_is_uint(wrong, 0, "a function of %u inputs and %u numbers, with results of %s, in place too", n, o.numbers,
                    kb_name((cj_type)o.out_type));
        cj_elementwise_free(x);
        cj_ptx_free(o.module);
    }
    for (int i = 0; i < INPUTS; i++) kb_drop(&in[i]);
    kb_drop(&out);
}

/* ---- From type to type ------------------------------------------------------------------------------------------- */

static cj_ptx *same_module(cj_type t)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_func(m, "same");
    cj_return_value(f, cj_param(f, "v", parameter_of(t)));
    return m;
}

/* Random bits where both are integers; numbers of all magnitudes where both are none; else small whole numbers. */
static void elements_between(kb_memory *x, cj_type from, cj_type to)
{
    for (size_t i = 0; i <= COLUMNS; i++) {
        char *e = (char *)x->host + i * kb_size(from);
        uint64_t bits = (uint64_t)kb_random() << 32 | kb_random();
        double whole = floor(kb_uniform() * 100);
        if (!kb_floating(from) && !kb_floating(to)) memcpy(e, &bits, kb_size(from));
        else if (kb_floating(from) && kb_floating(to))
            kb_set(e, from, kb_uniform() * ldexp(1, (int)(kb_random() >> 8) % 24 - 12));
        else kb_set(e, from, (is_signed(from) || kb_floating(from)) && (is_signed(to) || kb_floating(to)) ? whole
                                                                                                        : fabs(whole));
    }
    kb_put(x);
}

static size_t wrong_conversions(cj_type from, cj_type to, kb_memory *x, kb_memory *out)
{
    size_t wrong = 0, size = kb_size(from), out_size = kb_size(to);
    cj_ptx *m = same_module(from);
    cj_elementwise *o = cj_elementwise_create(kb_dev, CJ_ELEMENTWISE(.inputs = 1, .types[0] = from, .out_type = to,
                                                                     .module = m, .function = "same"));
    if (cj_error_of(o)->status) tap_diag("%s", cj_error_of(o)->message);
    elements_between(x, from, to);
    for (size_t shift = 0; shift < 2; shift++) {
        cj_elementwise_args a = { .in[0] = { cj_offset(x->data, (int64_t)(shift * size)), 0, 0 },
                                  .out = { cj_offset(out->data, (int64_t)(shift * out_size)), 0, 0 },
                                  .columns = COLUMNS };
        kb_blank(out);
        wrong += !kb_is_ok(kb_s[0], cj_elementwise_launch(kb_s[0], o, &a), "elementwise") || !kb_get(out);
        for (size_t i = shift; i < COLUMNS + shift; i++) {
            const char *e = (char *)x->host + i * size;
            uint64_t want = whole_of(e, from);
            if (kb_floating(from) || kb_floating(to)) kb_set(&want, to, kb_value(e, from));
            wrong += memcmp((char *)out->host + i * out_size, &want, out_size) != 0;
        }
    }
    cj_elementwise_free(o);
    cj_ptx_free(m);
    return wrong;
}

/* On the CPU device each type becomes a third of the others. */
static void conversions(void)
{
    kb_memory x = kb_take(MOST), out = kb_take(MOST);
    for (size_t t = 0; t < TYPES; t += tap_is_slow() ? 5 : 1) {
        size_t wrong = 0;
        for (size_t k = tap_on_gpu() ? 0 : t % 3; k < TYPES; k += tap_on_gpu() ? 1 : 3)
            wrong += wrong_conversions(types[t], types[k], &x, &out);
        tap_is_uint(wrong, 0, "elements of %s become elements of other types", kb_name(types[t]));
    }
    kb_drop(&x), kb_drop(&out);
}

int main(void)
{
    kb_open();
    tap_timeout(200);
    inputs_of_integers();
    conversions();
    return kb_close();
}
