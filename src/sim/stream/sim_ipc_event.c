/* Events between processes: their points, in memory that the processes share.
 *
 * A record takes a slot and a version that no record of the event had before; the slot's state holds its version and
 * whether that is pending. Points are reached in the order in which they were recorded, in whatever streams and
 * processes (as on an H100): one is pending while its slot is, or that of an earlier version whose process lives.
 * `last` is the point that the event stands for, 0 before the first record. Who waits for a point of another
 * process sleeps on `changes`.
 *
 * A process that ends leaves the points pending that it has not reached, and who waits for one still waits; the log
 * names them. */
#include "sim/stream/sim_stream.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SIM_IPC_SLOT_BITS = 12, SIM_IPC_SLOTS = 1 << SIM_IPC_SLOT_BITS, SIM_IPC_NAP = 20000000 };   /* ns */

typedef struct sim_ipc_slot {
    _Atomic uint64_t state;         /* version << 1, and 1 while that is pending */
    _Atomic int32_t pid;            /* of the process that recorded it */
} sim_ipc_slot;

typedef struct sim_ipc_points {
    _Atomic uint64_t last;          /* version << SIM_IPC_SLOT_BITS | slot */
    _Atomic uint64_t versions;      /* used so far */
    _Atomic uint32_t pending;       /* slots */
    _Atomic uint32_t changes;       /* counts points that were reached */
    sim_ipc_slot slot[SIM_IPC_SLOTS];
} sim_ipc_points;

struct sim_ipc_event {
    unsigned refs;                  /* the event, points under way, works that wait */
    int fd;
    bool own;                       /* made by this process */
    sim_ipc_points *p;
};

/* ---- Life -------------------------------------------------------------------------------------------------------- */

