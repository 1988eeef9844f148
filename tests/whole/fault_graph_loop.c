/* examples/graph_loop.c again and again: each time another allocation or driver call fails (see faults.h). */
#include <cujit/cujit.h>

#include "faults.h"
#include "tests/tap.h"

int example_main(int argc, char **argv);
#define main example_main
#define cj_driver_open faults_driver_open
#include "examples/graph_loop.c"
#undef main
#undef cj_driver_open

static int run_it(void)
{
    char *args[] = { "graph_loop", "/dev/null", NULL };
    return example_main(sizeof args / sizeof *args - 1, args);
}

int main(void)
{
    static const fault_program program = {
        .run = run_it, .output = "one launch took 9 turns; the root of 144 is 12.000, 0 of 1000 are wrong"
    };
    return faults_main(&program);
}
