/* The command cujit: what its files share. */
#ifndef CUJIT_TOOLS_CMD_H
#define CUJIT_TOOLS_CMD_H

/* Exit statuses.  check: 0 accepted, 1 rejected, 2 not known.  devices: 0 a device was found, 1 none.  Every command: 3 wrong use, or a file that
 * cannot be read. */
enum { EXIT_FINE = 0, EXIT_REJECTED = 1, EXIT_UNKNOWN = 2, EXIT_USAGE = 3 };

/* Each gets its own arguments, argv[0] being its name. */
int cmd_check(int argc, char **argv);
int cmd_devices(int argc, char **argv);
int cmd_run_sim(int argc, char **argv);

/* Behind a wrong argument: points to --help; returns EXIT_USAGE. */
int cmd_usage(const char *command, const char *what, const char *argument);

#endif
