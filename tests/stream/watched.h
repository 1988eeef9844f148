/* The CPU device, watched: each call that the library makes to the driver is written down with its arguments and
 * counted, and a test can make one of them fail. What streams do meanwhile is what the CPU device does.
 *
 * Streams are held by a location that they wait for, so that any number of them is held at a time, in any order. The
 * calls that a test makes through these functions are not written down. */
#ifndef CUJIT_TESTS_WATCHED_H
#define CUJIT_TESTS_WATCHED_H

#include <cujit/cujit.h>

#include "cuda/table.h"

typedef struct watch_call { int id; uint64_t arg[4]; CUresult result; bool relaxed; } watch_call;

typedef struct watch_state {
    watch_call log[4096];
    size_t count;
    int launches;          /* kernels that were launched, captured ones not */
    int pinned, allocated; /* blocks that are out */
    int live_streams, live_events, live_modules, live_graphs, live_execs;
    bool armed;            /* fail_after counts */
    int fail_id;           /* this entry point fails ... */
    int fail_after;        /* ... after so many that do not; -1: never */
    CUresult fail_with;
} watch_state;
extern watch_state watch;

/* A driver over it, with one device; all counters are 0, what shall fail is kept. */
cj_driver *watch_open(void);
void *watch_symbol(void *user, const char *symbol);

void watch_forget(void);                     /* the log */
int watch_calls(int id);                     /* how often since */
int watch_find(int id, int nth);             /* index in the log of the nth, from 0; -1 */
void watch_fail(int id, int after, CUresult result);
void watch_fail_none(void);
void watch_swallow(int id);                  /* calls of it succeed without reaching the device; -1: none */

void watch_hold(void *raw_stream);           /* what is enqueued on it waits ... */
void watch_release(void *raw_stream);        /* ... until this, which returns when it is done */
void watch_read(cj_dptr d, void *to, size_t bytes);    /* device memory as it is now */
void watch_settle(void);                     /* returns when all work is done; no stream may be held or captured */
CUcontext watch_context(void);               /* the device's */
CUcontext watch_foreign_context(void);       /* another one of the same device */
CUcontext watch_current(void);               /* of this thread */
int watch_depth(void);                       /* contexts on this thread's stack */
void watch_set_current(CUcontext ctx);       /* the only one on the stack; NULL: none */
void watch_capture_foreign(void *raw_stream, bool on);  /* a capture begun behind the library's back */
/* a sticky error: calls on streams, events and memory return it; CUDA_SUCCESS ends it */
void watch_die(CUresult result);

/* Steps of tests: everything made, ready to use. */
typedef struct watch_bench { cj_driver *drv; cj_device *dev; cj_stream *s, *t; } watch_bench;
void watch_setup(watch_bench *b);
void watch_teardown(watch_bench *b);
/* kernel k(.u64 .ptr p, .u64 .ptr q, .f32 a, .u32 n), which does nothing */
cj_kernel *watch_kernel(cj_device *dev);

#endif
