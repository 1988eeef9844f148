/* cujit env: the environment variables, from the table that the library reads them by. */
#include <stdio.h>
#include <string.h>

#include "base/environment.h"
#include "cmd.h"

const char cmd_env_help[] =
    "Usage: cujit env [--markdown]\n"
    "\n"
    "Prints each environment variable that the library and the CPU device read: its value, what it\n"
    "means, and what it is when it is unset.\n"
    "\n"
    "  --markdown    the whole table, that of the tests too, as docs/environment.md has it\n";

typedef enum env_reader { LIBRARY, DEVICE } env_reader;

static const struct env_row { const char *name; env_reader reader; const char *value, *meaning; } env_rows[] = {
#define ENV(id, name, reader, value, meaning) { name, reader, value, meaning },
#define TEST_ENV(name, value, meaning)
#include "base/environment.def"
};

static const struct env_test_row { const char *name, *value, *meaning; } env_test_rows[] = {
#define ENV(id, name, reader, value, meaning)
#define TEST_ENV(name, value, meaning) { name, value, meaning },
#include "base/environment.def"
};

enum {
    ENV_ROWS = sizeof env_rows / sizeof *env_rows,
    ENV_TEST_ROWS = sizeof env_test_rows / sizeof *env_test_rows,
    ENV_COLUMNS = 96
};

/* A cell of a Markdown table ends at a '|'. */
static void markdown_row(const char *name, const char *value, const char *meaning)
{
    printf("| `%s` | %s | ", name, value);
    for (; *meaning; meaning++) fputs(*meaning == '|' ? "\\|" : (char[]){ *meaning, 0 }, stdout);
    puts(" |");
}

static void markdown_of(env_reader reader)
{
    puts("\n| variable | unset | meaning |\n| --- | --- | --- |");
    for (size_t i = 0; i < ENV_ROWS; i++)
        if (env_rows[i].reader == reader) markdown_row(env_rows[i].name, env_rows[i].value, env_rows[i].meaning);
}

static void markdown(void)
{
    puts("# Environment variables\n\n"
         "`make environment-doc` writes this page from src/base/environment.def. An empty variable is an\n"
         "unset one. A setuid or setgid program reads none of the first two lists. `cujit env` prints the\n"
         "values of a shell.\n\n"
         "## Of the library");
    markdown_of(LIBRARY);
    puts("\n## Of the CPU device");
    markdown_of(DEVICE);
    puts("\n## Of the tests\n\n| variable | unset | meaning |\n| --- | --- | --- |");
    for (size_t i = 0; i < ENV_TEST_ROWS; i++)
        markdown_row(env_test_rows[i].name, env_test_rows[i].value, env_test_rows[i].meaning);
}

/* Breaks a text into lines. */
static void paragraph(const char *text, size_t indent)
{
    size_t at = 0;
    while (*text) {
        size_t n = strcspn(text, " ");
        if (at && at + 1 + n > ENV_COLUMNS) putchar('\n'), at = 0;
        at += (size_t)printf("%*s%.*s", (int)(at ? 1 : indent), "", (int)n, text);
        text += n;
        while (*text == ' ') text++;
    }
    putchar('\n');
}

int cmd_env(int argc, char **argv)
{
    if (argc > 1 && (argc > 2 || strcmp(argv[1], "--markdown")))
        return cmd_usage("env", "no option", argv[argc > 2 ? 2 : 1]);
    if (argc > 1) {
        markdown();
        return EXIT_FINE;
    }
    for (size_t i = 0; i < ENV_ROWS; i++) {
        const char *value = cji_env_get((cji_env)i);
        if (value) printf("%s=%s (unset: %s)\n", env_rows[i].name, value, env_rows[i].value);
        else printf("%s is unset: %s\n", env_rows[i].name, env_rows[i].value);
        paragraph(env_rows[i].meaning, 4);
    }
    return EXIT_FINE;
}
