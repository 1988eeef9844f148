/* Bulk copies between global and shared memory (ops_bulk.h). */
#include "sim/exec/ops_bulk.h"
#include "sim/exec/ops_async.h"
#include "sim/exec/ops_mem.h"

/* An address in ext, of one lane. */
static uint64_t bulk_address(const cji_warp *w, const uint32_t *x, unsigned lane)
{
    cji_rec from = { .wa = (uint8_t)x[0], .a = x[1], .imm = (int64_t)((uint64_t)x[3] << 32 | x[2]),
                     .flags = (uint8_t)(x[4] & 255) };
    return cji_mem_address(w, &from, lane);
}

bool cji_bulk_begin(cji_warp *w, const cji_rec *r, unsigned lane, cji_bulk *c)
{
    const uint32_t *x = w->p->ext + r->target;
    *c = (cji_bulk){ .w = w, .r = r, .lane = lane, .shared = cji_mem_address(w, r, lane) };
    c->other = bulk_address(w, x + CJI_BU_OTHER, lane);
    c->other_space = x[CJI_BU_OTHER + 4] >> 8;
    if (!(r->k & CJI_BU_STORE)) {
        c->mbarrier = bulk_address(w, x + CJI_BU_MBARRIER, lane);
        c->mbarrier_space = x[CJI_BU_MBARRIER + 4] >> 8;
    }
    if (r->k & CJI_BU_MULTICAST) {
        if (!cji_cluster_is_one(w, r, lane)) return false;
        uint32_t blocks = (uint32_t)cji_get(w, r->wc, r->c, lane) & 0xffff;
        if (blocks != 1) {
            cji_fault(w, r, lane, CJI_EXEC_FAULT_ADDRESS, 0,
                      "names the blocks 0x%x of a cluster, which has one: only bit 0 may be set", blocks);
            return false;
        }
    }
    return true;
}

bool cji_bulk_complete(const cji_bulk *c)
{
    return cji_mbarrier_complete(c->w, c->r, c->lane, c->mbarrier_space, c->mbarrier, c->bytes);
}

static bool bulk_copy(const cji_bulk *c)
{
    bool store = c->r->k & CJI_BU_STORE;
    unsigned char *shared = cji_mem_range(c->w, c->r, c->lane, c->r->space, c->shared, c->bytes, 16,
                                          store ? CJI_EXEC_READ : CJI_EXEC_WRITE);
    if (!shared) return false;
    unsigned char *other = cji_mem_range(c->w, c->r, c->lane, c->other_space, c->other, c->bytes, 16,
                                         store ? CJI_EXEC_WRITE : CJI_EXEC_READ);
    if (!other) return false;
    if (store) memcpy(other, shared, c->bytes);
    else memmove(shared, other, c->bytes);
    return store || cji_bulk_complete(c);
}

static bool bulk_do(const cji_bulk *c) { return c->r->fn == cji_h_tile ? cji_tile_copy(c) : bulk_copy(c); }

/* ---- Copies that are not done yet -------------------------------------------------------------------------------- */

static uint32_t bulk_thread(const cji_bulk *c) { return c->w->index * CJI_LANES + c->lane; }

bool cji_bulk_issue(const cji_bulk *c, unsigned align)
{
    cji_blk *b = c->w->blk;
    const bool store = c->r->k & CJI_BU_STORE;
    unsigned char *shared = cji_mem_range(c->w, c->r, c->lane, c->r->space, c->shared, c->bytes, align,
                                          store ? CJI_EXEC_READ : CJI_EXEC_WRITE);
    if (!shared) return false;
    if (!cji_grow(&b->bulk, &b->cbulk, b->nbulk + 1, sizeof *b->bulk)) return bulk_do(c);
    b->bulk[b->nbulk++] = *c;
    if (!store) memset(shared, 0xff, c->bytes);
    return true;
}

/* Does copy i, which is then no longer there. */
static bool bulk_finish(cji_blk *b, size_t i)
{
    cji_bulk c = b->bulk[i];
    memmove(&b->bulk[i], &b->bulk[i + 1], (--b->nbulk - i) * sizeof *b->bulk);
    return bulk_do(&c);
}

bool cji_bulk_arrive(cji_warp *w, unsigned char *mbarrier)
{
    cji_blk *b = w->blk;
    bool any = false;
    for (size_t i = 0; i < b->nbulk;) {
        const cji_bulk *c = &b->bulk[i];
        uint64_t left;
        if (c->r->k & CJI_BU_STORE ||
            cji_mem_peek(w, 0, CJI_EXEC_SHARED_WINDOW + c->mbarrier, &left) != mbarrier) {
            i++;
            continue;
        }
        any = true;
        if (!bulk_finish(b, i)) {
            w->stop = true;
            return false;
        }
    }
    return any;
}

bool cji_bulk_end(cji_blk *b)
{
    while (b->nbulk)
        if (!bulk_finish(b, 0)) return false;
    return true;
}

void cji_bulk_free(cji_blk *b)
{
    cji_free(b->bulk, b->cbulk * sizeof *b->bulk);
    cji_free(b->commits, b->nthread * sizeof *b->commits);
    b->bulk = NULL;
    b->commits = NULL;
    b->nbulk = b->cbulk = 0;
}

/* ---- Groups of stores -------------------------------------------------------------------------------------------- */

void cji_h_bulk_commit(cji_warp *w, const cji_rec *r)
{
    cji_blk *b = w->blk;
    if (!b->commits) b->commits = cji_zalloc(b->nthread * sizeof *b->commits);
    CJI_EACH(i, w->mask) {
        uint32_t thread = w->index * CJI_LANES + i;
        if (!b->commits) {
            cji_fault(w, r, i, CJI_EXEC_FAULT_NOMEM, 0, "commits a group: there is no memory for its number");
            return;
        }
        b->commits[thread]++;
        for (size_t j = 0; j < b->nbulk; j++) {
            cji_bulk *c = &b->bulk[j];
            if (c->r->k & CJI_BU_STORE && !c->group && bulk_thread(c) == thread) c->group = b->commits[thread];
        }
    }
}

void cji_h_bulk_wait(cji_warp *w, const cji_rec *r)
{
    cji_blk *b = w->blk;
    if (!b->commits) return;
    CJI_EACH(i, w->mask) {
        uint32_t thread = w->index * CJI_LANES + i, done = b->commits[thread];
        done = r->imm < (int64_t)done ? done - (uint32_t)r->imm : 0;
        for (size_t j = 0; j < b->nbulk;) {
            const cji_bulk *c = &b->bulk[j];
            if (!c->group || c->group > done || bulk_thread(c) != thread) j++;
            else if (!bulk_finish(b, j)) return;
        }
    }
}

/* ---- Issuing ----------------------------------------------------------------------------------------------------- */

void cji_h_bulk(cji_warp *w, const cji_rec *r)
{
    CJI_EACH(i, w->mask) {
        cji_bulk c;
        if (!cji_bulk_begin(w, r, i, &c)) return;
        c.bytes = (uint32_t)cji_get(w, r->wb, r->b, i);
        if (c.bytes % 16) {
            cji_fault(w, r, i, CJI_EXEC_FAULT_MISALIGNED, 0, "copies %u bytes, which is no multiple of 16", c.bytes);
            return;
        }
        if (!cji_bulk_issue(&c, 16)) return;
    }
}
