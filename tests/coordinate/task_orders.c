/* The core of a coordinator without a driver: which tasks are ready, in which order, cycles, priorities, failures.
 * Random graphs are compared with a plain model that recomputes everything. */
#include <stdio.h>

#include "stream/coordinate/coord_tasks.h"

#include "tests/tap.h"

static cji_tasks g;
static char why[480];

static void open_core(int32_t aging)
{
    if (!cji_tasks_open(&g, aging, 1 << 20, false)) tap_bail("no memory");
}

/* A task of a class; `name` is static text. */
static uint32_t add(const char *name, int class)
{
    const uint32_t i = cji_task_new(&g, false);
    cji_task *t = cji_task_at(&g, i);
    cji_task_rare(t)->what = cji_strdup(name);
    t->own = t->class = (uint8_t) class;
    cji_task_join_group(&g, i, CJI_NO_TASK);
    return i;
}

static void depend(uint32_t succ, uint32_t pred, uint32_t flags)
{
    if (cji_task_depend(&g, succ, pred, flags, why, sizeof why) != CJ_OK) tap_fail("%s", why);
}

/* Takes the next task and gives its number; 0: none. */
static uint64_t next(bool enqueue)
{
    const uint32_t i = cji_task_next(&g, false);
    if (i == CJI_NO_TASK) return 0;
    cji_task_begun(&g, i);
    if (enqueue) cji_task_queued(&g, i);
    return cji_task_at(&g, i)->number;
}

static void end(uint32_t i)
{
    cji_task_end(&g, i);
    cji_task_archive(&g, i);
}

static void drain(void)
{
    uint32_t i;
    while ((i = cji_task_next_skipped(&g)) != CJI_NO_TASK) end(i);
}

/* -- Order --------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int32_t aging;
    int class[6];
    uint64_t order[6];
} orders[] = {
    { "equal priorities run as they became ready", 64, { 2, 2, 2, 2, 2, 2 }, { 1, 2, 3, 4, 5, 6 } },
    { "the most urgent first", 64, { 4, 3, 2, 1, 0, 2 }, { 5, 4, 3, 6, 2, 1 } },
    { "with aging 1, one class is one place", 1, { 3, 2, 2, 2, 2, 2 }, { 2, 1, 3, 4, 5, 6 } },
    { "with aging 2, two places for each class", 2, { 3, 2, 2, 2, 2, 2 }, { 2, 3, 1, 4, 5, 6 } },
    { "critical overtakes cleanup by four times the aging", 1, { 4, 0, 0, 0, 0, 0 }, { 2, 3, 4, 5, 1, 6 } },
    { "without aging priority alone counts", -1, { 4, 0, 1, 0, 4, 0 }, { 2, 4, 6, 3, 1, 5 } },
};

static void in_order(void)
{
    for (size_t k = 0; k < sizeof orders / sizeof *orders; k++) {
        open_core(orders[k].aging);
        uint64_t got[6];
        for (int i = 0; i < 6; i++) cji_task_admit(&g, add("t", orders[k].class[i]));
        for (int i = 0; i < 6; i++) got[i] = next(true);
        tap_is_mem(got, orders[k].order, sizeof got, "%s", orders[k].name);
        cji_tasks_close(&g);
    }
}

/* A low task among a stream of high ones that never ends. */
static void nobody_starves(void)
{
    for (int32_t aging = 64; aging >= -1; aging -= 65) {
        open_core(aging);
        cji_task_admit(&g, add("low", 3));
        int overtaken = 0;
        while (overtaken < 1000) {
            cji_task_admit(&g, add("high", 1));
            if (next(true) == 1) break;
            overtaken++;
        }
        tap_is_int(overtaken, aging > 0 ? 2 * aging : 1000, "with aging %d a task two classes below is overtaken",
                   aging);
        tap_is_uint(g.aged, aging > 0, "... and counted");
        cji_tasks_close(&g);
    }
}

/* -- Cycles -------------------------------------------------------------------------------------------------------- */

