/* Reduce, broadcast and all-reduce run over parts on one device and on two, for every type and operation, with odd
 * numbers of elements; all parts of an all-reduce have the same bits. */
#include <stdlib.h>
#include <string.h>

#include <cujit/cujit.h>

#include "tests/tap.h"

enum { MOST = 1000, PARTS = 4 };
static cj_driver *drv;
static cj_device *dev[2];
static cj_stream *s[2];
static cj_coord *c;
static int devices;

static const struct {
    const char *name;
    cj_type type;
    size_t bytes;
} types[] = {
    { "s32", CJ_S32, 4 }, { "u32", CJ_U32, 4 }, { "f32", CJ_F32, 4 },
    { "s64", CJ_S64, 8 }, { "u64", CJ_U64, 8 }, { "f64", CJ_F64, 8 },
};
static const char *const ops[] = { "sum", "min", "max", "product" };

/* Element `i` of part `p`: small numbers, negative ones too, that are exact in every type. */
static int64_t value(cj_type type, int p, int i)
{
    const int64_t v = (p * 7 + i * 3) % 11 - 5;
    return type == CJ_U32 || type == CJ_U64 ? v + 5 : v;
}

static int64_t combined(cj_type type, int op, int parts, int i)
{
    int64_t r = value(type, 0, i);
    for (int p = 1; p < parts; p++) {
        const int64_t v = value(type, p, i);
        r = op == 0 ? r + v : op == 1 ? (v < r ? v : r) : op == 2 ? (v > r ? v : r) : r * v;
    }
    return r;
}

static void put(void *at, cj_type type, int i, int64_t v)
{
    switch (type) {
    case CJ_F32: ((float *)at)[i] = (float)v; break;
    case CJ_F64: ((double *)at)[i] = (double)v; break;
    case CJ_S32:
    case CJ_U32: ((int32_t *)at)[i] = (int32_t)v; break;
    default: ((int64_t *)at)[i] = v; break;
    }
}

static int64_t get(const void *at, cj_type type, int i)
{
    switch (type) {
    case CJ_F32: return (int64_t)((const float *)at)[i];
    case CJ_F64: return (int64_t)((const double *)at)[i];
    case CJ_S32: return ((const int32_t *)at)[i];
    case CJ_U32: return ((const uint32_t *)at)[i];
    default: return ((const int64_t *)at)[i];
    }
}

typedef cj_task (*collective)(cj_coord *, const cj_collective_opts *);

/* Parts on the devices by turns; the number of wrong elements of all parts together. */
static int run_one(collective call, size_t ty, int op, int parts, int n, uint32_t root, uint64_t want_mask)
{
    static char host[PARTS][MOST * 8], back[MOST * 8];
    cj_part part[PARTS];
    int wrong = 0;
    for (int p = 0; p < parts; p++) {
        part[p] = (cj_part){ dev[p % devices], cj_alloc(s[p % devices], MOST * 8 + 8) };
        for (int i = 0; i < n; i++) put(host[p], types[ty].type, i, value(types[ty].type, p, i));
        cj_copy_to_device(s[p % devices], part[p].d, host[p], (size_t)n * types[ty].bytes);
        cj_fill8(s[p % devices], cj_offset(part[p].d, n * (int64_t)types[ty].bytes), 0x5a, 8);
    }
    for (int k = 0; k < devices; k++)
        if (cj_stream_sync(s[k]) != CJ_OK) tap_bail("%s", cj_error_of(s[k])->message);
    const cj_task t = call(c, CJ_COLLECTIVE(.type = types[ty].type, .op = op, .count = (uint64_t)n, .root = root,
                                            .parts = { part, (size_t)parts }));
    if (!t || cj_coord_wait(c, t, 20000) != CJ_OK) return tap_diag("%s", cj_error_of(c)->message), -1;
    for (int p = 0; p < parts; p++) {
        uint8_t behind[8];
        cj_copy_to_host(s[p % devices], back, part[p].d, (size_t)n * types[ty].bytes);
        cj_copy_to_host(s[p % devices], behind, cj_offset(part[p].d, n * (int64_t)types[ty].bytes), 8);
        cj_stream_sync(s[p % devices]);
        for (int i = 0; i < n; i++) {
            const int64_t want = want_mask >> p & 1 ? call == cj_coord_broadcast
                                                          ? value(types[ty].type, (int)root, i)
                                                          : combined(types[ty].type, op, parts, i)
                                                    : value(types[ty].type, p, i);
            wrong += get(back, types[ty].type, i) != want;
        }
        for (int i = 0; i < 8; i++) wrong += behind[i] != 0x5a;
        cj_free(part[p].device, part[p].d);
    }
    return wrong;
}

