/* Events between processes: their points, in memory that the processes share.
 *
 * A record takes a slot and a version that no record of the event had before; the slot's word says which version it has and whether that is pending.
 * Points are reached in the order in which they were recorded, in whatever streams and processes (as on an H100): one is pending as long as its slot
 * says so, or that of an earlier version whose process lives.  `last` is the point that the event stands for, 0 before the first record.  Who waits for
 * a point of another process sleeps on `changes`.
 *
 * A process that ends leaves the points pending that it has not reached, and who waits for one goes on waiting; that is named in the log. */
#include "sim/simcore.h"
#include "sim/sim_device.h"
#include "sim/sim_queue.h"
#include "sim/sim_shared.h"
#include "sim/sim_stream.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SD_SLOT_BITS = 12, SD_SLOTS = 1 << SD_SLOT_BITS, SD_NAP = 20000000 };   /* ns */

typedef struct sd_slot {
    _Atomic uint64_t state;         /* version << 1, and 1 while that is pending */
    _Atomic int32_t pid;            /* of the process that recorded it */
} sd_slot;

typedef struct sd_points {
    _Atomic uint64_t last;          /* version << SD_SLOT_BITS | slot */
    _Atomic uint64_t versions;      /* given out */
    _Atomic uint32_t pending;       /* slots */
    _Atomic uint32_t changes;       /* counts points that were reached */
    sd_slot slot[SD_SLOTS];
} sd_points;

struct sd_shared {
    unsigned refs;                  /* the event, points under way, works that wait */
    int fd;
    bool own;                       /* made by this process */
    sd_points *p;
};

/* ---- Life -------------------------------------------------------------------------------------------------------- */

