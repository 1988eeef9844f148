/* A program that knows nothing of the library loads a plugin that uses it, and closes the plugin, fifty times.  The
 * plugin is linked with the shared library, or has the library inside.  Nothing grows, the plugin's threads end
 * though the library has kept things of them, fork() works, and so does a plugin that releases nothing. */
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"

enum { CYCLES = 50, KEYS = 1024 };

static const char *plugin_path;

/* -- What must not grow -------------------------------------------------------------------------------------------- */

static unsigned entries(const char *folder)
{
    unsigned n = 0;
    DIR *dir = opendir(folder);
    while (dir && readdir(dir)) n++;
    if (dir) closedir(dir);
    return n;
}

/* Threads that have been joined leave the list a moment later. */
static unsigned threads(unsigned expected)
{
    unsigned n = 0;
    for (int i = 0; i < 20000 && (n = entries("/proc/self/task")) > expected; i++) sched_yield();
    return n;
}

static unsigned free_keys(void)
{
    static pthread_key_t key[KEYS];
    unsigned n = 0;
    while (n < KEYS && pthread_key_create(&key[n], NULL) == 0) n++;
    for (unsigned i = 0; i < n; i++) pthread_key_delete(key[i]);
    return n;
}

static unsigned mapped_files(void)
{
    size_t size;
    unsigned n = 0;
    char *maps = tap_slurp("/proc/self/maps", &size);
    for (const char *p = maps; p && (p = strstr(p, ".so")); p++) n++;
    free(maps);
    return n;
}

/* -- The plugin ---------------------------------------------------------------------------------------------------- */

static void *plugin;

static void *symbol(const char *name)
{
    void *p = dlsym(plugin, name);
    if (!p) tap_bail("%s", dlerror());
    return p;
}

static int result;
static void *run_plugin(void *user)
{
    int (*run)(const char *);
    *(void **)&run = symbol("plugin_run");
    result = run(tap_on_gpu() ? "cuda" : "sim");
    return user;
}

static pthread_barrier_t closed;

/* Has used the library, and ends when the plugin is closed. */
static void *run_and_outlive(void *user)
{
    run_plugin(user);
    pthread_barrier_wait(&closed);
    pthread_barrier_wait(&closed);
    return user;
}

static void open_plugin(void)
{
    plugin = dlopen(plugin_path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin) tap_bail("%s", dlerror());
}

static const char *plugin_says(void)
{
    const char *(*message)(void);
    *(void **)&message = symbol("plugin_message");
    return message();
}

static void close_plugin(void)
{
    void (*release)(void);
    *(void **)&release = symbol("plugin_release");
    release();
    dlclose(plugin);
}

/* -- Cycles -------------------------------------------------------------------------------------------------------- */

static int cycle(void)
{
    pthread_t thread;
    open_plugin();
    pthread_create(&thread, NULL, run_and_outlive, NULL);
    pthread_barrier_wait(&closed);
    const int st = result;
    if (st) tap_diag("the plugin answers %d: %s", st, plugin_says());
    close_plugin();
    pthread_barrier_wait(&closed);
    pthread_join(thread, NULL);
    return st;
}

static void again_and_again(const char *how, int times)
{
    int wrong = 0;
    wrong += cycle() != 0;
    wrong += cycle() != 0;
    const unsigned n = threads(UINT_MAX), files = entries("/proc/self/fd"), keys = free_keys(), maps = mapped_files();
    const int cycles = tap_is_slow() ? 4 : times;
    for (int i = 2; i < cycles; i++) wrong += cycle() != 0;
    tap_is_int(wrong, 0, "%s: a plugin is loaded and closed %d times", how, cycles);
    tap_ok(threads(n) <= n, "%s: no thread is left", how);
    tap_is_uint(entries("/proc/self/fd"), files, "%s: nor a descriptor", how);
    tap_is_uint(free_keys(), keys, "%s: nor a key", how);
    tap_is_uint(mapped_files(), maps, "%s: nor a mapping", how);
}

/* A child of a process from which the plugin is gone. */
static void forks(const char *how)
{
    int ends[2], st = 0;
    char byte = 0;
    if (pipe(ends)) tap_bail("no pipe");
    const pid_t pid = fork();
    if (pid == 0) _exit(write(ends[1], "x", 1) != 1);
    waitpid(pid, &st, 0);
    tap_ok(WIFEXITED(st) && read(ends[0], &byte, 1) == 1 && byte == 'x', "%s: then the process forks", how);
    close(ends[0]), close(ends[1]);
}

static void releases_nothing(const char *how)
{
    pthread_t thread;
    for (int i = 0; i < 3; i++) {
        open_plugin();
        pthread_create(&thread, NULL, run_plugin, NULL);
        pthread_join(thread, NULL);
        tap_is_int(result, 0, "%s: a plugin that releases nothing works, time %d", how, i + 1);
        dlclose(plugin);
    }
}

/* The plugin, in a process of its own: what the last case leaves behind stays there, and the end is the test. */
static void each_plugin(const char *file, const char *how, int times)
{
    static char path[4096];
    const char *top = getenv("top_builddir");
    snprintf(path, sizeof path, "%s/tests/driver/.libs/%s", top ? top : ".", file);
    if (access(path, R_OK) != 0) {
        tap_skip(1, "no %s was built", file);
        return;
    }
    plugin_path = path;
    again_and_again(how, times);
    forks(how);
    if (!tap_under_valgrind()) releases_nothing(how); /* which is full of leaks */
}

int main(void)
{
    tap_need_device(1);
    tap_plan(0);
    pthread_barrier_init(&closed, NULL, 2);
    each_plugin("libplugin.so", "the shared library", CYCLES);
    each_plugin("libpluginwhole.so", "the library inside", 10);
    return tap_done();
}
