/* Rows in registers: see row_values.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/row_values.h"

enum { ROW_THREADS = 512, ROW_WORDS = 32, ROW_ALONE = 32768, ROW_JOINS = 3 };

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
    if (!need->columns) return open;
    /* Two blocks of 512 threads on a multiprocessor: while one waits for its row, the other one stores. */
    for (s.blocks = 1; s.blocks <= (need->clusters ? CJK_ROW_BLOCKS : 1); s.blocks *= 2) {
        s.part = upper_quotient(chunks, s.blocks);
        if (deal_chunks(&s, usual, most, ROW_THREADS)) return s;
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

/* Makes an mbarrier for each join.  Its phase ends when the pairs of all blocks have come. */
static void cluster_begin(cj_fn *f, cjk_stretch *b)
{
    b->arrivals = cj_shared(f, "arrivals", CJ_B64, ROW_JOINS);
    cj_comment(f, "An mbarrier for each time that the blocks of the cluster join values");
    b->rank = cj_cluster_rank(f);
    cj_name(f, b->rank, "rank");
    cj_val first = cj_eq(f, cj_thread_id(f, CJ_X), 0);
    cj_if(f, first);
        for (unsigned i = 0; i < ROW_JOINS; i++) cj_mbarrier_init(f, cj_at(f, b->arrivals, i), 1);
        cj_mbarrier_init_fence(f);
    cj_end(f);
    /* The first join waits for it.  A release would write back all memory before the row is loaded. */
    cj_ins_n(f, "barrier.cluster.arrive.relaxed.aligned", NULL, 0);
    for (unsigned i = 0; i < ROW_JOINS; i++)
        cj_mbarrier_expect_if(f, first, cj_at(f, b->arrivals, i), 8 * b->s->blocks);
}

void cjk_stretch_begin(cj_fn *f, const cjk_shape *s, cj_val columns, cjk_stretch *out)
{
    cj_val block = cjk_block(f, CJ_X);
    unsigned shift = 0;
    *out = (cjk_stretch){ .s = s, .row = block, .columns = columns };
    if (s->blocks == 1) return;
    cluster_begin(f, out);
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

/* -- Joins --------------------------------------------------------------------------------------------------------- */

/* Shared memory of a join for `n` pairs of values: used once in the life of a block. */
static cj_val pairs_of_join(cj_fn *f, const char *what, unsigned join, unsigned n)
{
    char name[32];
    snprintf(name, sizeof name, "%s_%u", what, join);
    return cj_addr(f, cj_shared(f, name, CJ_B64, n));
}

/* Each block's pair of values, the same in all its threads, at the address that is returned, in the order of ranks.
 * A block writes its pair into the memory of each block, whose mbarrier counts the bytes.  No fence is needed, and all
 * that is sent to a block has come before it ends. */
static cj_val exchange_pairs(cj_fn *f, cjk_stretch *b, cj_val v0, cj_val v1)
{
    const cj_val both[2] = { v0, v1 };
    cj_val pairs = pairs_of_join(f, "blocks", b->joins, b->s->blocks), came = cj_at(f, b->arrivals, b->joins);
    if (!b->joins++) cj_ins_n(f, "barrier.cluster.wait.acquire.aligned", NULL, 0); /* all blocks have mbarriers */
    cj_comment(f, "The block's values to each block of the cluster, then wait for theirs");
    cj_val t = cj_thread_id(f, CJ_X), own = cj_mad(f, b->rank, 8, pairs);
    cj_if(f, cj_lt(f, t, b->s->blocks));
        cj_val to = cj_cluster_at(f, own, t), counter = cj_cluster_at(f, came, t);
        cj_ins(f, "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32", cj_mem(f, to, 0),
               cj_vec_n(f, both, 2), cj_mem(f, counter, 0));
    cj_end(f);
    cj_mbarrier_wait(f, came, 0);
    return pairs;
}

static cj_val load_of_pair(cj_fn *f, cj_val at, int64_t offset)
{
    return cj_def(f, "ld.shared.f32", cj_mem(f, at, offset));
}

static cj_val join_two(cj_fn *f, cj_combine_op op, cj_val a, cj_val b)
{
    return op == CJ_COMBINE_MAX ? cj_max(f, a, b) : cj_add(f, a, b);
}

void cjk_row_join(cj_fn *f, cjk_stretch *b, cj_combine_op op, cj_val v, cj_val *total)
{
    const cj_thread_group all = { .threads = b->s->threads, .once = 1 };
    cj_block_reduce(f, op, v, &all, total);
    if (b->s->blocks == 1) return;
    unsigned n = (unsigned)cj_length_of(f, v);
    cj_val one[2] = { *total, *total };
    for (unsigned i = 0; i < n && n > 1; i++) one[i] = cj_elem(f, *total, i);
    cj_val pairs = exchange_pairs(f, b, one[0], one[1]);
    for (unsigned i = 0; i < n; i++) {
        one[i] = load_of_pair(f, pairs, 4 * i);
        for (unsigned k = 1; k < b->s->blocks; k++)
            one[i] = join_two(f, op, one[i], load_of_pair(f, pairs, 8 * k + 4 * i));
    }
    *total = n == 1 ? one[0] : cj_vec_n(f, one, 2);
}

/* Joins the pairs of `width` lanes. */
static void join_lanes(cj_fn *f, unsigned width, cj_val *top, cj_val *sum)
{
    cj_val most, part;
    cj_warp_reduce(f, CJ_COMBINE_MAX, *top, width, &most);
    cj_val factor = cj_def(f, "ex2.approx.ftz.f32", cj_sub(f, *top, most));
    part = cj_mul(f, *sum, factor);
    cj_warp_reduce(f, CJ_COMBINE_ADD, part, width, sum);
    *top = most;
}

/* The pairs that lie at `pairs`, in lanes that repeat them: as many as `n` fills a power of two. */
static void join_memory(cj_fn *f, cj_val pairs, unsigned n, cj_val *top, cj_val *sum)
{
    unsigned width = 1;
    while (width < n) width *= 2;
    cj_val lane = cj_and(f, cj_thread_id(f, CJ_X), width - 1), from = lane;
    if (width > n) from = cj_min(f, lane, n - 1);
    cj_val at = cj_mad(f, from, 8, pairs);
    *top = load_of_pair(f, at, 0);
    *sum = load_of_pair(f, at, 4);
    if (width > n) *sum = cj_select(f, cj_lt(f, lane, n), *sum, 0.0f);
    join_lanes(f, width, top, sum);
}

void cjk_row_join_powers(cj_fn *f, cjk_stretch *b, cj_val top, cj_val sum, cj_val *all_top, cj_val *all_sum)
{
    unsigned warps = b->s->threads / 32;
    cj_comment(f, "Join the greatest power and the sum of the lanes of each warp");
    join_lanes(f, 32, &top, &sum);
    if (warps > 1) {
        cj_val pairs = pairs_of_join(f, "warps", b->joins, warps), t = cj_thread_id(f, CJ_X);
        cj_val at = cj_mad(f, cj_shr(f, t, 5), 8, pairs);
        cj_if(f, cj_eq(f, cj_and(f, t, 31), 0));
            const cj_val both[2] = { top, sum };
            cj_ins(f, "st.shared.v2.f32", cj_mem(f, at, 0), cj_vec_n(f, both, 2));
        cj_end(f);
        cj_comment(f, "Join the pairs of all warps");
        cj_block_sync(f);
        join_memory(f, pairs, warps, &top, &sum);
    }
    if (b->s->blocks > 1) {
        cj_val pairs = exchange_pairs(f, b, top, sum);
        join_memory(f, pairs, b->s->blocks, &top, &sum);
    }
    *all_top = top;
    *all_sum = sum;
}

/* -- Chunks -------------------------------------------------------------------------------------------------------- */

/* The predicate of chunk k, the null value if each thread of each block has it. */
static cj_val chunk_inside(cj_fn *f, const cjk_stretch *b, unsigned k)
{
    const cjk_shape *s = b->s;
    uint64_t chunks = s->columns / s->vector, before = (uint64_t)k * s->threads;
    uint64_t least = chunks - (s->blocks - 1) * s->part; /* of a block */
    if (before + s->threads <= least) return (cj_val){ 0 };
    cj_val t = cj_add(f, cj_thread_id(f, CJ_X), before);
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

cj_val cjk_row_greatest(cj_fn *f, const cjk_stretch *b, const cjk_chunk *c)
{
    enum { CHAINS = 4 };
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
