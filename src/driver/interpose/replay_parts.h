/* Repeating a recording (record_format.h): what replay_*.c share.  Prefix cji_replay, cji_recording. */
#ifndef CJI_REPLAY_H
#define CJI_REPLAY_H

#include <cujit/replay.h>

#include "driver/interpose/driver_interpose.h"
#include "driver/interpose/record_format.h"

/* ---- A recording that was read (replay_file.c) ------------------------------------------------------------------- */

typedef struct cji_replay_item {
    uint64_t order;
    const unsigned char *p;
    uint64_t bytes;
    uint32_t type;
} cji_replay_item;
typedef struct cji_replay_data { uint64_t number; const unsigned char *p; uint64_t bytes; } cji_replay_data;
typedef struct cji_replay_name { uint32_t number; int id; char text[48]; } cji_replay_name; /* id -1: no row */

typedef struct cji_replay_span { uint32_t thread; size_t last; } cji_replay_span; /* the last item of a thread */

typedef struct cji_recording {
    const unsigned char *p;   /* borrowed */
    size_t n;
    cji_replay_item *item;    /* calls, WRITE, READ, in their order */
    size_t items, item_cap;
    cji_replay_data *data;    /* by number */
    size_t datas, data_cap;
    cji_replay_name *name;
    size_t names, name_cap;
    cji_replay_span *span;    /* by thread */
    size_t threads, span_cap;
    const char *start;        /* of START */
    size_t start_bytes;
    bool ended;               /* it has its END */
    bool cut;                 /* it ends within a record */
    char why[200];            /* why it cannot be read */
} cji_recording;

/* CJ_OK, CJ_EINVAL with `why`, CJ_ENOMEM.  Free it in any case. */
cj_status cji_recording_read(cji_recording *r, const void *bytes, size_t n);
void cji_recording_free(cji_recording *r);
const cji_replay_data *cji_recording_data(const cji_recording *r, uint64_t number); /* NULL: not there */
const cji_replay_name *cji_recording_name(const cji_recording *r, uint32_t number);
/* The call at an item. */
cji_rec_call cji_recording_call(const cji_replay_item *item);
/* The value behind the `nth` "key=" of START, up to the end of its line; "" where there is none. */
void cji_recording_start(const cji_recording *r, const char *key, int nth, char *out, size_t size);
size_t cji_recording_last(const cji_recording *r, uint32_t thread);
/* Reads the argument at *p and moves *p to what follows its bytes: its children. */
cji_rec_arg cji_recording_arg(const unsigned char **p, const unsigned char **bytes);
/* The name of a call's entry point, without its parameters. */
const char *cji_recording_call_name(const cji_recording *r, const cji_rec_call *call);

/* ---- Then and now (replay_maps.c) -------------------------------------------------------------------------------- */

typedef struct cji_replay_handle { uint64_t then, now, owner; uint8_t class, live; } cji_replay_handle;
typedef struct cji_replay_range { uint64_t then, bytes, now; void *own; size_t own_bytes; } cji_replay_range;

typedef struct cji_replay_maps {
    cji_replay_handle *handle; /* a hash table; its size is a power of two */
    size_t handles, slots;
    cji_replay_range *range;   /* by address; they do not overlap */
    size_t ranges, range_cap;
    void *owned;               /* memory of ranges that were replaced, linked */
} cji_replay_maps;

bool cji_replay_bind(cji_replay_maps *m, unsigned class, uint64_t then, uint64_t now, uint64_t owner);
cji_replay_handle *cji_replay_find(const cji_replay_maps *m, unsigned class, uint64_t then); /* NULL: none is live */
void cji_replay_forget_nodes(cji_replay_maps *m, uint64_t graph);
/* `now` 0: the memory is lost, as the call that made it was not repeated. */
bool cji_replay_map(cji_replay_maps *m, uint64_t then, uint64_t bytes, uint64_t now);
bool cji_replay_is_lost(const cji_replay_maps *m, uint64_t then);
/* Memory of its own for `bytes` bytes at `then`, at the same place of a page; the one that is there where it has them
 * all and `anew` is false.  NULL: no memory. */
void *cji_replay_region(cji_replay_maps *m, uint64_t then, uint64_t bytes, bool anew);
bool cji_replay_address(const cji_replay_maps *m, uint64_t then, uint64_t *now);
void cji_replay_maps_free(cji_replay_maps *m);

