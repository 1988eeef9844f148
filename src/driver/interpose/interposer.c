/* A driver over a driver.  An entry point carries no user pointer, so each interposer takes one of a few slots, and
 * each slot has a set of wrappers of its own, made from symbols.def.  A wrapper puts its arguments into an array and
 * calls interposer_call(), which all of them share.  That calls the first layer of the interposer's chain.  Behind the
 * last layer a row's invoke_ function takes the array apart again and calls the driver below.
 *
 * A slot holds its interposer from cj_driver_open_interposed until the interposer's driver has lost its last
 * reference, when no call can be under way any more.  A slot
 * whose interposer was made before fork() is free in the child. */
#include <stdatomic.h>
#include <string.h>

#include "base/cancel.h"
#include "base/opts.h"
#include "base/process.h"
#include "driver/interpose/driver_interpose.h"
#include "driver/open.h"

_Static_assert((int)CJ_INTERPOSERS_MAX == (int)CJI_INTERPOSER_USERS, "each interposer of a user has a slot");

struct cji_interposer {
    cj_driver *under;  /* retained */
    cji_layer *first;
    atomic_uint_fast64_t calls;
    uint32_t fork_gen; /* of the process that made it */
    int slot;
};

/* -- A call -------------------------------------------------------------------------------------------------------- */

typedef CUresult (*invoke_fn)(const cji_cu *cu, const uint64_t *value);

static __attribute__((noinline)) CUresult interposer_call(int slot, int id, invoke_fn invoke, const uint64_t *value)
{
    struct cji_interposer *interposer = atomic_load_explicit(&cji_process.interposer[slot], memory_order_acquire);
    const cji_layer_call c = {
        .row = &cji_cu_rows[id],
        .id = id,
        .number = atomic_fetch_add_explicit(&interposer->calls, 1, memory_order_relaxed) + 1,
        .value = value,
        .invoke = invoke,
        .under = interposer->under,
    };
    return interposer->first->call(interposer->first, &c);
}

void cji_layers_free(cji_layer *first)
{
    while (first) {
        cji_layer *next = first->next;
        first->free(first);
        first = next;
    }
}

/* -- The layer of a user's functions ------------------------------------------------------------------------------- */

struct user_layer {
    cji_layer layer;
    cj_interposer_opts opts;
};

static CUresult user_call(cji_layer *self, const cji_layer_call *c)
{
    const cj_interposer_opts *o = &((struct user_layer *)self)->opts;
    const char *name = c->row->name;
    CUresult r = o->before ? (CUresult)o->before(o->user, c->number, name) : CUDA_SUCCESS;
    if (r == CUDA_SUCCESS && c->number == o->fail_at) r = (CUresult)o->fail_with;
    if (r == CUDA_SUCCESS) r = cji_layer_pass(self, c);
    if (o->after) {
        char text[CJI_INTERPOSER_TEXT];
        cji_interposer_text(text, sizeof text, c->id, c->value, r);
        o->after(o->user, c->number, name, text, r);
    }
    return r;
}

static void user_free(cji_layer *self) { cji_free(self, sizeof(struct user_layer)); }

void cj_interposer_defaults(cj_interposer_opts *opts)
{
    if (opts) *opts = (cj_interposer_opts){ .size = sizeof *opts, .fail_with = CUDA_ERROR_UNKNOWN };
}

/* NULL: the failure is recorded in `into`. */
static cji_layer *user_layer_new(void *into, const cj_interposer_opts *opts, const char *call)
{
    cj_interposer_opts o;
    cj_interposer_defaults(&o);
    if (!cji_opts_take(&o, sizeof o, opts, into, call, "cj_interposer")) return NULL;
    o.size = sizeof o;
    if (!o.fail_with) o.fail_with = CUDA_ERROR_UNKNOWN;
    struct user_layer *user = cji_zalloc(sizeof *user);
    if (!user) {
        cji_fail(into, CJ_ENOMEM, call, "no memory for the interposer");
        return NULL;
    }
    user->layer = (cji_layer){ .call = user_call, .free = user_free };
    user->opts = o;
    return &user->layer;
}

/* -- One function for each entry point, and one wrapper for each slot ---------------------------------------------- */

#define INTERPOSER_TAKE(T, a) T a = (T)(uintptr_t)*cji_value++;
#define CU(name, export, version, need, count, list)                                 \
    static CUresult invoke_##name(const cji_cu *cji_below, const uint64_t *cji_value) \
    {                                                                                \
        CJI_CU_EACH(count, INTERPOSER_TAKE, list)                                           \
        (void)cji_value;                                                             \
        return cji_below->name(CJI_CU_NAMES(count, list));                           \
    }
