/* Declarations: types, registers, variables.  Manual 5.1 to 5.4. */
#include "ptx/build.h"
#include "ptx/layout.h"
#include "ptx/parser.h"

#include <stdio.h>
#include <string.h>

enum { DECL_DIMS = 16, DECL_RANGE_VARS = 4096, DECL_RANGE_NAME = 256 };

/* -- Types --------------------------------------------------------------------------------------------------------- */

static bool decl_align(cji_parser *p, uint32_t *align)
{
    uint64_t n = 0;
    cji_lex_next(&p->x);
    if (!cji_parse_plain(p, UINT32_MAX, ".align", &n)) return false;
    if (!n || (n & (n - 1)))
        return cji_parse_fail(p, CJ_EPTX, ".align %llu is not a power of two", (unsigned long long)n);
    *align = (uint32_t)n;
    return true;
}

/* .attribute(.managed) */
static bool decl_attribute(cji_parser *p, cji_decl *d)
{
    if (!cji_parse_need(p, 40, 30, ".attribute")) return false;
    cji_lex_next(&p->x);
    if (!cji_parse_take(p, '(', "behind .attribute")) return false;
    do {
        if (cji_parse_directive(p) == CJI_D_UNIFIED)
            return cji_parse_fail(p, CJ_EUNKNOWN, ".attribute(.unified) is not supported");
        if (cji_parse_directive(p) != CJI_D_MANAGED) return cji_parse_expected(p, ".managed");
        d->flags |= CJI_VAR_MANAGED;
        cji_lex_next(&p->x);
    } while (cji_parse_maybe(p, ','));
    return cji_parse_take(p, ')', "behind the attribute");
}

/* .ptr {.space} {.align N}, behind a parameter's type. */
static bool decl_ptr(cji_parser *p, cji_decl *d)
{
    if (!cji_parse_need(p, 22, 20, ".ptr")) return false;
    d->flags |= CJI_VAR_PTR;
    cji_lex_next(&p->x);
    switch (cji_parse_directive(p)) {
    case CJI_D_CONST: d->ptr_space = CJI_SP_CONST; break;
    case CJI_D_GLOBAL: d->ptr_space = CJI_SP_GLOBAL; break;
    case CJI_D_LOCAL: d->ptr_space = CJI_SP_LOCAL; break;
    case CJI_D_SHARED: d->ptr_space = CJI_SP_SHARED; break;
    case CJI_D_ALIGN: return decl_align(p, &d->ptr_align);
    default: return true;
    }
    cji_lex_next(&p->x);
    return cji_parse_directive(p) != CJI_D_ALIGN || decl_align(p, &d->ptr_align);
}

/* .v2 or .v4: in front of the type. */
static bool decl_vector(cji_parser *p, cji_decl *d, uint8_t n)
{
    if (d->type || d->vec)
        return cji_parse_fail(p, CJ_EPTX, "'%s' stands behind %s; write it in front of the type", CJI_WORD(&p->x),
                              d->type ? "the type" : "another vector");
    d->vec = n;
    return true;
}

static bool decl_opaque(cji_parser *p, cji_decl *d, uint8_t opaque)
{
    if (d->type) return cji_parse_fail(p, CJ_EPTX, "a second type, '%s'", CJI_WORD(&p->x));
    d->opaque = opaque;
    d->type = CJ_B64;
    if (!cji_parse_need(p, 15, 20, CJI_WORD(&p->x))) return false;
    if (d->vec) return cji_parse_fail(p, CJ_EPTX, "a vector of %s", CJI_WORD(&p->x));
    if (opaque == CJI_OPAQUE_SAMPLER && !p->m->texmode_independent && !p->heads)
        return cji_parse_fail(p, CJ_EPTX, ".samplerref needs '.target ..., texmode_independent'; without it a texture "
                                          "has its sampler with it");
    return true;
}

