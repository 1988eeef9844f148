/* examples/reduce.c again and again: each time another allocation or driver call fails (see faults.h). */
#include <cujit/cujit.h>

#include "faults.h"
#include "tests/tap.h"

int example_main(int argc, char **argv);
#define main example_main
#define cj_driver_open faults_driver_open
#include "examples/reduce.c"
#undef main
#undef cj_driver_open

static int run_it(void)
{
    return example_main(1, (char *[]){ "reduce", NULL });
}

int main(void)
{
    static const fault_program program = { .run = run_it, .output = "the sum of 100000 numbers is 49950000" };
    return faults_main(&program);
}
