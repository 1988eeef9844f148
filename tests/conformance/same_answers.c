/* Both devices give the same answers: programs of the driver's calls, drawn from seeds, give the answers that a Hopper
 * gave.
 *
 *     same_answers                    the device of $CUJIT_DRIVER against tests/oracle/hopper_answers.txt (a hash for
 *     each program); on the CPU device
 *                                     also that the answers are the same under every schedule
 *     same_answers --record FILE      writes that file from the device of $CUJIT_DRIVER (a Hopper).  Each program runs
 *     twice; one that ends the
 *                                     process, hangs, or answers differently is left out
 *     same_answers --tell FAMILY/N    the answers of one program as text
 *     same_answers --tell-all         of every program
 *     CUJIT_TEST_ALL=1                every program, not a sample
 *
 * Programs run in a child, one after the other; one that dies or leaves the context unusable takes the child with it,
 * and the next has a new one. */
#include "answers.h"

#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    PROGRAMS = 500 /* of a family */,
    FAMILIES = 5,
    ALL = PROGRAMS * FAMILIES,
    TEXT = 1 << 18,
    SAMPLE = 8 /* of a family, for each schedule */
};

static const an_family families[FAMILIES] = {
    { "streams", an_program_streams }, { "captures", an_program_captures }, { "graphs", an_program_graphs },
    { "memory", an_program_memory },   { "functions", an_program_functions },
};

/* Recorded programs that the CPU device answers otherwise, and why: not compared there. */
static const struct { const char *program, *why; } known[] = {
    { "graphs/85", "which of several differences an update tells of" },
    { "graphs/161", "which of several differences an update tells of" },
    { "graphs/195", "which of several differences an update tells of" },
    { "graphs/214", "which of several differences an update tells of" },
    { "graphs/431", "which of several differences an update tells of" },
    { "graphs/437", "which of several differences an update tells of" },
    { "graphs/473", "which of several differences an update tells of" },
    { "graphs/453", "which of several differences an update tells of" },
    { "functions/42", "a cache configuration bounds the occupancy of a GPU" },
    { "functions/105", "a cache configuration bounds the occupancy of a GPU" },
    { "functions/108", "a cache configuration bounds the occupancy of a GPU" },
    { "functions/130", "a cache configuration bounds the occupancy of a GPU" },
    { "captures/354", "loading a module ended the capture of a non-blocking stream" },
    { "captures/459", "an end into nothing in another thread ended another capture" },
};

enum { PENDING, RUNNING, DONE, DIED };

/* Shared with the child. */
static struct shared {
    struct { uint64_t hash; int state, how; } program[ALL];
    size_t used;
    char text[TEXT];
} *shared;

static uint64_t lot;
static uint64_t recorded[ALL];   /* 0: not recorded */

/* ---- Answers ----------------------------------------------------------------------------------------------------- */

static void append(const char *fmt, va_list args)
{
    int n = vsnprintf(shared->text + shared->used, TEXT - shared->used, fmt, args);
    if (n > 0) shared->used += (size_t)n < TEXT - shared->used ? (size_t)n : TEXT - shared->used - 1;
}

void an_more(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    append(fmt, args);
    va_end(args);
}

void an_line(const char *fmt, ...)
{
    va_list args;
    an_more("%s", an_is_elsewhere() ? "\n  elsewhere: " : "\n  ");
    va_start(args, fmt);
    append(fmt, args);
    va_end(args);
}

int an_status(int status)
{
    an_more(" = %d", status);
    return status;
}

int an_queried(int status, bool certain)
{
    if (certain || (status != CUDA_SUCCESS && status != CUDA_ERROR_NOT_READY)) return an_status(status);
    an_more(" = either");
    return status;
}

static uint64_t hash_of(const char *text, size_t bytes)
{
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < bytes; i++) h = (h ^ (unsigned char)text[i]) * 1099511628211u;
    return h ? h : 1;
}

/* A step of splitmix64. */
uint64_t an_lot(void)
{
    uint64_t z = lot += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* ---- The other thread -------------------------------------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    pthread_t thread;
    void (*call)(void);
    bool started, over;
} other = { .lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER };

