/* Arguments against parameters, dimensions against limits.  Pure: no lock, no driver call, no allocation for the
 * usual number of arguments. */
#include "driver/args.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/first.h"
#include "ptx/isa.h"

/* What a parameter takes: bits of cji_param.take. */
enum { TAKE_INT = 1, TAKE_SIGNED = 2, TAKE_ZERO = 4, TAKE_PTR = 8, TAKE_F32 = 16, TAKE_F64 = 32, TAKE_FLOAT_BITS = 64 };

/* Integers that fit whatever their sign, addresses, floats and doubles of the parameter's own type; everything else is
 * for pack_one(). */
static cji_usual param_usual(const cji_param *p)
{
    static const struct { uint8_t take, kind; } kinds[] = {
        { TAKE_INT, CJ_ARG_I }, { TAKE_INT, CJ_ARG_U }, { TAKE_F32, CJ_ARG_F32 },
        { TAKE_F64, CJ_ARG_F64 }, { TAKE_PTR, CJ_ARG_PTR },
    };
    cji_usual usual = { .over = p->take & TAKE_INT ? ~UINT64_C(0) << (p->bits - 1) : 0 };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (p->take & kinds[i].take) usual.kinds |= 1u << kinds[i].kind;
    return usual;
}

static void param_prepare(cji_param *p)
{
    p->bits = (uint8_t)(p->bytes <= 8 ? p->bytes * 8 : 0);
    p->take = 0;
    bool number = p->bytes == 1 || p->bytes == 2 || p->bytes == 4 || p->bytes == 8;
    if (p->pointer && p->bytes == 8) {
        p->take = TAKE_PTR | TAKE_ZERO;
    } else if (p->type == CJ_VOID) { /* only the size is known */
        if (number) p->take = TAKE_INT;
        if (p->bytes == 8) p->take |= TAKE_PTR | TAKE_F64;
        if (p->bytes == 4) p->take |= TAKE_FLOAT_BITS;
    } else if (number && p->bytes * 8 == cji_type_bits(p->type)) {
        switch (p->type) {
        case CJ_U8: case CJ_U16: case CJ_U32: p->take = TAKE_INT; break;
        case CJ_U64: p->take = TAKE_INT | TAKE_PTR; break;
        case CJ_S8: case CJ_S16: case CJ_S32: p->take = TAKE_INT | TAKE_SIGNED; break;
        case CJ_S64: p->take = TAKE_INT | TAKE_SIGNED | TAKE_PTR; break;
        case CJ_B8: case CJ_B16: p->take = TAKE_INT; break;
        case CJ_B32: p->take = TAKE_INT | TAKE_FLOAT_BITS; break;
        case CJ_B64: p->take = TAKE_INT | TAKE_PTR | TAKE_FLOAT_BITS; break;
        case CJ_F32: p->take = TAKE_F32; break;
        case CJ_F64: p->take = TAKE_F64; break;
        default: break;
        }
    }
}

CJI_FIRST void cji_params_prepare(cj_kernel *k)
{
    k->nusual = k->nparam >= 0 && k->nparam <= CJI_PACK ? (size_t)k->nparam : SIZE_MAX;
    for (int i = 0; i < k->nparam; i++) {
        param_prepare(&k->param[i]);
        k->usual[i] = param_usual(&k->param[i]);
    }
}

/* -- Messages ------------------------------------------------------------------------------------------------------ */

static const char *param_kind(const cji_param *p, char *text, size_t size)
{
    if (p->pointer) snprintf(text, size, "a pointer");
    else if (p->type == CJ_VOID) snprintf(text, size, "%u bytes of unknown type", p->bytes);
    else if (p->bytes * 8 != cji_type_bits(p->type)) snprintf(text, size, "%u bytes", p->bytes);
    else snprintf(text, size, ".%s", cji_type_word(p->type));
    return text;
}

/* "saxpy: argument 3 (a)" */
static const char *which_arg(const cj_kernel *k, size_t i, char *text, size_t size)
{
    const char *name = k->param[i].name;
    snprintf(text, size, *name ? "%s: argument %zu (%s)" : "%s: argument %zu", cji_short(k->name), i + 1,
             cji_short(name));
    return text;
}

