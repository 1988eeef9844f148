/* Sizes that a driver call names: rows in slices, measured without wrapping. */
#include "sim/core/sim_core.h"

bool cji_sim_sum(uint64_t *to, uint64_t a, uint64_t b) { return !__builtin_add_overflow(a, b, to); }
bool cji_sim_product(uint64_t *to, uint64_t a, uint64_t b) { return !__builtin_mul_overflow(a, b, to); }

bool cji_sim_extent_bytes(const sim_extent *e, uint64_t *bytes)
{
    uint64_t rows, slices;
    *bytes = 0;
    if (!e->width || !e->height || !e->depth) return true;
    return cji_sim_product(&rows, e->pitch, e->height - 1) && cji_sim_product(&slices, e->slice, e->depth - 1) &&
           cji_sim_sum(bytes, rows, slices) && cji_sim_sum(bytes, *bytes, e->width);
}

bool cji_sim_extent_at(const sim_extent *e, uint64_t base, uint64_t x, uint64_t y, uint64_t z, uint64_t *at)
{
    uint64_t rows, slices, bytes, end;
    return cji_sim_product(&rows, e->pitch, y) && cji_sim_product(&slices, e->slice, z) && cji_sim_sum(at, base, x) &&
           cji_sim_sum(at, *at, rows) && cji_sim_sum(at, *at, slices) && cji_sim_extent_bytes(e, &bytes) &&
           cji_sim_sum(&end, *at, bytes);
}
