/* Lines of tests/oracle/math_errors.txt. */
#ifndef CUJIT_TESTS_ERROR_LINES_H
#define CUJIT_TESTS_ERROR_LINES_H

#include <stdio.h>

#include <cujit/cujit.h>

/* The columns, as words; NULL is "-".  judge_mpfr.py fills in `points` and `mpfr`, which are "-" here. */
typedef struct error_line {
    const char *function, *type, *form;
    unsigned result;
    const char *device, *reference;
    uint64_t values;
    const char *unit, *greatest, *at, *not_nearest;
    uint64_t wrong;
    const char *cuda;
} error_line;

/* What the columns are, and the device. */
void error_lines_begin(FILE *out, const cj_driver *drv, const cj_device *dev);
void error_line_print(FILE *out, const error_line *line);

/* The word of the device's name that has a digit, such as H100; the CPU device is cpu. */
void error_device_word(const cj_device *dev, char *word, size_t size);

#endif
