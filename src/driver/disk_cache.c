/* cj_disk_cache: what is in the kernel cache on disk (cache/disk_cache.h), for programs that list and clean it. */
#include <cujit/kernel_cache.h>

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/cancel.h"
#include "base/obj.h"
#include "base/opts.h"
#include "driver/cache/disk_cache.h"
#include "driver/driver.h"

struct cj_disk_cache {
    cji_obj obj;
    cji_disk_folder folder;
    cji_disk_list list;
    cji_disk_removed removed;   /* of all calls */
    /* The entry that was read last. */
    cji_disk_found found;       /* room NULL: none */
    char key[CJI_DISK_NAME];
    char problem[CJI_DISK_PATH + 200];
    const char **kernels;       /* of `found`; room for `kernel_room` of them */
    size_t kernel_room;
};

/* -- Opening ------------------------------------------------------------------------------------------------------- */

/* The entries, and 0 or an errno. */
static int read_disk_list(cj_disk_cache *c)
{
    cji_disk_list_free(&c->list);
    return cji_disk_list_read(&c->folder, (int64_t)time(NULL), &c->list) ? 0 : errno;
}

static cj_status fail_to_read(cj_disk_cache *c, int error, const char *call)
{
    if (error == ENOMEM) return cji_fail(c, CJ_ENOMEM, call, "no memory for the list of entries");
    return cji_fail(c, error == ENOENT ? CJ_ENOTFOUND : CJ_ESTATE, call, "the folder %s cannot be read: %s",
                    cji_short(c->folder.path), strerror(error));
}

static cj_status open_disk_folder(cj_disk_cache *c, const char *path, const char *call)
{
    char text[CJI_DISK_PATH + 120] = "";
    cji_line why = { text, sizeof text, 0 };
    if (!(path ? cji_disk_folder_of(&c->folder, path, NULL, &why) : cji_disk_folder_find(&c->folder, &why)))
        return cji_fail(c, CJ_EINVAL, call, "%s", text);
    if (!cji_disk_folder_check(&c->folder, false, &why)) {
        if (*text) return cji_fail(c, CJ_ESTATE, call, "%s", text);
        return cji_fail(c, CJ_ENOTFOUND, call, "%s does not exist: nothing was stored yet", cji_short(c->folder.path));
    }
    const int error = read_disk_list(c);
    return error ? fail_to_read(c, error, call) : CJ_OK;
}

cj_disk_cache *cj_disk_cache_open(const char *path)
{
    static const char call[] = "cj_disk_cache_open";
    CJI_NO_CANCEL;
    cj_disk_cache *c = cji_obj_new(sizeof *c, CJI_TAG_DISK_CACHE, 0, call);
    if (cji_obj_failed(c)) return c;
    if (open_disk_folder(c, path, call) != CJ_OK) cji_obj_set_failed(c);
    return c;
}

static void forget_disk_entry(cj_disk_cache *c)
{
    if (c->found.room) cji_disk_found_free(&c->found);
    cji_free(c->kernels, c->kernel_room * sizeof *c->kernels);
    c->kernels = NULL;
    c->kernel_room = 0;
}

void cj_disk_cache_close(cj_disk_cache *c)
{
    CJI_NO_CANCEL;
    if (!cji_check_free(c, CJI_TAG_DISK_CACHE, "cj_disk_cache_close") || !cji_obj_release(c)) return;
    forget_disk_entry(c);
    cji_disk_list_free(&c->list);
    cji_obj_delete(c, sizeof *c);
}

const char *cj_disk_cache_path(const cj_disk_cache *c)
{
    return cji_readable(c, CJI_TAG_DISK_CACHE, false) ? c->folder.path : "";
}

/* -- What is there ------------------------------------------------------------------------------------------------- */

void cj_disk_cache_stats_defaults(cj_disk_cache_stats *stats)
{
    if (stats) *stats = (cj_disk_cache_stats){ .size = sizeof *stats };
}

/* Of all entries whose times are known: those of a wrong size are last in the list, whenever they were used. */
static void set_uses(cj_disk_cache_stats *stats, const cji_disk_items *entries)
{
    for (size_t i = 0; i < entries->n; i++) {
        const int64_t used = entries->item[i].used;
        if (!used) continue;
        if (!stats->oldest || used < stats->oldest) stats->oldest = used;
        if (!stats->latest || used > stats->latest) stats->latest = used;
    }
}

