/* Copies of tensors' tiles (ops_bulk.h): row by row, a row being the tile's elements in dimension 0.
 *
 * In shared memory the rows follow one another; a swizzle exchanges the 16-byte units of a line of 128 bytes, by bits
 * of the line's address. Outside of the tensor a load gets the fill. A store or a reduction changes nothing there, but
 * the rest of the 16-byte unit in which a row of the tensor ends: an H100 writes whole units (docs/semantics.md). */
#include "sim/exec/fp_soft.h"
#include "sim/exec/ops_bulk.h"
#include "sim/exec/ops_mem.h"

enum { TILE_MOST = 256, TILE_ROW = TILE_MOST * 8, TILE_ALIGN = 128, TILE_UNIT = 16 };

/* By CUtensorMapDataType. `rounded`: what a load makes of the bits of an f32. `bits`: and, or, xor take it. */
enum { ROUND_NOT, ROUND_TF32, ROUND_TF32_FTZ };
static const struct { uint8_t bytes, rounded, type; bool add, order, count, bits; uint64_t nan; } tile_types[] = {
    { 1, ROUND_NOT, CJI_AT_INT, false, false, false, false, 0 },                         /* u8 */
    { 2, ROUND_NOT, CJI_AT_INT, false, false, false, false, 0 },                         /* u16 */
    { 4, ROUND_NOT, CJI_AT_INT, true, true, true, true, 0 },                             /* u32 */
    { 4, ROUND_NOT, CJI_AT_SIGNED, true, true, false, true, 0 },                         /* s32 */
    { 8, ROUND_NOT, CJI_AT_INT, true, true, false, true, 0 },                            /* u64 */
    { 8, ROUND_NOT, CJI_AT_SIGNED, false, true, false, true, 0 },                        /* s64 */
    { 2, ROUND_NOT, CJI_AT_F16, true, true, false, false, 0x7fff },                      /* f16 */
    { 4, ROUND_NOT, CJI_AT_F32, true, false, false, false, 0x7fffffff },                 /* f32 */
    { 8, ROUND_NOT, CJI_AT_F64, false, false, false, false, UINT64_C(0x7fffffffffffffff) }, /* f64 */
    { 2, ROUND_NOT, CJI_AT_BF16, true, true, false, false, 0x7fff },                     /* bf16 */
    { 4, ROUND_NOT, CJI_AT_F32, true, false, false, false, 0x7fffffff },                 /* f32 FTZ */
    { 4, ROUND_TF32, CJI_AT_F32, false, false, false, false, 0x7fffffff },               /* tf32 */
    { 4, ROUND_TF32_FTZ, CJI_AT_F32, false, false, false, false, 0x7fffffff },           /* tf32, flushed */
};

unsigned cji_exec_tensor_element(unsigned type)
{
    return type < sizeof tile_types / sizeof *tile_types ? tile_types[type].bytes : 0;
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

/* Where a unit of shared memory goes: 32, 64 and 128 bytes exchange units by 1, 2 and 3 bits of the line's number. */
static uint64_t tile_unit(uint64_t address, unsigned swizzle)
{
    return address ^ (address >> 3 & (((1u << swizzle) - 1) << 4));
}

static uint32_t tile_round(uint32_t v, unsigned rounded)
{
    bool tiny = !(v & 0x7f800000);
    if (tiny && rounded == ROUND_TF32_FTZ) return v & 0x80000000;
    if ((v & 0x7f800000) == 0x7f800000) return v;
    return (v + 0xfff + (v >> 13 & 1)) & ~UINT32_C(0x1fff);    /* to nearest, ties to even */
}

static void tile_fill(unsigned char *row, uint64_t value, unsigned bytes, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) memcpy(row + (size_t)i * bytes, &value, bytes);
}

static void tile_round_row(unsigned char *row, unsigned rounded, uint32_t n)
{
    if (rounded == ROUND_NOT) return;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v;
        memcpy(&v, row + (size_t)i * 4, 4);
        v = tile_round(v, rounded);
        memcpy(row + (size_t)i * 4, &v, 4);
    }
}

static void tile_reduce(const cji_rec *r, unsigned type, unsigned char *to, const unsigned char *from, uint32_t n)
{
    const unsigned bytes = tile_types[type].bytes;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t v = 0;
        memcpy(&v, from + (size_t)i * bytes, bytes);
        cji_mem_reduce(r->k >> CJI_BU_SHIFT | tile_types[type].type, bytes, to + (size_t)i * bytes, v);
    }
}

/* ---- A tile ------------------------------------------------------------------------------------------------------ */

