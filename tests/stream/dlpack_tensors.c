/* DLPack in and out: what is described is what is read; each wrong description is rejected, and stays its owner's; the
 * deleter is called once, when the last user is gone, in whatever order they go. */
#include <stddef.h>
#include <string.h>

#include "tests/device_bench.h"

enum { N = 64 };

/* The ABI as the specification has it, declared once more. */
typedef struct { int32_t device_type, device_id; } spec_device;
typedef struct { uint8_t code, bits; uint16_t lanes; } spec_type;
typedef struct {
    void *data;
    spec_device device;
    int32_t ndim;
    spec_type dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} spec_tensor;
typedef struct spec_managed { spec_tensor dl_tensor; void *ctx; void (*deleter)(struct spec_managed *); } spec_managed;
typedef struct spec_versioned {
    struct { uint32_t major, minor; } version;
    void *ctx;
    void (*deleter)(struct spec_versioned *);
    uint64_t flags;
    spec_tensor dl_tensor;
} spec_versioned;

static void abi(void)
{
    tap_ok(sizeof(spec_tensor) == sizeof(cj_dlpack_tensor) && sizeof(spec_managed) == sizeof(cj_dlpack_managed) &&
               sizeof(spec_versioned) == sizeof(cj_dlpack_versioned),
           "the structs have the sizes of the specification");
    tap_ok(offsetof(spec_tensor, dtype) == offsetof(cj_dlpack_tensor, type) &&
               offsetof(spec_tensor, strides) == offsetof(cj_dlpack_tensor, strides) &&
               offsetof(spec_tensor, byte_offset) == offsetof(cj_dlpack_tensor, byte_offset) &&
               offsetof(spec_managed, deleter) == offsetof(cj_dlpack_managed, deleter) &&
               offsetof(spec_versioned, flags) == offsetof(cj_dlpack_versioned, flags) &&
               offsetof(spec_versioned, dl_tensor) == offsetof(cj_dlpack_versioned, tensor),
           "and its offsets");
}

/* -- In ------------------------------------------------------------------------------------------------------------ */

static int deleted;
static void delete_it(cj_dlpack_managed *self) { deleted += self->manager == &deleted; }
static void delete_versioned_it(cj_dlpack_versioned *self) { deleted += self->manager == &deleted; }

static void *host, *managed, *pageable;

