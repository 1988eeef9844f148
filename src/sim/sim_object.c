/* User objects: counted by their callers, by graphs, by executable graphs and by launches in flight.  The last reference dooms an
 * object: a worker calls its destructor once, as a host function that may not call the driver. */
#include "sim/simcore.h"
#include "sim/sim_exec.h"
#include "sim/sim_graph.h"
#include "sim/sim_queue.h"

#include <limits.h>

struct sd_object {
    sd_object *next;                /* sd.doomed */
    uint64_t refs;
    CUhostFn destroy;
    void *ptr;
};

static void sd_object_release(sd_object *o, unsigned count)
{
    o->refs -= count;
    if (o->refs) return;
    cji_sd_handle_drop(o);
    o->next = sd.doomed;
    sd.doomed = o;
    sd.ndoomed++;
    if (!cji_sd_workers_start()) return;    /* without a thread now: the next one that is made finds it */
    cji_sd_balance(0);
}

/* Not counted among host functions: those may block for ever, and the end of the process does not wait for them. */
void cji_sd_objects_call(void)
{
    sd_object *o = sd.doomed;
    sd.doomed = o->next;
    sd.ndoomed--;
    sd_unlock();
    cji_sd_host_section(true);
    o->destroy(o->ptr);
    cji_sd_host_section(false);
    sd_lock();
    cji_free(o, sizeof *o);
}

/* The end of the process: what still lives is not destroyed, as on a GPU. */
void cji_sd_objects_end(void)
{
    sd_object *o;
    while ((o = cji_sd_handle_next(SD_OBJECT, NULL, NULL))) {
        cji_sd_handle_drop(o);
        cji_free(o, sizeof *o);
    }
    while ((o = sd.doomed)) {
        sd.doomed = o->next;
        cji_free(o, sizeof *o);
    }
    sd.ndoomed = 0;
}

/* ---- Bags: the references that a graph holds --------------------------------------------------------------------- */

static sd_hold *sd_bag_find(const sd_bag *b, const sd_object *o)
{
    for (size_t i = 0; b && i < b->n; i++)
        if (b->hold[i].object == o) return &b->hold[i];
    return NULL;
}

/* Takes over `count` references of the object. */
static bool sd_bag_put(sd_bag *b, sd_object *o, unsigned count)
{
    sd_hold *hold = sd_bag_find(b, o);
    if (hold) {
        hold->count += count;
        return true;
    }
    if (!cji_grow(&b->hold, &b->cap, b->n + 1, sizeof *b->hold)) return false;
    b->hold[b->n++] = (sd_hold){ o, count };
    return true;
}

sd_bag *cji_sd_bag_copy(sd_bag *into, const sd_bag *from, bool *failed)
{
    if (!from || !from->n) return into;
    sd_bag *b = into ? into : cji_zalloc(sizeof *b);
    if (!b) {
        *failed = true;
        return NULL;
    }
    if (!into) b->refs = 1;
    for (size_t i = 0; i < from->n && !*failed; i++) {
        *failed = !sd_bag_put(b, from->hold[i].object, 1);
        if (!*failed) from->hold[i].object->refs++;
    }
    return b;
}

void cji_sd_bag_drop(sd_bag *b)
{
    if (!b || --b->refs) return;
    for (size_t i = 0; i < b->n; i++) sd_object_release(b->hold[i].object, b->hold[i].count);
    cji_free(b->hold, b->cap * sizeof *b->hold);
    cji_free(b, sizeof *b);
}

/* ---- Entry points ------------------------------------------------------------------------------------------------ */

CUresult cji_sd_cuUserObjectCreate(CUuserObject *out, void *ptr, CUhostFn destroy, unsigned count, unsigned flags)
{
    if (!out || !destroy || !count || count > INT_MAX || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    sd_object *o = cji_zalloc(sizeof *o);
    bool ok = o && cji_sd_handle_add(SD_OBJECT, o);
    if (ok) {
        *o = (sd_object){ .refs = count, .destroy = destroy, .ptr = ptr };
        *out = (CUuserObject)o;
    } else {
        cji_free(o, sizeof *o);
    }
    sd_unlock();
    return ok ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult sd_object_get(CUuserObject h, unsigned count, sd_object **out)
{
    if (!count || count > INT_MAX || !cji_sd_handle_is(SD_OBJECT, h)) return CUDA_ERROR_INVALID_VALUE;
    *out = (sd_object *)h;
    return CUDA_SUCCESS;
}

CUresult cji_sd_cuUserObjectRetain(CUuserObject h, unsigned count)
{
    sd_object *o;
    sd_lock();
    CUresult r = sd_object_get(h, count, &o);
    if (!r) o->refs += count;
    sd_unlock();
    return r;
}

CUresult cji_sd_cuUserObjectRelease(CUuserObject h, unsigned count)
{
    sd_object *o;
    sd_lock();
    CUresult r = sd_object_get(h, count, &o);
    if (!r && count > o->refs) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) sd_object_release(o, count);
    sd_unlock();
    return r;
}

CUresult cji_sd_cuGraphRetainUserObject(CUgraph hg, CUuserObject h, unsigned count, unsigned flags)
{
    sd_graph *g;
    sd_object *o;
    if (flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_graph_get(hg, &g);
    if (!r) r = sd_object_get(h, count, &o);
    if (!r && !g->bag) {
        g->bag = cji_zalloc(sizeof *g->bag);
        if (g->bag) g->bag->refs = 1;
    }
    if (!r && (!g->bag || !sd_bag_put(g->bag, o, count))) r = CUDA_ERROR_OUT_OF_MEMORY;
    if (!r && !(flags & CU_GRAPH_USER_OBJECT_MOVE)) o->refs += count;
    sd_unlock();
    return r;
}

CUresult cji_sd_cuGraphReleaseUserObject(CUgraph hg, CUuserObject h, unsigned count)
{
    sd_graph *g;
    sd_object *o;
    sd_lock();
    CUresult r = cji_sd_graph_get(hg, &g);
    if (!r) r = sd_object_get(h, count, &o);
    sd_hold *hold = r ? NULL : sd_bag_find(g->bag, o);
    if (!r && (!hold || hold->count < count)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        hold->count -= count;
        if (!hold->count) *hold = g->bag->hold[--g->bag->n];
        sd_object_release(o, count);
    }
    sd_unlock();
    return r;
}
