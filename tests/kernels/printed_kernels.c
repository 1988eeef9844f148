/* The printed PTX of the objects can be read: each kernel has comments by block and names of its main values. */
#include "tests/kernels/kernels_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 6 };

typedef struct printed {
    const char *name;
    void *(*make)(void);
    cj_status (*print)(void *x, unsigned flags, const char **text);
    void (*end)(void *x);
    const char *comments[PARTS], *names[PARTS]; /* of the object's kernels */
} printed;

#define PRINTS(kind)                                                                       \
    static cj_status print_##kind(void *x, unsigned flags, const char **text)             \
    {                                                                                      \
        return cj_##kind##_ptx(x, flags, text, NULL);                                      \
    }                                                                                      \
    static void end_##kind(void *x) { cj_##kind##_free(x); }

/* An object with some options, called `name`. */
#define MAKES(kind, name, options) static void *make_##name(void) { return cj_##kind##_create(kb_dev, options); }

#define OBJECT(kind, options) MAKES(kind, kind, options) PRINTS(kind)

OBJECT(softmax, CJ_SOFTMAX(.type = CJ_BF16, .columns = 1024))
OBJECT(layer_norm, CJ_LAYER_NORM(.type = CJ_F32, .columns = 1000, .weight = 1, .bias = 1))
OBJECT(rms_norm, CJ_RMS_NORM(.type = CJ_F16, .weight = 1))
OBJECT(reduce, CJ_REDUCE(.type = CJ_F32, .op = CJ_COMBINE_ADD))
OBJECT(argmax, CJ_ARGMAX(.type = CJ_F32))
OBJECT(rope, CJ_ROPE(.type = CJ_BF16, .dim = 64))
OBJECT(gemv, CJ_GEMV(.format = CJ_GEMV_Q4_0, .x_type = CJ_F16))
OBJECT(elementwise, CJ_ELEMENTWISE(.inputs = 2, .types = { CJ_BF16, CJ_BF16 }, .activation = CJ_ACTIVATION_SILU))
PRINTS(scan)
PRINTS(gemm)
PRINTS(attention)
MAKES(scan, scan_tiles, CJ_SCAN(.type = CJ_F32))
MAKES(scan, scan_stream, CJ_SCAN(.type = CJ_U64, .exclusive = 1))
MAKES(gemm, gemm_scalar, CJ_GEMM(.type = CJ_F16, .path = CJ_GEMM_SCALAR))
MAKES(gemm, gemm_fma, CJ_GEMM(.type = CJ_F32))
MAKES(gemm, gemm_mma, CJ_GEMM(.type = CJ_BF16, .path = CJ_GEMM_MMA))
MAKES(gemm, gemm_wgmma, CJ_GEMM(.type = CJ_BF16, .path = CJ_GEMM_WGMMA))
MAKES(gemm, gemm_promoted, CJ_GEMM(.type = CJ_U8, .elements = CJ_GEMM_ELEMENTS_E4M3, .out_type = CJ_F32, .promote = 1,
                                   .path = CJ_GEMM_WGMMA))
MAKES(attention, attention_scalar, CJ_ATTENTION(.type = CJ_F32, .dim = 40, .path = CJ_ATTENTION_SCALAR))
MAKES(attention, attention_mma, CJ_ATTENTION(.type = CJ_F16, .dim = 64, .path = CJ_ATTENTION_MMA))
MAKES(attention, attention_wgmma, CJ_ATTENTION(.type = CJ_BF16, .dim = 64, .causal = 1, .path = CJ_ATTENTION_WGMMA))

#define CALLS(kind) #kind, make_##kind, print_##kind, end_##kind
#define CALLS_OF(kind, name) #name, make_##name, print_##kind, end_##kind

