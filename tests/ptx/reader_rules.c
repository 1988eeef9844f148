/* What holds for every text that the reader reads (reader_rules.h). */
#include "tests/ptx/reader_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/entries.h"

static _Thread_local char found[1024];

/* "name:line: what is wrong" or "name:line:column: what is wrong", with the line that the failure has, one of the
 * text's. */
static const char *fault_of_message(const cj_error *e, const char *text, size_t n, const char *name)
{
    char start[128];
    int32_t lines = 1;
    for (size_t i = 0; i < n; i++) lines += text[i] == '\n';
    int length = snprintf(start, sizeof start, "%s:%d:", name, (int)e->line);
    if (e->status != CJ_EPTX && e->status != CJ_EUNKNOWN && e->status != CJ_ENOTSUP)
        snprintf(found, sizeof found, "the status is %s: %s", cj_status_name(e->status), e->message);
    else if (e->line < 1 || e->line > lines)
        snprintf(found, sizeof found, "line %d of %d: %s", (int)e->line, (int)lines, e->message);
    else if (strncmp(e->message, start, (size_t)length) || !strstr(e->message + length, " "))
        snprintf(found, sizeof found, "the message does not begin with \"%s\": %s", start, e->message);
    else
        return NULL;
    return found;
}

static bool same_parameters(const cji_entry *a, const cji_entry *b)
{
    if (a->nparam != b->nparam) return false;
    for (uint32_t k = 0; k < a->nparam; k++)
        if (strcmp(a->param[k].name, b->param[k].name) || a->param[k].offset != b->param[k].offset ||
            a->param[k].bytes != b->param[k].bytes)
            return false;
    return true;
}

/* Dynamic shared memory is known where the heads could be read to the text's end. */
static const char *fault_of_heads(const cji_entries *heads, const cji_entries *whole)
{
    if (heads->n != whole->n) {
        snprintf(found, sizeof found, "the heads have %zu kernels, the text has %zu", heads->n, whole->n);
        return found;
    }
    for (size_t i = 0; i < heads->n; i++) {
        const cji_entry *a = &heads->entry[i], *b = cji_entries_find(whole, a->name);
        if (b && same_parameters(a, b) && (!heads->whole || !a->dynamic_shared == !b->dynamic_shared)) continue;
        snprintf(found, sizeof found, "the head of kernel %s is read in another way than the text", a->name);
        return found;
    }
    return NULL;
}

const char *reader_fault(const cj_ptx *m, const char *text, size_t n, const char *name)
{
    const cj_error *e = cj_error_of(m);
    bool accepted = e->status == CJ_OK;
    const char *fault = accepted ? NULL : fault_of_message(e, text, n, name);
    cji_entries *heads = cji_entries_read(text, n), *whole = accepted ? cji_entries_of(m) : NULL;
    if (!fault && (!heads || (accepted && !whole))) fault = "no memory for the heads";
    if (!fault && accepted) fault = fault_of_heads(heads, whole);
    cji_entries_release(heads);
    cji_entries_release(whole);
    return fault;
}
