/* Files of recordings: damaged, cut, of another version, of another architecture; recordings that cannot be written;
 * differences that a replay must report; what the environment asks for. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "driver/interpose/replay_parts.h"
#include "tests/device_parts.h"
#include "tests/driver/record_parts.h"
#include "tests/tap.h"

enum { N = 16 };

/* A program that adds 3 to 16 numbers; false: it did not compute. */
static bool work(cj_driver *drv)
{
    uint32_t h[N] = { 1, 2, 3 };
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_ptx *m = bench_add_module();
    cj_kernel *k = cj_kernel_load(dev, m, "add", NULL);
    cj_dptr d = cj_alloc(s, sizeof h);
    cj_copy_to_device(s, d, h, sizeof h);
    cj_launch(s, k, cj_threads(N, 16), d, (uint32_t)N, 3u);
    cj_copy_to_host(s, h, d, sizeof h);
    const cj_status status = cj_stream_sync(s);
    cj_free(dev, d);
    cj_kernel_free(k);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_ptx_free(m);
    return status == CJ_OK && h[0] == 4 && h[2] == 6 && h[9] == 3;
}

static cj_driver *sim;

static const char *record_work(const char *name)
{
    const char *path = record_path(name);
    cj_driver *drv = cj_driver_open_recorded(sim, path);
    tap_ok(work(drv), "%s: the program works (%s)", name, cj_error_of(drv)->message);
    cj_driver_close(drv);
    return path;
}

/* ---- Damage ------------------------------------------------------------------------------------------------------ */

/* A whole recording in memory is listed from a file with the change. */
static cj_status listed(const record_bytes *file, size_t n)
{
    const char *path = record_path("changed");
    record_write(path, file->p, n);
    record_replay(NULL, path);
    return replayed.status;
}

/* Each byte of a short recording; each `step`-th one of a longer one. */
static void test_damage(const record_bytes *file, size_t step)
{
    size_t wrong = 0, silent = 0, unnamed = 0, padding = 0;
    for (size_t i = 0; i < file->n; i += step) {
        cji_recording r;
        file->p[i] ^= 0x10;
        const cj_status status = cji_recording_read(&r, file->p, file->n);
        file->p[i] ^= 0x10;
        wrong += status != CJ_OK && status != CJ_EINVAL;
        silent += status == CJ_OK;
        unnamed += status == CJ_EINVAL && strncmp(r.why, "it", 2) != 0;
        cji_recording_free(&r);
    }
    /* zeros between records carry nothing */
    for (size_t at = sizeof(cji_rec_head); record_at(file, at); at = record_next(file, at))
        padding += -record_at(file, at)->bytes & 7;
    tap_is_int((int64_t)wrong, 0, "a damaged byte is CJ_EINVAL");
    tap_ok(step == 1 ? silent == padding : silent <= padding,
           "a damaged byte is noticed unless it pads: %zu are not of %zu", silent, padding);
    tap_is_int((int64_t)unnamed, 0, "the message has the damage");
    file->p[file->n / 2] ^= 1;
    tap_is_int(listed(file, file->n), CJ_EINVAL, "a damaged file is an error");
    tap_has_str(replayed.message, "/changed: it is damaged ", "the message names the file");
    file->p[file->n / 2] ^= 1;
}

static void test_cuts(const record_bytes *file, size_t step)
{
    size_t failed = 0, fewer = 0, whole = 0, before = 0;
    for (size_t n = sizeof(cji_rec_head); n < file->n; n += step) {
        cji_recording r;
        failed += cji_recording_read(&r, file->p, n) != CJ_OK;
        fewer += r.items < before;
        before = r.items;
        whole += r.ended;
        cji_recording_free(&r);
    }
    tap_is_int((int64_t)failed, 0, "a recording that ends anywhere can be read");
    tap_is_int((int64_t)fewer, 0, "as far as it goes");
    tap_is_int((int64_t)whole, 0, "it has no end");
    listed(file, file->n - 1);
    tap_has_str(replayed.text, "the last record is cut", "that it is cut is said");
    listed(file, record_find(file, sizeof(cji_rec_head), CJI_REC_END));
    tap_has_str(replayed.text, "the recording has no end", "that it has no end is said");
    tap_is_int(replayed.x.complete, 0, "and is in the result");
    tap_is_int(listed(file, 10), CJ_EINVAL, "a file of 10 bytes is no recording");
    tap_has_str(replayed.message, "it is no recording of cujit", "that is said");
}