static void *elsewhere(void *arg)
{
    (void)arg;
    cu.cuCtxSetCurrent(abi_ctx);
    pthread_mutex_lock(&other.lock);
    for (;;) {
        while (!other.call && !other.over) pthread_cond_wait(&other.cond, &other.lock);
        if (other.over) break;
        other.call();
        other.call = NULL;
        pthread_cond_broadcast(&other.cond);
    }
    pthread_mutex_unlock(&other.lock);
    return NULL;
}

void an_elsewhere(void (*call)(void))
{
    if (!other.started) {
        other.over = false;
        if (pthread_create(&other.thread, NULL, elsewhere, NULL)) tap_bail("no thread");
        other.started = true;
    }
    pthread_mutex_lock(&other.lock);
    other.call = call;
    pthread_cond_broadcast(&other.cond);
    while (other.call) pthread_cond_wait(&other.cond, &other.lock);
    pthread_mutex_unlock(&other.lock);
}

bool an_is_elsewhere(void) { return other.started && pthread_equal(pthread_self(), other.thread); }

static void elsewhere_ends(void)
{
    if (!other.started) return;
    pthread_mutex_lock(&other.lock);
    other.over = true;
    pthread_cond_broadcast(&other.cond);
    pthread_mutex_unlock(&other.lock);
    pthread_join(other.thread, NULL);
    other.started = false;
}

/* ---- Host functions ---------------------------------------------------------------------------------------------- */

enum { NOTES = 256 };

static struct { unsigned list, n; } notes[NOTES];
static struct {
    pthread_mutex_t lock;
    unsigned given, count[AN_LISTS], n[AN_LISTS][NOTES];
} noted = { .lock = PTHREAD_MUTEX_INITIALIZER };

void *an_note(unsigned list, unsigned n)
{
    unsigned i = noted.given++ % NOTES;
    notes[i].list = list % AN_LISTS;
    notes[i].n = n;
    return &notes[i];
}

void an_noted(void *note)
{
    const unsigned *it = note;
    pthread_mutex_lock(&noted.lock);
    unsigned *count = &noted.count[it[0]];
    if (*count < NOTES) noted.n[it[0]][(*count)++] = it[1];
    pthread_mutex_unlock(&noted.lock);
}

unsigned an_note_number(const void *note)
{
    for (unsigned i = 0; i < NOTES; i++)
        if (note == &notes[i]) return notes[i].n;
    return ~0u;
}

static int by_number(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}

void an_tell_notes(bool sorted)
{
    pthread_mutex_lock(&noted.lock);
    for (unsigned list = 0; list < AN_LISTS; list++) {
        if (!noted.count[list]) continue;
        if (sorted) qsort(noted.n[list], noted.count[list], sizeof noted.n[list][0], by_number);
        an_line("list %u:", list);
        for (unsigned i = 0; i < noted.count[list]; i++) an_more(" %u", noted.n[list][i]);
    }
    pthread_mutex_unlock(&noted.lock);
}

void an_notes_clear(void)
{
    pthread_mutex_lock(&noted.lock);
    noted.given = 0;
    memset(noted.count, 0, sizeof noted.count);
    pthread_mutex_unlock(&noted.lock);
}

/* ---- The second context ------------------------------------------------------------------------------------------ */

const an_stranger *an_other_context(void)
{
    static an_stranger x;
    CUcontext popped;
    if (x.ctx) return &x;
    if (cu.cuCtxCreate(&x.ctx, 0, 0) || cu.cuStreamCreate(&x.s, CU_STREAM_NON_BLOCKING) ||
        cu.cuEventCreate(&x.e, CU_EVENT_DEFAULT) || cu.cuMemAlloc(&x.p, 256) ||
        cu.cuModuleLoadData(&x.module, an_ptx) || cu.cuModuleGetFunction(&x.f, x.module, "step") ||
        (cu.cuFuncLoad && cu.cuFuncLoad(x.f)) || cu.cuCtxPopCurrent(&popped))
        tap_bail("no second context");
    return &x;
}

