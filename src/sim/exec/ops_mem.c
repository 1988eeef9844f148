/* Loads, stores and atomic operations (ops_mem.h). All lanes are looked up before the first byte is touched: an access
 * with a fault does nothing. */
#include "sim/exec/ops_mem.h"
#include "sim/exec/fp_soft.h"
#include "sim/exec/lane_ops.h"

typedef struct mem_at {
    uint64_t at[CJI_LANES];    /* host addresses */
    uint32_t shared;           /* lanes whose bytes only this block sees */
} mem_at;

/* ---- Spans ---- */

/* The span that holds address a. NULL: there is none; then `near` and `why` are filled. */
static const cji_exec_span *mem_span(cji_warp *w, uint64_t a, cji_exec_span *near, char *why, size_t size)
{
    cji_blk *b = w->blk;
    for (unsigned j = 0; j < CJI_SPANS; j++)
        if (a - b->span[j].lo < b->span[j].hi - b->span[j].lo) return &b->span[j];
    const cji_exec_memory *m = &b->g->l.memory;
    *near = (cji_exec_span){ 0 };
    if (!m->find || !m->find(m->user, a, near, why, size)) return NULL;
    cji_exec_span *s = &b->span[b->span_next++ % CJI_SPANS];
    *s = *near;
    return s;
}

const cji_exec_span *cji_mem_span(cji_warp *w, uint64_t a)
{
    char why[200];
    cji_exec_span near;
    return mem_span(w, a, &near, why, sizeof why);
}

static const char *mem_verb(unsigned access)
{
    return access == CJI_EXEC_READ ? "reads" : access == CJI_EXEC_WRITE ? "writes" : "updates";
}

/* One lane in global memory. */
static bool mem_global(cji_warp *w, const cji_rec *r, unsigned i, cji_access *x, uint64_t *at)
{
    char why[200] = "is no device memory";
    uint64_t a = x->address;
    const cji_exec_span *s = mem_span(w, a, &x->near, why, sizeof why);
    const char *verb = mem_verb(x->access);
    if (!s) {
        cji_fault_at(w, r, i, CJI_EXEC_FAULT_ADDRESS, x, "%s %u bytes at 0x%llx, which %s", verb, x->bytes,
                     (unsigned long long)a, why);
        return false;
    }
    if (s->hi - a < x->bytes) {
        x->near = *s;
        cji_fault_at(w, r, i, CJI_EXEC_FAULT_ADDRESS, x,
                     "%s %u bytes at 0x%llx, of which only %llu lie inside the allocation at 0x%llx", verb, x->bytes,
                     (unsigned long long)a, (unsigned long long)(s->hi - a), (unsigned long long)s->lo);
        return false;
    }
    if (s->readonly && x->access & CJI_EXEC_WRITE) {
        x->near = *s;
        cji_fault_at(w, r, i, CJI_EXEC_FAULT_ADDRESS, x, "%s %u bytes at 0x%llx, which may only be read", verb,
                     x->bytes, (unsigned long long)a);
        return false;
    }
    *at = (uint64_t)(uintptr_t)s->host + (a - s->lo);
    return true;
}

static bool mem_small(cji_warp *w, const cji_rec *r, unsigned i, const char *what, const cji_access *x, uint64_t size)
{
    uint64_t a = x->address;
    if (a < size && size - a >= x->bytes) return true;
    cji_fault_at(w, r, i, CJI_EXEC_FAULT_ADDRESS, x, "%s %u bytes at offset %lld of %s, which has %llu",
                 mem_verb(x->access), x->bytes, (long long)a, what, (unsigned long long)size);
    return false;
}

static bool mem_misaligned(cji_warp *w, const cji_rec *r, unsigned i, uint64_t a, unsigned align, cji_access *x)
{
    char why[200];
    if (x->space == CJI_SP_GLOBAL) {
        const cji_exec_span *s = mem_span(w, a, &x->near, why, sizeof why);
        if (s) x->near = *s;
    }
    cji_fault_at(w, r, i, CJI_EXEC_FAULT_MISALIGNED, x, "%s %u bytes at 0x%llx, which is no multiple of %u",
                 mem_verb(x->access), x->bytes, (unsigned long long)a, align);
    return false;
}

