/* Warps: groups of lanes, their frames, and which group runs (warp.h has the rules). */
#include "sim/exec/ops_wgmma.h"

/* ---- Frames ---- */

static bool warp_stack(cji_warp *w, size_t need)
{
    if (need <= w->stack_bytes) return true;
    size_t size = w->stack_bytes ? w->stack_bytes : 4096;
    while (size < need) size *= 2;
    unsigned char *p = cji_realloc(w->stack, w->stack_bytes, size);
    if (!p) return false;
    w->stack = p;
    w->stack_bytes = size;
    w->r = p + w->base;
    return true;
}

/* Local memory: the lanes' pieces are moved apart when they grow. */
static bool warp_local(cji_warp *w, size_t need)
{
    if (need <= w->lstride) return true;
    size_t stride = w->lstride ? w->lstride : 256;
    while (stride < need) stride *= 2;
    size_t pitch = stride + 64;    /* else the same bytes of all lanes would share one set of the processor's cache */
    unsigned char *p = cji_alloc(pitch * CJI_LANES);
    if (!p) return false;
    memset(p, 0, pitch * CJI_LANES);
    for (size_t i = 0; i < CJI_LANES && w->lmem; i++) memcpy(p + i * pitch, w->lmem + i * w->lpitch, w->lstride);
    cji_free(w->lmem, (size_t)w->lpitch * CJI_LANES);
    w->lmem = p;
    w->lstride = (uint32_t)stride;
    w->lpitch = (uint32_t)pitch;
    return true;
}

static void warp_frame(cji_warp *w, const cji_func *f, uint32_t base)
{
    unsigned char *p = w->stack + base;
    memset(p + sizeof(cji_frame), 0, f->regs_end - sizeof(cji_frame));
    if (f->frame > f->regs_end) memcpy(p + f->regs_end, f->consts, f->frame - f->regs_end);
    for (uint32_t i = 0; i < f->dyn_n; i++) {
        const uint32_t *dyn = w->p->dyn + f->dyn_first + 2 * i;  /* {offset, bytes of a lane} */
        uint64_t *v64 = (uint64_t *)(void *)(p + dyn[0]);
        uint32_t *v32 = (uint32_t *)(void *)(p + dyn[0]);
        for (int j = 0; j < CJI_LANES; j++) {
            if (dyn[1] == 8) v64[j] += w->blk->g->dyn_base;
            else v32[j] += w->blk->g->dyn_base;
        }
    }
}

void cji_warp_place(cji_warp *w, cji_blk *b, uint32_t index)
{
    const uint32_t *block = b->g->l.block;
    uint32_t t = index * CJI_LANES, x = t % block[0], y = t / block[0] % block[1], z = t / block[0] / block[1];
    w->blk = b;
    w->index = index;
    for (uint32_t i = 0; i < CJI_LANES; i++) {
        w->tid[0][i] = x;
        w->tid[1][i] = y;
        w->tid[2][i] = z;
        if (++x < block[0]) continue;
        x = 0;
        if (++y < block[1]) continue;
        y = 0;
        z++;
    }
}

bool cji_warp_start(cji_warp *w)
{
    cji_blk *b = w->blk;
    const cji_exec_launch *l = &b->g->l;
    const cji_func *f = &l->program->func[l->kernel->code];
    w->p = l->program;
    w->base = w->local = w->depth = w->cc = w->ngroup = w->clock = w->stamp = 0;
    w->turn = w->stop = false;
    w->steps = 0;
    w->fuel = CJI_FUEL;
    cji_wgmma_start(w);
    if (!warp_stack(w, f->frame) || !warp_local(w, f->local)) return false;
    if (w->lmem) memset(w->lmem, 0, (size_t)w->lpitch * CJI_LANES);
    w->r = w->stack;
    w->top = f->frame;
    warp_frame(w, f, 0);
    uint32_t left = b->nthread - w->index * CJI_LANES;
    w->live = left >= CJI_LANES ? CJI_FULL : (UINT32_C(1) << left) - 1;
    w->active = w->live;
    w->pc = f->entry;
    return true;
}

void cji_warp_free(cji_warp *w)
{
    cji_free(w->stack, w->stack_bytes);
    cji_free(w->lmem, (size_t)w->lpitch * CJI_LANES);
    cji_wgmma_free(w);
    w->stack = w->lmem = NULL;
    w->stack_bytes = 0;
    w->lstride = w->lpitch = 0;
}

