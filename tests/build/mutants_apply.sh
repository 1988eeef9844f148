#!/bin/sh
# Each fault of make check-mutants still has its place in the sources, and its test is a test of the tree.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
top_builddir=$(cd "$top_builddir" && pwd)
mutate=$top_builddir/tests/mutants/mutate
cd "$top_srcdir" || exit 1

for patch in tests/mutants/*.patch; do
    test=$(sed -n '1s/^# *//p' "$patch")
    [ -e "${test%.sim}.c" ] || echo "$patch: there is no ${test%.sim}.c"
done >"$tap_work/tests"
result_empty 'the test of each patch is there' "$tap_work/tests"
for patch in tests/mutants/*.patch; do
    grep -qF "%D%/${patch##*/}" tests/mutants/local.mk || echo "$patch"
done >"$tap_work/unlisted"
result_empty 'each patch is in local.mk, and so in the tarball' "$tap_work/unlisted"
"$mutate" --list | while read -r name test; do
    [ -e "${test%.sim}.c" ] || echo "$name: there is no ${test%.sim}.c"
done >"$tap_work/tests"
result_empty 'the test of each row of generated.def is there' "$tap_work/tests"

"$mutate" --check . >"$tap_work/out" 2>&1
result $? 'each row of generated.def has its place' "$tap_work/out"
if ! command -v patch >/dev/null 2>&1; then
    skip 'each patch applies' 'there is no patch'
else
    for patch in tests/mutants/*.patch; do
        patch -p1 -s -f --dry-run <"$patch" >"$tap_work/out" 2>&1 || echo "$patch: it no longer applies"
    done >"$tap_work/lost"
    result_empty 'each patch applies' "$tap_work/lost"
fi
finish
