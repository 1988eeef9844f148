/* Vectors of elements, and walks along rows: see vectors.h. */
#include <stdio.h>

#include "kernels/vectors.h"

/* -- Loads --------------------------------------------------------------------------------------------------------- */

/* The type of the words that elements are loaded as. */
static cj_type word_type(cj_type type)
{
    if (cjk_size(type) >= 4) return type;
    return CJ_U32;
}

static const char *word_suffix(cj_type word)
{
    switch (word) {
    case CJ_F32: return "f32";
    case CJ_S32: return "s32";
    case CJ_F64: return "f64";
    case CJ_S64: return "s64";
    case CJ_U64: return "u64";
    case CJ_B32: return "b32";
    default: return "u32";
    }
}

/* Words of the vector at word `i` of `words`: 16 bytes, or what is left. */
static unsigned words_at_once(cj_type word, unsigned words, unsigned i)
{
    unsigned most = (unsigned)(CJK_VECTOR_BYTES / cjk_size(word));
    return words - i < most ? words - i : most;
}

static void move_name(char *out, size_t bytes, const char *verb, unsigned n, cj_type word)
{
    if (n == 1) snprintf(out, bytes, "%s.%s", verb, word_suffix(word));
    else snprintf(out, bytes, "%s.v%u.%s", verb, n, word_suffix(word));
}

static void raw_registers(cj_fn *f, cj_type type, unsigned n, cjk_raw *out)
{
    cj_type word = word_type(type);
    out->words = (unsigned)(n * cjk_size(type) / cjk_size(word));
    for (unsigned i = 0; i < out->words; i++) out->word[i] = cj_reg(f, word);
}

void cjk_raw_same(cj_fn *f, cj_type type, unsigned n, uint64_t bits, cjk_raw *out)
{
    raw_registers(f, type, n, out);
    if (cjk_size(type) < 4) bits *= cjk_size(type) == 2 ? 0x10001 : 0x1010101;
    for (unsigned i = 0; i < out->words; i++) cj_assign(f, out->word[i], cj_imm_bits(f, word_type(type), bits));
}

void cjk_raw_zero(cj_fn *f, cj_type type, unsigned n, cjk_raw *out) { cjk_raw_same(f, type, n, 0, out); }

void cjk_raw_fill(cj_fn *f, cj_type type, cj_val at, int64_t offset, cjk_read how, const cjk_raw *to)
{
    static const char *const verbs[] = {
        [CJK_READ_AGAIN] = "ld.global",
        [CJK_READ_ONCE] = "ld.global.L1::no_allocate",
        [CJK_READ_CONSTANT] = "ld.global.nc.L1::no_allocate",
        [CJK_READ_SHARED] = "ld.shared",
    };
    char name[48];
    cj_type word = word_type(type);
    if (how != CJK_READ_SHARED && !cjk_has(f, "sm_70")) how = CJK_READ_AGAIN;
    for (unsigned i = 0, n; i < to->words; i += n) {
        n = words_at_once(word, to->words, i);
        move_name(name, sizeof name, verbs[how], n, word);
        cj_val place = cj_mem(f, at, offset + (int64_t)(i * cjk_size(word)));
        cj_ins(f, name, n == 1 ? to->word[i] : cj_vec_n(f, to->word + i, n), place);
    }
}

void cjk_raw_load(cj_fn *f, cj_type type, cj_val at, int64_t offset, unsigned n, cjk_read how, cjk_raw *out)
{
    raw_registers(f, type, n, out);
    cjk_raw_fill(f, type, at, offset, how, out);
}

/* -- Elements of words --------------------------------------------------------------------------------------------- */

/* Byte `i` of a word, or half `i`, as 32 bits: prmt takes each byte of its result from a place, and 8 more stands for
 * the sign of the byte there. */
static cj_val part_of_word(cj_fn *f, cj_type type, cj_val word, unsigned i)
{
    static const uint32_t bytes[2][4] = { { 0x4440, 0x4441, 0x4442, 0x4443 }, { 0x8880, 0x9991, 0xaaa2, 0xbbb3 } };
    static const uint32_t halves[2][2] = { { 0x4410, 0x4432 }, { 0x9910, 0xbb32 } };
    bool sign = type == CJ_S8 || type == CJ_S16;
    uint32_t from = cjk_size(type) == 1 ? bytes[sign][i] : halves[sign][i];
    cj_val v = cj_def(f, "prmt.b32", word, 0, from);
    return cj_bits(f, sign ? CJ_S32 : CJ_U32, v);
}

