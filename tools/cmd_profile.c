/* cujit profile: runs a program of libcujit with CUJIT_PROFILE set, so that the library writes its timeline. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/environment.h"
#include "cmd.h"

const char cmd_profile_help[] =
    "Usage: cujit profile [-o FILE] [--] PROGRAM ARGUMENTS...\n"
    "\n"
    "Runs a program that uses libcujit and writes the timeline of its streams to FILE when it ends:\n"
    "a picture for a name that ends with .svg, tables for .txt, else JSON of Chrome's trace format,\n"
    "which https://ui.perfetto.dev opens. FILE is cujit-profile.json by default. The program is not\n"
    "changed; the environment variable CUJIT_PROFILE tells the library. The exit status is the\n"
    "program's; 127 when there is no such program, 126 when it cannot be run.\n";

enum { PROFILE_NO_EXEC = 126, PROFILE_NO_PROGRAM = 127 }; /* as the shell and env have them */

/* The path from the root, as the program may change its folder. */
static bool profile_path(const char *file, char *path, size_t size)
{
    char folder[4096];
    if (*file == '/') return (size_t)snprintf(path, size, "%s", file) < size;
    if (!getcwd(folder, sizeof folder)) return false;
    return (size_t)snprintf(path, size, "%s/%s", folder, file) < size;
}

int cmd_profile(int argc, char **argv)
{
    const char *file = "cujit-profile.json";
    char path[4096];
    if (argc > 1 && !strcmp(argv[1], "-o")) {
        if (argc < 3 || !*argv[2]) return cmd_usage("profile", "no file behind -o", "");
        file = argv[2];
        argc -= 2, argv += 2;
    }
    if (argc > 1 && !strcmp(argv[1], "--")) argc--, argv++;
    else if (argc > 1 && *argv[1] == '-') return cmd_usage("profile", "no option", argv[1]);
    if (argc < 2) return cmd_usage("profile", "no program is named", "");
    if (!profile_path(file, path, sizeof path) || setenv(cji_env_name(CJI_ENV_PROFILE), path, 1) != 0) {
        fprintf(stderr, "cujit profile: the name of the file is too long: %s\n", file);
        return EXIT_USAGE;
    }
    execvp(argv[1], argv + 1);
    fprintf(stderr, "cujit profile: %s: %s\n", argv[1], strerror(errno));
    return errno == ENOENT ? PROFILE_NO_PROGRAM : PROFILE_NO_EXEC;
}
