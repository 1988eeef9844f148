/* The room memory: device memory in stream order, copies, fills, staging, managed, IPC and peer memory, memory
 * operations. Prefixes: cji_mem, cji_copy, cji_fill, cji_staging, cji_stage, cji_peer.  Calls the room core, nothing
 * of the room graph.
 *
 *   mem_state.c     the device's state
 *   alloc_table.c   its table of memory, by address
 *   mem_alloc.c     allocations of the driver; mem_free.c: their release; ipc_mem.c: between processes
 *   block_alloc.c   the stream-ordered allocator: cj_alloc, and the release of its blocks
 *   block_heap.c    chunks cut into blocks, and the blocks that any stream may take
 *   block_lists.c   the free lists of streams
 *   block_chunk.c   chunks from the driver and back
 *   block_capture.c allocations of captures
 *   alloc_options.c its options; alloc_stats.c: its counts and its report
 *   mem_known.c     what is known of an allocation's uses
 *   mem_use.c       uses: ranges checked, noted, retained by captures and graphs
 *   mem_info.c      what memory an address is in
 *   copy.c          the calls that copy; copy_batch.c: many at once
 *   copy_span.c     copies of one range: the usual ones
 *   copy_shape.c    a copy read from its description and measured
 *   copy_3d.c       a measured copy enqueued
 *   fill.c          fills
 *   staging.c       pageable host memory through pinned pieces
 *   managed.c       prefetch and advice
 *   vmem.c          memory that grows in place; vmem_share.c: between processes
 *   mem_pool.c      pools of the driver, of the host and between processes
 *   peer.c          access to other devices, and uses by their streams
 *   mem_ops.c       memory operations of streams
 *
 * Locks: base/lock_order.def. */
#ifndef CJI_STREAM_MEMORY_H
#define CJI_STREAM_MEMORY_H

#include <cujit/copy.h>
#include <cujit/memory.h>
#include <cujit/memory_pool.h>
#include <cujit/virtual_memory.h>

#include "stream/core/stream_core.h"
#include "stream/core/work_hooks.h"

/* -- Allocations --------------------------------------------------------------------------------------------------- */

typedef struct cji_mem cji_mem;
typedef struct cji_mem_state cji_mem_state;

/* Where memory comes from, and how it is released. */
typedef struct cji_mem_type {
    cj_mem_kind kind;
    const char *name, *cu_call; /* in failures: the entry point that allocates */
    bool ordered; /* can be released in the order of a stream */
    bool foreign; /* somebody else allocates it, so that the table may have it already */
    /* `from`: what is imported, or the pool that it comes from; NULL: nothing of the kind. */
    CUresult (*alloc)(cj_stream *s, const cji_mem *m, const void *from, CUdeviceptr *d);
    CUresult (*release)(const cji_mem *m);  /* at once, in a scope */
    /* Of a block of a chunk alone: the user freed it, and nothing retains it any more.  The state's lock is held on
     * entry and not on return. */
    void (*over)(cji_mem *m);
    /* cj_free, in place of the usual one; the state's lock is held on entry and not on return.  Without `over` it is a
     * graph's memory, whose owner is what retains it: it stays in the table as long. */
    cj_status (*free)(cji_mem *m, cj_device *dev, const char *call);
    bool (*there)(const cji_mem *m);        /* whether there is something to release */
    void (*destroy)(cji_mem *m);            /* frees the cji_mem */
    /* bytes from its start that are its own although nothing is there yet; NULL: none */
    size_t (*reserved)(const cji_mem *m);
} cji_mem_type;

/* What an entry of the table is.  A chunk is entered in place of its blocks, and has no type. */
typedef enum cji_mem_shape { CJI_MEM_WHOLE, CJI_MEM_CHUNK, CJI_MEM_BLOCK } cji_mem_shape;

/* A piece of memory of a device's table.  What every use reads comes first. */
struct cji_mem {
    uint64_t addr;
    size_t bytes;
    /* referenced; under the queue's lock, changed under the state's too.  Of a graph's: where it was launched last;
     * NULL before */
    cji_slot *home;
    atomic_uint_fast64_t used; /* slots other than home */
    uint32_t retained;         /* sets that retain it, and its device too; with what follows under the state's lock */
    bool freed;                /* by the user */
    uint8_t shape;             /* a cji_mem_shape */
    uint8_t place, bin;        /* of a block: a cji_block_place; the bin that its room belongs to */
    cji_mem_state *state;
    const cji_mem_type *type;
    cji_deferred deferred;
    cji_mem *left, *right;     /* in the table */
};

