#!/bin/sh
# libcujit-kernels sees libcujit as a user does: public headers, exported functions.  libcujit knows nothing of it.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"

grep -nE '^[ ]*#[ ]*include[ ]*"' "$top_srcdir"/src/kernels/*.[ch] |
    grep -v '"kernels/[a-z_0-9]*\.[a-z]*"' >"$tap_work/out"
result_empty 'src/kernels includes no header of another folder' "$tap_work/out"
grep -nE '\bcji_' "$top_srcdir"/src/kernels/*.[ch] >"$tap_work/out"
result_empty 'src/kernels names nothing that is internal to libcujit' "$tap_work/out"
grep -rnE 'kernels[a-z_]*\.h|cjk_' "$top_srcdir"/src --include='*.[ch]' --include='*.def' |
    grep -v "^$top_srcdir/src/kernels/" >"$tap_work/out"
result_empty 'nothing of libcujit names it' "$tap_work/out"

headers=$top_srcdir/include/cujit/kernels*.h
# shellcheck disable=SC2086 # several files
sed -n 's/^CJ_API [^()]*[ *]\(cj_[a-z0-9_]*\)(.*/\1/p' $headers | sort -u >"$tap_work/declared"
grep -oE '^ +cj_[a-z0-9_]+;' "$top_srcdir/src/kernels/libcujit-kernels.map" | tr -d ' ;' >"$tap_work/listed"
LC_ALL=C sort -c "$tap_work/listed" 2>"$tap_work/out"
result $? 'libcujit-kernels.map is in the order of the alphabet' "$tap_work/out"
comm -3 "$tap_work/declared" "$tap_work/listed" >"$tap_work/out"
result_empty 'it lists the functions of its headers' "$tap_work/out"

# Each object is known to CJ_AUTO.
# shellcheck disable=SC2086
sed -n 's/^CJ_API void \(cj_[a-z_]*\)_free(.*/\1/p' $headers | while read -r type; do
    grep -q "cj_auto_$type($type \*\*object) { ${type}_free(\*object); }" $headers || echo "$type"
done >"$tap_work/out"
result_empty 'CJ_AUTO knows each object' "$tap_work/out"

lib=$top_builddir/.libs/libcujit-kernels.so
if ! [ -e "$lib" ] || ! nm --version >/dev/null 2>&1; then
    skip 'what it exports' 'no shared library, or no nm'
    finish
    exit 0
fi
nm -D --defined-only "$lib" | awk '{ print $3 }' | grep -v '^CUJIT_KERNELS' | sed 's/@.*//' | sort >"$tap_work/exported"
comm -3 "$tap_work/declared" "$tap_work/exported" >"$tap_work/out"
result_empty 'it exports them and nothing else' "$tap_work/out"
nm -D --defined-only "$top_builddir/.libs/libcujit.so" | awk '{ print $3 }' | sed 's/@.*//' | sort >"$tap_work/lib"
nm -D --undefined-only "$lib" | awk '{ print $2 }' | sed 's/@.*//' | grep '^cj' | sort |
    comm -23 - "$tap_work/lib" >"$tap_work/out"
result_empty 'it calls what libcujit exports' "$tap_work/out"
finish
