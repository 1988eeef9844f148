/* Random work on the streams of two devices, with copies from one to the other (random_work.h). */
#include <stdlib.h>

#include "tests/stream/random_work.h"
#include "tests/tap.h"

int main(void)
{
    setenv("CUJIT_SIM_DEVICES", "2", 1);
    tap_need_device(2);
    tap_plan(0);
    work_programs(2);
    return tap_done();
}
