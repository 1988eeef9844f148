/* Option structs of callers. */
#include "base/opts.h"

#include <string.h>

#include "base/obj.h"

bool cji_opts_take(void *out, size_t known, const void *opts, void *into, const char *call, const char *type)
{
    size_t size;
    if (!opts) return true;
    memcpy(&size, opts, sizeof size);
    bool fits = size >= sizeof size && size <= 4096;
    for (size_t i = known; fits && i < size; i++) fits = !((const char *)opts)[i];
    if (!fits) {
        cji_fail(into, CJ_EINVAL, call,
                 "the size field of %s is %zu, wants %zu: fill the options with %s_defaults first", type, size, known,
                 type);
        return false;
    }
    memcpy(out, opts, size < known ? size : known);
    return true;
}
