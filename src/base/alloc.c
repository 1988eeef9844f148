/* The allocator hook: every block of the library comes from here. */
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#include "base/obj.h"
#include "base/process.h"

static void *libc_realloc(void *user, void *p, size_t old, size_t size)
{
    (void)user;
    (void)old;
    if (size == 0) {
        free(p);
        return NULL;
    }
    return realloc(p, size);
}

void *cji_realloc(void *p, size_t old, size_t size)
{
    const cji_hooks *h = &cji_process.hooks;
    return h->realloc_fn ? h->realloc_fn(h->realloc_user, p, old, size) : libc_realloc(NULL, p, old, size);
}

void *cji_alloc(size_t size) { return cji_realloc(NULL, 0, size ? size : 1); }

void *cji_zalloc(size_t size)
{
    void *p = cji_alloc(size);
    if (p) memset(p, 0, size ? size : 1);
    return p;
}

void cji_free(void *p, size_t size)
{
    if (p) cji_realloc(p, size ? size : 1, 0);
}

char *cji_strdup(const char *s)
{
    size_t n = strlen(s) + 1;
    char *p = cji_alloc(n);
    if (p) memcpy(p, s, n);
    return p;
}

void cji_strfree(char *s)
{
    if (s) cji_free(s, strlen(s) + 1);
}

/* An array begins with room for eight elements, or for more small ones. */
enum { FIRST_BYTES = 128 };

bool cji_grow(void *p, size_t *cap, size_t need, size_t each)
{
    void *old;
    if (need <= *cap) return true;
    size_t want = *cap ? *cap : each > FIRST_BYTES / 8 ? 8 : FIRST_BYTES / (each ? each : 1);
    while (want < need) {
        if (want > SIZE_MAX / 2) return false;
        want *= 2;
    }
    if (each && want > SIZE_MAX / each) return false;
    memcpy(&old, p, sizeof old); /* `p` points to a pointer of the caller's type */
    void *fresh = cji_realloc(old, *cap * each, want * each);
    if (!fresh) return false;
    memcpy(p, &fresh, sizeof fresh);
    *cap = want;
    return true;
}

/* -- The hook itself ----------------------------------------------------------------------------------------------- */

void cji_set_hook(cj_realloc_fn fn, void *user)
{
    cji_process.hooks.realloc_fn = fn;
    cji_process.hooks.realloc_user = user;
}

void cji_get_hook(cj_realloc_fn *fn, void **user)
{
    *fn = cji_process.hooks.realloc_fn;
    *user = cji_process.hooks.realloc_user;
}

cj_status cj_set_allocator(cj_realloc_fn fn, void *user)
{
    if (cji_objects_exist())
        return cji_fail(NULL, CJ_EBUSY, "cj_set_allocator",
                        "the allocator can only be set before the first object is made");
    cji_set_hook(fn, user);
    return CJ_OK;
}
