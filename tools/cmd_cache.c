/* cujit cache: what is in the kernel cache on disk, and what is removed from it. */
#include <cujit/cujit.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/environment.h"
#include "cmd.h"
#include "json.h"

const char cmd_cache_help[] =
    "Usage: cujit cache stats|list|verify|prune|clear [OPTIONS]\n"
    "\n"
    "Shows and cleans the kernel cache on disk. Programs may use the cache meanwhile.\n"
    "\n"
    "  stats     the folder, the number of entries and of lists of what programs used lately, their bytes,\n"
    "            the limit, and whether the folder is full\n"
    "  list      the entries, the latest used one first: key, size, time since the latest use, device,\n"
    "            driver, kernels\n"
    "  verify    reads each entry and prints those that are damaged or cannot be read\n"
    "  prune     removes the entries and lists that were not used for the longest time, as a program does\n"
    "            once an hour: 80 % of the limit are left when there is more; and what killed programs left\n"
    "            behind, and the lists of programs that did not run for 30 days; and counts what is left\n"
    "  clear     removes all entries and lists\n"
    "\n"
    "Files of other names stay, whatever they are.\n"
    "\n"
    "  --dir FOLDER         an absolute path instead of the folder of $CUJIT_CACHE_DIR, which is cujit in\n"
    "                       $XDG_CACHE_HOME or ~/.cache/cujit when it is unset\n"
    "  --json               for programs\n"
    "  --remove             of verify: removes the entries that are damaged\n"
    "  --max-bytes SIZE     of prune: leaves at most so much, 500M or 2G; 0 leaves nothing\n"
    "  --older-than AGE     of prune: removes what was not used for so long, 90m, 12h, 30d or 4w\n"
    "\n"
    "Exits with 1 when verify finds such an entry, and when an entry cannot be removed.\n";

typedef struct cache_request {
    const char *what, *dir;
    bool as_json, remove;
    uint64_t max_bytes, max_age;
} cache_request;

/* ---- Values for people ------------------------------------------------------------------------------------------- */

typedef struct short_text { char text[24]; } short_text;

/* 512 B, 1.5 MiB */
static short_text text_of_bytes(uint64_t bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    short_text t;
    double x = (double)bytes;
    size_t unit = 0;
    while (x >= 1024 && unit + 1 < sizeof units / sizeof *units) x /= 1024, unit++;
    snprintf(t.text, sizeof t.text, "%.*f %s", unit ? 1 : 0, x, units[unit]);
    return t;
}

/* A use is noted to the hour. */
static short_text text_of_age(int64_t used)
{
    static const struct { int64_t seconds; const char *unit; } units[] = { { 86400, "d" }, { 3600, "h" } };
    short_text t = { "< 1 h" };
    const int64_t age = (int64_t)time(NULL) - used;
    if (used == 0) return (short_text){ "not known" };
    for (size_t i = 0; i < 2; i++) {
        if (age < units[i].seconds) continue;
        snprintf(t.text, sizeof t.text, "%" PRId64 " %s", age / units[i].seconds, units[i].unit);
        break;
    }
    return t;
}

static const char *plural(uint64_t n, const char *one, const char *many) { return n == 1 ? one : many; }

/* ---- stats ------------------------------------------------------------------------------------------------------- */

/* The sentence of a failure, without the call's name. */
static const char *failure_of(const cj_disk_cache *c)
{
    const cj_error *e = cj_error_of(c);
    const size_t n = strlen(e->call);
    return strncmp(e->message, e->call, n) || strncmp(e->message + n, ": ", 2) ? e->message : e->message + n + 2;
}

static cj_disk_cache_stats stats_of(cj_disk_cache *c)
{
    cj_disk_cache_stats s;
    cj_disk_cache_stats_defaults(&s);
    cj_disk_cache_get_stats(c, &s);
    return s;
}

