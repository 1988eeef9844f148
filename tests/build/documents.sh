#!/bin/sh
# What the documents quote is there: code is in the programs that are tested, links lead to files, commands and examples
# exist.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
cd "$top_srcdir" || exit 1
documents='README.md CONTRIBUTING.md tests/README.md docs/*.md'

# DOCUMENT FIRST FILE: prints the lines of an indented block of DOCUMENT, the one with FIRST in its first line, that
# FILE does not have in that order.  White space at the ends of lines is not compared.
missing_lines()
{
    awk -v first="$2" -v file="$3" '
        function strip(s) { sub(/^[ \t]+/, "", s); sub(/[ \t]+$/, "", s); return s }
        BEGIN { while ((getline line < file) > 0) have[++n] = strip(line); at = 0 }
        /^    / { if (!inside && !done && index($0, first)) inside = 1 }
        !/^    / && !/^$/ { if (inside) done = 1; inside = 0 }
        inside && NF {
            want = strip($0)
            for (i = at + 1; i <= n && have[i] != want; i++) {}
            if (i > n) print "not in " file " here: " want; else at = i
            lines++
        }
        END { if (lines < 3) print "no block with " first }
    ' "$1"
}

# NAME DOCUMENT FIRST FILE
block() { missing_lines "$2" "$3" "$4" >"$tap_work/out"; result_empty "$1" "$tap_work/out"; }

block 'the README program is examples/hello.c' README.md 'written while the program runs' examples/hello.c
block 'the README lines for PTX text are in ptx_to_driver.c' README.md 'const char *ptx;' tests/driver/ptx_to_driver.c
for first in 'cj_ring_begin(f, t->barriers' 'cj_ring_wait_full(f, &ring)'; do
    block "docs/kernels.md quotes examples/tile_product.c: $first" docs/kernels.md "$first" examples/tile_product.c
done
block 'the lines of docs/mathematics.md are in typed_functions.c' docs/mathematics.md 'cj_math_sincos' \
    tests/math/typed_functions.c

printf '    one\n    two, changed\n\ntext\n' >"$tap_work/planted.md"
printf 'one\ntwo\nthree\n' >"$tap_work/planted.c"
missing_lines "$tap_work/planted.md" one "$tap_work/planted.c" | grep -q 'two, changed'
result $? 'a line that differs is found'

# shellcheck disable=SC2086
for document in $documents; do
    folder=${document%/*}
    [ "$folder" != "$document" ] || folder=.
    sed -n 's/](/\n](/gp' "$document" | sed -n 's/^](\([^)#]*\)[^)]*).*/\1/p' | while read -r link; do
        case $link in http*|'') continue ;; esac
        [ -e "$folder/$link" ] || echo "$document: $link is not there"
    done
done >"$tap_work/out"
result_empty 'links of documents lead to files' "$tap_work/out"

# Files of the source that documents name, by their last part or by their path.
find . -type d \( -name .git -o -path './build*' -o -name autom4te.cache \) -prune -o -type f -print |
    sed 's|^\./||' >"$tap_work/files"
sed 's|.*/||' "$tap_work/files" | sort -u >"$tap_work/last"
# shellcheck disable=SC2086
grep -ohE '`[A-Za-z_/]+\.(c|h|def|sh|mk)`' $documents | tr -d '`' | sort -u | while read -r name; do
    case $name in
    *NAME*|*FOLDER*) ;;
    */*) grep -qxF "$name" "$tap_work/files" || grep -qE "/$name\$" "$tap_work/files" || echo "$name" ;;
    *) grep -qxF "$name" "$tap_work/last" || echo "$name" ;;
    esac
done >"$tap_work/out"
result_empty 'files that documents name exist' "$tap_work/out"

# Names of the API that documents use are in the headers.
cat include/cujit/*.h | grep -oE '\b(cj|CJ)_[A-Za-z0-9_]+' | sort -u >"$tap_work/names"
# shellcheck disable=SC2086
cat $documents | grep -oE '(^|[^A-Za-z0-9_.])(cj|CJ)_[A-Za-z0-9_]*[A-Za-z0-9]' | sed 's/^[^cC]//' | sort -u |
    comm -23 - "$tap_work/names" >"$tap_work/out"
result_empty 'names of the API in documents are in the headers' "$tap_work/out"

# The table of renames in NEWS, its second column.
awk '/^   was  /{ inside = 1; next } /^$/{ inside = 0 } inside { print substr($0, 43) }' NEWS >"$tap_work/is"
[ "$(wc -l <"$tap_work/is")" -ge 30 ]
result $? 'NEWS has a table of renames'
grep -oE '(cj|CJ)_[A-Za-z0-9_]*[A-Za-z0-9]' "$tap_work/is" | sort -u | comm -23 - "$tap_work/names" |
    while read -r name; do grep -qE "^${name}_" "$tap_work/names" || echo "$name"; done >"$tap_work/out"
result_empty 'names that NEWS has for others are in the headers' "$tap_work/out"

# shellcheck disable=SC2086
grep -ohE '\./(build/)?examples/[a-z_]+' $documents | sed 's/.*examples.//' | sort -u | while read -r name; do
    [ -e "examples/$name.c" ] || echo "examples/$name.c is not there"
done >"$tap_work/out"
result_empty 'examples that documents run exist' "$tap_work/out"

# shellcheck disable=SC2086
grep -ohE '`make [a-z][a-z-]+`|^    make [a-z][a-z-]+' $documents | tr -d '`' | awk '{ print $2 }' | sort -u |
while read -r target; do
    case $target in clean|dist|distcheck|install|uninstall) continue ;; esac
    grep -qE "^#: $target |^$target:" Makefile.am tests/local.mk src/*/local.mk src/local.mk || echo "make $target"
done >"$tap_work/out"
result_empty 'targets that documents name exist' "$tap_work/out"
finish
