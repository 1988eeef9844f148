/* The handlers of accesses that need no look at each lane do what the handlers of lanes do: registers, memory and the
 * fault are equal, in the plain build and in the one for AVX2, for every size, space, shape of addresses and mask, with
 * atomic operations that are plain instructions and with those that are not. */
#include <stdio.h>

#include "sim/exec/ops_mem.h"
#include "sim/exec/ops_quick.h"
#include "sim/exec/writers.h"

#include "../tap.h"

#define ROOM UINT64_C(0x700000000000)
enum { PIECE = 4096, SHARED = 1024, LOCAL = 512, PITCH = 576, PARAM = 64, FRAME = 16 * 256 };

/* Global memory: an allocation, one of odd size behind a gap, one that is only read, and one that the host writes. */
static const struct { uint64_t lo, bytes; bool readonly, device_only; } pieces[] = {
    { ROOM, PIECE, false, true },
    { ROOM + 2 * PIECE, 1000, false, true },
    { ROOM + 3 * PIECE, PIECE, true, false },
    { ROOM + 4 * PIECE, PIECE, false, false },
};
enum { PIECES = sizeof pieces / sizeof *pieces };

typedef struct bytes {
    _Alignas(64) unsigned char global[5 * PIECE], shared[SHARED], local[CJI_LANES * PITCH], frame[FRAME];
} bytes;
static bytes now, before, after_lanes;

static bool find(void *user, uint64_t a, cji_exec_span *span, char *why, size_t size)
{
    (void)user;
    for (int i = 0; i < PIECES; i++)
        if (a - pieces[i].lo < pieces[i].bytes) {
            *span = (cji_exec_span){ .lo = pieces[i].lo,
                                     .hi = pieces[i].lo + pieces[i].bytes,
                                     .host = now.global + (pieces[i].lo - ROOM),
                                     .readonly = pieces[i].readonly,
                                     .device_only = pieces[i].device_only };
            return true;
        }
    snprintf(why, size, "is nothing");
    return false;
}

static uint64_t seed = 1;
static uint32_t any(uint32_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((seed >> 33) % n);
}

/* ---- One warp ---- */

static cji_rec rec;
static cji_origin origin = { .what = "ld.test" };
static uint32_t ext[64];
static cji_exec_program program = { .code = &rec, .ncode = 1, .origin = &origin, .ext = ext };
static unsigned char params[PARAM + 16];
static cji_exec_kernel kernel = { .name = "k", .param_bytes = PARAM };
static cji_exec_grid grid;
static cji_blk blk;
static cji_warp warp;

typedef struct outcome { bool failed, stop; cji_exec_fault_kind kind; char sentence[480]; int64_t fuel; } outcome;

static outcome run(cji_handler h)
{
    grid.stopped = grid.fault_lock = 0;
    memset(&grid.fault, 0, sizeof grid.fault);
    blk.failed = false;
    warp.stop = false;
    warp.fuel = warp.slice = CJI_FUEL;
    rec.fn = h;
    h(&warp, &rec);
    outcome o = { blk.failed, warp.stop, grid.fault.kind, "", warp.fuel };
    memcpy(o.sentence, grid.fault.sentence, sizeof o.sentence);
    return o;
}

static void begin(void)
{
    grid.l.program = &program;
    grid.l.kernel = &kernel;
    grid.l.memory.find = find;
    grid.params = params;
    blk = (cji_blk){ .g = &grid, .warp = &warp, .nwarp = 1, .nthread = 32, .shared = now.shared };
    blk.shared_bytes = SHARED;
    warp = (cji_warp){ .blk = &blk, .p = &program, .r = now.frame, .lmem = now.local, .lstride = LOCAL, .local = 64 };
    warp.lpitch = PITCH;
    for (size_t i = 0; i < sizeof params; i++) params[i] = (unsigned char)(i * 7);
    for (size_t i = 0; i < sizeof now; i++) ((unsigned char *)&now)[i] = (unsigned char)any(256);
}

