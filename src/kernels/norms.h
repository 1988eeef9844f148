/* Softmax and norms of rows: what the objects (norms.c) and the code of their kernels share. */
#ifndef CJK_NORMS_H
#define CJK_NORMS_H

#include "kernels/row_values.h"

typedef enum cjk_norm_kind { CJK_NORM_SOFTMAX, CJK_NORM_LAYER, CJK_NORM_RMS } cjk_norm_kind;

typedef struct cjk_norm {
    cjk_code code;
    cjk_norm_kind kind;
    cj_softmax_opts o;   /* the options of all three have these fields first */
    float eps;
    bool weight, bias;
    cj_type in, out, param;
    cjk_shape plain, vectors;
} cjk_norm;

/* What a kernel has. */
typedef struct cjk_norm_code {
    const cjk_norm *n;
    cjk_stretch b;
    cjk_operand x, out, weight, bias; /* the parameters' bases are those of the stretch */
    cj_val from, to, count, eps;      /* where the row's stretches begin; the columns of the row and eps as CJ_F32 */
} cjk_norm_code;

/* Chooses the shapes of the plain kernel and of that of vectors, from the other fields.  `clusters`: the device has
 * them.  Without a kernel of vectors the columns of its shape are 0. */
void cjk_norm_shapes(cjk_norm *n, bool clusters);

/* Writes a kernel of the shape. */
void cjk_write_norm(cj_ptx *m, const char *name, const cjk_norm *n, const cjk_shape *s);

/* Opens a loop over the thread's columns of the stretch: the column, and its element. */
cj_val cjk_norm_walk(cj_fn *f, const cjk_norm_code *c, cj_val *v);

/* Up to two sums of a loop of cjk_norm_walk.  A thread adds up its columns in groups, so that the sums of long rows are
 * as accurate as those of short ones. */
typedef struct cjk_long_sums { cj_val group[2], all[2]; unsigned n; } cjk_long_sums;

/* Begins n sums in front of the loop; what is added in it is added to .group.  `name`: of their registers. */
void cjk_sums_begin(cj_fn *f, cjk_long_sums *s, unsigned n, const char *name);

/* Ends the loop, whose column is `i`, and gives the thread's sums. */
void cjk_sums_end(cj_fn *f, const cjk_norm_code *c, cjk_long_sums *s, cj_val i, cj_val sums[2]);

void cjk_write_softmax(cj_fn *f, cjk_norm_code *c);
void cjk_write_layer_norm(cj_fn *f, cjk_norm_code *c);
void cjk_write_rms_norm(cj_fn *f, cjk_norm_code *c);

#endif