/* ---- The child --------------------------------------------------------------------------------------------------- */

/* Whether the next program may follow in this process. */
static bool is_clean(void)
{
    CUcontext now = NULL;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (cu.cuThreadExchangeStreamCaptureMode(&mode) || mode != CU_STREAM_CAPTURE_MODE_GLOBAL) return false;
    if (cu.cuCtxGetCurrent(&now) || now != abi_ctx) return false;
    if (cu.cuStreamIsCapturing(CU_STREAM_PER_THREAD, &status) || status ||
        cu.cuStreamIsCapturing(CU_STREAM_LEGACY, &status) || status)
        return false;
    return !cu.cuCtxSynchronize();
}

typedef struct plan { size_t first, last, stride; const char *schedule; bool tell; } plan;

/* Where others use the GPU too, a context may have to wait for room. */
static void open_context(void)
{
    static const struct timespec pause = { .tv_sec = 0, .tv_nsec = 100000000 };
    CUresult r = cu.cuInit(0);
    for (int turn = 0; !r && turn < 50; turn++) {
        r = cu.cuDevicePrimaryCtxRetain(&abi_ctx, 0);
        if (r != CUDA_ERROR_OUT_OF_MEMORY || !tap_on_gpu()) break;
        nanosleep(&pause, NULL);
    }
    if (!r) r = cu.cuCtxSetCurrent(abi_ctx);
    if (r) tap_bail("no context: %d", (int)r);
}

static void child(const plan *p)
{
    signal(SIGALRM, SIG_DFL);
    if (p->schedule) setenv("CUJIT_SIM_SCHEDULE", p->schedule, 1);
    abi_load();
    open_context();
    an_other_context();
    for (size_t i = p->first; i < p->last; i += p->stride) {
        if (shared->program[i].state != PENDING) continue;
        shared->program[i].state = RUNNING;
        shared->used = 0;
        lot = i * 7919;
        an_notes_clear();
        alarm(tap_is_slow() ? 60 : 5);
        an_more("%s/%zu", families[i % FAMILIES].name, i / FAMILIES);
        families[i % FAMILIES].program();
        elsewhere_ends();
        an_more("\n");
        shared->program[i].hash = hash_of(shared->text, shared->used);
        if (p->tell) fwrite(shared->text, 1, shared->used, stdout), fflush(stdout);
        shared->program[i].state = DONE;
        if (!is_clean()) break;
        alarm(0);
    }
    _exit(0);
}

/* Every program of the plan, in as many processes as it takes. */
static void run_programs(const plan *p)
{
    for (;;) {
        size_t i = p->first;
        int st = 0;
        while (i < p->last && shared->program[i].state != PENDING) i += p->stride;
        if (i >= p->last) break;
        fflush(stdout);
        pid_t pid = fork();
        if (pid < 0) tap_bail("no process");
        if (pid == 0) child(p);
        while (waitpid(pid, &st, 0) != pid) {}
        bool any = false;
        for (i = p->first; i < p->last; i += p->stride) {
            if (shared->program[i].state == DONE) any = true;
            if (shared->program[i].state != RUNNING) continue;
            shared->program[i].state = DIED;
            shared->program[i].how = WIFSIGNALED(st) ? WTERMSIG(st) : -WEXITSTATUS(st);
            if (p->tell) printf("%.*s\n  died: %d\n", (int)shared->used, shared->text, shared->program[i].how);
            any = true;
        }
        if (!any) tap_bail("the programs' process does not start");
    }
}

static void forget(void)
{
    for (size_t i = 0; i < ALL; i++) shared->program[i].state = PENDING;
}

/* ---- The record -------------------------------------------------------------------------------------------------- */

static const char *name_of(size_t i)
{
    static char text[32];
    snprintf(text, sizeof text, "%s/%zu", families[i % FAMILIES].name, i / FAMILIES);
    return text;
}

