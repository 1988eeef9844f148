/* Values that all threads of a row join: in a warp by shuffles, in a block through shared memory, in a cluster through
 * the shared memory of each block. */
#include <stdio.h>

#include "kernels/row_values.h"

enum { ROW_JOINS = 3, MEMBER_BYTES = 16 };

/* -- Memory -------------------------------------------------------------------------------------------------------- */

/* Makes an mbarrier for each join.  Its phase ends when the values of all blocks have come. */
void cjk_cluster_begin(cj_fn *f, cjk_stretch *b)
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
        cj_mbarrier_expect_if(f, first, cj_at(f, b->arrivals, i), MEMBER_BYTES * b->s->blocks);
}

/* Up to four values of each of `count` warps or blocks, in their order: used once in the life of a block. */
typedef struct join_members { cj_val at; unsigned count; } join_members;

static join_members members_of_join(cj_fn *f, const cjk_stretch *b, const char *what, unsigned count)
{
    char name[32];
    snprintf(name, sizeof name, "%s_%u", what, b->joins);
    cj_val memory = cj_shared(f, name, CJ_F32, (size_t)count * MEMBER_BYTES / 4);
    cj_var_align(f, memory, MEMBER_BYTES);
    return (join_members){ cj_addr(f, memory), count };
}

/* The values of each warp, the same in its lanes: visible to all threads of the block. */
static join_members members_of_block(cj_fn *f, const cjk_stretch *b, const cj_val v[4])
{
    join_members m = members_of_join(f, b, "warps", b->s->threads / 32);
    cj_comment(f, "The values of each warp to all threads of the block");
    cj_val t = cj_thread_id(f, CJ_X), at = cj_mad(f, cj_shr(f, t, 5), MEMBER_BYTES, m.at);
    cj_if(f, cj_eq(f, cj_and(f, t, 31), 0));
        cj_ins(f, "st.shared.v4.f32", cj_mem(f, at, 0), cj_vec_n(f, v, 4));
    cj_end(f);
    cj_block_sync(f);
    return m;
}

/* The values of each block, the same in its threads: visible to all threads of the cluster.  A block writes into the
 * memory of each block, whose mbarrier counts the bytes.  No fence is needed, and all that is sent to a block has come
 * before it ends. */
static join_members members_of_cluster(cj_fn *f, cjk_stretch *b, const cj_val v[4])
{
    join_members m = members_of_join(f, b, "blocks", b->s->blocks);
    cj_val came = cj_at(f, b->arrivals, b->joins);
    if (!b->joins++) cj_ins_n(f, "barrier.cluster.wait.acquire.aligned", NULL, 0); /* all blocks have mbarriers */
    cj_comment(f, "The values of the block to each block of the cluster, then wait for theirs");
    cj_val t = cj_thread_id(f, CJ_X), own = cj_mad(f, b->rank, MEMBER_BYTES, m.at);
    cj_if(f, cj_lt(f, t, b->s->blocks));
        cj_val to = cj_cluster_at(f, own, t), counter = cj_cluster_at(f, came, t);
        cj_ins(f, "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32", cj_mem(f, to, 0),
               cj_vec_n(f, v, 4), cj_mem(f, counter, 0));
    cj_end(f);
    cj_mbarrier_wait(f, came, 0);
    return m;
}

static cj_val load_of_member(cj_fn *f, cj_val at, unsigned member, unsigned i)
{
    return cj_def(f, "ld.shared.f32", cj_mem(f, at, (int64_t)(member * MEMBER_BYTES + 4 * i)));
}

/* The first `n` values of a member in each lane, which `width` lanes repeat; `in`: lanes of members, the null value if
 * all are. */
static unsigned load_members(cj_fn *f, const join_members *m, unsigned n, cj_val *v, cj_val *in)
{
    unsigned width = 1;
    while (width < m->count) width *= 2;
    cj_val lane = cj_and(f, cj_thread_id(f, CJ_X), width - 1), from = lane;
    *in = (cj_val){ 0 };
    if (width > m->count) {
        *in = cj_lt(f, lane, m->count);
        from = cj_min(f, lane, m->count - 1);
    }
    cj_val at = cj_mad(f, from, MEMBER_BYTES, m->at);
    for (unsigned i = 0; i < n; i++) v[i] = load_of_member(f, at, 0, i);
    return width;
}

