/* Functions: blocks in their order, branches, frames and their templates (decode.h). */
#include "ptx/layout.h"
#include "sim/exec/decode.h"
#include "sim/exec/flow.h"

/* ---- Blocks ---- */

/* Targets are block numbers first; they become places once all blocks have theirs. */
static void decode_branch(cji_dec *d, const cji_flow *g)
{
    cji_dec_has(d, CJI_W_UNI);
    uint32_t last = cji_dec_word(d, d->n - 1);
    if (cji_word_kind(last) == CJI_K_LABEL) {
        cji_dec_emit(d, cji_h_bra)->target = cji_flow_target(g, d->f, last);
        return;
    }
    cji_dec_op_words(d, 2); /* brx.idx */
    const cji_tlist *list = &d->f->tlist[cji_word_index(last)];
    uint32_t n = 0;
    const uint32_t *word = cji_fn_words(d->f, list->list, &n);
    if (n > 255) {
        cji_dec_fail(d, "has %u targets; the CPU device takes 255", n);
        return;
    }
    cji_dec_place index = cji_dec_src(d, cji_dec_word(d, 0), 32, false);
    uint32_t at = (uint32_t)d->p->next;
    for (uint32_t i = 0; i < n; i++) cji_dec_ext(d, cji_flow_target(g, d->f, word[i]));
    cji_rec *r = cji_dec_emit(d, cji_h_brx);
    cji_dec_put_a(r, index);
    r->target = at;
    r->count = (uint8_t)n;
}

static bool decode_by(cji_dec *d)
{
    return cji_dec_alu(d) || cji_dec_compare(d) || cji_dec_cvt(d) || cji_dec_mem(d) || cji_dec_async(d) ||
           cji_dec_matrix(d) || cji_dec_bulk(d) || cji_dec_warp(d) || cji_dec_flow(d);
}

static void decode_ins(cji_dec *d, const cji_ins *x, const cji_flow *g)
{
    if (x->form >= CJI_INS_PSEUDO) return;
    cji_dec_begin(d, x);
    if (d->e->isa->effect & CJI_FX_BRANCH) decode_branch(d, g);
    else if (!decode_by(d)) cji_dec_unsupported(d);
    if (!d->failed) cji_dec_end(d);
}

static bool decode_blocks(cji_dec *d, const cji_flow *g, uint32_t *start)
{
    uint32_t first = (uint32_t)d->p->ncode;
    for (uint32_t i = 0; i < g->norder; i++) {
        const cji_flow_block *b = &g->block[g->order[i]];
        start[g->order[i]] = (uint32_t)d->p->ncode;
        for (uint32_t j = b->first; j < b->end && !d->failed; j++) decode_ins(d, &d->f->ins[j], g);
        if (d->failed) return false;
        d->guard = CJI_NO_GUARD;
        if (b->next != CJI_FLOW_NONE) {
            if (i + 1 == g->norder || g->order[i + 1] != b->next) cji_dec_emit(d, cji_h_jump)->target = b->next;
        } else if (!b->nsucc || (d->f->ins[b->end - 1].guard && b->end == d->f->nins)) cji_dec_emit(d, cji_h_ret);
    }
    if (!g->norder) cji_dec_emit(d, cji_h_ret);
    for (uint32_t pc = first; pc < d->p->ncode; pc++) {
        cji_rec *r = &d->p->code[pc];
        if (r->fn == cji_h_bra || r->fn == cji_h_jump) r->target = start[r->target];
        else if (r->fn == cji_h_brx)
            for (uint32_t i = 0; i < r->count; i++) d->p->ext[r->target + i] = start[d->p->ext[r->target + i]];
    }
    return !d->failed;
}

/* ---- Frames ---- */

static void decode_mark(uint8_t *used, size_t n, uint32_t word)
{
    unsigned kind = cji_word_kind(word);
    if ((kind == CJI_K_REG || kind == CJI_K_NOT) && cji_word_index(word) < n) used[cji_word_index(word)] = 1;
}

