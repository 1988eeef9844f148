/* A driver over a driver.  An entry point carries no user pointer, so each layer takes one of a few slots, and each slot has a set of wrappers of its own,
 * made from symbols.def.  A wrapper puts its arguments into an array; the work is in tap_call(), which all of them share; a row's invoke_ function takes the
 * array apart again and calls the driver below.
 *
 * A slot holds its layer from cj_driver_open_interposed until the layer's driver has lost its last reference, when no call can be under way any more.  A slot
 * whose layer was made before fork() is free in the child. */
#include "driver/layer.h"

#include <stdatomic.h>
#include <string.h>

#include <cujit/interpose.h>

#include "base/process.h"
#include "driver/driver.h"
#include "driver/open.h"
#include "driver/layer_text.h"

_Static_assert((int)CJ_INTERPOSERS_MAX == (int)CJI_TAP_SLOTS, "each layer has a slot");

struct cji_tap {
    cj_driver *under;  /* retained */
    cj_interposer_opts opts;
    atomic_uint_fast64_t calls;
    uint32_t fork_gen; /* of the process that made it */
    int slot;
};

/* -- A call ---------------------------------------------------------------------------------------------------------------- */

typedef CUresult (*invoke_fn)(const cji_cu *cu, const uint64_t *value);

static __attribute__((noinline)) CUresult tap_call(int slot, int id, invoke_fn invoke, const uint64_t *value)
{
    struct cji_tap *tap = atomic_load_explicit(&cji_process.tap[slot], memory_order_acquire);
    const cj_interposer_opts *o = &tap->opts;
    const char *name = cji_cu_rows[id].name;
    uint64_t number = atomic_fetch_add_explicit(&tap->calls, 1, memory_order_relaxed) + 1;
    CUresult r = o->before ? (CUresult)o->before(o->user, number, name) : CUDA_SUCCESS;
    if (r == CUDA_SUCCESS && number == o->fail_at) r = (CUresult)o->fail_with;
    if (r == CUDA_SUCCESS) r = invoke(&tap->under->cu, value);
    if (o->after) {
        char text[CJI_TAP_TEXT];
        cji_tap_text(text, sizeof text, id, value, r);
        o->after(o->user, number, name, text, r);
    }
    return r;
}

/* -- One function for each entry point, and one wrapper for each slot ------------------------------------------------------ */

#define TAP_TAKE(T, a) T a = (T)(uintptr_t)*cji_value++;
#define CU(name, export, version, need, count, list)                                 \
    static CUresult invoke_##name(const cji_cu *cji_below, const uint64_t *cji_value) \
    {                                                                                \
        CJI_CU_EACH(count, TAP_TAKE, list)                                           \
        (void)cji_value;                                                             \
        return cji_below->name(CJI_CU_NAMES(count, list));                           \
    }
#include "cuda/symbols.def"
#undef TAP_TAKE

#define TAP_GIVE(T, a) (uint64_t)(uintptr_t)(a),
#define TAP_WRAPPER(slot, name, count, list)                                  \
    static CUresult tap##slot##_##name(CJI_CU_DECL(count, list))              \
    {                                                                         \
        const uint64_t cji_args[] = { CJI_CU_EACH(count, TAP_GIVE, list) 0 }; \
        return tap_call(slot, CJI_CU_ID_##name, invoke_##name, cji_args);     \
    }
#define CU(name, export, version, need, count, list)                                  \
    TAP_WRAPPER(0, name, count, list) TAP_WRAPPER(1, name, count, list)               \
    TAP_WRAPPER(2, name, count, list) TAP_WRAPPER(3, name, count, list)
#include "cuda/symbols.def"
#undef TAP_GIVE
#undef TAP_WRAPPER

static const cji_cu wrappers[CJI_TAP_SLOTS] = {
#define CU(name, export, version, need, count, list) [0].name = tap0_##name, [1].name = tap1_##name, [2].name = tap2_##name, [3].name = tap3_##name,
#include "cuda/symbols.def"
};

/* -- Slots ----------------------------------------------------------------------------------------------------------------- */

static bool take_slot(struct cji_tap *tap)
{
    for (tap->slot = 0; tap->slot < CJI_TAP_SLOTS; tap->slot++) {
        struct cji_tap *there = atomic_load(&cji_process.tap[tap->slot]);
        if (there && there->fork_gen == tap->fork_gen) continue;
        if (atomic_compare_exchange_strong(&cji_process.tap[tap->slot], &there, tap)) return true;
    }
    return false;
}

void cji_tap_free(struct cji_tap *tap)
{
    struct cji_tap *self = tap;
    if (tap->slot < CJI_TAP_SLOTS) atomic_compare_exchange_strong(&cji_process.tap[tap->slot], &self, NULL);
    cji_driver_drop(tap->under);
    cji_free(tap, sizeof *tap);
}

static void *tap_get(void *user, const cji_cu_row *row)
{
    const struct cji_tap *tap = user;
    int id = (int)(row - cji_cu_rows);
    return tap->under->missing[id] ? NULL : cji_cu_get(&wrappers[tap->slot], id);
}

/* -- Opening --------------------------------------------------------------------------------------------------------------- */

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

static struct cji_tap *new_tap(cj_driver *into, cj_driver *under, const cj_interposer_opts *opts, const char *call)
{
    cj_interposer_opts o;
    if (cji_check_arg(into, under, CJI_TAG_DRIVER, call, "the driver below") != CJ_OK) return NULL;
    if (!take_options(&o, opts)) {
        cji_fail(into, CJ_EINVAL, call, "the size field of cj_interposer_opts is %zu, wants %zu: fill the options with cj_interposer_defaults first", opts->size,
                 sizeof o);
        return NULL;
    }
    struct cji_tap *tap = cji_zalloc(sizeof *tap);
    if (!tap) {
        cji_fail(into, CJ_ENOMEM, call, "no memory for the layer");
        return NULL;
    }
    tap->under = cji_obj_retain(under);
    tap->opts = o;
    tap->fork_gen = cji_fork_gen();
    atomic_init(&tap->calls, 0);
    if (take_slot(tap)) return tap;
    cji_fail(into, CJ_EBUSY, call, "%d layers are open already, and a process has room for no more: close one, or put the work of two into one",
             CJ_INTERPOSERS_MAX);
    cji_tap_free(tap);
    return NULL;
}

cj_driver *cj_driver_open_interposed(cj_driver *under, const cj_interposer_opts *opts)
{
    static const char call[] = "cj_driver_open_interposed";
    cj_driver *failed = cji_obj_new(sizeof *failed, CJI_TAG_DRIVER, 0, call);
    if (cji_obj_failed(failed)) return failed;
    struct cji_tap *tap = new_tap(failed, under, opts, call);
    if (!tap) return cji_obj_set_failed(failed), failed;
    cji_obj_release(failed);
    cji_obj_delete(failed, sizeof *failed);
    cj_driver *drv = cji_driver_start((cji_source){ tap_get, tap }, tap, under->path);
    if (!cji_obj_failed(drv)) {
        drv->kind = under->kind;
        drv->fault = under->fault;
        drv->by_value = under->by_value;
    }
    return drv;
}

uint64_t cj_interposer_calls(const cj_driver *drv)
{
    return cji_readable(drv, CJI_TAG_DRIVER, false) && drv->tap ? atomic_load(&drv->tap->calls) : 0;
}