/* One lane, any space. align: a power of two. */
static bool mem_lane(cji_warp *w, const cji_rec *r, unsigned i, unsigned space, uint64_t a, unsigned bytes,
                     unsigned align, unsigned access, mem_at *m)
{
    cji_access x = { .address = a, .bytes = bytes, .access = (uint8_t)access };
    if (space == CJI_SP_GENERIC) {
        switch (a >> 48 << 48) {
        case CJI_EXEC_SHARED_WINDOW: space = CJI_SP_SHARED; break;
        case CJI_EXEC_LOCAL_WINDOW: space = CJI_SP_LOCAL; break;
        case CJI_EXEC_PARAM_WINDOW: space = CJI_SP_PARAM; break;
        default: space = CJI_SP_GLOBAL; break;
        }
        if (space != CJI_SP_GLOBAL) x.address &= UINT64_C(0xffffffffffff);
    }
    x.space = (uint8_t)space;
    if (a & (align - 1)) return mem_misaligned(w, r, i, a, align, &x);
    switch (space) {
    case CJI_SP_GLOBAL: return mem_global(w, r, i, &x, &m->at[i]);
    case CJI_SP_SHARED:
        if (!mem_small(w, r, i, "shared memory", &x, w->blk->shared_bytes)) return false;
        m->at[i] = (uint64_t)(uintptr_t)w->blk->shared + x.address;
        m->shared |= UINT32_C(1) << i;
        return true;
    case CJI_SP_LOCAL:
        if (!mem_small(w, r, i, "the thread's local memory", &x, w->lstride)) return false;
        m->at[i] = (uint64_t)(uintptr_t)w->lmem + (uint64_t)i * w->lpitch + x.address;
        m->shared |= UINT32_C(1) << i;
        return true;
    default:
        if (access & CJI_EXEC_WRITE) {
            cji_fault_at(w, r, i, CJI_EXEC_FAULT_ADDRESS, &x, "writes to a kernel parameter");
            return false;
        }
        if (!mem_small(w, r, i, "the kernel's parameters", &x, w->blk->g->l.kernel->param_bytes)) return false;
        m->at[i] = (uint64_t)(uintptr_t)w->blk->g->params + x.address;
        return true;
    }
}

/* ---- A warp's addresses ---- */

/* Fills m for the lanes of w->mask. False: a fault. */
static bool mem_resolve(cji_warp *w, const cji_rec *r, unsigned bytes, unsigned access, mem_at *m)
{
    m->shared = 0;
    CJI_EACH(i, w->mask)
        if (!mem_lane(w, r, i, r->space, cji_mem_address(w, r, i), bytes, bytes, access, m)) return false;
    return true;
}

unsigned char *cji_mem_range(cji_warp *w, const cji_rec *r, unsigned lane, unsigned space, uint64_t address,
                             unsigned bytes, unsigned align, unsigned access)
{
    mem_at m;
    m.shared = 0;
    if (!mem_lane(w, r, lane, space, address, bytes, align, access, &m)) return NULL;
    return (unsigned char *)(uintptr_t)m.at[lane];
}

unsigned char *cji_mem_at(cji_warp *w, const cji_rec *r, unsigned lane, unsigned space, uint64_t address,
                          unsigned bytes, bool write)
{
    return cji_mem_range(w, r, lane, space, address, bytes, bytes, write ? CJI_EXEC_WRITE : CJI_EXEC_READ);
}

uint64_t cji_mem_address(const cji_warp *w, const cji_rec *r, unsigned lane)
{
    uint64_t a = (uint64_t)r->imm + (r->flags & CJI_MF_FRAME ? w->local : 0);
    if (r->flags & CJI_MF_NOBASE) return a;
    a += cji_get(w, r->wa, r->a, lane);
    return r->flags & CJI_MF_BASE32 ? (uint32_t)a : a;
}