/* A word that stands before the name: an opaque type, .v4, .b32. */
static bool decl_word(cji_parser *p, cji_decl *d)
{
    const cji_lex *x = &p->x;
    switch (cji_parse_directive(p)) {
    case CJI_D_V2: return decl_vector(p, d, 2);
    case CJI_D_V4: return decl_vector(p, d, 4);
    case CJI_D_V8: return cji_parse_fail(p, CJ_EPTX, "a vector of 8; registers and variables are at most .v4");
    case CJI_D_TEXREF: return decl_opaque(p, d, CJI_OPAQUE_TEX);
    case CJI_D_SAMPLERREF: return decl_opaque(p, d, CJI_OPAQUE_SAMPLER);
    case CJI_D_SURFREF: return decl_opaque(p, d, CJI_OPAQUE_SURF);
    default: break;
    }
    int type = cji_type_find(x->s + 1, x->n - 1);
    if (type <= CJ_VOID) return cji_parse_fail(p, CJ_EPTX, "'%s' is not a type", CJI_WORD(x));
    if (d->type) return cji_parse_fail(p, CJ_EPTX, "a second type, '%s'", CJI_WORD(x));
    if (type == CJ_BF16 || type == CJ_BF16X2)
        return cji_parse_fail(p, CJ_EPTX, "'%s' is the type of instructions only; declare .b%u", CJI_WORD(x),
                              cji_type_bits((unsigned)type));
    d->type = (uint8_t)type;
    if (type == CJ_PRED && d->vec) return cji_parse_fail(p, CJ_EPTX, "a vector of .pred");
    if (cji_type_bits((unsigned)type) * (d->vec ? d->vec : 1u) > 128)
        return cji_parse_fail(p, CJ_EPTX, "a .v%u of %s has more than 128 bits", d->vec, CJI_WORD(x));
    return type != CJ_B128 || cji_parse_need(p, 83, 70, ".b128");
}

bool cji_parse_type(cji_parser *p, cji_decl *d, bool param)
{
    *d = (cji_decl){ .ptr_space = CJI_SP_GENERIC };
    while (p->x.kind == CJI_TOK_DOT) {
        switch (cji_parse_directive(p)) {
        case CJI_D_ALIGN:
            if (d->type || d->vec)
                return cji_parse_fail(p, CJ_EPTX, ".align stands behind the type; write it in front of it");
            if (!decl_align(p, &d->align)) return false;
            continue;
        case CJI_D_ATTRIBUTE:
            if (!decl_attribute(p, d)) return false;
            continue;
        case CJI_D_PTR:
            if (!param || !d->type)
                return cji_parse_fail(p, CJ_EPTX, ".ptr is allowed behind the type of a kernel's parameter only");
            if (!decl_ptr(p, d)) return false;
            continue;
        default:
            if (!decl_word(p, d)) return false;
            cji_lex_next(&p->x);
        }
    }
    if (!d->type) return cji_parse_expected(p, "a type such as .b32");
    return true;
}

static bool decl_too_large(cji_parser *p, const char *name, size_t len)
{
    return cji_parse_fail(p, CJ_EPTX, "'%s' has a size that is negative or above %llu bytes", cji_short_n(name, len),
                          (unsigned long long)CJI_BYTES_MAX);
}

bool cji_parse_dims(cji_parser *p, cji_var *v, const char *name, size_t len)
{
    uint64_t dim[DECL_DIMS], bytes = cji_type_bits(v->type) / 8 * (v->vec ? v->vec : 1u);
    uint32_t n = 0;
    while (p->x.kind == '[') {
        if (n == DECL_DIMS) return cji_parse_fail(p, CJ_EUNKNOWN, "an array of more than %d dimensions", DECL_DIMS);
        if (cji_lex_next(&p->x) == ']') {
            if (n) return cji_parse_fail(p, CJ_EPTX, "only an array's first size may be left out");
            v->flags |= CJI_VAR_UNSIZED;
            dim[n++] = 0;
        } else {
            if (!cji_parse_plain(p, UINT64_MAX, "an array's size", &dim[n])) return false;
            if (!dim[n]) return cji_parse_fail(p, CJ_EPTX, "'%s' is an array of size 0", cji_short_n(name, len));
            if (!cji_layout_mul(bytes, dim[n++], &bytes)) return decl_too_large(p, name, len);
        }
        if (!cji_parse_take(p, ']', "behind the array's size")) return false;
    }
    if (!n) return true;
    v->dim = cji_arena_alloc(&p->m->arena, n * sizeof *v->dim);
    if (!v->dim) return cji_parse_fail(p, CJ_ENOMEM, "no memory for a variable");
    memcpy(v->dim, dim, n * sizeof *dim);
    v->ndim = n;
    v->flags |= CJI_VAR_ARRAY;
    return true;
}

