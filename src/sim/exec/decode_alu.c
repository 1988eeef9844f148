/* Decoding: arithmetic, logic, shifts, bit fields, moves between registers, as ops.def lists them. */
#include "sim/exec/decode.h"
#include "sim/exec/lane_ops.h"
#include "sim/exec/ops_lane.h"

/* ---- Modifiers ---- */

/* What a row's lane function knows beside its type. */
enum {
    M_RND = 1,
    M_FTZ = 2,
    M_SAT = 4,
    M_RELU = 8,
    M_NAN = 16,
    M_ABS = 32,
    M_HI = 64,
    M_WRAP = 128,
    M_SHIFTAMT = 256,
    M_APPROX = 512,
    M_TESTP = 1024,
    M_PRMT = 2048,
    M_THIRD = 4096 /* no word: a third input */
};

static const struct {
    uint16_t modifier, word;
    uint32_t k;
} alu_modifiers[] = {
    { M_RND, CJI_W_RN, CJI_FP_RN },
    { M_RND, CJI_W_RZ, CJI_FP_RZ },
    { M_RND, CJI_W_RM, CJI_FP_RM },
    { M_RND, CJI_W_RP, CJI_FP_RP },
    { M_FTZ, CJI_W_FTZ, CJI_KF_FTZ },
    { M_SAT, CJI_W_SAT, CJI_KF_SAT },
    { M_RELU, CJI_W_RELU, CJI_KF_RELU },
    { M_NAN, CJI_W_NAN_, CJI_KF_NAN },
    { M_ABS, CJI_W_ABS, CJI_KF_ABS },
    { M_ABS, CJI_W_XORSIGN, CJI_KF_XORSIGN },
    { M_HI, CJI_W_HI, CJI_KF_HI },
    { M_HI, CJI_W_LO, 0 },
    { M_WRAP, CJI_W_WRAP, CJI_KF_B },
    { M_WRAP, CJI_W_CLAMP, 0 },
    { M_SHIFTAMT, CJI_W_SHIFTAMT, CJI_KF_B },
    { M_APPROX, CJI_W_APPROX, 0 },
    { M_TESTP, CJI_W_FINITE, CJI_KF(0, 0, CJI_TESTP_FINITE) },
    { M_TESTP, CJI_W_INFINITE, CJI_KF(0, 0, CJI_TESTP_INFINITE) },
    { M_TESTP, CJI_W_NUMBER, CJI_KF(0, 0, CJI_TESTP_NUMBER) },
    { M_TESTP, CJI_W_NOTANUMBER, CJI_KF(0, 0, CJI_TESTP_NOTANUMBER) },
    { M_TESTP, CJI_W_NORMAL, CJI_KF(0, 0, CJI_TESTP_NORMAL) },
    { M_TESTP, CJI_W_SUBNORMAL, CJI_KF(0, 0, CJI_TESTP_SUBNORMAL) },
    { M_PRMT, CJI_W_F4E, CJI_KF(0, 0, CJI_PRMT_F4E) },
    { M_PRMT, CJI_W_B4E, CJI_KF(0, 0, CJI_PRMT_B4E) },
    { M_PRMT, CJI_W_RC8, CJI_KF(0, 0, CJI_PRMT_RC8) },
    { M_PRMT, CJI_W_ECL, CJI_KF(0, 0, CJI_PRMT_ECL) },
    { M_PRMT, CJI_W_ECR, CJI_KF(0, 0, CJI_PRMT_ECR) },
    { M_PRMT, CJI_W_RC16, CJI_KF(0, 0, CJI_PRMT_RC16) },
};

/* k of a lane function: the first type, and those of `modifiers` that the instruction has (a third input apart). */
static uint32_t alu_k(cji_dec *d, uint32_t modifiers)
{
    const cji_dec_type *t = cji_dec_type_at(d, 0);
    uint32_t k = CJI_KF(t->bits, t->fmt, 0);
    if (t->cls == 's') k |= CJI_KF_SIGNED;
    for (size_t i = 0; i < sizeof alu_modifiers / sizeof *alu_modifiers; i++)
        if (modifiers & alu_modifiers[i].modifier && cji_dec_has(d, alu_modifiers[i].word)) k |= alu_modifiers[i].k;
    return k;
}

