/* Traces: each driver call is a line of text, or an element of Chrome's trace format; the environment asks for them
 * too. */
#include <cujit/cujit.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/tap_folder.h"

static const char *folder;
static char *text;
static size_t length;
static const char *self; /* the file of this program */

static const char *in_folder(const char *name)
{
    static char path[2][256];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof *path, "%s/%s", folder, name);
    return path[turn];
}

static const char *slurp(const char *path)
{
    FILE *f = fopen(path, "r");
    free(text);
    text = calloc(1, 1 << 20);
    length = f ? fread(text, 1, (1 << 20) - 1, f) : 0;
    if (f) fclose(f);
    return text;
}

static size_t count_of(const char *what)
{
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, what)); p += strlen(what)) n++;
    return n;
}

/* Adds 3 to 1000 numbers, out and back, in two dimensions and with a cluster's launch call. */
static int work(cj_driver *drv)
{
    enum { N = 1000 };
    cj_ptx *m = cj_ptx_create();
    cj_fn *f = cj_ptx_kernel(m, "more");
    cj_val x = cj_param_ptr(f, "x", CJ_U32), by = cj_param(f, "by", CJ_U32), n = cj_param(f, "n", CJ_U32);
    cj_val i = cj_global_id(f, CJ_X);
    cj_if(f, cj_lt(f, i, n));
        cj_set(f, x, i, cj_add(f, cj_get(f, x, i), by));
    cj_end(f);
    cj_device *dev = cj_device_open(drv, 0, NULL);
    cj_stream *s = cj_stream_create(dev, NULL);
    cj_kernel *k = cj_kernel_load(dev, m, "more", NULL);
    uint32_t *h = cj_host_alloc(dev, N * sizeof *h, NULL), sum = 0;
    cj_dptr d = cj_alloc(s, N * sizeof *h);
    for (uint32_t j = 0; h && j < N; j++) h[j] = j;
    cj_copy_to_device(s, d, h, N * sizeof *h);
    cj_launch(s, k, cj_threads(N, 256), d, 3u, (uint32_t)N);
    cj_copy_to_host(s, h, d, N * sizeof *h);
    cj_status status = cj_stream_sync(s);
    for (uint32_t j = 0; h && j < N; j++) sum += h[j];
    cj_host_free(dev, h);
    cj_free(dev, d);
    cj_kernel_free(k);
    cj_stream_free(s);
    cj_device_close(dev);
    cj_ptx_free(m);
    return status == CJ_OK && sum == N * (N - 1) / 2 + 3 * N;
}

static const char *const seen[] = {
    "cuInit(Flags=0) = CUDA_SUCCESS",
    "cuDevicePrimaryCtxRetain(",
    "cuLinkAddData(",
    "cuModuleGetFunction(",
    "name=\"more\"",
    "cuMemcpyHtoDAsync(",
    "ByteCount=4000",
    "blockDimX=256",
    "  # more(",
    ", 3, 1000)",
    "cuMemcpyDtoHAsync(",
    "cuStreamSynchronize(",
    "attrib=CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,",
    "flags=CU_STREAM_NON_BLOCKING,",
    "Flags=CU_MEMHOSTALLOC_PORTABLE",
    "type=CU_JIT_INPUT_PTX,",
};

static void test_text(cj_driver *under)
{
    const char *path = in_folder("text");
    cj_driver *drv = cj_driver_open_traced(under, path);
    tap_is_int(cj_error_of(drv)->status, CJ_OK, "a trace opens (%s)", cj_error_of(drv)->message);
    tap_ok(work(drv), "the program works as without it");
    const uint64_t calls = cj_interposer_calls(drv);
    cj_driver_close(drv);
    path = in_folder("text");
    slurp(path);
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) tap_has_str(text, seen[i], "the text has %s", seen[i]);
    size_t good = 0, lines = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++) {
        double at, took;
        long tid;
        char name[64];
        good += sscanf(line, "%lf %ld %lf cu%60[A-Za-z0-9_](", &at, &tid, &took, name) == 4 && tid == (long)getpid();
    }
    tap_ok(good == lines, "each line has a time, a thread, a duration and a call: %zu of %zu", good, lines);
    tap_ok(lines == calls, "there is a line for each call: %zu, %u calls", lines, (unsigned)calls);
}

