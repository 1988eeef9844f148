/* cj_tensor: a description of memory that is checked once, and who releases the memory. */
#include <string.h>

#include "base/opts.h"
#include "stream/interop/stream_interop.h"
#include "stream/memory/stream_memory.h"

void cj_tensor_info_defaults(cj_tensor_info *info)
{
    if (info) *info = (cj_tensor_info){ .size = sizeof *info };
}

/* -- Types --------------------------------------------------------------------------------------------------------- */

/* The widths that a code has: a bit for each, by its logarithm; 6 bits are apart. */
static bool type_is_known(const cj_tensor_type *type)
{
    static const struct { uint8_t code, bits[8]; } rows[] = {
        { CJ_TENSOR_INT, { 1, 2, 4, 8, 16, 32, 64, 128 } },
        { CJ_TENSOR_UINT, { 1, 2, 4, 8, 16, 32, 64, 128 } },
        { CJ_TENSOR_FLOAT, { 16, 32, 64, 128 } },
        { CJ_TENSOR_OPAQUE, { 8, 16, 32, 64, 128 } },
        { CJ_TENSOR_BFLOAT, { 16 } },
        { CJ_TENSOR_COMPLEX, { 32, 64, 128 } },
        { CJ_TENSOR_BOOL, { 1, 8 } },
    };
    if (!type->lanes || !type->bits) return false;
    if (type->code >= CJ_TENSOR_NARROW) return type->code <= CJ_TENSOR_NARROW_LAST && type->bits <= 8;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].code == type->code) return memchr(rows[i].bits, type->bits, sizeof rows[i].bits) != NULL;
    return false;
}

uint64_t cji_tensor_item(const cj_tensor_info *info)
{
    const uint64_t bits = info->type.bits;
    if (bits < 8 && info->padded) return info->type.lanes;
    return bits * info->type.lanes % 8 ? 0 : bits * info->type.lanes / 8;
}

/* What addresses are multiples of: the bytes of one number. */
static uint64_t type_alignment(const cj_tensor_type *type)
{
    const unsigned bits = type->code == CJ_TENSOR_COMPLEX ? type->bits / 2 : type->bits;
    return bits < 16 ? 1 : bits > 64 ? 8 : bits / 8;
}

/* -- Sizes --------------------------------------------------------------------------------------------------------- */

/* Fills the strides that are missing, elements and contiguous; false: beyond 64 bits. */
static bool count_elements(cj_tensor_info *x, int64_t *strides, bool given)
{
    int64_t step = 1;
    bool rows = true, none = false;
    for (int32_t i = x->ndim; i-- > 0;) {
        if (!given) strides[i] = step;
        if (x->shape[i] != 1 && strides[i] != step) rows = false;
        if (!x->shape[i]) none = true;
        else if (__builtin_mul_overflow(step, x->shape[i], &step)) return false;
    }
    x->elements = none ? 0 : (uint64_t)step;
    x->contiguous = rows || none;
    return true;
}

/* The elements lie at offsets *low to *high from the first one; false: beyond 64 bits. */
static bool find_span(const cj_tensor_info *x, int64_t *low, int64_t *high)
{
    *low = *high = 0;
    for (int32_t i = 0; i < x->ndim; i++) {
        int64_t reach, *end = x->strides[i] < 0 ? low : high;
        if (__builtin_mul_overflow(x->shape[i] - 1, x->strides[i], &reach)) return false;
        if (__builtin_add_overflow(*end, reach, end)) return false;
    }
    return true;
}

/* Bytes of `elements` ones; false: beyond 64 bits. */
static bool span_bytes(const cj_tensor_info *x, uint64_t elements, uint64_t *bytes)
{
    const uint64_t item = cji_tensor_item(x), bits = (uint64_t)x->type.bits * x->type.lanes;
    if (item) return !__builtin_mul_overflow(elements, item, bytes);
    if (__builtin_mul_overflow(elements, bits, bytes)) return false;
    *bytes = *bytes / 8 + (*bytes % 8 != 0);
    return true;
}

/* Whether no byte of it lies outside of 64-bit addresses; *first is the lowest address. */
static bool span_fits(cj_tensor_info *x, uint64_t *first)
{
    int64_t low, high;
    uint64_t below, all, end;
    *first = x->data.addr;
    x->bytes = 0;
    if (!x->elements) return true;
    if (!find_span(x, &low, &high)) return false;
    if (!span_bytes(x, 0 - (uint64_t)low, &below)) return false;
    if (!span_bytes(x, (uint64_t)high - (uint64_t)low + 1, &all)) return false;
    if (below > x->data.addr) return false;
    *first = x->data.addr - below;
    x->bytes = all;
    return !__builtin_add_overflow(*first, all, &end);
}