/* What cj_free took: nobody may use it until an allocation has the address again. */
/* pending: its release is deferred */
typedef struct cji_freed { uint64_t addr; size_t bytes; const cji_mem *pending; } cji_freed;
enum { CJI_FREED = 64 }; /* the latest ones of a device are remembered */

/* -- The stream-ordered allocator ---------------------------------------------------------------------------------- */

/* Memory of cj_alloc is a block of a chunk; a chunk is memory of the driver's pool.  Larger memory than `most` is an
 * allocation of the driver's own.
 *
 * A block is in one place (cji_block_place).  Invariants
 *   A chunk's blocks lie side by side and cover it.
 *   A block in a stream's lists was freed behind what was enqueued on that stream before; its other uses are complete.
 *   The stream itself takes it at once.  Another stream takes it behind the list's mark, an event that is recorded on
 *   the stream after the block was freed (its turn is over), and waits for that on the device.
 *   An idle block has no use that is not complete: any stream takes it.
 *   A block that a capture takes is an idle one, so that the graph may be launched on any stream.
 *   Neither a stream's lists nor the heap has a block that a graph or an executable graph retains. */

enum { CJI_POISON = 0xdd };              /* the bytes of freed memory, with opts.poison */
enum { CJI_UNIT = 256, CJI_BINS = 240 }; /* blocks are multiples of CJI_UNIT; bins reach up to 1 TiB */

typedef struct cji_block cji_block;
typedef struct cji_chunk cji_chunk;
typedef struct cji_lists cji_lists;

/* Bin i has free blocks of at least cji_bin_bytes(i), and less than the next bin's. */
enum { CJI_BIN_WORDS = (CJI_BINS + 63) / 64 };
typedef struct cji_bins {
    uint64_t map[CJI_BIN_WORDS]; /* a bit for each bin that is not empty */
    cji_block *bin[CJI_BINS];
} cji_bins;

typedef enum cji_block_place {
    CJI_PLACE_IDLE,     /* in the heap */
    CJI_PLACE_LIVE,     /* the user's */
    CJI_PLACE_CACHED,   /* in its home stream's lists */
    CJI_PLACE_DEFERRED, /* freed; its release waits in the release queue */
    CJI_PLACE_RETAINED  /* freed, and a graph retains it */
} cji_block_place;

/* A block: mem.bytes are what the user asked for, mem.home is the slot of its lists, NULL while it is idle.  What each
 * allocation and release reads and writes comes first, in one line of the processor's cache: up to the mem's bin. */
struct cji_block {
    _Alignas(64) cji_block *next; /* in a bin, or in the list of a capture's blocks */
    size_t room;              /* more than mem.bytes by the allocator's guard at least */
    uint64_t turn;            /* in a stream's lists: how many marks were recorded before it was freed */
    cji_mem mem;
    cji_block *prev;          /* in a bin of the heap (the first one's is nothing), or in that list */
    uint64_t capture;         /* the serial of the latest capture that took it; 0: none did */
    size_t captured;          /* the most that this capture took it for: its earlier nodes still use as much */
    bool elsewhere;           /* a stream of the capture other than its home uses it */
    uint32_t number;          /* its place in the slabs */
    cji_chunk *chunk;
    cji_block *below, *above; /* neighbours in the chunk; NULL: there is none */
};
_Static_assert(offsetof(cji_block, mem.state) == 64, "cj_alloc and cj_free touch one line of a block");
static inline cji_block *cji_block_of(const cji_mem *m) /* of the shape CJI_MEM_BLOCK */
{
    return (cji_block *)(void *)((char *)(uintptr_t)m - offsetof(cji_block, mem));
}

struct cji_chunk {
    cji_mem mem; /* in the table, where it stands for its blocks */
    cji_chunk *next;
    cji_block *first;
    uint64_t *starts;         /* a bit for each unit in which a block starts */
    uint64_t *words;          /* a bit for each element of starts that is not 0 */
    bool plain;               /* of cuMemAlloc, not of the driver's pool */
};