bool cji_parse_param_align(cji_parser *p, const cji_decl *d, const char *name, size_t len)
{
    if (d->align <= CJI_PARAM_ALIGN) return true;
    return cji_parse_fail(p, CJ_EPTX, "'%s' has .align %u; a parameter of a function is aligned to %u at most",
                          cji_short_n(name, len), d->align, (unsigned)CJI_PARAM_ALIGN);
}

void cji_decl_apply(const cji_decl *d, cji_var *v)
{
    v->align = d->align;
    v->type = d->type;
    v->vec = d->vec;
    v->opaque = d->opaque;
    v->flags |= d->flags;
    v->ptr_space = d->ptr_space;
    v->ptr_align = d->ptr_align;
}

/* -- Registers ----------------------------------------------------------------------------------------------------- */

/* `n` registers in a row; the first one's word, 0: failed. */
static uint32_t decl_new_regs(cji_parser *p, unsigned type, uint64_t n)
{
    if (n > p->regs_left) {
        cji_parse_fail(p, CJ_EUNKNOWN,
                       "more registers than a text of this length can use; declare only those that are used");
        return 0;
    }
    p->regs_left -= (size_t)n;
    uint32_t first = cji_fn_regs(p->f, type, (size_t)n);
    return cji_parse_fine(p) ? first : 0;
}

/* One vector register: named, since a call passes it by name. */
static bool decl_vector_reg(cji_parser *p, const cji_decl *d, const char *s, size_t n)
{
    size_t len = 0;
    if (d->vec > p->regs_left) return decl_new_regs(p, d->type, d->vec) != 0;
    p->regs_left -= d->vec;
    if (!cji_scope_free(p, s, n)) return false;
    const char *name = cji_scope_unique(p, s, n, &len);
    uint32_t word = name ? cji_fn_vreg(p->f, d->type, d->vec, name, len, false) : 0;
    return word ? cji_scope_declare(p, s, n, CJI_BIND_VECTOR, word, d->vec) : cji_parse_fine(p);
}

/* name<4> of vectors: name0, name1, ... */
static bool decl_vector_regs(cji_parser *p, const cji_decl *d, const char *s, uint32_t n, uint64_t count)
{
    if (n > DECL_RANGE_NAME)
        return cji_parse_fail(p, CJ_EUNKNOWN, "a range of registers with a name of more than %d letters",
                              DECL_RANGE_NAME);
    for (uint64_t i = 0; i < count; i++) {
        char name[DECL_RANGE_NAME + 16];
        int len = snprintf(name, sizeof name, "%.*s%u", (int)n, s, (unsigned)i);
        if (!decl_vector_reg(p, d, name, (size_t)len)) return false;
    }
    return true;
}

/* Are registers of a range printed by the names that the text gives them, without names of their own? */
static bool decl_prints_so(const cji_parser *p, const cji_decl *d, const char *name, uint32_t len)
{
    unsigned type = cji_type_declared(d->type);
    return !p->f->count[type] && !(p->f->own_prefix >> type & 1) && cji_type_of_prefix(name, len) == type;
}

/* name<4> in a text with debug data: the data has the registers' names, and ptxas -g allocates registers by them. */
static uint32_t decl_named_regs(cji_parser *p, const cji_decl *d, const char *s, uint32_t n, uint64_t count)
{
    uint32_t first = 0;
    for (uint64_t i = 0; i < count && !p->failed; i++) {
        char whole[DECL_RANGE_NAME + 16];
        size_t len = (size_t)snprintf(whole, sizeof whole, "%.*s%u", (int)n, s, (unsigned)i);
        const char *name = cji_scope_reg_name(p, whole, len, &len);
        uint32_t word = name ? cji_fn_named_reg(p->f, d->type, name, len) : cji_fn_reg(p->f, d->type);
        if (!i) first = word;
    }
    p->regs_left -= (size_t)count;
    return cji_parse_fine(p) ? first : 0;
}

