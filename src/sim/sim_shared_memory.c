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
#include "sim/sim_shared.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SD_PARTS = 16384, SD_WORDS = 1 << 20 };   /* mappings: a process may have 65530 */
#define SD_WORDS_BYTES ((uint64_t)SD_WORDS * sizeof(uint64_t))

static unsigned sd_parts;   /* mapped */

/* ---- Mapping ----------------------------------------------------------------------------------------------------- */

static unsigned char *sd_part_host(const sd_range *r) { return r->dev->host + (r->lo - r->dev->lo); }

static bool sd_part_file(sd_device *dev)
{
    if (dev->has_file) return true;
    dev->file = cji_sd_file_make("cujit-memory", SD_WORDS_BYTES);
    if (dev->file < 0) return false;
    dev->has_file = true;
    dev->file_pid = (int)getpid();
    dev->file_end = SD_WORDS_BYTES;
    dev->file_words = 0;
    return true;
}

static bool sd_part_map(const sd_range *r, int fd, uint64_t at)
{
    return sd_parts < SD_PARTS && mmap(sd_part_host(r), r->room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (off_t)at) != MAP_FAILED;
}

bool cji_sd_part_begin(sd_range *r, int fd, const sd_part *part)
{
    sd_device *dev = r->dev;
    if (fd >= 0) {
        if (!sd_part_map(r, fd, part->at)) return false;
        r->part = *part;
    } else {
        if (!sd_part_file(dev) || !cji_sd_file_grow(dev->file, dev->file_end + r->room) || !sd_part_map(r, dev->file, dev->file_end)) return false;
        r->part.at = dev->file_end;
        dev->file_end += r->room;
    }
    r->part.mapped = true;
    sd_parts++;
    return true;
}

/* The handle that was given out leads nowhere from now on, and the file loses the bytes. */
static void sd_part_punch(const sd_range *r)
{
    const off_t word = (off_t)(r->part.word * sizeof(uint64_t));
    if (r->part.exported) fallocate(r->dev->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, word, sizeof(uint64_t));
    fallocate(r->dev->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)r->part.at, (off_t)r->room);
}

/* A child of fork() takes nothing from its parent. */
void cji_sd_part_end(sd_range *r)
{
    if (!r->part.opens && r->dev->file_pid == (int)getpid()) sd_part_punch(r);
    mmap(sd_part_host(r), r->room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    r->part = (sd_part){ .mapped = false };
    sd_parts--;
}

void cji_sd_part_close(sd_device *dev)
{
    if (dev->has_file) close(dev->file);
    dev->has_file = false;
}

/* ---- Giving out -------------------------------------------------------------------------------------------------- */

/* What a handle says of the allocation; fd stays -1 where it can have none. */
static void sd_part_export(sd_range *r, void *user)
{
    sd_way *way = user;
    sd_device *dev = r->dev;
    const uint64_t *at = &r->part.at;
    if (!r->part.mapped) return;
    if (!r->part.exported) {
        if (dev->file_words == SD_WORDS || pwrite(dev->file, at, sizeof *at, (off_t)(dev->file_words * sizeof *at)) != (ssize_t)sizeof *at) return;
        r->part.word = dev->file_words++;
        r->part.exported = true;
    }
    *way = (sd_way){ .fd = dev->file, .word = r->part.word, .at = *at, .bytes = r->bytes };
}

/* Only what this process has of cuMemAlloc, by its beginning. */
static bool sd_may_export(CUdeviceptr at)
{
    sd_range r;
    return cji_sd_space_find(at, &r) && r.lo == at && r.place == SD_DEVICE && !r.pool && !r.module && !r.graph && !r.part.opens;
}

CUresult cji_sd_cuIpcGetMemHandle(CUipcMemHandle *out, CUdeviceptr at)
{
    sd_ctx *c;
    sd_way way = { .fd = -1 };
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_ctx(&c);
    if (!r && !sd_may_export(at)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        cji_sd_space_change(at, sd_part_export, &way);
        if (way.fd < 0) r = CUDA_ERROR_NOT_SUPPORTED;
        else if (!cji_sd_handle_fill(out, SD_SHARED_MEMORY, &way)) r = CUDA_ERROR_OPERATING_SYSTEM;
    }
    sd_unlock();
    return r;
}

/* ---- Taking in --------------------------------------------------------------------------------------------------- */

/* Whether the allocation is there still. */
static bool sd_way_leads(const sd_way *way)
{
    uint64_t at = 0;
    return pread(way->fd, &at, sizeof at, (off_t)(way->word * sizeof at)) == (ssize_t)sizeof at && at == way->at;
}

static CUresult sd_memory_open(const CUipcMemHandle *handle, sd_ctx *c, CUdeviceptr *out)
{
    sd_way way;
    uint64_t lo;
    CUresult r = cji_sd_handle_open(handle, SD_SHARED_MEMORY, &way);
    if (r) return r == CUDA_ERROR_INVALID_HANDLE ? CUDA_ERROR_INVALID_VALUE : r;   /* memory that is gone: as an H100 says */
    const sd_part part = { .opens = 1, .inode = way.inode, .device = way.device, .at = way.at };
    if (!sd_way_leads(&way)) r = CUDA_ERROR_INVALID_VALUE;
    else if (cji_sd_space_find_part(c, &part, &lo)) *out = lo;
    else r = cji_sd_space_alloc_part(c->dev, c, way.bytes, way.fd, &part, out);
    close(way.fd);
    return r;
}

CUresult cji_sd_cuIpcOpenMemHandle(CUdeviceptr *out, CUipcMemHandle handle, unsigned flags)
{
    sd_ctx *c;
    if (!out || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) return CUDA_ERROR_INVALID_VALUE;
    sd_lock();
    CUresult r = cji_sd_ctx(&c);
    if (!r) r = cji_sd_unsafe();
    if (!r) r = sd_memory_open(&handle, c, out);
    sd_unlock();
    return r;
}

static void sd_part_shut(sd_range *r, void *user)
{
    bool *last = user;
    *last = r->part.opens == 1;
    if (!*last) r->part.opens--;
}

/* Waits for what is in flight, as cuMemFree does, when it is closed for the last time. */
CUresult cji_sd_cuIpcCloseMemHandle(CUdeviceptr at)
{
    sd_ctx *c;
    sd_range range;
    bool last = false;
    sd_lock();
    CUresult r = cji_sd_ctx_any(&c);
    if (!r) r = cji_sd_unsafe();
    if (!r && (!cji_sd_space_find(at, &range) || range.lo != at || !range.part.opens)) r = c->fault ? c->fault : CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        if (range.part.opens == 1 && range.ctx->alive) cji_sd_wait_ctx(range.ctx);
        cji_sd_space_change(at, sd_part_shut, &last);
        if (last) r = cji_sd_space_drop(at, SD_DEVICE, NULL);
        if (!r) r = c->fault;
    }
    sd_unlock();
    return r;
}
