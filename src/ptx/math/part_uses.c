/* Parts as code of a program: inline, or as the module's own .func. */
#include <stdio.h>
#include <string.h>

#include "ptx/math/ops.h"

static unsigned register_type(char letter) { return letter == 'D' || letter == 'W' ? CJ_B64 : CJ_B32; }

/* ---- What a module has ------------------------------------------------------------------------------------------- */

/* Where the module notes the function of a part or the variable of a table: index + 1. */
static uint32_t *noted(cji_math *m, unsigned at)
{
    cj_ptx *x = m->f->m;
    if (!x->math) x->math = cji_arena_alloc(&x->arena, CJI_MATH_NOTES * sizeof *x->math);
    if (!x->math) return cji_ptx_nomem(x, m->call), NULL;
    return &x->math[at];
}

_Static_assert(CJI_MATH_PARTS + CJI_MATH_TABLES <= CJI_MATH_NOTES, "the module has a note for each");

/* A name that is free in the module: cj_math_<what>, or with a number behind it. */
static void free_name(const cj_ptx *m, const char *what, char *out, size_t size)
{
    snprintf(out, size, "cj_math_%s", what);
    for (unsigned n = 2; cji_ptx_lookup(m, out, strlen(out)); n++) snprintf(out, size, "cj_math_%s_%u", what, n);
}

cj_val cji_math_variable(cji_math *m, cji_math_table t)
{
    char name[64];
    cj_ptx *x = m->f->m;
    const cji_math_rows *rows = &cji_math_tables[t];
    uint32_t *note = x->dead ? NULL : noted(m, CJI_MATH_PARTS + t);
    if (!note) return CJI_NULL;
    if (*note) return cji_val(cji_word(CJI_K_SYM, *note - 1), rows->type, x->owner);
    free_name(x, rows->name, name, sizeof name);
    cj_val v = rows->global ? cj_ptx_global(x, name, rows->type, rows->count, rows->data, rows->count)
                            : cj_ptx_const(x, name, rows->type, rows->count, rows->data, rows->count);
    if (!v.bits) return CJI_NULL;
    cji_var *var = x->var[(uint32_t)v.bits];
    var->linkage = CJI_LINK_NONE;
    var->align = 16;
    var->loc = m->f->loc;
    *note = (uint32_t)v.bits + 1;
    return v;
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

/* Several results: two of 32 bits are returned as one of 64, others in memory, which the machine code keeps in
 * registers.  (ptxas gives up the ABI of a module that has a function with several results in registers.) */
enum returned { IN_REGISTER, IN_PAIR, IN_MEMORY };
enum { RESULT_BYTES = 8 };             /* of each result in memory */

static enum returned returned(const cji_math_code *p)
{
    if (strlen(p->results) == 1) return IN_REGISTER;
    if (strlen(p->results) > 2) return IN_MEMORY;
    return register_type(p->results[0]) == CJ_B32 && register_type(p->results[1]) == CJ_B32 ? IN_PAIR : IN_MEMORY;
}

/* Result i of a part, as it stands in memory. */
static void move_result(cji_math *m, const cji_math_code *p, cj_val memory, size_t i, cj_val r, bool stores)
{
    static const cji_math_move moves[2][2] = { { CJI_MOVE_READ_32, CJI_MOVE_READ_64 },
                                               { CJI_MOVE_STORE_32, CJI_MOVE_STORE_64 } };
    const cji_math_move move = moves[stores][register_type(p->results[i]) == CJ_B64];
    const cj_val place = cj_mem(m->f, memory, (int64_t)(i * RESULT_BYTES));
    cji_math_place(m->f, move, stores ? place : r, stores ? r : place);
}

/* The body of the .func: its parameters, the part, its result. */
static void write_function(const cji_math *caller, cj_fn *g, const cji_math_code *p)
{
    cj_val a[CJI_MATH_ARGS], r[CJI_MATH_ARGS], out;
    char name[4] = "a0";
    const enum returned way = returned(p);
    cji_math m = { .f = g, .codes = caller->codes, .call = caller->call };
    for (size_t i = 0; p->arguments[i]; i++) {
        name[1] = (char)('0' + i);
        a[i] = cj_param(g, name, (cj_type)register_type(p->arguments[i]));
    }
    if (way == IN_MEMORY) out = cji_result_bytes(g, "r", RESULT_BYTES * strlen(p->results), caller->call);
    else out = cj_result(g, "r", way == IN_PAIR ? CJ_B64 : (cj_type)register_type(p->results[0]));
    p->body(&m, a, r);
    for (size_t i = 0; way == IN_MEMORY && p->results[i]; i++) move_result(&m, p, out, i, r[i], true);
    if (way != IN_MEMORY) cj_assign(g, out, way == IN_PAIR ? cji_m_pair(&m, r[0], r[1]) : r[0]);
}

/* The module's .func of a part, made when it is first used; NULL with the failure kept. */
static cj_fn *function_of(cji_math *m, cji_math_part part)
{
    char name[64];
    cj_ptx *x = m->f->m;
    uint32_t *note = x->dead ? NULL : noted(m, part);
    if (!note) return NULL;
    if (*note) return x->fn[*note - 1];
    free_name(x, m->codes[part].name, name, sizeof name);
    cj_fn *g = cji_ptx_fn(x, name, strlen(name), false, CJI_LINK_NONE, m->call);
    if (!g) return NULL;
    *note = g->index + 1;
    g->body = 1;
    g->loc = g->decl_loc = m->f->loc;
    g->line_set = 1; /* its instructions are of the call that needed it first */
    write_function(m, g, &m->codes[part]);
    return x->dead ? NULL : g;
}

static bool is_called(const cji_math *m, cji_math_part part)
{
    return m->form == CJ_MATH_CALLED || (m->form == CJ_MATH_AUTO && m->codes[part].form == CJ_MATH_CALLED);
}

/* Calls the .func, with its result in `out`: a register, or memory. */
static void call_function(cji_math *m, cji_math_part part, const cj_val *a, cj_val *out)
{
    cj_fn *g = function_of(m, part);
    if (g) cj_call_into(m->f, g, out, 1, a, strlen(m->codes[part].arguments));
}

void cji_math_use(cji_math *m, cji_math_part part, const cj_val *a, cj_val *r)
{
    const cji_math_code *p = &m->codes[part];
    if (!m->f || !is_called(m, part)) {
        p->body(m, a, r);
        return;
    }
    const enum returned way = returned(p);
    cj_val out = way == IN_MEMORY ? cji_call_bytes(m->f, RESULT_BYTES * strlen(p->results), m->call)
               : cji_reg_val(m->f, way == IN_PAIR ? CJ_B64 : register_type(p->results[0]));
    call_function(m, part, a, &out);
    r[0] = out;
    if (way == IN_PAIR) cji_m_split(m, out, &r[0], &r[1]);
    for (size_t i = 0; way == IN_MEMORY && p->results[i]; i++) {
        r[i] = cji_reg_val(m->f, register_type(p->results[i]));
        move_result(m, p, out, i, r[i], false);
    }
}