/* -- Memory -------------------------------------------------------------------------------------------------------- */

static int32_t place_of_kind(int32_t kind)
{
    return kind == CJ_MEM_KIND_HOST ? CJ_TENSOR_CUDA_HOST : kind == CJ_MEM_KIND_MANAGED ? CJ_TENSOR_CUDA_MANAGED
                                                                                        : CJ_TENSOR_CUDA;
}

static const char *place_name(int32_t place)
{
    return place == CJ_TENSOR_CUDA_HOST      ? "page-locked host memory"
           : place == CJ_TENSOR_CUDA_MANAGED ? "managed memory"
                                             : "device memory";
}

/* What the library or the driver knows of the memory agrees.  Ranges of other code's memory are not known: a block of
 * their allocators may span several of the driver's. */
static cj_status memory_check(cj_tensor *t, uint64_t first, const char *call)
{
    const cj_tensor_info *x = &t->info;
    cj_mem_info m = { .size = sizeof m };
    if (!x->elements) return CJ_OK;
    if (!x->data.addr) return cji_fail(t, CJ_EINVAL, call, "the address is NULL, and there are elements");
    if (x->data.addr % type_alignment(&x->type))
        return cji_fail(t, CJ_EINVAL, call, "0x%llx is not aligned to %llu bytes, the size of a value",
                        (unsigned long long)x->data.addr, (unsigned long long)type_alignment(&x->type));
    bool known;
    cj_status st = cji_mem_info_find(t, t->dev, first, &m, &known, call);
    if (st != CJ_OK) return st;
    if (!known)
        return cji_fail(t, CJ_EINVAL, call, "0x%llx is in no memory that the driver knows",
                        (unsigned long long)first);
    if (place_of_kind(m.kind) != x->place)
        return cji_fail(t, CJ_EINVAL, call, "0x%llx is %s, and described as %s", (unsigned long long)first,
                        place_name(place_of_kind(m.kind)), place_name(x->place));
    if (x->place == CJ_TENSOR_CUDA && (!m.device || m.device->ordinal != t->dev->ordinal))
        return cji_fail(t, CJ_EINVAL, call, "0x%llx is memory of another device than %d", (unsigned long long)first,
                        t->dev->ordinal);
    if (m.kind != CJ_MEM_KIND_FOREIGN && m.bytes && x->bytes > m.bytes - (first - m.base.addr))
        return cji_fail(t, CJ_EINVAL, call, "the elements take %llu bytes from 0x%llx on, and the allocation has %llu",
                        (unsigned long long)x->bytes, (unsigned long long)first,
                        (unsigned long long)(m.bytes - (first - m.base.addr)));
    return CJ_OK;
}

/* -- Objects ------------------------------------------------------------------------------------------------------- */

static cj_status description_check(void *into, const cj_tensor_info *x, const char *call)
{
    if (x->place == CJ_TENSOR_CPU)
        return cji_fail(into, CJ_ENOTSUP, call,
                        "the memory is pageable host memory; copy it to the device, or to memory of cj_host_alloc");
    if (x->place != CJ_TENSOR_CUDA && x->place != CJ_TENSOR_CUDA_HOST && x->place != CJ_TENSOR_CUDA_MANAGED)
        return cji_fail(into, CJ_EINVAL, call, "the place %d is no cj_tensor_place", (int)x->place);
    if (!type_is_known(&x->type))
        return cji_fail(into, CJ_EINVAL, call, "no type has code %d, %d bits and %d lanes", x->type.code, x->type.bits,
                        x->type.lanes);
    if (x->ndim < 0 || x->ndim > CJI_TENSOR_DIMS)
        return cji_fail(into, CJ_EINVAL, call, "%d dimensions; there are 0 to %d", (int)x->ndim, CJI_TENSOR_DIMS);
    if (x->ndim && !x->shape)
        return cji_fail(into, CJ_EINVAL, call, "the shape of %d dimensions is NULL", (int)x->ndim);
    for (int32_t i = 0; i < x->ndim; i++)
        if (x->shape[i] < 0)
            return cji_fail(into, CJ_EINVAL, call, "dimension %d has the size %lld", (int)i, (long long)x->shape[i]);
    return CJ_OK;
}

