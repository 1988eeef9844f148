/* examples/hello.c again and again: each time another allocation or driver call fails (see faults.h). */
#define FAULT_SOURCE "examples/hello.c"
#define FAULT_ARGS "hello"
#include "tests/whole/fault_example.h"

int main(void)
{
    static const fault_program program = { .run = run_it, .output = ": y[10] = 21" };
    return faults_main(&program);
}
