/* The list of what a program used lately: the latest use first, of each program its own; whatever is in the file or
 * becomes of the folder, a list is right or is none; a failure changes nothing. */
#include <sys/stat.h>

#include "tests/driver/cache_faults.h"
#include "tests/driver/cache_parts.h"
#include "tests/tap.h"
#include "tests/tap_folder.h"

#include <cujit/cujit.h>

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

enum { BLOCK = 4096, DAY = 86400, HEAD = 64, KEY = 16 };
static const char program[] = "/usr/bin/program";
static const cji_hash128 build = { { 1, 2 } };
static cji_disk_folder folder;
static char path[CJI_DISK_PATH]; /* of the program's list */

/* -- A device's life ----------------------------------------------------------------------------------------------- */

static cji_disk_recent *begin_of(const char *of)
{
    cji_disk_ready *ready = cji_disk_prepare();
    cji_disk_recent *r = cji_disk_recent_begin(of, build, ready);
    cji_disk_unprepare(ready);
    if (!r) tap_bail("nothing is known");
    return r;
}

/* Uses the keys of these letters, one by one. */
static void use_all(cji_disk_recent *r, const char *letters)
{
    for (; *letters; letters++) cji_disk_keys_use(&r->used, cache_key((unsigned char)*letters));
}

static void run(const char *of, const char *letters)
{
    cji_disk_recent *r = begin_of(of);
    use_all(r, letters);
    cji_disk_recent_end(r);
}

/* The letters of keys, "" for none. */
static const char *letters_of(const cji_disk_keys *keys)
{
    static char text[CJI_DISK_RECENT_KEYS + 1];
    for (size_t i = 0; i < keys->n; i++) {
        int c = 127;
        while (c > 32 && !cji_hash128_equal(cache_key((uint64_t)c), keys->key[i])) c--;
        text[i] = (char)c;
    }
    text[keys->n] = 0;
    return text;
}

static const char *listed_of(const char *of)
{
    cji_disk_recent *r = begin_of(of);
    const char *letters = letters_of(&r->listed);
    cji_disk_recent_end(r);
    return letters;
}

static const char *listed(void) { return listed_of(program); }

static void begin_anew(void)
{
    cache_folder_remove(&folder);
    if (mkdir(folder.path, 0700)) tap_bail("no folder");
}

/* -- Keys ---------------------------------------------------------------------------------------------------------- */

static void keys(void)
{
    static const struct { const char *name, *used, *want; } rows[] = {
        { "nothing was used", "", "" },
        { "one key", "a", "a" },
        { "the latest use first", "abc", "cba" },
        { "the same key again", "aaa", "a" },
        { "an older key moves to the front", "abcb", "bca" },
        { "the oldest one too", "abca", "acb" },
        { "as many as fit", "abcdefghijklmnopqrstuvwxyz012345", "543210zyxwvutsrqponmlkjihgfedcba" },
        { "one more: the oldest goes", "abcdefghijklmnopqrstuvwxyz0123456", "6543210zyxwvutsrqponmlkjihgfedcb" },
        { "of all the last one is used", "abcdefghijklmnopqrstuvwxyz012345a", "a543210zyxwvutsrqponmlkjihgfedcb" },
        { "three more", "abcdefghijklmnopqrstuvwxyz012345678", "876543210zyxwvutsrqponmlkjihgfed" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin_anew();
        cji_disk_recent *r = begin_of(program);
        use_all(r, rows[i].used);
        tap_is_str(letters_of(&r->used), rows[i].want, "%s", rows[i].name);
        cji_disk_recent_end(r);
        tap_is_str(listed(), rows[i].want, "%s: listed", rows[i].name);
    }
}

static void later_runs(void)
{
    static const struct { const char *name, *before, *used, *want; bool same; } rows[] = {
        { "the same keys in the same order", "abc", "abc", "cba", true },
        { "in another order", "abc", "cba", "cba", true },
        { "nothing", "abc", "", "cba", true },
        { "those used last", "abcd", "cd", "dcba", false },
        { "an older one", "abc", "a", "acb", false },
        { "a new one", "abc", "d", "dcba", false },
        { "a new one and the latest", "abc", "cd", "dcba", false },
        { "others", "abc", "de", "edcba", false },
        { "one more than fit", "abcdefghijklmnopqrstuvwxyz012345", "6", "6543210zyxwvutsrqponmlkjihgfedcb", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct stat a, b;
        const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = time(NULL) - 60 } };
        begin_anew();
        run(program, rows[i].before);
        if (utimensat(AT_FDCWD, path, times, 0) || stat(path, &a)) tap_bail("no list");
        run(program, rows[i].used);
        if (stat(path, &b)) tap_bail("no list");
        tap_ok((a.st_ino == b.st_ino && a.st_mtime == b.st_mtime) == rows[i].same, "%s: the file %s", rows[i].name,
               rows[i].same ? "stays as it is" : "is a new one");
        tap_is_str(listed(), rows[i].want, "%s: the list", rows[i].name);
        tap_ok(cache_files(&folder, ".recent", NULL) == 1 && cache_files(&folder, "", NULL) == 3,
               "%s: nothing else is in the folder but the count", rows[i].name);
    }
}

