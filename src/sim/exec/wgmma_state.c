/* What a warp has of wgmma (ops_wgmma.h): made with the first one, kept for the thread's next block. */
#include "sim/exec/ops_wgmma.h"

static size_t wgmma_count(const struct cji_wgmma *g) { return g->bytes / CJI_WGMMA_REGISTER; }

static void wgmma_drop_copy(struct cji_wgmma *g)
{
    cji_free(g->value, g->bytes);
    cji_free(g->of, wgmma_count(g) * sizeof *g->of);
}

/* The register stack has grown. False: there is no memory. */
static bool wgmma_grow_copy(struct cji_wgmma *g, size_t bytes)
{
    struct cji_wgmma more = *g;
    more.bytes = bytes;
    more.value = cji_alloc(bytes);
    more.of = cji_zalloc(wgmma_count(&more) * sizeof *more.of);
    if (!more.value || !more.of) {
        wgmma_drop_copy(&more);
        return false;
    }
    if (g->bytes) {
        memcpy(more.value, g->value, g->bytes);
        memcpy(more.of, g->of, wgmma_count(g) * sizeof *g->of);
    }
    wgmma_drop_copy(g);
    *g = more;
    return true;
}

struct cji_wgmma *cji_wgmma_state(cji_warp *w)
{
    if (!w->wgmma) w->wgmma = cji_zalloc(sizeof *w->wgmma);
    struct cji_wgmma *g = w->wgmma;
    return g && (g->bytes >= w->stack_bytes || wgmma_grow_copy(g, w->stack_bytes)) ? g : NULL;
}

void cji_wgmma_start(cji_warp *w)
{
    struct cji_wgmma *g = w->wgmma;
    if (!g) return;
    g->n = g->commits = g->fences = 0;
    g->waits = false;
    if (g->of) memset(g->of, 0, wgmma_count(g) * sizeof *g->of);
}

void cji_wgmma_free(cji_warp *w)
{
    struct cji_wgmma *g = w->wgmma;
    if (!g) return;
    wgmma_drop_copy(g);
    cji_free(g->product, g->c * sizeof *g->product);
    cji_free(g, sizeof *g);
    w->wgmma = NULL;
}

void cji_wgmma_leave(cji_warp *w)
{
    struct cji_wgmma *g = w->wgmma;
    size_t kept = 0;
    if (!g) return;
    for (size_t i = 0; i < g->n; i++)
        if (g->product[i].base != w->base) g->product[kept++] = g->product[i];
    g->n = kept;
    /* registers begin behind the frame's head */
    size_t first = (w->base + sizeof(cji_frame)) / CJI_WGMMA_REGISTER, end = w->top / CJI_WGMMA_REGISTER;
    if (end > wgmma_count(g)) end = wgmma_count(g);
    if (first < end) memset(g->of + first, 0, (end - first) * sizeof *g->of);
}
