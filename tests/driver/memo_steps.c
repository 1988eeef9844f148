/* How many values a call looks at, among many: values under keys are in pages of their own that nobody may touch, and
 * each page that a call needs nevertheless is counted.  Neither a hit nor a value beyond the bound looks at more of
 * them when there are more; and those that were not used for the longest time are released first, exactly. */
#include <cujit/cujit.h>

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "driver/cache/memo.h"
#include "tests/tap.h"

enum { PAGE = 4096, PAGES = 6000, KEY = 40, LEAST = KEY + 32, MOST_BYTES = 120 };

static unsigned char *pages;
static int free_page[PAGES], free_pages;
static volatile sig_atomic_t touched;

/* Entries, which have a key, are the only blocks of such a size. */
static void *paged_realloc(void *user, void *p, size_t old, size_t size)
{
    (void)user, (void)old;
    const bool paged = (unsigned char *)p >= pages && (unsigned char *)p < pages + (size_t)PAGES * PAGE;
    if (!p && size >= LEAST && size <= MOST_BYTES && free_pages) return pages + (size_t)free_page[--free_pages] * PAGE;
    if (!paged && size) return realloc(p, size);
    if (!paged) free(p);
    else if (!size) free_page[free_pages++] = (int)(((unsigned char *)p - pages) / PAGE);
    return NULL;
}

static void open_page(int signal, siginfo_t *info, void *context)
{
    unsigned char *at = info->si_addr;
    (void)signal, (void)context;
    if (at < pages || at >= pages + (size_t)PAGES * PAGE) _Exit(99);
    touched++;
    if (mprotect(pages + (size_t)(at - pages) / PAGE * PAGE, PAGE, PROT_READ | PROT_WRITE)) _Exit(98);
}

/* Not under Valgrind, where what follows a fault may find registers as they were some instructions before. */
static void close_pages(bool closed)
{
    if (tap_under_valgrind()) return;
    if (mprotect(pages, (size_t)PAGES * PAGE, closed ? PROT_NONE : PROT_READ | PROT_WRITE)) tap_bail("mprotect");
    touched = 0;
}

/* -- Values: numbers that need no memory --------------------------------------------------------------------------- */

static void keep_number(void *value) { (void)value; }
static bool any_number(const void *value) { return value != NULL; }
static const cji_memo_rules rules = { keep_number, keep_number, any_number, NULL };
static void *same_number(void *user) { return user; }

static cji_memo_how get(cji_memo *memo, uint32_t number)
{
    unsigned char key[KEY] = { 0 };
    cji_memo_how how;
    memcpy(key, &number, sizeof number);
    cji_memo_get(memo, key, sizeof key, same_number, (void *)(uintptr_t)(number + 1), &how);
    return how;
}

static void steps(void)
{
    static const struct { const char *name; bool hit; int most; } rows[] = {
        { "a hit", true, 8 }, { "a value beyond the bound", false, 40 } /* there are 16 lists */
    };
    enum { CALLS = 64 };
    for (uint32_t n = 1000; n <= 4000; n += 3000) {
        cji_memo *memo = cji_memo_create(&rules, n);
        uint32_t seed = 1, fresh = n;
        close_pages(false);
        for (uint32_t i = 0; i < n; i++) get(memo, i);
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
            int sum = 0, wrong = 0;
            for (int i = 0; i < CALLS; i++) {
                seed = seed * 1664525 + 1013904223;
                close_pages(true);
                const cji_memo_how how = get(memo, rows[r].hit ? (seed >> 8) % n : fresh++);
                sum += (int)touched;
                wrong += how != (rows[r].hit ? CJI_MEMO_HIT : CJI_MEMO_BUILT);
            }
            tap_is_int(wrong, 0, "of %u: %s is one", n, rows[r].name);
            if (tap_under_valgrind()) {
                tap_skip(1, "Valgrind: how many values %s looks at", rows[r].name);
                continue;
            }
            tap_ok(sum <= rows[r].most * CALLS, "of %u: %s looks at few values: %d, of %d at most", n, rows[r].name,
                   sum / CALLS, rows[r].most);
        }
        close_pages(false);
        cji_memo_free(memo);
        tap_is_int(free_pages, PAGES, "of %u: nothing is left", n);
    }
}

/* Against a model: each key's latest use. */
static void oldest_first(void)
{
    enum { KEYS = 700, MOST = 300, GETS = 9000 };
    static uint32_t used[KEYS]; /* 0: it has no value */
    cji_memo *memo = cji_memo_create(&rules, MOST);
    uint32_t seed = 7, have = 0, wrong = 0;
    for (uint32_t now = 1; now <= GETS; now++) {
        seed = seed * 1664525 + 1013904223;
        const uint32_t key = (seed >> 8) % KEYS, near = (seed >> 20) % 40;
        const uint32_t number = seed >> 31 ? key : near; /* half of them use a few keys */
        wrong += get(memo, number) != (used[number] ? CJI_MEMO_HIT : CJI_MEMO_BUILT);
        if (!used[number]) have++;
        used[number] = now;
        for (; have > MOST; have--) {
            uint32_t oldest = number;
            for (uint32_t i = 0; i < KEYS; i++)
                if (used[i] && used[i] < used[oldest]) oldest = i;
            used[oldest] = 0;
        }
    }
    tap_is_uint(wrong, 0, "%d of %d keys: those that were not used for the longest time go first", MOST, KEYS);
    cji_memo_clear(memo);
    tap_is_int(free_pages, PAGES, "cleared: nothing is left");
    tap_is_int(get(memo, 1), CJI_MEMO_BUILT, "and built anew");
    cji_memo_free(memo);
}

int main(void)
{
    const struct sigaction action = { .sa_sigaction = open_page, .sa_flags = SA_SIGINFO };
    tap_plan(0);
    pages = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) tap_bail("no pages");
    for (free_pages = 0; free_pages < PAGES; free_pages++) free_page[free_pages] = PAGES - 1 - free_pages;
    if (cj_set_allocator(paged_realloc, NULL) != CJ_OK || sigaction(SIGSEGV, &action, NULL)) tap_bail("no allocator");
    steps();
    oldest_first();
    return tap_done();
}