cj_status cj_disk_cache_get_stats(cj_disk_cache *c, cj_disk_cache_stats *stats)
{
    static const char call[] = "cj_disk_cache_get_stats";
    CJI_NO_CANCEL;
    cj_status status = cji_check(c, CJI_TAG_DISK_CACHE, call);
    if (status != CJ_OK) return status;
    if (!stats || stats->size < sizeof stats->size)
        return cji_fail(c, CJ_EINVAL, call, "stats is NULL, or stats->size is not sizeof(cj_disk_cache_stats)");
    const size_t size = stats->size;
    uint64_t counted = 0;
    const cji_disk_items *entries = &c->list.entries;
    cji_disk_counted(&c->folder, &counted);
    const uint64_t left = counted < CJI_DISK_LIMIT ? CJI_DISK_LIMIT - counted : 0;
    cj_disk_cache_stats full = { .size = size,
                                 .entries = entries->n,
                                 .bytes = entries->bytes,
                                 .limit = CJI_DISK_LIMIT,
                                 .unfinished = c->list.unfinished,
                                 .removed = c->removed.entries,
                                 .removed_bytes = c->removed.bytes,
                                 .on = cji_disk_on(),
                                 .full = left < CJI_DISK_FULL,
                                 .left = left,
                                 .lists = c->list.recent.n,
                                 .list_bytes = c->list.recent.bytes,
                                 .removed_lists = c->removed.lists };
    set_uses(&full, entries);
    memcpy(stats, &full, size < sizeof full ? size : sizeof full);
    return CJ_OK;
}

void cj_disk_entry_defaults(cj_disk_entry *entry)
{
    if (entry) *entry = (cj_disk_entry){ .size = sizeof *entry };
}

/* The i-th item; NULL: there is none, and the failure is recorded. */
static const cji_disk_item *item_at(cj_disk_cache *c, size_t i, const char *call)
{
    if (i < c->list.entries.n) return &c->list.entries.item[i];
    cji_fail(c, CJ_EINVAL, call, "entry %zu of %zu", i, c->list.entries.n);
    return NULL;
}

static void say_problem(cj_disk_cache *c, cji_disk_result result)
{
    const int error = errno;
    cji_line line = { c->problem, sizeof c->problem, 0 };
    *c->problem = 0;
    if (result == CJI_DISK_HIT) return;
    cji_say(&line, "%s/%s ", c->folder.path, c->key);
    if (result == CJI_DISK_BAD) cji_say(&line, "is damaged: a load compiles the module again");
    else if (result == CJI_DISK_MISS) cji_say(&line, "was removed meanwhile");
    else cji_say(&line, "cannot be read: %s", strerror(error));
}

/* The names of the kernels in an array.  False without memory. */
static bool name_kernels(cj_disk_cache *c)
{
    const size_t n = c->found.entries->n;
    c->kernels = cji_zalloc((n ? n : 1) * sizeof *c->kernels);
    if (!c->kernels) return false;
    c->kernel_room = n ? n : 1;
    for (size_t i = 0; i < n; i++) c->kernels[i] = c->found.entries->entry[i].name;
    return true;
}

cj_status cj_disk_cache_get_entry(cj_disk_cache *c, size_t i, cj_disk_entry *entry)
{
    static const char call[] = "cj_disk_cache_get_entry";
    CJI_NO_CANCEL;
    cj_status status = cji_check(c, CJI_TAG_DISK_CACHE, call);
    if (status != CJ_OK) return status;
    if (!entry || entry->size < sizeof entry->size)
        return cji_fail(c, CJ_EINVAL, call, "entry is NULL, or entry->size is not sizeof(cj_disk_entry)");
    const cji_disk_item *item = item_at(c, i, call);
    if (!item) return CJ_EINVAL;
    forget_disk_entry(c);
    cji_disk_name(c->key, item->key);
    cji_disk_result result = cji_disk_read(&c->folder, item->key, false, &c->found);
    if ((result == CJI_DISK_FAILED && errno == ENOMEM) || (result == CJI_DISK_HIT && !name_kernels(c)))
        return cji_fail(c, CJ_ENOMEM, call, "no memory to read %s", c->key);
    say_problem(c, result);
    c->key[strcspn(c->key, ".")] = 0;
    const bool whole = result == CJI_DISK_HIT;
    const size_t size = entry->size;
    const cj_disk_entry full = { .size = size,
                                 .key = c->key,
                                 .bytes = item->bytes,
                                 .used = item->used,
                                 .damaged = result == CJI_DISK_BAD,
                                 .problem = c->problem,
                                 .device = whole ? c->found.label.device : "",
                                 .driver = whole ? c->found.label.driver : "",
                                 .code_bytes = whole ? c->found.code_bytes : 0,
                                 .kernels = c->kernels,
                                 .nkernels = whole ? c->found.entries->n : 0 };
    memcpy(entry, &full, size < sizeof full ? size : sizeof full);
    return CJ_OK;
}

