/* How the blocks of a cluster add up their sums of one tile of a product: the split variant of path wgmma.
 *
 * Each block has multiplied a part of k, and has sums of the whole tile in registers.  It gets a share of the rows: the
 * others write their sums of these rows into its shared memory (distributed shared memory), it adds them up in the
 * order of the blocks, so results are the same bits each time, and stores them through the common end.  So a block
 * waits for the others once.  A block of a cluster of one has all rows.
 *
 * The shared memory where a block receives has, for each block of the cluster, `share` rows of a tile's columns, each a
 * word.  Word c of row r is at c ^ (r % 4) * 8. */
#include "kernels/gemm_core.h"

enum { SPLIT_THREADS = 256, VECTOR = 4 };

/* Rows of a block. */
static cj_val rows_of_block(cj_fn *f)
{
    return cj_let(f, CJ_U32, cj_shr(f, cj_imm_u(f, CJK_SPLIT_ROWS), cj_popc(f, cj_sub(f, cj_cluster_size(f), 1))));
}

/* Eight rows further are registers 2 and 3 of each four. */
void cjk_gemm_split_send(cj_fn *f, const cjk_gemm_variant *v, cj_val sums, cj_val shared, cj_val group)
{
    cj_val row, column, share = rows_of_block(f), sent = cj_mul(f, cj_cluster_rank(f), share);
    cj_val shift = cj_popc(f, cj_sub(f, share, 1));
    cj_wgmma_acc_position(f, &row, &column);
    cj_name(f, share, "share");
    cj_name(f, sent, "sent_at");
    column = cj_mad(f, group, v->columns / 2, column);
    for (uint32_t half = 0; half < 2; half++) {
        cj_val r = cj_add(f, row, 8 * half), to = cj_shr(f, r, shift), in = cj_and(f, r, cj_sub(f, share, 1));
        cj_val begin = cj_mad(f, cj_add(f, sent, in), v->columns * 4, shared);
        cj_val turn = cj_shl(f, cj_and(f, in, 3), 3), there = cj_cluster_at(f, begin, to);
        for (uint32_t j = 0; j < v->columns / 16; j++) {
            cj_val word = cj_xor(f, cj_add(f, column, 8 * j), turn), at = cj_mad(f, word, 4, there);
            cj_ins(f, "st.shared::cluster.v2.b32", cj_mem(f, at, 0), cj_slice(f, sums, 4 * (size_t)j + 2 * half, 2));
        }
    }
}

/* The sums of all blocks at `address`; those that are not there count as 0. */
static cj_val sum_of_blocks(cj_fn *f, cj_type type, cj_val address, cj_val blocks, cj_val bytes)
{
    cj_val sum[VECTOR], part[CJK_SPLIT_MOST][VECTOR];
    for (uint32_t b = 0; b < CJK_SPLIT_MOST; b++) {
        cj_val at = cj_mad(f, bytes, b, address);
        for (uint32_t i = 0; i < VECTOR; i++) part[b][i] = cj_let(f, type, cj_imm_bits(f, type, 0));
        cj_ins_if(f, cj_gt(f, blocks, b), "ld.shared.v4.b32", cj_vec_n(f, part[b], VECTOR), cj_mem(f, at, 0));
    }
    for (uint32_t i = 0; i < VECTOR; i++) {
        sum[i] = part[0][i];
        for (uint32_t b = 1; b < CJK_SPLIT_MOST; b++) sum[i] = cj_add(f, sum[i], part[b][i]);
    }
    cj_name(f, cj_vec_n(f, sum, VECTOR), "total");
    return cj_vec_n(f, sum, VECTOR);
}

void cjk_gemm_split_store(cj_fn *f, const cjk_gemm *g, const cjk_gemm_variant *v, const cjk_gemm_params *p,
                          cj_val shared, cj_val thread, cj_val row, cj_val column, cj_val batch)
{
    const uint32_t in_a_row = v->columns / VECTOR; /* threads */
    cj_val blocks = cj_cluster_size(f), share = rows_of_block(f), bytes = cj_mul(f, share, v->columns * 4);
    cj_val own = cj_let(f, CJ_U32, cj_mad(f, cj_cluster_rank(f), share, row));
    cj_val s = cj_mul(f, cj_rem(f, thread, in_a_row), VECTOR), first = cj_add(f, column, s);
    cj_name(f, blocks, "blocks");
    cj_name(f, own, "own_row");
    cj_name(f, first, "first_column");
    cj_val in = cj_for(f, cj_div(f, thread, in_a_row), share, SPLIT_THREADS / in_a_row);
        cj_val place = cj_xor(f, s, cj_shl(f, cj_and(f, in, 3), 3));
        cj_val word = cj_mad(f, in, v->columns, place), address = cj_mad(f, word, 4, shared);
        cj_val sums = sum_of_blocks(f, g->wide, address, blocks, bytes), at_row = cj_add(f, own, in);
        for (uint32_t i = 0; i < VECTOR; i++) {
            cj_val at_column = cj_add(f, first, i);
            cj_val inside = cj_and(f, cj_lt(f, at_row, p->size[CJK_GEMM_A]),
                                   cj_lt(f, at_column, p->size[CJK_GEMM_B]));
            cj_if(f, inside);
                cjk_gemm_store(f, g, p, cj_elem(f, sums, i), at_row, at_column, batch);
            cj_end(f);
        }
    cj_end(f);
}
