/* The .approx and .full instructions of f32 and f64: the handlers of 32 lanes give, bit for bit, what the functions of
 * one lane give, in the plain build and in the one for AVX2, with .ftz and without. Operands are bit patterns (of f64
 * upper words) at equal distances.
 *
 *     CUJIT_TEST_ALL=1        every 61st one: a minute */
#include <stdlib.h>

#include "sim/exec/fp_soft.h"
#include "sim/exec/lane_ops.h"
#include "sim/exec/ops_vec.h"

#include "../tap.h"

enum { AT_D = 0, AT_A = 256, AT_B = 512, FRAME = 768, STEP = 150001, STEP_OF_ALL = 61 };

typedef struct approx_row {
    const char *name;
    size_t handler;
    cji_lane_fn lane;
    uint32_t k;
} approx_row;
#define ROW(name, handler, fn, k) { name, offsetof(cji_vec_table, handler), cji_l_##fn, k }
#define BOTH(op, handler, fn) \
    ROW(op ".f32", handler, fn, CJI_KF(32, CJI_FP_F32, 0)), \
    ROW(op ".ftz.f32", handler, fn, CJI_KF(32, CJI_FP_F32, 0) | CJI_KF_FTZ)

static const approx_row rows[] = {
    BOTH("rcp.approx", rcp_approx, rcp_approx),
    BOTH("sqrt.approx", sqrt_approx, sqrt_approx),
    BOTH("rsqrt.approx", rsqrt_approx, rsqrt_approx),
    BOTH("div.approx", div_approx, div_approx),
    BOTH("div.full", div_approx, div_full),
    BOTH("lg2.approx", lg2_f32, lg2_approx),
    BOTH("ex2.approx", ex2_f32, ex2_approx),
    BOTH("sin.approx", sin_f32, sin_approx),
    BOTH("cos.approx", cos_f32, cos_approx),
    BOTH("tanh.approx", tanh_f32, tanh_approx),
    ROW("rcp.approx.ftz.f64", rcp_approx64, rcp_approx64, CJI_KF(64, CJI_FP_F64, 0)),
    ROW("rsqrt.approx.ftz.f64", rsqrt_approx64, rsqrt_approx64, CJI_KF(64, CJI_FP_F64, 0)),
    ROW("rsqrt.approx.f64", rsqrt64, rsqrt64, CJI_KF(64, CJI_FP_F64, 0)),
};

static cji_handler handler_at(const cji_vec_table *v, size_t offset)
{
    cji_handler h;
    memcpy(&h, (const char *)v + offset, sizeof h);
    return h;
}

/* 32 operands from `first` on; says which one differs. The first operand of a division is another for each. */
static bool group_equals(const approx_row *x, cji_handler h, uint64_t first, uint32_t step)
{
    static _Alignas(64) unsigned char frame[FRAME];
    static cji_warp w;
    uint32_t size = CJI_KF_BITS(x->k) / 8;
    uint8_t width = size == 8 ? CJI_W64 : CJI_W32;
    cji_rec r = { .lane = x->lane, .k = x->k, .d = AT_D, .a = AT_A, .b = AT_B, .wd = width, .wa = width, .wb = width };
    bool quotient = x->lane == cji_l_div_approx || x->lane == cji_l_div_full;
    uint64_t a[CJI_LANES], b[CJI_LANES];
    for (uint32_t i = 0; i < CJI_LANES; i++) {
        uint64_t u = (uint32_t)(first + (uint64_t)step * i);
        a[i] = size == 8 ? u << 32 | (uint32_t)(u * 2654435761u) : quotient ? (uint32_t)((u >> 4) * 2654435761u) : u;
        b[i] = quotient ? u : 0;
        memcpy(frame + AT_A + size * i, &a[i], size); /* little-endian, as all that has AVX2 */
        memcpy(frame + AT_B + size * i, &b[i], size);
    }
    w.r = frame;
    w.mask = CJI_FULL;
    memset(frame + AT_D, 0xa5, AT_A - AT_D);
    h(&w, &r);
    for (uint32_t i = 0; i < CJI_LANES; i++) {
        uint64_t got = cji_get(&w, width, AT_D, i), want = x->lane(a[i], b[i], 0, x->k);
        if (got == want) continue;
        tap_diag("%s of %#llx, %#llx: %#llx, by one lane %#llx", x->name, (unsigned long long)a[i],
                 (unsigned long long)b[i], (unsigned long long)got, (unsigned long long)want);
        return false;
    }
    return true;
}

int main(void)
{
    tap_plan(0);
    bool all = getenv("CUJIT_TEST_ALL") != NULL;
    uint32_t step = all ? STEP_OF_ALL : tap_is_slow() ? 31 * STEP : STEP;
    if (all) tap_timeout(1200);
    const cji_vec_table *own = cji_vec_pick();
    const struct { const cji_vec_table *v; const char *name; } builds[] = {
        { &cji_vec_base, "plain" }, { own, "for this processor" }
    };
    for (size_t b = all ? 1 : 0; b < (own == &cji_vec_base ? 1 : 2); b++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            cji_handler h = handler_at(builds[b].v, rows[i].handler);
            bool same = true;
            for (uint64_t a = 0; a < UINT64_C(1) << 32 && same; a += (uint64_t)step * CJI_LANES)
                same = group_equals(&rows[i], h, a, step);
            tap_ok(same, "%s, %s", rows[i].name, builds[b].name);
        }
    return tap_done();
}