/* ---- Operands ---- */

/* Operand i as a source of its place's own type. */
static cji_dec_place alu_src(cji_dec *d, uint32_t i)
{
    unsigned type = i < d->e->isa->nopnd ? d->e->isa->opnd[i].type : CJ_VOID;
    unsigned bits = type ? cji_type_bits(type) : cji_dec_type_at(d, 0)->bits;
    if (bits > 64) bits = 64;
    return cji_dec_src(d, cji_dec_word(d, i), bits, type == CJ_F32 || type == CJ_F64);
}

/* d = lane(a, b, c); `vec`, where it is not NULL, when all registers have exactly the widths it reads
 * (CJI_WNONE: as many operands as there are). */
static bool alu_emit(cji_dec *d, cji_handler vec, unsigned wd, unsigned wa, unsigned wb, unsigned wc, cji_lane_fn lane,
                     uint32_t k)
{
    const cji_dec_type *t = cji_dec_type_at(d, 0);
    bool x2 = t->x2;
    unsigned bits = t->bits, n = d->n - 1;
    cji_dec_place none = { sizeof(cji_frame), CJI_WNONE }, s[3] = { none, none, none };
    cji_dec_place dst = cji_dec_dst(d, cji_dec_word(d, 0), cji_dec_width(x2 ? 2 * bits : bits));
    for (unsigned i = 0; i < n && i < 3; i++) s[i] = alu_src(d, i + 1);
    bool fits = vec && dst.w == wd && s[0].w == wa && s[1].w == wb && s[2].w == wc;
    cji_rec *r = cji_dec_emit(d, fits ? vec : x2 ? cji_h_lane_x2 : cji_h_lane);
    cji_dec_put_d(r, dst);
    cji_dec_put_a(r, s[0]);
    cji_dec_put_b(r, s[1]);
    cji_dec_put_c(r, s[2]);
    r->lane = lane;
    r->k = k;
    r->count = (uint8_t)bits;
    return true;
}

/* ---- Instructions of their own: ops.def's X ---- */

/* add.cc and its kin; k: CJI_CC_* */
static bool alu_carry(cji_dec *d, uint32_t k)
{
    const cji_dec_type *t = cji_dec_type_at(d, 0);
    if (cji_dec_has(d, CJI_W_CC)) k |= CJI_CC_OUT;
    if (k & CJI_CC_MAD && !cji_dec_has(d, CJI_W_LO) && cji_dec_has(d, CJI_W_HI)) k |= CJI_CC_HI;
    if (t->bits == 64) k |= CJI_CC_64;
    if (t->cls == 's') k |= CJI_CC_SIGNED;
    const cji_vec_table *v = d->vec;
    bool wide = k & CJI_CC_64, hi = k & CJI_CC_HI, sign = k & CJI_CC_SIGNED;
    cji_handler vec = !(k & CJI_CC_MAD) ? wide ? v->carry_64 : v->carry_32
                      : !hi             ? wide ? v->carry_mad_64 : v->carry_mad_32
                      : wide            ? sign ? v->carry_madhi_s64 : v->carry_madhi_u64
                      : sign            ? v->carry_madhi_s32
                                        : v->carry_madhi_u32;
    unsigned w = cji_dec_width(t->bits);
    alu_emit(d, vec, w, w, w, k & CJI_CC_MAD ? w : CJI_WNONE, NULL, k);
    if (!d->failed && d->p->code[d->p->ncode - 1].fn != vec) d->p->code[d->p->ncode - 1].fn = cji_h_carry;
    return true;
}

