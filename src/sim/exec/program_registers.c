/* How many registers a thread of each kernel has: an estimate of what a GPU's compiler reports (program.h).
 *
 * From the values that are alive at one place (flow.h) in the kernel and in whatever it may call. A compiler needs a
 * few more for addresses and for loads that are under way, and fewer where it computes a value again or moves code:
 * the line below is at most a quarter above what ptxas reports of kernels that nvcc makes. */
#include "sim/exec/program.h"

enum { REGISTERS_MOST = 255, REGISTERS_LEAST_LIMIT = 24, REGISTERS_OF_BLOCK = 65536, REGISTERS_UNIT = 8 };

static uint32_t registers_for(uint32_t values) { return values ? 5 + values * 7 / 10 : 4; }

/* What the head allows, else the JIT option, as with ptxas. */
static uint32_t registers_limit(const cji_bounds *b, uint32_t option)
{
    const uint32_t *block = b->reqntid[0] ? b->reqntid : b->maxntid;
    if (b->maxreg) return b->maxreg;
    if (block[0]) {
        uint64_t threads = (uint64_t)block[0] * (block[1] ? block[1] : 1) * (block[2] ? block[2] : 1);
        uint64_t warps = (threads + 31) / 32 * (b->minctas ? b->minctas : 1);
        uint64_t room = REGISTERS_OF_BLOCK / 32 / warps / REGISTERS_UNIT * REGISTERS_UNIT;
        if (room < REGISTERS_LEAST_LIMIT) room = REGISTERS_LEAST_LIMIT; /* more blocks than an SM can have */
        return room < REGISTERS_MOST ? (uint32_t)room : REGISTERS_MOST;
    }
    if (option) return option < REGISTERS_LEAST_LIMIT ? REGISTERS_LEAST_LIMIT : option;
    return REGISTERS_MOST;
}

/* ---- What a kernel may call: the most values of any of it, too ---- */

/* Functions in order of their values, most first, by counting. */
static void registers_sort(const cji_exec_program *p, uint32_t *order)
{
    uint32_t first[REGISTERS_MOST + 2] = { 0 };
    for (size_t f = 0; f < p->nfunc; f++) first[REGISTERS_MOST - p->func[f].values + 1]++;
    for (size_t v = 1; v < REGISTERS_MOST + 2; v++) first[v] += first[v - 1];
    for (size_t f = 0; f < p->nfunc; f++) order[first[REGISTERS_MOST - p->func[f].values]++] = (uint32_t)f;
}

/* Who calls each function: caller[at[f] .. at[f + 1]). */
static void registers_callers(const cji_exec_program *p, uint32_t *at, uint32_t *caller)
{
    for (size_t i = 0; i < p->ncall; i++) at[p->call[i].callee + 2]++;
    for (size_t f = 0; f <= p->nfunc; f++) at[f + 2] += at[f + 1];
    for (size_t i = 0; i < p->ncall; i++) caller[at[p->call[i].callee + 1]++] = p->call[i].caller;
}

/* From the function with most values to its callers, and on: each function is reached once, by the most. */
static void registers_spread(cji_exec_program *p, const uint32_t *order, const uint32_t *at, const uint32_t *caller,
                             uint32_t *queue, uint32_t *seen)
{
    for (size_t i = 0; i < p->nfunc; i++) {
        size_t head = 0, tail = 0;
        uint32_t values = p->func[order[i]].values;
        if (!seen[order[i]]) queue[tail++] = order[i];
        seen[order[i]] = 1;
        for (; head < tail; head++) {
            uint32_t f = queue[head];
            if (f < p->nfunc) p->func[f].values = values;
            for (uint32_t k = at[f]; k < at[f + 1]; k++)
                if (!seen[caller[k]]) {
                    seen[caller[k]] = 1;
                    queue[tail++] = caller[k];
                }
        }
    }
}

bool cji_program_registers(cji_exec_program *p, const cji_dec_module *mods, const cji_exec_text *texts)
{
    size_t nodes = p->nfunc + 1, words = 4 * nodes + 2 + p->ncall;
    uint32_t *room = p->ncall ? cji_zalloc(words * sizeof *room) : NULL;
    if (p->ncall && !room) return false;
    if (room) {
        uint32_t *order = room, *queue = order + nodes, *seen = queue + nodes;
        uint32_t *at = seen + nodes, *caller = at + nodes + 2;
        registers_sort(p, order);
        registers_callers(p, at, caller);
        registers_spread(p, order, at, caller, queue, seen);
        cji_free(room, words * sizeof *room);
    }
    for (size_t i = 0; i < p->nkernel; i++) {
        const cji_func *fn = &p->func[p->kernel[i].code];
        uint32_t most = registers_limit(&mods[fn->module].m->fn[fn->source]->bounds, texts[fn->module].max_registers);
        uint32_t n = registers_for(fn->values);
        p->kernel[i].registers = n < most ? n : most;
    }
    return true;
}
