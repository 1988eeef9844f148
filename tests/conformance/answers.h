/* What the families of same_answers.c share: a program of a family is a sequence of calls of the driver, drawn from the
 * seed alone, and its answers are text: a line for each call with its status and with what it told.
 *
 * Nothing of a text may depend on time: a query is only told where its answer is certain - the work is held by a latch
 * that is closed, or waited for - and is "either" elsewhere.  No handle and no address is reported, only which of the
 * program's own it is.
 *
 * Each file has the table of entry points of driver_abi.h for itself: an_attach() fills it. */
#ifndef CUJIT_TESTS_CONFORMANCE_ANSWERS_H
#define CUJIT_TESTS_CONFORMANCE_ANSWERS_H

#include <stdio.h>
#include <stdlib.h>

#include "tests/conformance/driver_abi.h"

enum { AN_WORDS = 96 };

typedef struct an_family { const char *name; void (*program)(void); } an_family;

void an_program_streams(void);
void an_program_captures(void);
void an_program_graphs(void);
void an_program_memory(void);
void an_program_functions(void);

/* ---- The answers ------------------------------------------------------------------------------------------------- */

/* Begins a line: what is called.  It is written before the call, so that one that never returns is the last line. */
void an_line(const char *fmt, ...) TAP_FORMAT(1, 2);
/* Goes on in the line. */
void an_more(const char *fmt, ...) TAP_FORMAT(1, 2);
/* The status of the call of this line, which it hands on. */
int an_status(int status);
/* The status of a query: SUCCESS and NOT_READY are reported apart only where that is certain. */
int an_queried(int status, bool certain);

/* AN(cuStreamQuery(s), "query %d", i) */
#define AN(call, ...) (an_line(__VA_ARGS__), an_status((int)cu.call))

/* ---- Chance ------------------------------------------------------------------------------------------------------ */

uint64_t an_lot(void);
static inline unsigned an_below(unsigned n) { return (unsigned)((an_lot() >> 33) % n); }
static inline bool an_chance(unsigned percent) { return an_below(100) < percent; }
#define AN_PICK(table) ((table)[an_below(sizeof(table) / sizeof *(table))])

typedef struct an_op { const char *name; void (*call)(void); unsigned weight; } an_op;

static inline void an_draw(const an_op *ops, size_t count)
{
    unsigned sum = 0, at;
    for (size_t i = 0; i < count; i++) sum += ops[i].weight;
    at = an_below(sum);
    for (size_t i = 0; i < count; at -= ops[i].weight, i++)
        if (at < ops[i].weight) {
            ops[i].call();
            return;
        }
}

/* ---- The other thread -------------------------------------------------------------------------------------------- */

/* Calls it in the program's other thread, whose context is the same, and waits for its end. */
void an_elsewhere(void (*call)(void));
/* Whether this is that thread. */
bool an_is_elsewhere(void);

/* ---- A second context -------------------------------------------------------------------------------------------- */

typedef struct an_stranger {
    CUcontext ctx;
    CUstream s;
    CUevent e;
    CUmodule module;
    CUfunction f;
    CUdeviceptr p;
} an_stranger;
/* Its objects; it stays until the process ends. */
const an_stranger *an_other_context(void);

/* ---- What a program works with ----------------------------------------------------------------------------------- */

/* step: *to = *from * 3 + n, by the first thread alone; leap: *from * 5 + n; the others are asked about. */
#define AN_ONE_THREAD \
    "  mov.u32 %i, %ctaid.x; mov.u32 %j, %ctaid.y; or.b32 %i, %i, %j; mov.u32 %j, %ctaid.z; or.b32 %i, %i, %j;\n" \
    "  mov.u32 %j, %tid.x; or.b32 %i, %i, %j; mov.u32 %j, %tid.y; or.b32 %i, %i, %j; " \
    "mov.u32 %j, %tid.z; or.b32 %i, %i, %j;\n" \
    "  setp.ne.u32 %p, %i, 0;\n  @%p ret;\n"

/* name(to, from, n): *to = *from * times + n. */
#define AN_ENTRY(name, times) \
    ".visible .entry " name "(.param .u64 to, .param .u64 from, .param .u32 n)\n" \
    "{\n" \
    "  .reg .b64 %t, %f; .reg .b32 %n, %v, %i, %j; .reg .pred %p;\n" \
    AN_ONE_THREAD \
    "  ld.param.u64 %t, [to];\n" \
    "  ld.param.u64 %f, [from];\n" \
    "  ld.param.u32 %n, [n];\n" \
    "  cvta.to.global.u64 %t, %t;\n" \
    "  cvta.to.global.u64 %f, %f;\n" \
    "  ld.global.u32 %v, [%f];\n" \
    "  mad.lo.u32 %v, %v, " times ", %n;\n" \
    "  st.global.u32 [%t], %v;\n" \
    "  ret;\n" \
    "}\n"

