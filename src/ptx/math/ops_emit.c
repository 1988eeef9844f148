/* Operations as instructions. */
#include <stdatomic.h>
#include <string.h>

#include "ptx/math/ops.h"

enum { OP_U = CJ_B32, OP_S = CJ_B32, OP_F = CJ_B32, OP_W = CJ_B64, OP_X = CJ_B64, OP_D = CJ_B64, OP_P = CJ_PRED };

static const struct op_row { const char *mnemonic; uint8_t operands, result; } op_rows[] = {
#define OP1(name, mnemonic, r, a, x) { mnemonic, 1, OP_##r },
#define OP2(name, mnemonic, r, a, b, x) { mnemonic, 2, OP_##r },
#define OP3(name, mnemonic, r, a, b, c, x) { mnemonic, 3, OP_##r },
#include "ptx/math/math_ops.def"
#undef OP1
#undef OP2
#undef OP3
};

/* The form of an operation, which is the same for every module of the process. */
static cji_form *op_form(cji_math *m, cji_math_op op)
{
    static atomic_uint known[CJI_M_COUNT]; /* form + 1; 0: not looked up yet */
    unsigned form = atomic_load_explicit(&known[op], memory_order_relaxed);
    if (form) return cji_form_at(m->f->m, form - 1);
    const char *name = op_rows[op].mnemonic;
    cji_form *e = cji_ptx_spelling(m->f->m, name, strlen(name), m->call, m->f->loc);
    if (e) atomic_store_explicit(&known[op], e->isa->form + 1, memory_order_relaxed);
    return e;
}

cj_val cji_math_emit(cji_math *m, cji_math_op op, const cj_val *v)
{
    cj_val w[4];
    const struct op_row *row = &op_rows[op];
    const bool into = m->into;
    uint32_t guard = 0;
    m->into = false;
    cji_form *e = m->f->m->dead ? NULL : op_form(m, op);
    if (!e) return CJI_NULL;
    if (!into) return cji_emit(m->f, e, 0, v, row->operands, row->result, m->call);
    if (m->guarded && !cji_guard(m->f, m->guard, false, &guard, m->call)) return CJI_NULL;
    w[0] = m->to;
    memcpy(w + 1, v, row->operands * sizeof *v);
    cji_emit(m->f, e, guard, w, row->operands + 1u, CJI_NO_DEF, m->call);
    return m->to;
}

/* ---- Literals ---------------------------------------------------------------------------------------------------- */

static cj_val literal(cji_math *m, unsigned lit, uint64_t bits)
{
    if (!m->f) return (cj_val){ bits };
    return cji_val_of(m->f, cji_fn_lit(m->f, lit, bits, false, CJ_VOID), CJ_VOID);
}

cj_val cji_m_float(cji_math *m, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return literal(m, CJI_LIT_F32, bits);
}

cj_val cji_m_double(cji_math *m, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return literal(m, CJI_LIT_F64, bits);
}

cj_val cji_m_word(cji_math *m, uint64_t x) { return m->f ? cj_imm_u(m->f, x) : (cj_val){ x }; }

cj_val cji_m_whole(cji_math *m, int32_t x) { return m->f ? cj_imm_i(m->f, x) : (cj_val){ (uint32_t)x }; }

cj_val cji_m_poly(cji_math *m, cj_val x, const float *k, size_t n)
{
    cj_val p = F(k[0]);
    for (size_t i = 1; i < n; i++) p = FMA(p, x, F(k[i]));
    return p;
}

cj_val cji_m_poly_d(cji_math *m, cj_val x, const double *k, size_t n)
{
    cj_val p = D(k[0]);
    for (size_t i = 1; i < n; i++) p = FMA_D(p, x, D(k[i]));
    return p;
}

/* min.NaN and max.NaN would need sm_80. */
static cj_val limited(cji_math *m, cj_val x, cj_val beyond, float limit)
{
    cj_val y = OP(mov, x);
    WHEN(beyond, y) = OP(mov, F(limit));
    return y;
}

cj_val cji_m_at_least(cji_math *m, cj_val x, float limit) { return limited(m, x, LT(x, F(limit)), limit); }
cj_val cji_m_at_most(cji_math *m, cj_val x, float limit) { return limited(m, x, GT(x, F(limit)), limit); }