/* Whether the whole is brackets and strings that JSON allows; not a parser of all of it. */
static bool balanced(const char *p)
{
    int depth = 0;
    bool quoted = false;
    for (; *p; p++) {
        if (quoted && *p == '\\') p++;
        else if (*p == '"') quoted = !quoted;
        else if (!quoted && (*p == '{' || *p == '[')) depth++;
        else if (!quoted && (*p == '}' || *p == ']')) depth--;
        if (depth < 0) return false;
    }
    return depth == 0 && !quoted;
}

static void *work_apart(void *drv) { return work(drv) ? drv : NULL; }

static void test_json(cj_driver *under)
{
    pthread_t thread;
    void *fine = NULL;
    cj_driver *drv = cj_driver_open_traced(under, in_folder("calls.json"));
    slurp(in_folder("calls.json"));
    tap_ok(balanced(text) && text[0] == '[', "the file is JSON while the program runs");
    pthread_create(&thread, NULL, work_apart, drv);
    const bool here = work(drv);
    pthread_join(thread, &fine);
    tap_ok(here && fine, "two threads work");
    const uint64_t calls = cj_interposer_calls(drv);
    cj_driver_close(drv);
    slurp(in_folder("calls.json"));
    tap_ok(balanced(text) && text[0] == '[' && !strcmp(text + length - 3, "\n]\n"), "the file is JSON at the end");
    tap_is_uint(count_of("{\"ph\":\"X\",\"cat\":\"driver\",\"name\":\"cu"), calls, "with an element for each call");
    tap_is_uint(count_of("\"result\":\"CUDA_SUCCESS\","), calls - count_of("\"result\":\"CUDA_ERROR_NOT_READY\","),
                "whose result is a name");
    tap_has_str(text, "attrib=CU_DEVICE_ATTRIBUTE_", "as are attributes");
    tap_has_str(text, "\"kernel\":\"more(", "and a launch has its kernel");
    tap_has_str(text, "name=\\\"more\\\"", "quotes are escaped");
}

/* A file that cannot grow any more, at different places in a line, ends with a whole one. */
static void test_full(cj_driver *under)
{
    static const char *const names[] = { "full.json", "full" };
    struct rlimit before, small;
    char line[600];
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    for (int i = 0; i < 6; i++) {
        const char *name = names[i & 1];
        small.rlim_cur = 8000 + 77 * (rlim_t)i;
        cj_driver *drv = cj_driver_open_traced(under, in_folder(name));
        while (cj_log_read(line, sizeof line)) {}
        setrlimit(RLIMIT_FSIZE, &small);
        const bool fine = work(drv);
        setrlimit(RLIMIT_FSIZE, &before);
        tap_ok(fine, "%s of %d bytes: the program works", name, (int)small.rlim_cur);
        cj_driver_close(drv);
        int told = 0;
        while (cj_log_read(line, sizeof line)) told += strstr(line, " ends here: File too large") != NULL;
        tap_is_int(told, 1, "%s: the log says it once", name);
        slurp(in_folder(name));
        const bool ends = length > 7000 && length <= small.rlim_cur && text[length - 1] == '\n';
        tap_ok(ends, "%s: it is cut", name);
        if (!ends) continue;
        text[length - 1] = 0;
        const char *last = strrchr(text, '\n');
        if (i & 1) tap_ok(last && strstr(last, " = CUDA_"), "%s: behind a line", name);
        else tap_ok(balanced(text) && !strcmp(last, "\n]"), "%s: and is JSON", name);
    }
}

