/* What fits into memory: what every text must keep to (cji_layout_check), and what a launch needs (cj_ptx_check). */
#include "ptx/layout.h"
#include "base/first.h"

#include <string.h>

/* -- What has a size ----------------------------------------------------------------------------------------------- */

static bool layout_fails(cj_ptx *m, const char *call, const cji_var *v, const char *what, uint64_t limit)
{
    cji_ptx_fail(m, CJ_EPTX, call, v->loc, "'%s' of %llu bytes does not fit: %s at most %llu bytes",
                 cji_short(cji_ptx_name(m, v->name)), (unsigned long long)v->bytes, what, (unsigned long long)limit);
    return false;
}

static bool layout_has_place(const cji_var *v)
{
    return v->linkage != CJI_LINK_EXTERN && !(v->flags & CJI_VAR_UNSIZED) && !v->opaque;
}

/* The variables of an image, and the shared ones that belong to no kernel: those lie in one space. */
static bool layout_module(cj_ptx *m, const char *call)
{
    uint64_t global = 0, constant = 0, shared = 0, at;
    for (size_t i = 0; i < m->nvar; i++) {
        const cji_var *v = m->var[i];
        if (v->space == CJI_SP_SHARED && !(v->fn && m->fn[v->fn - 1]->kernel) && layout_has_place(v) &&
            !cji_layout_var(&shared, v, CJI_BYTES_MAX, &at))
            return layout_fails(m, call, v, "the .shared variables of a module have", CJI_BYTES_MAX);
        if ((v->space != CJI_SP_GLOBAL && v->space != CJI_SP_CONST) || !layout_has_place(v)) continue;
        if (v->align > CJI_IMAGE_ALIGN) {
            cji_ptx_fail(m, CJ_EPTX, call, v->loc,
                         "'%s' has .align %u; variables of a module are aligned to %u at most",
                         cji_short(cji_ptx_name(m, v->name)), v->align, (unsigned)CJI_IMAGE_ALIGN);
            return false;
        }
        if (v->space == CJI_SP_CONST && !cji_layout_var(&constant, v, CJI_CONST_BYTES, &at))
            return layout_fails(m, call, v, "the .const variables of a module have", CJI_CONST_BYTES);
        if (v->space == CJI_SP_GLOBAL && !cji_layout_var(&global, v, CJI_BYTES_MAX, &at))
            return layout_fails(m, call, v, "the .global variables of a module have", CJI_BYTES_MAX);
    }
    return true;
}

/* A function's frame, and a kernel's shared variables. */
static bool layout_function(cj_ptx *m, const cj_fn *f, const char *call)
{
    const struct { const uint32_t *list; size_t n; } lists[] = {
        { f->param, f->kernel ? 0 : f->nparam }, { f->result, f->nresult }, { f->var, f->nvar }
    };
    uint64_t frame = 0, shared = 0, param = 0, most = cji_layout_params(f->as_is ? m->fixed_version : 0), at;
    for (size_t i = 0; f->kernel && i < f->nparam; i++)
        if (!cji_layout_var(&param, m->var[f->param[i]], most, &at))
            return layout_fails(m, call, m->var[f->param[i]],
                                most < CJI_PARAM_BYTES ? "before PTX 8.1 a kernel's parameters have"
                                                       : "a kernel's parameters have",
                                most);
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < lists[k].n; i++) {
            const cji_var *v = m->var[lists[k].list[i]];
            bool inside = v->space == CJI_SP_LOCAL || v->space == CJI_SP_PARAM;
            if (inside && !cji_layout_var(&frame, v, CJI_BYTES_MAX, &at))
                return layout_fails(m, call, v, "the parameters and .local variables of a function have",
                                    CJI_BYTES_MAX);
            if (v->space == CJI_SP_SHARED && layout_has_place(v) && !cji_layout_var(&shared, v, CJI_BYTES_MAX, &at))
                return layout_fails(m, call, v, "the .shared variables of a function have", CJI_BYTES_MAX);
        }
    return true;
}

