/* What the files of cj_gemm share.
 *
 * An object has a number of *variants*: kernels for one product, of which a launch chooses one by its sizes, layouts
 * and addresses alone.  All variants have the same parameters, but for the tensor maps behind those of path wgmma,
 * and the same end: alpha, beta, bias, the user's function, the conversion (gemm_end.c).
 *
 * The *outer* side of an operand is m for A and n for B; its other side is k. */
#ifndef CJK_GEMM_CORE_H
#define CJK_GEMM_CORE_H

#include <pthread.h>

#include "kernels/kernels_core.h"

enum { CJK_GEMM_A, CJK_GEMM_B, CJK_GEMM_OUT };
enum { CJK_GEMM_OWN = 4, CJK_GEMM_USER = 16, CJK_GEMM_NAME = 48 };

static inline bool cjk_gemm_floating(cj_type t) { return t == CJ_F16 || t == CJ_BF16 || t == CJ_F32 || t == CJ_F64; }

/* Tiles of the paths. */
enum { CJK_SCALAR_TILE = 64, CJK_SCALAR_LARGE = 128 };
enum { CJK_MMA_LARGE = 128, CJK_MMA_SMALL = 64, CJK_WGMMA_ROWS = 128, CJK_GEMM_GROUP = 8 };
enum { CJK_SPLIT_ROWS = 64, CJK_SPLIT_MOST = 8, CJK_SPLIT_SIZES = 4 /* blocks of a cluster: 1, 2, 4, 8 */ };

/* Which elements of an operand are neighbours in memory.  CJK_ANY_NEXT: the code takes both. */
typedef enum cjk_next { CJK_K_NEXT, CJK_OUTER_NEXT, CJK_ANY_NEXT } cjk_next;

typedef struct cjk_gemm_variant {
    cj_gemm_path path;
    uint32_t rows, columns;    /* of a tile */
    cjk_next next[2];          /* of A and B; CJK_ANY_NEXT: any strides, loaded one by one */
    uint32_t threads, shared;  /* of a block */
    bool split;                /* the blocks of a cluster share a tile: each of them takes a part of k */
    uint32_t blocks;           /* of a multiprocessor, where blocks are persistent */
} cjk_gemm_variant;

/* f32 by tensor maps and multiply-adds on sm_90a (gemm_fma.c): a list of its own, which CJ_GEMM_AUTO tries before
 * CJ_GEMM_SCALAR.  Variants of both have that path. */
enum { CJK_GEMM_FMA = CJ_GEMM_WGMMA + 1 };

/* Whether the kernel copies tiles of A and B by tensor maps, in persistent blocks. */
static inline bool cjk_gemm_maps_tiles(const cjk_gemm_variant *v)
{
    return v->path == CJ_GEMM_WGMMA || (v->path == CJ_GEMM_SCALAR && v->next[0] != CJK_ANY_NEXT);
}

/* Whether it is the kernel for all layouts with large tiles (gemm_scalar_large.c). */
static inline bool cjk_gemm_is_large(const cjk_gemm_variant *v)
{
    return v->path == CJ_GEMM_SCALAR && v->next[0] == CJK_ANY_NEXT && v->rows == CJK_SCALAR_LARGE;
}

/* A, B or the result of a launch.  Distances are in elements; the result's k are its columns. */
typedef struct cjk_gemm_operand {
    cj_dptr data;
    uint64_t outer, k;
    int64_t by_outer, by_k, by_batch;
} cjk_gemm_operand;

/* What tensor maps are made of, without padding. */
typedef struct cjk_map_key {
    cjk_gemm_operand x[3];
    uint64_t batches;
    uint32_t variant, by_map;
} cjk_map_key;

/* Where a kernel's arguments begin: three for A, B and the result, sizes and distances of batches; if the launch is
 * scaled, four for C, alpha and beta; the bias; the user's; the tensor maps. */
