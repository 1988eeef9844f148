/* What a device has ready for the kernel cache changes no answer: a folder that is closed to the process, removed, put
 * elsewhere or opened to others after the device was opened, a descriptor that is closed or is another file's. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/driver/cache_parts.h"
#include "tests/tap.h"
#include "tests/tap_folder.h"

enum { BIG = 20000, SMALL = 50 };
static const char *top;

static cji_disk_folder named(const char *name)
{
    cji_disk_folder f;
    snprintf(f.path, sizeof f.path, "%s/%s", top, name);
    return f;
}

static void store(unsigned number, size_t bytes)
{
    cache_image i = cache_image_make(number, bytes);
    cji_disk_put(cache_key(number), &i.image);
    cache_image_free(&i);
}

/* An entry, found with what is ready; its image's memory may be larger than the entry. */
static bool hits(cji_disk_ready *ready, unsigned number, size_t bytes)
{
    cji_disk_found found;
    if (!cji_disk_get(cache_key(number), ready, &found)) return false;
    const bool good = cache_image_is(&found, number, bytes) && found.room_bytes >= found.code_bytes;
    cji_disk_found_free(&found);
    return good;
}

static cji_disk_ready *begin(const char *name)
{
    const cji_disk_folder f = named(name);
    setenv("CUJIT_CACHE_DIR", f.path, 1);
    store(1, SMALL);
    store(2, BIG);
    cji_disk_ready *r = cji_disk_prepare();
    if (!r) tap_bail("nothing is ready in %s", f.path);
    return r;
}

/* Removes the entries and what a folder has beside them. */
static void empty(const char *name)
{
    char command[400];
    snprintf(command, sizeof command, "rm -rf '%s/%s'", top, name);
    if (system(command)) tap_bail("%s", command);
}

static void is_quick(void)
{
    cji_disk_ready *r = begin("usual");
    tap_ok(cji_disk_is_ready(r), "a folder is ready");
    tap_ok(hits(r, 1, SMALL), "a small entry is found");
    tap_ok(atomic_load(&r->room) && !atomic_load(&r->small), "it takes the small memory alone");
    tap_ok(hits(r, 1, SMALL), "the next one has its own");
    tap_ok(hits(r, 2, BIG), "a larger one is found");
    tap_ok(atomic_load(&r->room) == NULL, "and takes it");
    tap_ok(hits(r, 2, BIG), "the next one has its own");
    tap_ok(!hits(r, 3, SMALL), "what is not there is not found");
    cji_disk_unprepare(r);
    cji_disk_unprepare(NULL);
}

/* An entry that is not what it should be is removed, and its memory with it. */
static void bad_entry(void)
{
    char path[CJI_DISK_PATH + CJI_DISK_NAME], name[CJI_DISK_NAME];
    cji_disk_ready *r = begin("bad");
    const cji_disk_folder f = named("bad");
    cji_disk_name(name, cache_key(2));
    snprintf(path, sizeof path, "%s/%s", f.path, name);
    if (truncate(path, BIG / 2)) tap_bail("truncate");
    tap_ok(!hits(r, 2, BIG), "half an entry is a miss");
    tap_ok(access(path, F_OK) != 0, "and is removed");
    cji_disk_unprepare(r);
}

static void moved(void)
{
    cji_disk_ready *r = begin("moved");
    const cji_disk_folder from = named("moved"), to = named("elsewhere");
    empty("moved");
    tap_ok(!cji_disk_is_ready(r), "a folder that was removed is not ready");
    tap_ok(!hits(r, 1, SMALL), "nothing is found in it");
    store(1, SMALL);
    tap_ok(hits(r, 1, SMALL), "but what is stored anew");
    cji_disk_unprepare(r);
    r = begin("moved");
    if (rename(from.path, to.path)) tap_bail("rename");
    store(5, SMALL);
    tap_ok(hits(r, 5, SMALL), "one that was put elsewhere: what is at its path is found");
    setenv("CUJIT_CACHE_DIR", to.path, 1);
    tap_ok(!cji_disk_is_ready(r), "the environment names another one");
    tap_ok(hits(r, 1, SMALL), "which is used");
    cji_disk_unprepare(r);
}

static void opened_to_others(void)
{
    cji_disk_ready *r = begin("open");
    const cji_disk_folder f = named("open");
    chmod(f.path, 0755);
    tap_ok(!cji_disk_is_ready(r), "a folder that others may read is not ready");
    tap_ok(!hits(r, 1, SMALL), "nor used");
    tap_ok(cji_disk_prepare() == NULL, "nor made ready");
    chmod(f.path, 0700);
    tap_ok(cji_disk_is_ready(r) && hits(r, 1, SMALL), "until it is closed to them");
    cji_disk_unprepare(r);
    const cji_disk_folder link = named("link");
    setenv("CUJIT_CACHE_DIR", link.path, 1);
    if (symlink(f.path, link.path)) tap_bail("symlink");
    tap_ok(cji_disk_prepare() == NULL, "nor is a symbolic link");
}

/* As a program does that closes all descriptors, and opens its own then. */
static void closed_descriptor(void)
{
    cji_disk_ready *r = begin("closed");
    const int fd = r->fd;
    close(fd);
    tap_ok(!cji_disk_is_ready(r) && hits(r, 1, SMALL), "a descriptor that is closed: the path leads to the entry");
    const int other = open(top, O_RDONLY | O_DIRECTORY);
    tap_is_int(other, fd, "another folder has its number");
    tap_ok(!cji_disk_is_ready(r) && hits(r, 1, SMALL), "and is not taken for it");
    cji_disk_unprepare(r);
    tap_ok(fcntl(other, F_GETFD) >= 0, "nor closed");
    close(other);
}

int main(void)
{
    tap_plan(0);
    top = tap_folder("ready");
    unsetenv("CUJIT_CACHE");
    setenv("CUJIT_CACHE_DIR", named("none").path, 1);
    tap_ok(cji_disk_prepare() == NULL, "a folder that is not there is not made ready, nor made");
    tap_ok(access(named("none").path, F_OK) != 0, "as it was not there");
    is_quick();
    bad_entry();
    moved();
    opened_to_others();
    closed_descriptor();
    return tap_done();
}
