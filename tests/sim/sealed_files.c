/* Memory and events that processes share cannot be cut under a process that maps them, and a handle opens nothing else
 * than such files, whatever it names. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/driver_abi.h"

/* The 64 bytes of a handle (sim/core/sim_ipc_file.c). */
typedef struct label {
    char magic[8];
    uint32_t kind;
    int32_t pid, fd;
    uint32_t entry;
    uint64_t inode, device, at, bytes, check;
} label;

static cji_cu_by_value by_value;

static void seal(label *l)
{
    const unsigned char *p = (const unsigned char *)l;
    l->check = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < offsetof(label, check); i++) l->check = (l->check ^ p[i]) * UINT64_C(0x100000001b3);
}

/* ---- Files of this process --------------------------------------------------------------------------------------- */

static void shared_files_cannot_be_cut(void)
{
    unsigned files = 0, cut = 0, sealed = 0;
    DIR *d = opendir("/proc/self/fd");
    for (struct dirent *e; d && (e = readdir(d));) {
        char name[64] = "";
        int fd = atoi(e->d_name);
        if (readlinkat(dirfd(d), e->d_name, name, sizeof name - 1) < 0 || strncmp(name, "/memfd:cujit-", 13) != 0)
            continue;
        struct stat st;
        files++;
        if (fstat(fd, &st)) tap_bail("no size");
        cut += ftruncate(fd, 0) == 0 || ftruncate(fd, st.st_size - 4096) == 0;
        sealed += fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_GROW) == 0;
    }
    if (d) closedir(d);
    tap_is_uint(files, 2, "a file of memory and one of an event are there");
    tap_is_uint(cut, 0, "none can be cut");
    tap_is_uint(sealed, 0, "and none be closed for writing or growing");
}

/* ---- Files of another process ------------------------------------------------------------------------------------ */

enum { FILE_BYTES = 1 << 16 };

/* An ordinary file, nameless memory with another name, and one that can be cut. */
static int make_file(int which)
{
    char name[] = "/tmp/cujit-sealed-XXXXXX";
    int fd = which == 0 ? mkstemp(name)
                        : memfd_create(which == 1 ? "other" : "cujit-memory", which == 2 ? 0 : MFD_ALLOW_SEALING);
    if (which == 0) unlink(name);
    if (fd < 0 || ftruncate(fd, FILE_BYTES)) tap_bail("no file");
    if (which == 1) fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL);
    uint64_t at = 4096;
    if (pwrite(fd, &at, sizeof at, 0) != (ssize_t)sizeof at) tap_bail("no table");
    return fd;
}

static void handles_open_only_such_files(void)
{
    static const char *const names[] = { "an ordinary file", "nameless memory of another library",
                                         "nameless memory that can be cut" };
    for (int i = 0; i < 3; i++) {
        struct stat st;
        int fd = make_file(i), ends[2];
        char end;
        if (fstat(fd, &st) || pipe(ends)) tap_bail("no file");
        pid_t child = fork();
        if (child == 0) {   /* has the file open until the test closes its end */
            close(ends[1]);
            _exit(read(ends[0], &end, 1) != 0);
        }
        close(ends[0]);
        label l = { .magic = "cujitIPC", .kind = 2, .pid = (int32_t)child, .fd = fd, .inode = st.st_ino,
                    .device = st.st_dev, .at = 4096, .bytes = 4096 };
        CUipcMemHandle memory;
        CUipcEventHandle event;
        CUdeviceptr p = 0;
        CUevent e = NULL;
        seal(&l);
        memcpy(&memory, &l, sizeof memory);
        abi_is(by_value.cuIpcOpenMemHandle(&p, memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), CUDA_ERROR_INVALID_VALUE,
               "%s is not opened as memory", names[i]);
        l.kind = 1;
        l.at = 0;
        l.bytes = FILE_BYTES;
        seal(&l);
        memcpy(&event, &l, sizeof event);
        abi_is(by_value.cuIpcOpenEventHandle(&e, event), CUDA_ERROR_INVALID_HANDLE, "%s is not opened as an event",
               names[i]);
        close(ends[1]);
        waitpid(child, NULL, 0);
        close(fd);
    }
}

int main(void)
{
    CUdeviceptr p;
    CUevent e;
    CUipcMemHandle memory;
    CUipcEventHandle event;
    void *f;
    abi_open();
#define CU(name, export, version, count, list)                                             \
    f = cujit_sim_get_symbol(NULL, #export);                                               \
    memcpy(&by_value.name, &f, sizeof f);
#include "cuda/byvalue.def"
    if (cu.cuMemAlloc(&p, 4096) || cu.cuIpcGetMemHandle(&memory, p) ||
        cu.cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING) || cu.cuIpcGetEventHandle(&event, e))
        tap_bail("no handles");
    shared_files_cannot_be_cut();
    handles_open_only_such_files();
    cu.cuEventDestroy(e);
    cu.cuMemFree(p);
    return abi_close();
}
