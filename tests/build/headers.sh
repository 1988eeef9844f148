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
"$compiler" "-std=$standard" -fsyntax-only "$tap_work/probe.$extension" 2>/dev/null ||
    skip_all "$compiler does not know $standard"

# NAME FILE MORE...: compiles it in the background; report tells in the order of the calls
count=0
compile()
{
    count=$((count + 1))
    echo "$1" >"$tap_work/name.$count"
    shift
    # shellcheck disable=SC2086
    ("$compiler" -x $language "-std=$standard" $warnings -Werror -fsyntax-only -I"$top_srcdir/include" "$@" \
        >"$tap_work/err.$count" 2>&1
     echo $? >"$tap_work/status.$count") &
}
report()
{
    wait
    i=0
    while [ $i -lt $count ]; do
        i=$((i + 1))
        result "$(cat "$tap_work/status.$i")" "$(cat "$tap_work/name.$i")" "$tap_work/err.$i"
    done
}

headers=$(echo "$top_srcdir"/include/cujit/*.h)
[ $language = c ] || headers="$headers $top_srcdir/include/cujit/cujit.hpp $top_srcdir/include/cujit/kernels.hpp"
for header in $headers; do
    name=${header##*/}
    printf '#include <cujit/%s>\n#include <cujit/%s>\nextern int cj_test_unit;\n' "$name" "$name" \
        >"$tap_work/$name.$extension"
    compile "cujit/$name alone, and twice" "$tap_work/$name.$extension"
    echo "#include <cujit/$name>" >>"$tap_work/together.$extension"
done
echo 'extern int cj_test_unit;' >>"$tap_work/together.$extension"
compile 'all of them together' "$tap_work/together.$extension"
program=$top_srcdir/tests/build/every_macro.c
sh "$top_srcdir/tests/build/every_call.sh" "$top_srcdir/include" >"$tap_work/every_call.h"
compile 'the program that uses every macro' -I"$tap_work" "$program"
compile 'the same without source lines' -DCJ_NO_SOURCE_LINES -I"$tap_work" "$program"
report
finish