enum {
    CJK_ARG_A = 0, CJK_ARG_B = 3, CJK_ARG_OUT = 6, CJK_ARG_SIZES = 9, CJK_ARG_BATCHES = 13, CJK_ARG_MORE = 16,
    CJK_ARG_ALPHA = CJK_ARG_MORE + 4, CJK_ARG_UNSCALED = CJK_ARG_MORE, CJK_ARG_SCALED = CJK_ARG_ALPHA + 2,
    CJK_GEMM_ARGS = 32 + CJK_GEMM_USER
};

/* A launch whose arguments are checked: what is enqueued. */
typedef struct cjk_gemm_ready {
    cj_tensor_map map[3];      /* first, so that they are aligned where a launch is: the driver changes them in place */
    uint32_t count;            /* of arguments; 0: nothing is to be computed */
    uint32_t maps, first_map;  /* tensor maps, and the argument that is the first of them */
    cj_dims dims;
    cjk_map_key key;           /* .variant is that of the kernel */
    cj_arg arg[CJK_GEMM_ARGS];
} cjk_gemm_ready;

/* The latest launches.  One with the same memory is in the same place. */
enum { CJK_LAUNCHES = 8 };
typedef struct cjk_launches {
    pthread_mutex_t lock;
    uint32_t latest;
    struct cjk_launch { cj_gemm_args args; cj_arg user[CJK_GEMM_USER]; cjk_gemm_ready ready; } each[CJK_LAUNCHES];
} cjk_launches;

typedef struct cjk_gemm {
    cjk_code code;
    cj_gemm_opts o;
    cj_type type[3], wide;     /* of A, B and the result */
    cj_mma_type mma[2];        /* of A and B, for tensor cores */
    uint32_t user;             /* parameters of the user's function behind its own four */
    cj_fn *epilogue;           /* that function, in code.m; NULL: none */
    bool printed;              /* code.m has the kernels; else only the user's functions */
    uint32_t multiprocessors;
    uint32_t clusters[CJK_SPLIT_SIZES]; /* of 1, 2, 4, 8 blocks with a tile of a split variant: how many run at once */
    bool replaces;             /* the driver replaces the address of a tensor map */
    bool by_map;               /* path wgmma can store results by a tensor map: the type is its own, and what is fused
                                * is done to the accumulators */
    uint32_t variants;         /* the kernel of variant i is code.k[i] */
    cjk_gemm_variant v[CJK_KERNELS];
    cjk_launches launches;
} cjk_gemm;

/* -- Variants (gemm_variants.c) ------------------------------------------------------------------------------------ */

/* Why tensor cores do not multiply these types; NULL: they do, and g->mma is set. */
const char *cjk_gemm_types_fail(cjk_gemm *g);

/* Lists the variants of a path or of CJK_GEMM_FMA, and names one. */
void cjk_gemm_list(cjk_gemm *g, int path);
void cjk_gemm_name(const cjk_gemm_variant *v, char name[CJK_GEMM_NAME]);

/* What a launch takes: a variant; blocks of a cluster, 1 unless the variant is split; whether the result leaves by a
 * tensor map. */
typedef struct cjk_gemm_choice { uint32_t variant, blocks; bool by_map; } cjk_gemm_choice;

/* .variant is CJK_KERNELS: there is none, and `why` says why, or is left as it is where A or B does not fit. */
cjk_gemm_choice cjk_gemm_choose(const cjk_gemm *g, const cjk_gemm_operand x[3], uint64_t batches, const char **why);

/* What of A or B does not fit path wgmma, as a sentence.  Returns `text`. */
const char *cjk_gemm_misfit(const cjk_gemm *g, const cjk_gemm_operand x[3], char *text, size_t bytes);

/* The tensor map of operand `i` of a launch: A, B or the result (gemm_maps.c). */
cj_status cjk_gemm_map_of(cj_stream *s, const cjk_gemm *g, const cjk_map_key *key, int i, cj_tensor_map *map,
                          const char *call);

