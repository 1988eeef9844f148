/* Writing a recording: what record_*.c share.  Prefix cji_rec. */
#ifndef CJI_RECORD_FILE_H
#define CJI_RECORD_FILE_H

#include "base/mem.h"
#include "driver/interpose/driver_interpose.h"
#include "driver/interpose/record_format.h"

/* ---- The file (record_file.c) ------------------------------------------------------------------------------------ */

typedef struct cji_rec_file cji_rec_file;

/* A new file with its header; NULL: *error is errno.  `turn`: the how many-th file of that name of the process.
 * `held`: where a descriptor is kept that tells other processes that the file is in use; NULL: nowhere. */
cji_rec_file *cji_rec_file_open(const char *path, unsigned turn, int *held, int *error);
void cji_rec_file_close(cji_rec_file *file);

/* Adds a record of two parts.  Any thread.  After a failure nothing more is written: the file ends behind its last
 * whole record, and a line of the log says so. */
void cji_rec_file_add(cji_rec_file *file, cji_rec_type type, const void *a, size_t na, const void *b, size_t nb);
/* The same with memory of the program's, which others may write to meanwhile. */
void cji_rec_file_add_host(cji_rec_file *file, cji_rec_type type, const void *a, size_t na, const void *host, size_t n);
/* The recording is not whole for another reason. */
void cji_rec_file_fail(cji_rec_file *file, const char *why);
bool cji_rec_file_failed(cji_rec_file *file);

/* ---- A recorder -------------------------------------------------------------------------------------------------- */

/* A copy under way, or a launch of a graph, with an event behind it.  The device's side of a copy is read back behind
 * the copy, in its stream: those bytes are what was copied, whenever the program has filled the memory of the host. */
typedef struct cji_rec_pending {
    struct cji_rec_pending *next;
    CUcontext context;       /* of the event and of `room` */
    CUevent event;
    unsigned char *room;     /* pinned; NULL: none yet */
    size_t cap;
    int device;
    uint64_t data;           /* number of the DATA that `room` becomes; 0: host memory is read */
    uint64_t address, bytes; /* of the host memory that is written, or the bytes in `room` */
    uint64_t number;         /* of the launch */
} cji_rec_pending;

/* Host memory that a node of a graph copies. */
typedef struct cji_rec_region { uint64_t address, bytes; bool from_host; } cji_rec_region;

typedef struct cji_rec_exec {
    struct cji_rec_exec *next;
    uint64_t handle;
    cji_rec_region *region;
    size_t regions, cap;
} cji_rec_exec;

typedef struct cji_rec_link { struct cji_rec_link *next; uint64_t hash[2], bytes, number; } cji_rec_link;

typedef struct cji_recorder {
    cji_layer layer;
    cji_rec_file *file;
    const cj_driver *under;     /* borrowed: the interposer has it */
    uint32_t fork_gen;
    atomic_uint_fast64_t order, data, links, calls;
    pthread_mutex_t lock;       /* guards what follows; held over queries of events, and over no call that blocks */
    bool named[CJI_CU_COUNT];   /* whose NAME is in the file */
    cji_rec_pending *pending;   /* the oldest first */
    cji_rec_pending *spare;     /* whose event and memory are used again */
    cji_rec_exec *execs;
    cji_rec_link *made;         /* by links */
} cji_recorder;

/* A call that is being written down. */
typedef struct cji_rec_build {
    cji_recorder *rec;
    const cji_layer_call *c;
    const cji_cu *cu;           /* of the driver below */
    cji_text out;               /* the arguments */
    const char *unknown;        /* why the call cannot be repeated */
    int id;                     /* of the row that is recorded */
    CUresult result;
    uint64_t value[CJI_CU_PARAMS]; /* the arguments that are recorded */
    CUstreamCaptureMode mode;   /* that cuThreadExchangeStreamCaptureMode has replaced */
    uint64_t source, target;    /* numbers of the DATA of a copy's host sides; 0: none */
    char *input;                /* a file that was linked; freed at the end */
    size_t input_bytes;
} cji_rec_build;

enum { CJI_REC_SIGNATURE = 512 };
/* "cuMemFree(CUdeviceptr)" */
void cji_rec_signature(const cji_cu_row *row, char *out, size_t size);

/* ---- Arguments (record_build.c, record_args.c, record_structs.c) ------------------------------------------------- */

cji_rec_class cji_rec_class_of(const char *type, size_t n);
/* Begins an argument; its bytes; the number of children is added to the one at `at`. */
size_t cji_rec_put(cji_rec_build *b, cji_rec_kind kind, unsigned about, uint64_t value, uint64_t room, size_t offset,
                   const void *bytes, size_t n);
