/* What the programs of graphs work with: answers_graphs.c has the programs, answers_graphs_params.c changes the
 * parameters of their nodes. */
#ifndef CUJIT_TESTS_CONFORMANCE_ANSWERS_GRAPHS_H
#define CUJIT_TESTS_CONFORMANCE_ANSWERS_GRAPHS_H

#include "answers_recipes.h"

typedef struct an_graphs {
    an_tools tools;
    an_site site;
    an_recipe plan[AN_NODES];
    CUgraphNode node[AN_NODES];
    unsigned count;
    CUgraphExec exec;
    uint32_t in_exec;        /* which nodes the executable has of this graph */
} an_graphs;
extern an_graphs an_gr;

unsigned an_gr_node(void);   /* one of the nodes, by chance; AN_NODES: none */

/* Calls, by chance. */
void an_gr_attach(void);     /* first, once a program */
void an_gr_set_params(void);
void an_gr_exec_params(void);
void an_gr_enabled(void);
void an_gr_kernel_attribute(void);

#endif
