/* The kernel of expr: the tree becomes PTX by one verb for each node.  Numbers are f64 registers,
 * truth values are predicates.  Each operation rounds to nearest even, as a C program does; the
 * functions of mathematics are those of cujit/math.h. */
#include "expr.h"

typedef struct builder {
    cj_fn *f;
    const cj_val *column; /* the row's value of each used column */
} builder;

static cj_val number(const builder *b, double x) { return cj_let(b->f, CJ_F64, x); }

static cj_val value(const builder *b, const node *n)
{
    cj_fn *f = b->f;
    cj_val v[3] = { { 0 }, { 0 }, { 0 } };
    for (int i = 0; i < 3 && n->arg[i]; i++) v[i] = value(b, n->arg[i]);
    switch (n->kind) {
    case NODE_NUMBER: return number(b, n->number);
    case NODE_COLUMN: return b->column[n->column];
    case NODE_NEG: return cj_neg(f, v[0]);
    case NODE_NOT: return cj_inv(f, v[0]);
    case NODE_ADD: return cj_add(f, v[0], v[1]);
    case NODE_SUB: return cj_sub(f, v[0], v[1]);
    case NODE_MUL: return cj_mul(f, v[0], v[1]);
    case NODE_DIV: return cj_div(f, v[0], v[1]);
    case NODE_LT: return cj_lt(f, v[0], v[1]);
    case NODE_LE: return cj_le(f, v[0], v[1]);
    case NODE_GT: return cj_gt(f, v[0], v[1]);
    case NODE_GE: return cj_ge(f, v[0], v[1]);
    case NODE_EQ: return cj_eq(f, v[0], v[1]);
    case NODE_NE: return cj_ne(f, v[0], v[1]);
    case NODE_AND: return cj_and(f, v[0], v[1]);
    case NODE_OR: return cj_or(f, v[0], v[1]);
    case NODE_CHOOSE:
        if (!n->boolean) return cj_select(f, v[0], v[1], v[2]);
        return cj_or(f, cj_and(f, v[0], v[1]), cj_and(f, cj_inv(f, v[0]), v[2]));
    case NODE_ABS: return cj_abs(f, v[0]);
    case NODE_MIN: return cj_min(f, v[0], v[1]);
    case NODE_MAX: return cj_max(f, v[0], v[1]);
    case NODE_FLOOR: return cj_floor(f, v[0]);
    case NODE_CEIL: return cj_ceil(f, v[0]);
    case NODE_SQRT: return cj_sqrt(f, v[0]);
    case NODE_OF_ONE: return n->of_one(f, v[0]);
    case NODE_OF_TWO: return n->of_two(f, v[0], v[1]);
    }
    return v[0];
}

cj_ptx *expression_build(const expression *e)
{
    cj_val pointer[MAX_COLUMNS], column[MAX_COLUMNS];
    char name[24];
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "expr");
    cj_val out = cj_param_ptr(f, "out", CJ_F64);
    for (size_t c = 0; c < e->ncolumns; c++) {
        snprintf(name, sizeof name, "c%zu", c);
        pointer[c] = cj_param_ptr(f, name, CJ_F64);
    }
    cj_val n = cj_param(f, "n", CJ_U64);
    cj_val i = cj_cvt(f, CJ_U64, cj_global_id(f, CJ_X));
    cj_if(f, cj_lt(f, i, n));
        for (size_t c = 0; c < e->ncolumns; c++) column[c] = cj_get(f, pointer[c], i);
        builder b = { f, column };
        cj_val v = value(&b, e->root);
        if (e->root->boolean) v = cj_select(f, v, number(&b, 1), number(&b, 0));
        cj_set(f, out, i, v);
    cj_end(f);
    return m;
}
