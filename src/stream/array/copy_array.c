/* Copies from and to arrays.  The driver has one call for all of them.  Pageable host memory passes through device
 * memory of cj_alloc, since the pieces of staging memory are copied from and to addresses. */
#include "stream/array/stream_array.h"

enum { ARRAY_PIECE = 8 << 20 }; /* bytes of that device memory; a row of an array has less */

void cj_copy_array_params_defaults(cj_copy_array_params *params)
{
    if (params) *params = (cj_copy_array_params){ .size = sizeof *params };
}

/* One end: an array, or memory with its pitch and rows. */
typedef struct array_end {
    cj_array *array;
    size_t x, y, z;     /* where in the array */
    uint64_t addr;      /* device memory */
    void *host;
    size_t pitch, rows; /* of memory */
    size_t reach;       /* measured: bytes of memory from the first to the end */
} array_end;

typedef struct array_copy { size_t width, height, depth, row; array_end dst, src; } array_copy;

/* -- Checking ------------------------------------------------------------------------------------------------------ */

static cj_status array_end_array(cj_stream *s, const array_end *e, const char *what, const char *call)
{
    cj_status st = cji_check_arg(s, e->array, CJI_TAG_ARRAY, call, what);
    if (st != CJ_OK) return st;
    if (e->array->dev != s->dev)
        return cji_fail(s, CJ_EINVAL, call, "%s is of device %d, the stream of device %d", what,
                        e->array->dev->ordinal, s->dev->ordinal);
    if (e->array->mipmap)
        return cji_fail(s, CJ_EINVAL, call, "%s is mipmapped; copy one of its levels (cj_array_level)", what);
    const cji_array_extent *a = &e->array->extent;
    if (e->x < a->width && e->y < a->height && e->z < a->depth) return CJ_OK;
    return cji_fail(s, CJ_EINVAL, call, "%s has %zu x %zu x %zu elements, and the copy begins at (%zu, %zu, %zu)", what,
                    a->width, a->height, a->depth, e->x, e->y, e->z);
}

static cj_status array_end_kind(cj_stream *s, const array_end *e, const char *what, const char *call)
{
    const int set = (e->array != NULL) + (e->addr != 0) + (e->host != NULL);
    if (set != 1)
        return cji_fail(s, CJ_EINVAL, call, "%s is %s; set one of array, device memory and host memory", what,
                        set ? "set more than once" : "not set");
    return e->array ? array_end_array(s, e, what, call) : CJ_OK;
}

static cj_status array_end_fits(cj_stream *s, const array_copy *c, const array_end *e, const char *what,
                                const char *call)
{
    const cji_array_extent *a = &e->array->extent;
    if (c->width <= a->width - e->x && c->height <= a->height - e->y && c->depth <= a->depth - e->z) return CJ_OK;
    return cji_fail(s, CJ_EINVAL, call,
                    "%zu x %zu x %zu elements at (%zu, %zu, %zu) do not fit into %s, which has %zu x %zu x %zu",
                    c->width, c->height, c->depth, e->x, e->y, e->z, what, a->width, a->height, a->depth);
}

/* Memory: pitches, and the bytes that it reaches. */
static cj_status array_end_memory(cj_stream *s, const array_copy *c, array_end *e, const char *what, const char *call)
{
    size_t slice, slices, rows;
    if (!e->pitch) e->pitch = c->row;
    if (!e->rows) e->rows = c->height;
    if (e->pitch < c->row)
        return cji_fail(s, CJ_EINVAL, call, "%s has %zu bytes from row to row, the rows have %zu", what, e->pitch,
                        c->row);
    if (e->rows < c->height)
        return cji_fail(s, CJ_EINVAL, call, "%s has %zu rows from slice to slice, the slices have %zu", what, e->rows,
                        c->height);
    if (__builtin_mul_overflow(e->pitch, e->rows, &slice) || __builtin_mul_overflow(slice, c->depth - 1, &slices) ||
        __builtin_mul_overflow(e->pitch, c->height - 1, &rows) || __builtin_add_overflow(slices, rows, &e->reach) ||
        __builtin_add_overflow(e->reach, c->row, &e->reach) ||
        (e->host ? (uintptr_t)e->host : e->addr) + e->reach < e->reach)
        return cji_fail(s, CJ_EINVAL, call, "%s is beyond any memory", what);
    return CJ_OK;
}

