/* A CUJIT_SIM that is not this build's CPU device: no library, another library, another build. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cujit/sim.h>

#include "driver/driver.h"
#include "tests/tap.h"

static const struct { const char *name, *file; const char *says;
} files[] = {
    { "a file that is not there", "/nonexistent/libcujit-sim.so",
      "/nonexistent/libcujit-sim.so: not found); CUJIT_SIM may name its file" },
    { "a folder", "/", "cannot be loaded" },
    { "a text", "/etc/passwd", "/etc/passwd cannot be loaded: " },
    { "another library", "tests/driver/.libs/libfakecuda.so",
      "libfakecuda.so is not the CPU device of cujit: it has no cujit_sim_setup" },
    { "another build", "tests/driver/.libs/libothersim.so",
      "libothersim.so cannot be used: libcujit.so.0 and libcujit-sim.so are not of one build" },
};

/* The CPU device itself, asked by somebody of another build. */
static const struct { const char *name; uint32_t abi; const char *build; const char *says;
} setups[] = {
    { "another abi", CUJIT_SIM_ABI + 1, NULL, "are not of one build" },
    { "another build", CUJIT_SIM_ABI, "0.0.1+0123456789abcdef",
      "(build 0.0.1+0123456789abcdef, abi 1) and the CPU device " },
    { "no build", CUJIT_SIM_ABI, "", "are not of one build" },
};

static void setup_by_others(const char *sim)
{
    cj_status (*setup)(uint32_t, const char *, cj_realloc_fn, void *, cj_log_fn, void *);
    const char *(*complaint)(void);
    void *lib = dlopen(sim, RTLD_NOW | RTLD_LOCAL), *a = lib ? dlsym(lib, "cujit_sim_setup") : NULL,
         *b = lib ? dlsym(lib, "cujit_sim_complaint") : NULL;
    if (!a || !b) tap_bail("%s: %s", sim, dlerror());
    memcpy(&setup, &a, sizeof setup);
    memcpy(&complaint, &b, sizeof complaint);
    for (size_t i = 0; i < sizeof setups / sizeof *setups; i++) {
        char own[64];
        snprintf(own, sizeof own, CUJIT_SIM_BUILD_FORMAT, cj_version(), (unsigned long long)cj_table_hash());
        tap_is_int(setup(setups[i].abi, setups[i].build ? setups[i].build : own, NULL, NULL, NULL, NULL), CJ_ENOTSUP,
                   "%s is rejected", setups[i].name);
        tap_has_str(complaint(), setups[i].says, "%s: the sentence", setups[i].name);
        tap_has_str(complaint(), "libcujit-sim.so", "%s: the file is named", setups[i].name);
    }
}

int main(void)
{
    const char *sim = getenv("CUJIT_SIM");
    char good[1024];
    tap_plan(0);
    if (!sim) tap_bail("CUJIT_SIM is not set");
    snprintf(good, sizeof good, "%s", sim);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        setenv("CUJIT_SIM", *files[i].file == '/' ? files[i].file : tap_build(files[i].file), 1);
        cj_driver *drv = cj_driver_open("sim");
        tap_is_int(cj_error_of(drv)->status, CJ_ENODRIVER, "%s: status", files[i].name);
        tap_has_str(cj_error_of(drv)->message, files[i].says, "%s: message", files[i].name);
        tap_is_str(cj_driver_kind(drv), "failed", "%s: kind", files[i].name);
        cj_driver_close(drv);
    }
    setup_by_others(good);
    setenv("CUJIT_SIM", good, 1);
    cj_driver *drv = cj_driver_open("sim");
    tap_is_int(cj_error_of(drv)->status, CJ_OK, "the right one opens after all that (%s)", cj_error_of(drv)->message);
    tap_is_str(cj_driver_kind(drv), "sim", "and is the CPU device");
    cj_driver_close(drv);
    return tap_done();
}
