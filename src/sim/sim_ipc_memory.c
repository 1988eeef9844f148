/* Memory between processes.
 *
 * What cuMemAlloc gives out lies in a file of its device, which has no name: the bytes of the allocation's addresses are mapped from there, so that another
 * process may map them too.  Places in the file are never used twice; what is freed becomes a hole.  The beginning of the file is a table of words:
 * a handle names one, which holds the allocation's place from the moment at which the handle was given out until the allocation is freed.
 * Where there can be no file, or too many parts of it, allocations are private, and have no handle. */
#include "sim/sim_capture.h"
#include "sim/sim_device.h"
#include "sim/sim_memory.h"
#include "sim/sim_queue.h"
#include "sim/sim_ipc.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIM_IPC_PARTS = 16384, SIM_IPC_WORDS = 1 << 20 };   /* mappings: a process may have 65530 */
#define SIM_IPC_WORDS_BYTES ((uint64_t)SIM_IPC_WORDS * sizeof(uint64_t))

static unsigned sim_ipc_parts;   /* mapped */

/* ---- Mapping ----------------------------------------------------------------------------------------------------- */

static unsigned char *sim_ipc_part_host(const sim_range *r) { return r->dev->host + (r->lo - r->dev->lo); }

static bool sim_ipc_part_file(sim_device *dev)
{
    if (dev->has_file) return true;
    dev->file = cji_sim_ipc_file_make("cujit-memory", SIM_IPC_WORDS_BYTES);
    if (dev->file < 0) return false;
    dev->has_file = true;
    dev->file_pid = (int)getpid();
    dev->file_end = SIM_IPC_WORDS_BYTES;
    dev->file_words = 0;
    return true;
}

static bool sim_ipc_part_map(const sim_range *r, int fd, uint64_t at)
{
    return sim_ipc_parts < SIM_IPC_PARTS && mmap(sim_ipc_part_host(r), r->room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (off_t)at) != MAP_FAILED;
}

bool cji_sim_ipc_part_begin(sim_range *r, int fd, const sim_ipc_part *part)
{
    sim_device *dev = r->dev;
    if (fd >= 0) {
        if (!sim_ipc_part_map(r, fd, part->at)) return false;
        r->part = *part;
    } else {
        if (!sim_ipc_part_file(dev) || !cji_sim_ipc_file_grow(dev->file, dev->file_end + r->room) || !sim_ipc_part_map(r, dev->file, dev->file_end)) return false;
        r->part.at = dev->file_end;
        dev->file_end += r->room;
    }
    r->part.mapped = true;
    sim_ipc_parts++;
    return true;
}

/* The handle that was given out leads nowhere from now on, and the file loses the bytes. */
static void sim_ipc_part_punch(const sim_range *r)
{
    const off_t word = (off_t)(r->part.word * sizeof(uint64_t));
    if (r->part.exported) fallocate(r->dev->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, word, sizeof(uint64_t));
    fallocate(r->dev->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)r->part.at, (off_t)r->room);
}