/* ---- Groups ---- */

void cji_warp_kick(cji_warp *w) { w->stop = true; }

static void warp_add(cji_warp *w, uint32_t mask, uint32_t pc, unsigned state, unsigned bar)
{
    if (!mask) return;
    w->group[w->ngroup++] =
        (cji_group){ mask, pc, w->base, w->top, w->local, w->depth, w->stamp, (uint8_t)state, (uint8_t)bar };
    w->stop = true;
}

void cji_warp_branch(cji_warp *w, uint32_t taken, uint32_t target)
{
    bool back = target < w->pc;
    if (back) {
        w->fuel--;
        w->slice--;
    }
    if (taken == w->active) {
        if (w->ngroup) w->stop |= back || target >= w->limit;
        w->pc = target;
    } else if (target < w->pc) {
        warp_add(w, w->active & ~taken, w->pc, CJI_G_READY, 0);
        w->active = taken;
        w->pc = target;
    } else {
        warp_add(w, taken, target, CJI_G_READY, 0);
        w->active &= ~taken;
    }
    if (back && (w->slice < 0 || (w->fuel < 0 && w->ngroup))) w->stop = true;
}

void cji_warp_wait(cji_warp *w, uint32_t lanes, unsigned state, unsigned bar)
{
    warp_add(w, lanes, w->pc - 1, state, bar);
    w->active &= ~lanes;
    w->stop = true;
}

void cji_warp_wake(cji_warp *w)
{
    for (uint32_t i = 0; i < w->ngroup; i++)
        if (w->group[i].state == CJI_G_SYNC) w->group[i].state = CJI_G_READY;
    w->stop = true;
}

void cji_warp_exit(cji_warp *w, uint32_t lanes)
{
    w->live &= ~lanes;
    w->active &= ~lanes;
    cji_warp_wake(w);
    cji_block_exited(w->blk);
}

/* ---- Calls ---- */

/* Copies one place of `lanes`; words as in ext. */
static void warp_copy(cji_warp *w, uint32_t lanes, const uint32_t *from, uint32_t from_base, uint32_t from_local,
                      const uint32_t *to, uint32_t to_base, uint32_t to_local)
{
    unsigned char *keep = w->r;
    bool from_reg = from[0] & CJI_ARG_REG, to_reg = to[0] & CJI_ARG_REG;
    if (lanes == CJI_FULL && from_reg && to_reg && CJI_ARG_WIDTH(from[0]) == CJI_ARG_WIDTH(to[0])) {
        memcpy(w->stack + to_base + to[1], w->stack + from_base + from[1], cji_width_bytes(CJI_ARG_WIDTH(to[0])));
        return;
    }
    CJI_EACH(i, lanes) {
        unsigned char *lane = w->lmem + (size_t)i * w->lpitch;
        uint64_t v = 0;
        if (!from_reg && !to_reg) {
            uint32_t n = from[0] < to[0] ? from[0] : to[0];
            memmove(lane + to_local + to[1], lane + from_local + from[1], n);
            continue;
        }
        if (from_reg) {
            w->r = w->stack + from_base;
            v = cji_get(w, CJI_ARG_WIDTH(from[0]), from[1], i);
        } else memcpy(&v, lane + from_local + from[1], from[0] < 8 ? from[0] : 8);
        if (to_reg) {
            w->r = w->stack + to_base;
            cji_put(w, CJI_ARG_WIDTH(to[0]), to[1], i, v);
        } else memcpy(lane + to_local + to[1], &v, to[0] < 8 ? to[0] : 8);
    }
    w->r = keep;
}

