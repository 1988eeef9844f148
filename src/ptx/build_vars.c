/* Parameters, results and variables. */
#include <stdio.h>
#include <string.h>

#include "ptx/build.h"
#include "ptx/layout.h"
#include "ptx/verb_table.h"

static bool is_power(uint64_t x) { return x && !(x & (x - 1)); }

static void bad_variable(cj_ptx *m, uint32_t loc, const char *call, const char *name, const char *what)
{
    cji_ptx_fail(m, CJ_EINVAL, call, loc, "%s: \"%s\": %s", call, cji_short(name), what);
}

/* ---- Entering ---------------------------------------------------------------------------------------------------- */

typedef struct vars_search { uint32_t word; bool found; } vars_search;

static void find_word(void *user, uint32_t word, bool call)
{
    vars_search *s = user;
    (void)call;
    s->found |= word == s->word;
}

/* Do its instructions name the module's variable of this name? */
static bool names_module_variable(const cj_fn *f, uint32_t name)
{
    vars_search s = { .word = name < f->m->cscope ? f->m->scope[name] : 0 };
    if (cji_word_kind(s.word) == CJI_K_SYM) cji_layout_names(f->m, f, find_word, &s);
    return s.found;
}

static bool name_taken(const cj_ptx *m, const cj_fn *f, uint32_t name)
{
    if (!f) return name < m->cscope && m->scope[name];
    return cji_fn_hides(f, name) || names_module_variable(f, name);
}

static bool enlist(cj_ptx *m, uint32_t **list, size_t *n, size_t *cap, uint32_t index, const char *call)
{
    if (!cji_grow(list, cap, *n + 1, sizeof **list)) return cji_ptx_nomem(m, call), false;
    (*list)[(*n)++] = index;
    return true;
}

cji_var *cji_ptx_var(cj_ptx *m, cj_fn *f, unsigned list, const char *name, size_t len, const char *call,
                     uint32_t *index)
{
    uint32_t loc = f ? f->loc : m->loc, at;
    if (m->dead) return NULL;
    at = cji_ptx_intern(m, name, len);
    if (m->dead) return NULL;
    if (at && !(list & CJI_LIST_FRESH) && name_taken(m, f, at))
        return cji_ptx_fail(m, CJ_EINVAL, call, loc, "%s: the name \"%s\" is used already", call, cji_short(name)),
               NULL;
    list &= ~(unsigned)CJI_LIST_FRESH;
    cji_var *v = cji_arena_alloc(&m->arena, sizeof *v);
    if (!v || !cji_grow(&m->var, &m->cvar, m->nvar + 1, sizeof *m->var)) return cji_ptx_nomem(m, call), NULL;
    v->name = at;
    if (f && (list == CJI_LIST_PARAM || list == CJI_LIST_RESULT)) v->flags = CJI_VAR_HEAD;
    if (f && list == CJI_LIST_RESULT) v->flags |= CJI_VAR_RESULT;
    v->fn = f ? f->index + 1 : 0;
    v->loc = loc;
    *index = (uint32_t)m->nvar;
    if (!f && at && !cji_ptx_enter(m, at, cji_word(CJI_K_SYM, *index))) return NULL;
    if (f && list == CJI_LIST_PARAM && !enlist(m, &f->param, &f->nparam, &f->cparam, *index, call)) return NULL;
    if (f && list == CJI_LIST_RESULT && !enlist(m, &f->result, &f->nresult, &f->cresult, *index, call)) return NULL;
    if (f && list == CJI_LIST_VAR && !enlist(m, &f->var, &f->nvar, &f->cvar, *index, call)) return NULL;
    m->var[m->nvar++] = v;
    return v;
}

bool cji_var_size(cji_var *v)
{
    uint64_t n = v->opaque ? 8 : cji_type_bits(v->type) / 8 * (v->vec ? v->vec : 1u);
    for (uint32_t i = v->flags & CJI_VAR_UNSIZED ? 1 : 0; i < v->ndim; i++)
        if (!cji_layout_mul(n, v->dim[i], &n)) return false;
    v->bytes = v->flags & CJI_VAR_UNSIZED ? 0 : n;
    return true;
}

