/* How many registers a compiler needs for a function: the most 32-bit values that are alive at one place (flow.h).
 *
 * What a GPU's compiler keeps elsewhere does not count: predicates; parameters, literals and special registers that
 * are the same in a block, which instructions read from constant memory; integers computed from these alone, which
 * have uniform registers. A copy counts as the register that it is a copy of.
 *
 * A value is alive from its definition to its last use. For each register the blocks where it is alive are found by
 * walking backwards from its uses to its definitions; the walk ends where a block has more values than a thread can
 * have registers, so the time is proportional to the number of blocks and operands. */
#include <string.h>

#include "ptx/isa_ids.h"
#include "sim/exec/flow.h"

enum { PRESSURE_MOST = 255 };

/* One register in one block. */
typedef struct pressure_use {
    uint32_t reg, block;
    uint8_t weight;           /* of reg */
    bool exposed;             /* read before it is written here */
    bool written;
    bool alive_after;
} pressure_use;

/* The registers of an instruction: those read come first, then those written. A ref is REF_BITS of flags and, above
 * them, a register's number, or that of its use once the uses are known. */
enum {
    REF_WRITTEN = 1,          /* of the second kind */
    REF_BASE = 2,             /* of the second kind, but an address in a result's place: it is read */
    REF_BITS = 2
};

typedef struct pressure {
    const cj_fn *f;
    const cji_flow *g;
    cji_arena *arena;
    uint32_t *same;           /* [nreg]: the register that it is a copy of, else itself */
    uint32_t *writes;         /* [nreg]: how many instructions write it */
    uint8_t *weight;          /* [nreg]: 32-bit registers */
    uint32_t *ref;
    size_t nref, cref;
    size_t *ref_at;           /* [nins + 1]: the first ref of each instruction */
    bool failed;              /* no memory for ref[] */
    pressure_use *use;        /* in order of blocks */
    uint32_t nuse;
    uint32_t *of_block;       /* [blocks + 1]: the first use of each block */
    uint32_t *pred, *pred_at; /* predecessors */
    uint32_t *after;          /* [blocks]: 32-bit values alive at the end */
    uint32_t now, dead, most; /* alive here; written here and never read; the most so far */
} pressure;

/* ---- Registers of each instruction ---- */

static void add_ref(pressure *p, uint32_t reg, uint32_t flags)
{
    if (flags) p->writes[reg]++;
    if (!p->weight[reg]) return;
    if (p->nref == p->cref && !cji_grow(&p->ref, &p->cref, p->nref + 1, sizeof *p->ref)) {
        p->failed = true;
        return;
    }
    p->ref[p->nref++] = reg << REF_BITS | flags;
}

static void add_word(pressure *p, uint32_t word, uint32_t flags);

static void add_other(pressure *p, uint32_t word, uint32_t flags)
{
    uint32_t n, base = flags ? REF_WRITTEN | REF_BASE : 0;
    switch (cji_word_kind(word)) {
    case CJI_K_NOT: add_ref(p, cji_word_index(word), flags); break;
    case CJI_K_MEM: add_word(p, p->f->mem[cji_word_index(word)].base, base); break;
    case CJI_K_VEC: case CJI_K_LIST: case CJI_K_PAIR: case CJI_K_TEXMEM: {
        bool reads = cji_word_kind(word) == CJI_K_TEXMEM;
        const uint32_t *part = cji_fn_words(p->f, word, &n);
        for (uint32_t i = 0; i < n; i++)
            if (part[i]) add_word(p, part[i], reads ? base : flags);
        break;
    }
    default: break;
    }
}

static inline void add_word(pressure *p, uint32_t word, uint32_t flags)
{
    if (cji_word_kind(word) == CJI_K_REG) add_ref(p, cji_word_index(word), flags);
    else add_other(p, word, flags);
}

/* A guard is a predicate, which does not count. */
static void add_instruction(pressure *p, const cji_ins *x)
{
    const cji_form *e = cji_ins_form(p->f->m, x);
    if (!e) return;
    const cji_isa_opnd *opnd = e->isa->opnd;
    uint32_t n = cji_ins_n(p->f, x), known = e->isa->nopnd, written = 0;
    for (uint32_t i = 0; i < n; i++) {
        unsigned role = i < known ? opnd[i].role : CJI_READ;
        written += role != CJI_READ;
        if (role != CJI_WRITE) add_word(p, cji_ins_opnd(p->f, x, i), 0);
    }
    for (uint32_t i = 0; i < known && written; i++) {
        if (opnd[i].role == CJI_READ || i >= n) continue;
        add_word(p, cji_ins_opnd(p->f, x, i), REF_WRITTEN);
        written--;
    }
}

