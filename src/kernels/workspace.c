/* What a launch checks and gets before its kernels: workspace, rows. */
#include "kernels/kernels_core.h"

/* -- The object's pieces ------------------------------------------------------------------------------------------- */

static void slot_end_object(void *data)
{
    cjk_slot *slot = data;
    cj_event_free(slot->done);
    pthread_mutex_destroy(&slot->busy);
}
static const cj_object_type slot_type = {
    sizeof slot_type, "piece of workspace", sizeof(cjk_slot), slot_end_object
};

/* Or a failure is left in `object`. */
static cj_status slot_add(void *object, cjk_code *c, const char *call)
{
    cjk_slots *slots = &c->slots;
    void *made = cj_object_create(&slot_type, call);
    cjk_slot *slot = cj_object_data(made, &slot_type, object, call);
    if (!slot) return cj_object_free(made, &slot_type, call), CJ_ENOMEM;
    slot->at = cj_offset(slots->memory, (int64_t)(slots->count++ * slots->each));
    slot->object = made;
    slot->next = slots->first;
    slots->first = slot;
    pthread_mutex_init(&slot->busy, NULL);
    slot->done = cj_event_create(c->dev, NULL);
    return cj_object_fail_from(object, slot->done, call);
}

cj_status cjk_slots_take(void *object, cjk_code *c, uint32_t count, size_t each, const char *call)
{
    cjk_slots *slots = &c->slots;
    if (!count || !each) return CJ_OK;
    if (each > SIZE_MAX / 2 / count)
        return cjk_fail(object, CJ_EINVAL, call, "%u pieces of workspace of %zu bytes are beyond any memory", count,
                        each);
    slots->each = cjk_whole(each);
    slots->home = cj_stream_create(c->dev, NULL);
    slots->memory = cj_alloc(slots->home, slots->each * count);
    cj_stream_sync(slots->home);
    cj_status st = cj_object_fail_from(object, slots->home, call);
    while (st == CJ_OK && slots->count < count) st = slot_add(object, c, call);
    return st;
}

void cjk_slots_release(cjk_code *c)
{
    cjk_slots *slots = &c->slots;
    while (slots->first) {
        cjk_slot *slot = slots->first;
        slots->first = slot->next;
        cj_object_free(slot->object, &slot_type, "cj_object_free");
    }
    if (slots->memory.addr) cj_free(c->dev, slots->memory);
    cj_stream_free(slots->home);
}

/* The piece of the stream `id` if it has one; else one that no stream has had; else one that has served another
 * stream.  Its lock is held on return. */
static cjk_slot *slot_lock(cjk_slots *slots, uint64_t id)
{
    const uint64_t wanted[] = { id, 0 };
    for (size_t w = 0; w < sizeof wanted / sizeof *wanted; w++)
        for (cjk_slot *slot = slots->first; slot; slot = slot->next) {
            if (atomic_load_explicit(&slot->stream, memory_order_relaxed) != wanted[w]) continue;
            if (pthread_mutex_trylock(&slot->busy)) continue;
            if (atomic_load_explicit(&slot->stream, memory_order_relaxed) == wanted[w]) return slot;
            pthread_mutex_unlock(&slot->busy);
        }
    cjk_slot *slot = slots->first;
    uint32_t turn = atomic_fetch_add_explicit(&slots->next, 1, memory_order_relaxed) % slots->count;
    while (turn--) slot = slot->next;
    pthread_mutex_lock(&slot->busy);
    return slot;
}

static bool slot_begin(cj_stream *s, cjk_slots *slots, cjk_space *space)
{
    const uint64_t id = cj_stream_id(s);
    cjk_slot *slot = slot_lock(slots, id);
    cj_status st = CJ_OK;
    space->at = slot->at;
    if (atomic_load_explicit(&slot->stream, memory_order_relaxed) != id) st = cj_stream_wait(s, slot->done);
    if (st == CJ_OK) st = cj_stream_use(s, space->at);
    if (st == CJ_OK) space->slot = slot;
    else pthread_mutex_unlock(&slot->busy);
    return st == CJ_OK;
}