/* name<4>, the current token being '<'. */
static bool decl_reg_range(cji_parser *p, const cji_decl *d, const char *name, uint32_t len)
{
    cji_lex *x = &p->x;
    cji_lex_next(x);
    if (x->kind != CJI_TOK_INT) return cji_parse_expected(p, "how many registers there are");
    uint64_t count = x->u;
    if (count > CJI_INDEX_MAX)
        return cji_parse_fail(p, CJ_EPTX, "a range of %llu registers; at most %u", (unsigned long long)count,
                              CJI_INDEX_MAX);
    cji_lex_next(x);
    if (!cji_parse_take(p, '>', "behind the number of registers")) return false;
    if (d->vec) return decl_vector_regs(p, d, name, len, count);
    bool named = p->debug_line && len <= DECL_RANGE_NAME && count <= p->regs_left && !decl_prints_so(p, d, name, len);
    uint32_t word = !count ? cji_word(CJI_K_REG, 0) :
                    named ? decl_named_regs(p, d, name, len, count) : decl_new_regs(p, d->type, count);
    return word && cji_scope_declare(p, name, len, CJI_BIND_RANGE, word, (uint32_t)count);
}

/* A register alone.  It keeps a name with %, as cj_name gives, and one that debug data knows it by. */
static bool decl_single_reg(cji_parser *p, const cji_decl *d, const char *s, size_t n)
{
    size_t len = 0;
    uint32_t word = 0;
    const char *name = NULL;
    if ((p->debug_line || *s == '%') && cji_scope_free(p, s, n)) name = cji_scope_reg_name(p, s, n, &len);
    if (p->failed) return false;
    if (name && p->regs_left) {
        p->regs_left--;
        word = cji_fn_named_reg(p->f, d->type, name, len);
    } else {
        word = decl_new_regs(p, d->type, 1);
    }
    return word ? cji_scope_declare(p, s, n, CJI_BIND_WORD, word, 0) : cji_parse_fine(p);
}

static bool decl_one_reg(cji_parser *p, const cji_decl *d)
{
    cji_lex *x = &p->x;
    const char *name = x->s;
    uint32_t len = x->n;
    if (x->kind != CJI_TOK_WORD) return cji_parse_expected(p, "a register's name");
    if (len == 7 && !memcmp(name, "WARP_SZ", 7)) return cji_parse_expected(p, "a register's name");
    if (cji_lex_next(x) == '<') return decl_reg_range(p, d, name, len);
    if (x->kind == '[')
        return cji_parse_fail(p, CJ_EPTX, "'%s' is an array, which cannot be in registers", cji_short_n(name, len));
    return d->vec ? decl_vector_reg(p, d, name, len) : decl_single_reg(p, d, name, len);
}

/* .reg .b32 a, b<4>; the current token is .reg. */
bool cji_parse_regs(cji_parser *p)
{
    cji_decl d;
    cji_lex_next(&p->x);
    if (!cji_parse_type(p, &d, false)) return false;
    /* an alignment means nothing */
    if (d.opaque || d.flags) return cji_parse_fail(p, CJ_EPTX, "a register has only a type");
    do {
        if (!decl_one_reg(p, &d)) return false;
    } while (cji_parse_maybe(p, ','));
    return cji_parse_take(p, ';', "behind the registers");
}

/* .reg of the module, of PTX below 3.0: kept as it is written, and declared in each kernel. */
bool cji_parse_module_regs(cji_parser *p)
{
    cji_lex *x = &p->x;
    if (p->version >= 30 && !p->heads)
        return cji_parse_fail(p, CJ_EPTX, "a .reg of the module; declare it in a function");
    if (p->nmodule_reg == DECL_MODULE_REGS)
        return cji_parse_fail(p, CJ_EUNKNOWN, "more than %d declarations of registers of the module", DECL_MODULE_REGS);
    p->module_reg[p->nmodule_reg++] = *x;
    while (x->kind != ';' && x->kind != CJI_TOK_END && x->kind != CJI_TOK_BAD) cji_lex_next(x);
    return cji_parse_take(p, ';', "behind the registers");
}

