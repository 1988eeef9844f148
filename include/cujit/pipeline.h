/* cujit/pipeline.h - input that passes a device in chunks: upload, compute, download, overlapped.
 *
 *     cj_pipeline_run(dev, CJ_PIPELINE(.bytes = total, .chunk = 32 << 20, .fill = read_file,
 *                                      .launch = transform, .drain = write_file), &stats);
 *
 * The input is cut into chunks.  A chunk passes these stages:
 *
 *     fill       the host writes the chunk's input into a pinned buffer
 *     upload     the buffer is copied to device memory
 *     launch     the host enqueues the kernels of the chunk
 *     compute    they run
 *     download   the output is copied to another pinned buffer
 *     drain      the host reads it
 *
 * Each device has a ring of such buffers and three streams, so that the stages of different chunks
 * overlap.  Buffers are used again when the chunk that had them is drained.  The first chunks run
 * alone and are timed.  From their times the pipeline chooses how many buffers the ring has, and
 * whether overlapping is worth its cost.
 *
 * There are two forms.  With callbacks, cj_pipeline_run or cj_pipeline_work calls .fill, .launch
 * and .drain.  Without callbacks, cj_pipeline_next returns what to do next, and cj_pipeline_done
 * reports that it is done.
 *
 * Order.  Chunks are filled, launched and, unless .any_order is set, drained in the order of their
 * numbers, also with several devices and several threads.  Each of fill, launch and drain is done
 * for one chunk at a time.
 *
 * Failures.  When fill, upload or launch of chunk k fails, the chunks before k still pass all
 * stages; then the pipeline ends.  When download or drain fails, or a device, or after
 * cj_pipeline_cancel, nothing more is drained.  In each case the pipeline ends when all work that
 * it enqueued has completed.  The failure names the chunk and the stage.  If several chunks fail,
 * it is that of the first of them.
 *
 * When a device fails, all of its events report that, also those of chunks that were complete.
 *   The CPU device describes the fault.  A kernel on the chunk's stream, or a kernel on another
 *   stream that accessed a buffer of the chunk, names that chunk.  A copy names the chunks that it
 *   may be of, as "a chunk from 4 to 6 of 9, upload".  Any other fault is reported as "a chunk from
 *   4 to 6 of 9, or other work of the device".
 *   A GPU describes nothing.  The failure names the first chunk whose kernels are not known to be
 *   complete, with these words.  It is the right one if a kernel on a chunk's stream has failed.
 *
 * Lifetime.  A pipeline keeps its devices alive.  Its buffers belong to the pipeline.
 *
 * Threads.  Any thread.
 *
 * Errors.  A failed call returns its status and leaves a record in the pipeline.
 */
#ifndef CUJIT_PIPELINE_H
#define CUJIT_PIPELINE_H

#include <cujit/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cj_pipeline cj_pipeline;

/* ---- Chunks ---------------------------------------------------------------------------------- */

/* What a chunk passes, in this order. */
typedef enum cj_pipeline_stage {
    CJ_PIPELINE_END = 0, /* none: the pipeline has ended */
    CJ_PIPELINE_FILL = 1,
    CJ_PIPELINE_UPLOAD = 2,
    CJ_PIPELINE_LAUNCH = 3,
    CJ_PIPELINE_COMPUTE = 4,
    CJ_PIPELINE_DOWNLOAD = 5,
    CJ_PIPELINE_DRAIN = 6
} cj_pipeline_stage;

/* A chunk in a stage that the host does: fill, launch or drain. */
typedef struct cj_chunk {
    size_t size;       /* sizeof(cj_chunk) */
    int32_t stage;     /* a cj_pipeline_stage */
    uint32_t device;   /* 0: the pipeline's first device; i: number i - 1 of .devices */
    uint64_t index;    /* the chunk's number, from 0 */
    uint64_t offset;   /* where its input begins in the whole input, in bytes */
    size_t in_bytes;   /* bytes of its input; fill may lower it */
    size_t out_bytes;  /* bytes of its output; launch may change it, up to .out_chunk */
    void *in_host;     /* fill: where the input is to be written.  Fill may set it to other memory,
                        * which must stay valid and unchanged until the chunk is drained */
    void *out_host;    /* drain: where the output is.  Launch may set it to other memory, which must
                        * stay valid until the chunk is drained */
    cj_dptr in, out;   /* launch: input and output in device memory */
    cj_stream *stream; /* launch: where the kernels are to be enqueued */
} cj_chunk;

/* Fills `chunk` with its size and zeros.  `chunk`: May be NULL. */
CJ_API void cj_chunk_defaults(cj_chunk *chunk);

/* ---- Making pipelines ------------------------------------------------------------------------ */

/* Whether the stages of different chunks overlap. */
typedef enum cj_overlap {
    CJ_OVERLAP_MEASURED = 0, /* if the times of the first chunks show that it is worth its cost */
    CJ_OVERLAP_ALWAYS = 1,   /* from the first chunk on, with at least two buffers */
    CJ_OVERLAP_NEVER = 2     /* one buffer and one stream: chunk after chunk */
} cj_overlap;