static void cycles(void)
{
    open_core(64);
    uint32_t t[7];
    static const char *const names[] = { "load", "scale", "shift", "join", "reduce", "store", "free" };
    for (int i = 0; i < 7; i++) t[i] = add(names[i], 2);
    for (int i = 1; i < 5; i++) depend(t[i], t[i - 1], 0);
    tap_is_int(cji_task_depend(&g, t[0], t[4], 0, why, sizeof why), CJ_ESTATE, "an edge that closes a cycle");
    tap_is_str(why,
               "task 1 'load' waits for 5 'reduce' waits for 4 'join' waits for 3 'shift' waits for 2 'scale' "
               "waits for 1: a cycle",
               "... is spelled out");
    tap_is_int(cji_task_depend(&g, t[2], t[2], CJI_EDGE_ORDER, why, sizeof why), CJ_ESTATE, "a task after itself");
    tap_is_str(why, "task 3 'shift' waits for itself: a cycle", "... is one too");
    tap_is_int(cji_task_depend(&g, t[0], t[6], 0, why, sizeof why), CJ_OK,
               "an edge against the order of adding is none");
    tap_is_int(cji_task_depend(&g, t[6], t[4], 0, why, sizeof why), CJ_ESTATE, "and makes new cycles");
    tap_is_int(cji_task_depend(&g, t[5], t[4], 0, why, sizeof why), CJ_OK, "others stay possible");
    tap_is_uint(g.cycles, 3, "cycles are counted");
    uint64_t got[7], want[7] = { 7, 1, 2, 3, 4, 5, 6 };
    for (int i = 0; i < 7; i++) cji_task_admit(&g, t[i]);
    for (int i = 0; i < 7; i++) got[i] = next(true);
    tap_is_mem(got, want, sizeof got, "what is left runs in its order");
    cji_tasks_close(&g);
}

/* -- Random graphs against a model --------------------------------------------------------------------------------- */

enum { MODEL = 60 };
static uint32_t state;
static uint32_t any(uint32_t below)
{
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    return state % below;
}

static bool edge[MODEL][MODEL]; /* [succ][pred] */

static bool model_reaches(int from, int to) /* whether `from` comes after `to` */
{
    if (from == to) return true;
    for (int p = 0; p < MODEL; p++)
        if (edge[from][p] && model_reaches(p, to)) return true;
    return false;
}

static int model_class(int i, const int *own)
{
    int class = own[i];
    for (int s = 0; s < MODEL; s++)
        if (edge[s][i] && model_class(s, own) < class) class = model_class(s, own);
    return class;
}

/* Edges in any order of adding; what is a cycle, every effective priority, and the order of running. */
static const char *random_graph(uint32_t seed)
{
    static char text[200];
    uint32_t t[MODEL];
    int own[MODEL], at[MODEL];
    state = seed * 2654435761u + 1;
    memset(edge, 0, sizeof edge);
    open_core(any(3) ? 64 : -1);
    for (int i = 0; i < MODEL; i++) t[i] = add("t", own[i] = (int)any(5));
    for (int k = 0; k < 90; k++) {
        const int a = (int)any(MODEL), b = (int)any(MODEL);
        const bool cycle = model_reaches(b, a);
        const cj_status st = cji_task_depend(&g, t[a], t[b], 0, why, sizeof why);
        if (cycle != (st == CJ_ESTATE)) return snprintf(text, sizeof text, "edge %d: cycle %d, %d", k, cycle, st), text;
        if (!cycle) edge[a][b] = true;
        if (any(10) == 0) {
            const int i = (int)any(MODEL);
            cji_task_set_class(&g, t[i], own[i] = (int)any(5));
        }
    }
    for (int i = 0; i < MODEL; i++)
        if (cji_task_at(&g, t[i])->class != model_class(i, own))
            return snprintf(text, sizeof text, "task %d has class %d, wants %d", i, cji_task_at(&g, t[i])->class,
                            model_class(i, own)),
                   text;
    for (int i = 0; i < MODEL; i++) cji_task_admit(&g, t[i]), at[i] = -1;
    for (int k = 0; k < MODEL; k++) {
        const uint64_t n = next(true);
        if (!n) return snprintf(text, sizeof text, "only %d are ready", k), text;
        at[n - 1] = k;
        if (any(2)) end(t[n - 1]);
    }
    for (int s = 0; s < MODEL; s++)
        for (int p = 0; p < MODEL; p++)
            if (edge[s][p] && at[s] < at[p]) return snprintf(text, sizeof text, "%d runs before %d", s, p), text;
    cji_tasks_close(&g);
    return NULL;
}