static size_t number_of(const char *name)
{
    for (size_t f = 0; f < FAMILIES; f++) {
        size_t n = strlen(families[f].name);
        if (strncmp(name, families[f].name, n) == 0 && name[n] == '/') {
            unsigned long k = strtoul(name + n + 1, NULL, 10);
            return k < PROGRAMS ? k * FAMILIES + f : ALL;
        }
    }
    return ALL;
}

static size_t read_record(void)
{
    size_t n = 0;
    char *text = tap_slurp(tap_source("tests/oracle/hopper_answers.txt"), NULL);
    for (char *line = text ? strtok(text, "\n") : NULL; line; line = strtok(NULL, "\n")) {
        char *space = strchr(line, ' ');
        if (*line == '#' || !space) continue;
        *space = 0;
        size_t i = number_of(line);
        if (i < ALL) recorded[i] = strtoull(space + 1, NULL, 16), n++;
    }
    free(text);
    return n;
}

static void ask_device(char *name, size_t size, int *version, int *major, int *count)
{
    int fd[2];
    struct { char name[128]; int version, major, count; } it = { "", 0, 0, 0 };
    if (pipe(fd)) tap_bail("no pipe");
    pid_t pid = fork();
    if (pid == 0) {
        abi_load();
        cu.cuInit(0);
        cu.cuDeviceGetName(it.name, sizeof it.name, 0);
        cu.cuDriverGetVersion(&it.version);
        cu.cuDeviceGetCount(&it.count);
        cu.cuDeviceGetAttribute(&it.major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
        _exit(write(fd[1], &it, sizeof it) != sizeof it);
    }
    close(fd[1]);
    if (pid < 0 || read(fd[0], &it, sizeof it) != sizeof it) tap_bail("the device is not told");
    close(fd[0]);
    waitpid(pid, NULL, 0);
    snprintf(name, size, "%s", it.name);
    *version = it.version;
    *major = it.major;
    *count = it.count;
}

static int record(const char *path)
{
    static uint64_t first[ALL];
    char device[128];
    int version, major, count;
    size_t died = 0, unsteady = 0;
    FILE *out = fopen(path, "w");
    if (!out) return perror(path), 1;
    ask_device(device, sizeof device, &version, &major, &count);
    fprintf(
        out,
        "# Answers of %s (driver %d) to the programs of tests/conformance/same_answers.c: family/number, hash of the "
        "text.\n",
        device, version);
    run_programs(&(plan){ 0, ALL, 1, NULL, false });
    for (size_t i = 0; i < ALL; i++) first[i] = shared->program[i].state == DONE ? shared->program[i].hash : 0;
    forget();
    for (size_t f = 0; f < FAMILIES; f++) run_programs(&(plan){ f, ALL, FAMILIES, NULL, false });
    for (size_t f = 0; f < FAMILIES; f++)
        for (size_t i = f; i < ALL; i += FAMILIES) {
            if (!first[i] || shared->program[i].state != DONE)
                died++, fprintf(stderr, "%s died: %d\n", name_of(i), shared->program[i].how);
            else if (first[i] != shared->program[i].hash)
                unsteady++, fprintf(stderr, "%s answers differently\n", name_of(i));
            else fprintf(out, "%s %016llx\n", name_of(i), (unsigned long long)first[i]);
        }
    fprintf(stderr, "%d programs, %zu died, %zu answer differently\n", (int)ALL, died, unsteady);
    return fclose(out) != 0;
}

/* ---- Comparing --------------------------------------------------------------------------------------------------- */

/* How many of the plan's programs died, and how many do not have the answers of `want` (0: none to compare with). */
static void count_wrong(const plan *p, const uint64_t *want, const char *than, size_t *died, size_t *differ,
                        size_t *compared)
{
    *died = *differ = *compared = 0;
    for (size_t i = p->first; i < p->last; i += p->stride) {
        if (shared->program[i].state != DONE && (*died)++ < 20)
            tap_diag("%s died: %d", name_of(i), shared->program[i].how);
        if (shared->program[i].state != DONE || !want[i]) continue;
        (*compared)++;
        if (shared->program[i].hash != want[i] && (*differ)++ < 40)
            tap_diag("%s differs from %s; same_answers --tell %s shows its answers", name_of(i), than, name_of(i));
    }
}

static void under_schedules(void)
{
    static const char *const schedules[] = { "lazy", "random:1", "random:2", "adversarial" };
    static uint64_t first[ALL];
    bool all = getenv("CUJIT_TEST_ALL") != NULL;
    size_t died, differ, compared;
    plan p = { 0, all ? ALL : FAMILIES * SAMPLE, 1, "eager", false };
    run_programs(&p);
    count_wrong(&p, first, "", &died, &differ, &compared);
    tap_is_uint(died, 0, "the programs come to their end");
    for (size_t i = 0; i < ALL; i++) first[i] = shared->program[i].state == DONE ? shared->program[i].hash : 0;
    for (size_t k = 0; k < sizeof schedules / sizeof *schedules; k++) {
        forget();
        p.schedule = schedules[k];
        run_programs(&p);
        count_wrong(&p, first, "the eager schedule", &died, &differ, &compared);
        tap_is_uint(died + differ, 0, "%s: the answers of the eager schedule", schedules[k]);
    }
    forget();
}

static void against_record(void)
{
    char device[128];
    int version, major, count;
    size_t died, differ, compared, n = read_record();
    plan p = { 0, getenv("CUJIT_TEST_ALL") ? ALL : ALL / 20, 1, NULL, false };
    if (!n) {
        tap_skip(
            1,
            "no record: on a Hopper, CUJIT_DRIVER=cuda tests/conformance/same_answers --record "
            "tests/oracle/hopper_answers.txt");
        return;
    }
    ask_device(device, sizeof device, &version, &major, &count);
    for (size_t i = 0; !tap_on_gpu() && i < sizeof known / sizeof *known; i++) {
        size_t at = number_of(known[i].program);
        if (at < p.last) tap_skip(1, "%s: %s", known[i].program, known[i].why);
        recorded[at] = 0;
    }
    run_programs(&p);
    count_wrong(&p, recorded, "the Hopper", &died, &differ, &compared);
    tap_ok(n * 10 > ALL * 9, "%zu of %d programs are recorded", n, (int)ALL);
    if (tap_on_gpu() && (major != 9 || count != 1)) { /* what there is shows in some answers */
        tap_skip(1, "%d %s: of %zu programs %zu answer differently, %zu died", count, device, compared, differ, died);
        return;
    }
    tap_is_uint(differ, 0, "%zu programs give the recorded answers", compared);
}

enum { THERE = 99 };

/* As tap_need_device, but in another process: what a program forks behind cuInit has no driver. */
static void need_device(void)
{
    int st = 0;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        tap_need_device(1);
        _exit(THERE);
    }
    if (pid < 0 || waitpid(pid, &st, 0) != pid || !WIFEXITED(st)) tap_bail("no process asks for the device");
    if (WEXITSTATUS(st) != THERE) _exit(WEXITSTATUS(st)); /* it has said why */
}

int main(int argc, char **argv)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) tap_bail("no memory");
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    if (argc > 2 && !strcmp(argv[1], "--record")) return record(argv[2]);
    if (argc > 1 && !strcmp(argv[1], "--tell-all")) {
        for (size_t f = 0; f < FAMILIES; f++) run_programs(&(plan){ f, ALL, FAMILIES, NULL, true });
        return 0;
    }
    if (argc > 2 && !strcmp(argv[1], "--tell")) {
        size_t i = number_of(argv[2]);
        if (i == ALL)
            return fprintf(stderr, "no program %s: wants streams/0 to functions/%d\n", argv[2], PROGRAMS - 1), 2;
        run_programs(&(plan){ i, i + 1, 1, NULL, true });
        return 0;
    }
    need_device();
    tap_plan(0);
    tap_timeout(getenv("CUJIT_TEST_ALL") ? 600 : 60);
    if (!tap_on_gpu()) under_schedules();
    against_record();
    munmap(shared, sizeof *shared);
    return tap_done();
}
