/* Cells: a handle is good until its last holder releases it, whoever that is; free handles pass from one magazine to
 * another in batches, and none is lost or in two places. */
#include "base/cells.h"
#include "tests/tap.h"

enum { CELLS = 800 };

static void holders(void)
{
    cji_cells t;
    cji_cell *found;
    bool full, last = true;
    cji_cell_fault fault = CJI_CELL_GOOD;
    tap_ok(cji_cells_init(&t, 7, 2), "a table");
    cji_cell *c = cji_cells_make(&t, 0, &full);
    const uint64_t first = cji_cell_handle(c);
    tap_ok(cji_cells_release_only(&t, first, &found) && found == c, "its only holder releases it");
    const uint64_t second = cji_cell_handle(c);
    tap_ok(second == cji_cell_next(first), "it has its next handle then");
    tap_ok(!cji_cells_release_only(&t, first, &found), "the old one is not released again");
    tap_is_int(cji_cell_release(c, first, &last), CJI_CELL_STALE, "... as it is stale");
    tap_ok(!cji_cells_find(&t, first, &fault) && fault == CJI_CELL_STALE, "... and is not found");
    tap_ok(!cji_cell_retain(c, first), "... and nobody can hold it");
    tap_ok(cji_cell_retain(c, second) && cji_cell_retain(c, second), "two more holders");
    tap_ok(cji_cells_find(&t, second, &fault) == c, "it is found as before");
    tap_ok(!cji_cells_release_only(&t, second, &found), "none of them is the only one");
    tap_ok(cji_cell_release(c, second, &last) == CJI_CELL_GOOD && !last, "one holder less");
    tap_ok(cji_cell_release(c, second, &last) == CJI_CELL_GOOD && !last, "two holders less");
    tap_is_uint(cji_cell_handle(c), second, "the handle is the last one's");
    tap_ok(cji_cell_retain(c, second) && cji_cell_release(c, second, &last) == CJI_CELL_GOOD && !last,
           "who can share it again");
    tap_ok(cji_cell_release(c, second, &last) == CJI_CELL_GOOD && last, "and is the last");
    tap_ok(!cji_cell_retain(c, second), "then nobody can hold it");
    tap_is_uint(cji_cell_handle(c), cji_cell_next(second), "the third handle is the next one");
    tap_ok(!cji_cells_release_only(&t, cji_cell_handle(c) + 1, &found), "of another cell there is none");
    tap_ok(!cji_cells_release_only(&t, cji_cell_handle(c) + (1u << CJI_CELL_BITS), &found), "nor of another table");
    tap_ok(!cji_cells_find(&t, cji_cell_handle(c) + 1, &fault) && fault == CJI_CELL_FOREIGN, "no such cell");
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
    while (put < CELLS && cji_magazine_put(&one, &t, 0, cji_cell_handle(cji_cells_at(&t, put)))) put++;
    tap_is_uint(put, CELLS, "the depot has room for all that a magazine has not");
    tap_is_uint(cji_depot_count(&t, 0) + atomic_load(&one.n), CELLS, "... and counts them");
    tap_is_uint(cji_depot_count(&t, 1), 0, "other kinds have a depot of their own");
    tap_is_uint(cji_magazine_take(&two, &t, 1), 0, "... which is empty");
    tap_is_int(take_all(&t, &two, &taken), 0, "another magazine takes them");
    tap_is_uint(taken + atomic_load(&one.n), CELLS, "all that the first one has not");
    tap_is_int(take_all(&t, &one, &taken), 0, "which has the others");
    tap_is_uint(taken, CELLS, "none is lost");
    for (unsigned i = 0; i < CELLS; i++) cji_magazine_put(&two, &t, 0, cji_cell_handle(cji_cells_at(&t, i)));
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
