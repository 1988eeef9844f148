/* Drivers over a driver: faults, a trace in each form, functions before and after each call; a device works through all
 * of them, and one that is made to fail fails. */
#include <stdlib.h>
#include <unistd.h>

#include "tests/whole/work.h"

enum { N = 64 };
static char folder[] = "/tmp/cujit-interpose-XXXXXX";
static char file[2][64];
static unsigned before_calls, after_calls;

static int before(void *user, uint64_t number, const char *name)
{
    (void)user, (void)number, (void)name;
    before_calls++;
    return 0;
}

static void after(void *user, uint64_t number, const char *name, const char *text, int result)
{
    (void)user, (void)number, (void)name, (void)result;
    after_calls += *text != 0;
}

/* The sum of what a device has filled and copied. */
static uint64_t worked(cj_driver *drv)
{
    static uint32_t out[N];
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    uint64_t sum = 0;
    const cj_dptr d = cj_alloc(s, sizeof out);
    if (!d.addr) work_made(s);
    if (d.addr) {
        work_did(cj_fill32(s, d, 3, N));
        work_did(cj_copy_to_host(s, out, d, sizeof out));
        if (work_waited(s)) sum = out[0] + out[N - 1];
        work_did(cj_free(dev, d));
    }
    cj_stream_free(s);
    cj_device_collect(dev);
    cj_device_close(dev);
    return sum;
}

/* A fault of its own, which the program sees. */
static uint64_t rejected(cj_driver *under)
{
    uint64_t failed = 0;
    cj_driver *drv = cj_driver_open_faulty(under, "cuDevicePrimaryCtxRetain:1:CUDA_ERROR_OUT_OF_MEMORY");
    if (work_made(drv)) {
        cj_device *dev = cj_device_open(drv, 0, NULL);
        failed = cj_error_of(dev)->status != CJ_OK;
        cj_device_close(dev);
    }
    cj_driver_close(drv);
    return failed;
}

int main(void)
{
    uint64_t sum = 0;
    memcpy(strrchr(folder, '-') + 1, "XXXXXX", 6);
    if (!mkdtemp(folder)) return fprintf(stderr, "interpose: no folder\n"), 1;
    snprintf(file[0], sizeof file[0], "%s/calls", folder);
    snprintf(file[1], sizeof file[1], "%s/calls.json", folder);
    cj_interposer_opts o;
    cj_interposer_defaults(&o);
    o.before = before, o.after = after;
    before_calls = after_calls = 0;
    cj_driver *real = cj_driver_open(NULL);
    if (work_made(real)) sum += rejected(real);
    cj_driver *text = cj_driver_open_traced(real, file[0]), *json = cj_driver_open_traced(text, file[1]);
    cj_driver *drv = cj_driver_open_interposed(json, &o);
    const bool made[] = { work_made(text), work_made(json), work_made(drv) };
    if (made[0] && made[1] && made[2]) {
        sum += worked(drv);
        sum += cj_interposer_calls(drv) > 20 && before_calls > 20 && before_calls == after_calls;
    }
    cj_driver_close(drv);
    cj_driver_close(json);
    cj_driver_close(text);
    cj_driver_close(real);
    for (int i = 0; i < 2; i++) unlink(file[i]);
    rmdir(folder);
    return work_end("interpose", sum);
}