/* Registers that the function names: compilers declare more, and a frame is cleared whenever it begins. Words of the
 * pool that are no operands may name one too many. */
static uint8_t *decode_used(cji_dec *d, cji_arena *arena)
{
    const cj_fn *f = d->f;
    uint8_t *used = cji_arena_alloc(arena, f->nreg + 1);
    if (!used) return NULL;
    for (size_t i = 0; i < f->nins; i++) {
        if (f->ins[i].form >= CJI_INS_PSEUDO) continue;
        decode_mark(used, f->nreg, f->ins[i].guard);
        for (int j = 0; j < CJI_QUICK; j++) decode_mark(used, f->nreg, f->ins[i].opnd[j]);
    }
    for (size_t i = 0; i < f->npool; i++) decode_mark(used, f->nreg, f->pool[i]);
    for (size_t i = 0; i < f->nmem; i++) decode_mark(used, f->nreg, f->mem[i].base);
    for (int pass = 0; pass < 2; pass++) {
        const uint32_t *list = pass ? f->result : f->param;
        for (size_t i = 0, n = pass ? f->nresult : f->nparam; i < n; i++)
            if (d->m->var[list[i]]->space == CJI_SP_REG) used[d->m->var[list[i]]->reg] = 1;
    }
    return used;
}

static bool decode_registers(cji_dec *d, cji_arena *arena)
{
    const cj_fn *f = d->f;
    d->extra = sizeof(cji_frame);
    d->reg = cji_arena_alloc(arena, (f->nreg + 1) * sizeof *d->reg);
    const uint8_t *used = decode_used(d, arena);
    if (!d->reg || !used) return cji_dec_no_memory(d);
    for (uint32_t i = 0; i < f->nreg; i++) {
        if (!used[i]) continue;
        unsigned bits = cji_type_bits(f->reg[i].type), w = cji_dec_width(bits);
        if (!w)
            return cji_dec_fail(d, "%s has a register of %u bits, which the CPU device does not have yet", d->fn->name,
                                bits);
        d->reg[i] = (cji_dec_place){ cji_dec_room(d, w), (uint8_t)w };
        if (d->failed) return false;
    }
    d->extra = (d->extra + 63u) & ~63u;
    d->fn->regs_end = d->extra;
    return true;
}

/* A value of `lane` bytes in all lanes. */
static void decode_fill(unsigned char *at, uint64_t bits, size_t lane)
{
    uint32_t half = (uint32_t)bits;
    switch (lane) {
    case 8: for (size_t j = 0; j < CJI_LANES; j++) memcpy(at + j * 8, &bits, 8); break;
    case 4: for (size_t j = 0; j < CJI_LANES; j++) memcpy(at + j * 4, &half, 4); break;
    default: for (size_t j = 0; j < CJI_LANES; j++) memcpy(at + j * lane, &bits, lane); break;
    }
}

static bool decode_template(cji_dec *d)
{
    cji_func *fn = d->fn;
    cji_exec_program *p = d->p;
    fn->frame = (d->extra + 63u) & ~63u;
    size_t bytes = fn->frame - fn->regs_end;
    fn->consts = cji_arena_alloc(&p->arena, bytes + 1);
    if (!fn->consts) return cji_dec_no_memory(d);
    fn->dyn_first = (uint32_t)p->ndyn;
    for (size_t i = 0; i < d->ncon; i++) {
        const struct cji_dec_const *c = &d->con[i];
        unsigned char *at = fn->consts + (c->off - fn->regs_end);
        if (c->kind == CJI_CON_TEMP) continue;
        if (c->w == CJI_WP) {
            uint32_t all = c->bits ? CJI_FULL : 0;
            memcpy(at, &all, 4);
        } else {
            decode_fill(at, c->bits, cji_width_bytes(c->w) / CJI_LANES);
        }
        if (c->kind == CJI_CON_IMAGE) {
            if (!cji_grow(&p->place, &p->cplace, p->nplace + 1, sizeof *p->place)) return cji_dec_no_memory(d);
            p->place[p->nplace++] = (struct cji_place){ at, (int64_t)c->bits };
        }
        if (c->kind == CJI_CON_DYNAMIC) {
            if (!cji_grow(&p->dyn, &p->cdyn, p->ndyn + 2, sizeof *p->dyn)) return cji_dec_no_memory(d);
            p->dyn[p->ndyn++] = c->off;
            p->dyn[p->ndyn++] = cji_width_bytes(c->w) / CJI_LANES;
            fn->dyn_n++;
        }
    }
    return true;
}