const unsigned char *cji_mem_peek(cji_warp *w, unsigned lane, uint64_t a, uint64_t *left)
{
    const cji_blk *b = w->blk;
    uint64_t off = a & UINT64_C(0xffffffffffff);
    switch (a >> 48 << 48) {
    case CJI_EXEC_SHARED_WINDOW:
        if (off >= b->shared_bytes) return NULL;
        *left = b->shared_bytes - off;
        return b->shared + off;
    case CJI_EXEC_LOCAL_WINDOW:
        if (off >= w->lstride) return NULL;
        *left = w->lstride - off;
        return w->lmem + (size_t)lane * w->lpitch + off;
    case CJI_EXEC_PARAM_WINDOW:
        if (off >= b->g->l.kernel->param_bytes) return NULL;
        *left = b->g->l.kernel->param_bytes - off;
        return b->g->params + off;
    default: {
        char why[200];
        cji_exec_span near;
        const cji_exec_span *s = mem_span(w, a, &near, why, sizeof why);
        if (!s) return NULL;
        *left = s->hi - a;
        return s->host + (a - s->lo);
    }
    }
}

/* ---- Bytes ---- */

#define MEM_P(x) ((void *)(uintptr_t)(x))

/* Volatile, relaxed and stronger accesses are indivisible. */
static uint64_t mem_load1(uint64_t at, unsigned size, bool whole)
{
    switch (size) {
    case 1: return whole ? __atomic_load_n((uint8_t *)MEM_P(at), __ATOMIC_RELAXED) : *(uint8_t *)MEM_P(at);
    case 2: return whole ? __atomic_load_n((uint16_t *)MEM_P(at), __ATOMIC_RELAXED) : *(uint16_t *)MEM_P(at);
    case 4: return whole ? __atomic_load_n((uint32_t *)MEM_P(at), __ATOMIC_RELAXED) : *(uint32_t *)MEM_P(at);
    default: return whole ? __atomic_load_n((uint64_t *)MEM_P(at), __ATOMIC_RELAXED) : *(uint64_t *)MEM_P(at);
    }
}

static void mem_store1(uint64_t at, unsigned size, bool whole, uint64_t v)
{
    switch (size) {
    case 1:
        if (whole) __atomic_store_n((uint8_t *)MEM_P(at), (uint8_t)v, __ATOMIC_RELAXED);
        else *(uint8_t *)MEM_P(at) = (uint8_t)v;
        break;
    case 2:
        if (whole) __atomic_store_n((uint16_t *)MEM_P(at), (uint16_t)v, __ATOMIC_RELAXED);
        else *(uint16_t *)MEM_P(at) = (uint16_t)v;
        break;
    case 4:
        if (whole) __atomic_store_n((uint32_t *)MEM_P(at), (uint32_t)v, __ATOMIC_RELAXED);
        else *(uint32_t *)MEM_P(at) = (uint32_t)v;
        break;
    default:
        if (whole) __atomic_store_n((uint64_t *)MEM_P(at), v, __ATOMIC_RELAXED);
        else *(uint64_t *)MEM_P(at) = v;
        break;
    }
}

static uint64_t mem_extend(uint64_t v, unsigned size)
{
    unsigned bits = 8 * size;
    if (bits >= 64) return v;
    uint64_t top = UINT64_C(1) << (bits - 1);
    return (v ^ top) - top;
}

