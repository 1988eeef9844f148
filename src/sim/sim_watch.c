/* The watcher: a thread that looks after what takes long, so that it is told of although every other thread waits.
 *
 * A host function or a memory wait that takes longer than CUJIT_SIM_STALL_MS is named in the log, once, with the host functions that cannot be called
 * before it returns, and goes on: something outside may end it.  What is behind memory waits that go on for a while is searched for circles (sim_deadlock.c). */
#include "sim/sim_device.h"
#include "sim/sim_queue.h"
#include "sim/sim_stream.h"

#include <string.h>
#include <time.h>

enum { SIM_GLANCE = 20000000, SIM_GLANCES = 25 };   /* ns between looks for circles; looks after which one is made although nothing has changed */

static bool sim_is_host_op(const sim_op *op) { return op->work && (op->work->verb == SIM_HOST || op->work->verb == SIM_CALLBACK); }
static unsigned long long sim_stream_id(const sim_op *op) { return op->stream ? (unsigned long long)op->stream->id : 0; }

static const void *sim_host_address(const sim_work *w)
{
    const void *p = NULL;
    if (w->verb == SIM_HOST) memcpy(&p, &w->host.fn, sizeof p);
    else memcpy(&p, &w->callback.fn, sizeof p);
    return p;
}

/* ---- What takes long --------------------------------------------------------------------------------------------- */

static void sim_report_long_wait(cji_text *t, const sim_op *op, uint64_t ns)
{
    const sim_work *w = cji_sim_op_waits_for(op, &(size_t){ 0 });
    if (!w) return;
    cji_text_printf(t, "stream %llu%s has waited %llu ms for a value of the word at 0x%llx (CUJIT_SIM_STALL_MS), and goes on waiting\n",
                    sim_stream_id(op), op->in_graph ? ", in a launch of a graph," : "", (unsigned long long)(ns / 1000000u), (unsigned long long)w->mem_op.at);
}

static void sim_report_long_host(cji_text *t, const sim_op *op, uint64_t ns)
{
    cji_text_printf(t, "a host function of stream %llu (%p) has not returned for %llu ms (CUJIT_SIM_STALL_MS); what is behind it goes on waiting\n",
                    sim_stream_id(op), sim_host_address(op->work), (unsigned long long)(ns / 1000000u));
}

/* Ready, but for the turn of one that has taken long: each is named once. */
static void sim_report_queued(cji_text *t, const sim_op *running, uint64_t now)
{
    for (sim_op *op = running->ctx->host_first; op; op = op->next_ready) {
        if (op->long_reported) continue;
        op->long_reported = true;
        cji_text_printf(t, "a host function of stream %llu (%p) cannot be called before the one of stream %llu (%p) returns, which has run for %llu ms: "
                        "host functions of a context are called one after another. If that one waits for this one, or for what is behind it, neither ever ends\n",
                        sim_stream_id(op), sim_host_address(op->work), sim_stream_id(running), sim_host_address(running->work),
                        (unsigned long long)((now - running->when) / 1000000u));
    }
}

static void sim_report_long(cji_text *t, uint64_t now, uint64_t most)
{
    for (sim_op *op = cji_sim_op_after_all(NULL); op; op = cji_sim_op_after_all(op)) {
        if (!op->begun || now - op->when < most) continue;
        if (!op->long_reported && sim_is_host_op(op)) sim_report_long_host(t, op, now - op->when);
        if (!op->long_reported && !sim_is_host_op(op)) sim_report_long_wait(t, op, now - op->when);
        op->long_reported = true;
        if (op->ctx->host == op) sim_report_queued(t, op, now);
    }
}

/* ---- When to look ------------------------------------------------------------------------------------------------ */

/* In ns from now; 0: nothing is to be looked after. */
static uint64_t sim_pause(uint64_t now, uint64_t most)
{
    uint64_t pause = most && sim.in_host ? most : 0;
    for (sim_op *op = pause ? cji_sim_op_after_all(NULL) : NULL; op; op = cji_sim_op_after_all(op))
        if (op->begun && !op->long_reported && op->when + most < now + pause) pause = op->when + most > now ? op->when + most - now : 1;
    return sim.waiting && (!pause || pause > SIM_GLANCE) ? SIM_GLANCE : pause;
}

static void sim_watcher_sleep(uint64_t ns)
{
    if (!ns) {
        sim.watcher_idle = true;
        pthread_cond_wait(&sim.watch, &sim.lock);
        sim.watcher_idle = false;
        return;
    }
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    uint64_t at = (uint64_t)t.tv_nsec + ns;
    t.tv_sec += (time_t)(at / 1000000000u);
    t.tv_nsec = (long)(at % 1000000000u);
    pthread_cond_timedwait(&sim.watch, &sim.lock, &t);
}

/* The log is the user's code: not under the lock. */
static void sim_report_log(cji_text *t, cj_log_level level)
{
    sim_unlock();
    for (const char *line = cji_text_str(t), *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        cji_log(level, "%.*s", (int)(end - line), line);
    }
    if (t->failed) cji_log(level, "operations wait for each other or for the host for long, and there is no memory to name them");
    cji_text_free(t);
    *t = (cji_text){ 0 };
    sim_lock();
}

static void *sim_watcher_main(void *arg)
{
    uint64_t most = (uint64_t)sim.set.stall_ms * 1000000u, seen = 0;
    unsigned glances = 0;
    (void)arg;
    sim_lock();
    while (!atomic_load(&sim.exiting)) {
        cji_text t = { 0 };
        sim_watcher_sleep(sim_pause(cji_now(), most));
        if (atomic_load(&sim.exiting)) break;
        if (sim.waiting && (seen != sim.next_seq + sim.ended || ++glances == SIM_GLANCES)) {
            seen = sim.next_seq + sim.ended;
            glances = 0;
            cji_sim_deadlocks(&t);
            if (t.n || t.failed) sim_report_log(&t, CJ_LOG_ERROR);
        }
        if (most) sim_report_long(&t, cji_now(), most);
        if (t.n || t.failed) sim_report_log(&t, CJ_LOG_WARNING);
    }
    sim.watcher_runs = false;
    pthread_cond_broadcast(&sim.done);
    sim_unlock();
    return NULL;
}

/* ---- What is watched --------------------------------------------------------------------------------------------- */

/* A host function's moment may be far away, so the watcher is called from a sleep without an end only. */
void cji_sim_watch(sim_op *op)
{
    bool wait = !sim_is_host_op(op);
    op->begun = true;
    if (wait) sim.waiting++;
    else if (!sim.set.stall_ms) return;
    if (atomic_load(&sim.exiting)) return;
    if (!sim.watcher_made) sim.watcher_made = sim.watcher_runs = cji_sim_thread_make(&sim.watcher, sim_watcher_main);
    else if (sim.watcher_idle || (wait && sim.waiting == 1)) pthread_cond_signal(&sim.watch);
}

void cji_sim_unwatch(sim_op *op)
{
    op->begun = false;
    if (!sim_is_host_op(op)) sim.waiting--;
}

void cji_sim_watcher_join(void)
{
    if (sim.watcher_made) pthread_join(sim.watcher, NULL);
    sim.watcher_made = false;
}
