#!/bin/sh
# One table of environment variables, src/base/environment.def: code, docs/environment.md and `cujit env` agree with it.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
source=$(cd "$top_srcdir" && pwd)
cd "$tap_work" || exit 1

"$CUJIT_BIN" env --markdown >page
diff "$source/docs/environment.md" page >differences
result $? 'docs/environment.md is current (make environment-doc)' differences

CUJIT_LOG=debug CUJIT_SIM_SM='' "$CUJIT_BIN" env >out
grep -q '^CUJIT_LOG=debug (unset: 0)$' out && grep -q '^CUJIT_SIM_SM is unset: 90a$' out
result $? 'cujit env prints what is set, an empty one as unset' out

# What is read: getenv, the shell's $, and what C code names in its own table.
cd "$source" || exit 1
find src tools tests bench examples -type f -name '*.[ch]' -exec cat {} + | grep -oE 'getenv\("CUJIT_[A-Z_]+' |
    sed 's/.*"//' >"$tap_work/named"
find tests Makefile.am bootstrap -type f \( -name '*.sh' -o -name '*.mk' -o -name Makefile.am -o -name bootstrap \) \
    -exec cat {} + | grep -oE '\$\$?\{?CUJIT_[A-Z_]+' | sed 's/[${]*//' >>"$tap_work/named"
find src tools -name '*.c' -exec cat {} + | grep -oE 'CJI_ENV_[A-Z_]+' | sort -u >"$tap_work/ids"
while read -r id; do
    sed -n "s/^ENV(${id#CJI_ENV_}, *\"\(CUJIT_[A-Z_]*\)\".*/\1/p" src/base/environment.def
done <"$tap_work/ids" >>"$tap_work/named"
sort -u "$tap_work/named" >"$tap_work/read"
sed -n 's/^[A-Z_]*ENV(.*"\(CUJIT_[A-Z_]*\)".*/\1/p' src/base/environment.def | sort >"$tap_work/table"
cd "$tap_work" || exit 1
[ "$(wc -l <table)" -gt 15 ]
result $? 'the table is read' table
comm -23 read table >missing
result_empty 'every variable that is read is in the table' missing
comm -13 read table >unread
result_empty 'every variable of the table is read somewhere' unread

grep -rn 'getenv *(' "$source/src" "$source/tools" | grep -v 'src/base/environment.c:' |
    grep -v '"LD_LIBRARY_PATH"\|"TMPDIR"' >other
result_empty 'the library reads variables in one place' other
finish
