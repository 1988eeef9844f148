/* Kernels of tests/math/check_math: operands by their number, and a judge of results. */
#ifndef CUJIT_TESTS_ERROR_KERNELS_H
#define CUJIT_TESTS_ERROR_KERNELS_H

#include <cujit/cujit.h>

#include "tests/math/math_functions.h"

/* How an error is measured: the distance of the result from the nearest number of the type, in steps from one to the
 * next; the absolute error over max(1, |wanted|); over |wanted|; the same whole number. */
typedef enum error_unit { ERROR_ULP, ERROR_ABSOLUTE, ERROR_RELATIVE, ERROR_EQUAL } error_unit;

/* Words of what the judge finds.  GREATEST: the greatest distance, with the number of the operands in its low 40 bits.
 * REAL: the bits of the greatest error as a double; for ERROR_ULP in units in the last place.  NOT_NEAREST: how many
 * distances are not 0.  WRONG: special values that are wrong, and results that are not equal; WRONG_AT: 1 more than the
 * number of the last one's operands.  LISTED: results whose error is above the threshold. */
enum { JUDGED_GREATEST, JUDGED_REAL, JUDGED_NOT_NEAREST, JUDGED_WRONG, JUDGED_WRONG_AT, JUDGED_LISTED, JUDGED_WORDS };
enum { JUDGED_INDEX_BITS = 40, LIST_WORDS = 4 };

/* What of the operands counts: x from `from` to `to`, but not between but_from and but_to; |y| up to most_y; wanted
 * values of at least least_wanted, with negative x only where `negative` says so. */
typedef struct judged_part {
    double from, to, but_from, but_to, most_y, least_wanted;
    uint32_t negative;
} judged_part;

/* Kernel arguments(n, first, stride, x, y): operands `first` and on.  Of one operand of f32: the bits are `stride`
 * times the number, so that 2^32 of them with stride 1 are all there are; else they are random by their number. */
void error_arguments(cj_ptx *p, const math_function *t, cj_type type);

/* Kernel judge(n, first, x, y, r, w, low, found, list, most, threshold, from, to, but_from, but_to, most_y,
 * least_wanted, negative): results r of the type, or whole ones; wanted are w + low in double, w alone if `low` is
 * NULL.  `list` has room for `most` results whose error is above the threshold: LIST_WORDS each, error, x, y and r. */
void error_judge(cj_ptx *p, cj_type type, error_unit unit);

#endif
