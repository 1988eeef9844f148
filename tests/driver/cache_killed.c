/* Processes that are killed while they write entries: at each system call of a write, and at any moment.  What is found
 * afterwards is whole, and a writer that comes later is not held up. */
#include <sys/stat.h>

#include "tests/driver/cache_faults.h"
#include "tests/driver/cache_parts.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

enum { BYTES = 20000, KEYS = 4 };
static cji_disk_folder folder;

/* Every entry of the folder, verified; how many are none. */
static int bad_entries(int *good)
{
    cji_disk_list list;
    int bad = 0;
    *good = 0;
    if (!cji_disk_list_read(&folder, (int64_t)time(NULL), &list)) tap_bail("no list");
    for (size_t i = 0; i < list.entries.n; i++) {
        cji_disk_found found;
        cji_disk_result r = cji_disk_read(&folder, list.entries.item[i].key, false, &found);
        if (r == CJI_DISK_HIT) {
            cji_disk_found_free(&found);
            ++*good;
        } else {
            bad++;
        }
    }
    cji_disk_list_free(&list);
    return bad;
}

static void at_each_call(void)
{
    static const struct { const char *name; fault_call call; } rows[] = {
        { "open", FAULT_OPEN }, { "write", FAULT_WRITE }, { "a part of a write", FAULT_WRITE_HALF },
        { "fsync", FAULT_FSYNC }, { "close", FAULT_CLOSE }, { "rename", FAULT_RENAME },
    };
    for (int before = 0; before < 2; before++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            int status = 0, good;
            fflush(stdout);
            pid_t child = fork();
            if (!child) {
                cache_image c = cache_image_make(7, BYTES);
                fault_begin(rows[i].call, 0, 0);
                cji_disk_write(&folder, cache_key(7), &c.image);
                _exit(0);
            }
            waitpid(child, &status, 0);
            tap_ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "killed at %s", rows[i].name);
            int bad = bad_entries(&good);
            tap_ok(!bad && good == before, "killed at %s: no entry, %s", rows[i].name,
                   before ? "but that of before" : "and none of before");
            if (before || i + 1 < sizeof rows / sizeof *rows) continue;
            cache_image c = cache_image_make(7, BYTES);
            tap_ok(cji_disk_write(&folder, cache_key(7), &c.image), "who comes later writes it");
            cache_image_free(&c);
        }
    size_t removed;
    tap_is_int(cache_files(&folder, ".new", NULL), 10, "what they wrote is left behind");
    tap_ok(cji_disk_trim(&folder, CJI_DISK_LIMIT, (int64_t)time(NULL) + CJI_DISK_HOUR + 1, &removed) &&
               !cache_files(&folder, ".new", NULL) && !removed,
           "and removed an hour later");
}

static void write_for_ever(void)
{
    for (uint64_t i = 0;; i = (i + 1) % KEYS) {
        cache_image c = cache_image_make(i, BYTES + i);
        cji_disk_put(cache_key(i), &c.image);
        cache_image_free(&c);
    }
}

static void at_any_moment(int rounds)
{
    int bad = 0, good = 0, most = 0, wrong = 0;
    setenv("CUJIT_CACHE_DIR", folder.path, 1);
    for (int i = 0; i < rounds; i++) {
        fflush(stdout);
        pid_t child = fork();
        if (!child) write_for_ever();
        const struct timespec pause = { 0, (i * 7919 % 97) * 20000 };
        nanosleep(&pause, NULL);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        bad += bad_entries(&good);
        if (good > most) most = good;
        for (uint64_t k = 0; k < KEYS; k++) {
            cji_disk_found found;
            if (!cji_disk_get(cache_key(k), NULL, &found)) continue;
            wrong += !cache_image_is(&found, k, BYTES + k);
            cji_disk_found_free(&found);
        }
    }
    tap_ok(!bad && !wrong, "%d processes killed at any moment: no bad entry among up to %d", rounds, most);
}

int main(void)
{
    tap_plan(0);
    const bool all = getenv("CUJIT_TEST_ALL") != NULL;
    if (all) tap_timeout(600);
    folder = cache_folder();
    at_each_call();
    at_any_moment(all ? 4000 : tap_is_slow() ? 4 : 40);
    cache_folder_remove(&folder);
    return tap_done();
}
