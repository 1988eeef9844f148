/* examples/halo.c again and again: each time another allocation or driver call fails (see faults.h). */
#define FAULT_SOURCE "examples/halo.c"
#define FAULT_ARGS "halo", "2"
#include "tests/whole/fault_example.h"

int main(void)
{
    static const fault_program program = { .run = run_it, .output = "2 steps; 8 bytes sent across; 0 cells are wrong" };
    return faults_main(&program);
}
