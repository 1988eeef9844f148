/* A driver over a driver: every call can be seen, and made to fail (layer.c, cujit/interpose.h). */
#ifndef CJI_LAYER_H
#define CJI_LAYER_H

struct cji_tap;

/* Gives the layer's slot back, and its reference to the driver below. */
void cji_tap_free(struct cji_tap *tap);

#endif
