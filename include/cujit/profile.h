/* cujit/profile.h - what the streams of a program did, and when: measured on the device.
 *
 *     cj_profile .............. collects records while it is on
 *       cj_profile_record ..... one kernel, copy, wait, range ...; a sample of the memory
 *       cj_profile_total ...... all records of one kind and name
 *       cj_profile_summary .... busy time, overlap, utilisation, latency
 *
 *     cj_profile *p = cj_profile_create(NULL);
 *     cj_profile_on(p);
 *     ...                                        kernels, copies, cj_profile_begin, cj_profile_end
 *     cj_stream_sync(s);
 *     cj_profile_write(p, "timeline.json");      or .svg, or .txt
 *     cj_profile_free(p);
 *
 * While a profile is on, each kernel, copy, fill, prefetch, host function, wait, memory operation
 * and graph launch of every stream of the process is measured by two timing events.  The events are
 * read after the work.  Nothing that is captured is measured; the launch of the graph is.  While no
 * profile is on, a call costs four host instructions more at most.
 *
 * Times are in nanoseconds of the host's monotonic clock (CLOCK_MONOTONIC).  The device's clock is
 * aligned with it by the rule that no work begins before it was enqueued.  Durations and distances
 * on one device are those of its timing events.  A duration begins when the stream reaches the
 * operation: in a stream that was idle it has the host's time to enqueue the operation in it.
 *
 * An event takes the device some time itself.  That time is measured, for each device, where one
 * operation follows another without a pause: from the end of the first to the start of the second.
 * When eight such pairs are read, the median is taken off each duration that is read from then on,
 * but for ranges.  A shorter median of eight later ones takes its place.  The launch of a kernel
 * takes time as well: when the first operation of a device is measured, 16 empty kernels run on a
 * stream of their own, and the lower quartile of their times is taken off each kernel's.  That
 * first call takes some milliseconds more.  No duration is negative.
 *
 * The environment variable CUJIT_PROFILE, which `cujit profile` sets, makes a profile of the whole
 * program without a change of it.
 *
 * Lifetime.  A profile keeps no device and no stream alive.  Work that is not complete when its
 * device is closed is lost: cj_profile_summary counts it.
 *
 * Threads.  Any thread.
 *
 * Errors.  A failed call returns its status and leaves a record in its first argument.
 */
#ifndef CUJIT_PROFILE_H
#define CUJIT_PROFILE_H

#include <cujit/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cj_profile cj_profile;

/* ---- Profiles -------------------------------------------------------------------------------- */

enum { CJ_PROFILES_ON = 4 }; /* most profiles that are on at a time */

typedef struct cj_profile_opts {
    size_t size;     /* sizeof(cj_profile_opts) */
    uint64_t records; /* most records kept; later ones are lost and counted; 0: 1048576 */
} cj_profile_opts;

/* Fills `opts` with its size and the defaults, which NULL means too.  `opts`: May be NULL. */
CJ_API void cj_profile_defaults(cj_profile_opts *opts);

/* Creates a profile, which is off.  `opts`: May be NULL.
 * Never NULL.  Owned by the caller, free with cj_profile_free.
 * Errors, in the failed object that is returned:
 *   CJ_EINVAL: a field of `opts` is unknown
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_profile *cj_profile_create(const cj_profile_opts *opts);

/* Turns the profile off and frees it with its records.  Returns at once.  `p`: May be NULL. */
CJ_API void cj_profile_free(cj_profile *p);

/* on: work that is enqueued from now on is measured.  off: work that is enqueued from now on is
 * not; work that was enqueued before still is.  Each does nothing when it is so already.
 * Errors:
 *   CJ_EBUSY: CJ_PROFILES_ON profiles are on */
CJ_API cj_status cj_profile_on(cj_profile *p);
CJ_API cj_status cj_profile_off(cj_profile *p);

/* Drops all records, also those of work enqueued so far that is not complete.  Names of earlier
 * records stay valid.  The profile stays on or off. */
CJ_API cj_status cj_profile_clear(cj_profile *p);

/* ---- Ranges and marks ------------------------------------------------------------------------ */

