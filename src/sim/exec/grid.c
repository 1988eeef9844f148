/* Grids: blocks taken by any number of threads; the first fault is kept. */
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "sim/exec/warp.h"

#define GRID_PARKED 64         /* blocks that one thread keeps going at a time when they wait for each other */
#define GRID_SHARED_ALIGN 128

uint64_t cji_sim_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

cji_sim_grid *cji_sim_grid_open(const cji_sim_launch *launch) {
    const cji_sim_kernel *k = launch->kernel;
    const cji_func *f = &launch->program->func[k->code];
    cji_sim_grid *g = cji_zalloc(sizeof *g);
    if (!g) return NULL;
    g->l = *launch;
    g->params = cji_zalloc(k->param_bytes + 16u);
    if (!g->params) {
        cji_free(g, sizeof *g);
        return NULL;
    }
    if (k->param_bytes && launch->params) memcpy(g->params, launch->params, k->param_bytes);
    g->blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    g->nthread = launch->block[0] * launch->block[1] * launch->block[2];
    g->nwarp = (g->nthread + CJI_LANES - 1) / CJI_LANES;
    g->dyn_base = (k->static_shared + GRID_SHARED_ALIGN - 1u) & ~(GRID_SHARED_ALIGN - 1u);
    g->shared_bytes = launch->dynamic_shared ? g->dyn_base + launch->dynamic_shared : k->static_shared;
    g->stack_max = launch->stack_bytes ? launch->stack_bytes : 65536;
    if (g->stack_max < f->local + 1024) g->stack_max = f->local + 1024;
    g->start = cji_sim_now();
    return g;
}

void cji_sim_grid_close(cji_sim_grid *g) {
    if (!g) return;
    cji_free(g->params, g->l.kernel->param_bytes + 16u);
    cji_free(g, sizeof *g);
}

uint32_t cji_sim_grid_width(const cji_sim_grid *g) { return g->blocks > 1024 ? 1024 : (uint32_t)g->blocks; }
const cji_sim_fault *cji_sim_grid_fault(const cji_sim_grid *g) { return &g->fault; }
uint64_t cji_sim_grid_steps(const cji_sim_grid *g) { return __atomic_load_n(&g->steps, __ATOMIC_RELAXED); }

/* ---- Faults ---- */

static bool grid_claim(cji_sim_grid *g) {
    int no = 0;
    return __atomic_compare_exchange_n(&g->fault_lock, &no, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static const cji_func *grid_func(const cji_sim_program *p, uint32_t pc) {
    const cji_func *best = NULL;
    for (size_t i = 0; i < p->nfunc; i++)
        if (p->func[i].defined && p->func[i].entry <= pc && (!best || p->func[i].entry > best->entry)) best = &p->func[i];
    return best;
}

void cji_fault(cji_warp *w, const cji_rec *r, unsigned lane, cji_sim_fault_kind kind, uint64_t address, const char *fmt, ...) {
    cji_sim_grid *g = w->blk->g;
    w->blk->failed = true;
    w->stop = true;
    if (grid_claim(g)) {
        cji_sim_fault *f = &g->fault;
        f->kind = kind;
        snprintf(f->kernel, sizeof f->kernel, "%s", g->l.kernel->name);
        for (int i = 0; i < 3; i++) {
            f->block[i] = w->blk->id[i];
            f->thread[i] = w->tid[i][lane];
        }
        f->address = address;
        size_t n = 0, size = sizeof f->sentence;
        if (r) {
            uint32_t pc = (uint32_t)(r - w->p->code);
            const cji_func *fn = grid_func(w->p, pc);
            f->pc = fn ? pc - fn->entry : pc;
            f->line = r->line;
            const char *name = fn ? fn->name : g->l.kernel->name;
            if (r->line) n = (size_t)snprintf(f->sentence, size, "%s at line %u of %s ", w->p->what[pc], r->line, name);
            else n = (size_t)snprintf(f->sentence, size, "%s (instruction %u) of %s ", w->p->what[pc], f->pc, name);
        } else n = (size_t)snprintf(f->sentence, size, "%s ", g->l.kernel->name);
        va_list args;
        va_start(args, fmt);
        if (n < size) n += (size_t)vsnprintf(f->sentence + n, size - n, fmt, args);
        va_end(args);
        if (r && n < size)
            snprintf(f->sentence + n, size - n, " (block %u,%u,%u thread %u,%u,%u)", f->block[0], f->block[1], f->block[2], f->thread[0], f->thread[1], f->thread[2]);
    }
    __atomic_store_n(&g->stopped, 1, __ATOMIC_RELEASE);
}

static void grid_no_memory(cji_sim_grid *g) {
    if (grid_claim(g)) {
        g->fault.kind = CJI_SIM_FAULT_NOMEM;
        snprintf(g->fault.kernel, sizeof g->fault.kernel, "%s", g->l.kernel->name);
        snprintf(g->fault.sentence, sizeof g->fault.sentence, "%s: there is no memory for a block's registers", g->l.kernel->name);
    }
    __atomic_store_n(&g->stopped, 1, __ATOMIC_RELEASE);
}

/* ---- Work ---- */

static bool grid_take(cji_sim_grid *g, uint64_t *index) {
    uint64_t n = __atomic_load_n(&g->next, __ATOMIC_RELAXED);
    while (n < g->blocks)
        if (__atomic_compare_exchange_n(&g->next, &n, n + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            *index = n;
            return true;
        }
    return false;
}

static void grid_count(cji_blk *b) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < b->nwarp; i++) n += b->warp[i].steps;
    __atomic_fetch_add(&b->g->steps, n, __ATOMIC_RELAXED);
}

void cji_sim_grid_work(cji_sim_grid *g) {
    cji_blk *running = NULL, *idle = NULL;     /* rings of blocks: those that go on, and one that can be used again */
    cji_blk **tail = &running;
    uint64_t parked = 0, most = g->l.cooperative ? UINT64_MAX : GRID_PARKED, index;
    for (;;) {
        if (__atomic_load_n(&g->stopped, __ATOMIC_RELAXED)) break;
        cji_blk *b = NULL;
        if (parked < most && grid_take(g, &index)) {
            b = idle ? idle : cji_zalloc(sizeof *b);
            idle = NULL;
            if (!b || !cji_block_start(b, g, index)) {
                cji_block_free(b);
                grid_no_memory(g);
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
}

bool cji_sim_run(const cji_sim_launch *launch, cji_sim_fault *fault) {
    cji_sim_grid *g = cji_sim_grid_open(launch);
    if (!g) {
        *fault = (cji_sim_fault){ .kind = CJI_SIM_FAULT_NOMEM };
        snprintf(fault->sentence, sizeof fault->sentence, "%s: there is no memory for the launch", launch->kernel->name);
        return false;
    }
    cji_sim_grid_work(g);
    *fault = g->fault;
    bool ok = fault->kind == CJI_SIM_FAULT_NONE;
    cji_sim_grid_close(g);
    return ok;
}
