/* Calls that block are no cancellation points: a thread that pthread_cancel() meets in one of them ends behind it, so
 * that no lock stays held and no record is left half made.  Prefix cji_cancel.
 *
 *     CJI_NO_CANCEL;      // until the end of the block
 */
#ifndef CJI_CANCEL_H
#define CJI_CANCEL_H

#include <pthread.h>

static inline int cji_cancel_disable(void)
{
    int before = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void cji_cancel_enable(void) { pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL); }
static inline void cji_cancel_restore(const int *before) { pthread_setcancelstate(*before, NULL); }

#define CJI_NO_CANCEL \
    __attribute__((cleanup(cji_cancel_restore), unused)) const int cji_cancel_before = cji_cancel_disable()

#endif