static void at_a_time(void)
{
    begin_anew();
    run(program, "xyz");
    cji_disk_recent *a = begin_of(program), *b = begin_of(program);
    use_all(a, "a");
    use_all(b, "b");
    cji_disk_recent_end(a);
    cji_disk_recent_end(b);
    tap_is_str(listed(), "bazyx", "two processes at a time: both are listed");
    a = begin_of(program), b = begin_of(program);
    use_all(a, "c");
    use_all(b, "c");
    cji_disk_recent_end(a);
    struct stat s, t;
    if (stat(path, &s)) tap_bail("no list");
    cji_disk_recent_end(b);
    tap_ok(stat(path, &t) == 0 && s.st_ino == t.st_ino, "what another process has listed meanwhile is not written");
    a = begin_of(program);
    a->gone = 1u << 1 | 1u << 4; /* b, y */
    cji_disk_recent_end(a);
    tap_is_str(listed(), "cbazyx", "entries that are gone: nothing is written for that alone");
    a = begin_of(program);
    a->gone = 1u << 1 | 1u << 4;
    use_all(a, "dy");
    cji_disk_recent_end(a);
    tap_is_str(listed(), "ydcazx", "they leave the list with the next change, but what was used");
    a = begin_of(program), b = begin_of(program);
    a->gone = 1u << 0 | 1u << 2; /* y, c */
    use_all(b, "yc");
    cache_image c = cache_image_make('c', 50);
    if (!cji_disk_write(&folder, cache_key('c'), &c.image)) tap_bail("no entry");
    cache_image_free(&c);
    cji_disk_recent_end(b);
    use_all(a, "a");
    cji_disk_recent_end(a);
    tap_is_str(listed(), "acd", "but those that another process has stored meanwhile");
}

static void programs(void)
{
    char name[3][CJI_DISK_NAME], self[CJI_DISK_PATH] = "";
    begin_anew();
    run(program, "abc");
    run("/usr/bin/other", "d");
    tap_is_str(listed(), "cba", "a program has its list");
    tap_is_str(listed_of("/usr/bin/other"), "d", "another one its own");
    tap_is_str(listed_of("/usr/bin/third"), "", "a third one none");
    tap_is_int(cache_files(&folder, ".recent", NULL), 2, "each in a file");
    cji_disk_recent_name(name[0], program, build);
    tap_is_uint(strlen(name[0]), 23, "whose name is a hash");
    static const struct { const char *name; bool is; } names[] = {
        { "0123456789abcdef.recent", true },          { "0123456789abcde.recent", false },
        { "0123456789abcdef0.recent", false },        { "0123456789abcdeF.recent", false },
        { "0123456789abcdef.recent2", false },        { "0123456789abcdef.new", false },
        { ".recent", false },                         { "", false },
    };
    cji_hash128 digits;
    tap_ok(cji_disk_is_recent(name[0], &digits), "which is one of a list");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        tap_ok(cji_disk_is_recent(names[i].name, &digits) == names[i].is, "\"%s\" is %s", names[i].name,
               names[i].is ? "one" : "none");
    cji_disk_recent *r = begin_of(NULL);
    if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0) tap_bail("no program");
    cji_disk_recent_name(name[1], self, build);
    tap_is_str(r->name, name[1], "the process's own is that of /proc/self/exe");
    cji_disk_recent_end(r);
}

