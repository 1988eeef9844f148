/* cujit/parse.h - PTX text read into a module. */
#ifndef CUJIT_PARSE_H
#define CUJIT_PARSE_H

#include <cujit/ptx.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads PTX text, anybody's, into a module that is as if it had been built call by call: it can be printed, changed, loaded and run.
 * `text` holds `bytes` bytes (NULs at its very end are left out) and is not needed afterwards; `name` (may be NULL: "ptx") stands in messages for the file.
 *
 * Kept: functions, parameters, variables with their initial values, launch bounds, pragmas, registers with their declared types, labels, .version and
 * .target (fixed to what the text says), and the source lines that .file and .loc give; without any, an instruction's line is that of the text.
 * Not kept: comments, the names of registers, nested scopes (what they declare is renamed where that is needed), .section (debug data), columns of .loc.
 *
 * Owned by the caller, free with cj_ptx_free().  The first error stays in the module, like a builder's (cj_ptx_status(), cj_error_of()), with file and
 * line: "k.ptx:12: operand b of add.f32 is .u32, wants .f32".
 * Errors: CJ_EPTX (the text is wrong), CJ_EUNKNOWN (an instruction, modifier or special register that the table does not hold, or a directive that a module
 * cannot hold: the text may be right), CJ_ENOTSUP (an instruction needs another target or version than the text says), CJ_EHANDLE (`text` NULL), CJ_ENOMEM. */
CJ_API cj_ptx *cj_parse(const char *text, size_t bytes, const char *name);

#ifdef __cplusplus
}
#endif
#endif