static cj_status array_copy_read(cj_stream *s, const cj_copy_array_params *params, array_copy *c, const char *call)
{
    cj_copy_array_params o;
    cj_copy_array_params_defaults(&o);
    if (!params) return cji_fail(s, CJ_EINVAL, call, "the parameters are NULL");
    if (!cji_opts_take(&o, sizeof o, params, s, call, "cj_copy_array_params")) return CJ_EINVAL;
    *c = (array_copy){ .width = o.width, .height = o.height, .depth = o.depth };
    c->dst = (array_end){ .array = o.dst_array, .x = o.dst_x, .y = o.dst_y, .z = o.dst_z, .addr = o.dst.addr,
                          .host = o.dst_host, .pitch = o.dst_pitch, .rows = o.dst_rows };
    c->src = (array_end){ .array = o.src_array, .x = o.src_x, .y = o.src_y, .z = o.src_z, .addr = o.src.addr,
                          .host = (void *)(uintptr_t)o.src_host, .pitch = o.src_pitch, .rows = o.src_rows };
    cj_status st = array_end_kind(s, &c->dst, "the destination", call);
    if (st == CJ_OK) st = array_end_kind(s, &c->src, "the source", call);
    if (st == CJ_OK && !c->dst.array && !c->src.array)
        return cji_fail(s, CJ_EINVAL, call, "no end is an array; copy memory with cj_copy_3d");
    return st;
}

static bool array_apart(size_t a, size_t b, size_t extent) { return a >= b ? a - b >= extent : b - a >= extent; }

static bool array_copy_overlaps(const array_copy *c)
{
    const array_end *d = &c->dst, *f = &c->src;
    if (!d->array || !f->array) return false;
    return d->array->raw == f->array->raw && !array_apart(d->x, f->x, c->width) &&
           !array_apart(d->y, f->y, c->height) && !array_apart(d->z, f->z, c->depth);
}

/* Extents that are left out, and both ends against them. */
static cj_status array_copy_measure(cj_stream *s, array_copy *c, const char *call)
{
    const array_end *e = c->dst.array ? &c->dst : &c->src;
    if (!c->width) c->width = e->array->extent.width - e->x;
    if (!c->height) c->height = e->array->extent.height - e->y;
    if (!c->depth) c->depth = e->array->extent.depth - e->z;
    cj_status st = CJ_OK;
    if (c->dst.array) st = array_end_fits(s, c, &c->dst, "the destination", call);
    if (st == CJ_OK && c->src.array) st = array_end_fits(s, c, &c->src, "the source", call);
    if (st != CJ_OK) return st;
    if (c->dst.array && c->src.array && c->dst.array->element != c->src.array->element)
        return cji_fail(s, CJ_EINVAL, call, "the elements of the destination have %zu bytes, those of the source %zu",
                        c->dst.array->element, c->src.array->element);
    if (array_copy_overlaps(c)) return cji_fail(s, CJ_EINVAL, call, "source and destination overlap in one array");
    c->row = c->width * e->array->element; /* a row of an array, so it does not wrap */
    if (!c->dst.array) st = array_end_memory(s, c, &c->dst, "the destination", call);
    if (st == CJ_OK && !c->src.array) st = array_end_memory(s, c, &c->src, "the source", call);
    return st;
}

static cj_status array_end_use(cj_stream *s, const array_end *e, const char *what, const char *call)
{
    if (e->array) return cji_array_use(s, e->array, call);
    return e->host ? CJ_OK : cji_mem_use(s, s->dev, &(cji_range){ e->addr, e->reach, what }, call);
}

/* -- Enqueuing; context current ------------------------------------------------------------------------------------ */

