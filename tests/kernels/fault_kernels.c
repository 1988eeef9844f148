/* work_kernels.c again and again: each time another allocation or driver call fails (see faults.h). */
#define FAULT_SOURCE "tests/kernels/work_kernels.c"
#include "tests/whole/fault_example.h"

int main(void)
{
    static const fault_program program = { .run = run_it, .output = "kernels: 600175121", .releases = true };
    return faults_main(&program);
}
