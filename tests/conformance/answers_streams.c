/* Streams and events (see answers.h): work in order, latches that hold it, queries and waits, streams and events that
 * come and go.
 *
 * A model beside the calls says what is certain.  Each stream and event has `must`, the closed latches that its work is
 * certainly behind, and `may`, those that it may be behind: nothing is waited for that may wait for a closed latch, and
 * a query is certain where something must hold it, or where nothing is in motion.  Each piece of work writes a word of
 * its own and reads one that is written before it (`before`: which pieces come before). */
#include "answers.h"

enum {
    STREAMS = 7,
    OWN = 4,
    LEGACY = 4,
    PER_THREAD = 5 /* of the program's thread; 6 of the other */,
    EVENTS = 5,
    LATCHES = 3,
    PIECES = 60
};

typedef struct a_stream { CUstream s; bool there, blocking, motion; unsigned must, may; uint64_t before; } a_stream;
typedef struct an_event { CUevent e; bool there, recorded, motion; unsigned must, may, in; uint64_t before; } an_event;

static an_tools tools;
static a_stream streams[STREAMS];
static an_event events[EVENTS];
static struct latch latches[LATCHES];
static unsigned closed, put, pieces;

/* ---- The model --------------------------------------------------------------------------------------------------- */

static CUstream handle_of(unsigned i) { return i >= PER_THREAD ? CU_STREAM_PER_THREAD : streams[i].s; }

/* A stream to call with: one that is there. */
static unsigned some_stream(void)
{
    for (;;) {
        unsigned i = an_below(8);
        if (i >= 7) i = LEGACY;
        if (i >= PER_THREAD) i = an_is_elsewhere() ? PER_THREAD + 1 : PER_THREAD;
        if (streams[i].there) return i;
    }
}

static unsigned some_event(void)
{
    for (unsigned tries = 0; tries < 20; tries++) {
        unsigned i = an_below(EVENTS);
        if (events[i].there) return i;
    }
    return EVENTS;
}

/* Work is put into the stream: what it comes behind by the rules of the legacy stream.  Marks and waits may be no work
 * (what they wait for may be done). */
static void joins(unsigned i)
{
    a_stream *s = &streams[i];
    for (unsigned k = 0; k < STREAMS; k++) {
        a_stream *o = &streams[k];
        if (k == i || !o->there || !s->blocking || !o->blocking || (i != LEGACY && k != LEGACY)) continue;
        s->before |= o->before;
        s->must |= o->must;
        s->may |= o->may;
        s->motion |= o->motion;
    }
}

static void moves(unsigned i)
{
    joins(i);
    if (!streams[i].must) streams[i].motion = true;
}

/* Whether a blocking stream's legacy side, or the legacy stream's blocking ones, are in motion: they may count in an
 * answer. */
static bool is_certain(unsigned i)
{
    if (streams[i].must) return true;
    if (streams[i].motion) return false;
    for (unsigned k = 0; k < STREAMS; k++)
        if (streams[k].there && streams[i].blocking && streams[k].blocking && (k == LEGACY || i == LEGACY) &&
            streams[k].motion)
            return false;
    return true;
}

static unsigned reach(unsigned i)
{
    unsigned may = streams[i].may;
    for (unsigned k = 0; k < STREAMS; k++)
        if (streams[k].there && streams[i].blocking && streams[k].blocking && (k == LEGACY || i == LEGACY))
            may |= streams[k].may;
    return may;
}

/* The stream was waited for: what was recorded in it is done. */
static void is_waited_for(unsigned i)
{
    streams[i].motion = false;
    for (unsigned k = 0; k < EVENTS; k++)
        if (events[k].in == i) events[k].motion = false;
}

static void everything_is_done(void)
{
    for (unsigned k = 0; k < STREAMS; k++) streams[k].motion = false, streams[k].must = streams[k].may = 0;
    for (unsigned k = 0; k < EVENTS; k++) events[k].motion = false, events[k].must = events[k].may = 0;
}

/* ---- Work -------------------------------------------------------------------------------------------------------- */

static unsigned piece_before(uint64_t before)
{
    unsigned at = an_below(PIECES);
    for (unsigned k = 0; k < PIECES; k++, at = (at + 1) % PIECES)
        if (before >> at & 1) return at;
    return AN_WORDS - 1;   /* always 0 */
}