bool cji_parse_declare_module_regs(cji_parser *p)
{
    const cji_lex here = p->x;
    const uint32_t line = p->line;
    if (p->nmodule_reg && !p->f->kernel)
        return cji_parse_fail(p, CJ_EUNKNOWN, "functions that share registers of the module are not supported");
    for (uint32_t i = 0; i < p->nmodule_reg; i++) {
        p->x = p->module_reg[i];
        p->line = p->x.tok_line;
        if (!cji_parse_regs(p)) return false;
    }
    p->x = here;
    p->line = line;
    return true;
}

/* -- Variables ----------------------------------------------------------------------------------------------------- */

/* Names that a printed module can hold: registers have those with %. */
static bool decl_good_name(cji_parser *p, const char *s, size_t n)
{
    if (n == 1 && *s == '_') return cji_parse_fail(p, CJ_EPTX, "'_' is not a name");
    if (*s == '%' && !p->f)
        return cji_parse_fail(p, CJ_EUNKNOWN, "'%s' has a name as registers have; rename it", cji_short_n(s, n));
    return cji_scope_free(p, s, n);
}

/* A variable of that name, in the module or in the function whose body is read. */
static cji_var *decl_new_var(cji_parser *p, const char *s, size_t n)
{
    uint32_t index = 0;
    size_t len = n;
    const char *name = s;
    if (!decl_good_name(p, s, n)) return NULL;
    if (p->f) {
        name = cji_scope_unique(p, s, n, &len);
        if (!name) return NULL;
        p->f->loc = cji_ptx_loc(p->m, p->file, p->line);
    }
    p->m->loc = cji_ptx_loc(p->m, p->file, p->line);
    cji_var *v = cji_ptx_var(p->m, p->f, CJI_LIST_VAR | CJI_LIST_FRESH, name, len, "cj_parse", &index);
    if (!v) return cji_parse_fine(p), NULL;
    if (!p->f) cji_scope_in_module(p, v->name);
    return cji_scope_declare(p, s, n, CJI_BIND_WORD, cji_word(CJI_K_SYM, index), 0) ? v : NULL;
}

/* name<4>: name0, name1, ... */
static bool decl_range_vars(cji_parser *p, const cji_decl *d, unsigned space, unsigned linkage, const char *s,
                            uint32_t n)
{
    uint64_t count = 0;
    cji_lex_next(&p->x);
    if (p->x.kind != CJI_TOK_INT) return cji_parse_expected(p, "how many variables there are");
    count = p->x.u;
    cji_lex_next(&p->x);
    if (!cji_parse_take(p, '>', "behind the number of variables")) return false;
    if (count > DECL_RANGE_VARS)
        return cji_parse_fail(p, CJ_EUNKNOWN, "a range of more than %d variables", DECL_RANGE_VARS);
    if (n > DECL_RANGE_NAME)
        return cji_parse_fail(p, CJ_EUNKNOWN, "a range of variables with a name of more than %d letters",
                              DECL_RANGE_NAME);
    for (uint64_t i = 0; i < count; i++) {
        char name[DECL_RANGE_NAME + 16];
        int len = snprintf(name, sizeof name, "%.*s%u", (int)n, s, (unsigned)i);
        cji_var *v = decl_new_var(p, name, (size_t)len);
        if (!v) return false;
        cji_decl_apply(d, v);
        v->space = (uint8_t)space;
        v->linkage = (uint8_t)linkage;
        cji_var_size(v);
    }
    return true;
}

static bool decl_may_have_init(cji_parser *p, const cji_var *v)
{
    if (v->space != CJI_SP_GLOBAL && v->space != CJI_SP_CONST)
        return cji_parse_fail(p, CJ_EPTX, "only .global and .const variables have initial values");
    return true;
}