/* ---- A replay ---------------------------------------------------------------------------------------------------- */

/* Pinned memory that a copy of the replay's uses. */
typedef struct cji_replay_block {
    struct cji_replay_block *next;
    CUcontext context; /* it was allocated in, and that one's device */
    int device;
    unsigned char *p;
    size_t n;
} cji_replay_block;

/* A copy that was enqueued, or a launch of a graph that copies to host memory, with an event behind it. */
typedef struct cji_replay_work {
    struct cji_replay_work *next;
    CUevent event;
    int device;
    bool launch;
    uint64_t number;             /* of the call */
    const char *name;
    cji_replay_block *block;
    const cji_replay_data *data; /* what the block becomes; NULL: not compared */
} cji_replay_work;

typedef struct cji_replay_link { struct cji_replay_link *next; uint64_t number; void *p; size_t n; } cji_replay_link;

/* Something that the driver writes in a call. */
typedef struct cji_replay_out {
    struct cji_replay_out *next;
    cji_rec_arg arg;
    const unsigned char *bytes; /* of the argument */
    const void *at;             /* what the driver has written */
} cji_replay_out;

/* Host memory that a copy reads or writes. */
typedef struct cji_replay_piece {
    struct cji_replay_piece *next;
    cji_replay_block *block;    /* NULL: memory that is the call's */
    const unsigned char *p;
    uint64_t data;              /* what it becomes; 0: not known */
} cji_replay_piece;

enum { CJI_REPLAY_DEVICES = 64 };

typedef struct cji_replay {
    cj_driver *drv;             /* NULL: the calls are listed only */
    const cji_cu *cu;
    const cji_recording *rec;
    const char *path;
    cj_replay_opts opts;
    cj_replay_result result;
    cji_replay_maps maps;
    cji_replay_link *links;
    cji_replay_work *work;      /* the oldest first */
    cji_replay_block *spare;
    cji_replay_block *stuck;    /* in use by copies without an event behind them */
    int retained[CJI_REPLAY_DEVICES]; /* primary contexts, by ordinal */
    unsigned said;              /* lines about differences */
    cji_arena keep;             /* until the end */
    /* the call under way */
    cji_arena arena;
    cji_replay_out *outs;
    cji_replay_piece *pieces;
    bool async;
    char why[200];              /* why the call cannot be repeated; "" otherwise */
    cj_status status;           /* not CJ_OK: the replay ends */
    char message[400];
} cji_replay;

/* Makes the arguments of a call; false: `why` says what is wrong. */
bool cji_replay_arguments(cji_replay *rp, const cji_replay_item *item, const cji_rec_call *call,
                          uint64_t value[CJI_CU_PARAMS + 1]);
/* What the call has written is known from now on.  `owner`: the graph, as it was then, of nodes that it made. */
void cji_replay_bind_outs(cji_replay *rp, uint64_t owner, const uint64_t *value);

/* ---- What copies read (replay_check.c) --------------------------------------------------------------------------- */

/* Pinned memory; NULL: there is none. */
cji_replay_block *cji_replay_block_take(cji_replay *rp, size_t n);
void cji_replay_block_spare(cji_replay *rp, cji_replay_block *block);
/* A call has returned with success, or not: its copies are compared when they are done. */
void cji_replay_copied(cji_replay *rp, const cji_rec_call *call, const char *name, CUstream stream, bool fine);
void cji_replay_launched(cji_replay *rp, const cji_rec_call *call, CUstream stream);
/* Compares what is done. */
void cji_replay_harvest(cji_replay *rp);
/* Waits for what is enqueued on a device, -1: on all, compares, and releases what the replay has there. */
void cji_replay_drain(cji_replay *rp, int device);
void cji_replay_write(cji_replay *rp, const cji_replay_item *item);
void cji_replay_read(cji_replay *rp, const cji_replay_item *item);

/* ---- Words (replay_text.c) --------------------------------------------------------------------------------------- */

void cji_replay_say(cji_replay *rp, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same for a difference: after many of them nothing more is said. */
void cji_replay_differs(cji_replay *rp, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void cji_replay_fail(cji_replay *rp, cj_status status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* What the file holds: lines, and the part of the result that is known before calls are repeated. */
void cji_replay_describe(cji_replay *rp);
/* A line for each call. */
void cji_replay_list(cji_replay *rp);

#endif
