/* The watcher: a thread that looks after what takes long, so that it is reported although every other thread waits.
 *
 * A host function or a memory wait that takes longer than CUJIT_SIM_STALL_MS is named in the log, once, with the
 * host functions that cannot be called before it returns, and continues: something outside may end it. While memory
 * waits take long, deadlocks are searched for (sim_deadlock.c). The thread is made with the first host function or
 * long wait. */
#include "sim/diagnose/sim_diagnose.h"

#include <string.h>
#include <time.h>

enum {
    SIM_GLANCE = 20000000,
    SIM_GLANCES = 25
}; /* ns between glances; glances after which deadlocks are searched for although nothing has changed */

static struct {
    pthread_cond_t cond;
    pthread_t thread;
    bool made, runs, idle;          /* idle: it sleeps without an end */
    unsigned waits;                 /* memory waits that it looks after */
} sim_watcher = { .cond = PTHREAD_COND_INITIALIZER };

static bool sim_is_host_op(const sim_op *op) { return cji_sim_work_has(op->work, SIM_WORK_HOST); }
static unsigned long long sim_stream_id(const sim_op *op)
{
    return op->stream ? (unsigned long long)op->stream->id : 0;
}

/* ---- What takes long --------------------------------------------------------------------------------------------- */

static void sim_report_long_wait(cji_text *t, const sim_op *op, uint64_t ns)
{
    sim_mem_wait w;
    if (!cji_sim_op_waits(op, &w, &(size_t){ 0 })) return;
    cji_text_printf(
        t,
        "stream %llu%s has waited %llu ms for a value at the location 0x%llx (CUJIT_SIM_STALL_MS), and still waits\n",
        sim_stream_id(op), op->in_graph ? ", in a launch of a graph," : "", (unsigned long long)(ns / 1000000u),
        (unsigned long long)w.at);
}

static void sim_report_long_host(cji_text *t, const sim_op *op, uint64_t ns)
{
    cji_text_printf(
        t,
        "a host function of stream %llu (%p) has not returned for %llu ms (CUJIT_SIM_STALL_MS); "
        "what comes after it waits\n",
        sim_stream_id(op), op->work->kind->code(op->work), (unsigned long long)(ns / 1000000u));
}

/* Ready, but for one that has taken long: each is named once. */
static void sim_report_queued(cji_text *t, const sim_op *running, uint64_t now)
{
    for (sim_op *op = running->ctx->host_first; op; op = op->next_ready) {
        if (op->long_reported) continue;
        op->long_reported = true;
        cji_text_printf(
            t,
            "a host function of stream %llu (%p) cannot be called before the one of stream %llu (%p) returns, "
            "which has run for %llu ms: "
            "host functions of a context run one at a time. "
            "If that one waits for this one, or for work behind it, neither ever ends\n",
            sim_stream_id(op), op->work->kind->code(op->work), sim_stream_id(running),
            running->work->kind->code(running->work), (unsigned long long)((now - running->when) / 1000000u));
    }
}

static void sim_report_long(cji_text *t, uint64_t now, uint64_t most)
{
    SIM_EACH_OP(op) {
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
    uint64_t pause = most && sim_queue.in_host ? most : 0;
    for (sim_op *op = pause ? cji_sim_op_after_all(NULL) : NULL; op; op = cji_sim_op_after_all(op))
        if (op->begun && !op->long_reported && op->when + most < now + pause)
            pause = op->when + most > now ? op->when + most - now : 1;
    return sim_watcher.waits && (!pause || pause > SIM_GLANCE) ? SIM_GLANCE : pause;
}

static void sim_watcher_sleep(uint64_t ns)
{
    if (!ns) {
        sim_watcher.idle = true;
        pthread_cond_wait(&sim_watcher.cond, &sim.lock);
        sim_watcher.idle = false;
        return;
    }
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    uint64_t at = (uint64_t)t.tv_nsec + ns;
    t.tv_sec += (time_t)(at / 1000000000u);
    t.tv_nsec = (long)(at % 1000000000u);
    pthread_cond_timedwait(&sim_watcher.cond, &sim.lock, &t);
}

/* The log is the user's code: not under the lock. */
static void sim_report_log(cji_text *t, cj_log_level level)
{
    sim_unlock();
    for (const char *line = cji_text_str(t), *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        cji_log(level, "%.*s", (int)(end - line), line);
    }
    if (t->failed)
        cji_log(level, "operations wait for each other or for the host for long, and there is no memory to name them");
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
        if (sim_watcher.waits && (seen != sim_queue.next_seq + sim_queue.ended || ++glances == SIM_GLANCES)) {
            seen = sim_queue.next_seq + sim_queue.ended;
            glances = 0;
            cji_sim_deadlocks(&t);
            if (t.n || t.failed) sim_report_log(&t, CJ_LOG_ERROR);
        }
        if (most) sim_report_long(&t, cji_now(), most);
        if (t.n || t.failed) {
            sim_report_log(&t, CJ_LOG_WARNING);
            cji_sim_list(&t);
            sim_report_log(&t, CJ_LOG_INFO);
        }
    }
    sim_watcher.runs = false;
    pthread_cond_broadcast(&sim_queue.done);
    sim_unlock();
    return NULL;
}

/* ---- What is watched --------------------------------------------------------------------------------------------- */

/* A host function's moment may be far away, so the watcher is woken from a sleep without an end only. */
static void sim_watch(sim_op *op)
{
    bool wait = !sim_is_host_op(op);
    op->begun = true;
    if (wait) sim_watcher.waits++;
    else if (!sim.set.stall_ms) return;
    if (atomic_load(&sim.exiting)) return;
    if (!sim_watcher.made)
        sim_watcher.made = sim_watcher.runs = cji_sim_thread_make(&sim_watcher.thread, sim_watcher_main);
    else if (sim_watcher.idle || (wait && sim_watcher.waits == 1)) pthread_cond_signal(&sim_watcher.cond);
}

static void sim_unwatch(sim_op *op)
{
    op->begun = false;
    if (!sim_is_host_op(op)) sim_watcher.waits--;
}

bool cji_sim_watcher_runs(void) { return sim_watcher.runs; }
void cji_sim_watcher_wake(void) { pthread_cond_broadcast(&sim_watcher.cond); }

void cji_sim_watcher_join(void)
{
    if (sim_watcher.made) pthread_join(sim_watcher.thread, NULL);
    sim_watcher.made = false;
}

const sim_room cji_sim_room_diagnose = {
    .name = "diagnose", .op_watch = sim_watch, .op_unwatch = sim_unwatch, .process_over = cji_sim_deadlocks_end
};
