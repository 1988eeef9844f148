#!/bin/sh
# The width of lines: code ends at column 120, prose of public headers and of Markdown at column 100.
# Run in the source tree (make check-format).  Prints file:line: what is wrong; exit status 1 when there is anything.
# Exempt: *.def, generated files (their first lines say which tool makes them), and in Markdown tables, lines
# that hold a link or an address, and verbatim blocks (indented by four or fenced).
set -eu
LC_ALL=C.UTF-8
export LC_ALL
code=$(find include src tools tests examples bench -type f \
    \( -name '*.[ch]' -o -name '*.hpp' -o -name '*.inc' -o -name '*.cc' -o -name '*.sh' \) | sort)
prose=$(find include/cujit -name '*.h*' -type f | sort
    find README.md CONTRIBUTING.md NEWS docs tests examples -type f \( -name '*.md' -o -name NEWS \) | sort)
# shellcheck disable=SC2086
${AWK:-awk} '
    FNR == 1 { generated = 0; fenced = 0; prose = 0; comment = 0 }
    FNR <= 6 && /[Mm]ade (by|from)|[Gg]enerated by/ { generated = 1 }
    generated { next }
    FILENAME ~ /\.md$|NEWS$/ {
        if (/^ *```/) fenced = !fenced
        if (!fenced && length($0) > 100 && $0 !~ /^    |^\||\]\(|https?:|^\[.*\]: /) bad("prose", 100)
        next
    }
    length($0) > 120 { bad("code", 120); next }
    FILENAME ~ /^include\/cujit\// {
        if (/^ *\/\*/ || comment) { if (length($0) > 100) bad("prose", 100) }
        if (/\/\*/) comment = 1
        if (/\*\//) comment = 0
    }
    END { exit failed }
    function bad(what, width) {
        if (seen[FILENAME, FNR]++) return
        printf "%s:%d: %s wider than %d columns (%d)\n", FILENAME, FNR, what, width, length($0)
        failed = 1
    }
' $code $prose