void cji_math_place(cj_fn *f, cji_math_move move, cj_val to, cj_val from)
{
    static const char *const moves[] = {
#define MOVE(name, mnemonic) mnemonic,
#include "ptx/math/math_moves.def"
    };
    cj_ins_n(f, moves[move], (const cj_val[]){ to, from }, 2);
}

/* ---- Halves of 64 bits ------------------------------------------------------------------------------------------- */

void cji_m_split(cji_math *m, cj_val x, cj_val *low, cj_val *high)
{
    if (!m->f) {
        low->bits = x.bits & UINT32_MAX;
        high->bits = x.bits >> 32;
        return;
    }
    *low = cji_reg_val(m->f, CJ_B32);
    *high = cji_reg_val(m->f, CJ_B32);
    const cj_val two[2] = { *low, *high };
    cji_math_place(m->f, CJI_MOVE_PAIR, cj_vec_n(m->f, two, 2), x);
}

cj_val cji_m_high(cji_math *m, cj_val x)
{
    cj_val low, high;
    cji_m_split(m, x, &low, &high);
    return high;
}

cj_val cji_m_low(cji_math *m, cj_val x) { return OP(u_of_w, x); }

cj_val cji_m_pair(cji_math *m, cj_val low, cj_val high)
{
    if (!m->f) return (cj_val){ (low.bits & UINT32_MAX) | high.bits << 32 };
    const cj_val two[2] = { low, high }, x = cji_reg_val(m->f, CJ_B64);
    cji_math_place(m->f, CJI_MOVE_PAIR, x, cj_vec_n(m->f, two, 2));
    return x;
}

static cj_val high_as_float(cji_math *m, double x)
{
    uint64_t bits;
    uint32_t high;
    float f;
    memcpy(&bits, &x, sizeof bits);
    high = (uint32_t)(bits >> 32);
    memcpy(&f, &high, sizeof f);
    return F(f);
}

cj_val cji_m_beyond(cji_math *m, cj_val x, double limit)
{
    cj_val high = HIGH(x);
    high = ABS(high);
    return OP(geu, high, high_as_float(m, limit));
}

cj_val cji_m_below(cji_math *m, cj_val x, double limit)
{
    cj_val high = HIGH(x);
    high = ABS(high);
    return OP(lt, high, high_as_float(m, limit));
}

cj_val cji_m_add_high(cji_math *m, cj_val x, cj_val n)
{
    cj_val low, high;
    cji_m_split(m, x, &low, &high);
    high = OP(add_u, high, n);
    return PAIR(low, high);
}

/* ---- Branches ---------------------------------------------------------------------------------------------------- */

void cji_m_when(cji_math *m, cj_val p, cj_val to)
{
    m->into = m->guarded = true;
    m->guard = p;
    m->to = to;
}

void cji_m_into(cji_math *m, cj_val to)
{
    m->into = true;
    m->guarded = false;
    m->to = to;
}

bool cji_m_if(cji_math *m, cj_val p)
{
    if (m->f) return cj_if(m->f, p), true;
    return m->taken[m->depth++] = p.bits & 1;
}

bool cji_m_else(cji_math *m)
{
    if (m->f) return cj_else(m->f), true;
    return !m->taken[m->depth - 1];
}

void cji_m_endif(cji_math *m)
{
    if (m->f) cj_end(m->f);
    else m->depth--;
}

void cji_m_do(cji_math *m)
{
    if (!m->f) return;
    m->top[m->depth] = cj_label(m->f);
    cj_label_bind(m->f, m->top[m->depth++]);
}

bool cji_m_again(cji_math *m, cj_val p)
{
    uint32_t guard;
    if (!m->f) return p.bits & 1;
    cji_form *e = m->f->m->dead ? NULL : cji_verb(m->f, CJI_VERB_BRA, 0, 0, 0, m->call);
    if (e && cji_guard(m->f, p, false, &guard, m->call))
        cji_emit(m->f, e, guard, &m->top[--m->depth], 1, CJI_NO_DEF, m->call);
    return false;
}
