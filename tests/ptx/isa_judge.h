/* The table's own verdict about a statement in the fixed names of isa_write.h. */
#ifndef ISA_JUDGE_H
#define ISA_JUDGE_H

#include "ptx/isa.h"

/* Does the table take `line` under that .version and .target?  *why, when it does not: a sentence in a static buffer.
 * */
bool isa_judge(const char *line, uint8_t version, uint32_t target, const char **why);

#endif
