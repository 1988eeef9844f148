/* cujit/stream_barrier.h - a barrier over streams: what they are given later waits for what all of them were given before.
 *
 * A hub belongs to a device and may be used again and again, over any streams of any devices of the same driver, from any thread.  It has two
 * forms: cj_stream_barrier_enqueue makes the streams wait for each other on their devices and returns at once; cj_stream_barrier_sync_for makes the caller wait for them.
 * cj_stream_barrier_elapsed tells how long the latest one took, and on whose clock.
 */
#ifndef CUJIT_STREAM_BARRIER_H
#define CUJIT_STREAM_BARRIER_H

#include <cujit/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cj_stream_barrier cj_stream_barrier;

/* Makes a hub: a stream of its own on `dev`, where the streams meet, and two events with timing.  Never NULL; owned by the caller, free with cj_stream_barrier_free.
 * Errors (the hub is a failed object): what `dev` failed with; CJ_ENOMEM; CJ_EDRIVER. */
CJ_API cj_stream_barrier *cj_stream_barrier_create(cj_device *dev);

/* Releases it at once; barriers under way still hold.  NULL is fine. */
CJ_API void cj_stream_barrier_free(cj_stream_barrier *h);

/* Later work of each of the `count` > 0 streams waits, on its device, for what all of them were given before this call.  Returns at once;
 * each stream costs two records of events and two waits, on the devices.  A stream may be named twice.  Where some of the streams are being captured (in one capture), the barrier
 * becomes part of that: the others are drawn in, as by cj_stream_fork, and must be joined before its end.
 * Errors, in `h`: CJ_EINVAL for no streams, and for streams of two drivers; CJ_EHANDLE; what a stream failed with; CJ_EDRIVER. */
CJ_API cj_status cj_stream_barrier_enqueue(cj_stream_barrier *h, cj_stream *const *streams, size_t count);

/* Blocks until everything given to all of the `count` > 0 streams so far is done, `ms` milliseconds at most; 0 only looks.  CJ_ETIMEOUT when that has passed: an answer that is
 * left in the thread, names the first stream that is not done by its place in `streams`, and changes nothing but what cj_stream_barrier_elapsed tells.  Failures that streams keep stay with them.
 * Harms no capture of another stream.  Errors, in `h`: as cj_stream_barrier_enqueue; CJ_ESTATE for a stream that is being captured. */
CJ_API cj_status cj_stream_barrier_sync_for(cj_stream_barrier *h, cj_stream *const *streams, size_t count, uint32_t ms);

/* On whose clock a barrier was measured. */
typedef enum cj_stream_barrier_clock {
    CJ_STREAM_BARRIER_CLOCK_NONE = 0,   /* there was none yet */
    CJ_STREAM_BARRIER_CLOCK_DEVICE = 1, /* cj_stream_barrier_enqueue: on the hub's device, from where it began to wait to the arrival of the last stream */
    CJ_STREAM_BARRIER_CLOCK_HOST = 2    /* cj_stream_barrier_sync_for: on the host, from the call to its return */
} cj_stream_barrier_clock;

typedef struct cj_stream_barrier_time {
    size_t size;     /* sizeof(cj_stream_barrier_time), set by the caller or cj_stream_barrier_time_defaults */
    int32_t clock;   /* a cj_stream_barrier_clock */
    uint32_t streams; /* how many there were */
    double ms;       /* milliseconds */
} cj_stream_barrier_time;

/* Fills `time` with its size and CJ_STREAM_BARRIER_CLOCK_NONE. */
CJ_API void cj_stream_barrier_time_defaults(cj_stream_barrier_time *time);

/* Fills *time for the latest barrier, up to the size that it states.
 * CJ_ENOTREADY while the device has not reached it; CJ_ESTATE where it was captured, since then it has no time of its own; CJ_EINVAL for NULL. */
CJ_API cj_status cj_stream_barrier_elapsed(cj_stream_barrier *h, cj_stream_barrier_time *time);

#ifdef __cplusplus
}
#endif
#endif
