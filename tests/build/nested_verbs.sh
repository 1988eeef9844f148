#!/bin/sh
# Verbs that are nested deep grow with the depth for the preprocessor, not with its power; and they compile.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
compiler=${CC:-cc}
command -v "${compiler%% *}" >/dev/null 2>&1 || skip_all 'no C compiler'

# DEPTH: a program with that many verbs inside each other, all ways of calling among them
program()
{
    awk -v depth="$1" 'BEGIN {
        text = "x"
        for (i = 1; i <= depth; i++) {
            if (i % 4 == 1) text = "cj_add(f, " text ", 1)"
            else if (i % 4 == 2) text = "cj_fma(f, 2.5, " text ", x)"
            else if (i % 4 == 3) text = "cj_def(f, \"neg.f32\", " text ")"
            else text = "cj_select(f, cj_lt(f, " text ", 10), 1, 0)"
        }
        print "#include <cujit/cujit.h>\ncj_val nested(cj_fn *f, cj_val x);"
        print "cj_val nested(cj_fn *f, cj_val x) { return " text "; }"
    }'
}
for mode in '' -DCJ_NO_SOURCE_LINES; do
    for depth in 0 10 20 40; do
        program $depth >"$tap_work/nested.c"
        # shellcheck disable=SC2086
        $compiler -std=c11 $mode -I"$top_srcdir/include" -E -P "$tap_work/nested.c" 2>"$tap_work/err" |
            tail -1 | wc -c >"$tap_work/size.$depth"
    done
    paste "$tap_work/size.0" "$tap_work/size.10" "$tap_work/size.20" "$tap_work/size.40" >"$tap_work/sizes"
    awk '{ exit !($2 > 1000 && $2 < 20000 && $3 < 2.5 * $2 && $4 < 2.5 * $3) }' "$tap_work/sizes"
    result $? "10, 20 and 40 deep${mode:+, $mode}: twice as deep is twice as long" "$tap_work/sizes"
    program 10 >"$tap_work/nested.c"
    # shellcheck disable=SC2086
    $compiler -std=c11 $mode -Wall -Wextra -Wshadow -Wpedantic -Werror -I"$top_srcdir/include" \
        -fsyntax-only "$tap_work/nested.c" 2>"$tap_work/err"
    result $? "10 deep compiles${mode:+, $mode}" "$tap_work/err"
done
finish
