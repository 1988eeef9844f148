/* What a launch checks and gets before its kernels: workspace, rows. */
#include "kernels/kernels_core.h"

/* Memory of captured launches: a list of objects, the latest first.  It is freed with the object; graphs keep it. */
typedef struct cjk_captured { cj_device *dev; cj_dptr memory; void *next; } cjk_captured;

static void captured_end(void *data)
{
    cjk_captured *c = data;
    if (c->memory.addr) cj_free(c->dev, c->memory);
}
static const cj_object_type captured_type = {
    sizeof captured_type, "captured workspace", sizeof(cjk_captured), captured_end
};

/* Memory that is 0, and which the capture of `s` uses.  It is set now, by a stream of its own. */
static cj_dptr alloc_zeros(cj_stream *s, cj_device *dev, size_t need, const char *call)
{
    cj_stream *other = cj_stream_create(dev, NULL);
    cj_dptr memory = cj_alloc(other, need);
    cj_fill32(other, memory, 0, need / 4);
    cj_stream_sync(other);
    if (cj_object_fail_from(s, other, call) != CJ_OK || cj_stream_use(s, memory) != CJ_OK) {
        if (memory.addr) cj_free(dev, memory);
        memory.addr = 0;
    }
    cj_stream_free(other);
    return memory;
}

static cj_dptr take_captured(cj_stream *s, cjk_code *c, size_t need, bool zeros, const char *call)
{
    void *made = cj_object_create(&captured_type, call);
    cjk_captured *own = cj_object_data(made, &captured_type, s, call);
    if (own) *own = (cjk_captured){ .dev = c->dev };
    if (own) own->memory = zeros ? alloc_zeros(s, c->dev, need, call) : cj_alloc(s, need);
    if (!own || !own->memory.addr) {
        cj_object_free(made, &captured_type, call);
        return (cj_dptr){ 0 };
    }
    own->next = atomic_load(&c->captured);
    while (!atomic_compare_exchange_weak(&c->captured, &own->next, made)) continue;
    return own->memory;
}

void cjk_space_release(cjk_code *c)
{
    for (void *object = atomic_load(&c->captured), *next; object; object = next) {
        cjk_captured *own = cj_object_data(object, &captured_type, NULL, "cj_object_free");
        next = own ? own->next : NULL;
        cj_object_free(object, &captured_type, "cj_object_free");
    }
}

bool cjk_space_begin(cj_stream *s, cjk_code *c, size_t need, const cj_workspace *given, cj_dptr *space,
                     const char *call)
{
    cjk_slots *slots = &c->slots;
    space->addr = 0;
    if (!need) return true;
    if (given && given->data.addr) {
        if (given->data.addr % 16)
            return cjk_fail(s, CJ_EINVAL, call, "the workspace at 0x%llx is not aligned to 16 bytes",
                            (unsigned long long)given->data.addr), false;
        if (given->bytes < need)
            return cjk_fail(s, CJ_EINVAL, call, "the workspace has %zu bytes, this launch needs %zu", given->bytes,
                            need),
                   false;
        *space = given->data;
        return true;
    }
    if (cj_stream_is_capturing(s)) {
        *space = take_captured(s, c, need, false, call);
        return space->addr != 0;
    }
    if (need > slots->each)
        return cjk_fail(s, CJ_EINVAL, call,
                        "this launch needs a workspace of %zu bytes, and the object has pieces of %zu; "
                        "hand one over in the arguments, or raise in_flight and the largest sizes in the options",
                        need, slots->each),
               false;
    uint32_t turn = atomic_fetch_add_explicit(&slots->next, 1, memory_order_relaxed) % slots->count;
    *space = cj_offset(slots->memory, (int64_t)(turn * slots->each));
    return cj_stream_use(s, *space) == CJ_OK;
}

bool cjk_zeros_begin(cj_stream *s, cjk_code *c, size_t need, cj_dptr *zeros, const char *call)
{
    *zeros = take_captured(s, c, need, true, call);
    return zeros->addr != 0;
}

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
    else if (!out->stride) out->stride = (int64_t)(out->step ? columns * (uint64_t)out->step : columns);
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
