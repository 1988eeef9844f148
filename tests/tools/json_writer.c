/* What the command's JSON writer writes. */
#include "../../tools/json.c"

#include "../tap.h"

#include <stdlib.h>

static void whole_string(json *j) { json_string(j, NULL, "a \"b\" \\ \n\t\x01 \x7f"); }
static void letters(json *j) { json_string(j, NULL, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"); }
static void no_letters(json *j)
{
    json_string(j, NULL,
                "\xff"
                "a\xc3"
                "b\xc0\x80\xed\xa0\x80\xf5\x80\x80\x80\xe2\x82");
}
static void empty_object(json *j) { json_open(j, NULL, '{'), json_close(j, '}'); }
static void empty_inside(json *j)
{
    json_open(j, NULL, '{'), json_open(j, "a", '['), json_close(j, ']'), json_bool(j, "b", false), json_close(j, '}');
}

static void nested(json *j)
{
    json_open(j, NULL, '{');
    json_string(j, "k\"ey", "v");
    json_open(j, "list", '[');
    json_integer(j, NULL, 1);
    json_integer(j, NULL, INT64_MIN);
    json_open(j, NULL, '{');
    json_bool(j, "yes", true);
    json_close(j, '}');
    json_close(j, ']');
    json_close(j, '}');
}

#define REPLACED "\xef\xbf\xbd"
static const struct { const char *name; void (*write)(json *j); const char *want;
} written[] = {
    { "escapes", whole_string, "\"a \\\"b\\\" \\\\ \\u000a\\u0009\\u0001 \x7f\"" },
    { "letters of all lengths", letters, "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"" },
    { "bytes that are no letters", no_letters,
      "\"" REPLACED "a" REPLACED
      "b" REPLACED REPLACED REPLACED REPLACED REPLACED REPLACED REPLACED REPLACED REPLACED REPLACED REPLACED "\"" },
    { "an empty object", empty_object, "{}\n" },
    { "an empty list inside", empty_inside, "{\n  \"a\": [],\n  \"b\": false\n}\n" },
    { "nested", nested,
      "{\n  \"k\\\"ey\": \"v\",\n  \"list\": [\n    1,\n    -9223372036854775808,\n    {\n      \"yes\": true\n    }\n"
      "  ]\n}\n" },
};

int main(void)
{
    tap_plan(0);
    for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
        char *text = NULL;
        size_t bytes = 0;
        json j = { .file = open_memstream(&text, &bytes) };
        if (!j.file) tap_bail("no memory");
        written[i].write(&j);
        fclose(j.file);
        tap_is_str(text, written[i].want, "%s", written[i].name);
        free(text);
    }
    return tap_done();
}
