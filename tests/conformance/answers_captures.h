/* What the programs of captures work with: answers_captures.c has the programs, answers_captures_work.c the work. */
#ifndef CUJIT_TESTS_CONFORMANCE_ANSWERS_CAPTURES_H
#define CUJIT_TESTS_CONFORMANCE_ANSWERS_CAPTURES_H

#include "answers.h"

enum {
    AN_STREAMS = 6,
    AN_OWN = 3,
    AN_LEGACY = 3,
    AN_PER_THREAD = 4 /* 5 is the other thread's */,
    AN_PIECES = 80,
    AN_UNWRITTEN = AN_WORDS - 1,
    AN_SCRATCH = AN_PIECES + 3 /* written and never read */
};

typedef struct an_captured {
    CUstream s;
    bool there, motion, begun_elsewhere;
    unsigned last, into /* the graph that it captures into, from 1; else 0 */;
} an_captured;

typedef struct an_captures {
    an_tools tools;
    an_captured streams[AN_STREAMS];
    CUgraphExec exec;
    CUdeviceptr given;       /* by cuMemAllocAsync */
    unsigned pieces;
} an_captures;
extern an_captures an_cap;

CUstream an_cap_handle(unsigned i);
unsigned an_cap_stream(void);       /* one of the streams, by chance */

/* Calls, by chance, in one of the streams. */
void an_cap_attach(void);           /* first, once a program */
void an_cap_work(void);
void an_cap_host(void);
void an_cap_memory(void);
void an_cap_graph_launch(void);
void an_cap_wrong_work(void);

#endif
