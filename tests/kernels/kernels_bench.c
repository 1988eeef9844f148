/* See kernels_bench.h. */
#include "tests/kernels/kernels_bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

cj_driver *kb_drv;
cj_device *kb_dev;
cj_stream *kb_s[KB_STREAMS];
static uint64_t seed = 0x9e3779b97f4a7c15;

cj_stream *kb_beside(int i) { return kb_s[tap_reports_races() ? 0 : i]; }

void kb_open(void)
{
    tap_need_device(1);
    tap_plan(0);
    kb_drv = cj_driver_open(NULL);
    kb_dev = cj_device_open(kb_drv, 0, NULL);
    for (int i = 0; i < KB_STREAMS; i++) kb_s[i] = cj_stream_create(kb_dev, NULL);
    if (cj_stream_sync(kb_s[0]) != CJ_OK) tap_bail("%s", cj_error_of(kb_s[0])->message);
}

int kb_close(void)
{
    for (int i = 0; i < KB_STREAMS; i++) {
        tap_is_int(cj_stream_sync(kb_s[i]), CJ_OK, "nothing else failed on stream %d: %s", i,
                   cj_error_of(kb_s[i])->message);
        cj_stream_free(kb_s[i]);
    }
    tap_is_uint(cj_device_collect(kb_dev), 0, "no release is pending");
    cj_device_close(kb_dev);
    cj_driver_close(kb_drv);
    return tap_done();
}

kb_memory kb_take(size_t bytes)
{
    kb_memory m = { .bytes = bytes, .whole = cj_alloc(kb_s[0], bytes + 2 * KB_GUARD), .host = calloc(1, bytes + 1) };
    m.data = cj_offset(m.whole, KB_GUARD);
    cj_fill8(kb_s[0], m.whole, 0xA5, bytes + 2 * KB_GUARD);
    if (!m.host || cj_stream_sync(kb_s[0]) != CJ_OK) tap_bail("no memory: %s", cj_error_of(kb_s[0])->message);
    return m;
}

void kb_put(const kb_memory *m)
{
    if (m->bytes) cj_copy_to_device(kb_s[0], m->data, m->host, m->bytes);
    cj_stream_sync(kb_s[0]);
}

void kb_blank(kb_memory *m)
{
    if (m->bytes) cj_fill8(kb_s[0], m->data, 0xFF, m->bytes);
    cj_stream_sync(kb_s[0]);
}

bool kb_get(kb_memory *m)
{
    unsigned char guard[2 * KB_GUARD];
    for (int i = 0; i < KB_STREAMS; i++) cj_stream_sync(kb_s[i]);
    if (m->bytes) cj_copy_to_host(kb_s[0], m->host, m->data, m->bytes);
    cj_copy_to_host(kb_s[0], guard, m->whole, KB_GUARD);
    cj_copy_to_host(kb_s[0], guard + KB_GUARD, cj_offset(m->data, (int64_t)m->bytes), KB_GUARD);
    if (cj_stream_sync(kb_s[0]) != CJ_OK) return tap_diag("%s", cj_error_of(kb_s[0])->message), false;
    for (int i = 0; i < 2 * KB_GUARD; i++)
        if (guard[i] != 0xA5)
            return tap_diag("the guard %s byte %d was written", i < KB_GUARD ? "in front," : "behind,", i), false;
    return true;
}

void kb_drop(kb_memory *m)
{
    cj_free(kb_dev, m->whole);
    free(m->host);
}

uint32_t kb_random(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 32);
}

double kb_uniform(void) { return kb_random() / 2147483648.0 - 1; }

cj_ptx *kb_maps_module(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_func(m, "then");
    cj_val a = cj_param(f, "a", CJ_U64), b = cj_param(f, "b", CJ_U64);
    cj_val ap = cj_cvt(f, CJ_U32, a), aq = cj_cvt(f, CJ_U32, cj_shr(f, a, 32));
    cj_val bp = cj_cvt(f, CJ_U32, b), bq = cj_cvt(f, CJ_U32, cj_shr(f, b, 32));
    cj_val q = cj_shl(f, cj_cvt(f, CJ_U64, cj_mad(f, bp, aq, bq)), 32);
    cj_return_value(f, cj_or(f, q, cj_cvt(f, CJ_U64, cj_mul(f, ap, bp))));
    return m;
}

/* -- Elements ------------------------------------------------------------------------------------------------------ */

size_t kb_size(cj_type t)
{
    switch (t) {
    case CJ_U8: case CJ_S8: return 1;
    case CJ_U16: case CJ_S16: case CJ_F16: case CJ_BF16: return 2;
    case CJ_U64: case CJ_S64: case CJ_F64: return 8;
    default: return 4;
    }
}

const char *kb_name(cj_type t)
{
    const char *name = cj_enum_name("cj_type", t);
    return name ? name + 3 : "?";
}

bool kb_floating(cj_type t) { return t == CJ_F16 || t == CJ_BF16 || t == CJ_F32 || t == CJ_F64; }

float kb_f16_value(uint16_t b)
{
    int e = b >> 10 & 31, m = b & 1023;
    float x = e == 31 ? (m ? NAN : INFINITY) : e ? ldexpf((float)(m + 1024), e - 25) : ldexpf((float)m, -24);
    return b & 0x8000 ? -x : x;
}

/* To nearest even. */
uint16_t kb_f16_of(float x)
{
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    int e;
    if (x != x) return 0x7fff;
    x = fabsf(x);
    if (x == 0) return sign;
    if (x >= 65520) return sign | 0x7c00;
    frexpf(x, &e);
    int unit = (e < -13 ? -13 : e) - 11;
    double n = nearbyint(ldexp(x, -unit));
    return (uint16_t)(sign + (uint16_t)(unit + 24 > 0 ? n + (unit + 24) * 1024.0 : n));
}

void kb_set(void *at, cj_type t, double x)
{
    float f = (float)x;
    uint64_t u = x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x;
    uint32_t w;
    memcpy(&w, &f, 4);
    if (t == CJ_F64) memcpy(at, &x, 8);
    else if (t == CJ_F32) memcpy(at, &f, 4);
    else if (t == CJ_F16) u = kb_f16_of(f), memcpy(at, &u, 2);
    else if (t == CJ_BF16) u = f != f ? 0x7fff : (w + 0x7fff + (w >> 16 & 1)) >> 16, memcpy(at, &u, 2);
    else memcpy(at, &u, kb_size(t));
}

double kb_value(const void *at, cj_type t)
{
    double d;
    float f;
    uint64_t u = 0;
    uint32_t w;
    memcpy(&u, at, kb_size(t));
    memcpy(&d, &u, 8);
    w = (uint32_t)u;
    memcpy(&f, &w, 4);
    switch (t) {
    case CJ_F64: return d;
    case CJ_F32: return f;
    case CJ_F16: return kb_f16_value((uint16_t)u);
    case CJ_BF16: return w <<= 16, memcpy(&f, &w, 4), f;
    case CJ_S8: return (int8_t)u;
    case CJ_S16: return (int16_t)u;
    case CJ_S32: return (int32_t)u;
    case CJ_S64: return (double)(int64_t)u;
    default: return (double)u;
    }
}

void kb_note_error(double *most, double error)
{
    if (*most == *most && !(error <= *most)) *most = error;
}

bool kb_is_ok(cj_stream *s, cj_status st, const char *what)
{
    if (st == CJ_OK) return true;
    tap_diag("%s: %s", what, cj_error_of(s)->message);
    cj_error_clear(s);
    return false;
}