/* What a record is about. */
typedef enum cj_profile_kind {
    CJ_PROFILE_KERNEL = 1,
    CJ_PROFILE_COPY_TO_DEVICE = 2,
    CJ_PROFILE_COPY_TO_HOST = 3,
    CJ_PROFILE_COPY = 4,      /* on the device, or between devices */
    CJ_PROFILE_FILL = 5,
    CJ_PROFILE_PREFETCH = 6,
    CJ_PROFILE_HOST_FUNC = 7, /* cj_host_func, cj_stream_callback */
    CJ_PROFILE_GRAPH = 8,     /* a launch of an executable graph */
    CJ_PROFILE_WAIT = 9,      /* for an event, a stream, a barrier, a memory location */
    CJ_PROFILE_WRITE = 10,    /* of memory locations: cj_stream_write_value32 and its like */
    CJ_PROFILE_RANGE = 11,    /* cj_profile_begin to cj_profile_end */
    CJ_PROFILE_MEMORY = 12    /* a sample: bytes of cj_alloc on the device that are not freed */
} cj_profile_kind;

/* Begins a range of the stream: it lasts from the point that the stream has then reached to the
 * point of the cj_profile_end that closes it.  Ranges nest in each stream.  Both calls do nothing
 * while no profile is on; in a capture the range is not measured.  Where the NVTX library or an
 * NVTX tool is present, the range is an NVTX start/end range too, which has the host's times.
 * `name`: Copied.  Returns at once.  Errors, left in `s`:
 *   CJ_EINVAL: `name` is NULL
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_status cj_profile_begin(cj_stream *s, const char *name);

/* As cj_profile_begin, for work that the library cannot see, as that of another library on
 * cj_stream_raw(s): the time to the matching cj_profile_end counts as one operation of `kind`.
 * What the library enqueues on `s` in between is recorded, but not counted a second time.
 * Errors, left in `s`: as cj_profile_begin, and
 *   CJ_EINVAL: `kind` is not one of CJ_PROFILE_KERNEL to CJ_PROFILE_WRITE */
CJ_API cj_status cj_profile_mark(cj_stream *s, cj_profile_kind kind, const char *name);

/* Ends the range or mark of the stream that was begun last and has not ended.  Does nothing where
 * there is none, as when the profile was turned on after its begin.  Returns at once. */
CJ_API cj_status cj_profile_end(cj_stream *s);

/* ---- Records --------------------------------------------------------------------------------- */

/* One operation, range or sample.  Times: nanoseconds of the host's monotonic clock. */
typedef struct cj_profile_record {
    const char *name;     /* of the kernel, range or mark, else of the kind.  Belongs to the profile */
    int32_t kind;         /* a cj_profile_kind */
    int32_t device;       /* the device's ordinal */
    uint64_t stream;      /* cj_stream_id; 0 for a sample */
    uint64_t bytes;       /* of copies, fills and prefetches; of a sample: bytes allocated */
    int64_t submit, start, end; /* when the host enqueued it; when it ran.  Of a sample: all equal */
    uint64_t from;        /* of a wait: the stream waited for; 0: not known */
    uint32_t depth;       /* ranges and marks of the stream around it */
    uint32_t inside_mark; /* 1: work within a mark, which is counted by the mark */
} cj_profile_record;

/* Writes the oldest records that were not polled yet, `max` at most, to `out`; in each stream in
 * the order in which they ended.  Returns how many, 0 when no more are complete.  Reports still
 * have them.  Returns at once.
 * Errors: 0 is returned, and left in `p`:
 *   CJ_EINVAL: `out` is NULL */
CJ_API size_t cj_profile_poll(cj_profile *p, cj_profile_record *out, size_t max);

/* ---- Totals and summaries -------------------------------------------------------------------- */

/* All records of one kind and name. */
typedef struct cj_profile_total {
    const char *name; /* Belongs to the profile */
    int32_t kind;     /* a cj_profile_kind */
    uint64_t count;
    uint64_t bytes;
    int64_t ns, least_ns, most_ns; /* sum, shortest, longest */
} cj_profile_total;

