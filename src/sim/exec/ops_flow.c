/* Branches, calls, returns, ends. */
#include "sim/exec/warp.h"

void cji_h_bra(cji_warp *w, const cji_rec *r) { cji_warp_branch(w, w->mask, r->target); }

void cji_h_jump(cji_warp *w, const cji_rec *r) { cji_warp_branch(w, w->mask, r->target); }

void cji_h_brx(cji_warp *w, const cji_rec *r)
{
    const uint32_t *target = w->p->ext + r->target;
    uint32_t rest = w->mask;
    while (rest) {
        unsigned first = cji_first(rest);
        uint64_t index = cji_get(w, r->wa, r->a, first);
        uint32_t lanes = 0;
        if (index >= r->count) {
            cji_fault(w, r, first, CJI_EXEC_FAULT_PC, 0, "branches to entry %llu of a list of %u",
                      (unsigned long long)index, r->count);
            return;
        }
        CJI_EACH(i, rest) lanes |= cji_get(w, r->wa, r->a, i) == index ? UINT32_C(1) << i : 0;
        rest &= ~lanes;
        if (lanes == w->active) {
            cji_warp_branch(w, lanes, target[index]);
            return;
        }
        /* one group each; the scheduler chooses anew */
        w->group[w->ngroup++] =
            (cji_group){ lanes, target[index], w->base, w->top, w->local, w->depth, w->stamp, CJI_G_READY, 0 };
        w->active &= ~lanes;
        w->fuel--;
        w->slice--;
        cji_warp_kick(w);
    }
}

void cji_h_call(cji_warp *w, const cji_rec *r)
{
    uint32_t lanes = w->mask, index = r->k;
    if (index == UINT32_MAX) {
        unsigned first = cji_first(lanes);
        uint64_t a = cji_get(w, r->wa, r->a, first);
        uint32_t same = 0;
        index = (uint32_t)((a & UINT64_C(0xffffffffffff)) / 16 - 1);
        if (a >> 48 << 48 != CJI_FUNC_TAG || a % 16 || index >= w->p->nfunc) {
            cji_fault(w, r, first, CJI_EXEC_FAULT_PC, a, "calls 0x%llx, which is no function", (unsigned long long)a);
            return;
        }
        CJI_EACH(i, lanes) same |= cji_get(w, r->wa, r->a, i) == a ? UINT32_C(1) << i : 0;
        if (same != lanes) {
            cji_warp_wait(w, lanes & ~same, CJI_G_READY, 0);  /* they come here again */
            lanes = same;
        }
    }
    const cji_func *f = &w->p->func[index];
    if (f->builtin) cji_print_call(w, r, lanes, f);
    else cji_warp_call(w, r, lanes, f);
}

void cji_h_ret(cji_warp *w, const cji_rec *r)
{
    (void)r;
    cji_warp_return(w, w->mask);
}

void cji_h_exit(cji_warp *w, const cji_rec *r)
{
    (void)r;
    cji_warp_exit(w, w->mask);
}

void cji_h_trap(cji_warp *w, const cji_rec *r)
{
    cji_fault(w, r, cji_first(w->mask), CJI_EXEC_FAULT_TRAP, 0, "was reached");
}

void cji_h_nanosleep(cji_warp *w, const cji_rec *r)
{
    (void)r;
    w->fuel = -1;
    w->slice = -1;
    cji_warp_kick(w);
}