/* Two elements of 16 bits as CJ_F32. */
static void unpack_pair(cj_fn *f, cj_type type, cj_val word, cj_val out[2])
{
    if (type == CJ_BF16) {
        out[0] = cj_bits(f, CJ_F32, cj_shl(f, word, 16));
        out[1] = cj_bits(f, CJ_F32, cj_and(f, word, cj_imm_bits(f, CJ_U32, 0xffff0000)));
        return;
    }
    cj_val halves = cj_regs(f, CJ_F16, 2);
    cj_ins(f, "mov.b32", halves, word);
    for (size_t i = 0; i < 2; i++) out[i] = cj_cvt(f, CJ_F32, cj_elem(f, halves, i));
}

void cjk_raw_values(cj_fn *f, cj_type type, const cjk_raw *raw, unsigned n, cj_type as, cj_val *out)
{
    unsigned each = (unsigned)(cjk_size(word_type(type)) / cjk_size(type));
    for (unsigned i = 0; i < n; i += each) {
        cj_val word = raw->word[i / each];
        if (each == 1) out[i] = word;
        else if (type == CJ_F16 || type == CJ_BF16) unpack_pair(f, type, word, out + i);
        else for (unsigned k = 0; k < each; k++) out[i + k] = part_of_word(f, type, word, k);
        for (unsigned k = 0; k < each; k++) out[i + k] = cjk_as(f, as, out[i + k]);
    }
}

/* -- Stores -------------------------------------------------------------------------------------------------------- */

static cj_val pack_halves(cj_fn *f, cj_type type, const cj_val *v)
{
    if (type == CJ_BF16 || type == CJ_F16) {
        cj_val low = cjk_as(f, CJ_F32, v[0]), high = cjk_as(f, CJ_F32, v[1]);
        if (cjk_has(f, "sm_80"))
            return cj_def(f, type == CJ_BF16 ? "cvt.rn.bf16x2.f32" : "cvt.rn.f16x2.f32", high, low);
        if (type == CJ_BF16) return cj_or(f, cjk_bf16_bits(f, low), cj_shl(f, cjk_bf16_bits(f, high), 16));
        cj_val halves[2] = { cj_cvt(f, CJ_F16, low), cj_cvt(f, CJ_F16, high) };
        return cj_def(f, "mov.b32", cj_vec_n(f, halves, 2));
    }
    cj_val two[2] = { cj_cvt(f, type, v[0]), cj_cvt(f, type, v[1]) };
    return cj_def(f, "mov.b32", cj_vec_n(f, two, 2));
}

/* The low bytes of four values. */
static cj_val pack_bytes(cj_fn *f, cj_type type, const cj_val *v)
{
    cj_val four[4];
    for (unsigned i = 0; i < 4; i++) {
        cj_type has = cj_type_of(v[i]);
        four[i] = has == CJ_F32 || cjk_size(has) != 4 ? cj_cvt(f, cjk_wide(type), v[i]) : v[i];
    }
    cj_val low = cj_def(f, "prmt.b32", four[0], four[1], 0x0040);
    cj_val high = cj_def(f, "prmt.b32", four[2], four[3], 0x0040);
    return cj_def(f, "prmt.b32", low, high, 0x5410);
}

static void store_vector(cj_fn *f, const char *verb, cj_type type, cj_val at, int64_t offset, unsigned n,
                         const cj_val *v)
{
    cj_type word = word_type(type);
    unsigned each = (unsigned)(cjk_size(word) / cjk_size(type)), words = n / each;
    cj_val w[CJK_WIDEST];
    char name[48];
    for (unsigned i = 0; i < words; i++)
        w[i] = each == 1 ? cjk_as(f, type, v[i]) : each == 2 ? pack_halves(f, type, v + 2 * i)
                                                             : pack_bytes(f, type, v + 4 * i);
    for (unsigned i = 0, k; i < words; i += k) {
        k = words_at_once(word, words, i);
        move_name(name, sizeof name, verb, k, each > 1 ? CJ_B32 : word);
        cj_ins(f, name, cj_mem(f, at, offset + (int64_t)(i * cjk_size(word))), k == 1 ? w[i] : cj_vec_n(f, w + i, k));
    }
}

void cjk_vector_store(cj_fn *f, cj_type type, cj_val at, int64_t offset, unsigned n, const cj_val *v)
{
    store_vector(f, "st.global", type, at, offset, n, v);
}

void cjk_vector_store_shared(cj_fn *f, cj_type type, cj_val at, int64_t offset, unsigned n, const cj_val *v)
{
    store_vector(f, "st.shared", type, at, offset, n, v);
}

bool cjk_fits_vectors(const cjk_matrix *m, uint64_t rows, size_t bytes)
{
    if (m->step != 1 || m->data.addr % CJK_VECTOR_BYTES) return false;
    return rows == 1 || (uint64_t)m->stride * bytes % CJK_VECTOR_BYTES == 0;
}

/* -- Walks --------------------------------------------------------------------------------------------------------- */

