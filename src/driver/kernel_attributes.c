/* Attributes of kernels, set and read. */
#include "base/lock.h"
#include "driver/driver.h"

static const struct kernel_attr_row { CUfunction_attribute attribute; const char *name; bool cluster; } attr_rows[] = {
    [CJ_KERNEL_SHARED_DYNAMIC] = { CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, "dynamic shared memory", false },
    [CJ_KERNEL_CARVEOUT] = { CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, "the carveout", false },
    [CJ_KERNEL_CLUSTER_WIDTH] = { CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, "the cluster's width", true },
    [CJ_KERNEL_CLUSTER_HEIGHT] = { CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, "the cluster's height", true },
    [CJ_KERNEL_CLUSTER_DEPTH] = { CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, "the cluster's depth", true },
    [CJ_KERNEL_CLUSTER_NONPORTABLE] = { CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
                                        "clusters of more than 8 blocks", true },
    [CJ_KERNEL_CLUSTER_POLICY] = { CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, "the cluster policy", true },
};

static cj_status attribute_row(cj_kernel *k, cj_kernel_attr attr, const struct kernel_attr_row **row, const char *call)
{
    cj_status st = cji_check(k, CJI_TAG_KERNEL, call);
    if (st != CJ_OK) return st;
    if ((unsigned)attr >= sizeof attr_rows / sizeof *attr_rows)
        return cji_fail(k, CJ_EINVAL, call, "%d is no cj_kernel_attr", (int)attr);
    *row = &attr_rows[attr];
    if ((*row)->cluster && !k->dev->info.clusters)
        return cji_fail(k, CJ_ENOTSUP, call, "%s: %s needs sm_90 and driver 520; device %d is %s", cji_short(k->name),
                        (*row)->name, k->dev->ordinal, k->dev->sm);
    return CJ_OK;
}

CUresult cji_kernel_attributes_copy(const cj_kernel *k, CUfunction to)
{
    CUresult r = CUDA_SUCCESS;
    for (unsigned i = 0; i < sizeof attr_rows / sizeof *attr_rows && r == CUDA_SUCCESS; i++)
        if (k->attributes >> i & 1 && i != CJ_KERNEL_SHARED_DYNAMIC)
            r = k->dev->api.cuFuncSetAttribute(to, attr_rows[i].attribute, k->attribute[i]);
    return r;
}

cj_status cj_kernel_set_attribute(cj_kernel *k, cj_kernel_attr attr, int32_t value)
{
    static const char call[] = "cj_kernel_set_attribute";
    const struct kernel_attr_row *row;
    cji_scope scope;
    cj_status st = attribute_row(k, attr, &row, call);
    if (st == CJ_OK) st = cji_scope_begin_relaxed(k, k->dev, &scope, call);
    if (st != CJ_OK) return st;
    cji_lock(&k->dev->attributes_lock, CJI_LOCK_ATTRIBUTES);
    CUresult r = k->dev->api.cuFuncSetAttribute(k->fn, row->attribute, value);
    if (r == CUDA_SUCCESS) {
        k->attribute[attr] = value;
        k->attributes |= 1u << attr;
        if (attr == CJ_KERNEL_SHARED_DYNAMIC) atomic_store(&k->shared_set, (unsigned)value);
    }
    cji_unlock(&k->dev->attributes_lock, CJI_LOCK_ATTRIBUTES);
    cji_scope_leave(&scope);
    if (r != CUDA_SUCCESS)
        return cji_cu_fail_as(k, k->dev, r, r == CUDA_ERROR_INVALID_VALUE ? CJ_EINVAL : CJ_OK,
                              "cuFuncSetAttribute", call, "%s: %s: %s cannot be %d", call, cji_short(k->name),
                              row->name, (int)value);
    return CJ_OK;
}

cj_status cj_kernel_attribute(cj_kernel *k, cj_kernel_attr attr, int32_t *value)
{
    static const char call[] = "cj_kernel_attribute";
    const struct kernel_attr_row *row;
    cji_scope scope;
    int now = 0;
    cj_status st = attribute_row(k, attr, &row, call);
    if (st == CJ_OK && !value) st = cji_fail(k, CJ_EINVAL, call, "the result is NULL");
    if (st == CJ_OK) st = cji_scope_begin_relaxed(k, k->dev, &scope, call);
    if (st != CJ_OK) return st;
    CUresult r = k->dev->api.cuFuncGetAttribute(&now, row->attribute, k->fn);
    cji_scope_leave(&scope);
    if (r != CUDA_SUCCESS)
        return cji_cu_fail_as(k, k->dev, r, r == CUDA_ERROR_INVALID_VALUE ? CJ_ENOTSUP : CJ_OK,
                              "cuFuncGetAttribute", call, "%s: %s: the driver does not report %s", call,
                              cji_short(k->name), row->name);
    *value = now;
    return CJ_OK;
}
