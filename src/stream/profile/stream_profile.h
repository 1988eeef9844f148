/* The room profile: what streams did, measured by timing events.  Prefixes: cji_profile, cji_recorder, cji_track.
 *
 *   profile.c           profiles: made, on, off, cleared, freed
 *   profile_recorder.c  recorders of devices: timing events, the hooks around work
 *   profile_harvest.c   timing events read after the work
 *   profile_launch.c    what the launch of a kernel adds to its time
 *   profile_ranges.c    ranges and marks of the user; profile_nvtx.c: as NVTX ranges
 *   profile_entries.c   records kept by a profile, and polled
 *   profile_sums.c      totals and summaries; profile_path.c: the critical path
 *   profile_report.c    reports, as profile_text.c, profile_trace.c and profile_svg.c write them; files
 *   profile_env.c       the profile of CUJIT_PROFILE
 *
 * A device has one recorder, with a track for each of its streams.  Work that is measured has two events of the
 * recorder: `start` is recorded before it and `end` behind it.  It is pending, in the order of its stream, until a
 * query reports that `end` is reached; only then the events are read, and used again.  What was measured goes to each
 * profile that was on when the work was enqueued.
 *
 * Invariants
 *   No event is recorded on a stream that is being captured, and none that is not reached is read.
 *   A profile has a turn, a number that it gets when it is made and when it is cleared; pending work names the turns
 *   of the profiles that collect it.  So what was enqueued before a profile was cleared or freed reaches none.
 *   All of it is guarded by one lock, CJI_LOCK_PROFILE, which is held over queries of events and not over records. */
#ifndef CJI_STREAM_PROFILE_H
#define CJI_STREAM_PROFILE_H

#include <cujit/profile.h>

#include "stream/core/work_hooks.h"

/* -- Recorders (profile_recorder.c) -------------------------------------------------------------------------------- */

typedef struct cji_pending {
    struct cji_pending *next;
    CUevent start, end;   /* NULL: it is not measured; of an open range `end` is not recorded yet */
    uint64_t submit;      /* host time before `start` was recorded */
    uint64_t bytes, from;
    const char *name;     /* in cji_process.profiles.names */
    int kind;
    uint32_t depth;       /* ranges and marks around it */
    bool inside_mark;
    uint64_t nvtx;        /* of a range: its NVTX range */
    uint32_t sink[CJI_WORK_SINKS];
} cji_pending;

typedef struct cji_track {
    cji_timing timing;    /* its references: the stream's and the recorder's */
    struct cji_recorder *recorder;
    struct cji_track *next;
    uint64_t stream;      /* its id */
    int priority;
    cji_pending *first, **last;
    size_t count;         /* pending */
    cji_pending *open;    /* ranges and marks that are open, the innermost first */
    uint32_t depth, marks;
    int64_t last_end;     /* of what was read, in the recorder's time */
    int64_t read_end;     /* of the operation that was read last, as its events have it */
    bool has_read;
} cji_track;

enum { CJI_RECORDER_GAPS = 8, CJI_LAUNCHES = 16 };

/* Empty kernels between timing events (profile_launch.c). */
typedef struct cji_launches {
    CUstream stream; /* NULL: there are none to read */
    CUmodule module;
    CUevent start[CJI_LAUNCHES], end[CJI_LAUNCHES];
    bool good;       /* all are enqueued */
} cji_launches;

typedef struct cji_recorder {
    cji_device_state base;
    struct cji_recorder *next;
    cji_release_queue *queue;
    const cji_cu *cu;
    uint32_t number;      /* of this process */
    int32_t device;       /* its ordinal */
    char name[64];        /* the device's */
    cji_track *tracks;
    CUevent *free;        /* events that nothing needs */
    size_t nfree, cap, events;
    /* The recorder's time is 0 at the start of the first work that was read.  It is measured from an event that is
     * moved now and then, as the driver's times lose precision with their length. */
    CUevent anchor;
    int64_t anchor_ns;
    int64_t offset;       /* to the host's time: the least one by which no work begins before it was enqueued */
    int64_t gap[CJI_RECORDER_GAPS]; /* times from an operation's end to the next one's start, with nothing between */
    unsigned gaps;
    int64_t event_ns;     /* what the two events of an operation add to its time; 0: not known */
    atomic_bool launches_begun;
    cji_launches launches;
    int64_t launch_ns;    /* what the two events and the launch add to a kernel's time; 0: not known */
} cji_recorder;

/* With the lock held. */
static inline cji_recorder *cji_recorders(void) { return cji_process.profiles.recorders; }
static inline void cji_profiles_lock(void) { cji_lock(&cji_process.profiles_lock, CJI_LOCK_PROFILE); }
static inline void cji_profiles_unlock(void) { cji_unlock(&cji_process.profiles_lock, CJI_LOCK_PROFILE); }

extern const cji_work_hooks cji_profile_hooks;

/* The device's recorder, made at first use; NULL without memory. */
cji_recorder *cji_recorder_of(const cji_release_queue *queue);
/* The stream's track, made at first use; NULL without memory. */
cji_track *cji_track_of(cj_stream *s);
/* Two events, and the start recorded: of work or of a range that begins on a stream that is not being captured.
 * False: it is not measured; *lost: for want of memory or of an event.  Fills start, end, submit and sink. */
bool cji_recorder_start(cj_stream *s, cji_track *t, cji_pending *p);
/* Records the end of what cji_recorder_start() began, and lets it be pending: `p` is the recorder's then.  False: it
 * is not measured, and its events are the recorder's again; `p` stays the caller's. */
