/* The scope of a call: context and capture mode. */
#include "driver/scope.h"

#include "base/first.h"
#include "base/process.h"
#include "driver/driver.h"

/* What the thread's scopes know about a driver: the innermost one of it.  Each device has a table of its own; the entry
 * that asks for the current context tells of which driver it is, also after cj_device_reset. */
static const cji_scope *scope_known(const cji_scope *sc, const cji_cu *cu)
{
    while (sc && sc->cu->cuCtxGetCurrent != cu->cuCtxGetCurrent) sc = sc->outer;
    return sc;
}

static inline CUresult scope_push(cji_scope *sc, CUcontext ctx, CUcontext now)
{
    sc->foreign = now != NULL;
    CUresult r = sc->cu->cuCtxPushCurrent(ctx);
    sc->pushed = r == CUDA_SUCCESS;
    if (sc->pushed) sc->ctx = ctx;
    return r;
}

static inline CUresult scope_context(cji_scope *sc, CUcontext ctx)
{
    CUcontext now = NULL;
    if (sc->ctx == ctx) return CUDA_SUCCESS;
    if (sc->cu->cuCtxGetCurrent(&now) != CUDA_SUCCESS || now != ctx) return scope_push(sc, ctx, now);
    sc->ctx = ctx;
    return CUDA_SUCCESS;
}

static inline void scope_relax(cji_scope *sc)
{
    if (sc->relaxed) return;
    sc->exchanged = sc->cu->cuThreadExchangeStreamCaptureMode(&sc->mode) == CUDA_SUCCESS;
}

static inline void scope_init(cji_scope *sc, const cji_cu *cu)
{
    cji_scope **top = &cji_thread()->scope;
    const cji_scope *known = scope_known(*top, cu);
    *sc = (cji_scope){ .top = top, .outer = *top, .cu = cu, .mode = CU_STREAM_CAPTURE_MODE_RELAXED };
    sc->cancellable = cji_cancel_disable() == PTHREAD_CANCEL_ENABLE;
    if (!known) return;
    sc->ctx = known->ctx;
    sc->relaxed = known->relaxed || known->exchanged;
}

/* Only what has to be restored is noted. */
static inline void scope_note(cji_scope *sc)
{
    if (sc->pushed || sc->exchanged) *sc->top = sc;
    else sc->cu = NULL;
}

CJI_FIRST CUresult cji_scope_enter(cji_scope *sc, const cji_cu *cu, CUcontext ctx)
{
    scope_init(sc, cu);
    CUresult r = scope_context(sc, ctx);
    scope_relax(sc);
    scope_note(sc);
    return r;
}

CUresult cji_scope_push(cji_scope *sc, const cji_cu *cu, CUcontext ctx, CUcontext now)
{
    scope_init(sc, cu);
    CUresult r = scope_push(sc, ctx, now);
    scope_note(sc);
    return r;
}

void cji_scope_relax(cji_scope *sc, const cji_cu *cu)
{
    scope_init(sc, cu);
    scope_relax(sc);
    scope_note(sc);
}

CJI_FIRST void cji_scope_restore(cji_scope *sc)
{
    CUcontext popped;
    if (sc->exchanged) sc->cu->cuThreadExchangeStreamCaptureMode(&sc->mode);
    if (sc->pushed) sc->cu->cuCtxPopCurrent(&popped);
    *sc->top = sc->outer;
}

cji_scope *cji_scope_suspend(void)
{
    cji_scope **top = &cji_thread()->scope, *sc = *top;
    *top = NULL;
    return sc;
}

void cji_scope_resume(cji_scope *sc) { cji_thread()->scope = sc; }

cj_status cji_scope_failed(void *obj, const cj_device *dev, cji_scope *sc, CUresult r, const char *call)
{
    cji_scope_leave(sc);
    return cji_cu_fail_on(obj, dev, NULL, r, "cuCtxPushCurrent", call, "%s", call);
}
