/* Attention by scalar code, for every device and type: a block has 32 queries, and 32 keys at a time in shared memory
 * as f32.  Four threads share a query: thread c of them has the scores of the keys c, c + 4, ..., and each fourth group
 * of four elements of the result.  Keys and values take turns in one array. */
#include "kernels/attention.h"

enum {
    SHARERS = 4, WIDE = 4,                             /* threads of a query; elements of a load */
    TILE_TOKENS = CJK_SCALAR_QUERIES,                  /* queries, and keys, of a tile */
    OWN_SCORES = TILE_TOKENS / SHARERS, GROUPS_MOST = CJ_ATTENTION_DIM_MOST / WIDE / SHARERS
};

typedef struct scalar_code {
    cjk_part p;
    uint32_t padded, pitch;      /* elements of a row of the arrays that count, and all of them */
    cj_val q, kv, shares;        /* the arrays: addresses of shared memory, CJ_U32 */
    cj_val row, c, thread;       /* the thread's query in the tile and its part of it, CJ_U32 */
    cj_val m, l;                 /* the greatest score; the thread's own part of the sum */
    cj_val o[GROUPS_MOST][WIDE]; /* group g is elements 16 g + 4 c to 16 g + 4 c + 3 */
} scalar_code;

/* Fills an array with the tokens from `first` on, 0 behind token `count` and behind the head's last element. */
static void fill_tile(cj_fn *f, const scalar_code *s, const cjk_tokens *t, cj_val first, cj_val count, cj_val array)
{
    cj_comment(f, "Fill shared memory with a tile of tokens, with 0 behind the last one");
    cj_val i = cj_for(f, s->thread, TILE_TOKENS * s->padded, CJK_ATTENTION_THREADS);
        cj_val row = cj_div(f, i, s->padded), column = cj_rem(f, i, s->padded);
        cj_val token = cj_add(f, first, cj_bits(f, CJ_S32, row)), v = cj_let(f, CJ_F32, 0.0f);
        cj_if(f, cj_and(f, cj_lt(f, token, count), cj_lt(f, column, s->p.dim)));
            cj_val at = cj_mad(f, cj_cvt(f, CJ_U64, column), cjk_size(s->p.type), cjk_token_at(f, t, token));
            cj_assign(f, v, cjk_load(f, s->p.type, cj_as_ptr(f, at, s->p.type, CJ_SPACE_GLOBAL), CJ_F32));
        cj_end(f);
        cj_val to = cj_mad(f, cj_mad(f, row, s->pitch, column), 4, array);
        cj_ins(f, "st.shared.f32", cj_mem(f, to, 0), v);
    cj_end(f);
}

/* The thread's scores of the tile, masked. */
static void own_scores(cj_fn *f, const scalar_code *s, cj_val key, cj_val seen, cj_val score[OWN_SCORES])
{
    cj_comment(f, "The thread's scores, masked");
    cj_val q = cj_let(f, CJ_U32, cj_mad(f, s->row, s->pitch * 4, s->q));
    cj_val k = cj_let(f, CJ_U32, cj_mad(f, s->c, s->pitch * 4, s->kv));
    for (int i = 0; i < OWN_SCORES; i++) score[i] = cj_let(f, CJ_F32, 0.0f);
    cj_name(f, cj_vec_n(f, score, OWN_SCORES), "score");
    cj_for(f, 0, s->padded, WIDE);
        cj_val a = cj_def(f, "ld.shared.v4.f32", cj_mem(f, q, 0));
        for (int i = 0; i < OWN_SCORES; i++) {
            cj_val b = cj_def(f, "ld.shared.v4.f32", cj_mem(f, k, (int64_t)i * SHARERS * s->pitch * 4));
            for (size_t e = 0; e < WIDE; e++)
                cj_assign(f, score[i], cj_fma(f, cj_elem(f, a, e), cj_elem(f, b, e), score[i]));
        }
        cj_assign(f, q, cj_add(f, q, WIDE * 4));
        cj_assign(f, k, cj_add(f, k, WIDE * 4));
    cj_end(f);
    cj_val own = cj_add(f, key, cj_bits(f, CJ_S32, s->c));
    for (int i = 0; i < OWN_SCORES; i++) {
        cj_val visible = cj_lt(f, cj_add(f, own, i * SHARERS), seen);
        cj_assign(f, score[i], cj_select(f, visible, score[i], cj_imm_bits(f, CJ_F32, 0xff800000)));
    }
}

