/* What the files of the fake driver share; fake.h is for tests.
 *
 *   fake.c        its entry points, each written down; contexts; what tests open it and steer it with
 *   fake_work.c   its memory, work in streams, captures
 *   fake_calls.c  what the calls do, by what they are about */
#ifndef CUJIT_TESTS_FAKE_PARTS_H
#define CUJIT_TESTS_FAKE_PARTS_H

#include <pthread.h>

#include "tests/stream/fake.h"

typedef struct fake_op { struct fake_op *next; int id; uint64_t arg[5]; } fake_op;
typedef struct fake_graph { fake_op *ops; int nodes; } fake_graph;
typedef struct fake_stream {
    uint64_t given, done; /* points: how much was given, how much has run */
    bool held, foreign;
    int priority;
    struct fake_session *session; /* the capture it is part of */
    fake_op *first, **last;
} fake_stream;
typedef struct fake_event {
    fake_stream *at;
    uint64_t point;
    struct fake_session *session;
    bool timing, recorded;
} fake_event;
typedef struct fake_session { fake_stream *origin; fake_graph *graph; bool broken; CUstreamCaptureMode mode; pthread_t thread; } fake_session;
typedef struct fake_block { struct fake_block *next; char *at; size_t bytes; bool device; fake_graph *graph; } fake_block;

/* All there is at the driver; fake_clean() ends it. */
typedef struct fake_world {
    pthread_mutex_t lock; /* held over each call, and over what a test lets go */
    fake_block *blocks;
    fake_stream legacy, per_thread, *streams[256];
    int sessions_open;
    fake_session *open_session;
    CUresult sticky;
} fake_world;
extern fake_world fake_now;

/* fake.c */
bool fake_relaxed(void);                                /* this thread's captures bear everything */

/* fake_work.c */
void *fake_new(size_t size);                            /* zeros; never NULL */
void fake_delete(void *data);
void *fake_block_make(size_t bytes, bool device);
CUresult fake_block_free(uint64_t at);                  /* a graph's stays */
void fake_block_belongs(uint64_t at, fake_graph *g);    /* to the graph from now on; 0: what belongs to it goes */
unsigned fake_memory_type(uint64_t p);
fake_stream *fake_stream_at(uint64_t raw);
CUresult fake_give(fake_stream *s, int id, const uint64_t *a);   /* work for a stream: captured, held, or run */
void fake_append(fake_op **list, int id, const uint64_t *a);
CUresult fake_give_values(fake_stream *s, unsigned count, const CUstreamBatchMemOpParams *p);
void fake_node_values(fake_graph *g, unsigned count, const CUstreamBatchMemOpParams *p);
void fake_drop_ops(fake_op *o);
CUresult fake_unsafe(int id);                           /* a call that an open capture of another stream does not bear */
CUresult fake_harm(fake_session *c, int id, CUresult r);   /* breaks the capture; answers r */
CUresult fake_capture_start(fake_stream *s, CUstreamCaptureMode mode);
CUresult fake_capture_stop(fake_stream *s, CUgraph *out);

/* fake_calls.c */
CUresult fake_make_stream(CUstream *out, int priority);
CUresult fake_make_event(CUevent *out);
CUresult fake_stream_calls(int id, const uint64_t *a, fake_stream *s);
CUresult fake_event_calls(int id, fake_event *e, fake_stream *s);
CUresult fake_device_calls(int id, const uint64_t *a);
CUresult fake_graph_calls(int id, const uint64_t *a);
CUresult fake_memory_calls(int id, const uint64_t *a);

#endif
