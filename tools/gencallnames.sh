#!/bin/sh
# Makes src/driver/interpose/call_names.def from the headers of the driver's ABI: the values of each enumeration that
# a call has or that a text of calls shows, and the flags that are macros.
# Usage: gencallnames.sh SRC-DIR > call_names.def     A test compares its output with the shipped file.
set -eu
cd "$1"
cat <<'end'
/* The values of the driver's enumerations and flags: T(type), then V(value, name) of each.  Made by
 * tools/gencallnames.sh: do not edit. */
end
LC_ALL=C awk '
    FILENAME ~ /symbols.def|interpose/ {
        n = split($0, word, /[^A-Za-z0-9_]+/)
        for (i = 1; i <= n; i++) shown[word[i]] = 1
        next
    }
    /^typedef enum CU/ && $3 in shown && $3 != "CUresult" { type = $3; print "T(" type ")"; next }
    /^}/ { type = "" }
    type != "" && $2 == "=" {
        value = $3
        sub(/,.*/, "", value)
        print "V(" value ", " $1 ")"
    }
    /^#define (CU_MEMHOSTALLOC|CU_MEMHOSTREGISTER|CU_GRAPH_COND)_/ {
        group = $2
        sub(/_[A-Z]*$/, "", group)
        if ($2 ~ /^CU_MEMHOSTREGISTER_/) group = "CU_MEMHOSTREGISTER"
        if (!(group in macros)) order[++groups] = group
        macros[group] = macros[group] "V(" $3 ", " $2 ")\n"
    }
    END { for (i = 1; i <= groups; i++) printf "T(%s)\n%s", order[i], macros[order[i]] }
' cuda/symbols.def driver/interpose/call_names.c driver/interpose/interposer_text.c driver/interpose/struct_text.c \
    cuda/enums.h cuda/abi.h cuda/abi_memory.h
printf '#undef T\n#undef V\n'
