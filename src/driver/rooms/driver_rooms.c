/* What a room begins on its own, without a call of the user: a lower room finds it here.  In no room. */
#include "driver/interpose/driver_interpose.h"
#include "driver/open.h"

cj_driver *cji_rooms_driver_opened(cj_driver *drv) { return cji_interpose_env(drv); }
