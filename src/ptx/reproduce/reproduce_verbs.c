/* Instructions as verbs.  A verb is tried only where its form for the operands' types is the instruction's own, so it
 * cannot fail; what it has made is compared all the same. */
#include <string.h>

#include "ptx/reproduce/reproduce.h"

/* ---- Verbs of one instruction ------------------------------------------------------------------------------------ */

typedef struct rep_verb {
    cji_verb_id id;
    const char *name;
    cj_val (*one)(cj_fn *, cj_val);
    cj_val (*two)(cj_fn *, cj_val, cj_val);
    cj_val (*three)(cj_fn *, cj_val, cj_val, cj_val);
} rep_verb;

#define ONE(id, fn) { CJI_VERB_##id, #fn, fn, NULL, NULL }
#define TWO(id, fn) { CJI_VERB_##id, #fn, NULL, fn, NULL }
#define THREE(id, fn) { CJI_VERB_##id, #fn, NULL, NULL, fn }
static const rep_verb typed_verbs[] = {
    TWO(ADD, cj_add), TWO(SUB, cj_sub), TWO(MUL, cj_mul), TWO(MUL_HI, cj_mul_hi), TWO(MUL_WIDE, cj_mul_wide),
    THREE(MAD, cj_mad), THREE(FMA, cj_fma), TWO(DIV, cj_div), TWO(REM, cj_rem), TWO(MIN, cj_min), TWO(MAX, cj_max),
    ONE(NEG, cj_neg), ONE(ABS, cj_abs), ONE(SQRT, cj_sqrt), ONE(RCP, cj_rcp), ONE(FLOOR, cj_floor), ONE(CEIL, cj_ceil),
    ONE(TRUNC, cj_trunc), ONE(ROUND, cj_round), TWO(APPROX_DIV, cj_approx_div), ONE(APPROX_SQRT, cj_approx_sqrt),
    ONE(APPROX_RSQRT, cj_approx_rsqrt), ONE(APPROX_RCP, cj_approx_rcp), ONE(APPROX_SIN, cj_approx_sin),
    ONE(APPROX_COS, cj_approx_cos), ONE(APPROX_EXP2, cj_approx_exp2), ONE(APPROX_LOG2, cj_approx_log2),
    TWO(AND, cj_and), TWO(OR, cj_or), TWO(XOR, cj_xor), ONE(INV, cj_inv), TWO(SHL, cj_shl), TWO(SHR, cj_shr),
    ONE(POPC, cj_popc), ONE(CLZ, cj_clz), ONE(BREV, cj_brev), TWO(EQ, cj_eq), TWO(NE, cj_ne), TWO(LT, cj_lt),
    TWO(LE, cj_le), TWO(GT, cj_gt), TWO(GE, cj_ge)
};

/* Does the verb have the instruction's spelling for this type? */
static bool is_verb(const cji_rep_body *c, const cji_ins *x, cji_verb_id id, unsigned space, unsigned type,
                    unsigned from)
{
    unsigned t = type;
    if (!cji_verb_has(id, t, from)) {
        t = t == CJ_B16 ? CJ_U16 : t == CJ_B32 ? CJ_U32 : t == CJ_B64 ? CJ_U64 : t;
        if (!cji_verb_has(id, t, from)) return false;
    }
    const cji_form *e = cji_ins_form(c->f->m, x), *own = cji_verb(c->g, id, space, t, from, "cj_ptx_reproducer");
    return own && !strcmp(own->isa->text, e->isa->text);
}

/* What the verb has made is what comes next; its value is the instruction's destination. */
bool cji_rep_verb_done(cji_rep_body *c, const cji_rep_mark *mark, uint32_t reg, cj_val d)
{
    cji_rep_close(c, reg);
    if (d.bits && c->g->nins > mark->nins && cji_rep_same(c, mark)) {
        cji_rep_got_reg(c, reg, d);
        return true;
    }
    cji_rep_undo(c, mark);
    return false;
}

