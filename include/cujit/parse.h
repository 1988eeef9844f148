/* cujit/parse.h - reads PTX text into a module.  Any thread. */
#ifndef CUJIT_PARSE_H
#define CUJIT_PARSE_H

#include <cujit/ptx.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads PTX text into a module.  The module is as if it had been built call by call: it can be
 * printed, changed, loaded and run.  `text` has `bytes` bytes; NULs at its end are ignored.
 * `name` is the file's name in messages.  May be NULL: "ptx".  Both are copied.
 *
 * The module keeps functions and aliases, parameters, variables with their initial values, launch
 * bounds, pragmas, registers with their types, and labels.  Its version and target are set to those
 * of the text.  An instruction's source line is that of .loc; without any .loc, that of the text.
 *
 * It does not keep comments, the names of registers, nested scopes and the columns of .loc.  What a
 * nested scope declares is renamed where that is necessary.
 *
 * With `.target ..., debug` the module keeps the debug data: .section byte for byte, .file and .loc
 * whole, and prints them together.  A call that changes the module drops them, with `debug`, and
 * logs a warning; cj_ptx_has_debug tells.  Without `debug`, .section is left out.
 *
 * A text older than PTX 2.3 becomes one of 2.3.  One for sm_10 to sm_13 becomes one for sm_20,
 * whose float instructions flush subnormals (.ftz), as those targets do.
 *
 * Never NULL.  Owned by the caller, free with cj_ptx_free.  Any thread.
 * Errors, left in the module with file and line ("k.ptx:12: operand b of add.f32 is .u32 ..."):
 *   CJ_EPTX: the text is wrong
 *   CJ_EUNKNOWN: the table does not have the instruction, modifier or special register, or a module
 *     cannot hold the directive; the text may be right
 *   CJ_ENOTSUP: an instruction needs another target or version than the text has
 *   CJ_EHANDLE: `text` is NULL
 *   CJ_ENOMEM: host memory is exhausted */
CJ_API cj_ptx *cj_parse(const char *text, size_t bytes, const char *name);

/* Returns 1 while `m` has the debug data of the text that it was read from, else 0.  Any thread. */
CJ_API int cj_ptx_has_debug(cj_ptx *m);

#ifdef __cplusplus
}
#endif
#endif
