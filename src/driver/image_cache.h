/* Images from the kernel cache: what an image is found by, and what it becomes. */
#ifndef CJI_IMAGE_CACHE_H
#define CJI_IMAGE_CACHE_H

#include "driver/driver.h"

/* What identifies the driver, its compiler and this library, for keys: when the driver is opened. */
void cji_image_cache_identify(cj_driver *drv);
/* What makes the first hits of a device quick ones, when it is opened: its program's latest images are read. */
void cji_image_cache_prepare(cj_device *dev);
/* Which images it used is noted for the next process: when the program closes it, before others release it.  And the
 * end of it, with the last reference, which notes what was used since. */
void cji_image_cache_list(cj_device *dev);
void cji_image_cache_unprepare(cj_device *dev);

/* A compilation's place in the cache; off: it has none. */
typedef struct cji_image_key { cji_hash128 hash; bool on; } cji_image_key;

/* Of a builder's finished module that is printed with `flags`, or of a text.  The options are normalised. */
cji_image_key cji_image_key_of(const cj_device *dev, const cj_ptx *m, unsigned flags, const cj_compile_opts *o);
cji_image_key cji_image_key_of_text(const cj_device *dev, const char *text, size_t bytes, const cj_compile_opts *o);

/* Fills `img`, which has its device: from the device's images in memory, from the cache on disk, or by `compile`, which
 * records its failure in `img`.  Of the threads that want one image at a time, one compiles it and the others wait. */
typedef cj_status (*cji_image_compiler)(cj_image *img, void *user);
cj_status cji_image_get(cj_image *img, const cji_image_key *key, cji_image_compiler compile, void *user);

/* Frees an image's memory. */
void cji_image_release_data(cj_image *img);

#endif
