/* What a test needs to run: a GPU, ptxas, files of the tree; and whether something slows it. Decided here, when the
 * test runs, never at configure time. */
#include "tap.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAP_CU_NO_DEVICE = 100 };   /* CUDA_ERROR_NO_DEVICE */

/* Whether the comma-separated list in $CUJIT_TEST_REQUIRE holds `what`. */
static bool tap_required(const char *what)
{
    const char *list = getenv("CUJIT_TEST_REQUIRE");
    size_t n = strlen(what);
    while (list && *list) {
        size_t m = strcspn(list, ", ");
        if (m == n && memcmp(list, what, n) == 0) return true;
        list += m;
        list += strspn(list, ", ");
    }
    return false;
}

bool tap_on_gpu(void)
{
    const char *driver = getenv("CUJIT_DRIVER");
    return driver && strcmp(driver, "cuda") == 0;
}

/* Skips, or fails where the tier is required. */
TAP_FORMAT(2, 3) static void tap_lacks(bool required, const char *fmt, ...)
{
    char why[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    if (required) tap_bail("%s, and CUJIT_TEST_REQUIRE=%s", why, getenv("CUJIT_TEST_REQUIRE"));
    tap_skip_all("%s", why);
}

void tap_need_gpu(unsigned devices)
{
    bool required = devices > 1 ? tap_required("gpu2") : tap_required("gpu") || tap_required("gpu2");
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        const char *why = dlerror();
        if (access("/dev/nvidiactl", F_OK) == 0 && why && !strstr(why, "No such file"))
            tap_bail("libcuda.so.1 cannot be loaded: %s", why);
        tap_lacks(required, "no libcuda.so.1");
    }
    int (*init)(unsigned) = NULL, (*count)(int *) = NULL;
    *(void **)&init = dlsym(lib, "cuInit");
    *(void **)&count = dlsym(lib, "cuDeviceGetCount");
    if (!init || !count) tap_bail("libcuda.so.1 has no cuInit or no cuDeviceGetCount");
    int got = 0, status = init(0);
    if (!status) status = count(&got);
    if (status == TAP_CU_NO_DEVICE || (!status && got == 0)) tap_lacks(required, "libcuda.so.1 reports no device");
    if (status) tap_bail("libcuda.so.1 does not work: cuInit fails with CUDA error %d", status);
    if ((unsigned)got < devices) tap_lacks(required, "%d GPU, wants %u", got, devices);
}

void tap_need_device(unsigned devices)
{
    const char *sim = getenv("CUJIT_SIM");
    if (tap_on_gpu()) tap_need_gpu(devices);
    else if (sim && *sim && access(sim, R_OK) != 0)
        tap_lacks(tap_required("sim"), "no CPU device: this build has no shared libraries");
}

/* -- ptxas --------------------------------------------------------------------------------------------------------- */

static bool tap_try_ptxas(char *path, size_t room, const char *folder, size_t bytes)
{
    int n = snprintf(path, room, "%.*s/ptxas", (int)bytes, folder);
    return n > 0 && (size_t)n < room && access(path, X_OK) == 0;
}

const char *tap_ptxas(void)
{
    static char path[1024];
    const char *given = getenv("CUJIT_PTXAS"), *list = getenv("PATH");
    if (given) return *given && access(given, X_OK) == 0 ? given : NULL;
    while (list && *list) {
        size_t n = strcspn(list, ":");
        if (n && tap_try_ptxas(path, sizeof path, list, n)) return path;
        list += n + (list[n] == ':');
    }
    static const char folder[] = "/usr/local/cuda/bin";
    return tap_try_ptxas(path, sizeof path, folder, sizeof folder - 1) ? path : NULL;
}

void tap_need_ptxas(void)
{
    if (!tap_ptxas()) tap_lacks(tap_required("ptxas"), "no ptxas");
}

/* -- What slows a test --------------------------------------------------------------------------------------------- */

bool tap_under_valgrind(void)
{
    return getenv("CUJIT_UNDER_VALGRIND") != NULL;   /* set by valgrind.sh */
}

bool tap_reports_races(void)
{
#if defined __SANITIZE_THREAD__
    return true;
#elif defined __has_feature
#if __has_feature(thread_sanitizer)
    return true;
#else
    return false;
#endif
#else
    return false;
#endif
}

static bool tap_under_sanitizer(void)
{
#if defined __SANITIZE_ADDRESS__
    return true;
#elif defined __has_feature
#if __has_feature(address_sanitizer)
    return true;
#else
    return tap_reports_races();
#endif
#else
    return tap_reports_races();
#endif
}

bool tap_is_slow(void)
{
    return tap_under_sanitizer() || tap_under_valgrind();
}

bool tap_forks_beside_threads(void)
{
    return !tap_under_sanitizer();
}

/* -- Places -------------------------------------------------------------------------------------------------------- */

static const char *tap_below(const char *variable, const char *name)
{
    static char paths[4][1024];
    static unsigned turn;
    const char *root = getenv(variable);
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", root ? root : ".", name);
    return path;
}

const char *tap_source(const char *name)
{
    return tap_below("top_srcdir", name);
}

const char *tap_build(const char *name)
{
    return tap_below("top_builddir", name);
}

char *tap_slurp(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t room = 0, used = 0;
    if (!file) return NULL;
    for (;;) {
        if (room - used < 2) {
            char *more = realloc(text, room = room ? 2 * room : 4096);
            if (!more) tap_bail("no memory");
            text = more;
        }
        size_t n = fread(text + used, 1, room - used - 1, file);
        if (!n) break;
        used += n;
    }
    fclose(file);
    text[used] = 0;
    if (bytes) *bytes = used;
    return text;
}
