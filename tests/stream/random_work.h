/* Random work on several streams, with no more order than it needs: two operations that touch the same memory are
 * ordered by an event, a fork, a join, a barrier, a word or the host, chosen at random, and only where nothing else
 * orders them already.  Graphs, captured and put together, are launched among it, changed in between, and memory comes
 * and goes.  What a program computes that does the same things one after the other is there in the end.
 *
 * One seed is one program.  CUJIT_TEST_ALL=1 runs many; CUJIT_TEST_SEED=n that one, and says what it does.
 *
 *   random_programs.c   order between streams, the steps of a program
 *   random_ops.c        operations: given to a stream, as nodes of a graph, done on the program's own copy of the
 *   memory
 *
 * Of several devices stream, event and memory i belong to device i % devices. */
#ifndef CUJIT_TESTS_RANDOM_WORK_H
#define CUJIT_TESTS_RANDOM_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include <cujit/cujit.h>

enum {
    STREAMS = 4,
    EVENTS = 4,
    WORDS = 64,
    DEVICE_MEMS = 6,
    MEMS = 9 /* the others are of the host, pinned */,
    COUNT = 2500 /* words of each */,
    EXECS = 4,
    OPS = 10
};

typedef enum op_kind {
    OP_MIX,
    OP_MOVE,
    OP_SET8,
    OP_SET16,
    OP_SET32,
    OP_COPY,
    OP_UP,
    OP_UP_PAGEABLE,
    OP_DOWN,
    OP_HOST
} op_kind;

/* dst and src are numbers of memories. */
typedef struct op { op_kind kind; unsigned dst, src, at, count, value, spin; } op;

typedef struct mem {
    cj_dptr d;      /* of the device */
    uint32_t *h;    /* of the host */
    unsigned home;  /* the stream of d */
    unsigned writer, written, read[STREAMS]; /* who used it last, and as which of its operations */
    uint32_t model[COUNT];
} mem;

typedef struct exec {
    cj_graph *g;
    cj_graph_exec *x;
    op op[OPS];
    cj_node *node[OPS];
    bool out[OPS], captured, updated;
    unsigned device, count, reads, writes;
} exec;

typedef struct host_job { struct work *w; op o; } host_job;

typedef struct work {
    cj_driver *drv;
    unsigned devices;
    cj_device *dev[2];
    cj_ptx *module;
    cj_kernel *mix[2], *move[2];
    cj_stream_barrier *meeting;
    cj_stream *stream[STREAMS];
    cj_event *event[EVENTS];
    uint32_t *word;  /* pinned, WORDS of them */
    bool words;      /* the device waits for words */
    unsigned words_used;
    /* operations: given, waited for, seen done by the host */
    unsigned given[STREAMS], knows[STREAMS][STREAMS], done[STREAMS];
    unsigned stood[EVENTS][STREAMS];
    mem mem[MEMS];
    exec exec[EXECS];
    host_job *job[4096]; /* of host functions, kept until the end */
    unsigned jobs;
    uint64_t random;
    bool tell;
    char why[600];
} work;

void work_programs(unsigned devices);

void work_open(work *w);
void work_close(work *w);
void work_begin(work *w, unsigned seed);
bool work_end(work *w); /* whether everything is as it should be; else `why` says what is not */

unsigned work_pick(work *w, unsigned below);
__attribute__((format(printf, 2, 3))) void work_say(work *w, const char *fmt, ...);

static inline unsigned work_device_of(const work *w, unsigned i) { return i % w->devices; }
static inline unsigned work_stream(work *w, unsigned device)
{
    return work_pick(w, STREAMS / w->devices) * w->devices + device;
}

op work_op(work *w, unsigned device, bool for_graph); /* for a stream of that device */
const char *work_op_name(const op *o);
static inline bool work_is_kernel(const op *o) { return o->kind == OP_MIX || o->kind == OP_MOVE; }
static inline bool work_is_fill(const op *o)
{
    return o->kind == OP_SET8 || o->kind == OP_SET16 || o->kind == OP_SET32;
}
static inline bool work_can_go(const op *o) { return o->kind != OP_HOST; }
static inline bool work_reads(const op *o)
{
    return o->kind == OP_MOVE || o->kind == OP_COPY || o->kind == OP_UP || o->kind == OP_DOWN;
}

void work_model(work *w, const op *o);                  /* done on the copy */
void work_give(work *w, const op *o, cj_stream *s);     /* given to a stream */
/* a graph with an edge wherever one is needed; keep: its nodes are e->node */
cj_graph *work_compose(work *w, exec *e, bool keep);
cj_graph *work_capture(work *w, const exec *e);         /* the same, captured over several streams */
void work_change(work *w, exec *e, unsigned i);         /* the kernel's arguments */

#endif