/* A variable by name, checked; what is left to the caller is its kind. */
static cji_var *named_variable(cj_ptx *m, cj_fn *f, unsigned list, const char *name, unsigned type, const char *call,
                               uint32_t *index)
{
    uint32_t loc = f ? f->loc : m->loc;
    size_t len = name ? strlen(name) : 0;
    if (!cji_ptx_good_name(m, name, len, call, loc)) return NULL;
    if (type <= CJ_PRED || type >= CJ_TYPE_COUNT)
        return bad_variable(m, loc, call, name, "the type must be one that memory has (CJ_VOID and CJ_PRED are not)"),
               NULL;
    cji_var *v = cji_ptx_var(m, f, list, name, len, call, index);
    if (v) v->type = (uint8_t)type;
    return v;
}

static bool set_count(cj_ptx *m, cji_var *v, size_t count, const char *call)
{
    v->dim = cji_arena_alloc(&m->arena, sizeof *v->dim);
    if (!v->dim) return cji_ptx_nomem(m, call), false;
    v->dim[0] = count;
    v->ndim = 1;
    v->flags |= CJI_VAR_ARRAY;
    if (!count) v->flags |= CJI_VAR_UNSIZED;
    if (cji_var_size(v)) return true;
    cji_ptx_fail(m, CJ_EPTX, call, v->loc, "%s: \"%s\" has more than %llu bytes", call,
                 cji_short(cji_ptx_name(m, v->name)), (unsigned long long)CJI_BYTES_MAX);
    return false;
}

/* ---- Parameters -------------------------------------------------------------------------------------------------- */

static bool may_declare(cj_fn *f, const char *call)
{
    if (!cji_fn_open(f, call)) return false;
    if (f->called) {
        cji_ptx_fail(f->m, CJ_ESTATE, call, f->loc,
                     "%s: %s has been called; cj_param() and cj_result() come before the first call", call,
                     cji_short(cji_ptx_name(f->m, f->name)));
        return false;
    }
    if (!f->nblock) return true;
    cji_ptx_fail(f->m, CJ_ESTATE, call, f->loc,
                 "%s: parameters and results are declared outside of cj_if, loops and the like", call);
    return false;
}

/* A parameter or result of a function: a register declared in its head. */
static uint32_t register_parameter(cj_fn *f, unsigned list, const char *name, unsigned type, const char *call)
{
    uint32_t index;
    cji_var *v = named_variable(f->m, f, list, name, cji_type_wide(type), call, &index);
    if (!v) return 0;
    v->space = CJI_SP_REG;
    cji_var_size(v);
    uint32_t word = cji_fn_reg(f, v->type);
    if (!word) return 0;
    cji_reg *r = &f->reg[cji_word_index(word)];
    f->count[cji_type_declared(r->type)]--; /* its name is the variable's: it takes no number */
    r->number = index;
    r->flags |= CJI_REG_PARAM;
    v->reg = cji_word_index(word);
    return word;
}

/* Counts the latest parameter.  Kernels take 4096 bytes of parameters on every driver; newer ones CJI_PARAM_BYTES. */
static bool parameters_fit(cj_fn *f, const char *call)
{
    enum { FEW = 4096 };
    uint64_t at;
    const cji_var *v = f->m->var[f->param[f->nparam - 1]];
    if (!cji_layout_var(&f->param_bytes, v, CJI_PARAM_BYTES, &at)) {
        cji_ptx_fail(f->m, CJ_EPTX, call, f->loc, "%s: with \"%s\" the parameters of %s have more than %u bytes", call,
                     cji_short(cji_ptx_name(f->m, v->name)), cji_short(cji_ptx_name(f->m, f->name)),
                     (unsigned)CJI_PARAM_BYTES);
        return false;
    }
    return f->param_bytes <= FEW ||
           cji_ptx_need(f->m, 81, cji_targets_from(70), "more than 4096 bytes of parameters", f->loc);
}

static cj_val load_parameter(cj_fn *f, uint32_t index, unsigned type)
{
    if (!parameters_fit(f, "cj_param")) return CJI_NULL;
    cj_val place = cji_val_of(f, cji_fn_mem(f, cji_word(CJI_K_SYM, index), 0), CJ_VOID);
    return place.bits ? cji_load_from(f, type, CJI_SP_PARAM, place, "cj_param") : CJI_NULL;
}