static bool find_refs(pressure *p)
{
    const cj_fn *f = p->f;
    p->ref_at = cji_arena_alloc(p->arena, (f->nins + 1) * sizeof *p->ref_at);
    if (!p->ref_at || !cji_grow(&p->ref, &p->cref, f->nins + 1, sizeof *p->ref)) return false;
    for (size_t i = 0; i < f->nins; i++) {
        p->ref_at[i] = p->nref;
        add_instruction(p, &f->ins[i]);
    }
    p->ref_at[f->nins] = p->nref;
    return !p->failed;
}

/* ---- What counts ---- */

/* Different in the threads of a block, or in time. */
static bool varies(uint32_t sreg)
{
    static const char *const names[] = { "%tid", "%laneid", "%warpid", "%lanemask", "%clock", "%globaltimer", "%pm" };
    const char *name = cji_isa_sreg_at(sreg)->name;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (name[1] == names[i][1] && !strncmp(name, names[i], strlen(names[i]))) return true;
    return false;
}

/* Is the operand the same for all threads of a block, without a register of a thread? */
static bool is_uniform(const pressure *p, uint32_t word)
{
    switch (cji_word_kind(word)) {
    case CJI_K_IMM: case CJI_K_SYM: return true;
    case CJI_K_SREG: return !varies(cji_word_index(word));
    case CJI_K_REG: return !p->weight[p->same[cji_word_index(word)]];
    case CJI_K_MEM: return is_uniform(p, p->f->mem[cji_word_index(word)].base);
    default: return false;
    }
}

/* An instruction that writes one register, the only one that writes it. */
static bool defines(const pressure *p, const cji_ins *x, const cji_form *e)
{
    if (x->guard || !e->isa->nopnd || e->isa->opnd[0].role != CJI_WRITE || cji_word_kind(x->opnd[0]) != CJI_K_REG)
        return false;
    return p->writes[cji_word_index(x->opnd[0])] == 1;
}

static bool is_copy(const cji_form *e)
{
    return e->isa->op == CJI_OP_MOV || e->isa->op == CJI_OP_CVTA || e->isa->op == CJI_OP_CVT;
}

static void weigh(pressure *p, const cji_ins *x, const cji_form *e)
{
    uint32_t d = cji_word_index(x->opnd[0]), n = cji_ins_n(p->f, x), type = p->f->reg[d].type;
    bool uniform = n > 1;
    for (uint32_t i = 1; i < n && uniform; i++) uniform = is_uniform(p, cji_ins_opnd(p->f, x, i));
    bool parameter = uniform && e->isa->op == CJI_OP_LD && cji_isa_has(e->isa, CJI_W_PARAM);
    bool computed = e->isa->effect == CJI_FX_PURE && (!cji_type_is_float(type) || is_copy(e));
    if (uniform && (parameter || computed)) {
        p->weight[d] = 0;
        return;
    }
    uint32_t a = n == 2 ? x->opnd[1] : 0, s = cji_word_index(a);
    if (!is_copy(e) || cji_word_kind(a) != CJI_K_REG || p->writes[p->same[s]] != 1) return;
    uint32_t from = p->f->reg[s].type;
    if (cji_type_bits(from) == cji_type_bits(type) && cji_type_is_float(from) == cji_type_is_float(type))
        p->same[d] = p->same[s];
}

static bool weigh_all(pressure *p)
{
    const cj_fn *f = p->f;
    p->same = cji_arena_alloc(p->arena, (f->nreg + 1) * sizeof *p->same);
    p->writes = cji_arena_alloc(p->arena, (f->nreg + 1) * sizeof *p->writes);
    p->weight = cji_arena_alloc(p->arena, f->nreg + 1);
    if (!p->same || !p->writes || !p->weight) return false;
    for (uint32_t i = 0; i < f->nreg; i++) {
        p->same[i] = i;
        p->weight[i] = (uint8_t)(f->reg[i].type == CJ_PRED ? 0 : (cji_type_bits(f->reg[i].type) + 31) / 32);
    }
    if (!find_refs(p)) return false;
    for (uint32_t i = 0; i < f->nins; i++) {
        const cji_form *e = cji_ins_form(f->m, &f->ins[i]);
        if (e && defines(p, &f->ins[i], e)) weigh(p, &f->ins[i], e);
    }
    return true;
}

