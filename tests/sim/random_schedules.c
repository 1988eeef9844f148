/* Random graphs of work under every schedule: streams of all kinds, events, waits for values, executable graphs.  What
 * the driver orders is seen in that order, whatever the schedule; what it does not order is seen both ways round under
 * a random one, and the other way round under the adversarial one.
 *
 * A marker sets its flag in mapped memory: a host function, a kernel, a write of a value.  A host function looks at all
 * flags before it sets its own: so each pair of a host function and another marker tells which of them came first. */
#include "tests/conformance/driver_abi.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    STREAMS = 6,
    LEGACY = 5,
    EVENTS = 3,
    STEPS = 16,
    NODES = 64,
    GRAPH_NODES = 4,
    PROGRAMS = 3,
    ROUNDS_AT_MOST = 20000,
    ROUNDS = 12
};

typedef enum step_kind { MARK_HOST, MARK_KERNEL, MARK_WRITE, RECORD, WAIT, WAIT_FLAG, GRAPH } step_kind;
typedef struct step { step_kind kind; int stream, node, event, flag; } step;
typedef struct looker { int node; uint64_t saw; } looker;

static struct {
    step step[STEPS];
    int steps, nodes, graph;                    /* graph: the first of its nodes, 0: there is none yet */
    uint64_t before[NODES];                     /* nodes that come before each; node 0 is nothing */
    uint64_t markers, hosts;
    looker look[NODES];
    /* of a host function: unordered markers that were seen before it, after it */
    uint64_t first[NODES], second[NODES];
} program;

static struct {
    CUstream s[STREAMS];
    CUevent e[EVENTS];
    CUgraph g;
    CUgraphExec x;
    CUmodule module;
    CUfunction add;
    unsigned *flag;
    CUdeviceptr at;
} device;

typedef struct verdict { int error, pairs, both, wrong, turned; unsigned kinds; char what[120]; } verdict;

/* ---- The program, and what must come before what ----------------------------------------------------------------- */

static uint64_t dice;

static unsigned roll(unsigned sides)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return (unsigned)(dice >> 20) % sides;
}

/* What the next operation of a stream comes behind, by its own order; what an event stands for. */
static struct { uint64_t tail[STREAMS], point[EVENTS]; } model;

static bool is_blocking(int stream) { return stream >= 3; }   /* streams 3 and 4, and the legacy stream */

static uint64_t all_before(int node) { return node ? program.before[node] | UINT64_C(1) << node : 0; }

/* What a new operation of the stream comes behind. */
static uint64_t behind_stream(int stream)
{
    uint64_t b = model.tail[stream];
    for (int i = 3; stream == LEGACY && i < LEGACY; i++) b |= model.tail[i];
    return is_blocking(stream) ? b | model.tail[LEGACY] : b;
}

static int new_node(uint64_t before)
{
    program.before[++program.nodes] = before;
    return program.nodes;
}

static void new_marker(int node, bool host)
{
    program.markers |= UINT64_C(1) << node;
    program.hosts |= host ? UINT64_C(1) << node : 0;
    program.look[node].node = node;
}

/* Two host functions between a kernel and a write: a diamond. */
static void add_graph(step *st)
{
    uint64_t before = behind_stream(st->stream);
    int n[GRAPH_NODES];
    for (int i = 0; i < GRAPH_NODES; i++) {
        if (i == 1) before |= all_before(n[0]);
        n[i] = new_node(i == 3 ? before | all_before(n[1]) | all_before(n[2]) : before);
        new_marker(n[i], i == 1 || i == 2);
    }
    st->node = program.graph = n[0];
    model.tail[st->stream] = all_before(n[3]);
}

static int any_marker(void)
{
    for (int tries = 0; tries < 8; tries++) {
        int n = 1 + (int)roll((unsigned)program.nodes);
        if (program.markers >> n & 1) return n;
    }
    return 0;
}

