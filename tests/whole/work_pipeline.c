/* Pipelines in both forms, with and without overlap. */
#include "tests/whole/work.h"

enum { BYTES = 100, CHUNK = 16 };
static uint8_t in[BYTES], out[BYTES];
static uint64_t sum;

static cj_status fill(void *user, cj_chunk *chunk)
{
    (void)user;
    memcpy(chunk->in_host, in + chunk->offset, chunk->in_bytes);
    return CJ_OK;
}

static cj_status launch(void *user, cj_chunk *chunk)
{
    (void)user;
    return chunk->in.addr == chunk->out.addr ? CJ_OK : cj_copy(chunk->stream, chunk->out, chunk->in, chunk->out_bytes);
}

static cj_status drain(void *user, cj_chunk *chunk)
{
    (void)user;
    memcpy(out + chunk->offset, chunk->out_host, chunk->out_bytes);
    return CJ_OK;
}

/* What came through, which is all or what the statistics count. */
static uint64_t right(void)
{
    uint64_t n = 0;
    for (int i = 0; i < BYTES; i++) n += out[i] == in[i];
    memset(out, 0, sizeof out);
    return n;
}

static void pulled(cj_device *dev)
{
    cj_pipeline_opts o;
    cj_pipeline_stats now;
    cj_chunk chunk;
    cj_pipeline_defaults(&o);
    cj_pipeline_stats_defaults(&now);
    cj_chunk_defaults(&chunk);
    o.bytes = BYTES, o.chunk = CHUNK, o.depth = 2, o.overlap = CJ_OVERLAP_ALWAYS;
    cj_pipeline *p = cj_pipeline_create(dev, &o);
    for (int run = 0; work_made(p) && run < 2; run++) {
        if (run && !work_did(cj_pipeline_restart(p, BYTES))) break;
        while (work_did(cj_pipeline_next(p, &chunk, 20000)) && chunk.stage != CJ_PIPELINE_END) {
            const cj_status st = chunk.stage == CJ_PIPELINE_FILL     ? fill(NULL, &chunk)
                                 : chunk.stage == CJ_PIPELINE_LAUNCH ? launch(NULL, &chunk)
                                                                     : drain(NULL, &chunk);
            cj_pipeline_pending(p);
            work_did(cj_pipeline_done(p, &chunk, st));
        }
        if (work_did(cj_pipeline_get_stats(p, &now))) sum += now.chunks_done;
        sum += right();
    }
    work_did(cj_pipeline_cancel(p));
    cj_pipeline_free(p);
}

int main(void)
{
    cj_driver *drv = cj_driver_open(NULL);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    for (int i = 0; i < BYTES; i++) in[i] = (uint8_t)(i + 1);
    if (work_made(dev)) {
        for (int way = 0; way < 2; way++) {
            const cj_pipeline_opts o = { .size = sizeof o, .bytes = BYTES, .chunk = CHUNK, .fill = fill,
                                         .launch = launch, .drain = drain, .measure_link = way,
                                         .overlap = way ? CJ_OVERLAP_ALWAYS : CJ_OVERLAP_NEVER };
            work_did(cj_pipeline_run(dev, &o, NULL));
            sum += right();
        }
        cj_pipeline *p = cj_pipeline_create(dev, CJ_PIPELINE(.bytes = BYTES, .chunk = CHUNK, .fill = fill,
                                                             .launch = launch, .drain = drain, .in_place = 1));
        work_made(p);
        work_did(cj_pipeline_work(p));
        cj_pipeline_free(p);
        pulled(dev);
    }
    cj_device_collect(dev);
    cj_device_close(dev);
    cj_driver_close(drv);
    return work_end("pipeline", sum);
}
