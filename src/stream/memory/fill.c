/* Fills: elements of 1, 2, 4 and 8 bytes, in one range or in rows.
 *
 * The driver fills elements of up to 4 bytes.  A fill of 8 bytes whose halves are equal is one of 4; any other is two
 * fills of rows of one element, a row every 8 bytes: the lower halves and the upper ones. */
#include "stream/core/work_hooks.h"
#include "stream/memory/stream_memory.h"

/* -- What a fill is ------------------------------------------------------------------------------------------------ */

cj_status cji_fill_measure(void *into, cji_fill *f, size_t *reach, const char *call)
{
    size_t row, rows;
    if (__builtin_mul_overflow(f->width, f->size, &row))
        return cji_fail(into, CJ_EINVAL, call, "%zu elements are beyond any memory", f->width);
    if (!f->pitch || f->height == 1) f->pitch = row;
    if (f->to % f->size || (f->height > 1 && f->pitch % f->size))
        return cji_fail(into, CJ_EINVAL, call, "0x%llx%s is not aligned to %zu bytes",
                        (unsigned long long)(f->to % f->size ? f->to : f->pitch), f->to % f->size ? "" : ", the pitch,",
                        f->size);
    if (f->pitch < row)
        return cji_fail(into, CJ_EINVAL, call, "there are %zu bytes from row to row, the rows have %zu", f->pitch, row);
    if (__builtin_mul_overflow(f->pitch, f->height - 1, &rows) || __builtin_add_overflow(rows, row, reach))
        return cji_fail(into, CJ_EINVAL, call, "the fill is beyond any memory");
    if (f->pitch != row) return CJ_OK;
    f->width *= f->height; /* rows without gaps */
    f->height = 1;
    f->pitch = f->width * f->size;
    return CJ_OK;
}

unsigned cji_fill_split(const cji_fill *f, cji_fill part[2])
{
    part[0] = *f;
    if (f->size < 8) return 1;
    part[0].size = 4;
    part[0].value = (uint32_t)f->value;
    if (f->value >> 32 == (uint32_t)f->value) {
        part[0].width = 2 * f->width;
        return 1;
    }
    part[0].height = f->width;
    part[0].width = 1;
    part[0].pitch = 8;
    part[1] = part[0];
    part[1].to += 4;
    part[1].value = f->value >> 32;
    return 2;
}

/* -- Fills on a stream --------------------------------------------------------------------------------------------- */

static CUresult fill_range(cj_stream *s, const cji_fill *f, const char **cu_call)
{
    const unsigned char byte = (unsigned char)f->value;
    const unsigned short half = (unsigned short)f->value;
    if (f->size == 1) return *cu_call = "cuMemsetD8Async", s->cu->cuMemsetD8Async(f->to, byte, f->width, s->raw);
    if (f->size == 2) return *cu_call = "cuMemsetD16Async", s->cu->cuMemsetD16Async(f->to, half, f->width, s->raw);
    return *cu_call = "cuMemsetD32Async", s->cu->cuMemsetD32Async(f->to, (unsigned)f->value, f->width, s->raw);
}

static CUresult fill_rows(cj_stream *s, const cji_fill *f, const char **cu_call)
{
    const unsigned char byte = (unsigned char)f->value;
    const unsigned short half = (unsigned short)f->value;
    if (f->size == 1)
        return *cu_call = "cuMemsetD2D8Async",
               s->cu->cuMemsetD2D8Async(f->to, f->pitch, byte, f->width, f->height, s->raw);
    if (f->size == 2)
        return *cu_call = "cuMemsetD2D16Async",
               s->cu->cuMemsetD2D16Async(f->to, f->pitch, half, f->width, f->height, s->raw);
    return *cu_call = "cuMemsetD2D32Async",
           s->cu->cuMemsetD2D32Async(f->to, f->pitch, (unsigned)f->value, f->width, f->height, s->raw);
}

static CUresult fill_enqueue(cj_stream *s, const cji_fill *f, const char **cu_call)
{
    cji_fill part[2];
    CUresult r = CUDA_SUCCESS;
    const unsigned n = cji_fill_split(f, part);
    for (unsigned i = 0; i < n && r == CUDA_SUCCESS; i++)
        r = part[i].height == 1 ? fill_range(s, &part[i], cu_call) : fill_rows(s, &part[i], cu_call);
    return r;
}

