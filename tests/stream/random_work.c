/* Random work on the streams of one device (random_work.h). */
#include "tests/stream/random_work.h"
#include "tests/tap.h"

int main(void)
{
    tap_need_device(1);
    tap_plan(0);
    work_programs(1);
    return tap_done();
}