static void test_short(void)
{
    cj_driver *drv = cj_driver_open_recorded(sim, record_path("short"));
    cj_driver_close(drv);
    record_bytes file = record_read(record_path("short"));
    tap_ok(file.n > 200 && file.n < 4096, "a short recording has %zu bytes", file.n);
    test_cuts(&file, 1);
    test_damage(&file, 1);
    free(file.p);
}

/* A header that is whole and says something else. */
static void test_heads(record_bytes *file)
{
    cji_rec_head head, kept;
    memcpy(&kept, file->p, sizeof kept);
    static const struct { const char *name; uint32_t version, order; const char *says; } heads[] = {
        { "another version", CJI_REC_VERSION + 1, CJI_REC_ORDER, "it has version 2, and this cujit reads version 1" },
        { "another byte order", CJI_REC_VERSION, 0x04030201, "it was recorded on a machine of another byte order" },
    };
    for (size_t i = 0; i < 2; i++) {
        head = kept;
        head.version = heads[i].version, head.order = heads[i].order;
        head.check = cji_hash(&head, offsetof(cji_rec_head, check));
        memcpy(file->p, &head, sizeof head);
        tap_is_int(listed(file, file->n), CJ_EINVAL, "%s is an error", heads[i].name);
        tap_has_str(replayed.message, heads[i].says, "%s: the message", heads[i].name);
    }
    memcpy(file->p, &kept, sizeof kept);
}

/* Records whose hashes are right and whose insides are not. */
static void test_insides(record_bytes *file)
{
    static const struct {
        const char *name;
        cji_rec_type type;
        size_t at;
        uint64_t value;
        unsigned bytes;
    } insides[] = {
        { "an unknown type of record", CJI_REC_DATA, offsetof(cji_rec_record, type), 77, 4 },
        { "more arguments than there are", CJI_REC_CALL, sizeof(cji_rec_record) + offsetof(cji_rec_call, args), 12, 2 },
        { "more arguments than a call has", CJI_REC_CALL, sizeof(cji_rec_record) + offsetof(cji_rec_call, args), 60000,
          2 },
        { "an unknown kind of call", CJI_REC_CALL, sizeof(cji_rec_record) + offsetof(cji_rec_call, what), 9, 2 },
        { "an unknown kind of argument", CJI_REC_CALL, sizeof(cji_rec_record) + sizeof(cji_rec_call), 0xee, 1 },
        { "an argument larger than its record", CJI_REC_CALL,
          sizeof(cji_rec_record) + sizeof(cji_rec_call) + offsetof(cji_rec_arg, bytes), UINT64_MAX - 3, 8 },
    };
    for (size_t i = 0; i < sizeof insides / sizeof *insides; i++) {
        const size_t at = record_find(file, sizeof(cji_rec_head), insides[i].type),
                     n = (size_t)record_at(file, at)->bytes;
        unsigned char *kept = malloc(n + sizeof(cji_rec_record));
        memcpy(kept, file->p + at, n + sizeof(cji_rec_record));
        memcpy(file->p + at + insides[i].at, &insides[i].value, insides[i].bytes);
        record_seal(file, at);
        tap_is_int(listed(file, file->n), CJ_EINVAL, "%s is an error", insides[i].name);
        tap_has_str(replayed.message, "the record at byte ", "%s: the message names the record", insides[i].name);
        memcpy(file->p + at, kept, n + sizeof(cji_rec_record));
        free(kept);
    }
}

/* ---- Wrong uses -------------------------------------------------------------------------------------------------- */

