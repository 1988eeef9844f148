/* cujit/parse.h - reads PTX text into a module.  Any thread. */
#ifndef CUJIT_PARSE_H
#define CUJIT_PARSE_H

#include <cujit/ptx.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads PTX text of any origin into a module, as if it had been built call by call.  The module can
 * be printed, changed, loaded and run.  `text` has `bytes` bytes; NULs at its end are ignored.
 * `text`: Copied.  `name` is the file's name in messages: May be NULL, then "ptx".
 *
 *   kept       functions, parameters, variables with their values, launch bounds, pragmas, labels,
 *              registers with their types, .version, .target, source lines of .file and .loc
 *   not kept   comments, names of registers, nested scopes (names in them are made unique),
 *              .section (debug data), columns of .loc
 * Without .loc, an instruction's source line is its line in the text.
 *
 * Never NULL.  Owned by the caller, free with cj_ptx_free.  The module keeps its first failure, as
 * a builder does, with file and line: "k.ptx:12: operand b of add.f32 is .u32, wants .f32".
 * Errors, in the module:
 *   CJ_EPTX: the text is wrong
 *   CJ_EUNKNOWN: an instruction, modifier, special register or directive that cujit does not know
 *   CJ_ENOTSUP: an instruction needs another target or version than the text has
 *   CJ_EHANDLE: `text` is NULL
 *   CJ_ENOMEM: host memory is exhausted
 */
CJ_API cj_ptx *cj_parse(const char *text, size_t bytes, const char *name);

#ifdef __cplusplus
}
#endif
#endif
