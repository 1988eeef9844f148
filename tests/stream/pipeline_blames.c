/* Which chunk the failure of a device is assigned to: from what the device describes of it, and from the launches that
 * it has counted. */
#include <string.h>

#include <cujit/sim.h>

#include "stream/pipeline/stream_pipeline.h"
#include "tests/tap.h"

enum { SLOTS = 4, BUFFER = 0x100 };

/* -- Two rings of one device, and one of another ------------------------------------------------------------------- */

static cj_driver drv;
static cj_device device[2];
static cj_stream streams[3][3]; /* of a lane: compute, up, down */
static cj_stream elsewhere;
static cji_lane lanes[3];
static uint32_t computed[3];
static cj_pipeline pipeline;

static struct { bool known; cujit_sim_fault_info info; } fault;

static int told(void *context, cujit_sim_fault_info *info)
{
    if (!fault.known || context != device[0].ctx) return 0;
    *info = fault.info;
    return 1;
}

static void *raw_of(int lane, int stream) { return lane < 0 ? elsewhere.raw : streams[lane][stream].raw; }

/* Lane l has chunks l, l + 3, l + 6, l + 9: in order drained or running, running, launching, filled. */
static void setup(void)
{
    static const cji_ring_state states[SLOTS] = { CJI_RING_RUNNING, CJI_RING_RUNNING, CJI_RING_LAUNCHING,
                                                  CJI_RING_FILLED };
    static char handle[16];
    int next = 0;
    memset(&pipeline, 0, sizeof pipeline);
    drv.fault = told;
    elsewhere.raw = (CUstream)(void *)&handle[next++];
    pipeline.lanes = 3;
    pipeline.o.chunk = pipeline.o.out_chunk = BUFFER;
    for (unsigned l = 0; l < 3; l++) {
        cji_lane *lane = pipeline.lane[l] = &lanes[l];
        memset(lane, 0, sizeof *lane);
        lane->dev = &device[l == 2];
        lane->dev->drv = &drv;
        lane->dev->ctx = (CUcontext)(void *)&device[l == 2];
        lane->compute = &streams[l][0], lane->up = &streams[l][1], lane->down = &streams[l][2];
        for (int i = 0; i < 3; i++) streams[l][i].raw = (CUstream)(void *)&handle[next++];
        lane->slots = SLOTS;
        lane->computed = &computed[l];
        computed[l] = 1;
        for (unsigned i = 0; i < SLOTS; i++) {
            cji_ring_slot *slot = &lane->slot[i];
            slot->state = states[i];
            slot->chunk.index = l + 3 * i;
            slot->serial = i;
            slot->begun_launch = states[i] != CJI_RING_FILLED;
            slot->in.addr = 0x10000 * (l + 1) + 0x1000 * i;
            slot->out.addr = slot->in.addr + 0x800;
        }
    }
}

/* -- Faults that the device describes ------------------------------------------------------------------------------ */

#define KERNEL CUJIT_SIM_FAULT_ADDRESS
#define WORK CUJIT_SIM_FAULT_WORK
#define U CJ_PIPELINE_UPLOAD
#define C CJ_PIPELINE_COMPUTE
#define D CJ_PIPELINE_DOWNLOAD