static cj_status wrong_kind(void *into, const cj_kernel *k, size_t i, const cj_arg *a, const char *call)
{
    static const char *const kinds[] = { "",         "an integer",       "an integer", "a float",
                                         "a double", "a device address", "bytes" };
    const cji_param *p = &k->param[i];
    char what[200], want[60], fix[120] = "";
    if (!a->kind || a->kind > CJ_ARG_BYTES)
        return cji_fail(into, CJ_EINVAL, call,
                        "%s has no value: its kind is %d, which is no cj_arg_kind; make it with cj_arg_u() or its like",
                        which_arg(k, i, what, sizeof what), (int)a->kind);
    bool whole = a->kind == CJ_ARG_U || a->kind == CJ_ARG_I;
    if (whole && p->pointer) snprintf(fix, sizeof fix, "; pass a cj_dptr, or 0");
    else if (whole && p->take & TAKE_F32) snprintf(fix, sizeof fix, "; write it as a float, like 2.0f");
    else if (whole && p->take & TAKE_F64) snprintf(fix, sizeof fix, "; write it as a double, like 2.0");
    else if (a->kind == CJ_ARG_F64 && p->take & TAKE_FLOAT_BITS && p->bytes == 4)
        snprintf(fix, sizeof fix, "; write it as a float, like 2.0f");
    else if (!p->take) snprintf(fix, sizeof fix, "; pass it with cj_arg_bytes");
    return cji_fail(into, CJ_EINVAL, call, "%s is %s, the parameter is %s%s", which_arg(k, i, what, sizeof what),
                    kinds[a->kind], param_kind(p, want, sizeof want), fix);
}

static cj_status wrong_range(void *into, const cj_kernel *k, size_t i, const cj_arg *a, const char *call)
{
    char what[200], want[60], value[40];
    if (a->kind == CJ_ARG_I) snprintf(value, sizeof value, "%lld", (long long)a->v.i);
    else if (a->kind == CJ_ARG_U) snprintf(value, sizeof value, "%llu", (unsigned long long)a->v.u);
    else snprintf(value, sizeof value, "%g", a->v.d);
    return cji_fail(into, CJ_EINVAL, call, "%s is %s, which does not fit %s", which_arg(k, i, what, sizeof what), value,
                    param_kind(&k->param[i], want, sizeof want));
}

static cj_status wrong_size(void *into, const cj_kernel *k, size_t i, const cj_arg *a, const char *call)
{
    char what[200], want[60];
    const cji_param *p = &k->param[i];
    if (!a->v.p)
        return cji_fail(into, CJ_EINVAL, call, "%s is %u bytes at NULL", which_arg(k, i, what, sizeof what), a->size);
    param_kind(p, want, sizeof want);
    if (!strstr(want, "bytes")) snprintf(want + strlen(want), sizeof want - strlen(want), ": %u bytes", p->bytes);
    return cji_fail(into, CJ_EINVAL, call, "%s has %u bytes, the parameter is %s", which_arg(k, i, what, sizeof what),
                    a->size, want);
}

static cj_status wrong_count(void *into, const cj_kernel *k, size_t n, const char *call)
{
    char names[360] = "";
    size_t at = 0;
    for (int i = 0; i < k->nparam && *k->param[0].name; i++) {
        if (at + 90 > sizeof names) {
            snprintf(names + at, sizeof names - at, ", ...");
            break;
        }
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%d (%s)", i ? ", " : ": ", i + 1,
                               cji_short(k->param[i].name));
    }
    return cji_fail(into, CJ_EINVAL, call, "%s takes %d argument%s, here %s %zu%s", cji_short(k->name), k->nparam,
                    k->nparam == 1 ? "" : "s", n == 1 ? "is" : "are", n, names);
}

/* -- Packing ------------------------------------------------------------------------------------------------------- */

