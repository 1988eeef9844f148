/* examples/graph_picture.c again and again: each time another allocation or driver call fails (see faults.h). */
#define FAULT_SOURCE "examples/graph_picture.c"
#define FAULT_ARGS "graph_picture", "/dev/null"
#include "tests/whole/fault_example.h"

int main(void)
{
    static const fault_program program = { .run = run_it, .output = "one after another; 0 of 65536 are wrong" };
    return faults_main(&program);
}
