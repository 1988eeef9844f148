#!/bin/sh
# Makes include/cujit/verbs_numbers.h from the verbs' headers: one greppable line for each verb that takes a cj_val,
# which may then be a C number. Usage: gennumbers.sh INCLUDE-DIR > verbs_numbers.h     A test compares its output with
# the shipped file.
set -eu
dir=$1
set -- "$dir/cujit/verbs.h" "$dir/cujit/control.h"
for extra in math.h blocks.h async.h tensor_core.h; do
    if [ -f "$dir/cujit/$extra" ]; then set -- "$@" "$dir/cujit/$extra"; fi
done
cat <<'HEAD'
/* cujit/verbs_numbers.h - verbs take C numbers where they take a cj_val.
 * Made by tools/gennumbers.sh from the headers: do not edit.
 * C11 has macros, C++ overloads, and C99 the functions.  ptx.h includes it.  A macro records the line
 * of its call, as lines.h does. */
#ifndef CUJIT_PTX_H
#include <cujit/ptx.h> /* which includes this file at its place */
#elif !defined CUJIT_VERBS_NUMBERS_H
#define CUJIT_VERBS_NUMBERS_H

HEAD
verbs()
{
    language=$1
    shift
    LC_ALL=C awk -v language="$language" '
    # a declaration of several lines is one
    { while (/^CJ_API .*,$/ && (getline more) > 0) { sub(/^ */, " ", more); $0 = $0 more } }
    /^CJ_API [^()]*[ *]cj_[a-z0-9_]+\(cj_fn \*f, .*\);/ && /, cj_val [^*]/ {
        head = list = $0
        sub(/\(.*/, "", head)
        name = result = head
        sub(/.*[ *]/, "", name)
        sub(/^CJ_API /, "", result)
        sub(/[^ *]*$/, "", result)
        sub(/^[^(]*\(cj_fn \*f, /, "", list)
        sub(/\);.*/, "", list)
        n = split(list, param, /, /)
        types = params = args = lifts = ""
        for (i = 1; i <= n; i++) {
            p = type = param[i]
            sub(/.*[ *]/, "", p)
            sub(/[^ *]*$/, "", type)
            lifted = type == "cj_val "
            if (lifted) types = types (types == "" ? "" : ", ") "class T" i
            params = params ", " (lifted ? "T" i " " : type) p
            args = args ", " p
            lifts = lifts ", " (lifted ? (language == "c" ? "CJI_LIFT(f, " : "cji_lift(f, ") p ")" : p)
        }
        if (language == "c") printf "#define %s(f%s) %s(CJI_HERE(f)%s)\n", name, args, name, lifts
        else printf "template<%s> inline %s%s(cj_fn *f%s) { %s(%s)(f%s); }\n", types, result, name, params,
                    result ~ /void/ ? "" : "return ", name, lifts
    }' "$@"
}
echo '#if defined __cplusplus'
verbs c++ "$@"
echo '#elif CJI_NUMBERS'
verbs c "$@"
cat <<'TAIL'
#endif

#endif
TAIL
