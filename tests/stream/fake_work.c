/* The fake driver: its memory, the work in its streams, captures. */
#include "tests/stream/fake_parts.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

fake_world fake_now = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* -- Memory of the fake itself: whatever a test made it lose goes with fake_clean() --------------------------------------- */

typedef struct fake_piece { struct fake_piece *next, **at; _Alignas(16) char data[]; } fake_piece;
static fake_piece *pieces;

void *fake_new(size_t size)
{
    fake_piece *p = calloc(1, sizeof *p + size);
    if (!p) abort();
    p->next = pieces;
    p->at = &pieces;
    if (pieces) pieces->at = &p->next;
    pieces = p;
    return p->data;
}

void fake_delete(void *data)
{
    if (!data) return;
    fake_piece *p = (fake_piece *)(void *)((char *)data - offsetof(fake_piece, data));
    *p->at = p->next;
    if (p->next) p->next->at = p->at;
    free(p);
}

/* -- The memory that it gives out ------------------------------------------------------------------------------------ */

void *fake_block_make(size_t bytes, bool device)
{
    fake_block *b = fake_new(sizeof *b);
    b->at = fake_new(bytes);
    b->bytes = bytes;
    b->device = device;
    b->next = fake_now.blocks;
    fake_now.blocks = b;
    *(device ? &fake.allocated : &fake.pinned) += 1;
    return b->at;
}

