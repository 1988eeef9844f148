/* A folder of recordings, replays, records in memory: see record_parts.h. */
#include "tests/driver/record_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"
#include "tests/tap_folder.h"

static const char *record_folder;
record_replayed replayed;

const char *record_path(const char *name)
{
    static char path[4][300];
    static int turn;
    if (!record_folder) record_folder = tap_folder("record");
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof *path, "%s/%s", record_folder, name);
    return path[turn];
}

static void keep_line(void *user, const char *line)
{
    record_replayed *r = user;
    const size_t n = strlen(r->text);
    snprintf(r->text + n, sizeof r->text - n, "%s\n", line);
}

void record_replay(cj_driver *drv, const char *path)
{
    replayed = (record_replayed){ .status = CJ_OK };
    cj_replay_result_defaults(&replayed.x);
    replayed.status =
        cj_replay_file(drv, path, CJ_REPLAY(.line = keep_line, .user = &replayed, .list = !drv), &replayed.x);
    if (replayed.status) snprintf(replayed.message, sizeof replayed.message, "%s", cj_error_last()->message);
}

/* -- Records ------------------------------------------------------------------------------------------------------- */

record_bytes record_read(const char *path)
{
    record_bytes file;
    file.p = (unsigned char *)tap_slurp(path, &file.n);
    return file;
}

void record_write(const char *path, const void *p, size_t n)
{
    FILE *f = fopen(path, "w");
    if (!f || fwrite(p, 1, n, f) != n) tap_bail("%s cannot be written", path);
    fclose(f);
}

cji_rec_record *record_at(const record_bytes *file, size_t at)
{
    return at + sizeof(cji_rec_record) <= file->n ? (cji_rec_record *)(void *)(file->p + at) : NULL;
}

size_t record_next(const record_bytes *file, size_t at)
{
    const cji_rec_record *r = record_at(file, at);
    return at + sizeof *r + ((r->bytes + 7) & ~(size_t)7);
}

size_t record_find(const record_bytes *file, size_t at, cji_rec_type type)
{
    for (; record_at(file, at); at = record_next(file, at))
        if (record_at(file, at)->type == type) return at;
    return SIZE_MAX;
}

void record_seal(const record_bytes *file, size_t at)
{
    cji_rec_record *r = record_at(file, at);
    const unsigned char *p = file->p + at + sizeof *r;
    const size_t front = cji_rec_front(r->type), first = front < r->bytes ? front : (size_t)r->bytes;
    r->head_check = cji_rec_head_check(r->type, r->bytes);
    r->check = cji_rec_check(p, first, p + first, (size_t)r->bytes - first);
}
