/* What stands in front of a body's instructions: launch bounds, parameters, results, its own variables. */
#include <string.h>

#include "ptx/reproduce/reproduce.h"

/* ---- Parameters, variables --------------------------------------------------------------------------------------- */

static void name_variable(cji_rep_body *c, uint32_t var)
{
    cji_rep_slot *s = &c->r->var[var];
    s->name = cji_rep_name(c->r, &c->taken, cji_ptx_name(c->f->m, c->f->m->var[var]->name));
    s->declared = true;
}

/* cj_param and its like write a value; that value's slot for registers, else the variable's own statement. */
static void put_declaration(cji_rep_body *c, const cji_var *v, const char *verb)
{
    cji_rep_open(c);
    cji_text_printf(&c->text, "%s(f, ", verb);
    cji_rep_quote(&c->text, cji_ptx_name(c->f->m, v->name), cji_ptx_name_len(c->f->m, v->name));
}

/* The type at the end of a spelling: "ld.global.f32". */
static unsigned last_type(const cji_form *e)
{
    unsigned type;
    const char *dot = strrchr(e->isa->text, '.');
    return dot && cji_rep_type_named(dot + 1, strlen(dot + 1), &type) ? type : CJ_VOID;
}

/* Whether an operand of the record is the memory at that register itself. */
static bool accesses(const cj_fn *f, const cji_ins *x, uint32_t word)
{
    for (uint32_t i = 0, n = cji_ins_n(f, x); i < n && i < 2; i++)
        if (cji_word_kind(x->opnd[i]) == CJI_K_MEM && f->mem[cji_word_index(x->opnd[i])].base == word) return true;
    return false;
}

/* What a pointer points to where the text that was read does not say it: the type of the first access through the
 * register, or through an element's address that is made of it.  It has the alignment's size, so what is printed is the
 * same. */
static unsigned guess_element(const cj_fn *f, uint32_t word, uint32_t align)
{
    for (size_t i = 0; i < f->nins; i++) {
        const cji_ins *x = &f->ins[i];
        const cji_form *e = cji_ins_form(f->m, x);
        if (!e) continue;
        const bool made = !strncmp(e->isa->text, "mad.", 4) && x->opnd[3] == word && i + 1 < f->nins;
        if (made) e = cji_ins_form(f->m, &f->ins[i + 1]);
        if (!e || !accesses(f, made ? x + 1 : x, made ? x->opnd[0] : word)) continue;
        const unsigned type = last_type(e);
        if (type != CJ_VOID && cji_type_bits(type) == 8 * align) return type;
    }
    return CJ_VOID;
}

static cj_val declare_pointer(cji_rep_body *c, const cji_var *v, unsigned elem, unsigned space, uint32_t align)
{
    const char *name = cji_ptx_name(c->f->m, v->name);
    const uint32_t natural = elem == CJ_VOID ? 0 : cji_type_bits(elem) / 8;
    if (space == CJI_SP_GLOBAL && align == natural) {
        put_declaration(c, v, "cj_param_ptr");
        cji_text_printf(&c->text, ", %s);", cji_rep_type(elem));
        return (cj_param_ptr)(c->g, name, (cj_type)elem);
    }
    put_declaration(c, v, "cj_param_ptr_in");
    cji_text_printf(&c->text, ", %s, %s, %u);", cji_rep_type(elem), cji_rep_space(space), align);
    return (cj_param_ptr_in)(c->g, name, (cj_type)elem, (cj_space)space, align);
}

/* The register that a declaration's instructions define last. */
static uint32_t loaded_register(const cji_rep_body *c, size_t records)
{
    if (c->at + records > c->f->nins || !records) return CJI_REP_NONE;
    const cji_ins *x = &c->f->ins[c->at + records - 1];
    return cji_word_kind(x->opnd[0]) == CJI_K_REG ? cji_word_index(x->opnd[0]) : CJI_REP_NONE;
}

/* Texts have .b16 for .f16: the register that it is read into knows better. */
static unsigned read_type(const cji_rep_body *c, const cji_var *v)
{
    const uint32_t reg = loaded_register(c, 1);
    const unsigned type = reg == CJI_REP_NONE ? CJ_VOID : c->f->reg[reg].type;
    return type != CJ_VOID && cji_type_mem(type) == v->type ? type : v->type;
}

static void name_parameter(cji_rep_body *c, uint32_t reg, const cji_var *v)
{
    if (!c->slot[reg].name)
        c->slot[reg].name = cji_rep_name(c->r, &c->taken, cji_ptx_name(c->f->m, v->name));
}

