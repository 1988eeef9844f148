/* Pageable host memory, copied through pinned pieces, so that a copy never blocks its caller and never reads its
 * source late.
 *
 * A copy of rows (a plain copy is one row) is cut into parts that fit a piece: some rows, or a part of one.  In a
 * piece rows lie one behind the other.  To the device: the part is copied into a piece at once and from there by the
 * driver; an event behind that tells when the piece is idle again.  To the host: the driver copies into the piece,
 * and a host function in the stream copies on to the destination and marks the piece idle.  In a capture both ends
 * are touched at each launch, so the host's part is a host function in both directions, and the piece belongs to the
 * graph.
 *
 * There are always as many pieces as copies under way need: waiting for an earlier copy would block the caller.
 * Small pieces are cut from slabs and stay; large ones are slabs of their own and go back when the device is
 * collected. */
#include <string.h>

#include "base/handover.h"
#include "base/mem.h"
#include "stream/memory/stream_memory.h"

enum { STAGE_CLASSES = 3 };
static const struct stage_class {
    size_t bytes, pieces;
} stage_classes[STAGE_CLASSES] = {
    { 4096, 64 },
    { 65536, 16 },
    { 4 << 20, 1 },
};

struct cji_stage {
    cji_stage *next;
    cji_staging *home;
    struct cji_slab *slab;
    char *pinned;
    unsigned class;
    CUevent event;    /* behind the copy from the piece; NULL until it is needed */
    bool by_event;    /* idle when the event is reached; else when `done` is set */
    atomic_bool done; /* set by the host function */
    void *to;         /* what the host function copies: rows of `width` bytes */
    const void *from;
    size_t to_pitch, from_pitch, width, rows;
};

typedef struct cji_slab {
    struct cji_slab *next;
    void *pinned;
    unsigned class;
    cji_stage piece[]; /* as many as the class says */
} cji_slab;

static size_t slab_size(unsigned class) { return sizeof(cji_slab) + stage_classes[class].pieces * sizeof(cji_stage); }

void cji_staging_init(cji_staging *st, const cji_release_queue *queue)
{
    *st = (cji_staging){ .queue = queue };
    pthread_mutex_init(&st->lock, NULL);
}

/* -- Slabs; with the lock held, context current -------------------------------------------------------------------- */

static void slab_free(cji_staging *st, cji_slab *slab)
{
    for (size_t i = 0; i < stage_classes[slab->class].pieces; i++)
        if (slab->piece[i].event) st->queue->cu->cuEventDestroy(slab->piece[i].event);
    st->queue->cu->cuMemFreeHost(slab->pinned);
    cji_free(slab, slab_size(slab->class));
}

void cji_staging_fini(cji_staging *st)
{
    for (cji_slab *slab = st->slabs, *next; slab; slab = next) {
        next = slab->next;
        slab_free(st, slab);
    }
    pthread_mutex_destroy(&st->lock);
}

/* Makes a slab and puts its pieces into the idle list; context current. */
static CUresult slab_make(cji_staging *st, unsigned class)
{
    const struct stage_class *c = &stage_classes[class];
    cji_slab *slab = cji_zalloc(slab_size(class));
    if (!slab) return CUDA_ERROR_OUT_OF_MEMORY;
    cji_scope scope;
    cji_queue_scope(st->queue, &scope);
    CUresult r = st->queue->cu->cuMemHostAlloc(&slab->pinned, c->bytes * c->pieces, CU_MEMHOSTALLOC_PORTABLE);
    cji_scope_leave(&scope);
    if (r != CUDA_SUCCESS) {
        cji_free(slab, slab_size(class));
        return r;
    }
    slab->class = class;
    slab->next = st->slabs;
    st->slabs = slab;
    for (size_t i = c->pieces; i-- > 0;) {
        cji_stage *p = &slab->piece[i];
        p->home = st;
        p->slab = slab;
        cji_handover_flag(&p->done, sizeof p->done);
        p->class = class;
        p->pinned = (char *)slab->pinned + i * c->bytes;
        p->next = st->idle[class];
        st->idle[class] = p;
    }
    return CUDA_SUCCESS;
}

/* -- Pieces -------------------------------------------------------------------------------------------------------- */

static bool stage_is_idle(const cji_staging *st, cji_stage *p)
{
    if (!p->by_event) {
        if (!atomic_load_explicit(&p->done, memory_order_acquire)) return false;
        cji_handover_take(&p->done);
        return true;
    }
    return st->queue->cu->cuEventQuery(p->event) != CUDA_ERROR_NOT_READY;
}

/* Moves what is idle from the busy list; with the lock held.  The thread's mode is relaxed meanwhile: these are
 * queries. */
