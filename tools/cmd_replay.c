/* cujit replay: repeats the driver calls of a recording, or lists them. */
#include <cujit/cujit.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"

const char cmd_replay_help[] =
    "Usage: cujit replay [--list] FILE\n"
    "\n"
    "Repeats the driver calls of a recording, which a program wrote that ran with CUJIT_RECORD=FILE, on the\n"
    "devices of this machine (CUJIT_DRIVER=sim: on the CPU device). Kernels and data are those of the\n"
    "recording; PTX is compiled for the device at hand. Results of calls, and what copies to host memory\n"
    "read, are compared with those of the recording. Each difference is a line.\n"
    "\n"
    "  --list    prints each call with its arguments, and repeats none\n"
    "\n"
    "Replay only recordings that you trust: they are programs.\n"
    "\n"
    "Exits with 1 when something differs, a call cannot be repeated, or the devices do not fit.\n";

static void print_line(void *user, const char *line)
{
    (void)user;
    puts(line);
}

static const char *plural(uint64_t n, const char *one, const char *many) { return n == 1 ? one : many; }

static void print_result(const cj_replay_result *x)
{
    printf("%" PRIu64 " %s repeated, %" PRIu64 " left out that %s nothing, %" PRIu64 " impossible\n", x->repeated,
           plural(x->repeated, "call", "calls"), x->left_out, plural(x->left_out, "changes", "change"), x->impossible);
    printf("%" PRIu64 " %s compared: %" PRIu64 " %s, %" PRIu64 " %s\n", x->compared,
           plural(x->compared, "byte", "bytes"), x->different, plural(x->different, "copy differs", "copies differ"),
           x->results, plural(x->results, "result differs", "results differ"));
}

static int fail_with(const cj_error *e)
{
    const size_t n = strlen(e->call);
    const bool named = !strncmp(e->message, e->call, n) && !strncmp(e->message + n, ": ", 2);
    fprintf(stderr, "cujit replay: %s\n", named ? e->message + n + 2 : e->message);
    return e->status == CJ_EINVAL ? EXIT_USAGE : EXIT_REJECTED;
}

static int repeat_file(const char *path)
{
    cj_replay_result x;
    cj_replay_result_defaults(&x);
    cj_driver *drv = cj_driver_open(NULL);
    int status = EXIT_REJECTED;
    if (cj_error_of(drv)->status) {
        fail_with(cj_error_of(drv));
    } else if (cj_replay_file(drv, path, CJ_REPLAY(.line = print_line), &x)) {
        fflush(stdout);
        status = fail_with(cj_error_last());
    } else {
        print_result(&x);
        status = x.impossible || x.different || x.results ? EXIT_REJECTED : EXIT_FINE;
    }
    cj_driver_close(drv);
    return status;
}

int cmd_replay(int argc, char **argv)
{
    const char *path = NULL;
    bool list = false;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--list")) list = true;
        else if (argv[i][0] == '-' && argv[i][1]) return cmd_usage("replay", "no option", argv[i]);
        else if (path) return cmd_usage("replay", "a second file:", argv[i]);
        else path = argv[i];
    }
    if (!path) return cmd_usage("replay", "the file of a recording is missing", "");
    if (!list) return repeat_file(path);
    if (cj_replay_file(NULL, path, CJ_REPLAY(.line = print_line, .list = 1), NULL) == CJ_OK) return EXIT_FINE;
    fflush(stdout);
    return fail_with(cj_error_last());
}
