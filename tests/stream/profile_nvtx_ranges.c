/* Ranges are shown by an NVTX tool that NVTX_INJECTION64_PATH names: each begin with its name, each end with the number
 * of its own range, whatever the order of streams and threads is.  Without a profile that is on there is none. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/device_bench.h"

static char *stub_log;

static void logged(const char *want, const char *name)
{
    tap_is_str(stub_log, want, "%s", name);
    *stub_log = 0;
}

static void *ends(void *stream)
{
    cj_profile_end(stream);
    return NULL;
}

static void ranges(cj_profile *p)
{
    pthread_t id;
    cj_profile_begin(s, "off");
    cj_profile_end(s);
    logged("", "while no profile is on there are no ranges");
    cj_profile_on(p);
    cj_profile_begin(s, "outer");
    cj_profile_begin(s, "inner");
    cj_profile_end(s);
    cj_profile_end(s);
    logged("start outer 42;start inner 43;end 43;end 42;", "ranges of a stream nest");
    cj_profile_begin(s, "one");
    cj_profile_begin(t, "other");
    cj_profile_end(s);
    cj_profile_end(t);
    logged("start one 44;start other 45;end 44;end 45;", "ranges of two streams end each for itself");
    cj_profile_end(s);
    logged("", "an end without a begin is none");
    cj_profile_mark(s, CJ_PROFILE_KERNEL, "mark");
    cj_profile_end(s);
    logged("start mark 46;end 46;", "a mark is a range too");
    cj_profile_begin(s, "of two threads");
    if (pthread_create(&id, NULL, ends, s) == 0) pthread_join(id, NULL);
    logged("start of two threads 47;end 47;", "a range that ends on another thread");
    cj_profile_begin(s, "switched off");
    cj_profile_off(p);
    cj_profile_end(s);
    logged("start switched off 48;end 48;", "a range that is open when the profile is turned off");
    cj_stream_sync(s);
    cj_stream_sync(t);
}

int main(void)
{
    char path[4096];
    const char *tool = tap_build("tests/stream/.libs/libnvtxstub.so");
    if (!realpath(tool, path)) tap_bail("no %s", tool);
    setenv("NVTX_INJECTION64_PATH", path, 1);
    bench_open(64);
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib) tap_bail("%s", dlerror());
    stub_log = dlsym(lib, "stub_log");
    int *inits = dlsym(lib, "stub_inits");
    cj_profile *p = cj_profile_create(NULL);
    tap_is_int(*inits, 0, "the tool is not asked before the first range");
    ranges(p);
    tap_is_int(*inits, 1, "the tool begins once");
    cj_profile_free(p);
    dlclose(lib);
    return bench_close();
}
