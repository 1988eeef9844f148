/* What the driver reports of a kernel's code.  It is queried by the first call that needs it, not when the kernel is
 * made: in a process whose kernels come from the cache most launches need none of it, and the first call of each entry
 * point of the driver costs microseconds. */
#include <string.h>

#include "base/first.h"
#include "base/lock.h"
#include "driver/driver.h"

static const struct func_row { size_t at; CUfunction_attribute attribute; } func_rows[] = {
#define F(field) offsetof(cj_kernel_info, field)
    { F(block_threads), CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK }, { F(registers), CU_FUNC_ATTRIBUTE_NUM_REGS },
    { F(shared), CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES },            { F(local), CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES },
    { F(constant), CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES },           { F(ptx_version), CU_FUNC_ATTRIBUTE_PTX_VERSION },
    { F(binary_version), CU_FUNC_ATTRIBUTE_BINARY_VERSION },
#undef F
};

/* Whether the driver reports nothing of the kernel any more, or not now; another failure is of one attribute alone. */
static bool reports_nothing(CUresult r)
{
    return cji_breaks_context(r) || r == CUDA_ERROR_CONTEXT_IS_DESTROYED || r == CUDA_ERROR_INVALID_CONTEXT ||
           r == CUDA_ERROR_DEINITIALIZED;
}

/* *value is 0 where the driver does not report it.  CUDA_SUCCESS: others can be queried. */
static CUresult query_attribute(const cj_kernel *k, CUfunction_attribute which, int *value)
{
    *value = 0;
    const CUresult r = k->dev->api.cuFuncGetAttribute(value, which, k->first);
    if (r != CUDA_SUCCESS) *value = 0;
    return reports_nothing(r) ? r : CUDA_SUCCESS;
}

static int32_t most_shared(const cj_device_info *dev)
{
    return dev->block_shared_most ? dev->block_shared_most : dev->block_shared;
}

/* In a scope, with attributes_lock held. */
static CUresult query_code(cj_kernel *k)
{
    cj_kernel_info info = { .size = sizeof info };
    const int32_t most = most_shared(&k->dev->info);
    CUresult r = CUDA_SUCCESS;
    int value;
    for (size_t i = 0; i < sizeof func_rows / sizeof *func_rows && r == CUDA_SUCCESS; i++) {
        r = query_attribute(k, func_rows[i].attribute, &value);
        const int32_t v = value;
        memcpy((char *)&info + func_rows[i].at, &v, sizeof v);
    }
    if (r == CUDA_SUCCESS) r = query_attribute(k, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &value);
    if (r != CUDA_SUCCESS) return r;
    info.shared_dynamic = most > info.shared ? most - info.shared : 0;
    k->info = info;
    atomic_store(&k->shared_set, value > 0 ? (unsigned)value : 0);
    atomic_store_explicit(&k->has_info, true, memory_order_release);
    return r;
}

CUresult cji_kernel_read_code(cj_kernel *k)
{
    cji_scope scope;
    if (atomic_load_explicit(&k->has_info, memory_order_acquire)) return CUDA_SUCCESS;
    CUresult r = cji_scope_enter(&scope, k->dev->queue.cu, k->dev->queue.ctx);
    if (r == CUDA_SUCCESS) {
        cji_lock(&k->dev->attributes_lock, CJI_LOCK_ATTRIBUTES);
        if (!atomic_load_explicit(&k->has_info, memory_order_relaxed)) r = query_code(k);
        cji_unlock(&k->dev->attributes_lock, CJI_LOCK_ATTRIBUTES);
    }
    cji_scope_leave(&scope);
    return r;
}

cj_kernel_info cji_kernel_code(cj_kernel *k)
{
    if (atomic_load_explicit(&k->has_faster, memory_order_acquire)) return k->faster_info;
    if (cji_kernel_read_code(k) == CUDA_SUCCESS) return k->info;
    return (cj_kernel_info){ .shared_dynamic = most_shared(&k->dev->info) };
}

/* No code takes more than 255 registers of a thread, and a warp gets 256 for each of its threads then. */
enum { REGISTERS_MOST = 256, WARP_THREADS = 32 };

CJI_FIRST uint32_t cji_kernel_threads_sure(const cj_device_info *dev, uint32_t bound)
{
    const uint32_t registers = dev->block_registers > 0 ? (uint32_t)dev->block_registers : 0;
    const uint32_t threads = registers / (REGISTERS_MOST * WARP_THREADS) * WARP_THREADS;
    return bound && bound < threads ? bound : threads;
}

void cj_kernel_info_defaults(cj_kernel_info *info)
{
    if (info) *info = (cj_kernel_info){ .size = sizeof *info };
}

cj_status cj_kernel_get_info(cj_kernel *k, cj_kernel_info *info)
{
    static const char call[] = "cj_kernel_get_info";
    cj_status status = cji_check(k, CJI_TAG_KERNEL, call);
    if (status != CJ_OK) return status;
    if (!info || info->size < sizeof info->size)
        return cji_fail(k, CJ_EINVAL, call, "info is NULL, or info->size is not sizeof(cj_kernel_info)");
    const size_t size = info->size;
    const CUresult r = cji_kernel_read_code(k);
    if (r != CUDA_SUCCESS)
        return cji_cu_fail_as(k, k->dev, r, CJ_OK, "cuFuncGetAttribute", call,
                              "%s: the driver does not report what %s is", call, cji_short(k->name));
    const cj_kernel_info code = cji_kernel_code(k);
    memcpy(info, &code, size < sizeof code ? size : sizeof code);
    info->size = size;
    return CJ_OK;
}
