/* Handlers that work lane by lane (ops_lane.h). */
#include "sim/exec/lane_ops.h"
#include "sim/exec/ops_lane.h"
#include "sim/exec/ops_vec.h"

void cji_h_nop(cji_warp *w, const cji_rec *r) { (void)w, (void)r; }

void cji_h_lane(cji_warp *w, const cji_rec *r)
{
    cji_lane_fn fn = r->lane;
    uint32_t k = r->k;
    CJI_EACH(i, w->mask)
    cji_put(w, r->wd, r->d, i,
            fn(cji_get(w, r->wa, r->a, i), cji_get(w, r->wb, r->b, i), cji_get(w, r->wc, r->c, i), k));
}

static uint64_t lane_halves(cji_warp *w, const cji_rec *r, unsigned i, uint64_t *lo)
{
    unsigned bits = r->count;
    uint64_t mask = (UINT64_C(1) << bits) - 1;
    uint64_t a = cji_get(w, r->wa, r->a, i), b = cji_get(w, r->wb, r->b, i), c = cji_get(w, r->wc, r->c, i);
    *lo = r->lane(a & mask, b & mask, c & mask, r->k) & mask;
    return r->lane(a >> bits & mask, b >> bits & mask, c >> bits & mask, r->k) & mask;
}

void cji_h_lane_x2(cji_warp *w, const cji_rec *r)
{
    CJI_EACH(i, w->mask) {
        uint64_t lo, hi = lane_halves(w, r, i, &lo);
        cji_put(w, r->wd, r->d, i, hi << r->count | lo);
    }
}

void cji_h_lane_setp(cji_warp *w, const cji_rec *r)
{
    uint32_t bits = 0;
    CJI_EACH(i, w->mask)
        bits |= (uint32_t)(r->lane(cji_get(w, r->wa, r->a, i), cji_get(w, r->wb, r->b, i), 0, r->k) & 1) << i;
    cji_setp_flags(w, r, r->flags, bits);
}

static void lane_compare_x2(cji_warp *w, const cji_rec *r, uint32_t *lo, uint32_t *hi)
{
    *lo = *hi = 0;
    CJI_EACH(i, w->mask) {
        uint64_t l, h = lane_halves(w, r, i, &l);
        *lo |= (uint32_t)(l & 1) << i;
        *hi |= (uint32_t)(h & 1) << i;
    }
    *lo = cji_setp_bool(w, r, r->flags, *lo);
    *hi = cji_setp_bool(w, r, r->flags, *hi);
}

void cji_h_lane_setp_x2(cji_warp *w, const cji_rec *r)
{
    uint32_t lo, hi;
    lane_compare_x2(w, r, &lo, &hi);
    if (!(r->flags & CJI_SETP_NO_D)) cji_set_pred(w, r->d, lo);
    if (r->flags & CJI_SETP_D2) cji_set_pred(w, r->d2, hi);
}

void cji_h_lane_set(cji_warp *w, const cji_rec *r)
{
    uint32_t bits = 0;
    CJI_EACH(i, w->mask)
        bits |= (uint32_t)(r->lane(cji_get(w, r->wa, r->a, i), cji_get(w, r->wb, r->b, i), 0, r->k) & 1) << i;
    bits = cji_setp_bool(w, r, r->flags, bits);
    CJI_EACH(i, w->mask) cji_put(w, r->wd, r->d, i, bits >> i & 1 ? (uint64_t)r->imm : 0);
}

void cji_h_lane_set_x2(cji_warp *w, const cji_rec *r)
{
    uint32_t lo, hi;
    lane_compare_x2(w, r, &lo, &hi);
    uint64_t on = (uint64_t)r->imm & 0xffff;
    CJI_EACH(i, w->mask) cji_put(w, r->wd, r->d, i, (hi >> i & 1 ? on << 16 : 0) | (lo >> i & 1 ? on : 0));
}

void cji_h_pred(cji_warp *w, const cji_rec *r)
{
    uint32_t a = *cji_pred(w, r->a), b = *cji_pred(w, r->b);
    switch (r->k) {
    case CJI_PL_AND: cji_set_pred(w, r->d, a & b); break;
    case CJI_PL_OR: cji_set_pred(w, r->d, a | b); break;
    case CJI_PL_XOR: cji_set_pred(w, r->d, a ^ b); break;
    case CJI_PL_NOT: cji_set_pred(w, r->d, ~a); break;
    default: cji_set_pred(w, r->d, a); break;
    }
}

void cji_h_selp(cji_warp *w, const cji_rec *r)
{
    uint32_t p = *cji_pred(w, r->c);
    if (r->k & CJI_SETP_NOT) p = ~p;
    CJI_EACH(i, w->mask)
    cji_put(w, r->wd, r->d, i, p >> i & 1 ? cji_get(w, r->wa, r->a, i) : cji_get(w, r->wb, r->b, i));
}

