/* Dependencies that follow from the memory that tasks read and write: read after write, write after read, write after
 * write, with ranges that overlap in any way.  Random tasks are compared with a model that has a writer and readers for
 * each byte. */
#include <stdio.h>

#include "stream/coordinate/coord_tasks.h"

#include "tests/tap.h"

static cji_tasks g;

static uint32_t add_touching(const cj_range *reads, size_t nreads, const cj_range *writes, size_t nwrites)
{
    const uint32_t i = cji_task_new(&g, false);
    const cj_ranges r = { reads, nreads }, w = { writes, nwrites };
    cji_task_join_group(&g, i, CJI_NO_TASK);
    if (cji_task_touch(&g, i, &r, &w) != CJ_OK) tap_bail("no memory");
    cji_task_admit(&g, i);
    return i;
}

/* The edges into a task as "1 2-": a minus for those that are order only. */
static const char *edges_of(uint32_t i)
{
    static char text[200];
    cji_line l = { text, sizeof text, 0 };
    text[0] = 0;
    for (uint32_t p = 0; p < i; p++)
        for (uint32_t e = cji_task_at(&g, i)->in; e != CJI_NO_TASK; e = cji_task_edge_at(&g, e)->next_in)
            if (cji_task_edge_at(&g, e)->pred == p)
                cji_say(&l, "%s%u%s", text[0] ? " " : "", p + 1, cji_task_edge_at(&g, e)->flags ? "-" : "");
    return text;
}

typedef struct touch {
    uint64_t at, bytes;
} touch;
static const struct {
    const char *name;
    struct {
        touch read[2], write[2];
    } task[5];
    const char *edges; /* of the last task */
} cases[] = {
    { "read after write", { { .write = { { 100, 8 } } }, { .read = { { 100, 8 } } } }, "1" },
    { "write after read", { { .read = { { 100, 8 } } }, { .write = { { 100, 8 } } } }, "1-" },
    { "write after write", { { .write = { { 100, 8 } } }, { .write = { { 100, 8 } } } }, "1-" },
    { "reads are not ordered", { { .read = { { 100, 8 } } }, { .read = { { 100, 8 } } } }, "" },
    { "neighbours are not ordered",
      { { .write = { { 100, 8 } } }, { .read = { { 108, 8 } }, .write = { { 92, 8 } } } },
      "" },
    { "one byte in common", { { .write = { { 100, 8 } } }, { .read = { { 107, 8 } } } }, "1" },
    { "the last writer of each part",
      { { .write = { { 100, 8 } } }, { .write = { { 104, 2 } } }, { .read = { { 100, 8 } } } },
      "1 2" },
    { "a writer that was replaced is forgotten",
      { { .write = { { 100, 8 } } }, { .write = { { 96, 16 } } }, { .read = { { 100, 8 } } } },
      "2" },
    { "a write waits for all readers, and through them for the writer",
      { { .write = { { 100, 8 } } },
        { .read = { { 100, 8 } } },
        { .read = { { 100, 8 } } },
        { .write = { { 100, 8 } } } },
      "2- 3-" },
    { "and for the writer of what nobody has read",
      { { .write = { { 100, 8 } } }, { .read = { { 100, 4 } } }, { .write = { { 100, 8 } } } },
      "1- 2-" },
    { "what a task reads and writes is data",
      { { .write = { { 100, 8 } } }, { .read = { { 100, 8 } }, .write = { { 100, 8 } } } },
      "1" },
    { "in place, three times",
      { { .read = { { 100, 8 } }, .write = { { 100, 8 } } },
        { .read = { { 100, 8 } }, .write = { { 100, 8 } } },
        { .read = { { 100, 8 } }, .write = { { 100, 8 } } } },
      "2" },
    { "two ranges of one task",
      { { .write = { { 100, 8 } } }, { .write = { { 200, 8 } } }, { .read = { { 100, 8 }, { 200, 8 } } } },
      "1 2" },
    { "ranges of one task that overlap",
      { { .write = { { 100, 8 } } }, { .read = { { 96, 8 }, { 100, 12 } } }, { .write = { { 90, 40 } } } },
      "2-" },
};

static size_t count_of(const touch *t) { return (size_t) !!t[0].bytes + !!t[1].bytes; }

static void by_the_table(void)
{
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        uint32_t last = 0;
        if (!cji_tasks_open(&g, 64, 100, false)) tap_bail("no memory");
        for (int i = 0; i < 5; i++) {
            cj_range r[2], w[2];
            const touch *read = cases[k].task[i].read, *write = cases[k].task[i].write;
            if (!read[0].bytes && !write[0].bytes) break;
            for (int j = 0; j < 2; j++)
                r[j] = (cj_range){ { read[j].at }, read[j].bytes },
                w[j] = (cj_range){ { write[j].at }, write[j].bytes };
            last = add_touching(r, count_of(read), w, count_of(write));
        }
        tap_is_str(edges_of(last), cases[k].edges, "%s", cases[k].name);
        cji_tasks_close(&g);
    }
}

/* -- Random tasks against a model ---------------------------------------------------------------------------------- */

