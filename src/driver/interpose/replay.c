/* Repeats a recording: its calls in their order, each on the thread that stands for the one that made it.
 *
 * One call is made at a time.  A thread gets all calls up to the next one of another thread at once.  A call that
 * releases something has its place where it began, and may block until what comes behind it was enqueued by other
 * threads; so they go on while it runs. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/opts.h"
#include "driver/interpose/record_file.h"
#include "driver/interpose/replay_parts.h"

/* -- One call ------------------------------------------------------------------------------------------------------ */

/* Why a call that the recording has cannot be made; NULL: it can. */
static const char *obstacle_of(cji_replay *rp, const cji_replay_item *item, const cji_rec_call *call,
                               const cji_replay_name *name)
{
    if (!name || name->id < 0) return "this cujit knows no such entry point";
    if (call->what == CJI_REC_UNKNOWN) return (const char *)item->p + sizeof *call + sizeof(cji_rec_arg);
    if (call->args != cji_cu_rows[name->id].count) return "it has another number of arguments";
    return rp->drv && rp->drv->missing[name->id] ? "the driver does not have it" : NULL;
}

static void not_repeated(cji_replay *rp, const cji_rec_call *call, const char *why)
{
    rp->result.impossible++;
    cji_replay_say(rp, "call %llu, %s, is not repeated: %s", (unsigned long long)call->number,
                   cji_recording_call_name(rp->rec, call), why);
}

/* What the program asked until it was so is waited for; an answer that it was not so yet is not. */
static int waiting_row(int id)
{
    if (id == CJI_CU_ID_cuStreamQuery) return CJI_CU_ID_cuStreamSynchronize;
    if (id == CJI_CU_ID_cuEventQuery) return CJI_CU_ID_cuEventSynchronize;
    return id;
}

static void compare_result(cji_replay *rp, const cji_rec_call *call, CUresult r)
{
    if ((int32_t)r == call->result) return;
    const char *now = cji_cu_error_name((int)r), *then = cji_cu_error_name(call->result);
    rp->result.results++;
    cji_replay_differs(rp, "call %llu, %s: %s (%d), and was %s (%d)", (unsigned long long)call->number,
                       cji_recording_call_name(rp->rec, call), now ? now : "a result", (int)r, then ? then : "a result",
                       (int)call->result);
}

/* The first graph among the arguments, as it was then: nodes that the call makes belong to it. */
static uint64_t graph_of(const cji_replay_item *item)
{
    const unsigned char *p = item->p + sizeof(cji_rec_call), *end = item->p + item->bytes, *bytes;
    while (p < end) {
        const cji_rec_arg a = cji_recording_arg(&p, &bytes);
        if (a.kind == CJI_REC_HANDLE && a.about == CJI_HANDLE_GRAPH) return a.value;
    }
    return 0;
}

static CUstream stream_of(const cji_cu_row *row, const uint64_t *value)
{
    for (int i = 0; i < row->count; i++)
        if (!strcmp(row->param[i].type, "CUstream")) return (CUstream)(uintptr_t)value[i];
    return NULL;
}

/* The device that a call takes the context of; -1: none. */
static int device_ended(cji_replay *rp, int id, const uint64_t *value)
{
    CUcontext none;
    CUdevice device = -1;
    if (id == CJI_CU_ID_cuDevicePrimaryCtxRelease || id == CJI_CU_ID_cuDevicePrimaryCtxReset) return (int)value[0];
    if (id != CJI_CU_ID_cuCtxDestroy) return -1;
    if (rp->cu->cuCtxPushCurrent((CUcontext)(uintptr_t)value[0]) != CUDA_SUCCESS) return -1;
    if (rp->cu->cuCtxGetDevice(&device) != CUDA_SUCCESS) device = -1;
    rp->cu->cuCtxPopCurrent(&none);
    return device;
}

static void count_contexts(cji_replay *rp, int id, const uint64_t *value)
{
    const int device = id == CJI_CU_ID_cuDevicePrimaryCtxRetain ? (int)value[1] : (int)value[0];
    const bool there = device >= 0 && device < CJI_REPLAY_DEVICES;
    if (there && id == CJI_CU_ID_cuDevicePrimaryCtxRetain) rp->retained[device]++;
    if (there && id == CJI_CU_ID_cuDevicePrimaryCtxRelease && rp->retained[device]) rp->retained[device]--;
}

