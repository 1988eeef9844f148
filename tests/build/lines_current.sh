#!/bin/sh
# include/cujit/lines.h is what tools/genlines.sh makes of the headers.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
sh "$top_srcdir/tools/genlines.sh" "$top_srcdir/include" >"$tap_work/lines.h" 2>"$tap_work/err"
result $? 'lines.h can be made' "$tap_work/err"
diff "$top_srcdir/include/cujit/lines.h" "$tap_work/lines.h" >"$tap_work/out" 2>&1
result $? 'the shipped lines.h is current (tools/genlines.sh include >include/cujit/lines.h)' "$tap_work/out"
grep -c '^#define cj_' "$tap_work/lines.h" | awk '{ exit !($1 > 100) }'
result $? 'it wraps more than a hundred calls'
finish
