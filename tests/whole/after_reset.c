/* cj_device_reset() with an object of each type alive: each function that reaches the device fails with an error that
 * names the reset, or returns what the library knows by itself; nothing crashes; every object can be released. */
#include <string.h>

#include <cujit/cujit.h>

#include "api.h"
#include "tests/tap.h"

/* A function with an object of the device, which is no release and no export that somebody must release. */
static bool uses_device(const api_function *f)
{
    if (api_frees(f) || !strcmp(f->name, "cj_device_reset") || strstr(f->name, "_to_dlpack")) return false;
    for (int i = 0; i < f->nparams; i++)
        if (f->handle[i] > API_DRIVER) return true;
    return false;
}

static int names_reset;

/* Calls `f` with all its handles of the old device. */
static void call(const api_function *f)
{
    uint64_t a[API_PARAMS] = { 0 };
    for (int i = 0; i < f->nparams; i++)
        if (f->handle[i] >= 0) a[i] = (uint64_t)(uintptr_t)api_live[f->handle[i]];
    cj_stream_sync(api_live[API_STREAM]); /* the stream keeps its first failure */
    cj_set_log(NULL, NULL);
    uint64_t r = api_call(f, a);
    if (f->result == API_OBJECT && !api_lends(f)) api_release(f->result_handle, (void *)(uintptr_t)r);
    names_reset += strstr(cj_error_last()->message, "the device was reset") != NULL;
}

int main(void)
{
    tap_need_device(1);
    tap_plan(0);
    api_make_live();
    api_read_headers();
    cj_device *dev = cj_device_reset(api_live[API_DEVICE]);
    tap_is_int(cj_error_of(dev)->status, CJ_OK, "the device is reset: %s", cj_error_of(dev)->message);
    for (int i = 0; i < api_count; i++) {
        if (uses_device(&api_functions[i])) call(&api_functions[i]);
    }
    tap_ok(names_reset > 60, "%d functions name the reset", names_reset);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_dptr d = cj_alloc(s, 64);
    cj_fill32(s, d, 1, 16);
    tap_is_int(cj_stream_sync(s), CJ_OK, "the new device works: %s", cj_error_of(s)->message);
    cj_free(dev, d);
    cj_stream_free(s);
    api_release_live();
    cj_device_close(dev);
    return tap_done();
}
