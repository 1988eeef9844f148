/* A plugin that uses the library: plugins.c loads and closes it again and again. */
#include <string.h>

#include <cujit/cujit.h>

enum { N = 64 };

static cj_ptx *m;
static cj_driver *drv;
static cj_device *dev;
static cj_stream *s;
static cj_kernel *k;
static cj_waiter *waiter;
static cj_compiler *compiler;

CJ_API int plugin_run(const char *driver);
CJ_API void plugin_release(void);
CJ_API const char *plugin_message(void);

static char message[480];

static int failed(const void *object)
{
    const cj_error *e = cj_error_of(object);
    if (e->status != CJ_OK) memcpy(message, e->message, sizeof message);
    return e->status != CJ_OK;
}

/* Uses threads of the library's own, and work in flight. */
int plugin_run(const char *driver)
{
    static uint32_t seen[N];
    cj_wait_record record;
    m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "twice");
    cj_val x = cj_param_ptr(f, "x", CJ_U32), i = cj_global_id(f, CJ_X);
    cj_set(f, x, i, cj_mul(f, cj_get(f, x, i), 2u));
    drv = cj_driver_open(driver);
    dev = cj_device_open(drv, 0, NULL);
    s = cj_stream_create(dev, NULL);
    compiler = cj_compiler_create(dev, CJ_COMPILER(.threads = 2));
    cj_future *future = cj_compiler_kernel(compiler, m, "twice", NULL);
    k = cj_future_kernel(future);
    cj_future_free(future);
    waiter = cj_waiter_create(dev, NULL);
    const cj_dptr d = cj_alloc(s, sizeof seen);
    cj_fill32(s, d, 21, N);
    cj_launch(s, k, cj_grid(1, N), d);
    cj_copy_to_host(s, seen, d, sizeof seen);
    cj_waiter_add_stream(waiter, s, CJ_WAIT_FOREVER, NULL, NULL);
    if (failed(k) || failed(waiter) || failed(s)) return 1;
    if (cj_waiter_poll(waiter, &record, 1, 100000) != 1 || record.result != CJ_WAIT_DONE) return 2;
    if (cj_free(dev, d) != CJ_OK) return 3;
    return seen[0] == 42 && seen[N - 1] == 42 ? 0 : 4;
}

const char *plugin_message(void) { return message; }

void plugin_release(void)
{
    cj_compiler_free(compiler);
    cj_waiter_free(waiter);
    cj_stream_free(s);
    cj_kernel_free(k);
    cj_device_close(dev);
    cj_driver_close(drv);
    cj_ptx_free(m);
}