/* Makes the tensor map of a launch like it into that of one whose operand `i` has key->x[i].data. */
cj_status cjk_gemm_map_move(cj_stream *s, const cjk_gemm *g, const cjk_map_key *key, int i, cj_tensor_map *map,
                            const char *call);

/* -- The latest launches (gemm_launches.c) ------------------------------------------------------------------------- */

typedef enum cjk_known {
    CJK_KNOWN_NOT,
    CJK_KNOWN_LIKE, /* one like it, but for addresses, which are aligned alike, alpha, beta and the user's arguments */
    CJK_KNOWN_SAME  /* one with the same arguments, whose kernel reads their bytes as they are */
} cjk_known;

/* Finds a launch with these arguments, or one like it. */
cjk_known cjk_gemm_recall(cjk_gemm *g, const cj_gemm_args *args, cjk_gemm_ready *out);

/* Notes what a launch with these arguments has enqueued. */
void cjk_gemm_note(cjk_gemm *g, const cj_gemm_args *args, const cjk_gemm_ready *ready);

static inline uint64_t cjk_pieces(uint64_t all, uint64_t each) { return (all + each - 1) / each; }

/* -- The parameters and the end (gemm_end.c) ----------------------------------------------------------------------- */

typedef struct cjk_gemm_params {
    cj_fn *fn;                 /* the user's; NULL: none */
    cjk_operand x[2], out, c;
    cj_val size[2], k;         /* m and n; CJ_U32 */
    cj_val batches, by_batch[3], c_batch;
    cj_val alpha, beta, bias, reads_c;
    cj_val user[CJK_GEMM_USER];
    uint32_t users;
} cjk_gemm_params;

/* Declares the parameters. */
void cjk_gemm_params_begin(cj_fn *f, const cjk_gemm *g, cj_fn *epilogue, cjk_gemm_params *p);

/* The type that alpha, beta, C and the bias are computed in, and the user's function takes: that of the sums, but
 * behind .scaled or .bias f32 where integers have a floating result, or f64 if either has 64 bits. */
cj_type cjk_gemm_end_type(const cjk_gemm *g);

cj_val cjk_gemm_bytes(cj_fn *f, cj_val elements, cj_type type);

/* What the user's function gives for `v` with the bias, which is that of the result without a function. */
cj_val cjk_gemm_finish(cj_fn *f, const cjk_gemm *g, const cjk_gemm_params *p, cj_val v, cj_val row, cj_val column,
                       cj_val batch);

/* The same of a sum in f32, as an f32 that is rounded to the result's type as it would be. */
cj_val cjk_gemm_finish_f32(cj_fn *f, const cjk_gemm *g, const cjk_gemm_params *p, cj_val sum, cj_val row,
                           cj_val column, cj_val batch);

static inline bool cjk_gemm_fuses(const cjk_gemm *g, const cjk_gemm_params *p)
{
    return g->o.scaled || g->o.bias || p->fn;
}

/* Stores one sum, of the type g->wide, that is inside of the result. */
void cjk_gemm_store(cj_fn *f, const cjk_gemm *g, const cjk_gemm_params *p, cj_val sum, cj_val row, cj_val column,
                    cj_val batch);

/* Tile number `tile` of `across` x `down` tiles: groups of CJK_GEMM_GROUP rows of tiles, down each column of a group
 * first, so that blocks that run at once share what they read. */
void cjk_gemm_tile(cj_fn *f, cj_val tile, cj_val down, cj_val across, cj_val *row, cj_val *column);

/* Sums of a tile in shared memory, 32 bits each, on their way from the accumulators' threads to those that store them.
 * Word (r, c) is at r * columns + (c ^ (r % 4) * 8): pairs that accumulators hold, and rows, have no bank conflicts. */
