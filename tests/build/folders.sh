#!/bin/sh
# The order of the house (docs/inside.md): which folder may include which, names that are unique, no comment of haste.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
cd "$top_srcdir" || exit 1

sources=$(find src include -type f \( -name '*.[ch]' -o -name '*.inc' -o -name '*.def' \) | sort)

# shellcheck disable=SC2086
awk '
    BEGIN {
        may["base"] = " base "
        may["ptx"] = " ptx base "
        may["cuda"] = " cuda base "
        may["driver"] = " driver base ptx cuda "
        may["stream"] = " stream base cuda driver "
        may["sim"] = " sim base ptx cuda "
        may["cujit"] = " "
    }
    { split(FILENAME, part, "/"); folder = part[1] == "include" ? "cujit" : part[2] }
    /^[ ]*#[ ]*include[ ]*"/ {
        split($0, q, "\"")
        n = split(q[2], path, "/")
        first = n > 1 ? path[1] : folder
        if (q[2] ~ /\.\./) print FILENAME ":" FNR ": climbs out of its folder: " q[2]
        else if (!(first in may)) { if (folder != "cujit" && path[1] != "isa") print FILENAME ":" FNR ": no folder of src: " q[2] }
        else if (!index(may[folder], " " first " ") && folder != "cujit") print FILENAME ":" FNR ": src/" folder " may not include " q[2]
        else if (folder == "cujit" && n > 1) print FILENAME ":" FNR ": a public header includes src: " q[2]
    }
    /^[ ]*#[ ]*include[ ]*</ {
        split($0, q, /[<>]/)
        if (q[2] ~ /^(cuda|nv|driver_types)/) print FILENAME ":" FNR ": needs the CUDA toolkit: " q[2]
        if (q[2] ~ /^cujit\/(driver|stream|cujit)\.h$/ && folder ~ /^(base|ptx|cuda|sim)$/)
            print FILENAME ":" FNR ": src/" folder " knows nothing of " q[2]
    }
' $sources >"$tap_work/out"
result_empty 'a folder includes only the folders it may include' "$tap_work/out"

find src include tools tests examples bench bindings docs -type f \( -name '*.[ch]' -o -name '*.def' -o -name '*.sh' \
    -o -name '*.cc' -o -name '*.py' -o -name '*.lua' \) 2>/dev/null | awk -F/ '
    # the public header of a part may have a counterpart of its name inside that part
    { key = $1 == "include" ? "<" $NF ">" : $NF; if (key in seen) print seen[key] " and " $0; seen[key] = $0 }' >"$tap_work/out"
result_empty 'a file name occurs once in the tree' "$tap_work/out"

# shellcheck disable=SC2086
awk '
    FNR == 1 { split("", here) }
    /^static / {
        line = $0
        sub(/[ ]*\/\*.*/, "", line)
        gsub(/__attribute__ *\(\([^)]*\)+/, "", line)
        if (line ~ /^static (const )?(struct|union|enum)[ a-z_0-9]*\{/ || line ~ /_Static_assert/) next
        if (match(line, /[A-Za-z_][A-Za-z0-9_]*[ ]*\(/)) name = substr(line, RSTART, RLENGTH - 1)
        else if (match(line, /[A-Za-z_][A-Za-z0-9_]*(\[[^]]*\])*[ ]*(=|;|,)/)) {
            name = substr(line, RSTART, RLENGTH)
            sub(/[^A-Za-z0-9_].*/, "", name)
        } else next
        gsub(/[ ]/, "", name)
        if (name in here) next
        here[name] = 1
        if (name in seen) print FILENAME ":" FNR ": " name " is in " seen[name] " too"
        seen[name] = FILENAME ":" FNR
    }
' $(echo "$sources" | tr ' ' '\n' | grep -E '^src/.*\.[ch]$') >"$tap_work/out"
result_empty 'a static name occurs once in src, so that all files can be built as one' "$tap_work/out"

# shellcheck disable=SC2086
grep -nE '\b(printf|puts|putchar|perror|abort|exit|_exit|assert)[ ]*\(' $(echo "$sources" | tr ' ' '\n' | grep -E '^src/.*\.[ch]$') |
    grep -vE ':[ ]*(\*|/\*|//)|cj_|cji_|static_assert|_Static_assert|[a-z_](exit|abort|assert|puts|printf)|"[^"]*\b(printf|exit|abort|assert)' >"$tap_work/out"
result_empty 'the library neither prints nor exits nor aborts' "$tap_work/out"

# shellcheck disable=SC2086
grep -nE '\b(malloc|calloc|realloc|free|strdup|strndup|asprintf)\(' $(echo "$sources" | tr ' ' '\n' | grep -E '^src/.*\.[ch]$' | grep -v '^src/base/alloc\.c$') |
    grep -vE ':[ ]*(\*|/\*|//)|[>.]free\(' >"$tap_work/out"
result_empty 'all memory goes through the allocator hook' "$tap_work/out"

for file in $sources; do
    case $file in
    include/*) grep -qF "$file" src/*/local.mk src/local.mk || echo "$file is not in cujitinclude_HEADERS" ;;
    *)
        own=${file%/*}/local.mk
        [ -f "$own" ] || own=src/$(echo "$file" | cut -d/ -f2)/local.mk
        grep -qE "%D%/${file#"${own%local.mk}"}([ ]|\$)" "$own" || echo "$file is in no local.mk" ;;
    esac
done >"$tap_work/out"
result_empty 'every file of src and include is in the build' "$tap_work/out"

sh tests/build/format.sh >"$tap_work/out" 2>&1
result $? 'lines are short, without tabs and trailing blanks, and finished' "$tap_work/out"
finish
