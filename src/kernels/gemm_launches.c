/* The latest launches of a product.  All that a launch enqueues follows from the values of its arguments: with the same
 * ones nothing is checked, chosen or encoded anew, and other addresses are put where those before were. */
#include <stddef.h>
#include <string.h>

#include "kernels/gemm_core.h"

static uint32_t place_of(const cj_gemm_args *args)
{
    uint64_t sum = args->a.data.addr * 3 + args->b.data.addr * 5 + args->out.data.addr * 7;
    return (uint32_t)((sum * UINT64_C(0x9e3779b97f4a7c15) >> 32) % CJK_LAUNCHES);
}

/* Whether the user's arguments are as many. */
static inline bool same_count(const struct cjk_launch *l, const cj_gemm_args *args)
{
    return l->ready.count && l->args.user_count == args->user_count && (args->user || !args->user_count);
}

/* Whether an argument of the user's has the value of the one before, and the kernel reads that value as it is, whatever
 * the parameter's type: not a double, which may be rounded to f32, nor bytes, which may be others now. */
static bool is_same_value(const cj_arg *x, const cj_arg *before)
{
    if (x->kind != before->kind) return false;
    if (x->kind == CJ_ARG_F32) return !memcmp(&x->v.f, &before->v.f, sizeof x->v.f);
    return x->kind != CJ_ARG_F64 && x->kind != CJ_ARG_BYTES && x->v.u == before->v.u;
}

static bool is_same_launch(const struct cjk_launch *l, const cj_gemm_args *args)
{
    if (!same_count(l, args) || memcmp(&l->args, args, offsetof(cj_gemm_args, user))) return false;
    for (size_t i = 0; i < args->user_count; i++)
        if (!is_same_value(&args->user[i], &l->user[i])) return false;
    return true;
}

/* What is checked of an address, and chosen by it, is the same. */
static inline bool aligned_alike(cj_dptr a, cj_dptr b) { return !a.addr == !b.addr && (a.addr ^ b.addr) % 16 == 0; }

static inline bool laid_alike(const cj_rows *x, const cj_rows *y)
{
    return x->stride == y->stride && x->step == y->step && aligned_alike(x->data, y->data);
}

static bool is_like_launch(const struct cjk_launch *l, const cj_gemm_args *args, bool scaled)
{
    enum { SIZES = offsetof(cj_gemm_args, m), FACTORS = offsetof(cj_gemm_args, alpha) };
    const cj_gemm_args *o = &l->args;
    if (!same_count(l, args) || memcmp(&o->m, &args->m, FACTORS - SIZES)) return false;
    if (!laid_alike(&o->a, &args->a) || !laid_alike(&o->b, &args->b) || !laid_alike(&o->c, &args->c) ||
        !laid_alike(&o->out, &args->out) || !aligned_alike(o->bias, args->bias))
        return false;
    return scaled ? !(o->beta != 0) == !(args->beta != 0)
                  : o->alpha == args->alpha && o->beta == args->beta;
}

/* Copies what is used of it, and all of the maps: that is one piece. */
static inline void copy_ready(cjk_gemm_ready *to, const cjk_gemm_ready *from)
{
    memcpy(to, from, offsetof(cjk_gemm_ready, arg) + from->count * sizeof *from->arg);
}

static bool has_memory_of(const struct cjk_launch *l, const cj_gemm_args *args)
{
    return l->args.a.data.addr == args->a.data.addr && l->args.b.data.addr == args->b.data.addr &&
           l->args.out.data.addr == args->out.data.addr;
}

/* The latest one that is like it. */
static const struct cjk_launch *find_like(const cjk_gemm *g, const cj_gemm_args *args)
{
    for (uint32_t i = 0; i < CJK_LAUNCHES; i++) {
        const struct cjk_launch *l = &g->launches.each[(g->launches.latest + i) % CJK_LAUNCHES];
        if (is_like_launch(l, args, g->o.scaled)) return l;
    }
    return NULL;
}

cjk_known cjk_gemm_recall(cjk_gemm *g, const cj_gemm_args *args, cjk_gemm_ready *out)
{
    uint32_t place = place_of(args);
    const struct cjk_launch *l = &g->launches.each[place];
    pthread_mutex_lock(&g->launches.lock);
    bool same = is_same_launch(l, args);
    if (same) g->launches.latest = place;
    else if (!has_memory_of(l, args) || !is_like_launch(l, args, g->o.scaled)) l = find_like(g, args);
    if (l) copy_ready(out, &l->ready);
    pthread_mutex_unlock(&g->launches.lock);
    return same ? CJK_KNOWN_SAME : l ? CJK_KNOWN_LIKE : CJK_KNOWN_NOT;
}

void cjk_gemm_note(cjk_gemm *g, const cj_gemm_args *args, const cjk_gemm_ready *ready)
{
    uint32_t place = place_of(args);
    struct cjk_launch *l = &g->launches.each[place];
    pthread_mutex_lock(&g->launches.lock);
    l->args = *args;
    if (args->user_count) memcpy(l->user, args->user, args->user_count * sizeof *l->user);
    copy_ready(&l->ready, ready);
    g->launches.latest = place;
    pthread_mutex_unlock(&g->launches.lock);
}
