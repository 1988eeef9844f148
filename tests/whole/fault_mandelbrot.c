/* examples/mandelbrot.c again and again: each time another allocation or driver call fails (see faults.h). */
#define FAULT_SOURCE "examples/mandelbrot.c"
#define FAULT_ARGS "mandelbrot", "/dev/null", "16", "8"
#include "tests/whole/fault_example.h"

int main(void)
{
    static const fault_program program = { .run = run_it, .output = "16 x 8 pixels" };
    return faults_main(&program);
}
