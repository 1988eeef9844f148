/* A driver over a driver: every call can be seen, and made to fail (interposer.c, cujit/interpose.h). */
#ifndef CJI_INTERPOSER_H
#define CJI_INTERPOSER_H

struct cji_interposer;

/* Gives the interposer's slot back, and its reference to the driver below. */
void cji_interposer_free(struct cji_interposer *interposer);

#endif