/* A row of the tile: its global address, and which of its elements [from, to) are inside of the tensor. */
typedef struct tile_row { uint64_t global; uint32_t from, to; } tile_row;

/* Behind the last of the elements that a row of the tile has of the tensor: a store takes whole units. */
static uint32_t tile_end(const cji_bulk *c, uint32_t elements)
{
    const uint32_t unit = TILE_UNIT / tile_types[c->map.type].bytes;
    return c->r->k & CJI_BU_STORE ? (elements + unit - 1) / unit * unit : elements;
}

static tile_row tile_row_at(const cji_bulk *c, const int64_t index[CJI_EXEC_TENSOR_DIMS])
{
    const cji_exec_tensor_map *m = &c->map;
    const unsigned bytes = tile_types[m->type].bytes;
    const int64_t extent = (int64_t)m->last[0] + 1, first = c->at[0];
    tile_row t = { .from = 0, .to = m->tile[0] };
    for (unsigned i = 1; i < m->dims; i++)
        if (index[i] < 0 || index[i] > m->last[i]) t.to = 0;
    if (first < 0) t.from = first < -(int64_t)m->tile[0] ? m->tile[0] : (uint32_t)-first;
    if (first + t.to > extent) t.to = first >= extent ? 0 : tile_end(c, (uint32_t)(extent - first));
    if (t.from >= t.to) return (tile_row){ 0 };
    t.global = m->address + (uint64_t)(first + t.from) * bytes;
    for (unsigned i = 1; i < m->dims; i++) t.global += (uint64_t)index[i] * m->stride[i - 1];
    return t;
}

static void tile_shared(const cji_bulk *c, unsigned char *shared, uint64_t done, unsigned char *row, uint32_t bytes)
{
    const uint64_t start = c->shared;
    for (uint32_t i = 0; i < bytes; i += TILE_UNIT) {
        unsigned char *at = shared + (tile_unit(start + done + i, c->map.swizzle) - start);
        if (c->r->k & CJI_BU_STORE) memcpy(row + i, at, TILE_UNIT);
        else memcpy(at, row + i, TILE_UNIT);
    }
}

static bool tile_copy_row(const cji_bulk *c, const int64_t index[CJI_EXEC_TENSOR_DIMS], unsigned char *shared,
                          uint64_t done)
{
    const cji_exec_tensor_map *m = &c->map;
    const unsigned bytes = tile_types[m->type].bytes, k = c->r->k;
    const tile_row t = tile_row_at(c, index);
    unsigned char row[TILE_ROW], *global = NULL;
    if (t.from < t.to) {
        global = cji_mem_range(c->w, c->r, c->lane, CJI_SP_GLOBAL, t.global, (t.to - t.from) * bytes, 1,
                               k & CJI_BU_REDUCE  ? CJI_EXEC_UPDATE
                               : k & CJI_BU_STORE ? CJI_EXEC_WRITE
                                                  : CJI_EXEC_READ);
        if (!global) return false;
    }
    if (k & CJI_BU_STORE) {
        if (!global) return true;
        tile_shared(c, shared, done, row, m->tile[0] * bytes);
        if (k & CJI_BU_REDUCE) tile_reduce(c->r, m->type, global, row + t.from * bytes, t.to - t.from);
        else memcpy(global, row + t.from * bytes, (size_t)(t.to - t.from) * bytes);
        return true;
    }
    const uint64_t fill = m->nan ? tile_types[m->type].nan : 0;
    tile_fill(row, fill, bytes, 0, t.from);
    if (global) memcpy(row + t.from * bytes, global, (size_t)(t.to - t.from) * bytes);
    tile_round_row(row + t.from * bytes, tile_types[m->type].rounded, t.to - t.from);
    tile_fill(row, fill, bytes, t.to, m->tile[0]);
    tile_shared(c, shared, done, row, m->tile[0] * bytes);
    return true;
}

bool cji_tile_copy(const cji_bulk *c)
{
    const cji_exec_tensor_map *m = &c->map;
    const uint32_t row = m->tile[0] * tile_types[m->type].bytes;
    const bool store = c->r->k & CJI_BU_STORE;
    unsigned char *shared = cji_mem_range(c->w, c->r, c->lane, c->r->space, c->shared, c->bytes, TILE_ALIGN,
                                          store ? CJI_EXEC_READ : CJI_EXEC_WRITE);
    if (!shared) return false;
    int64_t index[CJI_EXEC_TENSOR_DIMS];
    for (unsigned i = 0; i < m->dims; i++) index[i] = c->at[i];
    for (uint32_t done = 0; done < c->bytes; done += row) {
        if (!tile_copy_row(c, index, shared, done)) return false;
        for (unsigned i = 1; i < m->dims && (index[i] += m->step[i]) >= (int64_t)c->at[i] + m->tile[i]; i++)
            index[i] = c->at[i];
    }
    return store || cji_bulk_complete(c);
}