static size_t list_bytes(int32_t ndim) { return (2 * (size_t)ndim + 1) * sizeof(int64_t); }

/* Copies the lists into the tensor, and computes what follows from them. */
static cj_status tensor_fill(cj_tensor *t, const cj_tensor_info *info, const char *call)
{
    cj_tensor_info *x = &t->info;
    uint64_t first;
    *x = *info;
    if (!x->place) x->place = CJ_TENSOR_CUDA;
    cj_status st = description_check(t, x, call);
    if (st != CJ_OK) return st;
    t->list = cji_zalloc(list_bytes(x->ndim));
    if (!t->list) return cji_fail(t, CJ_ENOMEM, call, "no memory for %d dimensions", (int)x->ndim);
    for (int32_t i = 0; i < x->ndim; i++) {
        t->list[i] = info->shape[i];
        if (info->strides) t->list[x->ndim + i] = info->strides[i];
    }
    x->shape = t->list;
    x->strides = t->list + x->ndim;
    if (!count_elements(x, t->list + x->ndim, info->strides != NULL) || !span_fits(x, &first))
        return cji_fail(t, CJ_EINVAL, call, "the sizes and strides of the elements exceed 64 bits");
    return memory_check(t, first, call);
}

cj_tensor *cji_tensor_make(cj_device *dev, const cj_tensor_info *info, void (*release)(void *user), void *user,
                           const char *call)
{
    cj_tensor_info all = { .size = sizeof all };
    cj_tensor *t = cji_obj_new(sizeof *t, CJI_TAG_TENSOR, 0, call);
    if (cji_obj_failed(t)) return t;
    cj_status st = cji_check_arg(t, dev, CJI_TAG_DEVICE, call, "the device");
    if (st == CJ_OK && !info) st = cji_fail(t, CJ_EINVAL, call, "info is NULL");
    if (st == CJ_OK && !cji_opts_take(&all, sizeof all, info, t, call, "cj_tensor_info")) st = CJ_EINVAL;
    if (st == CJ_OK) t->dev = dev, st = tensor_fill(t, &all, call);
    if (st != CJ_OK) {
        if (t->list) cji_free(t->list, list_bytes(t->info.ndim));
        cji_obj_set_failed(t);
        return t;
    }
    cji_obj_retain(dev);
    t->release = release;
    t->user = user;
    return t;
}

cj_tensor *cji_tensor_failed(cj_status status, const char *call, const char *fmt, ...)
{
    cj_error e;
    va_list args;
    cj_tensor *t = cji_obj_new(sizeof *t, CJI_TAG_TENSOR, 0, call);
    if (cji_obj_failed(t)) return t;
    if (fmt) {
        va_start(args, fmt);
        cji_err_make(&e, status, call, fmt, args);
        va_end(args);
        cji_fail_with(t, &e);
    } else {
        cji_fail_also(t);
    }
    cji_obj_set_failed(t);
    return t;
}

cj_tensor *cj_tensor_create(cj_device *dev, const cj_tensor_info *info, void (*release)(void *user), void *user)
{
    return cji_tensor_make(dev, info, release, user, "cj_tensor_create");
}

cj_status cj_tensor_get_info(cj_tensor *t, cj_tensor_info *info)
{
    static const char call[] = "cj_tensor_get_info";
    cj_status st = cji_check(t, CJI_TAG_TENSOR, call);
    if (st != CJ_OK) return st;
    if (!info || info->size < sizeof info->size)
        return cji_fail(t, CJ_EINVAL, call, "info is NULL, or info->size is not sizeof(cj_tensor_info)");
    cj_tensor_info all = t->info;
    all.size = info->size;
    memcpy(info, &all, info->size < sizeof all ? info->size : sizeof all);
    return CJ_OK;
}

cj_device *cj_tensor_device(const cj_tensor *t) { return cji_readable(t, CJI_TAG_TENSOR, false) ? t->dev : NULL; }

void cji_tensor_drop(cj_tensor *t)
{
    if (!cji_obj_release(t)) return;
    if (!cji_obj_failed(t)) {
        if (t->release) t->release(t->user);
        cji_free(t->list, list_bytes(t->info.ndim));
        cji_device_drop(t->dev);
    }
    cji_obj_delete(t, sizeof *t);
}

void cj_tensor_free(cj_tensor *t)
{
    if (cji_check_free(t, CJI_TAG_TENSOR, "cj_tensor_free")) cji_tensor_drop(t);
}