static void show_use(const char *which, int64_t used)
{
    printf("%s use  %s%s\n", which, text_of_age(used).text, used ? " ago" : "");
}

static void show_stats(cj_disk_cache *c)
{
    const cj_disk_cache_stats s = stats_of(c);
    printf("folder      %s\n", cj_disk_cache_path(c));
    printf("entries     %" PRIu64 "\n", s.entries);
    if (s.lists)
        printf("lists       %" PRIu64 " (%s; what programs used lately)\n", s.lists, text_of_bytes(s.list_bytes).text);
    printf("size        %s of %s\n", text_of_bytes(s.bytes + s.list_bytes).text, text_of_bytes(s.limit).text);
    if (s.full)
        printf("full        yes: %s are left until a program counts the files, once an hour; `prune` does it now\n",
               text_of_bytes(s.left).text);
    if (s.entries) show_use("latest", s.latest);
    if (s.entries) show_use("oldest", s.oldest);
    if (s.unfinished)
        printf("unfinished  %" PRIu64 " (being written, or left by programs that were killed)\n", s.unfinished);
    if (!s.on) printf("used        no: CUJIT_CACHE is %s\n", cji_env_get(CJI_ENV_CACHE));
}

static void json_stats(json *j, cj_disk_cache *c)
{
    const cj_disk_cache_stats s = stats_of(c);
    json_bool(j, "exists", true);
    json_bool(j, "on", s.on);
    json_integer(j, "entries", (int64_t)s.entries);
    json_integer(j, "bytes", (int64_t)s.bytes);
    json_integer(j, "lists", (int64_t)s.lists);
    json_integer(j, "list_bytes", (int64_t)s.list_bytes);
    json_integer(j, "limit", (int64_t)s.limit);
    json_integer(j, "left", (int64_t)s.left);
    json_bool(j, "full", s.full);
    json_integer(j, "unfinished", (int64_t)s.unfinished);
    json_integer(j, "oldest", s.oldest);
    json_integer(j, "latest", s.latest);
}

/* ---- list, verify ------------------------------------------------------------------------------------------------ */

static void show_entry(const cj_disk_entry *e)
{
    if (*e->problem) {
        puts(e->problem);
        return;
    }
    printf("%s %10s %9s  %-8s %-10s", e->key, text_of_bytes(e->bytes).text, text_of_age(e->used).text, e->device,
           e->driver);
    for (size_t i = 0; i < e->nkernels; i++) printf("%s %s", i ? "," : "", e->kernels[i]);
    putchar('\n');
}

static void json_entry(json *j, const cj_disk_entry *e)
{
    json_open(j, NULL, '{');
    json_string(j, "key", e->key);
    json_integer(j, "bytes", (int64_t)e->bytes);
    json_integer(j, "used", e->used);
    json_bool(j, "damaged", e->damaged);
    if (*e->problem) {
        json_string(j, "problem", e->problem);
    } else {
        json_string(j, "device", e->device);
        json_string(j, "driver", e->driver);
        json_integer(j, "code_bytes", (int64_t)e->code_bytes);
        json_open(j, "kernels", '[');
        for (size_t i = 0; i < e->nkernels; i++) json_string(j, NULL, e->kernels[i]);
        json_close(j, ']');
    }
    json_close(j, '}');
}

/* Each entry, or each with a problem.  *problems: how many of these.  False: a call failed. */
static bool each_entry(cj_disk_cache *c, const cache_request *r, bool all, json *j, uint64_t *problems)
{
    uint64_t n = stats_of(c).entries;
    *problems = 0;
    for (size_t i = 0; i < n;) {
        cj_disk_entry e;
        cj_disk_entry_defaults(&e);
        if (cj_disk_cache_get_entry(c, i, &e) != CJ_OK) return false;
        *problems += *e.problem != 0;
        if (all || *e.problem) {
            if (j) json_entry(j, &e);
            else show_entry(&e);
        }
        if (!r->remove || !e.damaged) i++;
        else if (cj_disk_cache_remove(c, i) == CJ_OK) n--;
        else return false;
    }
    return true;
}