static void op_work(void)
{
    unsigned i = some_stream(), kind = an_below(6), n = 1 + an_below(1000);
    int st;
    CUstream s = handle_of(i);
    if (pieces >= PIECES) return;
    if (i == LEGACY && !an_chance(40)) return;
    joins(i);
    unsigned me = pieces++, from = piece_before(streams[i].before);
    switch (kind) {
    case 0: st = AN(cuMemsetD32Async(an_word(&tools, me), n, 1, s), "fill %u in %u", me, i); break;
    case 1:
        st = AN(cuMemcpyDtoDAsync(an_word(&tools, me), an_word(&tools, from), 4, s), "copy %u from %u in %u", me, from,
                i);
        break;
    case 2:
        st = AN(cuMemcpyDtoHAsync(&tools.host[me], an_word(&tools, from), 4, s), "copy to host %u from %u in %u", me,
                from, i);
        break;
    case 3:
        st = AN(cuMemsetD16Async(an_word(&tools, me), (unsigned short)n, 2, s), "short fill %u in %u", me, i);
        break;
    default:
        an_line("step %u from %u in %u", me, from, i);
        st = an_status((int)an_step(tools.step, s, an_word(&tools, me), an_word(&tools, from), n));
    }
    if (st) return;
    moves(i);
    if (kind != 2) streams[i].before |= UINT64_C(1) << me;
}

static void op_host(void)
{
    unsigned i = some_stream(), n = an_below(1000);
    bool with_closed = closed != 0;
    if (AN(cuLaunchHostFunc(handle_of(i), an_noted, an_note(i, n)), "host function %u in %u", n, i)) return;
    moves(i);
    if (with_closed) {   /* a driver may call them one after another: it may stand behind a latch of any stream */
        streams[i].may |= closed;
        if (!streams[i].must) streams[i].motion = true;
    }
}

static void op_latch(void)
{
    unsigned i = some_stream(), bit = 1u << put;
    if (put >= LATCHES) return;
    latches[put] = (struct latch)LATCH_CLOSED;
    if (AN(cuLaunchHostFunc(handle_of(i), latch_wait, &latches[put]), "latch %u in %u", put, i)) return;
    joins(i);
    for (unsigned k = 0; k < STREAMS; k++)
        if (streams[k].motion || streams[k].must) streams[k].may |= bit;
    for (unsigned k = 0; k < EVENTS; k++)
        if (events[k].motion || events[k].must) events[k].may |= bit;
    streams[i].may |= bit | closed;
    streams[i].must |= bit;
    closed |= bit;
    put++;
}

static void open_latch(unsigned which)
{
    unsigned bit = 1u << which;
    an_line("latch %u opens", which);
    latch_open(&latches[which]);
    closed &= ~bit;
    for (unsigned k = 0; k < STREAMS; k++) {
        if ((streams[k].may | streams[k].must) & bit) streams[k].motion = true;
        streams[k].may &= ~bit;
        streams[k].must &= ~bit;
    }
    for (unsigned k = 0; k < EVENTS; k++) {
        if ((events[k].may | events[k].must) & bit) events[k].motion = true;
        events[k].may &= ~bit;
        events[k].must &= ~bit;
    }
}