bool cji_warp_call(cji_warp *w, const cji_rec *r, uint32_t lanes, const cji_func *f)
{
    const uint32_t *x = w->p->ext + r->target;
    unsigned first = cji_first(lanes);
    uint64_t local = ((uint64_t)w->local + (uint64_t)r->imm + f->local_align - 1) & ~(uint64_t)(f->local_align - 1);
    uint32_t top = w->top;
    if (x[0] != f->nparam || x[1] != f->nresult) {
        cji_fault(w, r, first, CJI_EXEC_FAULT_PC, 0, "calls %s with %u arguments and %u results, which has %u and %u",
                  cji_short(f->name), x[0], x[1], f->nparam, f->nresult);
        return false;
    }
    uint64_t use = local + f->local + UINT64_C(32) * (w->depth + 1);
    for (uint32_t i = 0; i < w->ngroup; i++)
        if (w->group[i].top > top) top = w->group[i].top;
    if (use > w->blk->g->stack_max || (uint64_t)top + f->frame > CJI_STACK_BYTES) {
        cji_fault(
            w, r, first, CJI_EXEC_FAULT_STACK, 0,
            "calls %s %u calls deep: its stack of %u bytes is full (raise the stack size limit, or end the recursion)",
            cji_short(f->name), w->depth + 1, w->blk->g->stack_max);
        return false;
    }
    if (!warp_stack(w, (size_t)top + f->frame) || !warp_local(w, (size_t)(local + f->local))) {
        cji_fault(w, r, first, CJI_EXEC_FAULT_NOMEM, 0, "calls %s: there is no memory for its frame",
                  cji_short(f->name));
        return false;
    }
    warp_add(w, w->active & ~lanes, w->pc, CJI_G_READY, 0);
    warp_frame(w, f, top);
    cji_frame *h = (cji_frame *)(void *)(w->stack + top);
    *h = (cji_frame){ .pc = w->pc, .base = w->base, .local = w->local, .func = (uint32_t)(f - w->p->func) };
    const uint32_t *formal = w->p->ext + f->arg_first;
    for (uint32_t i = 0; i < f->nparam; i++)
        warp_copy(w, lanes, x + 2 + 2 * i, w->base, w->local, formal + 2 * i, top, (uint32_t)local);
    w->active = lanes;
    w->base = top;
    w->top = top + f->frame;
    w->local = (uint32_t)local;
    w->depth++;
    w->r = w->stack + top;
    w->pc = f->entry;
    if (w->ngroup) w->stop = true;
    return true;
}

void cji_warp_return(cji_warp *w, uint32_t lanes)
{
    if (w->depth == 0) {
        cji_warp_exit(w, lanes);
        return;
    }
    cji_wgmma_leave(w);
    const cji_frame *h = (const cji_frame *)(const void *)w->r;
    uint32_t pc = h->pc, base = h->base, local = h->local;
    const cji_rec *call = &w->p->code[pc - 1];
    const uint32_t *x = w->p->ext + call->target;
    if (x[1]) {
        const cji_func *f = &w->p->func[h->func];
        const uint32_t *formal = w->p->ext + f->arg_first + 2 * f->nparam;
        for (uint32_t i = 0; i < x[1] && i < f->nresult; i++)
            warp_copy(w, lanes, formal + 2 * i, w->base, w->local, x + 2 + 2 * (x[0] + i), base, local);
    }
    warp_add(w, w->active & ~lanes, w->pc, CJI_G_READY, 0);
    w->active = lanes;
    w->base = base;
    w->top = base + call->d2;
    w->local = local;
    w->depth--;
    w->r = w->stack + base;
    w->pc = pc;
    if (w->ngroup) w->stop = true;
}

/* ---- Which group runs ---- */

static bool warp_same(const cji_group *a, const cji_group *b)
{
    return a->pc == b->pc && a->base == b->base && a->state != CJI_G_BAR && b->state != CJI_G_BAR;
}

static void warp_merge(cji_warp *w)
{
    for (uint32_t i = 0; i + 1 < w->ngroup; i++)
        for (uint32_t j = i + 1; j < w->ngroup;) {
            cji_group *a = &w->group[i], *b = &w->group[j];
            if (!warp_same(a, b)) {
                j++;
                continue;
            }
            a->mask |= b->mask;
            a->state = CJI_G_READY;
            if (b->stamp > a->stamp) a->stamp = b->stamp;
            *b = w->group[--w->ngroup];
        }
}

