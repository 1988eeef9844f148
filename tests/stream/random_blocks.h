/* A random program that allocates, uses and frees memory on several streams: each block has an owner's tag, which
 * kernels write when it is allocated, and verify on the device before it is freed. */
#ifndef CUJIT_TESTS_RANDOM_BLOCKS_H
#define CUJIT_TESTS_RANDOM_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include <cujit/cujit.h>

typedef struct random_blocks {
    uint64_t seed, operations;
    const volatile bool *stop; /* ends it early; NULL: nothing does */
    cj_alloc_counts counts;    /* at the end */
    uint64_t done, wrong;      /* operations; words that did not have the owner's tag */
    uint64_t rejected;         /* allocations beyond the limit of the moment */
    char why[512];             /* what failed; "": nothing */
} random_blocks;

/* The kernels own(p, n, tag): the first and the last words of n become tag ^ index, and check(p, n, tag, wrong), which
 * counts those that are not.  Both are for one block of threads.  Owned by the caller. */
cj_ptx *random_blocks_module(void);

/* Runs the program on a device with memory of chunks of 2 MiB; true if nothing was wrong. */
bool random_blocks_run(cj_device *dev, random_blocks *r);

#endif
