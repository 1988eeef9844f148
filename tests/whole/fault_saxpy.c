/* examples/saxpy.c again and again: each time another allocation or driver call fails (see faults.h). */
#define FAULT_SOURCE "examples/saxpy.c"
#define FAULT_ARGS "saxpy", "1000"
#include "tests/whole/fault_example.h"

int main(void)
{
    static const fault_program program = { .run = run_it, .output = ": 1000 elements, 0 differ" };
    return faults_main(&program);
}