/* -- What is no list ----------------------------------------------------------------------------------------------- */

static size_t read_list_file(unsigned char *p, size_t room)
{
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(p, 1, room, f) : 0;
    if (f) fclose(f);
    return n;
}

static void put_file(const unsigned char *p, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(p, 1, n, f) != n) tap_bail("no file");
    fclose(f);
}

/* Whether there is no list now, and no file of it. */
static bool is_none(void) { return !*listed() && access(path, F_OK) != 0; }

static void damaged(void)
{
    unsigned char whole[HEAD + 40 * KEY] = { 0 };
    size_t wrong = 0;
    begin_anew();
    run(program, "ab");
    const size_t n = read_list_file(whole, sizeof whole);
    tap_is_uint(n, HEAD + 2 * KEY, "a list of two keys");
    for (size_t i = 0; i < n; i++)
        for (int bit = 1; bit < 256; bit *= 16) {
            whole[i] ^= (unsigned char)bit;
            put_file(whole, n);
            wrong += !is_none();
            whole[i] ^= (unsigned char)bit;
        }
    tap_is_uint(wrong, 0, "with any byte changed it is none, and removed");
    for (size_t i = 0; i < n; i++) {
        put_file(whole, i);
        wrong += !is_none();
    }
    tap_is_uint(wrong, 0, "cut to any length");
    for (size_t i = n + 1; i < sizeof whole; i++) {
        put_file(whole, i);
        wrong += !is_none();
    }
    tap_is_uint(wrong, 0, "and with any bytes behind it");
    put_file(whole, n);
    tap_is_str(listed(), "ba", "but as it was it is the list");
    put_file(whole, n - 1);
    run(program, "c");
    tap_is_str(listed(), "c", "a new list replaces one that is none");
}

static void other_kinds(void)
{
    char target[CJI_DISK_PATH + 20];
    begin_anew();
    run(program, "ab");
    snprintf(target, sizeof target, "%s/target", folder.path);
    if (rename(path, target) || symlink(target, path)) tap_bail("no link");
    tap_ok(is_none() && access(target, F_OK) == 0, "a symbolic link to a list is none, and is removed");
    if (mkfifo(path, 0600)) tap_bail("no pipe");
    tap_ok(is_none(), "a pipe is none, and is not waited for");
    if (geteuid() == 0) {
        run(program, "ab");
        if (chown(path, 65534, 65534)) tap_bail("chown");
        tap_ok(is_none(), "nor is another user's file");
    } else {
        tap_skip(1, "only root can give a file away");
    }
    if (mkdir(path, 0700)) tap_bail("no folder");
    run(program, "ab");
    tap_is_str(listed(), "", "a folder of that name is none");
    tap_ok(access(path, F_OK) == 0 && cache_files(&folder, ".new", NULL) == 0, "and stays, with nothing beside it");
    rmdir(path);
    run(program, "ab");
    tap_is_str(listed(), "ba", "when it is gone there is a list again");
}

/* -- What fails ---------------------------------------------------------------------------------------------------- */

