/* Captures over several streams and threads: forks over a pause, forks of forks joined at the end, ends on other
 * threads, captures beside and into each other, and the first failing call wherever it was made. */
#include <pthread.h>
#include <string.h>

#include "tests/device_bench.h"

enum { N = 32, STREAMS = 4 };
static cj_stream *stream[STREAMS];

static void clear(void)
{
    for (int i = 0; i < STREAMS; i++) cj_stream_sync(stream[i]), cj_stream_sync(stream[i]);
    cj_fill32(stream[0], d, 0, N);
    cj_stream_sync(stream[0]);
}

/* Word `at` becomes larger by `v` when the graph runs. */
static void more(cj_stream *on, int at, uint32_t v) { cj_launch(on, add, cj_grid(1, 32), cj_offset(d, 4 * at), 1, v); }

static bool words(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t got[3] = { 0 };
    cj_copy_to_host(stream[0], got, d, sizeof got);
    cj_stream_sync(stream[0]);
    if (got[0] != a || got[1] != b || got[2] != c) tap_diag("%u %u %u", got[0], got[1], got[2]);
    return got[0] == a && got[1] == b && got[2] == c;
}

static cj_status run(cj_graph *g)
{
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_launch(stream[0], x);
    cj_graph_exec_free(x);
    return cj_stream_sync(stream[0]);
}

static bool none_captured(void)
{
    for (int i = 0; i < STREAMS; i++)
        if (cj_stream_is_capturing(stream[i]) || cj_stream_query(stream[i]) != CJ_OK) return false;
    return true;
}

/* -- Pauses -------------------------------------------------------------------------------------------------------- */

static void over_a_pause(cj_capture_mode mode)
{
    clear();
    cj_capture_begin_opts(stream[0], CJ_CAPTURE(.mode = (int32_t)mode, .join = 1));
    more(stream[0], 0, 1);
    cj_stream_fork(stream[0], stream[1]);
    cj_stream_fork(stream[1], stream[2]);
    more(stream[1], 1, 10);
    more(stream[2], 2, 100);
    cj_graph *g = cj_capture_pause(stream[0]);
    tap_is_int(cj_error_of(g)->status, CJ_OK, "mode %d: a pause joins forks, and forks of forks: %s", (int)mode,
               cj_error_of(g)->message);
    tap_ok(none_captured(), "... and lets all streams go");
    tap_ok(words(0, 0, 0), "... of which nothing has run");
    cj_capture_resume(stream[3], g);
    tap_ok(cj_stream_is_capturing(stream[3]) && !cj_stream_is_capturing(stream[1]), "what goes on is one stream");
    cj_stream_fork(stream[3], stream[1]);
    cj_launch(stream[1], add, cj_grid(1, 32), d, 3, 1000);
    more(stream[3], 3, 5);
    cj_graph *same = cj_capture_end(stream[3]);
    tap_is_int(cj_error_of(same)->status, CJ_OK, "its forks are joined at the end too: %s", cj_error_of(same)->message);
    tap_ok(same == g && none_captured(), "... of the same graph");
    tap_is_int(run(g), CJ_OK, "it runs: %s", cj_error_of(stream[0])->message);
    tap_ok(words(1001, 1010, 1100), "the second part behind all of the first");
    cj_graph_free(same);
    cj_graph_free(g);
}

static void pause_unjoined(void)
{
    clear();
    cj_capture_begin(stream[0], CJ_CAPTURE_THREAD);
    cj_stream_fork(stream[0], stream[1]);
    more(stream[1], 0, 1);
    cj_graph *g = cj_capture_pause(stream[0]);
    tap_is_int(cj_error_of(g)->status, CJ_ESTATE,
               "a pause with a fork that nobody joins fails, where that was chosen: %s", cj_error_of(g)->message);
    tap_is_int(cj_capture_resume(stream[0], g), CJ_ESTATE, "what failed is not resumed");
    clear();
    tap_ok(none_captured(), "the streams work again");
    cj_graph_free(g);

    g = cj_graph_create(dev);
    cj_capture_begin_opts(stream[0], CJ_CAPTURE(.into = g));
    more(stream[0], 0, 1);
    cj_stream_fork(stream[0], stream[1]);
    more(stream[1], 1, 1);
    cj_graph *same = cj_capture_pause(stream[0]);
    tap_is_int(cj_error_of(same)->status, CJ_ESTATE, "into a graph it fails as well");
    tap_is_int(run(g), CJ_ESTATE, "and that graph cannot be launched: %s", cj_error_of(stream[0])->message);
    tap_is_int(cj_capture_resume(stream[0], g), CJ_ESTATE, "nor resumed");
    cj_graph_free(same);
    cj_graph_free(g);
}

/* -- Threads ------------------------------------------------------------------------------------------------------- */

typedef struct job { int what; cj_graph *g; } job; /* g: in and out */