bool cji_recorder_finish(cj_stream *s, cji_track *t, cji_pending *p);
/* With the lock held: the events are used again. */
void cji_recorder_give(cji_recorder *r, CUevent start, CUevent end);
/* With the lock held: one operation more that each profile that is on has lost. */
void cji_profiles_lose(void);

/* -- Launches (profile_launch.c) ----------------------------------------------------------------------------------- */

/* Runs empty kernels on the device, the first time; without the lock. */
void cji_launches_measure(cji_recorder *r);
/* Reads their times, where they are complete and were not read yet; with the lock held, context current, capture mode
 * relaxed. */
void cji_launches_read(cji_recorder *r);
/* Releases what was not read; in a scope. */
void cji_launches_drop(cji_recorder *r);

/* -- Reading (profile_harvest.c); with the lock held --------------------------------------------------------------- */

/* Reads what is reached of a track, up to `max`; context current, capture mode relaxed.  Returns how many. */
size_t cji_track_harvest(cji_track *t, size_t max);
/* Reads what is reached of all devices. */
void cji_harvest_all(void);
/* What is pending of all devices, or of one. */
size_t cji_harvest_pending(const cji_recorder *of);

/* -- Profiles (profile.c, profile_entries.c) ----------------------------------------------------------------------- */

typedef struct cji_profile_entry {
    const char *name;
    uint64_t bytes, from, submit;
    int64_t start, end; /* the recorder's time; of a sample the host's */
    uint32_t lane, depth;
    uint8_t kind;
    bool inside_mark;
} cji_profile_entry;

/* A stream that has records; stream 0 is the memory of the device. */
typedef struct cji_profile_lane {
    uint64_t stream;
    uint32_t clock; /* index */
    int priority;
} cji_profile_lane;

/* A recorder that has records. */
typedef struct cji_profile_clock {
    uint32_t number;
    int32_t device;
    int64_t offset;
    char name[64];
} cji_profile_clock;

struct cj_profile {
    cji_obj obj;
    struct cj_profile *next; /* alive */
    uint64_t most;           /* records */
    /* guarded by CJI_LOCK_PROFILE */
    bool on;
    uint32_t turn;
    cji_profile_entry *entry;
    size_t count, cap, polled;
    cji_profile_lane *lane;
    size_t lanes, lane_cap;
    cji_map lane_map;
    cji_profile_clock *clock;
    size_t clocks, clock_cap;
    uint64_t lost;
    pthread_mutex_t report_lock; /* guards report; no other lock is taken while it is held but CJI_LOCK_PROFILE */
    cji_text report;
};

extern const char *const cji_profile_kind_names[CJ_PROFILE_MEMORY + 1];

/* With the lock held: the name in the table of the process; NULL without memory. */
const char *cji_profile_name(const char *name);
/* With the lock held: keeps a record in the profile, or counts it as lost. */
void cji_profile_keep(cj_profile *p, const cji_recorder *r, uint64_t stream, int priority, const cji_profile_entry *e);
/* With the lock held: drops the records. */
void cji_profile_drop_entries(cj_profile *p);
/* Record `e` as the user sees it. */
void cji_profile_show(const cj_profile *p, const cji_profile_entry *e, cj_profile_record *out);

/* A copy of what a report is about: complete records, in the order of their starts, without the lock. */
typedef struct cji_snap {
    cj_profile_record *record;
    uint32_t *lane; /* of each record */
    size_t count, cap, lane_room;
    cji_profile_lane *lanes;
    size_t nlanes;
    cji_profile_clock *clocks;
    size_t nclocks;
    uint64_t lost;
} cji_snap;
/* `s` NULL: all streams.  A failure is left in `p`. */
cj_status cji_snap_take(cj_profile *p, cj_stream *s, cji_snap *snap, const char *call);
void cji_snap_free(cji_snap *snap);

static inline bool cji_is_operation(const cj_profile_record *r)
{
    return r->kind < CJ_PROFILE_RANGE && !r->inside_mark;
}
static inline bool cji_is_busy(const cj_profile_record *r) { return cji_is_operation(r) && r->kind != CJ_PROFILE_WAIT; }

/* -- Sums (profile_sums.c, profile_path.c) ------------------------------------------------------------------------- */

/* The totals, the longest first; NULL without memory or without any.  Freed with cji_free, *count elements. */
cj_profile_total *cji_profile_sum(const cji_snap *snap, size_t *count, bool *ok);
/* False without memory. */
bool cji_profile_summarize(const cji_snap *snap, cj_profile_summary *sum);
/* Indices of the records of the critical path, the earliest first; as cji_profile_sum(). */
size_t *cji_profile_critical(const cji_snap *snap, size_t *count, int64_t *ns, bool *ok);

/* -- Reports ------------------------------------------------------------------------------------------------------- */

void cji_profile_write_text(const cji_snap *snap, cji_text *out);
void cji_profile_write_trace(const cji_snap *snap, cji_text *out);
void cji_profile_write_svg(const cji_snap *snap, cji_text *out);
/* A name, escaped for XML or for a JSON string. */
void cji_profile_put_xml(cji_text *out, const char *s);
void cji_profile_put_json(cji_text *out, const char *s);

/* -- NVTX (profile_nvtx.c), the environment (profile_env.c) -------------------------------------------------------- */

/* The range's number; 0 where nothing shows ranges. */
uint64_t cji_nvtx_start(const char *name);
void cji_nvtx_end(uint64_t id);
/* A stream was made: the profile of CUJIT_PROFILE begins with the first. */
void cji_profile_env_start(void);

#endif
