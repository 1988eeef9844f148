#!/bin/sh
# The order of the house (docs/inside.md): which folder may include which, names that are unique, no comment of haste.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
build=$(cd "$top_builddir" && pwd) || exit 1
cd "$top_srcdir" || exit 1

sources=$(find src include -type f \( -name '*.[ch]' -o -name '*.inc' -o -name '*.def' \) | sort)
code=$(echo "$sources" | tr ' ' '\n' | grep -E '^src/.*\.[ch]$')

# shellcheck disable=SC2086
awk '
    BEGIN {
        may["base"] = " base "
        may["ptx"] = " ptx base "
        may["cuda"] = " cuda base "
        may["driver"] = " driver base ptx cuda "
        may["stream"] = " stream base cuda driver "
        may["sim"] = " sim base ptx cuda "
        may["kernels"] = " kernels "
        may["cujit"] = " "
    }
    { split(FILENAME, part, "/"); folder = part[1] == "include" ? "cujit" : part[2] }
    /^[ ]*#[ ]*include[ ]*"/ {
        split($0, q, "\"")
        n = split(q[2], path, "/")
        first = n > 1 ? path[1] : folder
        if (q[2] ~ /\.\./) print FILENAME ":" FNR ": climbs out of its folder: " q[2]
        else if (!(first in may)) {
            if (folder != "cujit" && path[1] != "isa") print FILENAME ":" FNR ": no folder of src: " q[2]
        } else if (!index(may[folder], " " first " ") && folder != "cujit")
            print FILENAME ":" FNR ": src/" folder " may not include " q[2]
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
    {
        key = $1 == "include" ? "<" $NF ">" : $NF
        if (key in seen) print seen[key] " and " $0
        seen[key] = $0
    }' >"$tap_work/out"
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
' $code >"$tap_work/out"
result_empty 'a static name occurs once in src, so that all files can be built as one' "$tap_work/out"

# shellcheck disable=SC2086
grep -nE '\b(printf|puts|putchar|perror|abort|exit|_exit|assert)[ ]*\(' $code |
    grep -vE ':[ ]*(\*|/\*|//)|cj_|cji_|static_assert|_Static_assert' |
    grep -vE '[a-z_](exit|abort|assert|puts|printf)|"[^"]*\b(printf|exit|abort|assert)' >"$tap_work/out"
result_empty 'the library neither prints nor exits nor aborts' "$tap_work/out"

# shellcheck disable=SC2086
grep -nE '\b(malloc|calloc|realloc|free|strdup|strndup|asprintf)\(' $(echo "$code" | grep -v '^src/base/alloc\.c$') |
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

# -- Calls: an undefined symbol of an object file is a call of the file that defines it --------------------------------
# The rooms of a library, the lowest first: a file calls files of its own room and of rooms before it.
library_rooms='base ptx ptx/math ptx/blocks ptx/reproduce cuda driver/cache driver driver/compile driver/interpose'
library_rooms="$library_rooms stream/core stream/memory stream/array stream/graph stream/pool stream/coordinate"
library_rooms="$library_rooms stream/profile stream/pipeline stream/interop"
device_rooms='base ptx ptx/math ptx/blocks ptx/reproduce cuda sim/exec sim/core sim/module sim/queue sim/stream'
device_rooms="$device_rooms sim/memory sim/kinds sim/graph sim/diagnose sim/entry"

# Rings of more than three files that may be: a regular expression that fits all their names. This list does not grow.
#   ptx's parser: recursive descent; base: recording an error names it, and naming it can fail
rings='^ptx/parse ^base/'

# ROOMS: prints the calls of later rooms, and the rings of files
check_calls()
{
    find "$build/src" -name '*.o' | grep -v "^$build/src/libcujit\|/conftest" | xargs nm -A 2>/dev/null |
    awk -v rooms="$1" -v rings="$rings" -v src="$build/src/" '
        BEGIN {
            n = split(rooms, room_at, " ")
            for (i = 1; i <= n; i++) rank[room_at[i]] = i
            nring = split(rings, ring, " ")
        }
        {
            colon = index($0, ":")
            file = substr($1, 1, index($1 ":", ".o:") - 1)
            sub(/\.o$/, "", file)
            file = substr(file, length(src) + 1)
            gsub(/\.libs\//, "", file)
            split(substr($0, colon + 1), f, " ")
            room = file
            sub(/\/[^\/]*$/, "", room)
            if (!(room in rank)) next
            room_of[file] = room
            if (f[1] == "U") { used[file, f[2]]; next }
            if (f[2] ~ /^[TDBRVWC]$/) defined[f[3]] = file
        }
        END {
            for (u in used) {
                split(u, p, SUBSEP)
                from = p[1]; to = defined[p[2]]
                if (to == "" || to == from) continue
                if (rank[room_of[to]] > rank[room_of[from]]) print from ".c calls " p[2] " of a later room, " to ".c"
                if (!((from, to) in edge)) { edge[from, to]; next_of[from, ++degree[from]] = to }
            }
            for (file in room_of) if (!(file in number)) visit(file)
        }
        # Tarjan: the files that call each other in a ring are on the stack together.
        function visit(v,    i, w, members, count, several, name, k, allowed) {
            number[v] = low[v] = ++counter
            stack[++top] = v
            on[v] = 1
            for (i = 1; i <= degree[v]; i++) {
                w = next_of[v, i]
                if (!(w in number)) { visit(w); if (low[w] < low[v]) low[v] = low[w] }
                else if (on[w] && number[w] < low[v]) low[v] = number[w]
            }
            if (low[v] != number[v]) return
            do {
                w = stack[top--]
                on[w] = 0
                members = members " " w ".c"
                name[++count] = w
                if (room_of[w] != room_of[v]) several = 1
            } while (w != v)
            if (several) print "a ring through several rooms:" members
            if (count <= 3) return
            for (k = 1; k <= nring && !allowed; k++) {
                allowed = 1
                for (i = 1; i <= count; i++) if (name[i] !~ ring[k]) allowed = 0
            }
            if (!allowed) print "a ring of " count " files:" members
        }' | sort
}

calls='calls only rooms before it, and no ring of files is longer than three'
if nm --version >/dev/null 2>&1; then
    check_calls "$library_rooms" >"$tap_work/out"
    result_empty "a room of the library $calls" "$tap_work/out"
    check_calls "$device_rooms" >"$tap_work/out"
    result_empty "a room of the CPU device $calls" "$tap_work/out"
else
    skip "a room $calls" 'no nm'
fi
finish
