/* The list of opened drivers and devices, and starting a driver from a source of entry points. */
#ifndef CJI_OPEN_H
#define CJI_OPEN_H

#include "driver/driver.h"
#include "driver/symbols.h"

void cji_opened_lock(void);
void cji_opened_unlock(void);

/* A custom driver from a source; takes `interposer` over (may be NULL). */
cj_driver *cji_driver_start(cji_source source, struct cji_interposer *interposer, const char *path);

/* Whether the program is linked with -static. */
bool cji_static_program(void);

/* The first call into a CPU device's library; true also for a library that is none, unless it `must` be.  A failure
 * is recorded in `drv`. */
bool cji_sim_setup(cj_driver *drv, void *lib, bool must);

#endif
