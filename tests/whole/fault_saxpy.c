/* examples/saxpy.c again and again: each time another allocation or driver call fails (see faults.h). */
#include <cujit/cujit.h>

#include "faults.h"
#include "tests/tap.h"

int example_main(int argc, char **argv);
#define main example_main
#define cj_driver_open faults_driver_open
#include "examples/saxpy.c"
#undef main
#undef cj_driver_open

static int run_it(void)
{
    char *args[] = { "saxpy", "1000", NULL };
    return example_main(sizeof args / sizeof *args - 1, args);
}

int main(void)
{
    static const fault_program program = { .run = run_it, .output = ": 1000 elements, 0 differ" };
    return faults_main(&program);
}
