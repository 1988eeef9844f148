/* examples/graph_replay.c again and again: each time another allocation or driver call fails (see faults.h). */
#include <cujit/cujit.h>

#include "faults.h"
#include "tests/tap.h"

int example_main(int argc, char **argv);
#define main example_main
#define cj_driver_open faults_driver_open
#include "examples/graph_replay.c"
#undef main
#undef cj_driver_open

static int run_it(void)
{
    char *args[] = { "graph_replay", "3", NULL };
    return example_main(sizeof args / sizeof *args - 1, args);
}

int main(void)
{
    static const fault_program program = {
        .run = run_it, .output = "of 10 nodes launched 3 times; generator 1 is at 3225111255, 0 of 4096"
    };
    return faults_main(&program);
}
