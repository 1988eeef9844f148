/* Fills. */
#include "sim/kinds/sim_kinds.h"

#include <stdio.h>
#include <string.h>

typedef struct sim_fill {
    sim_work work;
    uint64_t dst;
    size_t pitch, width, height;    /* width in elements */
    uint32_t value, element;
} sim_fill;

static const sim_fill *sim_fill_of(const sim_work *w) { return (const sim_fill *)w; }

static bool sim_fill_extent(const CUDA_MEMSET_NODE_PARAMS *p, sim_extent *out)
{
    *out = (sim_extent){ .height = p->height, .depth = 1 };
    if (!cji_sim_product(&out->width, p->width, p->elementSize)) return false;
    out->pitch = p->height > 1 ? p->pitch : out->width;
    return true;
}

CUresult cji_sim_fill_work(const CUDA_MEMSET_NODE_PARAMS *p, sim_ctx *c, sim_work **out)
{
    bool empty = !p->width || !p->height;   /* then nothing else is checked */
    sim_extent e;
    uint64_t bytes;
    if ((p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4) || (!empty && p->dst % p->elementSize) ||
        !sim_fill_extent(p, &e))
        return CUDA_ERROR_INVALID_VALUE;
    if (!empty && (e.pitch % p->elementSize || e.pitch < e.width || !cji_sim_extent_bytes(&e, &bytes) ||
                   !cji_sim_space_at(c, p->dst, bytes) ||
                   !cji_sim_space_allows(c, p->dst, bytes, true)))
        return CUDA_ERROR_INVALID_VALUE;
    sim_fill *w = (sim_fill *)cji_sim_work_new(&cji_sim_kind_fill, c, sizeof *w);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    w->dst = p->dst;
    w->pitch = e.pitch;
    w->width = p->width;
    w->height = p->width ? p->height : 0;
    w->value = p->value;
    w->element = p->elementSize;
    *out = &w->work;
    return CUDA_SUCCESS;
}

/* ---- Doing it ---------------------------------------------------------------------------------------------------- */

static void sim_fill_row(unsigned char *p, size_t width, uint32_t value, uint32_t element)
{
    if (element == 1) {
        memset(p, (int)(value & 0xff), width);
        return;
    }
    for (size_t i = 0; i < width; i++) {
        uint16_t half = (uint16_t)value;
        if (element == 2) memcpy(p + 2 * i, &half, 2);
        else memcpy(p + 4 * i, &value, 4);
    }
}

static void sim_fill_run(sim_op *op)
{
    const sim_fill *w = sim_fill_of(op->work);
    if (!w->height) return;
    sim_extent e = { .pitch = w->pitch, .width = w->width * w->element, .height = w->height, .depth = 1 };
    uint64_t bytes = 0;
    cji_sim_extent_bytes(&e, &bytes);
    unsigned char *p =
        cji_sim_space_allows(op->ctx, w->dst, bytes, true) ? cji_sim_space_at(op->ctx, w->dst, bytes) : NULL;
    if (!p) {
        char why[160], sentence[260];
        cji_sim_space_why(w->dst, why, sizeof why);
        snprintf(sentence, sizeof sentence, "a fill of %llu bytes at 0x%llx, which %s", (unsigned long long)bytes,
                 (unsigned long long)w->dst, why);
        sim_lock();
        cji_sim_op_fails(op, CUDA_ERROR_ILLEGAL_ADDRESS, sentence);
        sim_unlock();
        return;
    }
    for (size_t y = 0; y < w->height; y++) sim_fill_row(p + y * w->pitch, w->width, w->value, w->element);
}

/* ---- The kind ---------------------------------------------------------------------------------------------------- */

static CUresult sim_fill_read(CUgraphNodeParams *p, sim_graph *g, sim_work **out)
{
    CUDA_MEMSET_NODE_PARAMS m = { p->memset.dst,         p->memset.pitch, p->memset.value,
                                  p->memset.elementSize, p->memset.width, p->memset.height };
    sim_ctx *c;
    (void)g;
    CUresult r = cji_sim_ctx_for(p->memset.ctx, &c);
    if (!r && (!m.width || !m.height)) r = CUDA_ERROR_INVALID_VALUE;
    return r ? r : cji_sim_fill_work(&m, c, out);
}

static void sim_fill_write(const sim_work *w, CUgraphNodeParams *p)
{
    const sim_fill *f = sim_fill_of(w);
    p->memset =
        (CUDA_MEMSET_NODE_PARAMS_v2){ f->dst, f->pitch, f->value, f->element, f->width, f->height, (CUcontext)w->ctx };
}