/* A child of fork() takes nothing from its parent. */
void cji_sim_ipc_part_end(sim_range *r)
{
    if (!r->part.opens && r->dev->file_pid == (int)getpid()) sim_ipc_part_punch(r);
    mmap(sim_ipc_part_host(r), r->room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    r->part = (sim_ipc_part){ .mapped = false };
    sim_ipc_parts--;
}

void cji_sim_ipc_part_close(sim_device *dev)
{
    if (dev->has_file) close(dev->file);
    dev->has_file = false;
}

/* ---- Giving out -------------------------------------------------------------------------------------------------- */

/* What a handle says of the allocation; fd stays -1 where it can have none. */
static void sim_ipc_part_export(sim_range *r, void *user)
{
    sim_ipc_way *way = user;
    sim_device *dev = r->dev;
    const uint64_t *at = &r->part.at;
    if (!r->part.mapped) return;
    if (!r->part.exported) {
        if (dev->file_words == SIM_IPC_WORDS || pwrite(dev->file, at, sizeof *at, (off_t)(dev->file_words * sizeof *at)) != (ssize_t)sizeof *at) return;
        r->part.word = dev->file_words++;
        r->part.exported = true;
    }
    *way = (sim_ipc_way){ .fd = dev->file, .word = r->part.word, .at = *at, .bytes = r->bytes };
}

/* Only what this process has of cuMemAlloc, by its beginning. */
static bool sim_ipc_may_export(CUdeviceptr at)
{
    sim_range r;
    return cji_sim_space_find(at, &r) && r.lo == at && r.place == SIM_DEVICE && !r.pool && !r.module && !r.graph && !r.part.opens;
}

CUresult cji_sim_cuIpcGetMemHandle(CUipcMemHandle *out, CUdeviceptr at)
{
    sim_ctx *c;
    sim_ipc_way way = { .fd = -1 };
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    if (!r && !sim_ipc_may_export(at)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        cji_sim_space_change(at, sim_ipc_part_export, &way);
        if (way.fd < 0) r = CUDA_ERROR_NOT_SUPPORTED;
        else if (!cji_sim_ipc_handle_fill(out, SIM_IPC_MEMORY, &way)) r = CUDA_ERROR_OPERATING_SYSTEM;
    }
    sim_unlock();
    return r;
}

/* ---- Taking in --------------------------------------------------------------------------------------------------- */

/* Whether the allocation is there still. */
static bool sim_ipc_way_leads(const sim_ipc_way *way)
{
    uint64_t at = 0;
    return pread(way->fd, &at, sizeof at, (off_t)(way->word * sizeof at)) == (ssize_t)sizeof at && at == way->at;
}

static CUresult sim_ipc_memory_open(const CUipcMemHandle *handle, sim_ctx *c, CUdeviceptr *out)
{
    sim_ipc_way way;
    uint64_t lo;
    CUresult r = cji_sim_ipc_handle_open(handle, SIM_IPC_MEMORY, &way);
    if (r) return r == CUDA_ERROR_INVALID_HANDLE ? CUDA_ERROR_INVALID_VALUE : r;   /* memory that is gone: as an H100 says */
    const sim_ipc_part part = { .opens = 1, .inode = way.inode, .device = way.device, .at = way.at };
    if (!sim_ipc_way_leads(&way)) r = CUDA_ERROR_INVALID_VALUE;
    else if (cji_sim_space_find_part(c, &part, &lo)) *out = lo;
    else r = cji_sim_space_alloc_part(c->dev, c, way.bytes, way.fd, &part, out);
    close(way.fd);
    return r;
}

CUresult cji_sim_cuIpcOpenMemHandle(CUdeviceptr *out, CUipcMemHandle handle, unsigned flags)
{
    sim_ctx *c;
    if (!out || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    CUresult r = cji_sim_ctx_current(&c);
    if (!r) r = cji_sim_capture_unsafe();
    if (!r) r = sim_ipc_memory_open(&handle, c, out);
    sim_unlock();
    return r;
}

static void sim_ipc_part_shut(sim_range *r, void *user)
{
    bool *last = user;
    *last = r->part.opens == 1;
    if (!*last) r->part.opens--;
}

/* Waits for what is in flight, as cuMemFree does, when it is closed for the last time. */
CUresult cji_sim_cuIpcCloseMemHandle(CUdeviceptr at)
{
    sim_ctx *c;
    sim_range range;
    bool last = false;
    sim_lock();
    CUresult r = cji_sim_ctx_current_any(&c);
    if (!r) r = cji_sim_capture_unsafe();
    if (!r && (!cji_sim_space_find(at, &range) || range.lo != at || !range.part.opens)) r = c->fault ? c->fault : CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        if (range.part.opens == 1 && range.ctx->alive) cji_sim_queue_wait_ctx(range.ctx);
        cji_sim_space_change(at, sim_ipc_part_shut, &last);
        if (last) r = cji_sim_space_drop(at, SIM_DEVICE, NULL);
        if (!r) r = c->fault;
    }
    sim_unlock();
    return r;
}
