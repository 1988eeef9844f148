#!/bin/sh
# What the libraries export: libcujit what its version script and its headers say, the CPU device the driver's names and
# its own.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"

lib=$top_builddir/.libs/libcujit.so
sim=$top_builddir/src/sim/.libs/libcujit-sim.so
static=$top_builddir/.libs/libcujit.a
[ -e "$lib" ] || skip_all 'no shared library was built'
nm --version >/dev/null 2>&1 || skip_all 'no nm'

nm -D --defined-only "$lib" | awk '{ print $3 }' | sort >"$tap_work/lib"
grep -vE '^(cj_[a-z0-9_]+@@CUJIT_0\.1|CUJIT_0\.1)(@@CUJIT_0\.1)?$' "$tap_work/lib" >"$tap_work/out"
result_empty 'libcujit.so exports nothing but cj_ names, all of a version' "$tap_work/out"

nm -D --defined-only "$sim" | awk '{ print $3 }' |
    grep -vE '^(cu[A-Z][A-Za-z0-9]*(_v[0-9]+|_ptsz|_ptds)*|cujit_sim_[a-z_]+)$' >"$tap_work/out"
result_empty 'libcujit-sim.so exports nothing but cu and cujit_sim_ names' "$tap_work/out"

# A function in a public header is a name behind CJ_API, or any cj_ name before a parenthesis in a declaration: take
# every cj_ name that the preprocessor leaves before '(' outside of a body.
for header in "$top_srcdir"/include/cujit/*.h; do echo "#include <cujit/${header##*/}>"; done |
    grep -vE 'cujit/(lines|sim|kernels[a-z_]*)\.h' >"$tap_work/all.c"
${CC:-cc} -E -P -DCJ_NO_SOURCE_LINES -I"$top_srcdir/include" "$tap_work/all.c" >"$tap_work/all.i" 2>"$tap_work/err"
result $? 'the public headers can be preprocessed' "$tap_work/err"
awk '
    { text = text " " $0 }
    END {
        gsub(/static inline/, "\001", text)
        n = split(text, c, "")
        for (i = 1; i <= n; i++) {
            if (c[i] == "{") depth++
            else if (c[i] == "}") { depth--; if (depth == 0) { if (def) one = ""; def = 0 } }
            else if (depth == 0) {
                if (c[i] == ";") { say(one); one = "" }
                else one = one c[i]
            }
            if (c[i] == "{" && depth == 1 && one ~ /\)[ ]*$/) def = 1
        }
    }
    function say(s) {
        if (s ~ /\001|typedef/) return
        gsub(/__attribute__ *\(\([^;]*\)\)/, "", s)
        if (!match(s, /cj_[a-z0-9_]+ *\(/)) return
        name = substr(s, RSTART, RLENGTH)
        sub(/ *\($/, "", name)
        print name " " s
    }' "$tap_work/all.i" | sort -u >"$tap_work/prototypes"
cut -d' ' -f1 "$tap_work/prototypes" >"$tap_work/declared"
sed 's/@.*//' "$tap_work/lib" | grep '^cj_' | sort -u >"$tap_work/exported"
comm -23 "$tap_work/declared" "$tap_work/exported" >"$tap_work/out"
result_empty 'every function of the public headers is exported' "$tap_work/out"
grep -oE '^ +cj_[a-z0-9_]+;' "$top_srcdir/src/libcujit.map" | tr -d ' ;' >"$tap_work/listed"
LC_ALL=C sort -c "$tap_work/listed" 2>"$tap_work/out"
result $? 'src/libcujit.map is in the order of the alphabet, each name once' "$tap_work/out"
comm -3 "$tap_work/declared" "$tap_work/listed" >"$tap_work/out"
result_empty 'src/libcujit.map lists the functions of the headers (left: missing there; right: declared nowhere)' \
    "$tap_work/out"
comm -13 "$tap_work/declared" "$tap_work/exported" >"$tap_work/out"
result_empty 'every exported function stands in a public header' "$tap_work/out"

# A language without a C compiler calls through integers and pointers: nothing variadic, and no struct by value but the
# 64-bit ones.
grep -F '...' "$tap_work/prototypes" >"$tap_work/out"
result_empty 'no exported function is variadic' "$tap_work/out"
grep -ohE 'typedef struct cj_[a-z0-9_]+ *\{|\} *cj_[a-z0-9_]+;' "$top_srcdir"/include/cujit/*.h |
    grep -oE 'cj_[a-z0-9_]+' | grep -vE '^cj_(val|dptr)$' | sort -u >"$tap_work/structs"
sed -n 's/.*typedef enum \(cj_[a-z0-9_]*\).*/\1/p' "$top_srcdir"/include/cujit/*.h | sort -u >"$tap_work/enums"
comm -23 "$tap_work/structs" "$tap_work/enums" | while read -r struct; do
    grep -E "[(,] *(const +)?$struct +[a-z_]" "$tap_work/prototypes"
done >"$tap_work/out"
result_empty 'no exported function takes a struct by value but cj_val and cj_dptr' "$tap_work/out"

if [ -e "$static" ]; then
    nm -g --defined-only "$static" | awk 'NF == 3 { print $3 }' | grep -vE '^(cj|cji)_' >"$tap_work/out"
    result_empty 'libcujit.a defines nothing outside cj_ and cji_' "$tap_work/out"
fi
finish
