#!/bin/sh
# The shipped isa_data.c and isa_ids.h are what tools/isagen makes of the rows.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
defs=$(sed -n '/^isa_defs =/,/[^\\]$/p' "$top_srcdir/src/ptx/local.mk" | tr ' \t\\' '\n\n\n' |
    sed -n "s|^%D%|$top_srcdir/src/ptx|p")
ASAN_OPTIONS=detect_leaks=0   # isagen ends without giving memory back
export ASAN_OPTIONS
# shellcheck disable=SC2086
"$top_builddir/isagen" "$tap_work/data.c" "$tap_work/ids.h" $defs >"$tap_work/out" 2>&1
result $? 'every row is sound' "$tap_work/out"
told=$(sed -n 's/.*isagen: \([0-9]* rows\), \([0-9]*\)\([0-9][0-9][0-9]\) forms.*/\1, \2,\3 forms/p' "$tap_work/out")
grep -qF "${told:-no numbers}" "$top_srcdir/README.md"
result $? "README.md has the table's size: $told"
diff "$top_srcdir/src/ptx/isa_data.c" "$tap_work/data.c" | head -5 >"$tap_work/diff"
result_empty 'isa_data.c is current (make isa renews it)' "$tap_work/diff"
diff "$top_srcdir/src/ptx/isa_ids.h" "$tap_work/ids.h" | head -5 >"$tap_work/diff"
result_empty 'isa_ids.h is current (make isa renews it)' "$tap_work/diff"
unlisted=$(cd "$top_srcdir/src/ptx/isa" && for f in *.def; do case "$defs" in *"/$f"*) ;; *) echo "$f" ;; esac; done)
echo "$unlisted" | sed '/^$/d' >"$tap_work/out"
result_empty 'every file of rows is in the build' "$tap_work/out"
finish