static bool alu_bfi(cji_dec *d, uint32_t k)
{
    (void)k;
    unsigned bits = cji_dec_type_at(d, 0)->bits;
    cji_dec_place dst = cji_dec_dst(d, cji_dec_word(d, 0), cji_dec_width(bits)), s[4];
    for (uint32_t i = 0; i < 4; i++) s[i] = alu_src(d, i + 1);
    uint32_t at = cji_dec_ext(d, s[3].w);
    cji_dec_ext(d, s[3].off);
    unsigned w = cji_dec_width(bits);
    bool fits = dst.w == w && s[0].w == w && s[1].w == w && s[2].w == CJI_W32 && s[3].w == CJI_W32;
    cji_rec *r = cji_dec_emit(d, !fits ? cji_h_bfi : bits == 64 ? d->vec->bfi_64 : d->vec->bfi_32);
    r->imm = s[3].off;
    cji_dec_put_d(r, dst);
    cji_dec_put_a(r, s[0]);
    cji_dec_put_b(r, s[1]);
    cji_dec_put_c(r, s[2]);
    r->target = at;
    r->k = bits;
    return true;
}

static bool alu_lop3(cji_dec *d, uint32_t k)
{
    (void)k;
    cji_dec_type_at(d, 0);
    uint32_t first = cji_dec_word(d, 0), count, table = 0;
    cji_dec_place dst, pair = { 0, 0 }, s[3], q = { 0, 0 };
    if (cji_word_kind(first) == CJI_K_PAIR) {
        const uint32_t *two = cji_fn_words(d->f, first, &count);
        dst = cji_dec_dst(d, two[0], CJI_W32);
        pair = cji_dec_dst(d, two[1], CJI_WP);
    } else dst = cji_dec_dst(d, first, CJI_W32);
    for (uint32_t i = 0; i < 3; i++) s[i] = cji_dec_src(d, cji_dec_word(d, i + 1), 32, false);
    uint32_t lut = cji_dec_word(d, 4);
    if (cji_word_kind(lut) != CJI_K_IMM) return cji_dec_unsupported(d), true;
    table = (uint32_t)d->f->lit[cji_word_index(lut)].bits & 255;
    if (pair.w) q = cji_dec_src(d, cji_dec_word(d, 5), 1, false);
    cji_rec *r = cji_dec_emit(d, d->vec->lop3);
    cji_dec_put_d(r, dst);
    cji_dec_put_a(r, s[0]);
    cji_dec_put_b(r, s[1]);
    cji_dec_put_c(r, s[2]);
    r->k = table;
    if (!pair.w) return true;
    /* p = (result is not 0) or/and q */
    cji_dec_place zero = cji_dec_const(d, CJI_W32, 0, CJI_CON_PLAIN);
    r = cji_dec_emit(d, d->vec->ne_u32);
    cji_dec_put_d(r, pair);
    cji_dec_put_a(r, dst);
    cji_dec_put_b(r, zero);
    cji_dec_put_c(r, q);
    r->k = cji_dec_has(d, CJI_W_OR) ? CJI_SETP_OR : cji_dec_has(d, CJI_W_AND) ? CJI_SETP_AND : 0;
    return true;
}

/* and, or, xor, not, mov of predicates; k: CJI_PL_* */
static bool alu_pred(cji_dec *d, uint32_t k)
{
    cji_dec_type_at(d, 0);
    cji_dec_place dst = cji_dec_dst(d, cji_dec_word(d, 0), CJI_WP), a = cji_dec_src(d, cji_dec_word(d, 1), 1, false);
    cji_dec_place b = d->n > 2 ? cji_dec_src(d, cji_dec_word(d, 2), 1, false) : a;
    cji_rec *r = cji_dec_emit(d, cji_h_pred);
    cji_dec_put_d(r, dst);
    cji_dec_put_a(r, a);
    cji_dec_put_b(r, b);
    r->k = k;
    return true;
}