static const struct {
    const char *name, *path, *says;
} wrong[] = {
    { "no name", NULL, "needs the name of a file" },
    { "an empty name", "", "needs the name of a file" },
    { "a folder that is not there", "/nonexistent/trace", "/nonexistent/trace cannot be written: No such file" },
    { "a folder", "/", "cannot be written" },
};

static void test_wrong(cj_driver *under)
{
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cj_driver *drv = cj_driver_open_traced(under, wrong[i].path);
        tap_is_int(cj_error_of(drv)->status, CJ_EINVAL, "%s: status", wrong[i].name);
        tap_has_str(cj_error_of(drv)->message, wrong[i].says, "%s: message", wrong[i].name);
        cj_driver_close(drv);
    }
    cj_driver *drv = cj_driver_open_traced(NULL, "x");
    tap_is_int(cj_error_of(drv)->status, CJ_EHANDLE, "a trace over nothing");
    cj_driver_close(drv);
}

static void test_environment(void)
{
    setenv("CUJIT_TRACE", in_folder("environment"), 1);
    cj_driver *drv = cj_driver_open(NULL), *again = cj_driver_open(NULL);
    tap_ok(drv == again, "a driver that the environment traces is opened once");
    tap_ok(cj_driver_raw(drv) && *cj_driver_path(drv), "it has the library and the path of the driver below");
    tap_has_str(cj_driver_why(drv), "CUDA ", "and what was found");
    cj_driver *layer[CJ_INTERPOSERS_MAX];
    int open = 0;
    for (int i = 0; i < CJ_INTERPOSERS_MAX; i++) {
        layer[i] = cj_driver_open_interposed(drv, NULL);
        open += cj_error_of(layer[i])->status == CJ_OK;
    }
    tap_is_int(open, CJ_INTERPOSERS_MAX, "the environment's interposer takes none of the user's");
    tap_ok(work(layer[0]), "work through a user's interposer and the environment's");
    for (int i = 0; i < CJ_INTERPOSERS_MAX; i++) cj_driver_close(layer[i]);
    cj_driver_close(again);
    cj_driver_close(drv);
    const size_t before = (slurp(in_folder("environment")), length);
    tap_has_str(text, "cuLaunchKernel(", "the environment's trace has the calls");
    drv = cj_driver_open(NULL);
    cj_driver_close(drv);
    tap_ok((slurp(in_folder("environment")), length) > before, "a driver that is opened later adds to the file");
    setenv("CUJIT_TRACE", "/nonexistent/trace", 1);
    drv = cj_driver_open(NULL);
    tap_is_int(cj_error_of(drv)->status, CJ_EINVAL, "a trace that cannot be written: the driver does not open");
    tap_has_str(cj_error_of(drv)->message, "/nonexistent/trace", "and the file is named");
    cj_driver_close(drv);
    unsetenv("CUJIT_TRACE");
}

/* The same program with another task: it opens the driver of the environment, as any program that is started, and
 * becomes another program after that `times` times; "1c": half of a line is at the end of its trace then. */
static int started(char **argv)
{
    cj_driver *drv = cj_driver_open(NULL);
    const bool fine = cj_error_of(drv)->status == CJ_OK;
    char times[2] = { (char)(argv[2][0] - 1), 0 };
    cj_driver_close(drv);
    if (argv[2][1] == 'c') {
        FILE *f = fopen(getenv("CUJIT_TRACE"), "a");
        fputs("half of a line", f);
        fclose(f);
    }
    if (fine && argv[2][0] > '0') execl(argv[0], argv[0], "started", times, (char *)NULL);
    return fine ? 0 : 1;
}

static pid_t start_program(const char *times)
{
    const pid_t child = fork();
    if (child) return child;
    execl(self, self, "started", times, (char *)NULL);
    _exit(127);
}

