/* Runs a target on its seeds, and on these changed at random from a fixed seed (fuzz.h).
 *
 *     fuzz_X                    one second of processor time, as a TAP test
 *     fuzz_X --seconds N        more; --from N: another seed for the random numbers; --threads N: so many at once
 *     fuzz_X FILE...            these inputs alone, as after a failure
 *     fuzz_X --seeds FOLDER     writes the seeds there, for libFuzzer
 *
 * An input that fails stays behind in fuzz_X.input. */
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/tap.h"

enum { ROOM = 1 << 16, SCRATCH = 1 << 10, THREADS = 64 };

static cji_fuzz_seed *seeds;
static size_t nseeds;

void cji_fuzz_add(const void *data, size_t size)
{
    if (size > ROOM) size = ROOM;
    seeds = realloc(seeds, (nseeds + 1) * sizeof *seeds);
    uint8_t *copy = malloc(size + 1);
    if (!seeds || !copy) tap_bail("no memory");
    if (size) memcpy(copy, data, size);
    seeds[nseeds++] = (cji_fuzz_seed){ copy, size };
}

static void free_seeds(void)
{
    for (size_t i = 0; i < nseeds; i++) free(seeds[i].data);
    free(seeds);
}

void cji_fuzz_add_files(const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t bytes;
        char *text = tap_slurp(tap_source(names[i]), &bytes);
        if (!text) tap_bail("no %s", names[i]);
        cji_fuzz_add(text, bytes);
        free(text);
    }
}

char *cji_fuzz_string(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text) tap_bail("no memory");
    if (size) memcpy(text, data, size);
    text[size] = 0;
    return text;
}

void cji_fuzz_fail(const char *fmt, ...)
{
    va_list list;
    fputs("# ", stdout);
    va_start(list, fmt);
    vprintf(fmt, list);
    va_end(list);
    fputc('\n', stdout);
    fflush(stdout);
    abort();
}

/* ---- The input under way, kept when the program dies ------------------------------------------------------------- */

static _Thread_local const uint8_t *now_data;
static _Thread_local size_t now_size;
static char kept[64];

static void keep_input(int sig)
{
    int fd = now_data ? open(kept, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
    if (fd >= 0 && write(fd, now_data, now_size) >= 0) close(fd);
    static const char text[] = "# the input that failed is kept beside the log: fuzz_TARGET.input\n";
    if (fd >= 0 && write(1, text, sizeof text - 1) < 0) _exit(1);
    signal(sig, SIG_DFL);
    raise(sig);
}

static void catch_signals(void)
{
    static const int signals[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM };
    static char stack[1 << 16];
    sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = sizeof stack }, NULL);
    struct sigaction action = { .sa_handler = keep_input, .sa_flags = SA_ONSTACK | SA_RESETHAND };
    snprintf(kept, sizeof kept, "fuzz_%s.input", cji_fuzz_name);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) sigaction(signals[i], &action, NULL);
}

static int run(const uint8_t *data, size_t size)
{
    now_data = data;
    now_size = size;
    int accepted = cji_fuzz_one(data, size);
    now_data = NULL;
    return accepted;
}

/* ---- Rounds ------------------------------------------------------------------------------------------------------ */

typedef struct runner {
    uint64_t from;
    double until;
    unsigned long inputs, accepted;
} runner;

static double processor_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Each input is a seed changed up to four times, so that one that fails depends on few choices. */
static void *rounds(void *arg)
{
    runner *r = arg;
    cji_fuzz_random random = { r->from * 0x9e3779b97f4a7c15u + 1 };
    uint8_t *data = malloc(ROOM + SCRATCH);
    if (!data) tap_bail("no memory");
    while (processor_time() < r->until) {
        const cji_fuzz_seed *seed = &seeds[cji_fuzz_below(&random, (uint32_t)nseeds)];
        const cji_fuzz_seed *other = &seeds[cji_fuzz_below(&random, (uint32_t)nseeds)];
        memcpy(data, seed->data, seed->size);
        size_t size = cji_fuzz_mutate(&random, data, seed->size, ROOM, other, cji_fuzz_is_text);
        uint8_t *exact = malloc(size ? size : 1); /* so that a sanitizer sees a read beyond its end */
        if (!exact) tap_bail("no memory");
        memcpy(exact, data, size);
        r->accepted += (unsigned long)run(exact, size);
        r->inputs++;
        free(exact);
    }
    free(data);
    return NULL;
}

