/* The list of opened drivers and devices, and starting a driver from a source of entry points. */
#ifndef CJI_OPEN_H
#define CJI_OPEN_H

#include "driver/driver.h"
#include "driver/symbols.h"

void cji_opened_lock(void);
void cji_opened_unlock(void);

/* A custom driver from a source; takes `interposer` over (may be NULL), for which `end` will be called. */
cj_driver *cji_driver_start(cji_source source, struct cji_interposer *interposer,
                            cj_driver *(*end)(struct cji_interposer *interposer), const char *path);

/* cji_driver_drop() for a caller that holds the list's lock. */
void cji_driver_drop_locked(cj_driver *drv);

/* The driver that a library or a resolver became, with what lies over it on its own; takes the reference to `drv` over.
 * The caller holds the list's lock.  In src/driver/rooms. */
cj_driver *cji_rooms_driver_opened(cj_driver *drv);

/* Whether the program is linked with -static. */
bool cji_static_program(void);

/* The first call into a CPU device's library; true also for a library that is none, unless it `must` be.  A failure
 * is recorded in `drv`. */
bool cji_sim_setup(cj_driver *drv, void *lib, bool must);

/* The first CUDA version whose drivers compile that PTX version (90: 13000). */
int cji_cuda_of_ptx(int ptx);

#endif
