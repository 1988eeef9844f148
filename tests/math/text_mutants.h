/* Faults put into the text of a kernel: a literal of which one bit is turned, a predicated instruction that is taken
 * away, a selection that takes one side always. */
#ifndef CUJIT_TESTS_TEXT_MUTANTS_H
#define CUJIT_TESTS_TEXT_MUTANTS_H

#include <stdbool.h>
#include <stddef.h>

#include <cujit/cujit.h>

/* Puts each fault into the module `p`, one at a time.  `notices` runs the kernel "k" of the module it gets, and tells
 * whether the results show the fault.  Says which faults nothing shows, and how many there were.  It is a failure where
 * the top bit of a coefficient's mantissa changes nothing, but for functions of `rounded` results: few of them depend
 * on the last terms. */
void text_mutants(cj_ptx *p, const char *name, bool rounded, bool (*notices)(cj_ptx *, void *), void *context);

#endif