static void writes_fail(void)
{
    static const struct { const char *name; fault_call call; int error; } rows[] = {
        { "a folder that is read-only", FAULT_OPEN, EROFS }, { "a full disk", FAULT_WRITE, ENOSPC },
        { "a disk that is full in the middle", FAULT_WRITE_HALF, ENOSPC }, { "a quota", FAULT_CLOSE, EDQUOT },
        { "a name that cannot be changed", FAULT_RENAME, EPERM },
    };
    char line[600];
    begin_anew();
    run(program, "ab");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fault_begin(rows[i].call, 0, rows[i].error);
        run(program, "c");
        fault_end();
        tap_is_str(listed(), "ba", "%s: the list is the old one", rows[i].name);
        tap_is_int(cache_files(&folder, "", NULL), 3, "%s: nothing is left behind", rows[i].name);
    }
    fault_begin(FAULT_FSYNC, 0, EIO);
    run(program, "c");
    fault_end();
    tap_is_str(listed(), "cba", "a list is not synchronised");
    struct rlimit before, small;
    getrlimit(RLIMIT_FSIZE, &before);
    small = (struct rlimit){ HEAD, before.rlim_max };
    setrlimit(RLIMIT_FSIZE, &small);
    run(program, "d");
    setrlimit(RLIMIT_FSIZE, &before);
    tap_is_str(listed(), "cba", "nor written beyond the limit of the process, which would end it");
    tap_is_int(cj_log_read(line, sizeof line), 0, "the log has no line of all that");
}

static void folders_change(void)
{
    char other[CJI_DISK_PATH + 20];
    begin_anew();
    run(program, "ab");
    setenv("CUJIT_CACHE", "0", 1);
    run(program, "c");
    unsetenv("CUJIT_CACHE");
    tap_is_str(listed(), "ba", "the cache is off: nothing is listed");
    cji_disk_recent *r = begin_of(program);
    use_all(r, "c");
    chmod(folder.path, 0755);
    cji_disk_recent_end(r);
    chmod(folder.path, 0700);
    tap_is_str(listed(), "ba", "nor in a folder that was opened to others");
    r = begin_of(program);
    use_all(r, "c");
    snprintf(other, sizeof other, "%s-moved", folder.path);
    if (rename(folder.path, other)) tap_bail("rename");
    cji_disk_recent_end(r);
    tap_ok(access(folder.path, F_OK) != 0, "a folder that was removed is not made");
    r = begin_of(program);
    tap_is_str(letters_of(&r->listed), "", "without a folder nothing is listed");
    if (mkdir(folder.path, 0700)) tap_bail("mkdir");
    use_all(r, "d");
    cji_disk_recent_end(r);
    tap_is_str(listed(), "d", "but what was used until one is there");
    cji_disk_folder moved;
    snprintf(moved.path, sizeof moved.path, "%.*s", CJI_DISK_PATH - 1, other);
    cache_folder_remove(&moved);
    cji_disk_recent_end(NULL);
}

static void forked(void)
{
    begin_anew();
    run(program, "ab");
    cji_disk_recent *r = begin_of(program);
    use_all(r, "c");
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        cji_disk_recent_end(r);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    tap_is_str(listed(), "ba", "a child of fork() lists nothing of its parent's");
    cji_disk_recent_end(r);
    tap_is_str(listed(), "cba", "which does");
}

/* -- The end of lists ---------------------------------------------------------------------------------------------- */

static void set_used(int64_t when)
{
    const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = (time_t)when } };
    if (utimensat(AT_FDCWD, path, times, 0)) tap_bail("%s: %s", path, strerror(errno));
}

