/* Everything that this library keeps for the whole process, in one place: the hooks, the count of objects made, the
 * fork word,
 * the reserve of error records, the list of opened drivers and the interposers over them (src/driver), and each
 * thread's latest error. */
#ifndef CJI_PROCESS_H
#define CJI_PROCESS_H

#include <pthread.h>
#include <stdatomic.h>

#include <cujit/base.h>

#include "base/mem.h"
#include "base/record.h"

typedef struct cji_hooks {
    cj_realloc_fn realloc_fn; /* NULL: libc's */
    void *realloc_user;
    cj_log_fn log_fn; /* NULL: standard error where CUJIT_LOG asks for it */
    void *log_user;
} cji_hooks;

enum { CJI_LOG_LINES = 64, CJI_LOG_BYTES = 512 };

typedef struct cji_log_ring {
    pthread_mutex_t lock;
    uint64_t head, tail; /* lines written, lines read; head - tail <= CJI_LOG_LINES */
    uint8_t level[CJI_LOG_LINES];
    char line[CJI_LOG_LINES][CJI_LOG_BYTES];
} cji_log_ring;

/* Interposers: the first slots are for those of users, the others for those of the environment. */
enum { CJI_INTERPOSER_USERS = 4, CJI_INTERPOSER_SLOTS = 7, CJI_PROFILE_SLOTS = 4 };

/* Profiles that are on, and what they share: src/stream/profile. */
typedef struct cji_profile_list {
    struct cj_profile *on[CJI_PROFILE_SLOTS];
    uint32_t turns;  /* numbers given to profiles so far, one for each on and clear */
    struct cj_profile *all; /* that are not freed, linked */
    void *recorders; /* of devices, linked */
    void (*_Atomic device_closed)(void); /* a recorder is gone: the profile of CUJIT_PROFILE is written; NULL: none */
    cji_map names;   /* of records; kept while there is a profile */
} cji_profile_list;

typedef struct cji_process_state {
    cji_hooks hooks;           /* written before the first object only */
    atomic_uint_fast64_t made; /* objects made so far */
    pthread_once_t fork_once;
    /* fork_gen + 1, in a page that is wiped in a child of fork(): 0 there; or cji_fork_none: pthread_atfork counts
     * alone */
    atomic_uint *_Atomic fork_word;
    atomic_uint fork_gen;
    pthread_mutex_t drivers_lock; /* guards drivers */
    void *drivers;                /* opened drivers, newest first: src/driver's list */
    atomic_uint drivers_gen; /* cji_fork_gen() when the list was last looked at: a child begins with an empty one */
    struct cji_interposer
        *_Atomic interposer[CJI_INTERPOSER_SLOTS]; /* interposers over drivers: src/driver/interpose */
    pthread_mutex_t traces_lock;   /* guards traces */
    struct cji_trace_file *traces; /* files that traces are written to, linked */
    atomic_uint traces_gen;        /* as drivers_gen */
    /* The files of CUJIT_TRACE and CUJIT_RECORD that were written to last, as hashes; a descriptor + 1 that keeps each
     * locked while the process lives; how many recordings of that name there are.  Under drivers_lock. */
    uint64_t trace_begun, record_begun;
    int trace_held, record_held;
    unsigned record_turn;
    pthread_mutex_t memo_waits_lock;  /* guards memo_waits */
    struct cji_memo_wait *memo_waits; /* threads that wait for what others build: src/driver/cache/memo.c */
    atomic_uint memo_waits_gen;       /* as drivers_gen */
    atomic_bool cache_told;  /* a failure of the kernel cache on disk is in the log: src/driver/cache */
    atomic_bool first_fetched; /* the first module has fetched the code of a first launch: src/base/first.h */
    cji_log_ring log;
    cji_reserve reserve;
    pthread_once_t thread_once;
    pthread_key_t thread_key; /* its destructor returns the records of a thread that ends */
    atomic_bool thread_keyed;
    const struct cji_work_hooks *_Atomic work_hooks; /* around work: src/stream/core/work_hooks.h; NULL: none */
    pthread_mutex_t profiles_lock;                   /* guards profiles */
    cji_profile_list profiles;
} cji_process_state;

extern cji_process_state cji_process;
extern cji_record
    cji_records[CJI_RECORDS]; /* of the reserve; zeros until they are used, so not part of what has initial values */

/* A thread's caches of pools: the latest ones found, by the pool's address; all of them (src/base/thread_cache.h). */
enum { CJI_THREAD_RECENT_BITS = 4, CJI_THREAD_RECENT = 1 << CJI_THREAD_RECENT_BITS };
typedef struct cji_thread_cached { struct cji_thread_cache *recent[CJI_THREAD_RECENT], *all; } cji_thread_cached;

/* What a thread keeps: its latest failure, and the records that cj_error_of() and cj_error_last() gave out.  A thread
 * that ends returns them. */
enum { CJI_THREAD_COPIES = 4, CJI_THREAD_LOCKS = 48 };
typedef struct cji_thread_state {
    cji_kept last;
    cji_kept orphan;                    /* of objects with CJI_OBJ_OF_THREAD */
    cji_record *out[CJI_THREAD_COPIES]; /* by cj_error_of() */
    cji_record *out_last;               /* by cj_error_last() */
    cj_error spare;                     /* given out where a failure has no record */
    unsigned next_out;
    char name[CJI_SHORT_NAMES][CJI_SHORT_ROOM];   /* of the message under way: cji_short() */
    unsigned next_name;
    uint64_t id;
    bool measures;           /* work is being measured: calls inside are not measured again */
    struct cji_scope *scope; /* the innermost one of a call under way: src/driver/scope.h */
    uint8_t held[CJI_THREAD_LOCKS]; /* locks of each rank: src/base/lock.h */
} cji_thread_state;

/* All that is a thread's own: taken when it first uses the library, returned when it ends. */
typedef struct cji_thread_own {
    cji_thread_cached cached;
    cji_thread_state state;
    char apart[64]; /* what two threads own shares no line of the processor's cache */
} cji_thread_own;

/* Where that is; NULL: the thread has none yet.  The pointer is read without a call: glibc has room for one of a
 * library that is loaded late, but not for all that a thread owns. */
#ifdef __GLIBC__
#define CJI_THREAD_POINTER _Thread_local __attribute__((tls_model("initial-exec")))
#else
#define CJI_THREAD_POINTER _Thread_local
#endif
extern CJI_THREAD_POINTER cji_thread_own *cji_thread_here;

cji_thread_own *cji_thread_begin(void);
static inline cji_thread_own *cji_thread_all(void)
{
    cji_thread_own *t = cji_thread_here;
    return __builtin_expect(t != NULL, 1) ? t : cji_thread_begin();
}
static inline cji_thread_state *cji_thread(void) { return &cji_thread_all()->state; }

extern atomic_uint cji_fork_none; /* 0, for ever */

/* Of a function on the way of a call that is made very often: always inlined. */
#define CJI_QUICKLY static inline __attribute__((always_inline))

/* Whether cji_fork_gen() is `gen`, without a call; false also before its first call. */
CJI_QUICKLY bool cji_fork_gen_is(uint32_t gen)
{
    const atomic_uint *word = atomic_load_explicit(&cji_process.fork_word, memory_order_acquire);
    return atomic_load_explicit(word, memory_order_relaxed) == gen + 1;
}
uint64_t cji_thread_id(void); /* not 0; never repeats in a process */

#endif