/* The kernel's next parameter, with the instructions that read it, which come next. */
bool cji_rep_parameter(cji_rep_body *c)
{
    const uint32_t index = c->f->param[c->params];
    const cji_var *v = c->f->m->var[index];
    const cji_rep_mark mark = cji_rep_begin(c);
    const char *name = cji_ptx_name(c->f->m, v->name);
    if (!v->name || v->vec || v->opaque || v->reloc || v->space != CJI_SP_PARAM) return false;
    if (v->type <= CJ_PRED || v->type == CJ_B128) return false;
    c->params++;
    if (v->flags & CJI_VAR_ARRAY) {
        if (v->type != CJ_B8 || v->ndim != 1 || v->flags & CJI_VAR_UNSIZED || !v->align) return false;
        name_variable(c, index);
        put_declaration(c, v, "cj_param_bytes");
        cji_text_printf(&c->text, ", %llu, %u);", (unsigned long long)v->bytes, v->align);
        c->r->var[index].v = (cj_param_bytes)(c->g, name, v->bytes, v->align);
        cji_rep_close(c, index | CJI_REP_VARIABLE);
        return c->r->var[index].v.bits != 0;
    }
    cj_val d;
    if (v->flags & CJI_VAR_PTR) {
        const uint32_t reg = loaded_register(c, v->ptr_space == CJI_SP_GENERIC ? 1 : 2);
        unsigned elem = v->ptr_elem;
        if (elem == CJ_VOID && v->ptr_align && reg != CJI_REP_NONE)
            elem = guess_element(c->f, cji_word(CJI_K_REG, reg), v->ptr_align);
        d = declare_pointer(c, v, elem, v->ptr_space, v->ptr_align);
    } else {
        const unsigned type = read_type(c, v);
        put_declaration(c, v, "cj_param");
        cji_text_printf(&c->text, ", %s);", cji_rep_type(type));
        d = (cj_param)(c->g, name, (cj_type)type);
    }
    const uint32_t reg = loaded_register(c, c->g->nins - mark.nins);
    if (!d.bits || reg == CJI_REP_NONE || c->slot[reg].v.bits) return false;
    name_parameter(c, reg, v);
    cji_rep_got_reg(c, reg, d);
    cji_rep_close(c, reg);
    if (!cji_rep_is_numbered(c->f, reg) && !cji_rep_name_reg(c, reg)) return false;
    if (!cji_rep_same(c, &mark)) return false;
    /* What the declaration has in between is its own. */
    for (size_t i = mark.at; i + 1 < c->at; i++)
        if (c->refs[cji_word_index(c->f->ins[i].opnd[0])] > 2) return false;
    return true;
}

/* Parameters that no instruction reads at once are declared as soon as they can be. */
bool cji_rep_declare_bytes(cji_rep_body *c)
{
    while (c->f->kernel && c->params < c->f->nparam &&
           c->f->m->var[c->f->param[c->params]]->flags & CJI_VAR_ARRAY)
        if (!cji_rep_parameter(c)) return false;
    return true;
}

/* Is the next record the one that reads the kernel's next parameter? */
bool cji_rep_reads_parameter(const cji_rep_body *c)
{
    if (!c->f->kernel || c->params >= c->f->nparam) return false;
    const cji_ins *x = &c->f->ins[c->at];
    if (!cji_ins_form(c->f->m, x) || x->guard || cji_word_kind(x->opnd[1]) != CJI_K_MEM) return false;
    const cji_mem *mem = &c->f->mem[cji_word_index(x->opnd[1])];
    return cji_word_kind(mem->base) == CJI_K_SYM && cji_word_index(mem->base) == c->f->param[c->params];
}

/* A function's parameters and results, in the order in which they were declared. */
static bool function_head(cji_rep_body *c)
{
    size_t p = 0, q = 0;
    while (p < c->f->nparam || q < c->f->nresult) {
        const bool result = p == c->f->nparam || (q < c->f->nresult && c->f->result[q] < c->f->param[p]);
        const uint32_t index = result ? c->f->result[q++] : c->f->param[p++];
        const cji_var *v = c->f->m->var[index];
        const cji_reg *reg = &c->f->reg[v->reg];
        const char *name = cji_ptx_name(c->f->m, v->name);
        cj_val d;
        if (v->space != CJI_SP_REG || !v->name || v->vec || v->ndim) return false;
        if (!result && reg->flags & CJI_REG_PTR) {
            d = declare_pointer(c, v, reg->elem, reg->space, reg->elem ? cji_type_bits(reg->elem) / 8 : 0);
        } else {
            put_declaration(c, v, result ? "cj_result" : "cj_param");
            cji_text_printf(&c->text, ", %s);", cji_rep_type(v->type));
            d = result ? (cj_result)(c->g, name, (cj_type)v->type) : (cj_param)(c->g, name, (cj_type)v->type);
        }
        name_parameter(c, v->reg, v);
        cji_rep_got_reg(c, v->reg, d);
        cji_rep_close(c, v->reg);
        if (!d.bits) return false;
    }
    c->params = c->f->nparam;
    return true;
}

