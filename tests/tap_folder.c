/* Folders of a test, which are removed when it ends: also where it skips, bails out or its time is over. */
#include "tap_folder.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

extern char **environ;

enum { FOLDERS = 8, FOLDER_ROOM = 200 };
static struct { char path[FOLDER_ROOM]; pid_t owner; } folders[FOLDERS];
static unsigned made_folders;

/* By a program: a signal handler may call it, and a folder may have any depth. */
static void remove_folder_at(char *path)
{
    char rm[] = "rm", force[] = "-rf", end[] = "--";
    char *const argv[] = { rm, force, end, path, NULL };
    pid_t pid;
    if (posix_spawnp(&pid, rm, NULL, NULL, argv, environ)) return;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
}

void tap_folders_remove(void)
{
    for (unsigned i = 0; i < made_folders; i++)
        if (folders[i].owner == getpid()) remove_folder_at(folders[i].path);
}

const char *tap_folder(const char *name)
{
    const char *tmp = getenv("TMPDIR");
    if (made_folders == FOLDERS) tap_bail("more than %d folders", FOLDERS);
    char *path = folders[made_folders].path;
    snprintf(path, FOLDER_ROOM, "%s/cujit-%s-XXXXXX", tmp && *tmp == '/' && strlen(tmp) < 100 ? tmp : "/tmp", name);
    if (!mkdtemp(path)) tap_bail("no folder %s: %s", path, strerror(errno));
    folders[made_folders].owner = getpid();
    if (!made_folders++) atexit(tap_folders_remove);
    return path;
}
