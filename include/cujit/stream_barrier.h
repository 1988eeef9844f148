/* cujit/stream_barrier.h - a barrier over streams: their later work waits for all earlier work.
 *
 * A cj_stream_barrier belongs to a device and can be used any number of times, over any streams of
 * any devices of the same driver.  It has two forms:
 *   cj_stream_barrier_enqueue    the streams wait for each other on their devices
 *   cj_stream_barrier_sync_for   the caller waits for all of them on the host
 * cj_stream_barrier_elapsed reports how long the last one took.
 *
 * Lifetime.  The barrier may be freed while the streams still wait; the waits hold.
 *
 * Threads.  Any thread.
 */
#ifndef CUJIT_STREAM_BARRIER_H
#define CUJIT_STREAM_BARRIER_H

#include <cujit/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cj_stream_barrier cj_stream_barrier;

/* Creates a barrier: a stream of its own on `dev`, where the streams meet, and two timing events.
 * Never NULL.  Owned by the caller, free with cj_stream_barrier_free.
 * Errors, in the failed object that is returned:
 *   CJ_ENOMEM: host memory is exhausted
 *   CJ_EDRIVER: the driver rejects a call
 *   the error of `dev`, if `dev` is a failed object */
CJ_API cj_stream_barrier *cj_stream_barrier_create(cj_device *dev);

/* Frees the barrier.  Returns at once; enqueued barriers still hold.  May be NULL. */
CJ_API void cj_stream_barrier_free(cj_stream_barrier *b);

/* Makes later work of each of the `count` > 0 streams wait, on its device, for all work enqueued on
 * all of them so far.  A stream may be listed twice.  Each stream costs one event record and two
 * waits on the devices.  `streams`: Copied.  Returns at once.
 *
 * If some of the streams are capturing, in one capture, the barrier becomes part of it: the other
 * streams join the capture, as by cj_stream_fork, and must be joined back before its end.
 * Errors, left in the barrier and in each stream of the list:
 *   CJ_EINVAL: no streams, or streams of two drivers
 *   CJ_EHANDLE: an element is not a stream
 *   CJ_EDRIVER: the driver rejects a call
 *   the error of a stream that is a failed object */
CJ_API cj_status cj_stream_barrier_enqueue(cj_stream_barrier *b, cj_stream *const *streams,
                                           size_t count);

/* Makes later work of `s`, which may be a stream outside of the barrier, wait for the last
 * cj_stream_barrier_enqueue: for all work that the barrier waits for.  Returns at once.
 * Errors, left in the barrier and in `s`:
 *   CJ_EINVAL: `s` is of another driver
 *   CJ_ESTATE: there was no cj_stream_barrier_enqueue yet, or the last one was captured; or `s` is
 *     capturing
 *   CJ_EDRIVER: the driver rejects the call */
CJ_API cj_status cj_stream_barrier_wait(cj_stream_barrier *b, cj_stream *s);

/* Waits until all work enqueued on the `count` > 0 streams has completed, for at most `ms`
 * milliseconds; 0 only polls.  Blocks.  Failures of the streams stay in them.  The call never
 * invalidates the capture of another stream.
 *   CJ_ETIMEOUT: the time has passed: an answer, in cj_error_last() and not in the barrier; the
 *     message has the index of the first stream with unfinished work
 * Errors, left in the barrier: as cj_stream_barrier_enqueue, and
 *   CJ_ESTATE: a stream is capturing */
CJ_API cj_status cj_stream_barrier_sync_for(cj_stream_barrier *b, cj_stream *const *streams,
                                            size_t count, uint32_t ms);

/* Whose clock measured a barrier. */
typedef enum cj_stream_barrier_clock {
    CJ_STREAM_BARRIER_CLOCK_NONE = 0,   /* there was no barrier yet */
    CJ_STREAM_BARRIER_CLOCK_DEVICE = 1, /* _enqueue: the device's, from the start of the wait to the
                                         * arrival of the last stream */
    CJ_STREAM_BARRIER_CLOCK_HOST = 2    /* _sync_for: the host's, from the call to its return */
} cj_stream_barrier_clock;

typedef struct cj_stream_barrier_time {
    size_t size;      /* sizeof(cj_stream_barrier_time) */
    int32_t clock;    /* a cj_stream_barrier_clock */
    uint32_t streams; /* the number of streams */
    double ms;        /* milliseconds */
} cj_stream_barrier_time;

/* Fills `time` with its size and CJ_STREAM_BARRIER_CLOCK_NONE. */
CJ_API void cj_stream_barrier_time_defaults(cj_stream_barrier_time *time);

/* Fills *time, up to time->size bytes, for the last barrier.  Returns at once; CJ_ENOTREADY while
 * the device has not reached it.
 * Errors, left in the barrier:
 *   CJ_EINVAL: `time` is NULL, or its size is not set
 *   CJ_ESTATE: the barrier was captured; it runs in the graph and has no time of its own */
CJ_API cj_status cj_stream_barrier_elapsed(cj_stream_barrier *b, cj_stream_barrier_time *time);

#ifdef __cplusplus
}
#endif
#endif
