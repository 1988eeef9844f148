/* The process-wide state, the fork word, and the version. */
#include "base/process.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/obj.h"
#include "base/thread_cache.h"

cji_process_state cji_process = {
    .fork_once = PTHREAD_ONCE_INIT,
    .fork_gen = 1,
    .drivers_lock = PTHREAD_MUTEX_INITIALIZER,
    .log = { .lock = PTHREAD_MUTEX_INITIALIZER },
    .reserve = { .lock = PTHREAD_MUTEX_INITIALIZER },
    .thread_once = PTHREAD_ONCE_INIT,
    .profiles_lock = PTHREAD_MUTEX_INITIALIZER,
};

cji_record cji_records[CJI_RECORDS];

static _Thread_local cji_thread_state thread_state;
_Thread_local cji_thread_cached cji_cached;

cji_thread_state *cji_thread(void) { return &thread_state; }

static void thread_ends(void *state)
{
    cji_thread_state *t = state;
    cji_thread_caches_leave();
    cji_kept_clear(&t->last);
    cji_kept_clear(&t->orphan);
    for (int i = 0; i < CJI_THREAD_COPIES; i++) cji_record_drop(t->out[i]), t->out[i] = NULL;
    cji_record_drop(t->out_last), t->out_last = NULL;
    t->listed = false; /* a later destructor of this thread may fail once more */
}

static void make_key(void) { cji_process.thread_keyed = pthread_key_create(&cji_process.thread_key, thread_ends) == 0; }

void cji_thread_list(cji_thread_state *t)
{
    if (t->listed) return;
    pthread_once(&cji_process.thread_once, make_key);
    t->listed = !cji_process.thread_keyed || pthread_setspecific(cji_process.thread_key, t) == 0;
}

/* The library may be closed before its threads end. */
static void __attribute__((destructor)) drop_key(void)
{
    if (cji_process.thread_keyed) pthread_key_delete(cji_process.thread_key);
    cji_process.thread_keyed = false;
}

uint64_t cji_thread_id(void)
{
    static atomic_uint_fast64_t ids;
    if (!thread_state.id) thread_state.id = atomic_fetch_add(&ids, 1) + 1;
    return thread_state.id;
}

const char *cj_version(void)
{
#define CJI_STR_(x) #x
#define CJI_STR(x) CJI_STR_(x)
    return CJI_STR(CJ_VERSION_MAJOR) "." CJI_STR(CJ_VERSION_MINOR) "." CJI_STR(CJ_VERSION_PATCH);
#undef CJI_STR
#undef CJI_STR_
}

/* -- Fork ---------------------------------------------------------------------------------------------------------- */

/* Does what the kernel has done already where it wipes the page; serves where it does not (old kernels, Valgrind). */
static void in_child(void)
{
    atomic_uint *word = atomic_load(&cji_process.fork_word);
    cji_reserve_forked();
    if (word) atomic_store(word, 0u);
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
    if (!word) {
        pthread_once(&cji_process.fork_once, fork_init);
        word = atomic_load(&cji_process.fork_word);
    }
    if (word && atomic_load_explicit(word, memory_order_relaxed) == 0) {
        unsigned wiped = 0;
        const unsigned gen = atomic_load(&cji_process.fork_gen) + 1; /* nobody else changes it */
        if (atomic_compare_exchange_strong(word, &wiped, gen + 1)) atomic_store(&cji_process.fork_gen, gen);
    }
    return atomic_load_explicit(&cji_process.fork_gen, memory_order_relaxed);
}

bool cji_objects_exist(void) { return atomic_load(&cji_process.made) != 0; }