/* What a stream has done.  A device's is the sum. */
typedef struct cji_tally {
    uint64_t live, live_most, allocs, frees;
    uint64_t idle, waited, missed; /* how allocations were served, if not by the stream's own blocks */
    uint64_t waits;                /* for other streams' marks */
} cji_tally;

/* The free blocks of one stream. */
struct cji_lists {
    cji_slot *slot;   /* referenced */
    uint64_t turn;    /* marks recorded so far */
    bool open;        /* the stream is there */
    cji_tally tally;
    cji_bins free;
    size_t blocks;    /* whose home it is, in any place */
    cji_point *mark;  /* the latest one, which covers blocks of earlier turns; NULL: none, or it was reached */
    cji_lists *next;
};

/* An entry of the index, in place of which a search reads no block that it does not look for: the block's number, 0:
 * none, and a part of its address. */
typedef struct cji_indexed { uint32_t key, number; } cji_indexed;

/* Blocks are made in slabs: block `number` is the (number % CJI_SLAB)-th one of slab number / CJI_SLAB. */
enum { CJI_SLAB = 32 };
typedef struct cji_block_slab { cji_block *block; void *memory; } cji_block_slab;

/* The allocator of a device. */
typedef struct cji_allocator {
    /* what each allocation and each release reads and writes */
    size_t quick;                /* bytes of the largest block that is allocated without a call; 0: none is */
    uint64_t live, live_most;    /* the user's bytes, as in a tally */
    uint64_t allocs;             /* of all streams */
    uint64_t room;               /* of live blocks */
    cji_indexed *index;          /* blocks by their start: open addressing; NULL: there was no block yet */
    unsigned index_bits;         /* it has 2^index_bits entries */
    cji_block_slab *slab;
    uint64_t trim_at;            /* so many cached bytes start the next trim for max_cached */
    uint64_t chunk_bytes, direct_bytes; /* held: in chunks; in the driver's own allocations of cj_alloc */
    uint64_t deferred;           /* of blocks whose release is deferred or that a graph retains */
    cj_allocator_opts opts;

    const cji_mem_type *type;    /* of blocks; set before the first one is made */
    size_t most;                 /* bytes of the largest block; 0: all memory is the driver's own */
    bool told;                   /* the driver hears of each block: with a poison or exact bounds */
    bool joined;                 /* no two neighbours are idle */
    size_t guard;                /* bytes behind each block that nobody has, where the driver checks bounds */
    cji_lists *lists, *source;   /* all; of the stream that chunks are allocated and freed on, NULL before */
    cji_bins idle;
    cji_chunk *chunks;
    size_t indexed, slabs, slab_cap; /* blocks in the index; slabs */
    cji_block *spare;            /* structs to use again */
    cji_block *captured;         /* freed blocks of captures that a graph retains */
    cji_tally rest;              /* of streams that are gone, and of memory whose stream has no lists */
    uint64_t total_most, nchunks, grown, trimmed;
    uint64_t settle_at;          /* so many allocations allow the next look for complete blocks */
    uint64_t look_at, pause;     /* so many where streams wait for each other's blocks; longer after each vain look */
} cji_allocator;

/* The smallest bin whose blocks all have that many bytes, and how many its smallest blocks have.  A bin is a unit wide
 * up to 16 units, and an eighth of a doubling from there on: the same sum, without a branch. */
typedef struct cji_fit { unsigned bin; size_t room; } cji_fit;
static inline cji_fit cji_fit_of(size_t bytes) /* > 0 */
{
    const uint64_t last = ((uint64_t)bytes - 1) / CJI_UNIT;
    const unsigned wide = 60 - (unsigned)__builtin_clzll(last | 8);
    return (cji_fit){ wide * 8 + (unsigned)(last >> wide), (size_t)((((last >> wide) + 1) << wide) * CJI_UNIT) };
}
static inline unsigned cji_bin_up(size_t bytes) { return cji_fit_of(bytes).bin; }
/* The largest bin whose blocks all have at most that many bytes. */
static inline unsigned cji_bin_down(size_t room) { return cji_bin_up(room + 1) - 1; }
static inline size_t cji_bin_bytes(unsigned bin)
{
    if (bin < 16) return (bin + 1) * (size_t)CJI_UNIT;
    return ((UINT64_C(8) + (bin - 16) % 8 + 1) << ((bin - 16) / 8 + 1)) * CJI_UNIT;
}