static void staging_reap(cji_staging *st)
{
    cji_scope scope;
    cji_queue_scope(st->queue, &scope);
    for (cji_stage **at = &st->busy; *at;) {
        cji_stage *p = *at;
        if (!stage_is_idle(st, p)) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        p->next = st->idle[p->class];
        st->idle[p->class] = p;
    }
    cji_scope_leave(&scope);
}

/* A piece that holds up to `want` bytes of a copy; *room is how many.  NULL with *r. */
static cji_stage *stage_take(cji_staging *st, size_t want, size_t *room, CUresult *r)
{
    unsigned class = 0;
    while (class < STAGE_CLASSES - 1 && want > stage_classes[class].bytes) class ++;
    *room = want < stage_classes[class].bytes ? want : stage_classes[class].bytes;
    *r = CUDA_SUCCESS;
    cji_lock(&st->lock, CJI_LOCK_STAGING);
    if (!st->idle[class]) staging_reap(st);
    if (!st->idle[class]) *r = slab_make(st, class);
    cji_stage *p = st->idle[class];
    if (p) {
        st->idle[class] = p->next;
        p->next = NULL;
        atomic_store(&p->done, false);
        p->by_event = false;
    }
    cji_unlock(&st->lock, CJI_LOCK_STAGING);
    return p;
}

static void stage_put(cji_stage *p, bool idle)
{
    cji_staging *st = p->home;
    cji_lock(&st->lock, CJI_LOCK_STAGING);
    cji_stage **list = idle ? &st->idle[p->class] : &st->busy;
    p->next = *list;
    *list = p;
    cji_unlock(&st->lock, CJI_LOCK_STAGING);
}

/* The graph that retained a piece is gone. */
static void stage_release(void *piece) { stage_put(piece, true); }
static const cji_ref_type ref_stage = { stage_release };

void cji_staging_trim(cji_staging *st)
{
    const unsigned class = STAGE_CLASSES - 1;
    cji_lock(&st->lock, CJI_LOCK_STAGING);
    staging_reap(st);
    for (cji_stage *p = st->idle[class], *next; p; p = next) {
        next = p->next;
        cji_slab **at = &st->slabs;
        while (*at != p->slab) at = &(*at)->next;
        *at = p->slab->next;
        slab_free(st, p->slab);
    }
    st->idle[class] = NULL;
    cji_unlock(&st->lock, CJI_LOCK_STAGING);
}

static void rows_pass(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t rows)
{
    for (size_t i = 0; i < rows; i++) memcpy((char *)to + i * to_pitch, (const char *)from + i * from_pitch, width);
}

/* The host functions.  They touch nothing of the driver, and no lock. */
static void stage_pass(void *user)
{
    const cji_stage *p = user;
    rows_pass(p->to, p->to_pitch, p->from, p->from_pitch, p->width, p->rows);
}

static void stage_pass_last(void *user)
{
    cji_stage *p = user;
    stage_pass(p);
    cji_handover_give(&p->done);
    atomic_store_explicit(&p->done, true, memory_order_release);
}

bool cji_stage_has(CUhostFn fn) { return fn == stage_pass || fn == stage_pass_last; }

/* What the host function of a part does. */
static void stage_job(cji_stage *p, const cji_rows *part)
{
    p->to = part->to ? part->to : p->pinned;
    p->from = part->to ? p->pinned : part->from;
    p->to_pitch = part->to ? part->host_pitch : part->width;
    p->from_pitch = part->to ? part->width : part->host_pitch;
    p->width = part->width;
    p->rows = part->rows;
}

/* -- Parts of a copy ----------------------------------------------------------------------------------------------- */

/* The driver's copy between a piece and the device, and its name. */
static CUresult part_enqueue(cj_stream *s, const cji_stage *p, const cji_rows *part, const char **cu_call)
{
    CUDA_MEMCPY2D c = { .WidthInBytes = part->width, .Height = part->rows };
    if (part->rows == 1) {
        *cu_call = part->to ? "cuMemcpyDtoHAsync" : "cuMemcpyHtoDAsync";
        return part->to ? s->cu->cuMemcpyDtoHAsync(p->pinned, part->dev, part->width, s->raw)
                        : s->cu->cuMemcpyHtoDAsync(part->dev, p->pinned, part->width, s->raw);
    }
    c.srcMemoryType = part->to ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    c.dstMemoryType = part->to ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    c.srcHost = part->to ? NULL : p->pinned;
    c.dstHost = part->to ? p->pinned : NULL;
    c.srcDevice = part->to ? part->dev : 0;
    c.dstDevice = part->to ? 0 : part->dev;
    c.srcPitch = part->to ? part->dev_pitch : part->width;
    c.dstPitch = part->to ? part->width : part->dev_pitch;
    *cu_call = "cuMemcpy2DAsync";
    return s->cu->cuMemcpy2DAsync(&c, s->raw);
}

