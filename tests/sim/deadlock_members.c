/* Deadlocks, each reported with all its members: through streams, events, graphs, the default stream, contexts and
 * devices, with every kind of wait. */
#include "tests/sim/deadlock_bench.h"

enum { RING = 20 };

/* ---- Deadlocks --------------------------------------------------------------------------------------------------- */

/* What is behind the waits does not help: a kernel, a copy, a host function. */
static void nothing(void *user) { (void)user; }
static void crossed_with_work_behind(situation *t)
{
    for (int i = 0; i < 2; i++) {
        wait_for(t, t->s[i], t->x[i]);
        abi_launch(abi_kernel(&module, "add"), 1, 1, t->s[i], t->x[0] + 32, 0);
        cu.cuMemcpyDtoDAsync(t->x[i] + 40, t->x[i] + 48, 8, t->s[i]);
        cu.cuLaunchHostFunc(t->s[i], nothing, NULL);
        write_to(t, t->s[i], t->x[!i]);
    }
}

static void through_an_event(situation *t)
{
    wait_for(t, t->s[0], t->x[0]);
    cu.cuEventRecord(t->e, t->s[0]);
    cu.cuStreamWaitEvent(t->s[1], t->e, 0);
    write_to(t, t->s[1], t->x[0]);
}

/* The wait keeps the point that was recorded before. */
static void through_an_event_that_is_recorded_again(situation *t)
{
    through_an_event(t);
    cu.cuEventRecord(t->e, t->s[2]);
}

static void through_the_default_stream(situation *t)
{
    CUstream blocking = NULL;
    cu.cuStreamCreate(&blocking, CU_STREAM_DEFAULT);
    cu.cuStreamDestroy(t->s[0]);
    t->s[0] = blocking;
    cu.cuStreamGetId(blocking, &t->id[0]);
    wait_for(t, blocking, t->x[0]);
    write_to(t, NULL, t->x[0]);
}

static void fills(situation *t, CUresult r)
{
    if (r) tap_fail("a fill: %d", (int)r);
    write_to(t, t->s[2], t->x[1]);
}

static void a_fill_of_bytes(situation *t)
{
    wait_for(t, t->s[0], t->x[0]);
    fills(t, cu.cuMemsetD8Async(t->x[0], (unsigned char)t->how.write, 32, t->s[0]));
}

static void a_fill_of_rows(situation *t)
{
    t->x[0] += 16;
    wait_for(t, t->s[0], t->x[0]);
    fills(t, cu.cuMemsetD2D16Async(t->block[0], 16, (unsigned short)t->how.write, 2, 2, t->s[0]));
}
static void batches_that_wait_first(situation *t)
{
    for (int i = 0; i < 2; i++) {
        CUstreamBatchMemOpParams p[2] = { batch_item(t, true, t->x[i]), batch_item(t, false, t->x[!i]) };
        if (cu.cuStreamBatchMemOp(t->s[i], 2, p, 0)) tap_fail("a batch");
    }
}

static void make_graph(situation *t, bool wait, bool write)
{
    CUgraphNode a = NULL, b = NULL;
    CUstreamBatchMemOpParams p[2] = { batch_item(t, true, t->x[0]), batch_item(t, false, t->x[0]) };
    CUDA_BATCH_MEM_OP_NODE_PARAMS n[2] = { { .ctx = t->ctx[0], .count = 1, .paramArray = &p[0] },
                                           { .ctx = t->ctx[0], .count = 1, .paramArray = &p[1] } };
    cu.cuGraphCreate(&t->g, 0);
    if (wait && cu.cuGraphAddBatchMemOpNode(&a, t->g, NULL, 0, &n[0])) tap_fail("a node");
    if (write && cu.cuGraphAddBatchMemOpNode(&b, t->g, wait ? &a : NULL, wait, &n[1])) tap_fail("a node");
    if (cu.cuGraphInstantiateWithFlags(&t->exec, t->g, 0)) tap_fail("an executable graph");
}

