#!/bin/sh
# Makes include/cujit/lines.h from the builder headers: one greppable macro line for each function whose first argument is a cj_fn * or cj_ptx *.
# Usage: genlines.sh INCLUDE-DIR > lines.h     A test compares its output with the shipped file.
set -eu
dir=$1
set -- "$dir/cujit/ptx.h" "$dir/cujit/verbs.h" "$dir/cujit/control.h"
for extra in math.h printf.h; do
    if [ -f "$dir/cujit/$extra" ]; then set -- "$@" "$dir/cujit/$extra"; fi
done
cat <<'HEAD'
/* cujit/lines.h - each builder call records the C file and line it stands in; included by cujit/ptx.h, off with CJ_NO_SOURCE_LINES.
 * They come back in error messages, in the JIT's log and as .loc.  Made by tools/genlines.sh from the headers: do not edit. */
#ifndef CUJIT_LINES_H
#define CUJIT_LINES_H
#ifndef CJ_NO_SOURCE_LINES

HEAD
LC_ALL=C awk '
/^(CJ_API|static inline) [^()]*[ *]cj_[a-z0-9_]+\((cj_fn \*f|cj_ptx \*m)[,)]/ {
    name = $0
    sub(/\(.*/, "", name)
    sub(/.*[ *]/, "", name)
    if (name ~ /_free$|^cj_here|^cj_line$|^cj_ptx_line$|^cj_ptx_(status|version|target|find)$|^cj_fn_module$/) next
    fn = $0 ~ /\(cj_fn \*f/
    alone = $0 ~ /\((cj_fn \*f|cj_ptx \*m)\)/
    here = fn ? "cj_here" : "cj_here_ptx"
    o = fn ? "f" : "m"
    if (alone) printf "#define %s(%s) %s(%s(%s, __FILE__, __LINE__))\n", name, o, name, here, o
    else printf "#define %s(%s, ...) %s(%s(%s, __FILE__, __LINE__), __VA_ARGS__)\n", name, o, name, here, o
}' "$@"
cat <<'TAIL'

#endif
#endif
TAIL