/* An allocation is counted, or its release; with the state's lock held. */
static inline void cji_tally_more(cji_allocator *a, cji_tally *t, size_t bytes)
{
    a->allocs++;
    a->live += bytes;
    if (a->live > a->live_most) a->live_most = a->live;
    t->allocs++;
    t->live += bytes;
    if (t->live > t->live_most) t->live_most = t->live;
}
static inline void cji_tally_less(cji_allocator *a, cji_tally *t, size_t bytes)
{
    a->live -= bytes;
    t->frees++;
    t->live -= bytes;
}

/* Bins; with the state's lock held.  A block enters in front. */
static inline void cji_bins_push(cji_bins *bins, cji_block *b)
{
    const unsigned i = b->mem.bin;
    b->next = bins->bin[i];
    bins->bin[i] = b;
    bins->map[i / 64] |= UINT64_C(1) << i % 64;
}
/* The first block of a bin that has some. */
static inline cji_block *cji_bins_pop(cji_bins *bins, unsigned bin)
{
    cji_block *b = bins->bin[bin];
    bins->bin[bin] = b->next;
    bins->map[bin / 64] ^= (uint64_t)!b->next << bin % 64;
    return b;
}
/* A block of bin `from` or the next one up to `to` that has some; not removed; NULL: there is none. */
static inline cji_block *cji_bins_find(const cji_bins *bins, unsigned from, unsigned to)
{
    for (unsigned word = from / 64; word <= to / 64; word++) {
        uint64_t map = bins->map[word];
        if (word == from / 64) map &= ~UINT64_C(0) << from % 64;
        if (!map) continue;
        const unsigned i = word * 64 + (unsigned)__builtin_ctzll(map);
        return i <= to ? bins->bin[i] : NULL;
    }
    return NULL;
}

/* Blocks (block_heap.c); with the state's lock held. */
static inline uint32_t cji_index_key(uint64_t addr) { return (uint32_t)(addr / CJI_UNIT); }
static inline uint32_t cji_index_home(const cji_allocator *a, uint32_t key)
{
    return key * UINT32_C(0x9e3779b1) >> (32 - a->index_bits);
}
static inline uint32_t cji_index_next(const cji_allocator *a, uint32_t i)
{
    return (i + 1) & ((UINT32_C(1) << a->index_bits) - 1);
}
static inline cji_block *cji_block_numbered(const cji_allocator *a, uint32_t number)
{
    return &a->slab[number / CJI_SLAB].block[number % CJI_SLAB];
}
/* The block that starts there; NULL: there is none. */
static inline cji_block *cji_block_at(const cji_allocator *a, uint64_t addr)
{
    if (!a->index) return NULL;
    const uint32_t key = cji_index_key(addr);
    for (uint32_t i = cji_index_home(a, key);; i = cji_index_next(a, i)) {
        const cji_indexed at = a->index[i];
        if (!at.number) return NULL;
        if (at.key != key) continue;
        cji_block *b = cji_block_numbered(a, at.number);
        if (b->mem.addr == addr) return b;
    }
}
/* The lists that have it; NULL: it is idle. */
static inline cji_lists *cji_block_lists(const cji_block *b)
{
    return b->mem.home ? (cji_lists *)b->mem.home->mem : NULL;
}
cji_block *cji_block_holder(const cji_allocator *a, const cji_chunk *c, uint64_t addr);
/* Cuts `b` down to `room`; the rest is returned, in no place yet.  NULL: there is no rest, or no host memory, and `b`
 * stays as it is. */
cji_block *cji_block_cut(cji_mem_state *state, cji_block *b, size_t room);
void cji_block_idle(cji_mem_state *state, cji_block *b); /* into the heap */
void cji_block_wake(cji_allocator *a, cji_block *b);    /* and out of it */
void cji_blocks_join(cji_mem_state *state);              /* idle neighbours become one block */
void cji_blocks_fini(cji_allocator *a);                  /* nobody has one any more */
/* Out of the heap; NULL: no idle block is as large. */
cji_block *cji_block_take_idle(cji_mem_state *state, unsigned bin);
/* A chunk as one block, which is in no place yet; NULL without memory. */
cji_block *cji_chunk_add(cji_mem_state *state, uint64_t addr, size_t bytes, bool plain);
void cji_chunk_forget(cji_mem_state *state, cji_chunk *c); /* it is one block in no place, or all is forgotten */
/* A checker of bounds hears that the block's first bytes may be used, or none (0): in the order of the stream `raw`, or
 * at once (NULL). */