/* The table's verbs: registers of one type, and numbers behind the first of them. */
static bool typed_verb(cji_rep_body *c, const cji_ins *x, uint32_t n)
{
    cj_val v[3];
    unsigned type = CJ_VOID;
    const uint32_t *word = &x->opnd[1];
    for (uint32_t i = 0; i + 1 < n; i++) {
        if (!cji_rep_is_simple(c, word[i])) return false;
        if (type == CJ_VOID) type = cji_rep_reg_type(c, word[i]);
    }
    if (type == CJ_VOID || n > 4) return false;
    for (size_t k = 0; k < sizeof typed_verbs / sizeof *typed_verbs; k++) {
        const rep_verb *t = &typed_verbs[k];
        if ((t->one ? 2u : t->two ? 3u : 4u) != n || !is_verb(c, x, t->id, 0, type, CJ_VOID)) continue;
        const bool shift = t->id == CJI_VERB_SHL || t->id == CJI_VERB_SHR;
        for (uint32_t i = 1; i + 1 < n && !shift; i++)
            if (cji_rep_reg_type(c, word[i]) != CJ_VOID && cji_rep_reg_type(c, word[i]) != type) return false;
        if (shift && cji_word_kind(word[0]) != CJI_K_REG) return false;
        const cji_rep_mark mark = cji_rep_begin(c);
        cji_rep_open(c);
        cji_text_printf(&c->text, "%s(f", t->name);
        if (!cji_rep_operands(c, word, n - 1, v)) return cji_rep_undo(c, &mark), false;
        const cj_val d = t->one ? t->one(c->g, v[0]) : t->two ? t->two(c->g, v[0], v[1])
                                                              : t->three(c->g, v[0], v[1], v[2]);
        return cji_rep_verb_done(c, &mark, cji_word_index(x->opnd[0]), d);
    }
    return false;
}

/* selp d, a, b, p. */
static bool select_verb(cji_rep_body *c, const cji_ins *x, uint32_t n)
{
    cj_val v[3];
    const unsigned type = cji_rep_reg_type(c, x->opnd[0]);
    if (n != 4) return false;
    for (int i = 1; i < 4; i++)
        if (!cji_rep_is_simple(c, x->opnd[i])) return false;
    if (cji_rep_reg_type(c, x->opnd[3]) != CJ_PRED || !is_verb(c, x, CJI_VERB_SELECT, 0, type, CJ_VOID)) return false;
    for (int i = 1; i < 3; i++)
        if (cji_rep_reg_type(c, x->opnd[i]) != CJ_VOID && cji_rep_reg_type(c, x->opnd[i]) != type) return false;
    const uint32_t word[3] = { x->opnd[3], x->opnd[1], x->opnd[2] };
    const cji_rep_mark mark = cji_rep_begin(c);
    cji_rep_open(c);
    cji_text_puts(&c->text, "cj_select(f");
    if (!cji_rep_operands(c, word, 3, v)) return cji_rep_undo(c, &mark), false;
    return cji_rep_verb_done(c, &mark, cji_word_index(x->opnd[0]), (cj_select)(c->g, v[0], v[1], v[2]));
}

