/* Reductions, scans and broadcasts of warps and blocks: every type and operation, groups of every shape, against C in
 * the order of the threads. */
#include <stdio.h>
#include <string.h>

#include "tests/tap.h"

#include <cujit/cujit.h>

enum { THREADS = 1024, RESULTS = 4, CASES = 256 };
enum { REDUCED, INCLUSIVE, EXCLUSIVE, TOTAL };

/* ---- Numbers as bits --------------------------------------------------------------------------------------------- */

/* A type in C: what its bits are, and back. Small whole numbers only, which every type has exactly. */
typedef struct kind {
    const char *name;
    cj_type type;
    unsigned bits;
    bool floating, negative;
} kind;
static const kind kinds[] = {
    { "u16", CJ_U16, 16, false, false }, { "s16", CJ_S16, 16, false, true },   { "u32", CJ_U32, 32, false, false },
    { "s32", CJ_S32, 32, false, true },  { "b32", CJ_B32, 32, false, false },  { "u64", CJ_U64, 64, false, false },
    { "s64", CJ_S64, 64, false, true },  { "f32", CJ_F32, 32, true, true },    { "f64", CJ_F64, 64, true, true },
    { "f16", CJ_F16, 16, true, true },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static uint64_t mask_of(const kind *k) { return k->bits == 64 ? UINT64_MAX : ((uint64_t)1 << k->bits) - 1; }

/* x as the type's bits: f16 by its double, which has 1 + 10 bits of it here. */
static uint64_t encode(const kind *k, double x)
{
    uint64_t u = 0;
    float f = (float)x;
    if (!k->floating) return (uint64_t)(int64_t)x & mask_of(k);
    if (k->bits == 64) return memcpy(&u, &x, 8), u;
    memcpy(&u, &f, 4);
    if (k->bits == 32) return u;
    if (x == 0) return 0;
    if (x - x != 0) return (u >> 16 & 0x8000) | 0x7c00;
    return (u >> 16 & 0x8000) | (((u >> 23 & 255) - 112) << 10) | (u >> 13 & 1023);
}

static double decode(const kind *k, uint64_t b)
{
    double x;
    float f;
    if (!k->floating)
        return k->negative ? (double)(int64_t)(b << (64 - k->bits)) / (double)((uint64_t)1 << (64 - k->bits))
                           : (double)b;
    if (k->bits == 64) return memcpy(&x, &b, 8), x;
    if (k->bits == 16) {
        if (!(b & 0x7fff)) return 0;
        if ((b & 0x7c00) == 0x7c00) b = (b & 0x8000) << 16 | 0x7f800000;
        else b = (b & 0x8000) << 16 | ((b >> 10 & 31) + 112) << 23 | (b & 1023) << 13;
    }
    uint32_t w = (uint32_t)b;
    memcpy(&f, &w, 4);
    return f;
}

static uint64_t combine(const kind *k, cj_combine_op op, uint64_t a, uint64_t b)
{
    double x = decode(k, a), y = decode(k, b);
    switch (op) {
    case CJ_COMBINE_ADD: return k->floating ? encode(k, x + y) : (a + b) & mask_of(k);
    case CJ_COMBINE_MUL: return k->floating ? encode(k, x * y) : (a * b) & mask_of(k);
    case CJ_COMBINE_MIN: return x < y ? a : b;
    case CJ_COMBINE_MAX: return x > y ? a : b;
    case CJ_COMBINE_AND: return a & b;
    case CJ_COMBINE_OR: return a | b;
    default: return a ^ b;
    }
}

static uint64_t identity(const kind *k, cj_combine_op op)
{
    const double inf = 1e308 * 10;
    uint64_t sign = (uint64_t)1 << (k->bits - 1);
    switch (op) {
    case CJ_COMBINE_MUL: return encode(k, 1);
    case CJ_COMBINE_MIN: return k->floating ? encode(k, inf) : k->negative ? sign - 1 : mask_of(k);
    case CJ_COMBINE_MAX: return k->floating ? encode(k, -inf) : k->negative ? sign : 0;
    case CJ_COMBINE_AND: return mask_of(k);
    default: return 0;
    }
}

/* The value of thread t: small, of both signs where there are some, and a product that neither ends nor overflows. */
static double value(const kind *k, cj_combine_op op, unsigned t)
{
    static const double factor[] = { 1, 2, 1, 0.5 }, whole[] = { 1, 3, 1, 5 };
    if (op == CJ_COMBINE_MUL) return k->floating ? factor[t & 3] : whole[t & 3];
    double v = (t * 7 + 3) % 11;
    return k->negative ? v - 5 : v;
}

/* ---- Cases: one kernel each -------------------------------------------------------------------------------------- */

typedef struct test_case {
    char name[64];
    const kind *k;
    cj_combine_op op;
    unsigned threads, width;     /* width: of a warp's call; 0: a block's */
    bool once, middle;           /* one barrier; the block has 64 threads more in front of the group */
} test_case;
static test_case cases[CASES];
static unsigned ncases;

static void add_case(const kind *k, cj_combine_op op, unsigned threads, unsigned width, bool once, bool middle)
{
    test_case *c = &cases[ncases++];
    *c = (test_case){ .k = k, .op = op, .threads = threads, .width = width, .once = once, .middle = middle };
    snprintf(c->name, sizeof c->name, "%s op %d of %u threads%s%s", k->name, (int)op, width ? width : threads,
             width ? " of a warp" : "", middle ? " behind others" : "");
}

static void all_cases(void)
{
    for (unsigned i = 0; i < KINDS; i++)
        for (int op = CJ_COMBINE_ADD; op <= CJ_COMBINE_XOR; op++) {
            if (kinds[i].floating && op >= CJ_COMBINE_AND) continue;
            add_case(&kinds[i], (cj_combine_op)op, 64, 32, false, false);
            add_case(&kinds[i], (cj_combine_op)op, 96, 0, op & 1, false);
        }
    for (unsigned width = 1; width < 32; width *= 2) add_case(&kinds[2], CJ_COMBINE_ADD, 64, width, false, false);
    for (unsigned threads = 32; threads <= THREADS; threads += threads < 256 ? 32 : 160)
        add_case(&kinds[7], CJ_COMBINE_ADD, threads > 900 ? THREADS : threads, 0, threads & 32, false);
    add_case(&kinds[2], CJ_COMBINE_ADD, 160, 0, false, true);
    add_case(&kinds[5], CJ_COMBINE_MAX, 128, 0, true, true);
}

/* 16-bit values lie in memory as such, the others too: element t of `in`, element 4 t + i of `out`. */
static void write_kernel(cj_ptx *m, const test_case *c, unsigned number)
{
    char name[16];
    snprintf(name, sizeof name, "k%u", number);
    cj_fn *f = cj_ptx_kernel(m, name);
    cj_val in = cj_param_ptr(f, "in", c->k->type), out = cj_param_ptr(f, "out", c->k->type), t = cj_thread_id(f, CJ_X);
    if (c->middle) {
        cj_return_if(f, cj_lt(f, t, 64));
        t = cj_sub(f, t, 64);
    }
    cj_val v = cj_get(f, in, t), r[RESULTS];
    if (c->width) {
        cj_warp_reduce(f, c->op, v, c->width, &r[REDUCED]);
        cj_warp_scan(f, c->op, v, c->width, &r[INCLUSIVE], &r[EXCLUSIVE]);
        r[TOTAL] = r[REDUCED];
    } else {
        cj_thread_group g = { .threads = c->threads, .once = c->once };
        if (c->middle) {
            g.index = t;
            g.barrier = cj_imm(f, 3);
            g.scratch = cj_shared(f, "scratch", CJ_B64, cj_thread_group_scratch(&g, 8) / 8);
            if (c->once) cj_named_barrier_sync(f, 3, c->threads);
        }
        cj_block_reduce(f, c->op, v, &g, &r[REDUCED]);
        if (c->once && c->middle) cj_named_barrier_sync(f, 3, c->threads);
        cj_block_scan(f, c->op, v, &g, &r[INCLUSIVE], &r[EXCLUSIVE], &r[TOTAL]);
    }
    cj_val at = cj_mul(f, t, RESULTS);
    for (int i = 0; i < RESULTS; i++) cj_set(f, out, cj_add(f, at, i), r[i]);
}

static uint64_t load(const unsigned char *p, const kind *k, size_t i)
{
    uint64_t b = 0;
    memcpy(&b, p + i * (k->bits / 8), k->bits / 8);
    return b;
}

static void store(unsigned char *p, const kind *k, size_t i, uint64_t b)
{
    memcpy(p + i * (k->bits / 8), &b, k->bits / 8);
}

/* The first thread whose results differ from C's. */
static void judge(const test_case *c, const unsigned char *in, const unsigned char *out)
{
    const char *const result[] = { "reduction", "inclusive scan", "exclusive scan", "total" };
    unsigned width = c->width ? c->width : c->threads;
    for (unsigned t = 0; t < c->threads; t++) {
        unsigned first = t / width * width;
        uint64_t want[RESULTS], all = load(in, c->k, first), here = all, before = identity(c->k, c->op);
        for (unsigned i = first + 1; i < first + width; i++) {
            all = combine(c->k, c->op, all, load(in, c->k, i));
            if (i == t) before = here;
            if (i <= t) here = combine(c->k, c->op, here, load(in, c->k, i));
        }
        want[REDUCED] = want[TOTAL] = all;
        want[INCLUSIVE] = here;
        want[EXCLUSIVE] = before;
        for (int i = 0; i < RESULTS; i++) {
            uint64_t got = load(out, c->k, RESULTS * t + (unsigned)i);
            /* -0 and 0 are one number */
            if (got == want[i] || (c->k->floating && decode(c->k, got) == decode(c->k, want[i]))) continue;
            tap_fail("%s: %s of thread %u: %llx, wants %llx", c->name, result[i], t, (unsigned long long)got,
                     (unsigned long long)want[i]);
            return;
        }
    }
    tap_pass("%s", c->name);
}

static void check_cases(cj_device *dev)
{
    static unsigned char in[8 * THREADS], out[8 * RESULTS * THREADS];
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_dptr d = cj_alloc(s, sizeof in), o = cj_alloc(s, sizeof out);
    cj_ptx *m = cj_ptx_create();
    for (unsigned i = 0; i < ncases; i++) write_kernel(m, &cases[i], i);
    cj_module *mod = cj_module_load(dev, m, NULL);
    if (cj_error_of(mod)->status) tap_bail("%s", cj_error_of(mod)->message);
    for (unsigned i = 0; i < ncases; i++) {
        const test_case *c = &cases[i];
        char name[16];
        snprintf(name, sizeof name, "k%u", i);
        for (unsigned t = 0; t < c->threads; t++) store(in, c->k, t, encode(c->k, value(c->k, c->op, t)));
        cj_kernel *k = cj_module_kernel(mod, name);
        memset(out, 0xee, sizeof out);
        cj_copy_to_device(s, d, in, sizeof in);
        cj_copy_to_device(s, o, out, sizeof out);
        cj_launch(s, k, cj_grid(1, c->threads + (c->middle ? 64 : 0)), d, o);
        cj_copy_to_host(s, out, o, sizeof out);
        if (cj_stream_sync(s) != CJ_OK) tap_bail("%s: %s", c->name, cj_error_of(s)->message);
        judge(c, in, out);
        cj_kernel_free(k);
    }
    cj_module_free(mod);
    cj_ptx_free(m);
    cj_free(dev, d);
    cj_free(dev, o);
    cj_stream_free(s);
}

/* ---- A function that is associative and does not commute --------------------------------------------------------- */

/* x -> a x + b, first the lower one: (a1, b1) then (a2, b2) is (a1 a2, b1 a2 + b2). */
static cj_fn *write_compose(cj_ptx *m)
{
    cj_fn *f = cj_ptx_func(m, "compose");
    cj_val a1 = cj_param(f, "a1", CJ_U32), b1 = cj_param(f, "b1", CJ_U32), a2 = cj_param(f, "a2", CJ_U32),
           b2 = cj_param(f, "b2", CJ_U32), a = cj_result(f, "a", CJ_U32), b = cj_result(f, "b", CJ_U32);
    cj_assign(f, a, cj_mul(f, a1, a2));
    cj_assign(f, b, cj_mad(f, b1, a2, b2));
    cj_return(f);
    return f;
}

static void check_function(cj_device *dev, unsigned threads)
{
    static uint32_t out[THREADS][8];
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_dptr o = cj_alloc(s, sizeof out);
    cj_ptx *m = cj_ptx_create();
    cj_fn *compose = write_compose(m), *f = cj_ptx_kernel(m, "k");
    cj_val p = cj_param_ptr(f, "out", CJ_U32), t = cj_thread_id(f, CJ_X), r[4];
    cj_val v = cj_vec(f, cj_add(f, cj_mul(f, t, 2), 3), cj_add(f, t, 1)),
           one = cj_vec(f, cj_let(f, CJ_U32, cj_imm(f, 1)), cj_let(f, CJ_U32, cj_imm(f, 0)));
    const cj_thread_group g = { .threads = threads };
    cj_block_reduce_fn(f, compose, v, &g, &r[0]);
    cj_block_scan_fn(f, compose, v, one, &g, &r[1], &r[2], NULL);
    cj_block_broadcast(f, v, threads - 2, &g, &r[3]);
    cj_val at = cj_mul(f, t, 8);
    for (int i = 0; i < 8; i++) cj_set(f, p, cj_add(f, at, i), cj_elem(f, r[i / 2], (size_t)i % 2));
    cj_kernel *k = cj_kernel_load(dev, m, "k", NULL);
    cj_launch(s, k, cj_grid(1, threads), o);
    cj_copy_to_host(s, out, o, sizeof out);
    if (cj_stream_sync(s) != CJ_OK) tap_bail("%u threads: %s", threads, cj_error_of(s)->message);
    uint32_t a = 1, b = 0, last[2] = { 0, 0 };
    bool scans = true, same = true;
    for (unsigned i = 0; i < threads; i++) {
        uint32_t x = 2 * i + 3, y = i + 1;
        scans = scans && out[i][4] == a && out[i][5] == b;
        a *= x;
        b = b * x + y;
        scans = scans && out[i][2] == a && out[i][3] == b;
        if (i == threads - 2) last[0] = x, last[1] = y;
    }
    for (unsigned i = 0; i < threads; i++)
        same = same && out[i][0] == a && out[i][1] == b && out[i][6] == last[0] && out[i][7] == last[1];
    tap_ok(scans, "%u threads: scans by a function that does not commute", threads);
    tap_ok(same, "%u threads: its reduction and a broadcast, in each thread", threads);
    cj_kernel_free(k);
    cj_ptx_free(m);
    cj_free(dev, o);
    cj_stream_free(s);
}

int main(void)
{
    tap_need_device(1);
    tap_plan(0);
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    all_cases();
    check_cases(dev);
    const unsigned sizes[] = { 32, 64, 96, 224, 512, 1024 }, nsizes = tap_is_slow() ? 4 : 6;
    for (unsigned i = 0; i < nsizes; i++) check_function(dev, sizes[i]);
    cj_device_close(dev);
    cj_driver_close(drv);
    return tap_done();
}
