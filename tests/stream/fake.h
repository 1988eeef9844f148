/* A CUDA driver made for tests of src/stream: it writes down each call, can be told to fail one, and holds work back until it is let go.
 *
 * What it models: contexts (a stack for each thread), streams as queues that run at once unless held, events as points in them, memory as
 * host memory, captures as counted nodes that replay, and what a capture forbids (facts measured on an H100).  Whatever would harm
 * a capture sets fake.harmed instead of failing quietly.  Kernels do nothing but count. */
#ifndef CUJIT_TESTS_FAKE_H
#define CUJIT_TESTS_FAKE_H

#include <cujit/cujit.h>

#include "cuda/table.h"

typedef struct fake_call { int id; uint64_t arg[4]; CUresult result; bool relaxed; } fake_call;

typedef struct fake_state {
    fake_call log[4096];
    size_t count;
    const char *harmed;    /* the call that broke a capture; NULL */
    int launches;          /* kernels that ran */
    int pinned, allocated; /* blocks that are out */
    int live_streams, live_events, live_modules, live_graphs, live_execs;
    bool armed;            /* fail_after counts */
    int fail_id;           /* this entry point fails ... */
    int fail_after;        /* ... after so many that do not; -1: never */
    CUresult fail_with;
} fake_state;
extern fake_state fake;

/* A driver over it, with one device; everything forgotten but what shall fail. */
cj_driver *fake_open(void);
void fake_clean(void); /* frees what the driver itself still has */
void *fake_symbol(void *user, const char *symbol);

void fake_forget(void);                     /* the log and harmed */
int fake_calls(int id);                     /* how often since */
int fake_find(int id, int nth);             /* index in the log of the nth, from 0; -1 */
void fake_fail(int id, int after, CUresult result);
void fake_fail_none(void);

void fake_hold(void *raw_stream);           /* what is given to it waits ... */
void fake_let_go(void *raw_stream);         /* ... until this */
CUcontext fake_context(void);               /* the device's */
CUcontext fake_current(void);               /* of this thread, without a record */
int fake_depth(void);                       /* contexts on this thread's stack */
void fake_set_current(CUcontext ctx);
void fake_capture_foreign(void *raw_stream, bool on);  /* a capture begun behind the library's back */
void fake_die(CUresult result);             /* a sticky error: every call on streams and events answers it; CUDA_SUCCESS ends it */

/* Steps of tests: everything made, ready to use. */
typedef struct fake_bench { cj_driver *drv; cj_device *dev; cj_stream *s, *t; } fake_bench;
void fake_setup(fake_bench *b);
void fake_teardown(fake_bench *b);
cj_kernel *fake_kernel(cj_device *dev);     /* kernel k(.u64 .ptr p, .u64 .ptr q, .f32 a, .u32 n) */

#endif
