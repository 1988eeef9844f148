#!/bin/sh
# The tables of docs/mathematics.md are those that the tests record: errors, instructions, special values, and where
# they are recorded, errors and speed on a GPU.  make math-doc writes them anew.
#
# math_document.sh print     prints the document with its tables made anew
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
here=$top_srcdir/tests/math
document=$top_srcdir/docs/mathematics.md

# FILE WORD: the lines of a recorded table behind WORD; none where there is no file
lines_of() { if [ -e "$1" ]; then sed -n "/^[^#]/s/^/$2 /p" "$1"; fi; }

facts()
{
    sed -n 's|^/\* ---- \(.*[^-]\) -* \*/$|group \1|p; s/.*cj_math_\([a-z0-9_]*\)(cj_fn \*f, cj_val.*/name \1/p' \
        "$top_srcdir/include/cujit/math.h"
    for program in functions_f32 functions_f64 mpfr_values complex_functions half_functions; do
        "$top_builddir/tests/math/$program" table | sed 's/^/error /'
    done
    "$top_builddir/tests/math/special_values" table
    "$top_builddir/tests/math/function_texts" forms | sed 's/^/form /'
    lines_of "$here/own_counts.txt" own
    lines_of "$here/cuda_counts.txt" cuda
    lines_of "$top_srcdir/tests/oracle/math_errors.txt" gpu
    lines_of "$top_srcdir/tests/oracle/math_speed.txt" speed
}

facts >"$tap_work/facts" || exit 1
awk -f "$here/math_document.awk" "$tap_work/facts" "$document" >"$tap_work/new" || exit 1
if [ "${1:-}" = print ]; then
    cat "$tap_work/new"
    exit
fi
diff "$document" "$tap_work/new" >"$tap_work/differences"
result $? 'docs/mathematics.md is current (make math-doc)' "$tap_work/differences"
[ "$(grep -c '^| `' "$tap_work/new")" -ge 200 ]
result $? 'it has a row of each function'
finish
