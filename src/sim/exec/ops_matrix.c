/* Matrices of a warp (ops_matrix.h). A matrix has 8 rows of 8 elements of 16 bits; a lane's register holds two
 * neighbours of row lane / 4, or of that column where the matrix is transposed. */
#include "sim/exec/ops_matrix.h"
#include "sim/exec/ops_mem.h"

enum { MATRIX_SIDE = 8, MATRIX_ROW_BYTES = 16, MATRIX_MOST = 4 };

typedef uint16_t matrix_tile[MATRIX_SIDE][MATRIX_SIDE];

bool cji_matrix_whole(cji_warp *w, const cji_rec *r)
{
    if (w->mask != w->live) {
        cji_warp_wait(w, w->mask, CJI_G_SYNC, 0);
        return false;
    }
    if (w->live == CJI_FULL) return true;
    cji_fault(w, r, cji_first(w->mask), CJI_EXEC_FAULT_SYNC, 0,
              "needs all 32 lanes of the warp, of which only lanes 0x%08x have not exited", w->live);
    return false;
}

/* The bytes of each row. False: a fault. */
static bool matrix_rows(cji_warp *w, const cji_rec *r, bool write, unsigned char *row[CJI_LANES])
{
    for (unsigned i = 0; i < (unsigned)r->count * MATRIX_SIDE; i++) {
        uint64_t a = cji_mem_address(w, r, i);
        if (r->space == CJI_SP_GENERIC && a >> 48 << 48 != CJI_EXEC_SHARED_WINDOW) {
            cji_fault(w, r, i, CJI_EXEC_FAULT_SPACE, a, "%s a row at 0x%llx, which is not in shared memory",
                      write ? "writes" : "reads", (unsigned long long)a);
            return false;
        }
        row[i] = cji_mem_at(w, r, i, r->space, a, MATRIX_ROW_BYTES, write);
        if (!row[i]) return false;
    }
    return true;
}

static uint32_t matrix_part(const matrix_tile m, unsigned lane, bool transposed)
{
    unsigned i = lane / 4, j = lane % 4 * 2;
    return transposed ? m[j][i] | (uint32_t)m[j + 1][i] << 16 : m[i][j] | (uint32_t)m[i][j + 1] << 16;
}

static void matrix_put(matrix_tile m, unsigned lane, bool transposed, uint32_t v)
{
    unsigned i = lane / 4, j = lane % 4 * 2;
    m[transposed ? j : i][transposed ? i : j] = (uint16_t)v;
    m[transposed ? j + 1 : i][transposed ? i : j + 1] = (uint16_t)(v >> 16);
}

void cji_h_ldmatrix(cji_warp *w, const cji_rec *r)
{
    unsigned char *row[CJI_LANES];
    matrix_tile m[MATRIX_MOST];
    const uint32_t *x = w->p->ext + r->target;
    if (!cji_matrix_whole(w, r) || !matrix_rows(w, r, false, row)) return;
    for (unsigned i = 0; i < (unsigned)r->count * MATRIX_SIDE; i++)
        memcpy(m[i / MATRIX_SIDE][i % MATRIX_SIDE], row[i], MATRIX_ROW_BYTES);
    for (unsigned n = 0; n < r->count; n++)
        for (unsigned i = 0; i < CJI_LANES; i++)
            cji_put(w, CJI_W32, x[n], i, matrix_part(m[n], i, r->k & CJI_MX_TRANSPOSED));
}

void cji_h_stmatrix(cji_warp *w, const cji_rec *r)
{
    unsigned char *row[CJI_LANES];
    matrix_tile m[MATRIX_MOST];
    const uint32_t *x = w->p->ext + r->target;
    if (!cji_matrix_whole(w, r) || !matrix_rows(w, r, true, row)) return;
    for (unsigned n = 0; n < r->count; n++)
        for (unsigned i = 0; i < CJI_LANES; i++)
            matrix_put(m[n], i, r->k & CJI_MX_TRANSPOSED, (uint32_t)cji_get(w, CJI_W32, x[n], i));
    for (unsigned i = 0; i < (unsigned)r->count * MATRIX_SIDE; i++)
        memcpy(row[i], m[i / MATRIX_SIDE][i % MATRIX_SIDE], MATRIX_ROW_BYTES);
}

void cji_h_movmatrix(cji_warp *w, const cji_rec *r)
{
    matrix_tile m;
    if (!cji_matrix_whole(w, r)) return;
    for (unsigned i = 0; i < CJI_LANES; i++) matrix_put(m, i, false, (uint32_t)cji_get(w, CJI_W32, r->a, i));
    for (unsigned i = 0; i < CJI_LANES; i++) cji_put(w, CJI_W32, r->d, i, matrix_part(m, i, true));
}
