/* Graphs: made, entered by one call at a time, kept alive, freed. */
#include "stream/graphs.h"

bool cji_graph_init(cj_graph *g, cj_device *dev, CUgraph raw, cji_keep *keep, const char *call)
{
    if (!keep) keep = cji_keep_new();
    if (!keep) return cji_fail(g, CJ_ENOMEM, call, "no memory for what the graph keeps alive") == CJ_OK;
    g->dev = cji_obj_retain(dev);
    g->hub = &dev->hub;
    g->raw = raw;
    g->keep = keep;
    return true;
}

cj_graph *cj_graph_create(cj_device *dev)
{
    static const char call[] = "cj_graph_create";
    CUgraph raw = NULL;
    cji_ctx ctx;
    cj_graph *g = cji_obj_new(sizeof *g, CJI_TAG_GRAPH, 0, call);
    if (cji_obj_failed(g)) return g;
    pthread_mutex_init(&g->lock, NULL);
    if (cji_check_arg(g, dev, CJI_TAG_DEVICE, call, "the device") == CJ_OK && cji_ctx_begin_calm(g, dev, &ctx, call) == CJ_OK) {
        cji_late_poll(&dev->hub, CJI_LATE_STEP);
        CUresult r = dev->hub.cu->cuGraphCreate(&raw, 0);
        if (r != CUDA_SUCCESS) {
            raw = NULL;
            cji_refused(g, dev, r, call, "cuGraphCreate");
        } else if (!cji_graph_init(g, dev, raw, NULL, call)) {
            dev->hub.cu->cuGraphDestroy(raw);
        }
        cji_ctx_leave(dev, &ctx);
    }
    if (!g->raw) cji_obj_set_failed(g);
    return g;
}

cj_status cji_graph_enter(cj_graph *g, void *into, const char *call)
{
    cj_graph *root = cji_graph_root(g);
    pthread_mutex_lock(&root->lock);
    if (!root->capturing && !root->gone) return CJ_OK;
    pthread_mutex_unlock(&root->lock);
    if (root->gone) return cji_fail_with(into, &root->hole);
    return cji_fail(into, CJ_ESTATE, call, "a capture adds to the graph; end or pause it first");
}

void cji_graph_hole(cj_graph *g)
{
    cj_graph *root = cji_graph_root(g);
    if (root->holed) return;
    root->holed = true;
    root->hole = *cj_error_last();
}

cj_status cj_graph_on_release(cj_graph *g, void (*release)(void *user), void *user)
{
    static const char call[] = "cj_graph_on_release";
    bool had = false;
    cj_status st = cji_check(g, CJI_TAG_GRAPH, call);
    if (st != CJ_OK) return st;
    if (!release) return cji_fail(g, CJ_EINVAL, call, "the function is NULL");
    cji_user *u = cji_alloc(sizeof *u);
    if (u) {
        *u = (cji_user){ release, user };
        cj_graph *root = cji_graph_root(g);
        pthread_mutex_lock(&root->lock);
        bool kept = cji_keep_add(root->keep, CJI_KEPT_USER, u, &had);
        pthread_mutex_unlock(&root->lock);
        if (kept) return CJ_OK;
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
    cji_free(g->stand, g->stand_cap * sizeof *g->stand);
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
    cji_keep_drop(g->keep);
    for (size_t i = 0; i < g->nbody; i++) graph_delete_body(g->body[i]);
    graph_delete_parts(g);
    cji_device_drop(dev);
}

static void graph_delete_late(cji_late *late) { graph_delete((cj_graph *)((char *)late - offsetof(cj_graph, late))); }

void cji_graph_drop(cj_graph *g)
{
    if (!cji_obj_release(g)) return;
    if (!g->raw) {
        graph_delete(g);
        return;
    }
    cj_device *dev = cji_obj_retain(g->dev);
    g->late.run = graph_delete_late;
    cji_late_put(&dev->hub, &g->late, 0);
    cji_late_poll(&dev->hub, CJI_LATE_STEP);
    cji_device_drop(dev);
}

void cj_graph_free(cj_graph *g)
{
    if (cji_check_free(g, CJI_TAG_GRAPH, "cj_graph_free") && !g->root) cji_graph_drop(g);
}