#include "cuda/symbols.def"
#undef INTERPOSER_TAKE

#define INTERPOSER_GIVE(T, a) (uint64_t)(uintptr_t)(a),
#define INTERPOSER_WRAPPER(slot, name, count, list)                                  \
    static CUresult interposer##slot##_##name(CJI_CU_DECL(count, list))              \
    {                                                                         \
        const uint64_t cji_args[] = { CJI_CU_EACH(count, INTERPOSER_GIVE, list) 0 }; \
        return interposer_call(slot, CJI_CU_ID_##name, invoke_##name, cji_args);     \
    }
#define CU(name, export, version, need, count, list)                                  \
    INTERPOSER_WRAPPER(0, name, count, list) INTERPOSER_WRAPPER(1, name, count, list)               \
    INTERPOSER_WRAPPER(2, name, count, list) INTERPOSER_WRAPPER(3, name, count, list)               \
    INTERPOSER_WRAPPER(4, name, count, list) INTERPOSER_WRAPPER(5, name, count, list)               \
    INTERPOSER_WRAPPER(6, name, count, list)
#include "cuda/symbols.def"
#undef INTERPOSER_GIVE
#undef INTERPOSER_WRAPPER

CUresult cji_cu_invoke(const cji_cu *cu, int id, const uint64_t *value)
{
    static const invoke_fn invokes[CJI_CU_COUNT] = {
#define CU(name, export, version, need, count, list) [CJI_CU_ID_##name] = invoke_##name,
#include "cuda/symbols.def"
    };
    return invokes[id](cu, value);
}

static const cji_cu wrappers[CJI_INTERPOSER_SLOTS] = {
#define CU(name, export, version, need, count, list) \
    [0].name = interposer0_##name, [1].name = interposer1_##name, [2].name = interposer2_##name, \
    [3].name = interposer3_##name, [4].name = interposer4_##name, [5].name = interposer5_##name, \
    [6].name = interposer6_##name,
#include "cuda/symbols.def"
};

/* -- Slots --------------------------------------------------------------------------------------------------------- */

static bool take_slot(struct cji_interposer *interposer, bool of_environment)
{
    const int end = of_environment ? CJI_INTERPOSER_SLOTS : CJI_INTERPOSER_USERS;
    for (int i = of_environment ? CJI_INTERPOSER_USERS : 0; i < end; i++) {
        struct cji_interposer *there = atomic_load(&cji_process.interposer[i]);
        if (there && there->fork_gen == interposer->fork_gen) continue;
        interposer->slot = i;
        if (atomic_compare_exchange_strong(&cji_process.interposer[i], &there, interposer)) return true;
    }
    interposer->slot = CJI_INTERPOSER_SLOTS;
    return false;
}

bool cji_interposer_room(void)
{
    const uint32_t gen = cji_fork_gen();
    for (int i = CJI_INTERPOSER_USERS; i < CJI_INTERPOSER_SLOTS; i++) {
        struct cji_interposer *there = atomic_load(&cji_process.interposer[i]);
        if (!there || there->fork_gen != gen) return true;
    }
    return false;
}

/* The driver below is the caller's to drop. */
static cj_driver *interposer_end(struct cji_interposer *interposer)
{
    struct cji_interposer *self = interposer;
    cj_driver *under = interposer->under;
    if (interposer->slot < CJI_INTERPOSER_SLOTS)
        atomic_compare_exchange_strong(&cji_process.interposer[interposer->slot], &self, NULL);
    cji_layers_free(interposer->first);
    cji_free(interposer, sizeof *interposer);
    return under;
}

static void *interposer_get(void *user, const cji_cu_row *row)
{
    const struct cji_interposer *interposer = user;
    int id = (int)(row - cji_cu_rows);
    return interposer->under->missing[id] ? NULL : cji_cu_get(&wrappers[interposer->slot], id);
}

/* -- Opening ------------------------------------------------------------------------------------------------------- */

/* Retains `under` and takes the layers over; NULL, and the failure is recorded in `into`. */
static struct cji_interposer *new_interposer(cj_driver *into, cj_driver *under, cji_layer *first, bool of_environment,
                                             const char *call)
{
    struct cji_interposer *interposer = cji_zalloc(sizeof *interposer);
    if (!interposer) {
        cji_layers_free(first);
        cji_fail(into, CJ_ENOMEM, call, "no memory for the interposer");
        return NULL;
    }
    interposer->under = cji_obj_retain(under);
    interposer->first = first;
    interposer->fork_gen = cji_fork_gen();
    atomic_init(&interposer->calls, 0);
    if (take_slot(interposer, of_environment)) return interposer;
    cji_fail(
        into, CJ_EBUSY, call,
        "%d interposers are open already, and a process has room for no more: close one, or put the work of two into one",
        of_environment ? CJI_INTERPOSER_SLOTS - CJI_INTERPOSER_USERS : CJ_INTERPOSERS_MAX);
    cji_obj_release(interposer_end(interposer)); /* not the last reference, which is the caller's */
    return NULL;
}

cj_driver *cji_driver_over(cj_driver *under, cji_layer *first, bool of_environment, const char *call)
{
    CJI_NO_CANCEL;
    cj_driver *failed = cji_obj_new(sizeof *failed, CJI_TAG_DRIVER, 0, call);
    if (cji_obj_failed(failed)) {
        cji_layers_free(first);
        return failed;
    }
    struct cji_interposer *interposer = new_interposer(failed, under, first, of_environment, call);
    if (!interposer) return cji_obj_set_failed(failed), failed;
    cji_obj_release(failed);
    cji_obj_delete(failed, sizeof *failed);
    cj_driver *drv =
        cji_driver_start((cji_source){ interposer_get, interposer }, interposer, interposer_end, under->path);
    if (!cji_obj_failed(drv)) {
        drv->kind = under->kind;
        drv->fault = under->fault;
        drv->suballoc = under->suballoc;
        drv->reset = under->reset;
        drv->by_value = under->by_value;
        drv->cached = under->cached;
        drv->build = under->build;
        for (const cji_layer *l = first; l; l = l->next) {
            if (!l->records) continue;
            drv->cached = false;
            drv->reset = NULL; /* a context ends by driver calls */
        }
    }
    return drv;
}

/* The failed driver of a call that made no layer. */
static cj_driver *no_layer(cj_driver *failed)
{
    cji_obj_set_failed(failed);
    return failed;
}

/* An empty driver that keeps the failures of making a layer, and whose `under` is one; *drv is what to return where it
 * is not. */
static bool over_begin(cj_driver **drv, cj_driver *under, const char *call)
{
    *drv = cji_obj_new(sizeof **drv, CJI_TAG_DRIVER, 0, call);
    if (cji_obj_failed(*drv)) return false;
    if (cji_check_arg(*drv, under, CJI_TAG_DRIVER, call, "the driver below") == CJ_OK) return true;
    no_layer(*drv);
    return false;
}

static cj_driver *over_end(cj_driver *drv, cj_driver *under, cji_layer *layer, const char *call)
{
    if (!layer) return no_layer(drv);
    cji_obj_release(drv);
    cji_obj_delete(drv, sizeof *drv);
    return cji_driver_over(under, layer, false, call);
}

cj_driver *cj_driver_open_interposed(cj_driver *under, const cj_interposer_opts *opts)
{
    static const char call[] = "cj_driver_open_interposed";
    CJI_NO_CANCEL;
    cj_driver *drv;
    if (!over_begin(&drv, under, call)) return drv;
    return over_end(drv, under, user_layer_new(drv, opts, call), call);
}

cj_driver *cj_driver_open_traced(cj_driver *under, const char *path)
{
    static const char call[] = "cj_driver_open_traced";
    CJI_NO_CANCEL;
    cj_driver *drv;
    if (!over_begin(&drv, under, call)) return drv;
    return over_end(drv, under, cji_trace_layer(drv, path, NULL, call), call);
}

cj_driver *cj_driver_open_recorded(cj_driver *under, const char *path)
{
    static const char call[] = "cj_driver_open_recorded";
    CJI_NO_CANCEL;
    cj_driver *drv;
    if (!over_begin(&drv, under, call)) return drv;
    return over_end(drv, under, cji_record_layer(drv, under, path, 1, NULL, call), call);
}

cj_driver *cj_driver_open_faulty(cj_driver *under, const char *faults)
{
    static const char call[] = "cj_driver_open_faulty";
    cj_driver *drv;
    if (!over_begin(&drv, under, call)) return drv;
    return over_end(drv, under, cji_fault_layer(drv, faults, "faults", call), call);
}

uint64_t cj_interposer_calls(const cj_driver *drv)
{
    return cji_readable(drv, CJI_TAG_DRIVER, false) && drv->interposer ? atomic_load(&drv->interposer->calls) : 0;
}
