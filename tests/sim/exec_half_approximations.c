/* ex2.approx and tanh.approx of f16 and bf16: the handlers of 32 lanes give, bit for bit, what the functions of one
 * lane give, in the plain build and in the one for AVX2, for every operand, one or two in a register, with .ftz and
 * without. */
#include "sim/exec/fp_soft.h"
#include "sim/exec/lane_ops.h"
#include "sim/exec/ops_vec.h"

#include "../tap.h"

enum { OPERANDS = 65536, AT_D = 0, AT_A = 256, FRAME = 512 };

typedef struct half_row {
    const char *name;
    size_t one, two;       /* the handlers of one operand and of two in a register */
    cji_lane_fn lane;
    uint32_t k;
} half_row;
#define HALF(op, type, format, ftz, k) \
    { #op ".approx" ftz "." type, offsetof(cji_vec_table, op##_half), offsetof(cji_vec_table, op##_halfx2), \
      cji_l_##op##_approx, CJI_KF(16, format, 0) | (k) }

static const half_row rows[] = {
    HALF(ex2, "f16", CJI_FP_F16, "", 0),    HALF(ex2, "f16", CJI_FP_F16, ".ftz", CJI_KF_FTZ),
    HALF(ex2, "bf16", CJI_FP_BF16, "", 0),  HALF(ex2, "bf16", CJI_FP_BF16, ".ftz", CJI_KF_FTZ),
    HALF(tanh, "f16", CJI_FP_F16, "", 0),   HALF(tanh, "f16", CJI_FP_F16, ".ftz", CJI_KF_FTZ),
    HALF(tanh, "bf16", CJI_FP_BF16, "", 0), HALF(tanh, "bf16", CJI_FP_BF16, ".ftz", CJI_KF_FTZ),
};

static cji_handler handler_at(const cji_vec_table *v, size_t offset)
{
    cji_handler h;
    memcpy(&h, (const char *)v + offset, sizeof h);
    return h;
}

/* The second operand of a register that holds two: never the first one's. */
static uint16_t other(uint32_t a) { return (uint16_t)(a * 40503u + 12345u); }

/* 32 operands from `first` on, `count` in a register; says which one differs. */
static bool group_equals(const half_row *x, cji_handler h, uint32_t first, uint32_t count)
{
    static _Alignas(64) unsigned char frame[FRAME];
    static cji_warp w;
    uint16_t from[2 * CJI_LANES], to[2 * CJI_LANES];
    uint8_t width = count == 2 ? CJI_W32 : CJI_W16;
    cji_rec r = { .lane = x->lane, .k = x->k, .d = AT_D, .a = AT_A, .wd = width, .wa = width };
    for (uint32_t i = 0; i < CJI_LANES; i++) {
        from[count * i] = (uint16_t)(first + i);
        if (count == 2) from[count * i + 1] = other(first + i);
    }
    w.r = frame;
    w.mask = CJI_FULL;
    memset(frame, 0xa5, sizeof frame);
    memcpy(frame + AT_A, from, count * CJI_LANES * sizeof *from);
    h(&w, &r);
    memcpy(to, frame + AT_D, count * CJI_LANES * sizeof *to);
    for (uint32_t i = 0; i < count * CJI_LANES; i++) {
        uint16_t want = (uint16_t)x->lane(from[i], 0, 0, x->k);
        if (to[i] == want) continue;
        tap_diag("%s of 0x%04x: 0x%04x, by one lane 0x%04x", x->name, from[i], to[i], want);
        return false;
    }
    return true;
}

int main(void)
{
    tap_plan(0);
    const cji_vec_table *own = cji_vec_pick();
    const struct { const cji_vec_table *v; const char *name; } builds[] = {
        { &cji_vec_base, "plain" }, { own, "for this processor" }
    };
    for (size_t b = 0; b < (own == &cji_vec_base ? 1 : 2); b++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            for (uint32_t count = 1; count <= 2; count++) {
                cji_handler h = handler_at(builds[b].v, count == 2 ? rows[i].two : rows[i].one);
                bool same = true;
                for (uint32_t a = 0; a < OPERANDS && same; a += CJI_LANES) same = group_equals(&rows[i], h, a, count);
                tap_ok(same, "%s, %s: %s", rows[i].name, builds[b].name,
                       count == 2 ? "two in a register" : "one");
            }
    return tap_done();
}
