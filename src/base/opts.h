/* A caller's option structs: each begins with `size_t size`, so that fields can be appended. */
#ifndef CJI_OPTS_H
#define CJI_OPTS_H

#include <stdbool.h>
#include <stddef.h>

/* Copies the caller's options over the defaults in `out` (`known` bytes); NULL leaves the defaults.  Fields that this
 * version does not know must be 0.
 * `type` is the public name without _opts.  False: the size field is wrong, CJ_EINVAL is recorded in `into` for
 * `call`. */
bool cji_opts_take(void *out, size_t known, const void *opts, void *into, const char *call, const char *type);

#endif