static void in_one_graph(situation *t)
{
    make_graph(t, true, true);
    cu.cuGraphLaunch(t->exec, t->s[0]);
}

static void behind_a_graph(situation *t)
{
    make_graph(t, true, false);
    cu.cuGraphLaunch(t->exec, t->s[0]);
    write_to(t, t->s[0], t->x[0]);
}

/* The second launch waits for the first. */
static void behind_another_launch(situation *t)
{
    make_graph(t, true, false);
    cu.cuGraphLaunch(t->exec, t->s[0]);
    cu.cuGraphLaunch(t->exec, t->s[1]);
    write_to(t, t->s[1], t->x[0]);
}

/* The write is in a graph, behind a node that waits for an event recorded behind the wait. */
static void an_event_in_a_graph(situation *t)
{
    CUgraphNode a, b;
    CUstreamBatchMemOpParams p = batch_item(t, false, t->x[0]);
    CUDA_BATCH_MEM_OP_NODE_PARAMS n = { .ctx = t->ctx[0], .count = 1, .paramArray = &p };
    wait_for(t, t->s[0], t->x[0]);
    cu.cuEventRecord(t->e, t->s[0]);
    cu.cuGraphCreate(&t->g, 0);
    if (cu.cuGraphAddEventWaitNode(&a, t->g, NULL, 0, t->e) || cu.cuGraphAddBatchMemOpNode(&b, t->g, &a, 1, &n) ||
        cu.cuGraphInstantiateWithFlags(&t->exec, t->g, 0))
        tap_fail("a graph");
    cu.cuGraphLaunch(t->exec, t->s[1]);
}

/* No context reaches the other's memory: only events go between them. */
static void between_contexts(situation *t)
{
    CUevent e[2];
    for (int i = 0; i < 2; i++) {
        cu.cuCtxSetCurrent(t->ctx[i]);
        e[i] = abi_event();
        wait_for(t, t->s[i], t->x[i]);
        cu.cuEventRecord(e[i], t->s[i]);
    }
    for (int i = 0; i < 2; i++) {
        cu.cuCtxSetCurrent(t->ctx[!i]);
        cu.cuStreamWaitEvent(t->s[2 + !i], e[i], 0);
        write_to(t, t->s[2 + !i], t->x[!i]);
        cu.cuEventDestroy(e[i]);
    }
}