/* A tensor of one dimension or two, of `bytes` at `data`. */
static const struct row {
    const char *name;
    int place, id, ndim;
    cj_tensor_type type;
    int64_t shape[2], strides[2];
    bool strided;
    int64_t offset;   /* of the address */
    uint64_t byte_offset;
    cj_status status;
    const char *says; /* of a failure */
    uint64_t elements, bytes;
    bool contiguous;
} rows[] = {
    { "32-bit floats", 2, 0, 1, { 2, 32, 1 }, { N }, .elements = N, .bytes = 4 * N, .contiguous = true },
    { "a scalar", 2, 0, 0, { 2, 32, 1 }, .elements = 1, .bytes = 4, .contiguous = true },
    { "rows", 2, 0, 2, { 2, 32, 1 }, { 4, 16 }, .elements = 64, .bytes = 256, .contiguous = true },
    { "rows with strides", 2, 0, 2, { 2, 32, 1 }, { 4, 16 }, { 16, 1 }, true, .elements = 64, .bytes = 256,
      .contiguous = true },
    { "columns", 2, 0, 2, { 2, 32, 1 }, { 4, 16 }, { 1, 4 }, true, .elements = 64, .bytes = 256 },
    { "gaps", 2, 0, 2, { 2, 32, 1 }, { 4, 8 }, { 16, 1 }, true, .elements = 32, .bytes = 4 * (48 + 8) },
    { "one row of any stride", 2, 0, 2, { 2, 32, 1 }, { 1, 8 }, { INT64_MAX, 1 }, true, .elements = 8, .bytes = 32,
      .contiguous = true },
    { "backwards", 2, 0, 1, { 2, 32, 1 }, { 8 }, { -1 }, true, .offset = 28, .elements = 8, .bytes = 32 },
    { "the same element", 2, 0, 1, { 2, 32, 1 }, { 8 }, { 0 }, true, .elements = 8, .bytes = 4 },
    { "no element", 2, 0, 2, { 2, 32, 1 }, { 0, INT64_MAX }, .offset = -1000000, .contiguous = true },
    { "an offset in bytes", 2, 0, 1, { 2, 32, 1 }, { 8 }, .byte_offset = 16, .elements = 8, .bytes = 32,
      .contiguous = true },
    { "bfloat16", 2, 0, 1, { 4, 16, 1 }, { N }, .elements = N, .bytes = 2 * N, .contiguous = true },
    { "float8", 2, 0, 1, { 10, 8, 1 }, { N }, .elements = N, .bytes = N, .contiguous = true },
    { "four lanes", 2, 0, 1, { 2, 32, 4 }, { 4 }, .elements = 4, .bytes = 64, .contiguous = true },
    { "4-bit integers", 2, 0, 1, { 0, 4, 1 }, { 9 }, .elements = 9, .bytes = 5, .contiguous = true },
    { "complex", 2, 0, 1, { 5, 64, 1 }, { 8 }, .offset = 4, .elements = 8, .bytes = 64, .contiguous = true },
    { "page-locked memory", 3, 0, 1, { 1, 8, 1 }, { N }, .elements = N, .bytes = N, .contiguous = true },
    { "managed memory", 13, 0, 1, { 1, 8, 1 }, { N }, .elements = N, .bytes = N, .contiguous = true },

    { "pageable memory", 1, 0, 1, { 1, 8, 1 }, { N }, .status = CJ_ENOTSUP, .says = "pageable" },
    { "no place", 7, 0, 1, { 1, 8, 1 }, { N }, .status = CJ_EINVAL, .says = "place 7" },
    { "place 0", 0, 0, 1, { 1, 8, 1 }, { N }, .status = CJ_EINVAL, .says = "no device" },
    { "another device", 2, 1, 1, { 1, 8, 1 }, { N }, .status = CJ_EINVAL, .says = "is of device 1" },
    { "called page-locked", 3, -1, 1, { 1, 8, 1 }, { N }, .status = CJ_EINVAL, .says = "is device memory" },
    { "no lanes", 2, 0, 1, { 2, 32, 0 }, { N }, .status = CJ_EINVAL, .says = "0 lanes" },
    { "no bits", 2, 0, 1, { 2, 0, 1 }, { N }, .status = CJ_EINVAL, .says = "0 bits" },
    { "12 bits", 2, 0, 1, { 2, 12, 1 }, { N }, .status = CJ_EINVAL, .says = "12 bits" },
    { "code 99", 2, 0, 1, { 99, 8, 1 }, { N }, .status = CJ_EINVAL, .says = "code 99" },
    { "a size below 0", 2, 0, 1, { 2, 32, 1 }, { -1 }, .status = CJ_EINVAL, .says = "the size -1" },
    { "too many dimensions", 2, 0, 65, { 2, 32, 1 }, { 1 }, .status = CJ_EINVAL, .says = "65 dimensions" },
    { "dimensions below 0", 2, 0, -1, { 2, 32, 1 }, { 1 }, .status = CJ_EINVAL, .says = "-1 dimensions" },
    { "elements beyond 64 bits", 2, 0, 2, { 2, 32, 1 }, { INT64_MAX, 3 }, .status = CJ_EINVAL, .says = "64 bits" },
    { "bytes beyond 64 bits", 2, 0, 1, { 2, 64, 1 }, { INT64_MAX }, .status = CJ_EINVAL, .says = "64 bits" },
    { "strides beyond 64 bits", 2, 0, 2, { 2, 32, 1 }, { 3, 2 }, { INT64_MAX, 1 }, true, .status = CJ_EINVAL,
      .says = "64 bits" },
    { "below all memory", 2, 0, 1, { 2, 32, 1 }, { 3 }, { INT64_MIN / 8 }, true, .status = CJ_EINVAL,
      .says = "64 bits" },
    { "an odd address", 2, 0, 1, { 2, 32, 1 }, { 8 }, .offset = 2, .status = CJ_EINVAL, .says = "aligned to 4" },
    { "an odd offset", 2, 0, 1, { 2, 32, 1 }, { 8 }, .byte_offset = 1, .status = CJ_EINVAL, .says = "aligned to 4" },
    { "an offset beyond all memory", 2, 0, 1, { 2, 32, 1 }, { 8 }, .byte_offset = UINT64_MAX, .status = CJ_EINVAL,
      .says = "beyond all memory" },
    { "more than the allocation", 2, 0, 1, { 2, 32, 1 }, { N + 1 }, .status = CJ_EINVAL, .says = "the allocation has" },
    { "before the allocation", 2, 0, 1, { 2, 32, 1 }, { 8 }, { -1 }, true, .status = CJ_EINVAL, .says = "" },
};

