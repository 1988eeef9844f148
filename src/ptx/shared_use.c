/* Which functions use dynamic shared memory, themselves or through what they can call: the call graph, walked from
 * the users to their callers. */
#include <string.h>

#include "ptx/entries.h"
#include "ptx/ptx.h"

/* The call graph.  Node nfn stands for "some function whose address is taken": calls through registers lead to it,
 * and from it to each of these. */
typedef struct call_graph {
    const cj_ptx *m;
    uint32_t *use;                                        /* one a node, as in cji_shared_uses */
    struct call_edge { uint32_t caller, callee; } *edge;
    size_t n, cap;
    bool failed;
} call_graph;

static void add_edge(call_graph *g, size_t caller, uint32_t callee)
{
    if (g->failed || !cji_grow(&g->edge, &g->cap, g->n + 1, sizeof *g->edge)) {
        g->failed = true;
        return;
    }
    g->edge[g->n++] = (struct call_edge){ (uint32_t)caller, callee };
}

static bool is_dynamic(const cji_var *v) { return v->space == CJI_SP_SHARED && v->flags & CJI_VAR_UNSIZED; }

/* One operand word of function `at`; `call`: of a call, where a function's name takes no address. */
static void look_at(call_graph *g, size_t at, uint32_t word, bool call)
{
    const cj_fn *f = g->m->fn[at];
    uint32_t i = cji_word_index(word), n;
    const uint32_t *e;
    switch (cji_word_kind(word)) {
    case CJI_K_SYM:
        if (!g->use[at] && is_dynamic(g->m->var[i])) g->use[at] = i + 1;
        break;
    case CJI_K_FUNC:
        add_edge(g, at, i);
        if (!call) add_edge(g, g->m->nfn, i);
        break;
    case CJI_K_MEM: look_at(g, at, f->mem[i].base, call); break;
    case CJI_K_VEC: case CJI_K_LIST: case CJI_K_PAIR: case CJI_K_TEXMEM:
        for (e = cji_fn_words(f, word, &n); n; n--, e++) look_at(g, at, *e, call);
        break;
    case CJI_K_TARGETS:
        if (f->tlist[i].list) look_at(g, at, f->tlist[i].list, true);
        break;
    default: break;
    }
}

static void look_at_record(call_graph *g, size_t at, const cji_ins *x)
{
    const cj_fn *f = g->m->fn[at];
    const cji_form *e = cji_ins_form(g->m, x);
    bool call = e ? e->isa->effect & CJI_FX_CALL : x->form == CJI_INS_MENTION && x->opnd[1], direct = false;
    if (!e && x->form != CJI_INS_MENTION) return;
    uint32_t n = e ? cji_ins_n(f, x) : 1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t word = cji_ins_opnd(f, x, i);
        direct |= cji_word_kind(word) == CJI_K_FUNC ||
                  (cji_word_kind(word) == CJI_K_TARGETS && f->tlist[cji_word_index(word)].list);
        look_at(g, at, word, call);
    }
    if (call && !direct) add_edge(g, at, (uint32_t)g->m->nfn);
}

/* Addresses in initial values. */
static void look_at_variables(call_graph *g)
{
    for (size_t i = 0; i < g->m->nvar; i++)
        for (uint32_t k = 0; k < g->m->var[i]->nreloc; k++) {
            uint32_t word = g->m->var[i]->reloc[k].word;
            if (cji_word_kind(word) == CJI_K_FUNC) add_edge(g, g->m->nfn, cji_word_index(word));
        }
}

/* From each user to its callers, each node once.  first[i] to first[i + 1]: the callers of node i in caller[]; queue:
 * nfn + 1 nodes. */
static void spread(const call_graph *g, uint32_t *first, uint32_t *caller, uint32_t *queue)
{
    size_t nodes = g->m->nfn + 1, head = 0, tail = 0;
    for (size_t i = 0; i < g->n; i++) first[g->edge[i].callee + 1]++;
    for (size_t i = 0; i < nodes; i++) first[i + 1] += first[i];
    for (size_t i = g->n; i-- > 0;) caller[--first[g->edge[i].callee + 1]] = g->edge[i].caller;
    for (uint32_t i = 0; i < nodes; i++)
        if (g->use[i]) queue[tail++] = i;
    for (; head < tail; head++) {
        uint32_t at = queue[head];
        for (uint32_t k = first[at + 1], end = at + 2 <= nodes ? first[at + 2] : (uint32_t)g->n; k < end; k++) {
            if (g->use[caller[k]]) continue;
            g->use[caller[k]] = g->use[at];
            queue[tail++] = caller[k];
        }
    }
}

static bool reach(const call_graph *g)
{
    size_t nodes = g->m->nfn + 1, words = nodes + 2 + g->n + nodes;
    uint32_t *room = cji_zalloc(words * sizeof *room);
    if (!room) return false;
    spread(g, room, room + nodes + 2, room + nodes + 2 + g->n);
    cji_free(room, words * sizeof *room);
    return true;
}

bool cji_shared_uses(const cj_ptx *m, uint32_t *use)
{
    call_graph g = { .m = m, .use = use };
    bool any = false;
    for (size_t i = 0; i < m->nvar && !any; i++) any = is_dynamic(m->var[i]);
    if (!any) return true;
    for (size_t i = 0; i < m->nfn; i++)
        for (size_t k = 0; k < m->fn[i]->nins; k++) look_at_record(&g, i, &m->fn[i]->ins[k]);
    look_at_variables(&g);
    bool fine = !g.failed && reach(&g);
    cji_free(g.edge, g.cap * sizeof *g.edge);
    return fine;
}