static const printed all[] = {
    { CALLS(softmax),
      { "The row of the block", "Load the row", "The greatest power of the thread's own", "The values of each warp",
        "The shares", "read the row again" },
      { "row", "chunk0_0", "own_top", "top", "sum", "scale" } },
    { CALLS(layer_norm),
      { "The row of the block", "Load the row", "A number near to", "The sums of the differences",
        "The values of each warp", "with weight and bias" },
      { "row", "x_row", "mean", "rest", "factor", "eps" } },
    { CALLS(rms_norm),
      { "The row of the block", "The sum of the squares", "with weight and bias" },
      { "row", "column", "own_squares", "mean_square", "factor" } },
    { CALLS(reduce),
      { "The row and the piece", "Join the columns of each class", "The classes that lie", "Join the classes",
        "Thread 0 stores" },
      { "row", "part", "first", "end", "class_0", "total" } },
    { CALLS(argmax),
      { "The row and the piece", "The greatest element of the thread's", "The greatest key of all", "Thread 0 stores" },
      { "row", "key", "column", "best_key", "found" } },
    { CALLS_OF(scan, scan_tiles),
      { "The row of the block", "A column of each thread", "The row and the tile", "Scan the thread's vectors",
        "A group of 32 tiles", "Store a vector of results" },
      { "row", "carry", "turn", "tile", "value_15", "row_of_totals" } },
    { CALLS_OF(scan, scan_stream),
      { "An mbarrier for each buffer", "wait until it is in its buffer", "which it publishes with the number",
        "read the sums of a group", "The results of a whole tile", "Add the blocks of the grid" },
      { "ring", "parity", "next_tile", "other_value_7", "before", "seen" } },
    { CALLS(rope),
      { "The token of the block", "The token's position", "Load both halves", "Turn the pairs", "Store both" },
      { "token", "head", "pair", "position" } },
    { CALLS(gemv),
      { "The row of the warp", "The scale, by the greatest magnitude", "An mbarrier for each stage",
        "The vector into shared memory", "Multiply the segment of the stage", "join the sums of the lanes" },
      { "row", "unit", "lane", "first_group", "sum_1", "ring" } },
    { CALLS(elementwise),
      { "The row and the piece", "One column at a time", "Load vectors", "The results", "Part of a vector" },
      { "row", "column", "in0_row", "in1_row", "out_row" } },
    { CALLS_OF(gemm, gemm_scalar),
      { "The tile of the block, and its products", "Load a tile of A", "Multiply the tiles", "elements of B ahead",
        "Multiply the buffer", "Store the sums through shared memory" },
      { "tile_row", "tile_column", "k_at", "sum_15", "a_ahead_0", "buffer" } },
    { CALLS_OF(gemm, gemm_fma),
      { "each stage is full, turned, empty", "Add up the products of a tile", "Store the sums",
        "Copy 32 columns of k of A and of B", "Turn the stages" },
      { "tile_row", "k_at", "a_stage", "b_at", "sum_15", "word_7" } },
    { CALLS_OF(gemm, gemm_mma),
      { "The places of the warp's fragments", "The thread's first unit of A", "Begin the copies", "Multiply the stage",
        "Load elements of A", "through shared memory" },
      { "tile_row", "warp_column", "full_stage", "empty_stage", "a_from", "sum_3" } },
    { CALLS_OF(gemm, gemm_wgmma),
      { "Warpgroup 0 produces", "Copy 128 bytes of k", "Warpgroups 1 and 2 consume", "Multiply a stage",
        "by the tensor map", "Add up what the blocks have sent" },
      { "tile_row", "stage", "a_matrix", "sum_127", "received", "total_0" } },
    { CALLS_OF(gemm, gemm_promoted),
      { "The block's tiles", "The tile of the block's cluster", "Add the products of the stage" },
      { "warpgroup", "k_at", "sum_95", "product_95", "other_product_63", "rank" } },
    { CALLS_OF(attention, attention_scalar),
      { "The tile of queries", "Fill shared memory", "The thread's scores, masked", "The greatest score",
        "Add the values", "Divide the results by the sum" },
      { "first_query", "end_of_keys", "key", "score_0", "factor", "result" } },
    { CALLS_OF(attention, attention_mma),
      { "Begin to copy a tile", "The warp's queries as fragments", "The scores: queries times keys",
        "Mask the keys", "shares times values", "element by element" },
      { "head", "row", "score_31", "greatest_1", "own_sum_0", "query_0" } },
    { CALLS_OF(attention, attention_wgmma),
      { "Warpgroup 0 produces", "Copy the queries and the last keys", "Issue the scores", "The keys before, tile by",
        "beside the first scores", "Store the results by the tensor map" },
      { "key_stage", "value_stage", "tiles_of_keys", "score_63", "share_31", "result_31" } },
};

/* `text` without its lines of comments. */
static char *without_comments(const char *text)
{
    char *out = malloc(strlen(text) + 1), *to = out;
    if (!out) tap_bail("no memory");
    for (const char *line = text; *line;) {
        const char *end = strchr(line, '\n'), *first = line + strspn(line, " \t");
        size_t n = end ? (size_t)(end - line) + 1 : strlen(line);
        if (strncmp(first, "//", 2) != 0) memcpy(to, line, n), to += n;
        line += n;
    }
    *to = 0;
    return out;
}

/* Kernels that have no comment. */
static unsigned silent_kernels(const char *text)
{
    unsigned silent = 0;
    for (const char *entry = strstr(text, ".entry "); entry;) {
        const char *next = strstr(entry + 1, ".entry "), *comment = strstr(entry, "\n\t// ");
        silent += !comment || (next && comment > next);
        entry = next;
    }
    return silent;
}

static void check_printed(const printed *p)
{
    const char *text = "";
    char line[80];
    void *x = p->make();
    p->print(x, CJ_PRINT_COMMENTS, &text);
    char *with = strdup(text), *less = without_comments(text);
    if (!with) tap_bail("no memory");
    p->print(x, 0, &text);
    tap_ok(*text && !strcmp(text, less), "%s: comments are lines of their own, printed if asked for", p->name);
    tap_is_uint(silent_kernels(with), 0, "%s: each kernel has comments", p->name);
    for (int i = 0; i < PARTS && p->comments[i]; i++) tap_has_str(with, p->comments[i], "%s: a comment", p->name);
    for (int i = 0; i < PARTS && p->names[i]; i++) {
        snprintf(line, sizeof line, "\t%%%s;\n", p->names[i]);
        tap_has_str(with, line, "%s: %%%s is declared", p->name, p->names[i]);
    }
    free(with), free(less);
    p->end(x);
}

int main(void)
{
    kb_open();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) check_printed(&all[i]);
    return kb_close();
}
