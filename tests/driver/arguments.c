/* Arguments of a launch are checked against the kernel's parameters: number, kind, size, range. */
#include <math.h>
#include <string.h>

#include "driver/driver.h"
#include "tests/driver/libfake.h"
#include "tests/tap.h"

static const char text[] =
    "// .entry comment(.param .u32 x)\n.version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry k(\n .param .u8 u8, .param .s8 s8, .param .u16 u16, .param .s16 s16,\n"
    " .param .u32 u32, /* , */ .param .s32 s32, .param .u64 u64, .param .s64 s64,\n"
    " .param .b32 b32, .param .b64 b64, .param .f32 f32, .param .f64 f64,\n"
    " .param .u64 .ptr .global .align 16 p, .param .align 8 .b8 st[24], .param .f16 h)\n{ ret; }\n"
    ".entry none { ret; }\n.entry empty() { ret; }\n";

enum { U8, S8, U16, S16, U32, S32, U64, S64, B32, B64, F32, F64, P, ST, H, COUNT };

static const struct { const char *name; uint32_t offset, bytes;
} params[COUNT] = {
    { "u8", 0, 1 },   { "s8", 1, 1 },   { "u16", 2, 2 },  { "s16", 4, 2 },  { "u32", 8, 4 },
    { "s32", 12, 4 }, { "u64", 16, 8 }, { "s64", 24, 8 }, { "b32", 32, 4 }, { "b64", 40, 8 },
    { "f32", 48, 4 }, { "f64", 56, 8 }, { "p", 64, 8 },   { "st", 72, 24 }, { "h", 96, 2 },
};

enum { I = CJ_ARG_I, U = CJ_ARG_U, F = CJ_ARG_F32, D = CJ_ARG_F64, A = CJ_ARG_PTR, B = CJ_ARG_BYTES };

static const struct { int at, kind; int64_t i; double d; cj_status want; const char *says;
} cases[] = {
    { U8, I, 255, 0, CJ_OK, 0 },
    { U8, I, 256, 0, CJ_EINVAL, "k: argument 1 (u8) is 256, which does not fit .u8" },
    { U8, I, -1, 0, CJ_EINVAL, "is -1" },
    { S8, I, -128, 0, CJ_OK, 0 },
    { S8, I, -129, 0, CJ_EINVAL, "-129, which does not fit .s8" },
    { S8, U, 128, 0, CJ_EINVAL, "128" },
    { U16, U, 65535, 0, CJ_OK, 0 },
    { U16, U, 65536, 0, CJ_EINVAL, "65536, which does not fit .u16" },
    { S16, I, -32768, 0, CJ_OK, 0 },
    { S16, I, 32768, 0, CJ_EINVAL, "32768" },
    { U32, I, 4294967295, 0, CJ_OK, 0 },
    { U32, I, 4294967296, 0, CJ_EINVAL, "(u32) is 4294967296" },
    { U32, I, -1, 0, CJ_EINVAL, "does not fit .u32" },
    { S32, I, INT32_MIN, 0, CJ_OK, 0 },
    { S32, I, 2147483648, 0, CJ_EINVAL, "does not fit .s32" },
    { S32, D, 0, 1.0, CJ_EINVAL, "is a double, the parameter is .s32" },
    { U64, I, -1, 0, CJ_EINVAL, "does not fit .u64" },
    { U64, U, -1, 0, CJ_OK, 0 },
    { U64, A, 4096, 0, CJ_OK, 0 },
    { S64, I, INT64_MIN, 0, CJ_OK, 0 },
    { S64, U, -1, 0, CJ_EINVAL, "18446744073709551615, which does not fit .s64" },
    { B32, I, -1, 0, CJ_OK, 0 },
    { B32, U, 4294967295, 0, CJ_OK, 0 },
    { B32, F, 0, 1.5, CJ_OK, 0 },
    { B32, D, 0, 1.5, CJ_EINVAL, "write it as a float" },
    { B64, I, -1, 0, CJ_OK, 0 },
    { B64, D, 0, 1.5, CJ_OK, 0 },
    { B64, A, 4096, 0, CJ_OK, 0 },
    { F32, F, 0, 1.5, CJ_OK, 0 },
    { F32, D, 0, 0.1, CJ_OK, 0 },
    { F32, D, 0, 1e39, CJ_EINVAL, "1e+39, which does not fit .f32" },
    { F32, D, 0, INFINITY, CJ_OK, 0 },
    { F32, I, 2, 0, CJ_EINVAL, "is an integer, the parameter is .f32; write it as a float, like 2.0f" },
    { F32, A, 4096, 0, CJ_EINVAL, "is a device address" },
    { F64, F, 0, 1.5, CJ_OK, 0 },
    { F64, D, 0, 1e300, CJ_OK, 0 },
    { F64, U, 2, 0, CJ_EINVAL, "like 2.0" },
    { P, A, 4096, 0, CJ_OK, 0 },
    { P, I, 0, 0, CJ_OK, 0 },
    { P, U, 4096, 0, CJ_EINVAL, "is an integer, the parameter is a pointer; pass a cj_dptr, or 0" },
    { P, D, 0, 1.0, CJ_EINVAL, "the parameter is a pointer" },
    { ST, B, 24, 0, CJ_OK, 0 },
    { ST, B, 20, 0, CJ_EINVAL, "has 20 bytes, the parameter is 24 bytes" },
    { ST, I, 0, 0, CJ_EINVAL, "pass it with cj_arg_bytes" },
    { H, B, 2, 0, CJ_OK, 0 },
    { H, F, 0, 1.0, CJ_EINVAL, ".f16; pass it with cj_arg_bytes" },
    { U32, B, 4, 0, CJ_OK, 0 },
    { U32, B, 8, 0, CJ_EINVAL, "has 8 bytes" },
    { U32, 0, 1, 0, CJ_EINVAL, "k: argument 5 (u32) has no value: its kind is 0" },
    { U32, 77, 1, 0, CJ_EINVAL, "its kind is 77, which is no cj_arg_kind; make it with cj_arg_u() or its like" },
};

