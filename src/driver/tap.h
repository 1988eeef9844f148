/* A driver over a driver: every call can be seen, and made to fail (tap.c, cujit/trace.h). */
#ifndef CJI_TAP_H
#define CJI_TAP_H

struct cji_tap;

/* Gives the layer's slot back, and its reference to the driver below. */
void cji_tap_free(struct cji_tap *tap);

#endif