static void each_type(void)
{
    for (size_t ty = 0; ty < sizeof types / sizeof *types; ty++)
        for (int op = 0; op < 4; op++) {
            tap_is_int(run_one(cj_coord_all_reduce, ty, op, 3, 77, 0, 7), 0, "all-reduce, %s of %s", ops[op],
                       types[ty].name);
            tap_is_int(run_one(cj_coord_reduce, ty, op, 3, 65, 1, 2), 0, "reduce, %s of %s", ops[op], types[ty].name);
        }
}

static void each_size(void)
{
    static const int sizes[] = { 1, 2, 3, 255, 256, 257, MOST };
    for (int parts = 1; parts <= PARTS; parts++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            const uint64_t all = (1u << parts) - 1;
            const uint32_t root = (uint32_t)(k % (size_t)parts);
            const int wrong = run_one(cj_coord_all_reduce, 0, 0, parts, sizes[k], 0, all) +
                              run_one(cj_coord_reduce, 5, 2, parts, sizes[k], root, 1u << root) +
                              run_one(cj_coord_broadcast, 3, 0, parts, sizes[k], root, all);
            tap_is_int(wrong, 0, "%d elements of %d parts", sizes[k], parts);
        }
}

/* Sums of numbers that round: the same bits everywhere, each time. */
static void same_bits(void)
{
    static float host[MOST], back[2][PARTS][MOST];
    cj_part part[PARTS];
    for (int p = 0; p < PARTS; p++) part[p] = (cj_part){ dev[p % devices], cj_alloc(s[p % devices], sizeof host) };
    for (int round = 0; round < 2; round++) {
        for (int p = 0; p < PARTS; p++) {
            for (int i = 0; i < MOST; i++) host[i] = 1.0f / (float)(3 + p + i) * (p % 2 ? 1e6f : 1.0f);
            cj_copy_to_device(s[p % devices], part[p].d, host, sizeof host);
        }
        for (int k = 0; k < devices; k++) cj_stream_sync(s[k]);
        cj_coord_all_reduce(c, CJ_COLLECTIVE(.type = CJ_F32, .count = MOST, .parts = { part, PARTS }));
        cj_coord_run(c, 20000);
        for (int p = 0; p < PARTS; p++) {
            cj_copy_to_host(s[p % devices], back[round][p], part[p].d, sizeof host);
            cj_stream_sync(s[p % devices]);
            tap_is_mem(back[round][p], back[0][0], sizeof host, "part %d, time %d", p, round);
        }
    }
    for (int p = 0; p < PARTS; p++) cj_free(part[p].device, part[p].d);
}

static void rejected(void)
{
    cj_part part[2] = { { dev[0], { 4096 } }, { dev[0], { 8192 } } };
    static const struct {
        const char *name;
        cj_collective_opts o;
        const char *part;
    } cases[] = {
        { "a type without kernels", { .type = CJ_F16, .count = 1 }, "the type CJ_F16 is none of CJ_S32" },
        { "no type", { .type = 1000, .count = 1 }, "the type 1000 is no cj_type" },
        { "no operation", { .type = CJ_F32, .op = 9, .count = 1 }, "the operation 9" },
        { "no elements", { .type = CJ_F32 }, "0 elements" },
        { "a root that is no part", { .type = CJ_F32, .count = 1, .root = 2 }, "the root is part 2 of 2" },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        cj_collective_opts o = cases[k].o;
        o.size = sizeof o, o.parts = (cj_parts){ part, 2 };
        tap_is_uint(cj_coord_reduce(c, &o), 0, "%s", cases[k].name);
        tap_has_str(cj_error_of(c)->message, cases[k].part, "... is named");
    }
    part[1].d.addr++;
    tap_is_uint(cj_coord_reduce(c, CJ_COLLECTIVE(.type = CJ_F32, .count = 1, .parts = { part, 2 })), 0,
                "a part that is not aligned");
    part[1].device = NULL;
    tap_is_uint(cj_coord_reduce(c, CJ_COLLECTIVE(.type = CJ_F32, .count = 1, .parts = { part, 2 })), 0,
                "a part without a device");
    cj_error_clear(c);
}

int main(void)
{
    if (!tap_on_gpu()) setenv("CUJIT_SIM_DEVICES", "2", 1);
    tap_need_device(1);
    tap_plan(0);
    drv = cj_driver_open(NULL);
    devices = cj_device_count(drv) > 1 ? 2 : 1;
    for (int k = 0; k < devices; k++) dev[k] = cj_device_open(drv, k, NULL), s[k] = cj_stream_create(dev[k], NULL);
    c = cj_coord_create(dev[0], NULL);
    each_type();
    each_size();
    same_bits();
    rejected();
    tap_is_int(cj_coord_run(c, 20000), CJ_OK, "no task is left");
    cj_coord_free(c);
    for (int k = 0; k < devices; k++) {
        tap_is_int(cj_stream_sync(s[k]), CJ_OK, "nothing failed on device %d", k);
        cj_stream_free(s[k]);
        cj_device_collect(dev[k]);
        cj_device_close(dev[k]);
    }
    cj_driver_close(drv);
    return tap_done();
}
