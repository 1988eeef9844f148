/* Names in messages: up to 60 characters as they are, longer ones as their first 28, "...", their last 28. */
#include <string.h>

#include "base/mem.h"

#include "../tap.h"

#define TEN "0123456789"

static const struct { const char *label, *name; size_t size; const char *want; } cases[] = {
    { "an empty name", "", 61, "" },
    { "a short name", "saxpy", 61, "saxpy" },
    { "60 characters", TEN TEN TEN TEN TEN TEN, 61, TEN TEN TEN TEN TEN TEN },
    { "61 characters", "a" TEN TEN TEN TEN TEN TEN, 61, "a" TEN TEN "0123456" "..." "23456789" TEN TEN },
    { "a mangled name", "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15FillFunctorIfEE", 61,
      "_ZN2at6native29vectorized_el...elILi4ENS0_15FillFunctorIfEE" },
    { "an even room", "abcdefghij", 10, "abc...hij" },
    { "the smallest room", "abcdefghij", 8, "ab...ij" },
};

int main(void)
{
    tap_plan(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char room[64];
        memset(room, '#', sizeof room);
        tap_is_str(cji_shorten(room, cases[i].size, cases[i].name, strlen(cases[i].name)), cases[i].want, "%s",
                   cases[i].label);
        tap_ok(room[cases[i].size] == '#', "%s: nothing is written behind the room", cases[i].label);
    }
    tap_is_str(cji_short(NULL), "", "NULL is no name");
    tap_is_str(cji_short_n("saxpy(", 5), "saxpy", "a name without NUL");
    tap_is_str(cji_short("a" TEN TEN TEN TEN TEN TEN), cases[3].want, "cji_short is for 60 characters");
    tap_is_int((int)strlen(cji_short("a" TEN TEN TEN TEN TEN TEN)), 59, "28, 3 and 28 of them");
    return tap_done();
}
