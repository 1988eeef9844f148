/* The command cujit: chooses what is asked for. */
#include <cujit/cujit.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"

static const struct { const char *name; int (*run)(int argc, char **argv); const char *help, *summary; } commands[] = {
    { "cache", cmd_cache, cmd_cache_help, "lists, verifies and cleans the kernel cache on disk" },
    { "check", cmd_check, cmd_check_help, "reads PTX and reports what is wrong with it" },
    { "devices", cmd_devices, cmd_devices_help, "lists the drivers and devices of this machine" },
    { "env", cmd_env, cmd_env_help, "prints the environment variables that cujit reads" },
    { "profile", cmd_profile, cmd_profile_help, "runs a program and writes the timeline of its streams" },
    { "replay", cmd_replay, cmd_replay_help, "repeats a recording of a program's driver calls, or lists it" },
    { "reproduce", cmd_reproduce, cmd_reproduce_help, "writes a C program that builds the kernels of a PTX file" },
    { "run-sim", cmd_run_sim, cmd_run_sim_help, "runs a program that uses the CUDA driver API on the CPU device" },
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_help(FILE *out)
{
    fputs("Usage: cujit COMMAND ...\n\n", out);
    for (size_t i = 0; i < COMMANDS; i++) fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\n"
          "  --version  prints the version of the library\n"
          "  --help     prints this text; cujit COMMAND --help prints that of a command\n"
          "\n"
          "Wrong use, or a file that cannot be read, exits with 3.\n",
          out);
}

static bool is_help(const char *argument) { return !strcmp(argument, "--help") || !strcmp(argument, "-h"); }

int cmd_usage(const char *command, const char *what, const char *argument)
{
    const char *space = *command ? " " : "";
    fprintf(stderr, "cujit%s%s: %s%s%s\nTry 'cujit%s%s --help'.\n", space, command, what, *argument ? " " : "",
            argument, space, command);
    return EXIT_USAGE;
}

/* What was written reached its reader. */
static int finish(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    fprintf(stderr, "cujit: standard output cannot be written\n");
    return EXIT_USAGE;
}

static int run_command(int argc, char **argv)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(argv[0], commands[i].name)) continue;
        if (argc < 2 || !is_help(argv[1])) return commands[i].run(argc, argv);
        fputs(commands[i].help, stdout);
        return EXIT_FINE;
    }
    return cmd_usage("", "no command", argv[0]);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (is_help(argv[1]) || !strcmp(argv[1], "help")) {
        print_help(stdout);
        return finish(EXIT_FINE);
    }
    if (!strcmp(argv[1], "--version")) {
        printf("cujit %s\n", cj_version());
        return finish(EXIT_FINE);
    }
    return finish(run_command(argc - 1, argv + 1));
}