static void test_uses(const char *path)
{
    char nowhere[320];
    snprintf(nowhere, sizeof nowhere, "%s/none", path);
    const struct { const char *name; cj_driver *drv; const char *path; cj_status status; const char *says; } uses[] = {
        { "no name", sim, NULL, CJ_EINVAL, "needs the name of a recording" },
        { "an empty name", sim, "", CJ_EINVAL, "needs the name of a recording" },
        { "no file", sim, nowhere, CJ_EINVAL, "cannot be read: Not a directory" },
        { "a folder", sim, "/tmp", CJ_EINVAL, "cannot be read: Is a directory" },
        { "an empty file", sim, "/dev/null", CJ_EINVAL, "it is no recording of cujit" },
        { "no driver", NULL, path, CJ_EHANDLE, "a driver is needed" },
    };
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        tap_is_int(cj_replay_file(uses[i].drv, uses[i].path, NULL, NULL), uses[i].status, "%s is an error",
                   uses[i].name);
        tap_has_str(cj_error_last()->message, uses[i].says, "%s: the message", uses[i].name);
        if (uses[i].drv)
            tap_has_str(cj_error_of(sim)->message, uses[i].says, "%s: it is left in the driver", uses[i].name);
    }
    cj_replay_result x = { .size = 0 };
    tap_is_int(cj_replay_file(sim, path, NULL, &x), CJ_EINVAL, "a result without a size is an error");
    cj_replay_opts o = { .size = 3 };
    tap_is_int(cj_replay_file(sim, path, &o, NULL), CJ_EINVAL, "options without a size are an error");
    tap_is_int(cj_replay_file((cj_driver *)&x, path, NULL, NULL), CJ_EHANDLE, "a handle of another kind is an error");
    x.size = offsetof(cj_replay_result, repeated);
    x.repeated = 99;
    tap_is_int(cj_replay_file(sim, path, NULL, &x), CJ_OK, "a shorter result is filled");
    tap_ok(x.calls > 20 && x.repeated == 99, "as far as it goes");
    tap_is_int(cj_error_clear(sim), CJ_OK, "the driver can be used on");
    static const char *const wrong[] = { NULL, "", "/nonexistent/folder/file" };
    for (size_t i = 0; i < 3; i++) {
        cj_driver *drv = cj_driver_open_recorded(sim, wrong[i]);
        tap_is_int(cj_error_of(drv)->status, CJ_EINVAL, "a recording of name %s does not open",
                   wrong[i] ? wrong[i] : "NULL");
        cj_driver_close(drv);
    }
}

/* ---- Differences ------------------------------------------------------------------------------------------------- */

/* The first call of that name with `what` REPEAT; SIZE_MAX: none. */
static size_t call_named(const record_bytes *file, const char *name)
{
    uint32_t number = UINT32_MAX;
    for (size_t at = sizeof(cji_rec_head); (at = record_find(file, at, CJI_REC_NAME)) != SIZE_MAX;
         at = record_next(file, at)) {
        const unsigned char *p = file->p + at + sizeof(cji_rec_record);
        if (!strncmp((const char *)p + 4, name, strlen(name)) && p[4 + strlen(name)] == '(') memcpy(&number, p, 4);
    }
    for (size_t at = sizeof(cji_rec_head); (at = record_find(file, at, CJI_REC_CALL)) != SIZE_MAX;
         at = record_next(file, at)) {
        cji_rec_call call;
        memcpy(&call, file->p + at + sizeof(cji_rec_record), sizeof call);
        if (call.name == number && call.what == CJI_REC_REPEAT) return at;
    }
    return SIZE_MAX;
}

/* The DATA with so many bytes that is the last one. */
static size_t data_of(const record_bytes *file, size_t bytes)
{
    size_t found = SIZE_MAX;
    for (size_t at = sizeof(cji_rec_head); (at = record_find(file, at, CJI_REC_DATA)) != SIZE_MAX;
         at = record_next(file, at))
        if (record_at(file, at)->bytes == bytes + 8) found = at;
    return found;
}

static void replay_changed(const record_bytes *file)
{
    const char *path = record_path("changed");
    record_write(path, file->p, file->n);
    record_replay(sim, path);
}