/* Does the integer fit?  Where signs are not told apart (.b types, only the size known) either reading does. */
static bool number_fits(const cji_param *p, const cj_arg *a)
{
    unsigned bits = p->bits;
    bool negative = a->kind == CJ_ARG_I && a->v.i < 0;
    bool loose = p->type == CJ_VOID || (p->type >= CJ_B8 && p->type <= CJ_B64);
    if (negative) {
        if (!(p->take & TAKE_SIGNED) && !loose) return false;
        return bits == 64 || a->v.i >= -((int64_t)1 << (bits - 1));
    }
    if (bits == 64) return loose || !(p->take & TAKE_SIGNED) || a->v.u <= INT64_MAX;
    return a->v.u >> (p->take & TAKE_SIGNED ? bits - 1 : bits) == 0;
}

static cj_status pack_float(void *into, const cj_kernel *k, size_t i, const cj_arg *a, uint64_t *slot, const char *call)
{
    const cji_param *p = &k->param[i];
    double d = a->kind == CJ_ARG_F32 ? (double)a->v.f : a->v.d;
    float f = a->kind == CJ_ARG_F32 ? a->v.f : (float)d;
    *slot = 0;
    if (p->take & TAKE_F32) {
        if (a->kind == CJ_ARG_F64 && isinf(f) && !isinf(d)) return wrong_range(into, k, i, a, call);
        memcpy(slot, &f, sizeof f);
    } else if (p->take & TAKE_F64) {
        memcpy(slot, &d, sizeof d);
    } else if (p->take & TAKE_FLOAT_BITS && p->bytes == 4 && a->kind == CJ_ARG_F32) {
        memcpy(slot, &f, sizeof f);
    } else if (p->take & TAKE_FLOAT_BITS && p->bytes == 8 && a->kind == CJ_ARG_F64) {
        memcpy(slot, &d, sizeof d);
    } else {
        return wrong_kind(into, k, i, a, call);
    }
    return CJ_OK;
}

/* Checks argument `i` and makes *ptr point to its value; integers of 8 and 16 bits lie in their slot's first bytes
 * (little endian). */
static cj_status pack_one(void *into, const cj_kernel *k, size_t i, const cj_arg *a, void **ptr, uint64_t *slot,
                          const char *call)
{
    const cji_param *p = &k->param[i];
    *ptr = slot;
    switch (a->kind) {
    case CJ_ARG_U:
    case CJ_ARG_I:
        if (!(p->take & TAKE_INT) && !(p->take & TAKE_ZERO && !a->v.u)) return wrong_kind(into, k, i, a, call);
        if (p->take & TAKE_INT && !number_fits(p, a)) return wrong_range(into, k, i, a, call);
        *slot = a->v.u;
        return CJ_OK;
    case CJ_ARG_PTR:
        if (!(p->take & TAKE_PTR)) return wrong_kind(into, k, i, a, call);
        *slot = a->v.u;
        return CJ_OK;
    case CJ_ARG_F32:
    case CJ_ARG_F64: return pack_float(into, k, i, a, slot, call);
    case CJ_ARG_BYTES:
        if (a->size != p->bytes || !a->v.p) return wrong_size(into, k, i, a, call);
        *ptr = (void *)(uintptr_t)a->v.p;
        return CJ_OK;
    default: return wrong_kind(into, k, i, a, call);
    }
}

/* Without knowledge of the parameters: values as they are. */
static void pack_unknown(cji_pack *pack, const cj_arg *args, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        pack->slot[i] = args[i].v.u;
        pack->ptr[i] = args[i].kind == CJ_ARG_BYTES ? (void *)(uintptr_t)args[i].v.p : &pack->slot[i];
    }
}

cj_status cji_kernel_pack(void *into, const cj_kernel *k, const cj_arg *args, size_t n, cji_pack *pack,
                          const char *call)
{
    pack->heap = 0;
    pack->ptr = pack->ptr0;
    pack->slot = pack->slot0;
    if (k->nparam >= 0 && n != (size_t)k->nparam) return wrong_count(into, k, n, call);
    if (n > CJI_PACK) {
        if (n > 4096)
            return cji_fail(into, CJ_EINVAL, call, "%s: %zu arguments are more than a kernel can have",
                            cji_short(k->name), n);
        pack->ptr = cji_alloc(n * (sizeof(void *) + sizeof(uint64_t)));
        if (!pack->ptr) return cji_fail(into, CJ_ENOMEM, call, "no memory for %zu arguments", n);
        pack->heap = n;
        pack->slot = (uint64_t *)(void *)(pack->ptr + n);
    }
    if (k->nparam < 0) return pack_unknown(pack, args, n), CJ_OK;
    for (size_t i = 0; i < n; i++) {
        if (args[i].kind < 32 && cji_arg_usual(&k->usual[i], &args[i])) {
            pack->ptr[i] = (void *)(uintptr_t)&args[i].v;
            continue;
        }
        cj_status status = pack_one(into, k, i, &args[i], &pack->ptr[i], &pack->slot[i], call);
        if (status != CJ_OK) return cji_pack_free(pack), status;
    }
    return CJ_OK;
}

