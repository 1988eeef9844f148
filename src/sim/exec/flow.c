/* Control flow graph, layout (flow.h). */
#include "sim/exec/flow.h"

static bool flow_ends(const cji_form *e) { return e && e->isa->effect & (CJI_FX_BRANCH | CJI_FX_END); }

uint32_t cji_flow_target(const cji_flow *flow, const cj_fn *f, uint32_t word)
{
    uint32_t at = f->label[cji_word_index(word)].at;
    return at < f->nins ? flow->of[at] : CJI_FLOW_NONE;
}

/* Cuts the records into blocks. */
static bool flow_cut(const cj_fn *f, cji_arena *arena, cji_flow *g)
{
    size_t n = f->nins;
    g->of = cji_arena_alloc(arena, (n + 1) * sizeof *g->of);
    g->block = cji_arena_alloc(arena, (n + 1) * sizeof *g->block);
    if (!g->of || !g->block) return false;
    bool open = false;
    for (uint32_t i = 0; i < n; i++) {
        const cji_ins *x = &f->ins[i];
        bool label = x->form == CJI_INS_LABEL;
        if (!open || (label && g->block[g->n - 1].first != i && f->ins[i - 1].form != CJI_INS_LABEL)) {
            if (open) g->block[g->n - 1].end = i;
            g->block[g->n++].first = i;
            open = true;
        }
        g->of[i] = g->n - 1;
        g->block[g->n - 1].end = i + 1;
        if (flow_ends(cji_ins_form(f->m, x))) open = false;
    }
    return true;
}

static uint32_t flow_targets(const cji_flow *g, const cj_fn *f, const cji_ins *x, uint32_t *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0, k = cji_ins_n(f, x); i < k; i++) {
        uint32_t word = cji_ins_opnd(f, x, i), count;
        if (cji_word_kind(word) == CJI_K_LABEL) {
            if (out) out[n] = cji_flow_target(g, f, word);
            n++;
        } else if (cji_word_kind(word) == CJI_K_TARGETS) {
            const uint32_t *list = cji_fn_words(f, f->tlist[cji_word_index(word)].list, &count);
            for (uint32_t j = 0; j < count; j++, n++)
                if (out) out[n] = cji_flow_target(g, f, list[j]);
        }
    }
    return n;
}

static bool flow_connect(const cj_fn *f, cji_arena *arena, cji_flow *g)
{
    uint32_t total = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        const cji_ins *x = &f->ins[g->block[i].end - 1];
        total += 1 + (flow_ends(cji_ins_form(f->m, x)) ? flow_targets(g, f, x, NULL) : 0);
    }
    g->succ = cji_arena_alloc(arena, (total + 1) * sizeof *g->succ);
    if (!g->succ) return false;
    uint32_t at = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        cji_flow_block *b = &g->block[i];
        const cji_ins *x = &f->ins[b->end - 1];
        bool ends = flow_ends(cji_ins_form(f->m, x));
        b->succ = at;
        if (ends && cji_ins_form(f->m, x)->isa->effect & CJI_FX_BRANCH) at += flow_targets(g, f, x, g->succ + at);
        b->next = (!ends || x->guard) && i + 1 < g->n ? i + 1 : CJI_FLOW_NONE;
        if (b->next != CJI_FLOW_NONE) g->succ[at++] = b->next;
        b->nsucc = at - b->succ;
    }
    return true;
}

/* ---- Layout: reverse postorder, a block's post-dominator visited (and so laid out last) before its successors ---- */

static bool flow_layout(cji_arena *arena, cji_flow *g)
{
    uint32_t n = g->n, top = 0, count = 0;
    uint32_t *stack = cji_arena_alloc(arena, (n + 1) * sizeof(uint32_t)),
             *step = cji_arena_alloc(arena, (n + 1) * sizeof(uint32_t));
    uint8_t *seen = cji_arena_alloc(arena, n + 1);
    g->order = cji_arena_alloc(arena, (n + 1) * sizeof(uint32_t));
    if (!stack || !step || !seen || !g->order) return false;
    if (!n) return true;
    stack[top++] = 0;
    seen[0] = 1;
    while (top) {
        uint32_t v = stack[top - 1], k = step[v]++, to;
        const cji_flow_block *b = &g->block[v];
        if (k == 0) to = b->ipdom;
        else if (k <= b->nsucc) to = g->succ[b->succ + k - 1];
        else {
            g->order[count++] = v;
            top--;
            continue;
        }
        if (to != CJI_FLOW_NONE && !seen[to]) {
            seen[to] = 1;
            stack[top++] = to;
        }
    }
    g->norder = count;
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t t = g->order[i];
        g->order[i] = g->order[count - 1 - i];
        g->order[count - 1 - i] = t;
    }
    return true;
}

bool cji_flow_make(const cj_fn *f, cji_arena *arena, cji_flow *g)
{
    *g = (cji_flow){ 0 };
    return flow_cut(f, arena, g) && flow_connect(f, arena, g) && cji_flow_postdom(f, arena, g) && flow_layout(arena, g);
}