static bool own_variables(cji_rep_body *c)
{
    for (size_t i = 0; i < c->f->nvar; i++) {
        const uint32_t index = c->f->var[i];
        const cji_var *v = c->f->m->var[index];
        const bool shared = v->space == CJI_SP_SHARED;
        if ((!shared && v->space != CJI_SP_LOCAL) || v->vec || v->ndim != 1 || v->flags != CJI_VAR_ARRAY ||
            v->linkage != CJI_LINK_NONE || v->ninit || v->opaque || v->dim[0] > UINT32_MAX)
            return false;
        name_variable(c, index);
        put_declaration(c, v, shared ? "cj_shared" : "cj_local");
        cji_text_printf(&c->text, ", %s, %llu);", cji_rep_type(v->type), (unsigned long long)v->dim[0]);
        cj_val d = (shared ? cj_shared : cj_local)(c->g, cji_ptx_name(c->f->m, v->name), (cj_type)v->type, v->dim[0]);
        c->r->var[index].v = d;
        cji_rep_close(c, index | CJI_REP_VARIABLE);
        if (!d.bits) return false;
        if (!v->align) continue;
        cji_rep_open(c);
        cji_text_puts(&c->text, "cj_var_align(f, ");
        cj_val same;
        if (!cji_rep_operand(c, cji_word(CJI_K_SYM, index), true, &same)) return false;
        cji_text_printf(&c->text, ", %u);", v->align);
        (cj_var_align)(c->g, d, v->align);
        cji_rep_close(c, CJI_REP_NONE);
    }
    return true;
}

static void put_bound(cji_rep_body *c, const char *verb, const uint32_t *v, size_t n)
{
    if (!v[0]) return;
    cji_rep_open(c);
    cji_text_printf(&c->text, "%s(f", verb);
    for (size_t i = 0; i < n; i++) cji_text_printf(&c->text, ", %u", v[i]);
    cji_text_puts(&c->text, ");");
    cji_rep_close(c, CJI_REP_NONE);
}

static bool launch_bounds(cji_rep_body *c)
{
    const cji_bounds *b = &c->f->bounds;
    if (b->maxrank || b->preserve || b->preserve_control || b->smem_spill || b->explicit_cluster ||
        b->blocks_are_clusters || b->noreturn || c->f->npragma)
        return false;
    put_bound(c, "cj_fn_max_threads", b->maxntid, 3);
    put_bound(c, "cj_fn_required_threads", b->reqntid, 3);
    put_bound(c, "cj_fn_min_blocks", &b->minctas, 1);
    put_bound(c, "cj_fn_max_registers", &b->maxreg, 1);
    put_bound(c, "cj_fn_required_cluster", b->cluster, 3);
    if (b->maxntid[0]) (cj_fn_max_threads)(c->g, b->maxntid[0], b->maxntid[1], b->maxntid[2]);
    if (b->reqntid[0]) (cj_fn_required_threads)(c->g, b->reqntid[0], b->reqntid[1], b->reqntid[2]);
    if (b->minctas) (cj_fn_min_blocks)(c->g, b->minctas);
    if (b->maxreg) (cj_fn_max_registers)(c->g, b->maxreg);
    if (b->cluster[0]) (cj_fn_required_cluster)(c->g, b->cluster[0], b->cluster[1], b->cluster[2]);
    return true;
}

bool cji_rep_is_dynamic(const cji_var *v)
{
    return v->space == CJI_SP_SHARED && v->linkage == CJI_LINK_EXTERN && v->ndim == 1 && !v->vec &&
           v->flags == (CJI_VAR_ARRAY | CJI_VAR_UNSIZED);
}

/* Shared memory of the launch's size is declared by each function that names it. */
static bool dynamic_variables(cji_rep_body *c)
{
    for (uint32_t i = 0; i < c->f->m->nvar; i++) {
        const cji_var *v = c->f->m->var[i];
        if (v->fn || c->r->declared || c->r->var[i].seen != c->f->index + 1 || !cji_rep_is_dynamic(v)) continue;
        name_variable(c, i);
        put_declaration(c, v, "cj_shared_dynamic");
        cji_text_printf(&c->text, ", %s, %u);", cji_rep_type(v->type), v->align);
        c->r->var[i].v = (cj_shared_dynamic)(c->g, cji_ptx_name(c->f->m, v->name), (cj_type)v->type, v->align);
        cji_rep_close(c, i | CJI_REP_VARIABLE);
        if (!c->r->var[i].v.bits) return false;
    }
    return true;
}

bool cji_rep_head(cji_rep_body *c)
{
    return launch_bounds(c) && (c->f->kernel || function_head(c)) && own_variables(c) && dynamic_variables(c);
}