CJI_FIRST bool cji_layout_check(cj_ptx *m, const char *call)
{
    if (!layout_module(m, call)) return false;
    for (size_t i = 0; i < m->nfn; i++)
        if (!layout_function(m, m->fn[i], call)) return false;
    return true;
}

/* -- What is used -------------------------------------------------------------------------------------------------- */

typedef struct layout_walk {
    const cj_ptx *m;
    const cj_fn *f;
    void (*each)(void *user, uint32_t word, bool call);
    void *user;
} layout_walk;

static bool layout_names_it(uint32_t word)
{
    return cji_word_kind(word) == CJI_K_SYM || cji_word_kind(word) == CJI_K_FUNC;
}

static void layout_list(const layout_walk *w, uint32_t word, bool call)
{
    uint32_t n;
    for (const uint32_t *part = cji_fn_words(w->f, word, &n); n; n--, part++)
        if (layout_names_it(*part)) w->each(w->user, *part, call);
}

static void layout_word(const layout_walk *w, uint32_t word, bool call)
{
    const cj_fn *f = w->f;
    uint32_t i = cji_word_index(word);
    switch (cji_word_kind(word)) {
    case CJI_K_SYM: case CJI_K_FUNC: w->each(w->user, word, call); break;
    case CJI_K_MEM:
        if (layout_names_it(f->mem[i].base)) w->each(w->user, f->mem[i].base, call);
        break;
    case CJI_K_VEC: case CJI_K_LIST: case CJI_K_PAIR: case CJI_K_TEXMEM: layout_list(w, word, call); break;
    case CJI_K_TARGETS:
        if (f->tlist[i].list) layout_list(w, f->tlist[i].list, true);
        break;
    default: break;
    }
}

bool cji_layout_names(const cj_ptx *m, const cj_fn *f, void (*each)(void *user, uint32_t word, bool call), void *user)
{
    layout_walk w = { .m = m, .f = f, .each = each, .user = user };
    bool indirect = false;
    for (size_t k = 0; k < f->nins; k++) {
        const cji_ins *x = &f->ins[k];
        const cji_form *e = cji_ins_form(m, x);
        bool call = e && e->isa->effect & CJI_FX_CALL, direct = false;
        for (uint32_t i = 0, n = e ? cji_ins_n(f, x) : 0; i < n; i++) {
            uint32_t word = cji_ins_opnd(f, x, i), kind = cji_word_kind(word);
            direct |= kind == CJI_K_FUNC || (kind == CJI_K_TARGETS && f->tlist[cji_word_index(word)].list);
            layout_word(&w, word, call);
        }
        indirect |= call && !direct;
    }
    return indirect;
}

static void layout_mark(void *used, uint32_t word, bool call)
{
    (void)call;
    if (cji_word_kind(word) == CJI_K_SYM) ((uint8_t *)used)[cji_word_index(word)] = 1;
}

static void layout_used(const cj_ptx *m, uint8_t *used)
{
    for (size_t i = 0; i < m->nfn; i++) cji_layout_names(m, m->fn[i], layout_mark, used);
    for (size_t i = 0; i < m->nvar; i++)
        for (uint32_t k = 0; k < m->var[i]->nreloc; k++) layout_mark(used, m->var[i]->reloc[k].word, false);
}

/* -- What a launch needs ------------------------------------------------------------------------------------------- */

/* What each function may call and which shared variables it names, in the order of functions: thing[first[i]] to
 * thing[first[i + 1]], SYM and FUNC words.  Function nfn is "some function whose address is taken". */
typedef struct layout_calls {
    const cj_ptx *m;
    uint32_t *first;  size_t nfirst;
    uint32_t *thing;  size_t n, cap;
    uint32_t *taken;  size_t ntaken, ctaken;
    bool failed;
} layout_calls;

