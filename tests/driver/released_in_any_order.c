/* Handles are released in every order, from another thread, by an exit handler, and when the driver is gone already:
 * everything goes, each
 * time, and no call ends badly. */
#include <cujit/cujit.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"

enum { PTX, DRIVER, DEVICE, IMAGE, MODULE, KERNEL, HANDLES };
static const char *const names[HANDLES] = { "builder", "driver", "device", "image", "module", "kernel" };

/* Modules, linkers and contexts that are out, as a layer over the driver sees them. */
static const struct { const char *name; int change;
} balance[] = {
    { "cuModuleLoadData", 1 },
    { "cuModuleLoadDataEx", 1 },
    { "cuModuleUnload", -1 },
    { "cuLinkCreate", 1 },
    { "cuLinkDestroy", -1 },
    { "cuDevicePrimaryCtxRetain", 1 },
    { "cuDevicePrimaryCtxRelease", -1 },
};
static atomic_int out;
static atomic_bool gone; /* the driver answers CUDA_ERROR_DEINITIALIZED to everything */

static int before(void *user, uint64_t number, const char *name)
{
    (void)user, (void)number, (void)name;
    return atomic_load(&gone) ? 4 : 0;
}

static void after(void *user, uint64_t number, const char *name, const char *text, int result)
{
    (void)user, (void)number, (void)text;
    for (size_t i = 0; i < sizeof balance / sizeof *balance; i++)
        if (!result && !strcmp(name, balance[i].name)) atomic_fetch_add(&out, balance[i].change);
}

static void *handle[HANDLES];

static bool make(cj_driver *under)
{
    cj_ptx *m = cj_ptx_create();
    cj_ptx_kernel(m, "k");
    handle[PTX] = m;
    handle[DRIVER] = cj_driver_open_interposed(under, CJ_INTERPOSER(.before = before, .after = after));
    handle[DEVICE] = cj_device_open(handle[DRIVER], 0, NULL);
    handle[IMAGE] = cj_image_create(handle[DEVICE], m, NULL);
    handle[MODULE] = cj_module_load_image(handle[DEVICE], handle[IMAGE]);
    handle[KERNEL] = cj_module_kernel(handle[MODULE], "k");
    return cj_error_of(handle[KERNEL])->status == CJ_OK;
}

static void release(int which)
{
    void *h = handle[which];
    switch (which) {
    case PTX: cj_ptx_free(h); break;
    case DRIVER: cj_driver_close(h); break;
    case DEVICE: cj_device_close(h); break;
    case IMAGE: cj_image_free(h); break;
    case MODULE: cj_module_free(h); break;
    case KERNEL: cj_kernel_free(h); break;
    default: break;
    }
}

static void *release_all(void *order)
{
    for (int i = 0; i < HANDLES; i++) release(((const int *)order)[i]);
    return NULL;
}

/* The n-th permutation. */
static void permute(unsigned n, int order[HANDLES])
{
    int rest[HANDLES];
    for (int i = 0; i < HANDLES; i++) rest[i] = i;
    for (int i = 0; i < HANDLES; i++) {
        unsigned left = (unsigned)(HANDLES - i), pick = n % left;
        n /= left;
        order[i] = rest[pick];
        memmove(&rest[pick], &rest[pick + 1], (left - pick - 1) * sizeof *rest);
    }
}

enum { ORDERS = 720, HERE = 0, ELSEWHERE, GONE };

static void every_order(cj_driver *under, int how, const char *where)
{
    int wrong = 0, runs = 0, order[HANDLES];
    for (unsigned n = 0; n < ORDERS; n += tap_on_gpu()    ? 149
                                          : tap_is_slow() ? 37
                                          : how == HERE   ? 1
                                                          : 7) { /* a context of a GPU takes 0.2 s */
        pthread_t thread;
        permute(n, order);
        atomic_store(&out, 0);
        if (!make(under)) tap_bail("%s", cj_error_of(handle[KERNEL])->message);
        atomic_store(&gone, how == GONE);
        if (how == ELSEWHERE) {
            pthread_create(&thread, NULL, release_all, order);
            pthread_join(thread, NULL);
        } else {
            release_all(order);
        }
        atomic_store(&gone, false);
        runs++;
        if (how != GONE && atomic_load(&out) && wrong++ == 0)
            tap_diag("%s, %s, %s, %s, %s, %s", names[order[0]], names[order[1]], names[order[2]], names[order[3]],
                     names[order[4]], names[order[5]]);
    }
    tap_is_int(wrong, 0, "%d orders %s", runs, where);
}

/* -- At exit ------------------------------------------------------------------------------------------------------- */

static int verdict;
static int exit_order[HANDLES];

static void at_exit(void)
{
    release_all(exit_order);
    if (write(verdict, atomic_load(&out) ? "-" : "+", 1) != 1) _exit(1);
}

/* In a child: a driver of its own, released by an exit handler that was registered before (it runs late) or after it
 * was opened. */
static char by_exit_handler(unsigned n, bool early)
{
    int ends[2];
    char answer = '?';
    if (pipe(ends)) tap_bail("no pipe");
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(20);
        verdict = ends[1];
        permute(n, exit_order);
        if (early) atexit(at_exit);
        cj_driver *under = cj_driver_open(NULL);
        bool made = make(under);
        cj_driver_close(under);
        if (!early) atexit(at_exit);
        if (!made) _exit(1);
        exit(0);
    }
    close(ends[1]);
    if (read(ends[0], &answer, 1) != 1) answer = '0';
    close(ends[0]);
    waitpid(pid, NULL, 0);
    return answer;
}

int main(void)
{
    tap_need_device(1);
    tap_plan(0);
    /* The children first: a driver that this process has used cannot be used in them. */
    if (!tap_on_gpu())
        for (unsigned n = 0; n < ORDERS; n += 240) {
            tap_is_int(by_exit_handler(n, true), '+',
                       "order %u by an exit handler, registered before the driver was opened", n);
            tap_is_int(by_exit_handler(n, false), '+', "order %u by an exit handler, registered after it", n);
        }
    cj_driver *under = cj_driver_open(NULL);
    every_order(under, HERE, "on the thread that made them");
    every_order(under, ELSEWHERE, "on another thread");
    every_order(under, GONE, "when the driver is gone: no crash, no hang");
    tap_is_int(make(under), true, "the driver below works as before");
    for (int i = 0; i < HANDLES; i++) release(i);
    cj_driver_close(under);
    return tap_done();
}
