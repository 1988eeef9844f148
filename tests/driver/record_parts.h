/* What tests of recordings share: a folder, a replay whose lines are kept, records of a file in memory. */
#ifndef CUJIT_TESTS_DRIVER_RECORD_PARTS_H
#define CUJIT_TESTS_DRIVER_RECORD_PARTS_H

#include <cujit/cujit.h>

#include "driver/interpose/record_format.h"

/* "NAME" in a folder of the process, which is removed when it ends; of the last four calls. */
const char *record_path(const char *name);

/* A replay of the file: its result, and its lines with a newline behind each. */
typedef struct record_replayed {
    cj_status status;
    cj_replay_result x;
    char message[600];
    char text[1 << 16];
} record_replayed;
extern record_replayed replayed;
/* On `drv`; NULL: the calls are listed. */
void record_replay(cj_driver *drv, const char *path);

/* A file in memory. */
typedef struct record_bytes { unsigned char *p; size_t n; } record_bytes;
record_bytes record_read(const char *path);
void record_write(const char *path, const void *p, size_t n);
/* The record at `at`, its bytes behind it; NULL at the end. */
cji_rec_record *record_at(const record_bytes *file, size_t at);
size_t record_next(const record_bytes *file, size_t at);
/* The first record of a type, at or behind `at`; SIZE_MAX: none. */
size_t record_find(const record_bytes *file, size_t at, cji_rec_type type);
/* The hashes become those of the bytes. */
void record_seal(const record_bytes *file, size_t at);

#endif