#ifdef __SANITIZE_THREAD__
static int cji_mem_fence_word;
void cji_mem_fence(void) { __atomic_fetch_add(&cji_mem_fence_word, 1, __ATOMIC_SEQ_CST); }
#else
void cji_mem_fence(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
#endif

void cji_h_prefetch(cji_warp *w, const cji_rec *r) { (void)w, (void)r; }

/* A spin loop on this access gives way soon. */
static void mem_spin(cji_warp *w)
{
    w->slice -= CJI_FUEL_SPIN;
    w->fuel -= CJI_FUEL_SPIN;
}

/* A loop with a fence may wait for another thread's store. */
void cji_h_fence(cji_warp *w, const cji_rec *r)
{
    (void)r;
    cji_mem_fence();
    mem_spin(w);
}

void cji_h_ld(cji_warp *w, const cji_rec *r)
{
    mem_at m;
    bool whole = r->flags & CJI_MF_VOLATILE;
    if (!mem_resolve(w, r, (unsigned)r->size * r->count, CJI_EXEC_READ, &m)) return;
    if (whole) mem_spin(w);
    const uint32_t *x = w->p->ext + r->target, one[2] = { r->wd, r->d };
    if (r->count == 1) x = one;
    for (unsigned j = 0; j < r->count; j++) {
        unsigned width = x[2 * j], off = x[2 * j + 1];
        if (!width) continue;
        CJI_EACH(i, w->mask) {
            uint64_t v = mem_load1(m.at[i] + (uint64_t)j * r->size, r->size, whole);
            cji_put(w, width, off, i, r->flags & CJI_MF_SIGNED ? mem_extend(v, r->size) : v);
        }
    }
    if (r->flags & CJI_MF_ORDER) cji_mem_fence();
}

void cji_h_st(cji_warp *w, const cji_rec *r)
{
    mem_at m;
    bool whole = r->flags & CJI_MF_VOLATILE;
    if (!mem_resolve(w, r, (unsigned)r->size * r->count, CJI_EXEC_WRITE, &m)) return;
    if (r->flags & CJI_MF_ORDER) cji_mem_fence();
    const uint32_t *x = w->p->ext + r->target, one[2] = { r->wb, r->b };
    if (r->count == 1) x = one;
    CJI_EACH(i, w->mask)
    for (unsigned j = 0; j < r->count; j++)
        mem_store1(m.at[i] + (uint64_t)j * r->size, r->size, whole, cji_get(w, x[2 * j], x[2 * j + 1], i));
}

/* A kernel's parameter is read at any address, as ptxas has it: ld.param.u64 of the second of two .u32. */
static uint64_t mem_param(const unsigned char *from, unsigned size)
{
    uint16_t v2;
    uint32_t v4;
    uint64_t v8;
    switch (size) {
    case 1: return *from;
    case 2: return memcpy(&v2, from, sizeof v2), v2;
    case 4: return memcpy(&v4, from, sizeof v4), v4;
    default: return memcpy(&v8, from, sizeof v8), v8;
    }
}

void cji_h_ld_param(cji_warp *w, const cji_rec *r)
{
    const unsigned char *from = w->blk->g->params + r->imm;
    const uint32_t *x = w->p->ext + r->target, one[2] = { r->wd, r->d };
    if (r->count == 1) x = one;
    for (unsigned j = 0; j < r->count; j++) {
        uint64_t v = mem_param(from + (size_t)j * r->size, r->size);
        if (r->flags & CJI_MF_SIGNED) v = mem_extend(v, r->size);
        if (x[2 * j] == CJI_W64 && w->mask == CJI_FULL) {
            uint64_t *d = (uint64_t *)(void *)(w->r + x[2 * j + 1]);
            for (int i = 0; i < CJI_LANES; i++) d[i] = v;
        } else if (x[2 * j] == CJI_W32 && w->mask == CJI_FULL) {
            uint32_t *d = (uint32_t *)(void *)(w->r + x[2 * j + 1]);
            for (int i = 0; i < CJI_LANES; i++) d[i] = (uint32_t)v;
        } else if (x[2 * j] == CJI_W16 && w->mask == CJI_FULL) {
            uint16_t *d = (uint16_t *)(void *)(w->r + x[2 * j + 1]);
            for (int i = 0; i < CJI_LANES; i++) d[i] = (uint16_t)v;
        } else if (x[2 * j] == CJI_W8 && w->mask == CJI_FULL) {
            memset(w->r + x[2 * j + 1], (int)(v & 255), CJI_LANES);
        } else {
            CJI_EACH(i, w->mask) cji_put(w, x[2 * j], x[2 * j + 1], i, v);
        }
    }
}

/* ---- Atomic operations ---- */

static uint64_t mem_half2(cji_fp_format f, uint64_t a, uint64_t b, unsigned op)
{
    uint64_t v = 0;
    for (unsigned s = 0; s < 32; s += 16) {
        uint64_t x = a >> s & 0xffff, y = b >> s & 0xffff, k = CJI_KF(16, f, 0);
        v |= (op == CJI_AT_ADD   ? cji_fp_add(f, x, y, CJI_FP_RN)
              : op == CJI_AT_MIN ? cji_l_fmin(x, y, 0, (uint32_t)k)
                                 : cji_l_fmax(x, y, 0, (uint32_t)k))
             << s;
    }
    return v;
}

/* f32 additions flush subnormals in global memory, not in shared memory. */
static uint64_t mem_op(const cji_rec *r, uint64_t old, uint64_t b, uint64_t c, bool shared)
{
    unsigned op = CJI_AT_OP(r->k), bits = 8u * r->size;
    uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    b &= mask;
    switch (op) {
    case CJI_AT_AND: return old & b;
    case CJI_AT_OR: return old | b;
    case CJI_AT_XOR: return old ^ b;
    case CJI_AT_EXCH: return b;
    case CJI_AT_CAS: return old == b ? c & mask : old;
    case CJI_AT_INC: return old >= b ? 0 : old + 1;
    case CJI_AT_DEC: return old == 0 || old > b ? b : old - 1;
    default: break;
    }
    switch (CJI_AT_TYPE(r->k)) {
    case CJI_AT_F32: return cji_l_fadd(old, b, 0, CJI_KF(32, CJI_FP_F32, 0) | (shared ? 0 : CJI_KF_FTZ));
    case CJI_AT_F64: return cji_fp_add(CJI_FP_F64, old, b, CJI_FP_RN);
    case CJI_AT_F16: return mem_half2(CJI_FP_F16, old, b, op) & 0xffff;
    case CJI_AT_BF16: return mem_half2(CJI_FP_BF16, old, b, op) & 0xffff;
    case CJI_AT_F16X2: return mem_half2(CJI_FP_F16, old, b, op);
    case CJI_AT_BF16X2: return mem_half2(CJI_FP_BF16, old, b, op);
    default: break;
    }
    if (op == CJI_AT_ADD) return (old + b) & mask;
    bool less = CJI_AT_TYPE(r->k) == CJI_AT_SIGNED ? (int64_t)mem_extend(b, r->size) < (int64_t)mem_extend(old, r->size)
                                                   : b < old;
    return less == (op == CJI_AT_MIN) ? b : old;
}

#define MEM_CAS(T) \
    do { \
        T old = __atomic_load_n((T *)MEM_P(at), __ATOMIC_RELAXED); \
        while (!__atomic_compare_exchange_n((T *)MEM_P(at), &old, (T)mem_op(r, old, b, c, false), false, \
                                            __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {} \
        return old; \
    } while (0)

static uint64_t mem_atomic(const cji_rec *r, uint64_t at, uint64_t b, uint64_t c)
{
    if (CJI_AT_OP(r->k) == CJI_AT_ADD && CJI_AT_TYPE(r->k) <= CJI_AT_SIGNED) {
        if (r->size == 4) return __atomic_fetch_add((uint32_t *)MEM_P(at), (uint32_t)b, __ATOMIC_SEQ_CST);
        if (r->size == 8) return __atomic_fetch_add((uint64_t *)MEM_P(at), b, __ATOMIC_SEQ_CST);
    }
    switch (r->size) {
    case 2: MEM_CAS(uint16_t);
    case 4: MEM_CAS(uint32_t);
    default: MEM_CAS(uint64_t);
    }
}

void cji_mem_reduce(uint32_t k, unsigned size, unsigned char *at, uint64_t value)
{
    mem_atomic(&(cji_rec){ .k = k, .size = (uint8_t)size }, (uint64_t)(uintptr_t)at, value, 0);
}

/* Vector forms (red.v2.f32 and the like) are as many scalar ones: that is all they promise. */
void cji_h_atom(cji_warp *w, const cji_rec *r)
{
    mem_at m;
    if (!mem_resolve(w, r, (unsigned)r->size * r->count, CJI_EXEC_READ | CJI_EXEC_WRITE, &m)) return;
    if (r->wd || r->count > 1) mem_spin(w);    /* nothing waits for a result that is not there */
    const uint32_t *x = w->p->ext + r->target;
    CJI_EACH(i, w->mask)
        for (unsigned j = 0; j < r->count; j++) {
            uint64_t b = r->count == 1 ? cji_get(w, r->wb, r->b, i) : cji_get(w, x[4 * j + 2], x[4 * j + 3], i);
            uint64_t c = cji_get(w, r->wc, r->c, i), at = m.at[i] + (uint64_t)j * r->size, old;
            if (m.shared >> i & 1) {
                old = mem_load1(at, r->size, false);
                mem_store1(at, r->size, false, mem_op(r, old, b, c, true));
            } else old = mem_atomic(r, at, b, c);
            if (r->count == 1) {
                if (r->wd) cji_put(w, r->wd, r->d, i, old);
            } else if (x[4 * j]) cji_put(w, x[4 * j], x[4 * j + 1], i, old);
        }
}