static void test_differences(record_bytes *file)
{
    const size_t data = data_of(file, N * 4), launch = call_named(file, "cuLaunchKernel");
    const size_t result = launch + sizeof(cji_rec_record) + offsetof(cji_rec_call, result);
    const size_t what = launch + sizeof(cji_rec_record) + offsetof(cji_rec_call, what);
    if (data == SIZE_MAX || launch == SIZE_MAX) tap_bail("the recording has no copy or no launch");
    replay_changed(file);
    tap_ok(!replayed.status && !replayed.x.different && !replayed.x.results,
           "the recording as it is repeats without a difference");
    file->p[data + sizeof(cji_rec_record) + 8 + 5] ^= 1;
    record_seal(file, data);
    replay_changed(file);
    tap_is_int((int64_t)replayed.x.different, 1, "a byte that was another one is a difference");
    tap_has_str(replayed.text, "cuMemcpyDtoHAsync: byte 5 of 64 is 0x00, and was 0x01", "it is a line");
    file->p[data + sizeof(cji_rec_record) + 8 + 5] ^= 1;
    record_seal(file, data);

    file->p[result] = 1;
    record_seal(file, launch);
    replay_changed(file);
    tap_is_int((int64_t)replayed.x.results, 1, "another result is a difference");
    tap_has_str(replayed.text, "cuLaunchKernel: CUDA_SUCCESS (0), and was CUDA_ERROR_INVALID_VALUE (1)",
                "it is a line");
    file->p[result] = 0;

    file->p[what] = CJI_REC_QUERY;
    record_seal(file, launch);
    replay_changed(file);
    tap_is_int((int64_t)replayed.x.different, 1, "a kernel that is not launched makes a difference");
    file->p[what] = CJI_REC_REPEAT;
    record_seal(file, launch);

    const size_t alloc = call_named(file, "cuMemcpyHtoDAsync"),
                 arg = alloc + sizeof(cji_rec_record) + sizeof(cji_rec_call);
    uint64_t address, other = 0x7000;
    memcpy(&address, file->p + arg + offsetof(cji_rec_arg, value), 8);
    memcpy(file->p + arg + offsetof(cji_rec_arg, value), &other, 8);
    record_seal(file, alloc);
    replay_changed(file);
    tap_is_int((int64_t)replayed.x.impossible, 1, "a call with an address that nothing made is not repeated");
    tap_has_str(replayed.text, "its address 0x7000 is of no call before it", "the line names it");
    memcpy(file->p + arg + offsetof(cji_rec_arg, value), &address, 8);
    record_seal(file, alloc);
}

/* The image of the program's link as one that comes from elsewhere. */
static void test_foreign(record_bytes *file)
{
    const size_t load = call_named(file, "cuModuleLoadData");
    size_t arg = load + sizeof(cji_rec_record) + sizeof(cji_rec_call);
    cji_rec_arg a;
    for (;; arg += sizeof a + ((a.bytes + 7) & ~(size_t)7)) {
        memcpy(&a, file->p + arg, sizeof a);
        if (a.kind == CJI_REC_IMAGE) break;
    }
    tap_is_int(a.about, CJI_REC_LINKED, "the program loads what its link has made");
    a.about = CJI_REC_FOREIGN;
    memcpy(file->p + arg, &a, sizeof a);
    record_seal(file, load);
    replay_changed(file);
    tap_is_int((int64_t)replayed.x.foreign, 1, "machine code is counted");
    tap_has_str(replayed.text, "machine code needs a device of the architecture", "it is said first");
    tap_is_int(replayed.status, CJ_OK, "a device of its architecture repeats the recording");
    const size_t start = record_find(file, sizeof(cji_rec_head), CJI_REC_START);
    unsigned char *sm =
        memmem(file->p + start, (size_t)record_at(file, start)->bytes + sizeof(cji_rec_record), "sm_", 3);
    memcpy(sm + 3, "75", 2);
    record_seal(file, start);
    replay_changed(file);
    tap_is_int(replayed.status, CJ_ENOTSUP, "another one does not");
    tap_has_str(replayed.message,
                "machine code for sm_75, and device 0 is sm_90: replay it on a device of that architecture",
                "the message names both");
    tap_is_int((int64_t)replayed.x.repeated, 0, "nothing was repeated");
}

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