static void op_open(void)
{
    unsigned which = an_below(LATCHES);
    if (closed >> which & 1) open_latch(which);
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

static void op_event(void)
{
    static const unsigned flags[] = { 0, 1, 2, 2, 3, 4, 5, 6, 7, 8, 0x10, 0x80000000 };
    unsigned f = AN_PICK(flags), i = an_below(EVENTS);
    CUevent e = NULL;
    /* one between processes without timing takes a resource of the system */
    if (f & 4) f = an_chance(80) ? f & 3 : 4;
    if (an_chance(5)) {
        AN(cuEventCreate(NULL, f), "event %x into nothing", f);
        return;
    }
    if (events[i].there) return;
    if (AN(cuEventCreate(&e, f), "event %u %x", i, f)) return;
    events[i] = (an_event){ .e = e, .there = true };
}

static void op_event_destroy(void)
{
    unsigned i = some_event();
    if (an_chance(10)) {
        AN(cuEventDestroy(NULL), "no event is destroyed");
        return;
    }
    if (i == EVENTS) return;
    AN(cuEventDestroy(events[i].e), "event %u is destroyed", i);
    events[i].there = false;
}

static void op_record(void)
{
    unsigned k = some_event(), i = some_stream(), wrong = an_below(100);
    int st;
    const an_stranger *x = an_other_context();
    if (wrong < 4) { AN(cuEventRecord(NULL, handle_of(i)), "record of nothing in %u", i); return; }
    if (k == EVENTS) return;
    if (wrong < 8) { AN(cuEventRecord(events[k].e, x->s), "record of %u in a stream of another context", k); return; }
    if (wrong < 12) { AN(cuEventRecord(x->e, handle_of(i)), "record of another context's event in %u", i); return; }
    if (wrong < 18) {
        static const unsigned flags[] = { 1, 2, 3, 4, 0xffffffff };
        unsigned f = AN_PICK(flags);
        AN(cuEventRecordWithFlags(events[k].e, handle_of(i), f), "record of %u in %u with %x", k, i, f);
        return;
    }
    if (wrong < 40) st = AN(cuEventRecordWithFlags(events[k].e, handle_of(i), 0), "record of %u in %u with 0", k, i);
    else st = AN(cuEventRecord(events[k].e, handle_of(i)), "record of %u in %u", k, i);
    if (st) return;
    bool certain = is_certain(i);
    unsigned may = reach(i);
    events[k].recorded = true;
    events[k].in = i;
    events[k].motion = !certain || (!streams[i].must && !may);
    events[k].must = streams[i].must;
    events[k].may = may;
    events[k].before = streams[i].before;
    streams[i].may = may;
    if (!streams[i].must) streams[i].motion = true;
}

static void op_wait(void)
{
    unsigned k = some_event(), i = some_stream(), wrong = an_below(100);
    const an_stranger *x = an_other_context();
    if (wrong < 4) { AN(cuStreamWaitEvent(handle_of(i), NULL, 0), "%u waits for nothing", i); return; }
    if (k == EVENTS) return;
    if (wrong < 8) {
        AN(cuStreamWaitEvent(x->s, events[k].e, 0), "a stream of another context waits for %u", k);
        return;
    }
    if (wrong < 12) { AN(cuStreamWaitEvent(handle_of(i), x->e, 0), "%u waits for another context's event", i); return; }
    if (wrong < 18) {
        static const unsigned flags[] = { 1, 2, 3, 4, 0xffffffff };
        unsigned f = AN_PICK(flags);
        AN(cuStreamWaitEvent(handle_of(i), events[k].e, f), "%u waits for %u with %x", i, k, f);
        return;
    }
    if (AN(cuStreamWaitEvent(handle_of(i), events[k].e, 0), "%u waits for %u", i, k)) return;
    streams[i].before |= events[k].before;
    streams[i].must |= events[k].must;
    streams[i].may = reach(i) | events[k].may;
    if (!streams[i].must) streams[i].motion = true;
}

static void op_event_query(void)
{
    unsigned k = some_event();
    if (an_chance(8)) {
        AN(cuEventQuery(NULL), "query of no event");
        return;
    }
    if (k == EVENTS) return;
    an_line("query of event %u", k);
    an_queried((int)cu.cuEventQuery(events[k].e), !events[k].recorded || events[k].must || !events[k].motion);
}

static void op_event_sync(void)
{
    unsigned k = some_event();
    if (k == EVENTS || events[k].may || events[k].must) return;
    if (AN(cuEventSynchronize(events[k].e), "event %u is waited for", k)) return;
    events[k].motion = false;
}

static void op_elapsed(void)
{
    unsigned a = some_event(), b = some_event(), wrong = an_below(100);
    float ms = -1;
    const an_stranger *x = an_other_context();
    if (a == EVENTS || b == EVENTS) return;
    if (wrong < 5) { AN(cuEventElapsedTime(&ms, NULL, events[b].e), "time from nothing to %u", b); return; }
    if (wrong < 10) { AN(cuEventElapsedTime(&ms, events[a].e, NULL), "time from %u to nothing", a); return; }
    if (wrong < 14) {
        AN(cuEventElapsedTime(&ms, events[a].e, x->e), "time from %u to another context's, never recorded", a);
        return;
    }
    bool certain = (events[a].must || !events[a].motion) && (events[b].must || !events[b].motion);
    an_line("time from %u to %u", a, b);
    int st = an_queried((int)cu.cuEventElapsedTime(&ms, events[a].e, events[b].e), certain);
    if (!st && certain && a == b) an_more(" %s", ms == 0 ? "none" : "some");
}

/* ---- Streams ----------------------------------------------------------------------------------------------------- */

static void op_stream(void)
{
    static const unsigned flags[] = { 0, 0, 1, 1, 1, 2, 3, 0x10, 0x80000001 };
    unsigned f = AN_PICK(flags), i = an_below(OWN), got = 99;
    int priority = (int)an_below(12) - 8, has = 99, st;
    CUstream s = NULL;
    if (an_chance(5)) {
        AN(cuStreamCreate(NULL, f), "a stream %x into nothing", f);
        return;
    }
    if (streams[i].there) return;
    if (an_chance(50)) st = AN(cuStreamCreate(&s, f), "stream %u %x", i, f);
    else st = AN(cuStreamCreateWithPriority(&s, f, priority), "stream %u %x of priority %d", i, f, priority);
    if (st) return;
    streams[i] = (a_stream){ .s = s, .there = true, .blocking = !(f & 1) };
    AN(cuStreamGetPriority(s, &has), "its priority");
    an_more(" %d", has);
    AN(cuStreamGetFlags(s, &got), "its flags");
    an_more(" %x", got);
}

static void op_stream_destroy(void)
{
    unsigned i = an_below(OWN);
    if (an_chance(10)) {
        unsigned which = an_below(3);
        AN(cuStreamDestroy(which == 0   ? NULL
                           : which == 1 ? CU_STREAM_LEGACY
                                        : CU_STREAM_PER_THREAD),
           "default stream %u is destroyed", which);
        return;
    }
    if (!streams[i].there) return;
    AN(cuStreamDestroy(streams[i].s), "stream %u is destroyed", i);
    if (streams[i].blocking) {   /* its work is still before the legacy stream's */
        streams[LEGACY].motion = true;
        streams[LEGACY].may |= streams[i].may;
    }
    streams[i] = (a_stream){ .there = false };
    for (unsigned k = 0; k < EVENTS; k++)
        if (events[k].in == i) events[k].in = STREAMS;
}

static void op_stream_query(void)
{
    unsigned i = some_stream();
    bool certain = is_certain(i);
    an_line("query of stream %u", i);
    an_queried((int)cu.cuStreamQuery(handle_of(i)), certain);
}

static void op_stream_sync(void)
{
    unsigned i = some_stream();
    if (reach(i) || streams[i].must) return;
    if (AN(cuStreamSynchronize(handle_of(i)), "stream %u is waited for", i)) return;
    is_waited_for(i);
}

static void op_context_sync(void)
{
    if (closed) return;
    if (!AN(cuCtxSynchronize(), "the context is waited for")) everything_is_done();
}

static void op_facts(void)
{
    unsigned i = some_stream(), flags = 99;
    int priority = 99;
    CUcontext ctx = NULL;
    CUstream s = handle_of(i);
    switch (an_below(6)) {
    case 0: AN(cuStreamGetFlags(s, &flags), "flags of stream %u", i); an_more(" %x", flags); break;
    case 1: AN(cuStreamGetPriority(s, &priority), "priority of stream %u", i); an_more(" %d", priority); break;
    case 2:
        AN(cuStreamGetCtx(s, &ctx), "context of stream %u", i);
        an_more(ctx == abi_ctx ? " this" : " not this");
        break;
    case 3: AN(cuStreamGetFlags(s, NULL), "flags of stream %u into nothing", i); break;
    case 4: AN(cuStreamGetPriority(s, NULL), "priority of stream %u into nothing", i); break;
    default: {
        CUdevice device = 99;
        if (!cu.cuStreamGetDevice) break;
        AN(cuStreamGetDevice(s, &device), "device of stream %u", i);
        an_more(" %d", device);
    }
    }
}

static void op_attribute(void)
{
    static const int ids[] = { 0, 1, 2, 3, 3, 3, 4, 6, 8, 8, 9, 9, 10, 10, 14, 16, 17, 99 };
    int id = AN_PICK(ids);
    unsigned i = some_stream(), k = some_stream();
    CUlaunchAttributeValue v;
    CUstream s = handle_of(i);
    memset(&v, 0, sizeof v);
    switch (an_below(4)) {
    case 0:
        AN(cuStreamCopyAttributes(s, handle_of(k)), "attributes of %u from %u", i, k);
        return;
    case 1:
        if (id == 9)
            v.memSyncDomainMap = (CUlaunchMemSyncDomainMap){ (unsigned char)an_below(6), (unsigned char)an_below(6) };
        else if (id == 1) return;
        else v.priority = (int)an_below(8) - 2;
        AN(cuStreamSetAttribute(s, (CUstreamAttrID)id, &v), "attribute %d of %u becomes %d", id, i,
            id == 9 ? v.memSyncDomainMap.default_ * 16 + v.memSyncDomainMap.remote : v.priority);
        return;
    default:
        if (AN(cuStreamGetAttribute(s, (CUstreamAttrID)id, &v), "attribute %d of %u", id, i)) return;
        if (id == 9) an_more(" %d %d", v.memSyncDomainMap.default_, v.memSyncDomainMap.remote);
        else if (id == 3 || id == 8 || id == 10) an_more(" %d", v.priority);
    }
}

static void op_wrong(void)
{
    unsigned i = some_stream();
    CUstream s = handle_of(i);
    const an_stranger *x = an_other_context();
    switch (an_below(8)) {
    case 0: AN(cuLaunchHostFunc(s, NULL, NULL), "no host function in %u", i); break;
    case 1: AN(cuStreamAddCallback(s, NULL, NULL, 0), "no callback in %u", i); break;
    case 2:
        an_line("a step in a stream of another context");
        an_status((int)an_step(tools.step, x->s, an_word(&tools, 70), an_word(&tools, 70), 1));
        break;
    case 3: an_line("another context's step in %u", i); an_status((int)an_step(x->f, s, x->p, x->p, 1)); break;
    case 4: AN(cuMemsetD32Async(0, 1, 1, s), "a fill of nothing in %u", i); break;
    case 5: AN(cuMemsetD32Async(an_word(&tools, 0) + 1, 1, 1, s), "a fill at an odd address in %u", i); break;
    case 6: AN(cuMemsetD32Async(an_word(&tools, 70), 1, 0, s), "an empty fill in %u", i); break;
    default: AN(cuMemcpyDtoDAsync(an_word(&tools, 70), an_word(&tools, 71), 0, s), "an empty copy in %u", i);
    }
    if (!streams[i].must) streams[i].motion = true;
}

/* ---- A program --------------------------------------------------------------------------------------------------- */

static const an_op ops[] = {
    { "work", op_work, 30 },
    { "host", op_host, 8 },
    { "latch", op_latch, 5 },
    { "open", op_open, 5 },
    { "event", op_event, 10 },
    { "event destroy", op_event_destroy, 3 },
    { "record", op_record, 16 },
    { "wait", op_wait, 16 },
    { "event query", op_event_query, 10 },
    { "event sync", op_event_sync, 4 },
    { "elapsed", op_elapsed, 6 },
    { "stream", op_stream, 8 },
    { "stream destroy", op_stream_destroy, 3 },
    { "stream query", op_stream_query, 10 },
    { "stream sync", op_stream_sync, 5 },
    { "context sync", op_context_sync, 2 },
    { "facts", op_facts, 4 },
    { "attribute", op_attribute, 6 },
    { "wrong", op_wrong, 5 },
};

static void a_call(void) { an_draw(ops, sizeof ops / sizeof *ops); }

void an_program_streams(void)
{
    an_attach(&tools);
    memset(streams, 0, sizeof streams);
    memset(events, 0, sizeof events);
    closed = put = pieces = 0;
    for (unsigned i = LEGACY; i < STREAMS; i++) streams[i] = (a_stream){ .there = true, .blocking = true };
    for (unsigned i = 0; i < 6; i++) op_stream();
    for (unsigned i = 0; i < 4; i++) op_event();
    for (unsigned i = 0, n = 20 + an_below(50); i < n; i++) {
        if (an_chance(12)) an_elsewhere(a_call);
        else a_call();
    }
    for (unsigned i = 0; i < LATCHES; i++)
        if (closed >> i & 1) open_latch(i);
    AN(cuCtxSynchronize(), "the end");
    an_tell_words(&tools);
    an_tell_notes(false);
    for (unsigned i = 0; i < EVENTS; i++)
        if (events[i].there) {
            AN(cuEventQuery(events[i].e), "event %u at the end", i);
            cu.cuEventDestroy(events[i].e);
        }
    for (unsigned i = 0; i < OWN; i++)
        if (streams[i].there) {
            AN(cuStreamQuery(streams[i].s), "stream %u at the end", i);
            cu.cuStreamDestroy(streams[i].s);
        }
}