void cji_block_declare(const cji_mem_state *state, const cji_block *b, const CUstream *raw, size_t bytes);

/* The lists of streams (block_lists.c); with the state's lock held, those with events in a scope. */
cji_lists *cji_lists_of(cji_mem_state *state, cji_slot *slot); /* made at first use; NULL without memory */
static inline void cji_lists_put(cji_lists *l, cji_block *b)
{
    b->mem.place = CJI_PLACE_CACHED;
    b->turn = l->turn;
    cji_bins_push(&l->free, b);
}
/* The stream's own block; NULL: it has none of these bins. */
cji_block *cji_lists_take(cji_mem_state *state, cji_lists *l, unsigned bin, unsigned to);
/* What is complete by now becomes idle.  Returns how many blocks that are. */
size_t cji_lists_settle(cji_mem_state *state);
size_t cji_lists_settle_one(cji_mem_state *state, cji_lists *l);
/* Another stream's block of these bins: `s` waits for its mark. */
cji_block *cji_lists_take_other(cji_mem_state *state, cj_stream *s, unsigned bin, unsigned to);
cji_block *cji_lists_take_from(cji_mem_state *state, cji_lists *from, cj_stream *s, unsigned bin, unsigned to);
cji_tally cji_tally_of(const cji_allocator *a); /* of all streams */
void cji_lists_leave(cji_mem_state *state, cji_block *b);  /* the block's home is nobody */
void cji_lists_closing(cji_device_state *base, cji_slot *slot); /* takes the lock */

/* Chunks (block_chunk.c); without the state's lock, in a scope. */
cji_lists *cji_source_of(cji_mem_state *state); /* with the lock held; NULL: there can be none */
CUresult cji_chunk_grow(cji_mem_state *state, size_t bytes, bool plain); /* room for a block of that many bytes */
bool cji_chunk_fits(const cji_allocator *a, size_t bytes); /* with the lock held: within max_total */
bool cji_allocator_may_hold(cji_mem_state *state, size_t more); /* takes the lock: within max_total */
void cji_allocator_holds(cji_allocator *a, size_t chunk, size_t direct); /* more than before; with the lock held */
uint64_t cji_chunks_trim(cji_mem_state *state, uint64_t keep); /* returns what was released */
void cji_chunks_free(cji_mem_state *state, bool idle);
void cji_source_free(cji_mem_state *state);

/* Blocks of streams and captures (block_alloc.c, block_capture.c). */
extern const cji_mem_type cji_mem_direct; /* of the driver's own allocations (mem_alloc.c) */
/* Hands a block of no place out to the user; with the lock held. */
void cji_block_hand_out(cji_mem_state *state, cji_block *b, cji_lists *l, size_t bytes);
/* Grows; what is idle may be released and what is deferred may run instead.  Without the lock, in a scope. */
CUresult cji_block_grow(cji_mem_state *state, size_t bytes, bool plain);
/* Memory of a stream whose capture is `c`. */
cj_dptr cji_capture_alloc(cj_stream *s, cji_mem_state *state, cji_capture *c, size_t bytes, const char *call);
/* The private list of captures; with the lock held. */
void cji_captured_add(cji_mem_state *state, cji_block *b);
void cji_captured_remove(cji_mem_state *state, cji_block *b);

/* Chooses how the allocator works, and fills in what the options leave open (alloc_options.c); with the lock held, or
 * before anybody knows the state. */
void cji_allocator_take(cji_mem_state *state, const cj_allocator_opts *opts);

/* -- Staging (staging.c) ------------------------------------------------------------------------------------------- */

/* One piece of pinned memory that a part of a copy passes through. */
typedef struct cji_stage cji_stage;

typedef struct cji_staging {
    pthread_mutex_t lock;
    const cji_release_queue *queue;
    struct cji_slab *slabs;    /* the pinned blocks that pieces are cut from */
    cji_stage *idle[3], *busy; /* pieces by class; pieces whose copy may be under way */
} cji_staging;

