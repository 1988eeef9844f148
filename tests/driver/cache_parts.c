/* What tests of the kernel cache share. */
#include "tests/driver/cache_parts.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/tap_folder.h"

cji_disk_folder cache_folder(void)
{
    cji_disk_folder f;
    snprintf(f.path, sizeof f.path, "%s", tap_folder("cache"));
    return f;
}

static bool ends_with(const char *name, const char *suffix)
{
    size_t n = strlen(name), k = strlen(suffix);
    return n >= k && strcmp(name + n - k, suffix) == 0;
}

/* `remove`: removes them too. */
static int each_file(const cji_disk_folder *folder, const char *suffix, bool remove, char *path)
{
    char file[CJI_DISK_PATH + 300];
    int n = 0;
    DIR *dir = opendir(folder->path);
    if (!dir) return 0;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") || !ends_with(e->d_name, suffix)) continue;
        n++;
        snprintf(file, sizeof file, "%s/%s", folder->path, e->d_name);
        if (path) snprintf(path, CJI_DISK_PATH, "%.*s", CJI_DISK_PATH - 1, file);
        if (remove && unlink(file)) rmdir(file);
    }
    closedir(dir);
    return n;
}

int cache_files(const cji_disk_folder *folder, const char *suffix, char path[CJI_DISK_PATH])
{
    return each_file(folder, suffix, false, path);
}

void cache_folder_remove(const cji_disk_folder *folder)
{
    chmod(folder->path, 0700);
    each_file(folder, "", true, NULL);
    rmdir(folder->path);
}

/* -- Images -------------------------------------------------------------------------------------------------------- */

cji_hash128 cache_key(uint64_t number) { return cji_hash_bytes(&number, sizeof number); }

static unsigned char code_byte(uint64_t number, size_t i) { return (unsigned char)((number * 31 + i * 7) >> 1); }

#define PTX_OF \
    ".version 7.0\n.target sm_70\n.address_size 64\n.extern .shared .align 4 .b8 room[];\n" \
    ".visible .entry first(.param .u64 .ptr .global .align 4 x, .param .f32 a)\n" \
    ".maxntid 64, 2\n{\n .reg .u32 %%r;\n mov.u32 %%r, room;\n ret;\n}\n" \
    ".visible .entry second_%llu(.param .u32 n)\n{\n ret;\n}\n"

cache_image cache_image_make(uint64_t number, size_t bytes)
{
    static _Thread_local char ptx[600], log[60];
    cache_image c = { .code = malloc(bytes) };
    int n = snprintf(ptx, sizeof ptx, PTX_OF, (unsigned long long)number);
    int log_bytes = snprintf(log, sizeof log, "the log of %llu\n", (unsigned long long)number);
    c.entries = cji_entries_read(ptx, (size_t)n);
    if (!c.code || !c.entries || c.entries->n != 2) tap_bail("no image");
    for (size_t i = 0; i < bytes; i++) c.code[i] = code_byte(number, i);
    c.image = (cji_disk_image){ .code = c.code, .code_bytes = bytes, .log = log, .log_bytes = (size_t)log_bytes,
                                .entries = c.entries, .label = { .device = "sm_90a", .driver = "sim 13.0" } };
    return c;
}

void cache_image_free(cache_image *i)
{
    cji_entries_release(i->entries);
    free(i->code);
}

static bool same_entries(const cji_entries *a, const cji_entries *b)
{
    if (a->n != b->n || a->whole != b->whole) return false;
    for (size_t i = 0; i < a->n; i++) {
        const cji_entry *x = &a->entry[i], *y = &b->entry[i];
        if (strcmp(x->name, y->name) || x->nparam != y->nparam || x->instructions != y->instructions ||
            x->memory != y->memory || x->threads != y->threads || !x->dynamic_shared != !y->dynamic_shared ||
            (x->dynamic_shared && strcmp(x->dynamic_shared, y->dynamic_shared)))
            return false;
        for (uint32_t k = 0; k < x->nparam; k++) {
            const cji_entry_param *p = &x->param[k], *q = &y->param[k];
            if (strcmp(p->name, q->name) || p->offset != q->offset || p->bytes != q->bytes || p->type != q->type ||
                p->pointer != q->pointer)
                return false;
        }
    }
    return true;
}

bool cache_image_is(const cji_disk_found *found, uint64_t number, size_t bytes)
{
    cache_image want = cache_image_make(number, bytes);
    bool same = found->code_bytes == bytes && !memcmp(found->room, want.code, bytes) &&
                found->log_bytes == want.image.log_bytes && !memcmp(found->log, want.image.log, found->log_bytes) &&
                found->entries && same_entries(found->entries, want.entries) &&
                !strcmp(found->label.device, "sm_90a") && !strcmp(found->label.driver, "sim 13.0");
    cache_image_free(&want);
    return same;
}
