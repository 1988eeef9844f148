/* The command cujit: chooses what is asked for. */
#include <cujit/cujit.h>

#include <stdio.h>
#include <string.h>

#include "cmd.h"

static const char help[] =
    "Usage: cujit COMMAND ...\n"
    "\n"
    "  devices [--json]          the drivers and devices of this machine: the GPU's and the CPU device; why one\n"
    "                            cannot be used; the CUDA version, and the newest PTX that each compiles\n"
    "  check FILE...             reads PTX and says what is wrong with it, as FILE:LINE: MESSAGE; '-' is standard input\n"
    "        --sm=90a              would it run on such a device?\n"
    "        --isa=9.0             would a driver take it whose newest PTX version this is?\n"
    "                            exits with 0: accepted; 1: rejected; 2: something in it is not in the instruction\n"
    "                            table yet, so cujit cannot tell\n"
    "  run-sim PROGRAM ARGS...   runs a program that uses the CUDA driver API (libcuda.so.1) on the CPU device\n"
    "  --version                 the version of the library\n"
    "  --help                    this text\n"
    "\n"
    "Wrong use, or a file that cannot be read, exits with 3.\n"
    "Environment: CUJIT_DRIVER (cuda, sim, auto, a path), CUJIT_LIBCUDA, CUJIT_SIM (files), CUJIT_LOG (error, warning, info, debug).\n";

static const struct { const char *name; int (*run)(int argc, char **argv); } commands[] = {
    { "check", cmd_check }, { "devices", cmd_devices }, { "run-sim", cmd_run_sim },
};

int cmd_usage(const char *command, const char *what, const char *argument)
{
    fprintf(stderr, "cujit%s%s: %s%s%s\nTry 'cujit --help'.\n", *command ? " " : "", command, what, *argument ? " " : "", argument);
    return EXIT_USAGE;
}

/* What was written reached its reader. */
static int finish(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    fprintf(stderr, "cujit: standard output cannot be written\n");
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fputs(help, stderr);
        return EXIT_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        fputs(help, stdout);
        return finish(EXIT_FINE);
    }
    if (!strcmp(argv[1], "--version")) {
        printf("cujit %s\n", cj_version());
        return finish(EXIT_FINE);
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(argv[1], commands[i].name)) return finish(commands[i].run(argc - 1, argv + 1));
    return cmd_usage("", "no command", argv[1]);
}
