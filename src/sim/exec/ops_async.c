/* Asynchronous copies and mbarriers (ops_async.h). */
#include "sim/exec/ops_async.h"
#include "sim/exec/ops_bulk.h"
#include "sim/exec/ops_mem.h"

void cji_h_cp_async(cji_warp *w, const cji_rec *r)
{
    const uint32_t *x = w->p->ext + r->target;
    cji_rec from = {
        .wa = (uint8_t)x[0], .a = x[1], .imm = (int64_t)((uint64_t)x[3] << 32 | x[2]), .flags = (uint8_t)x[4]
    };
    CJI_EACH(i, w->mask) {
        unsigned char zero[16] = { 0 };
        uint64_t n = x[5] == CJI_WP ? (cji_get(w, x[5], x[6], i) ? 0 : r->size)
                     : x[5]         ? cji_get(w, x[5], x[6], i)
                                    : r->size;
        unsigned char *to = cji_mem_at(w, r, i, r->space, cji_mem_address(w, r, i), r->size, true);
        if (!to) return;
        if (n > r->size) n = r->size;
        if (n) {
            const uint64_t a = cji_mem_address(w, &from, i);
            const unsigned char *p = cji_mem_range(w, r, i, CJI_SP_GLOBAL, a, (unsigned)n, r->size, CJI_EXEC_READ);
            if (!p) return;
            memcpy(zero, p, n);
        }
        memcpy(to, zero, r->size);
    }
}

#define ASYNC_COUNT 0xfffff

typedef struct async_barrier { uint32_t expected, pending; int32_t tx; bool phase; } async_barrier;

static async_barrier async_unpack(uint64_t v)
{
    return (async_barrier){ (uint32_t)v & ASYNC_COUNT, (uint32_t)(v >> 20) & ASYNC_COUNT,
                            (int32_t)((int64_t)(v << 1) >> 41), v >> 63 };
}

static uint64_t async_pack(async_barrier b)
{
    if (b.pending == 0 && b.tx == 0) {     /* the phase is complete */
        b.phase = !b.phase;
        b.pending = b.expected;
    }
    return b.expected | (uint64_t)b.pending << 20 | ((uint64_t)(int64_t)b.tx & 0x7fffff) << 40 |
           (uint64_t)b.phase << 63;
}

/* The transaction count becomes tx. False: a fault. */
static bool async_count(cji_warp *w, const cji_rec *r, unsigned lane, uint64_t address, async_barrier *b, int64_t tx)
{
    if (!b->expected) {
        cji_fault(w, r, lane, CJI_EXEC_FAULT_SYNC, address,
                  "names 0x%llx in shared memory as an mbarrier, which was not initialised",
                  (unsigned long long)address);
        return false;
    }
    if (tx > ASYNC_COUNT || tx < -ASYNC_COUNT) {
        cji_fault(w, r, lane, CJI_EXEC_FAULT_SYNC, address,
                  "makes the transaction count of an mbarrier %lld: at most 1048575 bytes can be missing",
                  (long long)tx);
        return false;
    }
    b->tx = (int32_t)tx;
    return true;
}

bool cji_mbarrier_complete(cji_warp *w, const cji_rec *r, unsigned lane, unsigned space, uint64_t address,
                           uint32_t bytes)
{
    uint64_t v;
    unsigned char *p = cji_mem_at(w, r, lane, space, address, 8, true);
    if (!p) return false;
    memcpy(&v, p, 8);
    async_barrier b = async_unpack(v);
    if (!async_count(w, r, lane, address, &b, (int64_t)b.tx - bytes)) return false;
    v = async_pack(b);
    memcpy(p, &v, 8);
    return true;
}

uint64_t cji_l_mbarrier_pending(uint64_t a, uint64_t b, uint64_t c, uint32_t k)
{
    (void)b, (void)c, (void)k;
    return async_unpack(a).pending;
}

static bool async_arrive(cji_warp *w, const cji_rec *r, unsigned lane, uint64_t address, async_barrier *b,
                         uint32_t count, bool drop)
{
    if (count > b->pending || !count) {
        cji_fault(w, r, lane, CJI_EXEC_FAULT_SYNC, address, "arrives %u times at an mbarrier that misses %u arrivals",
                  count, b->pending);
        return false;
    }
    b->pending -= count;
    if (drop) b->expected -= count;
    return true;
}

/* Is the phase over for which a wait asks? */
static bool async_over(const cji_rec *r, async_barrier b, uint64_t arg)
{
    return b.phase != (r->k & CJI_MB_PARITY ? arg & 1 : arg >> 63);
}

void cji_h_mbarrier(cji_warp *w, const cji_rec *r)
{
    unsigned op = r->k & CJI_MB_OP;
    uint32_t yes = 0;
    CJI_EACH(i, w->mask) {
        uint64_t address = cji_mem_address(w, r, i), v, arg = r->wb ? cji_get(w, r->wb, r->b, i) : 1;
        unsigned char *p = cji_mem_at(w, r, i, r->space, address, 8, op != CJI_MB_WAIT);
        if (!p) return;
        memcpy(&v, p, 8);
        async_barrier b = async_unpack(v);
        uint64_t old = v;
        switch (op) {
        case CJI_MB_INIT:
            if (!arg || arg > ASYNC_COUNT) {
                cji_fault(w, r, i, CJI_EXEC_FAULT_SYNC, address, "expects %llu arrivals: 1 to 1048575 are possible",
                          (unsigned long long)arg);
                return;
            }
            v = arg | arg << 20;
            break;
        case CJI_MB_INVAL: v = 0; break;
        case CJI_MB_EXPECT:
            if (!async_count(w, r, i, address, &b, b.tx + (int64_t)arg)) return;
            v = async_pack(b);
            break;
        case CJI_MB_COMPLETE:
            if (!async_count(w, r, i, address, &b, b.tx - (int64_t)arg)) return;
            v = async_pack(b);
            break;
        case CJI_MB_ARRIVE:
            if (r->k & CJI_MB_TX && !async_count(w, r, i, address, &b, b.tx + (int64_t)arg)) return;
            if (!async_arrive(w, r, i, address, &b, r->k & CJI_MB_TX ? 1 : (uint32_t)arg, r->k & CJI_MB_DROP)) return;
            if (r->k & CJI_MB_NO_COMPLETE && b.pending == 0) {
                cji_fault(w, r, i, CJI_EXEC_FAULT_SYNC, address, "completes the phase, which .noComplete excludes");
                return;
            }
            v = async_pack(b);
            break;
        case CJI_MB_COPIES:     /* the copies are done: an arrival of their own, counted only with .noinc */
            if (r->k & CJI_MB_NOINC && !async_arrive(w, r, i, address, &b, 1, false)) return;
            v = async_pack(b);
            break;
        default:
            if (!async_over(r, b, arg) && cji_bulk_arrive(w, p)) {
                memcpy(&v, p, 8);
                b = async_unpack(v);
            }
            if (w->blk->failed) return;
            yes |= (uint32_t)async_over(r, b, arg) << i;
            break;
        }
        if (op != CJI_MB_WAIT) memcpy(p, &v, 8);
        if (op == CJI_MB_ARRIVE && r->wd) cji_put(w, r->wd, r->d, i, old);
    }
    if (op == CJI_MB_WAIT) {
        cji_set_pred(w, r->d, yes);
        w->slice -= CJI_FUEL_SPIN;
        w->fuel -= CJI_FUEL_SPIN;
        if (r->k & CJI_MB_TRY && yes != w->mask) w->slice = w->fuel = -1;   /* the wait is elsewhere */
    }
}
