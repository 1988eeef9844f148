/* What the paths of cj_attention share: the object, the parameters of its kernels, the block's part of the work.
 *
 * A block computes a tile of queries of one head of one sequence, and walks over tiles of keys: the greatest score m of
 * each row, the sum l of the 2^(c (score - m)), and the sum of values o are brought up to date with each tile
 * (c = scale * log2 e).  m begins at a finite number below all scores, so a row that sees nothing gives no NaN. */
#ifndef CJK_ATTENTION_H
#define CJK_ATTENTION_H

#include "kernels/kernels_core.h"

enum { ATTENTION_SCALAR, ATTENTION_MMA, ATTENTION_MMA_PLAIN, ATTENTION_WGMMA, ATTENTION_KERNELS };

typedef struct cjk_attention {
    cjk_code code;
    cj_attention_opts o;
    cj_type type;
    bool has[ATTENTION_KERNELS];
} cjk_attention;

/* Where m begins, as bits of a CJ_F32: -1.7e38. */
#define CJK_ATTENTION_FLOOR 0xff000000

/* A tile of queries for the scalar path and for mma.sync; threads of a block. */
enum { CJK_SCALAR_QUERIES = 32, CJK_MMA_QUERIES = 64, CJK_MMA_KEYS = 64, CJK_ATTENTION_THREADS = 128 };

/* The same for wgmma; heads are padded to chunks of 64 elements, which are 128 bytes. */
enum { CJK_WGMMA_QUERIES = 128, CJK_WGMMA_KEYS = 128, CJK_WGMMA_THREADS = 384, CJK_WGMMA_CHUNK = 64 };

/* Tokens of one head of one sequence. */
typedef struct cjk_tokens {
    cj_val base;   /* the address of the first token, CJ_U64 */
    cj_val token;  /* bytes from a token to the next one, CJ_U64 */
} cjk_tokens;

/* The block's part: begun by cjk_attention_part. */
typedef struct cjk_part {
    cj_type type;
    uint32_t dim;
    bool causal;
    cjk_tokens q, k, v, out, lse;
    cj_val lse_wanted;       /* a predicate */
    cj_val head, kv_head, batch; /* CJ_U32 */
    cj_val first;            /* the first query of the tile, CJ_S32, and so are these: */
    cj_val queries, keys;    /* of the sequence */
    cj_val end;              /* the first key that no query of the tile sees; 0: none is seen */
    cj_val scale, c;         /* CJ_F32 */
} cjk_part;

/* Declares the parameters that all kernels have, and computes the block's part for tiles of `tile` queries.  Blocks
 * without queries return. */
void cjk_attention_part(cj_fn *f, const cjk_attention *x, uint32_t tile, cjk_part *p);

/* How many keys query `row` of the sequence sees: those in front. */
cj_val cjk_attention_seen(cj_fn *f, const cjk_part *p, cj_val row);

/* The address of token `index` (CJ_S32, not negative), CJ_U64. */
cj_val cjk_token_at(cj_fn *f, const cjk_tokens *t, cj_val index);

/* 1 / l, 0 for a row that saw nothing; and writes the row's log-sum-exp, if it is wanted, where `writes` holds. */
cj_val cjk_attention_finish(cj_fn *f, const cjk_part *p, cj_val row, cj_val m, cj_val l, cj_val writes);

/* -- Accumulators of a thread (attention_rows.c) ------------------------------------------------------------------- */

/* The two rows of which a thread has accumulators, 8 rows apart. */
typedef struct cjk_own_rows {
    cj_val row, column;        /* the first accumulator: its query, CJ_S32; its column, CJ_U32 */
    cj_val seen[2];            /* how many keys the rows see, CJ_S32 */
    cj_val m[2], l[2];         /* the greatest score; the thread's part of the sum.  CJ_F32 */
} cjk_own_rows;

/* `in_tile`: the row of the first accumulator in the block's tile, CJ_U32. */
void cjk_own_rows_begin(cj_fn *f, const cjk_part *p, cj_val in_tile, cj_val column, cjk_own_rows *own);

/* Scores of the `keys` keys from `key` on that a row does not see become -infinity.  Nothing happens if all rows see
 * these keys: rows see `seen_by_all` at least. */
void cjk_mask_scores(cj_fn *f, const cjk_own_rows *own, cj_val key, uint32_t keys, cj_val seen_by_all, cj_val score);

/* Scores become shares in place; m and l are brought up to date.  *factor: by what results so far are multiplied. */
void cjk_score_shares(cj_fn *f, const cjk_part *p, const cjk_own_rows *own, cj_val score, cj_val factor[2]);
void cjk_correct_result(cj_fn *f, cj_val o, const cj_val factor[2]);

/* Two values as a register of two halves: the fragment of A that two accumulators are. */
cj_val cjk_pack_halves(cj_fn *f, cj_type type, cj_val low, cj_val high);

/* Divides the results by the sums and stores them.  `pairs`: two elements are aligned to 4 bytes. */
void cjk_store_own_rows(cj_fn *f, const cjk_part *p, const cjk_own_rows *own, cj_val o, bool pairs);

/* -- The kernels --------------------------------------------------------------------------------------------------- */

/* Padded dimensions are multiples of 16. */
static inline uint32_t cjk_attention_padded(uint32_t dim) { return (dim + 15) / 16 * 16; }
void cjk_attention_write_scalar(cj_ptx *m, const char *name, const cjk_attention *x);
void cjk_attention_write_mma(cj_ptx *m, const char *name, const cjk_attention *x, bool plain);
uint32_t cjk_attention_mma_shared(uint32_t dim);
void cjk_attention_write_wgmma(cj_ptx *m, const char *name, const cjk_attention *x);
uint32_t cjk_attention_wgmma_shared(uint32_t dim);

#endif
