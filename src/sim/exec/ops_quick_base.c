/* ops_quick.h for any processor, the choice between the two, and the choice of a handler. */
#include "sim/exec/ops_quick.h"
#include "sim/exec/fp_soft.h"
#include "sim/exec/ops_mem.h"
#include "sim/exec/writers.h"

#define QN(name) quick_base_##name
#define QUICK_TABLE cji_quick_base
#include "sim/exec/ops_quick.inc"
#include "sim/exec/ops_quick_undef.inc"

const cji_quick_table *cji_quick_pick(void)
{
#ifdef CJI_QUICK_HAVE_AVX2
    if (cji_quick_avx2_runs()) return &cji_quick_avx2;
#endif
    return &cji_quick_base;
}

/* Are all elements in registers of the width? A sink is none. */
static bool quick_all(const cji_exec_program *p, const cji_rec *r, unsigned width, unsigned first)
{
    if (r->count == 1) return first == width;
    for (unsigned j = 0; j < r->count; j++)
        if (p->ext[r->target + 2 * j] != width) return false;
    return true;
}

cji_handler cji_quick_access(const cji_quick_table *t, const cji_exec_program *p, const cji_rec *r, bool store)
{
    unsigned width = r->size == 4 ? CJI_W32 : r->size == 8 ? CJI_W64 : CJI_WNONE, first = store ? r->wb : r->wd;
    if (r->size == 8 && !quick_all(p, r, CJI_W64, first)) return store ? cji_h_st : cji_h_ld;
    if (r->flags & CJI_MF_VOLATILE || !width || !quick_all(p, r, width, first)) return store ? t->st : t->ld;
    switch (r->count * 2 + (r->size == 8)) {
    case 2: return store ? t->st_32 : t->ld_32;
    case 3: return store ? t->st_64 : t->ld_64;
    case 4: return store ? t->st_32x2 : t->ld_32x2;
    case 5: return store ? t->st_64x2 : t->ld_64x2;
    case 8: return store ? t->st_32x4 : t->ld_32x4;
    default: return store ? t->st : t->ld;
    }
}

bool cji_quick_atomic(const cji_rec *r)
{
    static const struct { uint8_t size, type, op; } some[] = {
        { 2, CJI_AT_INT, CJI_AT_CAS },   { 2, CJI_AT_F16, CJI_AT_ADD },    { 2, CJI_AT_BF16, CJI_AT_ADD },
        { 4, CJI_AT_F16X2, CJI_AT_ADD }, { 4, CJI_AT_BF16X2, CJI_AT_ADD }, { 4, CJI_AT_F32, CJI_AT_ADD },
        { 8, CJI_AT_F64, CJI_AT_ADD },
    };
    unsigned width = r->size == 2 ? CJI_W16 : r->size == 4 ? CJI_W32 : r->size == 8 ? CJI_W64 : CJI_WNONE;
    unsigned type = CJI_AT_TYPE(r->k), op = CJI_AT_OP(r->k);
    if (r->count != 1 || !width || r->wb != width) return false;
    if ((r->wd && r->wd != width) || (r->wc && r->wc != width)) return false;
    if (r->size > 2 && type <= CJI_AT_SIGNED) return true;
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        if (r->size == some[i].size && type == some[i].type && op == some[i].op) return true;
    return false;
}