/* What the call would have made: no kernel may use what is at such an address now. */
static void lose_memory(cji_replay *rp, const cji_replay_item *item)
{
    const unsigned char *p = item->p + sizeof(cji_rec_call), *end = item->p + item->bytes, *bytes;
    while (p < end) {
        const cji_rec_arg a = cji_recording_arg(&p, &bytes);
        if (a.kind == CJI_REC_NEW_ADDRESS || a.kind == CJI_REC_NEW_HOST) cji_replay_map(&rp->maps, a.value, a.room, 0);
    }
}

/* A handle of then that a call has ended. */
static void forget_handles(cji_replay *rp, const cji_replay_item *item, int id)
{
    const unsigned char *p = item->p + sizeof(cji_rec_call), *bytes;
    const cji_rec_arg a = cji_recording_arg(&p, &bytes);
    if (id == CJI_CU_ID_cuGraphDestroy) cji_replay_forget_nodes(&rp->maps, a.value);
    cji_replay_handle *h =
        id == CJI_CU_ID_cuCtxDestroy ? cji_replay_find(&rp->maps, CJI_HANDLE_CONTEXT, a.value) : NULL;
    if (h) h->live = false;
}

typedef struct replay_step {
    const cji_replay_item *item;
    cji_rec_call call;
    int id;
    uint64_t value[CJI_CU_PARAMS + 1];
} replay_step;

/* Prepares a call; false: it is not made. */
static bool step_begin(cji_replay *rp, replay_step *s, const cji_replay_item *item)
{
    s->item = item;
    s->call = cji_recording_call(item);
    const cji_replay_name *name = cji_recording_name(rp->rec, s->call.name);
    if (s->call.what == CJI_REC_QUERY || s->call.what == CJI_REC_FAILED) {
        rp->result.left_out++;
        return false;
    }
    const char *obstacle = obstacle_of(rp, item, &s->call, name);
    if (!obstacle && waiting_row(name->id) != name->id && s->call.result == CUDA_ERROR_NOT_READY) {
        rp->result.left_out++;
        return false;
    }
    if (!obstacle && !cji_replay_arguments(rp, item, &s->call, s->value)) obstacle = rp->why;
    if (obstacle) {
        cji_replay_copied(rp, &s->call, "", NULL, false);
        not_repeated(rp, &s->call, obstacle);
        lose_memory(rp, item);
        return false;
    }
    s->id = waiting_row(name->id);
    const int device = device_ended(rp, s->id, s->value);
    if (device >= 0) cji_replay_drain(rp, device);
    rp->result.repeated++;
    return true;
}

static void step_end(cji_replay *rp, const replay_step *s, CUresult r)
{
    const cji_cu_row *row = &cji_cu_rows[s->id];
    const bool fine = r == CUDA_SUCCESS;
    compare_result(rp, &s->call, r);
    if (fine) {
        const bool own = s->id == CJI_CU_ID_cuCtxCreate || s->id == CJI_CU_ID_cuCtxCreate_v3 ||
                         s->id == CJI_CU_ID_cuCtxCreate_v4;
        cji_replay_bind_outs(rp, own ? 1 : graph_of(s->item), s->value);
        count_contexts(rp, s->id, s->value);
        forget_handles(rp, s->item, s->id);
    } else {
        lose_memory(rp, s->item);
    }
    rp->outs = NULL;
    cji_replay_copied(rp, &s->call, row->name, stream_of(row, s->value), fine);
    if (fine && s->id == CJI_CU_ID_cuGraphLaunch) cji_replay_launched(rp, &s->call, stream_of(row, s->value));
    if (fine && cji_rec_is_wait(s->id)) cji_replay_harvest(rp);
}

/* -- Threads ------------------------------------------------------------------------------------------------------- */

enum { REPLAY_THREADS = 1024, REPLAY_STACK = 1 << 20 };

struct replay_crew;

typedef struct replay_thread {
    struct replay_thread *next;
    struct replay_crew *crew;
    uint32_t number;
    size_t last;             /* its last item */
    pthread_t thread;
    pthread_cond_t called;
    size_t from, to;         /* the items to do */
    bool asked, end;
    bool releasing;          /* its last call is made while others go on */
    bool released;           /* it has returned, and its result is not looked at yet */
    replay_step step;
    CUresult result;
} replay_thread;

typedef struct replay_crew {
    cji_replay *rp;
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool busy;               /* a thread makes calls; with it the replay is its own */
    replay_thread *threads;
    unsigned count;
} replay_crew;

static void hand_back(replay_crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    crew->busy = false;
    pthread_cond_broadcast(&crew->done);
    pthread_mutex_unlock(&crew->lock);
}

