/* What tests of the kernel cache share: a folder of their own, and images. */
#ifndef CUJIT_TESTS_DRIVER_CACHE_PARTS_H
#define CUJIT_TESTS_DRIVER_CACHE_PARTS_H

#include "driver/cache/disk_cache.h"

/* A new folder that may be used as a cache; bails out without one. */
cji_disk_folder cache_folder(void);
/* Removes a folder with all files that are in it. */
void cache_folder_remove(const cji_disk_folder *folder);
/* How many files of the folder have names that end so, "" for any; the last one's path in `path`, which may be NULL. */
int cache_files(const cji_disk_folder *folder, const char *suffix, char path[CJI_DISK_PATH]);

/* A key and an image that a number determines: code of `bytes` bytes, two kernels, a log. */
cji_hash128 cache_key(uint64_t number);
typedef struct cache_image { cji_disk_image image; cji_entries *entries; unsigned char *code; } cache_image;
cache_image cache_image_make(uint64_t number, size_t bytes);
void cache_image_free(cache_image *i);
/* Whether what was found is that image. */
bool cache_image_is(const cji_disk_found *found, uint64_t number, size_t bytes);

#endif