/* The places of parameters and results. */
static bool decode_formals(cji_dec *d)
{
    const cj_fn *f = d->f;
    d->fn->arg_first = (uint32_t)d->p->next;
    for (int pass = 0; pass < 2; pass++) {
        const uint32_t *list = pass ? f->result : f->param;
        for (size_t i = 0, n = pass ? f->nresult : f->nparam; i < n; i++) {
            const cji_var *v = d->m->var[list[i]];
            if (v->space == CJI_SP_REG) {
                for (uint32_t k = v->reg; k < v->reg + (v->vec ? v->vec : 1u); k++) {
                    cji_dec_ext(d, CJI_ARG_REG | d->reg[k].w);
                    cji_dec_ext(d, d->reg[k].off);
                }
            } else {
                cji_dec_ext(d, (uint32_t)v->bytes);
                cji_dec_ext(d, (uint32_t)d->mod->var[list[i]].offset);
            }
        }
    }
    return !d->failed;
}

/* The same for a function that is never entered. */
static bool decode_closed(cji_dec *d)
{
    d->fn->arg_first = (uint32_t)d->p->next;
    for (size_t i = 0; i < 2 * (d->f->nparam + d->f->nresult); i++) cji_dec_ext(d, 0);
    return !d->failed;
}

void cji_decode_end(cji_dec *d)
{
    cji_free(d->con, d->ccon * sizeof *d->con);
    cji_free(d->slot, d->nslot * sizeof *d->slot);
    d->con = NULL;
    d->slot = NULL;
    d->ccon = d->nslot = 0;
}

/* The next function finds no constants, but the memory of this one's unless that is large. */
static void decode_forget(cji_dec *d)
{
    enum { KEPT = 1024 };
    if (d->nslot > KEPT) cji_decode_end(d);
    else if (d->ncon) memset(d->slot, 0, d->nslot * sizeof *d->slot);
    d->ncon = 0;
}

bool cji_decode(cji_dec *d)
{
    cji_flow flow;
    bool ok = false;
    cji_ptx_where(d->m, d->f->loc, &d->line);
    if (!cji_flow_make(d->f, d->scratch, &flow) || !cji_flow_pressure(d->f, &flow, d->scratch, &d->fn->values)) {
        cji_dec_no_memory(d);
        goto out;
    }
    uint32_t *start = cji_arena_alloc(d->scratch, (flow.n + 1) * sizeof *start);
    if (!start) {
        cji_dec_no_memory(d);
        goto out;
    }
    d->fn->entry = (uint32_t)d->p->ncode;
    d->guard = CJI_NO_GUARD;   /* of records before the first instruction, or without any */
    if (d->fn->local > CJI_LOCAL_BYTES) {   /* no launch and no call enters it */
        d->fn->frame = d->fn->regs_end = sizeof(cji_frame);
        cji_dec_emit(d, cji_h_trap);
        ok = d->fn->kernel || decode_closed(d);
        goto out;
    }
    ok = decode_registers(d, d->scratch) && (d->fn->kernel || decode_formals(d)) && decode_blocks(d, &flow, start) &&
         decode_template(d);
out:
    decode_forget(d);
    cji_arena_clear(d->scratch);
    return ok && !d->failed;
}
