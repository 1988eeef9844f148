/* An example, compiled into this program, runs again and again: each time one more allocation fails, then one more
 * driver call, then all driver calls from one on, as where a kernel has killed the context. Every run ends by itself,
 * with the right output or with a status of 1 and a sentence on standard error; where it ends well, all memory went
 * back.
 *
 *     fault_hello                     a sample (make check)
 *     CUJIT_FAULTS=all fault_hello    every allocation and every call, one after another (make check-faults)
 *     CUJIT_FAULTS='call 17'          that one only, in this process, for a debugger; 'allocation 17', 'dead from call
 *     17'
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cujit/cujit.h>

#include "faults.h"
#include "tests/tap.h"

/* -- What fails ---------------------------------------------------------------------------------------------------- */

/* Shared with the children of fork(). */
typedef struct account {
    uint64_t allocations;     /* made so far */
    uint64_t live;            /* bytes that are out */
    uint64_t fail_allocation; /* the one that fails, 1 is the first, 0: none */
    fault_plan plan;
    int status;               /* what the example returned, -1: it did not (a child's exit status is Valgrind's) */
} account;

static account *acc;
static const fault_program *program;

static void *counting_realloc(void *user, void *p, size_t old, size_t size)
{
    (void)user;
    if (size) {
        uint64_t n = __atomic_add_fetch(&acc->allocations, 1, __ATOMIC_RELAXED);
        if (n == acc->fail_allocation) return NULL;
    }
    void *q = size ? realloc(p, size) : NULL;
    if (!size) free(p);
    if (q || !size) __atomic_add_fetch(&acc->live, size - (p ? old : 0), __ATOMIC_RELAXED);
    return q;
}

cj_driver *faults_driver_open(const char *which)
{
    (void)which;
    return faults_open(tap_on_gpu() ? "cuda" : "sim", &acc->plan);
}

/* -- One run ------------------------------------------------------------------------------------------------------- */

typedef struct outcome { int status; char out[400], err[700]; } outcome; /* status as a shell gives it; 1000: it hung */

static void read_some(FILE *f, char *text, size_t size)
{
    rewind(f);
    text[fread(text, 1, size - 1, f)] = 0;
}

enum fault { FAULT_ALLOCATION, FAULT_CALL, FAULT_DEAD, FAULT_KINDS };
static const char *const fault_names[FAULT_KINDS] = { "allocation", "call", "dead from call" };

static void plan_fault(enum fault kind, uint64_t n)
{
    *acc = (account){ .status = -1, .fail_allocation = kind == FAULT_ALLOCATION ? n : 0 };
    acc->plan = (fault_plan){ .fail = kind == FAULT_ALLOCATION ? 0 : n, .dead = kind == FAULT_DEAD };
}

static void run_once(outcome *o, enum fault kind, uint64_t n)
{
    int st = 0;
    FILE *out = tmpfile(), *err = tmpfile();
    if (!out || !err) tap_bail("no temporary file");
    plan_fault(kind, n);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fileno(out), 1);
        dup2(fileno(err), 2);
        alarm(tap_is_slow() ? 100 : 10);
        cj_set_allocator(counting_realloc, NULL);
        acc->status = program->run();
        /* the CPU device gives back what it keeps for the process, and what a call that failed did not take back */
        exit(0);
    }
    while (waitpid(pid, &st, 0) < 0 && errno == EINTR) {}
    o->status = WIFSIGNALED(st) ? (WTERMSIG(st) == SIGALRM ? 1000 : 256 + WTERMSIG(st)) : acc->status;
    read_some(out, o->out, sizeof o->out);
    read_some(err, o->err, sizeof o->err);
    fclose(out);
    fclose(err);
}

/* Whether a call whose failure leaves what it should have taken away. */
static bool takes_away(const char *name)
{
    static const char *const words[] = { "Destroy", "Unload", "Free", "Release" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(name, words[i])) return true;
    return false;
}

