/* Rows in registers: see row_values.h. */
#include "kernels/row_values.h"

cjk_shape cjk_shape_of(uint64_t columns, size_t bytes, bool vectors)
{
    cjk_shape s = { .threads = CJK_THREADS, .vector = 1 };
    if (!columns || columns > CJK_KNOWN_MOST) return s;
    s.columns = columns;
    s.vector = vectors ? (uint32_t)(16 / bytes) : 1;
    uint64_t chunks = columns / s.vector, each = vectors ? 4 : 8;
    s.threads = (uint32_t)((chunks + each - 1) / each + 31) / 32 * 32;
    if (s.threads > 1024) s.threads = 1024;
    s.chunks = (uint32_t)((chunks + s.threads - 1) / s.threads);
    return s;
}

/* -- Rows ---------------------------------------------------------------------------------------------------------- */

/* The predicate of chunk k, the null value if each thread has it. */
static cj_val chunk_inside(cj_fn *f, const cjk_shape *s, unsigned k)
{
    uint64_t chunks = s->columns / s->vector, before = (uint64_t)k * s->threads;
    if (before + s->threads <= chunks) return (cj_val){ 0 };
    return cj_lt(f, cj_thread_id(f, CJ_X), chunks - before);
}

/* The address of chunk k of the thread: vectors have no step. */
static cj_val chunk_at(cj_fn *f, const cjk_shape *s, const cjk_operand *x, cj_val begin, unsigned k)
{
    cj_val chunk = cj_add(f, cjk_thread(f), (uint64_t)k * s->threads);
    if (s->vector == 1) return cjk_column(f, x, begin, chunk);
    cj_val at = cj_mad(f, chunk, s->vector * cjk_size(x->type), cj_addr(f, begin));
    return cj_as_ptr(f, at, x->type, CJ_SPACE_GLOBAL);
}

void cjk_chunk_load(cj_fn *f, const cjk_shape *s, const cjk_operand *x, cj_val begin, unsigned k, float neutral,
                    cjk_read how, cjk_row_values *out)
{
    cjk_raw raw;
    cj_val loaded[CJK_VECTOR], p = out->inside[k] = chunk_inside(f, s, k);
    if (p.bits) {
        for (unsigned i = 0; i < s->vector; i++) out->v[k][i] = cj_let(f, CJ_F32, cj_imm_f32(f, neutral));
        cj_if(f, p);
    }
    cj_val at = chunk_at(f, s, x, begin, k);
    if (s->vector == 1) loaded[0] = cjk_load(f, x->type, at, CJ_F32);
    else {
        cjk_raw_load(f, x->type, at, 0, s->vector, how, &raw);
        cjk_raw_values(f, x->type, &raw, s->vector, CJ_F32, loaded);
    }
    for (unsigned i = 0; i < s->vector; i++) {
        if (p.bits) cj_assign(f, out->v[k][i], loaded[i]);
        else out->v[k][i] = loaded[i];
    }
    if (p.bits) cj_end(f);
}

void cjk_row_load(cj_fn *f, const cjk_shape *s, const cjk_operand *x, cj_val begin, float neutral, cjk_row_values *out)
{
    for (unsigned k = 0; k < s->chunks; k++) cjk_chunk_load(f, s, x, begin, k, neutral, CJK_READ_ONCE, out);
}

void cjk_chunk_store(cj_fn *f, const cjk_shape *s, const cjk_operand *x, cj_val begin, unsigned k,
                     const cjk_row_values *v)
{
    if (v->inside[k].bits) cj_if(f, v->inside[k]);
    cj_val at = chunk_at(f, s, x, begin, k);
    if (s->vector == 1) cjk_store(f, x->type, at, v->v[k][0]);
    else cjk_vector_store(f, x->type, at, 0, s->vector, v->v[k]);
    if (v->inside[k].bits) cj_end(f);
}

void cjk_row_store(cj_fn *f, const cjk_shape *s, const cjk_operand *x, cj_val begin, const cjk_row_values *v)
{
    for (unsigned k = 0; k < s->chunks; k++) cjk_chunk_store(f, s, x, begin, k, v);
}

cj_val cjk_row_inside(cj_fn *f, const cjk_row_values *r, unsigned k, cj_val v, float other)
{
    return r->inside[k].bits ? cj_select(f, r->inside[k], v, other) : v;
}

void cjk_row_join(cj_fn *f, const cjk_shape *s, cj_combine_op op, cj_val v, cj_val *total)
{
    /* Each call has memory of its own, which is used once in the life of a block. */
    const cj_thread_group all = { .threads = s->threads, .once = 1 };
    cj_block_reduce(f, op, v, &all, total);
}