static sd_shared *sd_shared_map(int fd, bool own)
{
    sd_shared *h = cji_zalloc(sizeof *h);
    void *p = h ? mmap(NULL, sizeof(sd_points), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (p == MAP_FAILED) {
        cji_free(h, sizeof *h);
        close(fd);
        return NULL;
    }
    *h = (sd_shared){ .refs = 1, .fd = fd, .own = own, .p = p };
    return h;
}

sd_shared *cji_sd_shared_new(void)
{
    int fd = cji_sd_file_make("cujit-event", sizeof(sd_points));
    return fd < 0 ? NULL : sd_shared_map(fd, true);
}

sd_shared *cji_sd_shared_hold(sd_shared *h)
{
    h->refs++;
    return h;
}

void cji_sd_shared_drop(sd_shared *h)
{
    if (!h || --h->refs) return;
    munmap(h->p, sizeof *h->p);
    close(h->fd);
    cji_free(h, sizeof *h);
}

/* ---- Points ------------------------------------------------------------------------------------------------------ */

static sd_slot *sd_slot_of(const sd_shared *h, uint64_t point) { return &h->p->slot[point % SD_SLOTS]; }

/* Its process is gone. */
static bool sd_slot_orphaned(const sd_slot *s)
{
    int pid = atomic_load(&s->pid);
    return pid && kill(pid, 0) != 0 && errno == ESRCH;
}

/* The first slot that holds back the point of that version: its own, or an earlier one of a process that lives.  NULL: it is reached. */
static sd_slot *sd_slot_pending(const sd_shared *h, uint64_t version)
{
    sd_slot *first = NULL;
    uint64_t least = version;
    for (uint64_t i = 0; i < SD_SLOTS && atomic_load(&h->p->pending); i++) {
        uint64_t state = atomic_load(&h->p->slot[i].state);
        if (!(state & 1) || state >> 1 > least || (state >> 1 < version && sd_slot_orphaned(&h->p->slot[i]))) continue;
        first = &h->p->slot[i];
        least = state >> 1;
    }
    return first;
}

static bool sd_point_pends(const sd_shared *h, uint64_t point) { return point && sd_slot_pending(h, point >> SD_SLOT_BITS); }

/* 0: every slot is taken. */
static uint64_t sd_point_take(const sd_shared *h)
{
    uint64_t version = atomic_fetch_add(&h->p->versions, 1) + 1;
    for (uint64_t i = 0; i < SD_SLOTS; i++) {
        sd_slot *s = &h->p->slot[i];
        uint64_t was = atomic_load(&s->state);
        if (was & 1) continue;
        atomic_fetch_add(&h->p->pending, 1);
        if (!atomic_compare_exchange_strong(&s->state, &was, version << 1 | 1)) {
            atomic_fetch_sub(&h->p->pending, 1);
            continue;
        }
        atomic_store(&s->pid, (int32_t)getpid());
        return version << SD_SLOT_BITS | i;
    }
    return 0;
}

static void sd_point_reach(const sd_shared *h, uint64_t point)
{
    atomic_store(&sd_slot_of(h, point)->pid, 0);
    atomic_store(&sd_slot_of(h, point)->state, (point >> SD_SLOT_BITS) << 1);
    atomic_fetch_sub(&h->p->pending, 1);
    atomic_fetch_add(&h->p->changes, 1);
    syscall(SYS_futex, &h->p->changes, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

bool cji_sd_shared_record(sd_event *e, sd_op *point)
{
    uint64_t p = sd_point_take(e->shared);
    if (!p) return false;
    e->far = p;
    if (point->done) {
        sd_point_reach(e->shared, p);
    } else {
        point->shared = cji_sd_shared_hold(e->shared);
        point->far = p;
    }
    atomic_store(&e->shared->p->last, p);
    return true;
}

/* Not at the end of the process, where operations end without their work. */
void cji_sd_shared_reach(sd_op *point)
{
    if (!atomic_load(&sd.exiting)) sd_point_reach(point->shared, point->far);
    cji_sd_shared_drop(point->shared);
    point->shared = NULL;
}

void cji_sd_event_now(const sd_event *e, sd_op **near, uint64_t *far)
{
    uint64_t last = e->shared ? atomic_load(&e->shared->p->last) : 0;
    *near = NULL;
    *far = 0;
    if (last && (last != e->far || sd_slot_pending(e->shared, (last >> SD_SLOT_BITS) - 1))) *far = sd_point_pends(e->shared, last) ? last : 0;
    else if (e->point && !e->point->done) *near = e->point;
}

bool cji_sd_shared_orphaned(const sd_event *e)
{
    const sd_slot *slot = sd_slot_pending(e->shared, atomic_load(&e->shared->p->last) >> SD_SLOT_BITS);
    return slot && sd_slot_orphaned(slot);
}

bool cji_sd_event_recorded(const sd_event *e) { return e->recorded || (e->shared && atomic_load(&e->shared->p->last)); }

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

/* Until something changes, or for a moment. */
static void sd_far_nap(const sd_shared *h, uint64_t point)
{
    const struct timespec nap = { .tv_nsec = SD_NAP };
    uint32_t seen = atomic_load(&h->p->changes);
    if (sd_point_pends(h, point)) syscall(SYS_futex, &h->p->changes, FUTEX_WAIT, seen, &nap, NULL, 0);
}

static void sd_far_stalls(const sd_shared *h, uint64_t point, const sd_stream *s)
{
    const sd_slot *slot = sd_slot_pending(h, point >> SD_SLOT_BITS);
    if (!slot) return;
    int pid = atomic_load(&slot->pid);
    bool gone = sd_slot_orphaned(slot);
    char who[48] = "a thread";
    if (s) snprintf(who, sizeof who, "stream %llu", (unsigned long long)s->id);
    cji_log(CJ_LOG_WARNING, "%s has waited %u ms for an event that process %d recorded (CUJIT_SIM_STALL_MS), and goes on waiting%s", who, sd.set.stall_ms, pid,
            gone ? "; that process is gone, so it never comes" : "");
}

/* Without the lock.  `cancel` ends it too. */
static void sd_far_await(const sd_shared *h, uint64_t point, const sd_stream *s, const int *cancel)
{
    uint64_t begun = cji_sd_now(), stall = (uint64_t)sd.set.stall_ms * 1000000u;
    while (sd_point_pends(h, point) && !atomic_load(&sd.exiting) && !__atomic_load_n(cancel, __ATOMIC_RELAXED)) {
        sd_far_nap(h, point);
        if (!stall || cji_sd_now() - begun < stall || !sd_point_pends(h, point)) continue;
        sd_far_stalls(h, point, s);
        stall = 0;
    }
}

CUresult cji_sd_far_work(const sd_event *e, uint64_t far, sd_ctx *c, sd_work **out)
{
    *out = cji_sd_work_new(SD_FAR, c, 0);
    if (!*out) return CUDA_ERROR_OUT_OF_MEMORY;
    (*out)->far.shared = cji_sd_shared_hold(e->shared);
    (*out)->far.point = far;
    return CUDA_SUCCESS;
}

void cji_sd_run_far(const sd_op *op, const sd_work *w) { sd_far_await(w->far.shared, w->far.point, op->stream, &op->ctx->cancel); }

CUresult cji_sd_far_sync(sd_event *e, uint64_t far)
{
    sd_shared *h = cji_sd_shared_hold(e->shared);
    const int *cancel = &e->ctx->cancel;
    sd_unlock();
    sd_far_await(h, far, NULL, cancel);
    sd_lock();
    bool over = !sd_point_pends(h, far);
    cji_sd_shared_drop(h);
    return over || !atomic_load(&sd.exiting) ? CUDA_SUCCESS : CUDA_ERROR_DEINITIALIZED;
}

/* ---- Handles ----------------------------------------------------------------------------------------------------- */

/* One that was opened is given out by the process that made it. */
CUresult cji_sd_cuIpcGetEventHandle(CUipcEventHandle *out, CUevent h)
{
    sd_event *e;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_event_get(h, &e);
    if (!r && (!e->shared || !e->shared->own)) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r && !cji_sd_handle_fill(out, SD_SHARED_EVENT, &(sd_way){ .fd = e->shared->fd, .bytes = sizeof(sd_points) })) r = CUDA_ERROR_OPERATING_SYSTEM;
    sd_unlock();
    return r;
}

static CUresult sd_event_open(const CUipcEventHandle *handle, sd_ctx *c, CUevent *out)
{
    sd_way way;
    CUresult r = cji_sd_handle_open(handle, SD_SHARED_EVENT, &way);
    if (r) return r == CUDA_ERROR_INVALID_VALUE ? CUDA_ERROR_MAP_FAILED : r;   /* bytes that are no handle: as an H100 says */
    sd_shared *h = sd_shared_map(way.fd, false);
    if (!h) return CUDA_ERROR_OUT_OF_MEMORY;
    return cji_sd_event_make(c, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS, h, out);
}

CUresult cji_sd_cuIpcOpenEventHandle(CUevent *out, CUipcEventHandle handle)
{
    sd_ctx *c;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_ctx(&c);
    if (!r) r = sd_event_open(&handle, c, out);
    sd_unlock();
    return r;
}
