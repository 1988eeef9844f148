/* examples/halo.c again and again: each time another allocation or driver call fails (see faults.h). */
#include <cujit/cujit.h>

#include "faults.h"
#include "tests/tap.h"

int example_main(int argc, char **argv);
#define main example_main
#define cj_driver_open faults_driver_open
#include "examples/halo.c"
#undef main
#undef cj_driver_open

static int run_it(void)
{
    char *args[] = { "halo", "2", NULL };
    return example_main(sizeof args / sizeof *args - 1, args);
}

int main(void)
{
    static const fault_program program = { .run = run_it, .output = "2 steps; 8 bytes sent across; 0 cells are wrong" };
    return faults_main(&program);
}
