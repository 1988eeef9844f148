#!/bin/sh
# Every macro of the public headers that takes arguments is used in every_macro.c.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
cat "$top_srcdir"/include/cujit/*.h |
    sed -n 's/^[ ]*#[ ]*define[ ][ ]*\([Cc][Jj]_[A-Za-z0-9_]*\)(.*/\1/p' | sort -u >"$tap_work/macros"
sh "$top_srcdir/tests/build/every_call.sh" "$top_srcdir/include" >"$tap_work/every_call.h"
result $? 'a call of each builder function is written'
cat "$top_srcdir/tests/build/every_macro.c" "$tap_work/every_call.h" |
    grep -oE '[Cc][Jj]_[A-Za-z0-9_]+ *\(' | sed 's/ *($//' | sort -u >"$tap_work/used"
comm -23 "$tap_work/macros" "$tap_work/used" >"$tap_work/out"
result_empty 'no macro of include/cujit is missing from every_macro.c' "$tap_work/out"
awk 'END { exit !(NR > 150) }' "$tap_work/macros"
result $? 'there are more than 150 of them'
finish