/* The module's variable that has that name, NULL: there is none. */
static cji_var *decl_known_var(cji_parser *p, const char *s, size_t n)
{
    uint32_t word = 0;
    const cji_binding *b = p->f ? NULL : cji_scope_find(p, s, n, &word);
    return b && b->kind == CJI_BIND_WORD && cji_word_kind(word) == CJI_K_SYM ? p->m->var[cji_word_index(word)] : NULL;
}

/* The same variable once more: at least one of the two is .extern, and both are of one kind. */
static bool decl_may_repeat(cji_parser *p, const cji_var *v, const cji_var *now)
{
    const char *name = cji_short(cji_ptx_name(p->m, v->name));
    if (v->linkage == CJI_LINK_EXTERN && now->linkage == CJI_LINK_NONE)
        return cji_parse_fail(p, CJ_EPTX, "'%s' is declared .extern above; its definition needs .visible, .weak or "
                                          ".common", name);
    bool same = v->space == now->space && v->type == now->type && v->vec == now->vec && v->opaque == now->opaque &&
                v->ndim == now->ndim;
    for (uint32_t i = 0; same && i < v->ndim; i++)
        same = v->dim[i] == now->dim[i] || (!i && (v->flags | now->flags) & CJI_VAR_UNSIZED);
    return same || cji_parse_fail(p, CJ_EPTX, "'%s' differs from its declaration above in space, type or size", name);
}

/* `now` is `v` declared again: what is defined counts, of two declarations what says more. */
static void decl_repeat(cji_parser *p, cji_var *v, const cji_var *now)
{
    bool definition = now->linkage != CJI_LINK_EXTERN;
    if (!definition && (v->linkage != CJI_LINK_EXTERN || !(v->flags & CJI_VAR_UNSIZED))) return;
    uint8_t known = v->flags;
    uint32_t align = v->align;
    v->align = !definition && align > now->align ? align : now->align;
    v->dim = now->dim;
    v->flags = now->flags;
    v->linkage = now->linkage;
    if (!definition) v->flags |= known & CJI_VAR_MANAGED;
    else v->flags |= CJI_VAR_DECLARED;
    v->loc = cji_ptx_loc(p->m, p->file, p->line);
    cji_var_size(v);
}

/* The variable that is declared: new, or known already. */
static cji_var *decl_var(cji_parser *p, const cji_decl *d, unsigned space, unsigned linkage, const char *s, size_t n)
{
    cji_var now = { .space = (uint8_t)space, .linkage = (uint8_t)linkage }, *v = decl_known_var(p, s, n);
    cji_decl_apply(d, &now);
    if (v && v->linkage != CJI_LINK_EXTERN && linkage != CJI_LINK_EXTERN) v = NULL;   /* said by decl_new_var */
    bool known = v != NULL;
    if (!known && !(v = decl_new_var(p, s, n))) return NULL;
    if (!cji_parse_dims(p, &now, s, n)) return NULL;
    if (known) {
        if (!decl_may_repeat(p, v, &now)) return NULL;
        decl_repeat(p, v, &now);
        return v;
    }
    now.name = v->name;
    now.fn = v->fn;
    now.loc = v->loc;
    *v = now;
    cji_var_size(v);
    return v;
}

static bool decl_one_var(cji_parser *p, const cji_decl *d, unsigned space, unsigned linkage)
{
    cji_lex *x = &p->x;
    const char *name = x->s;
    uint32_t len = x->n;
    if (x->kind != CJI_TOK_WORD) return cji_parse_expected(p, "a variable's name");
    if (space == CJI_SP_PARAM && !cji_parse_param_align(p, d, name, len)) return false;
    if (cji_lex_next(x) == '<') return decl_range_vars(p, d, space, linkage, name, len);
    cji_var *v = decl_var(p, d, space, linkage, name, len);
    if (!v) return false;
    if (cji_parse_maybe(p, '=')) {
        if (linkage == CJI_LINK_EXTERN)
            return cji_parse_fail(p, CJ_EPTX, "an .extern variable has its initial value where it is defined");
        if (v->opaque) return cji_parse_opaque_init(p, v);
        return decl_may_have_init(p, v) && cji_parse_init(p, v);
    }
    if ((v->flags & CJI_VAR_UNSIZED) && linkage != CJI_LINK_EXTERN)
        return cji_parse_fail(p, CJ_EPTX, "'%s' has no size: write one, an initial value, or .extern",
                              cji_short_n(name, len));
    return true;
}