/* dp4a, dp2a; n: products */
static bool alu_dot(cji_dec *d, uint32_t n)
{
    uint32_t k = CJI_KF(32, 0, 0);
    if (cji_dec_type_at(d, 0)->cls == 's') k |= CJI_KF_SIGNED;
    if (cji_dec_type_at(d, 1)->cls == 's') k |= CJI_KF_B;
    if (n == 2 && !cji_dec_has(d, CJI_W_LO) && cji_dec_has(d, CJI_W_HI)) k |= CJI_KF_HI;
    return alu_emit(d, n == 2 ? d->vec->dp2a : d->vec->dp4a, CJI_W32, CJI_W32, CJI_W32, CJI_W32,
                    n == 2 ? cji_l_dp2a : cji_l_dp4a, k);
}

/* The form for 32 lanes of n parts; NULL: a register has another width, or there is none. */
static cji_handler alu_parts_form(const cji_dec *d, const cji_dec_place *one, uint32_t n, cji_dec_place whole,
                                  unsigned bits, bool pack)
{
    const cji_vec_table *v = d->vec;
    if (whole.w != cji_dec_width(n * bits)) return NULL;
    for (uint32_t i = 0; i < n; i++)
        if (one[i].w != cji_dec_width(bits) && (pack || one[i].w)) return NULL;
    switch (n * 100 + bits) {
    case 208: return pack ? v->pack_8x2 : v->unpack_8x2;
    case 216: return pack ? v->pack_16x2 : v->unpack_16x2;
    case 232: return pack ? v->pack_32x2 : v->unpack_32x2;
    case 408: return pack ? v->pack_8x4 : v->unpack_8x4;
    case 416: return pack ? v->pack_16x4 : v->unpack_16x4;
    default: return NULL;
    }
}

/* {a, b, ...} on either side */
static bool alu_vector_mov(cji_dec *d, uint32_t vec, uint32_t other, bool pack)
{
    uint32_t n = 0;
    const uint32_t *word = cji_fn_words(d->f, vec, &n);
    unsigned all = cji_dec_type_at(d, 0)->bits, bits = all / (n ? n : 1);
    if (all > 64 || n > 8) return cji_dec_unsupported(d), true;
    cji_dec_place one[8], whole;
    for (uint32_t i = 0; i < n; i++)
        one[i] = pack ? cji_dec_src(d, word[i], bits, false) : cji_dec_dst(d, word[i], cji_dec_width(bits));
    whole = pack ? cji_dec_dst(d, other, cji_dec_width(all)) : cji_dec_src(d, other, all, false);
    uint32_t at = (uint32_t)d->p->next;
    for (uint32_t i = 0; i < n; i++) {
        cji_dec_ext(d, one[i].w);
        cji_dec_ext(d, one[i].off);
    }
    cji_handler form = alu_parts_form(d, one, n, whole, bits, pack);
    cji_rec *r = cji_dec_emit(d, form ? form : pack ? cji_h_pack : cji_h_unpack);
    if (pack) cji_dec_put_d(r, whole);
    else cji_dec_put_a(r, whole);
    r->target = at;
    r->count = (uint8_t)n;
    r->imm = bits;
    return true;
}

static void alu_copy(cji_dec *d, cji_dec_place to, cji_dec_place from)
{
    const cji_vec_table *v = d->vec;
    bool whole = to.w == from.w && to.w >= CJI_W16 && to.w <= CJI_W64;
    cji_rec *r = cji_dec_emit(d, !whole             ? cji_h_lane
                                 : to.w == CJI_W16 ? v->mov_16
                                 : to.w == CJI_W32 ? v->mov_32
                                                   : v->mov_64);
    cji_dec_put_d(r, to);
    cji_dec_put_a(r, from);
    r->lane = cji_l_mov;
}