/* The stream counts as the last one although a failure may have left nothing of the launch in it: it has waited.  Where
 * its work cannot be marked, it ends here, and the piece is as one that no stream has had. */
static cj_status slot_end(cj_stream *s, cjk_slot *slot, cj_status st)
{
    cj_status recorded = cj_event_record(slot->done, s);
    if (recorded != CJ_OK) cj_stream_sync(s);
    atomic_store_explicit(&slot->stream, recorded == CJ_OK ? cj_stream_id(s) : 0, memory_order_relaxed);
    pthread_mutex_unlock(&slot->busy);
    return st == CJ_OK ? recorded : st;
}

/* -- Memory of graphs ---------------------------------------------------------------------------------------------- */

/* Memory for the capture of `s`, of another stream: what a capturing stream allocates and frees serves its later
 * launches too, and two executable graphs that run at once would meet there.  `zeros`: it is 0. */
static bool graph_begin(cj_stream *s, cjk_code *c, size_t need, bool zeros, cjk_space *space, const char *call)
{
    cj_stream *other = cj_stream_create(c->dev, NULL);
    space->captured = space->at = cj_alloc(other, need);
    if (zeros) cj_fill32(other, space->at, 0, need / 4);
    cj_stream_sync(other);
    bool fits = cj_object_fail_from(s, other, call) == CJ_OK && cj_stream_use(s, space->at) == CJ_OK;
    if (!fits && space->at.addr) cj_free(c->dev, space->at);
    cj_stream_free(other);
    return fits;
}

/* -- Workspace of a launch ----------------------------------------------------------------------------------------- */

bool cjk_space_begin(cj_stream *s, cjk_code *c, size_t need, const cj_workspace *given, cjk_space *space,
                     const char *call)
{
    *space = (cjk_space){ 0 };
    if (!need) return true;
    if (given && given->data.addr) {
        if (given->data.addr % 16)
            return cjk_fail(s, CJ_EINVAL, call, "the workspace at 0x%llx is not aligned to 16 bytes",
                            (unsigned long long)given->data.addr), false;
        if (given->bytes < need)
            return cjk_fail(s, CJ_EINVAL, call, "the workspace has %zu bytes, this launch needs %zu", given->bytes,
                            need),
                   false;
        space->at = given->data;
        return true;
    }
    if (cj_stream_is_capturing(s)) return graph_begin(s, c, need, false, space, call);
    if (need <= c->slots.each) return slot_begin(s, &c->slots, space);
    cjk_fail(s, CJ_EINVAL, call,
             "this launch needs a workspace of %zu bytes, and the object has pieces of %zu; "
             "hand one over in the arguments, or raise in_flight and the largest sizes in the options",
             need, c->slots.each);
    return false;
}

bool cjk_zeros_begin(cj_stream *s, cjk_code *c, size_t need, cjk_space *space, const char *call)
{
    *space = (cjk_space){ 0 };
    return graph_begin(s, c, need, true, space, call);
}

cj_status cjk_space_end(cj_stream *s, const cjk_code *c, cjk_space *space, cj_status st)
{
    if (space->captured.addr) cj_free(c->dev, space->captured);
    return space->slot ? slot_end(s, space->slot, st) : st;
}

/* -- Rows ---------------------------------------------------------------------------------------------------------- */

uint64_t cjk_distance(int64_t by, uint64_t n)
{
    uint64_t size = by < 0 ? 0 - (uint64_t)by : (uint64_t)by, out;
    return __builtin_mul_overflow(size, n, &out) ? UINT64_MAX : out;
}

enum { LARGEST_ELEMENTS = 32 }; /* bytes, and room to add distances */

bool cjk_batches_fit(int64_t by, uint64_t n)
{
    return n <= 1 || cjk_distance(by, n - 1) <= INT64_MAX / LARGEST_ELEMENTS;
}