/* A descriptor of the program, as /dev/stdout is: what the program writes there stays, also that of another process. */
static void test_stream(void)
{
    char name[64];
    int status = -1;
    const char *path = in_folder("stream");
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0) tap_bail("no file");
    snprintf(name, sizeof name, "/dev/fd/%d", fd);
    setenv("CUJIT_TRACE", name, 1);
    dprintf(fd, "before\n");
    cj_driver *drv = cj_driver_open(NULL);
    tap_is_int(cj_error_of(drv)->status, CJ_OK, "a trace in a descriptor of the program (%s)",
               cj_error_of(drv)->message);
    dprintf(fd, "between\n");
    cj_driver_close(drv);
    waitpid(start_program("0"), &status, 0);
    tap_is_int(status, 0, "a program that is started traces there too");
    dprintf(fd, "behind\n");
    close(fd);
    slurp(in_folder("stream"));
    tap_ok(!strncmp(text, "before\n", 7), "what the program wrote before is there");
    tap_is_uint(count_of("\nbetween\n"), 1, "and between");
    tap_ok(length > 7 && !strcmp(text + length - 7, "behind\n"), "and behind");
    tap_is_uint(count_of("# process"), 2, "each process names itself");
    tap_is_uint(count_of("cuInit("), 2, "and has its calls there");
    int ends[2];
    char line[600];
    if (pipe(ends)) tap_bail("no pipe");
    close(ends[0]);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[1]);
    setenv("CUJIT_TRACE", name, 1);
    while (cj_log_read(line, sizeof line)) {}
    drv = cj_driver_open(NULL);
    tap_ok(work(drv), "a pipe that nobody reads does not end the program");
    cj_driver_close(drv);
    int told = 0;
    while (cj_log_read(line, sizeof line)) told += strstr(line, " ends here: Broken pipe") != NULL;
    tap_is_int(told, 1, "but the trace, once");
    close(ends[1]);
    snprintf(name, sizeof name, "/dev/fd/%d", 1000000);
    setenv("CUJIT_TRACE", name, 1);
    drv = cj_driver_open(NULL);
    tap_is_int(cj_error_of(drv)->status, CJ_EINVAL, "a descriptor that is not open");
    tap_has_str(cj_error_of(drv)->message, name, "is named");
    cj_driver_close(drv);
    unsetenv("CUJIT_TRACE");
}

static void test_started(void)
{
    char beside[300], before[64];
    const char *path = in_folder("parent");
    int status = -1;
    setenv("CUJIT_TRACE", path, 1);
    cj_driver *drv = cj_driver_open(NULL);
    cj_driver_close(drv);
    snprintf(before, sizeof before, "%.60s", slurp(in_folder("parent")));
    const size_t bytes = length;
    pid_t child = start_program("1");
    waitpid(child, &status, 0);
    tap_is_int(status, 0, "a program that is started traces");
    slurp(in_folder("parent"));
    tap_ok(bytes && length == bytes && !strncmp(text, before, strlen(before)),
           "the trace of a parent that has closed its driver stays as it is");
    snprintf(beside, sizeof beside, "%s.%ld", in_folder("parent"), (long)child);
    tap_has_str(slurp(beside), "cuInit", "that of its child is beside it");
    tap_is_uint(count_of("cuInit("), 2, "... also after the child has become another program");
    setenv("CUJIT_TRACE", in_folder("of%p-%%"), 1);
    drv = cj_driver_open(NULL);
    cj_driver_close(drv);
    snprintf(beside, sizeof beside, "%s/of%ld-%%", folder, (long)getpid());
    tap_has_str(slurp(beside), "cuInit", "%%p is the number of the process");
    unsetenv("CUJIT_TRACE");
}

/* The seconds of the lines never go back; lines of other things than calls have none. */
static bool seconds_go_on(const char *p)
{
    double last = 0, at;
    for (; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
        if (*p == '#') continue;
        if (sscanf(p, "%lf", &at) != 1 || at < last) return false;
        last = at;
    }
    return last > 0;
}

