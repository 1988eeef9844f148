/* What memory an address is in. */
#include <string.h>

#include "driver/open.h"
#include "stream/memory/stream_memory.h"

void cj_mem_info_defaults(cj_mem_info *info)
{
    if (info) *info = (cj_mem_info){ .size = sizeof *info };
}

/* From the table of `dev`; false: it has none.  *free: because the memory is the allocator's, and nobody's. */
static bool info_of_table(cj_device *dev, uint64_t addr, cj_mem_info *info, bool *free)
{
    cji_mem_state *state = (cji_mem_state *)cji_release_queue_state(&dev->queue, CJI_STATE_MEMORY);
    if (!state) return false;
    cji_spin_lock(&state->lock, CJI_LOCK_MEMORY);
    const cji_mem *m = cji_mem_holder(state, addr);
    if (m) {
        info->kind = m->type->kind;
        info->base = (cj_dptr){ m->addr };
        info->bytes = m->bytes;
        info->device = dev;
        cji_lock(&state->queue->lock, CJI_LOCK_QUEUE);
        info->home = m->home && m->home->live ? m->home->owner : NULL;
        cji_unlock(&state->queue->lock, CJI_LOCK_QUEUE);
    }
    *free = !m && cji_mem_chunk_of(state, addr);
    cji_spin_unlock(&state->lock, CJI_LOCK_MEMORY);
    return m != NULL;
}

/* The open device of the driver with that number; NULL: none. */
static cj_device *info_device(cj_driver *drv, int ordinal)
{
    cji_opened_lock();
    cj_device *d = drv->devices;
    while (d && d->ordinal != ordinal) d = d->next;
    cji_opened_unlock();
    return d;
}

/* From the driver; false: it has none.  In a scope. */
static bool info_of_driver(cj_device *dev, uint64_t addr, cj_mem_info *info)
{
    unsigned type = 0, managed = 0;
    int ordinal = -1;
    CUdeviceptr base = 0;
    size_t bytes = 0;
    CUpointer_attribute what[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                   CU_POINTER_ATTRIBUTE_RANGE_SIZE };
    void *values[] = { &type, &managed, &ordinal, &base, &bytes };
    if (dev->queue.cu->cuPointerGetAttributes(5, what, values, addr) != CUDA_SUCCESS || !(type || managed))
        return false;
    info->kind = managed ? CJ_MEM_KIND_MANAGED : type == CU_MEMORYTYPE_HOST ? CJ_MEM_KIND_HOST : CJ_MEM_KIND_FOREIGN;
    info->base = (cj_dptr){ base };
    info->bytes = bytes;
    info->device = info_device(dev->drv, ordinal);
    return true;
}

cj_status cji_mem_info_find(void *into, cj_device *dev, uint64_t addr, cj_mem_info *info, bool *known,
                            const char *call)
{
    cji_scope scope;
    cj_device *owner = cji_mem_owner(dev, addr);
    bool free = false;
    *known = info_of_table(owner, addr, info, &free);
    cji_device_drop(owner);
    if (*known || free) return CJ_OK;
    cj_status st = cji_scope_begin_relaxed(into, dev, &scope, call);
    if (st != CJ_OK) return st;
    *known = addr && info_of_driver(dev, addr, info);
    cji_scope_leave(&scope);
    return CJ_OK;
}

cj_status cj_mem_get_info(cj_device *dev, cj_dptr d, cj_mem_info *info)
{
    static const char call[] = "cj_mem_get_info";
    cj_mem_info all = { .size = sizeof all };
    bool known;
    cj_status st = cji_check(dev, CJI_TAG_DEVICE, call);
    if (st != CJ_OK) return st;
    if (!info || info->size < sizeof info->size)
        return cji_fail(dev, CJ_EINVAL, call, "info is NULL, or info->size is not sizeof(cj_mem_info)");
    st = cji_mem_info_find(dev, dev, d.addr, &all, &known, call);
    if (st != CJ_OK) return st;
    if (!known)
        return cji_fail(dev, CJ_ENOTFOUND, call, "0x%llx is in no memory that the driver knows",
                        (unsigned long long)d.addr);
    all.size = info->size;
    memcpy(info, &all, info->size < sizeof all ? info->size : sizeof all);
    return CJ_OK;
}
