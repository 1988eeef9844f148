/* The immediate post-dominators of random control flow graphs are those that the definition gives: a block is
 * post-dominated by every block without which it cannot reach the function's end. */
#include <stdio.h>
#include <string.h>

#include <cujit/parse.h>

#include "sim/exec/flow.h"

#include "../tap.h"

enum { MOST = 40, TEXT = 16384 };

static uint64_t seed = 1;
static uint32_t below(uint32_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((seed >> 33) % n);
}

/* A kernel of n labelled blocks: each ends with a branch, with several, with an end, or falls through. */
static void kernel(char *text, uint32_t n)
{
    size_t at = (size_t)snprintf(text, TEXT, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n"
                                             ".reg .pred %%p;\n.reg .b32 %%r<2>;\n");
    uint32_t ends = below(4), far = below(2) ? n : 4;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t from = i > far ? i - far : 0, span = n - from < 2 * far ? n - from : 2 * far;
        uint32_t a = from + below(span), b = from + below(span), c = from + below(span);
        at += (size_t)snprintf(text + at, TEXT - at, "B%u:\nmov.u32 %%r0, %u;\n", i, i);
        switch (below(6 + ends)) {
        case 0: at += (size_t)snprintf(text + at, TEXT - at, "bra B%u;\n", a); break;
        case 1: case 2: case 3: at += (size_t)snprintf(text + at, TEXT - at, "@%%p bra B%u;\n", a); break;
        case 4:
            at += (size_t)snprintf(text + at, TEXT - at,
                                   "T%u: .branchtargets B%u, B%u, B%u;\nbrx.idx %%r0, T%u;\n", i, a, b, c, i);
            break;
        case 5: break;
        case 6: at += (size_t)snprintf(text + at, TEXT - at, "ret;\n"); break;
        case 7: at += (size_t)snprintf(text + at, TEXT - at, "@%%p ret;\n"); break;
        default: at += (size_t)snprintf(text + at, TEXT - at, "@%%p exit;\n"); break;
        }
    }
    snprintf(text + at, TEXT - at, "}\n");
}

static bool leaves(const cj_fn *f, const cji_flow *g, uint32_t i)
{
    const cji_form *e = cji_ins_form(f->m, &f->ins[g->block[i].end - 1]);
    return !g->block[i].nsucc || (e && e->isa->effect & CJI_FX_END);
}

/* Marks the blocks that reach the end without passing through `without`. */
static void reach(const cj_fn *f, const cji_flow *g, uint32_t without, bool *reaches)
{
    bool more = true;
    for (uint32_t i = 0; i < g->n; i++) reaches[i] = i != without && leaves(f, g, i);
    while (more) {
        more = false;
        for (uint32_t i = 0; i < g->n; i++)
            for (uint32_t j = 0; j < g->block[i].nsucc && i != without && !reaches[i]; j++)
                if (reaches[g->succ[g->block[i].succ + j]]) reaches[i] = more = true;
    }
}

/* How many blocks have another immediate post-dominator than the definition says. */
static int differ(const cj_fn *f, const cji_flow *g)
{
    static bool all[2 * MOST], without[2 * MOST][2 * MOST];
    int bad = 0;
    reach(f, g, CJI_FLOW_NONE, all);
    for (uint32_t v = 0; v < g->n; v++) reach(f, g, v, without[v]);
    for (uint32_t u = 0; u < g->n; u++) {
        uint32_t want = CJI_FLOW_NONE;
        /* the nearest: one that all other post-dominators post-dominate */
        for (uint32_t v = 0; v < g->n && all[u]; v++) {
            bool nearest = v != u && !without[v][u];
            for (uint32_t x = 0; x < g->n && nearest; x++)
                if (x != u && x != v && !without[x][u] && without[x][v]) nearest = false;
            if (nearest) want = v;
        }
        bad += g->block[u].ipdom != want;
    }
    return bad;
}

int main(void)
{
    static char text[TEXT];
    int graphs = tap_is_slow() ? 100 : 1500, bad = 0, blocks = 0, inside = 0;
    tap_plan(0);
    for (int n = 0; n < graphs; n++) {
        cji_arena arena = { 0 };
        cji_flow g;
        kernel(text, 1 + below(MOST - 1));
        cj_ptx *m = cj_parse(text, strlen(text), "random");
        if (!m || cj_ptx_status(m)) {
            tap_ok(false, "graph %d is read", n);
            tap_diag("%s", text);
            break;
        }
        const cj_fn *f = m->fn[0];
        if (!cji_flow_make(f, &arena, &g)) tap_ok(false, "graph %d has memory", n);
        int wrong = differ(f, &g);
        if (wrong && !bad) tap_diag("%s", text);
        bad += wrong;
        blocks += (int)g.n;
        for (uint32_t i = 0; i < g.n; i++) inside += g.block[i].ipdom != CJI_FLOW_NONE;
        cji_arena_free(&arena);
        cj_ptx_free(m);
    }
    tap_is_int(bad, 0, "post-dominators of %d blocks in %d graphs", blocks, graphs);
    tap_ok(inside > blocks / 4, "many of them are blocks, not the end (%d)", inside);
    return tap_done();
}
