/* examples/graph_loop.c again and again: each time another allocation or driver call fails (see faults.h). */
#define FAULT_SOURCE "examples/graph_loop.c"
#define FAULT_ARGS "graph_loop", "/dev/null"
#include "tests/whole/fault_example.h"

int main(void)
{
    static const fault_program program = {
        .run = run_it, .output = "one launch took 9 turns; the root of 144 is 12.000, 0 of 1000 are wrong"
    };
    return faults_main(&program);
}
