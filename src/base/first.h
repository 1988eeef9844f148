/* The way of a first launch: code that most processes run once, between a load whose kernel is in the cache and the
 * return of the first launch.  Prefix cji_first.
 *
 * The processor has none of this code in its caches then, and waits for nearly every line of it.  The functions stand
 * together in a section of their own, so that a load fetches all lines at once: the processor waits for the first one
 * only, and looks up a few pages in place of many.  A function that is left out costs nothing but that.
 *
 *     static CJI_FIRST void compile(...)      // its definition */
#ifndef CJI_FIRST_H
#define CJI_FIRST_H

#define CJI_FIRST __attribute__((section("cji_first")))

/* Where the section begins and ends: the linker's symbols. */
extern const char cji_first_begin[] __asm__("__start_cji_first") __attribute__((visibility("hidden")));
extern const char cji_first_end[] __asm__("__stop_cji_first") __attribute__((visibility("hidden")));

enum { CJI_FIRST_LINE = 64 }; /* bytes of a line of the processor's cache, on the usual ones */

/* Fetches the section, without waiting for it. */
static inline void cji_first_fetch(void)
{
    for (const char *p = cji_first_begin; p < cji_first_end; p += CJI_FIRST_LINE) __builtin_prefetch(p, 0, 3);
}

#endif
