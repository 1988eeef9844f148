/* examples/overlap.c again and again: each time another allocation or driver call fails (see faults.h). */
#define FAULT_SOURCE "examples/overlap.c"
#define FAULT_ARGS "overlap"
#include "tests/whole/fault_example.h"

int main(void)
{
    static const fault_program program = { .run = run_it, .output = "the sum of squares is 87203361984, right" };
    return faults_main(&program);
}
