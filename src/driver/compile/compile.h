/* The room of compiling and linking, above the driver's root: cj_linker (linker.c), one link (link_run.c), cj_compiler
 * (compiler.c), cj_future (future.c), what is requested (compile_requests.c), two stages (kernel_stages.c). */
#ifndef CJI_COMPILE_H
#define CJI_COMPILE_H

#include <pthread.h>

#include <cujit/compiler.h>

#include "driver/driver.h"
#include "driver/jit.h"

/* ---- Inputs of a link: they never change, and are shared by reference ---- */

typedef struct cji_link_input {
    atomic_uint refs;
    CUjitInputType type;
    char *name;                /* what the driver's linker and messages call it */
    void *data;                /* of a text with its NUL */
    size_t bytes;              /* a text's NUL counted in */
    cj_ptx *source;            /* the builder, retained; NULL: none */
    unsigned flags;            /* how it was printed */
    cji_entries *entries;      /* of PTX; NULL: not known */
} cji_link_input;

cji_link_input *cji_link_input_retain(cji_link_input *in);
void cji_link_input_release(cji_link_input *in);   /* may be NULL */

struct cj_linker {
    cji_obj obj;               /* keeps the first failure of an added input */
    cj_device *dev;
    cj_compile_opts compile;   /* normalised */
    cji_link_input **input; size_t n, cap;
};

/* ---- link_run.c ---- */

/* Links the inputs into `img`, which has its device.  A failure is recorded in `img`. */
cj_status cji_link_run(cj_image *img, cji_link_input *const *input, size_t n, const cj_compile_opts *o,
                       const char *call);

/* ---- Compilers and futures ----
 *
 * A future's state changes WAITING -> RUNNING -> DONE, or WAITING -> CANCELLED, with the compiler's lock held; what it
 * is to make never changes, and its result is written once, before it is done.  The queue and the thread that works on
 * a future hold a reference of it; a future holds one of its compiler, and so does each thread. */

typedef enum cji_future_state {
    CJI_FUTURE_WAITING,
    CJI_FUTURE_RUNNING,
    CJI_FUTURE_DONE,
    CJI_FUTURE_CANCELLED
} cji_future_state;

/* What a request makes. */
typedef struct cji_request {
    void *(*run)(const struct cji_request *q, cj_device *dev);   /* an object, perhaps a failed one */
    cji_tag makes;
    cj_ptx *m;                 /* retained; NULL: none */
    char *text, *name;
    bool has_opts;
    cj_compile_opts opts;
    cji_link_input **input; size_t n;   /* each retained */
    cj_kernel *staged;         /* retained; to be made faster */
} cji_request;

struct cj_future {
    cji_obj obj;
    cj_compiler *c;
    cji_request q;
    pthread_cond_t ended;
    cj_future *next;           /* in the queue */
    /* Under the compiler's lock. */
    cji_future_state state;
    void *result;              /* of cji_request.makes; NULL: cancelled, or not done */
    cj_future_fn fn;
    void *user;
    int fd;                    /* of an eventfd; -1: nobody asked */
};

enum { CJI_COMPILER_THREADS = 256 };

struct cj_compiler {
    cji_obj obj;
    cj_device *dev;
    cj_compiler_opts opts;     /* without zeros */
    pthread_mutex_t lock;      /* of what follows */
    pthread_cond_t work, room, idle;
    cj_future *first, **last;  /* the queue */
    pthread_t thread[CJI_COMPILER_THREADS];
    unsigned threads, resting; /* started; waiting for work */
    bool closing, orphaned;    /* orphaned: a callback frees the compiler, and nobody joins the threads */
    uint64_t waiting, running; /* running: until its callbacks have returned */
    uint64_t requests, done, failed, cancelled;   /* of the batch */
};

/* compiler.c: puts the future into the queue, and starts a thread where one is missing.  A failure is recorded in the
 * future. */
cj_status cji_compiler_submit(cj_compiler *c, cj_future *f, const char *call);
bool cji_compiler_is_own_thread(const cj_compiler *c);   /* under the lock */
/* Under the lock, which is released meanwhile: does a request of the queue on this thread, one of the compiler's. */
void cji_compiler_run(cj_compiler *c, cj_future *f);
void cji_compiler_drop(cj_compiler *c);

/* future.c: the end of a time, and sleeping until then with the lock held.  False: the time has passed.  -1 ms: no
 * end. */
void cji_compile_deadline(struct timespec *until, int64_t timeout_ms);
bool cji_compile_sleep(pthread_cond_t *cond, pthread_mutex_t *lock, const struct timespec *until, int64_t timeout_ms);

cj_future *cji_future_new(cj_compiler *c, const char *call, cj_status *status);
/* Under the lock: the future ends; what is left to do without it is calling *fn.  */
void cji_future_end(cj_future *f, void *result, cji_future_state state, cj_future_fn *fn, void **user);
void cji_future_drop(cj_future *f);
void cji_request_free(cji_request *q);

/* kernel_stages.c: launches of `k` use the code of `faster` from now on, unless it would allow smaller blocks.  False:
 * it cannot be made ready, which is recorded in the thread. */
bool cji_kernel_use_faster(cj_kernel *k, cj_kernel *faster, const char *call);

#endif
