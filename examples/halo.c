/* Halo exchange: a rod cools on two devices.  Each keeps one half and a copy of its neighbour's edge
 * cell.  A step computes the edge first and copies it across while it computes the rest; a barrier
 * over both devices ends the step.  With one device both halves are on it. */
#include <cujit/cujit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HALF = 4096, ROW = HALF + 2 }; /* a cell of halo at each end */

/* new[i] = old[i] + (old[i - 1] - 2 * old[i] + old[i + 1]) / 4 for first <= i < end, in whole numbers */
static cj_ptx *make_step(void)
{
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "step");
    cj_val to = cj_param_ptr(f, "to", CJ_S32), from = cj_param_ptr(f, "from", CJ_S32);
    cj_val first = cj_param(f, "first", CJ_U32), end = cj_param(f, "end", CJ_U32);
    cj_val i = cj_for(f, cj_add(f, first, cj_global_id(f, CJ_X)), end, cj_global_size(f, CJ_X));
        cj_val here = cj_get(f, from, i);
        cj_val left = cj_get(f, from, cj_sub(f, i, 1)), right = cj_get(f, from, cj_add(f, i, 1));
        cj_val bend = cj_sub(f, cj_add(f, left, right), cj_shl(f, here, 1));
        cj_set(f, to, i, cj_add(f, here, cj_shr(f, bend, 2)));
    cj_end(f);
    return m;
}

typedef struct half {
    cj_device *dev;
    cj_stream *bulk, *edge; /* bulk: the inner cells; edge: the cell at the border, and its copy */
    cj_kernel *step;
    cj_dptr cell[2];        /* old and new, alternating */
} half;

static cj_dptr at(cj_dptr row, int64_t i) { return cj_offset(row, i * (int64_t)sizeof(int32_t)); }

/* One step of both halves: half 0 has its border on the right, half 1 on the left. */
static void step(half h[2], cj_stream_barrier *meeting, int t)
{
    const int from = t % 2, to = 1 - from;
    const uint32_t border[2] = { HALF, 1 }, inner[2] = { 1, 2 }; /* a half owns cells 1 to HALF */
    cj_stream *const all[4] = { h[0].bulk, h[0].edge, h[1].bulk, h[1].edge };
    for (int p = 0; p < 2; p++) {
        half *me = &h[p], *peer = &h[1 - p];
        cj_launch(me->edge, me->step, cj_grid(1, 1), me->cell[to], me->cell[from], border[p], border[p] + 1);
        cj_copy_peer(me->edge, peer->dev, at(peer->cell[to], p ? HALF + 1 : 0), me->dev, at(me->cell[to], border[p]),
                     sizeof(int32_t));
        cj_launch(me->bulk, me->step, cj_threads(HALF - 1, 128), me->cell[to], me->cell[from], inner[p],
                  inner[p] + HALF - 1);
    }
    cj_stream_barrier_enqueue(meeting, all, 4);
}

static int32_t rod[2 * HALF + 2], next[2 * HALF + 2], got[2 * HALF + 2];

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--help"))
        return puts("usage: halo [STEPS]\n"
                    "Cools a rod on two devices (or on one) for STEPS steps (100), exchanging their edges in each."), 0;
    const int steps = argc > 1 ? atoi(argv[1]) : 100;
    cj_ptx *m = make_step();
    cj_driver *drv = cj_driver_open(NULL);
    half h[2];
    for (int i = HALF / 2; i < HALF + HALF / 2; i++) rod[i] = 1000000; /* hot in the middle, across the border */
    for (int p = 0; p < 2; p++) {
        h[p].dev = cj_device_open(drv, p < cj_device_count(drv) ? p : 0, NULL);
        h[p].bulk = cj_stream_create(h[p].dev, NULL);
        h[p].edge = cj_stream_create(h[p].dev, CJ_STREAM(.priority = CJ_PRIORITY_HIGH));
        h[p].step = cj_kernel_load(h[p].dev, m, "step", NULL);
        for (int b = 0; b < 2; b++) {
            h[p].cell[b] = cj_alloc(h[p].bulk, ROW * sizeof(int32_t));
            cj_fill32(h[p].bulk, h[p].cell[b], 0, ROW);
        }
        /* with the neighbour's first cell */
        cj_copy_to_device(h[p].bulk, h[p].cell[0], rod + p * HALF, ROW * sizeof(int32_t));
    }
    cj_stream_barrier *meeting = cj_stream_barrier_create(h[0].dev);
    cj_stream *const all[4] = { h[0].bulk, h[0].edge, h[1].bulk, h[1].edge };
    cj_stream_barrier_enqueue(meeting, all, 4);
    for (int p = 0; p < 2; p++)
        for (int b = 0; b < 2; b++) cj_stream_use(h[p].edge, h[p].cell[b]);
    for (int t = 0; t < steps; t++) step(h, meeting, t);
    for (int p = 0; p < 2; p++)
        cj_copy_to_host(h[p].bulk, got + 1 + p * HALF, at(h[p].cell[steps % 2], 1), HALF * sizeof(int32_t));
    for (int i = 0; i < 4; i++)
        if (cj_stream_sync(all[i]) != CJ_OK) return fprintf(stderr, "%s\n", cj_error_of(all[i])->message), 1;
    if (cj_error_of(meeting)->status != CJ_OK) return fprintf(stderr, "%s\n", cj_error_of(meeting)->message), 1;

    int wrong = 0;
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i <= 2 * HALF; i++) next[i] = rod[i] + ((rod[i - 1] + rod[i + 1] - 2 * rod[i]) >> 2);
        for (int i = 1; i <= 2 * HALF; i++) rod[i] = next[i];
    }
    for (int i = 1; i <= 2 * HALF; i++) wrong += got[i] != rod[i];
    cj_stream_counts c;
    cj_stream_counts_defaults(&c);
    cj_stream_get_counts(h[0].edge, &c);
    printf("%d cells on %s, %d steps; %llu bytes sent across; %d cells are wrong\n", 2 * HALF,
           cj_device_count(drv) > 1 ? "two devices" : "one device", steps, (unsigned long long)c.bytes_on_device,
           wrong);

    cj_stream_barrier_free(meeting);
    for (int p = 0; p < 2; p++) {
        for (int b = 0; b < 2; b++) cj_free(h[p].dev, h[p].cell[b]);
        cj_kernel_free(h[p].step);
        cj_stream_free(h[p].edge);
        cj_stream_free(h[p].bulk);
        cj_device_close(h[p].dev);
    }
    cj_ptx_free(m);
    cj_driver_close(drv);
    return wrong != 0;
}
