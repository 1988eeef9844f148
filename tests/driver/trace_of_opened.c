/* CUJIT_TRACE and CUJIT_FAULT see each driver that is opened, however it is named; a driver too many is opened without
 * them. */
#include <cujit/cujit.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/tap.h"

static char trace[] = "/tmp/cujit-opened-XXXXXX";
static cj_driver *device; /* the CPU device, opened without the variables */

static void *device_symbol(void *user, const char *symbol)
{
    (void)user;
    return cj_driver_symbol(device, symbol);
}

/* How often the trace has a call. */
static int traced(const char *call)
{
    static char text[1 << 18];
    FILE *f = fopen(trace, "r");
    const size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    int found = 0;
    if (f) fclose(f);
    text[n] = 0;
    for (const char *p = text; (p = strstr(p, call)); p++) found++;
    return found;
}

static const struct {
    const char *name, *which; /* which "lib": the file of the tests' libcuda; "by": through a resolver */
    const char *kind;
} cases[] = {
    { "auto without a GPU", "auto", "sim" },
    { "sim", "sim", "sim" },
    { "cuda", "cuda", "cuda" },
    { "a path", "lib", "custom" },
    { "a resolver", "by", "custom" },
};

static cj_driver *open_as(const char *which, const char *library)
{
    const bool cuda = !strcmp(which, "cuda");
    setenv("CUJIT_LIBCUDA", cuda ? library : "/nonexistent/libcuda.so.1", 1);
    if (!strcmp(which, "by")) return cj_driver_open_resolver(device_symbol, NULL);
    return cj_driver_open(!strcmp(which, "lib") ? library : which);
}

static int told(void)
{
    char line[600];
    int n = 0;
    while (cj_log_read(line, sizeof line))
        n += strstr(line, "CUJIT_TRACE, CUJIT_RECORD and CUJIT_FAULT have no effect") != NULL;
    return n;
}

int main(void)
{
    char library[1024];
    snprintf(library, sizeof library, "%s", tap_build("tests/driver/.libs/libfakecuda.so"));
    tap_plan(0);
    const int fd = mkstemp(trace);
    if (fd < 0) tap_bail("no file");
    close(fd);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bool resolver = !strcmp(cases[i].which, "by");
        if (resolver) unsetenv("CUJIT_TRACE"), device = cj_driver_open("sim");
        setenv("CUJIT_TRACE", trace, 1);
        const int before = traced("cuInit(");
        cj_driver *drv = open_as(cases[i].which, library);
        tap_is_int(cj_error_of(drv)->status, CJ_OK, "%s: it opens (%s)", cases[i].name, cj_error_of(drv)->message);
        tap_is_str(cj_driver_kind(drv), cases[i].kind, "%s: kind", cases[i].name);
        tap_is_int(traced("cuInit("), before + 1, "%s: its calls are in the trace", cases[i].name);
        tap_is_int((int)cj_interposer_calls(drv) > 0, 1, "%s: they are counted", cases[i].name);
        cj_driver_close(drv);
        setenv("CUJIT_FAULT", "cuInit:1:999", 1);
        drv = open_as(cases[i].which, library);
        tap_is_int(cj_error_of(drv)->status, CJ_EDRIVER, "%s: its first call fails", cases[i].name);
        cj_driver_close(drv);
        unsetenv("CUJIT_FAULT");
    }
    enum { MANY = 5, ROOM = 3 };
    cj_driver *many[MANY];
    const int before = traced("cuInit(");
    told();
    int open = 0;
    for (int i = 0; i < MANY; i++) {
        many[i] = open_as("by", library);
        open += cj_error_of(many[i])->status == CJ_OK;
    }
    tap_is_int(open, MANY, "any number of drivers opens");
    tap_is_int(traced("cuInit("), before + ROOM, "as many as there is room for are traced");
    tap_is_int(told(), MANY - ROOM, "the log names each other one");
    for (int i = 0; i < MANY; i++) cj_driver_close(many[i]);
    unsetenv("CUJIT_TRACE");
    cj_driver_close(device);
    unlink(trace);
    return tap_done();
}