void cji_staging_init(cji_staging *st, const cji_release_queue *queue);
void cji_staging_fini(cji_staging *st); /* in a scope */
void cji_staging_trim(cji_staging *st); /* releases large idle pieces; in a scope */

/* Rows between host and device: `to` or `from` is NULL, the device's end.  Pitches are bytes from row to row. */
typedef struct cji_rows {
    uint64_t dev;
    void *to;
    const void *from;
    size_t dev_pitch, host_pitch, width, rows;
} cji_rows;

/* A copy through staging memory, captured or not; the ranges were checked, nothing is empty. */
cj_status cji_staging_copy(cj_stream *s, cji_staging *st, const cji_rows *rows, const char *call);

/* Whether a host function is one of staging, not of the user. */
bool cji_stage_has(CUhostFn fn);

/* -- The device's state (mem_state.c) ------------------------------------------------------------------------------ */

enum { CJI_WAITERS = 8 };

struct cji_mem_state {
    cji_device_state base;
    cji_release_queue *queue;
    cj_device *dev;       /* not retained: the state is the device's own */
    cji_spin lock;        /* guards the table, what was freed, and the allocator */
    cji_allocator blocks;
    cji_mem *table;       /* by address: chunks, and all memory that is no block */
    cji_freed freed[CJI_FREED];
    unsigned nfreed;      /* how often one was entered */
    unsigned nreserving;  /* entries of the table whose type has `reserved` */
    cji_staging staging;
    pthread_mutex_t peer_lock;
    cji_slot *waiter[CJI_WAITERS]; /* of streams that wait for events; made at first use, under `lock` */
    cji_slot *peer_slot; /* of the stream that waits for other devices' streams; made at first use, under its lock */
};

/* Made at first use; NULL without memory. */
cji_mem_state *cji_mem_state_make(cj_device *dev);
static inline cji_mem_state *cji_mem_state_of(cj_device *dev)
{
    cji_device_state *state = cji_release_queue_state(&dev->queue, CJI_STATE_MEMORY);
    return state ? (cji_mem_state *)state : cji_mem_state_make(dev);
}

/* The table (alloc_table.c); with the state's lock held. */
cji_mem *cji_mem_holder(const cji_mem_state *state, uint64_t addr);
cji_chunk *cji_mem_chunk_of(const cji_mem_state *state, uint64_t addr); /* that holds it; NULL: none */
/* That has reserved the address and has no memory there; NULL: none. */
cji_mem *cji_mem_reserver(const cji_mem_state *state, uint64_t addr);
/* whether an allocation has a byte of the range */
bool cji_mem_overlaps(const cji_mem_state *state, uint64_t addr, size_t bytes);
void cji_mem_insert(cji_mem_state *state, cji_mem *m);
void cji_mem_remove(cji_mem_state *state, const cji_mem *m);
size_t cji_mem_bytes(cj_device *dev, uint64_t addr); /* of the memory that begins there; 0: the table has none */
/* Whose memory an address leads to, retained: `home`, unless the table of another device of the driver has it. */
cj_device *cji_mem_owner(cj_device *home, uint64_t addr);

/* -- Making and releasing (mem_alloc.c, mem_free.c) ---------------------------------------------------------------- */

/* `at`: of a range that is wrapped; `from`: for the type's alloc. */
cj_dptr cji_mem_alloc(cj_stream *s, size_t bytes, const cji_mem_type *type, uint64_t at, const void *from,
                      const char *call);
extern const cji_mem_type cji_mem_imported; /* ipc_mem.c */
extern const cji_mem_type cji_mem_pool_imported; /* mem_pool.c */
CUresult cji_mem_release_plain(const cji_mem *m); /* by cuMemFree */
/* cj_free, of what is no live block of a chunk.  The state's lock is held on entry and not on return. */
cj_status cji_mem_free(cji_mem_state *state, cj_dptr d, const char *call);

