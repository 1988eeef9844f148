/* examples/expr.c again and again: each time another allocation or driver call fails (see faults.h). */
#include <cujit/cujit.h>

#include "faults.h"
#include "tests/tap.h"

int example_main(int argc, char **argv);
#define main example_main
#define cj_driver_open faults_driver_open
#include "examples/expr.c"
#undef main
#undef cj_driver_open

static int run_it(void)
{
    char *args[] = { "expr", "--sum", "hypot(lat, lon)", (char *)tap_source("examples/data/places.csv"), NULL };
    return example_main(sizeof args / sizeof *args - 1, args);
}

int main(void)
{
    static const fault_program program = { .run = run_it, .output = "28667.6185" };
    return faults_main(&program);
}