/* Scores become shares, in shared memory; m, l and o are brought up to date. */
static void own_shares(cj_fn *f, const scalar_code *s, const cj_val score[OWN_SCORES])
{
    cj_comment(f, "The greatest score, the shares, and the results so far in relation to it");
    cj_val m = cj_let(f, CJ_F32, s->m);
    for (int i = 0; i < OWN_SCORES; i++) cj_assign(f, m, cj_max(f, m, score[i]));
    for (int i = 1; i < SHARERS; i *= 2) cj_assign(f, m, cj_max(f, m, cj_shfl_xor(f, m, i)));
    cj_val factor = cj_approx_exp2(f, cj_mul(f, cj_sub(f, s->m, m), s->p.c));
    cj_name(f, factor, "factor");
    cj_val at = cj_mad(f, cj_mad(f, s->row, TILE_TOKENS + WIDE, s->c), 4, s->shares);
    cj_assign(f, s->m, m);
    cj_assign(f, s->l, cj_mul(f, s->l, factor));
    for (int i = 0; i < OWN_SCORES; i++) {
        cj_val share = cj_approx_exp2(f, cj_mul(f, cj_sub(f, score[i], m), s->p.c));
        cj_assign(f, s->l, cj_add(f, s->l, share));
        cj_ins(f, "st.shared.f32", cj_mem(f, at, (int64_t)i * SHARERS * 4), share);
    }
    for (uint32_t g = 0; g < s->padded / WIDE / SHARERS; g++)
        for (int e = 0; e < WIDE; e++) cj_assign(f, s->o[g][e], cj_mul(f, s->o[g][e], factor));
}

/* o += shares * values. */
static void add_values(cj_fn *f, const scalar_code *s)
{
    cj_comment(f, "Add the values, each times its share");
    cj_val share = cj_let(f, CJ_U32, cj_mad(f, s->row, (TILE_TOKENS + WIDE) * 4, s->shares));
    cj_val v = cj_let(f, CJ_U32, cj_mad(f, s->c, WIDE * 4, s->kv));
    cj_for(f, 0, TILE_TOKENS, 1);
        cj_val a = cj_def(f, "ld.shared.f32", cj_mem(f, share, 0));
        for (uint32_t g = 0; g < s->padded / WIDE / SHARERS; g++) {
            cj_val b = cj_def(f, "ld.shared.v4.f32", cj_mem(f, v, (int64_t)g * SHARERS * WIDE * 4));
            for (size_t e = 0; e < WIDE; e++) cj_assign(f, s->o[g][e], cj_fma(f, a, cj_elem(f, b, e), s->o[g][e]));
        }
        cj_assign(f, share, cj_add(f, share, 4));
        cj_assign(f, v, cj_add(f, v, s->pitch * 4));
    cj_end(f);
}

