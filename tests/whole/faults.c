/* An example, compiled into this program, runs again and again: each time one more allocation fails, then one more driver call. Every run ends
 * by itself, with the right output or with a status of 1 and a sentence on standard error; where it ends well, all memory went back.
 *
 *     fault_hello                     a sample (make check)
 *     CUJIT_FAULTS=all fault_hello    every allocation and every call, one after another (make check-faults)
 *     CUJIT_FAULTS='call 17'          that one only, in this process, for a debugger; or 'allocation 17'
 *
 * EXAMPLE is the example's source file, EXAMPLE_ARGS its arguments (not defined: its main takes none), EXAMPLE_OUTPUT a part of its right output.
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

static cj_driver *open_faulty(const char *which);

#ifdef EXAMPLE_ARGS
int example_main(int argc, char **argv);
#else
int example_main(void);
#endif

#define main example_main
#define cj_driver_open open_faulty
#include EXAMPLE
#undef main
#undef cj_driver_open

static int run_example(void)
{
#ifdef EXAMPLE_ARGS
    char *args[] = { EXAMPLE_ARGS, NULL };
    int n = 0;
    while (args[n]) n++;
    return example_main(n, args);
#else
    return example_main();
#endif
}

/* -- What fails ------------------------------------------------------------------------------------------------------------- */

/* Shared with the children of fork(). */
typedef struct account {
    uint64_t allocations, calls; /* made so far */
    uint64_t live;               /* bytes that are out */
    uint64_t fail_allocation, fail_call; /* the one that fails, 1 is the first, 0: none */
    char failed_call[64];
    int status;                          /* what the example returned, -1: it did not (a child's exit status is Valgrind's) */
} account;

static account *acc;

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

static cj_driver *open_faulty(const char *which)
{
    (void)which;
    return faults_open(tap_on_gpu() ? "cuda" : "sim", &acc->calls, &acc->fail_call, acc->failed_call, sizeof acc->failed_call);
}

/* -- One run ---------------------------------------------------------------------------------------------------------------- */

typedef struct outcome { int status; char out[400], err[700]; } outcome; /* status as a shell gives it; 1000: it hung */

static void read_some(FILE *f, char *text, size_t size)
{
    rewind(f);
    text[fread(text, 1, size - 1, f)] = 0;
}

static void run_once(outcome *o, uint64_t fail_allocation, uint64_t fail_call)
{
    int st = 0;
    FILE *out = tmpfile(), *err = tmpfile();
    if (!out || !err) tap_bail("no temporary file");
    *acc = (account){ .fail_allocation = fail_allocation, .fail_call = fail_call, .status = -1 };
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fileno(out), 1);
        dup2(fileno(err), 2);
        alarm(tap_is_slow() ? 100 : 10);
        cj_set_allocator(counting_realloc, NULL);
        acc->status = run_example();
        exit(0); /* the CPU device gives back what it keeps for the process, and what a call that failed did not take back */
    }
    while (waitpid(pid, &st, 0) < 0 && errno == EINTR) {}
    o->status = WIFSIGNALED(st) ? (WTERMSIG(st) == SIGALRM ? 1000 : 256 + WTERMSIG(st)) : acc->status;
    read_some(out, o->out, sizeof o->out);
    read_some(err, o->err, sizeof o->err);
    fclose(out);
    fclose(err);
}

/* What is wrong with a run, NULL for nothing. `reached`: the failure really happened. */
static const char *judge(const outcome *o, bool reached)
{
    if (o->status == 1000) return "it hangs";
    if (o->status >= 256) return "it crashes";
    if (o->status == 0) {
        if (!strstr(o->out, EXAMPLE_OUTPUT)) return "it succeeds with wrong output";
        if (acc->live) return "memory is lost";
        return NULL;
    }
    if (o->status != 1) return "its exit status is neither 0 nor 1";
    if (!reached) return "it fails without a reason";
    return strlen(o->err) > 10 && strchr(o->err, ' ') ? NULL : "it says nothing";
}

static bool all_faults(void)
{
    const char *which = getenv("CUJIT_FAULTS");
    return which && !strcmp(which, "all");
}

static bool which_one(uint64_t *allocation, uint64_t *call)
{
    const char *which = getenv("CUJIT_FAULTS");
    unsigned long long n = 0;
    if (which && sscanf(which, "allocation %llu", &n) == 1) *allocation = n;
    else if (which && sscanf(which, "call %llu", &n) == 1) *call = n;
    return n != 0;
}

static void fail_each(const char *what, bool calls, uint64_t total)
{
    uint64_t step = all_faults() ? 1 : total / (tap_is_slow() ? 3 : FAULTS_SAMPLE) + 1, wrong = 0, runs = 0, survived = 0;
    for (uint64_t n = 1; n <= total; n += step) {
        outcome o;
        run_once(&o, calls ? 0 : n, calls ? n : 0);
        const char *why = judge(&o, (calls ? acc->calls : acc->allocations) >= n);
        runs++;
        survived += o.status == 0;
        if (why && wrong++ < 5)
            tap_diag("%s %llu%s%s: %s (status %d, %llu bytes out)\n# %s", what, (unsigned long long)n, calls ? ", " : "", calls ? acc->failed_call : "", why, o.status,
                     (unsigned long long)acc->live, o.err);
    }
    tap_ok(total > 0 && wrong == 0, "%s 1 to %llu fail in turn, %llu runs, %llu of them end well all the same", what, (unsigned long long)total,
           (unsigned long long)runs, (unsigned long long)survived);
}

int main(void)
{
    outcome o;
    acc = mmap(NULL, sizeof *acc, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (acc == MAP_FAILED) tap_bail("no shared memory");
    if (which_one(&acc->fail_allocation, &acc->fail_call)) {
        cj_set_allocator(counting_realloc, NULL);
        return run_example();
    }
    tap_need_device(1);
    tap_plan(0);
    tap_timeout(all_faults() ? 1500 : 60);
    run_once(&o, 0, 0);
    tap_ok(o.status == 0 && strstr(o.out, EXAMPLE_OUTPUT), "the example runs");
    tap_is_uint(acc->live, 0, "and gives all memory back");
    if (o.status) tap_diag("status %d: %s", o.status, o.err);
    uint64_t allocations = acc->allocations, driver_calls = acc->calls;
    fail_each("allocations", false, allocations);
    fail_each("driver calls", true, driver_calls);
    munmap(acc, sizeof *acc);
    return tap_done();
}
