/* Files without a name that processes share, and the handles that lead to them. */
#include "sim/simcore.h"
#include "sim/sim_shared.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The 64 bytes of a handle. */
typedef struct sd_way {
    char magic[8];
    uint32_t kind;
    int32_t pid, fd;
    uint32_t unused;
    uint64_t inode;                 /* of the file behind the descriptor, which may be another by the time it is opened */
    uint64_t device;
    uint64_t offset, bytes;
    uint64_t check;                 /* of what stands before it */
} sd_way;
_Static_assert(sizeof(sd_way) == SD_HANDLE_BYTES, "a handle is as long as the driver's");

static const char sd_way_magic[8] = "cujitIPC";

/* FNV-1a. */
static uint64_t sd_way_check(const sd_way *w)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    const unsigned char *p = (const unsigned char *)w;
    for (size_t i = 0; i < offsetof(sd_way, check); i++) h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h;
}

int cji_sd_file_make(const char *name, uint64_t bytes)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, (off_t)bytes) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

bool cji_sd_handle_fill(void *out, sd_shared_kind kind, int fd, uint64_t offset, uint64_t bytes)
{
    struct stat st;
    if (fstat(fd, &st) != 0) return false;
    sd_way w = { .kind = (uint32_t)kind, .pid = (int32_t)getpid(), .fd = fd, .inode = (uint64_t)st.st_ino, .device = (uint64_t)st.st_dev, .offset = offset, .bytes = bytes };
    memcpy(w.magic, sd_way_magic, sizeof w.magic);
    w.check = sd_way_check(&w);
    memcpy(out, &w, sizeof w);
    return true;
}

static bool sd_way_is(const sd_way *w, const struct stat *st)
{
    return S_ISREG(st->st_mode) && (uint64_t)st->st_ino == w->inode && (uint64_t)st->st_dev == w->device && (uint64_t)st->st_size >= w->offset
           && (uint64_t)st->st_size - w->offset >= w->bytes;
}

CUresult cji_sd_handle_open(const void *handle, sd_shared_kind kind, int *fd, uint64_t *offset, uint64_t *bytes)
{
    sd_way w;
    struct stat st;
    char path[64];
    memcpy(&w, handle, sizeof w);
    if (memcmp(w.magic, sd_way_magic, sizeof w.magic) != 0 || w.kind != (uint32_t)kind || w.check != sd_way_check(&w)) return CUDA_ERROR_INVALID_VALUE;
    if (w.pid == (int32_t)getpid()) return CUDA_ERROR_INVALID_CONTEXT;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)w.pid, (int)w.fd);
    if (stat(path, &st) != 0 || !sd_way_is(&w, &st)) return CUDA_ERROR_INVALID_HANDLE;   /* before it is opened: it may be anything by now */
    *fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0) return CUDA_ERROR_INVALID_HANDLE;
    if (fstat(*fd, &st) != 0 || !sd_way_is(&w, &st)) {
        close(*fd);
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *offset = w.offset;
    *bytes = w.bytes;
    return CUDA_SUCCESS;
}
