/* Callbacks when work is complete, also after an error of the device.
 *
 * The driver's own callback is the only thing it still calls after an error, once, with the error.  What it calls
 * here is a record that is freed before the user's function runs, so that nothing is held however long that takes. */
#include "base/mem.h"
#include "stream/core/work_hooks.h"

typedef struct stream_callback {
    void (*fn)(void *user, cj_status status);
    void *user;
} stream_callback;

static void callback_run(CUstream raw, CUresult r, void *user)
{
    stream_callback *d = user, now = *d;
    (void)raw;
    cji_free(d, sizeof *d);
    now.fn(now.user, r == CUDA_SUCCESS ? CJ_OK : CJ_EDRIVER);
}

static CJI_COLD cj_status callback_measured(cj_stream *s, void (*fn)(void *user, cj_status status), void *user)
{
    cji_work w;
    cji_work_begin(&w, s);
    cj_status st = cj_stream_callback(s, fn, user);
    cji_work_end(&w, s, st == CJ_OK, &(cji_work_info){ .kind = CJ_PROFILE_HOST_FUNC, .name = "callback" });
    return st;
}

cj_status cj_stream_callback(cj_stream *s, void (*fn)(void *user, cj_status status), void *user)
{
    static const char call[] = "cj_stream_callback";
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    if (cji_work_measured()) return callback_measured(s, fn, user);
    if (!fn) return cji_stream_failed(s, cji_fail(s, CJ_EINVAL, call, "the function is NULL"));
    if (cji_stream_is_captured(s))
        return cji_stream_failed(
            s, cji_fail(s, CJ_ESTATE, call,
                        "the stream is being captured, and a graph cannot hold this; use cj_host_func"));
    stream_callback *d = cji_zalloc(sizeof *d);
    if (!d) return cji_stream_failed(s, cji_fail(s, CJ_ENOMEM, call, "no memory to note the function"));
    *d = (stream_callback){ fn, user };
    cji_scope scope;
    st = cji_scope_begin(s, s->dev, &scope, call);
    if (st == CJ_OK) {
        CUresult r = s->cu->cuStreamAddCallback(s->raw, callback_run, d, 0);
        cji_scope_leave(&scope);
        if (r != CUDA_SUCCESS) st = cji_rejected(s, s->dev, r, call, "cuStreamAddCallback");
    }
    if (st == CJ_OK) cji_count_one(s);
    else cji_free(d, sizeof *d);
    return st == CJ_OK ? CJ_OK : cji_stream_failed(s, st);
}
