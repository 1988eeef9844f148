/* The scope of a call: the device's context is current, the thread's capture mode is relaxed, and the thread is not
 * cancelled.  Prefix cji_scope.
 *
 * A scope is entered where a driver call needs it, and left in the same function.  Scopes nest on a thread: an inner
 * one finds what the outer ones have set and does not set it again.  So a public call sets context and mode at most
 * once.  A scope that has set nothing has nothing to restore: the thread does not note it.
 *
 * The caller's context and capture mode are the same after a scope as before it.  Between enter and leave only cujit
 * runs on the thread, so that what an outer scope has set still holds; around a function of the user there is
 * cji_scope_suspend.
 *
 * No scope is needed where the driver takes the context from a handle: launches, records of and waits for events,
 * queries.  The handles CU_STREAM_LEGACY and CU_STREAM_PER_THREAD name a stream of the current context, and need
 * one. */
#ifndef CJI_SCOPE_H
#define CJI_SCOPE_H

#include <stdbool.h>

#include "base/cancel.h"
#include "cuda/table.h"

typedef struct cji_scope {
    struct cji_scope **top;   /* where the thread has its innermost scope */
    struct cji_scope *outer;  /* of this thread */
    const cji_cu *cu;         /* NULL: the scope has set nothing */
    CUcontext ctx;            /* known to be current; NULL: not known */
    CUstreamCaptureMode mode; /* to set; then the one to restore */
    bool cancellable;         /* the thread was, and will be again */
    bool relaxed;             /* by an outer scope */
    bool pushed, exchanged;   /* by this scope */
    bool foreign;             /* another context than `ctx` was current, and not none */
} cji_scope;

/* Makes the context current and relaxes the mode.  cji_scope_leave() follows in any case: after a failure, which says
 * that the context is dead, the mode is relaxed all the same, as releases need no context. */
CUresult cji_scope_enter(cji_scope *sc, const cji_cu *cu, CUcontext ctx);
/* The same for the context alone; `now` is the current one. */
CUresult cji_scope_push(cji_scope *sc, const cji_cu *cu, CUcontext ctx, CUcontext now);
/* Makes the context current; where it is current already, that is one query. */
static inline CUresult cji_scope_context(cji_scope *sc, const cji_cu *cu, CUcontext ctx)
{
    CUcontext now = NULL;
    CUresult r = CUDA_SUCCESS;
    const bool cancellable = cji_cancel_disable() == PTHREAD_CANCEL_ENABLE;
    if (cu->cuCtxGetCurrent(&now) != CUDA_SUCCESS || now != ctx) r = cji_scope_push(sc, cu, ctx, now);
    else *sc = (cji_scope){ .cu = NULL };
    sc->cancellable |= cancellable;
    return r;
}
/* Relaxes the mode alone. */
void cji_scope_relax(cji_scope *sc, const cji_cu *cu);
void cji_scope_restore(cji_scope *sc);
static inline void cji_scope_leave(cji_scope *sc) /* of a zeroed scope: nothing */
{
    if (sc->cu) cji_scope_restore(sc);
    if (sc->cancellable) cji_cancel_enable();
}

/* Around a function of the user, who may change context and mode: scopes inside set both anew. */
cji_scope *cji_scope_suspend(void);
void cji_scope_resume(cji_scope *sc);

#endif
