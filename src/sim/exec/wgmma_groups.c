/* When wgmma is done (ops_wgmma.h): fences, groups, and registers that a product still reads or writes.
 *
 * Beside the warp's register stack lies a copy of it, with the values that products compute with: of the registers that
 * they name, no others. While a product is not computed, an accumulator has its value in the copy and ones on the
 * stack, and a register of A has one value in both. So a register that the kernel writes before it has waited is found
 * when the product is computed, and is a fault: PTX leaves open whether a GPU then multiplies the old value or the new
 * one, so neither would be right. Reads cannot be found, but find ones. */
#include "sim/exec/ops_matrix.h"
#include "sim/exec/ops_wgmma.h"

static struct cji_wgmma *groups_of(cji_warp *w, const cji_rec *r)
{
    struct cji_wgmma *g = cji_wgmma_state(w);
    if (!g) cji_fault(w, r, 0, CJI_EXEC_FAULT_NOMEM, 0, "has no memory for the accumulators of the warp");
    return g;
}

/* ---- Registers --------------------------------------------------------------------------------------------------- */

static bool groups_same(const struct cji_wgmma *g, const cji_warp *w, size_t at)
{
    return !memcmp(g->value + at, w->stack + at, CJI_WGMMA_REGISTER);
}

static bool groups_is_ones(const unsigned char *p) { return *p == 0xff && !memcmp(p, p + 1, CJI_WGMMA_REGISTER - 1); }

/* A product reads it: the value that it has now, which other instructions have not written since the last fence. Only
 * what products have read or written before is known. */
static bool groups_read(const struct cji_wgmma *g, cji_warp *w, const cji_rec *r, size_t at, const char *what)
{
    cji_wgmma_register *of = &g->of[at / CJI_WGMMA_REGISTER];
    if (of->readers && !groups_same(g, w, at)) {
        cji_fault(w, r, 0, CJI_EXEC_FAULT_SYNC, 0,
                  "finds %s changed, which another wgmma reads that the warp has not waited for", what);
        return false;
    }
    if (of->fence == g->fences && !groups_same(g, w, at)) {
        cji_fault(w, r, 0, CJI_EXEC_FAULT_SYNC, 0,
                  "finds %s written by another instruction since the last fence of its kind", what);
        return false;
    }
    memcpy(g->value + at, w->stack + at, CJI_WGMMA_REGISTER);
    of->fence = g->fences;
    return true;
}

/* Registers of A and D of a product that is issued. False: a fault. */
static bool groups_enter(const struct cji_wgmma *g, cji_warp *w, const cji_product *p)
{
    const cji_rec *r = p->r;
    const uint32_t *d = w->p->ext + r->target, *a = d + r->d2;
    for (uint32_t i = 0; i < p->registers_of_a; i++) {
        size_t at = (size_t)p->base + a[i];
        cji_wgmma_register *of = &g->of[at / CJI_WGMMA_REGISTER];
        if (of->writers) {
            cji_fault(w, r, 0, CJI_EXEC_FAULT_SYNC, 0,
                      "has A in accumulators of a wgmma that the warp has not waited for");
            return false;
        }
        if (!groups_read(g, w, r, at, "a register of A")) return false;
        of->readers++;
    }
    for (uint32_t i = 0; i < r->d2; i++) {
        size_t at = (size_t)p->base + d[i];
        cji_wgmma_register *of = &g->of[at / CJI_WGMMA_REGISTER];
        if (!of->writers) {
            if (p->adds && !groups_read(g, w, r, at, "an accumulator")) return false;
            memset(w->stack + at, 0xff, CJI_WGMMA_REGISTER);
        }
        of->writers++;
    }
    return true;
}

