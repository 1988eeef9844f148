/* Operators that make faults: each finds its places in the body of a function, in their order. */
#ifndef CUJIT_TESTS_MUTANTS_OPERATORS_H
#define CUJIT_TESTS_MUTANTS_OPERATORS_H

#include <stdbool.h>
#include <stddef.h>

/* A source file, and one function's body in it. */
typedef struct mutant_text {
    char *text;             /* as it is; owned by the caller of mutant_find */
    char *code;             /* the same with blanks for comments, strings and preprocessor lines */
    size_t size, from, to;  /* the body: from its { to its } */
} mutant_text;

typedef struct mutant_change { size_t at, bytes; char with[512]; } mutant_change;

typedef struct mutant_operator {
    const char *name;
    const char *old, *new;  /* a token and what takes its place; or NULL and */
    bool (*change)(const mutant_text *t, size_t at, mutant_change *c); /* what it does at `at`, where it applies */
} mutant_operator;

extern const mutant_operator mutant_operators[]; /* ends with a NULL name */

/* Whether `text` defines the function. */
bool mutant_find(mutant_text *t, char *text, size_t size, const char *function);
/* The change at the n-th place (from 1), among the lines that contain `line` where that is not NULL. */
bool mutant_place(const mutant_text *t, const mutant_operator *op, int nth, const char *line, mutant_change *c);

#endif
