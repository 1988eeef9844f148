/* examples/reduce.c again and again: each time another allocation or driver call fails (see faults.h). */
#define FAULT_SOURCE "examples/reduce.c"
#define FAULT_ARGS "reduce"
#include "tests/whole/fault_example.h"

int main(void)
{
    static const fault_program program = { .run = run_it, .output = "the sum of 100000 numbers is 49950000" };
    return faults_main(&program);
}
