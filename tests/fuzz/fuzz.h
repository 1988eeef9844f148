/* Fuzzing: a target is one function of (data, size), with seeds to start from. Two mains call it: fuzz_main.c, which
 * every compiler builds and `make check` runs for a second of processor time, and fuzz_libfuzzer.c (clang). */
#ifndef CUJIT_TESTS_FUZZ_H
#define CUJIT_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a target defines. */
extern const char cji_fuzz_name[];
/* The inputs are text: whole words and lines are exchanged, too. */
extern const bool cji_fuzz_is_text;
/* Several threads may run inputs at once. */
extern const bool cji_fuzz_has_threads;
/* Once, before the first input. */
void cji_fuzz_begin(void);
/* Calls cji_fuzz_add() for each seed. */
void cji_fuzz_seeds(void);
/* Runs one input: 1 when it was accepted, 0 when it was rejected as it should be. What must not be ends in
 * cji_fuzz_fail(), or in a crash. */
int cji_fuzz_one(const uint8_t *data, size_t size);

/* For targets. */
void cji_fuzz_add(const void *data, size_t size);            /* copied */
void cji_fuzz_add_files(const char *const *names, size_t n); /* below the source tree */
_Noreturn void cji_fuzz_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* fuzz_text.c: the samples of PTX in the tree, and statements that hurt. */
extern const char *const cji_fuzz_texts[];
extern const size_t cji_fuzz_ntexts;
/* A copy of the input with a 0 behind it, for free(). */
char *cji_fuzz_string(const uint8_t *data, size_t size);

/* fuzz_mutate.c */
typedef struct cji_fuzz_random {
    uint64_t state;
} cji_fuzz_random;
uint32_t cji_fuzz_below(cji_fuzz_random *r, uint32_t n);
typedef struct cji_fuzz_seed {
    uint8_t *data;
    size_t size;
} cji_fuzz_seed;
/* Changes data[0 .. size), of which `room` bytes are there; returns the new size. `other` is what pieces come from. */
size_t cji_fuzz_mutate(cji_fuzz_random *r, uint8_t *data, size_t size, size_t room, const cji_fuzz_seed *other,
                       bool is_text);

#endif