static void *memory_of(const struct row *r)
{
    if (r->place == 13) return managed;
    if (r->place == 3 && !r->id) return host;
    return r->place == 1 ? pageable : (void *)(uintptr_t)d.addr;
}

static void described(const struct row *r)
{
    int64_t shape[2] = { r->shape[0], r->shape[1] }, strides[2] = { r->strides[0], r->strides[1] };
    cj_dlpack_managed m = { .manager = &deleted, .deleter = delete_it };
    cj_dlpack_versioned v = { .major = 1, .minor = 3, .manager = &deleted, .deleter = delete_versioned_it };
    m.tensor = (cj_dlpack_tensor){ .data = (char *)memory_of(r) + r->offset, .device_type = r->place,
                                   .device_id = r->id, .ndim = r->ndim, .type = r->type, .shape = shape,
                                   .strides = r->strided ? strides : NULL, .byte_offset = r->byte_offset };
    v.tensor = m.tensor;
    cj_tensor *y[2] = { cj_tensor_from_dlpack(dev, &m), cj_tensor_from_dlpack_versioned(dev, &v) };
    deleted = 0;
    for (int i = 0; i < 2; i++) {
        const cj_error *e = cj_error_of(y[i]);
        const char *form = i ? "versioned" : "unversioned";
        tap_is_int(e->status, r->status, "%s, %s: %s", r->name, form, e->message);
        if (r->says) tap_has_str(e->message, r->says, "%s, %s: and why", r->name, form);
        cj_tensor_info x = { .size = sizeof x };
        if (r->status == CJ_OK && cj_tensor_get_info(y[i], &x) == CJ_OK) {
            tap_is_uint(x.elements, r->elements, "%s, %s: elements", r->name, form);
            tap_is_uint(x.bytes, r->bytes, "%s, %s: bytes", r->name, form);
            tap_is_int(x.contiguous, r->contiguous, "%s, %s: contiguous", r->name, form);
            tap_ok(x.data.addr == (uint64_t)(uintptr_t)m.tensor.data + r->byte_offset && x.place == r->place,
                   "%s, %s: the address and the place", r->name, form);
        }
        cj_tensor_free(y[i]);
    }
    tap_is_int(deleted, r->status == CJ_OK ? 2 : 0, "%s: the deleter is called by those who own it", r->name);
}

static void flags_and_versions(void)
{
    int64_t shape = N;
    cj_dlpack_versioned v = { .major = 1, .minor = 0, .manager = &deleted, .deleter = delete_versioned_it,
                              .flags = CJ_DLPACK_READ_ONLY | CJ_DLPACK_IS_COPIED | CJ_DLPACK_IS_PADDED };
    v.tensor = (cj_dlpack_tensor){ .data = (void *)(uintptr_t)d.addr, .device_type = 2, .ndim = 1,
                                   .type = { 0, 4, 1 }, .shape = &shape };
    cj_tensor *y = cj_tensor_from_dlpack_versioned(dev, &v);
    cj_tensor_info x = { .size = sizeof x };
    cj_tensor_get_info(y, &x);
    tap_ok(x.read_only && x.copied && x.padded, "flags are read");
    tap_is_uint(x.bytes, N, "padded elements have a byte each");
    tap_ok(!cj_tensor_to_dlpack(y), "read-only memory has no unversioned form");
    tap_is_int(cj_error_of(y)->status, CJ_EINVAL, "... which is an error: %s", cj_error_of(y)->message);
    cj_dlpack_versioned *out = cj_tensor_to_dlpack_versioned(y);
    tap_ok(out && out->flags == v.flags && out->major == 1, "flags are written");
    out->deleter(out);
    cj_tensor_free(y);
    v.major = 2;
    y = cj_tensor_from_dlpack_versioned(dev, &v);
    tap_is_int(cj_error_of(y)->status, CJ_ENOTSUP, "another major version: %s", cj_error_of(y)->message);
    cj_tensor_free(y);
    cj_tensor *none[] = { cj_tensor_from_dlpack(dev, NULL), cj_tensor_from_dlpack_versioned(dev, NULL) };
    for (int i = 0; i < 2; i++) tap_is_int(cj_error_of(none[i])->status, CJ_EINVAL, "NULL"), cj_tensor_free(none[i]);
    v.major = 1, v.deleter = NULL;
    y = cj_tensor_from_dlpack_versioned(dev, &v);
    cj_tensor_free(y);
    tap_is_int(cj_error_of(dev)->status, CJ_OK, "a deleter may be NULL");
}