static void add_step(void)
{
    static const step_kind often[] = { MARK_HOST, MARK_HOST, MARK_HOST, MARK_KERNEL, MARK_WRITE, RECORD,
                                       RECORD,    WAIT,      WAIT,      WAIT,        WAIT_FLAG,  GRAPH };
    step *st = &program.step[program.steps];
    *st = (step){ .kind = often[roll(sizeof often / sizeof *often)],
                   .stream = roll(12) ? (int)roll(LEGACY) : LEGACY, .event = (int)roll(EVENTS) };
    if (st->kind == GRAPH && program.graph) return;
    /* it joins the blocking streams or not, as the event is pending or done */
    if (st->kind == WAIT && st->stream == LEGACY) return;
    if (st->kind == WAIT_FLAG && (!program.nodes || !(st->flag = any_marker()))) return;
    program.steps++;
    if (st->kind == GRAPH) {
        add_graph(st);
        return;
    }
    if (st->kind == WAIT) {
        model.tail[st->stream] |= model.point[st->event];
        return;
    }
    st->node = new_node(behind_stream(st->stream) | (st->kind == WAIT_FLAG ? all_before(st->flag) : 0));
    model.tail[st->stream] = all_before(st->node);
    if (st->kind == RECORD) model.point[st->event] = model.tail[st->stream];
    if (st->kind <= MARK_WRITE) new_marker(st->node, st->kind == MARK_HOST);
}

static void write_program(unsigned seed)
{
    memset(&program, 0, sizeof program);
    memset(&model, 0, sizeof model);
    dice = UINT64_C(0x9e3779b97f4a7c15) * (seed + 1);
    while (program.steps < STEPS && program.nodes < 20) add_step();
}

/* ---- Running it -------------------------------------------------------------------------------------------------- */

static void look_and_mark(void *user)
{
    looker *l = user;
    l->saw = 0;
    for (int i = 1; i <= program.nodes; i++)
        l->saw |= (uint64_t)__atomic_load_n(&device.flag[i], __ATOMIC_ACQUIRE) << i;
    __atomic_store_n(&device.flag[l->node], 1, __ATOMIC_RELEASE);
}

static CUdeviceptr flag_at(int node) { return device.at + 4 * (unsigned)node; }

static bool build_graph(void)
{
    CUgraphNode n[GRAPH_NODES];
    CUdeviceptr at = flag_at(program.graph);
    unsigned one = 1;
    void *params[] = { &at, &one };
    CUDA_KERNEL_NODE_PARAMS_v2 k = { .func = device.add,
                                     .gridDimX = 1,
                                     .gridDimY = 1,
                                     .gridDimZ = 1,
                                     .blockDimX = 1,
                                     .blockDimY = 1,
                                     .blockDimZ = 1,
                                     .kernelParams = params };
    CUstreamBatchMemOpParams w;
    CUDA_BATCH_MEM_OP_NODE_PARAMS b = { .ctx = abi_ctx, .count = 1, .paramArray = &w };
    memset(&w, 0, sizeof w);
    w.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    w.writeValue.address = flag_at(program.graph + 3);
    w.writeValue.value = 1;
    if (cu.cuGraphCreate(&device.g, 0) || cu.cuGraphAddKernelNode(&n[0], device.g, NULL, 0, &k)) return false;
    for (int i = 1; i <= 2; i++) {
        CUDA_HOST_NODE_PARAMS h = { .fn = look_and_mark, .userData = &program.look[program.graph + i] };
        if (cu.cuGraphAddHostNode(&n[i], device.g, &n[0], 1, &h)) return false;
    }
    return !cu.cuGraphAddBatchMemOpNode(&n[3], device.g, &n[1], 2, &b) &&
           !cu.cuGraphInstantiateWithFlags(&device.x, device.g, 0);
}