/* The user has taken or freed memory whose home the slot is.  With the state's lock held. */
static inline void cji_mem_held(cji_slot *home, int64_t change)
{
    const uint64_t now = atomic_load_explicit(&home->held, memory_order_relaxed) + (uint64_t)change;
    atomic_store_explicit(&home->held, now, memory_order_relaxed);
    if (now > atomic_load_explicit(&home->held_most, memory_order_relaxed) && change > 0)
        atomic_store_explicit(&home->held_most, now, memory_order_relaxed);
}
/* What cj_alloc has taken of the device's memory has changed, for who measures it.  With the state's lock held. */
static inline void cji_mem_changed(const cji_mem_state *state)
{
    if (cji_work_hooked()) cji_work_memory(state->queue, state->blocks.live);
}
void cji_mem_direct_count(cji_mem_state *state, const cji_mem *m, int change); /* 1: allocated, -1: freed */
/* Released in the order of its home stream, if it is of the kind that can, and that stream is there and not captured;
 * queue's lock held, in a scope. */
CUresult cji_mem_free_ordered(const cji_mem *m); /* CUDA_ERROR_NOT_READY: it is not, and not now */
/* Out of the table or of a graph, and nothing retains it. */
void cji_mem_release(cji_mem *m);
/* A set retains it no more. */
void cji_mem_unretain(cji_mem *m);

/* -- Uses (mem_use.c) ---------------------------------------------------------------------------------------------- */

extern const cji_ref_type cji_ref_memory; /* a cji_mem, whose `retained` counts the reference */

/* Memory that a call is about to use; `what` names it in failures.  `bytes` 0: an argument of a kernel, which may be
 * anything. */
typedef struct cji_range { uint64_t addr; size_t bytes; const char *what; } cji_range;

/* By work of `s`: checked against the allocation of `dev` that holds its start, if one of the table does; noted as
 * used on the stream, or retained by its capture. A failure is left in the stream.  For memory of another device than
 * the stream's cji_mem_peer_use() follows, behind the work. */
cj_status cji_mem_use(cj_stream *s, cj_device *dev, const cji_range *range, const char *call);
/* What was enqueued so far on `s`, if it is of another device, becomes a use of the memory that holds `addr`; a
 * failure is left in `s`. */
cj_status cji_mem_peer_use(cj_stream *s, cj_device *dev, uint64_t addr, const char *call);
/* A pointer among the arguments of a captured kernel: retained by the capture where the table of a device of the
 * driver has it. */
cj_status cji_mem_use_argument(cj_stream *s, cji_capture *c, uint64_t addr, const char *call);

/* By a node of a graph: retained by `refset` where the table has it; checked as above.  A failure is recorded in
 * `into`. */
cj_status cji_mem_retain(cj_device *dev, cji_refset *refset, void *into, const cji_range *range, const char *call);
/* A pointer among the arguments of a kernel node of `home`. */
cj_status cji_mem_retain_argument(cj_device *home, cji_refset *refset, void *into, uint64_t addr, const char *call);

/* -- Peers (peer.c) ------------------------------------------------------------------------------------------------ */

/* Makes the state's stream for peers wait for what was enqueued so far on `s`, a stream of another device; *bit is
 * its slot's.  A failure is left in `s`. */
cj_status cji_peer_use(cji_mem_state *state, cj_stream *s, uint64_t *bit, const char *call);
/* A copy in a graph of `home` with memory of `other` at an end: the driver wants access, which cuMemcpyPeerAsync does
 * without.  A failure is left in `into`. */
cj_status cji_peer_in_graph(void *into, cj_device *home, cj_device *other, const char *call);
/* The streams of the library's own that wait for peers and for events (mem_known.c); in a scope. */
void cji_peer_free(cji_mem_state *state);

/* -- Copies (copy_span.c, copy_shape.c, copy_3d.c) ----------------------------------------------------------------- */

typedef struct cji_copy_end {
    cj_device *dev; /* whose memory */
    uint64_t addr;  /* device memory, 0: host memory */
    void *host;
    size_t pitch, rows; /* 0: no gaps */
    size_t slice, reach; /* measured: bytes from slice to slice, and from the first byte to the end */
} cji_copy_end;

typedef enum cji_host_kind { CJI_HOST_PAGEABLE, CJI_HOST_PINNED, CJI_HOST_INVALID } cji_host_kind;

/* What a copy of `s` takes host memory for: pinned if the driver reports it for both ends of the range, and in a
 * capture that somebody else began, where nobody would retain a staging piece; context current.
 * CJI_HOST_INVALID: it is device memory, a failure that is left in `s`. */
cji_host_kind cji_host_kind_of(cj_stream *s, const void *p, size_t bytes, const char *which, const char *call);