/* What a state space cannot hold. */
static bool decl_space_fits(cji_parser *p, const cji_decl *d, unsigned space)
{
    if (d->type == CJ_PRED) return cji_parse_fail(p, CJ_EPTX, "a .pred can only be a register");
    if (d->opaque && (space != CJI_SP_GLOBAL || p->f))
        return cji_parse_fail(p, CJ_EPTX, "textures, samplers and surfaces are .global variables of the module, or "
                                          "parameters of a kernel");
    if (d->vec && space == CJI_SP_PARAM)
        return cji_parse_fail(p, CJ_EPTX, "a .param vector; declare an array of bytes, or elements one by one");
    if (space == CJI_SP_LOCAL && !p->f && p->version >= 30)
        return cji_parse_fail(p, CJ_EPTX, "a .local variable of the module; declare it in a function");
    return true;
}

/* .tex .u64 t, u; what later versions call .global .texref. */
bool cji_parse_tex(cji_parser *p, unsigned linkage)
{
    cji_decl d;
    cji_lex *x = &p->x;
    if (p->version >= 15) return cji_parse_fail(p, CJ_EPTX, ".tex ended with PTX 1.4; write .global .texref");
    cji_lex_next(x);
    if (!cji_parse_type(p, &d, false)) return false;
    if (d.type != CJ_U32 && d.type != CJ_U64) return cji_parse_fail(p, CJ_EPTX, "a .tex variable is .u32 or .u64");
    d = (cji_decl){ .type = CJ_B64, .opaque = CJI_OPAQUE_TEX };
    do {
        if (x->kind != CJI_TOK_WORD) return cji_parse_expected(p, "a texture's name");
        const char *name = x->s;
        size_t n = x->n;
        if (cji_lex_next(x) == '[') return cji_parse_fail(p, CJ_EPTX, "an array of .tex variables");
        if (!decl_var(p, &d, CJI_SP_GLOBAL, linkage, name, n)) return false;
    } while (cji_parse_maybe(p, ','));
    return cji_parse_take(p, ';', "behind the texture");
}

/* [N] behind .const, of PTX 1.0 to 2.1: the number of a bank. */
static bool decl_bank(cji_parser *p)
{
    uint64_t bank = 0;
    if (p->x.kind != '[') return true;
    if (p->version >= 22) return cji_parse_fail(p, CJ_EPTX, "banks of constants ended with PTX 2.1; write .const");
    cji_lex_next(&p->x);
    if (!cji_parse_plain(p, 10, "a bank's number", &bank)) return false;
    if (bank) return cji_parse_fail(p, CJ_EUNKNOWN, ".const[%u] is not supported; only bank 0 is", (unsigned)bank);
    return cji_parse_take(p, ']', "behind the bank's number");
}

/* .global .align 4 .b32 a[4] = {1}, b; the current token is the state space. */
bool cji_parse_vars(cji_parser *p, unsigned space, unsigned linkage)
{
    cji_decl d;
    cji_lex_next(&p->x);
    if (space == CJI_SP_CONST && !decl_bank(p)) return false;
    if (!cji_parse_type(p, &d, false) || !decl_space_fits(p, &d, space)) return false;
    if ((d.flags & CJI_VAR_MANAGED) && space != CJI_SP_GLOBAL)
        return cji_parse_fail(p, CJ_EPTX, ".managed is for .global variables");
    if (linkage == CJI_LINK_COMMON && space != CJI_SP_GLOBAL)
        return cji_parse_fail(p, CJ_EPTX, ".common is for .global variables");
    do {
        if (!decl_one_var(p, &d, space, linkage)) return false;
    } while (cji_parse_maybe(p, ','));
    return cji_parse_take(p, ';', "behind the variable");
}
