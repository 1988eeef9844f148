/* The CPU device's lines are in the library's one log: cj_log_read gives them, and a hook receives them too, each
 * once. A fault ends the device for a
 * process, so each case has a process of its own. */
#include <cujit/cujit.h>

#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"

static atomic_int hooked; /* lines about the fault that the hook received */

static bool is_fault(int level, const char *line)
{
    return level == CJ_LOG_ERROR && strstr(line, "st.global.u32 at ") && strstr(line, "thread 16,0,0");
}

static void take_line(void *user, cj_log_level level, const char *line)
{
    atomic_fetch_add((atomic_int *)user, is_fault((int)level, line));
}

static void fault(void)
{
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val p = cj_param_ptr(f, "p", CJ_U32), i = cj_global_id(f, CJ_X);
    cj_set(f, p, i, i);
    cj_kernel *k = cj_kernel_load(dev, m, "k", NULL);
    cj_launch(s, k, cj_grid(1, 32), cj_alloc(s, 64));
    cj_stream_sync(s);
}

/* In a child: how often the ring and the hook have the line. */
static void count_lines(bool hook, int *out)
{
    char line[600], small[8];
    int level;
    if (hook && cj_set_log(take_line, &hooked) != CJ_OK) out[2]++;
    fault();
    while ((level = cj_log_read(line, sizeof line))) out[0] += is_fault(level, line);
    out[1] = atomic_load(&hooked);
    if (cj_log_read(small, sizeof small)) out[2]++;
}

static void check(bool hook, const char *name)
{
    int pipes[2], out[3] = { 0, 0, 0 };
    if (pipe(pipes)) tap_bail("no pipe");
    pid_t pid = fork();
    if (pid == 0) {
        count_lines(hook, out);
        _exit(write(pipes[1], out, sizeof out) != sizeof out);
    }
    close(pipes[1]);
    if (read(pipes[0], out, sizeof out) != sizeof out) tap_fail("%s: no answer", name);
    close(pipes[0]);
    waitpid(pid, NULL, 0);
    tap_is_int(out[0], 1, "%s: cj_log_read gives the CPU device's line", name);
    tap_is_int(out[1], hook, "%s: the hook receives it", name);
    tap_is_int(out[2], 0, "%s: and nothing is left", name);
}

int main(void)
{
    tap_plan(0);
    check(false, "without a hook");
    check(true, "with a hook");
    return tap_done();
}