typedef struct cj_pipeline_opts {
    size_t size;        /* sizeof(cj_pipeline_opts) */
    uint64_t bytes;     /* of the whole input; 0: there is no chunk */
    size_t chunk;       /* bytes of input of a chunk; the last one may have less; 0: 16 MiB */
    size_t element;     /* chunks are multiples of it: .chunk is rounded down; 0: 1 */
    size_t out_chunk;   /* most bytes of output of a chunk; 0: as .chunk.  A chunk's output has the
                         * same share of it as its input has of .chunk, unless launch changes it */
    int32_t no_input;   /* 1: chunks have no input: no fill, no upload */
    int32_t no_output;  /* 1: chunks have no output: no download; drain only reports the end */
    int32_t in_place;   /* 1: output replaces input: chunk->out is chunk->in, and chunk->out_host is
                         * the buffer that was filled */
    int32_t any_order;  /* 1: chunks are drained as they complete */
    int32_t overlap;    /* a cj_overlap */
    uint32_t depth;     /* buffers in the ring of a device; 0: chosen from the measured times */
    uint32_t depth_max; /* most buffers that are chosen; 0: 8; at most 64 */
    uint32_t runs;      /* how often cj_pipeline_restart will be called, about: so many runs share
                         * the cost of more buffers; 0: never */
    uint32_t threads;   /* cj_pipeline_run: threads that call the callbacks, 1 to 3; 0: 1, which is
                         * the calling thread */
    int32_t measure_link; /* 1: copies without kernels are timed when the pipeline is made, for the
                           * statistics */
    cj_device *const *devices; /* further devices of the same driver, which get chunks too; at most
                                * 63.  Copied. */
    size_t device_count;
    /* Callbacks; each returns CJ_OK, or a status that ends the pipeline.  All are NULL in the pull
     * form.  They may call cujit and CUDA. */
    cj_status (*fill)(void *user, cj_chunk *chunk);   /* writes the input; NULL with .no_input */
    cj_status (*launch)(void *user, cj_chunk *chunk); /* enqueues on chunk->stream; does not wait */
    cj_status (*drain)(void *user, cj_chunk *chunk);  /* reads the output; NULL with .no_output */
    /* Called behind each drain with the number of chunks that are drained and of all.  Another
     * value than 0 cancels the pipeline.  May be NULL; works in the pull form too. */
    int (*progress)(void *user, uint64_t done, uint64_t all);
    void *user;
} cj_pipeline_opts;

/* Fills `opts` with its size and the defaults.  `opts`: May be NULL. */
CJ_API void cj_pipeline_defaults(cj_pipeline_opts *opts);

/* Creates a pipeline with the streams and buffers that it begins with.  `opts`: May be NULL, for an
 * empty input in the pull form.
 * Never NULL.  Owned by the caller, free with cj_pipeline_free.  Blocks: pinning memory takes about
 * 1 s per GB.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: an option is out of range; .bytes is no multiple of .element; a callback is missing;
 *     or a device is of another driver
 *   CJ_ENOMEM: host, pinned or device memory is exhausted
 *   CJ_EDRIVER: the driver rejects a call
 *   the error of `dev`, if `dev` is a failed object */
CJ_API cj_pipeline *cj_pipeline_create(cj_device *dev, const cj_pipeline_opts *opts);

/* Frees the pipeline and its buffers.  Waits until all work that it enqueued has completed: Blocks.
 * No other thread may use the pipeline any more.  `pipeline`: May be NULL. */
CJ_API void cj_pipeline_free(cj_pipeline *pipeline);

/* ---- Statistics ------------------------------------------------------------------------------ */

/* What a pipeline did since it was created or restarted.  Times are in seconds. */
typedef struct cj_pipeline_stats {
    size_t size;              /* sizeof(cj_pipeline_stats) */
    uint64_t chunks;          /* of the whole input */
    uint64_t chunks_done;     /* that are drained */
    uint64_t bytes_in;        /* input of these */
    uint64_t bytes_out;       /* output of these */
    double seconds;           /* from the first fill to the last drain, or to now */
    double setup;             /* making streams and buffers, also those made between chunks */
    double fill, launch, drain;       /* in the stages of the host, all chunks together */
    /* in the stages of the device; of several, the busiest one.  Of chunks that overlap, one in
     * eight is timed, and stands for the others: events with times slow the copies down */
    double upload, compute, download;
    int32_t slowest;          /* the cj_pipeline_stage with the longest time */
    double efficiency;        /* its time / seconds: 1 is the best that overlapping can reach */
    double link;              /* what copies of the same bytes without kernels take, in both
                               * directions at a time; 0 without .measure_link */
    double link_efficiency;   /* link / seconds; 0 without .measure_link */
    uint32_t devices;         /* number of devices */
    uint32_t depth;           /* buffers in use in the ring of a device, the most of all devices */
    uint32_t buffers;         /* buffers that were made, of all devices */
    int32_t overlap;          /* 1: stages overlapped for a chunk at least */
} cj_pipeline_stats;

