/* What the paths of cj_attention share: the object, the parameters of its kernels, a tile of the work.
 *
 * A block computes tiles of queries of one head of one sequence, and walks over tiles of keys for each: the greatest
 * score m of each row, the sum l of the 2^(c (score - m)), and the sum of values o are brought up to date with each
 * tile (c = scale * log2 e).  m begins at a finite number below all scores, so a row that sees nothing gives no NaN. */
#ifndef CJK_ATTENTION_H
#define CJK_ATTENTION_H

#include "kernels/kernels_core.h"

enum { ATTENTION_SCALAR, ATTENTION_MMA, ATTENTION_MMA_PLAIN, ATTENTION_WGMMA, ATTENTION_WGMMA_LONG, ATTENTION_KERNELS };

typedef struct cjk_attention {
    cjk_code code;
    cj_attention_opts o;
    cj_type type;
    uint32_t multiprocessors;
    bool has[ATTENTION_KERNELS];
} cjk_attention;

/* Where m begins, as bits of a CJ_F32: -1.7e38. */
#define CJK_ATTENTION_FLOOR 0xff000000

/* A tile of queries for the scalar path and for mma.sync; threads of a block. */
enum { CJK_SCALAR_QUERIES = 32, CJK_MMA_QUERIES = 64, CJK_MMA_KEYS = 64, CJK_ATTENTION_THREADS = 128 };

/* The same for wgmma: queries of a warpgroup; heads are padded to chunks of 64 elements, which are 128 bytes. */
enum { CJK_WGMMA_QUERIES = 64, CJK_WGMMA_KEYS = 128, CJK_WGMMA_CHUNK = 64 };

/* Queries of a sequence from which on causal attention has a kernel of its own, if heads have one chunk and all blocks
 * two of its tiles. */
enum { CJK_LONG_QUERIES = 4096 };

/* How the kernel of wgmma divides its work and its memory. */
typedef struct cjk_wgmma_sizes {
    uint32_t groups;           /* warpgroups that consume; one more produces */
    uint32_t queries, threads; /* of a block */
    uint32_t chunks;           /* of a row */
    uint32_t stages;           /* of keys, and of values */
    uint32_t query_bytes, stage_bytes;
    uint32_t shared;           /* dynamic shared memory */
    bool by_map;               /* results leave by tensor map */
    bool by_length;            /* tiles of all heads are in the order of their keys */
} cjk_wgmma_sizes;

/* Tokens of one head of one sequence. */
typedef struct cjk_tokens {
    cj_val base;   /* the address of the first token, CJ_U64 */
    cj_val token;  /* bytes from a token to the next one, CJ_U64 */
} cjk_tokens;

/* The kernels' parameters but for tensor maps. */
typedef struct cjk_heads_param { cj_val data, token, head, batch; } cjk_heads_param;
typedef struct cjk_attention_params {
    cjk_heads_param q, k, v, out, lse;
    cj_val query_offsets, key_offsets;
    cj_val queries, keys;      /* CJ_S32 */
    cj_val heads, shared_by;   /* CJ_U32; shared_by: heads that have the same keys */
    cj_val tiles, work;        /* of a head, of all: CJ_U32 */
    cj_val scale, c;           /* CJ_F32 */
} cjk_attention_params;

/* A tile of queries: made by cjk_attention_part. */
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

void cjk_attention_params_begin(cj_fn *f, cjk_attention_params *params);

/* Computes tile `index` of the `tile` queries of head `of_all`, counted over all sequences. */
void cjk_attention_part(cj_fn *f, const cjk_attention *x, const cjk_attention_params *params, cj_val index,
                        cj_val of_all, uint32_t tile, cjk_part *p);

/* Declares the parameters, and computes the tile of a block that has one.  Blocks without queries return. */
void cjk_attention_block(cj_fn *f, const cjk_attention *x, uint32_t tile, cjk_part *p);

/* How many keys query `row` of the sequence sees: those in front. */
cj_val cjk_attention_seen(cj_fn *f, const cjk_part *p, cj_val row);

/* The address of token `index` (CJ_S32, not negative), CJ_U64. */
cj_val cjk_token_at(cj_fn *f, const cjk_tokens *t, cj_val index);

/* 1 / l, 0 for a row that saw nothing. */
cj_val cjk_attention_inverse(cj_fn *f, cj_val l);

/* Writes the row's log-sum-exp, if it is wanted, where `writes` holds. */
void cjk_attention_store_lse(cj_fn *f, const cjk_part *p, cj_val row, cj_val m, cj_val l, cj_val writes);

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

/* Scores become shares in place; m and l are brought up to date.  *factor: by what results so far are multiplied.
 * `factor` may be NULL: there are none, m and l are as cjk_own_rows_begin made them. */
void cjk_score_shares(cj_fn *f, const cjk_part *p, const cjk_own_rows *own, cj_val score, cj_val *factor);
void cjk_correct_result(cj_fn *f, cj_val o, const cj_val factor[2]);

/* Two values as a register of two halves: the fragment of A that two accumulators are. */
cj_val cjk_pack_halves(cj_fn *f, cj_type type, cj_val low, cj_val high);

/* Divides the results by the sums; writes the log-sum-exp of the rows, if it is wanted. */
void cjk_divide_own_rows(cj_fn *f, const cjk_part *p, const cjk_own_rows *own, cj_val o);

/* Divides the results by the sums and stores them.  `pairs`: two elements are aligned to 4 bytes. */
void cjk_store_own_rows(cj_fn *f, const cjk_part *p, const cjk_own_rows *own, cj_val o, bool pairs);

/* -- The kernels --------------------------------------------------------------------------------------------------- */

/* Padded dimensions are multiples of 16. */
static inline uint32_t cjk_attention_padded(uint32_t dim) { return (dim + 15) / 16 * 16; }
void cjk_attention_write_scalar(cj_ptx *m, const char *name, const cjk_attention *x);
void cjk_attention_write_mma(cj_ptx *m, const char *name, const cjk_attention *x, bool plain);
uint32_t cjk_attention_mma_shared(uint32_t dim);

/* `kernel`: ATTENTION_WGMMA, or ATTENTION_WGMMA_LONG. */
void cjk_attention_write_wgmma(cj_ptx *m, const char *name, const cjk_attention *x, unsigned kernel);
void cjk_attention_wgmma_sizes(const cjk_attention *x, unsigned kernel, cjk_wgmma_sizes *sizes);

/* The blocks for `work` tiles of queries. */
uint32_t cjk_attention_wgmma_blocks(const cjk_attention *x, unsigned kernel, uint32_t work);

#endif
