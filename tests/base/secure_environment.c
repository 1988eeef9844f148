/* A program that runs with more rights than its user reads no environment variable: they choose files whose code is
 * run. This program makes itself such a program: setuid where it is root, setgid where its user has a second group. */
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/environment.h"
#include "tests/tap.h"
#include "tests/tap_run.h"

/* In the copy: which variables it reads. */
static int print_what_is_read(void)
{
    printf("secure %d\n", getauxval(AT_SECURE) != 0);
    for (int i = 0; i < CJI_ENVS; i++)
        if (cji_env_get((cji_env)i)) printf("read %s\n", cji_env_name((cji_env)i));
    return 0;
}

static bool copy_file(const char *from, const char *to)
{
    size_t bytes;
    char *data = tap_slurp(from, &bytes);
    FILE *f = data ? fopen(to, "wb") : NULL;
    bool ok = f && fwrite(data, 1, bytes, f) == bytes;
    if (f && fclose(f) != 0) ok = false;
    free(data);
    return ok;
}

/* Gives the file more rights than this process has: false where there is no other user or group to take. */
static bool raise_rights(const char *file)
{
    gid_t group[64];
    if (geteuid() == 0) return chown(file, 65534, (gid_t)-1) == 0 && chmod(file, 04755) == 0;
    int n = getgroups(64, group);
    for (int i = 0; i < n; i++)
        if (group[i] != getegid()) return chown(file, (uid_t)-1, group[i]) == 0 && chmod(file, 02755) == 0;
    return false;
}

int main(int argc, char **argv)
{
    if (argc > 1) return print_what_is_read();
    char folder[] = "/tmp/cujit-secure-XXXXXX", file[64];
    tap_plan(0);
    for (int i = 0; i < CJI_ENVS; i++) setenv(cji_env_name((cji_env)i), "./other.so", 1);
    for (int i = 0; i < CJI_ENVS; i++)
        tap_is_str(cji_env_get((cji_env)i), "./other.so", "%s is read by an ordinary program",
                   cji_env_name((cji_env)i));
    bool made = mkdtemp(folder) != NULL && chmod(folder, 0755) == 0;
    snprintf(file, sizeof file, "%s/program", folder);
    made = made && copy_file(argv[0], file) && raise_rights(file);
    const char *const command[] = { file, "what is read", NULL };
    tap_result r = { .status = -1 };
    if (made) tap_run(&r, command, NULL);
    if (r.status || !r.out || strncmp(r.out, "secure 1\n", 9) != 0)
        tap_skip(1, "no program with more rights than its user can be made here");
    else tap_is_str(r.out, "secure 1\n", "a program with more rights than its user reads none");
    tap_result_free(&r);
    unlink(file);
    rmdir(folder);
    return tap_done();
}
