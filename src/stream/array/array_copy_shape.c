/* What a copy from or to an array is: read from its description, checked and measured, for streams and for nodes of
 * graphs. */
#include "stream/array/stream_array.h"

void cj_copy_array_params_defaults(cj_copy_array_params *params)
{
    if (params) *params = (cj_copy_array_params){ .size = sizeof *params };
}

/* -- Ends ---------------------------------------------------------------------------------------------------------- */

/* Where a copy is checked: the device of its stream or graph, who gets the failure, on behalf of which call. */
typedef struct array_check { void *into; cj_device *home; const char *call; } array_check;

/* A device that work of `home` can copy from and to. */
static cj_status array_end_meets(const array_check *k, cj_device *dev, const char *what)
{
    if (cji_device_meets(dev, k->home)) return CJ_OK;
    return dev->drv == k->home->drv ? cji_cu_fail_apart(k->into, dev, k->home, k->call, "%s", "")
                                    : cji_fail(k->into, CJ_EINVAL, k->call, "%s is of another driver", what);
}

static cj_status array_end_array(const array_check *k, cji_array_end *e, cj_device *dev, const char *what)
{
    const cji_array_extent *a = &e->array->extent;
    cj_status st = cji_check_arg(k->into, e->array, CJI_TAG_ARRAY, k->call, what);
    if (st != CJ_OK) return st;
    e->dev = e->array->dev;
    st = array_end_meets(k, e->dev, what);
    if (st != CJ_OK) return st;
    if (dev && dev != e->dev)
        return cji_fail(k->into, CJ_EINVAL, k->call, "%s is an array of device %d, and another device is set for it",
                        what, e->dev->ordinal);
    if (e->array->mipmap)
        return cji_fail(k->into, CJ_EINVAL, k->call, "%s is mipmapped; copy one of its levels (cj_array_level)", what);
    if (e->x < a->width && e->y < a->height && e->z < a->depth) return CJ_OK;
    return cji_fail(k->into, CJ_EINVAL, k->call,
                    "%s has %zu x %zu x %zu elements, and the copy begins at (%zu, %zu, %zu)", what, a->width,
                    a->height, a->depth, e->x, e->y, e->z);
}

/* `dev`: the device that the description has for the end, or NULL. */
static cj_status array_end_kind(const array_check *k, cji_array_end *e, cj_device *dev, const char *what)
{
    const int set = (e->array != NULL) + (e->addr != 0) + (e->host != NULL);
    if (set != 1)
        return cji_fail(k->into, CJ_EINVAL, k->call, "%s is %s; set one of array, device memory and host memory", what,
                        set ? "set more than once" : "not set");
    cj_status st = dev ? cji_check_arg(k->into, dev, CJI_TAG_DEVICE, k->call, "the device of an end") : CJ_OK;
    if (st != CJ_OK) return st;
    if (e->array) return array_end_array(k, e, dev, what);
    if (e->x || e->y || e->z)
        return cji_fail(k->into, CJ_EINVAL, k->call,
                        "%s is memory and has the offset (%zu, %zu, %zu), which is for arrays; add it to the address",
                        what, e->x, e->y, e->z);
    e->dev = dev && !e->host ? dev : k->home;
    return array_end_meets(k, e->dev, what);
}

static cj_status array_end_fits(const array_check *k, const cji_array_copy *c, const cji_array_end *e,
                                const char *what)
{
    const cji_array_extent *a = &e->array->extent;
    if (c->width <= a->width - e->x && c->height <= a->height - e->y && c->depth <= a->depth - e->z) return CJ_OK;
    return cji_fail(k->into, CJ_EINVAL, k->call,
                    "%zu x %zu x %zu elements at (%zu, %zu, %zu) do not fit into %s, which has %zu x %zu x %zu",
                    c->width, c->height, c->depth, e->x, e->y, e->z, what, a->width, a->height, a->depth);
}

/* Memory: pitches, and the bytes that it reaches. */
static cj_status array_end_memory(const array_check *k, const cji_array_copy *c, cji_array_end *e, const char *what)
{
    size_t slice, slices, rows;
    if (!e->pitch) e->pitch = c->row;
    if (!e->rows) e->rows = c->height;
    if (e->pitch < c->row)
        return cji_fail(k->into, CJ_EINVAL, k->call, "%s has %zu bytes from row to row, the rows have %zu", what,
                        e->pitch, c->row);
    if (e->rows < c->height)
        return cji_fail(k->into, CJ_EINVAL, k->call, "%s has %zu rows from slice to slice, the slices have %zu", what,
                        e->rows, c->height);
    if (__builtin_mul_overflow(e->pitch, e->rows, &slice) || __builtin_mul_overflow(slice, c->depth - 1, &slices) ||
        __builtin_mul_overflow(e->pitch, c->height - 1, &rows) || __builtin_add_overflow(slices, rows, &e->reach) ||
        __builtin_add_overflow(e->reach, c->row, &e->reach) ||
        (e->host ? (uintptr_t)e->host : e->addr) + e->reach < e->reach)
        return cji_fail(k->into, CJ_EINVAL, k->call, "%s is beyond any memory", what);
    return CJ_OK;
}

/* -- Copies -------------------------------------------------------------------------------------------------------- */