static const struct {
    const char *name;
    void (*build)(situation *t);
    way how;
    int first, second, members;
    const char *says;
} deadlocks[] = {
    { "at least", crossed, { false, CU_STREAM_WAIT_VALUE_GEQ, 1, 5, 7 }, 0, 0, 2, "is at least 0x5" },
    { "equal, 64 bits",
      crossed,
      { true, CU_STREAM_WAIT_VALUE_EQ, 5, UINT64_C(0x500000001), UINT64_C(0x500000001) },
      0,
      0,
      2,
      "the 64-bit location" },
    { "a common bit, 64 bits",
      crossed,
      { true, CU_STREAM_WAIT_VALUE_AND, 1, UINT64_C(0x100000000), UINT64_C(0x300000000) },
      0,
      0,
      2,
      "has a bit in common with 0x100000000" },
    { "a clear bit",
      crossed,
      { false, CU_STREAM_WAIT_VALUE_NOR, 0xffffffff, 0xfffffff0, 0xfffffffe },
      0,
      0,
      2,
      "has a bit clear that is clear in 0xfffffff0" },
    { "a clear bit, 64 bits",
      crossed,
      { true, CU_STREAM_WAIT_VALUE_NOR, UINT64_MAX, 7, 0 },
      0,
      0,
      2,
      "has a bit clear that is clear in 0x7" },
    { "with work behind",
      crossed_with_work_behind,
      { false, CU_STREAM_WAIT_VALUE_EQ, 0, 1, 1 },
      0,
      0,
      2,
      "a write of stream" },
    { "through an event",
      through_an_event,
      { false, CU_STREAM_WAIT_VALUE_EQ, 0, 1, 1 },
      0,
      0,
      1,
      "it waits for event" },
    { "through an event that is recorded again",
      through_an_event_that_is_recorded_again,
      { false, CU_STREAM_WAIT_VALUE_EQ, 0, 1, 1 },
      0,
      0,
      1,
      "it waits for event" },
    { "a fill of bytes",
      a_fill_of_bytes,
      { true, CU_STREAM_WAIT_VALUE_EQ, 0, UINT64_C(0x0707070707070707), UINT64_C(0x0707070707070707) },
      0,
      0,
      1,
      "a fill of stream" },
    { "a fill of rows",
      a_fill_of_rows,
      { false, CU_STREAM_WAIT_VALUE_EQ, 0, 0x90009, 0x90009 },
      0,
      0,
      1,
      "a fill of stream" },
    { "batches that wait first",
      batches_that_wait_first,
      { false, CU_STREAM_WAIT_VALUE_EQ, 0, 1, 1 },
      0,
      0,
      2,
      "a write of stream" },
    { "in one graph",
      in_one_graph,
      { false, CU_STREAM_WAIT_VALUE_EQ, 0, 1, 1 },
      0,
      0,
      1,
      ", in a launch of a graph, waits" },
    { "behind a graph",
      behind_a_graph,
      { false, CU_STREAM_WAIT_VALUE_EQ, 0, 1, 1 },
      0,
      0,
      1,
      ", in a launch of a graph, waits" },
    { "behind another launch",
      behind_another_launch,
      { false, CU_STREAM_WAIT_VALUE_EQ, 0, 1, 1 },
      0,
      0,
      1,
      "wait for each other" },
    { "an event in a graph",
      an_event_in_a_graph,
      { false, CU_STREAM_WAIT_VALUE_EQ, 0, 1, 1 },
      0,
      0,
      1,
      "it waits for event" },
    { "two devices", between_contexts, { false, CU_STREAM_WAIT_VALUE_EQ, 0, 1, 1 }, 0, 1, 2, "it waits for event" },
    { "two contexts", between_contexts, { false, CU_STREAM_WAIT_VALUE_EQ, 0, 1, 1 }, 0, 2, 2, "it waits for event" },
    /* The last: whatever waits in that context's default stream comes behind it. */
    { "through the default stream",
      through_the_default_stream,
      { false, CU_STREAM_WAIT_VALUE_EQ, 0, 1, 1 },
      2,
      2,
      1,
      "the legacy default stream and blocking streams wait for each other" },
};
enum { DEADLOCKS = sizeof deadlocks / sizeof *deadlocks };

/* ---- A ring of twenty streams ------------------------------------------------------------------------------------ */

static struct {
    CUstream s[RING], by[RING];
    unsigned long long id[RING], by_id[RING];
    CUdeviceptr x[RING];
    CUevent e[RING];
} ring;

/* Each waits for the word that is written behind the next one's wait, every other time in a stream that waits for an
 * event behind it. */
static void build_ring(const situation *t)
{
    for (int i = 0; i < RING; i++) {
        ring.s[i] = abi_stream();
        ring.by[i] = abi_stream();
        ring.e[i] = abi_event();
        ring.x[i] = word_of(t);
        cu.cuStreamGetId(ring.s[i], &ring.id[i]);
        cu.cuStreamGetId(ring.by[i], &ring.by_id[i]);
        wait_for(t, ring.s[i], ring.x[i]);
    }
    for (int i = 0; i < RING; i++) {
        int next = (i + 1) % RING;
        cu.cuEventRecord(ring.e[next], ring.s[next]);
        if (i % 2) cu.cuStreamWaitEvent(ring.by[next], ring.e[next], 0);
        write_to(t, i % 2 ? ring.by[next] : ring.s[next], ring.x[i]);
    }
}

