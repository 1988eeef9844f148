#!/bin/sh
# No instruction is spelled in src outside the tables (src/ptx/isa/*.def and what tools/isagen makes of them): code
# names them by the table's identifiers.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
cd "$top_srcdir" || exit 1

sed -n 's/^I([^,]*,[^,]*,[ ]*"\([a-z0-9_]*\).*/\1/p' src/ptx/isa/*.def | sort -u >"$tap_work/names"
awk 'END { exit !(NR >= 50) }' "$tap_work/names"
result $? 'the tables name at least fifty instructions'

# Prints each literal of the FILEs, comments left out, that is an instruction's name, alone or with modifiers behind it,
# at its beginning or behind white space or an escape.
search()
{
    awk '
    FILENAME == ARGV[1] { name[$1] = 1; next }
    FNR == 1 { comment = 0 }
    {
        line = $0
        gsub(/\\"/, "\001", line)
        while (line != "") {
            if (comment) {
                i = index(line, "*/")
                if (!i) { line = ""; break }
                line = substr(line, i + 2)
                comment = 0
                continue
            }
            if (match(line, /"[^"]*"|\/\*|\/\//)) {
                token = substr(line, RSTART, RLENGTH)
                code = substr(line, 1, RSTART - 1)   # __attribute__((target("fma"))) names one of a processor
                line = substr(line, RSTART + RLENGTH)
                if (token == "/*") { comment = 1; continue }
                if (token == "//") break
                if (code !~ /target|cpu_supports/) look(substr(token, 2, length(token) - 2))
            } else break
        }
    }
    function look(s,   n, word, i, head) {
        gsub(/\\[nt]/, " ", s)
        n = split(s, word, / +/)
        for (i = 1; i <= n; i++) {
            head = word[i]
            sub(/[.;:].*/, "", head)
            if (!(head in name)) continue
            if (word[i] ~ /^[a-z0-9_]+(\.[a-z0-9_:%]+)+;?$/ && word[i] !~ /\.(c|h|def|so|ptx|a)$/ ||
                (n == 1 && word[i] == head) || word[i] == head ";")
                print FILENAME ":" FNR ": \"" s "\""
        }
    }
' "$tap_work/names" "$@"
}

cat >"$tap_work/planted.c" <<'END'
/* "add.u32" */ const char *a = "ret"; // "add"
const char *b = "a sentence about add", *c = "\tadd.u32 %r1, ", *d = "mov.b32";
END
search "$tap_work/planted.c" | wc -l | awk '{ exit $1 != 3 }'
result $? 'three that are planted are found'

# src/kernels is a program over the public headers, in which the names are the interface.
# shellcheck disable=SC2046
search $(find src -path src/kernels -prune -o \( -name '*.[ch]' -o -name '*.inc' \) ! -name 'isa_data.c' \
    ! -name 'isa_ids.h' -print | sort) >"$tap_work/out"
result_empty 'no instruction is spelled outside the tables' "$tap_work/out"
finish