/* mov: a new register with a value, or another value for one that is there; the bits as another type. */
static bool move_verb(cji_rep_body *c, const cji_ins *x, uint32_t n)
{
    const uint32_t reg = cji_word_index(x->opnd[0]);
    const unsigned type = cji_rep_reg_type(c, x->opnd[0]), from = cji_rep_reg_type(c, x->opnd[1]);
    cj_val v, to;
    if (n != 2 || type == CJ_VOID || !cji_rep_is_simple(c, x->opnd[1])) return false;
    const bool same = from == CJ_VOID || cji_unify(type, from) != CJ_VOID;
    if (type == CJ_PRED && from != CJ_PRED) return false;
    if (!is_verb(c, x, same ? CJI_VERB_MOV : CJI_VERB_BITS_AS, 0, type, CJ_VOID)) return false;
    const cji_rep_mark mark = cji_rep_begin(c);
    if (c->slot[reg].v.bits) {
        if (!same) return false;
        cji_rep_open(c);
        cji_text_puts(&c->text, "cj_assign(f, ");
        if (!cji_rep_use(c, reg, &to)) return cji_rep_undo(c, &mark), false;
        if (!cji_rep_operands(c, &x->opnd[1], 1, &v)) return cji_rep_undo(c, &mark), false;
        (cj_assign)(c->g, to, v);
        cji_rep_close(c, CJI_REP_NONE);
        if (c->g->nins > mark.nins && cji_rep_same(c, &mark)) return true;
        return cji_rep_undo(c, &mark), false;
    }
    if (!cji_rep_is_next(c, reg) || (!same && cji_type_bits(type) != cji_type_bits(from))) return false;
    cji_rep_open(c);
    if (same && from == type) cji_text_puts(&c->text, "cj_mov(f");
    else cji_text_printf(&c->text, "%s(f, %s", same ? "cj_let" : "cj_bits", cji_rep_type(type));
    if (!cji_rep_operands(c, &x->opnd[1], 1, &v)) return cji_rep_undo(c, &mark), false;
    return cji_rep_verb_done(c, &mark, reg, same && from == type ? (cj_mov)(c->g, v)
                                    : same ? (cj_let)(c->g, (cj_type)type, v) : (cj_bits)(c->g, (cj_type)type, v));
}

