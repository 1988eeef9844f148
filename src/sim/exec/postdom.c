/* Immediate post-dominators: Lengauer and Tarjan's algorithm on the reversed graph, with path compression, in
 * O(edges * log blocks) for every graph. Nothing here recurses. */
#include "sim/exec/flow.h"

/* Node n is the function's end; its predecessors are the blocks that leave. Arrays of numbers are indexed by a node's
 * number in the depth-first search from the end, which is number 0. */
typedef struct postdom {
    const cji_flow *g;
    const cj_fn *f;
    uint32_t n, count;
    uint32_t *pred, *pred_at;        /* by node: pred[pred_at[v]] to pred[pred_at[v + 1]] */
    uint32_t *number, *node;         /* of a node, CJI_FLOW_NONE: not reached; of a number */
    uint32_t *parent, *semi, *dom;   /* by number */
    uint32_t *label, *ancestor;      /* by number: the forest; ancestor CJI_FLOW_NONE: a root */
    uint32_t *bucket, *next;         /* by number: the nodes with that semi-dominator, as lists */
    uint32_t *stack;
} postdom;

static bool postdom_leaves(const postdom *d, uint32_t i)
{
    const cji_flow_block *b = &d->g->block[i];
    const cji_form *e = cji_ins_form(d->f->m, &d->f->ins[b->end - 1]);
    return !b->nsucc || (e && e->isa->effect & CJI_FX_END);
}

static bool postdom_alloc(postdom *d, cji_arena *arena)
{
    size_t edges = d->n, nodes = d->n + (size_t)1;
    for (uint32_t i = 0; i < d->n; i++) edges += d->g->block[i].nsucc;
    uint32_t **all[] = { &d->number, &d->node, &d->parent, &d->semi, &d->dom, &d->label, &d->ancestor, &d->bucket,
                         &d->next, &d->stack };
    uint32_t *room = cji_arena_alloc(arena, (sizeof all / sizeof *all * nodes + nodes + 2 + edges) * sizeof *room);
    if (!room) return false;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++, room += nodes) *all[i] = room;
    d->pred_at = room;
    d->pred = room + nodes + 2;
    return true;
}

/* Predecessors; the end's are the blocks that leave. */
static void postdom_preds(postdom *d)
{
    const cji_flow *g = d->g;
    for (uint32_t i = 0; i < d->n; i++) {
        for (uint32_t j = 0; j < g->block[i].nsucc; j++) d->pred_at[g->succ[g->block[i].succ + j] + 2]++;
        if (postdom_leaves(d, i)) d->pred_at[d->n + 2]++;
    }
    for (uint32_t i = 2; i <= d->n + 2; i++) d->pred_at[i] += d->pred_at[i - 1];
    for (uint32_t i = 0; i < d->n; i++) {
        for (uint32_t j = 0; j < g->block[i].nsucc; j++)
            d->pred[d->pred_at[g->succ[g->block[i].succ + j] + 1]++] = i;
        if (postdom_leaves(d, i)) d->pred[d->pred_at[d->n + 1]++] = i;
    }
}

static void postdom_visit(postdom *d, uint32_t v, uint32_t parent)
{
    uint32_t k = d->count++;
    d->number[v] = k;
    d->node[k] = v;
    d->parent[k] = parent;
    d->semi[k] = d->label[k] = k;
    d->ancestor[k] = d->bucket[k] = CJI_FLOW_NONE;
    d->next[k] = d->pred_at[v];      /* until the search is done: the next edge to follow */
}

/* Numbers what the end reaches in the reversed graph. */
static void postdom_search(postdom *d)
{
    uint32_t top = 0;
    for (uint32_t i = 0; i <= d->n; i++) d->number[i] = CJI_FLOW_NONE;
    postdom_visit(d, d->n, 0);
    d->stack[top++] = 0;
    while (top) {
        uint32_t k = d->stack[top - 1];
        if (d->next[k] == d->pred_at[d->node[k] + 1]) {
            top--;
            continue;
        }
        uint32_t to = d->pred[d->next[k]++];
        if (d->number[to] != CJI_FLOW_NONE) continue;
        postdom_visit(d, to, k);
        d->stack[top++] = d->count - 1;
    }
}

/* The node with the least semi-dominator between `v` and the root of its tree; shortens the path. */
static uint32_t postdom_eval(postdom *d, uint32_t v)
{
    uint32_t top = 0;
    if (d->ancestor[v] == CJI_FLOW_NONE) return v;
    for (uint32_t x = v; d->ancestor[d->ancestor[x]] != CJI_FLOW_NONE; x = d->ancestor[x]) d->stack[top++] = x;
    while (top) {
        uint32_t x = d->stack[--top], a = d->ancestor[x];
        if (d->semi[d->label[a]] < d->semi[d->label[x]]) d->label[x] = d->label[a];
        d->ancestor[x] = d->ancestor[a];
    }
    return d->label[v];
}

static void postdom_semi(postdom *d, uint32_t w, uint32_t v)
{
    if (d->number[v] == CJI_FLOW_NONE) return;
    uint32_t u = postdom_eval(d, d->number[v]);
    if (d->semi[u] < d->semi[w]) d->semi[w] = d->semi[u];
}

static void postdom_solve(postdom *d)
{
    for (uint32_t w = d->count - 1; w > 0; w--) {
        const cji_flow_block *b = &d->g->block[d->node[w]];
        uint32_t parent = d->parent[w];
        for (uint32_t j = 0; j < b->nsucc; j++) postdom_semi(d, w, d->g->succ[b->succ + j]);
        if (postdom_leaves(d, d->node[w])) postdom_semi(d, w, d->n);
        d->next[w] = d->bucket[d->semi[w]];
        d->bucket[d->semi[w]] = w;
        d->ancestor[w] = parent;
        for (uint32_t v = d->bucket[parent]; v != CJI_FLOW_NONE; v = d->next[v]) {
            uint32_t u = postdom_eval(d, v);
            d->dom[v] = d->semi[u] < d->semi[v] ? u : parent;
        }
        d->bucket[parent] = CJI_FLOW_NONE;
    }
    for (uint32_t w = 1; w < d->count; w++)
        if (d->dom[w] != d->semi[w]) d->dom[w] = d->dom[d->dom[w]];
}

bool cji_flow_postdom(const cj_fn *f, cji_arena *arena, cji_flow *g)
{
    postdom d = { .g = g, .f = f, .n = g->n };
    for (uint32_t i = 0; i < g->n; i++) g->block[i].ipdom = CJI_FLOW_NONE;
    if (!g->n) return true;
    if (!postdom_alloc(&d, arena)) return false;
    postdom_preds(&d);
    postdom_search(&d);
    postdom_solve(&d);
    for (uint32_t w = 1; w < d.count; w++)
        if (d.dom[w]) g->block[d.node[w]].ipdom = d.node[d.dom[w]];
    return true;
}
