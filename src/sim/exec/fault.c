/* Faults: the first one of a grid is kept, with who, where and what. */
#include <stdarg.h>
#include <stdio.h>

#include "sim/exec/warp.h"

static bool fault_claim(cji_exec_grid *g)
{
    int no = 0;
    if (!__atomic_compare_exchange_n(&g->fault_lock, &no, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return false;
    g->fault = (cji_exec_fault){ .kind = CJI_EXEC_FAULT_NONE };
    return true;
}

static const cji_func *fault_func(const cji_exec_program *p, uint32_t pc)
{
    const cji_func *best = NULL;
    for (size_t i = 0; i < p->nfunc; i++)
        if (p->func[i].defined && p->func[i].entry <= pc && (!best || p->func[i].entry > best->entry))
            best = &p->func[i];
    return best;
}

/* Who and where: kernel, block, thread, instruction. Returns the length of the sentence's beginning. */
static size_t fault_place(cji_exec_fault *f, const cji_warp *w, const cji_rec *r, unsigned lane)
{
    const cji_exec_grid *g = w->blk->g;
    cji_shorten(f->kernel, sizeof f->kernel, g->l.kernel->name, strlen(g->l.kernel->name));
    cji_shorten(f->function, sizeof f->function, g->l.kernel->name, strlen(g->l.kernel->name));
    for (int i = 0; i < 3; i++) {
        f->block[i] = w->blk->id[i];
        f->thread[i] = w->tid[i][lane];
    }
    char *out = f->sentence;
    size_t size = sizeof f->sentence;
    if (!r) return (size_t)snprintf(out, size, "%s ", cji_short(g->l.kernel->name));
    uint32_t pc = (uint32_t)(r - w->p->code);
    const cji_func *fn = fault_func(w->p, pc);
    const char *name = fn ? fn->name : g->l.kernel->name;
    cji_shorten(f->function, sizeof f->function, name, strlen(name));
    const cji_origin *o = &w->p->origin[pc];
    cji_shorten(f->instruction, sizeof f->instruction, o->what, strlen(o->what));
    f->pc = fn ? pc - fn->entry : pc;
    f->line = r->line;
    size_t n = (size_t)snprintf(out, size, "%s ", f->instruction);
    if (o->file) {
        cji_shorten(f->source_file, sizeof f->source_file, o->file, strlen(o->file));
        f->source_line = o->line;
        n += (size_t)snprintf(out + n, size - n, "at %s:%u, ", cji_short(o->file), o->line);
    }
    if (r->line) n += (size_t)snprintf(out + n, size - n, "%sline %u of ", o->file ? "" : "at ", r->line);
    else n += (size_t)snprintf(out + n, size - n, "(instruction %u) of ", f->pc);
    return n + (size_t)snprintf(out + n, size - n, "%s%s ", cji_short(name), o->file ? "," : "");
}

__attribute__((format(printf, 6, 0)))
static void fault_keep(cji_warp *w, const cji_rec *r, unsigned lane, cji_exec_fault_kind kind, const cji_access *at,
                       const char *fmt, va_list args)
{
    cji_exec_grid *g = w->blk->g;
    w->blk->failed = true;
    w->stop = true;
    if (fault_claim(g)) {
        cji_exec_fault *f = &g->fault;
        f->kind = kind;
        f->address = at->address;
        f->bytes = at->bytes;
        f->access = at->access;
        f->space = at->space;
        f->allocation = at->near.lo;
        f->allocation_bytes = at->near.hi - at->near.lo;
        f->allocation_freed = at->near.freed;
        size_t n = fault_place(f, w, r, lane), size = sizeof f->sentence;
        n += (size_t)vsnprintf(f->sentence + n, size - n, fmt, args);
        if (r && n < size)
            snprintf(f->sentence + n, size - n, " (block %u,%u,%u thread %u,%u,%u)", f->block[0], f->block[1],
                     f->block[2], f->thread[0], f->thread[1], f->thread[2]);
    }
    __atomic_store_n(&g->stopped, 1, __ATOMIC_RELEASE);
}

void cji_fault(cji_warp *w, const cji_rec *r, unsigned lane, cji_exec_fault_kind kind, uint64_t address,
               const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fault_keep(w, r, lane, kind, &(cji_access){ .address = address }, fmt, args);
    va_end(args);
}

void cji_fault_at(cji_warp *w, const cji_rec *r, unsigned lane, cji_exec_fault_kind kind, const cji_access *at,
                  const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fault_keep(w, r, lane, kind, at, fmt, args);
    va_end(args);
}

void cji_fault_no_memory(cji_exec_grid *g, const char *what)
{
    if (fault_claim(g)) {
        g->fault.kind = CJI_EXEC_FAULT_NOMEM;
        cji_shorten(g->fault.kernel, sizeof g->fault.kernel, g->l.kernel->name, strlen(g->l.kernel->name));
        snprintf(g->fault.sentence, sizeof g->fault.sentence, "%s: there is no memory for %s",
                 cji_short(g->l.kernel->name), what);
    }
    __atomic_store_n(&g->stopped, 1, __ATOMIC_RELEASE);
}
