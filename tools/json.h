/* Writes JSON to a file, indented; commas and quotes are its business. */
#ifndef CUJIT_TOOLS_JSON_H
#define CUJIT_TOOLS_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_DEPTH = 16 };

/* {.file = stdout} stands before the only value. */
typedef struct json {
    FILE *file;
    unsigned depth;
    bool filled[JSON_DEPTH];   /* something stands in the object or array of that depth */
} json;

/* `key` NULL: an array's element, or the whole. */
void json_open(json *j, const char *key, char bracket);      /* '{' or '[' */
void json_close(json *j, char bracket);                      /* '}' or ']'; a newline behind the last */
/* bytes that are no UTF-8 letter or sign are written as U+FFFD */
void json_string(json *j, const char *key, const char *value);
void json_integer(json *j, const char *key, int64_t value);
void json_bool(json *j, const char *key, bool value);

#endif