/* Registers of a product that is computed now. */
static bool groups_unwritten(const struct cji_wgmma *g, cji_warp *w, const cji_product *p)
{
    const cji_rec *r = p->r;
    const uint32_t *d = w->p->ext + r->target, *a = d + r->d2;
    const char *what = NULL;
    for (uint32_t i = 0; i < p->registers_of_a; i++)
        if (!groups_same(g, w, (size_t)p->base + a[i])) what = "a register of A";
    for (uint32_t i = 0; i < r->d2; i++)
        if (!groups_is_ones(w->stack + p->base + d[i])) what = "an accumulator";
    if (what)
        cji_fault(w, r, 0, CJI_EXEC_FAULT_SYNC, 0, "has %s that was written before the warp waited for its group",
                  what);
    return !what;
}

/* Its registers have been read and written. */
static void groups_exit(const struct cji_wgmma *g, cji_warp *w, const cji_product *p)
{
    const cji_rec *r = p->r;
    const uint32_t *d = w->p->ext + r->target, *a = d + r->d2;
    for (uint32_t i = 0; i < p->registers_of_a; i++)
        g->of[(p->base + a[i]) / CJI_WGMMA_REGISTER].readers--;
    for (uint32_t i = 0; i < r->d2; i++) {
        size_t at = (size_t)p->base + d[i];
        cji_wgmma_register *of = &g->of[at / CJI_WGMMA_REGISTER];
        of->fence = g->fences;
        if (!--of->writers) memcpy(w->stack + at, g->value + at, CJI_WGMMA_REGISTER);
    }
}

/* ---- Instructions ------------------------------------------------------------------------------------------------ */

void cji_h_wgmma(cji_warp *w, const cji_rec *r)
{
    cji_product p;
    if (!cji_matrix_whole(w, r) || !cji_product_begin(w, r, &p)) return;
    struct cji_wgmma *g = groups_of(w, r);
    if (!g) return;
    p.base = w->base;
    if (!g->fences) {
        cji_fault(w, r, 0, CJI_EXEC_FAULT_SYNC, 0,
                  "is the first one of the warp, and no fence of its kind comes before it");
        return;
    }
    if (!cji_grow(&g->product, &g->c, g->n + 1, sizeof *g->product)) {
        cji_fault(w, r, 0, CJI_EXEC_FAULT_NOMEM, 0, "has no memory to wait in");
        return;
    }
    if (groups_enter(g, w, &p)) g->product[g->n++] = p;
}

void cji_h_wgmma_fence(cji_warp *w, const cji_rec *r)
{
    if (!cji_matrix_whole(w, r)) return;
    struct cji_wgmma *g = groups_of(w, r);
    if (g) g->fences++;
}

void cji_h_wgmma_commit(cji_warp *w, const cji_rec *r)
{
    if (!cji_matrix_whole(w, r)) return;
    struct cji_wgmma *g = groups_of(w, r);
    if (!g) return;
    g->commits++;
    for (size_t i = g->n; i && !g->product[i - 1].group; i--) g->product[i - 1].group = g->commits;
}

/* With the copy as registers. */
static bool groups_compute(const struct cji_wgmma *g, cji_warp *w, const cji_product *p)
{
    unsigned char *keep = w->r;
    if (!groups_unwritten(g, w, p)) return false;
    w->r = g->value + p->base;
    bool done = cji_product_compute(w, p);
    w->r = keep;
    if (done) groups_exit(g, w, p);
    return done;
}

void cji_h_wgmma_wait(cji_warp *w, const cji_rec *r)
{
    struct cji_wgmma *g = w->wgmma;
    size_t n = 0;
    if (!cji_matrix_whole(w, r) || !g) return;
    uint32_t done = r->imm < (int64_t)g->commits ? g->commits - (uint32_t)r->imm : 0;
    if (!g->n || !g->product[0].group || g->product[0].group > done) return;
    g->waits = !g->waits;
    if (g->waits) {                /* other warps first: they may overwrite what it reads */
        w->pc--;
        w->slice = -1;
        w->stop = true;
        return;
    }
    for (; n < g->n && g->product[n].group && g->product[n].group <= done; n++)
        if (!groups_compute(g, w, &g->product[n])) return;
    g->n -= n;
    if (n) memmove(g->product, g->product + n, g->n * sizeof *g->product);
}