/* -- Failures ------------------------------------------------------------------------------------------------------ */

static void poison(void)
{
    open_core(64);
    uint32_t t[6];
    for (int i = 0; i < 6; i++) t[i] = add("t", 2);
    depend(t[1], t[0], 0);
    depend(t[2], t[1], 0);
    depend(t[3], t[0], CJI_EDGE_ORDER); /* only the same memory */
    depend(t[4], t[2], CJI_EDGE_ORDER);
    depend(t[5], t[0], CJI_EDGE_ORDER);
    depend(t[5], t[0], 0); /* both: the data counts */
    for (int i = 0; i < 6; i++) cji_task_admit(&g, t[i]);
    tap_is_uint(next(false), 1, "the first begins");
    cji_task_fail(&g, t[0]);
    cji_task_queued(&g, t[0]);
    drain();
    static const uint8_t want[] = { CJ_TASK_FAILED, CJ_TASK_POISONED, CJ_TASK_POISONED, 0, 0, CJ_TASK_POISONED };
    for (int i = 0; i < 6; i++) tap_is_int(cji_task_at(&g, t[i])->result, want[i], "task %d behind a failure", i + 1);
    tap_ok(cji_task_at(&g, t[2])->cause == cji_task_handle(&g, t[0]), "the first cause is passed on");
    tap_is_int(cji_task_at(&g, t[1])->state, CJ_TASK_WAITING,
               "a poisoned task has not ended while the failed one runs");
    tap_is_uint(next(true), 4, "what only shares memory runs");
    tap_is_uint(next(true), 0, "what comes after a poisoned task in memory waits for it");
    end(t[0]);
    drain();
    tap_is_int(cji_task_at(&g, t[2])->state, CJ_TASK_POISONED, "then the poisoned ones end");
    tap_is_uint(next(true), 5, "and it runs");
    const uint32_t late = add("late", 2), order = add("order", 2);
    depend(late, t[2], 0);
    depend(order, t[2], CJI_EDGE_ORDER);
    cji_task_admit(&g, late);
    cji_task_admit(&g, order);
    tap_ok(cji_task_at(&g, late)->result == CJ_TASK_POISONED &&
               cji_task_at(&g, late)->cause == cji_task_handle(&g, t[0]),
           "a task that is added behind a poisoned one is poisoned with the first cause");
    tap_is_int(cji_task_at(&g, order)->result, 0, "but not one that only shares memory");
    drain();
    cji_tasks_close(&g);
}

static void cancel(void)
{
    open_core(64);
    uint32_t t[4];
    for (int i = 0; i < 4; i++) t[i] = add("t", 2);
    depend(t[1], t[0], 0);
    depend(t[2], t[1], 0);
    depend(t[3], t[1], CJI_EDGE_ORDER);
    for (int i = 0; i < 4; i++) cji_task_admit(&g, t[i]);
    tap_is_uint(next(true), 1, "the first is enqueued");
    tap_ok(!cji_task_cancel(&g, t[0]), "it is too late to cancel it");
    tap_ok(cji_task_cancel(&g, t[1]), "the second is cancelled, though it was ready");
    tap_ok(!cji_task_cancel(&g, t[1]), "once");
    drain();
    tap_is_int(cji_task_at(&g, t[2])->result, CJ_TASK_POISONED, "what depends on it is poisoned");
    tap_is_uint(next(true), 0, "what shares its memory waits for what it came after");
    end(t[0]);
    drain();
    tap_is_uint(next(true), 4, "and then runs");
    tap_is_int(cji_task_at(&g, t[1])->state, CJ_TASK_CANCELLED, "it has ended as cancelled");
    cji_tasks_close(&g);
}

/* -- Memory that is used again ------------------------------------------------------------------------------------- */