void cji_rec_child(cji_rec_build *b, size_t at); /* one more child of the argument that begins at `at` */
/* The same for a child. */
size_t cji_rec_put_in(cji_rec_build *b, size_t parent, cji_rec_kind kind, unsigned about, uint64_t value,
                      uint64_t room, size_t offset, const void *bytes, size_t n);
typedef struct cji_rec_copy cji_rec_copy;
void cji_rec_arguments(cji_rec_build *b, const cji_rec_copy *copy); /* all of the call; `copy` may be NULL */
/* A struct that an argument points to, by its type without const; false: the type is not known. */
bool cji_rec_struct(cji_rec_build *b, const char *type, size_t n, uint64_t pointer);
void cji_rec_wait_place(cji_rec_build *b, uint64_t address); /* a stream waits for what is there */
void cji_rec_launch_params(cji_rec_build *b, size_t parent, size_t offset, CUfunction fn, void **params);
void cji_rec_launch_extra(cji_rec_build *b, size_t parent, size_t offset, void **extra);
/* The entry point of a row is one that changes nothing. */
bool cji_rec_is_query(int id);
/* The calls that begin to release what other threads may get again at once. */
bool cji_rec_is_release(int id);
/* The calls after whose success earlier work is complete. */
bool cji_rec_is_wait(int id);

/* ---- Images (record_images.c) ------------------------------------------------------------------------------------ */

void cji_rec_put_image(cji_rec_build *b, uint64_t pointer);
void cji_rec_linked(cji_rec_build *b); /* cuLinkComplete has returned */
void cji_rec_input_file(cji_rec_build *b); /* cuLinkAddFile is written as cuLinkAddData */
uint64_t cji_rec_add_data(cji_recorder *rec, const void *bytes, size_t n); /* returns its number */

/* ---- Memory of the host (record_copies.c, record_graphs.c) ------------------------------------------------------- */

/* A copy with a host side. */
struct cji_rec_copy {
    bool from_host, to_host;
    bool from_pinned, to_pinned;
    bool async, captured;
    int source, target;  /* which arguments the sides are; -1: fields of the struct that argument 0 points to */
    CUstream stream;
    CUDA_MEMCPY3D box;   /* what is copied: one row where it is linear */
};

/* What the call copies from or to host memory; false: nothing. */
bool cji_rec_copy_of(const cji_rec_build *b, cji_rec_copy *copy);
void cji_rec_copy_before(cji_rec_build *b, const cji_rec_copy *copy);
void cji_rec_copy_after(cji_rec_build *b, const cji_rec_copy *copy);
/* Writes the argument if it is one of the two sides of the copy. */
bool cji_rec_copy_argument(cji_rec_build *b, const cji_rec_copy *copy, int i);
bool cji_rec_is_host(const cji_cu *cu, uint64_t address, bool *pinned); /* NULL: pinned host memory alone */
/* The bytes from the first to the last one of the host's side. */
size_t cji_rec_extent(size_t pitch, size_t height, size_t width, size_t rows, size_t layers);

/* ---- Work that is waited for (record_pending.c) ------------------------------------------------------------------ */

/* One with `bytes` of pinned memory, 0 for none; NULL where it cannot be had. */
cji_rec_pending *cji_rec_pending_take(cji_recorder *rec, const cji_cu *cu, size_t bytes);
/* Records its event behind what is in the stream now; it is harvested when that is complete. */
void cji_rec_pending_enqueue(cji_recorder *rec, const cji_cu *cu, cji_rec_pending *p, CUstream stream);
void cji_rec_pending_spare(cji_recorder *rec, cji_rec_pending *p); /* it is not needed */
/* Writes what is complete.  `device` >= 0: waits for all of that device's, and releases what the recorder has there. */
void cji_rec_harvest(cji_recorder *rec, const cji_cu *cu, int device);
void cji_rec_pending_free(cji_recorder *rec, const cji_cu *cu); /* all */
/* Around calls of the recorder's own: no capture of the program is harmed. */
bool cji_rec_relax(const cji_cu *cu, CUstreamCaptureMode *mode);
void cji_rec_relax_end(const cji_cu *cu, bool relaxed, CUstreamCaptureMode mode);
/* Makes the stream's context current: graphs are launched, and some copies enqueued, without one. */
bool cji_rec_enter(const cji_cu *cu, CUstream stream);
void cji_rec_leave(const cji_cu *cu, bool entered);

/* ---- Graphs that copy host memory (record_graphs.c) -------------------------------------------------------------- */

void cji_rec_graph_before(cji_rec_build *b); /* a launch; an exec that is destroyed */
void cji_rec_graph_after(cji_rec_build *b);  /* a launch, an instantiation, a change of an exec */
void cji_rec_graphs_free(cji_recorder *rec);

#endif
