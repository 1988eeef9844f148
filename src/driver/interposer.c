/* A driver over a driver.  An entry point carries no user pointer, so each interposer takes one of a few slots, and
 * each slot has a set of wrappers of its own,
 * made from symbols.def.  A wrapper puts its arguments into an array; the work is in interposer_call(), which all of
 * them share; a row's invoke_ function takes the
 * array apart again and calls the driver below.
 *
 * A slot holds its interposer from cj_driver_open_interposed until the interposer's driver has lost its last
 * reference, when no call can be under way any more.  A slot
 * whose interposer was made before fork() is free in the child. */
#include "driver/interposer.h"

#include <stdatomic.h>
#include <string.h>

#include <cujit/interpose.h>

#include "base/process.h"
#include "driver/driver.h"
#include "driver/open.h"
#include "driver/interposer_text.h"

_Static_assert((int)CJ_INTERPOSERS_MAX == (int)CJI_INTERPOSER_SLOTS, "each interposer has a slot");

struct cji_interposer {
    cj_driver *under;  /* retained */
    cj_interposer_opts opts;
    atomic_uint_fast64_t calls;
    uint32_t fork_gen; /* of the process that made it */
    int slot;
};

/* -- A call -------------------------------------------------------------------------------------------------------- */

typedef CUresult (*invoke_fn)(const cji_cu *cu, const uint64_t *value);

static __attribute__((noinline)) CUresult interposer_call(int slot, int id, invoke_fn invoke, const uint64_t *value)
{
    struct cji_interposer *interposer = atomic_load_explicit(&cji_process.interposer[slot], memory_order_acquire);
    const cj_interposer_opts *o = &interposer->opts;
    const char *name = cji_cu_rows[id].name;
    uint64_t number = atomic_fetch_add_explicit(&interposer->calls, 1, memory_order_relaxed) + 1;
    CUresult r = o->before ? (CUresult)o->before(o->user, number, name) : CUDA_SUCCESS;
    if (r == CUDA_SUCCESS && number == o->fail_at) r = (CUresult)o->fail_with;
    if (r == CUDA_SUCCESS) r = invoke(&interposer->under->cu, value);
    if (o->after) {
        char text[CJI_INTERPOSER_TEXT];
        cji_interposer_text(text, sizeof text, id, value, r);
        o->after(o->user, number, name, text, r);
    }
    return r;
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
    INTERPOSER_WRAPPER(2, name, count, list) INTERPOSER_WRAPPER(3, name, count, list)
#include "cuda/symbols.def"
#undef INTERPOSER_GIVE
#undef INTERPOSER_WRAPPER

static const cji_cu wrappers[CJI_INTERPOSER_SLOTS] = {
#define CU(name, export, version, need, count, list) \
    [0].name = interposer0_##name, [1].name = interposer1_##name, [2].name = interposer2_##name, \
    [3].name = interposer3_##name,
#include "cuda/symbols.def"
};

/* -- Slots --------------------------------------------------------------------------------------------------------- */

static bool take_slot(struct cji_interposer *interposer)
{
    for (interposer->slot = 0; interposer->slot < CJI_INTERPOSER_SLOTS; interposer->slot++) {
        struct cji_interposer *there = atomic_load(&cji_process.interposer[interposer->slot]);
        if (there && there->fork_gen == interposer->fork_gen) continue;
        if (atomic_compare_exchange_strong(&cji_process.interposer[interposer->slot], &there, interposer)) return true;
    }
    return false;
}

void cji_interposer_free(struct cji_interposer *interposer)
{
    struct cji_interposer *self = interposer;
    if (interposer->slot < CJI_INTERPOSER_SLOTS)
        atomic_compare_exchange_strong(&cji_process.interposer[interposer->slot], &self, NULL);
    cji_driver_drop(interposer->under);
    cji_free(interposer, sizeof *interposer);
}

static void *interposer_get(void *user, const cji_cu_row *row)
{
    const struct cji_interposer *interposer = user;
    int id = (int)(row - cji_cu_rows);
    return interposer->under->missing[id] ? NULL : cji_cu_get(&wrappers[interposer->slot], id);
}

/* -- Opening ------------------------------------------------------------------------------------------------------- */

void cj_interposer_defaults(cj_interposer_opts *opts)
{
    if (opts) *opts = (cj_interposer_opts){ .size = sizeof *opts, .fail_with = CUDA_ERROR_UNKNOWN };
}

/* Copies the options that were given over the defaults; false where their size is none that this version knows. */
static bool take_options(cj_interposer_opts *o, const cj_interposer_opts *opts)
{
    cj_interposer_defaults(o);
    if (!opts) return true;
    size_t size = opts->size;
    if (size < sizeof size || size > 4096) return false;
    for (size_t i = sizeof *o; i < size; i++)
        if (((const char *)opts)[i]) return false;
    memcpy(o, opts, size < sizeof *o ? size : sizeof *o);
    o->size = sizeof *o;
    if (!o->fail_with) o->fail_with = CUDA_ERROR_UNKNOWN;
    return true;
}

static struct cji_interposer *new_interposer(cj_driver *into, cj_driver *under, const cj_interposer_opts *opts,
                                             const char *call)
{
    cj_interposer_opts o;
    if (cji_check_arg(into, under, CJI_TAG_DRIVER, call, "the driver below") != CJ_OK) return NULL;
    if (!take_options(&o, opts)) {
        cji_fail(
            into, CJ_EINVAL, call,
            "the size field of cj_interposer_opts is %zu, wants %zu: fill the options with cj_interposer_defaults first",
            opts->size, sizeof o);
        return NULL;
    }
    struct cji_interposer *interposer = cji_zalloc(sizeof *interposer);
    if (!interposer) {
        cji_fail(into, CJ_ENOMEM, call, "no memory for the interposer");
        return NULL;
    }
    interposer->under = cji_obj_retain(under);
    interposer->opts = o;
    interposer->fork_gen = cji_fork_gen();
    atomic_init(&interposer->calls, 0);
    if (take_slot(interposer)) return interposer;
    cji_fail(
        into, CJ_EBUSY, call,
        "%d interposers are open already, and a process has room for no more: close one, or put the work of two into one",
        CJ_INTERPOSERS_MAX);
    cji_interposer_free(interposer);
    return NULL;
}

cj_driver *cj_driver_open_interposed(cj_driver *under, const cj_interposer_opts *opts)
{
    static const char call[] = "cj_driver_open_interposed";
    cj_driver *failed = cji_obj_new(sizeof *failed, CJI_TAG_DRIVER, 0, call);
    if (cji_obj_failed(failed)) return failed;
    struct cji_interposer *interposer = new_interposer(failed, under, opts, call);
    if (!interposer) return cji_obj_set_failed(failed), failed;
    cji_obj_release(failed);
    cji_obj_delete(failed, sizeof *failed);
    cj_driver *drv = cji_driver_start((cji_source){ interposer_get, interposer }, interposer, under->path);
    if (!cji_obj_failed(drv)) {
        drv->kind = under->kind;
        drv->fault = under->fault;
        drv->suballoc = under->suballoc;
        drv->by_value = under->by_value;
        drv->cached = under->cached;
        drv->build = under->build;
    }
    return drv;
}

uint64_t cj_interposer_calls(const cj_driver *drv)
{
    return cji_readable(drv, CJI_TAG_DRIVER, false) && drv->interposer ? atomic_load(&drv->interposer->calls) : 0;
}