/* Whether objects are left at the driver though each release could be made: the failed call released nothing and
 * entered no context. An allocation that fails inside the CPU device may be the end of its context, and so are calls
 * that all fail. */
static bool objects_left(void)
{
    return acc->plan.objects && !acc->fail_allocation && !acc->plan.dead && !takes_away(acc->plan.name) &&
           strcmp(acc->plan.name, "cuCtxPushCurrent");
}

/* What is wrong with a run, NULL for nothing. `reached`: the failure really happened. */
static const char *judge(const outcome *o, bool reached)
{
    if (o->status == 1000) return "it hangs";
    if (o->status >= 256) return "it crashes";
    if (o->status == 0) {
        if (!strstr(o->out, program->output)) return "it succeeds with wrong output";
        if (acc->live) return "memory is lost";
        if (objects_left()) return "objects are left at the driver";
        return NULL;
    }
    if (o->status != 1) return "its exit status is neither 0 nor 1";
    if (!reached) return "it fails without a reason";
    if (program->releases && objects_left()) return "it fails and objects are left at the driver";
    if (program->releases && acc->live && !acc->plan.dead && !takes_away(acc->plan.name))
        return "it fails and memory is lost";
    return strlen(o->err) > 10 && strchr(o->err, ' ') ? NULL : "it says nothing";
}

static bool all_faults(void)
{
    const char *which = getenv("CUJIT_FAULTS");
    return which && !strcmp(which, "all");
}

/* One fault that the environment names. */
static bool named_fault(void)
{
    const char *which = getenv("CUJIT_FAULTS");
    for (int kind = 0; which && kind < FAULT_KINDS; kind++) {
        size_t length = strlen(fault_names[kind]);
        if (strncmp(which, fault_names[kind], length) || which[length] != ' ') continue;
        plan_fault((enum fault)kind, strtoull(which + length, NULL, 10));
        return true;
    }
    return false;
}

static void fail_each(enum fault kind, uint64_t total)
{
    uint64_t step = all_faults() ? 1 : total / (tap_is_slow() ? 2 : FAULTS_SAMPLE) + 1, wrong = 0, runs = 0,
             survived = 0;
    for (uint64_t n = 1; n <= total; n += step) {
        outcome o;
        run_once(&o, kind, n);
        const char *why = judge(&o, (kind == FAULT_ALLOCATION ? acc->allocations : acc->plan.calls) >= n);
        runs++;
        survived += o.status == 0;
        if (why && wrong++ < 5)
            tap_diag("%s %llu %s: %s (status %d, %llu bytes out)\n# %s%s", fault_names[kind], (unsigned long long)n,
                     acc->plan.name, why, o.status, (unsigned long long)acc->live, o.out, o.err);
    }
    tap_ok(total > 0 && wrong == 0, "%s 1 to %llu, %llu runs, %llu of them end well all the same", fault_names[kind],
           (unsigned long long)total, (unsigned long long)runs, (unsigned long long)survived);
}

int faults_main(const fault_program *p)
{
    outcome o;
    program = p;
    acc = mmap(NULL, sizeof *acc, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (acc == MAP_FAILED) tap_bail("no shared memory");
    if (named_fault()) {
        cj_set_allocator(counting_realloc, NULL);
        return program->run();
    }
    tap_need_device(1);
    tap_plan(0);
    tap_timeout(all_faults() ? 1500 : 60);
    run_once(&o, FAULT_CALL, 0);
    tap_ok(o.status == 0 && strstr(o.out, program->output), "the example runs");
    tap_is_uint(acc->live, 0, "and gives all memory back");
    if (o.status) tap_diag("status %d: %s", o.status, o.err);
    tap_is_str(acc->plan.cancelled, "", "no thread is cancelled inside the driver");
    uint64_t allocations = acc->allocations, driver_calls = acc->plan.calls;
    fail_each(FAULT_ALLOCATION, allocations);
    fail_each(FAULT_CALL, driver_calls);
    fail_each(FAULT_DEAD, driver_calls);
    munmap(acc, sizeof *acc);
    return tap_done();
}