static runner run_all(uint64_t from, double seconds, unsigned threads)
{
    pthread_t thread[THREADS];
    runner each[THREADS], all = { 0 };
    double until = processor_time() + seconds;
    for (unsigned i = 0; i < threads; i++) each[i] = (runner){ .from = from + i, .until = until };
    for (unsigned i = 1; i < threads; i++)
        if (pthread_create(&thread[i], NULL, rounds, &each[i])) tap_bail("no thread");
    rounds(&each[0]);
    for (unsigned i = 1; i < threads; i++) pthread_join(thread[i], NULL);
    for (unsigned i = 0; i < threads; i++) all.inputs += each[i].inputs, all.accepted += each[i].accepted;
    return all;
}

static int write_seeds(const char *folder)
{
    for (size_t i = 0; i < nseeds; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/seed%zu", folder, i);
        FILE *f = fopen(path, "wb");
        if (!f || fwrite(seeds[i].data, 1, seeds[i].size, f) != seeds[i].size || fclose(f))
            return fprintf(stderr, "%s: %s\n", path, strerror(errno)), 1;
    }
    return 0;
}

static int replay(char **paths)
{
    for (; *paths; paths++) {
        size_t bytes;
        char *text = tap_slurp(*paths, &bytes);
        if (!text) return fprintf(stderr, "%s: %s\n", *paths, strerror(errno)), 1;
        printf("%s: %s\n", *paths, run((const uint8_t *)text, bytes) ? "accepted" : "rejected");
        free(text);
    }
    return 0;
}

int main(int argc, char **argv)
{
    double seconds = 1;
    uint64_t from = 1;
    unsigned threads = 1;
    const char *folder = NULL, *set = getenv("CUJIT_FUZZ_SECONDS");
    int i = 1;
    if (set && *set) seconds = strtod(set, NULL);
    for (; i + 1 < argc && !strncmp(argv[i], "--", 2); i += 2) {
        if (!strcmp(argv[i], "--seconds")) seconds = strtod(argv[i + 1], NULL);
        else if (!strcmp(argv[i], "--from")) from = strtoull(argv[i + 1], NULL, 0);
        else if (!strcmp(argv[i], "--threads")) threads = (unsigned)strtoul(argv[i + 1], NULL, 0);
        else if (!strcmp(argv[i], "--seeds")) folder = argv[i + 1];
        else return fprintf(stderr, "%s: no option %s\n", argv[0], argv[i]), 2;
    }
    if (!threads || threads > THREADS || (threads > 1 && !cji_fuzz_has_threads))
        return fprintf(stderr, "%s: %u threads are not possible\n", argv[0], threads), 2;
    catch_signals();
    cji_fuzz_begin();
    if (i < argc) return replay(argv + i);
    if (!folder) {
        tap_plan(0);
        tap_timeout((unsigned)(seconds * 40) + 60);
    }
    cji_fuzz_seeds();
    if (folder) return write_seeds(folder);
    size_t accepted = 0;
    for (size_t k = 0; k < nseeds; k++) accepted += (size_t)run(seeds[k].data, seeds[k].size);
    tap_ok(nseeds && accepted, "%s: %zu seeds, of which %zu are accepted", cji_fuzz_name, nseeds, accepted);
    runner all = run_all(from, seconds, threads);
    tap_ok(all.inputs > 0, "and %s inputs made of them do no harm", threads > 1 ? "many threads'" : "all");
    tap_diag("%lu inputs, %lu accepted, %g s of processor time, %u threads, from %llu", all.inputs, all.accepted,
             seconds, threads, (unsigned long long)from);
    free_seeds();
    return tap_done();
}
