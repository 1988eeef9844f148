/* A kernel of two stages whose optimised code has other limits: what is known of the kernel, what a launch is checked
 * against and its occupancy are those of the code that launches use. */
#include <stdatomic.h>
#include <string.h>

#include "tests/driver/libfake.h"
#include "tests/latch.h"
#include "tests/tap.h"

enum { REGISTERS = 65536 }; /* of a multiprocessor */
static const struct { int threads, registers; } codes[] = { { 256, 200 }, { 1024, 32 } };
static atomic_int functions;
static cji_PFN_cuFuncGetAttribute next;
static cji_PFN_cuDeviceGetAttribute of_device;

/* Each module has a function of its own. */
static CUresult get_function(CUfunction *fn, CUmodule mod, const char *name)
{
    (void)mod, (void)name;
    *fn = (CUfunction)(uintptr_t)(16 * (atomic_fetch_add(&functions, 1) + 1));
    return CUDA_SUCCESS;
}

static CUresult get_attribute(int *value, CUfunction_attribute which, CUfunction fn)
{
    const bool faster = (uintptr_t)fn > 16;
    if (which == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) *value = codes[faster].threads;
    else if (which == CU_FUNC_ATTRIBUTE_NUM_REGS) *value = codes[faster].registers;
    else return next(value, which, fn);
    return CUDA_SUCCESS;
}

static CUresult get_registers(int *value, CUdevice_attribute which, CUdevice device)
{
    if (which != CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK &&
        which != CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)
        return of_device(value, which, device);
    *value = REGISTERS;
    return CUDA_SUCCESS;
}

static void *resolve(void *user, const char *symbol)
{
    void *entry = libfake_symbol(user, symbol);
    const cji_PFN_cuModuleGetFunction function = get_function;
    const cji_PFN_cuFuncGetAttribute attribute = get_attribute;
    const cji_PFN_cuDeviceGetAttribute registers = get_registers;
    if (!strcmp(symbol, "cuModuleGetFunction")) {
        memcpy(&entry, &function, sizeof entry);
    } else if (!strcmp(symbol, "cuFuncGetAttribute")) {
        memcpy(&next, &entry, sizeof next);
        memcpy(&entry, &attribute, sizeof entry);
    } else if (!strcmp(symbol, "cuDeviceGetAttribute")) {
        memcpy(&of_device, &entry, sizeof of_device);
        memcpy(&entry, &registers, sizeof entry);
    }
    return entry;
}

static cj_stream *s;

/* What is known while launches use that code. */
static void check(cj_kernel *k, int code, const char *name)
{
    cj_kernel_info info = { .size = sizeof info };
    cj_occupancy o = { .size = sizeof o };
    cj_kernel_get_info(k, &info);
    tap_is_int(info.block_threads, codes[code].threads, "%s: most threads of a block", name);
    tap_is_int(info.registers, codes[code].registers, "%s: registers", name);
    tap_is_int(cj_launch(s, k, cj_grid(1, (uint32_t)codes[code].threads)), CJ_OK, "%s: such a block is launched (%s)",
               name, cj_error_of(s)->message);
    cj_error_clear(s);
    tap_is_int(cj_launch(s, k, cj_grid(1, (uint32_t)codes[code].threads + 1)), CJ_EINVAL, "%s: and no larger one",
               name);
    cj_error_clear(s);
    tap_is_int(cj_kernel_occupancy(k, 256, 0, &o), CJ_OK, "%s: the occupancy", name);
    tap_is_int((int)o.by_registers, REGISTERS / (256 * codes[code].registers), "%s: as the registers allow", name);
}

static struct latch held = LATCH_CLOSED;
static void hold(void *user, uint64_t done, uint64_t requests)
{
    (void)user, (void)requests;
    if (done == 1) latch_wait(&held);
}

int main(void)
{
    tap_plan(0);
    libfake_reset();
    cj_driver *drv = cj_driver_open_resolver(resolve, NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_compiler *c = cj_compiler_create(dev, CJ_COMPILER(.threads = 1, .progress = hold));
    cj_ptx *m = cj_ptx_create(), *other = cj_ptx_create();
    cj_future *faster = NULL;
    s = cj_stream_create(dev, NULL);
    cj_return(cj_ptx_kernel(m, "k"));
    cj_return(cj_ptx_kernel(other, "other"));
    cj_future_free(cj_compiler_image(c, other, NULL));
    latch_entered(&held); /* the compiler's only thread is held */
    cj_kernel *k = cj_compiler_kernel_staged(c, m, "k", NULL, &faster);
    tap_is_int(cj_error_of(k)->status, CJ_OK, "a kernel (%s)", cj_error_of(k)->message);
    check(k, 0, "the first code");
    latch_open(&held);
    tap_is_int(cj_future_wait(faster, -1), CJ_OK, "the optimised code (%s)", cj_error_of(faster)->message);
    check(k, 1, "the optimised code");
    cj_future_free(faster);
    cj_kernel_free(k);
    cj_stream_free(s);
    cj_compiler_free(c);
    cj_ptx_free(m);
    cj_ptx_free(other);
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