static cj_val or_zero(cj_fn *f, cj_val in, cj_val v) { return in.bits ? cj_select(f, in, v, 0.0f) : v; }

/* -- Sums and greatest values -------------------------------------------------------------------------------------- */

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
    cj_val one[4] = { *total, *total, *total, *total };
    for (unsigned i = 0; i < 4 && n > 1; i++) one[i] = cj_elem(f, *total, i % n);
    join_members m = members_of_cluster(f, b, one);
    for (unsigned i = 0; i < n; i++) {
        one[i] = load_of_member(f, m.at, 0, i);
        for (unsigned k = 1; k < m.count; k++) one[i] = join_two(f, op, one[i], load_of_member(f, m.at, k, i));
    }
    *total = n == 1 ? one[0] : cj_vec_n(f, one, n);
}

/* -- Powers -------------------------------------------------------------------------------------------------------- */

/* Joins the pairs of `width` lanes. */
static void join_powers(cj_fn *f, unsigned width, cj_val *top, cj_val *sum)
{
    cj_val most, part;
    cj_warp_reduce(f, CJ_COMBINE_MAX, *top, width, &most);
    cj_val factor = cj_def(f, "ex2.approx.ftz.f32", cj_sub(f, *top, most));
    part = cj_mul(f, *sum, factor);
    cj_warp_reduce(f, CJ_COMBINE_ADD, part, width, sum);
    *top = most;
}

static void powers_of_members(cj_fn *f, const join_members *m, cj_val *top, cj_val *sum)
{
    cj_val v[2], in;
    unsigned width = load_members(f, m, 2, v, &in);
    *top = v[0];
    *sum = or_zero(f, in, v[1]);
    join_powers(f, width, top, sum);
}

void cjk_row_join_powers(cj_fn *f, cjk_stretch *b, cj_val top, cj_val sum, cj_val *all_top, cj_val *all_sum)
{
    cj_comment(f, "Join the greatest power and the sum of the lanes of each warp");
    join_powers(f, 32, &top, &sum);
    if (b->s->threads > 32) {
        const cj_val v[4] = { top, sum, top, sum };
        join_members m = members_of_block(f, b, v);
        powers_of_members(f, &m, &top, &sum);
    }
    if (b->s->blocks > 1) {
        const cj_val v[4] = { top, sum, top, sum };
        join_members m = members_of_cluster(f, b, v);
        powers_of_members(f, &m, &top, &sum);
    }
    *all_top = top;
    *all_sum = sum;
}

/* -- Moments ------------------------------------------------------------------------------------------------------- */

/* Joins the moments of members.  The differences of their means are taken to the first one's reference, then to the
 * common mean: nothing cancels. */
static void moments_of_members(cj_fn *f, const join_members *m, cjk_moments *all)
{
    cj_val v[4], in, sums, square;
    unsigned width = load_members(f, m, 4, v, &in);
    cj_val first = load_of_member(f, m->at, 0, 0), count = or_zero(f, in, v[3]), own = or_zero(f, in, v[2]);
    cj_val d = cj_add(f, cj_sub(f, v[0], first), v[1]);
    const cj_val parts[2] = { cj_mul(f, d, count), count };
    cj_warp_reduce(f, CJ_COMBINE_ADD, cj_vec_n(f, parts, 2), width, &sums);
    all->reference = first;
    all->count = cj_elem(f, sums, 1);
    all->mean = cj_div(f, cj_elem(f, sums, 0), all->count);
    cj_val off = cj_sub(f, d, all->mean);
    square = cj_fma(f, cj_mul(f, off, off), count, own);
    cj_warp_reduce(f, CJ_COMBINE_ADD, square, width, &all->squares);
}

void cjk_row_join_moments(cj_fn *f, cjk_stretch *b, cjk_moments *m)
{
    if (b->s->threads > 32) {
        const cj_val v[4] = { m->reference, m->mean, m->squares, m->count };
        join_members all = members_of_block(f, b, v);
        moments_of_members(f, &all, m);
    }
    if (b->s->blocks > 1) {
        const cj_val v[4] = { m->reference, m->mean, m->squares, m->count };
        join_members all = members_of_cluster(f, b, v);
        moments_of_members(f, &all, m);
    }
}