cj_val cj_param(cj_fn *f, const char *name, cj_type type)
{
    uint32_t index;
    if (!may_declare(f, __func__)) return CJI_NULL;
    if (!f->kernel) {
        uint32_t word = register_parameter(f, CJI_LIST_PARAM, name, type, __func__);
        return cji_val_of(f, word, cji_type_wide(type));
    }
    cji_var *v = named_variable(f->m, f, CJI_LIST_PARAM, name, type, __func__, &index);
    if (!v) return CJI_NULL;
    v->space = CJI_SP_PARAM;
    cji_var_size(v);
    return load_parameter(f, index, type);
}

cj_val cj_result(cj_fn *f, const char *name, cj_type type)
{
    if (!may_declare(f, __func__)) return CJI_NULL;
    if (f->kernel) return bad_variable(f->m, f->loc, __func__, name, "a kernel has no results"), CJI_NULL;
    uint32_t word = register_parameter(f, CJI_LIST_RESULT, name, type, __func__);
    return cji_val_of(f, word, cji_type_wide(type));
}

static bool good_space(unsigned space)
{
    return space == CJI_SP_GENERIC || space == CJI_SP_CONST || space == CJI_SP_GLOBAL || space == CJI_SP_LOCAL ||
           space == CJI_SP_SHARED;
}

static void say_pointer(cj_fn *f, uint32_t word, unsigned elem, unsigned space)
{
    cji_reg *r = &f->reg[cji_word_index(word)];
    r->elem = (uint8_t)elem;
    r->space = (uint8_t)space;
    r->flags |= CJI_REG_PTR;
}

static cj_val pointer(cj_fn *f, const char *name, unsigned elem, unsigned space, uint32_t align, const char *call)
{
    uint32_t index;
    if (!may_declare(f, call)) return CJI_NULL;
    if (elem == CJ_PRED || elem >= CJ_TYPE_COUNT)
        return bad_variable(f->m, f->loc, call, name, "pointers to .pred do not exist"), CJI_NULL;
    if (!good_space(space))
        return bad_variable(f->m, f->loc, call, name, "the space must be generic, global, const, shared or local"),
               CJI_NULL;
    if (align && !is_power(align))
        return bad_variable(f->m, f->loc, call, name, "the alignment must be a power of two"), CJI_NULL;
    if (!f->kernel) {
        uint32_t word = register_parameter(f, CJI_LIST_PARAM, name, CJ_U64, call);
        if (word) say_pointer(f, word, elem, space);
        return cji_val_of(f, word, CJ_U64);
    }
    cji_var *v = named_variable(f->m, f, CJI_LIST_PARAM, name, CJ_U64, call, &index);
    if (!v) return CJI_NULL;
    v->space = CJI_SP_PARAM;
    v->flags |= CJI_VAR_PTR;
    v->ptr_space = (uint8_t)space;
    v->ptr_elem = (uint8_t)elem;
    v->ptr_align = align;
    cji_var_size(v);
    cj_val p = load_parameter(f, index, CJ_U64);
    if (p.bits && space != CJI_SP_GENERIC) p = cji_to_space(f, p, space, call);
    if (p.bits) say_pointer(f, cji_val_word(p), elem, space);
    return p;
}

cj_val cj_param_ptr(cj_fn *f, const char *name, cj_type elem)
{
    uint32_t align = (unsigned)elem < CJ_TYPE_COUNT ? cji_type_bits(elem) / 8 : 0;
    return pointer(f, name, elem, CJI_SP_GLOBAL, align, __func__);
}

cj_val cj_param_ptr_in(cj_fn *f, const char *name, cj_type elem, cj_space space, uint32_t align)
{
    return pointer(f, name, elem, (unsigned)space, align, __func__);
}

cj_val cj_param_bytes(cj_fn *f, const char *name, size_t bytes, uint32_t align)
{
    uint32_t index;
    if (!may_declare(f, __func__)) return CJI_NULL;
    if (!f->kernel)
        return bad_variable(f->m, f->loc, __func__, name, "only kernels take parameters by bytes"), CJI_NULL;
    if (!bytes || bytes > CJI_PARAM_BYTES)
        return bad_variable(f->m, f->loc, __func__, name, "a parameter has 1 to 32764 bytes"), CJI_NULL;
    if (!is_power(align) || align > CJI_PARAM_ALIGN)
        return bad_variable(f->m, f->loc, __func__, name, "the alignment must be a power of two up to 128"), CJI_NULL;
    cji_var *v = named_variable(f->m, f, CJI_LIST_PARAM, name, CJ_B8, __func__, &index);
    if (!v || !set_count(f->m, v, bytes, __func__)) return CJI_NULL;
    v->space = CJI_SP_PARAM;
    v->align = align;
    if (!parameters_fit(f, __func__)) return CJI_NULL;
    return cji_val_of(f, cji_word(CJI_K_SYM, index), CJ_B8);
}