cj_status cji_kernel_pack_at(void *into, const cj_kernel *k, size_t i, const cj_arg *a, void **ptr, uint64_t *slot,
                             const char *call)
{
    if (k->nparam >= 0) return pack_one(into, k, i, a, ptr, slot, call);
    *slot = a->v.u;
    *ptr = a->kind == CJ_ARG_BYTES ? (void *)(uintptr_t)a->v.p : slot;
    return CJ_OK;
}

bool cji_param_is_address(const cj_kernel *k, size_t i)
{
    return k->nparam >= 0 && i < (size_t)k->nparam && k->param[i].take & TAKE_PTR;
}

/* -- Dimensions ---------------------------------------------------------------------------------------------------- */

static cj_status wrong_cluster(void *into, const cj_kernel *k, const cj_dims *d, const char *call)
{
    static const char axis[] = "xyz";
    if (!k->dev->info.clusters)
        return cji_fail(into, CJ_ENOTSUP, call, "%s: clusters need sm_90 and driver 520; device %d is %s",
                        cji_short(k->name), k->dev->ordinal, k->dev->sm);
    for (int i = 0; i < 3; i++) {
        uint32_t c = d->cluster[i] ? d->cluster[i] : 1;
        if (d->grid[i] % c)
            return cji_fail(into, CJ_EINVAL, call,
                            "%s: %u blocks in %c are no multiple of the cluster's %u; the next one is %llu",
                            cji_short(k->name), d->grid[i], axis[i], c,
                            ((unsigned long long)d->grid[i] / c + 1) * c);
    }
    return CJ_OK;
}

__attribute__((cold, noinline)) static cj_status wrong_axis(void *into, const cj_kernel *k, uint32_t n, int32_t most,
                                                            const char *what, char axis, const char *call)
{
    char fix[80] = "";
    if (!n)
        return cji_fail(into, CJ_EINVAL, call, "%s: 0 %s in %c; a launch has at least one", cji_short(k->name), what,
                        axis);
    if (most == k->dev->info.grid[1] && k->dev->info.grid[0] > most)
        snprintf(fix, sizeof fix, "; x can have %d", k->dev->info.grid[0]);
    return cji_fail(into, CJ_EINVAL, call, "%s: %u %s in %c, %u more than the device's %d%s", cji_short(k->name), n,
                    what, axis, n - (uint32_t)most, most, fix);
}

static inline cj_status check_axis(void *into, const cj_kernel *k, uint32_t n, int32_t most, const char *what,
                                   char axis, const char *call)
{
    return !n || (most > 0 && n > (uint32_t)most) ? wrong_axis(into, k, n, most, what, axis, call) : CJ_OK;
}

/* What depends on the code, of which the driver is queried. */
static cj_status check_code(void *into, cj_kernel *k, const cj_dims *d, uint64_t threads, const char *call)
{
    const cj_kernel_info code = cji_kernel_code(k);
    if (code.block_threads > 0 && threads > (uint64_t)code.block_threads)
        return cji_fail(
            into, CJ_EINVAL, call,
            "%s: a block of %llu threads, %llu more than this kernel can have (%d: its launch bounds, or its %d "
            "registers); cj_kernel_suggest_block() has a size that fits",
            cji_short(k->name), (unsigned long long)threads,
            (unsigned long long)(threads - (uint64_t)code.block_threads), code.block_threads, code.registers);
    if (d->shared > (uint32_t)code.shared_dynamic)
        return cji_fail(
            into, CJ_EINVAL, call,
            "%s: %u bytes of dynamic shared memory, %u more than the %d that a block has beside the kernel's %d "
            "static ones; launch smaller tiles",
            cji_short(k->name), d->shared, d->shared - (uint32_t)code.shared_dynamic, code.shared_dynamic,
            code.shared);
    return CJ_OK;
}