static void swept(void)
{
    const int64_t now = (int64_t)time(NULL);
    static const struct { const char *name; int64_t age; bool stays; } rows[] = {
        { "now", 0, true },
        { "29 days ago", 29 * DAY, true },
        { "30 days ago", 30 * DAY, true },
        { "more than 30 days ago", 30 * DAY + 1, false },
        { "a year ago", 365 * DAY, false },
        { "in half an hour", -1800, true },
        { "tomorrow, by a clock that was set back", -DAY, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t removed = 99;
        cji_disk_list list;
        begin_anew();
        run(program, "ab");
        set_used(now - rows[i].age);
        cji_disk_list_read(&folder, now, &list);
        tap_ok(!list.entries.n && !list.entries.bytes && !list.unfinished && access(path, F_OK) == 0,
               "%s: a list is no entry", rows[i].name);
        tap_ok(list.recent.n == 1 && list.recent.bytes == BLOCK, "%s: it is counted apart", rows[i].name);
        cji_disk_list_free(&list);
        cji_disk_trim(&folder, CJI_DISK_LIMIT, now, &removed);
        tap_ok((access(path, F_OK) == 0) == rows[i].stays && !removed, "used %s: it %s", rows[i].name,
               rows[i].stays ? "stays" : "is removed");
    }
    begin_anew();
    run(program, "ab");
    set_used(now - 29 * DAY);
    struct stat s;
    tap_is_str(listed(), "ba", "a list that is read");
    tap_ok(stat(path, &s) == 0 && s.st_mtime >= now, "is used by that, and stays");
}

static void cleaned(void)
{
    begin_anew();
    run(program, "ab");
    run("/usr/bin/other", "d");
    cache_image c = cache_image_make(1, 5000);
    if (!cji_disk_write(&folder, cache_key(1), &c.image)) tap_bail("no entry");
    cache_image_free(&c);
    cj_disk_cache *cache = cj_disk_cache_open(folder.path);
    cj_disk_cache_stats stats = { .size = sizeof stats };
    cj_disk_cache_get_stats(cache, &stats);
    tap_ok(stats.entries == 1 && stats.bytes == 2 * BLOCK && !stats.unfinished, "statistics have the entry");
    tap_ok(stats.lists == 2 && stats.list_bytes == 2 * BLOCK, "and the lists");
    set_used((int64_t)time(NULL) - 7200);
    cj_disk_cache_prune(cache, NULL);
    tap_is_int(cache_files(&folder, ".recent", NULL), 2, "prune leaves lists that are used");
    cj_disk_cache_prune(cache, CJ_DISK_PRUNE(.max_age_s = 3600));
    tap_is_int(cache_files(&folder, ".recent", NULL), 1, "or were used since");
    cj_disk_cache_clear(cache);
    cj_disk_cache_get_stats(cache, &stats);
    tap_ok(stats.removed == 1 && cache_files(&folder, ".recent", NULL) == 0, "clear removes all");
    tap_ok(stats.removed_lists == 2 && stats.removed_bytes == 4 * BLOCK && !stats.lists, "and both calls counted that");
    cj_disk_cache_close(cache);
}

/* -- Many lists ---------------------------------------------------------------------------------------------------- */

static uint64_t counted_bytes(void)
{
    uint64_t bytes = 0;
    cji_disk_counted(&folder, &bytes);
    return bytes;
}

/* The list of program i, which was used i minutes ago. */
static void many_lists(int n)
{
    const int64_t now = (int64_t)time(NULL);
    begin_anew();
    for (int i = 0; i < n; i++) {
        char of[40], name[CJI_DISK_NAME], file[CJI_DISK_PATH + CJI_DISK_NAME];
        const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = now - 60 * i } };
        snprintf(of, sizeof of, "/usr/bin/program-%d", i);
        run(of, "a");
        cji_disk_recent_name(name, of, build);
        snprintf(file, sizeof file, "%s/%s", folder.path, name);
        if (utimensat(AT_FDCWD, file, times, 0)) tap_bail("%s", file);
    }
}