cj_val cji_result_bytes(cj_fn *f, const char *name, size_t bytes, const char *call)
{
    uint32_t index;
    if (!may_declare(f, call)) return CJI_NULL;
    cji_var *v = named_variable(f->m, f, CJI_LIST_RESULT, name, CJ_B8, call, &index);
    if (!v || !set_count(f->m, v, bytes, call)) return CJI_NULL;
    v->space = CJI_SP_PARAM;
    v->align = 8;
    return cji_val_of(f, cji_word(CJI_K_SYM, index), CJ_B8);
}

/* ---- Variables of a function ------------------------------------------------------------------------------------- */

static cj_val own_variable(cj_fn *f, const char *name, unsigned elem, size_t count, unsigned space, const char *call)
{
    uint32_t index;
    if (!cji_fn_open(f, call)) return CJI_NULL;
    if (!count) return bad_variable(f->m, f->loc, call, name, "the count must be 1 or more"), CJI_NULL;
    if (count > UINT32_MAX)
        return bad_variable(f->m, f->loc, call, name, "the count is beyond the memory of a block"), CJI_NULL;
    cji_var *v = named_variable(f->m, f, CJI_LIST_VAR, name, elem, call, &index);
    if (!v || !set_count(f->m, v, count, call)) return CJI_NULL;
    v->space = (uint8_t)space;
    return cji_val_of(f, cji_word(CJI_K_SYM, index), elem);
}

cj_val cji_call_bytes(cj_fn *f, size_t bytes, const char *call)
{
    char name[40];
    for (size_t i = 0; i < f->nvar; i++) {
        const cji_var *v = f->m->var[f->var[i]];
        if (v->space == CJI_SP_PARAM && v->type == CJ_B8 && v->bytes == bytes && v->align == 8)
            return cji_val_of(f, cji_word(CJI_K_SYM, f->var[i]), CJ_B8);
    }
    snprintf(name, sizeof name, "cj_call_%zu", bytes);
    for (unsigned n = 2; !f->m->dead && name_taken(f->m, f, cji_ptx_intern(f->m, name, strlen(name))); n++)
        snprintf(name, sizeof name, "cj_call_%zu_%u", bytes, n);
    cj_val v = own_variable(f, name, CJ_B8, bytes, CJI_SP_PARAM, call);
    if (v.bits) f->m->var[(uint32_t)v.bits]->align = 8;
    return v;
}

cj_val cj_shared(cj_fn *f, const char *name, cj_type elem, size_t count)
{
    return own_variable(f, name, elem, count, CJI_SP_SHARED, __func__);
}
cj_val cj_local(cj_fn *f, const char *name, cj_type elem, size_t count)
{
    return own_variable(f, name, elem, count, CJI_SP_LOCAL, __func__);
}

cj_val cj_shared_dynamic(cj_fn *f, const char *name, cj_type elem, uint32_t align)
{
    uint32_t index;
    if (!cji_fn_open(f, __func__)) return CJI_NULL;
    cj_ptx *m = f->m;
    if (align && !is_power(align))
        return bad_variable(m, f->loc, __func__, name, "the alignment must be a power of two"), CJI_NULL;
    if (name && cji_fn_hides(f, cji_ptx_intern(m, name, strlen(name))))
        return bad_variable(m, f->loc, __func__, name, "the function has a parameter or variable of this name"),
               CJI_NULL;
    uint32_t word = name ? cji_ptx_lookup(m, name, strlen(name)) : 0;
    if (cji_word_kind(word) == CJI_K_SYM) {
        cji_var *old = m->var[cji_word_index(word)];
        if (old->space == CJI_SP_SHARED && (old->flags & CJI_VAR_UNSIZED) && old->type == (unsigned)elem) {
            if (align > old->align) old->align = align;
            return cji_val(word, elem, m->owner);
        }
    }
    uint32_t loc = m->loc;
    m->loc = f->loc;
    cji_var *v = named_variable(m, NULL, 0, name, elem, __func__, &index);
    m->loc = loc;
    if (!v || !set_count(m, v, 0, __func__)) return CJI_NULL;
    v->space = CJI_SP_SHARED;
    v->linkage = CJI_LINK_EXTERN;
    v->align = align;
    return cji_val(cji_word(CJI_K_SYM, index), elem, m->owner);
}