/* ---- With callbacks -------------------------------------------------------------------------- */

/* Creates a pipeline, does all of its work and frees it.  Writes what it did to *stats, up to
 * stats->size bytes, also when it fails.  `stats`: May be NULL.  Blocks.
 * Errors, left in `dev`: those of cj_pipeline_create and cj_pipeline_work, and
 *   CJ_EINVAL: there are no callbacks, or the size of `stats` is not set */
CJ_API cj_status cj_pipeline_run(cj_device *dev, const cj_pipeline_opts *opts,
                                 cj_pipeline_stats *stats);

/* Calls the callbacks until the pipeline has ended.  Up to three threads may do so at a time, as
 * fill, launch and drain are done for one chunk each.  Blocks.
 * Errors:
 *   CJ_ESTATE: the pipeline was created without callbacks
 *   CJ_ECANCELLED: the pipeline was cancelled
 *   CJ_EDRIVER: a device has failed, or the driver rejects a call
 *   the status that a callback returned */
CJ_API cj_status cj_pipeline_work(cj_pipeline *pipeline);

/* ---- Without callbacks ----------------------------------------------------------------------- */

/* Writes what to do next to *chunk, up to chunk->size bytes, as chunk->stage:
 *   CJ_PIPELINE_FILL     write in_bytes of input to in_host
 *   CJ_PIPELINE_LAUNCH   enqueue kernels on `stream` that read `in` and write `out`
 *   CJ_PIPELINE_DRAIN    read out_bytes of output at out_host
 *   CJ_PIPELINE_END      nothing: the pipeline has ended
 * Each is followed by cj_pipeline_done.  Waits for at most `ms` milliseconds; 0 only polls.
 * Returns CJ_OK, and at the end of a pipeline that failed its failure, as cj_pipeline_work.
 * Blocks.
 * Errors:
 *   CJ_EINVAL: `chunk` is NULL, or its size is not set
 *   CJ_ETIMEOUT: the time has passed; recorded in cj_error_last() only */
CJ_API cj_status cj_pipeline_next(cj_pipeline *pipeline, cj_chunk *chunk, uint32_t ms);

/* Reports that the stage of `chunk` is done, with CJ_OK, or that it failed with another status.
 * The fields that fill and launch may change are read from *chunk.  Returns at once, unless the
 * pipeline makes more buffers.
 * Returns CJ_OK, also when `status` is not; what that means is reported by cj_pipeline_next.
 * Errors:
 *   CJ_EINVAL: `chunk` is NULL, or its size is not set
 *   CJ_ESTATE: the chunk is not in that stage */
CJ_API cj_status cj_pipeline_done(cj_pipeline *pipeline, const cj_chunk *chunk, cj_status status);

/* The event that cj_pipeline_next waits for when it has nothing to do now; a cj_waiter reports it
 * to a loop of the caller's own.  NULL: cj_pipeline_next need not wait, or waits for something else
 * than an event.
 * Belongs to `pipeline`.  Borrowed until the next call of cj_pipeline_done.  Returns at once. */
CJ_API cj_event *cj_pipeline_pending(cj_pipeline *pipeline);

/* ---- Both forms ------------------------------------------------------------------------------ */

/* Ends the pipeline: nothing more is filled, launched or drained.  What is enqueued completes.  May
 * be called from a callback.  Returns at once.  A pipeline that has ended stays as it is. */
CJ_API cj_status cj_pipeline_cancel(cj_pipeline *pipeline);

/* Begins again, with `bytes` of input and the buffers and times of before.  May make more buffers:
 * Blocks.
 * Errors:
 *   CJ_ESTATE: the pipeline has not ended, or a device has failed
 *   CJ_EINVAL, CJ_ENOMEM, CJ_EDRIVER: as cj_pipeline_create */
CJ_API cj_status cj_pipeline_restart(cj_pipeline *pipeline, uint64_t bytes);

/* Fills `stats` with its size and zeros.  `stats`: May be NULL. */
CJ_API void cj_pipeline_stats_defaults(cj_pipeline_stats *stats);

/* Fills *stats up to stats->size bytes.  Makes no driver call.
 * Errors:
 *   CJ_EINVAL: `stats` is NULL, or its size is not set */
CJ_API cj_status cj_pipeline_get_stats(cj_pipeline *pipeline, cj_pipeline_stats *stats);

#ifdef __cplusplus
}
#endif

/* ---- Option literals: CJ_PIPELINE(.bytes = n); C and C++20 ----------------------------------- */

#ifndef __cplusplus
#define CJ_PIPELINE(...) (&(const cj_pipeline_opts){ .size = sizeof(cj_pipeline_opts), __VA_ARGS__ })
#elif __cplusplus >= 202002L
#define CJ_PIPELINE(...) cji::keep(cj_pipeline_opts{ .size = sizeof(cj_pipeline_opts), __VA_ARGS__ })
#endif

#endif
