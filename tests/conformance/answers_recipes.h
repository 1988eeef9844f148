/* The nodes of graphs as recipes (answers_graphs.c): what a node is, so that it can be added to one graph after
 * another. */
#ifndef CUJIT_TESTS_CONFORMANCE_ANSWERS_RECIPES_H
#define CUJIT_TESTS_CONFORMANCE_ANSWERS_RECIPES_H

#include "answers.h"

enum { AN_NODES = 24, AN_SPARE = AN_WORDS - 1 /* the word that nothing writes */ };

typedef enum an_kind {
    AN_STEP,
    AN_LEAP,
    AN_FILL,
    AN_COPY,
    AN_HOST,
    AN_EMPTY,
    AN_RECORD,
    AN_WAIT,
    AN_CHILD,
    AN_BATCH,
    AN_IF,
    AN_ALLOC,
    AN_FREE,
    AN_KINDS
} an_kind;

typedef struct an_recipe {
    an_kind kind;
    bool gone;
    unsigned n, from;        /* AN_SPARE: of none */
    uint32_t after;          /* the nodes before it */
    void *note;
    CUdeviceptr given;       /* AN_ALLOC: its address in the first graph; AN_FREE: what it frees */
} an_recipe;

/* What they are made with.  to, from, n and params are a kernel's, until the next one's. */
typedef struct an_site {
    an_tools *tools;
    CUevent event[2];
    /* what a child is a copy of: a step that writes word AN_NODES + i for node i, then nothing */
    CUgraph small;
    CUgraphNode small_step;
    CUdeviceptr to, from;
    unsigned n;
    void *params[3];
} an_site;

extern const char *const an_kind_names[AN_KINDS];

/* Parameters of node `i`, which writes word i. */
CUDA_KERNEL_NODE_PARAMS_v2 an_kernel_params(an_site *site, const an_recipe *r, unsigned i);
CUDA_MEMSET_NODE_PARAMS an_fill_params(an_site *site, const an_recipe *r, unsigned i);
CUDA_MEMCPY3D an_copy_params(an_site *site, const an_recipe *r, unsigned i);
void an_make_small(an_site *site);
/* The small graph as a child of node i has it. */
void an_small_for(an_site *site, unsigned i);
/* Adds it to `g`; the address of memory is reported in r->given. */
int an_add_node(an_site *site, CUgraph g, an_recipe *r, unsigned i, const CUgraphNode *deps, size_t n,
                CUgraphNode *out);

#endif
