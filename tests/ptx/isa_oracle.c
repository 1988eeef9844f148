/* The verdicts of ptxas that tests/oracle/isa.txt holds: the table agrees with each, but for those marked. */
#include "isa_judge.h"
#include "../tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    tap_plan(0);
    size_t bytes;
    char *text = tap_slurp(tap_source("tests/oracle/isa.txt"), &bytes);
    if (!text) tap_bail("tests/oracle/isa.txt is missing");
    unsigned version = 0, taken = 0, refused = 0, marked = 0, wrong = 0;
    int target = -1;
    for (char *line = text, *next; *line; line = next) {
        char *end = strchr(line, '\n');
        next = end ? end + 1 : line + strlen(line);
        if (end) *end = 0;
        unsigned major, minor;
        char name[16];
        if (sscanf(line, "@ %u.%u %15s", &major, &minor, name) == 3) {
            version = major * 10 + minor;
            target = cji_target_find(name, strlen(name));
            if (target < 0) tap_bail("unknown target %s", name);
        }
        if (*line != '+' && *line != '-') continue;
        bool differs = line[1] == '!', plus = *line == '+';
        const char *statement = strchr(line, ' ') + 1, *why;
        bool table = isa_judge(statement, (uint8_t)version, (uint32_t)target, &why);
        *(plus ? &taken : &refused) += 1;
        marked += differs;
        if (table != (plus != differs) && wrong++ < 20)
            tap_diag("%s [PTX %u.%u %s]: ptxas %s it, the table says %s", statement, version / 10, version % 10,
                     cji_target_name((uint32_t)target), plus ? "takes" : "refuses", table ? "yes" : why);
    }
    free(text);
    tap_ok(taken > 1000, "%u recorded statements that ptxas takes", taken);
    tap_ok(refused > 1000, "%u that it refuses", refused);
    tap_is_uint(wrong, 0, "the table agrees with each");
    tap_ok(marked * 20 < taken + refused, "all but %u that are known to differ", marked);
    return tap_done();
}