static void take_vector(cj_fn *f, const cjk_walk *w, const cjk_raw *raw, cj_val base, unsigned offset)
{
    cj_val v[CJK_WIDEST];
    unsigned n = cjk_vector_of(w->x->type);
    cjk_raw_values(f, w->x->type, raw, n, w->as, v);
    for (unsigned i = 0; i < n; i++) w->take(f, w->of, i, v[i], base, offset + i);
}

void cjk_walk_vectors(cj_fn *f, const cjk_walk *w)
{
    cj_type type = w->x->type;
    unsigned n = cjk_vector_of(type), turn = CJK_THREADS * n, bytes = CJK_THREADS * CJK_VECTOR_BYTES;
    cjk_raw raw[CJK_IN_FLIGHT];
    cj_val inside[CJK_IN_FLIGHT];
    cj_val base = cj_let(f, CJ_U64, cj_mad(f, cjk_thread(f), n, w->first));
    cj_val at = cj_let(f, CJ_U64, cj_mad(f, base, cjk_size(type), cj_addr(f, w->begin)));
    cj_as_ptr(f, at, type, CJ_SPACE_GLOBAL);
    cj_loop(f);
        cj_break_if(f, cj_gt(f, cj_add(f, base, (CJK_IN_FLIGHT - 1) * turn + n), w->end));
        for (unsigned k = 0; k < CJK_IN_FLIGHT; k++)
            cjk_raw_load(f, type, at, k * bytes, n, CJK_READ_CONSTANT, &raw[k]);
        for (unsigned k = 0; k < CJK_IN_FLIGHT; k++) take_vector(f, w, &raw[k], base, k * turn);
        cj_assign(f, base, cj_add(f, base, CJK_IN_FLIGHT * turn));
        cj_assign(f, at, cj_add(f, at, CJK_IN_FLIGHT * bytes));
    cj_end(f);
    /* Less than that is left, for this thread: whole vectors, and part of one. */
    for (unsigned k = 0; k < CJK_IN_FLIGHT - 1; k++) {
        cjk_raw_zero(f, type, n, &raw[k]);
        inside[k] = cj_le(f, cj_add(f, base, k * turn + n), w->end);
        cj_if(f, inside[k]);
            cjk_raw_fill(f, type, at, k * bytes, CJK_READ_CONSTANT, &raw[k]);
        cj_end(f);
    }
    cj_val rest = cj_let(f, CJ_U64, base);
    for (unsigned k = 0; k < CJK_IN_FLIGHT - 1; k++) {
        cj_if(f, inside[k]);
            take_vector(f, w, &raw[k], base, k * turn);
            cj_assign(f, rest, cj_add(f, base, (k + 1) * turn));
        cj_end(f);
    }
    cj_if(f, cj_lt(f, rest, w->end));
        cj_val last = cj_as_ptr(f, cj_mad(f, rest, cjk_size(type), cj_addr(f, w->begin)), type, CJ_SPACE_GLOBAL);
        for (unsigned i = 0; i + 1 < n; i++) {
            cj_if(f, cj_lt(f, cj_add(f, rest, i), w->end));
                cj_val v = cjk_load(f, type, cj_mem(f, last, (int64_t)(i * cjk_size(type))), w->as);
                w->take(f, w->of, i, v, rest, i);
            cj_end(f);
        }
    cj_end(f);
}

void cjk_walk_columns(cj_fn *f, const cjk_walk *w)
{
    cj_type type = w->x->type;
    unsigned n = cjk_vector_of(type), turn = CJK_THREADS * n;
    cj_val v[CJK_WIDEST], base = cj_let(f, CJ_U64, cj_add(f, w->first, cjk_thread(f)));
    cj_val by = cj_mul(f, cj_bits(f, CJ_U64, w->x->step), cjk_size(type) * CJK_THREADS);
    cj_loop(f);
        cj_break_if(f, cj_ge(f, cj_add(f, base, turn - CJK_THREADS), w->end));
        cj_val at = cjk_column(f, w->x, w->begin, base);
        for (unsigned k = 0; k < n; k++) {
            v[k] = cjk_load(f, type, at, w->as);
            if (k + 1 < n) at = cj_as_ptr(f, cj_add(f, cj_addr(f, at), by), type, CJ_SPACE_GLOBAL);
        }
        for (unsigned k = 0; k < n; k++) w->take(f, w->of, k, v[k], base, k * CJK_THREADS);
        cj_assign(f, base, cj_add(f, base, turn));
    cj_end(f);
    for (unsigned k = 0; k + 1 < n; k++) {
        cj_if(f, cj_lt(f, cj_add(f, base, k * CJK_THREADS), w->end));
            cj_val column = cj_add(f, base, k * CJK_THREADS);
            cj_val last = cjk_load(f, type, cjk_column(f, w->x, w->begin, column), w->as);
            w->take(f, w->of, k, last, base, k * CJK_THREADS);
        cj_end(f);
    }
}