/* ---- Variables of the module ------------------------------------------------------------------------------------- */

static bool set_init(cj_ptx *m, cji_var *v, const void *init, size_t count, const char *call)
{
    size_t each = cji_type_bits(v->type) / 8;
    if (!count) return true;
    uint8_t *copy = cji_arena_alloc(&m->arena, v->bytes);
    if (!copy) return cji_ptx_nomem(m, call), false;
    memcpy(copy, init, count * each);
    v->init = copy;
    v->ninit = count * each;
    return true;
}

static cj_val module_variable(cj_ptx *m, const char *name, unsigned elem, size_t count, const void *init, size_t ninit,
                              unsigned space, const char *call)
{
    uint32_t index;
    if (!cji_ptx_open(m, call)) return CJI_NULL;
    if (!count) return bad_variable(m, m->loc, call, name, "the count must be 1 or more"), CJI_NULL;
    if (count > SIZE_MAX / 64) return bad_variable(m, m->loc, call, name, "the count is beyond any memory"), CJI_NULL;
    if (ninit > count) return bad_variable(m, m->loc, call, name, "more initial values than elements"), CJI_NULL;
    if (ninit && !init) return bad_variable(m, m->loc, call, name, "the initial values are NULL"), CJI_NULL;
    cji_var *v = named_variable(m, NULL, 0, name, elem, call, &index);
    if (!v || !set_count(m, v, count, call) || !set_init(m, v, init, ninit, call)) return CJI_NULL;
    v->space = (uint8_t)space;
    v->linkage = CJI_LINK_VISIBLE;
    uint64_t at;
    if (space == CJI_SP_CONST && !cji_layout_var(&m->const_bytes, v, CJI_CONST_BYTES, &at))
        return bad_variable(m, m->loc, call, name, "constant memory has 65536 bytes in all"), CJI_NULL;
    return cji_val(cji_word(CJI_K_SYM, index), elem, m->owner);
}

cj_val cj_ptx_global(cj_ptx *m, const char *name, cj_type elem, size_t count, const void *init, size_t init_count)
{
    return module_variable(m, name, elem, count, init, init_count, CJI_SP_GLOBAL, __func__);
}

cj_val cj_ptx_const(cj_ptx *m, const char *name, cj_type elem, size_t count, const void *init, size_t init_count)
{
    return module_variable(m, name, elem, count, init, init_count, CJI_SP_CONST, __func__);
}

cj_val cj_ptx_extern(cj_ptx *m, const char *name, cj_space space, cj_type elem, size_t count)
{
    uint32_t index;
    if (!cji_ptx_open(m, __func__)) return CJI_NULL;
    if (space != CJ_SPACE_GLOBAL && space != CJ_SPACE_CONST)
        return bad_variable(m, m->loc, __func__, name, "the space must be global or const"), CJI_NULL;
    cji_var *v = named_variable(m, NULL, 0, name, elem, __func__, &index);
    if (!v || !set_count(m, v, count, __func__)) return CJI_NULL;
    v->space = (uint8_t)space;
    v->linkage = CJI_LINK_EXTERN;
    return cji_val(cji_word(CJI_K_SYM, index), elem, m->owner);
}

/* ---- Alignment --------------------------------------------------------------------------------------------------- */

static void align_variable(cj_ptx *m, uint32_t loc, cj_val variable, bool ours, uint32_t align, const char *call)
{
    if (!ours || cji_val_kind(variable) != CJI_K_SYM || (uint32_t)variable.bits >= m->nvar)
        cji_ptx_fail(m, CJ_EINVAL, call, loc, "%s: the value is not a variable of this function or module", call);
    else if (!is_power(align))
        cji_ptx_fail(m, CJ_EINVAL, call, loc, "%s: the alignment %u is not a power of two", call, align);
    else m->var[(uint32_t)variable.bits]->align = align;
}

void cj_var_align(cj_fn *f, cj_val variable, uint32_t align)
{
    if (cji_fn_open(f, __func__)) align_variable(f->m, f->loc, variable, cji_val_owned(f, variable), align, __func__);
}

void cj_ptx_var_align(cj_ptx *m, cj_val variable, uint32_t align)
{
    if (cji_ptx_open(m, __func__))
        align_variable(m, m->loc, variable, cji_val_owner(variable) == m->owner, align, __func__);
}
