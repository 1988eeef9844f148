/* The options of the allocator: what the user leaves open comes from the environment, or is the usual. */
#include <string.h>

#include "base/environment.h"
#include "stream/memory/stream_memory.h"

enum { ALLOC_GRAIN = 2 << 20, ALLOC_CHUNK = 32 << 20, ALLOC_BLOCK_MOST = 16 << 20 };

void cj_allocator_defaults(cj_allocator_opts *opts)
{
    if (opts) *opts = (cj_allocator_opts){ .size = sizeof *opts };
}

void cji_allocator_take(cji_mem_state *state, const cj_allocator_opts *opts)
{
    cji_allocator *a = &state->blocks;
    const char *source = cji_env_get(CJI_ENV_ALLOCATOR), *poison = cji_env_get(CJI_ENV_POISON);
    a->opts = *opts;
    if (!a->opts.source)
        a->opts.source = source && strcmp(source, "driver") == 0 ? CJ_ALLOCATOR_DRIVER : CJ_ALLOCATOR_CUJIT;
    if (poison && strcmp(poison, "1") == 0) a->opts.poison = 1;
    if (!a->opts.chunk_bytes) a->opts.chunk_bytes = ALLOC_CHUNK;
    a->opts.chunk_bytes = (a->opts.chunk_bytes + ALLOC_GRAIN - 1) / ALLOC_GRAIN * ALLOC_GRAIN;
    a->most = a->opts.chunk_bytes / 2 < ALLOC_BLOCK_MOST ? (size_t)a->opts.chunk_bytes / 2 : ALLOC_BLOCK_MOST;
    if (a->opts.source == CJ_ALLOCATOR_DRIVER) a->most = 0;
    a->told = a->opts.poison || state->dev->drv->suballoc;
    a->quick = a->told ? 0 : a->most;
    a->guard = state->dev->drv->suballoc ? CJI_UNIT : 0;
    a->trim_at = 0;
}
