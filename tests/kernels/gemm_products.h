/* What the tests of cj_gemm's paths share: kinds of elements, layouts of matrices, and a product whose result is
 * compared with plain C.  Outputs lie between guards and are NaN before. */
#ifndef CUJIT_TESTS_GEMM_PRODUCTS_H
#define CUJIT_TESTS_GEMM_PRODUCTS_H

#include "tests/kernels/kernels_bench.h"

/* -- Elements ------------------------------------------------------------------------------------------------------ */

typedef struct gp_kind { const char *name; cj_type a, b, out; int32_t elements, promote; } gp_kind;
enum { GP_F16 = 0, GP_BF16 = 1, GP_TF32 = 2, GP_S8 = 3, GP_E4M3 = 4, GP_F32 = 11, GP_KINDS = 12 };
extern const gp_kind gp_kinds[GP_KINDS];

bool gp_of_integers(const gp_kind *t);
double gp_e4m3_value(unsigned byte);
void gp_set(const gp_kind *t, cj_type type, void *at, double x);           /* rounded to the nearest element */
double gp_value(const gp_kind *t, cj_type type, const void *at);           /* what is multiplied */

/* -- Layouts ------------------------------------------------------------------------------------------------------- */

/* `to`: the distance of rows or columns is a multiple of so many elements; 0: odd.  `off`: elements in front. */
typedef struct gp_layout { const char *name; int columns, to, off, step, back; } gp_layout;
enum { GP_LAYOUTS = 7, GP_ALIGNED_LAYOUTS = 2 /* the first ones: rows and columns */ };
extern const gp_layout gp_layouts[GP_LAYOUTS];

uint64_t gp_place(const gp_layout *l, uint64_t rows, uint64_t columns, uint64_t r, uint64_t c);
cj_rows gp_rows(cj_dptr data, size_t size, const gp_layout *l, uint64_t rows, uint64_t columns);

/* Classes of code: which side of A and of B is contiguous, and whether units of 16 bytes are copied or elements.
 * ldmatrix and wgmma transpose 16-bit elements only, so others come in units if k is contiguous in both; f32 is
 * multiplied without them. */
enum { GP_CLASSES = 8, GP_BY_ELEMENTS = 4 /* the first class of those by elements */ };
int gp_class(const gp_kind *t, int la, int lb);

/* -- One product --------------------------------------------------------------------------------------------------- */

typedef struct gp_shape { uint64_t m, n, k; } gp_shape;
typedef struct gp_case { const gp_kind *t; const gp_layout *la, *lb, *lo; gp_shape s; } gp_case;

enum { GP_SIDE = 320, GP_MOST = GP_SIDE * (2 * GP_SIDE + 32) /* elements of a matrix */ };
extern kb_memory gp_a, gp_b, gp_out;
extern double *gp_sums, *gp_magnitudes; /* of a product: what plain C makes of it */

/* Takes the memory of A, B and the result.  `filled`: elements that gp_fill sets, up to GP_MOST. */
void gp_begin(size_t filled);
void gp_end(void);

/* Whole numbers from -3 to 3, or from 0 to 3; or random ones from -1 to 1. */
void gp_fill(kb_memory *x, const gp_kind *t, cj_type type, bool whole, uint64_t seed);

/* Computes gp_sums and gp_magnitudes, sums of products and of their magnitudes, in f64. */
void gp_reference(const gp_case *c);

cj_gemm_args gp_arguments(const gp_case *c);

/* The number of wrong elements of a product of whole numbers, and of bytes that were written beside them. */
size_t gp_exact(cj_gemm *g, const gp_case *c);

/* The same where elements are NaN or infinite; an element that must be NaN is any NaN. */
size_t gp_nonfinite(cj_gemm *g, const gp_case *c);

#endif
