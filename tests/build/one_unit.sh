#!/bin/sh
# Static names are unique, too: all files of a folder of src are compiled as one, which finds two of a name.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
build=$(cd "$top_builddir" && pwd) || exit 1
source=$(cd "$top_srcdir" && pwd) || exit 1
compiler=${CC:-cc}
echo 'int x;' >"$tap_work/probe.c"
$compiler -fsyntax-only "$tap_work/probe.c" 2>/dev/null || skip_all "no compiler that only reads: $compiler"

for folder in base ptx driver stream kernels sim; do
    find "$source/src/$folder" -name '*.c' | LC_ALL=C sort | sed 's/.*/#include "&"/' >"$tap_work/$folder.c"
    $compiler -std=c11 -D_GNU_SOURCE -w -fsyntax-only -I"$source/src" -I"$source/include" -I"$build" -I"$source" \
        "$tap_work/$folder.c" 2>&1 | grep ' error: ' >"$tap_work/errors"
    result_empty "the files of src/$folder compile as one" "$tap_work/errors"
done
finish
