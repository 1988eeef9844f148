/* What each fault_*.c is: a program, included with its main renamed, of which another allocation or driver call fails
 * each time (faults.h).  FAULT_SOURCE is its file; FAULT_ARGS, its words, where its main takes some. */
#include <cujit/cujit.h>

#include "tests/tap.h"
#include "tests/whole/faults.h"

#ifdef FAULT_ARGS
int example_main(int argc, char **argv);
#else
int example_main(void);
#endif
#define main example_main
#define cj_driver_open faults_driver_open
#include FAULT_SOURCE
#undef main
#undef cj_driver_open

static int run_it(void)
{
#ifdef FAULT_ARGS
    char *args[] = { FAULT_ARGS, NULL };
    return example_main(sizeof args / sizeof *args - 1, args);
#else
    return example_main();
#endif
}
