/* Drives the library as a language runtime does: by dlopen and dlsym alone, without a header of it; handles are
 * integers, values and addresses 64-bit integers, kernel arguments pointers with sizes. usage: dlopen_user LIBCUJIT.SO
 * Prints a line twice, and exits with 0 when y = a * x + y came out right on the device that $CUJIT_DRIVER names: each
 * time a new thread loads the library, and one that was there before uses it, too. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { F32 = 19, U32 = 9, DIM_X = 0, ARG_BYTES = 6, COUNT = 1000, TIMES = 2 };

static void *library;

static void *find(const char *name)
{
    void *p = dlsym(library, name);
    if (!p) {
        fprintf(stderr, "dlopen_user: %s\n", dlerror());
        exit(1);
    }
    return p;
}

/* Calls with up to five integers; all of the ABI that is used here is integers in registers. */
typedef uint64_t call0(void);
typedef uint64_t call1(uint64_t);
typedef uint64_t call2(uint64_t, uint64_t);
typedef uint64_t call3(uint64_t, uint64_t, uint64_t);
typedef uint64_t call4(uint64_t, uint64_t, uint64_t, uint64_t);
typedef uint64_t call5(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
#define CALL1(name, a) ((call1 *)(uintptr_t)find(name))(a)
#define CALL2(name, a, b) ((call2 *)(uintptr_t)find(name))(a, b)
#define CALL3(name, a, b, c) ((call3 *)(uintptr_t)find(name))(a, b, c)
#define CALL4(name, a, b, c, d) ((call4 *)(uintptr_t)find(name))(a, b, c, d)
#define CALL5(name, a, b, c, d, e) ((call5 *)(uintptr_t)find(name))(a, b, c, d, e)
#define TEXT(s) ((uint64_t)(uintptr_t)(s))

struct argument { uint32_t kind, size; const void *bytes; };
struct dims { uint32_t grid[3], block[3], cluster[3], shared, cooperative, reserved[5]; };

/* The record's first fields are its status and the driver's; the message stands behind two names. */
static int complain(const char *what, uint64_t object)
{
    const char *record = (const char *)(uintptr_t)CALL1("cj_error_of", object);
    fprintf(stderr, "dlopen_user: %s: %s\n", what, record + 2 * sizeof(int32_t) + 56 + 56);
    return 1;
}

/* -- A thread that is there before the library --------------------------------------------------------------------- */

static pthread_barrier_t turn;
static int early_failed;

static void *use_what_is_loaded(void *user)
{
    for (int i = 0; i < TIMES; i++) {
        pthread_barrier_wait(&turn); /* it is loaded */
        if (library) {
            const int32_t *latest = (const int32_t *)(uintptr_t)((call0 *)(uintptr_t)find("cj_error_last"))();
            early_failed |= i == 0 && *latest != 0;               /* no failure yet */
            early_failed |= (int)CALL1("cj_stream_sync", 0) >= 0; /* now one of its own */
        }
        pthread_barrier_wait(&turn); /* it is closed next */
    }
    return user;
}

/* -- The computation ----------------------------------------------------------------------------------------------- */

static int compute(const char *path)
{
    static float x[COUNT], y[COUNT];
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) fprintf(stderr, "dlopen_user: %s\n", dlerror());
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    if (!library) return 1;

    uint64_t m = CALL1("cj_ptx_create", 0), f = CALL2("cj_ptx_kernel", m, TEXT("saxpy"));
    uint64_t px = CALL3("cj_param_ptr", f, TEXT("x"), F32), py = CALL3("cj_param_ptr", f, TEXT("y"), F32);
    uint64_t a = CALL3("cj_param", f, TEXT("a"), F32), n = CALL3("cj_param", f, TEXT("n"), U32);
    uint64_t i = CALL2("cj_global_id", f, DIM_X);
    CALL2("cj_if", f, CALL3("cj_lt", f, i, n));
    uint64_t xi = CALL3("cj_get", f, px, i), yi = CALL3("cj_get", f, py, i);
    CALL4("cj_set", f, py, i, CALL4("cj_fma", f, a, xi, yi));
    CALL1("cj_end", f);

    uint64_t driver = CALL1("cj_driver_open", 0), device = CALL3("cj_device_open", driver, 0, 0);
    uint64_t stream = CALL2("cj_stream_create", device, 0),
             kernel = CALL4("cj_kernel_load", device, m, TEXT("saxpy"), 0);
    uint64_t dx = CALL2("cj_alloc", stream, sizeof x), dy = CALL2("cj_alloc", stream, sizeof y);
    for (int j = 0; j < COUNT; j++) x[j] = (float)j, y[j] = 1;
    CALL4("cj_copy_to_device", stream, dx, TEXT(x), sizeof x);
    CALL4("cj_copy_to_device", stream, dy, TEXT(y), sizeof y);

    float factor = 2;
    uint32_t count = COUNT;
    struct argument arguments[] = {
        { ARG_BYTES, 8, &dx }, { ARG_BYTES, 8, &dy }, { ARG_BYTES, 4, &factor }, { ARG_BYTES, 4, &count }
    };
    struct dims dims = { .grid = { (COUNT + 127) / 128, 1, 1 }, .block = { 128, 1, 1 } };
    CALL5("cj_launch_n", stream, kernel, TEXT(&dims), TEXT(arguments), 4);
    CALL4("cj_copy_to_host", stream, TEXT(y), dy, sizeof y);
    if ((int)CALL1("cj_stream_sync", stream) != 0) return complain("the stream failed", stream);
    for (int j = 0; j < COUNT; j++)
        if (y[j] != 2 * x[j] + 1) return fprintf(stderr, "dlopen_user: y[%d] is %g\n", j, (double)y[j]), 1;

    /* misuse comes back as a status, too */
    if ((int)CALL1("cj_stream_sync", 0) >= 0) return fprintf(stderr, "dlopen_user: no stream was synchronised\n"), 1;
    if ((int)CALL5("cj_launch_n", stream, kernel, TEXT(&dims), TEXT(arguments), 3) >= 0)
        return fprintf(stderr, "dlopen_user: a launch with an argument too few was accepted\n"), 1;

    printf("%s: y[10] = %g\n", (const char *)(uintptr_t)CALL1("cj_device_name", device), (double)y[10]);
    CALL2("cj_free", device, dx);
    CALL2("cj_free", device, dy);
    CALL1("cj_kernel_free", kernel);
    CALL1("cj_ptx_free", m);
    CALL1("cj_driver_close", driver);
    CALL1("cj_device_close", device);
    CALL1("cj_stream_free", stream);
    dlclose(library);
    return 0;
}

static void *compute_in_a_thread(void *path) { return compute(path) == 0 ? path : NULL; }

int main(int argc, char **argv)
{
    pthread_t early, id;
    void *done = argv;
    if (argc != 2) return fprintf(stderr, "usage: dlopen_user LIBCUJIT.SO\n"), 1;
    pthread_barrier_init(&turn, NULL, 2);
    if (pthread_create(&early, NULL, use_what_is_loaded, NULL) != 0) return 1;
    for (int i = 0; i < TIMES && done; i++) {
        if (pthread_create(&id, NULL, compute_in_a_thread, argv[1]) != 0) return 1;
        pthread_join(id, &done);
    }
    if (!done) return 1;
    pthread_join(early, NULL);
    if (early_failed) return fprintf(stderr, "dlopen_user: an earlier thread has another's failure\n"), 1;
    return 0;
}
