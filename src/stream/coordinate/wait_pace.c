/* How often a wait is queried.
 *
 * The pause before the next query grows with the age of the wait, from PAUSE_SHORT_NS to PAUSE_LONG_NS.  With the time
 * that the thread needs to wake up, a wait over 1 ms is reported about 100 us late at most, and 50 us in the median.
 *
 * A thread that wakes up so often for many streams takes a tenth of a core.  Work that is enqueued again and again
 * takes about the same time each time, so the waiter learns how long the waits of a stream take: a mean and a mean
 * deviation, as TCP learns the time of a round trip.  While a wait is younger than nearly all of those before it, the
 * pauses are up to PAUSE_EARLY_NS; they never go beyond the time from which its end is expected.  A wait that ends
 * earlier than expected may thus be reported that late. */
#include "stream/coordinate/stream_coordinate.h"

enum {
    PAUSE_SHORT_NS = 20000,
    PAUSE_LONG_NS = 75000,
    PAUSE_EARLY_NS = 500000,
    PACE_LEAST_NS = 500000, /* the end is expected so much before the mean at least, and this part of the mean */
    PACE_PART = 32
};

/* The age from which the end is expected. */
static uint64_t pace_expected(const cji_wait_pace *p)
{
    const uint64_t before = 4 * p->deviation + p->mean / PACE_PART + PACE_LEAST_NS;
    return p->mean > before ? p->mean - before : 0;
}

uint64_t cji_wait_pause(const cji_wait_pace *p, uint64_t age)
{
    const uint64_t grown = age / 16 > PAUSE_SHORT_NS ? age / 16 : PAUSE_SHORT_NS;
    const uint64_t usual = grown < PAUSE_LONG_NS ? grown : PAUSE_LONG_NS;
    const uint64_t expected = p ? pace_expected(p) : 0, left = expected > age ? expected - age : 0;
    if (left <= usual) return usual;
    const uint64_t early = grown < PAUSE_EARLY_NS ? grown : PAUSE_EARLY_NS;
    return early < left ? early : left;
}

void cji_wait_pace_learn(cji_wait_pace *p, uint64_t of, uint64_t span)
{
    if (p->of != of) {
        *p = (cji_wait_pace){ of, span, span / 2 };
        return;
    }
    const int64_t off = (int64_t)(span - p->mean), far = off < 0 ? -off : off;
    p->mean = (uint64_t)((int64_t)p->mean + off / 4);
    p->deviation = (uint64_t)((int64_t)p->deviation + (far - (int64_t)p->deviation) / 4);
}
