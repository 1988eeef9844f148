/* The caller's current context is the same after each call of driver.h as before it: with none, with a foreign one,
 * with the device's own; also
 * where the driver refuses one of the calls in between. */
#include <cujit/cujit.h>

#include <string.h>

#include "driver/driver.h"
#include "tests/tap.h"

static const char text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .u32 v;\n.visible .entry k(.param .u32 n)\n{\n"
    "  ret;\n}\n";

static cj_driver *under, *drv;
static cj_device *dev;
static cj_module *mod;
static cj_kernel *k;

static void open_device(void) { cj_device_close(cj_device_open(drv, 0, NULL)); }
static void open_no_device(void) { cj_device_close(cj_device_open(drv, 999, NULL)); }
static void read_memory(void) { cj_device_memory(dev, NULL, NULL); }
static void read_attribute(void) { int v; cj_device_attribute(dev, 1, &v); }
static void wait_for_device(void) { cj_device_sync(dev); }
static void pinned(void) { cj_host_free(dev, cj_host_alloc(dev, 64, NULL)); }
static void free_nonsense(void) { int x; cj_host_free(dev, &x); }
static void image_of_text(void) { cj_image_free(cj_image_create_text(dev, text, NULL)); }
static void image_of_garbage(void) { cj_image_free(cj_image_create_text(dev, "garbage", NULL)); }
static void module_of_text(void) { cj_module_free(cj_module_load_text(dev, text, NULL)); }
static void module_of_garbage(void) { cj_module_free(cj_module_load_text(dev, "garbage", NULL)); }
static void variable(void) { cj_module_var(mod, "v", NULL); }
static void no_variable(void) { cj_module_var(mod, "w", NULL); }
static void kernel(void) { cj_kernel_free(cj_module_kernel(mod, "k")); }
static void no_kernel(void) { cj_kernel_free(cj_module_kernel(mod, "l")); }
static void kernel_info(void) { cj_kernel_info i = { .size = sizeof i }; cj_kernel_get_info(k, &i); }

static void module_of_builder(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_ptx_kernel(m, "k");
    cj_kernel *one = cj_kernel_load(dev, m, "k", NULL);
    cj_image *img = cj_image_create(dev, m, NULL);
    cj_module *two = cj_module_load_image(dev, img);
    cj_kernel_free(one);
    cj_image_free(img);
    cj_module_free(two);
    cj_ptx_free(m);
}

static void streams(void)
{
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_event *e = cj_event_create(dev, NULL);
    cj_dptr d = cj_alloc(s, 64);
    cj_fill8(s, d, 1, 64);
    cj_launch(s, k, cj_grid(1, 32), 5u);
    cj_event_record(e, s);
    cj_free(dev, d);
    cj_stream_sync(s);
    cj_event_free(e);
    cj_stream_free(s);
}

static const struct { const char *name; void (*call)(void); } calls[] = {
    { "opening a device", open_device },       { "opening no device", open_no_device },
    { "memory", read_memory },                 { "an attribute", read_attribute },
    { "waiting for the device", wait_for_device }, { "pinned memory", pinned },
    { "freeing what is no memory", free_nonsense }, { "an image", image_of_text },
    { "an image of garbage", image_of_garbage }, { "a module of text", module_of_text },
    { "a module of garbage", module_of_garbage }, { "a variable", variable },
    { "no variable", no_variable },            { "a kernel", kernel },
    { "no kernel", no_kernel },                { "a kernel's properties", kernel_info },
    { "a builder, an image, a module", module_of_builder }, { "streams, events, memory, a launch", streams },
};

/* While armed, one call fails; those that put the caller's context back are never made to. */
static uint64_t at, fail_at;

static int refuse(void *user, uint64_t number, const char *name)
{
    (void)user, (void)number;
    if (!fail_at || !strcmp(name, "cuCtxPopCurrent") || ++at != fail_at) return 0;
    return CUDA_ERROR_UNKNOWN;
}

int main(void)
{
    tap_need_device(1);
    tap_plan(0);
    under = cj_driver_open(NULL);
    drv = cj_driver_open_interposed(under, CJ_INTERPOSER(.before = refuse));
    dev = cj_device_open(drv, 0, NULL);
    mod = cj_module_load_text(dev, text, NULL);
    k = cj_module_kernel(mod, "k");
    if (cj_error_of(k)->status) tap_bail("%s", cj_error_of(k)->message);
    const cji_cu *cu = &under->cu;
    CUcontext foreign = NULL, now = NULL;
    if (cu->cuCtxCreate(&foreign, 0, dev->cu) != CUDA_SUCCESS || cu->cuCtxPopCurrent(&now) != CUDA_SUCCESS)
        tap_bail("no second context");
    const struct {
        const char *name;
        CUcontext ctx;
    } before[] = { { "no context", NULL }, { "a foreign one", foreign }, { "the device's own", dev->ctx } };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (size_t j = 0; j < sizeof before / sizeof *before; j++) {
            int wrong = 0, runs = 0;
            for (fail_at = 0;; fail_at++) {
                cu->cuCtxSetCurrent(before[j].ctx);
                at = 0;
                calls[i].call();
                cu->cuCtxGetCurrent(&now);
                wrong += now != before[j].ctx;
                runs++;
                if (fail_at && at < fail_at) break;
                if (fail_at && tap_is_slow()) fail_at += 10;
            }
            fail_at = 0;
            tap_is_int(wrong, 0, "%s, %s current: as before, in %d runs", calls[i].name, before[j].name, runs);
        }
    cu->cuCtxSetCurrent(NULL);
    cu->cuCtxDestroy(foreign);
    cj_kernel_free(k);
    cj_module_free(mod);
    cj_device_close(dev);
    cj_driver_close(drv);
    cj_driver_close(under);
    return tap_done();
}