/* ---- Addresses ---- */

static uint64_t space_base(unsigned space, unsigned *room)
{
    static const uint64_t windows[] = { CJI_EXEC_SHARED_WINDOW, CJI_EXEC_LOCAL_WINDOW, CJI_EXEC_PARAM_WINDOW };
    static const unsigned rooms[] = { SHARED, LOCAL, PARAM };
    unsigned i = any(PIECES);
    switch (space) {
    case CJI_SP_SHARED: *room = SHARED; return 0;
    case CJI_SP_LOCAL: *room = LOCAL; return 0;
    case CJI_SP_PARAM: *room = PARAM; return 0;
    case CJI_SP_GENERIC:
        if (any(2)) {
            i = any(3);
            *room = rooms[i];
            return windows[i];
        }
        break;
    default: break;
    }
    *room = (unsigned)pieces[i].bytes;
    return pieces[i].lo;
}

/* Side by side, at one place, by halves, anywhere; then a lane or two that are wrong, now and then. */
static void addresses(uint64_t *a, unsigned space, unsigned size)
{
    unsigned room, shape = any(6);
    uint64_t base = space_base(space, &room), units = room / size;
    uint64_t first = any((uint32_t)units), second = any(8) ? first + 16 : any((uint32_t)units);
    for (unsigned i = 0; i < CJI_LANES; i++) {
        uint64_t unit = shape == 0   ? first + i
                        : shape == 1 ? first
                        : shape == 2 ? (i < 16 ? first + i : second + i - 16)
                        : shape == 3 ? (i < 16 ? first : second)
                        : shape == 4 ? (i < 16 ? first + i : second)
                                     : any((uint32_t)units);
        if (any(4) && unit >= units) unit %= units;    /* else it may run over the end */
        a[i] = base + unit * size;
    }
    if (!any(6)) a[any(32)] += any(4) ? 1 : size / 2;
    if (!any(8)) a[any(32)] = space_base(space, &room) + any(room);
    if (!any(16)) a[any(32)] = any(2) ? ROOM + PIECE + 64 : UINT64_C(0x123456780);
}

static unsigned width_of(unsigned size)
{
    return size == 1 ? CJI_W8 : size == 2 ? CJI_W16 : size == 4 ? CJI_W32 : CJI_W64;
}

/* The address register at 0 (or none), values behind it. */
static void place(unsigned space, unsigned unit)
{
    uint64_t a[CJI_LANES];
    addresses(a, space, unit);
    rec.space = (uint8_t)space;
    rec.a = 0;
    rec.imm = any(2) ? 0 : (int64_t)any(64) - 32;
    bool narrow = space != CJI_SP_GLOBAL && space != CJI_SP_GENERIC && any(2);
    rec.wa = narrow ? CJI_W32 : CJI_W64;
    rec.flags = narrow ? CJI_MF_BASE32 : 0;
    for (unsigned i = 0; i < CJI_LANES; i++) cji_put(&warp, rec.wa, 0, i, a[i] - (uint64_t)rec.imm);
    if (!any(6)) {
        rec.flags = CJI_MF_NOBASE | (space == CJI_SP_LOCAL && any(2) ? CJI_MF_FRAME : 0);
        rec.imm = (int64_t)a[0];
    }
    warp.mask = any(2) ? CJI_FULL : any(4) ? (uint32_t)seed | 1u << any(32) : 1u << any(32);
}

/* ---- Equal? ---- */

static int faults, compared;

