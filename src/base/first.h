/* The way of a first launch: code that most processes run once, between a load whose kernel is in the cache and the
 * return of the first launch.  Prefix cji_first.
 *
 * The processor has none of this code in its caches then, and waits for nearly every line of it.  The functions stand
 * together, so that all lines are fetched at once: the processor waits for the first one only, and looks up a few pages
 * in place of many.  Each load fetches them, and so does the first module.  A function that is left out costs nothing
 * but its own lines.
 *
 *     static CJI_FIRST void compile(...)      // its definition */
#ifndef CJI_FIRST_H
#define CJI_FIRST_H

/* Linkers of GNU put .text.sorted.* into .text in the order of their names (2.36): first the begin, then the functions,
 * then the end (first.c).  What another linker makes of it is no range or a long one, and nothing is fetched. */
#define CJI_FIRST_PART(part) __attribute__((section(".text.sorted.cji_first." part)))
#define CJI_FIRST CJI_FIRST_PART("1")

/* Fetches the functions, without waiting for them. */
void cji_first_fetch(void);
/* The same, once in a process: ahead of the first load, while its module is being built. */
void cji_first_fetch_early(void);

#endif