CUresult fake_block_free(uint64_t at)
{
    for (fake_block **b = &fake_now.blocks; *b; b = &(*b)->next) {
        fake_block *gone = *b;
        if ((uintptr_t)gone->at != at) continue;
        if (gone->graph) return CUDA_SUCCESS;
        *b = gone->next;
        *(gone->device ? &fake.allocated : &fake.pinned) -= 1;
        fake_delete(gone->at);
        fake_delete(gone);
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

void fake_block_belongs(uint64_t at, fake_graph *g)
{
    for (fake_block *b = fake_now.blocks, *next; b; b = next) {
        next = b->next;
        if (at && (uintptr_t)b->at == at) b->graph = g;
        if (at || b->graph != g) continue;
        b->graph = NULL;
        fake_block_free((uintptr_t)b->at);
    }
}

unsigned fake_memory_type(uint64_t p)
{
    for (fake_block *b = fake_now.blocks; b; b = b->next)
        if (p - (uintptr_t)b->at < b->bytes) return b->device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    return 0;
}

void fake_clean(void)
{
    while (pieces) fake_delete(pieces->data);
    memset(fake_now.streams, 0, sizeof fake_now.streams);
    memset(&fake_now.legacy, 0, sizeof fake_now.legacy);
    memset(&fake_now.per_thread, 0, sizeof fake_now.per_thread);
    fake_now.blocks = NULL;
    fake_now.open_session = NULL;
    fake_now.sessions_open = 0;
}

/* -- Running --------------------------------------------------------------------------------------------------------- */

static void op_run(const fake_op *o)
{
    void *to = (void *)(uintptr_t)o->arg[0];
    switch (o->id) {
    case CJI_CU_ID_cuLaunchKernel: fake.launches++; break;
    case CJI_CU_ID_cuMemcpyHtoDAsync:
    case CJI_CU_ID_cuMemcpyDtoHAsync:
    case CJI_CU_ID_cuMemcpyDtoDAsync: memcpy(to, (void *)(uintptr_t)o->arg[1], o->arg[2]); break;
    case CJI_CU_ID_cuMemsetD8Async: memset(to, (int)o->arg[1], o->arg[2]); break;
    case CJI_CU_ID_cuMemsetD16Async:
        for (size_t i = 0; i < o->arg[2]; i++) ((uint16_t *)to)[i] = (uint16_t)o->arg[1];
        break;
    case CJI_CU_ID_cuMemsetD32Async:
        for (size_t i = 0; i < o->arg[2]; i++) ((uint32_t *)to)[i] = (uint32_t)o->arg[1];
        break;
    case CJI_CU_ID_cuMemFreeAsync: fake_block_free(o->arg[0]); break;
    case CJI_CU_ID_cuStreamAddCallback:
        ((CUstreamCallback)(uintptr_t)o->arg[0])((CUstream)(uintptr_t)o->arg[2], fake_now.sticky, (void *)(uintptr_t)o->arg[1]);
        break;
    case CJI_CU_ID_cuStreamWriteValue32: *(uint32_t *)to = (uint32_t)o->arg[1]; break;
    case CJI_CU_ID_cuStreamWriteValue64: *(uint64_t *)to = o->arg[1]; break;
    case CJI_CU_ID_cuLaunchHostFunc: ((CUhostFn)(uintptr_t)o->arg[0])((void *)(uintptr_t)o->arg[1]); break;
    case CJI_CU_ID_cuGraphLaunch:
        for (const fake_op *n = ((fake_graph *)(uintptr_t)o->arg[0])->ops; n; n = n->next) op_run(n);
        break;
    default: break;
    }
}

fake_stream *fake_stream_at(uint64_t raw)
{
    if (raw == (uintptr_t)CU_STREAM_LEGACY) return &fake_now.legacy;
    return raw == (uintptr_t)CU_STREAM_PER_THREAD ? &fake_now.per_thread : (fake_stream *)(uintptr_t)raw;
}

void fake_append(fake_op **list, int id, const uint64_t *a)
{
    while (*list) list = &(*list)->next;
    *list = fake_new(sizeof **list);
    (*list)->id = id;
    memcpy((*list)->arg, a, sizeof (*list)->arg);
}

/* Work for a stream: captured, held, or run. */
CUresult fake_give(fake_stream *s, int id, const uint64_t *a)
{
    if (fake_now.sticky) return fake_now.sticky;
    if (s->foreign) return CUDA_SUCCESS;
    if (s->session) {
        if (s->session->broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        fake_append(&s->session->graph->ops, id, a);
        s->session->graph->nodes++;
        return CUDA_SUCCESS;
    }
    fake_op o = { .id = id };
    memcpy(o.arg, a, sizeof o.arg);
    s->given++;
    if (s->held) {
        fake_append(&s->first, id, a);
        return CUDA_SUCCESS;
    }
    op_run(&o);
    s->done = s->given;
    return CUDA_SUCCESS;
}

/* A wait is none here, as one of its own is none. */
static int value_id(const CUstreamBatchMemOpParams *p)
{
    if (p->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64) return CJI_CU_ID_cuStreamWriteValue64;
    return p->operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 ? CJI_CU_ID_cuStreamWriteValue32 : CJI_CU_ID_cuStreamWaitValue32;
}

CUresult fake_give_values(fake_stream *s, unsigned count, const CUstreamBatchMemOpParams *p)
{
    CUresult r = CUDA_SUCCESS;
    for (unsigned i = 0; i < count && r == CUDA_SUCCESS; i++)
        r = fake_give(s, value_id(&p[i]), (const uint64_t[5]){ p[i].writeValue.address, p[i].writeValue.value64 });
    return r;
}

void fake_node_values(fake_graph *g, unsigned count, const CUstreamBatchMemOpParams *p)
{
    for (unsigned i = 0; i < count; i++) fake_append(&g->ops, value_id(&p[i]), (const uint64_t[5]){ p[i].writeValue.address, p[i].writeValue.value64 });
    g->nodes++;
}

void fake_drop_ops(fake_op *o)
{
    for (fake_op *next; o; o = next) next = o->next, fake_delete(o);
}

void fake_hold(void *raw) { ((fake_stream *)raw)->held = true; }
void fake_let_go(void *raw)
{
    pthread_mutex_lock(&fake_now.lock);
    fake_stream *s = raw;
    for (fake_op *o = s->first; o; o = o->next) op_run(o);
    fake_drop_ops(s->first);
    s->first = NULL;
    s->held = false;
    s->done = s->given;
    pthread_mutex_unlock(&fake_now.lock);
}

void fake_capture_foreign(void *raw, bool on) { fake_stream_at((uintptr_t)raw)->foreign = on; }

void fake_die(CUresult result)
{
    fake_now.sticky = result;
    for (size_t i = 0; result && i < 256; i++) {
        fake_stream *s = fake_now.streams[i];
        if (!s) continue;
        for (const fake_op *o = s->first; o; o = o->next)
            if (o->id == CJI_CU_ID_cuStreamAddCallback) op_run(o);
        fake_drop_ops(s->first);
        s->first = NULL;
        s->done = s->given;
    }
}

/* -- Captures -------------------------------------------------------------------------------------------------------- */

/* A call that an open capture of another stream does not bear: see the table of measured calls. */
CUresult fake_unsafe(int id)
{
    if (!fake_now.sessions_open || fake_relaxed()) return CUDA_SUCCESS;
    bool same = pthread_equal(fake_now.open_session->thread, pthread_self());
    if (fake_now.open_session->mode == CU_STREAM_CAPTURE_MODE_RELAXED || (fake_now.open_session->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL && !same))
        return CUDA_SUCCESS;
    fake.harmed = cji_cu_rows[id].name;
    fake_now.open_session->broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult fake_harm(fake_session *c, int id, CUresult r)
{
    fake.harmed = cji_cu_rows[id].name;
    c->broken = true;
    return r;
}

CUresult fake_capture_start(fake_stream *s, CUstreamCaptureMode mode)
{
    if (s->session) return CUDA_ERROR_ILLEGAL_STATE;
    fake_session *c = fake_new(sizeof *c);
    c->origin = s;
    c->graph = fake_new(sizeof *c->graph);
    c->mode = mode;
    c->thread = pthread_self();
    s->session = c;
    fake_now.open_session = c;
    fake_now.sessions_open++;
    return CUDA_SUCCESS;
}

CUresult fake_capture_stop(fake_stream *s, CUgraph *out)
{
    fake_session *c = s->session;
    *out = NULL;
    if (!c) return CUDA_ERROR_ILLEGAL_STATE;
    if (c->origin != s) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    for (size_t i = 0; i < 256; i++)
        if (fake_now.streams[i] && fake_now.streams[i]->session == c) fake_now.streams[i]->session = NULL;
    fake_now.legacy.session = fake_now.per_thread.session = NULL;
    fake_now.sessions_open--;
    fake_now.open_session = NULL;
    if (c->broken) {
        fake_drop_ops(c->graph->ops);
        fake_delete(c->graph);
    } else {
        *out = (CUgraph)(void *)c->graph;
        fake.live_graphs++;
    }
    return c->broken ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS; /* the session stays: events point to it */
}
