/* Which share of a kernel's instructions accesses memory. */
#include "ptx/entries.h"
#include "ptx/isa_ids.h"
#include "ptx/ptx.h"

static cji_mix mix_of_form(const cji_isa_form *form)
{
    if (!(form->effect & (CJI_FX_READ | CJI_FX_WRITE | CJI_FX_ATOMIC))) return CJI_MIX_OTHER;
    if (cji_isa_has(form, CJI_W_PARAM)) return CJI_MIX_PARAM;
    return cji_isa_has(form, CJI_W_SHARED) || cji_isa_has(form, CJI_W_CONST) ? CJI_MIX_OTHER : CJI_MIX_MEMORY;
}

void cji_fn_mix(const cj_fn *f, uint32_t *all, uint32_t *memory)
{
    *all = f->mix_all;
    *memory = f->mix_memory;
    for (size_t i = 0; i < f->nins; i++) {
        const cji_form *form = cji_ins_form(f->m, &f->ins[i]);
        const cji_mix mix = form ? mix_of_form(form->isa) : CJI_MIX_PARAM;
        *all += mix != CJI_MIX_PARAM;
        *memory += mix == CJI_MIX_MEMORY;
    }
}

cji_mix cji_mix_word(const char *s, size_t n)
{
    static const uint16_t words[] = { CJI_W_LD,  CJI_W_ST,   CJI_W_CP,   CJI_W_LDU,  CJI_W_RED, CJI_W_TEX,
                                      CJI_W_ATOM, CJI_W_TLD4, CJI_W_SULD, CJI_W_SUST };
    if (n < 2 || n > 4) return CJI_MIX_OTHER;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (cji_isa_word_is(words[i], s, n)) return CJI_MIX_MEMORY;
    return CJI_MIX_OTHER;
}

cji_mix cji_mix_modifier(cji_mix so_far, const char *s, size_t n)
{
    if (so_far != CJI_MIX_MEMORY) return so_far;
    if (cji_isa_word_is(CJI_W_PARAM, s, n)) return CJI_MIX_PARAM;
    return cji_isa_word_is(CJI_W_SHARED, s, n) || cji_isa_word_is(CJI_W_CONST, s, n) ? CJI_MIX_OTHER : so_far;
}