/* Puts an event behind what the stream has of the piece; without one it can only wait for the device's end. */
static CUresult stage_mark(cj_stream *s, cji_stage *p)
{
    CUresult r = p->event ? CUDA_SUCCESS : s->cu->cuEventCreate(&p->event, CU_EVENT_DISABLE_TIMING);
    if (r == CUDA_SUCCESS) r = s->cu->cuEventRecord(p->event, s->raw);
    p->by_event = r == CUDA_SUCCESS;
    stage_put(p, false);
    return r;
}

/* A captured part: the graph retains the piece before anything of it is captured. */
static cj_status stage_retain(cji_capture *c, cji_stage *p, cj_stream *s, const char *call)
{
    bool had;
    if (cji_capture_retains(c, &ref_stage, p, &had) && !had) return CJ_OK;
    stage_put(p, true);
    return cji_fail(s, CJ_ENOMEM, call, "no host memory to keep a staging buffer for the graph");
}

static cj_status part_to_device(cj_stream *s, cji_stage *p, const cji_rows *part, const char *call)
{
    const char *cu_call;
    rows_pass(p->pinned, part->width, part->from, part->host_pitch, part->width, part->rows);
    CUresult r = part_enqueue(s, p, part, &cu_call);
    if (r != CUDA_SUCCESS) {
        stage_put(p, true);
    } else {
        r = stage_mark(s, p);
        cu_call = "cuEventRecord";
    }
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(s, s->dev, r, call, cu_call);
}

static cj_status part_to_host(cj_stream *s, cji_stage *p, const cji_rows *part, const char *call)
{
    const char *cu_call;
    stage_job(p, part);
    CUresult r = part_enqueue(s, p, part, &cu_call);
    if (r != CUDA_SUCCESS) {
        stage_put(p, true);
        return cji_rejected(s, s->dev, r, call, cu_call);
    }
    r = s->cu->cuLaunchHostFunc(s->raw, stage_pass_last, p);
    if (r == CUDA_SUCCESS) {
        stage_put(p, false);
        return CJ_OK;
    }
    stage_mark(s, p);
    return cji_rejected(s, s->dev, r, call, "cuLaunchHostFunc");
}

static cj_status part_captured(cj_stream *s, cji_stage *p, const cji_rows *part, const char *call)
{
    const char *cu_call = "cuLaunchHostFunc";
    CUresult r = CUDA_SUCCESS;
    stage_job(p, part);
    if (!part->to) r = s->cu->cuLaunchHostFunc(s->raw, stage_pass, p);
    if (r == CUDA_SUCCESS) r = part_enqueue(s, p, part, &cu_call);
    if (part->to && r == CUDA_SUCCESS) cu_call = "cuLaunchHostFunc", r = s->cu->cuLaunchHostFunc(s->raw, stage_pass, p);
    return r == CUDA_SUCCESS ? CJ_OK : cji_rejected(s, s->dev, r, call, cu_call);
}

/* The part of `all` that begins at row `y`, byte `x`, and fits into `room` bytes. */
static cji_rows part_of(const cji_rows *all, size_t y, size_t x, size_t room)
{
    cji_rows part = *all;
    const bool whole = !x && room >= all->width;
    part.width = whole ? all->width : all->width - x < room ? all->width - x : room;
    part.rows = whole ? room / all->width : 1;
    part.dev += y * all->dev_pitch + x;
    if (all->to) part.to = (char *)all->to + y * all->host_pitch + x;
    if (all->from) part.from = (const char *)all->from + y * all->host_pitch + x;
    return part;
}

cj_status cji_staging_copy(cj_stream *s, cji_staging *st, const cji_rows *all, const char *call)
{
    const size_t most = stage_classes[STAGE_CLASSES - 1].bytes;
    cji_capture *c = cji_capture_of(s);
    cj_status status = CJ_OK;
    for (size_t y = 0, x = 0; y < all->rows && status == CJ_OK;) {
        size_t room;
        CUresult r;
        cji_stage *p =
            stage_take(st, x || all->width > most ? all->width - x : all->width * (all->rows - y), &room, &r);
        if (!p) {
            status = cji_rejected(s, s->dev, r, call, "cuMemHostAlloc");
            break;
        }
        cji_rows part = part_of(all, y, x, room);
        if (c) {
            status = stage_retain(c, p, s, call);
            if (status == CJ_OK) status = part_captured(s, p, &part, call);
        } else {
            status = all->to ? part_to_host(s, p, &part, call) : part_to_device(s, p, &part, call);
        }
        x += part.width;
        if (x < all->width) continue;
        x = 0;
        y += part.rows;
    }
    cji_capture_drop(c);
    return status;
}
