/* The test producer's own assertions: what holds is said to hold, what does not is said not to, with a useful remark.
 * */
#include "../tap.h"
#include "../tap_folder.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void tap_itself_all_hold(void)
{
    static const char a[] = "one\ntwo\n";
    tap_plan(0);
    tap_ok(true, "ok");
    tap_is_int(-1, -1, "int");
    tap_is_uint(UINT64_MAX, UINT64_MAX, "uint");
    tap_is_f64(0.0 / 1.0, 0.0, "zero");
    tap_is_str(a, "one\ntwo\n", "text");
    tap_has_str(a, "two", "part");
    tap_is_mem(a, a, sizeof a, "memory");
    tap_skip(2, "not here");
}

static void tap_itself_none_holds(void)
{
    tap_plan(7);
    tap_ok(false, "ok");
    tap_is_int(1, 2, "int");
    tap_is_uint(255, 0, "uint");
    tap_is_f64(-0.0, 0.0, "zero has a sign");
    tap_is_str("one\ntwo", "one\ntwx", "text");
    tap_has_str(NULL, "two", "part");
    tap_is_mem("abc", "abd", 3, "memory");
}

static void tap_itself_skips(void) { tap_skip_all("no %s", "thing"); }
static void tap_itself_bails(void) { tap_bail("line\nbreak"); }
static void tap_itself_hangs(void) { tap_plan(1); raise(SIGALRM); }

static const struct {
    const char *name;
    void (*run)(void);
    int status;
    const char *want;
} cases[] = {
    { "assertions that hold", tap_itself_all_hold, 0,
      "ok 1 - ok\nok 2 - int\nok 3 - uint\nok 4 - zero\nok 5 - text\nok 6 - part\nok 7 - memory\n"
      "ok 8 # SKIP not here\nok 9 # SKIP not here\n1..9\n" },
    { "assertions that do not hold, with what they got", tap_itself_none_holds, 0,
      "1..7\nnot ok 1 - ok\nnot ok 2 - int\n#   got 1, want 2\nnot ok 3 - uint\n#   got 255 (0xff), want 0 (0x0)\n"
      "not ok 4 - zero has a sign\n#   got -0 (-0x0p+0), want 0 (0x0p+0)\n"
      "not ok 5 - text\n#   first difference in line 2\n#   got : two\n#   want: twx\n"
      "not ok 6 - part\n#   \"NULL\" does not contain \"two\"\n"
      "not ok 7 - memory\n#   1 of 3 bytes differ\n#   got  at byte 0: 61 62 63 \n#   want at byte 0: 61 62 64 \n"
      "# 7 of 7 failed\n" },
    { "a program that skips all", tap_itself_skips, 0, "1..0 # SKIP no thing\n" },
    { "a program that bails out, on one line", tap_itself_bails, 1, "Bail out! line break\n" },
    { "a program that hangs", tap_itself_hangs, 122, "1..1\nBail out! the test's time is over\n" },
};

/* What a child writes that runs `run`, and its exit status. */
static void tap_itself_output(void (*run)(void), char text[4096], int *status)
{
    int fd[2];
    if (pipe(fd)) tap_bail("pipe fails");
    pid_t child = fork();
    if (child < 0) tap_bail("fork fails");
    if (child == 0) {
        dup2(fd[1], STDOUT_FILENO);
        close(fd[0]);
        run();
        _exit(tap_done());
    }
    close(fd[1]);
    size_t used = 0;
    for (ssize_t n; used < 4095 && (n = read(fd[0], text + used, 4095 - used)) > 0;) used += (size_t)n;
    text[used] = 0;
    close(fd[0]);
    waitpid(child, status, 0);
}

/* -- Folders ------------------------------------------------------------------------------------------------------- */

static void skips_with_folder(void) { tap_skip_all("no %s", "thing"); }
static void bails_with_folder(void) { tap_bail("bad"); }
static void hangs_with_folder(void) { tap_plan(1); raise(SIGALRM); }
static void ends_with_folder(void) { exit(0); }

static const struct { const char *name; void (*run)(void); } folder_ends[] = {
    { "skips", skips_with_folder }, { "bails out", bails_with_folder },
    { "hangs", hangs_with_folder }, { "ends", ends_with_folder },
};

static unsigned entries_of(const char *path)
{
    unsigned n = 0;
    DIR *dir = opendir(path);
    for (struct dirent *e; dir && (e = readdir(dir)) != NULL;) n += *e->d_name != '.';
    if (dir) closedir(dir);
    return n;
}

static void (*before_end)(void);

/* In a child: a folder with one in it; a child of its own, which ends first, leaves both.  The exit status says so. */
static void end_in_folder(void)
{
    char inner[300];
    int status;
    snprintf(inner, sizeof inner, "%s/inner", tap_folder("itself"));
    if (mkdir(inner, 0700)) _exit(90);
    const pid_t child = fork();
    if (!child) exit(0);
    waitpid(child, &status, 0);
    if (access(inner, F_OK)) _exit(91);
    before_end();
}

static void folders(void)
{
    const char *top = tap_folder("top");
    setenv("TMPDIR", top, 1);
    for (size_t i = 0; i < sizeof folder_ends / sizeof *folder_ends; i++) {
        char text[4096];
        int status;
        before_end = folder_ends[i].run;
        tap_itself_output(end_in_folder, text, &status);
        tap_ok(WIFEXITED(status) && WEXITSTATUS(status) != 90 && WEXITSTATUS(status) != 91,
               "a program that %s has a folder, which its child leaves", folder_ends[i].name);
        tap_is_uint(entries_of(top), 0, "a program that %s leaves no folder", folder_ends[i].name);
    }
}

int main(void)
{
    static char texts[sizeof cases / sizeof *cases][4096];
    int statuses[sizeof cases / sizeof *cases];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) tap_itself_output(cases[i].run, texts[i], &statuses[i]);
    tap_plan(2 * (sizeof cases / sizeof *cases + sizeof folder_ends / sizeof *folder_ends));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tap_is_str(texts[i], cases[i].want, "%s", cases[i].name);
        tap_is_int(WIFEXITED(statuses[i]) ? WEXITSTATUS(statuses[i]) : -1, cases[i].status, "%s: exit status",
                   cases[i].name);
    }
    folders();
    return tap_done();
}
