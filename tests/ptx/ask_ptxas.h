/* What ptxas says to a module's text. */
#ifndef ASK_PTXAS_H
#define ASK_PTXAS_H

#include "../tap.h"

/* One assertion: ptxas takes the text, without generating code; where it does not, its words are in the log. Skipped
 * without ptxas. */
void ptxas_takes(const char *text, const char *name);

/* The same with code: does ptxas take it, as `wants` says? */
void ptxas_assembles(const char *text, bool wants, const char *name);

#endif
