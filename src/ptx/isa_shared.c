/* Decoded forms that all modules of the process share: what a form is never changes, and to decode one takes as long as
 * to build ten instructions.
 *
 * A place is free, then taken by the one thread that decodes into it, then ready for ever; nothing waits and nothing is
 * allocated.  Where all places of a form are in use by others, the module decodes it for itself.  A child of fork() may
 * find a place taken by a thread that it has not: it is never ready there, which costs no more than that. */
#include <stdatomic.h>

#include "isa.h"

enum { PLACES = 256, PROBES = 8 };
enum { PLACE_FREE, PLACE_TAKEN, PLACE_READY };

static struct shared_place { atomic_uint state; cji_isa_form isa; } shared_places[PLACES];

static const cji_isa_form *place_form(struct shared_place *p, uint32_t form)
{
    unsigned state = atomic_load_explicit(&p->state, memory_order_acquire);
    if (state == PLACE_FREE &&
        atomic_compare_exchange_strong_explicit(&p->state, &state, PLACE_TAKEN, memory_order_acquire,
                                                memory_order_acquire)) {
        cji_isa_get(form, &p->isa);
        atomic_store_explicit(&p->state, PLACE_READY, memory_order_release);
        return &p->isa;
    }
    return state == PLACE_READY && p->isa.form == form ? &p->isa : NULL;
}

const cji_isa_form *cji_isa_shared(uint32_t form)
{
    const cji_isa_form *found = NULL;
    if (form >= cji_isa_forms()) return NULL;
    uint32_t at = form * 0x9e3779b1u >> 20;
    for (uint32_t i = 0; i < PROBES && !found; i++) found = place_form(&shared_places[(at + i) % PLACES], form);
    return found;
}
