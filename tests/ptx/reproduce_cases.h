/* Modules with one construct each, for the tests of cj_ptx_reproducer.  Their kernels have unlike names, so that all
 * programs fit one C file. */
#ifndef CUJIT_TESTS_REPRODUCE_CASES_H
#define CUJIT_TESTS_REPRODUCE_CASES_H

#include <cujit/cujit.h>

/* `has`: what the program contains.  `lacks`: what its text does not have, so that calls cannot make a module that is
 * read from it; NULL: nothing. */
typedef struct reproduce_case { const char *name; void (*build)(cj_ptx *m); const char *has, *lacks; } reproduce_case;
extern const reproduce_case reproduce_cases[];
extern const unsigned reproduce_cases_count;

/* `why` is in the comment that says why the text is read; NULL: calls make it. */
typedef struct reproduce_text { const char *name, *why, *text; } reproduce_text;
extern const reproduce_text reproduce_texts[];
extern const unsigned reproduce_texts_count;

#endif
