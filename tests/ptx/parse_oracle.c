/* The reader's verdict on each statement of tests/oracle/isa.txt is that of ptxas (but for those marked), at the
 * statement's line; what is accepted is printed and read again as the same text. */
#include <cujit/parse.h>

#include "isa_write.h"

#include "../tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORACLE_ROOM = 1 << 18 };

static char oracle_text[ORACLE_ROOM];
static unsigned oracle_head_lines;
static size_t oracle_head;   /* bytes of what stands in front of the statements */

static void start_group(uint8_t version, const char *target)
{
    isa_write_head(oracle_text, ORACLE_ROOM, version, target);
    oracle_head = strlen(oracle_text);
    oracle_head_lines = 0;
    for (size_t i = 0; i < oracle_head; i++) oracle_head_lines += oracle_text[i] == '\n';
}

/* All accepted statements of a group together: read, printed, read, printed. */
static bool group_holds(size_t bytes)
{
    const char *first = NULL, *second = NULL;
    size_t n = 0, k = 0;
    memcpy(oracle_text + bytes, isa_write_tail, strlen(isa_write_tail) + 1);
    cj_ptx *m = cj_parse(oracle_text, bytes + strlen(isa_write_tail), "group.ptx");
    bool fine = cj_ptx_print(m, 0, &first, &n) == CJ_OK;
    if (!fine) tap_diag("%s", cj_error_of(m)->message);
    cj_ptx *again = cj_parse(first ? first : "", n, "again.ptx");
    if (fine && cj_ptx_print(again, 0, &second, &k) != CJ_OK) {
        tap_diag("%s", cj_error_of(again)->message);
        fine = false;
    }
    if (fine && (n != k || memcmp(first, second, n) != 0)) {
        size_t i = 0;
        while (i < n && i < k && first[i] == second[i]) i++;
        tap_diag("printed: %.60s; printed again: %.60s", first + (i > 20 ? i - 20 : 0), second + (i > 20 ? i - 20 : 0));
        fine = false;
    }
    cj_ptx_free(again);
    cj_ptx_free(m);
    return fine;
}

/* A refused statement alone: an error at its line. */
static bool refused_alone(const char *statement)
{
    size_t n = oracle_head + (size_t)snprintf(oracle_text + oracle_head, ORACLE_ROOM - oracle_head, "%s\n%s", statement,
                                              isa_write_tail);
    cj_ptx *m = cj_parse(oracle_text, n, "alone.ptx");
    const cj_error *e = cj_error_of(m);
    bool fine = (e->status == CJ_EPTX || e->status == CJ_EUNKNOWN || e->status == CJ_ENOTSUP) &&
                e->line == (int32_t)oracle_head_lines + 1;
    if (!fine) tap_diag("%s: %s %s", statement, cj_status_name(e->status), e->message);
    cj_ptx_free(m);
    return fine;
}

int main(void)
{
    char *text = tap_slurp(tap_source("tests/oracle/isa.txt"), NULL);
    unsigned major = 0, minor = 0, groups = 0, bad_groups = 0, wrong = 0, refused = 0, accepted = 0,
             every = tap_is_slow() ? 20 : 1;
    size_t used = 0;
    tap_plan(0);
    if (!text) tap_bail("tests/oracle/isa.txt is missing");
    /* first those to be accepted, a group together; then the others, each alone */
    for (unsigned pass = 0; pass < 2; pass++) {
        used = 0;
        for (char *line = text, *next; *line; line = next) {
            char name[16], *end = strchr(line, '\n');
            next = end ? end + 1 : line + strlen(line);
            if (sscanf(line, "@ %u.%u %15s", &major, &minor, name) == 3) {
                if (used > oracle_head) groups++, bad_groups += !group_holds(used);
                start_group((uint8_t)(major * 10 + minor), name);
                used = oracle_head;
            }
            if (*line != '+' && *line != '-') continue;
            bool accept = (*line == '+') != (line[1] == '!');
            const char *statement = strchr(line, ' ') + 1;
            if (pass == 0 && accept && used + (size_t)(next - statement) + 64 < ORACLE_ROOM) {
                memcpy(oracle_text + used, statement, (size_t)(next - statement));
                used += (size_t)(next - statement);
                accepted++;
            }
            if (pass == 1 && !accept && refused++ % every == 0) {
                char alone[ISA_LINE];
                snprintf(alone, sizeof alone, "%.*s", (int)(next - statement - 1), statement);
                wrong += !refused_alone(alone);
                used = oracle_head;
            }
        }
        if (pass == 0 && used > oracle_head) groups++, bad_groups += !group_holds(used);
    }
    free(text);
    tap_ok(accepted > 1000 && groups > 20, "%u accepted statements in %u groups", accepted, groups);
    tap_is_uint(bad_groups, 0, "each group is read, and printed as what is read as the same text");
    tap_ok(refused > 1000, "%u refused statements", refused);
    tap_is_uint(wrong, 0, "each is rejected at its line");
    return tap_done();
}
