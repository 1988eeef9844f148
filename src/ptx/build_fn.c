/* Kernels and functions: making, finding, launch bounds, pragmas. */
#include <string.h>

#include "ptx/build.h"

/* ---- Making ------------------------------------------------------------------------------------------------------ */

static cj_fn *new_function(cj_ptx *m, uint32_t name, bool kernel, unsigned linkage, const char *call)
{
    if (!cji_grow(&m->fn, &m->cfn, m->nfn + 1, sizeof *m->fn)) return cji_ptx_nomem(m, call), NULL;
    cj_fn *f = cji_obj_new(sizeof *f, CJI_TAG_FN, 0, call);
    if (cji_obj_failed(f)) return cji_ptx_nomem(m, call), NULL;
    f->obj.err_in = &m->obj;
    f->m = m;
    f->index = (uint32_t)m->nfn;
    f->order = m->norder++;
    f->owner = cji_ptx_owner(m, m->nfn + 1);
    f->loc = f->decl_loc = m->loc;
    f->line_set = m->line_set;
    f->name = name;
    f->kernel = kernel;
    f->linkage = (uint8_t)linkage;
    m->fn[m->nfn++] = f;
    return f;
}

cj_fn *cji_ptx_fn(cj_ptx *m, const char *name, size_t len, bool kernel, unsigned linkage, const char *call)
{
    if (m->dead) return NULL;
    uint32_t word = cji_ptx_lookup(m, name, len), at;
    if (word && cji_word_kind(word) == CJI_K_FUNC) {
        cj_fn *f = m->fn[cji_word_index(word)];
        if (!f->body && f->kernel == kernel) return f;
    }
    if (word)
        return cji_ptx_fail(m, CJ_EINVAL, call, m->loc, "%s: the name \"%s\" is used already in this module", call,
                            cji_short(name)),
               NULL;
    at = cji_ptx_intern(m, name, len);
    cj_fn *f = at ? new_function(m, at, kernel, linkage, call) : NULL;
    return f && cji_ptx_enter(m, at, cji_word(CJI_K_FUNC, f->index)) ? f : NULL;
}

cj_fn *cji_ptx_proto(cj_ptx *m, const char *call)
{
    if (m->dead) return NULL;
    cj_fn *f = new_function(m, 0, false, CJI_LINK_NONE, call);
    if (f) f->proto = 1;
    return f;
}

/* A public constructor: a fresh name, a failed object when it fails. */
static cj_fn *make(cj_ptx *m, const char *name, bool kernel, unsigned linkage, const char *call)
{
    if (!cji_ptx_open(m, call)) return cji_ptx_bad(m, call);
    size_t len = name ? strlen(name) : 0;
    if (!cji_ptx_good_name(m, name, len, call, m->loc)) return cji_ptx_bad(m, call);
    if (cji_ptx_lookup(m, name, len)) {
        cji_ptx_fail(m, CJ_EINVAL, call, m->loc, "%s: the name \"%s\" is used already in this module", call,
                     cji_short(name));
        return cji_ptx_bad(m, call);
    }
    cj_fn *f = cji_ptx_fn(m, name, len, kernel, linkage, call);
    if (!f) return cji_ptx_bad(m, call);
    f->body = linkage != CJI_LINK_EXTERN;
    return f;
}

cj_fn *cj_ptx_kernel(cj_ptx *m, const char *name) { return make(m, name, true, CJI_LINK_VISIBLE, __func__); }
cj_fn *cj_ptx_func(cj_ptx *m, const char *name) { return make(m, name, false, CJI_LINK_VISIBLE, __func__); }
cj_fn *cj_ptx_extern_func(cj_ptx *m, const char *name) { return make(m, name, false, CJI_LINK_EXTERN, __func__); }

cj_fn *cj_ptx_find(cj_ptx *m, const char *name)
{
    cj_fn *bad = cji_ptx_bad(m, __func__);
    if (!m || bad != (cj_fn *)(void *)&m->bad || m->dead) return bad;
    cj_fn *f = name ? cji_ptx_find_fn(m, name) : NULL;
    if (f) return f;
    cji_fail(NULL, CJ_ENOTFOUND, __func__, "the module has no kernel or function \"%s\"", cji_short(name));
    cji_fail_part(&m->missing); /* the module does not keep it */
    return (cj_fn *)(void *)&m->missing;
}