static int cache_entries(cj_disk_cache *c, const cache_request *r, json *j)
{
    const bool verify = !strcmp(r->what, "verify");
    const uint64_t n = stats_of(c).entries;
    uint64_t problems;
    if (j) json_open(j, verify ? "problems" : "list", '[');
    else if (!verify && n)
        printf("%-32s %10s %9s  %-8s %-10s %s\n", "key", "size", "unused", "device", "driver", "kernels");
    const bool good = each_entry(c, r, !verify, j, &problems);
    if (j) json_close(j, ']');
    if (verify && !j)
        printf("%" PRIu64 " %s verified, %" PRIu64 " with a problem, %" PRIu64 " removed\n", n,
               plural(n, "entry", "entries"), problems, stats_of(c).removed);
    if (!good) fprintf(stderr, "cujit cache: %s\n", failure_of(c));
    return good && (!verify || !problems) ? EXIT_FINE : EXIT_REJECTED;
}

/* ---- prune, clear ------------------------------------------------------------------------------------------------ */

static int cache_removal(cj_disk_cache *c, const cache_request *r, json *j)
{
    cj_disk_prune_opts o;
    cj_disk_prune_defaults(&o);
    o.max_bytes = r->max_bytes;
    o.max_age_s = r->max_age;
    const cj_status st = strcmp(r->what, "clear") ? cj_disk_cache_prune(c, &o) : cj_disk_cache_clear(c);
    const cj_disk_cache_stats s = stats_of(c);
    if (j) {
        json_integer(j, "removed", (int64_t)s.removed);
        json_integer(j, "removed_lists", (int64_t)s.removed_lists);
        json_integer(j, "removed_bytes", (int64_t)s.removed_bytes);
    } else {
        printf("%" PRIu64 " %s", s.removed, plural(s.removed, "entry", "entries"));
        if (s.removed_lists) printf(" and %" PRIu64 " %s", s.removed_lists, plural(s.removed_lists, "list", "lists"));
        printf(" removed (%s), %" PRIu64 " left (%s)\n", text_of_bytes(s.removed_bytes).text, s.entries,
               text_of_bytes(s.bytes).text);
    }
    if (st != CJ_OK) fprintf(stderr, "cujit cache: %s\n", failure_of(c));
    return st == CJ_OK ? EXIT_FINE : EXIT_REJECTED;
}

/* ---- All --------------------------------------------------------------------------------------------------------- */

static int cache_run(cj_disk_cache *c, const cache_request *r)
{
    json writer = { .file = stdout }, *j = r->as_json ? &writer : NULL;
    int status = EXIT_FINE;
    if (!stats_of(c).on && !j && strcmp(r->what, "stats"))
        fprintf(stderr, "cujit cache: CUJIT_CACHE is %s, so programs with this environment do not use the cache\n",
                cji_env_get(CJI_ENV_CACHE));
    if (j) {
        json_open(j, NULL, '{');
        json_string(j, "folder", cj_disk_cache_path(c));
    }
    if (!strcmp(r->what, "list") || !strcmp(r->what, "verify")) status = cache_entries(c, r, j);
    else if (strcmp(r->what, "stats")) status = cache_removal(c, r, j);
    else if (!j) show_stats(c);
    if (!j) return status;
    json_stats(j, c);
    json_close(j, '}');
    return status;
}

/* A folder that does not exist has no entries; any other failure is one of the command. */
static int cache_missing(const cj_disk_cache *c, const cache_request *r)
{
    json j = { .file = stdout };
    if (cj_error_of(c)->status != CJ_ENOTFOUND) {
        fprintf(stderr, "cujit cache: %s\n", failure_of(c));
        return EXIT_USAGE;
    }
    if (!r->as_json) {
        puts(failure_of(c));
        return EXIT_FINE;
    }
    json_open(&j, NULL, '{');
    json_string(&j, "why", failure_of(c));
    json_bool(&j, "exists", false);
    json_integer(&j, "entries", 0);
    json_integer(&j, "bytes", 0);
    json_close(&j, '}');
    return EXIT_FINE;
}

