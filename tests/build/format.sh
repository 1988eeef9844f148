#!/bin/sh
# Blanks, tabs, braces of functions, unfinished work, and the length of files.
# Run in the source tree (make check-format).  Prints file:line: what is wrong; exit status 1 when there is anything.
# shellcheck disable=SC2016
set -eu
files=$(find include src tools tests examples bench -type f \
    \( -name '*.[ch]' -o -name '*.inc' -o -name '*.def' -o -name '*.sh' -o -name '*.map' -o -name '*.cc' \) | sort)
# shellcheck disable=SC2086
${AWK:-awk} '
    FNR == 1 { if (name) done_with(); name = FILENAME; }
    { last = FNR }
    /[ \t]$/ { bad("ends in a blank") }
    /\t/ { bad("holds a tab") }
    /\r/ { bad("has a carriage return") }
    name !~ /\.(sh|def|map)$/ { braces() }
    name !~ /\.(sh|def|map)$/ && /TO[D]O|FIX[M]E|(^|[^X])XX[X]([^X]|$)/ { bad("is not finished") }
    END { done_with(); exit failed }
    # A function begins in the first column; its opening brace has a line of its own, or the body is on one line.
    function braces(   line) {
        if (FNR == 1) head = 0
        line = $0
        sub(/[ ]*\/\*.*\*\/$/, "", line)
        if (line ~ /^[A-Za-z_]/ && line ~ /\(/ && line !~ /^(typedef|namespace|extern "C")/) { head = 1; open = 0 }
        if (!head) return
        open += gsub(/\(/, "(", line) - gsub(/\)/, ")", line)
        if (open > 0) return
        head = 0
        if (line ~ /\)( [a-z_]+)* \{$/ && line !~ /= *\(?[A-Za-z_]*\)? *\{$/)
            bad("opens a function: its brace has a line of its own")
    }
    function bad(what) { printf "%s:%d: the line %s\n", name, FNR, what; failed = 1 }
    function done_with() {
        if (name !~ /\.c$/ || name ~ /isa_data/ || last <= 800) return
        printf "%s:%d: the file is longer than 800 lines: split it\n", name, last
        failed = 1
    }
' $files