static cj_status array_copy_read(const array_check *k, const cj_copy_array_params *params, cji_array_copy *c)
{
    cj_copy_array_params o;
    cj_copy_array_params_defaults(&o);
    if (!params) return cji_fail(k->into, CJ_EINVAL, k->call, "the parameters are NULL");
    if (!cji_opts_take(&o, sizeof o, params, k->into, k->call, "cj_copy_array_params")) return CJ_EINVAL;
    *c = (cji_array_copy){ .width = o.width, .height = o.height, .depth = o.depth };
    c->dst = (cji_array_end){ .array = o.dst_array, .x = o.dst_x, .y = o.dst_y, .z = o.dst_z, .addr = o.dst.addr,
                              .host = o.dst_host, .pitch = o.dst_pitch, .rows = o.dst_rows };
    c->src = (cji_array_end){ .array = o.src_array, .x = o.src_x, .y = o.src_y, .z = o.src_z, .addr = o.src.addr,
                              .host = (void *)(uintptr_t)o.src_host, .pitch = o.src_pitch, .rows = o.src_rows };
    cj_status st = array_end_kind(k, &c->dst, o.dst_device, "the destination");
    if (st == CJ_OK) st = array_end_kind(k, &c->src, o.src_device, "the source");
    if (st != CJ_OK) return st;
    if (!c->dst.array && !c->src.array)
        return cji_fail(k->into, CJ_EINVAL, k->call, "no end is an array; copy memory with cj_copy_3d");
    c->peer = c->dst.dev != k->home || c->src.dev != k->home;
    if (c->peer && (c->dst.host || c->src.host))
        return cji_fail(k->into, CJ_EINVAL, k->call,
                        "the array is of device %d, the stream or the graph of device %d; copy from and to host "
                        "memory on the array's device",
                        (c->dst.array ? &c->dst : &c->src)->dev->ordinal, k->home->ordinal);
    return CJ_OK;
}

static bool array_apart(size_t a, size_t b, size_t extent) { return a >= b ? a - b >= extent : b - a >= extent; }

static bool array_copy_overlaps(const cji_array_copy *c)
{
    const cji_array_end *d = &c->dst, *f = &c->src;
    if (!d->array || !f->array) return false;
    return d->array->raw == f->array->raw && !array_apart(d->x, f->x, c->width) &&
           !array_apart(d->y, f->y, c->height) && !array_apart(d->z, f->z, c->depth);
}

/* Extents that are left out, and both ends against them. */
static cj_status array_copy_measure(const array_check *k, cji_array_copy *c)
{
    const cji_array_end *e = c->dst.array ? &c->dst : &c->src;
    if (!c->width) c->width = e->array->extent.width - e->x;
    if (!c->height) c->height = e->array->extent.height - e->y;
    if (!c->depth) c->depth = e->array->extent.depth - e->z;
    cj_status st = CJ_OK;
    if (c->dst.array) st = array_end_fits(k, c, &c->dst, "the destination");
    if (st == CJ_OK && c->src.array) st = array_end_fits(k, c, &c->src, "the source");
    if (st != CJ_OK) return st;
    if (c->dst.array && c->src.array && c->dst.array->element != c->src.array->element)
        return cji_fail(k->into, CJ_EINVAL, k->call,
                        "the elements of the destination have %zu bytes, those of the source %zu",
                        c->dst.array->element, c->src.array->element);
    if (array_copy_overlaps(c))
        return cji_fail(k->into, CJ_EINVAL, k->call, "source and destination overlap in one array");
    c->row = c->width * e->array->element; /* a row of an array, so it does not wrap */
    if (!c->dst.array) st = array_end_memory(k, c, &c->dst, "the destination");
    if (st == CJ_OK && !c->src.array) st = array_end_memory(k, c, &c->src, "the source");
    return st;
}

cj_status cji_array_copy_of_params(void *into, cj_device *home, const cj_copy_array_params *params, cji_array_copy *c,
                                   const char *call)
{
    const array_check k = { into, home, call };
    cj_status st = array_copy_read(&k, params, c);
    return st == CJ_OK ? array_copy_measure(&k, c) : st;
}

/* -- For the driver ------------------------------------------------------------------------------------------------ */

static CUmemorytype array_end_type(const cji_array_end *e)
{
    return e->array ? CU_MEMORYTYPE_ARRAY : e->host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

CUDA_MEMCPY3D cji_array_copy_params(const cji_array_copy *c)
{
    const cji_array_end *d = &c->dst, *f = &c->src;
    return (CUDA_MEMCPY3D){
        .srcXInBytes = f->array ? f->x * f->array->element : 0,
        .srcY = f->array ? f->y : 0,
        .srcZ = f->array ? f->z : 0,
        .srcMemoryType = array_end_type(f),
        .srcHost = f->host,
        .srcDevice = f->addr,
        .srcArray = f->array ? f->array->raw : NULL,
        .srcPitch = f->pitch,
        .srcHeight = f->rows,
        .dstXInBytes = d->array ? d->x * d->array->element : 0,
        .dstY = d->array ? d->y : 0,
        .dstZ = d->array ? d->z : 0,
        .dstMemoryType = array_end_type(d),
        .dstHost = d->host,
        .dstDevice = d->addr,
        .dstArray = d->array ? d->array->raw : NULL,
        .dstPitch = d->pitch,
        .dstHeight = d->rows,
        .WidthInBytes = c->row,
        .Height = c->height,
        .Depth = c->depth,
    };
}
