/* What ptxas says to a module's text: parsed and checked, no code generated. */
#ifndef ASK_PTXAS_H
#define ASK_PTXAS_H

#include "../tap.h"

/* One assertion: ptxas takes the text; where it does not, its words are in the log. Skipped without ptxas. */
void ptxas_takes(const char *text, const char *name);

#endif
