/* The process-wide state, the fork word, and the version. */
#include "base/process.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/obj.h"
#include "base/thread_cache.h"

atomic_uint cji_fork_none;

cji_process_state cji_process = {
    .fork_once = PTHREAD_ONCE_INIT,
    .fork_word = &cji_fork_none,
    .fork_gen = 1,
    .drivers_lock = PTHREAD_MUTEX_INITIALIZER,
    .traces_lock = PTHREAD_MUTEX_INITIALIZER,
    .memo_waits_lock = PTHREAD_MUTEX_INITIALIZER,
    .log = { .lock = PTHREAD_MUTEX_INITIALIZER },
    .reserve = { .lock = PTHREAD_MUTEX_INITIALIZER },
    .thread_once = PTHREAD_ONCE_INIT,
    .profiles_lock = PTHREAD_MUTEX_INITIALIZER,
};

cji_record cji_records[CJI_RECORDS];

/* -- Threads ------------------------------------------------------------------------------------------------------- */

/* What the first threads own is part of the library, so that taking it cannot fail.  Only for more threads than these
 * at once it is allocated. */
enum { THREADS_OWN = 256, THREADS_WORD = 64 };
static cji_thread_own threads_own[THREADS_OWN];
static atomic_uint_fast64_t threads_taken[THREADS_OWN / THREADS_WORD]; /* a bit each */

CJI_THREAD_POINTER cji_thread_own *cji_thread_here;

static cji_thread_own *thread_own_take(void)
{
    for (int i = 0; i < THREADS_OWN / THREADS_WORD; i++) {
        uint64_t taken = atomic_load_explicit(&threads_taken[i], memory_order_relaxed);
        while (~taken) {
            const int bit = __builtin_ctzll(~taken);
            if (atomic_compare_exchange_weak_explicit(&threads_taken[i], &taken, taken | UINT64_C(1) << bit,
                                                      memory_order_acquire, memory_order_relaxed))
                return &threads_own[i * THREADS_WORD + bit];
        }
    }
    return cji_zalloc(sizeof(cji_thread_own));
}

static void thread_own_return(cji_thread_own *t)
{
    const size_t i = ((uintptr_t)t - (uintptr_t)threads_own) / sizeof *t;
    if (i >= THREADS_OWN) {
        cji_free(t, sizeof *t);
        return;
    }
    memset(t, 0, sizeof *t);
    atomic_fetch_and_explicit(&threads_taken[i / THREADS_WORD], ~(UINT64_C(1) << i % THREADS_WORD),
                              memory_order_release);
}

static void thread_ends(void *own)
{
    cji_thread_state *t = &((cji_thread_own *)own)->state;
    cji_thread_caches_leave();
    cji_kept_clear(&t->last);
    cji_kept_clear(&t->orphan);
    for (int i = 0; i < CJI_THREAD_COPIES; i++) cji_record_drop(t->out[i]);
    cji_record_drop(t->out_last);
    cji_thread_here = NULL; /* a later destructor of this thread may call the library once more: it begins anew */
    thread_own_return(own);
}

static void make_key(void) { cji_process.thread_keyed = pthread_key_create(&cji_process.thread_key, thread_ends) == 0; }

cji_thread_own *cji_thread_begin(void)
{
    static atomic_uint_fast64_t ids;
    cji_thread_own *t;
    while (!(t = thread_own_take())) sched_yield(); /* until there is memory, or another thread ends */
    t->state.id = atomic_fetch_add(&ids, 1) + 1;
    cji_thread_here = t;
    pthread_once(&cji_process.thread_once, make_key);
    if (cji_process.thread_keyed) pthread_setspecific(cji_process.thread_key, t);
    return t;
}

/* The library may be closed before its threads end. */
static void __attribute__((destructor)) drop_key(void)
{
    if (cji_process.thread_keyed) pthread_key_delete(cji_process.thread_key);
    cji_process.thread_keyed = false;
}

uint64_t cji_thread_id(void) { return cji_thread()->id; }

/* -- The version --------------------------------------------------------------------------------------------------- */

const char *cj_version(void)
{
#define CJI_STR_(x) #x
#define CJI_STR(x) CJI_STR_(x)
    return CJI_STR(CJ_VERSION_MAJOR) "." CJI_STR(CJ_VERSION_MINOR) "." CJI_STR(CJ_VERSION_PATCH);
#undef CJI_STR
#undef CJI_STR_
}

/* -- Fork ---------------------------------------------------------------------------------------------------------- */

/* What is behind a lock that another thread may have held: the log stays, the parent's profiles are the parent's. */
static void locks_forked(void)
{
    cji_reserve_forked();
    pthread_mutex_init(&cji_process.log.lock, NULL);
    pthread_mutex_init(&cji_process.profiles_lock, NULL);
    cji_process.profiles = (cji_profile_list){ .all = NULL };
    atomic_store(&cji_process.work_hooks, NULL);
}

/* Does what the kernel has done already where it wipes the page; serves where it does not (old kernels, Valgrind). */
static void in_child(void)
{
    atomic_uint *word = atomic_load(&cji_process.fork_word);
    locks_forked();
    if (word != &cji_fork_none) atomic_store(word, 0u);
    else atomic_fetch_add(&cji_process.fork_gen, 1);
}

static void fork_init(void)
{
#ifdef MADV_WIPEONFORK
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p != MAP_FAILED) {
        if (madvise(p, page, MADV_WIPEONFORK) == 0) {
            atomic_store((atomic_uint *)p, atomic_load(&cji_process.fork_gen) + 1);
            atomic_store(&cji_process.fork_word, p);
        } else {
            munmap(p, page);
        }
    }
#endif
    pthread_atfork(NULL, NULL, in_child);
}

uint32_t cji_fork_gen(void)
{
    atomic_uint *word = atomic_load_explicit(&cji_process.fork_word, memory_order_acquire);
    if (word == &cji_fork_none) {
        pthread_once(&cji_process.fork_once, fork_init);
        word = atomic_load(&cji_process.fork_word);
    }
    if (word != &cji_fork_none && atomic_load_explicit(word, memory_order_relaxed) == 0) {
        unsigned wiped = 0;
        const unsigned gen = atomic_load(&cji_process.fork_gen) + 1; /* nobody else changes it */
        if (atomic_compare_exchange_strong(word, &wiped, gen + 1)) atomic_store(&cji_process.fork_gen, gen);
    }
    return atomic_load_explicit(&cji_process.fork_gen, memory_order_relaxed);
}

bool cji_objects_exist(void) { return atomic_load(&cji_process.made) != 0; }
