/* The command cujit: what its files share. */
#ifndef CUJIT_TOOLS_CMD_H
#define CUJIT_TOOLS_CMD_H

#include <stddef.h>

/* Exit statuses. check: 0 accepted, 1 rejected, 2 not known. devices: 0 a device was found, 1 none. cache: 1 an entry
 * is damaged, or cannot be removed. reproduce: as check. replay: 1 something differs. Every command: 3 wrong use, or a
 * file that cannot be read. */
enum { EXIT_FINE = 0, EXIT_REJECTED = 1, EXIT_UNKNOWN = 2, EXIT_USAGE = 3 };

/* A command gets its own arguments, argv[0] being its name. Its help is the text of `cujit COMMAND --help`. */
int cmd_cache(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_devices(int argc, char **argv);
int cmd_env(int argc, char **argv);
int cmd_profile(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_reproduce(int argc, char **argv);
int cmd_run_sim(int argc, char **argv);
extern const char cmd_cache_help[], cmd_check_help[], cmd_devices_help[], cmd_env_help[], cmd_profile_help[],
    cmd_replay_help[], cmd_reproduce_help[], cmd_run_sim_help[];

/* The whole file, for free(); "-": standard input.  NULL with the reason in errno. */
char *cmd_read_file(const char *path, size_t *bytes);

/* Reports wrong use and points to --help; returns EXIT_USAGE. */
int cmd_usage(const char *command, const char *what, const char *argument);

#endif
