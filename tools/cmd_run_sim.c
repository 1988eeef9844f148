/* cujit run-sim: starts a program that uses the driver API with a libcuda.so.1 that is the CPU device. */
#include <cujit/cujit.h>

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/environment.h"
#include "cmd.h"

#ifndef CJI_PKGLIBDIR
#error "CJI_PKGLIBDIR is the folder that the CPU device is installed in"
#endif

const char cmd_run_sim_help[] =
    "Usage: cujit run-sim [--] PROGRAM ARGUMENTS...\n"
    "\n"
    "Runs a program that uses the CUDA driver API (libcuda.so.1) on the CPU device: its folder is the\n"
    "first of LD_LIBRARY_PATH. Programs of the CUDA runtime cannot run on it, since the runtime checks\n"
    "that the driver is NVIDIA's. The exit status is the program's; 127 when there is no such program,\n"
    "126 when it cannot be run.\n";

enum { EXIT_NO_EXEC = 126, EXIT_NO_PROGRAM = 127 };   /* as the shell and env have them */

/* Does FOLDER[/SUB]/as-libcuda hold the shim?  Its path is left in `room`. */
static bool shim_in(const char *folder, size_t length, const char *sub, char *room, size_t size)
{
    char file[4200];
    int n = snprintf(room, size, "%.*s%s/as-libcuda", (int)length, folder, sub);
    if (n <= 0 || (size_t)n >= size) return false;
    snprintf(file, sizeof file, "%s/libcuda.so.1", room);
    return access(file, R_OK) == 0;
}

/* The length of the folder that `file` is in. */
static size_t folder_length(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash ? (size_t)(slash - file) : 0;
}

/* Beside $CUJIT_SIM, in cujit/ beside the library, in the installed place: the order in which the library looks for the
 * CPU device. */
static bool find_shim(char *room, size_t size)
{
    const char *sim = cji_env_get(CJI_ENV_SIM);
    void *ours = dlsym(RTLD_DEFAULT, "cj_version");
    Dl_info info;
    if (sim && strchr(sim, '/')) return shim_in(sim, folder_length(sim), "", room, size);
    if (ours && dladdr(ours, &info) && info.dli_fname && strchr(info.dli_fname, '/') &&
        shim_in(info.dli_fname, folder_length(info.dli_fname), "/cujit", room, size))
        return true;
    return shim_in(CJI_PKGLIBDIR, strlen(CJI_PKGLIBDIR), "", room, size);
}

int cmd_run_sim(int argc, char **argv)
{
    char folder[4096], path[8192];
    if (argc > 1 && !strcmp(argv[1], "--")) argc--, argv++;
    else if (argc > 1 && *argv[1] == '-') return cmd_usage("run-sim", "no option", argv[1]);
    if (argc < 2) return cmd_usage("run-sim", "no program is named", "");
    if (!find_shim(folder, sizeof folder)) {
        fprintf(
            stderr,
            "cujit run-sim: the CPU device's libcuda.so.1 is not found: install cujit with its shared libraries, or "
            "set CUJIT_SIM to libcujit-sim.so\n");
        return EXIT_USAGE;
    }
    const char *was = getenv("LD_LIBRARY_PATH");
    int n = snprintf(path, sizeof path, "%s%s%s", folder, was && *was ? ":" : "", was ? was : "");
    if (n < 0 || (size_t)n >= sizeof path || setenv("LD_LIBRARY_PATH", path, 1) != 0) {
        fprintf(stderr, "cujit run-sim: LD_LIBRARY_PATH is too long\n");
        return EXIT_USAGE;
    }
    execvp(argv[1], argv + 1);
    fprintf(stderr, "cujit run-sim: %s: %s\n", argv[1], strerror(errno));
    return errno == ENOENT ? EXIT_NO_PROGRAM : EXIT_NO_EXEC;
}