static const char bytes[32] = "0123456789abcdefghijklmnopqrstu";

static cj_arg make(int kind, int64_t i, double d)
{
    switch (kind) {
    case I: return cj_arg_i(i);
    case U: return cj_arg_u((uint64_t)i);
    case F: return cj_arg_f32((float)d);
    case D: return cj_arg_f64(d);
    case A: return cj_arg_ptr((cj_dptr){ (uint64_t)i });
    case B: return cj_arg_bytes(bytes, (size_t)i);
    default: return (cj_arg){ .kind = (uint32_t)kind };
    }
}

static void good(cj_arg *a)
{
    for (int i = 0; i < COUNT; i++) a[i] = cj_arg_u(1);
    a[F32] = cj_arg_f32(1), a[F64] = cj_arg_f64(1);
    a[P] = cj_arg_ptr((cj_dptr){ 64 });
    a[ST] = cj_arg_bytes(bytes, 24), a[H] = cj_arg_bytes(bytes, 2);
}

static const struct { const char *name; cj_dims d; cj_status want; const char *says;
} sizes[] = {
    { "a small launch", { { 1, 1, 1 }, { 32, 1, 1 }, { 0 }, 0, 0, { 0 }, NULL }, CJ_OK, "" },
    { "no blocks",
      { { 0, 1, 1 }, { 32, 1, 1 }, { 0 }, 0, 0, { 0 }, NULL },
      CJ_EINVAL,
      "0 blocks in x; a launch has at least one" },
    { "no threads", { { 1, 1, 1 }, { 32, 0, 1 }, { 0 }, 0, 0, { 0 }, NULL }, CJ_EINVAL, "0 threads of a block in y" },
    { "too many blocks",
      { { 1, 65536, 1 }, { 32, 1, 1 }, { 0 }, 0, 0, { 0 }, NULL },
      CJ_EINVAL,
      "65536 blocks in y, 1 more than the device's 65535" },
    { "too many threads in z",
      { { 1, 1, 1 }, { 1, 1, 65 }, { 0 }, 0, 0, { 0 }, NULL },
      CJ_EINVAL,
      "65 threads of a block in z, 1 more than the device's 64" },
    { "too many threads",
      { { 1, 1, 1 }, { 1024, 2, 1 }, { 0 }, 0, 0, { 0 }, NULL },
      CJ_EINVAL,
      "is 2048 threads, 1024 more than the device's 1024" },
    { "more threads than the kernel's registers allow",
      { { 1, 1, 1 }, { 512, 1, 1 }, { 0 }, 0, 0, { 0 }, NULL },
      CJ_EINVAL,
      "256 more than this kernel can have (256" },
    { "too much shared memory",
      { { 1, 1, 1 }, { 32, 1, 1 }, { 0 }, 232449, 0, { 0 }, NULL },
      CJ_EINVAL,
      "1 more than the 232448" },
    { "a cluster", { { 2, 1, 1 }, { 32, 1, 1 }, { 2, 1, 1 }, 0, 0, { 0 }, NULL }, CJ_ENOTSUP, "clusters need sm_90" },
    { "a reserved field",
      { { 2, 1, 1 }, { 32, 1, 1 }, { 0 }, 0, 0, { 0, 7 }, NULL },
      CJ_EINVAL,
      "reserved[1] of the dimensions is 7, wants 0" },
    { "a cooperative launch",
      { { 2, 1, 1 }, { 32, 1, 1 }, { 0 }, 0, 1, { 0 }, NULL },
      CJ_ENOTSUP,
      "no cooperative launches" },
};