enum { BYTES = 64, TASKS = 200 };
static uint32_t state;
static uint32_t any(uint32_t below)
{
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    return state % below;
}

static int writer[BYTES]; /* task + 1 */
static bool reader[BYTES][TASKS];
static bool after[TASKS][TASKS]; /* through others too */
static bool ended[TASKS];

static void model_after(int s, int p)
{
    after[s][p] = true;
    for (int q = 0; q < p; q++) after[s][q] |= after[p][q];
}

/* What a task must come after is reached by the edges, and no edge is there that the model does not demand. */
static const char *compare(uint32_t i)
{
    static char text[100];
    bool have[TASKS] = { false };
    for (uint32_t e = cji_task_at(&g, i)->in; e != CJI_NO_TASK; e = cji_task_edge_at(&g, e)->next_in) {
        const uint32_t p = cji_task_edge_at(&g, e)->pred;
        if (p == CJI_NO_TASK) continue;
        if (!after[i][p]) return snprintf(text, sizeof text, "task %u needs not wait for %u", i, p), text;
        have[p] = true;
        for (uint32_t q = 0; q < p; q++) have[q] |= after[p][q];
    }
    for (uint32_t p = 0; p < i; p++)
        if (after[i][p] && !have[p] && !ended[p])
            return snprintf(text, sizeof text, "task %u must wait for %u", i, p), text;
    return NULL;
}

static const char *random_memory(uint32_t seed)
{
    state = seed * 2654435761u + 1;
    memset(writer, 0, sizeof writer), memset(reader, 0, sizeof reader);
    memset(after, 0, sizeof after), memset(ended, 0, sizeof ended);
    if (!cji_tasks_open(&g, 64, TASKS, false)) tap_bail("no memory");
    for (int i = 0; i < TASKS; i++) {
        cj_range r[3], w[3];
        const size_t nr = any(4), nw = any(3);
        for (size_t k = 0; k < nr + nw; k++) {
            const uint64_t at = any(BYTES), bytes = 1 + any(BYTES - (uint32_t)at);
            *(k < nr ? &r[k] : &w[k - nr]) = (cj_range){ { 4096 + at }, bytes };
            for (uint64_t b = at; b < at + bytes; b++) {
                if (writer[b]) model_after(i, writer[b] - 1);
                for (int p = 0; k >= nr && p < i; p++)
                    if (reader[b][p]) model_after(i, p);
            }
        }
        for (size_t k = 0; k < nr + nw; k++) {
            const cj_range *range = k < nr ? &r[k] : &w[k - nr];
            for (uint64_t b = range->d.addr - 4096; b < range->d.addr - 4096 + range->bytes; b++) {
                if (k < nr) reader[b][i] = true;
                else writer[b] = i + 1, memset(reader[b], 0, sizeof reader[b]);
            }
        }
        add_touching(r, nr, w, nw);
        const char *wrong = compare((uint32_t)i);
        if (wrong) return wrong;
        if (any(3) == 0) { /* the oldest ready task runs and ends */
            const uint32_t done = cji_task_next(&g, true) != CJI_NO_TASK ? 0 : cji_task_next(&g, false);
            if (done != CJI_NO_TASK) {
                cji_task_begun(&g, done);
                cji_task_end(&g, done);
                cji_task_archive(&g, done);
                ended[done] = true;
            }
        }
    }
    cji_tasks_close(&g);
    return NULL;
}

/* Memory is not needed for what is over. */
static void many(void)
{
    enum { MANY = 20000 };
    uint64_t bytes = 0;
    if (!cji_tasks_open(&g, 64, 8, false)) tap_bail("no memory");
    for (uint64_t k = 0; k < MANY; k++) {
        const cj_range r = { { 4096 + 8 * (k % 3000) }, 8 }, w = { { 4096 + 8 * ((k * 7) % 3000) }, 4 + k % 5 };
        const uint32_t i = add_touching(&r, 1, &w, 1);
        if (cji_task_next(&g, false) != i) tap_bail("task %u is not ready", i);
        cji_task_begun(&g, i);
        cji_task_end(&g, i);
        cji_task_archive(&g, i);
        if (k == 2000) bytes = cji_tasks_bytes(&g);
    }
    tap_is_uint(cji_tasks_bytes(&g), bytes, "twenty thousand tasks need no more memory than the first two thousand");
    const cj_range hot = { { 64 }, 8 };
    for (uint64_t k = 0; k < MANY; k++) {
        const uint32_t i = add_touching(&hot, 1, NULL, 0);
        cji_task_next(&g, false);
        cji_task_begun(&g, i);
        cji_task_end(&g, i);
        cji_task_archive(&g, i);
    }
    tap_is_uint(cji_tasks_bytes(&g), bytes, "nor do readers of memory that nobody writes");
    cji_tasks_close(&g);
}

int main(void)
{
    tap_plan(0);
    by_the_table();
    for (uint32_t seed = 1; seed <= (tap_is_slow() ? 10 : 100); seed++) {
        const char *wrong = random_memory(seed);
        if (wrong) tap_fail("random tasks %u: %s", seed, wrong);
    }
    tap_pass("random tasks are as the model says");
    many();
    return tap_done();
}
