/* Elements of a row that lie side by side, moved as vectors of up to 16 bytes, and walks along a row.
 *
 * A kernel that can use vectors exists twice: the plain one takes any step and any alignment, the one of vectors rows
 * that fit (cjk_fits_vectors).  The launch chooses.  Both must give the same bits, so a walk deals the columns out in a
 * way that depends on the type and on their number only. */
#ifndef CJK_VECTORS_H
#define CJK_VECTORS_H

#include "kernels/kernels_core.h"

enum { CJK_VECTOR_BYTES = 16, CJK_WIDEST = 16, CJK_IN_FLIGHT = 4 };

/* Elements of a vector of 16 bytes: 2 to CJK_WIDEST. */
static inline unsigned cjk_vector_of(cj_type type) { return (unsigned)(CJK_VECTOR_BYTES / cjk_size(type)); }

/* How memory is read. */
typedef enum cjk_read {
    CJK_READ_AGAIN,    /* other threads read it, too */
    CJK_READ_ONCE,     /* no other thread reads it: it would only push others' lines out of the first cache */
    CJK_READ_CONSTANT, /* the same, and nothing writes it while the kernel runs */
    CJK_READ_SHARED    /* shared memory: the address is one of it */
} cjk_read;

/* `n` elements in registers as they are in memory: words of 32 bits, of 64 for elements of 8 bytes. */
typedef struct cjk_raw { cj_val word[CJK_WIDEST]; unsigned words; } cjk_raw;

/* `n` elements from the address `at` + `offset` bytes on: a power of two, 4 bytes at least, aligned to all of them or
 * to 16 bytes.  cjk_raw_zero makes the registers and cjk_raw_fill loads them, for loads under a condition;
 * cjk_raw_same fills them with elements that have the bits `bits`. */
void cjk_raw_load(cj_fn *f, cj_type type, cj_val at, int64_t offset, unsigned n, cjk_read how, cjk_raw *out);
void cjk_raw_zero(cj_fn *f, cj_type type, unsigned n, cjk_raw *out);
void cjk_raw_same(cj_fn *f, cj_type type, unsigned n, uint64_t bits, cjk_raw *out);
void cjk_raw_fill(cj_fn *f, cj_type type, cj_val at, int64_t offset, cjk_read how, const cjk_raw *to);

/* The `n` elements as `as`, with the values of cjk_load. */
void cjk_raw_values(cj_fn *f, cj_type type, const cjk_raw *raw, unsigned n, cj_type as, cj_val *out);

/* Stores `n` values of one type with the bits of cjk_store.  Alignment as for loads. */
void cjk_vector_store(cj_fn *f, cj_type type, cj_val at, int64_t offset, unsigned n, const cj_val *v);
void cjk_vector_store_shared(cj_fn *f, cj_type type, cj_val at, int64_t offset, unsigned n, const cj_val *v);

/* Whether a kernel of vectors can be used: columns side by side, each row at a multiple of 16 bytes. */
bool cjk_fits_vectors(const cjk_matrix *m, uint64_t rows, size_t bytes);

/* Columns of a piece of a row that is cut into at most `most` pieces or so: whole turns of all threads that have
 * CJK_IN_FLIGHT vectors each. */
static inline uint64_t cjk_piece_of(cj_type type, uint64_t columns, uint64_t most)
{
    uint64_t turns = CJK_IN_FLIGHT * CJK_THREADS * (uint64_t)cjk_vector_of(type);
    return (columns / most / turns + 1) * turns;
}

/* Pieces of that size; a row without columns has one, too. */
static inline uint64_t cjk_pieces_of(uint64_t columns, uint64_t piece)
{
    return columns ? (columns - 1) / piece + 1 : 1;
}

/* -- Walks --------------------------------------------------------------------------------------------------------- */

/* A walk of a block along the columns `first` to `end` - 1 of a row that begins at `begin`.  `first` is a multiple of a
 * turn: of CJK_THREADS vectors.  Column c is of class c mod (CJK_THREADS * vector).  A thread has `vector` classes, and
 * meets the columns of a class in their order. */
typedef struct cjk_walk {
    const cjk_operand *x;
    cj_val begin, first, end;
    cj_type as;
    /* Takes the value `v` of column `base` + `offset`; `i`: which of the thread's classes it is. */
    void (*take)(cj_fn *f, void *of, unsigned i, cj_val v, cj_val base, unsigned offset);
    void *of;
} cjk_walk;

/* Thread t has the classes t * vector on, which lie side by side: CJK_IN_FLIGHT vectors are loaded at once. */
void cjk_walk_vectors(cj_fn *f, const cjk_walk *w);

/* Thread t has the classes t, t + CJK_THREADS, ...: lanes read neighbours, one element at a time. */
void cjk_walk_columns(cj_fn *f, const cjk_walk *w);

#endif