/* Both handlers from the same state; returns whether anything differs. */
static bool differs(cji_handler quick, cji_handler lanes)
{
    before = now;
    outcome a = run(lanes);
    after_lanes = now;
    now = before;
    outcome b = run(quick);
    bool bad = a.failed != b.failed || a.stop != b.stop || a.kind != b.kind || a.fuel != b.fuel ||
               strcmp(a.sentence, b.sentence) || memcmp(&now, &after_lanes, sizeof now);
    if (bad)
        tap_diag("space %u, size %u x %u, flags %u, k %u, mask %08x: '%s' and '%s'", rec.space, rec.size, rec.count,
                 rec.flags, rec.k, warp.mask, a.sentence, b.sentence);
    faults += a.failed;
    compared++;
    if (any(64) == 0) begin();
    return bad;
}

static const unsigned spaces[] = { CJI_SP_GLOBAL, CJI_SP_GENERIC, CJI_SP_SHARED, CJI_SP_LOCAL, CJI_SP_PARAM };

static int accesses(const cji_quick_table *t, bool store, int rounds)
{
    int bad = 0;
    for (int n = 0; n < rounds && bad < 5; n++) {
        unsigned size = 1u << any(4), most = size * 8 > 32 ? 32 / size : 8, count = 1;
        while (count < most && any(2)) count *= 2;
        rec = (cji_rec){ .size = (uint8_t)size, .count = (uint8_t)count };
        place(spaces[any(5)], size * count);
        if (any(2)) rec.flags |= CJI_MF_SIGNED;
        if (!any(4)) rec.flags |= CJI_MF_VOLATILE | (any(2) ? CJI_MF_ORDER : 0);
        unsigned width = width_of(size);
        if (any(2)) width += any(CJI_W64 - width + 1);
        rec.wd = rec.wb = (uint8_t)width;
        rec.d = rec.b = any(8) && rec.wa != width ? 256 : !store && any(2) ? 0 : 256;
        for (unsigned j = 0; j < count; j++) {
            ext[2 * j] = !store && !any(8) ? CJI_WNONE : width;
            ext[2 * j + 1] = 256 * (1 + j);
        }
        bad += differs(cji_quick_access(t, &program, &rec, store), store ? cji_h_st : cji_h_ld);
    }
    return bad;
}

/* What has a handler of its own. */
static const struct { uint8_t size, type, op; } floats[] = {
    { 4, CJI_AT_F32, CJI_AT_ADD },   { 8, CJI_AT_F64, CJI_AT_ADD },    { 2, CJI_AT_F16, CJI_AT_ADD },
    { 2, CJI_AT_BF16, CJI_AT_ADD },  { 4, CJI_AT_F16X2, CJI_AT_ADD },  { 4, CJI_AT_BF16X2, CJI_AT_ADD },
    { 2, CJI_AT_INT, CJI_AT_CAS },
};

/* Zeros, numbers around one and around the least normal, the largest, infinities and NaN, of f16 and of bf16. */
static uint64_t edge(void)
{
    static const uint16_t of[] = { 0,      0x8000, 1,      0x8001, 0x03ff, 0x0400, 0x8400, 0x3c00, 0x3c01, 0xbc00,
                                   0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e01, 0x5000, 0x007f, 0x0080, 0x8080, 0x3f80,
                                   0x3f81, 0xbf80, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc1, 0x4380, 0x6bff, 0x1000 };
    return of[any(sizeof of / sizeof *of)];
}

/* A number of f16 or bf16 with one of `n` exponents up to e. */
static uint64_t beside(unsigned e, unsigned n, unsigned bits)
{
    unsigned less = any(n), part = any(3) ? any(1u << bits) : any(2) << (bits - 1);
    return any(2) << 15 | (e > less ? e - less : 0) << bits | part;
}