/* The driver's word for memory that it does not know, and for memory that the device has no access to, is the same. */
static CJI_COLD cj_status fill_rejected(cj_stream *s, const cji_fill *f, CUresult r, const char *cu_call,
                                        const char *call)
{
    if (r != CUDA_ERROR_INVALID_VALUE) return cji_rejected(s, s->dev, r, call, cu_call);
    cj_device *owner = cji_mem_owner(s->dev, f->to);
    const int own = s->dev->ordinal, of = owner->ordinal;
    const bool other = owner != s->dev;
    cji_device_drop(owner);
    if (other)
        return cji_cu_fail_as(s, s->dev, r, CJ_OK, cu_call, call,
                              "%s: 0x%llx is memory of device %d, the stream is of device %d; fill it on a stream of "
                              "device %d, or call cj_device_enable_peer", call, (unsigned long long)f->to, of, own, of);
    return cji_cu_fail_as(s, s->dev, r, CJ_OK, cu_call, call, "%s: %zu x %zu elements of %zu bytes at 0x%llx", call,
                          (size_t)f->width, (size_t)f->height, (size_t)f->size, (unsigned long long)f->to);
}

static cj_status fill_run(cj_stream *s, cji_fill f, const char *call);

static CJI_COLD cj_status fill_measured(cj_stream *s, const cji_fill *f, const char *call)
{
    cji_work w;
    cji_work_begin(&w, s);
    cj_status st = fill_run(s, *f, call);
    const uint64_t bytes = (uint64_t)f->width * f->height * f->size;
    cji_work_end(&w, s, st == CJ_OK, &(cji_work_info){ .kind = CJ_PROFILE_FILL, .name = "", .bytes = bytes });
    return st;
}

static cj_status fill_run(cj_stream *s, cji_fill f, const char *call)
{
    cji_range range = { f.to, 0, "the destination" };
    cji_scope scope;
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK || !f.width || !f.height) return st;
    if (cji_work_measured()) return fill_measured(s, &f, call);
    st = cji_fill_measure(s, &f, &range.bytes, call);
    if (st == CJ_OK) st = cji_mem_use(s, s->dev, &range, call);
    if (st == CJ_OK) st = cji_scope_begin(s, s->dev, &scope, call);
    if (st != CJ_OK) return cji_stream_failed(s, st);
    const char *cu_call = "";
    const CUresult r = fill_enqueue(s, &f, &cu_call);
    cji_scope_leave(&scope);
    if (r != CUDA_SUCCESS) st = fill_rejected(s, &f, r, cu_call, call);
    if (st != CJ_OK) return cji_stream_failed(s, st);
    cji_count(s, &s->counts.fills, 1);
    cji_count_one(s);
    return CJ_OK;
}

static cj_status fill_plain(cj_stream *s, cj_dptr d, uint64_t value, unsigned size, size_t count, const char *call)
{
    return fill_run(s, (cji_fill){ .to = d.addr, .value = value, .size = size, .width = count, .height = 1 }, call);
}

cj_status cj_fill8(cj_stream *s, cj_dptr d, uint8_t value, size_t count)
{
    return fill_plain(s, d, value, 1, count, "cj_fill8");
}
cj_status cj_fill16(cj_stream *s, cj_dptr d, uint16_t value, size_t count)
{
    return fill_plain(s, d, value, 2, count, "cj_fill16");
}
cj_status cj_fill32(cj_stream *s, cj_dptr d, uint32_t value, size_t count)
{
    return fill_plain(s, d, value, 4, count, "cj_fill32");
}
cj_status cj_fill64(cj_stream *s, cj_dptr d, uint64_t value, size_t count)
{
    return fill_plain(s, d, value, 8, count, "cj_fill64");
}

cj_status cji_fill_2d_check(void *into, size_t element_bytes, uint32_t value, const char *call)
{
    if (element_bytes != 1 && element_bytes != 2 && element_bytes != 4)
        return cji_fail(into, CJ_EINVAL, call, "elements of %zu bytes; a fill of rows has elements of 1, 2 or 4",
                        element_bytes);
    if (element_bytes < 4 && value >> 8 * element_bytes)
        return cji_fail(into, CJ_EINVAL, call, "the value 0x%x does not fit into %zu bytes", value, element_bytes);
    return CJ_OK;
}

cj_status cj_fill_2d(cj_stream *s, cj_dptr d, size_t pitch, size_t element_bytes, uint32_t value, size_t width,
                     size_t height)
{
    static const char call[] = "cj_fill_2d";
    cj_status st = cji_check(s, CJI_TAG_STREAM, call);
    if (st != CJ_OK) return st;
    st = cji_fill_2d_check(s, element_bytes, value, call);
    if (st != CJ_OK) return cji_stream_failed(s, st);
    const cji_fill f = {
        .to = d.addr, .value = value, .size = element_bytes, .pitch = pitch, .width = width, .height = height
    };
    return fill_run(s, f, call);
}
