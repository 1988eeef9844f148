/* Cells: a handle is good until its last holder releases it, whoever that is; free handles pass from one magazine to
 * another in batches, and none is lost or in two places. */
#include "base/cells.h"
#include "tests/tap.h"

enum { CELLS = 400, ME = 5, OTHER = 6 };

static void holders(void)
{
    cji_cells t;
    bool full, last = true;
    cji_cell_fault fault = CJI_CELL_GOOD;
    tap_ok(cji_cells_init(&t, 7, 2), "a table");
    cji_cell *c = cji_cells_make(&t, 0, &full);
    const uint64_t first = cji_cell_handle(&t, c);
    tap_ok(!cji_cells_release_own(&t, first, cji_cell_alone(ME)), "a new cell is in no thread's care");
    tap_is_int(cji_cell_release(c, first, ME, &last), CJI_CELL_GOOD, "it is released as by another thread");
    const uint64_t second = cji_cell_handle(&t, c);
    tap_ok(last && second == cji_cell_next(first), "and has its next handle");
    tap_is_int(cji_cell_release(c, first, ME, &last), CJI_CELL_STALE, "the old one is stale");
    tap_ok(!cji_cells_release_own(&t, first, cji_cell_alone(ME)), "... for its keeper, too");
    tap_ok(!cji_cells_find(&t, first, &fault) && fault == CJI_CELL_STALE, "... and is not found");
    tap_ok(!cji_cells_release_own(&t, second, cji_cell_alone(OTHER)), "who is not the keeper is another thread");
    tap_ok(!cji_cells_release_own(&t, second, cji_cell_alone(0)), "so is a thread without a number");
    tap_ok(cji_cell_retain(c, second), "a second holder");
    tap_ok(!cji_cells_release_own(&t, second, cji_cell_alone(ME)), "is seen by the keeper");
    tap_ok(cji_cell_release(c, second, OTHER, &last) == CJI_CELL_GOOD && !last, "one holder less");
    tap_ok(cji_cells_release_own(&t, second, cji_cell_alone(ME)) == c, "the keeper is the last");
    tap_ok(!cji_cell_retain(c, second), "then nobody can hold it");
    tap_ok(!cji_cells_find(&t, cji_cell_handle(&t, c) + 1, &fault) && fault == CJI_CELL_FOREIGN, "no such cell");
    tap_ok(!cji_cells_find(&t, 0, &fault) && fault == CJI_CELL_NONE, "0 is none");
    cji_cells_make(&t, 0, &full);
    tap_ok(!cji_cells_make(&t, 0, &full) && full, "the bound holds");
    cji_cells_fini(&t);
}

static cji_magazine one, two;
static unsigned char seen[CELLS];

/* Takes all that a magazine and the depot have; how many were seen before or are none. */
static int take_all(cji_cells *t, cji_magazine *m, unsigned *count)
{
    int wrong = 0;
    for (uint64_t handle; (handle = cji_magazine_take(m, t, 0)); ++*count) {
        const uint32_t index = cji_cells_of(t, handle)->index;
        wrong += index >= CELLS || seen[index]++;
    }
    return wrong;
}

static void batches(void)
{
    cji_cells t;
    bool full;
    unsigned put = 0, taken = 0;
    tap_ok(cji_cells_init(&t, 4095, CELLS), "a table of %d", CELLS);
    for (int i = 0; i < CELLS; i++) cji_cells_make(&t, 0, &full);
    while (put < CELLS && cji_magazine_put(&one, &t, 0, cji_cell_handle(&t, cji_cells_at(&t, put)))) put++;
    tap_is_uint(put, CELLS, "the depot has room for all that a magazine has not");
    tap_is_uint(cji_depot_count(&t, 0) + atomic_load(&one.n), CELLS, "... and counts them");
    tap_is_uint(cji_depot_count(&t, 1), 0, "other kinds have a depot of their own");
    tap_is_uint(cji_magazine_take(&two, &t, 1), 0, "... which is empty");
    tap_is_int(take_all(&t, &two, &taken), 0, "another magazine takes them");
    tap_is_uint(taken + atomic_load(&one.n), CELLS, "all that the first one has not");
    tap_is_int(take_all(&t, &one, &taken), 0, "which has the others");
    tap_is_uint(taken, CELLS, "none is lost");
    for (unsigned i = 0; i < CELLS; i++) cji_magazine_put(&two, &t, 0, cji_cell_handle(&t, cji_cells_at(&t, i)));
    cji_depot_empty(&t, 0);
    tap_is_uint(t.free[0].n + atomic_load(&two.n), CELLS, "the depot is emptied into the stack");
    tap_is_uint(cji_depot_count(&t, 0), 0, "... and has none");
    cji_cells_fini(&t);
}

int main(void)
{
    tap_plan(0);
    holders(), batches();
    return tap_done();
}