/* Every group waits, and none for a barrier that others may complete. */
static void warp_stuck(cji_warp *w)
{
    const cji_group *a = &w->group[0], *b = NULL;
    for (uint32_t i = 0; i < w->ngroup; i++)
        if (w->group[i].state == CJI_G_SYNC) {
            a = &w->group[i];
            break;
        }
    for (uint32_t i = 0; i < w->ngroup && !b; i++)
        if (&w->group[i] != a) b = &w->group[i];
    const cji_rec *r = &w->p->code[a->pc];
    bool bar = r->fn == cji_h_barrier;
    w->pc = a->pc + 1;
    if (b)
        cji_fault(
            w, r, cji_first(a->mask), bar ? CJI_EXEC_FAULT_BARRIER : CJI_EXEC_FAULT_SYNC, 0,
            bar ? "waits under divergent control flow: lanes 0x%08x of the warp are here, lanes 0x%08x wait at line %u"
                : "waits for lanes that never come: lanes 0x%08x of the warp are here, lanes 0x%08x wait at line %u",
            a->mask, b->mask, w->p->code[b->pc].line);
    else
        cji_fault(w, r, cji_first(a->mask), bar ? CJI_EXEC_FAULT_BARRIER : CJI_EXEC_FAULT_SYNC, 0,
                  "waits for lanes that never come: lanes 0x%08x of the warp are here", a->mask);
}

static bool warp_pick(cji_warp *w, cji_warp_end *end)
{
    if (w->blk->failed) {
        *end = CJI_WARP_FAULT;
        return false;
    }
    uint32_t ran = w->active, pick = UINT32_MAX;
    if (w->active) warp_add(w, w->active, w->pc, CJI_G_READY, 0);
    w->active = 0;
    w->stop = false;
    if (!w->ngroup) {
        *end = CJI_WARP_DONE;
        return false;
    }
    if (w->ngroup > 1) warp_merge(w);
    bool ready = false, sync = false, bar = false;
    for (uint32_t i = 0; i < w->ngroup; i++) {
        ready |= w->group[i].state == CJI_G_READY;
        sync |= w->group[i].state == CJI_G_SYNC;
        bar |= w->group[i].state == CJI_G_BAR;
    }
    if (!ready && sync && cji_sync_meet(w)) ready = true;
    if (!ready) {
        if (sync && !bar) {
            warp_stuck(w);
            *end = CJI_WARP_FAULT;
        } else *end = CJI_WARP_BLOCKED;
        return false;
    }
    if (w->slice < 0) {
        *end = CJI_WARP_YIELD;
        return false;
    }
    if (w->fuel < 0) {
        w->turn = !w->turn;
        w->fuel = CJI_FUEL;
        ran = 0;
    } else if (w->turn)
        for (uint32_t i = 0; i < w->ngroup; i++)
            if (w->group[i].mask & ran && w->group[i].state == CJI_G_READY) pick = i;
    if (pick == UINT32_MAX && w->turn && ran) w->turn = false;   /* its group is gone or waits */
    for (uint32_t i = 0; i < w->ngroup && (pick == UINT32_MAX || !(w->turn && ran)); i++) {
        const cji_group *g = &w->group[i], *best = pick == UINT32_MAX ? NULL : &w->group[pick];
        if (g->state != CJI_G_READY) continue;
        if (!best || (w->turn                   ? g->stamp < best->stamp
                      : g->depth != best->depth ? g->depth > best->depth
                                                : g->pc < best->pc))
            pick = i;
    }
    cji_group g = w->group[pick];
    w->group[pick] = w->group[--w->ngroup];
    w->active = g.mask;
    w->pc = g.pc;
    w->base = g.base;
    w->top = g.top;
    w->local = g.local;
    w->depth = g.depth;
    w->r = w->stack + g.base;
    w->stamp = ++w->clock;
    w->limit = UINT32_MAX;
    for (uint32_t i = 0; i < w->ngroup; i++) {
        const cji_group *o = &w->group[i];
        if (o->base == g.base && o->state != CJI_G_BAR && o->pc > g.pc && o->pc < w->limit) w->limit = o->pc;
    }
    return true;
}

cji_warp_end cji_warp_run(cji_warp *w)
{
    cji_warp_end end = CJI_WARP_DONE;
    const cji_rec *code = w->p->code;
    while (warp_pick(w, &end)) {
        uint64_t n = 0;
        const uint32_t lanes = (uint32_t)__builtin_popcount(w->active), limit = w->limit; /* until the next choice */
        do {
            const cji_rec *r = &code[w->pc++];
            uint32_t m = w->active;
            n++;
            if (r->guard != CJI_NO_GUARD) {
                uint32_t p = *cji_pred(w, r->guard >> 1);
                m &= r->guard & 1 ? ~p : p;
                if (!m) continue;
            }
            w->mask = m;
            r->fn(w, r);
        } while (!w->stop && w->pc != limit);
        w->steps += n * lanes;
    }
    return end;
}