/* mov.v2, mov.v4: all elements are read before one is written. */
static bool alu_whole_vectors(cji_dec *d, uint32_t to, uint32_t from)
{
    static const uint16_t counts[] = { CJI_W_V2, CJI_W_V4, 0 };
    const cji_dec_type *t = cji_dec_type_at(d, 0);
    unsigned w = cji_dec_width(t->bits);
    uint32_t n = 0, m = 4;
    const uint32_t *dst = cji_fn_words(d->f, to, &n), *src = NULL;
    cji_dec_place value[4];
    cji_dec_hints(d, counts);
    if (cji_word_kind(from) == CJI_K_VEC) src = cji_fn_words(d->f, from, &m);
    if (n > 4 || m != n) return cji_dec_unsupported(d), true;
    for (uint32_t i = 0; i < n; i++) {
        /* the elements of a special register follow it in the table */
        uint32_t word = src ? src[i] : cji_word(CJI_K_SREG, cji_word_index(from) + 1 + i);
        value[i] = cji_dec_src(d, word, t->bits, t->cls == 'f');
        for (uint32_t k = 0; k < i; k++) {
            if (cji_word_kind(word) != CJI_K_REG || dst[k] != word) continue;
            cji_dec_place kept = cji_dec_temp(d, value[i].w);
            alu_copy(d, kept, value[i]);
            value[i] = kept;
            break;
        }
    }
    for (uint32_t i = 0; i < n; i++)
        if (cji_word_kind(dst[i]) != CJI_K_SINK) alu_copy(d, cji_dec_dst(d, dst[i], w), value[i]);
    return true;
}

/* The moves that are more than a lane function. */
static bool alu_mov(cji_dec *d, uint32_t k)
{
    (void)k;
    uint32_t to = cji_dec_word(d, 0), from = cji_dec_word(d, 1);
    unsigned bits = cji_dec_type_at(d, 0)->bits;
    if (cji_dec_has(d, CJI_W_V2) || cji_dec_has(d, CJI_W_V4)) return alu_whole_vectors(d, to, from);
    if (cji_word_kind(from) == CJI_K_VEC && cji_word_kind(to) != CJI_K_VEC) return alu_vector_mov(d, from, to, true);
    if (cji_word_kind(to) == CJI_K_VEC && cji_word_kind(from) != CJI_K_VEC) return alu_vector_mov(d, to, from, false);
    if (bits > 64) return cji_dec_unsupported(d), true;
    if (bits == 1) return alu_pred(d, CJI_PL_MOV);
    if (cji_word_kind(from) != CJI_K_SREG || cji_word_kind(to) != CJI_K_REG) return false;
    cji_dec_src(d, from, bits, false); /* the read itself: into the destination instead of a temporary */
    if (!d->failed) cji_dec_put_d(&d->p->code[d->p->ncode - 1], d->reg[cji_word_index(to)]);
    return true;
}

static bool alu_selp(cji_dec *d, uint32_t k)
{
    (void)k;
    const cji_vec_table *v = d->vec;
    const cji_dec_type *t = cji_dec_type_at(d, 0);
    unsigned bits = t->bits, w = cji_dec_width(bits);
    bool flt = t->cls == 'f';
    cji_dec_place dst = cji_dec_dst(d, cji_dec_word(d, 0), w), a = cji_dec_src(d, cji_dec_word(d, 1), bits, flt),
                  b = cji_dec_src(d, cji_dec_word(d, 2), bits, flt);
    cji_dec_place c = cji_dec_src(d, cji_dec_word(d, 3), 1, false);
    cji_handler vec = w == CJI_W16 ? v->selp_16 : w == CJI_W32 ? v->selp_32 : v->selp_64;
    cji_rec *r = cji_dec_emit(d, dst.w == w && a.w == w && b.w == w ? vec : cji_h_selp);
    cji_dec_put_d(r, dst);
    cji_dec_put_a(r, a);
    cji_dec_put_b(r, b);
    cji_dec_put_c(r, c);
    return true;
}

/* ---- The table ---- */