static const struct {
    const char *name;
    cujit_sim_fault_kind kind;
    int lane, stream;      /* of the fault; lane -1: another stream */
    uint32_t count;        /* launches of that lane that are counted */
    uint64_t address;      /* 0: none */
    uint64_t first, last;
    cj_pipeline_stage stage;
    int how;
} cases[] = {
    { "a kernel: the first launch that is not counted", KERNEL, 0, 0, 1, 0, 3, 3, C, CJI_BLAME_CHUNKS },
    { "of the other ring of the device", KERNEL, 1, 0, 1, 0, 4, 4, C, CJI_BLAME_CHUNKS },
    { "none is counted", KERNEL, 0, 0, 0, 0, 0, 0, C, CJI_BLAME_CHUNKS },
    { "a launch that is not reported yet", KERNEL, 1, 0, 2, 0, 7, 7, C, CJI_BLAME_CHUNKS },
    { "whatever the address is", KERNEL, 1, 0, 2, 0x10010, 7, 7, C, CJI_BLAME_CHUNKS },
    { "a kernel on another stream, in an input", KERNEL, -1, 0, 1, 0x110ff, 3, 3, C, CJI_BLAME_CHUNKS },
    { "in an output of the other ring", KERNEL, -1, 0, 1, 0x22800, 7, 7, C, CJI_BLAME_CHUNKS },
    { "behind an output", KERNEL, -1, 0, 1, 0x22900, 0, 10, C, CJI_BLAME_DEVICE },
    { "before an input", KERNEL, -1, 0, 1, 0x21fff, 0, 10, C, CJI_BLAME_DEVICE },
    { "in memory of the other device", KERNEL, -1, 0, 1, 0x32000, 0, 10, C, CJI_BLAME_DEVICE },
    { "an upload: of one whose kernels have not completed", WORK, 0, 1, 1, 0, 3, 9, U, CJI_BLAME_CHUNKS },
    { "a download: of one whose kernels have", WORK, 1, 2, 2, 0, 1, 4, D, CJI_BLAME_CHUNKS },
    { "the only one", WORK, 1, 2, 1, 0, 1, 1, D, CJI_BLAME_CHUNKS },
    { "work on another stream", WORK, -1, 0, 1, 0, 0, 10, C, CJI_BLAME_DEVICE },
};

static void described(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cji_blame b;
        setup();
        fault.known = true;
        fault.info = (cujit_sim_fault_info){ .kind = cases[i].kind, .address = cases[i].address,
                                             .bytes = cases[i].address ? 4 : 0,
                                             .stream = raw_of(cases[i].lane, cases[i].stream) };
        if (cases[i].lane >= 0) computed[cases[i].lane] = cases[i].count;
        cji_pipeline_blame(&pipeline, &lanes[0], &b);
        tap_is_uint(b.first, cases[i].first, "%s: from chunk %d", cases[i].name, (int)cases[i].first);
        tap_is_uint(b.last, cases[i].last, "... to chunk %d", (int)cases[i].last);
        tap_is_int((int)b.how, cases[i].how, "... as it is known");
        if (cases[i].how == CJI_BLAME_CHUNKS) tap_is_int(b.stage, cases[i].stage, "... in its stage");
    }
}

/* -- Without a description ----------------------------------------------------------------------------------------- */

static void first_is(const char *name, uint64_t first, cj_pipeline_stage stage)
{
    cji_blame b;
    cji_pipeline_blame(&pipeline, &lanes[0], &b);
    tap_is_uint(b.first, first, "%s: chunk %d", name, (int)first);
    tap_is_int((int)b.how, CJI_BLAME_FIRST, "... is the first that is not known to be complete");
    tap_is_int(b.stage, stage, "... in stage %d", (int)stage);
}

static void undescribed(void)
{
    fault.known = false;
    setup();
    computed[1] = 0;
    first_is("kernels that are not counted", 1, C);
    setup();
    computed[1] = 2;
    first_is("... come before downloads", 3, C);
    drv.fault = NULL;
    first_is("a driver without descriptions", 3, C);
    setup();
    lanes[0].computed = lanes[1].computed = NULL;
    first_is("a driver that cannot count", 0, C);
    setup();
    for (unsigned i = 1; i < SLOTS; i++) lanes[0].slot[i].state = lanes[1].slot[i].state = CJI_RING_FREE;
    first_is("all kernels have completed", 0, D);
    setup();
    for (unsigned i = 0; i < SLOTS; i++) lanes[0].slot[i].state = lanes[1].slot[i].state = CJI_RING_FREE;
    lanes[1].slot[2].state = CJI_RING_FILLING, lanes[1].slot[2].begun_launch = false;
    first_is("only a fill", 7, U);
    lanes[1].slot[2].state = CJI_RING_FREE;
    pipeline.next_drain = 12;
    first_is("nothing is under way", 12, C);
    setup();
    computed[0] = computed[1] = UINT32_MAX;
    for (unsigned i = 0; i < SLOTS; i++) lanes[0].slot[i].serial = lanes[1].slot[i].serial = UINT32_MAX - 1 + i;
    first_is("the count begins again", 3, C);
}

int main(void)
{
    tap_plan(0);
    described();
    undescribed();
    return tap_done();
}