/* Does its items.  `true`: the last one was made without the replay being its own, and has returned. */
static bool do_items(replay_thread *t)
{
    cji_replay *rp = t->crew->rp;
    for (size_t i = t->from; i < t->to && rp->status == CJ_OK; i++) {
        const cji_replay_item *item = &rp->rec->item[i];
        if (item->type == CJI_REC_WRITE) cji_replay_write(rp, item);
        if (item->type == CJI_REC_READ) cji_replay_read(rp, item);
        if (item->type != CJI_REC_CALL || !step_begin(rp, &t->step, item)) continue;
        if (i + 1 == t->to && cji_rec_is_release(t->step.id)) {
            t->releasing = true;
            hand_back(t->crew);
            t->result = cji_cu_invoke(rp->cu, t->step.id, t->step.value);
            return true;
        }
        step_end(rp, &t->step, cji_cu_invoke(rp->cu, t->step.id, t->step.value));
    }
    return false;
}

static void *replay_thread_main(void *arg)
{
    replay_thread *t = arg;
    replay_crew *crew = t->crew;
    CJI_NO_CANCEL;
    for (;;) {
        pthread_mutex_lock(&crew->lock);
        while (!t->asked && !t->end) pthread_cond_wait(&t->called, &crew->lock);
        const bool end = !t->asked;
        t->asked = false;
        pthread_mutex_unlock(&crew->lock);
        if (end) return NULL;
        if (!do_items(t)) {
            hand_back(crew);
            continue;
        }
        pthread_mutex_lock(&crew->lock);
        t->releasing = false;
        t->released = true;
        pthread_cond_broadcast(&crew->done);
        pthread_mutex_unlock(&crew->lock);
    }
}

/* The program's signals are for its own threads. */
static bool thread_start(replay_thread *t)
{
    pthread_attr_t attr;
    sigset_t all, before;
    if (pthread_attr_init(&attr)) return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = !pthread_attr_setstacksize(&attr, REPLAY_STACK) &&
                         !pthread_create(&t->thread, &attr, replay_thread_main, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return started;
}

/* The thread's release has returned, if it makes one.  The replay is the caller's own. */
static void await_release(replay_crew *crew, replay_thread *t)
{
    pthread_mutex_lock(&crew->lock);
    while (t->releasing) pthread_cond_wait(&crew->done, &crew->lock);
    const bool released = t->released;
    t->released = false;
    pthread_mutex_unlock(&crew->lock);
    if (released) step_end(crew->rp, &t->step, t->result);
}

static void thread_end(replay_crew *crew, replay_thread *t)
{
    await_release(crew, t);
    pthread_mutex_lock(&crew->lock);
    t->end = true;
    pthread_cond_signal(&t->called);
    pthread_mutex_unlock(&crew->lock);
    pthread_join(t->thread, NULL);
    pthread_cond_destroy(&t->called);
    replay_thread **at = &crew->threads;
    while (*at != t) at = &(*at)->next;
    *at = t->next;
    crew->count--;
    cji_free(t, sizeof *t);
}

/* The thread of an item; NULL, and the replay fails. */
static replay_thread *thread_of(replay_crew *crew, uint32_t number)
{
    replay_thread *t = crew->threads;
    while (t && t->number != number) t = t->next;
    if (t) return t;
    t = crew->count < REPLAY_THREADS ? cji_zalloc(sizeof *t) : NULL;
    if (t) {
        *t = (replay_thread){ .crew = crew, .number = number, .last = cji_recording_last(crew->rp->rec, number) };
        pthread_cond_init(&t->called, NULL);
        if (thread_start(t)) {
            t->next = crew->threads;
            crew->threads = t;
            crew->count++;
            return t;
        }
        pthread_cond_destroy(&t->called);
        cji_free(t, sizeof *t);
    }
    cji_replay_fail(crew->rp, CJ_ENOMEM, "no thread can be started for one of the recording; %u are there",
                    crew->count);
    return NULL;
}

/* The items from `from` up to the first one of another thread; what is no call belongs to the thread before it. */
static size_t end_of_turn(const cji_recording *rec, size_t from, uint32_t thread)
{
    size_t to = from;
    while (to < rec->items &&
           (rec->item[to].type != CJI_REC_CALL || cji_recording_call(&rec->item[to]).thread == thread))
        to++;
    return to;
}

static void replay_items(replay_crew *crew)
{
    cji_replay *rp = crew->rp;
    const cji_recording *rec = rp->rec;
    uint32_t number = 0;
    for (size_t i = 0; i < rec->items && rp->status == CJ_OK;) {
        if (rec->item[i].type == CJI_REC_CALL) number = cji_recording_call(&rec->item[i]).thread;
        const size_t to = end_of_turn(rec, i, number);
        replay_thread *t = thread_of(crew, number);
        if (!t) break;
        await_release(crew, t);
        pthread_mutex_lock(&crew->lock);
        t->from = i, t->to = to;
        t->asked = crew->busy = true;
        pthread_cond_signal(&t->called);
        while (crew->busy) pthread_cond_wait(&crew->done, &crew->lock);
        pthread_mutex_unlock(&crew->lock);
        if (t->last < to) thread_end(crew, t);
        i = to;
    }
    while (crew->threads) thread_end(crew, crew->threads);
}

/* -- Before the first call ----------------------------------------------------------------------------------------- */

static void architecture_of(const cj_driver *drv, int ordinal, char *out, size_t size)
{
    int major = 0, minor = 0;
    CUdevice dev;
    *out = 0;
    if (ordinal >= drv->device_count || drv->cu.cuDeviceGet(&dev, ordinal) != CUDA_SUCCESS) return;
    drv->cu.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, dev);
    drv->cu.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, dev);
    snprintf(out, size, "sm_%d%d", major, minor);
}

