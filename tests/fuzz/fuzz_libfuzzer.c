/* The same targets under libFuzzer: clang -fsanitize=fuzzer,address,undefined (make fuzz CUJIT_FUZZ=libfuzzer). */
#include "tests/fuzz/fuzz.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where failures are reported: a target may close stderr, for what it tests writes there. */
static int report = 2;

/* libFuzzer reports on stderr, so it stays open here: -close_fd_mask=2 closes it for the target alone. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    report = dup(2);
    cji_fuzz_begin();
    return report < 0 || dup2(report, 2) < 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return cji_fuzz_one(data, size), 0; }

/* The seeds are files here. */
void cji_fuzz_add(const void *data, size_t size)
{
    (void)data;
    (void)size;
}

void cji_fuzz_add_files(const char *const *names, size_t n)
{
    (void)names;
    (void)n;
}

char *cji_fuzz_string(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text) abort();
    if (size) memcpy(text, data, size);
    text[size] = 0;
    return text;
}

void cji_fuzz_fail(const char *fmt, ...)
{
    va_list list;
    va_start(list, fmt);
    vdprintf(report, fmt, list);
    va_end(list);
    dprintf(report, "\n");
    abort();
}