bool cjk_elements_at(cj_stream *s, cj_dptr at, size_t size, const char *name, const char *call)
{
    if (!at.addr) return cjk_fail(s, CJ_EINVAL, call, "%s has no memory", name), false;
    if (at.addr % size == 0) return true;
    cjk_fail(s, CJ_EINVAL, call, "%s is at 0x%llx, which is not aligned to its elements of %zu bytes", name,
             (unsigned long long)at.addr, size);
    return false;
}

bool cjk_option_at(cj_stream *s, bool option, cj_dptr at, size_t size, const char *name, const char *call)
{
    if (option) return cjk_elements_at(s, at, size, name, call);
    if (!at.addr) return true;
    cjk_fail(s, CJ_EINVAL, call,
             "there is memory for %s, which the object was made without; set .%s = 1 in the options", name, name);
    return false;
}

bool cjk_matrix_of(cj_stream *s, const cj_rows *x, uint64_t rows, uint64_t columns, size_t size, const char *name,
                   cjk_matrix *out, const char *call)
{
    *out = (cjk_matrix){ x->data, x->stride, x->step ? x->step : 1 };
    if (out->step == CJ_ROWS_SAME) out->step = 0;
    if (out->stride == CJ_ROWS_SAME) out->stride = 0;
    else if (!out->stride) out->stride = out->step ? (int64_t)(columns * (uint64_t)out->step) : 1;
    if (!rows || !columns) return true;
    if (!cjk_elements_at(s, x->data, size, name, call)) return false;
    uint64_t down = cjk_distance(out->stride, rows - 1), along = cjk_distance(out->step, columns - 1);
    if (down > INT64_MAX / LARGEST_ELEMENTS || along > INT64_MAX / LARGEST_ELEMENTS)
        return cjk_fail(s, CJ_EINVAL, call,
                        "%s: %llu rows of %llu elements with a stride of %lld and a step of %lld are "
                        "beyond any memory",
                        name, (unsigned long long)rows, (unsigned long long)columns, (long long)out->stride,
                        (long long)out->step),
               false;
    return true;
}

/* They meet where x * a = y * b for x < na and y < nb, neither of them 0: the least such x is b / gcd(a, b). */
bool cjk_places_meet(int64_t a, uint64_t na, int64_t b, uint64_t nb)
{
    uint64_t p = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, q = b < 0 ? 0 - (uint64_t)b : (uint64_t)b, x = p, y = q;
    if ((na > 1 && !p) || (nb > 1 && !q)) return true;
    if (na <= 1 || nb <= 1 || p / q >= nb || q / p >= na) return false;
    while (y) {
        uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return q / x < na && p / x < nb;
}

bool cjk_results_of(cj_stream *s, const cj_rows *x, uint64_t rows, uint64_t columns, size_t size, cjk_matrix *out,
                    const char *call)
{
    bool one_row = x->stride == CJ_ROWS_SAME && rows > 1, one_column = x->step == CJ_ROWS_SAME && columns > 1;
    if (!one_row && !one_column) {
        if (!cjk_matrix_of(s, x, rows, columns, size, "out", out, call)) return false;
        if (!columns || !cjk_places_meet(out->stride, rows, out->step, columns)) return true;
        cjk_fail(s, CJ_EINVAL, call,
                 "out: %llu rows of %llu elements with a stride of %lld and a step of %lld have several elements in "
                 "one place", (unsigned long long)rows, (unsigned long long)columns, (long long)out->stride,
                 (long long)out->step);
        return false;
    }
    cjk_fail(s, CJ_EINVAL, call, "out: a %s of CJ_ROWS_SAME puts all %s in one place; it is for what is read",
             one_row ? "stride" : "step", one_row ? "rows" : "columns");
    return false;
}

cj_status cjk_launch(cj_stream *s, const cjk_code *c, unsigned i, const uint32_t grid[3], uint32_t threads,
                     const cj_arg *args, size_t count)
{
    const cj_dims dims = cj_grid3(grid[0], grid[1], grid[2], threads, 1, 1);
    return cj_launch_n(s, c->k[i], &dims, args, count);
}
