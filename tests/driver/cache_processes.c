/* Many threads of many processes read, write, damage and sweep one folder: each hit is the whole image of its key.
 * CUJIT_TEST_ALL=1: 16 processes of 64 threads. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/driver/cache_parts.h"
#include "tests/tap.h"

enum { KEYS = 24, LIMIT = 300000 };
static cji_disk_folder folder;
static int rounds;
static atomic_int hits, wrong;

static size_t bytes_of(uint64_t number) { return 1000 + 997 * (size_t)number; }

static void damage(uint64_t number)
{
    char path[CJI_DISK_PATH], name[CJI_DISK_NAME];
    cji_disk_name(name, cache_key(number));
    snprintf(path, sizeof path, "%.900s/%s", folder.path, name);
    FILE *f = fopen(path, "r+b");
    if (!f) return;
    fseek(f, (long)(300 + number), SEEK_SET);
    fputc('!', f);
    fclose(f);
}

static void *use(void *argument)
{
    unsigned seed = *(const unsigned *)argument;
    for (int i = 0; i < rounds; i++) {
        uint64_t number = (uint64_t)rand_r(&seed) % KEYS;
        int what = rand_r(&seed) % 64;
        cji_disk_found found;
        size_t removed;
        if (what == 0) damage(number);
        else if (what == 1) cji_disk_trim(&folder, LIMIT, (int64_t)time(NULL), &removed);
        if (cji_disk_get(cache_key(number), NULL, &found)) {
            hits++;
            wrong += !cache_image_is(&found, number, bytes_of(number));
            cji_disk_found_free(&found);
            continue;
        }
        cache_image c = cache_image_make(number, bytes_of(number));
        cji_disk_put(cache_key(number), &c.image);
        cache_image_free(&c);
    }
    return NULL;
}

/* The status says whether a hit was wrong, or there was none. */
static int process(int number, int threads)
{
    pthread_t thread[64];
    unsigned seed[64];
    for (int i = 0; i < threads; i++) {
        seed[i] = (unsigned)(number * 64 + i);
        if (pthread_create(&thread[i], NULL, use, &seed[i])) return 3;
    }
    for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
    return wrong ? 1 : hits ? 0 : 2;
}

int main(void)
{
    const bool all = getenv("CUJIT_TEST_ALL") != NULL;
    const int processes = all ? 16 : tap_is_slow() ? 2 : 4, threads = all ? 64 : tap_is_slow() ? 4 : 8;
    tap_plan(0);
    if (all) tap_timeout(300);
    rounds = tap_is_slow() ? 8 : 24;
    folder = cache_folder();
    setenv("CUJIT_CACHE_DIR", folder.path, 1);
    unsetenv("CUJIT_CACHE");
    fflush(stdout);
    pid_t child[16];
    for (int i = 0; i < processes; i++) {
        child[i] = fork();
        if (!child[i]) _exit(process(i, threads));
    }
    int failed = 0;
    for (int i = 0; i < processes; i++) {
        int status = 0;
        waitpid(child[i], &status, 0);
        if (status) tap_diag("process %d: status %d", i, status);
        failed += status != 0;
    }
    tap_is_int(failed, 0, "%d processes of %d threads use one folder, and each hit is its image", processes, threads);
    tap_is_int(cache_files(&folder, ".new", NULL), 0, "no file is left unfinished");
    cache_folder_remove(&folder);
    return tap_done();
}