/* Lanes add what is near the last bit of what they find: sums stay in a binade for long, with ties, and leave it. */
static void chains(void)
{
    unsigned bits = CJI_AT_TYPE(rec.k) == CJI_AT_F16 || CJI_AT_TYPE(rec.k) == CJI_AT_F16X2 ? 10 : 7;
    unsigned e = any(4) ? any(32 << (10 - bits)) : any(3), sign = any(3) << 15 & 0x8000, same = any(2);
    unsigned char *to[] = { now.global, now.shared };
    size_t size[] = { sizeof now.global, sizeof now.shared };
    uint64_t v, one = beside(e, bits + 3, bits);
    for (unsigned j = 0; j < 2; j++) {
        for (size_t i = 0; i < 64; i += 2) {
            v = beside(e, 2, bits);
            memcpy(to[j] + i, &v, 2);
        }
        for (size_t n = 64; n < size[j]; n *= 2) memcpy(to[j] + n, to[j], n < size[j] - n ? n : size[j] - n);
    }
    for (unsigned i = 0; i < CJI_LANES; i++) {
        v = (same ? one : beside(e, bits + 3, bits)) ^ (any(16) ? 0 : sign);
        cji_put(&warp, rec.wb, 256, i, v | (same && any(2) ? v : beside(e, bits + 3, bits)) << 16);
    }
}

static int atomics(const cji_quick_table *t, int rounds)
{
    int bad = 0, taken = 0;
    for (int n = 0; n < rounds && bad < 5; n++) {
        rec = (cji_rec){ .size = any(2) ? 8 : 4, .count = 1, .b = 256, .d = 512, .c = 768 };
        rec.k = any(10) | (any(2) ? CJI_AT_SIGNED : CJI_AT_INT);
        if (any(4)) {
            unsigned i = any(sizeof floats / sizeof *floats);
            rec.size = floats[i].size;
            rec.k = floats[i].type | floats[i].op;
        }
        rec.wb = (uint8_t)width_of(rec.size);
        rec.wc = CJI_AT_OP(rec.k) == CJI_AT_CAS ? rec.wb : CJI_WNONE;
        rec.wd = any(2) ? rec.wb : CJI_WNONE;
        if (!any(8)) rec.d = 256;
        place(spaces[any(4)], rec.size);
        for (unsigned i = 0; i < CJI_LANES; i++)
            if (!any(3)) cji_put(&warp, rec.wb, 256, i, cji_get(&warp, rec.wb, 256, any(32)) & 3);
            else if (!any(3)) cji_put(&warp, rec.wb, 256, i, edge() | edge() << 16);
        for (unsigned i = 0; i < 64; i++) {    /* what lanes find */
            uint64_t v = edge();
            memcpy(now.global + 2 * any(sizeof now.global / 2), &v, 2);
            memcpy(now.shared + 2 * any(sizeof now.shared / 2), &v, 2);
        }
        if (CJI_AT_TYPE(rec.k) >= CJI_AT_F16 && any(2)) chains();
        taken += cji_quick_atomic(&rec);
        bad += differs(t->atom, cji_h_atom);
    }
    return bad + (taken != rounds && !bad);
}

static void check(const cji_quick_table *t, const char *name)
{
    const int rounds = tap_is_slow() ? 500 : 8000;
    begin();
    cji_exec_write_begin();
    tap_is_int(accesses(t, false, rounds), 0, "loads of the %s table", name);
    tap_is_int(accesses(t, true, rounds), 0, "stores of the %s table", name);
    tap_is_int(atomics(t, rounds), 0, "atomic operations of the %s table, by plain instructions", name);
    cji_exec_write_begin();
    tap_is_int(atomics(t, rounds), 0, "atomic operations of the %s table beside another writer", name);
    cji_exec_write_end();
    cji_exec_write_end();
}

int main(void)
{
    tap_plan(0);
    check(&cji_quick_base, "plain");
#ifdef CJI_QUICK_HAVE_AVX2
    if (cji_quick_avx2_runs()) check(&cji_quick_avx2, "AVX2");
#endif
    tap_ok(faults * 10 > compared && faults * 10 < compared * 7, "%d of %d accesses had a fault", faults, compared);
    tap_is_int(cji_writers.n, 0, "no writer is left");
    return tap_done();
}