/* One range on the stream's device, of which one end may be host memory: `to` in place of `dst`, `from` in place of
 * `src`. */
typedef struct cji_span {
    uint64_t dst, src;
    void *to;
    const void *from;
    size_t bytes;
    const char *which; /* as of a cji_copy */
} cji_span;

/* Enqueues such a copy, which was checked, and counts it; context current.  Failures are left in the stream. */
cj_status cji_copy_span(cj_stream *s, const cji_span *j, const char *call);
/* All of the call `call` that copies it: its checks, the scope, the failure in the stream. */
cj_status cji_span_run(cj_stream *s, const cji_span *j, const char *call);
void cji_copy_count(cj_stream *s, bool to_host, bool from_host, size_t bytes);

/* A copy between any two ends: a plain one is one row. */
typedef struct cji_copy {
    size_t width, height, depth;
    cji_copy_end dst, src;
    const char *which; /* what failures begin with: "item 3: ", or "" */
    size_t bytes; /* measured: 0 is nothing to copy */
    bool peer;    /* measured: memory of another device than `home`, which copies */
} cji_copy;

/* A copy's kind for who measures it (work_hooks.h). */
int cji_copy_kind(bool to_host, bool from_host);
/* One row of `bytes`; the ends' devices are `home`. */
cji_copy cji_copy_row(cj_device *home, cji_copy_end dst, cji_copy_end src, size_t bytes);
/* A copy as its description says it, for `home`, of its driver.  Failures are left in `into`. */
cj_status cji_copy_of_params(void *into, cj_device *home, const cj_copy_3d_params *params, cji_copy *b,
                             const char *call);
cj_status cji_copy_between(void *into, cj_device *home, cj_device *dst_device, cj_dptr dst, cj_device *src_device,
                           cj_dptr src, size_t bytes, cji_copy *b, const char *call);
/* Checks a copy and fills the fields that are measured; the ranges are not held against their allocations. */
cj_status cji_copy_measure(void *into, const cj_device *home, cji_copy *b, const char *call);
/* The driver's description of a measured copy. */
CUDA_MEMCPY3D cji_copy_params(const cji_copy *b);
/* Measures a copy of a stream, checks the ranges and notes the memory as used.  Failures are left in the stream. */
cj_status cji_copy_use(cj_stream *s, cji_copy *b, const char *call);
/* Enqueues such a copy, and counts it. */
cj_status cji_copy_run(cj_stream *s, const cji_copy *b, const char *call);

/* -- Fills (fill.c) ------------------------------------------------------------------------------------------------ */

/* `height` rows of `width` elements of `size` bytes, a row every `pitch` bytes. */
typedef struct cji_fill { uint64_t to, value; size_t size, pitch, width, height; } cji_fill;

/* Checks everything but the memory; *reach is the bytes from the first to the end.  Failures are left in `into`. */
cj_status cji_fill_measure(void *into, cji_fill *f, size_t *reach, const char *call);
/* The element of a fill of rows; the value fits into it. */
cj_status cji_fill_2d_check(void *into, size_t element_bytes, uint32_t value, const char *call);
/* The fill as fills of elements that the driver has, which are at most two; their number. */
unsigned cji_fill_split(const cji_fill *f, cji_fill part[2]);

/* -- Memory operations (mem_ops.c) --------------------------------------------------------------------------------- */

typedef struct cji_mem_op_job {
    uint64_t at, value;
    int how; /* a cj_compare, of a wait */
    bool wait, wide;
    char which[32], what[48]; /* what failures begin with: "op 3: "; and what its memory is called in them */
} cji_mem_op_job;

/* Their number; op `i`, checked but for its memory; its parameters for the driver.  Failures are recorded in `into`. */
cj_status cji_mem_ops_count(void *into, const cj_mem_op *ops, size_t count, const char *call);
cj_status cji_mem_op_take(void *into, const cj_mem_op *ops, size_t i, cji_mem_op_job *j, const char *call);
void cji_mem_op_params(const cji_mem_op_job *j, CUstreamBatchMemOpParams *p);

/* Fills *info, whose size is set, with the memory that holds `at`, where *known (mem_info.c). */
cj_status cji_mem_info_find(void *into, cj_device *dev, uint64_t at, cj_mem_info *info, bool *known, const char *call);

#endif