static void store_row(cj_fn *f, const scalar_code *s)
{
    cj_val row = cj_add(f, s->p.first, cj_bits(f, CJ_S32, s->row)), inside = cj_lt(f, row, s->p.queries);
    cj_val l = s->l;
    cj_comment(f, "Divide the results by the sum, and store them");
    for (int i = 1; i < SHARERS; i *= 2) l = cj_add(f, l, cj_shfl_xor(f, l, i));
    cj_val writes = cj_and(f, inside, cj_eq(f, s->c, 0));
    cj_val inverse = cjk_attention_inverse(f, l);
    cjk_attention_store_lse(f, &s->p, row, s->m, l, writes);
    cj_if(f, inside);
        cj_val at = cjk_token_at(f, &s->p.out, row);
        for (uint32_t g = 0; g < s->padded / WIDE / SHARERS; g++)
            for (uint32_t e = 0; e < WIDE; e++) {
                cj_val column = cj_mad(f, s->c, WIDE, g * SHARERS * WIDE + e);
                cj_if(f, cj_lt(f, column, s->p.dim));
                    cj_val to = cj_mad(f, cj_cvt(f, CJ_U64, column), cjk_size(s->p.type), at);
                    cj_val v = cj_mul(f, s->o[g][e], inverse);
                    cjk_store(f, s->p.type, cj_as_ptr(f, to, s->p.type, CJ_SPACE_GLOBAL), v);
                cj_end(f);
            }
    cj_end(f);
}

void cjk_attention_write_scalar(cj_ptx *m, const char *name, const cjk_attention *x)
{
    cj_fn *f = cj_ptx_kernel(m, name);
    scalar_code s = { .padded = cjk_attention_padded(x->o.dim) };
    cj_val score[OWN_SCORES];
    s.pitch = s.padded + WIDE; /* neighbours in a column are in different banks */
    cj_fn_max_threads(f, CJK_ATTENTION_THREADS, 1, 1);
    cj_fn_min_blocks(f, 4);
    cjk_attention_block(f, x, CJK_SCALAR_QUERIES, &s.p);
    cj_val q = cj_shared(f, "queries_tile", CJ_F32, (size_t)TILE_TOKENS * s.pitch);
    cj_val kv = cj_shared(f, "keys_or_values", CJ_F32, (size_t)TILE_TOKENS * s.pitch);
    cj_val shares = cj_shared(f, "shares", CJ_F32, TILE_TOKENS * (TILE_TOKENS + WIDE));
    cj_var_align(f, q, 16), cj_var_align(f, kv, 16);
    s.q = cj_let(f, CJ_U32, cj_cvt(f, CJ_U32, cj_addr(f, q)));
    s.kv = cj_let(f, CJ_U32, cj_cvt(f, CJ_U32, cj_addr(f, kv)));
    s.shares = cj_let(f, CJ_U32, cj_cvt(f, CJ_U32, cj_addr(f, shares)));
    s.thread = cj_thread_id(f, CJ_X);
    s.row = cj_shr(f, s.thread, 2);
    s.c = cj_and(f, s.thread, SHARERS - 1);
    s.m = cj_let(f, CJ_F32, cj_imm_bits(f, CJ_F32, CJK_ATTENTION_FLOOR));
    s.l = cj_let(f, CJ_F32, 0.0f);
    for (uint32_t g = 0; g < s.padded / WIDE / SHARERS; g++)
        for (int e = 0; e < WIDE; e++) {
            s.o[g][e] = cj_let(f, CJ_F32, 0.0f);
            cj_name(f, s.o[g][e], "result");
        }
    cj_name(f, s.m, "greatest");
    cj_name(f, s.l, "own_sum");
    cj_val seen = cj_let(f, CJ_S32, cjk_attention_seen(f, &s.p, cj_add(f, s.p.first, cj_bits(f, CJ_S32, s.row))));
    fill_tile(f, &s, &s.p.q, s.p.first, s.p.queries, s.q);
    cj_val key = cj_for(f, 0, s.p.end, TILE_TOKENS);
        cj_name(f, key, "key");
        cj_block_sync(f); /* the values of the tile before are read, and with them the shares */
        fill_tile(f, &s, &s.p.k, key, s.p.keys, s.kv);
        cj_block_sync(f);
        own_scores(f, &s, key, seen, score);
        own_shares(f, &s, score);
        cj_block_sync(f);
        fill_tile(f, &s, &s.p.v, key, s.p.keys, s.kv);
        cj_block_sync(f);
        add_values(f, &s);
    cj_end(f);
    store_row(f, &s);
    cj_return(f);
}