/* ---- Uses of each block ---- */

/* A register in the block whose uses begin at `first`; latest[nreg]: number of the last use of each, plus 1. */
static uint32_t use_of(pressure *p, uint32_t *latest, uint32_t reg, uint32_t block, uint32_t first)
{
    if (latest[reg] <= first) {
        p->use[p->nuse] = (pressure_use){ .reg = reg, .block = block, .weight = p->weight[reg] };
        latest[reg] = ++p->nuse;
    }
    return latest[reg] - 1;
}

/* Turns the refs from `ref` to `end` into refs of uses, and leaves out those that do not count; returns their new end.
 * Threads in which a guard is false keep the old value: it is alive before, if there is one. */
static uint32_t *note_refs(pressure *p, uint32_t *latest, uint32_t block, bool guarded, const uint32_t *ref,
                           const uint32_t *end, uint32_t *out)
{
    uint32_t first = p->of_block[block];
    for (; ref < end; ref++) {
        uint32_t reg = p->same[*ref >> REF_BITS], flags = *ref & ((1 << REF_BITS) - 1);
        if (!p->weight[reg]) continue;
        uint32_t at = use_of(p, latest, reg, block, first);
        pressure_use *u = &p->use[at];
        if (flags == REF_WRITTEN && (!guarded || p->writes[reg] == 1)) u->written = true;
        else if (!u->written) u->exposed = true;
        *out++ = at << REF_BITS | flags;
    }
    return out;
}

static bool find_uses(pressure *p)
{
    const cj_fn *f = p->f;
    uint32_t *latest = cji_arena_alloc(p->arena, (f->nreg + 1) * sizeof *latest), *out = p->ref;
    p->use = cji_arena_alloc(p->arena, (p->nref + 1) * sizeof *p->use);
    p->of_block = cji_arena_alloc(p->arena, (p->g->n + 1) * sizeof *p->of_block);
    if (!latest || !p->use || !p->of_block || p->nref >> (32 - REF_BITS)) return false;
    for (uint32_t b = 0; b < p->g->n; b++) {
        p->of_block[b] = p->nuse;
        for (uint32_t i = p->g->block[b].first; i < p->g->block[b].end; i++) {
            const uint32_t *ref = p->ref + p->ref_at[i], *end = p->ref + p->ref_at[i + 1];
            p->ref_at[i] = (size_t)(out - p->ref);
            out = note_refs(p, latest, b, f->ins[i].guard != 0, ref, end, out);
        }
    }
    p->ref_at[f->nins] = (size_t)(out - p->ref);
    p->of_block[p->g->n] = p->nuse;
    return true;
}

/* ---- Where values are alive ---- */

static bool find_predecessors(pressure *p)
{
    const cji_flow *g = p->g;
    uint32_t edges = 0;
    for (uint32_t b = 0; b < g->n; b++) edges += g->block[b].nsucc;
    p->pred = cji_arena_alloc(p->arena, (edges + 1) * sizeof *p->pred);
    p->pred_at = cji_arena_alloc(p->arena, (g->n + 2) * sizeof *p->pred_at);
    if (!p->pred || !p->pred_at) return false;
    for (uint32_t b = 0; b < g->n; b++)
        for (uint32_t i = 0; i < g->block[b].nsucc; i++) {
            uint32_t to = g->succ[g->block[b].succ + i];
            if (to < g->n) p->pred_at[to + 2]++;
        }
    for (uint32_t b = 0; b < g->n; b++) p->pred_at[b + 2] += p->pred_at[b + 1];
    for (uint32_t b = 0; b < g->n; b++)
        for (uint32_t i = 0; i < g->block[b].nsucc; i++) {
            uint32_t to = g->succ[g->block[b].succ + i];
            if (to < g->n) p->pred[p->pred_at[to + 1]++] = b;
        }
    return true;
}

/* What the walk of one register has seen; `reg + 1` marks an entry as this register's. */
typedef struct pressure_walk {
    uint32_t *seen;           /* [blocks]: alive at its end */
    uint32_t *used;           /* [blocks]: has a use, */
    uint32_t *use;            /* [blocks]: this one */
    uint32_t *queue, nqueue;    /* blocks at whose start it is alive */
} pressure_walk;

