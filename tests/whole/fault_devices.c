/* work_devices.c again and again: each time another allocation or driver call fails (see faults.h). */
#include <cujit/cujit.h>

#include "faults.h"
#include "tests/tap.h"

int example_main(void);
#define main example_main
#define cj_driver_open faults_driver_open
#include "tests/whole/work_devices.c"
#undef main
#undef cj_driver_open

static int run_it(void)
{
    return example_main();
}

int main(void)
{
    static const fault_program program = { .run = run_it, .output = "devices: 139", .releases = true };
    return faults_main(&program);
}
