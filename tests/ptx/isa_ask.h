/* Asks ptxas about statements, many in one run: `ptxas -arch compute_XX` parses and checks without generating code. */
#ifndef ISA_ASK_H
#define ISA_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Statements that belong together: one .version, one .target. */
typedef struct isa_batch { char *text; size_t bytes, cap; uint32_t *at; size_t n, at_cap; } isa_batch;

void isa_batch_add(isa_batch *b, const char *line);
const char *isa_batch_line(const isa_batch *b, size_t i);
void isa_batch_clear(isa_batch *b);
void isa_batch_free(isa_batch *b);

/* message[i] becomes NULL where ptxas accepts line i, else what it says (for free()).  False when ptxas could not be
 * asked. */
bool isa_ask(const char *ptxas, uint8_t version, const char *target, const isa_batch *b, char **message);

#endif
