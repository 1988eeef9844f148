/* What is queried of a kernel's code over drivers of other kinds: one that loads code by its attributes (before 12.4),
 * one whose blocks have few registers, one that does not report an attribute, one whose context is lost. */
#include <string.h>

#include "tests/driver/libfake.h"
#include "tests/tap.h"

enum { QUERIES = 8, LOADS = 1 }; /* of all attributes; to load the code where there is no cuFuncLoad */
static int block_registers;
static cji_PFN_cuDeviceGetAttribute of_device;

static CUresult get_registers(int *value, CUdevice_attribute which, CUdevice device)
{
    if (which != CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK) return of_device(value, which, device);
    *value = block_registers;
    return CUDA_SUCCESS;
}

static void *resolve(void *user, const char *symbol)
{
    void *entry = libfake_symbol(user, symbol);
    const cji_PFN_cuDeviceGetAttribute registers = get_registers;
    if (strcmp(symbol, "cuDeviceGetAttribute")) return entry;
    memcpy(&of_device, &entry, sizeof of_device);
    memcpy(&entry, &registers, sizeof entry);
    return entry;
}

static int queried(void)
{
    const int n = lib.calls[CJI_CU_ID_cuFuncGetAttribute];
    lib.calls[CJI_CU_ID_cuFuncGetAttribute] = 0;
    return n;
}

typedef struct fixture { cj_driver *drv; cj_device *dev; cj_stream *s; cj_ptx *m; cj_kernel *k; } fixture;

static fixture begin(int registers, const char *missing)
{
    fixture x;
    libfake_reset();
    lib.missing = missing;
    block_registers = registers;
    x.drv = cj_driver_open_resolver(resolve, NULL);
    x.dev = cj_device_open(x.drv, 0, NULL);
    x.s = cj_stream_create(x.dev, NULL);
    x.m = cj_ptx_create();
    cj_return(cj_ptx_kernel(x.m, "k"));
    x.k = cj_kernel_load(x.dev, x.m, "k", NULL);
    if (cj_error_of(x.k)->status || cj_error_of(x.s)->status) tap_bail("%s", cj_error_last()->message);
    return x;
}

static void end(fixture *x)
{
    cj_kernel_free(x->k);
    cj_ptx_free(x->m);
    cj_stream_free(x->s);
    cj_device_close(x->dev);
    cj_driver_close(x->drv);
}

static void when_it_is_queried(void)
{
    static const struct { const char *name; int registers; const char *missing; int load, small, large; } cases[] = {
        { "blocks of 65536 registers", 65536, NULL, 0, 0, QUERIES },
        { "blocks of 32768, which 128 threads share", 32768, NULL, 0, QUERIES, 0 },
        { "blocks of fewer than a warp can take", 4096, NULL, QUERIES, 0, 0 },
        { "a driver that does not report them", 0, NULL, QUERIES, 0, 0 },
        { "no cuFuncLoad", 65536, "cuFuncLoad", LOADS, 0, QUERIES },
        { "no cuFuncLoad, and few registers", 4096, "cuFuncLoad", LOADS + QUERIES, 0, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture x = begin(cases[i].registers, cases[i].missing);
        tap_is_int(queried(), cases[i].load, "%s: by the load", cases[i].name);
        cj_launch(x.s, x.k, cj_grid(1, 160));
        tap_is_int(queried(), cases[i].small, "%s: by a launch of 160 threads", cases[i].name);
        tap_is_int(cj_launch(x.s, x.k, cj_grid(1, 288)), CJ_EINVAL, "%s: 288 are more than the kernel can have",
                   cases[i].name);
        tap_is_int(queried(), cases[i].large, "%s: by that launch", cases[i].name);
        end(&x);
    }
}

static void what_cannot_be_queried(void)
{
    fixture x = begin(65536, NULL);
    cj_kernel_info info = { .size = sizeof info, .registers = -1 };
    lib.fail_id = CJI_CU_ID_cuFuncGetAttribute;
    lib.fail_with = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    const cj_status st = cj_kernel_get_info(x.k, &info);
    tap_ok(st != CJ_OK, "a context that is gone: a failure (%s)", cj_error_of(x.k)->message);
    tap_is_int(info.registers, -1, "and nothing is written");
    tap_is_int(cj_launch(x.s, x.k, cj_grid(1, 512)), CJ_OK, "the driver judges the launch");
    lib.fail_with = CUDA_SUCCESS;
    tap_is_int(cj_kernel_get_info(x.k, &info), CJ_OK, "the next call queries again");
    tap_is_int(info.registers, 40, "and finds it");
    end(&x);
    x = begin(65536, NULL);
    lib.fail_id = CJI_CU_ID_cuFuncGetAttribute;
    lib.fail_with = CUDA_ERROR_INVALID_VALUE;
    tap_is_int(cj_kernel_get_info(x.k, &info), CJ_OK, "attributes that the driver does not have");
    tap_ok(!info.registers && !info.block_threads && info.shared_dynamic == 232448, "are 0");
    lib.fail_with = CUDA_SUCCESS;
    end(&x);
}

int main(void)
{
    tap_plan(0);
    when_it_is_queried();
    what_cannot_be_queried();
    return tap_done();
}
