/* Rows in registers: see row_values.h. */
#include <math.h>
#include <stdio.h>

#include "kernels/row_values.h"

enum { ROW_THREADS = 512, ROW_WORDS = 32, ROW_ALONE = 32768, ROW_FEW_WORDS = 16 };

static uint64_t upper_quotient(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

/* Chunks of a thread: `usual` of them if that takes no more than `threads` threads, else more, up to `most`. */
static bool deal_chunks(cjk_shape *s, uint64_t usual, uint64_t most, uint64_t threads)
{
    uint64_t each = upper_quotient(s->part, usual) <= threads ? usual : upper_quotient(s->part, threads);
    if (each > most) return false;
    s->threads = (uint32_t)(upper_quotient(upper_quotient(s->part, each), 32) * 32);
    s->chunks = (uint32_t)upper_quotient(s->part, s->threads);
    return true;
}

cjk_shape cjk_shape_of(const cjk_shape_need *need)
{
    const cjk_shape open = { .threads = CJK_THREADS, .vector = 1, .blocks = 1 };
    cjk_shape s = { .columns = need->columns, .vector = need->vector };
    uint64_t chunks = need->columns / need->vector, words = upper_quotient((uint64_t)need->vector * need->held, 4);
    uint64_t usual = need->vector > 1 ? 4 : 8, most = ROW_WORDS / words;
    if (!need->columns || need->columns > UINT32_MAX) return open;
    /* Twice the threads and half the words: on an H100 faster than blocks of 512 threads, for norms. */
    s.part = chunks, s.blocks = 1;
    const bool wide = need->wide && usual * words <= ROW_FEW_WORDS && chunks > usual * ROW_THREADS;
    if (wide && deal_chunks(&s, usual, usual, 2 * ROW_THREADS)) return s;
    /* A multiprocessor has room for 1024 threads: while one block waits for its row, another one stores. */
    for (uint32_t threads = need->threads; threads <= ROW_THREADS; threads *= 2)
        for (s.blocks = 1; s.blocks <= (need->clusters ? CJK_ROW_BLOCKS : 1); s.blocks *= 2) {
            s.part = upper_quotient(chunks, s.blocks);
            if (deal_chunks(&s, usual, most, threads)) return s;
        }
    s.blocks = 1;
    s.part = chunks;
    if (need->columns <= ROW_ALONE && deal_chunks(&s, usual, most, 2 * ROW_THREADS)) return s;
    return open;
}

void cjk_shape_limits(cj_fn *f, const cjk_shape *s)
{
    cj_fn_max_threads(f, s->threads, 1, 1);
    if (s->columns && s->threads <= ROW_THREADS) cj_fn_min_blocks(f, 2 * ROW_THREADS / s->threads);
    if (s->blocks > 1) cj_fn_required_cluster(f, s->blocks, 1, 1);
}

/* -- Stretches ----------------------------------------------------------------------------------------------------- */

void cjk_stretch_begin(cj_fn *f, const cjk_shape *s, cj_val columns, cjk_stretch *out)
{
    cj_val block = cjk_block(f, CJ_X);
    unsigned shift = 0;
    *out = (cjk_stretch){ .s = s, .row = block, .columns = columns };
    if (s->blocks == 1) return;
    cjk_cluster_begin(f, out);
    while (1u << shift < s->blocks) shift++;
    out->row = cj_shr(f, block, shift);
    uint64_t part = s->part * s->vector, chunks = s->columns / s->vector;
    out->first = cj_mul(f, cj_cvt(f, CJ_U64, out->rank), part);
    out->columns = cj_min(f, cj_sub(f, columns, out->first), part);
    if (s->part * s->blocks == chunks) return;
    cj_val left = cj_sub(f, chunks, cj_mul(f, out->rank, s->part));
    out->chunks = cj_min(f, left, s->part);
}

cj_val cjk_stretch_at(cj_fn *f, const cjk_stretch *b, const cjk_operand *x, cj_val begin)
{
    return b->first.bits ? cjk_column(f, x, begin, b->first) : begin;
}

/* -- Chunks -------------------------------------------------------------------------------------------------------- */

/* Whether each thread of each block has chunk k. */
static bool chunk_is_whole(const cjk_shape *s, unsigned k)
{
    uint64_t least = s->columns / s->vector - (s->blocks - 1) * s->part; /* of a block */
    return (uint64_t)(k + 1) * s->threads <= least;
}

/* The predicate of chunk k, the null value if each thread of each block has it. */
static cj_val chunk_inside(cj_fn *f, const cjk_stretch *b, unsigned k)
{
    const cjk_shape *s = b->s;
    if (chunk_is_whole(s, k)) return (cj_val){ 0 };
    cj_val t = cj_add(f, cj_thread_id(f, CJ_X), (uint64_t)k * s->threads);
    return b->chunks.bits ? cj_lt(f, t, b->chunks) : cj_lt(f, t, s->part);
}

/* The address of chunk k of the thread: vectors have no step. */
static cj_val chunk_at(cj_fn *f, const cjk_stretch *b, const cjk_operand *x, cj_val begin, unsigned k)
{
    const cjk_shape *s = b->s;
    cj_val chunk = cj_add(f, cjk_thread(f), (uint64_t)k * s->threads);
    if (s->vector == 1) return cjk_column(f, x, begin, chunk);
    cj_val at = cj_mad(f, chunk, s->vector * cjk_size(x->type), cj_addr(f, begin));
    return cj_as_ptr(f, at, x->type, CJ_SPACE_GLOBAL);
}

/* The bits of 0 or -INFINITY. */
static uint64_t neutral_bits(cj_type type, float neutral)
{
    if (neutral == 0) return 0;
    return type == CJ_F32 ? 0xff800000 : type == CJ_BF16 ? 0xff80 : 0xfc00;
}

/* A chunk of `n` columns that is certainly inside. */
static void load_whole(cj_fn *f, cj_type type, cj_val at, unsigned n, cjk_read how, cjk_raw *out)
{
    if (n > 1) {
        cjk_raw_load(f, type, at, 0, n, how, out);
    } else {
        out->word[0] = cjk_load(f, type, at, CJ_F32);
        out->words = 1;
    }
}

void cjk_chunk_load(cj_fn *f, const cjk_stretch *b, const cjk_operand *x, cj_val begin, unsigned k, float neutral,
                    cjk_read how, cjk_chunk *out)
{
    unsigned n = b->s->vector;
    out->type = n == 1 ? CJ_F32 : x->type;
    out->inside = chunk_inside(f, b, k);
    if (!out->inside.bits) {
        load_whole(f, x->type, chunk_at(f, b, x, begin, k), n, how, &out->raw);
        return;
    }
    cjk_raw_same(f, out->type, n, neutral_bits(out->type, neutral), &out->raw);
    cj_if(f, out->inside);
        cj_val at = chunk_at(f, b, x, begin, k);
        if (n > 1) {
            cjk_raw_fill(f, x->type, at, 0, how, &out->raw);
        } else {
            cj_val v = cjk_load(f, x->type, at, CJ_F32);
            cj_assign(f, out->raw.word[0], v);
        }
    cj_end(f);
}

void cjk_chunk_values(cj_fn *f, const cjk_stretch *b, const cjk_chunk *c, cj_val v[CJK_VECTOR])
{
    cjk_raw_values(f, c->type, &c->raw, b->s->vector, CJ_F32, v);
}

void cjk_chunk_store(cj_fn *f, const cjk_stretch *b, const cjk_operand *x, cj_val begin, unsigned k, cj_val inside,
                     const cj_val *v)
{
    if (inside.bits) cj_if(f, inside);
    cj_val at = chunk_at(f, b, x, begin, k);
    if (b->s->vector == 1) cjk_store(f, x->type, at, v[0]);
    else cjk_vector_store(f, x->type, at, 0, b->s->vector, v);
    if (inside.bits) cj_end(f);
}

void cjk_row_load(cj_fn *f, const cjk_stretch *b, const cjk_operand *x, cj_val begin, float neutral, cjk_chunk *out)
{
    cj_comment(f, "Load the row, all of it before it is used");
    for (unsigned k = 0; k < b->s->chunks; k++) {
        char name[16];
        cjk_chunk_load(f, b, x, begin, k, neutral, CJK_READ_ONCE, &out[k]);
        snprintf(name, sizeof name, "chunk%u", k);
        cj_name(f, cj_vec_n(f, out[k].raw.word, out[k].raw.words), name);
    }
}

cj_val cjk_warp_columns(cj_fn *f, const cjk_stretch *b, unsigned chunks)
{
    const cjk_shape *s = b->s;
    cj_val first = { 0 }, count = { 0 }; /* of the warp's first thread; chunks that not all warps have */
    unsigned whole = 0;
    for (unsigned k = 0; k < chunks; k++) {
        if (chunk_is_whole(s, k)) {
            whole += 32;
            continue;
        }
        if (!first.bits) first = cj_bits(f, CJ_S32, cj_and(f, cj_thread_id(f, CJ_X), ~31u));
        cj_val end = b->chunks.bits ? cj_bits(f, CJ_S32, b->chunks) : cj_imm(f, (int64_t)s->part);
        cj_val left = cj_sub(f, end, cj_add(f, first, (int32_t)(k * s->threads)));
        cj_val own = cj_max(f, cj_min(f, left, 32), 0);
        count = count.bits ? cj_add(f, count, own) : own;
    }
    if (!count.bits) return cj_imm_f32(f, (float)(whole * s->vector));
    return cj_cvt(f, CJ_F32, cj_mul(f, cj_add(f, count, (int32_t)whole), (int32_t)s->vector));
}

cj_val cjk_inside_or_zero(cj_fn *f, const cjk_chunk *c, cj_val v)
{
    return c->inside.bits ? cj_select(f, c->inside, v, 0.0f) : v;
}

/* Words of two halves are compared as they are. */
static cj_val greater_word(cj_fn *f, cj_type type, cj_val a, cj_val b)
{
    cj_type pair = type == CJ_BF16 ? CJ_BF16X2 : CJ_F16X2;
    if (type == CJ_F32) return cj_max(f, a, b);
    return cj_bits(f, CJ_U32, cj_max(f, cj_bits(f, pair, a), cj_bits(f, pair, b)));
}

/* For devices older than sm_80, which compare no pairs. */
static cj_val greatest_of_halves(cj_fn *f, const cjk_stretch *b, const cjk_chunk *c)
{
    cj_val most = cj_let(f, CJ_F32, -INFINITY), v[2];
    for (unsigned k = 0; k < b->s->chunks; k++)
        for (unsigned i = 0; i < c[k].raw.words; i++) {
            const cjk_raw word = { .word = { c[k].raw.word[i] }, .words = 1 };
            cjk_raw_values(f, c->type, &word, 2, CJ_F32, v);
            cj_assign(f, most, cj_max(f, most, cj_max(f, v[0], v[1])));
        }
    return most;
}

cj_val cjk_row_greatest(cj_fn *f, const cjk_stretch *b, const cjk_chunk *c)
{
    enum { CHAINS = 4 };
    if (c->type != CJ_F32 && !cjk_has(f, "sm_80")) return greatest_of_halves(f, b, c);
    cj_type type = c->type;
    cjk_raw most = { .words = 0 };
    cj_val v[2];
    unsigned n = 0;
    for (unsigned k = 0; k < b->s->chunks; k++)
        for (unsigned i = 0; i < c[k].raw.words; i++) {
            cj_val *to = &most.word[n++ % CHAINS], w = c[k].raw.word[i];
            *to = to->bits ? greater_word(f, type, *to, w) : w;
        }
    for (unsigned half = CHAINS / 2; half; half /= 2)
        for (unsigned i = 0; i < half; i++)
            if (most.word[i + half].bits)
                most.word[i] = greater_word(f, type, most.word[i], most.word[i + half]);
    cjk_raw_values(f, type, &most, type == CJ_F32 ? 1 : 2, CJ_F32, v);
    cj_val greatest = type == CJ_F32 ? v[0] : cj_max(f, v[0], v[1]);
    return cj_max(f, greatest, -INFINITY); /* no NaN */
}