/* 0 bytes of dynamic shared memory, for a kernel that uses it: known from a builder and from a text, not from kept
 * bytes. */
static void no_dynamic_shared(cj_device *dev)
{
    static const char uses[] = ".version 7.0\n.target sm_70\n.address_size 64\n.extern .shared .b8 tile[];\n"
                               ".entry k() { .reg .u32 %r; mov.u32 %r, tile; ret; }\n.entry none() { ret; }\n";
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "k"), *g = cj_ptx_kernel(m, "none"), *takes = cj_ptx_func(m, "takes");
    cj_set(takes, cj_shared_dynamic(takes, "tile", CJ_F32, 0), cj_imm(takes, 0), cj_imm(takes, 1));
    cj_shared_dynamic(g, "tile", CJ_F32, 0);
    cj_call_n(f, takes, NULL, 0);
    cj_image *kept = cj_image_from(dev, "kept", 5);
    struct { const char *from; cj_module *mod; bool known;
    } rows[] = {
        { "a builder", cj_module_load(dev, m, NULL), true },
        { "a text", cj_module_load_text(dev, uses, NULL), true },
        { "kept bytes", cj_module_load_image(dev, kept), false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cj_module *mod = rows[i].mod;
        cj_kernel *k = cj_module_kernel(mod, "k"), *none = cj_module_kernel(mod, "none");
        cj_dims bare = cj_grid(1, 32), some = cj_dims_shared(bare, 4);
        tap_is_int(cji_dims_check(mod, k, &some, "cj_launch"), CJ_OK, "%s: some bytes of dynamic shared memory",
                   rows[i].from);
        tap_is_int(cji_dims_check(mod, none, &bare, "cj_launch"), CJ_OK, "%s: none, where it is only declared",
                   rows[i].from);
        tap_is_int(cji_dims_check(mod, k, &bare, "cj_launch"), rows[i].known ? CJ_EINVAL : CJ_OK,
                   "%s: none, where it is used", rows[i].from);
        tap_is_str(
            cj_error_of(mod)->message,
            rows[i].known
                ? "cj_launch: k uses the dynamic shared variable tile, and the launch gives it 0 bytes: write "
                  "cj_dims_shared(dims, bytes)"
                : "",
            "%s: message", rows[i].from);
        cj_kernel_free(k);
        cj_kernel_free(none);
        cj_module_free(mod);
    }
    cj_image_free(kept);
    cj_ptx_free(m);
}

/* Names of more than 60 characters, as C++ gives them, are shortened in their middle; numbers tell them apart. */
#define LONG_KERNEL "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15FillFunctorIfEE"
#define SHORT_KERNEL "_ZN2at6native29vectorized_el...elILi4ENS0_15FillFunctorIfEE"
static void long_names(cj_device *dev)
{
    static const char uses[] = ".version 7.0\n.target sm_70\n.address_size 64\n.entry " LONG_KERNEL
                               "(.param .f32 " LONG_KERNEL "_param_0, .param .u32 n) { ret; }\n";
    static const struct { const char *name; size_t n; const char *says; } calls[] = {
        { "one argument", 1, "cj_launch: " SHORT_KERNEL " takes 2 arguments, here is 1: "
                             "1 (_ZN2at6native29vectorized_el...S0_15FillFunctorIfEE_param_0), 2 (n)" },
        { "a number for a float", 2, "cj_launch: " SHORT_KERNEL ": argument 1 "
                                     "(_ZN2at6native29vectorized_el...S0_15FillFunctorIfEE_param_0) is an integer" },
    };
    cj_module *mod = cj_module_load_text(dev, uses, NULL);
    cj_kernel *k = cj_module_kernel(mod, LONG_KERNEL);
    cj_arg a[2] = { cj_arg_u(1), cj_arg_u(1) };
    cji_pack pack;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        tap_is_int(cji_kernel_pack(mod, k, a, calls[i].n, &pack, "cj_launch"), CJ_EINVAL, "long names: %s",
                   calls[i].name);
        tap_has_str(cj_error_of(mod)->message, calls[i].says, "long names: %s: message", calls[i].name);
    }
    cj_kernel_free(k);
    cj_module_free(mod);
}

