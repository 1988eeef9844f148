/* Which instruction asks for what a device or its driver does not have: for the message about it. */
#include "ptx/ptx.h"

/* What one instruction needs with the operands that it has. */
static cji_ptx_demand demand_of(const cj_fn *f, const cji_ins *x, const cji_form *e)
{
    cji_isa_arg arg[CJI_ISA_OPNDS];
    uint8_t types[CJI_ISA_OPNDS][256];
    cji_ptx_demand d = { .what = e->isa->text, .loc = x->loc, .version = e->isa->version, .targets = e->targets };
    const uint32_t n = cji_ins_n(f, x);
    for (uint32_t i = 0; i < n && i < CJI_ISA_OPNDS && !e->plain; i++)
        cji_fn_arg(f, cji_ins_opnd(f, x, i), &arg[i], types[i]);
    if (!e->plain) cji_isa_needs(e->isa, arg, n, &d.version, &d.targets);
    return d;
}

/* The same for a special register among its operands; .what NULL: there is none. */
static cji_ptx_demand demand_of_special(const cj_fn *f, const cji_ins *x)
{
    for (uint32_t i = 0, n = cji_ins_n(f, x); i < n; i++) {
        const uint32_t word = cji_ins_opnd(f, x, i);
        if (cji_word_kind(word) != CJI_K_SREG) continue;
        const cji_isa_sreg *s = cji_isa_sreg_at(cji_word_index(word));
        return (cji_ptx_demand){ .what = s->name, .loc = x->loc, .version = s->version,
                                 .targets = cji_target_set(s->targets) };
    }
    return (cji_ptx_demand){ .what = NULL };
}

cji_ptx_demand cji_ptx_first_lacking(const cj_ptx *m, cji_targets on)
{
    for (size_t i = 0; i < m->nfn; i++)
        for (size_t k = 0; k < m->fn[i]->nins; k++) {
            const cji_ins *x = &m->fn[i]->ins[k];
            const cji_form *e = cji_ins_form(m, x);
            if (!e) continue;
            cji_ptx_demand d = demand_of(m->fn[i], x, e), special = demand_of_special(m->fn[i], x);
            if (!(d.targets & on)) return d;
            if (special.what && !(special.targets & on)) return special;
        }
    return (cji_ptx_demand){ .what = NULL };
}

cji_ptx_demand cji_ptx_newest(const cj_ptx *m, int target)
{
    cji_ptx_demand most = { .what = NULL };
    for (size_t i = 0; i < m->nfn; i++)
        for (size_t k = 0; k < m->fn[i]->nins; k++) {
            const cji_ins *x = &m->fn[i]->ins[k];
            const cji_form *e = cji_ins_form(m, x);
            if (!e) continue;
            cji_ptx_demand d = demand_of(m->fn[i], x, e), special = demand_of_special(m->fn[i], x);
            const bool late = target >= 0 && cji_target_set(e->isa->late_targets) >> target & 1;
            if (e->isa->late_version > d.version && late) d.version = e->isa->late_version;
            if (special.what && special.version > d.version) d = special;
            if (!most.what || d.version > most.version) most = d;
        }
    return most;
}