static bool convert_verb(cji_rep_body *c, const cji_ins *x, uint32_t n)
{
    static const uint8_t to_types[] = { CJ_U8, CJ_S8, CJ_U16, CJ_S16, CJ_U32, CJ_S32, CJ_U64, CJ_S64, CJ_F16, CJ_BF16,
                                        CJ_F32, CJ_F64 };
    cj_val v;
    unsigned from = cji_rep_reg_type(c, x->opnd[1]), type = CJ_VOID;
    if (n != 2 || from == CJ_VOID || from == CJ_PRED || !cji_rep_is_simple(c, x->opnd[1])) return false;
    from = from == CJ_B16 ? CJ_U16 : from == CJ_B32 ? CJ_U32 : from == CJ_B64 ? CJ_U64 : from;
    for (size_t i = 0; i < sizeof to_types && type == CJ_VOID; i++) {
        const unsigned t = to_types[i];
        if (t == from || cji_type_wide(t) != cji_rep_reg_type(c, x->opnd[0])) continue;
        if (cji_verb_has(CJI_VERB_CVT, t, from) && is_verb(c, x, CJI_VERB_CVT, 0, t, from)) type = t;
    }
    if (type == CJ_VOID) return false;
    const cji_rep_mark mark = cji_rep_begin(c);
    cji_rep_open(c);
    cji_text_printf(&c->text, "cj_cvt(f, %s", cji_rep_type(type));
    if (!cji_rep_operands(c, &x->opnd[1], 1, &v)) return cji_rep_undo(c, &mark), false;
    return cji_rep_verb_done(c, &mark, cji_word_index(x->opnd[0]), (cj_cvt)(c->g, (cj_type)type, v));
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

/* The special register that the record moves into the next register; -1: another record. */
static int moved_special(const cji_rep_body *c, size_t at)
{
    const cji_ins *x = at < c->f->nins ? &c->f->ins[at] : NULL;
    if (!x || x->guard || !cji_rep_is(c, x, CJI_VERB_MOV, CJ_U32) || cji_word_kind(x->opnd[1]) != CJI_K_SREG) return -1;
    return (int)cji_word_index(x->opnd[1]);
}

static bool thread_verb(cji_rep_body *c)
{
    static const char *const dims[] = { "CJ_X", "CJ_Y", "CJ_Z" };
    static const struct {
        const char *name;
        cji_sreg_verb reads[3];   /* in the order in which it reads them */
        uint8_t n, records;
        cj_val (*fn)(cj_fn *, cj_dim);
    } verbs[] = {
        { "cj_global_id", { CJI_SRV_BLOCK_ID, CJI_SRV_BLOCK_SIZE, CJI_SRV_THREAD_ID }, 3, 4, cj_global_id },
        { "cj_global_size", { CJI_SRV_BLOCK_SIZE, CJI_SRV_GRID_SIZE }, 2, 3, cj_global_size },
        { "cj_thread_id", { CJI_SRV_THREAD_ID }, 1, 1, cj_thread_id },
        { "cj_block_id", { CJI_SRV_BLOCK_ID }, 1, 1, cj_block_id },
        { "cj_block_size", { CJI_SRV_BLOCK_SIZE }, 1, 1, cj_block_size },
        { "cj_grid_size", { CJI_SRV_GRID_SIZE }, 1, 1, cj_grid_size }
    };
    if (moved_special(c, c->at) == cji_verb_sreg(CJI_SRV_LANE_ID, CJ_X)) {
        const cji_rep_mark mark = cji_rep_begin(c);
        cji_rep_open(c);
        cji_text_puts(&c->text, "cj_lane_id(f);");
        return cji_rep_verb_done(c, &mark, cji_word_index(c->f->ins[c->at].opnd[0]), (cj_lane_id)(c->g));
    }
    for (size_t k = 0; k < sizeof verbs / sizeof *verbs; k++)
        for (unsigned dim = 0; dim < 3; dim++) {
            bool fits = c->at + verbs[k].records <= c->f->nins;
            for (unsigned i = 0; fits && i < verbs[k].n; i++) {
                fits = moved_special(c, c->at + i) == cji_verb_sreg(verbs[k].reads[i], dim);
                /* what it reads in between nobody else names */
                if (fits && verbs[k].n > 1) fits = c->refs[cji_word_index(c->f->ins[c->at + i].opnd[0])] == 2;
            }
            if (!fits) continue;
            const cji_rep_mark mark = cji_rep_begin(c);
            const uint32_t last = c->f->ins[c->at + verbs[k].records - 1].opnd[0];
            if (cji_word_kind(last) != CJI_K_REG) continue;
            cji_rep_open(c);
            cji_text_printf(&c->text, "%s(f, %s);", verbs[k].name, dims[dim]);
            if (cji_rep_verb_done(c, &mark, cji_word_index(last), verbs[k].fn(c->g, (cj_dim)dim))) return true;
        }
    return false;
}

static bool barrier_verb(cji_rep_body *c, const cji_ins *x, uint32_t n)
{
    static const struct { cji_verb_id id; const char *name; void (*fn)(cj_fn *); } verbs[] = {
        { CJI_VERB_BLOCK_SYNC, "cj_block_sync", cj_block_sync },
        { CJI_VERB_FENCE_BLOCK, "cj_fence_block", cj_fence_block },
        { CJI_VERB_FENCE_DEVICE, "cj_fence_device", cj_fence_device },
        { CJI_VERB_FENCE_SYSTEM, "cj_fence_system", cj_fence_system }
    };
    for (size_t k = 0; k < sizeof verbs / sizeof *verbs; k++) {
        if (!cji_rep_is(c, x, verbs[k].id, CJ_VOID) || n > 1) continue;
        const cji_rep_mark mark = cji_rep_begin(c);
        cji_rep_open(c);
        cji_text_printf(&c->text, "%s(f);", verbs[k].name);
        verbs[k].fn(c->g);
        cji_rep_close(c, CJI_REP_NONE);
        if (c->g->nins > mark.nins && cji_rep_same(c, &mark)) return true;
        cji_rep_undo(c, &mark);
        return false;
    }
    return false;
}

static bool shuffle_verb(cji_rep_body *c, const cji_ins *x, uint32_t n)
{
    static const struct { cji_verb_id id; const char *name; cj_val (*fn)(cj_fn *, cj_val, cj_val); } verbs[] = {
        { CJI_VERB_SHFL_DOWN, "cj_shfl_down", cj_shfl_down }, { CJI_VERB_SHFL_UP, "cj_shfl_up", cj_shfl_up },
        { CJI_VERB_SHFL_XOR, "cj_shfl_xor", cj_shfl_xor }, { CJI_VERB_SHFL_IDX, "cj_shfl_idx", cj_shfl_idx }
    };
    cj_val v[2];
    if (n != 5 || !cji_rep_is_simple(c, x->opnd[1]) || !cji_rep_is_simple(c, x->opnd[2])) return false;
    if (cji_word_kind(x->opnd[1]) != CJI_K_REG || cji_type_bits(cji_rep_reg_type(c, x->opnd[1])) != 32) return false;
    for (size_t k = 0; k < sizeof verbs / sizeof *verbs; k++) {
        if (!is_verb(c, x, verbs[k].id, 0, CJ_VOID, CJ_VOID)) continue;
        const cji_rep_mark mark = cji_rep_begin(c);
        cji_rep_open(c);
        cji_text_printf(&c->text, "%s(f", verbs[k].name);
        if (!cji_rep_operands(c, &x->opnd[1], 2, v)) return cji_rep_undo(c, &mark), false;
        return cji_rep_verb_done(c, &mark, cji_word_index(x->opnd[0]), verbs[k].fn(c->g, v[0], v[1]));
    }
    return false;
}

static bool vote_verb(cji_rep_body *c, const cji_ins *x, uint32_t n)
{
    static const struct { cji_verb_id id; const char *name; cj_val (*fn)(cj_fn *, cj_val); } verbs[] = {
        { CJI_VERB_VOTE_ANY, "cj_vote_any", cj_vote_any }, { CJI_VERB_VOTE_ALL, "cj_vote_all", cj_vote_all },
        { CJI_VERB_VOTE_UNI, "cj_vote_uni", cj_vote_uni }, { CJI_VERB_VOTE_BALLOT, "cj_vote_ballot", cj_vote_ballot }
    };
    cj_val p;
    if (n != 3 || cji_rep_reg_type(c, x->opnd[1]) != CJ_PRED || !cji_rep_is_simple(c, x->opnd[1])) return false;
    for (size_t k = 0; k < sizeof verbs / sizeof *verbs; k++) {
        if (!is_verb(c, x, verbs[k].id, 0, CJ_VOID, CJ_VOID)) continue;
        const cji_rep_mark mark = cji_rep_begin(c);
        cji_rep_open(c);
        cji_text_printf(&c->text, "%s(f", verbs[k].name);
        if (!cji_rep_operands(c, &x->opnd[1], 1, &p)) return cji_rep_undo(c, &mark), false;
        return cji_rep_verb_done(c, &mark, cji_word_index(x->opnd[0]), verbs[k].fn(c->g, p));
    }
    return false;
}

/* ---- All of them ------------------------------------------------------------------------------------------------- */

/* Registers between a verb's records that are made here are not the next ones only: each destination is the next of
 * its type. */
bool cji_rep_verb(cji_rep_body *c)
{
    const cji_ins *x = &c->f->ins[c->at];
    if (!cji_ins_form(c->f->m, x) || x->guard) return false;
    const uint32_t n = cji_ins_n(c->f, x);
    if (cji_rep_access(c) || barrier_verb(c, x, n) || cji_rep_call(c, x, n)) return true;
    if (!n || cji_word_kind(x->opnd[0]) != CJI_K_REG) return false;
    if (move_verb(c, x, n)) return true;
    if (!cji_rep_is_next(c, cji_word_index(x->opnd[0]))) return false;
    return thread_verb(c) || typed_verb(c, x, n) || select_verb(c, x, n) || convert_verb(c, x, n) ||
           shuffle_verb(c, x, n) || vote_verb(c, x, n);
}
