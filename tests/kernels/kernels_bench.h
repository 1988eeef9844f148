/* What the tests of libcujit-kernels share: a device, memory between guards, random data, elements of each type.
 *
 * Outputs lie between guard bytes and are filled with bytes 0xFF before, which is NaN in each floating-point type. */
#ifndef CUJIT_TESTS_KERNELS_BENCH_H
#define CUJIT_TESTS_KERNELS_BENCH_H

#include <cujit/kernels.h>

#include "tests/tap.h"

enum { KB_STREAMS = 4, KB_GUARD = 256 };

extern cj_driver *kb_drv;
extern cj_device *kb_dev;
extern cj_stream *kb_s[KB_STREAMS];

/* Stream `i`, for work that writes the same values to the same memory as that of other streams: where each race is
 * reported it is stream 0. */
cj_stream *kb_beside(int i);

void kb_open(void);
/* The value of main: nothing else failed, nothing is left. */
int kb_close(void);

/* Device memory with guards in front of it and behind, and the host's copy of what is between. */
typedef struct kb_memory { cj_dptr data, whole; size_t bytes; void *host; } kb_memory;

kb_memory kb_take(size_t bytes);
void kb_put(const kb_memory *m);   /* host to device */
void kb_blank(kb_memory *m);       /* bytes 0xFF on the device */
bool kb_get(kb_memory *m);         /* device to host; false, with a diagnosis: a guard was written */
void kb_drop(kb_memory *m);

uint32_t kb_random(void);          /* the same numbers in each run */
double kb_uniform(void);           /* -1 to 1 */

/* A module with a function `then` of two CJ_U64, which are maps v -> p v + q mod 2^32 as p + q 2^32: the first and then
 * the second.  Associative, not commutative; 1 is its identity.  The caller frees it. */
cj_ptx *kb_maps_module(void);

size_t kb_size(cj_type type);
const char *kb_name(cj_type type);
bool kb_floating(cj_type type);
void kb_set(void *at, cj_type type, double x); /* rounded to the type; whole numbers for integers */
double kb_value(const void *at, cj_type type);
float kb_f16_value(uint16_t bits);
uint16_t kb_f16_of(float x);

/* *most: the greatest error of all; NaN, which an element that was not written has, if one is. */
void kb_note_error(double *most, double error);

/* A status, with the stream's sentence in the log if it is another one. */
bool kb_is_ok(cj_stream *s, cj_status st, const char *what);

#endif
