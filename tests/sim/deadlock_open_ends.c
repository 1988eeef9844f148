/* Waits that look like a deadlock, but may still end: none is reported, and all end. */
#include "tests/sim/deadlock_bench.h"

/* The write that ends one of the waits is in a third stream, behind a wait that the host can end. */
static void another_writer_behind_the_host(situation *t)
{
    crossed(t);
    cu.cuStreamWaitValue32(t->s[2], host_word_at, 1, CU_STREAM_WAIT_VALUE_EQ);
    write_to(t, t->s[2], t->x[1]);
}

/* What is behind the wait resets the word for the next time. */
static void a_copy_behind(situation *t)
{
    wait_for(t, t->s[0], t->x[0]);
    cu.cuMemcpyDtoDAsync(t->x[0], t->x[0] + 16, 8, t->s[0]);
}

static void a_fill_that_resets(situation *t)
{
    wait_for(t, t->s[0], t->x[0]);
    cu.cuMemsetD32Async(t->x[0], 0, 4, t->s[0]);
}

static void a_kernel_behind(situation *t)
{
    wait_for(t, t->s[0], t->x[0]);
    abi_launch(abi_kernel(&module, "add"), 1, 1, t->s[0], t->x[0], 0);
}

/* A half of the word, with which the other half, as it is, makes no value that ends the wait. */
static void half_a_word_behind(situation *t)
{
    wait_for(t, t->s[0], t->x[0]);
    cu.cuStreamWriteValue32(t->s[0], t->x[0], 1, 0);
}

/* The event has been recorded again, elsewhere, before the other stream waits for it. */
static void an_event_that_moved(situation *t)
{
    wait_for(t, t->s[0], t->x[0]);
    cu.cuEventRecord(t->e, t->s[0]);
    cu.cuStreamWaitValue32(t->s[2], host_word_at, 1, CU_STREAM_WAIT_VALUE_EQ);
    cu.cuEventRecord(t->e, t->s[2]);
    cu.cuStreamWaitEvent(t->s[1], t->e, 0);
    write_to(t, t->s[1], t->x[0]);
}

/* The one writes before it waits, so it ends the other's wait as soon as it begins. */
static void a_batch_that_writes_first(situation *t)
{
    for (int i = 0; i < 2; i++) {
        CUstreamBatchMemOpParams p[2] = { batch_item(t, !i, t->x[0]), batch_item(t, i, t->x[1]) };
        if (i) cu.cuStreamWaitValue32(t->s[1], host_word_at, 1, CU_STREAM_WAIT_VALUE_EQ);
        if (cu.cuStreamBatchMemOp(t->s[i], 2, p, 0)) tap_fail("a batch");
    }
}

/* In groups that run at a time: what may still write anything hides what the others are about. */
static const struct {
    const char *name;
    void (*build)(situation *t);
    way how;
    int group, slow;
    bool by_itself;
} open_ends[] = {
    { "another writer behind the host",
      another_writer_behind_the_host,
      { false, CU_STREAM_WAIT_VALUE_EQ, 0, 1, 1 },
      0,
      3,
      true },
    { "a fill that resets", a_fill_that_resets, { false, CU_STREAM_WAIT_VALUE_EQ, 0, 1, 1 }, 0, 1, false },
    { "half a word behind",
      half_a_word_behind,
      { true, CU_STREAM_WAIT_VALUE_EQ, 0, UINT64_C(0x200000001), UINT64_C(0x200000001) },
      0,
      1,
      false },
    { "an event that moved", an_event_that_moved, { false, CU_STREAM_WAIT_VALUE_EQ, 0, 1, 1 }, 0, 2, true },
    { "a batch that writes first", a_batch_that_writes_first, { false, CU_STREAM_WAIT_VALUE_EQ, 0, 1, 1 }, 0, 2, true },
    { "a copy behind", a_copy_behind, { false, CU_STREAM_WAIT_VALUE_EQ, 0, 1, 1 }, 1, 1, false },
    { "a kernel behind", a_kernel_behind, { false, CU_STREAM_WAIT_VALUE_EQ, 0, 1, 1 }, 2, 1, false },
};
enum { OPEN_ENDS = sizeof open_ends / sizeof *open_ends };

/* Their waits take long and are named; no deadlock is seen, and all end: by the host's write, by a write from outside.
 * */
static void none_is_told(int group)
{
    static situation t[OPEN_ENDS];
    int before = reported.deadlocks, slow = reported.slow;
    __atomic_store_n((unsigned *)host_word, 0, __ATOMIC_SEQ_CST);
    for (int i = 0; i < OPEN_ENDS; i++) {
        if (open_ends[i].group != group) continue;
        open_situation(&t[i], &open_ends[i].how, ctxs[0], ctxs[0]);
        open_ends[i].build(&t[i]);
        slow += open_ends[i].slow;
    }
    int deadlocks_now = await_reported(&reported.slow, slow);
    for (int i = 0; i < OPEN_ENDS; i++)
        if (open_ends[i].group == group) tap_is_str(report_of(t[i].id[0]), "", "%s: is no deadlock", open_ends[i].name);
    tap_is_int(deadlocks_now, before, "nor is anything else");
    __atomic_store_n((unsigned *)host_word, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < OPEN_ENDS; i++)
        if (open_ends[i].group == group && !open_ends[i].by_itself) release(&t[i]);
    for (int i = 0; i < OPEN_ENDS; i++)
        if (open_ends[i].group == group) close_situation(&t[i]);
    tap_is_int(reported.deadlocks, before, "and not when all has ended");
}

/* While a kernel runs that might write anything, nothing is a deadlock; afterwards it is. */
static void a_kernel_runs(void)
{
    situation t;
    int before = reported.deadlocks, slow = reported.slow;
    open_situation(&t, &plain, ctxs[0], ctxs[0]);
    __atomic_store_n((unsigned *)host_word, 0, __ATOMIC_SEQ_CST);
    abi_launch(abi_kernel(&module, "spin"), 1, 1, t.s[3], host_word_at, 0);
    crossed(&t);
    tap_is_int(await_reported(&reported.slow, slow + 2), before, "while a kernel runs, nothing is called a deadlock");
    __atomic_store_n((unsigned *)host_word, 1, __ATOMIC_SEQ_CST);
    tap_is_int(await_reported(&reported.deadlocks, before + 1), before + 1, "when it has ended, it is");
    release(&t);
    close_situation(&t);
}

int main(void)
{
    open_devices();
    for (int group = 0; group < 3; group++) none_is_told(group);
    a_kernel_runs();
    return close_devices();
}