CJI_FIRST cj_status cji_dims_check(void *into, cj_kernel *k, const cj_dims *d, const char *call)
{
    static const char axis[] = "xyz";
    const cj_device_info *dev = &k->dev->info;
    for (int i = 0; i < 3; i++) {
        cj_status status = check_axis(into, k, d->grid[i], dev->grid[i], "blocks", axis[i], call);
        if (status == CJ_OK)
            status = check_axis(into, k, d->block[i], dev->block[i], "threads of a block", axis[i], call);
        if (status != CJ_OK) return status;
    }
    uint64_t threads = (uint64_t)d->block[0] * d->block[1] * d->block[2];
    if (dev->block_threads > 0 && threads > (uint64_t)dev->block_threads)
        return cji_fail(into, CJ_EINVAL, call,
                        "%s: a block of %u x %u x %u is %llu threads, %llu more than the device's %d; "
                        "cj_kernel_suggest_block() has a size that fits",
                        cji_short(k->name), d->block[0], d->block[1], d->block[2], (unsigned long long)threads,
                        (unsigned long long)(threads - (uint64_t)dev->block_threads), dev->block_threads);
    if (threads > k->threads_sure || d->shared) {
        const cj_status status = check_code(into, k, d, threads, call);
        if (status != CJ_OK) return status;
    }
    if (!d->shared && k->dynamic_shared)
        return cji_fail(
            into, CJ_EINVAL, call,
            "%s uses the dynamic shared variable %s, and the launch gives it 0 bytes: "
            "write cj_dims_shared(dims, bytes)",
            cji_short(k->name), cji_short(k->dynamic_shared));
    for (size_t i = 0; i < sizeof d->reserved / sizeof *d->reserved; i++)
        if (d->reserved[i])
            return cji_fail(into, CJ_EINVAL, call,
                            "%s: reserved[%zu] of the dimensions is %u, wants 0: begin with cj_grid() or { 0 }",
                            cji_short(k->name), i, d->reserved[i]);
    if (d->cooperative && !dev->cooperative)
        return cji_fail(into, CJ_ENOTSUP, call, "%s: device %d has no cooperative launches", cji_short(k->name),
                        k->dev->ordinal);
    if (!d->cluster[0] && (d->cluster[1] || d->cluster[2]))
        return cji_fail(into, CJ_EINVAL, call, "%s: a cluster of 0 x %u x %u blocks; cluster[0] is 1 or more", k->name,
                        d->cluster[1], d->cluster[2]);
    cj_status status = d->cluster[0] ? wrong_cluster(into, k, d, call) : CJ_OK;
    return status == CJ_OK && d->opts ? cji_launch_opts_check(into, k, d, call) : status;
}

/* A reader that finds a number of a later turn has acquired the even turn in front of it, and sees that the turn is not
 * its own any more. */
CJI_FIRST void cji_dims_note(cj_kernel *k, const cj_dims *d)
{
    cji_dims_seen *seen = &k->seen;
    uint64_t turn = atomic_load_explicit(&seen->turn, memory_order_relaxed);
    const uint64_t mine = (turn | 1) + 1;
    if (!cji_dims_are_plain(d) || (turn && !(turn & 1))) return; /* another thread notes */
    if (!atomic_compare_exchange_strong(&seen->turn, &turn, mine)) return;
    atomic_store_explicit(&seen->grid, d->grid[0], memory_order_release);
    atomic_store_explicit(&seen->grid_yz, cji_dims_word(d, offsetof(cj_dims, grid[1])), memory_order_release);
    atomic_store_explicit(&seen->block, d->block[0], memory_order_release);
    atomic_store_explicit(&seen->block_yz, cji_dims_word(d, offsetof(cj_dims, block[1])), memory_order_release);
    atomic_store_explicit(&seen->shared, d->shared, memory_order_release);
    atomic_store_explicit(&seen->turn, mine + 1, memory_order_release);
}
