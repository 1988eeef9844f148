/* Graphs: made, entered by one call at a time, retained, freed. */
#include "stream/graph/stream_graph.h"

bool cji_graph_init(cj_graph *g, cj_device *dev, CUgraph raw, cji_refset *refset, const char *call)
{
    if (!refset) refset = cji_refset_new();
    if (!refset) return cji_fail(g, CJ_ENOMEM, call, "no memory for what the graph keeps alive") == CJ_OK;
    g->dev = cji_obj_retain(dev);
    g->queue = &dev->queue;
    g->raw = raw;
    g->refset = refset;
    return true;
}

cj_graph *cj_graph_create(cj_device *dev)
{
    static const char call[] = "cj_graph_create";
    CUgraph raw = NULL;
    cji_scope scope;
    cj_graph *g = cji_obj_new(sizeof *g, CJI_TAG_GRAPH, 0, call);
    if (cji_obj_failed(g)) return g;
    pthread_mutex_init(&g->lock, NULL);
    if (cji_check_arg(g, dev, CJI_TAG_DEVICE, call, "the device") == CJ_OK &&
        cji_scope_begin_relaxed(g, dev, &scope, call) == CJ_OK) {
        cji_deferred_poll(&dev->queue, CJI_DEFERRED_STEP);
        CUresult r = dev->queue.cu->cuGraphCreate(&raw, 0);
        if (r != CUDA_SUCCESS) {
            raw = NULL;
            cji_rejected(g, dev, r, call, "cuGraphCreate");
        } else if (!cji_graph_init(g, dev, raw, NULL, call)) {
            dev->queue.cu->cuGraphDestroy(raw);
        }
        cji_scope_leave(&scope);
    }
    if (!g->raw) cji_obj_set_failed(g);
    return g;
}

cj_status cji_graph_enter(cj_graph *g, void *into, const char *call)
{
    cj_graph *root = cji_graph_root(g);
    cji_lock(&root->lock, CJI_LOCK_GRAPH);
    if (!root->capturing && !root->gone) return CJ_OK;
    cji_unlock(&root->lock, CJI_LOCK_GRAPH);
    if (root->gone) return cji_fail_with(into, &root->why);
    return cji_fail(into, CJ_ESTATE, call, "a capture adds to the graph; end or pause it first");
}

cj_status cji_graph_enter_needed(cj_graph *g, void *into, const char *call)
{
    cj_status st = cji_graph_enter(g, into, call);
    if (st == CJ_OK) return CJ_OK;
    cji_lock(&cji_graph_root(g)->lock, CJI_LOCK_GRAPH);
    cji_graph_incomplete(g);
    cji_graph_leave(g);
    return st;
}

void cji_graph_incomplete(cj_graph *g)
{
    cj_graph *root = cji_graph_root(g);
    if (root->incomplete) return;
    root->incomplete = true;
    root->why = *cj_error_last();
}

/* A function of the user; outside of the scope of the call that releases it. */
typedef struct graph_user {
    void (*release)(void *user);
    void *user;
} graph_user;

static void graph_user_release(void *what)
{
    graph_user *u = what;
    cji_scope *scope = cji_scope_suspend();
    u->release(u->user);
    cji_scope_resume(scope);
    cji_free(u, sizeof *u);
}
static const cji_ref_type ref_graph_user = { graph_user_release };

cj_status cj_graph_on_release(cj_graph *g, void (*release)(void *user), void *user)
{
    static const char call[] = "cj_graph_on_release";
    bool had = false;
    cj_status st = cji_check(g, CJI_TAG_GRAPH, call);
    if (st != CJ_OK) return st;
    if (!release) return cji_fail(g, CJ_EINVAL, call, "the function is NULL");
    graph_user *u = cji_alloc(sizeof *u);
    if (u) {
        *u = (graph_user){ release, user };
        cj_graph *root = cji_graph_root(g);
        cji_lock(&root->lock, CJI_LOCK_GRAPH);
        bool added = cji_refset_add(root->refset, &ref_graph_user, u, &had);
        cji_unlock(&root->lock, CJI_LOCK_GRAPH);
        if (added) return CJ_OK;
        cji_free(u, sizeof *u);
    }
    return cji_fail(g, CJ_ENOMEM, call, "no memory to note what the graph keeps");
}

void *cj_graph_raw(const cj_graph *g) { return cji_check(g, CJI_TAG_GRAPH, "cj_graph_raw") == CJ_OK ? g->raw : NULL; }

/* The host's side of a graph. */
static void graph_delete_parts(cj_graph *g)
{
    cji_nodes_free(g);
    cji_text_free(&g->dot);
    cji_free(g->body, g->body_cap * sizeof *g->body);
    cji_free(g->body_of, g->body_of_cap * sizeof *g->body_of);
    cji_free(g->frontier, g->frontier_cap * sizeof *g->frontier);
    pthread_mutex_destroy(&g->lock);
    cji_obj_delete(g, sizeof *g);
}

/* A body and those inside it; their CUgraphs go with the root's. */
static void graph_delete_body(cj_graph *b)
{
    for (size_t i = 0; i < b->nbody; i++) graph_delete_body(b->body[i]);
    graph_delete_parts(b);
}

static void graph_delete(cj_graph *g)
{
    cj_device *dev = g->dev;
    cji_graph_memory_free(g);
    cji_refset_drop(g->refset);
    for (size_t i = 0; i < g->nbody; i++) graph_delete_body(g->body[i]);
    graph_delete_parts(g);
    cji_device_drop(dev);
}

static void graph_delete_deferred(cji_deferred *deferred)
{
    graph_delete((cj_graph *)((char *)deferred - offsetof(cj_graph, deferred)));
}

void cji_graph_drop(cj_graph *g)
{
    if (!cji_obj_release(g)) return;
    if (!g->raw) {
        graph_delete(g);
        return;
    }
    cj_device *dev = cji_obj_retain(g->dev);
    g->deferred.run = graph_delete_deferred;
    cji_defer(&dev->queue, &g->deferred, 0);
    cji_deferred_poll(&dev->queue, CJI_DEFERRED_STEP);
    cji_device_drop(dev);
}

void cj_graph_free(cj_graph *g)
{
    if (cji_check_free(g, CJI_TAG_GRAPH, "cj_graph_free") && !g->root) cji_graph_drop(g);
}