static void *elsewhere(void *user)
{
    job *j = user;
    switch (j->what) {
    case 0: cj_capture_begin_opts(stream[0], CJ_CAPTURE(.mode = CJ_CAPTURE_RELAXED, .join = 1)); break;
    case 1: more(stream[1], 1, 2); break;
    case 2: j->g = cj_capture_pause(stream[0]); break;
    case 3: cj_capture_resume(stream[2], j->g); break;
    case 4: j->g = cj_capture_end(stream[2]); break;
    case 5: cj_fill8(stream[1], d, 1, 4 * N + 1); break; /* does not fit */
    case 6: j->g = cj_capture_end(stream[0]); break;
    }
    return NULL;
}

static cj_graph *on_a_thread(int what, cj_graph *g)
{
    job j = { what, g };
    pthread_t thread;
    pthread_create(&thread, NULL, elsewhere, &j);
    pthread_join(thread, NULL);
    return j.g;
}

static void between_threads(void)
{
    clear();
    on_a_thread(0, NULL);
    tap_ok(cj_stream_is_capturing(stream[0]), "a relaxed capture is begun on one thread");
    more(stream[0], 0, 1);
    cj_stream_fork(stream[0], stream[1]);
    on_a_thread(1, NULL);
    cj_graph *g = on_a_thread(2, NULL);
    tap_is_int(cj_error_of(g)->status, CJ_OK, "... and paused on a third: %s", cj_error_of(g)->message);
    on_a_thread(3, g);
    more(stream[2], 2, 3);
    cj_graph *same = cj_capture_end(stream[2]);
    tap_is_int(cj_error_of(same)->status, CJ_OK, "one resumed there ends here: %s", cj_error_of(same)->message);
    tap_is_int(run(g), CJ_OK, "it runs");
    tap_ok(words(1, 2, 3), "all that three threads gave it");
    cj_graph_free(same);
    cj_graph_free(g);

    cj_capture_begin(stream[0], CJ_CAPTURE_GLOBAL);
    more(stream[0], 0, 1);
    g = cj_capture_pause(stream[0]);
    on_a_thread(3, g);
    tap_ok(cj_stream_is_capturing(stream[2]), "a capture in global mode is resumed on another thread");
    cj_graph *refused = cj_capture_end(stream[2]);
    tap_is_int(cj_error_of(refused)->status, CJ_ESTATE, "... and ends on none but that");
    tap_has_str(cj_error_of(refused)->message, "thread", "... which is said");
    tap_ok(cj_stream_is_capturing(stream[2]), "... and goes on");
    cj_capture_begin(stream[0], CJ_CAPTURE_RELAXED); /* beside it */
    more(stream[0], 1, 1);
    cj_graph *other = cj_capture_end(stream[0]);
    tap_is_int(cj_error_of(other)->status, CJ_OK, "beside another one: %s", cj_error_of(other)->message);
    cj_graph_free(other);
    cj_graph_free(refused);
    cj_stream_free(stream[2]); /* nobody else can end it: the stream's going does */
    stream[2] = cj_stream_create(dev, NULL);
    tap_ok(run(g) != CJ_OK, "a graph whose capture was given up has a hole: %s", cj_error_of(stream[0])->message);
    cj_graph_free(g);
}

/* -- Failures ------------------------------------------------------------------------------------------------------ */

static void failures(void)
{
    static const struct { const char *name; int at;
    } cases[] = {
        { "a failure on the fork", 0 },     { "one by another thread", 1 },
        { "one on a fork of the fork", 2 }, { "one before the pause", 3 },
        { "one behind the pause", 4 },      { "one in a capture that another thread ends", 5 },
    };
    const bool parts = cj_driver_version(cj_device_driver(dev)) >= 12030;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int at = cases[i].at;
        if (at == 4 && !parts) continue;
        clear();
        cj_capture_begin_opts(stream[0], CJ_CAPTURE(.mode = CJ_CAPTURE_RELAXED, .join = 1));
        cj_stream_fork(stream[0], stream[1]);
        cj_stream_fork(stream[1], stream[3]);
        more(stream[1], 1, 1);
        if (at == 0 || at == 3 || at == 5) cj_fill8(stream[1], d, 1, 4 * N + 1);
        if (at == 1) on_a_thread(5, NULL);
        if (at == 2) cj_fill8(stream[3], d, 1, 4 * N + 1);
        cj_graph *g, *first = NULL;
        if (at == 4) {
            first = cj_capture_pause(stream[0]);
            cj_capture_resume(stream[0], first);
            cj_stream_fork(stream[0], stream[1]);
            cj_fill8(stream[1], d, 1, 4 * N + 1);
        }
        cj_copy(stream[0], d, d, 4); /* a second failure: it overlaps */
        g = at == 3 ? cj_capture_pause(stream[0]) : at == 5 ? on_a_thread(6, NULL) : cj_capture_end(stream[0]);
        tap_is_int(cj_error_of(g)->status, CJ_EINVAL, "%s is the graph's", cases[i].name);
        tap_has_str(cj_error_of(g)->message, "do not fit", "... not a later one");
        cj_stream_sync(stream[0]); /* tells what was given to it, and forgets that */
        if (first)
            tap_ok(run(first) == CJ_EINVAL && strstr(cj_error_of(stream[0])->message, "do not fit"),
                   "... nor is the graph launched without it");
        cj_graph_free(g);
        cj_graph_free(first);
    }
    clear();
    tap_ok(none_captured() && words(0, 0, 0), "none of it ran");
}