static sim_ipc_event *sim_ipc_event_map(int fd, bool own)
{
    sim_ipc_event *h = cji_zalloc(sizeof *h);
    void *p = h ? mmap(NULL, sizeof(sim_ipc_points), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (p == MAP_FAILED) {
        cji_free(h, sizeof *h);
        close(fd);
        return NULL;
    }
    *h = (sim_ipc_event){ .refs = 1, .fd = fd, .own = own, .p = p };
    return h;
}

sim_ipc_event *cji_sim_ipc_event_new(void)
{
    int fd = cji_sim_ipc_file_make("event", sizeof(sim_ipc_points));
    return fd < 0 ? NULL : sim_ipc_event_map(fd, true);
}

static sim_ipc_event *sim_ipc_event_hold(sim_ipc_event *h)
{
    h->refs++;
    return h;
}

void cji_sim_ipc_event_drop(sim_ipc_event *h)
{
    if (!h || --h->refs) return;
    munmap(h->p, sizeof *h->p);
    close(h->fd);
    cji_free(h, sizeof *h);
}

/* ---- Points ------------------------------------------------------------------------------------------------------ */

static sim_ipc_slot *sim_ipc_slot_of(const sim_ipc_event *h, uint64_t point)
{
    return &h->p->slot[point % SIM_IPC_SLOTS];
}

/* Its process is gone. */
static bool sim_ipc_slot_orphaned(const sim_ipc_slot *s)
{
    int pid = atomic_load(&s->pid);
    return pid && kill(pid, 0) != 0 && errno == ESRCH;
}

/* The first slot that holds back the point of that version: its own, or an earlier one of a process that lives.
 * NULL: it is reached. */
static sim_ipc_slot *sim_ipc_slot_pending(const sim_ipc_event *h, uint64_t version)
{
    sim_ipc_slot *first = NULL;
    uint64_t least = version;
    for (uint64_t i = 0; i < SIM_IPC_SLOTS && atomic_load(&h->p->pending); i++) {
        uint64_t state = atomic_load(&h->p->slot[i].state);
        if (!(state & 1) || state >> 1 > least || (state >> 1 < version && sim_ipc_slot_orphaned(&h->p->slot[i])))
            continue;
        first = &h->p->slot[i];
        least = state >> 1;
    }
    return first;
}

static bool sim_ipc_point_pends(const sim_ipc_event *h, uint64_t point)
{
    return point && sim_ipc_slot_pending(h, point >> SIM_IPC_SLOT_BITS);
}

/* 0: every slot is taken. */
static uint64_t sim_ipc_point_take(const sim_ipc_event *h)
{
    uint64_t version = atomic_fetch_add(&h->p->versions, 1) + 1;
    for (uint64_t i = 0; i < SIM_IPC_SLOTS; i++) {
        sim_ipc_slot *s = &h->p->slot[i];
        uint64_t was = atomic_load(&s->state);
        if (was & 1) continue;
        atomic_fetch_add(&h->p->pending, 1);
        if (!atomic_compare_exchange_strong(&s->state, &was, version << 1 | 1)) {
            atomic_fetch_sub(&h->p->pending, 1);
            continue;
        }
        atomic_store(&s->pid, (int32_t)getpid());
        return version << SIM_IPC_SLOT_BITS | i;
    }
    return 0;
}

static void sim_ipc_point_reach(const sim_ipc_event *h, uint64_t point)
{
    atomic_store(&sim_ipc_slot_of(h, point)->pid, 0);
    atomic_store(&sim_ipc_slot_of(h, point)->state, (point >> SIM_IPC_SLOT_BITS) << 1);
    atomic_fetch_sub(&h->p->pending, 1);
    atomic_fetch_add(&h->p->changes, 1);
    syscall(SYS_futex, &h->p->changes, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* A point that was recorded is done. Not at the end of the process, where operations end without their work. */
static void sim_ipc_event_reached(sim_op *point)
{
    if (!atomic_load(&sim.exiting)) sim_ipc_point_reach(point->reached_for, point->reached_point);
    cji_sim_ipc_event_drop(point->reached_for);
    point->reached_for = NULL;
}

bool cji_sim_ipc_event_record(sim_event *e, sim_op *point)
{
    uint64_t p = sim_ipc_point_take(e->ipc);
    if (!p) return false;
    e->ipc_point = p;
    if (point->done) {
        sim_ipc_point_reach(e->ipc, p);
    } else {
        point->reached_for = sim_ipc_event_hold(e->ipc);
        point->reached_point = p;
        point->reached = sim_ipc_event_reached;
    }
    atomic_store(&e->ipc->p->last, p);
    return true;
}

void cji_sim_event_now(const sim_event *e, sim_op **own, uint64_t *foreign)
{
    uint64_t last = e->ipc ? atomic_load(&e->ipc->p->last) : 0;
    *own = NULL;
    *foreign = 0;
    if (last && (last != e->ipc_point || sim_ipc_slot_pending(e->ipc, (last >> SIM_IPC_SLOT_BITS) - 1)))
        *foreign = sim_ipc_point_pends(e->ipc, last) ? last : 0;
    else if (e->point && !e->point->done) *own = e->point;
}

bool cji_sim_ipc_event_orphaned(const sim_event *e)
{
    const sim_ipc_slot *slot = sim_ipc_slot_pending(e->ipc, atomic_load(&e->ipc->p->last) >> SIM_IPC_SLOT_BITS);
    return slot && sim_ipc_slot_orphaned(slot);
}

bool cji_sim_event_recorded(const sim_event *e) { return e->recorded || (e->ipc && atomic_load(&e->ipc->p->last)); }

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

/* Until something changes, or for a moment. */
static void sim_ipc_nap(const sim_ipc_event *h, uint64_t point)
{
    const struct timespec nap = { .tv_nsec = SIM_IPC_NAP };
    uint32_t seen = atomic_load(&h->p->changes);
    if (sim_ipc_point_pends(h, point)) syscall(SYS_futex, &h->p->changes, FUTEX_WAIT, seen, &nap, NULL, 0);
}

static void sim_ipc_stalls(const sim_ipc_event *h, uint64_t point, const sim_stream *s)
{
    const sim_ipc_slot *slot = sim_ipc_slot_pending(h, point >> SIM_IPC_SLOT_BITS);
    if (!slot) return;
    int pid = atomic_load(&slot->pid);
    bool gone = sim_ipc_slot_orphaned(slot);
    char who[48] = "a thread";
    if (s) snprintf(who, sizeof who, "stream %llu", (unsigned long long)s->id);
    cji_log(CJ_LOG_WARNING,
            "%s has waited %u ms for an event that process %d recorded (CUJIT_SIM_STALL_MS), and still waits%s",
            who, sim.set.stall_ms, pid, gone ? "; that process is gone, so it never comes" : "");
}

/* Without the lock. `cancel` ends it too. */
static void sim_ipc_await(const sim_ipc_event *h, uint64_t point, const sim_stream *s, const int *cancel)
{
    uint64_t begun = cji_now(), stall = (uint64_t)sim.set.stall_ms * 1000000u;
    while (sim_ipc_point_pends(h, point) && !atomic_load(&sim.exiting) && !__atomic_load_n(cancel, __ATOMIC_RELAXED)) {
        sim_ipc_nap(h, point);
        if (!stall || cji_now() - begun < stall || !sim_ipc_point_pends(h, point)) continue;
        sim_ipc_stalls(h, point, s);
        stall = 0;
    }
}

typedef struct sim_ipc_wait {
    sim_work work;
    sim_ipc_event *event;           /* held */
    uint64_t point;
} sim_ipc_wait;

static void sim_ipc_wait_run(sim_op *op)
{
    const sim_ipc_wait *w = (const sim_ipc_wait *)op->work;
    sim_ipc_await(w->event, w->point, op->stream, &op->ctx->cancel);
}

static void sim_ipc_wait_drop(sim_work *w) { cji_sim_ipc_event_drop(((sim_ipc_wait *)w)->event); }

static const sim_work_kind sim_kind_ipc_wait = {
    .name = "wait event", .node_type = CU_GRAPH_NODE_TYPE_EMPTY, .traits = SIM_WORK_WRITES_ANYTHING,
    .run = sim_ipc_wait_run, .drop = sim_ipc_wait_drop
};

CUresult cji_sim_ipc_event_work(const sim_event *e, uint64_t foreign, sim_ctx *c, sim_work **out)
{
    sim_ipc_wait *w = (sim_ipc_wait *)cji_sim_work_new(&sim_kind_ipc_wait, c, sizeof *w);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    w->event = sim_ipc_event_hold(e->ipc);
    w->point = foreign;
    *out = &w->work;
    return CUDA_SUCCESS;
}

CUresult cji_sim_ipc_event_sync(sim_event *e, uint64_t foreign)
{
    sim_ipc_event *h = sim_ipc_event_hold(e->ipc);
    const int *cancel = &e->ctx->cancel;
    sim_unlock();
    sim_ipc_await(h, foreign, NULL, cancel);
    sim_lock();
    bool over = !sim_ipc_point_pends(h, foreign);
    cji_sim_ipc_event_drop(h);
    return over || !atomic_load(&sim.exiting) ? CUDA_SUCCESS : CUDA_ERROR_DEINITIALIZED;
}

/* ---- Handles ----------------------------------------------------------------------------------------------------- */

/* Only the process that made the event has a handle of it. */
CUresult cji_sim_cuIpcGetEventHandle(CUipcEventHandle *out, CUevent h)
{
    sim_event *e;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_event_get(h, &e);
    if (!r && (!e->ipc || !e->ipc->own)) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r && !cji_sim_ipc_handle_fill(out, SIM_IPC_EVENT,
                                       &(sim_ipc_way){ .fd = e->ipc->fd, .bytes = sizeof(sim_ipc_points) }))
        r = CUDA_ERROR_OPERATING_SYSTEM;
    sim_unlock();
    return r;
}

static CUresult sim_ipc_event_open(const CUipcEventHandle *handle, sim_ctx *c, CUevent *out)
{
    sim_ipc_way way;
    CUresult r = cji_sim_ipc_handle_open(handle, SIM_IPC_EVENT, &way);
    if (r)
        return r == CUDA_ERROR_INVALID_VALUE ? CUDA_ERROR_MAP_FAILED
                                             : r; /* bytes that are no handle: as an H100 returns */
    if (way.at || way.bytes != sizeof(sim_ipc_points)) {
        close(way.fd);
        return CUDA_ERROR_MAP_FAILED;
    }
    sim_ipc_event *h = sim_ipc_event_map(way.fd, false);
    if (!h) return CUDA_ERROR_OUT_OF_MEMORY;
    return cji_sim_event_make(c, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS, h, out);
}

CUresult cji_sim_cuIpcOpenEventHandle(CUevent *out, CUipcEventHandle handle)
{
    sim_ctx *c;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    if (!r) r = sim_ipc_event_open(&handle, c, out);
    sim_unlock();
    return r;
}
