/* References by name, which is that of the function behind cj_math_ (with _rounded behind it: rounded to f32): the one
 * or two results of one or two operands. */
#ifndef CUJIT_TESTS_WANTED_H
#define CUJIT_TESTS_WANTED_H

typedef void wanted_f32_of(double x, double y, double *r);
typedef void wanted_f64_of(double x, double y, long double *r);

/* NULL: there is none of this name. */
wanted_f32_of *wanted_f32(const char *name);
wanted_f64_of *wanted_f64(const char *name);

#endif