static void check_ring(void)
{
    char line[200];
    const char *text = report_of(ring.id[7]), *p = text;
    tap_has_str(text, "deadlock: 20 operations wait for each other for ever", "a ring of 20: their number");
    for (int i = 0; i < RING; i++) {
        int next = (i + 1) % RING;
        snprintf(
            line, sizeof line,
            "  %d of 20: stream %llu waits until the 32-bit location at 0x%llx is 0x1; it is written by a write of "
            "stream %llu after",
            i + 1, ring.id[i], (unsigned long long)ring.x[i], i % 2 ? ring.by_id[next] : ring.id[next]);
        const char *found = strstr(p, line);
        if (!tap_ok(found != NULL, "a ring of 20: member %d in its place", i + 1)) tap_diag("%s, not in: %s", line, p);
        if (found) p = found;
        if (i % 2 == 0) continue;
        snprintf(line, sizeof line,
                 "    stream %llu comes after stream %llu there: it waits for event %p, recorded in stream %llu\n",
                 ring.by_id[next], ring.id[next], (void *)ring.e[next], ring.id[next]);
        if (!tap_ok(strstr(p, line) != NULL, "a ring of 20: the event between %d and the next", i + 1))
            tap_diag("%s, not in: %s", line, p);
    }
}

static void close_ring(const situation *t)
{
    CUstream s = abi_stream();
    write_to(t, s, ring.x[0]);
    for (int i = 0; i < RING; i++) {
        if (cu.cuStreamSynchronize(ring.s[i]) || cu.cuStreamSynchronize(ring.by[i])) tap_fail("the ring does not end");
        cu.cuStreamDestroy(ring.s[i]);
        cu.cuStreamDestroy(ring.by[i]);
        cu.cuEventDestroy(ring.e[i]);
        cu.cuMemFree(ring.x[i]);
    }
    cu.cuStreamDestroy(s);
}

/* All at once: they have nothing to do with each other. */
static void all_are_told(void)
{
    static situation t[DEADLOCKS], of_ring;
    for (int i = 0; i < DEADLOCKS; i++) {
        open_situation(&t[i], &deadlocks[i].how, ctxs[deadlocks[i].first], ctxs[deadlocks[i].second]);
        deadlocks[i].build(&t[i]);
    }
    cu.cuCtxSetCurrent(ctxs[0]);
    of_ring.how = plain;
    build_ring(&of_ring);
    await_reported(&reported.deadlocks, DEADLOCKS + 1);
    for (int i = 0; i < DEADLOCKS; i++) {
        char line[120];
        const char *text = report_of(t[i].id[0]);
        snprintf(line, sizeof line, "deadlock: %d operation", deadlocks[i].members);
        tap_has_str(text, line, "%s: is reported, with %d members", deadlocks[i].name, deadlocks[i].members);
        tap_has_str(text, deadlocks[i].says, "%s: in its sentence", deadlocks[i].name);
        snprintf(line, sizeof line, "at 0x%llx", (unsigned long long)t[i].x[0]);
        tap_has_str(text, line, "%s: with the location", deadlocks[i].name);
        snprintf(line, sizeof line, "%d of %d: stream %llu", deadlocks[i].members, deadlocks[i].members,
                 t[i].id[deadlocks[i].members - 1]);
        tap_has_str(text, line, "%s: and each stream", deadlocks[i].name);
    }
    check_ring();
    for (int i = 0; i < DEADLOCKS; i++) release(&t[i]);
    cu.cuCtxSetCurrent(ctxs[0]);
    close_ring(&of_ring);
    for (int i = 0; i < DEADLOCKS; i++) close_situation(&t[i]);
    tap_is_int(reported.deadlocks, DEADLOCKS + 1, "each once, and each ends when what it waits for comes from outside");
}

int main(void)
{
    open_devices();
    all_are_told();
    return close_devices();
}
