/* The functions of math.h of f32 and f64, by their calls, and kernels of them: for tests/math/check_math and
 * bench/math. */
#ifndef CUJIT_TESTS_MATH_FUNCTIONS_H
#define CUJIT_TESTS_MATH_FUNCTIONS_H

#include <stdbool.h>

#include <cujit/cujit.h>

typedef enum function_kind {
    FUNCTION_ONE, FUNCTION_TWO, FUNCTION_INT, FUNCTION_WHOLE, FUNCTION_PAIR, FUNCTION_EXPONENT, FUNCTION_QUOTIENT
} function_kind;

enum { ARGUMENTS_ANY, ARGUMENTS_NEAR = 1, ARGUMENTS_POWER = 2, ARGUMENTS_TURNS = 4, ARGUMENTS_ABSOLUTE = 8 };

/* A row of math_functions.def. */
typedef struct math_function {
    const char *name, *cuda;      /* cuda: CUDA's name of double, "NONE" where it has none */
    function_kind kind;
    cj_val (*one)(cj_fn *f, cj_val x);
    cj_val (*two)(cj_fn *f, cj_val x, cj_val y);
    cj_val (*pair)(cj_fn *f, cj_val x, cj_val *second);
    cj_val (*pair_two)(cj_fn *f, cj_val x, cj_val y, cj_val *second);
    int limit[2];                 /* by type: f32, f64 */
    double from, to;
    unsigned how;
    double least[2], most[2];     /* bench/math's ordinary operands, and those of one branch */
} math_function;

extern const math_function math_functions[];
extern const unsigned math_function_count;

bool function_has_two(const math_function *t);     /* operands */
unsigned function_results(const math_function *t); /* 1 or 2 */
bool function_is_whole(const math_function *t, unsigned result);

/* Kernel values(n, x, y, r0, r1): thread i computes r0[i] and r1[i] of x[i] and y[i].  Operands and results are of the
 * type; a whole number is an integer of its width. */
void function_values(const math_function *t, cj_ptx *p, cj_type type, cj_math_accuracy accuracy);

/* Kernel loop(x, y, sums, n, step_x, step_y): thread i adds up the bits of n results, in words of 32 bits.  Its
 * operands begin with x[i] and y[i], and their bits grow by the steps.  n is a multiple of 4. */
void function_loop(const math_function *t, cj_ptx *p, cj_type type, cj_math_accuracy accuracy);

/* The text of CUDA's function that bench/math_peers.sh has made: FOLDER/NAME.TYPE.ptx.  Freed with free; NULL: there is
 * no such file. */
char *function_peer(const char *folder, const math_function *t, cj_type type);

/* Calls run(context, i) for each i < count, in so many threads. */
void in_threads(unsigned threads, unsigned count, void (*run)(void *context, unsigned i), void *context);

#endif
