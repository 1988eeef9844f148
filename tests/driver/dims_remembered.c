/* The dimensions that a kernel's launch accepted last are noted without a lock: a mixture of two is never taken for
 * accepted, nor are any before the first, nor any that cuLaunchKernel does not take. */
#include <pthread.h>

#include "driver/driver.h"
#include "tests/tap.h"

enum { THREADS = 3, ROUNDS = 20000 };

static cj_kernel k;
static atomic_bool over;

static cj_dims all_of(uint32_t x)
{
    cj_dims d = { .grid = { x, x, x }, .block = { x, x, x }, .shared = x };
    return d;
}

static void *note(void *user)
{
    uint32_t x = (uint32_t)(uintptr_t)user;
    for (int i = 0; i < ROUNDS; i++) {
        cj_dims d = all_of(x);
        cji_dims_note(&k, &d);
    }
    return NULL;
}

/* How often something was known that nobody noted; `user` counts what was noted and known. */
static void *look(void *user)
{
    intptr_t wrong = 0;
    int *right = user;
    cj_dims mixed = all_of(1);
    mixed.block[2] = mixed.shared = 2;
    while (!atomic_load(&over)) {
        cj_dims one = all_of(1);
        *right += cji_dims_known(&k, &one);
        wrong += cji_dims_known(&k, &mixed);
    }
    return (void *)wrong;
}

int main(void)
{
    pthread_t writer[THREADS], reader;
    void *wrong;
    int right = 0;
    cj_dims none = { .shared = 0 }, one = all_of(1), other = all_of(1);
    tap_plan(0);
    tap_ok(!cji_dims_known(&k, &none), "before the first launch nothing is known, zeros neither");
    cji_dims_note(&k, &one);
    tap_ok(cji_dims_known(&k, &one), "what was accepted is known");
    for (size_t i = 0; i < sizeof other / sizeof(uint32_t); i++) {
        other = one;
        ((uint32_t *)(void *)&other)[i]++;
        tap_ok(!cji_dims_known(&k, &other), "... but not with another word %zu", i);
        if (i < 6 || i == 9) continue; /* grid, block, shared */
        cji_dims_note(&k, &other);
        tap_ok(!cji_dims_known(&k, &other), "... nor is that noted");
    }
    pthread_create(&reader, NULL, look, &right);
    for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&writer[i], NULL, note, (void *)(i % 2 + 1));
    for (int i = 0; i < THREADS; i++) pthread_join(writer[i], NULL);
    atomic_store(&over, true);
    pthread_join(reader, &wrong);
    tap_is_int((intptr_t)wrong, 0, "threads that note theirs meanwhile: no mixture is known");
    cji_dims_note(&k, &one);
    tap_ok(cji_dims_known(&k, &one), "and the next one is known");
    return tap_done();
}
