/* A driver over a driver: every call is seen with its arguments and its result, and each can be made to fail. */
#include <cujit/interpose.h>

#include "tests/driver/libfake.h"
#include "tests/tap.h"

#include <stdio.h>
#include <string.h>

static const char text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u32 n)\n{\n ret;\n}\n";

static char seen[65536];
static uint64_t last_number;

static void note(void *user, uint64_t number, const char *name, const char *line, int result)
{
    size_t n = strlen(seen);
    (void)name, (void)result;
    *(int *)user += 1;
    last_number = number;
    snprintf(seen + n, sizeof seen - n, "%s\n", line);
}

static int refuse_pinned(void *user, uint64_t number, const char *name)
{
    (void)user, (void)number;
    return strcmp(name, "cuMemHostAlloc") == 0 ? 2 : 0;
}

/* A whole workload on `drv`, every object released; the first failure's status. */
static cj_status work(cj_driver *drv)
{
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k");
    cj_val n = cj_param(f, "n", CJ_U32);
    (void)n;
    cj_kernel *k = cj_kernel_load(dev, m, "k", NULL);
    cj_module *mod = cj_module_load_text(dev, text, NULL);
    void *p = cj_host_alloc(dev, 16, NULL);
    cj_status status = (cj_status)cj_error_of(k)->status;
    if (status == CJ_OK) status = (cj_status)cj_error_of(mod)->status;
    if (status == CJ_OK && !p) status = (cj_status)cj_error_of(dev)->status;
    if (p) cj_host_free(dev, p);
    cj_module_free(mod);
    cj_ptx_free(m);
    cj_device_close(dev);
    cj_kernel_free(k);
    return status;
}

int main(void)
{
    tap_plan(0);
    libfake_reset();
    int calls = 0;
    cj_driver *under = libfake_open();
    cj_driver *drv = cj_driver_open_interposed(under, CJ_INTERPOSER(.after = note, .user = &calls));
    tap_is_int(cj_error_of(drv)->status, CJ_OK, "a layer opens");
    tap_is_int(cj_driver_version(drv), 13000, "its version is that of the driver below");
    tap_is_int(work(drv), CJ_OK, "a workload");
    tap_ok(calls > 20 && (uint64_t)calls == last_number && cj_interposer_calls(drv) == last_number,
           "every call is counted");
    static const char *const lines[] = { "cuInit(Flags=0) = CUDA_SUCCESS",
                                         "cuLinkCreate(",
                                         "cuLinkAddData(",
                                         "cuLinkComplete(",
                                         "cuLinkDestroy(",
                                         "cuModuleLoadData(",
                                         "cuModuleLoadDataEx(",
                                         "cuModuleGetFunction(",
                                         "name=\"k\"",
                                         "cuModuleUnload(",
                                         "cuDevicePrimaryCtxRelease(",
                                         "bytesize=16" };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) tap_has_str(seen, lines[i], "%s is seen", lines[i]);
    cj_driver_close(drv);

    uint64_t total = 0;
    drv = cj_driver_open_interposed(under, NULL);
    work(drv);
    total = cj_interposer_calls(drv);
    cj_driver_close(drv);
    tap_is_uint(total, (uint64_t)calls, "the same workload makes the same calls");
    int failed = 0, left = 0, kept = 0;
    for (uint64_t n = 1; n <= total; n++) {
        drv = cj_driver_open_interposed(under, CJ_INTERPOSER(.fail_at = n, .fail_with = 999));
        failed += work(drv) != CJ_OK;
        cj_driver_close(drv);
        left += lib.linkers != 0, kept += lib.modules != 0;
        lib.retained = lib.modules = lib.pinned = lib.linkers = lib.depth = 0;
        lib.current = NULL;
    }
    tap_is_int(left, 1, "a linker is left where its release fails, and nowhere else");
    tap_is_int(kept, 2, "a module is left where its release fails, and nowhere else");
    tap_ok(failed > 10, "each call fails in turn: %d of %u are reported", failed, (unsigned)total);

    drv = cj_driver_open_interposed(under, CJ_INTERPOSER(.before = refuse_pinned));
    tap_is_int(work(drv), CJ_ENOMEM, "a call is answered by name");
    cj_driver_close(drv);

    cj_interposer_opts opts;
    memset(&opts, 0xff, sizeof opts);
    cj_interposer_defaults(&opts);
    tap_ok(opts.size == sizeof opts && !opts.before && !opts.after && !opts.user && !opts.fail_at,
           "the defaults: nothing is seen, nothing fails");
    cj_interposer_defaults(NULL);

    cj_driver *layer[CJ_INTERPOSERS_MAX + 1];
    for (int i = 0; i <= CJ_INTERPOSERS_MAX; i++) layer[i] = cj_driver_open_interposed(i ? layer[i - 1] : under, NULL);
    tap_is_int(cj_error_of(layer[CJ_INTERPOSERS_MAX - 1])->status, CJ_OK, "as many layers as there is room for");
    tap_is_int(cj_error_of(layer[CJ_INTERPOSERS_MAX])->status, CJ_EBUSY, "and no more");
    tap_is_int(work(layer[CJ_INTERPOSERS_MAX - 1]), CJ_OK, "a workload through all of them");
    tap_ok(cj_interposer_calls(layer[0]) > cj_interposer_calls(layer[CJ_INTERPOSERS_MAX - 1]),
           "what is above is seen below");
    cj_driver_close(under);
    for (int i = 0; i <= CJ_INTERPOSERS_MAX; i++) cj_driver_close(layer[i]);
    drv = cj_driver_open_interposed(NULL, NULL);
    tap_is_int(cj_error_of(drv)->status, CJ_EHANDLE, "a layer over nothing");
    cj_driver_close(drv);
    tap_is_uint(cj_interposer_calls(NULL), 0, "no layer has no calls");
    return tap_done();
}