typedef enum alu_class { ALU_A, ALU_F, ALU_F32, ALU_F64, ALU_I, ALU_P } alu_class;
typedef enum alu_shape {
    ALU_SAME,
    ALU_WIDE,
    ALU_SHIFT,
    ALU_COUNT,
    ALU_FIELD,
    ALU_TEST,
    ALU_OWN,
    ALU_FORM /* V, A: a form of the row above */
} alu_shape;
typedef enum alu_form {
    FORM_B16,
    FORM_B32,
    FORM_B64,
    FORM_U16,
    FORM_S16,
    FORM_U32,
    FORM_S32,
    FORM_U64,
    FORM_S64,
    FORM_F16,
    FORM_BF16,
    FORM_F32,
    FORM_F64,
    FORM_PAIR,
    FORM_UPAIR,
    FORM_SPAIR,
    FORM_F16X2,
    FORM_BF16X2,
    FORM_HALF,
    FORM_HALFX2, /* f16 or bf16 */
    FORM_F32ANY, /* f32 with and without .ftz */
    FORM_FTZ,    /* f32 with .ftz */
    FORM_WRAP,   /* 32 bits with .wrap */
    FORM_NOMODE  /* prmt without a mode */
} alu_form;

typedef struct alu_row {
    uint16_t op, word, modifiers;
    uint8_t cls, shape;
    uint8_t form;     /* of V, A */
    bool any;         /* A */
    uint16_t handler; /* of V: where it is in cji_vec_table */
    uint32_t k;       /* of X */
    cji_lane_fn lane;
    bool (*own)(cji_dec *d, uint32_t k);
} alu_row;

