/* What holds for every text that the reader reads, accepted or rejected: for the fuzzing target and for tables. */
#ifndef CUJIT_TESTS_PTX_READER_RULES_H
#define CUJIT_TESTS_PTX_READER_RULES_H

#ifndef CJ_NO_SOURCE_LINES
#define CJ_NO_SOURCE_LINES   /* no line of a test among the texts' */
#endif
#include <cujit/parse.h>

/* `m` is cj_parse(text, n, name). A rejected text has a status of the reader, and a message that begins with `name` and
 * the number of a line of the text. The heads of an accepted text, read alone, have the same kernels and parameters.
 * NULL when all of it holds, else what does not; belongs to the calling thread until its next call. */
const char *reader_fault(const cj_ptx *m, const char *text, size_t n, const char *name);

#endif