static void layout_push(layout_calls *c, uint32_t **list, size_t *n, size_t *cap, uint32_t word)
{
    if (c->failed || !cji_grow(list, cap, *n + 1, sizeof **list)) c->failed = true;
    else (*list)[(*n)++] = word;
}

static void layout_call(void *user, uint32_t word, bool call)
{
    layout_calls *c = user;
    bool function = cji_word_kind(word) == CJI_K_FUNC;
    if (function || c->m->var[cji_word_index(word)]->space == CJI_SP_SHARED)
        layout_push(c, &c->thing, &c->n, &c->cap, word);
    if (function && !call) layout_push(c, &c->taken, &c->ntaken, &c->ctaken, word);
}

static void layout_read_calls(const cj_ptx *m, layout_calls *c)
{
    c->m = m;
    c->nfirst = m->nfn + 2;
    c->first = cji_zalloc(c->nfirst * sizeof *c->first);
    c->failed = !c->first;
    for (size_t i = 0; i < m->nfn && !c->failed; i++) {
        c->first[i] = (uint32_t)c->n;
        for (size_t k = 0; k < m->fn[i]->nvar; k++)   /* a function's own count always, as with ptxas */
            layout_call(c, cji_word(CJI_K_SYM, m->fn[i]->var[k]), true);
        if (cji_layout_names(m, m->fn[i], layout_call, c))
            layout_push(c, &c->thing, &c->n, &c->cap, cji_word(CJI_K_FUNC, (uint32_t)m->nfn));
    }
    for (size_t i = 0; i < m->nvar; i++)
        for (uint32_t k = 0; k < m->var[i]->nreloc; k++)
            if (cji_word_kind(m->var[i]->reloc[k].word) == CJI_K_FUNC)
                layout_push(c, &c->taken, &c->ntaken, &c->ctaken, m->var[i]->reloc[k].word);
    if (c->failed) return;
    c->first[m->nfn] = (uint32_t)c->n;
    for (size_t i = 0; i < c->ntaken; i++) layout_push(c, &c->thing, &c->n, &c->cap, c->taken[i]);
    c->first[m->nfn + 1] = (uint32_t)c->n;
}

/* Functions and variables that the search for one kernel has met: their stamp is the kernel's. */
typedef struct layout_search {
    cj_ptx *m;
    const char *call;
    layout_calls calls;
    uint32_t *fn, *var, *queue;        /* [nfn + 1], [nvar], [nfn + 1] */
    uint64_t left;                     /* steps: kernels that share thousands of functions are not searched for ever */
} layout_search;

enum { LAYOUT_STEPS = 50000000 };

static bool layout_kernel_shared(layout_search *s, uint32_t kernel)
{
    uint32_t stamp = kernel + 1, head = 0, tail = 0;
    uint64_t shared = 0, at;
    s->queue[tail++] = kernel;
    s->fn[kernel] = stamp;
    while (head < tail && s->left) {
        uint32_t f = s->queue[head++];
        for (uint32_t i = s->calls.first[f]; i < s->calls.first[f + 1] && s->left; i++, s->left--) {
            uint32_t word = s->calls.thing[i], index = cji_word_index(word);
            uint32_t *seen = cji_word_kind(word) == CJI_K_FUNC ? &s->fn[index] : &s->var[index];
            if (*seen == stamp) continue;
            *seen = stamp;
            if (cji_word_kind(word) == CJI_K_FUNC) {
                s->queue[tail++] = index;
                continue;
            }
            const cji_var *v = s->m->var[index];
            if (!layout_has_place(v) || cji_layout_var(&shared, v, CJI_SHARED_BYTES, &at)) continue;
            cji_ptx_fail(s->m, CJ_EPTX, s->call, v->loc,
                         "'%s' of %llu bytes is too much for kernel %s: static shared memory has at most %u bytes; "
                         "dynamic shared memory, sized by the launch, may have more",
                         cji_short(cji_ptx_name(s->m, v->name)), (unsigned long long)v->bytes,
                         cji_short(cji_ptx_name(s->m, s->m->fn[kernel]->name)), (unsigned)CJI_SHARED_BYTES);
            return false;
        }
    }
    return true;
}

