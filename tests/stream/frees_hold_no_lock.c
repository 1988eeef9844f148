/* Memory whose home stream is gone is freed by a call that may block: meanwhile other threads use the device. */
#include <stdlib.h>
#include <pthread.h>
#include <string.h>

#include "tests/device_bench.h"

static bool armed;
static int frees;

/* What needs the lock of the device's release queue. */
static void *use_device(void *user)
{
    (void)user;
    cj_stream *u = cj_stream_create(dev, NULL);
    cj_dptr m = cj_alloc(u, 64);
    tap_ok(m.addr != 0, "... another thread makes a stream and memory: %s", cj_error_of(u)->message);
    cj_free(dev, m);
    tap_is_int(cj_stream_sync(u), CJ_OK, "... and its work is done");
    cj_stream_free(u);
    return NULL;
}

static int before(void *user, uint64_t number, const char *name)
{
    pthread_t other;
    (void)user, (void)number;
    if (!armed || strcmp(name, "cuMemFree")) return 0;
    armed = false;
    frees++;
    pthread_create(&other, NULL, use_device, NULL);
    pthread_join(other, NULL);
    return 0;
}

int main(void)
{
    setenv("CUJIT_ALLOCATOR", "driver", 1); /* what releases do to the driver is seen */
    cj_interposer_opts over;
    cj_interposer_defaults(&over);
    over.before = before;
    bench_open_over(&over, 0);
    cj_stream *home = cj_stream_create(dev, NULL);
    cj_dptr m = cj_alloc(home, 4096);
    cj_fill32(s, m, 0, 16);
    cj_stream_free(home);
    armed = true;
    tap_is_int(cj_free(dev, m), CJ_OK, "memory without a home is freed: %s", cj_error_of(dev)->message);
    cj_stream_sync(s);
    cj_device_collect(dev);
    tap_is_int(frees, 1, "... by cuMemFree");
    return bench_close();
}