int main(void)
{
    tap_plan(0);
    libfake_reset();
    cj_driver *drv = libfake_open();
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_module *mod = cj_module_load_text(dev, text, NULL);
    cj_kernel *k = cj_module_kernel(mod, "k"), *none = cj_module_kernel(mod, "none"),
              *empty = cj_module_kernel(mod, "empty");
    tap_is_int(cj_kernel_params(k), COUNT, "as many parameters as the text declares");
    tap_is_int(cj_kernel_params(none), 0, "an entry without a list has none");
    tap_is_int(cj_kernel_params(empty), 0, "an entry with an empty list has none");
    for (int i = 0; i < COUNT; i++) {
        cj_kernel_param_info p = { .size = sizeof p };
        cj_kernel_param(k, i, &p);
        tap_ok(!strcmp(p.name, params[i].name) && p.offset == params[i].offset && p.bytes == params[i].bytes &&
                   p.pointer == (i == P),
               "parameter %s: %u bytes at %u", params[i].name, p.bytes, p.offset);
    }

    cj_arg a[40];
    cji_pack pack;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        good(a);
        a[cases[i].at] = make(cases[i].kind, cases[i].i, cases[i].d);
        cj_status status = cji_kernel_pack(mod, k, a, COUNT, &pack, "cj_launch");
        tap_is_int(status, cases[i].want, "row %zu, parameter %s", i, params[cases[i].at].name);
        if (cases[i].want != CJ_OK) tap_has_str(cj_error_of(mod)->message, cases[i].says, "row %zu: message", i);
        if (status == CJ_OK) cji_pack_free(&pack);
    }
    good(a);
    a[S8] = cj_arg_i(-2), a[F32] = cj_arg_f64(0.1), a[F64] = cj_arg_f32(0.5f), a[S64] = cj_arg_i(-3);
    tap_is_int(cji_kernel_pack(mod, k, a, COUNT, &pack, "cj_launch"), CJ_OK, "values");
    float f;
    double d;
    int64_t l;
    memcpy(&f, pack.ptr[F32], sizeof f);
    memcpy(&d, pack.ptr[F64], sizeof d);
    memcpy(&l, pack.ptr[S64], sizeof l);
    tap_ok(*(signed char *)pack.ptr[S8] == -2 && f == 0.1f && d == 0.5 && l == -3,
           "numbers are converted to the parameter's type");
    tap_is_mem(pack.ptr[ST], bytes, 24, "structures are taken from where they are");

    static const size_t counts[] = { 0, 1, COUNT - 1, COUNT + 1, 40 };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        good(a);
        for (int j = COUNT; j < 40; j++) a[j] = cj_arg_u(0);
        tap_is_int(cji_kernel_pack(mod, k, a, counts[i], &pack, "cj_launch"), CJ_EINVAL, "%zu arguments", counts[i]);
        tap_has_str(cj_error_of(mod)->message, "cj_launch: k takes 15 arguments, here ", "%zu arguments: message",
                    counts[i]);
    }
    tap_is_int(cji_kernel_pack(mod, none, NULL, 0, &pack, "cj_launch"), CJ_OK, "none for a kernel without parameters");

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        tap_is_int(cji_dims_check(mod, k, &sizes[i].d, "cj_launch"), sizes[i].want, "%s", sizes[i].name);
        if (sizes[i].want != CJ_OK) tap_has_str(cj_error_of(mod)->message, sizes[i].says, "%s: message", sizes[i].name);
    }
    cj_kernel_free(k);
    cj_kernel_free(none);
    cj_kernel_free(empty);
    cj_module_free(mod);
    no_dynamic_shared(dev);
    long_names(dev);
    cj_device_close(dev);
    cj_driver_close(drv);
    tap_is_int(lib.modules, 0, "nothing is left");
    return tap_done();
}