/* Two captures at a time never mix. */
static void two_at_once(void)
{
    cj_event *e = cj_event_create(dev, NULL);
    clear();
    cj_capture_begin(stream[0], CJ_CAPTURE_THREAD);
    cj_capture_begin(stream[1], CJ_CAPTURE_THREAD);
    more(stream[0], 0, 1);
    more(stream[1], 1, 2);
    cj_graph *a = cj_capture_end(stream[0]), *b = cj_capture_end(stream[1]);
    tap_ok(cj_error_of(a)->status == CJ_OK && cj_error_of(b)->status == CJ_OK && cj_graph_count(a) == 1 &&
               cj_graph_count(b) == 1,
           "two captures of one thread go on beside each other");
    cj_graph_free(a);
    cj_graph_free(b);
    cj_capture_begin(stream[0], CJ_CAPTURE_THREAD);
    cj_capture_begin(stream[1], CJ_CAPTURE_THREAD);
    cj_event_record(e, stream[0]);
    tap_is_int(cj_stream_wait(stream[1], e), CJ_ESTATE, "a wait for a point of the other is rejected: %s",
               cj_error_of(stream[1])->message);
    a = cj_capture_end(stream[0]), b = cj_capture_end(stream[1]);
    tap_ok(cj_error_of(a)->status == CJ_ESTATE && cj_error_of(b)->status == CJ_ESTATE, "... and has broken both");
    cj_graph_free(a);
    cj_graph_free(b);
    clear();
    tap_ok(none_captured(), "both streams work again");
    cj_event_free(e);
}

/* A capture into a graph over several streams, behind several nodes. */
static void into_with_forks(void)
{
    clear();
    cj_graph *g = cj_graph_create(dev), *other = cj_graph_create(dev);
    cj_node *a = cj_graph_fill32(g, NULL, d, 1, 1), *b = cj_graph_fill32(g, NULL, cj_offset(d, 4), 2, 1);
    cj_capture_begin_opts(stream[0],
                          CJ_CAPTURE(.mode = CJ_CAPTURE_THREAD, .join = 1, .into = g, .after = CJ_NODES(a, b)));
    tap_is_int(cj_capture_begin_opts(stream[2], CJ_CAPTURE(.into = g)), CJ_ESTATE,
               "one capture at a time adds to a graph");
    tap_is_int(cj_error_of(cj_graph_empty(other, NULL))->status, CJ_OK, "another graph can be added to meanwhile");
    tap_is_int(cj_capture_begin_opts(stream[2], CJ_CAPTURE(.mode = CJ_CAPTURE_THREAD, .into = other)), CJ_OK,
               "... by a capture too");
    cj_stream_fork(stream[0], stream[1]);
    more(stream[0], 0, 10);
    more(stream[1], 1, 20);
    more(stream[2], 2, 30);
    cj_graph *same = cj_capture_end(stream[0]), *too = cj_capture_end(stream[2]);
    cj_graph_info info = { .size = sizeof info };
    cj_graph_get_info(g, &info);
    tap_ok(same == g && too == other && info.nodes >= 4 && info.roots == 2 && cj_graph_count(other) == 2,
           "each has what was given to its own streams (%zu nodes)", info.nodes);
    tap_is_int(run(g), CJ_OK, "it runs: %s", cj_error_of(stream[0])->message);
    tap_ok(words(11, 22, 0), "both streams behind both nodes");
    cj_graph_free(too);
    cj_graph_free(same);
    cj_graph_free(other);
    cj_graph_free(g);
    clear();
}

int main(void)
{
    bench_open(4 * N);
    stream[0] = s, stream[1] = t;
    for (int i = 2; i < STREAMS; i++) stream[i] = cj_stream_create(dev, NULL);
    failures();
    two_at_once();
    if (cj_driver_version(drv) < 12030) {
        tap_skip(1, "captures into graphs need CUDA 12.3, the driver has %d", cj_driver_version(drv));
    } else {
        for (int mode = CJ_CAPTURE_GLOBAL; mode <= CJ_CAPTURE_RELAXED; mode++) over_a_pause((cj_capture_mode)mode);
        pause_unjoined();
        between_threads();
        into_with_forks();
    }
    clear();
    for (int i = 2; i < STREAMS; i++) cj_stream_free(stream[i]);
    return bench_close();
}
