/* Which functions name which variables, and the call graph over all modules (program.h).
 *
 * Every function is a node. Node nfunc stands for "some function whose address is taken": calls of addresses lead to
 * it, and from it to each of these. The graph is walked from the functions that name common shared variables to their
 * callers, each node once. */
#include "sim/exec/program.h"

/* What the walk over one function's instructions adds to. */
typedef struct share_graph {
    const cji_exec_program *p;
    cji_dec_module *mod;
    uint32_t node;                                             /* the function whose instructions are read */
    cji_program_call *edge; size_t n, cap;
    struct share_name { const cji_dec_module *mod; uint32_t node, var; } *name; size_t nname, cname;
    bool failed;
} share_graph;

bool cji_program_is_shared(const cji_var *v)
{
    return v->space == CJI_SP_SHARED && !(v->flags & CJI_VAR_UNSIZED) && v->linkage != CJI_LINK_EXTERN;
}

static void share_edge_add(share_graph *g, size_t caller, size_t callee)
{
    if (g->failed || !cji_grow(&g->edge, &g->cap, g->n + 1, sizeof *g->edge)) g->failed = true;
    else g->edge[g->n++] = (cji_program_call){ (uint32_t)caller, (uint32_t)callee };
}

static void share_named(void *user, uint32_t word, bool call)
{
    share_graph *g = user;
    uint32_t i = cji_word_index(word);
    if (cji_word_kind(word) == CJI_K_FUNC) {
        share_edge_add(g, g->node, g->mod->func[i]);
        if (!call) share_edge_add(g, g->p->nfunc, g->mod->func[i]);
        return;
    }
    uint32_t *by = &g->mod->user[i];
    if (*by == g->node + 1) return;
    *by = *by ? CJI_USER_MANY : g->node + 1;
    if (!cji_program_is_shared(g->mod->m->var[i])) return;
    if (g->failed || !cji_grow(&g->name, &g->cname, g->nname + 1, sizeof *g->name)) g->failed = true;
    else g->name[g->nname++] = (struct share_name){ g->mod, g->node, i };
}

/* A function's own shared variables count always, as with ptxas. */
static void share_own(share_graph *g, const cj_fn *f)
{
    for (size_t i = 0; i < f->nvar; i++)
        if (cji_program_is_shared(g->mod->m->var[f->var[i]])) share_named(g, cji_word(CJI_K_SYM, f->var[i]), true);
}

/* Addresses in initial values. */
static void share_values(share_graph *g)
{
    const cj_ptx *m = g->mod->m;
    for (size_t i = 0; i < m->nvar; i++)
        for (uint32_t k = 0; k < m->var[i]->nreloc; k++) {
            uint32_t word = m->var[i]->reloc[k].word, index = cji_word_index(word);
            if (cji_word_kind(word) == CJI_K_FUNC) share_edge_add(g, g->p->nfunc, g->mod->func[index]);
            else g->mod->user[index] = CJI_USER_MANY;
        }
}

bool cji_program_is_common(const cji_dec_module *mod, uint32_t var)
{
    uint32_t user = mod->user[var];
    return user == CJI_USER_MANY || (user && !mod->p->func[user - 1].kernel);
}

/* From each function that names a common variable to its callers. first: nodes + 2; caller: n edges; queue: nodes. */
static void share_spread(cji_exec_program *p, const share_graph *g, uint32_t *first, uint32_t *caller, uint32_t *queue)
{
    size_t nodes = p->nfunc + 1, head = 0, tail = 0;
    for (size_t i = 0; i < g->n; i++) first[g->edge[i].callee + 2]++;
    for (size_t i = 2; i < nodes + 2; i++) first[i] += first[i - 1];
    for (size_t i = 0; i < g->n; i++) caller[first[g->edge[i].callee + 1]++] = g->edge[i].caller;
    for (size_t i = 0; i < g->nname; i++) {
        const struct share_name *x = &g->name[i];
        if (!cji_program_is_common(x->mod, x->var) || p->func[x->node].reaches) continue;
        p->func[x->node].reaches = true;
        queue[tail++] = x->node;
    }
    for (bool taken = false; head < tail; head++)
        for (uint32_t at = queue[head], k = first[at]; k < first[at + 1]; k++) {
            bool *seen = caller[k] == p->nfunc ? &taken : &p->func[caller[k]].reaches;
            if (*seen) continue;
            *seen = true;
            queue[tail++] = caller[k];
        }
}

static bool share_reach(cji_exec_program *p, const share_graph *g)
{
    size_t nodes = p->nfunc + 1, words = nodes + 2 + g->n + nodes;
    if (!g->nname) return true;
    uint32_t *room = cji_zalloc(words * sizeof *room);
    if (!room) return false;
    share_spread(p, g, room, room + nodes + 2, room + nodes + 2 + g->n);
    cji_free(room, words * sizeof *room);
    return true;
}

bool cji_program_uses(cji_exec_program *p, cji_dec_module *mods, size_t n)
{
    share_graph g = { .p = p };
    for (size_t i = 0; i < n; i++) {
        g.mod = &mods[i];
        g.mod->p = p;
        g.mod->user = cji_arena_alloc(&p->arena, (g.mod->m->nvar + 1) * sizeof *g.mod->user);
        if (!g.mod->user) g.failed = true;
        for (uint32_t k = 0; k < g.mod->m->nfn && !g.failed; k++) {
            if (!cji_program_is_ours(p, g.mod, (uint32_t)i, k)) continue;
            g.node = g.mod->func[k];
            share_own(&g, g.mod->m->fn[k]);
            if (cji_layout_names(g.mod->m, g.mod->m->fn[k], share_named, &g)) share_edge_add(&g, g.node, p->nfunc);
        }
        if (!g.failed) share_values(&g);
    }
    bool fine = !g.failed && share_reach(p, &g);
    p->call = g.edge;
    p->ncall = g.n;
    p->ccall = g.cap;
    cji_free(g.name, g.cname * sizeof *g.name);
    return fine;
}
