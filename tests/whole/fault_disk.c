/* work_disk.c again and again: each time another allocation or driver call fails (see faults.h). */
#define FAULT_SOURCE "tests/whole/work_disk.c"
#include "tests/whole/fault_example.h"

int main(void)
{
    static const fault_program program = { .run = run_it, .output = "disk: 10", .releases = true };
    return faults_main(&program);
}