/* ---- Launch bounds ----------------------------------------------------------------------------------------------- */

static bool bound(cj_fn *f, uint32_t smallest, uint32_t largest, uint32_t most, const char *call)
{
    if (!cji_fn_open(f, call)) return false;
    if (!f->kernel) {
        cji_ptx_fail(f->m, CJ_EINVAL, call, f->loc, "%s: %s is a .func; only kernels have launch bounds", call,
                     cji_short(cji_ptx_name(f->m, f->name)));
        return false;
    }
    if (smallest > 0 && largest <= most) return true;
    cji_ptx_fail(f->m, CJ_EINVAL, call, f->loc, "%s: %u is out of range, wants 1 to %u", call, smallest ? largest : 0,
                 most);
    return false;
}

static uint32_t least3(uint32_t x, uint32_t y, uint32_t z) { return x < y ? (x < z ? x : z) : (y < z ? y : z); }
static uint32_t most3(uint32_t x, uint32_t y, uint32_t z) { return x > y ? (x > z ? x : z) : (y > z ? y : z); }

static void set3(uint32_t *to, uint32_t x, uint32_t y, uint32_t z)
{
    to[0] = x;
    to[1] = y;
    to[2] = z;
}

static bool threads(cj_fn *f, uint32_t x, uint32_t y, uint32_t z, const char *call)
{
    if (!bound(f, least3(x, y, z), most3(x, y, z), 1024, call)) return false;
    if ((uint64_t)x * y * z <= 1024) return true;
    cji_ptx_fail(f->m, CJ_EINVAL, call, f->loc, "%s: %u x %u x %u threads are more than a block has (1024)", call, x, y,
                 z);
    return false;
}

/* A kernel has .maxntid or .reqntid: drivers reject both. */
static bool threads_alone(cj_fn *f, const uint32_t *other, const char *call)
{
    if (!*other) return true;
    cji_ptx_fail(f->m, CJ_EINVAL, call, f->loc, "%s: %s has the greatest or the required number of threads already; a "
                 "kernel has one of the two", call, cji_short(cji_ptx_name(f->m, f->name)));
    return false;
}

void cj_fn_max_threads(cj_fn *f, uint32_t x, uint32_t y, uint32_t z)
{
    if (threads(f, x, y, z, __func__) && threads_alone(f, f->bounds.reqntid, __func__))
        set3(f->bounds.maxntid, x, y, z);
}

void cj_fn_required_threads(cj_fn *f, uint32_t x, uint32_t y, uint32_t z)
{
    if (threads(f, x, y, z, __func__) && threads_alone(f, f->bounds.maxntid, __func__))
        set3(f->bounds.reqntid, x, y, z);
}

void cj_fn_min_blocks(cj_fn *f, uint32_t blocks)
{
    if (bound(f, blocks, blocks, 64, __func__)) f->bounds.minctas = blocks;
}

void cj_fn_max_registers(cj_fn *f, uint32_t registers)
{
    if (bound(f, registers, registers, 255, __func__)) f->bounds.maxreg = registers;
}

void cj_fn_required_cluster(cj_fn *f, uint32_t x, uint32_t y, uint32_t z)
{
    if (bound(f, least3(x, y, z), most3(x, y, z), 16, __func__) &&
        cji_ptx_need(f->m, 78, cji_targets_from(90), ".reqnctapercluster", f->loc))
        set3(f->bounds.cluster, x, y, z);
}

void cj_pragma(cj_fn *f, const char *text)
{
    if (!cji_fn_open(f, __func__)) return;
    if (!text || !*text || strlen(text) > 200 || strpbrk(text, "\"\n\r\\")) {
        cji_ptx_fail(f->m, CJ_EINVAL, __func__, f->loc,
                     "%s: the text is empty, too long, or has a quote or newline in it", __func__);
        return;
    }
    uint32_t name = cji_ptx_intern(f->m, text, strlen(text));
    if (name) cji_fn_pseudo(f, CJI_INS_PRAGMA, name);
}