static void many(void)
{
    enum { LISTS = CJI_DISK_RECENT_LISTS + 20 };
    size_t removed;
    many_lists(LISTS);
    tap_is_uint(counted_bytes(), LISTS * BLOCK, "lists are counted when they are written");
    cji_disk_trim(&folder, CJI_DISK_LIMIT, (int64_t)time(NULL), &removed);
    tap_is_int(cache_files(&folder, ".recent", NULL), CJI_DISK_RECENT_LISTS, "a sweep leaves %d of %d lists",
               CJI_DISK_RECENT_LISTS, LISTS);
    tap_is_uint(counted_bytes(), CJI_DISK_RECENT_LISTS * BLOCK, "which are counted");
    tap_is_str(listed_of("/usr/bin/program-0"), "a", "the latest used one stays");
    tap_is_str(listed_of("/usr/bin/program-110"), "", "an older one does not");
    static const struct { const char *name; uint64_t bytes; int left; } rows[] = {
        { "as many bytes as there are", 10 * BLOCK, 10 },
        { "a byte less", 10 * BLOCK - 1, 9 },
        { "one byte", 1, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        many_lists(10);
        cj_disk_cache *cache = cj_disk_cache_open(folder.path);
        cj_disk_cache_prune(cache, CJ_DISK_PRUNE(.max_bytes = rows[i].bytes));
        cj_disk_cache_close(cache);
        tap_is_int(cache_files(&folder, ".recent", NULL), rows[i].left, "prune to %s", rows[i].name);
        tap_is_uint(counted_bytes(), (uint64_t)rows[i].left * BLOCK, "%s: counted", rows[i].name);
    }
}

/* A program that stores no entry sweeps, too, when its list is written. */
static void swept_by_lists(void)
{
    char swept_path[CJI_DISK_PATH + CJI_DISK_NAME];
    const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = time(NULL) - 7200 } };
    begin_anew();
    run(program, "a");
    set_used((int64_t)time(NULL) - 31 * DAY);
    snprintf(swept_path, sizeof swept_path, "%s/.cujit-swept", folder.path);
    if (utimensat(AT_FDCWD, swept_path, times, 0)) tap_bail("%s", swept_path);
    run("/usr/bin/other", "b");
    tap_ok(access(path, F_OK) != 0 && cache_files(&folder, ".recent", NULL) == 1, "old lists are gone then");
}

/* -- Keys that are not used any more ------------------------------------------------------------------------------- */

static void unused_keys(void)
{
    static const struct { const char *name, *runs, *want; } rows[] = {
        { "three runs without a use", "abc|c|c|c", "cba" },
        { "a fourth", "abc|c|c|c|c", "c" },
        { "a use in between", "ab|a|a|a|b|a|a|a", "ab" },
        { "one more after that", "ab|a|a|a|b|a|a|a|a", "a" },
        { "runs that use nothing are none", "ab|a||||||", "ab" },
        { "a kernel that changes with each run", "a|b|c|d|e|f|g", "gfed" },
        { "and is an older one again", "a|b|c|d|e|f|g|f", "fge" },
        { "two scripts in turn", "ab|cd|ab|cd|ab|cd", "dcba" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char runs[80], *next = runs;
        begin_anew();
        snprintf(runs, sizeof runs, "%s", rows[i].runs);
        for (char *one; (one = strsep(&next, "|")) != NULL;) run(program, one);
        tap_is_str(listed(), rows[i].want, "%s: %s", rows[i].name, rows[i].runs);
    }
    cji_disk_recent *r[8];
    begin_anew();
    run(program, "ab");
    for (int i = 0; i < 8; i++) r[i] = begin_of(program);
    for (int i = 0; i < 8; i++) use_all(r[i], "a"), cji_disk_recent_end(r[i]);
    for (int i = 0; i < 2; i++) run(program, "a");
    tap_is_str(listed(), "ab", "eight processes at a time are one run");
    run(program, "a");
    tap_is_str(listed(), "a", "one of four");
}

static void other_builds(void)
{
    const cji_hash128 other = { { 1, 3 } };
    begin_anew();
    run(program, "ab");
    cji_disk_ready *ready = cji_disk_prepare();
    cji_disk_recent *r = cji_disk_recent_begin(program, other, ready);
    tap_is_str(letters_of(&r->listed), "", "another build of the driver or of cujit has another list");
    use_all(r, "c");
    cji_disk_recent_end(r);
    cji_disk_unprepare(ready);
    tap_is_str(listed(), "ba", "and leaves that of the first as it is");
}

int main(void)
{
    char name[CJI_DISK_NAME];
    tap_plan(0);
    folder = cache_folder();
    setenv("CUJIT_CACHE_DIR", folder.path, 1);
    unsetenv("CUJIT_CACHE");
    cji_disk_recent_name(name, program, build);
    snprintf(path, sizeof path, "%.900s/%s", folder.path, name);
    keys();
    later_runs();
    at_a_time();
    programs();
    damaged();
    other_kinds();
    writes_fail();
    folders_change();
    forked();
    swept();
    cleaned();
    many();
    swept_by_lists();
    unused_keys();
    other_builds();
    cache_folder_remove(&folder);
    return tap_done();
}