/* -- Out ----------------------------------------------------------------------------------------------------------- */

static int released;
static void release_it(void *user) { *(int *)user += 1; }

/* A consumer that takes the struct of the specification, and a kernel of ours on what comes back. */
static void round_trip(void)
{
    const int64_t shape[] = { 8, 8 };
    static uint32_t got[N];
    cj_tensor_info x = { .size = sizeof x, .data = d, .ndim = 2, .type = { CJ_TENSOR_UINT, 32, 1 }, .shape = shape };
    cj_tensor *y = cj_tensor_create(dev, &x, release_it, &released);
    tap_is_int(cj_error_of(y)->status, CJ_OK, "a tensor of the device's memory: %s", cj_error_of(y)->message);
    tap_ok(cj_tensor_device(y) == dev, "its device");
    spec_managed *m = (spec_managed *)cj_tensor_to_dlpack(y);
    spec_versioned *v = (spec_versioned *)cj_tensor_to_dlpack_versioned(y);
    tap_ok(m->dl_tensor.data == (void *)(uintptr_t)d.addr && m->dl_tensor.device.device_type == 2 &&
               m->dl_tensor.device.device_id == 0 && m->dl_tensor.ndim == 2 && m->dl_tensor.dtype.bits == 32 &&
               m->dl_tensor.dtype.code == 1 && m->dl_tensor.shape[1] == 8 && m->dl_tensor.strides[0] == 8 &&
               m->dl_tensor.strides[1] == 1 && !m->dl_tensor.byte_offset,
           "the fields of the specification");
    tap_ok(v->version.major == 1 && !v->flags && v->dl_tensor.shape[0] == 8 && v->dl_tensor.shape != m->dl_tensor.shape,
           "each export has lists of its own");
    cj_tensor *in = cj_tensor_from_dlpack_versioned(dev, (cj_dlpack_versioned *)v);
    cj_tensor_get_info(in, &x);
    cj_fill32(s, d, 5, N);
    cj_launch(s, add, cj_grid(1, N), x.data, x.elements, 1);
    cj_copy_to_host(s, got, x.data, x.bytes);
    tap_is_int(cj_stream_sync(s), CJ_OK, "a kernel on it: %s", cj_error_of(s)->message);
    tap_ok(got[0] == 6 && got[N - 1] == 6, "is right");
    cj_tensor_free(y);
    tap_is_int(released, 0, "exports keep the memory");
    m->deleter(m);
    tap_is_int(released, 0, "each of them");
    cj_tensor_free(in);
    tap_is_int(released, 1, "the last one releases it");
}

int main(void)
{
    bench_open(4 * N);
    host = cj_host_alloc(dev, N, NULL);
    cj_dptr m = cj_managed_alloc(s, N);
    managed = (void *)(uintptr_t)m.addr;
    static char there[N];
    pageable = there;
    abi();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) described(&rows[i]);
    flags_and_versions();
    round_trip();
    cj_tensor *bad = cj_tensor_create(dev, NULL, release_it, &released);
    tap_is_int(cj_error_of(bad)->status, CJ_EINVAL, "no description");
    cj_tensor_free(bad);
    tap_is_int(released, 1, "of which nothing is released");
    cj_free(dev, m);
    cj_host_free(dev, host);
    return bench_close();
}
