/* examples/graph_replay.c again and again: each time another allocation or driver call fails (see faults.h). */
#define FAULT_SOURCE "examples/graph_replay.c"
#define FAULT_ARGS "graph_replay", "3"
#include "tests/whole/fault_example.h"

int main(void)
{
    static const fault_program program = {
        .run = run_it, .output = "of 10 nodes launched 3 times; generator 1 is at 3225111255, 0 of 4096"
    };
    return faults_main(&program);
}
