/* For the tests of the instruction table: statements written from a form, and read back into operands.
 *
 * Names are fixed: %TYPE_N is a register (%b32_3), gv cv sv lv kp pp are variables (.global, .const, .shared, .local,
 * .param in and out), f0 f2 g0 g2 functions (g: with a result; 2: with two arguments), L1 a label, ts a list of branch
 * targets, p00 p01 p10 p11 prototypes (result, arguments).
 */
#ifndef ISA_WRITE_H
#define ISA_WRITE_H

#include "ptx/isa_match.h"

enum { ISA_LINE = 3000 };

/* Writes "mnemonic operands;": each operand in its plainest way, but operand `which` in its way number `way`.  Optional
 * operands and second destinations are left out unless they are `which`.  False when there is no such way (`way` 0 of
 * operand 0 always exists, also without operands).
 * *needs_version, *needs_targets are raised to what the statement as written asks for. */
bool isa_write(const cji_isa_form *f, size_t which, unsigned way, char *line, uint8_t *needs_version,
               cji_targets *needs_targets);

typedef enum isa_odd { ISA_ODD_UNLIKE, ISA_ODD_ADDRESS, ISA_ODD_SYMBOL, ISA_ODD_ONE, ISA_ODD_COUNT } isa_odd;

/* The same with one mistake in operand `which` (way: 0, 1, ...; *what says which one).  `which` == nopnd: one operand
 * too many or too few. */
bool isa_write_wrong(const cji_isa_form *f, size_t which, unsigned way, char *line, const char **what);

/* The same with something odd in operand `which`, which some forms take and others do not: two unlike registers in one
 * vector, a .param symbol or a number as an address, a symbol or a vector of one where a register stands.  False after
 * the last way. */
bool isa_write_odd(const cji_isa_form *f, size_t which, unsigned way, char *line, isa_odd *what);

/* A line of `f` with word `k` of its spelling and the next one exchanged; false where there are none, or equal ones. */
bool isa_write_swapped(const cji_isa_form *f, const char *line, unsigned k, char *out);

/* The text that goes in front of the statements of a file, and behind. */
void isa_write_head(char *out, size_t size, uint8_t version, const char *target);
extern const char isa_write_tail[];

/* Operands read from such a line: *spelling and its length, up to 12 args.  False for what it cannot read. */
typedef struct isa_line {
    const char *spelling;
    size_t len;
    size_t n;
    cji_isa_arg arg[16];
    uint8_t types[16][260];
} isa_line;
bool isa_read(const char *line, isa_line *out);

#endif