/* Chains of tasks, with never more than a few at a time: slots and edges are used again, handles are not. */
static void slots(void)
{
    enum { TASKS = 20000 };
    if (!cji_tasks_open(&g, 64, 8, false)) tap_bail("no memory");
    uint64_t bytes = 0;
    uint32_t i, found, last = CJI_NO_TASK;
    cj_task first = 0, before = 0;
    bool good = true;
    for (int k = 0; k < TASKS; k++) {
        i = add("t", 2);
        if (last != CJI_NO_TASK && cji_task_find(&g, before, &found) == CJI_TASK_IS_HERE) depend(i, found, 0);
        cji_task_admit(&g, i);
        before = cji_task_handle(&g, i);
        if (!first) first = before;
        good = good && next(true) == (uint64_t)k + 1;
        if (last != CJI_NO_TASK) end(last);
        last = i;
        if (k == 100) bytes = cji_tasks_bytes(&g);
    }
    tap_ok(good, "a chain of %d tasks runs in its order", TASKS);
    tap_is_uint(cji_tasks_bytes(&g), bytes, "with the memory of the first hundred");
    tap_is_int(cji_task_find(&g, first, &found), CJI_TASK_IS_FORGOTTEN, "the first one is forgotten");
    tap_is_int(cji_task_find(&g, before, &found), CJI_TASK_IS_HERE, "the last one is there");
    tap_is_int(cji_task_find(&g, before + (UINT64_C(1) << 40), &found), CJI_TASK_IS_NONE, "one of later never was");
    tap_is_int(cji_task_find(&g, 0, &found), CJI_TASK_IS_NONE, "nor was none");
    tap_is_int(cji_task_find(&g, 4000000, &found), CJI_TASK_IS_NONE, "nor one of another coordinator");
    end(last);
    cji_tasks_close(&g);
}

/* A task's slot is used again while tasks that it came after have not ended: nothing is left there for them.  `left`
 * of the three tasks behind the first one stay. */
static void slot_of_an_unended_edge(int left)
{
    if (!cji_tasks_open(&g, 64, 0, false)) tap_bail("no memory");
    uint32_t first = add("first", 2), behind[3], used[3], wait = add("wait", 2);
    for (int k = 0; k < 3; k++) {
        behind[k] = add("behind", 2);
        depend(behind[k], first, 0);
    }
    cji_task_admit(&g, first);
    for (int k = 0; k < 3; k++) cji_task_admit(&g, behind[k]);
    for (uint64_t k = 1; k <= 4; k++) tap_is_uint(next(true), k == 1 ? 1 : k + 1, "four are enqueued");
    for (int k = 0; k < 3; k++)
        if (k != left) end(behind[k]);
    for (int k = 0; k < 3; k++) {
        used[k] = add("new", 2);
        depend(used[k], wait, 0);
        if (k == 2) depend(used[k], first, 0); /* behind what is left of its list */
        cji_task_admit(&g, used[k]);
    }
    tap_ok(used[0] == behind[left == 0], "a slot is used again");
    end(first);
    cji_task_admit(&g, wait);
    bool good = true;
    for (int k = 0; k < 3; k++) good = good && cji_task_at(&g, used[k])->unended == 1;
    tap_ok(good, "... and its task waits for its own");
    const uint64_t number = next(true);
    tap_is_uint(number, cji_task_at(&g, wait)->number, "... which is next");
    for (int k = 0; k < 3; k++) tap_is_uint(next(true), cji_task_at(&g, used[k])->number, "... and then they are");
    if (left < 3) end(behind[left]);
    end(wait);
    for (int k = 0; k < 3; k++) end(used[k]);
    tap_ok(!g.unended, "... and all end");
    cji_tasks_close(&g);
}

int main(void)
{
    tap_plan(0);
    in_order();
    nobody_starves();
    cycles();
    for (uint32_t seed = 1; seed <= (tap_is_slow() ? 20 : 200); seed++) {
        const char *wrong = random_graph(seed);
        if (wrong) tap_fail("random graph %u: %s", seed, wrong);
    }
    tap_pass("random graphs are as the model says");
    poison();
    cancel();
    slots();
    for (int left = 0; left <= 3; left++) slot_of_an_unended_edge(left);
    return tap_done();
}
