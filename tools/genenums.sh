#!/bin/sh
# Makes src/driver/enum_names.def from the public headers: a row for each value of each enum.
# Usage: genenums.sh INCLUDE-DIR > enum_names.def     A test compares its output with the shipped file.
set -eu
dir=$1
echo '/* The values of the public enums: E(type, name); the type of an enum without a name is "". Made by tools/genenums.sh: do not edit. */'
for header in "$dir"/cujit/*.h; do
    case $header in */sim.h|*/kernels*.h) continue ;; esac # of other libraries
    cat "$header"
done | LC_ALL=C awk '
    { text = text $0 "\n" }
    END {
        while (match(text, /\/\*([^*]|\*+[^*\/])*\*+\//)) text = substr(text, 1, RSTART - 1) " " substr(text, RSTART + RLENGTH)
        while (match(text, /(^|\n)(typedef )?enum[ a-z0-9_]*\{[^}]*\}[^;]*;/)) {
            one = substr(text, RSTART, RLENGTH)
            text = substr(text, RSTART + RLENGTH - 1)
            type = one
            sub(/^[^}]*\}[ \n]*/, "", type)
            sub(/[ \n]*;$/, "", type)
            sub(/^[^{]*\{/, "", one)
            sub(/\}.*/, "", one)
            n = split(one, value, ",")
            for (i = 1; i <= n; i++) {
                gsub(/[ \n]/, "", value[i])
                sub(/=.*/, "", value[i])
                if (value[i] != "") printf "E(\"%s\", %s)\n", type, value[i]
            }
        }
    }' | sort -s -k1,1
echo '#undef E'
