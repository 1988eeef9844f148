#!/bin/sh
# Each public header alone, and the program that uses every macro, in one language standard by one compiler, with all
# warnings as errors and with the lines of calls recorded and not. usage: headers.sh COMPILER STANDARD
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"

compiler=$1 standard=$2
command -v "$compiler" >/dev/null 2>&1 || skip_all "no $compiler"
case $standard in
c++20) extension=cc language=c++ more=-Wno-missing-field-initializers ;;   # g++ warns of every option literal
c++*) extension=cc language=c++ more= ;;
*) extension=c language=c more='-Wstrict-prototypes -Wmissing-prototypes -Wvla' ;;
esac
warnings="-Wall -Wextra -Wshadow -Wpointer-arith -Wundef -Wpedantic $more"
echo 'int main(void) { return 0; }' >"$tap_work/probe.$extension"
"$compiler" "-std=$standard" -fsyntax-only "$tap_work/probe.$extension" 2>/dev/null || skip_all "$compiler does not know $standard"

# FILE MORE...: compiles it, remarks into $tap_work/err
compiles()
{
    # shellcheck disable=SC2086
    "$compiler" -x $language "-std=$standard" $warnings -Werror -fsyntax-only -I"$top_srcdir/include" "$@" >"$tap_work/err" 2>&1
}
for header in "$top_srcdir"/include/cujit/*.h; do
    name=${header##*/}
    printf '#include <cujit/%s>\n#include <cujit/%s>\nextern int cj_test_unit;\n' "$name" "$name" >"$tap_work/alone.$extension"
    compiles "$tap_work/alone.$extension"
    result $? "cujit/$name alone, and twice" "$tap_work/err"
done
for header in "$top_srcdir"/include/cujit/*.h; do echo "#include <cujit/${header##*/}>"; done >"$tap_work/together.$extension"
echo 'extern int cj_test_unit;' >>"$tap_work/together.$extension"
compiles "$tap_work/together.$extension"
result $? 'all of them together' "$tap_work/err"
program=$top_srcdir/tests/build/every_macro.c
if [ -f "$program" ]; then
    compiles "$program"
    result $? 'the program that uses every macro' "$tap_work/err"
    compiles -DCJ_NO_SOURCE_LINES "$program"
    result $? 'the same without source lines' "$tap_work/err"
fi
finish