static const alu_row alu_rows[] = {
#define O(op_, class_, word_, shape_, lane_, modifiers_) \
    { .op = CJI_OP_##op_, \
      .word = (word_), \
      .modifiers = (modifiers_), \
      .cls = ALU_##class_, \
      .shape = ALU_##shape_, \
      .lane = cji_l_##lane_ },
#define V(form_, name_) { .shape = ALU_FORM, .form = FORM_##form_, .handler = offsetof(cji_vec_table, name_) },
#define A(form_, name_) \
    { .shape = ALU_FORM, .form = FORM_##form_, .any = true, .handler = offsetof(cji_vec_table, name_) },
#define W(form_, name_) V(form_, name_)
#define B(form_, name_) A(form_, name_)
#define X(op_, class_, word_, own_, k_) \
    { .op = CJI_OP_##op_, .word = (word_), .cls = ALU_##class_, .shape = ALU_OWN, .own = own_, .k = (k_) },
#include "sim/exec/ops.def"
};
enum { ALU_ROWS = sizeof alu_rows / sizeof *alu_rows };

static bool alu_fits(cji_dec *d, const alu_row *row)
{
    const cji_dec_type *t = &d->type[0];
    bool f = t->cls == 'f', p = t->cls == 'p';
    if (row->shape == ALU_FORM || row->op != d->e->isa->op) return false;
    switch (row->cls) {
    case ALU_F:
        if (!f) return false;
        break;
    case ALU_F32:
        if (!f || t->bits > 32) return false;
        break;
    case ALU_F64:
        if (!f || t->bits != 64) return false;
        break;
    case ALU_I:
        if (f || p) return false;
        break;
    case ALU_P:
        if (!p) return false;
        break;
    default: break;
    }
    return !row->word || cji_dec_has(d, row->word);
}

static bool alu_form_fits(unsigned form, const cji_dec_type *t, uint32_t k)
{
    bool s = t->cls == 's', f = t->cls == 'f', ftz = k & CJI_KF_FTZ, half = f && t->bits == 16;
    if (t->x2) switch (form) {
        case FORM_PAIR: return t->bits == 16 && !f;
        case FORM_UPAIR: return t->bits == 16 && !f && !s;
        case FORM_SPAIR: return t->bits == 16 && s;
        case FORM_F16X2: return half && t->fmt == CJI_FP_F16;
        case FORM_BF16X2: return half && t->fmt == CJI_FP_BF16;
        default: return form == FORM_HALFX2 && half;
        }
    switch (form) {
    case FORM_B16: return t->bits == 16 && !f;
    case FORM_B32: return t->bits == 32;
    case FORM_B64: return t->bits == 64;
    case FORM_U16: return t->bits == 16 && !s && !f;
    case FORM_S16: return t->bits == 16 && s;
    case FORM_U32: return t->bits == 32 && !s;
    case FORM_S32: return t->bits == 32 && s;
    case FORM_U64: return t->bits == 64 && !s;
    case FORM_S64: return t->bits == 64 && s;
    case FORM_F16: return half && t->fmt == CJI_FP_F16;
    case FORM_BF16: return half && t->fmt == CJI_FP_BF16;
    case FORM_HALF: return half;
    case FORM_F32: return t->bits == 32 && !ftz;
    case FORM_F32ANY: return t->bits == 32;
    case FORM_F64: return t->bits == 64;
    case FORM_FTZ: return t->bits == 32 && ftz;
    case FORM_WRAP: return k & CJI_KF_B;
    case FORM_NOMODE: return !CJI_KF_X(k);
    default: return false;
    }
}

/* The form for 32 lanes that follows row i, NULL: none for this type and these modifiers. */
static cji_handler alu_form_of(const cji_dec *d, size_t i, uint32_t k)
{
    const uint32_t not_plain =
        CJI_KF_RND | CJI_KF_SAT | CJI_KF_RELU | CJI_KF_NAN | CJI_KF_ABS | CJI_KF_XORSIGN | CJI_KF_C;
    for (i++; i < ALU_ROWS && alu_rows[i].shape == ALU_FORM; i++)
        if ((alu_rows[i].any || !(k & not_plain)) && alu_form_fits(alu_rows[i].form, &d->type[0], k))
            return *(const cji_handler *)(const void *)((const char *)d->vec + alu_rows[i].handler);
    return NULL;
}

/* What row i makes of the form's words: the same for each of its instructions. */
static void alu_learn(cji_dec *d, size_t i)
{
    uint32_t used = d->used;
    d->used = 0;
    d->form->k = alu_k(d, alu_rows[i].modifiers);
    d->form->handler = alu_form_of(d, i, d->form->k);
    d->form->lanes_used = d->used;
    d->form->lanes = (uint16_t)(i + 1);
    d->used = used;
}

static bool alu_by_lanes(cji_dec *d, size_t i)
{
    const alu_row *row = &alu_rows[i];
    if (d->form->lanes != i + 1) alu_learn(d, i);
    d->used |= d->form->lanes_used;
    uint32_t k = d->form->k | (row->modifiers & M_THIRD && d->n > 3 ? CJI_KF_C : 0);
    unsigned bits = d->type[0].bits * (d->type[0].x2 ? 2u : 1u), w = cji_dec_width(bits), n = d->n - 1;
    unsigned shape = row->shape, wd = shape == ALU_WIDE    ? cji_dec_width(2 * bits)
                                      : shape == ALU_COUNT ? CJI_W32
                                      : shape == ALU_TEST  ? CJI_WP
                                                           : w;
    unsigned wb = shape == ALU_SHIFT || shape == ALU_FIELD ? CJI_W32 : w, wc = shape == ALU_WIDE ? wd : wb;
    return alu_emit(d, k & CJI_KF_C ? alu_form_of(d, i, k) : d->form->handler, wd, w, n > 1 ? wb : CJI_WNONE,
                    n > 2 ? wc : CJI_WNONE, row->lane, k);
}

bool cji_dec_alu(cji_dec *d)
{
    bool first = true;
    for (size_t i = d->form->row; i < ALU_ROWS; i++) {
        if (!alu_fits(d, &alu_rows[i])) continue;
        if (first) d->form->row = (uint16_t)i;   /* the same for each instruction of the form */
        first = false;
        if (alu_rows[i].shape != ALU_OWN) return alu_by_lanes(d, i);
        if (alu_rows[i].own(d, alu_rows[i].k)) return true;
    }
    if (first) d->form->row = ALU_ROWS;
    return false;
}
