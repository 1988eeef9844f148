/* The time in which leases of a pool are unfinished: the union of their spans, whatever the order in which they become
 * known. */
#include <stdlib.h>

#include "stream/pool/stream_pool.h"
#include "tests/tap.h"

enum { MS = 1000000, MOST = 6 };

static void check_cases(void)
{
    static const struct { const char *name; uint64_t span[MOST][2]; double ms; } cases[] = {
        { "one", { { 10, 15 } }, 5 },
        { "two apart", { { 10, 15 }, { 20, 22 } }, 7 },
        { "two that overlap", { { 10, 15 }, { 12, 22 } }, 12 },
        { "two that touch", { { 10, 15 }, { 15, 22 } }, 12 },
        { "one within another", { { 10, 30 }, { 15, 22 } }, 20 },
        { "a long one behind short ones that it holds", { { 5, 6 }, { 7, 8 }, { 20, 21 }, { 1, 10 } }, 10 },
        { "one that joins others", { { 1, 3 }, { 8, 9 }, { 5, 6 }, { 2, 9 }, { 20, 25 } }, 13 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int backwards = 0; backwards < 2; backwards++) {
            cji_busy b = { .ms = 0 };
            for (size_t k = 0; k < MOST; k++) {
                const uint64_t *s = cases[i].span[backwards ? MOST - 1 - k : k];
                if (s[1]) cji_busy_add(&b, s[0] * MS, s[1] * MS);
            }
            tap_is_f64(cji_busy_ms(&b), cases[i].ms, "%s%s", cases[i].name, backwards ? ", the last first" : "");
        }
}

/* More spans than are kept apart. */
static void check_many(void)
{
    cji_busy b = { .ms = 0 };
    for (uint64_t i = 0; i < 10 * CJI_SPANS; i++) cji_busy_add(&b, 10 * i * MS, (10 * i + 3) * MS);
    tap_is_f64(cji_busy_ms(&b), 30.0 * CJI_SPANS, "many spans apart are all counted");
    cji_busy_add(&b, (100 * CJI_SPANS - 30) * (uint64_t)MS, 100 * CJI_SPANS * (uint64_t)MS);
    tap_is_f64(cji_busy_ms(&b), 30.0 * CJI_SPANS + 21, "and one that joins the latest three");
}

int main(void)
{
    tap_plan(0);
    check_cases();
    check_many();
    return tap_done();
}
