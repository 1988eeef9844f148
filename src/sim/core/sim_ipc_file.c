/* Files without a name that processes share, and the handles that lead to them. */
#include "sim/core/sim_core.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* The 64 bytes of a handle. */
typedef struct sim_ipc_label {
    char magic[8];
    uint32_t kind;
    int32_t pid, fd;
    uint32_t entry;
    uint64_t inode, device; /* of the file behind the descriptor, which may be another by the time it is opened */
    uint64_t at, bytes;
    uint64_t check;                 /* of the bytes before it */
} sim_ipc_label;
_Static_assert(sizeof(sim_ipc_label) == SIM_IPC_HANDLE_BYTES, "a handle is as long as the driver's");

static const char sim_ipc_label_magic[8] = "cujitIPC";

/* FNV-1a. */
static uint64_t sim_ipc_label_check(const sim_ipc_label *l)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    const unsigned char *p = (const unsigned char *)l;
    for (size_t i = 0; i < offsetof(sim_ipc_label, check); i++) h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h;
}

/* A limit on the size of files would end the process. */
static bool sim_ipc_file_fits(uint64_t bytes)
{
    struct rlimit most;
    return getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur == RLIM_INFINITY || bytes <= (uint64_t)most.rlim_cur;
}

bool cji_sim_ipc_file_grow(int fd, uint64_t bytes)
{
    return sim_ipc_file_fits(bytes) && ftruncate(fd, (off_t)bytes) == 0;
}

/* The other processes map the file and would die of SIGBUS if one of them cut it: no process can. Nor can one add seals
 * that keep its maker from growing or writing it. */
enum { SIM_IPC_SEALS = F_SEAL_SHRINK | F_SEAL_SEAL };
#define SIM_IPC_NAME "cujit-"

int cji_sim_ipc_file_make(const char *name, uint64_t bytes)
{
    char full[64];
    snprintf(full, sizeof full, SIM_IPC_NAME "%s", name);
    int fd = memfd_create(full, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && (!cji_sim_ipc_file_grow(fd, bytes) || fcntl(fd, F_ADD_SEALS, SIM_IPC_SEALS) != 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* A handle names any descriptor of a process that its sender chose. What is opened must be a file that was made above:
 * nameless memory that cannot be cut, not a file that the sender may only read. */
bool cji_sim_ipc_file_is_ours(int fd)
{
    static const char ours[] = "/memfd:" SIM_IPC_NAME;
    char path[64], name[sizeof ours];
    int seals = fcntl(fd, F_GET_SEALS);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return seals >= 0 && (seals & SIM_IPC_SEALS) == SIM_IPC_SEALS &&
           readlink(path, name, sizeof name - 1) == (ssize_t)sizeof name - 1 &&
           memcmp(name, ours, sizeof ours - 1) == 0;
}

bool cji_sim_ipc_handle_fill(void *out, sim_ipc_kind kind, const sim_ipc_way *way)
{
    struct stat st;
    if (fstat(way->fd, &st) != 0) return false;
    sim_ipc_label l = { .kind = (uint32_t)kind,
                        .pid = (int32_t)getpid(),
                        .fd = way->fd,
                        .entry = way->entry,
                        .inode = (uint64_t)st.st_ino,
                        .device = (uint64_t)st.st_dev,
                        .at = way->at,
                        .bytes = way->bytes };
    memcpy(l.magic, sim_ipc_label_magic, sizeof l.magic);
    l.check = sim_ipc_label_check(&l);
    memcpy(out, &l, sizeof l);
    return true;
}

static bool sim_ipc_label_is(const sim_ipc_label *l, const struct stat *st)
{
    return S_ISREG(st->st_mode) && (uint64_t)st->st_ino == l->inode && (uint64_t)st->st_dev == l->device &&
           (uint64_t)st->st_size >= l->at && (uint64_t)st->st_size - l->at >= l->bytes;
}

CUresult cji_sim_ipc_handle_open(const void *handle, sim_ipc_kind kind, sim_ipc_way *way)
{
    sim_ipc_label l;
    struct stat st;
    char path[64];
    memcpy(&l, handle, sizeof l);
    if (memcmp(l.magic, sim_ipc_label_magic, sizeof l.magic) != 0 || l.kind != (uint32_t)kind ||
        l.check != sim_ipc_label_check(&l))
        return CUDA_ERROR_INVALID_VALUE;
    if (l.pid == (int32_t)getpid()) return CUDA_ERROR_INVALID_CONTEXT;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)l.pid, (int)l.fd);
    if (stat(path, &st) != 0 || !sim_ipc_label_is(&l, &st))
        return CUDA_ERROR_INVALID_HANDLE; /* before it is opened: it may be anything by now */
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return CUDA_ERROR_INVALID_HANDLE;
    if (fstat(fd, &st) != 0 || !sim_ipc_label_is(&l, &st) || !cji_sim_ipc_file_is_ours(fd)) {
        close(fd);
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *way = (sim_ipc_way){ .fd = fd, .entry = l.entry, .inode = l.inode, .device = l.device, .at = l.at,
                          .bytes = l.bytes };
    return CUDA_SUCCESS;
}