static const char an_ptx[] = ABI_HEAD
    ".extern .shared .align 4 .b8 room[];\n"
    ".visible .global .align 4 .u32 counter = 5;\n"
    ".visible .const .align 8 .b8 fixed[24];\n"
    AN_ENTRY("step", "3")
    AN_ENTRY("leap", "5")
    ".visible .entry nothing()\n"
    "{\n"
    "  ret;\n"
    "}\n"
    ".visible .entry mixed(.param .u8 a, .param .u64 b, .param .u16 c, .param .align 16 .b8 d[20], .param .u32 e)\n"
    ".maxntid 256, 1, 1\n"
    "{\n"
    "  ret;\n"
    "}\n"
    ".visible .entry roomy(.param .u32 n)\n"
    "{\n"
    "  .reg .b32 %n;\n"
    "  .shared .align 4 .b8 own[1024];\n"
    "  ld.param.u32 %n, [n];\n"
    "  st.shared.u32 [own], %n;\n"
    "  st.shared.u32 [room], %n;\n"
    "  ret;\n"
    "}\n";

typedef struct an_tools {
    CUmodule module;
    CUfunction step, leap, nothing;
    CUdeviceptr words;    /* AN_WORDS of them, 0 at first */
    unsigned *host;       /* as many in pinned memory, 0 at first */
} an_tools;

/* For this file: the entry points, the context; and what a program works with, anew. */
static inline void an_attach(an_tools *t)
{
    static const char *const names[] = { "step", "leap", "nothing" };
    CUfunction *const to[] = { &t->step, &t->leap, &t->nothing };
    void *host = NULL;
    if (!cu.cuInit) abi_load();
    if (cu.cuCtxGetCurrent(&abi_ctx) || !abi_ctx) tap_bail("no context");
    if (!t->module) {
        if (cu.cuModuleLoadData(&t->module, an_ptx)) tap_bail("the kernels do not load");
        for (int i = 0; i < 3; i++)
            if (cu.cuModuleGetFunction(to[i], t->module, names[i]) || (cu.cuFuncLoad && cu.cuFuncLoad(*to[i])))
                tap_bail("no kernel %s", names[i]);
        if (cu.cuMemAlloc(&t->words, AN_WORDS * 4) || cu.cuMemHostAlloc(&host, AN_WORDS * 4, 0)) tap_bail("no memory");
        t->host = host;
    }
    memset(t->host, 0, AN_WORDS * 4);
    if (cu.cuMemsetD32(t->words, 0, AN_WORDS) || cu.cuCtxSynchronize()) tap_bail("the words are not cleared");
}

static inline CUdeviceptr an_word(const an_tools *t, unsigned i) { return t->words + 4 * (CUdeviceptr)i; }

static inline CUresult an_step(CUfunction f, CUstream s, CUdeviceptr to, CUdeviceptr from, unsigned n)
{
    void *params[] = { &to, &from, &n };
    return cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, params, NULL);
}

/* The words that are not 0, after everything; the context is idle. */
static inline void an_tell_words(const an_tools *t)
{
    static unsigned v[AN_WORDS];
    an_line("words");
    if (an_status((int)cu.cuMemcpyDtoH(v, t->words, sizeof v))) return;
    for (unsigned i = 0; i < AN_WORDS; i++)
        if (v[i]) an_more(" %u:%x", i, v[i]);
    an_line("pinned words");
    for (unsigned i = 0; i < AN_WORDS; i++)
        if (t->host[i]) an_more(" %u:%x", i, t->host[i]);
}

/* ---- Host functions ---------------------------------------------------------------------------------------------- */

enum { AN_LISTS = 8 };

/* A host function's argument: an_noted() writes the number behind the list.  Good until an_notes_clear(). */
void *an_note(unsigned list, unsigned n);
void an_noted(void *note);
/* Which it is, for a text: its number, or ~0. */
unsigned an_note_number(const void *note);
/* The lists as they are now; `sorted` where two of one list may have no order. */
void an_tell_notes(bool sorted);
void an_notes_clear(void);

/* ---- Graphs as text ---------------------------------------------------------------------------------------------- */

/* What a node is: its type and what its parameters say, with `tools` for the words. */
void an_node_text(const an_tools *tools, CUgraphNode node, char *text, size_t size);
/* Nodes and edges, sorted by their texts, in lines of their own. */
void an_tell_graph(const an_tools *tools, CUgraph g);
/* The same for a few nodes, in the line. */
void an_tell_nodes(const an_tools *tools, const CUgraphNode *nodes, size_t count);

#endif