static void test_list(const char *path)
{
    static const char *const lines[] = {
        "recorded by cujit ",
        "driver sim of CUDA 13.",
        "device 0 sm_90 ",
        " on 1 thread, 1 text of PTX, 0 images of machine code",
        "cuInit(Flags=0) = CUDA_SUCCESS",
        "cuLinkAddData(state=0x",
        "name=\"cujit\"",
        "cuModuleLoadData(module={-> 0x",
        "image=what link 1 made",
        "ByteCount=64",
        "gridDimX=1,",
        "kernelParams={0x",
        ", 16, 3}, extra=0) = CUDA_SUCCESS",
        "dstHost=64 bytes of the host",
    };
    record_replay(NULL, path);
    tap_is_int(replayed.status, CJ_OK, "a recording is listed without a driver");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        tap_has_str(replayed.text, lines[i], "the list has %s", lines[i]);
    tap_is_int((int64_t)replayed.x.repeated, 0, "nothing is repeated");
}

/* ---- Recordings that cannot be written --------------------------------------------------------------------------- */

static int told(const char *what)
{
    char line[600];
    int n = 0;
    while (cj_log_read(line, sizeof line)) n += strstr(line, what) != NULL;
    return n;
}

/* The disk is full at each size: the program works, the recording ends with a whole record. */
static void test_full(size_t whole)
{
    const char *path = record_path("full");
    struct rlimit was, limit;
    getrlimit(RLIMIT_FSIZE, &was);
    size_t works = 0, said = 0, fine = 0, tries = 0;
    for (size_t n = 32; n < whole / 2; n += whole / 18, tries++) {
        told("");
        limit = was;
        limit.rlim_cur = n;
        setrlimit(RLIMIT_FSIZE, &limit);
        cj_driver *drv = cj_driver_open_recorded(sim, path);
        works += work(drv);
        cj_driver_close(drv);
        setrlimit(RLIMIT_FSIZE, &was);
        said += told("is not complete, it ends after ") == 1;
        record_replay(NULL, path);
        fine += replayed.status == CJ_OK && !replayed.x.complete && !strstr(replayed.text, "the last record is cut");
    }
    tap_is_int((int64_t)works, (int64_t)tries, "a program works on when the disk is full");
    tap_is_int((int64_t)said, (int64_t)tries, "the log says so once");
    tap_is_int((int64_t)fine, (int64_t)tries, "the file ends with a whole record");
    limit = was;
    limit.rlim_cur = 8;
    setrlimit(RLIMIT_FSIZE, &limit);
    cj_driver *drv = cj_driver_open_recorded(sim, path);
    setrlimit(RLIMIT_FSIZE, &was);
    tap_is_int(cj_error_of(drv)->status, CJ_EINVAL, "without room for the header it does not open");
    cj_driver_close(drv);
}

/* ---- The environment --------------------------------------------------------------------------------------------- */

