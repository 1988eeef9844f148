/* The scope of a call: context and capture mode. */
#include "driver/scope.h"

#include "base/process.h"
#include "driver/driver.h"

/* What the thread's scopes know about a driver: the innermost one of it. */
static const cji_scope *scope_known(const cji_scope *sc, const cji_cu *cu)
{
    while (sc && sc->cu != cu) sc = sc->outer;
    return sc;
}

static CUresult scope_context(cji_scope *sc, CUcontext ctx)
{
    CUcontext now = NULL;
    if (sc->ctx == ctx) return CUDA_SUCCESS;
    if (sc->cu->cuCtxGetCurrent(&now) == CUDA_SUCCESS && now == ctx) {
        sc->ctx = ctx;
        return CUDA_SUCCESS;
    }
    sc->foreign = now != NULL;
    CUresult r = sc->cu->cuCtxPushCurrent(ctx);
    sc->pushed = r == CUDA_SUCCESS;
    if (sc->pushed) sc->ctx = ctx;
    return r;
}

CUresult cji_scope_enter(cji_scope *sc, const cji_cu *cu, CUcontext ctx, unsigned what)
{
    cji_scope **top = &cji_thread()->scope;
    const cji_scope *known = scope_known(*top, cu);
    *sc = (cji_scope){
        .top = top, .outer = *top, .cu = cu, .ctx = known ? known->ctx : NULL, .relaxed = known && known->relaxed
    };
    *top = sc;
    CUresult r = what & CJI_SCOPE_CONTEXT ? scope_context(sc, ctx) : CUDA_SUCCESS;
    if (!(what & CJI_SCOPE_RELAXED) || sc->relaxed) return r;
    sc->mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    sc->exchanged = sc->relaxed = cu->cuThreadExchangeStreamCaptureMode(&sc->mode) == CUDA_SUCCESS;
    return r;
}

void cji_scope_leave(cji_scope *sc)
{
    CUcontext popped;
    if (!sc->cu) return;
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

static cj_status scope_begin(void *obj, const cj_device *dev, cji_scope *sc, unsigned what, const char *call)
{
    CUresult r = cji_scope_enter(sc, &dev->drv->cu, dev->ctx, what);
    if (r == CUDA_SUCCESS) return CJ_OK;
    cji_scope_leave(sc);
    return cji_cu_fail_on(obj, dev, NULL, r, "cuCtxPushCurrent", call, "%s", call);
}

cj_status cji_scope_begin(void *obj, const cj_device *dev, cji_scope *scope, const char *call)
{
    return scope_begin(obj, dev, scope, CJI_SCOPE_CONTEXT, call);
}

cj_status cji_scope_begin_relaxed(void *obj, const cj_device *dev, cji_scope *scope, const char *call)
{
    return scope_begin(obj, dev, scope, CJI_SCOPE_BOTH, call);
}
