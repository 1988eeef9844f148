/* Opens a driver of which the n-th call fails. */
#ifndef CUJIT_TESTS_WHOLE_FAULTS_H
#define CUJIT_TESTS_WHOLE_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cujit/driver.h>

enum { FAULTS_SAMPLE = 4 }; /* runs of each kind in make check */

/* Lies in memory that is shared with the children of fork(). */
typedef struct fault_plan {
    uint64_t calls; /* made so far */
    uint64_t fail;  /* this one fails with CUDA_ERROR_UNKNOWN or what suits it, 1 is the first, 0: none */
    bool dead;      /* and each one after it, as where a kernel has killed the context */
    char name[64];  /* of the first that failed */
    char cancelled[64]; /* the first that a thread could be cancelled in, though it must not end there */
    int64_t objects; /* at the driver: streams, events, modules, executable graphs, pinned memory, arrays, textures */
} fault_plan;

/* Opens a driver over `which` whose calls go by *plan. */
cj_driver *faults_open(const char *which, fault_plan *plan);

/* -- A program: an example, or work_X.c, included with its main renamed and this in place of cj_driver_open -------- */

cj_driver *faults_driver_open(const char *which);

typedef struct fault_program {
    int (*run)(void);   /* the example's main */
    const char *output; /* a part of its right output */
    bool releases;      /* it frees everything also where it fails: no memory is lost in that case either */
} fault_program;

/* The whole test; what main returns. */
int faults_main(const fault_program *program);

#endif
