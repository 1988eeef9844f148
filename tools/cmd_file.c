/* Files that commands read. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

char *cmd_read_file(const char *path, size_t *bytes)
{
    FILE *file = strcmp(path, "-") ? fopen(path, "rb") : stdin;
    char *text = NULL;
    size_t used = 0, room = 0;
    if (!file) return NULL;
    do {
        if (room - used < 4096) {
            char *more = realloc(text, room = room ? 2 * room : 65536);
            if (!more) {
                free(text);
                text = NULL;
                errno = ENOMEM;
                break;
            }
            text = more;
        }
        used += fread(text + used, 1, room - used, file);
    } while (!feof(file) && !ferror(file));
    if (text && ferror(file)) {
        free(text);
        text = NULL;
    }
    int why = errno;
    if (file != stdin) fclose(file);
    errno = why;
    *bytes = used;
    return text;
}
