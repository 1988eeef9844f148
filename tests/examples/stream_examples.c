/* The examples about streams say what they should, and that their own comparison with the host found nothing. */
#include "tests/tap.h"
#include "tests/tap_run.h"

static const struct { const char *program, *says; } examples[] = {
    { "examples/graph_replay", "a graph of 10 nodes launched 100 times; generator 1 is at 645503657, 0 of 4096 are wrong\n" },
    { "examples/overlap", "8 chunks of 32768 numbers through two buffers: the sum of squares is 87203361984, right\n" },
};

int main(void)
{
    tap_need_device(1);
    tap_plan(0);
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        const char *argv[] = { tap_build(examples[i].program), NULL };
        tap_result r;
        tap_run(&r, argv, NULL);
        tap_is_int(r.status, 0, "%s ends well", examples[i].program);
        tap_has_str(r.out, examples[i].says, "... and prints its result");
        tap_is_str(r.err, "", "... and nothing else");
        tap_result_free(&r);
    }
    return tap_done();
}
