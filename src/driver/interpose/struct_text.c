/* What is in the structs that calls point to, as text: launches, copies, fills, nodes. */
#include <string.h>

#include "driver/interpose/driver_interpose.h"

static void text_named(cji_line *l, const char *type, uint64_t v)
{
    if (!cji_put_named(l, type, strlen(type), v)) cji_say(l, "%llu", (unsigned long long)v);
}

static void text_dims(cji_line *l, const unsigned int *grid, const unsigned int *block, unsigned int shared)
{
    cji_say(l, "grid %ux%ux%u, block %ux%ux%u, shared %u", grid[0], grid[1], grid[2], block[0], block[1], block[2],
            shared);
}

static void text_config(cji_line *l, const void *p)
{
    const CUlaunchConfig *c = p;
    text_dims(l, &c->gridDimX, &c->blockDimX, c->sharedMemBytes);
    cji_say(l, ", stream %#llx, attributes", (unsigned long long)(uintptr_t)c->hStream);
    for (unsigned i = 0; c->attrs && i < c->numAttrs && i < 8; i++) {
        cji_say(l, " ");
        text_named(l, "CUlaunchAttributeID", (uint64_t)c->attrs[i].id);
    }
    if (!c->numAttrs) cji_say(l, " none");
}

static void text_kernel_node(cji_line *l, const void *p)
{
    const CUDA_KERNEL_NODE_PARAMS_v2 *k = p;
    cji_say(l, "func %#llx, ", (unsigned long long)(uintptr_t)k->func);
    text_dims(l, &k->gridDimX, &k->blockDimX, k->sharedMemBytes);
}

/* One end of a copy. */
typedef struct copy_end {
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    CUarray array;
    size_t x, y, z, pitch;
} copy_end;

static void text_end(cji_line *l, const copy_end *e)
{
    uint64_t at = e->device;
    if (e->type == CU_MEMORYTYPE_HOST) at = (uint64_t)(uintptr_t)e->host;
    if (e->type == CU_MEMORYTYPE_ARRAY) at = (uint64_t)(uintptr_t)e->array;
    text_named(l, "CUmemorytype", (uint64_t)e->type);
    cji_say(l, " %#llx", (unsigned long long)at);
    cji_say(l, " pitch %zu", e->pitch);
    if (e->x || e->y || e->z) cji_say(l, " at (%zu, %zu, %zu)", e->x, e->y, e->z);
}

static void text_copy_2d(cji_line *l, const void *p)
{
    const CUDA_MEMCPY2D *c = p;
    text_end(l, &(copy_end){ c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray, c->dstXInBytes, c->dstY, 0,
                             c->dstPitch });
    cji_say(l, " from ");
    text_end(l, &(copy_end){ c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray, c->srcXInBytes, c->srcY, 0,
                             c->srcPitch });
    cji_say(l, ", %zu bytes x %zu", c->WidthInBytes, c->Height);
}

static void text_copy_3d(cji_line *l, const void *p)
{
    const CUDA_MEMCPY3D *c = p;
    text_end(l, &(copy_end){ c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray, c->dstXInBytes, c->dstY,
                             c->dstZ, c->dstPitch });
    cji_say(l, " from ");
    text_end(l, &(copy_end){ c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray, c->srcXInBytes, c->srcY,
                             c->srcZ, c->srcPitch });
    cji_say(l, ", %zu bytes x %zu x %zu", c->WidthInBytes, c->Height, c->Depth);
}

static void text_copy_peer(cji_line *l, const void *p)
{
    const CUDA_MEMCPY3D_PEER *c = p;
    text_end(l, &(copy_end){ c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray, c->dstXInBytes, c->dstY,
                             c->dstZ, c->dstPitch });
    cji_say(l, " from ");
    text_end(l, &(copy_end){ c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray, c->srcXInBytes, c->srcY,
                             c->srcZ, c->srcPitch });
    cji_say(l, ", %zu bytes x %zu x %zu", c->WidthInBytes, c->Height, c->Depth);
}

static void text_memset_node(cji_line *l, const void *p)
{
    const CUDA_MEMSET_NODE_PARAMS *m = p;
    cji_say(l, "dst %#llx, %u of %u bytes, %zu x %zu, pitch %zu", (unsigned long long)m->dst, m->value,
            m->elementSize, m->width, m->height, m->pitch);
}

static void text_location(cji_line *l, const void *p)
{
    const CUmemLocation *at = p;
    text_named(l, "CUmemLocationType", (uint64_t)at->type);
    cji_say(l, ", id %d", at->id);
}

static const struct {
    const char *type;
    void (*put)(cji_line *l, const void *p);
} struct_rows[] = {
    { "const CUlaunchConfig *", text_config },
    { "const CUDA_KERNEL_NODE_PARAMS_v2 *", text_kernel_node },
    { "const CUDA_MEMCPY2D *", text_copy_2d },
    { "const CUDA_MEMCPY3D *", text_copy_3d },
    { "const CUDA_MEMCPY3D_PEER *", text_copy_peer },
    { "const CUDA_MEMSET_NODE_PARAMS *", text_memset_node },
    { "CUmemLocation *", text_location },
};

void cji_struct_text(cji_line *l, const char *type, uint64_t pointer)
{
    for (size_t i = 0; pointer && i < sizeof struct_rows / sizeof *struct_rows; i++) {
        if (strcmp(struct_rows[i].type, type) != 0) continue;
        cji_say(l, " {");
        struct_rows[i].put(l, (const void *)(uintptr_t)pointer);
        cji_say(l, "}");
    }
}
