/* What a program about the library on a device begins and ends with.
 *
 *     int main(void)
 *     {
 *         bench_open(4 * N);       // skips the program where there is no device
 *         ...                      // drv, dev, s, t, add and 4 * N bytes of memory at d are there
 *         return bench_close();    // nothing failed that the test did not expect, nothing is left to be released
 *     }
 */
#ifndef CUJIT_TESTS_DEVICE_BENCH_H
#define CUJIT_TESTS_DEVICE_BENCH_H

#include <cujit/interpose.h>

#include "tests/device_parts.h"
#include "tests/tap.h"

extern cj_driver *drv;
extern cj_device *dev;
extern cj_stream *s, *t;
extern cj_ptx *module;      /* with the kernel add */
extern cj_kernel *add;
extern cj_dptr d;           /* its home stream is s; of 0 bytes: none */

void bench_open(size_t bytes);
/* With an interposer over the driver. */
void bench_open_over(const cj_interposer_opts *over, size_t bytes);
/* The value of main. Both streams are synchronized first, and must not have failed. */
int bench_close(void);

#endif