/* ---- The request ------------------------------------------------------------------------------------------------- */

typedef struct value_unit { char letter; uint64_t factor; } value_unit;

/* A number and a unit's letter. */
static bool read_value(const char *text, const value_unit *units, size_t n, uint64_t *value)
{
    const char *end = text;
    uint64_t x = 0;
    for (; *end >= '0' && *end <= '9'; end++) {
        const uint64_t digit = (uint64_t)(*end - '0');
        if (x > (UINT64_MAX - digit) / 10) return false;
        x = 10 * x + digit;
    }
    for (size_t i = 0; i < n; i++) {
        if (units[i].letter != *end || (*end && end[1])) continue;
        *value = x * units[i].factor;
        return end != text && *value / units[i].factor == x;
    }
    return false;
}

static bool read_size(const char *text, uint64_t *bytes)
{
    static const value_unit units[] = { { 0, 1 }, { 'K', 1 << 10 }, { 'M', 1 << 20 }, { 'G', 1 << 30 },
                                        { 'T', UINT64_C(1) << 40 } };
    if (!read_value(text, units, sizeof units / sizeof *units, bytes)) return false;
    if (!*bytes) *bytes = 1; /* what has a byte does not stay */
    return true;
}

static bool read_age(const char *text, uint64_t *seconds)
{
    static const value_unit units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 }, { 'w', 604800 } };
    return read_value(text, units, sizeof units / sizeof *units, seconds) && *seconds;
}

/* NULL; else what is wrong with the option, whose value is `value`; *about: what that is said of. */
static const char *take_option(cache_request *r, const char *option, const char *value, const char **about)
{
    const bool prune = !strcmp(r->what, "prune");
    const bool size = prune && !strcmp(option, "--max-bytes"), age = prune && !strcmp(option, "--older-than");
    *about = option;
    if (!strcmp(option, "--json")) return r->as_json = true, NULL;
    if (!strcmp(option, "--remove") && !strcmp(r->what, "verify")) return r->remove = true, NULL;
    if (!strcmp(option, "--dir")) return r->dir = value, value ? NULL : "a folder is missing behind";
    if (!size && !age) return "no option";
    if (!value && size) return "a size such as 500M or 2G is missing behind";
    if (!value) return "an age such as 12h or 30d is missing behind";
    *about = value;
    if (size) return read_size(value, &r->max_bytes) ? NULL : "no size, as 500M, 2G or 1T is, behind --max-bytes:";
    return read_age(value, &r->max_age) ? NULL : "no age, as 90m, 12h, 30d or 4w is, behind --older-than:";
}

int cmd_cache(int argc, char **argv)
{
    static const char *const words[] = { "stats", "list", "verify", "prune", "clear" };
    cache_request r = { .what = argc > 1 ? argv[1] : "" };
    size_t known = 0, n = sizeof words / sizeof *words;
    if (argc < 2) return cmd_usage("cache", "stats, list, verify, prune or clear is missing", "");
    while (known < n && strcmp(r.what, words[known])) known++;
    if (known == n) return cmd_usage("cache", "neither stats, list, verify, prune nor clear:", r.what);
    for (int i = 2; i < argc; i++) {
        const char *option = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        const char *about, *wrong = take_option(&r, option, value, &about);
        if (wrong) return cmd_usage("cache", wrong, about);
        i += strcmp(option, "--json") && strcmp(option, "--remove");
    }
    cj_disk_cache *c = cj_disk_cache_open(r.dir);
    const int status = cj_error_of(c)->status ? cache_missing(c, &r) : cache_run(c, &r);
    cj_disk_cache_close(c);
    return status;
}