typedef struct cjk_gemm_chunk {
    cj_val shared;             /* CJ_U32, aligned to 16 */
    uint32_t rows, columns;    /* powers of 2; 32 columns at least */
    uint32_t threads;          /* that store it: a power of 2 */
    cj_val thread;             /* of them */
    uint32_t skip;             /* columns at its beginning that are not stored */
} cjk_gemm_chunk;

/* Where the thread whose first accumulator is at (row, column) puts its pairs: at[j] for column group j of 8 of each 32
 * columns.  Rows + 8 are 8 * columns words further, columns + 32 are 32. */
void cjk_gemm_chunk_at(cj_fn *f, const cjk_gemm_chunk *c, cj_val row, cj_val column, cj_val at[4]);

/* Stores the sums that are inside; (row, column) is the place of the chunk in the result.  A barrier comes before. */
void cjk_gemm_chunk_store(cj_fn *f, const cjk_gemm *g, const cjk_gemm_params *p, const cjk_gemm_chunk *c, cj_val row,
                          cj_val column, cj_val batch);

/* How the blocks of a cluster add up their sums of a tile (gemm_split.c).  `shared`: where a block receives them, 4
 * bytes for each element of a tile.  Each thread of the warpgroup that has half `group` of the columns sends its
 * sums, behind a barrier of the cluster.  Behind another one 256 threads store the block's share of the rows. */
void cjk_gemm_split_send(cj_fn *f, const cjk_gemm_variant *v, cj_val sums, cj_val shared, cj_val group);
void cjk_gemm_split_store(cj_fn *f, const cjk_gemm *g, const cjk_gemm_variant *v, const cjk_gemm_params *p,
                          cj_val shared, cj_val thread, cj_val row, cj_val column, cj_val batch);

/* A patch: rows of 16 columns of a warp's sums in shared memory, CJK_PATCH_PITCH words of 32 bits apart. */
enum { CJK_PATCH_COLUMNS = 16, CJK_PATCH_PITCH = CJK_PATCH_COLUMNS + 4 /* less bank conflicts */ };

/* Stores the sums that are inside; the whole warp calls it and has written the patch of `rows` rows, 16 or 32.
 * (row, column) is its place in the result.  The patch can be written again behind it. */
void cjk_gemm_patch_store(cj_fn *f, const cjk_gemm *g, const cjk_gemm_params *p, cj_val patch, uint32_t rows,
                          cj_val lane, cj_val row, cj_val column, cj_val batch);

/* -- The paths ----------------------------------------------------------------------------------------------------- */

/* Writes the kernel `name` of variant `v` into `m`. */
void cjk_gemm_write_scalar(cj_ptx *m, const char *name, const cjk_gemm *g, const cjk_gemm_variant *v, cj_fn *epilogue);
void cjk_gemm_write_large(cj_ptx *m, const char *name, const cjk_gemm *g, const cjk_gemm_variant *v, cj_fn *epilogue);
void cjk_gemm_write_fma(cj_ptx *m, const char *name, const cjk_gemm *g, const cjk_gemm_variant *v, cj_fn *epilogue);
void cjk_gemm_write_mma(cj_ptx *m, const char *name, const cjk_gemm *g, const cjk_gemm_variant *v, cj_fn *epilogue);

void cjk_gemm_write_wgmma(cj_ptx *m, const char *name, const cjk_gemm *g, const cjk_gemm_variant *v, cj_fn *epilogue);

/* An element of A or B as the type g->wide, rounded or widened as the options say (gemm_scalar.c). */
cj_val cjk_gemm_load_element(cj_fn *f, const cjk_gemm *g, int which, cj_val address);

/* What the paths need of shared memory, and their threads. */
void cjk_gemm_mma_sizes(cjk_gemm_variant *v);
void cjk_gemm_wgmma_sizes(cjk_gemm_variant *v);
void cjk_gemm_fma_sizes(cjk_gemm_variant *v);

#endif
