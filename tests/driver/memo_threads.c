/* Values under keys in memory, by many threads: each result is the value of its key, each reference is released, and
 * the bound holds.  A value that is forgotten while it is built is handed to who waits, and not kept. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "driver/cache/memo.h"
#include "tests/latch.h"
#include "tests/tap.h"

enum { KEYS = 40, MOST = 60, THREADS = 8 };

typedef struct number { atomic_int refs; int key; } number;

static atomic_int live, built, wrong;
static cji_memo *memo;
static int rounds;

static void retain_number(void *value) { atomic_fetch_add(&((number *)value)->refs, 1); }
static void release_number(void *value)
{
    number *v = value;
    if (atomic_fetch_sub(&v->refs, 1) != 1) return;
    atomic_fetch_sub(&live, 1);
    free(v);
}
/* Each seventh key has values that are not kept. */
static bool good_number(const void *value) { return ((const number *)value)->key % 7 != 0; }
static uint64_t number_weight(const void *value) { return 1 + ((const number *)value)->key % 3; }
static const cji_memo_rules rules = { retain_number, release_number, good_number, number_weight };

static void *make_number(void *user)
{
    number *v = malloc(sizeof *v);
    if (!v) tap_bail("no memory");
    atomic_init(&v->refs, 1);
    v->key = *(const int *)user;
    atomic_fetch_add(&live, 1);
    atomic_fetch_add(&built, 1);
    return v;
}

/* A value that a call returned, or NULL. */
static void look_and_release(number *v, int key)
{
    if (!v) return;
    if (v->key != key) atomic_fetch_add(&wrong, 1);
    release_number(v);
}

static void *use_memo(void *argument)
{
    unsigned seed = *(const unsigned *)argument;
    for (int i = 0; i < rounds; i++) {
        int key = rand_r(&seed) % KEYS, what = rand_r(&seed) % 64;
        cji_memo_how how;
        if (what == 0) cji_memo_clear(memo);
        else if (what < 4) cji_memo_forget(memo, &key, sizeof key);
        else if (what < 16) look_and_release(cji_memo_find(memo, &key, sizeof key, &how), key);
        else look_and_release(cji_memo_get(memo, &key, sizeof key, make_number, &key, &how), key);
    }
    return NULL;
}

static void many_threads(void)
{
    pthread_t thread[THREADS];
    unsigned seed[THREADS];
    cji_memo_counts n;
    rounds = tap_is_slow() ? 300 : 3000;
    memo = cji_memo_create(&rules, MOST);
    for (unsigned i = 0; i < THREADS; i++) {
        seed[i] = i + 1;
        if (pthread_create(&thread[i], NULL, use_memo, &seed[i])) tap_bail("no thread");
    }
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    cji_memo_count(memo, &n);
    tap_is_int(wrong, 0, "%d threads: each result is the value of its key", THREADS);
    tap_ok(n.weight <= MOST && (int)n.values <= live && n.builds == (uint64_t)built && n.hits > 0,
           "the bound holds: %d values of weight %d", (int)n.values, (int)n.weight);
    tap_is_int(live, (int)n.values, "values that are not kept are released");
    int kept = 0;
    for (int key = 0; key < KEYS; key += 7) {
        cji_memo_how how;
        kept += cji_memo_find(memo, &key, sizeof key, &how) != NULL;
    }
    tap_is_int(kept, 0, "values that are not good are not kept");
    cji_memo_clear(memo);
    cji_memo_count(memo, &n);
    tap_ok(live == 0 && n.values == 0 && n.weight == 0, "cleared: none, and they weigh nothing");
    cji_memo_free(memo);
}

/* -- While it is built --------------------------------------------------------------------------------------------- */

static struct latch began, may_end;

static void *make_held(void *user)
{
    latch_open(&began);
    latch_wait(&may_end);
    return make_number(user);
}

static void *get_held(void *key)
{
    cji_memo_how how;
    return cji_memo_get(memo, key, sizeof(int), make_held, key, &how);
}

static void waited(void)
{
    pthread_t thread[THREADS];
    void *result[THREADS];
    cji_memo_counts n = { .waits = 0 };
    int key = 5, same = 0;
    began = may_end = (struct latch)LATCH_CLOSED;
    memo = cji_memo_create(&rules, MOST);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, get_held, &key)) tap_bail("no thread");
    while (n.waits < THREADS - 1) { /* all others wait */
        sched_yield();
        cji_memo_count(memo, &n);
    }
    latch_open(&may_end);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], &result[i]);
    for (int i = 0; i < THREADS; i++) same += result[i] == result[0];
    tap_is_int(same, THREADS, "%d threads get one value, which one of them builds", THREADS);
    tap_is_int(((number *)result[0])->refs, THREADS + 1, "each of them has a reference, and so has the memo");
    for (int i = 0; i < THREADS; i++) look_and_release(result[i], key);
    cji_memo_free(memo);
    tap_is_int(live, 0, "none is left");
}

static void forgotten(void)
{
    static const struct { const char *name; bool all; } rows[] = { { "forgotten", false }, { "cleared", true } };
    int key = 5;
    for (size_t i = 0; i < 2; i++) {
        pthread_t thread;
        void *result;
        cji_memo_counts n;
        cji_memo_how how;
        began = may_end = (struct latch)LATCH_CLOSED;
        memo = cji_memo_create(&rules, MOST);
        if (pthread_create(&thread, NULL, get_held, &key)) tap_bail("no thread");
        latch_wait(&began);
        tap_ok(!cji_memo_find(memo, &key, sizeof key, &how) && how == CJI_MEMO_BUILDING, "%s: it is being built",
               rows[i].name);
        if (rows[i].all) cji_memo_clear(memo);
        else tap_ok(cji_memo_forget(memo, &key, sizeof key), "%s: there is such a key", rows[i].name);
        number *second = cji_memo_get(memo, &key, sizeof key, make_number, &key, &how);
        tap_is_int(how, CJI_MEMO_BUILT, "%s while it is built: the next call builds another one", rows[i].name);
        latch_open(&may_end);
        pthread_join(thread, &result);
        cji_memo_count(memo, &n);
        tap_ok(result && result != second && n.values == 1, "%s: the builder has it, and it is not kept", rows[i].name);
        number *kept = cji_memo_find(memo, &key, sizeof key, &how);
        tap_ok(kept == second, "%s: the other one is kept", rows[i].name);
        look_and_release(kept, key);
        look_and_release(second, key);
        look_and_release(result, key);
        cji_memo_free(memo);
        tap_is_int(live, 0, "%s: nothing is left", rows[i].name);
    }
}

int main(void)
{
    tap_plan(0);
    many_threads();
    waited();
    forgotten();
    return tap_done();
}