static CUmemorytype array_end_type(const array_end *e)
{
    return e->array ? CU_MEMORYTYPE_ARRAY : e->host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

static cj_status array_copy_plain(cj_stream *s, const array_copy *c, const char *call)
{
    const array_end *d = &c->dst, *f = &c->src;
    const CUDA_MEMCPY3D p = {
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
    const CUresult r = s->cu->cuMemcpy3DAsync(&p, s->raw);
    if (r != CUDA_SUCCESS) return cji_rejected(s, s->dev, r, call, "cuMemcpy3DAsync");
    cji_copy_count(s, d->host, f->host, c->row * c->height * c->depth);
    return CJ_OK;
}

static CJI_COLD cj_status array_copy_measured(cj_stream *s, const array_copy *c, const char *call)
{
    cji_work w;
    cji_work_begin(&w, s);
    cj_status st = array_copy_plain(s, c, call);
    cji_work_end(&w, s, st == CJ_OK,
                 &(cji_work_info){ .kind = cji_copy_kind(c->dst.host, c->src.host),
                                   .name = "array",
                                   .bytes = c->row * c->height * c->depth });
    return st;
}

static cj_status array_copy_enqueue(cj_stream *s, const array_copy *c, const char *call)
{
    return cji_work_measured() ? array_copy_measured(s, c, call) : array_copy_plain(s, c, call);
}

/* -- Pageable host memory ------------------------------------------------------------------------------------------ */

/* An end of a part that begins `y` rows and `z` slices further on. */
static array_end array_end_at(const array_end *e, size_t y, size_t z)
{
    array_end part = *e;
    const size_t bytes = e->array ? 0 : (z * e->rows + y) * e->pitch;
    part.y += y;
    part.z += z;
    if (e->addr) part.addr += bytes;
    if (e->host) part.host = (char *)e->host + bytes;
    return part;
}

/* A part of a copy through device memory at `d`, which it fits into. */
static cj_status array_copy_part(cj_stream *s, array_copy *part, cj_dptr d, const char *call)
{
    const bool down = part->dst.host;
    array_end *host = down ? &part->dst : &part->src;
    const cji_copy_end there = { .dev = s->dev, .addr = d.addr };
    const cji_copy_end here = { .dev = s->dev, .host = host->host, .pitch = host->pitch, .rows = host->rows };
    cji_copy rows = { .width = part->row,
                      .height = part->height,
                      .depth = part->depth,
                      .dst = down ? here : there,
                      .src = down ? there : here,
                      .which = "" };
    *host = (array_end){ .addr = d.addr, .pitch = part->row, .rows = part->height };
    cj_status st = cji_copy_use(s, &rows, call);
    if (st == CJ_OK && !down) st = cji_copy_run(s, &rows, call);
    if (st == CJ_OK) st = array_copy_enqueue(s, part, call);
    return st == CJ_OK && down ? cji_copy_run(s, &rows, call) : st;
}

/* In parts of as many slices, else rows, as the memory holds; the stream's order lets each use the same. */
static cj_status array_copy_staged(cj_stream *s, const array_copy *c, const char *call)
{
    const size_t all = c->row * c->height, slices = all <= ARRAY_PIECE ? ARRAY_PIECE / all : 1;
    const size_t nz = slices < c->depth ? slices : c->depth, fit = ARRAY_PIECE / c->row;
    const size_t ny = all <= ARRAY_PIECE ? c->height : fit ? fit : 1;
    const cj_dptr d = cj_alloc(s, c->row * ny * nz);
    cj_status st = d.addr ? CJ_OK : cji_err_latest();
    for (size_t z = 0; z < c->depth && st == CJ_OK; z += nz)
        for (size_t y = 0; y < c->height && st == CJ_OK; y += ny) {
            array_copy part = { .width = c->width,
                                .height = c->height - y < ny ? c->height - y : ny,
                                .depth = c->depth - z < nz ? c->depth - z : nz,
                                .row = c->row,
                                .dst = array_end_at(&c->dst, y, z),
                                .src = array_end_at(&c->src, y, z) };
            st = array_copy_part(s, &part, d, call);
        }
    if (!d.addr) return st;
    const cj_status freed = cj_free(s->dev, d);
    return st == CJ_OK ? freed : st;
}

static cj_status array_copy_run(cj_stream *s, const array_copy *c, const char *call)
{
    const array_end *host = c->dst.host ? &c->dst : c->src.host ? &c->src : NULL;
    const cji_host_kind kind = host ? cji_host_kind_of(s, host->host, host->reach, "", call) : CJI_HOST_PINNED;
    if (kind == CJI_HOST_INVALID) return CJ_EINVAL;
    return kind == CJI_HOST_PAGEABLE ? array_copy_staged(s, c, call) : array_copy_enqueue(s, c, call);
}

cj_status cj_copy_array(cj_stream *s, const cj_copy_array_params *params)
{
    static const char call[] = "cj_copy_array";
    cji_scope scope;
    array_copy c;
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    st = array_copy_read(s, params, &c, call);
    if (st == CJ_OK) st = array_copy_measure(s, &c, call);
    if (st == CJ_OK) st = array_end_use(s, &c.dst, "the destination", call);
    if (st == CJ_OK) st = array_end_use(s, &c.src, "the source", call);
    if (st == CJ_OK) st = cji_scope_begin(s, s->dev, &scope, call);
    if (st != CJ_OK) return cji_stream_failed(s, st);
    st = array_copy_run(s, &c, call);
    cji_scope_leave(&scope);
    return st == CJ_OK ? CJ_OK : cji_stream_failed(s, st);
}
