/* Captures in the strictest mode go on while other threads make, use and release everything beside them: no call of the
 * library harms them. */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/stream/watched.h"
#include "tests/tap.h"

enum { THREADS = 3, TURNS_AHEAD = 2 * THREADS };
static watch_bench b;
static atomic_bool over;
static pthread_mutex_t turns_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
/* the threads rest when they are TURNS_AHEAD beyond what is wanted: a slow machine makes no more work */
static unsigned turns, wanted;

static bool one_turn(unsigned me)
{
    char host[5000] = "";
    cj_stream *s = cj_stream_create(b.dev, NULL), *t = cj_stream_create(b.dev, NULL);
    cj_event *e = cj_event_create(b.dev, NULL);
    cj_kernel *k = watch_kernel(b.dev);
    cj_dptr d = cj_alloc(s, sizeof host);
    cj_copy_to_device(s, d, host, sizeof host);
    cj_event_record(e, s);
    cj_stream_wait(t, e);
    cj_launch(t, k, cj_grid(1, 32), d, d, 1.0f, me);
    cj_fill8(t, d, 1, 100);
    cj_stream_use(t, d);
    cj_stream_join(s, t);
    cj_copy_to_host(s, host, d, sizeof host);
    bool good = cj_stream_sync(s) == CJ_OK && cj_error_of(t)->status == CJ_OK;
    if (!good) tap_diag("%s", cj_error_of(cj_error_of(s)->status ? s : t)->message);
    cj_stream_free(t);
    cj_free(b.dev, d);
    cj_kernel_free(k);
    cj_event_free(e);
    cj_stream_free(s);
    return good;
}

static void *busy(void *user)
{
    unsigned me = (unsigned)(uintptr_t)user;
    while (!atomic_load(&over) && one_turn(me)) {
        pthread_mutex_lock(&turns_lock);
        turns++;
        pthread_cond_broadcast(&turned);
        while (!atomic_load(&over) && turns >= wanted + TURNS_AHEAD) pthread_cond_wait(&turned, &turns_lock);
        pthread_mutex_unlock(&turns_lock);
    }
    return NULL;
}

/* Until other threads have done everything a few times. */
static void let_others(void)
{
    pthread_mutex_lock(&turns_lock);
    wanted = turns + THREADS + 1;
    pthread_cond_broadcast(&turned);
    while (turns < wanted) pthread_cond_wait(&turned, &turns_lock);
    pthread_mutex_unlock(&turns_lock);
}

int main(void)
{
    pthread_t thread[THREADS];
    int bad = 0, count = tap_is_slow() ? 5 : 60;
    tap_plan(0);
    watch_setup(&b);
    cj_kernel *k = watch_kernel(b.dev);
    cj_dptr d = cj_alloc(b.s, 64);
    for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, busy, (void *)i);
    for (int i = 0; i < count; i++) {
        cj_capture_begin(b.s, CJ_CAPTURE_GLOBAL);
        cj_launch(b.s, k, cj_grid(1, 32), d, d, 1.0f, 1);
        cj_stream_fork(b.s, b.t);
        cj_fill8(b.t, d, 3, 64);
        let_others();
        cj_stream_join(b.s, b.t);
        cj_graph *g = cj_capture_end(b.s);
        if (cj_graph_count(g) != 2 && bad++ == 0) tap_diag("%s", cj_error_of(g)->message);
        cj_graph_exec *x = cj_graph_instantiate(g, NULL);
        cj_graph_launch(b.s, x);
        cj_graph_exec_free(x);
        cj_graph_free(g);
    }
    pthread_mutex_lock(&turns_lock);
    atomic_store(&over, true);
    pthread_cond_broadcast(&turned);
    pthread_mutex_unlock(&turns_lock);
    for (size_t i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    tap_is_int(bad, 0, "%d captures came out whole beside %u turns of others", count, turns);
    tap_is_int(cj_stream_sync(b.s), CJ_OK, "and nothing failed");
    cj_kernel_free(k);
    cj_free(b.dev, d);
    watch_teardown(&b);
    return tap_done();
}