static CUresult submit(const step *st)
{
    CUstream s = device.s[st->stream];
    switch (st->kind) {
    case MARK_HOST: return cu.cuLaunchHostFunc(s, look_and_mark, &program.look[st->node]);
    case MARK_KERNEL: return abi_launch(device.add, 1, 1, s, flag_at(st->node), 1);
    case MARK_WRITE: return cu.cuStreamWriteValue32(s, flag_at(st->node), 1, 0);
    case RECORD: return cu.cuEventRecord(device.e[st->event], s);
    case WAIT: return cu.cuStreamWaitEvent(s, device.e[st->event], 0);
    case WAIT_FLAG: return cu.cuStreamWaitValue32(s, flag_at(st->flag), 1, CU_STREAM_WAIT_VALUE_EQ);
    case GRAPH: return cu.cuGraphLaunch(device.x, s);
    }
    return CUDA_ERROR_UNKNOWN;
}

/* Each pair of a host function and a marker, as this round saw it. */
static void look_at_round(verdict *v)
{
    for (int h = 1; h <= program.nodes; h++) {
        if (!(program.hosts >> h & 1)) continue;
        for (int m = 1; m <= program.nodes; m++) {
            if (m == h || !(program.markers >> m & 1)) continue;
            bool saw = program.look[h].saw >> m & 1, before = program.before[h] >> m & 1,
                 after = program.before[m] >> h & 1;
            if ((before && !saw) || (after && saw)) {
                const char *how =
                    before ? "was not seen by what comes behind it," : "was seen by what comes before it,";
                if (!v->wrong++) snprintf(v->what, sizeof v->what, "operation %d %s the host function %d", m, how, h);
            }
            if (!before && !after) *(saw ? &program.first[h] : &program.second[h]) |= UINT64_C(1) << m;
        }
    }
}

static void count_pairs(verdict *v)
{
    v->pairs = v->both = v->turned = 0;
    for (int h = 1; h <= program.nodes; h++) {
        uint64_t all = program.first[h] | program.second[h], both = program.first[h] & program.second[h];
        for (int m = 1; m <= program.nodes; m++) {
            v->pairs += (int)(all >> m & 1);
            v->both += (int)(both >> m & 1);
            v->turned += (int)((m < h ? program.second[h] : program.first[h]) >> m & 1);
        }
    }
}

static CUresult run_round(void)
{
    CUresult r = CUDA_SUCCESS;
    memset(device.flag, 0, NODES * sizeof *device.flag);
    for (int i = 0; i < program.steps && !r; i++) r = submit(&program.step[i]);
    return r ? r : cu.cuCtxSynchronize();
}

/* Until each unordered pair was seen both ways, where that is wanted. */
static void run_program(verdict *v, unsigned seed, bool both)
{
    verdict now = { 0 };
    write_program(seed);
    for (int i = 0; i < program.steps; i++) v->kinds |= 1u << program.step[i].kind;
    if (program.graph && !build_graph()) v->error = 1;
    for (int i = 0; i < EVENTS; i++)
        if (cu.cuEventCreate(&device.e[i], CU_EVENT_DISABLE_TIMING)) v->error = 2;
    for (int round = 0; round < (both ? ROUNDS_AT_MOST : ROUNDS) && !v->error; round++) {
        if (run_round()) v->error = 3;
        look_at_round(v);
        count_pairs(&now);
        if (v->wrong || (both && now.both == now.pairs && round > ROUNDS)) break;
    }
    v->pairs += now.pairs;
    v->both += now.both;
    v->turned += now.turned;
    for (int i = 0; i < EVENTS; i++) cu.cuEventDestroy(device.e[i]);
    if (program.graph) {
        cu.cuGraphExecDestroy(device.x);
        cu.cuGraphDestroy(device.g);
    }
}

