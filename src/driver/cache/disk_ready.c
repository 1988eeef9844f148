/* What a device has ready for the entries that it will read.  Each thing is only quicker than what is done without it:
 * nothing of it is a reason for a failure. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/first.h"
#include "driver/cache/disk_cache.h"

/* Writes to each page, so that the system has given it. */
static void touch_pages(unsigned char *p, size_t bytes)
{
    enum { PAGE_LEAST = 4096 };
    for (size_t i = 0; i < bytes; i += PAGE_LEAST) ((volatile unsigned char *)p)[i] = 0;
    ((volatile unsigned char *)p)[bytes - 1] = 0;
}

static bool open_folder(cji_disk_ready *r)
{
    struct stat s;
    if (!cji_disk_folder_find(&r->folder, NULL)) return false;
    r->fd = open(r->folder.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (r->fd < 0) return false;
    if (fstat(r->fd, &s) || cji_disk_folder_wrong(&s)) {
        close(r->fd);
        return false;
    }
    r->device = (uint64_t)s.st_dev;
    r->inode = (uint64_t)s.st_ino;
    return true;
}

static unsigned char *ready_room(size_t bytes)
{
    unsigned char *room = cji_alloc(bytes);
    if (room) touch_pages(room, bytes);
    return room;
}

cji_disk_ready *cji_disk_prepare(void)
{
    cji_disk_ready *r = cji_alloc(sizeof *r);
    if (!r) return NULL;
    if (!open_folder(r)) {
        cji_free(r, sizeof *r);
        return NULL;
    }
    atomic_init(&r->room, ready_room(CJI_DISK_ROOM));
    atomic_init(&r->small, ready_room(CJI_DISK_ROOM_SMALL));
    return r;
}

/* *owner: the process's effective user, whose folder it is. */
static bool still_there(const cji_disk_ready *r, uint32_t *owner)
{
    struct stat s = { .st_uid = 0 };
    const bool there = fstat(r->fd, &s) == 0 && (uint64_t)s.st_dev == r->device && (uint64_t)s.st_ino == r->inode &&
                       s.st_nlink && !cji_disk_folder_wrong(&s);
    *owner = s.st_uid;
    return there;
}

void cji_disk_unprepare(cji_disk_ready *r)
{
    struct stat s;
    if (!r) return;
    /* Who closed the descriptor may have another file there now. */
    if (fstat(r->fd, &s) == 0 && (uint64_t)s.st_dev == r->device && (uint64_t)s.st_ino == r->inode) close(r->fd);
    cji_free(atomic_load(&r->room), CJI_DISK_ROOM);
    cji_free(atomic_load(&r->small), CJI_DISK_ROOM_SMALL);
    cji_free(r, sizeof *r);
}

CJI_FIRST bool cji_disk_ready_of(const cji_disk_ready *r, uint32_t *owner)
{
    cji_disk_folder now;
    return cji_disk_folder_find(&now, NULL) && strcmp(now.path, r->folder.path) == 0 && still_there(r, owner);
}

bool cji_disk_is_ready(const cji_disk_ready *r)
{
    uint32_t owner;
    return cji_disk_ready_of(r, &owner);
}
