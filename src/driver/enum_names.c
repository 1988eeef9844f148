/* The public enums by name: one table, made from the headers (tools/genenums.sh). */
#include <cujit/cujit.h>

#include <string.h>

#include "base/obj.h"

static const struct enum_row { const char *type, *name; int64_t value; } enum_rows[] = {
#define E(type, name) { type, #name, name },
#include "driver/enum_names.def"
};
enum { ENUM_ROWS = sizeof enum_rows / sizeof *enum_rows };

const char *cj_enum_name(const char *type, int64_t value)
{
    for (size_t i = 0; type && i < ENUM_ROWS; i++)
        if (enum_rows[i].value == value && !strcmp(enum_rows[i].type, type)) return enum_rows[i].name;
    return NULL;
}

cj_status cj_enum_value(const char *type, const char *name, int64_t *value)
{
    static const char call[] = "cj_enum_value";
    bool known = false;
    if (!type || !name) return cji_fail(NULL, CJ_EINVAL, call, "the %s is NULL", type ? "name" : "type");
    for (size_t i = 0; i < ENUM_ROWS; i++) {
        if (strcmp(enum_rows[i].type, type) != 0) continue;
        known = true;
        if (strcmp(enum_rows[i].name, name) != 0) continue;
        if (value) *value = enum_rows[i].value;
        return CJ_OK;
    }
    if (!known) return cji_fail(NULL, CJ_ENOTFOUND, call, "no public enum is called \"%.60s\"", type);
    return cji_fail(NULL, CJ_ENOTFOUND, call, "%s has no value \"%.60s\"", type, name);
}