/* Writes the totals of stream `s`, or of all streams, to `out`: the longest first, `max` at most.
 * Returns how many there are.  `s`: May be NULL.  `out`: May be NULL if `max` is 0.
 * Returns at once.
 * Errors: 0 is returned, and left in `p`:
 *   CJ_EINVAL: `out` is NULL and `max` is not 0
 *   CJ_EHANDLE: `s` is not a stream
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API size_t cj_profile_totals(cj_profile *p, cj_stream *s, cj_profile_total *out, size_t max);

/* Ranges and samples are no operations; waits are operations that are not busy. */
typedef struct cj_profile_summary {
    size_t size;                /* sizeof(cj_profile_summary) */
    uint64_t records;           /* records kept, samples and ranges too */
    uint64_t lost;              /* not measured: no memory, over the limit, or the device closed */
    uint64_t operations;        /* measured */
    uint64_t streams, devices;  /* that have records */
    int64_t span_ns;            /* from the first start to the last end */
    int64_t busy_ns;            /* sum over the streams of the time in which they worked */
    int64_t active_ns;          /* time in which a stream of the device worked, summed over devices */
    int64_t overlap_ns;         /* time in which two streams of the device worked, or more */
    int64_t copy_overlap_ns;    /* time in which a copy ran beside a kernel or graph */
    int64_t wait_ns;            /* sum of the waits */
    double utilisation;         /* active_ns over span_ns, over the devices */
    int64_t latency_mean_ns;    /* from enqueueing to the end of an operation; waits are left out */
    int64_t latency_p50_ns, latency_p90_ns, latency_p99_ns;
    int64_t path_ns;            /* the length of the critical path; its operations only */
    uint64_t memory_samples;    /* samples of memory */
    uint64_t memory_most;       /* the largest sample */
} cj_profile_summary;

/* Fills `summary` with its size and zeros.  `summary`: May be NULL. */
CJ_API void cj_profile_summary_defaults(cj_profile_summary *summary);

/* Fills *summary, up to summary->size bytes, for stream `s` or for all.  `s`: May be NULL.
 * Returns at once.  Errors, left in `p`:
 *   CJ_EINVAL: `summary` is NULL, or its size is not set
 *   CJ_EHANDLE: `s` is not a stream
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_status cj_profile_get_summary(cj_profile *p, cj_stream *s, cj_profile_summary *summary);

/* Writes the critical path to `out`, the earliest operation first, `max` at most: the chain of
 * operations that ends with the last one and in which each began because the one before it ended,
 * in its own stream or in a stream that it waited for.  Making one of them shorter makes the whole
 * shorter.  Returns how many operations the path has.  `out`: May be NULL if `max` is 0.
 * Returns at once.
 * Errors: 0 is returned, and left in `p`:
 *   CJ_EINVAL: `out` is NULL and `max` is not 0
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API size_t cj_profile_path(cj_profile *p, cj_profile_record *out, size_t max);

/* ---- Reports --------------------------------------------------------------------------------- */

typedef enum cj_profile_format {
    CJ_PROFILE_TEXT = 0,  /* tables of streams, names and ranges; the critical path */
    CJ_PROFILE_TRACE = 1, /* JSON of Chrome's trace format, which https://ui.perfetto.dev opens */
    CJ_PROFILE_SVG = 2    /* a picture: a row for each stream, the memory below */
} cj_profile_format;

/* The report of stream `s`, or of all.  `s`: May be NULL.  *bytes is its length; `bytes`: May be
 * NULL.  Borrowed until the next cj_profile_report of the profile, or cj_profile_free.
 * Never NULL.  Returns at once.
 * Errors: "" is returned, and left in `p`:
 *   CJ_EINVAL: `format` is not a cj_profile_format
 *   CJ_EHANDLE: `s` is not a stream
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API const char *cj_profile_report(cj_profile *p, cj_stream *s, cj_profile_format format,
                                     size_t *bytes);

/* As cj_profile_report, into a buffer of `bytes` bytes: cut to it, with a NUL.  Returns the length
 * of the whole report without its NUL.  `buffer`: May be NULL if `bytes` is 0. */
CJ_API size_t cj_profile_print(cj_profile *p, cj_stream *s, cj_profile_format format, char *buffer,
                               size_t bytes);

/* Writes the report of all streams to a file: the text for a name that ends with .txt, the picture
 * for .svg, the trace for any other.  Replaces a file of that name when it is complete.
 * Blocks.  Errors:
 *   CJ_EINVAL: `file` is NULL
 *   CJ_ENOTFOUND: the file cannot be written; the message has the reason
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_status cj_profile_write(cj_profile *p, const char *file);

#ifdef __cplusplus
}
#endif

/* ---- Option literal: CJ_PROFILE(.records = 1000); C and C++20 -------------------------------- */

#ifndef __cplusplus
#define CJ_PROFILE(...) (&(const cj_profile_opts){ .size = sizeof(cj_profile_opts), __VA_ARGS__ })
#elif __cplusplus >= 202002L
#ifndef CJI_KEEP
#define CJI_KEEP
namespace cji { template<class T> inline const T *keep(const T &t) { return &t; } }
#endif
#define CJ_PROFILE(...) cji::keep(cj_profile_opts{ .size = sizeof(cj_profile_opts), __VA_ARGS__ })
#endif

#endif