static size_t sim_fill_items(const sim_work *w) { return sim_fill_of(w)->height != 0; }

static bool sim_fill_write_at(const sim_work *w, size_t i, sim_mem_write *out)
{
    const sim_fill *f = sim_fill_of(w);
    (void)i;
    *out = (sim_mem_write){ f->dst, f->pitch, f->width * f->element, f->height, f->value, f->element };
    return true;
}

const sim_work_kind cji_sim_kind_fill = {
    .name = "memset", .node_type = CU_GRAPH_NODE_TYPE_MEMSET, .traits = SIM_WORK_HELPS, .run = sim_fill_run,
    .read_params = sim_fill_read, .write_params = sim_fill_write, .items = sim_fill_items, .write_at = sim_fill_write_at
};

/* ---- Submitting -------------------------------------------------------------------------------------------------- */

static CUresult sim_fill_on(CUdeviceptr dst, size_t pitch, uint32_t value, unsigned element, size_t width,
                            size_t height, CUstream h)
{
    CUDA_MEMSET_NODE_PARAMS p = {
        .dst = dst, .pitch = pitch, .value = value, .elementSize = element, .width = width, .height = height
    };
    sim_stream *s;
    sim_work *w;
    sim_lock();
    CUresult r = cji_sim_stream_for_work(h, &s);
    if (!r) r = cji_sim_fill_work(&p, s->ctx, &w);
    if (!r && s->capture && !sim_fill_of(w)->height) {   /* it makes no node */
        cji_sim_work_drop(w);
        sim_unlock();
        return CUDA_SUCCESS;
    }
    if (!r)
        r = !s->capture && cji_sim_space_is_host(dst) ? cji_sim_stream_submit_and_wait(s, w)
                                                      : cji_sim_stream_submit(s, w);
    sim_unlock();
    return r;
}

CUresult cji_sim_cuMemsetD8(CUdeviceptr d, unsigned char v, size_t n)
{
    return sim_fill_on(d, 0, v, 1, n, 1, NULL);
}
CUresult cji_sim_cuMemsetD16(CUdeviceptr d, unsigned short v, size_t n)
{
    return sim_fill_on(d, 0, v, 2, n, 1, NULL);
}
CUresult cji_sim_cuMemsetD32(CUdeviceptr d, unsigned v, size_t n)
{
    return sim_fill_on(d, 0, v, 4, n, 1, NULL);
}
CUresult cji_sim_cuMemsetD8Async(CUdeviceptr d, unsigned char v, size_t n, CUstream h)
{
    return sim_fill_on(d, 0, v, 1, n, 1, h);
}
CUresult cji_sim_cuMemsetD16Async(CUdeviceptr d, unsigned short v, size_t n, CUstream h)
{
    return sim_fill_on(d, 0, v, 2, n, 1, h);
}
CUresult cji_sim_cuMemsetD32Async(CUdeviceptr d, unsigned v, size_t n, CUstream h)
{
    return sim_fill_on(d, 0, v, 4, n, 1, h);
}
CUresult cji_sim_cuMemsetD2D8(CUdeviceptr d, size_t p, unsigned char v, size_t w, size_t n)
{
    return sim_fill_on(d, p, v, 1, w, n, NULL);
}
CUresult cji_sim_cuMemsetD2D16(CUdeviceptr d, size_t p, unsigned short v, size_t w, size_t n)
{
    return sim_fill_on(d, p, v, 2, w, n, NULL);
}
CUresult cji_sim_cuMemsetD2D32(CUdeviceptr d, size_t p, unsigned v, size_t w, size_t n)
{
    return sim_fill_on(d, p, v, 4, w, n, NULL);
}
CUresult cji_sim_cuMemsetD2D8Async(CUdeviceptr d, size_t p, unsigned char v, size_t w, size_t n, CUstream h)
{
    return sim_fill_on(d, p, v, 1, w, n, h);
}
CUresult cji_sim_cuMemsetD2D16Async(CUdeviceptr d, size_t p, unsigned short v, size_t w, size_t n, CUstream h)
{
    return sim_fill_on(d, p, v, 2, w, n, h);
}
CUresult cji_sim_cuMemsetD2D32Async(CUdeviceptr d, size_t p, unsigned v, size_t w, size_t n, CUstream h)
{
    return sim_fill_on(d, p, v, 4, w, n, h);
}
