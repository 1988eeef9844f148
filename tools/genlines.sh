#!/bin/sh
# Makes include/cujit/lines.h from the builder headers: one greppable macro line for each function whose first argument
# is a cj_fn * or cj_ptx *. Usage: genlines.sh INCLUDE-DIR > lines.h     A test compares its output with the shipped
# file.
#
# The verbs that take cj_val operands have their macros in verbs_numbers.h (gennumbers.sh) where the language lifts
# numbers.
set -eu
dir=$1
set -- "$dir/cujit/ptx.h" "$dir/cujit/verbs.h" "$dir/cujit/control.h"
for extra in math.h blocks.h async.h tensor_core.h; do
    if [ -f "$dir/cujit/$extra" ]; then set -- "$@" "$dir/cujit/$extra"; fi
done
cat <<'HEAD'
/* cujit/lines.h - each builder call records the C file and line that it is written in.
 * Made by tools/genlines.sh from the headers: do not edit.
 * ptx.h includes it; CJ_NO_SOURCE_LINES turns it off.  Error messages, the JIT's log and .loc show
 * the file and the line. */
#ifndef CUJIT_PTX_H
#include <cujit/ptx.h> /* which includes this file at its place */
#elif !defined CUJIT_LINES_H
#define CUJIT_LINES_H
#ifndef CJ_NO_SOURCE_LINES

HEAD
lines()   # VERBS HEADER...
{
    want=$1
    shift
    LC_ALL=C awk -v verbs="$want" '
    # a declaration of several lines is one
    { while (/^CJ_API .*,$/ && (getline more) > 0) { sub(/^ */, " ", more); $0 = $0 more } }
    /^(CJ_API|static inline) [^()]*[ *]cj_[a-z0-9_]+\((cj_fn \*f|cj_ptx \*m)[,)]/ {
        name = $0
        sub(/\(.*/, "", name)
        sub(/.*[ *]/, "", name)
        if (name ~ /_free$|^cj_here|^cj_line$|^cj_ptx_line$|^cj_fn_module$/) next
        if (name ~ /^cj_ptx_(status|version|target|find|has_debug)$/) next
        if (verbs != (FILENAME !~ /ptx\.h$/ && $0 ~ /, cj_val [^*]/)) next
        fn = $0 ~ /\(cj_fn \*f/
        alone = $0 ~ /\((cj_fn \*f|cj_ptx \*m)\)/
        here = fn ? "cj_here" : "cj_here_ptx"
        o = fn ? "f" : "m"
        if (alone) printf "#define %s(%s) %s(%s(%s, __FILE__, __LINE__))\n", name, o, name, here, o
        else printf "#define %s(%s, ...) %s(%s(%s, __FILE__, __LINE__), __VA_ARGS__)\n", name, o, name, here, o
    }' "$@"
}
lines 0 "$@"
printf '\n/* Verbs, in C99 and C++: verbs_numbers.h has them for C11. */\n#if !CJI_NUMBERS\n'
lines 1 "$@"
cat <<'TAIL'
#endif

#endif
#endif
TAIL