/* Which devices contexts are made of, as bits. */
static uint64_t devices_used(const cji_recording *rec)
{
    uint64_t used = 0;
    for (size_t i = 0; i < rec->items; i++) {
        if (rec->item[i].type != CJI_REC_CALL) continue;
        const cji_rec_call call = cji_recording_call(&rec->item[i]);
        const cji_replay_name *name = cji_recording_name(rec, call.name);
        const int id = name && call.what == CJI_REC_REPEAT ? name->id : -1;
        const unsigned char *p = rec->item[i].p + sizeof call, *bytes;
        if (id != CJI_CU_ID_cuDevicePrimaryCtxRetain && id != CJI_CU_ID_cuCtxCreate) continue;
        cji_rec_arg a = { .kind = 0 };
        while (p < rec->item[i].p + rec->item[i].bytes) a = cji_recording_arg(&p, &bytes);
        /* the device is the last one */
        if (a.kind == CJI_REC_VALUE && a.value < CJI_REPLAY_DEVICES) used |= UINT64_C(1) << a.value;
    }
    return used;
}

/* The replay needs the devices that the recording uses, and for machine code their architecture. */
static void check_devices(cji_replay *rp)
{
    const uint64_t used = devices_used(rp->rec);
    for (int i = 0; i < CJI_REPLAY_DEVICES; i++) {
        char then[160], now[24];
        if (!(used >> i & 1)) continue;
        cji_recording_start(rp->rec, "device", i, then, sizeof then); /* "0 sm_90 NAME" */
        architecture_of(rp->drv, i, now, sizeof now);
        if (!*now) {
            cji_replay_fail(rp, CJ_ENOTSUP,
                            "the recording uses device %d, and the driver has %d: replay it where there are so many", i,
                            rp->drv->device_count);
            return;
        }
        const char *sm = strchr(then, ' ');
        const size_t n = sm ? strcspn(sm + 1, " ") : 0;
        if (!rp->result.foreign || (n && strlen(now) == n && !memcmp(sm + 1, now, n))) continue;
        cji_replay_fail(
            rp, CJ_ENOTSUP,
            "the recording has machine code for %.*s, and device %d is %s: replay it on a device of that architecture",
            (int)n, sm ? sm + 1 : "", i, now);
        return;
    }
}

/* -- All ----------------------------------------------------------------------------------------------------------- */

/* What the program had not released. */
static void release_rest(cji_replay *rp)
{
    for (size_t i = 0; i < rp->maps.slots; i++) {
        const cji_replay_handle *h = &rp->maps.handle[i];
        if (h->class == CJI_HANDLE_CONTEXT && h->live && h->owner == 1)
            rp->cu->cuCtxDestroy((CUcontext)(uintptr_t)h->now);
    }
    for (int i = 0; i < CJI_REPLAY_DEVICES; i++)
        for (; rp->retained[i] > 0; rp->retained[i]--) rp->cu->cuDevicePrimaryCtxRelease(i);
}

static void repeat(cji_replay *rp)
{
    replay_crew crew = { .rp = rp };
    check_devices(rp);
    if (rp->status != CJ_OK) return;
    pthread_mutex_init(&crew.lock, NULL);
    pthread_cond_init(&crew.done, NULL);
    replay_items(&crew);
    cji_replay_drain(rp, -1);
    release_rest(rp);
    pthread_cond_destroy(&crew.done);
    pthread_mutex_destroy(&crew.lock);
}

