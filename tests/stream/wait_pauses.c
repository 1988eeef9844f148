/* How long a waiter pauses between two queries of a wait: by its age, and by how long the waits of its stream before
 * have taken. */
#include "stream/coordinate/stream_coordinate.h"
#include "tests/tap.h"

enum { US = 1000, MS = 1000000 };

/* Pauses are at most 75 us where nothing is known of the stream, or the end is expected. */
static const struct { const char *name; uint64_t mean, deviation, age, least, most; } cases[] = {
    { "a wait of 1 us", 0, 0, 1 * US, 20 * US, 20 * US },
    { "a wait of 640 us", 0, 0, 640 * US, 40 * US, 40 * US },
    { "a wait of 2 ms", 0, 0, 2 * MS, 75 * US, 75 * US },
    { "a wait of 10 s", 0, 0, 10000ull * MS, 75 * US, 75 * US },
    { "a young wait, where 100 ms are expected", 100 * MS, 0, 640 * US, 40 * US, 40 * US },
    { "a wait of 4 ms there", 100 * MS, 0, 4 * MS, 250 * US, 250 * US },
    { "a wait of 50 ms there", 100 * MS, 0, 50 * MS, 500 * US, 500 * US },
    { "a wait of 96 ms there, shortly before the end is expected", 100 * MS, 0, 96 * MS, 75 * US, 375 * US },
    { "a wait of 97 ms there, whose end is expected", 100 * MS, 0, 97 * MS, 75 * US, 75 * US },
    { "a wait of 100 ms there", 100 * MS, 0, 100 * MS, 75 * US, 75 * US },
    { "a wait of 150 ms there, which is overdue", 100 * MS, 0, 150 * MS, 75 * US, 75 * US },
    { "a wait of 50 ms, where waits take 100 ms or 20 ms", 100 * MS, 40 * MS, 50 * MS, 75 * US, 75 * US },
    { "a wait of 20 ms, where waits deviate by 5 ms", 100 * MS, 5 * MS, 20 * MS, 500 * US, 500 * US },
    { "a wait of 80 ms there", 100 * MS, 5 * MS, 80 * MS, 75 * US, 75 * US },
};

/* No pause of a wait that ends as expected goes beyond that by more than the usual one: it is reported in time. */
static void ends_as_expected(uint64_t span)
{
    cji_wait_pace p = { 0 };
    uint64_t now = 0, pauses = 0;
    for (int i = 0; i < 4; i++) cji_wait_pace_learn(&p, 1, span);
    p.deviation = 0;
    for (; now < span; pauses++) now += cji_wait_pause(&p, now);
    tap_ok(now - span <= 75 * US, "a wait of %u us like those before is reported %u us late",
           (unsigned)(span / US), (unsigned)((now - span) / US));
    tap_ok(span < 100 * MS || pauses < span / (200 * US), "... after %u queries", (unsigned)pauses);
}

int main(void)
{
    tap_plan(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const cji_wait_pace p = { .of = 1, .mean = cases[i].mean, .deviation = cases[i].deviation };
        const uint64_t pause = cji_wait_pause(cases[i].mean ? &p : NULL, cases[i].age);
        tap_ok(pause >= cases[i].least && pause <= cases[i].most, "%s is queried again after %u us", cases[i].name,
               (unsigned)(pause / US));
    }
    const uint64_t spans[] = { 1 * MS, 3 * MS, 10 * MS, 100 * MS, 1000 * MS };
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) ends_as_expected(spans[i]);
    cji_wait_pace p = { 0 };
    cji_wait_pace_learn(&p, 1, 100 * MS);
    tap_is_uint(p.mean, 100 * MS, "the first wait of a stream is the mean");
    tap_is_uint(cji_wait_pause(&p, 50 * MS), 75 * US, "... of which nothing is expected yet");
    for (int i = 0; i < 40; i++) cji_wait_pace_learn(&p, 1, 20 * MS);
    tap_ok(p.mean < 21 * MS && p.deviation < 1 * MS, "waits of another length are learned");
    cji_wait_pace_learn(&p, 2, 5 * MS);
    tap_ok(p.of == 2 && p.mean == 5 * MS, "another stream begins anew");
    return tap_done();
}
