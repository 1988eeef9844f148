/* Grids: blocks taken by any number of threads. */
#include <sched.h>
#include <stdio.h>

#include "ptx/layout.h"
#include "sim/exec/warp.h"

#define GRID_PARKED 64         /* blocks that one thread keeps going at a time when they wait for each other */
#define GRID_SHARED_ALIGN 128

/* A grid, its parameters, and some zeros that an access past the last parameter may read. */
enum { GRID_PARAMS = (sizeof(cji_exec_grid) + 63) / 64 * 64, GRID_AFTER = 16 };
static size_t grid_bytes(const cji_exec_kernel *k) { return GRID_PARAMS + (size_t)k->param_bytes + GRID_AFTER; }

cji_exec_grid *cji_exec_grid_open(const cji_exec_launch *launch)
{
    const cji_exec_kernel *k = launch->kernel;
    const cji_func *f = &launch->program->func[k->code];
    cji_exec_grid *g = cji_alloc(grid_bytes(k));
    if (!g) return NULL;
    memset(g, 0, offsetof(cji_exec_grid, fault));
    g->fault.kind = CJI_EXEC_FAULT_NONE;    /* the rest has no value before there is a fault */
    g->l = *launch;
    g->params = (unsigned char *)g + GRID_PARAMS;
    if (launch->params) memcpy(g->params, launch->params, k->param_bytes);
    memset(g->params + (launch->params ? k->param_bytes : 0), 0, GRID_AFTER + (launch->params ? 0 : k->param_bytes));
    g->blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    g->nthread = launch->block[0] * launch->block[1] * launch->block[2];
    g->nwarp = (g->nthread + CJI_LANES - 1) / CJI_LANES;
    uint32_t fixed = (uint32_t)k->static_shared;   /* at most what a block can have */
    g->dyn_base = (fixed + GRID_SHARED_ALIGN - 1u) & ~(GRID_SHARED_ALIGN - 1u);
    g->shared_bytes = launch->dynamic_shared ? g->dyn_base + launch->dynamic_shared : fixed;
    g->stack_max = launch->stack_bytes ? launch->stack_bytes : 65536;
    if (g->stack_max < f->local + 1024) g->stack_max = (uint32_t)f->local + 1024;
    if (g->stack_max > CJI_LOCAL_BYTES) g->stack_max = CJI_LOCAL_BYTES;
    g->start = cji_now();
    return g;
}

void cji_exec_grid_close(cji_exec_grid *g)
{
    if (g) cji_free(g, grid_bytes(g->l.kernel));
}

uint32_t cji_exec_grid_width(const cji_exec_grid *g) { return g->blocks > 1024 ? 1024 : (uint32_t)g->blocks; }
const cji_exec_fault *cji_exec_grid_fault(const cji_exec_grid *g) { return &g->fault; }
uint64_t cji_exec_grid_steps(const cji_exec_grid *g) { return __atomic_load_n(&g->steps, __ATOMIC_RELAXED); }

/* ---- Work ---- */

static bool grid_take(cji_exec_grid *g, uint64_t *index)
{
    uint64_t n = __atomic_load_n(&g->next, __ATOMIC_RELAXED);
    while (n < g->blocks)
        if (__atomic_compare_exchange_n(&g->next, &n, n + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            *index = n;
            return true;
        }
    return false;
}

static void grid_count(cji_blk *b)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < b->nwarp; i++) n += b->warp[i].steps;
    __atomic_fetch_add(&b->g->steps, n, __ATOMIC_RELAXED);
}

void cji_exec_grid_work(cji_exec_grid *g)
{
    cji_blk *running = NULL, *idle = NULL;     /* blocks that wait for a turn, and one that can be used again */
    cji_blk **tail = &running;
    uint64_t parked = 0, most = g->l.cooperative ? UINT64_MAX : GRID_PARKED, index;
    cji_exec_write_begin();
    for (;;) {
        if (__atomic_load_n(&g->stopped, __ATOMIC_RELAXED)) break;
        cji_blk *b = NULL;
        if (parked < most && grid_take(g, &index)) {
            b = idle ? idle : cji_zalloc(sizeof *b);
            idle = NULL;
            if (!b || !cji_block_start(b, g, index)) {
                cji_block_free(b);
                cji_fault_no_memory(g, "a block's registers");
                break;
            }
        } else if (running) {
            b = running;
            running = b->next;
            if (!running) tail = &running;
            parked--;
        } else break;
        b->next = NULL;
        if (cji_block_run(b) == CJI_BLOCK_YIELD) {
            *tail = b;
            tail = &b->next;
            parked++;
            if (running == b) sched_yield();   /* nothing else to do here: it may wait for another thread's block */
            continue;
        }
        grid_count(b);
        if (idle) cji_block_free(b);
        else idle = b;
    }
    while (running) {
        cji_blk *b = running;
        running = b->next;
        cji_block_free(b);
    }
    cji_block_free(idle);
    cji_exec_write_end();
}

bool cji_exec_run(const cji_exec_launch *launch, cji_exec_fault *fault)
{
    cji_exec_grid *g = cji_exec_grid_open(launch);
    if (!g) {
        *fault = (cji_exec_fault){ .kind = CJI_EXEC_FAULT_NOMEM };
        snprintf(fault->sentence, sizeof fault->sentence, "%s: there is no memory for the launch",
                 cji_short(launch->kernel->name));
        cji_shorten(fault->kernel, sizeof fault->kernel, launch->kernel->name, strlen(launch->kernel->name));
        return false;
    }
    cji_exec_grid_work(g);
    bool ok = g->fault.kind == CJI_EXEC_FAULT_NONE;
    *fault = ok ? (cji_exec_fault){ .kind = CJI_EXEC_FAULT_NONE } : g->fault;
    cji_exec_grid_close(g);
    return ok;
}
