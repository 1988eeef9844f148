/* Moves of parts, questions about addresses, and what the lanes of a warp execute together: the handlers of 32 lanes
 * give what the handlers give that work lane by lane, in the plain build and in the one for AVX2, with all lanes and
 * with some, for every operation; also where lanes must wait for others. */
#include "sim/exec/ops_lane.h"
#include "sim/exec/ops_vec.h"
#include "sim/exec/ops_warp.h"

#include "../tap.h"

/* Registers of 256 bytes each: d, a, b, c, the lanes' masks, a second result, then the parts. */
enum { AT_D = 0, AT_A = 256, AT_B = 512, AT_C = 768, AT_NAMED = 1024, AT_D2 = 1280, AT_PARTS = 1536, FRAME = 2560 };

typedef struct form {
    const char *name;
    size_t handler;
    cji_handler by_lanes;
    uint32_t k, d, a;      /* cji_width of the operands */
    uint32_t count, bits;  /* of parts */
    uint32_t space;
} form;
#define PACK(n, bits_, whole) \
    { "pack_" #bits_ "x" #n, offsetof(cji_vec_table, pack_##bits_##x##n), cji_h_pack, 0, whole, 0, n, bits_, 0 }
#define UNPACK(n, bits_, whole) \
    { "unpack_" #bits_ "x" #n, offsetof(cji_vec_table, unpack_##bits_##x##n), cji_h_unpack, 0, 0, whole, n, bits_, 0 }
#define SPACE(space_) \
    { "isspacep of " #space_, offsetof(cji_vec_table, isspacep), cji_h_isspacep, 0, CJI_WP, CJI_W64, 0, 0, \
      CJI_SP_##space_ }
#define SYNC(form_, op, d, a) { #op, offsetof(cji_vec_table, form_), cji_h_sync, CJI_SY_##op, d, a, 0, 0, 0 }
#define SIGNED(form_, op) \
    { #op ", signed", offsetof(cji_vec_table, form_), cji_h_sync, CJI_SY_##op | CJI_SY_SIGNED, CJI_W32, CJI_W32, 0, \
      0, 0 }

static const form forms[] = {
    PACK(2, 8, CJI_W16), PACK(2, 16, CJI_W32), PACK(2, 32, CJI_W64), PACK(4, 8, CJI_W32), PACK(4, 16, CJI_W64),
    UNPACK(2, 8, CJI_W16), UNPACK(2, 16, CJI_W32), UNPACK(2, 32, CJI_W64), UNPACK(4, 8, CJI_W32),
    UNPACK(4, 16, CJI_W64),
    SPACE(SHARED), SPACE(LOCAL), SPACE(PARAM), SPACE(CONST), SPACE(GLOBAL),
    SYNC(sync_shfl, UP, CJI_W32, CJI_W32), SYNC(sync_shfl, DOWN, CJI_W32, CJI_W32),
    SYNC(sync_shfl, BFLY, CJI_W32, CJI_W32), SYNC(sync_shfl, IDX, CJI_W32, CJI_W32),
    SYNC(sync_vote, ALL, CJI_WP, CJI_WP), SYNC(sync_vote, ANY, CJI_WP, CJI_WP), SYNC(sync_vote, UNI, CJI_WP, CJI_WP),
    SYNC(sync_vote, BALLOT, CJI_W32, CJI_WP),
    SYNC(sync_match_32, MATCH_ANY, CJI_W32, CJI_W32), SYNC(sync_match_64, MATCH_ANY, CJI_W32, CJI_W64),
    SYNC(sync_match_32, MATCH_ALL, CJI_W32, CJI_W32), SYNC(sync_match_64, MATCH_ALL, CJI_W32, CJI_W64),
    SYNC(sync_redux, ADD, CJI_W32, CJI_W32), SYNC(sync_redux, AND, CJI_W32, CJI_W32),
    SYNC(sync_redux, OR, CJI_W32, CJI_W32), SYNC(sync_redux, XOR, CJI_W32, CJI_W32),
    SYNC(sync_redux, MIN, CJI_W32, CJI_W32), SYNC(sync_redux, MAX, CJI_W32, CJI_W32),
    SIGNED(sync_redux, MIN), SIGNED(sync_redux, MAX),
    SYNC(sync_here, ELECT, CJI_W32, 0), SYNC(sync_here, ACTIVE, CJI_W32, 0), SYNC(sync_here, BARRIER, 0, 0),
};

static uint64_t seed = 1;
static uint64_t next(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t x = seed ^ seed >> 31;
    return x * UINT64_C(0x9e3779b97f4a7c15);
}

/* What is alike in some lanes, an address next to the end of a window, or any number. */
static uint64_t value(unsigned kind)
{
    static const uint64_t edges[] = { 0,
                                      0x10000,
                                      0x10400,
                                      CJI_EXEC_SHARED_WINDOW,
                                      CJI_EXEC_LOCAL_WINDOW,
                                      CJI_EXEC_PARAM_WINDOW,
                                      CJI_EXEC_PARAM_WINDOW + (UINT64_C(1) << 48),
                                      UINT64_MAX };
    uint64_t r = next();
    if (kind == 0) return 7;
    if (kind == 1) return next() & 3;
    if (kind == 2) return edges[r & 7] + (r >> 8 & 3) - 1;
    return next();
}

/* The same registers and lanes for both handlers. *named: the mask of each lane that is there. */
static void operands(cji_warp *w, const form *x, uint32_t mask, uint32_t named)
{
    unsigned kind = (unsigned)(next() & 3);
    for (unsigned i = 0; i < CJI_LANES; i++) {
        if (x->a == CJI_W64) cji_put(w, CJI_W64, AT_A, i, value(kind));
        else cji_put(w, CJI_W32, AT_A, i, value(kind));
        cji_put(w, CJI_W32, AT_B, i, next() & 1 ? next() & 31 : next());
        cji_put(w, CJI_W32, AT_C, i, next() & 1 ? 31 : next());
        cji_put(w, CJI_W32, AT_NAMED, i, mask >> i & 1 ? named : (uint32_t)next());
    }
    if (x->a == CJI_WP) *cji_pred(w, AT_A) = kind == 0 ? 0 : kind == 1 ? CJI_FULL : (uint32_t)next();
    for (unsigned i = 0; i < FRAME - AT_PARTS; i++) w->r[AT_PARTS + i] = (unsigned char)next();
}

static int differ(const cji_vec_table *table, const form *x, int rounds)
{
    static _Alignas(64) unsigned char frames[2][FRAME];
    static cji_warp w[2];
    int bad = 0;
    cji_handler h;
    memcpy(&h, (const char *)table + x->handler, sizeof h);
    for (int n = 0; n < rounds; n++) {
        static uint32_t ext[16];
        const cji_exec_program p = { .ext = ext, .base = 0x10000, .const_bytes = 0x400 };
        uint32_t live = n % 3 ? CJI_FULL : (uint32_t)next() | 1, mask = n % 2 ? live : ((uint32_t)next() & live) | 1;
        uint32_t named = n % 5 ? live : mask;
        named |= mask | (mask == live ? ~live : 0);
        cji_rec r = { .fn = h, .k = x->k, .d = AT_D, .a = AT_A, .b = AT_B, .c = AT_C, .imm = AT_NAMED };
        r.wd = (uint8_t)x->d, r.wa = (uint8_t)x->a, r.space = (uint8_t)x->space;
        if (x->by_lanes == cji_h_sync) {
            r.wb = r.wc = CJI_W32;
            ext[0] = CJI_W32, ext[1] = AT_NAMED;
            r.d2 = AT_D2;
            bool pair = (x->k & CJI_SY_OP) <= CJI_SY_IDX || (x->k & CJI_SY_OP) == CJI_SY_MATCH_ALL ||
                        (x->k & CJI_SY_OP) == CJI_SY_ELECT;
            r.size = pair && n & 4 ? CJI_WP : CJI_WNONE;
            if ((x->k & CJI_SY_OP) == CJI_SY_ACTIVE || (x->a == CJI_WP && n & 8)) r.k |= CJI_SY_NO_MASK;
            if (x->a == CJI_WP && n & 16) r.k |= CJI_SY_NOT;
        } else if (x->count) {
            r.count = (uint8_t)x->count, r.imm = (int64_t)x->bits;
            unsigned width = x->bits == 8 ? CJI_W8 : x->bits == 16 ? CJI_W16 : CJI_W32;
            for (uint32_t j = 0; j < x->count; j++) {
                bool none = x->a && next() % 5 == 0;    /* a result that is not wanted */
                ext[2 * j] = none ? CJI_WNONE : width;
                ext[2 * j + 1] = AT_PARTS + 256 * j;
            }
        }
        for (int f = 0; f < 2; f++) {
            w[f] = (cji_warp){ .r = frames[f], .mask = mask, .active = mask, .live = live, .pc = 5, .p = &p };
            w[f].limit = CJI_FULL;
        }
        memset(frames[0], 0x5a, FRAME);
        operands(&w[0], x, mask, named);
        memcpy(frames[1], frames[0], FRAME);
        h(&w[0], &r);
        x->by_lanes(&w[1], &r);
        bad += memcmp(frames[0], frames[1], FRAME) != 0 || w[0].active != w[1].active || w[0].ngroup != w[1].ngroup ||
               w[0].stop != w[1].stop || memcmp(w[0].group, w[1].group, sizeof w[0].group) != 0;
    }
    return bad;
}

int main(void)
{
    tap_plan(0);
    int rounds = tap_is_slow() ? 60 : 600;
    const cji_vec_table *own = cji_vec_pick();
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        tap_is_int(differ(&cji_vec_base, &forms[i], rounds), 0, "%s, plain", forms[i].name);
        if (own != &cji_vec_base)
            tap_is_int(differ(own, &forms[i], rounds), 0, "%s, for this processor", forms[i].name);
    }
    return tap_done();
}
