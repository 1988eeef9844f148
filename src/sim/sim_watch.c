/* The watcher: a thread that looks after what takes long, so that it is told of although every other thread waits.
 *
 * A host function or a memory wait that takes longer than CUJIT_SIM_STALL_MS is named in the log, once, with the host functions that cannot be called
 * before it returns, and goes on: something outside may end it.  What is behind memory waits that go on for a while is searched for circles (sim_circle.c). */
#include "sim/sim_device.h"
#include "sim/sim_queue.h"
#include "sim/sim_stream.h"

#include <string.h>
#include <time.h>

enum { SD_GLANCE = 20000000, SD_GLANCES = 25 };   /* ns between looks for circles; looks after which one is made although nothing has changed */

static bool sd_is_host_op(const sd_op *op) { return op->work && (op->work->verb == SD_HOST || op->work->verb == SD_CALLBACK); }
static unsigned long long sd_stream_id(const sd_op *op) { return op->stream ? (unsigned long long)op->stream->id : 0; }

static const void *sd_host_address(const sd_work *w)
{
    const void *p = NULL;
    if (w->verb == SD_HOST) memcpy(&p, &w->host.fn, sizeof p);
    else memcpy(&p, &w->callback.fn, sizeof p);
    return p;
}

/* ---- What takes long --------------------------------------------------------------------------------------------- */

static void sd_say_long_wait(cji_text *t, const sd_op *op, uint64_t ns)
{
    const sd_work *w = cji_sd_wait_of(op, &(size_t){ 0 });
    if (!w) return;
    cji_text_printf(t, "stream %llu%s has waited %llu ms for a value of the word at 0x%llx (CUJIT_SIM_STALL_MS), and goes on waiting\n",
                    sd_stream_id(op), op->in_graph ? ", in a launch of a graph," : "", (unsigned long long)(ns / 1000000u), (unsigned long long)w->value.at);
}

static void sd_say_long_host(cji_text *t, const sd_op *op, uint64_t ns)
{
    cji_text_printf(t, "a host function of stream %llu (%p) has not returned for %llu ms (CUJIT_SIM_STALL_MS); what is behind it goes on waiting\n",
                    sd_stream_id(op), sd_host_address(op->work), (unsigned long long)(ns / 1000000u));
}

/* Ready, but for the turn of one that has taken long: each is named once. */
static void sd_say_queued(cji_text *t, const sd_op *running, uint64_t now)
{
    for (sd_op *op = running->ctx->host_first; op; op = op->next_ready) {
        if (op->told_long) continue;
        op->told_long = true;
        cji_text_printf(t, "a host function of stream %llu (%p) cannot be called before the one of stream %llu (%p) returns, which has run for %llu ms: "
                        "host functions of a context are called one after another. If that one waits for this one, or for what is behind it, neither ever ends\n",
                        sd_stream_id(op), sd_host_address(op->work), sd_stream_id(running), sd_host_address(running->work),
                        (unsigned long long)((now - running->when) / 1000000u));
    }
}

static void sd_say_long(cji_text *t, uint64_t now, uint64_t most)
{
    for (sd_op *op = cji_sd_op_after_all(NULL); op; op = cji_sd_op_after_all(op)) {
        if (!op->begun || now - op->when < most) continue;
        if (!op->told_long && sd_is_host_op(op)) sd_say_long_host(t, op, now - op->when);
        if (!op->told_long && !sd_is_host_op(op)) sd_say_long_wait(t, op, now - op->when);
        op->told_long = true;
        if (op->ctx->host == op) sd_say_queued(t, op, now);
    }
}

/* ---- When to look ------------------------------------------------------------------------------------------------ */

/* In ns from now; 0: nothing is to be looked after. */
static uint64_t sd_pause(uint64_t now, uint64_t most)
{
    uint64_t pause = most && sd.in_host ? most : 0;
    for (sd_op *op = pause ? cji_sd_op_after_all(NULL) : NULL; op; op = cji_sd_op_after_all(op))
        if (op->begun && !op->told_long && op->when + most < now + pause) pause = op->when + most > now ? op->when + most - now : 1;
    return sd.waiting && (!pause || pause > SD_GLANCE) ? SD_GLANCE : pause;
}

static void sd_doze(uint64_t ns)
{
    if (!ns) {
        sd.dozing = true;
        pthread_cond_wait(&sd.watch, &sd.lock);
        sd.dozing = false;
        return;
    }
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    uint64_t at = (uint64_t)t.tv_nsec + ns;
    t.tv_sec += (time_t)(at / 1000000000u);
    t.tv_nsec = (long)(at % 1000000000u);
    pthread_cond_timedwait(&sd.watch, &sd.lock, &t);
}

/* The log is the user's code: not under the lock. */
static void sd_say(cji_text *t, cj_log_level level)
{
    sd_unlock();
    for (const char *line = cji_text_str(t), *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        cji_log(level, "%.*s", (int)(end - line), line);
    }
    if (t->failed) cji_log(level, "operations wait for each other or for the host for long, and there is no memory to name them");
    cji_text_free(t);
    *t = (cji_text){ 0 };
    sd_lock();
}

static void *sd_watcher_main(void *arg)
{
    uint64_t most = (uint64_t)sd.set.stall_ms * 1000000u, seen = 0;
    unsigned glances = 0;
    (void)arg;
    sd_lock();
    while (!atomic_load(&sd.exiting)) {
        cji_text t = { 0 };
        sd_doze(sd_pause(cji_sd_now(), most));
        if (atomic_load(&sd.exiting)) break;
        if (sd.waiting && (seen != sd.next_seq + sd.ended || ++glances == SD_GLANCES)) {
            seen = sd.next_seq + sd.ended;
            glances = 0;
            cji_sd_circles(&t);
            if (t.n || t.failed) sd_say(&t, CJ_LOG_ERROR);
        }
        if (most) sd_say_long(&t, cji_sd_now(), most);
        if (t.n || t.failed) sd_say(&t, CJ_LOG_WARNING);
    }
    sd.watcher_runs = false;
    pthread_cond_broadcast(&sd.done);
    sd_unlock();
    return NULL;
}

/* ---- What is watched --------------------------------------------------------------------------------------------- */

/* A host function's moment may be far away, so the watcher is called from a sleep without an end only. */
void cji_sd_watch(sd_op *op)
{
    bool wait = !sd_is_host_op(op);
    op->begun = true;
    if (wait) sd.waiting++;
    else if (!sd.set.stall_ms) return;
    if (atomic_load(&sd.exiting)) return;
    if (!sd.watcher_made) sd.watcher_made = sd.watcher_runs = cji_sd_thread_make(&sd.watcher, sd_watcher_main);
    else if (sd.dozing || (wait && sd.waiting == 1)) pthread_cond_signal(&sd.watch);
}

void cji_sd_unwatch(sd_op *op)
{
    op->begun = false;
    if (!sd_is_host_op(op)) sd.waiting--;
}

void cji_sd_watcher_join(void)
{
    if (sd.watcher_made) pthread_join(sd.watcher, NULL);
    sd.watcher_made = false;
}