/* ---- Issuing ----------------------------------------------------------------------------------------------------- */

/* Are the fields what the driver's call writes? A kernel may have changed them. */
static bool tile_map_whole(const cji_exec_tensor_map *m)
{
    const unsigned bytes = cji_exec_tensor_element(m->type);
    if (m->magic != CJI_EXEC_TENSOR_MAGIC || !bytes || !m->dims || m->dims > CJI_EXEC_TENSOR_DIMS || m->swizzle > 3)
        return false;
    for (unsigned i = 0; i < m->dims; i++)
        if (!m->tile[i] || m->tile[i] > TILE_MOST || !m->step[i]) return false;
    return m->tile[0] * bytes % TILE_UNIT == 0;
}

static bool tile_map(cji_bulk *c, unsigned dims)
{
    cji_warp *w = c->w;
    const cji_rec *r = c->r;
    const unsigned char *p = cji_mem_range(w, r, c->lane, CJI_SP_GENERIC, c->other, sizeof c->map, 64, CJI_EXEC_READ);
    if (!p) return false;
    memcpy(&c->map, p, sizeof c->map);
    if (!tile_map_whole(&c->map)) {
        cji_fault(w, r, c->lane, CJI_EXEC_FAULT_ADDRESS, c->other,
                  "names 0x%llx as a tensor map, where there is none: cuTensorMapEncodeTiled makes them",
                  (unsigned long long)c->other);
        return false;
    }
    if (c->map.dims != dims) {
        cji_fault(w, r, c->lane, CJI_EXEC_FAULT_ADDRESS, c->other,
                  "has %u coordinates, and the tensor map %u dimensions",
                  dims, c->map.dims);
        return false;
    }
    return true;
}

static bool tile_reducible(const cji_bulk *c)
{
    static const char *const names[] = { "u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16", "f32",
                                         "tf32", "tf32" };
    const unsigned op = CJI_AT_OP(c->r->k >> CJI_BU_SHIFT), t = c->map.type;
    const bool can = op == CJI_AT_ADD                        ? tile_types[t].add
                     : op == CJI_AT_MIN || op == CJI_AT_MAX  ? tile_types[t].order
                     : op == CJI_AT_INC || op == CJI_AT_DEC  ? tile_types[t].count
                                                             : tile_types[t].bits;
    if (!can)
        cji_fault(c->w, c->r, c->lane, CJI_EXEC_FAULT_ADDRESS, c->other,
                  "reduces a tensor of %s by an operation that this type does not have", names[t]);
    return can;
}

/* What an H100 calls an illegal instruction. */
static bool tile_begins_well(const cji_bulk *c)
{
    const int64_t bytes = (int64_t)c->at[0] * tile_types[c->map.type].bytes;
    if (bytes % TILE_UNIT) {
        cji_fault(c->w, c->r, c->lane, CJI_EXEC_FAULT_OPERAND, 0,
                  "begins a tile at coordinate %d of dimension 0, %lld bytes from the tensor's beginning: a tile "
                  "begins at a multiple of 16 bytes", c->at[0], (long long)bytes);
        return false;
    }
    for (unsigned i = 0; i < c->map.dims && c->r->k & CJI_BU_STORE; i++)
        if (c->at[i] < 0) {
            cji_fault(c->w, c->r, c->lane, CJI_EXEC_FAULT_OPERAND, 0,
                      "begins a tile at coordinate %d of dimension %u: only loads may begin before the tensor",
                      c->at[i], i);
            return false;
        }
    return true;
}

void cji_h_tile(cji_warp *w, const cji_rec *r)
{
    const uint32_t *x = w->p->ext + r->target + CJI_BU_AT;
    CJI_EACH(i, w->mask) {
        cji_bulk c;
        if (!cji_bulk_begin(w, r, i, &c) || !tile_map(&c, r->count)) return;
        if (r->k & CJI_BU_REDUCE && !tile_reducible(&c)) return;
        c.bytes = c.map.tile[0] * tile_types[c.map.type].bytes;
        for (unsigned j = 0; j < r->count; j++) {
            c.at[j] = (int32_t)(uint32_t)cji_get(w, x[2 * j], x[2 * j + 1], i);
            if (j) c.bytes *= ((uint32_t)c.map.tile[j] + c.map.step[j] - 1) / c.map.step[j];
        }
        if (!tile_begins_well(&c) || !cji_bulk_issue(&c, TILE_ALIGN)) return;
    }
}
