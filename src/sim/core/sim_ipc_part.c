/* The parts of files that allocations lie in, so that other processes may map them.
 *
 * What cuMemAlloc returns lies in a file of its device, which has no name: the bytes of the allocation's addresses
 * are mapped from there. Places in the file are never used twice; what is freed is punched out of it. The
 * beginning of the file is a table: a handle names an entry, which holds the allocation's place in the file from the
 * moment at which the handle was made until the allocation is freed. Where there can be no file, or too many parts
 * of it, allocations are private, and have no handle. */
#include "sim/core/sim_core.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIM_IPC_PARTS = 16384, SIM_IPC_ENTRIES = 1 << 20 };   /* mappings: a process may have 65530 */
#define SIM_IPC_ENTRIES_BYTES ((uint64_t)SIM_IPC_ENTRIES * sizeof(uint64_t))

static unsigned sim_ipc_parts;   /* mapped */

static unsigned char *sim_ipc_part_host(const sim_range *r)
{
    return r->place == SIM_DEVICE ? r->dev->host + (r->lo - r->dev->lo) : (unsigned char *)(uintptr_t)r->lo;
}

static bool sim_ipc_part_file(sim_device *dev)
{
    if (dev->has_file) return true;
    dev->file = cji_sim_ipc_file_make("memory", SIM_IPC_ENTRIES_BYTES);
    if (dev->file < 0) return false;
    dev->has_file = true;
    dev->file_pid = (int)getpid();
    dev->file_end = SIM_IPC_ENTRIES_BYTES;
    dev->file_entries = 0;
    return true;
}

static bool sim_ipc_part_map(const sim_range *r, int fd, uint64_t at)
{
    return sim_ipc_parts < SIM_IPC_PARTS && mmap(sim_ipc_part_host(r), r->room, PROT_READ | PROT_WRITE,
                                                 MAP_SHARED | MAP_FIXED, fd, (off_t)at) != MAP_FAILED;
}

bool cji_sim_ipc_part_begin(sim_range *r, int fd, const sim_ipc_part *part)
{
    sim_device *dev = r->dev;
    if (fd >= 0) {
        if (!sim_ipc_part_map(r, fd, part->at)) return false;
        r->part = *part;
    } else {
        if (!sim_ipc_part_file(dev) || !cji_sim_ipc_file_grow(dev->file, dev->file_end + r->room) ||
            !sim_ipc_part_map(r, dev->file, dev->file_end))
            return false;
        r->part.at = dev->file_end;
        dev->file_end += r->room;
    }
    r->part.mapped = true;
    sim_ipc_parts++;
    return true;
}

/* Its handle leads nowhere from now on, and the file loses the bytes. */
static void sim_ipc_part_punch(const sim_range *r)
{
    const off_t entry = (off_t)(r->part.entry * sizeof(uint64_t));
    if (r->part.exported) fallocate(r->dev->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, entry, sizeof(uint64_t));
    fallocate(r->dev->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)r->part.at, (off_t)r->room);
}

/* A child of fork() takes nothing from its parent. */
void cji_sim_ipc_part_end(sim_range *r)
{
    if (!r->part.opens && r->dev->file_pid == (int)getpid()) sim_ipc_part_punch(r);
    if (r->place != SIM_DEVICE) munmap(sim_ipc_part_host(r), r->room);
    else
        mmap(sim_ipc_part_host(r), r->room, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    r->part = (sim_ipc_part){ .mapped = false };
    sim_ipc_parts--;
}

void cji_sim_ipc_part_close(sim_device *dev)
{
    if (dev->has_file) close(dev->file);
    dev->has_file = false;
}

void cji_sim_ipc_part_export(sim_range *r, void *user)
{
    sim_ipc_way *way = user;
    sim_device *dev = r->dev;
    const uint64_t *at = &r->part.at;
    if (!r->part.mapped) return;
    if (!r->part.exported) {
        if (dev->file_entries == SIM_IPC_ENTRIES ||
            pwrite(dev->file, at, sizeof *at, (off_t)(dev->file_entries * sizeof *at)) != (ssize_t)sizeof *at)
            return;
        r->part.entry = dev->file_entries++;
        r->part.exported = true;
        cji_exec_write_begin();   /* without an end: from now on another process may write it at any time */
    }
    *way = (sim_ipc_way){ .fd = dev->file, .entry = r->part.entry, .at = *at, .bytes = r->bytes };
}

bool cji_sim_ipc_part_lives(const sim_ipc_way *way)
{
    uint64_t at = 0;
    return pread(way->fd, &at, sizeof at, (off_t)(way->entry * sizeof at)) == (ssize_t)sizeof at && at == way->at;
}
