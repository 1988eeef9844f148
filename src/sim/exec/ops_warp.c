/* Instructions that lanes of a warp execute together (ops_warp.h).
 *
 * A lane's operands are gathered, the result is computed for the lanes that name the same mask, and
 * scattered. Lanes whose partners are not here yet stay at the instruction; warp.c brings them
 * together, or finds that they wait at different places: then cji_sync_meet(). */
#include "sim/exec/ops_warp.h"
#include "sim/exec/fp_soft.h"
#include "sim/exec/lane_ops.h"

typedef struct warp_sync {
    uint64_t a[CJI_LANES], d[CJI_LANES];
    uint32_t b[CJI_LANES], c[CJI_LANES], mask[CJI_LANES];
    uint32_t pred, d2;
} warp_sync;

static void sync_gather(cji_warp *w, const cji_rec *r, uint32_t lanes, warp_sync *s)
{
    const uint32_t *x = w->p->ext + r->target;
    if (r->wa == CJI_WP) {
        uint32_t p = *cji_pred(w, r->a);
        if (r->k & CJI_SY_NOT) p = ~p;
        s->pred = (s->pred & ~lanes) | (p & lanes);
    }
    CJI_EACH(i, lanes) {
        s->a[i] = cji_get(w, r->wa, r->a, i);
        s->b[i] = (uint32_t)cji_get(w, r->wb, r->b, i);
        s->c[i] = (uint32_t)cji_get(w, r->wc, r->c, i);
        s->mask[i] = r->k & CJI_SY_NO_MASK ? lanes : (uint32_t)cji_get(w, x[0], x[1], i);
    }
}

static void sync_scatter(cji_warp *w, const cji_rec *r, uint32_t lanes, const warp_sync *s)
{
    CJI_EACH(i, lanes) {
        if (r->wd) cji_put(w, r->wd, r->d, i, s->d[i]);
        if (r->size) cji_put(w, r->size, r->d2, i, s->d2 >> i & 1);
    }
}

static void sync_shuffle(unsigned op, uint32_t lanes, warp_sync *s)
{
    CJI_EACH(i, lanes) {
        uint32_t b = s->b[i] & 31, c = s->c[i] & 31, seg = s->c[i] >> 8 & 31;
        uint32_t max = (i & seg) | (c & ~seg), min = i & seg;
        int32_t j;
        bool p;
        switch (op) {
        case CJI_SY_UP: j = (int32_t)(i - b); p = j >= (int32_t)max; break;
        case CJI_SY_DOWN: j = (int32_t)(i + b); p = j <= (int32_t)max; break;
        case CJI_SY_BFLY: j = (int32_t)(i ^ b); p = j <= (int32_t)max; break;
        default: j = (int32_t)(min | (b & ~seg)); p = j <= (int32_t)max; break;
        }
        if (!p) j = (int32_t)i;
        s->d[i] = lanes >> (j & 31) & 1 ? s->a[j & 31] : CJI_POISON;
        s->d2 = (s->d2 & ~(UINT32_C(1) << i)) | (uint32_t)p << i;
    }
}

static uint64_t sync_reduce(uint32_t k, uint32_t lanes, const warp_sync *s)
{
    unsigned op = k & CJI_SY_OP, first = cji_first(lanes);
    uint64_t v = s->a[first];
    uint32_t f = CJI_KF(32, CJI_FP_F32, 0) | (k & CJI_SY_NAN ? CJI_KF_NAN : 0),
             i32 = CJI_KF(32, 0, 0) | (k & CJI_SY_SIGNED ? CJI_KF_SIGNED : 0);
    bool one = true;
    CJI_EACH(i, lanes) {
        uint64_t x = k & CJI_SY_ABS ? s->a[i] & 0x7fffffff : s->a[i];
        if (one) {
            v = x;
            one = false;
            if (op == CJI_SY_FMIN || op == CJI_SY_FMAX)
                v = cji_l_fmin(x, x, 0, f); /* a NaN becomes the canonical one */
            continue;
        }
        switch (op) {
        case CJI_SY_ADD: v += x; break;
        case CJI_SY_MIN: v = cji_l_imin(v, x, 0, i32); break;
        case CJI_SY_MAX: v = cji_l_imax(v, x, 0, i32); break;
        case CJI_SY_AND: v &= x; break;
        case CJI_SY_OR: v |= x; break;
        case CJI_SY_XOR: v ^= x; break;
        case CJI_SY_FMIN: v = cji_l_fmin(v, x, 0, f); break;
        default: v = cji_l_fmax(v, x, 0, f); break;
        }
    }
    return v;
}