static void run_all(verdict *v, unsigned seed, bool both)
{
    void *p = NULL;
    abi_load();
    if (cu.cuInit(0) || cu.cuDevicePrimaryCtxRetain(&abi_ctx, 0) || cu.cuCtxSetCurrent(abi_ctx)) {
        v->error = 4;
        return;
    }
    if (cu.cuMemHostAlloc(&p, NODES * sizeof(unsigned), CU_MEMHOSTALLOC_DEVICEMAP) ||
        cu.cuMemHostGetDevicePointer(&device.at, p, 0))
        v->error = 5;
    for (int i = 0; i < LEGACY; i++)
        if (cu.cuStreamCreate(&device.s[i], is_blocking(i) ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING)) v->error = 6;
    device.flag = p;
    if (cu.cuModuleLoadData(&device.module, abi_ptx) || cu.cuModuleGetFunction(&device.add, device.module, "add"))
        v->error = 7;
    for (unsigned i = 0; i < PROGRAMS && !v->error && !v->wrong; i++) run_program(v, seed * PROGRAMS + i, both);
    for (int i = 0; i < LEGACY; i++) cu.cuStreamDestroy(device.s[i]);
    cu.cuModuleUnload(device.module);
    cu.cuMemFreeHost(p);
    cu.cuDevicePrimaryCtxRelease(0);
}

/* ---- Schedules: each in a process of its own, all at once -------------------------------------------------------- */

static const struct { const char *schedule; unsigned seed; bool both, turns; } runs[] = {
    { "eager", 12, false, false },
    { "lazy", 4, false, false },
    { "adversarial", 14, false, true },
    { "adversarial", 3, false, true },
    { "random:3", 3, true, true },
    { "random:4", 4, true, true },
    { "random:12", 12, true, true },
    { "random:14", 14, true, true },
};
enum { RUNS = sizeof runs / sizeof *runs };

static void begin_run(size_t i, int *from, pid_t *child)
{
    int fd[2];
    if (pipe(fd) != 0) tap_bail("no pipe");
    *child = fork();
    if (*child == 0) {
        verdict v = { 0 };
        setenv("CUJIT_SIM_SCHEDULE", runs[i].schedule, 1);
        run_all(&v, runs[i].seed, runs[i].both);
        ssize_t n = write(fd[1], &v, sizeof v);
        _exit(n == sizeof v ? 0 : 1);
    }
    close(fd[1]);
    *from = fd[0];
}

static unsigned end_run(size_t i, int from, pid_t child)
{
    verdict v = { .error = -1 };
    if (child < 0 || read(from, &v, sizeof v) != (ssize_t)sizeof v) v.error = -1;
    close(from);
    if (child > 0) waitpid(child, NULL, 0);
    tap_is_int(v.error, 0, "%s, programs %u: run", runs[i].schedule, runs[i].seed);
    tap_is_int(v.wrong, 0, "%s, programs %u: what is ordered is seen in order", runs[i].schedule, runs[i].seed);
    if (v.wrong) tap_diag("%s", v.what);
    tap_ok(v.pairs > 20, "%s, programs %u: pairs without an order", runs[i].schedule, runs[i].seed);
    if (runs[i].both)
        tap_is_int(v.both, v.pairs, "%s, programs %u: are seen both ways", runs[i].schedule, runs[i].seed);
    if (runs[i].turns)
        tap_ok(v.turned > 0, "%s, programs %u: are seen the other way round", runs[i].schedule, runs[i].seed);
    tap_diag("%s, programs %u: %d pairs, %d both ways, %d the other way round", runs[i].schedule, runs[i].seed, v.pairs,
             v.both, v.turned);
    return runs[i].both ? v.kinds : 0;
}

int main(void)
{
    int from[RUNS];
    pid_t child[RUNS];
    tap_need_device(1);
    tap_plan(0);
    for (size_t i = 0; i < RUNS; i++) begin_run(i, &from[i], &child[i]);
    unsigned kinds = 0;
    for (size_t i = 0; i < RUNS; i++) kinds |= end_run(i, from[i], child[i]);
    tap_is_uint(kinds, (2u << GRAPH) - 1, "the programs have work of every kind");
    return tap_done();
}
