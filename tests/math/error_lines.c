/* Lines of tests/oracle/math_errors.txt. */
#include "tests/math/error_lines.h"

#include <string.h>

static const char *const error_columns[] = {
    "function: the name behind cj_math_; lgamma_near_zeros: lgamma in the interval that CUDA's table leaves out",
    "type; form: accurate, fast or rounded; result: 0, or 1 for the second one",
    "device: a word of its name, or cpu; reference: cuda-f64, CUDA's function of double on the device;",
    "  host-f64 and host-long, the C library in double and long double",
    "values: how many operands; unit: ulp, the distance from the nearest number of the type; abs, the error over",
    "  max(1, |result|); rel, over |result|; equal, how many whole numbers are not equal",
    "greatest: the greatest error; at: the operands that have it; not_nearest: how many results are not the nearest;",
    "  wrong: how many zeros, infinities and NaN are wrong",
    "points: how many of the worst MPFR has judged with 200 bits; mpfr: the greatest error by it",
    "cuda: the greatest error of CUDA's own function of the type, for the same operands",
    "Of f64 beside cuda-f64 `greatest` is the distance of both results, and no error: that of the worst is in mpfr.",
};

void error_lines_begin(FILE *out, const cj_driver *drv, const cj_device *dev)
{
    const int version = cj_driver_version(drv);
    fprintf(out, "# Errors of the functions of math.h, by tests/math/check_math and judge_mpfr.py.\n");
    for (size_t i = 0; i < sizeof error_columns / sizeof *error_columns; i++) fprintf(out, "# %s\n", error_columns[i]);
    fprintf(out, "# Device: %s; driver: %s, CUDA %d.%d.\n", cj_device_name(dev), cj_driver_kind(drv), version / 1000,
            version % 1000 / 10);
    fprintf(out, "# function type form result device reference values unit greatest at not_nearest wrong points mpfr "
                 "cuda\n");
}

static const char *word_or_dash(const char *word) { return word ? word : "-"; }

void error_line_print(FILE *out, const error_line *l)
{
    fprintf(out, "%s %s %s %u %s %s %llu %s %s %s %s %llu - - %s\n", l->function, l->type, l->form, l->result,
            l->device, l->reference, (unsigned long long)l->values, l->unit, word_or_dash(l->greatest),
            word_or_dash(l->at), word_or_dash(l->not_nearest), (unsigned long long)l->wrong, word_or_dash(l->cuda));
    fflush(out);
}

void error_device_word(const cj_device *dev, char *word, size_t size)
{
    char name[200], *rest = name;
    snprintf(word, size, "cpu");
    if (strcmp(cj_driver_kind(cj_device_driver(dev)), "cuda")) return;
    snprintf(name, sizeof name, "%s", cj_device_name(dev));
    for (char *w; (w = strtok_r(rest, " ", &rest));)
        if (strpbrk(w, "0123456789")) {
            snprintf(word, size, "%s", w);
            return;
        }
}