/* -- Removing ------------------------------------------------------------------------------------------------------ */

static void note_removed(cj_disk_cache *c, const cji_disk_removed *done)
{
    c->removed.entries += done->entries;
    c->removed.lists += done->lists;
    c->removed.bytes += done->bytes;
}

static cj_status fail_to_remove(cj_disk_cache *c, const cji_disk_removed *done, const char *call)
{
    return cji_fail(c, CJ_ESTATE, call, "%llu %s of %s cannot be removed: %s", (unsigned long long)done->failed,
                    done->failed == 1 ? "file" : "files", cji_short(c->folder.path), strerror(done->error));
}

cj_status cj_disk_cache_remove(cj_disk_cache *c, size_t i)
{
    static const char call[] = "cj_disk_cache_remove";
    CJI_NO_CANCEL;
    cj_status status = cji_check(c, CJI_TAG_DISK_CACHE, call);
    if (status != CJ_OK) return status;
    const cji_disk_item *item = item_at(c, i, call);
    if (!item) return CJ_EINVAL;
    cji_disk_removed done = { .entries = 0 };
    cji_disk_drop(&c->folder, &c->list, i, &done);
    if (done.failed) return fail_to_remove(c, &done, call);
    note_removed(c, &done);
    return CJ_OK;
}

void cj_disk_prune_defaults(cj_disk_prune_opts *opts)
{
    if (opts) *opts = (cj_disk_prune_opts){ .size = sizeof *opts };
}

/* And reads the folder again. */
static cj_status prune_folder(cj_disk_cache *c, const cji_disk_bound *bound, int64_t now, const char *call)
{
    cji_disk_removed done;
    if (!cji_disk_prune(&c->folder, bound, now, &done)) return fail_to_read(c, errno, call);
    note_removed(c, &done);
    const int error = read_disk_list(c);
    return done.failed ? fail_to_remove(c, &done, call) : error ? fail_to_read(c, error, call) : CJ_OK;
}

cj_status cj_disk_cache_prune(cj_disk_cache *c, const cj_disk_prune_opts *opts)
{
    static const char call[] = "cj_disk_cache_prune";
    CJI_NO_CANCEL;
    cj_disk_prune_opts o;
    cj_status status = cji_check(c, CJI_TAG_DISK_CACHE, call);
    if (status != CJ_OK) return status;
    cj_disk_prune_defaults(&o);
    if (!cji_opts_take(&o, sizeof o, opts, c, call, "cj_disk_prune")) return CJ_EINVAL;
    const int64_t now = (int64_t)time(NULL);
    cji_disk_bound bound = cji_disk_usual_bound(CJI_DISK_LIMIT);
    if (o.max_bytes) bound.limit = bound.kept = o.max_bytes;
    if (o.max_age_s) bound.since = o.max_age_s < (uint64_t)now ? now - (int64_t)o.max_age_s : INT64_MIN;
    return prune_folder(c, &bound, now, call);
}

cj_status cj_disk_cache_clear(cj_disk_cache *c)
{
    static const char call[] = "cj_disk_cache_clear";
    CJI_NO_CANCEL;
    cj_status status = cji_check(c, CJI_TAG_DISK_CACHE, call);
    if (status != CJ_OK) return status;
    const cji_disk_bound none = { .since = INT64_MAX };
    return prune_folder(c, &none, (int64_t)time(NULL), call);
}