/* A process that becomes another program goes on with its trace; the next process begins it anew. */
static void test_replaced(const char *name, const char *owner)
{
    char path[300], number[64];
    int status = -1;
    size_t calls = 0;
    snprintf(path, sizeof path, "%s", in_folder(name));
    setenv("CUJIT_TRACE", path, 1);
    for (int round = 0; round < 2; round++) {
        const pid_t child = start_program(round ? "0" : "2");
        waitpid(child, &status, 0);
        tap_is_int(status, 0, "%s: a process runs", name);
        slurp(path);
        const bool json = *text == '[';
        snprintf(number, sizeof number, json ? "\"pid\":%ld" : "process %ld,", (long)child);
        tap_is_uint(count_of(owner), round ? 1 : 3, "... each of its programs is named");
        tap_is_uint(count_of("cuInit(Flags=0)"), round ? 1 : 3, "... and has its calls in the trace");
        tap_has_str(text, number, "... with the number of the process");
        tap_has_str(text, strrchr(self, '/') + 1, "... and the file of the program");
        tap_ok(json ? balanced(text) : seconds_go_on(text), "... which is whole, and goes on in time");
        if (round) tap_ok(length < calls, "... and shorter than that of three programs");
        calls = length;
    }
    waitpid(start_program("1c"), &status, 0);
    slurp(path);
    tap_is_uint(count_of(owner), 1, "%s: a trace that ends in half of a line is replaced", name);
    FILE *f = fopen(path, "w");
    fputs(*text == '[' ? "[\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1}\n]\n" : "# process 1, started\n", f);
    fclose(f);
    waitpid(start_program("0"), &status, 0);
    slurp(path);
    tap_is_uint(count_of(owner), 1, "%s: so is one that does not name its process", name);
    unsetenv("CUJIT_TRACE");
}

static int go[2], said[2]; /* pipes: the child begins when the first ends, and reports by the other one */

/* A child that traces. It is forked before this process uses the driver: none of a GPU works in a child otherwise. */
static pid_t fork_child(const char *path)
{
    if (pipe(go) || pipe(said)) tap_bail("no pipe");
    pid_t child = fork();
    if (!child) {
        char none;
        close(go[1]);
        if (read(go[0], &none, 1)) _exit(2);
        cj_driver *under = cj_driver_open(NULL), *drv = cj_driver_open_traced(under, path);
        const bool failed = cj_error_of(drv)->status != CJ_OK;
        cj_driver_close(drv);
        cj_driver_close(under);
        _exit(write(said[1], failed ? "-" : "+", 1) != 1);
    }
    close(go[0]);
    return child;
}

/* A process that traces while the file is in use writes beside it. */
static void test_fork(pid_t child, const char *path)
{
    char beside[300];
    FILE *held = fopen(path, "w");
    fputs("untouched", held);
    fflush(held);
    flock(fileno(held), LOCK_EX);
    close(go[1]);
    char verdict = '-';
    waitpid(child, NULL, 0);
    tap_ok(read(said[0], &verdict, 1) == 1 && verdict == '+', "a child traces");
    fclose(held);
    tap_is_str(slurp(path), "untouched", "a file that another process writes to is left alone");
    snprintf(beside, sizeof beside, "%s.%ld", path, (long)child);
    tap_has_str(slurp(beside), "cuInit", "and the trace is beside it");
}

int main(int argc, char **argv)
{
    char path[256];
    if (argc > 2 && !strcmp(argv[1], "started")) return started(argv);
    self = argv[0];
    folder = tap_folder("trace");
    snprintf(path, sizeof path, "%s", in_folder("forked"));
    const pid_t child = fork_child(path);
    tap_need_device(1);
    tap_plan(0);
    test_fork(child, path);
    cj_driver *under = cj_driver_open(NULL);
    test_text(under);
    test_json(under);
    test_full(under);
    test_wrong(under);
    cj_driver_close(under);
    test_environment();
    test_started();
    test_stream();
    test_replaced("replaced", "# process ");
    test_replaced("replaced.json", "\"name\":\"process_name\"");
    free(text);
    return tap_done();
}
