/* fork() while a thread is inside a call of the CPU device and holds its lock: the child's cj_driver_open returns.  The
 * thread is held in the n-th allocation of the call, for each n; where that is under a lock, no thread of the child
 * will open it. */
#include <cujit/cujit.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/latch.h"
#include "tests/tap.h"

static cj_driver *drv;
static cj_device *dev;
static struct latch reached, may_go;
static _Thread_local int left; /* allocations until this thread is held; 0: it is not */

static void *held_realloc(void *user, void *p, size_t old, size_t size)
{
    (void)user, (void)old;
    if (size && left && !--left) {
        latch_open(&reached);
        latch_wait(&may_go);
    }
    if (size) return realloc(p, size);
    free(p);
    return NULL;
}

/* -- Calls --------------------------------------------------------------------------------------------------------- */

static void start(void) { drv = cj_driver_open(NULL); }
static void open_device(void) { cj_device_close(cj_device_open(drv, 0, NULL)); }
static void make_event(void) { cj_event_free(cj_event_create(dev, NULL)); }

static void load(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val x = cj_param_ptr(f, "x", CJ_U32);
    cj_set(f, x, 0, cj_imm(f, 1));
    cj_kernel_free(cj_kernel_load(dev, m, "k", NULL));
    cj_ptx_free(m);
}

static const struct { const char *name; void (*call)(void); bool opened; int most; } rows[] = {
    { "starts the driver", start, false, 6 },
    { "opens a device", open_device, true, 12 },
    { "creates an event", make_event, true, 12 },
    { "loads a kernel", load, true, 60 },
};

typedef struct held_call { size_t row; int n; } held_call;

static void *run_held(void *user)
{
    const held_call *c = user;
    left = c->n;
    rows[c->row].call();
    const bool was_held = !left;
    left = 0;
    latch_open(&reached);
    return was_held ? user : NULL;
}

/* -- Processes ----------------------------------------------------------------------------------------------------- */

enum { RETURNED = 0, WRONG = 1, NOT_HELD = 2 };

static int opens_in_child(bool opened)
{
    const pid_t pid = fork();
    int status = 0;
    if (pid == 0) {
        alarm(tap_is_slow() ? 60 : 5);
        cj_driver *again = cj_driver_open(NULL);
        const cj_status found = cj_error_of(again)->status;
        cj_driver_close(again);
        _exit(found == CJ_EFORKED || (!opened && found == CJ_OK) ? RETURNED : WRONG);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == RETURNED ? RETURNED : WRONG;
}

/* One call, held in its n-th allocation. */
static int fork_beside(size_t row, int n)
{
    pthread_t thread;
    held_call c = { row, n };
    void *was_held;
    reached = may_go = (struct latch)LATCH_CLOSED;
    if (pthread_create(&thread, NULL, run_held, &c)) return WRONG;
    latch_wait(&reached);
    const int result = opens_in_child(rows[row].opened);
    latch_open(&may_go);
    pthread_join(thread, &was_held);
    return was_held ? result : NOT_HELD;
}

/* In a process of its own, since an allocator is set once: allocations `first` to `last`, until the call has no more.
 * A driver is started once in a process. */
static int in_process(size_t row, int first, int last)
{
    int status = 0;
    const pid_t pid = fork();
    if (pid == 0) {
        int result = RETURNED;
        if (cj_set_allocator(held_realloc, NULL) != CJ_OK) _exit(WRONG);
        if (rows[row].opened) {
            drv = cj_driver_open(NULL);
            dev = cj_device_open(drv, 0, NULL);
        }
        for (int n = first; n <= last && result == RETURNED; n++) result = fork_beside(row, n);
        _exit(result);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : WRONG;
}

int main(void)
{
    if (!tap_forks_beside_threads()) tap_skip_all("a sanitizer's allocator has locks of its own");
    tap_plan(0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int result = RETURNED;
        if (rows[i].opened) result = in_process(i, 1, rows[i].most);
        else
            for (int n = 1; n <= rows[i].most && result == RETURNED; n++) result = in_process(i, n, n);
        tap_ok(result != WRONG, "a child opens the driver while a thread %s", rows[i].name);
    }
    return tap_done();
}