/* False where a block has more values than a thread has registers. */
static bool walk_register(pressure *p, pressure_walk *w, uint32_t reg, uint32_t mark)
{
    while (w->nqueue) {
        uint32_t b = w->queue[--w->nqueue];
        for (uint32_t i = p->pred_at[b]; i < p->pred_at[b + 1]; i++) {
            uint32_t from = p->pred[i];
            if (w->seen[from] == mark) continue;
            w->seen[from] = mark;
            p->after[from] += p->weight[reg];
            if (p->after[from] > PRESSURE_MOST) return false;
            pressure_use *u = w->used[from] == mark ? &p->use[w->use[from]] : NULL;
            if (u) u->alive_after = true;
            if (!u || (!u->written && !u->exposed)) w->queue[w->nqueue++] = from;
        }
    }
    return true;
}

/* The uses in order of registers: indices, and where each register's begin. */
static bool sort_uses(pressure *p, uint32_t **order, uint32_t **first)
{
    uint32_t nreg = (uint32_t)p->f->nreg;
    *order = cji_arena_alloc(p->arena, (p->nuse + 1) * sizeof **order);
    *first = cji_arena_alloc(p->arena, (nreg + 2) * sizeof **first);
    if (!*order || !*first) return false;
    for (uint32_t i = 0; i < p->nuse; i++) (*first)[p->use[i].reg + 2]++;
    for (uint32_t r = 0; r < nreg; r++) (*first)[r + 2] += (*first)[r + 1];
    for (uint32_t i = 0; i < p->nuse; i++) (*order)[(*first)[p->use[i].reg + 1]++] = i;
    return true;
}

/* False without memory; *most: some block has more values than a thread has registers. */
static bool walk_all(pressure *p, bool *most)
{
    uint32_t n = p->g->n, *order, *first;
    uint32_t *room = cji_arena_alloc(p->arena, (5 * (size_t)n + 1) * sizeof *room);
    if (!room || !sort_uses(p, &order, &first)) return false;
    pressure_walk w = { room, room + n, room + 2 * n, room + 3 * n, 0 };
    p->after = room + 4 * (size_t)n;
    for (uint32_t r = 0; r < p->f->nreg; r++) {
        for (uint32_t i = first[r]; i < first[r + 1]; i++) {
            const pressure_use *u = &p->use[order[i]];
            w.used[u->block] = r + 1;
            w.use[u->block] = order[i];
            if (u->exposed) w.queue[w.nqueue++] = u->block;
        }
        if (!walk_register(p, &w, r, r + 1)) {
            *most = true;
            return true;
        }
    }
    return true;
}

/* ---- The most at one place ---- */

/* Backwards: a write ends what is alive above it, the last read begins it. */
static void leave_write(pressure *p, pressure_use *u, bool guarded)
{
    if (!u->alive_after) p->dead += u->weight;
    else if (!guarded || p->writes[u->reg] == 1) {
        u->alive_after = false;
        p->now -= u->weight;
    }
}

static void enter_read(pressure *p, pressure_use *u)
{
    if (u->alive_after) return;
    u->alive_after = true;
    p->now += u->weight;
}

static void peak_of_block(pressure *p, uint32_t b)
{
    p->now = p->after[b];
    for (uint32_t i = p->g->block[b].end; i-- > p->g->block[b].first;) {
        const uint32_t *ref = p->ref + p->ref_at[i], *end = p->ref + p->ref_at[i + 1], *reads = end;
        uint32_t after = p->now;
        p->dead = 0;
        while (reads > ref && reads[-1] & REF_WRITTEN) reads--;
        for (const uint32_t *r = reads; r < end; r++)
            leave_write(p, &p->use[*r >> REF_BITS], p->f->ins[i].guard != 0);
        if (after + p->dead > p->most) p->most = after + p->dead;
        for (const uint32_t *r = ref; r < reads; r++) enter_read(p, &p->use[*r >> REF_BITS]);
        if (p->now > p->most) p->most = p->now;
    }
}

bool cji_flow_pressure(const cj_fn *f, const cji_flow *g, cji_arena *arena, uint32_t *values)
{
    pressure p = { .f = f, .g = g, .arena = arena };
    bool most = false, ok = weigh_all(&p) && find_uses(&p) && find_predecessors(&p) && walk_all(&p, &most);
    for (uint32_t b = 0; ok && b < g->n && !most; b++) peak_of_block(&p, b);
    *values = most || p.most > PRESSURE_MOST ? PRESSURE_MOST : p.most;
    cji_free(p.ref, p.cref * sizeof *p.ref);
    return ok;
}
