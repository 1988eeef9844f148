/* examples/mandelbrot.c again and again: each time another allocation or driver call fails (see faults.h). */
#include <cujit/cujit.h>

#include "faults.h"
#include "tests/tap.h"

int example_main(int argc, char **argv);
#define main example_main
#define cj_driver_open faults_driver_open
#include "examples/mandelbrot.c"
#undef main
#undef cj_driver_open

static int run_it(void)
{
    char *args[] = { "mandelbrot", "/dev/null", "16", "8", NULL };
    return example_main(sizeof args / sizeof *args - 1, args);
}

int main(void)
{
    static const fault_program program = { .run = run_it, .output = "16 x 8 pixels" };
    return faults_main(&program);
}
