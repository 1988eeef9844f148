#!/bin/sh
# make check-format notices each thing that it is there for: a tree with one mistake a file.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
here=$(cd "$top_srcdir" && pwd)
tree=$tap_work/tree

# PART FILE TEXT NAME: the part of check-format reports FILE, which holds TEXT, and nothing else
notices()
{
    rm -rf "$tree"
    for folder in include/cujit src tools tests/build examples bench docs; do mkdir -p "$tree/$folder"; done
    cp "$here/tests/build/words.txt" "$tree/tests/build/"
    for name in README.md CONTRIBUTING.md NEWS tests/README.md; do echo 'Text.' >"$tree/$name"; done
    for name in include/cujit/a.h src/a.c tools/a.c tests/a.c examples/a.c bench/a.c; do
        echo 'int a;' >"$tree/$name"
    done
    (cd "$tree" && sh "$here/tests/build/$1.sh") >"$tap_work/clean" 2>&1
    result $? "$1: a tree without a mistake passes ($4)" "$tap_work/clean"
    printf '%b\n' "$3" >"$tree/$2"
    (cd "$tree" && sh "$here/tests/build/$1.sh") >"$tap_work/out" 2>&1
    status=$?
    [ $status -eq 1 ] && [ "$(grep -c "^$2:" "$tap_work/out")" -eq 1 ] && [ "$(wc -l <"$tap_work/out")" -eq 1 ]
    result $? "$1: $4" "$tap_work/out"
}

long=$(printf '%0101d' 0) longer=$(printf '%0121d' 0)
notices columns src/a.c "int a; /* $longer */" 'code over 120 columns'
notices columns include/cujit/a.h "/* $long */" 'prose of a header over 100 columns'
notices columns docs/a.md "$long" 'Markdown over 100 columns'
notices words include/cujit/a.h '/* The work is given to a stream. */' 'a phrase in a header'
notices words README.md 'The release is put\noff.' 'a phrase over the end of a line'
notices words src/a.c 'const char *a = "the call is refused";' 'a phrase in a message'
notices format src/a.c 'int a; ' 'a blank at the end of a line'
notices format src/a.c '\tint a;' 'a tab'
notices format tools/a.c 'int a(void) {\n    return 0;\n}' 'a brace that opens a function on its line'
notices format src/a.c "int a; /* TO""DO */" 'unfinished work'
finish