static bool layout_shared(cj_ptx *m, const uint8_t *used, const char *call)
{
    uint64_t all = 0, at;
    bool fits = true, fine = true;
    for (size_t i = 0; i < m->nvar && fits; i++)
        if (m->var[i]->space == CJI_SP_SHARED && (used[i] || m->var[i]->fn) && layout_has_place(m->var[i]))
            fits = cji_layout_var(&all, m->var[i], CJI_SHARED_BYTES, &at);
    if (fits) return true;
    size_t words = 2 * (m->nfn + 1) + m->nvar;
    uint32_t *room = cji_zalloc(words * sizeof *room);
    layout_search s = { .m = m, .call = call, .fn = room, .left = LAYOUT_STEPS };
    if (room) {
        s.queue = room + m->nfn + 1;
        s.var = s.queue + m->nfn + 1;
        layout_read_calls(m, &s.calls);
    }
    if (!room || s.calls.failed) {
        cji_ptx_fail(m, CJ_ENOMEM, call, 0, "%s: host memory is exhausted", call);
        fine = false;
    }
    for (uint32_t i = 0; fine && i < m->nfn; i++)
        if (m->fn[i]->kernel && m->fn[i]->body) fine = layout_kernel_shared(&s, i);
    cji_free(s.calls.first, s.calls.nfirst * sizeof *s.calls.first);
    cji_free(s.calls.thing, s.calls.cap * sizeof *s.calls.thing);
    cji_free(s.calls.taken, s.calls.ctaken * sizeof *s.calls.taken);
    cji_free(room, words * sizeof *room);
    return fine;
}

static bool layout_local(cj_ptx *m, const uint8_t *used, const char *call)
{
    for (size_t i = 0; i < m->nfn; i++) {
        const cj_fn *f = m->fn[i];
        uint64_t local = 0, at;
        for (size_t k = 0; k < f->nvar; k++) {
            const cji_var *v = m->var[f->var[k]];
            if (v->space != CJI_SP_LOCAL || !used[f->var[k]]) continue;
            if (cji_layout_var(&local, v, CJI_LOCAL_BYTES, &at)) continue;
            cji_ptx_fail(m, CJ_EPTX, call, v->loc,
                         "'%s' of %llu bytes is too much for %s: a thread's local memory has at most %u bytes",
                         cji_short(cji_ptx_name(m, v->name)), (unsigned long long)v->bytes,
                         cji_short(cji_ptx_name(m, f->name)), (unsigned)CJI_LOCAL_BYTES);
            return false;
        }
    }
    return true;
}

static void check_passed(cj_ptx *m, const char *call)
{
    cji_unpassed u;
    char why[160];
    if (m->dead || cji_ptx_passes(m, true, &u)) return;
    cji_unpassed_text(m, &u, why, sizeof why);
    cji_ptx_fail(m, CJ_EPTX, call, u.v->loc, "%s", why);
}

cj_status cj_ptx_check(cj_ptx *m)
{
    cj_status s = cji_check(m, CJI_TAG_PTX, __func__);
    if (s == CJ_OK) s = cji_ptx_finish(m, __func__);
    if (s != CJ_OK) return s;
    uint8_t *used = cji_zalloc(m->nvar + 1);
    if (!used) return cji_ptx_fail(m, CJ_ENOMEM, __func__, 0, "%s: host memory is exhausted", __func__);
    layout_used(m, used);
    if (layout_local(m, used, __func__)) layout_shared(m, used, __func__);
    cji_free(used, m->nvar + 1);
    check_passed(m, __func__);
    return cj_ptx_status(m);
}
