/* The core of a coordinator as a whole: made, released, its size. */
#include "stream/coordinate/coord_tasks.h"

bool cji_tasks_open(cji_tasks *g, int32_t aging, size_t history, bool keep)
{
    *g = (cji_tasks){ .aging = aging, .history = history, .keep = keep };
    g->free_task = g->free_edge = g->skipped = g->skipped_last = g->bad = CJI_NO_TASK;
    for (int q = 0; q < 2; q++)
        for (int c = 0; c < CJI_TASK_CLASSES; c++) g->ready[q].first[c] = g->ready[q].last[c] = CJI_NO_TASK;
    cji_task_none_archived(g);
    g->root = (cji_task_members){ .first = CJI_NO_TASK, .last = CJI_NO_TASK, .open = true };
    g->ranges = cji_task_ranges_new();
    g->cycle = cji_zalloc(CJI_TASK_CYCLES * sizeof *g->cycle);
    return g->ranges && g->cycle;
}

void cji_tasks_close(cji_tasks *g)
{
    cji_task_slots_close(g);
    for (size_t i = 0; i < g->edge_blocks; i++) cji_free(g->edges[i], CJI_TASK_BLOCK * sizeof(cji_task_edge));
    cji_free(g->edges, g->edge_cap * sizeof *g->edges);
    for (int q = 0; q < 2; q++) {
        cji_free(g->ready[q].heap, g->ready[q].cap * sizeof *g->ready[q].heap);
        cji_free(g->found[q], g->found_cap[q] * sizeof *g->found[q]);
    }
    cji_free(g->places, g->places_cap * sizeof *g->places);
    cji_free(g->line, g->line_cap * sizeof *g->line);
    cji_free(g->cycle, CJI_TASK_CYCLES * sizeof *g->cycle);
    cji_task_ranges_free(g->ranges);
}

uint64_t cji_tasks_bytes(const cji_tasks *g) { return cji_task_bytes(g) + cji_task_ranges_bytes(g->ranges); }