/* insert a's low bits into b at c, ext[0..1] (width, offset) how many */
void cji_h_bfi(cji_warp *w, const cji_rec *r)
{
    const uint32_t *x = w->p->ext + r->target;
    unsigned bits = r->k;
    CJI_EACH(i, w->mask) {
        uint64_t a = cji_get(w, r->wa, r->a, i), b = cji_get(w, r->wb, r->b, i);
        unsigned pos = cji_field_of(cji_get(w, r->wc, r->c, i), bits),
                 len = cji_field_of(cji_get(w, x[0], x[1], i), bits);
        if (pos < bits && len) {
            if (len > bits - pos) len = bits - pos;
            uint64_t field = (len >= 64 ? UINT64_MAX : (UINT64_C(1) << len) - 1) << pos;
            b = (b & ~field) | (a << pos & field);
        }
        cji_put(w, r->wd, r->d, i, b);
    }
}

/* One flag for additions and subtractions: x - y is x + ~y + 1, and its carry is 1 where nothing was borrowed. */
void cji_h_carry(cji_warp *w, const cji_rec *r)
{
    unsigned bits = r->k & CJI_CC_64 ? 64 : 32;
    uint64_t mask = bits == 64 ? UINT64_MAX : UINT32_MAX;
    CJI_EACH(i, w->mask) {
        uint64_t x = cji_get(w, r->wa, r->a, i) & mask, y = cji_get(w, r->wb, r->b, i) & mask;
        if (r->k & CJI_CC_MAD) {
            if (!(r->k & CJI_CC_HI)) x = x * y & mask;
            else if (!(r->k & CJI_CC_SIGNED)) x = (uint64_t)((unsigned __int128)x * y >> bits) & mask;
            else if (bits == 32) x = (uint64_t)((int64_t)(int32_t)(uint32_t)x * (int32_t)(uint32_t)y) >> 32;
            else x = (uint64_t)((__int128)(int64_t)x * (int64_t)y >> 64);
            y = cji_get(w, r->wc, r->c, i) & mask;
        }
        bool sub = r->k & CJI_CC_SUB;
        unsigned __int128 in = r->k & CJI_CC_IN ? w->cc >> i & 1 : sub;
        unsigned __int128 s = (unsigned __int128)x + (sub ? ~y & mask : y) + in;
        if (r->k & CJI_CC_OUT) {
            uint32_t out = (uint32_t)(s >> bits) & 1;
            w->cc = (w->cc & ~(UINT32_C(1) << i)) | out << i;
        }
        cji_put(w, r->wd, r->d, i, (uint64_t)s);
    }
}

static unsigned lane_bits(unsigned width)
{
    static const uint8_t bits[] = { 0, 1, 8, 16, 32, 64 };
    return bits[width];
}

/* Element j of the vector takes imm bits, the first one lowest. */
void cji_h_pack(cji_warp *w, const cji_rec *r)
{
    const uint32_t *x = w->p->ext + r->target;
    unsigned bits = (unsigned)r->imm;
    uint64_t mask = (UINT64_C(1) << bits) - 1;
    CJI_EACH(i, w->mask) {
        uint64_t v = 0;
        for (unsigned j = 0; j < r->count; j++) v |= (cji_get(w, x[2 * j], x[2 * j + 1], i) & mask) << (bits * j);
        cji_put(w, r->wd, r->d, i, v);
    }
}

void cji_h_unpack(cji_warp *w, const cji_rec *r)
{
    const uint32_t *x = w->p->ext + r->target;
    unsigned bits = (unsigned)r->imm ? (unsigned)r->imm : lane_bits(r->wa) / r->count;
    uint64_t mask = (UINT64_C(1) << bits) - 1;
    CJI_EACH(i, w->mask) {
        uint64_t v = cji_get(w, r->wa, r->a, i);
        for (unsigned j = 0; j < r->count; j++) cji_put(w, x[2 * j], x[2 * j + 1], i, v >> (bits * j) & mask);
    }
}

void cji_h_local_addr(cji_warp *w, const cji_rec *r)
{
    CJI_EACH(i, w->mask) cji_put(w, r->wd, r->d, i, (uint64_t)r->imm + w->local);
}

void cji_h_isspacep(cji_warp *w, const cji_rec *r)
{
    const cji_exec_program *p = w->p;
    uint32_t bits = 0;
    CJI_EACH(i, w->mask) {
        uint64_t a = cji_get(w, r->wa, r->a, i), window = a >> 48 << 48;
        bool in_const = a >= p->base && a - p->base < p->const_bytes, yes;
        switch (r->space) {
        case CJI_SP_SHARED: yes = window == CJI_EXEC_SHARED_WINDOW; break;
        case CJI_SP_LOCAL: yes = window == CJI_EXEC_LOCAL_WINDOW; break;
        case CJI_SP_PARAM: yes = window == CJI_EXEC_PARAM_WINDOW; break;
        case CJI_SP_CONST: yes = in_const; break;
        default: yes = !in_const && (window < CJI_EXEC_SHARED_WINDOW || window > CJI_EXEC_PARAM_WINDOW); break;
        }
        bits |= (uint32_t)yes << i;
    }
    cji_set_pred(w, r->d, bits);
}
