/* User objects: counted by their callers, by graphs, by executable graphs and by launches in flight. When the last
 * reference is dropped, a worker calls the destructor once, as a host function that may not call the driver. */
#include "sim/graph/sim_graph.h"

#include <limits.h>

struct sim_object {
    sim_call call;                  /* of its destructor, by a worker */
    uint64_t refs;
    CUhostFn destroy;
    void *ptr;
};

/* Not counted among host functions: those may block for ever, and the end of the process does not wait for them. */
static void sim_object_destroy(sim_call *call)
{
    sim_object *o = (sim_object *)call;
    sim_unlock();
    cji_sim_host_section(true);
    o->destroy(o->ptr);
    cji_sim_host_section(false);
    sim_lock();
    cji_free(o, sizeof *o);
}

static void sim_object_release(sim_object *o, unsigned count)
{
    o->refs -= count;
    if (o->refs) return;
    cji_sim_handle_drop(o);
    o->call.run = sim_object_destroy;
    cji_sim_queue_call(&o->call);
}

/* The end of the process: what still lives is not destroyed, as on a GPU. */
void cji_sim_objects_end(void)
{
    sim_object *o;
    size_t at = 0;
    while ((o = cji_sim_handle_next(SIM_OBJECT, NULL, NULL, &at))) {
        cji_sim_handle_drop(o);
        cji_free(o, sizeof *o);
    }
    while ((o = (sim_object *)cji_sim_queue_take_call())) cji_free(o, sizeof *o);
}

/* ---- Sets of them: the references that a graph holds ------------------------------------------------------------- */

static sim_object_ref *sim_objects_find(const sim_objects *b, const sim_object *o)
{
    for (size_t i = 0; b && i < b->n; i++)
        if (b->hold[i].object == o) return &b->hold[i];
    return NULL;
}

/* Takes over `count` references of the object. */
static bool sim_objects_put(sim_objects *b, sim_object *o, unsigned count)
{
    sim_object_ref *hold = sim_objects_find(b, o);
    if (hold) {
        hold->count += count;
        return true;
    }
    if (!cji_grow(&b->hold, &b->cap, b->n + 1, sizeof *b->hold)) return false;
    b->hold[b->n++] = (sim_object_ref){ o, count };
    return true;
}

static void sim_objects_free(sim_ref *r)
{
    sim_objects *b = (sim_objects *)r;
    for (size_t i = 0; i < b->n; i++) sim_object_release(b->hold[i].object, b->hold[i].count);
    cji_free(b->hold, b->cap * sizeof *b->hold);
    cji_free(b, sizeof *b);
}

static sim_objects *sim_objects_new(void)
{
    sim_objects *b = cji_zalloc(sizeof *b);
    if (b) b->ref = (sim_ref){ 1, sim_objects_free };
    return b;
}

sim_objects *cji_sim_objects_copy(sim_objects *into, const sim_objects *from, bool *failed)
{
    if (!from || !from->n) return into;
    sim_objects *b = into ? into : sim_objects_new();
    if (!b) {
        *failed = true;
        return NULL;
    }
    for (size_t i = 0; i < from->n && !*failed; i++) {
        *failed = !sim_objects_put(b, from->hold[i].object, 1);
        if (!*failed) from->hold[i].object->refs++;
    }
    return b;
}

/* ---- Entry points ------------------------------------------------------------------------------------------------ */

CUresult cji_sim_cuUserObjectCreate(CUuserObject *out, void *ptr, CUhostFn destroy, unsigned count, unsigned flags)
{
    if (!out || !destroy || !count || count > INT_MAX || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    sim_object *o = cji_zalloc(sizeof *o);
    bool ok = o && cji_sim_handle_add(SIM_OBJECT, o);
    if (ok) {
        *o = (sim_object){ .refs = count, .destroy = destroy, .ptr = ptr };
        *out = (CUuserObject)o;
    } else {
        cji_free(o, sizeof *o);
    }
    sim_unlock();
    return ok ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult sim_object_get(CUuserObject h, unsigned count, sim_object **out)
{
    if (!count || count > INT_MAX || !cji_sim_handle_is(SIM_OBJECT, h)) return CUDA_ERROR_INVALID_VALUE;
    *out = (sim_object *)h;
    return CUDA_SUCCESS;
}

CUresult cji_sim_cuUserObjectRetain(CUuserObject h, unsigned count)
{
    sim_object *o;
    sim_lock();
    CUresult r = sim_object_get(h, count, &o);
    if (!r) o->refs += count;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuUserObjectRelease(CUuserObject h, unsigned count)
{
    sim_object *o;
    sim_lock();
    CUresult r = sim_object_get(h, count, &o);
    if (!r && count > o->refs) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) sim_object_release(o, count);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuGraphRetainUserObject(CUgraph hg, CUuserObject h, unsigned count, unsigned flags)
{
    sim_graph *g;
    sim_object *o;
    if (flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_graph_get(hg, &g);
    if (!r) r = sim_object_get(h, count, &o);
    if (!r && !g->objects) g->objects = sim_objects_new();
    if (!r && (!g->objects || !sim_objects_put(g->objects, o, count))) r = CUDA_ERROR_OUT_OF_MEMORY;
    if (!r && !(flags & CU_GRAPH_USER_OBJECT_MOVE)) o->refs += count;
    sim_unlock();
    return r;
}

CUresult cji_sim_cuGraphReleaseUserObject(CUgraph hg, CUuserObject h, unsigned count)
{
    sim_graph *g;
    sim_object *o;
    sim_lock();
    CUresult r = cji_sim_graph_get(hg, &g);
    if (!r) r = sim_object_get(h, count, &o);
    sim_object_ref *hold = r ? NULL : sim_objects_find(g->objects, o);
    if (!r && (!hold || hold->count < count)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        hold->count -= count;
        if (!hold->count) *hold = g->objects->hold[--g->objects->n];
        sim_object_release(o, count);
    }
    sim_unlock();
    return r;
}