static void replay_recording(cji_replay *rp, const unsigned char *bytes, size_t n)
{
    cji_recording rec;
    const cj_status status = cji_recording_read(&rec, bytes, n);
    rp->rec = &rec;
    if (status == CJ_EINVAL) cji_replay_fail(rp, status, "%s: %s", rp->path, rec.why);
    else if (status != CJ_OK) cji_replay_fail(rp, status, "no memory for the records of %s", rp->path);
    else cji_replay_describe(rp);
    if (rp->status == CJ_OK && rp->opts.list) cji_replay_list(rp);
    else if (rp->status == CJ_OK) repeat(rp);
    cji_recording_free(&rec);
    cji_replay_maps_free(&rp->maps);
    cji_arena_free(&rp->arena);
    cji_arena_free(&rp->keep);
}

/* The whole file; NULL, and the replay fails. */
static unsigned char *read_whole(cji_replay *rp, size_t *n, size_t *room)
{
    unsigned char *p = NULL;
    struct stat st;
    *n = *room = 0;
    const int fd = open(rp->path, O_RDONLY | O_CLOEXEC);
    int error = fd < 0 || fstat(fd, &st) ? errno : 0;
    if (!error && S_ISDIR(st.st_mode)) error = EISDIR;
    while (!error) {
        const size_t more = S_ISREG(st.st_mode) && (size_t)st.st_size > *n ? (size_t)st.st_size - *n + 1 : 65536;
        if (*room - *n < 1 && !cji_grow(&p, room, *n + more, 1)) {
            error = ENOMEM;
            break;
        }
        const ssize_t got = read(fd, p + *n, *room - *n);
        if (got < 0 && errno != EINTR) error = errno;
        if (got == 0) break;
        if (got > 0) *n += (size_t)got;
    }
    if (fd >= 0) close(fd);
    if (!error) return p;
    cji_free(p, *room);
    if (error == ENOMEM) cji_replay_fail(rp, CJ_ENOMEM, "no memory for %s", rp->path);
    else cji_replay_fail(rp, CJ_EINVAL, "%s cannot be read: %s", rp->path, strerror(error));
    return NULL;
}

void cj_replay_defaults(cj_replay_opts *opts)
{
    if (opts) *opts = (cj_replay_opts){ .size = sizeof *opts };
}

void cj_replay_result_defaults(cj_replay_result *result)
{
    if (result) *result = (cj_replay_result){ .size = sizeof *result };
}

/* A result of a caller whose struct has fewer fields. */
static void give_result(const cji_replay *rp, cj_replay_result *result)
{
    if (!result) return;
    const size_t size = result->size < sizeof *result ? result->size : sizeof *result;
    memcpy((char *)result + sizeof result->size, (const char *)&rp->result + sizeof result->size,
           size - sizeof result->size);
}

cj_status cj_replay_file(cj_driver *drv, const char *path, const cj_replay_opts *opts, cj_replay_result *result)
{
    static const char call[] = "cj_replay_file";
    CJI_NO_CANCEL;
    cji_replay rp = { .drv = drv, .path = path, .status = CJ_OK };
    cj_replay_defaults(&rp.opts);
    cj_replay_result_defaults(&rp.result);
    if (drv) {
        const cj_status status = cji_check(drv, CJI_TAG_DRIVER, call);
        if (status != CJ_OK) return status;
    }
    if (!cji_opts_take(&rp.opts, sizeof rp.opts, opts, drv, call, "cj_replay")) return CJ_EINVAL;
    if (result && result->size < sizeof result->size)
        return cji_fail(drv, CJ_EINVAL, call, "the result has no size: call cj_replay_result_defaults() first");
    if (!drv && !rp.opts.list)
        return cji_fail(drv, CJ_EHANDLE, call, "a driver is needed to repeat calls; NULL can only list them");
    if (!path || !*path) return cji_fail(drv, CJ_EINVAL, call, "the replay needs the name of a recording");
    if (drv) rp.cu = &drv->cu;
    size_t n, room;
    unsigned char *bytes = read_whole(&rp, &n, &room);
    if (bytes) replay_recording(&rp, bytes, n);
    cji_free(bytes, room);
    give_result(&rp, result);
    return rp.status == CJ_OK ? CJ_OK : cji_fail(drv, rp.status, call, "%s", rp.message);
}
