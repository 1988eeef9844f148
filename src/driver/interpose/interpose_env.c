/* The layers that the environment asks for, over each driver that is opened. */
#include "base/environment.h"
#include "base/log.h"
#include "driver/interpose/driver_interpose.h"
#include "driver/open.h"

static const char env_call[] = "cj_driver_open";

/* Which file of this process a variable names. */
static uint64_t file_named(const char *path) { return path ? cji_hash(path, strlen(path)) + cji_fork_gen() : 0; }

static cji_layer *env_trace(cj_driver *into)
{
    const char *path = cji_env_get(CJI_ENV_TRACE);
    if (cji_process.trace_begun != file_named(path)) cji_process_file_drop(&cji_process.trace_held);
    cji_process.trace_begun = file_named(path);
    return cji_trace_layer(into, path, &cji_process.trace_held, env_call);
}

/* Each driver has a recording of its own. */
static cji_layer *env_record(cj_driver *into)
{
    const char *path = cji_env_get(CJI_ENV_RECORD);
    if (cji_process.record_begun != file_named(path)) {
        cji_process_file_drop(&cji_process.record_held);
        cji_process.record_turn = 0;
    }
    cji_process.record_begun = file_named(path);
    return cji_record_layer(into, into, path, ++cji_process.record_turn, &cji_process.record_held, env_call);
}

static cji_layer *env_fault(cj_driver *into)
{
    return cji_fault_layer(into, cji_env_get(CJI_ENV_FAULT), cji_env_name(CJI_ENV_FAULT), env_call);
}

/* The nearest to the program first: a trace shows what the program saw. */
static const struct {
    cji_env variable;
    cji_layer *(*make)(cj_driver *into);
} env_layers[] = {
    { CJI_ENV_TRACE, env_trace },
    { CJI_ENV_RECORD, env_record },
    { CJI_ENV_FAULT, env_fault },
};
enum { ENV_LAYERS = sizeof env_layers / sizeof *env_layers };

/* NULL: the environment asks for none, or one cannot be made and *failed is set; the failure is recorded in `into`. */
static cji_layer *env_chain(cj_driver *into, bool *failed)
{
    cji_layer *first = NULL;
    *failed = false;
    for (int i = ENV_LAYERS - 1; i >= 0; i--) {
        if (!cji_env_get(env_layers[i].variable)) continue;
        cji_layer *layer = env_layers[i].make(into);
        if (!layer) {
            cji_layers_free(first);
            *failed = true;
            return NULL;
        }
        layer->next = first;
        first = layer;
    }
    return first;
}

cj_driver *cji_interpose_env(cj_driver *drv)
{
    bool failed;
    cji_layer *first = env_chain(drv, &failed);
    if (failed) {
        cji_obj_set_failed(drv);
        return drv;
    }
    if (!first) return drv;
    if (!cji_interposer_room()) { /* the program works as it does without the variables */
        cji_layers_free(first);
        cji_log(CJ_LOG_WARNING,
                "%s, %s and %s have no effect on a driver that is opened while %d others are open with them",
                cji_env_name(CJI_ENV_TRACE), cji_env_name(CJI_ENV_RECORD), cji_env_name(CJI_ENV_FAULT),
                CJI_INTERPOSER_SLOTS - CJI_INTERPOSER_USERS);
        return drv;
    }
    cj_driver *over = cji_driver_over(drv, first, true, env_call);
    cji_driver_drop_locked(drv); /* the interposer retains it */
    return over;
}