static void test_environment(void)
{
    struct stat st;
    const char *path = record_path("environment");
    char second[320];
    snprintf(second, sizeof second, "%s.2", path);
    setenv("CUJIT_RECORD", path, 1);
    cj_driver *a = cj_driver_open("sim");
    tap_ok(work(a), "a program with CUJIT_RECORD works");
    const pid_t child = fork();
    if (!child) {
        cj_driver_close(a);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    cj_driver_close(a);
    cj_driver *b = cj_driver_open("sim");
    cj_driver_close(b);
    unsetenv("CUJIT_RECORD");
    b = cj_driver_open("sim");
    record_replay(b, path);
    cj_driver_close(b);
    tap_ok(replayed.status == CJ_OK && replayed.x.calls > 20 && replayed.x.complete && !replayed.x.different &&
               replayed.x.compared,
           "its recording is repeated");
    if (replayed.status) tap_diag("%s", replayed.message);
    tap_is_int(stat(second, &st), 0, "a driver that is opened next has a recording of its own");
    record_replay(NULL, second);
    tap_ok(replayed.status == CJ_OK && replayed.x.calls && replayed.x.calls < 20, "which is of that driver");
    setenv("CUJIT_RECORD", "/nonexistent/folder/file", 1);
    b = cj_driver_open("sim");
    tap_is_int(cj_error_of(b)->status, CJ_EINVAL, "a driver does not open when its recording cannot be written");
    tap_has_str(cj_error_of(b)->message, "the recording /nonexistent/folder/file cannot be written: No such file",
                "the message");
    cj_driver_close(b);
    unsetenv("CUJIT_RECORD");
}

/* ---- Memory that is written while it is recorded ----------------------------------------------------------------- */

enum { LARGE = 1 << 18 }; /* more than a pipe holds */

typedef struct pipe_reader {
    const char *path;
    unsigned char *h;   /* the program's memory, LARGE bytes of 0x5a */
    record_bytes file;  /* what came out of the pipe */
    bool changed;
} pipe_reader;

/* Changes the end of the memory when its beginning has come out of the pipe. */
static void *read_pipe(void *arg)
{
    pipe_reader *r = arg;
    static unsigned char some[4096], mark[64];
    FILE *f = fopen(r->path, "r");
    memset(mark, 0x5a, sizeof mark);
    for (size_t n; f && (n = fread(some, 1, sizeof some, f)) > 0;) {
        r->file.p = realloc(r->file.p, r->file.n + n);
        memcpy(r->file.p + r->file.n, some, n);
        r->file.n += n;
        for (size_t i = 0; !r->changed && i + sizeof mark <= n; i += sizeof mark)
            if (!memcmp(some + i, mark, sizeof mark)) r->h[LARGE - 1] = 1, r->changed = true;
    }
    if (f) fclose(f);
    return NULL;
}

/* A graph reads the memory; the recording is a pipe, so that the record is half written when the memory changes. */
static void test_changes(void)
{
    pipe_reader r = { .path = record_path("pipe"), .h = malloc(LARGE) };
    pthread_t thread;
    memset(r.h, 0x5a, LARGE);
    if (mkfifo(r.path, 0600)) tap_bail("no pipe");
    pthread_create(&thread, NULL, read_pipe, &r);
    cj_driver *drv = cj_driver_open_recorded(sim, r.path);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_dptr d = cj_alloc(s, LARGE);
    cj_graph *g = cj_graph_create(dev);
    cj_graph_copy_to_device(g, NULL, d, r.h, LARGE);
    cj_graph_exec *x = cj_graph_instantiate(g, NULL);
    cj_graph_launch(s, x);
    tap_is_int(cj_stream_sync(s), CJ_OK, "a program whose recording is a pipe works (%s)", cj_error_of(x)->message);
    cj_graph_exec_free(x);
    cj_graph_free(g);
    cj_free(dev, d);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_driver_close(drv);
    pthread_join(thread, NULL);
    tap_ok(r.changed && r.file.n > LARGE, "the memory has changed while it was written");
    tap_is_int(listed(&r.file, r.file.n), CJ_OK, "the recording is whole (%s)", replayed.message);
    free(r.file.p);
    free(r.h);
}

/* With a warm kernel cache the PTX is in the recording all the same. */
static void test_cache(void)
{
    setenv("CUJIT_CACHE", "1", 1);
    setenv("CUJIT_CACHE_DIR", record_path("cache"), 1);
    work(sim);
    record_replay(NULL, record_work("warm"));
    tap_is_int((int64_t)replayed.x.ptx, 1, "what is in the kernel cache is compiled for a recording");
    tap_is_int((int64_t)replayed.x.foreign, 0, "no image comes from elsewhere");
    setenv("CUJIT_CACHE", "0", 1);
    cj_disk_cache *c = cj_disk_cache_open(NULL);
    cj_disk_cache_clear(c);
    cj_disk_cache_close(c);
    unsetenv("CUJIT_CACHE_DIR");
    rmdir(record_path("cache"));
}

int main(void)
{
    tap_plan(0);
    test_environment();
    sim = cj_driver_open("sim");
    const char *path = record_work("whole");
    record_bytes file = record_read(path);
    tap_ok(file.n > 1000 && file.n < 65536, "the recording has %zu bytes", file.n);
    test_list(path);
    test_heads(&file);
    test_insides(&file);
    test_uses(record_path("whole"));
    test_differences(&file);
    test_cuts(&file, 61);
    test_damage(&file, 127);
    test_short();
    test_foreign(&file);
    test_full(file.n);
    test_changes();
    test_cache();
    free(file.p);
    cj_driver_close(sim);
    return tap_done();
}