static void sync_compute(uint32_t k, uint32_t lanes, warp_sync *s)
{
    unsigned op = k & CJI_SY_OP, first = cji_first(lanes);
    uint32_t yes = s->pred & lanes;
    uint64_t v = 0;
    bool same = true;
    switch (op) {
    case CJI_SY_UP: case CJI_SY_DOWN: case CJI_SY_BFLY: case CJI_SY_IDX:
        sync_shuffle(op, lanes, s);
        return;
    case CJI_SY_MATCH_ANY:
        CJI_EACH(i, lanes) {
            uint32_t equal = 0;
            CJI_EACH(j, lanes) equal |= (uint32_t)(s->a[i] == s->a[j]) << j;
            s->d[i] = equal;
        }
        return;
    case CJI_SY_MATCH_ALL:
        CJI_EACH(i, lanes) same &= s->a[i] == s->a[first];
        v = same ? lanes : 0;
        s->d2 = (s->d2 & ~lanes) | (same ? lanes : 0);
        break;
    case CJI_SY_ALL: v = yes == lanes; break;
    case CJI_SY_ANY: v = yes != 0; break;
    case CJI_SY_UNI: v = yes == lanes || !yes; break;
    case CJI_SY_BALLOT: v = yes; break;
    case CJI_SY_ELECT:
        v = first;
        s->d2 = (s->d2 & ~lanes) | UINT32_C(1) << first;
        break;
    case CJI_SY_ACTIVE: v = lanes; break;
    case CJI_SY_BARRIER: return;
    default: v = sync_reduce(k, lanes, s); break;
    }
    CJI_EACH(i, lanes) s->d[i] = v;
}

/* Computes for all sets of lanes that are complete; returns those that must wait. */
static uint32_t sync_sets(const cji_warp *w, uint32_t k, uint32_t here, warp_sync *s, uint32_t *outside)
{
    uint32_t rest = here, wait = 0;
    while (rest) {
        uint32_t mask = s->mask[cji_first(rest)], set = 0;
        CJI_EACH(i, rest) set |= s->mask[i] == mask ? UINT32_C(1) << i : 0;
        rest &= ~set;
        *outside |= set & ~mask;
        if (mask & w->live & ~set) wait |= set;
        else sync_compute(k, set, s);
    }
    return wait;
}

void cji_h_sync(cji_warp *w, const cji_rec *r)
{
    warp_sync s;
    uint32_t here = w->mask, outside = 0;
    s.pred = s.d2 = 0;
    sync_gather(w, r, here, &s);
    uint32_t wait = sync_sets(w, r->k, here, &s, &outside);
    if (outside) {
        unsigned lane = cji_first(outside);
        cji_fault(w, r, lane, CJI_EXEC_FAULT_SYNC, 0, "is executed by lane %u, which its mask 0x%08x does not name",
                  lane, s.mask[lane]);
        return;
    }
    sync_scatter(w, r, here & ~wait, &s);
    if (wait) cji_warp_wait(w, wait, CJI_G_SYNC, 0);
}

/* At a barrier, or at an operation on matrices, no lane stands for another that waits elsewhere. */
static bool sync_at_one_place(const cji_rec *r) { return r->fn == cji_h_barrier || r->flags & CJI_MF_ALIGNED; }

/* All groups that are not at a barrier wait for lanes of their warp, at different places: lanes that execute
 * the same operation with the same mask meet, as the manual allows. */
bool cji_sync_meet(cji_warp *w)
{
    unsigned char *keep = w->r;
    bool met = false;
    for (uint32_t g = 0; g < w->ngroup && !met; g++) {
        const cji_rec *r = &w->p->code[w->group[g].pc];
        if (w->group[g].state != CJI_G_SYNC || sync_at_one_place(r)) continue;
        warp_sync s;
        uint32_t here = 0, outside = 0;
        s.pred = s.d2 = 0;
        for (uint32_t j = g; j < w->ngroup; j++) {
            const cji_rec *o = &w->p->code[w->group[j].pc];
            if (w->group[j].state != CJI_G_SYNC || sync_at_one_place(o) || o->k != r->k || o->wa != r->wa) continue;
            w->r = w->stack + w->group[j].base;
            sync_gather(w, o, w->group[j].mask, &s);
            here |= w->group[j].mask;
        }
        uint32_t wait = sync_sets(w, r->k, here, &s, &outside);
        if (wait == here) continue;
        met = true;
        for (uint32_t j = g, n = w->ngroup; j < n; j++) {
            cji_group *o = &w->group[j];
            uint32_t done = o->mask & here & ~wait;
            if (o->state != CJI_G_SYNC || !done) continue;
            w->r = w->stack + o->base;
            sync_scatter(w, &w->p->code[o->pc], done, &s);
            cji_group rest = *o;
            rest.mask &= ~done;
            o->mask = done;
            o->state = CJI_G_READY;
            o->pc++;
            if (rest.mask) w->group[w->ngroup++] = rest;
        }
    }
    w->r = keep;
    return met;
}
