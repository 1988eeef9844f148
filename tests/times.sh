#!/bin/sh
# Processor time of tests: make check-times.
# usage: times.sh PROGRAM ARGS...          runs a test; its user and system time goes to a line of $CUJIT_TIMES
#        times.sh --report TIMES README    fails for each test over the limit that README does not list as a longer one
#
# The list is the table under "## Longer tests" of tests/README.md: | `tests/area/name` | why |
limit=0.30

if [ "$1" = --report ]; then
    exec "${AWK:-awk}" -v limit=$limit '
        NR != FNR && /^## / { inside = $0 == "## Longer tests" }
        NR == FNR { took[$2] = $1; sum += $1; next }
        inside && match($0, /`[^`]*`/) { longer[substr($0, RSTART + 1, RLENGTH - 2)] = 1 }
        END {
            for (name in took) {
                count++
                if (took[name] <= limit) continue
                plain = name
                sub(/\.sim$/, "", plain)
                family = plain
                sub(/[_.][^_.\/]*$/, "", family)   # tests/whole/fault_hello is one of tests/whole/fault_*
                listed = (plain in longer) || (family "_*" in longer) || (family ".*" in longer)
                if (listed) printf "longer %.2f s  %s\n", took[name], name
                else { printf "OVER   %.2f s  %s: more than %s s\n", took[name], name, limit; failed = 1 }
            }
            printf "%d tests took %.1f s of processor time\n", count, sum
            exit failed
        }' "$2" "$3"
fi

"$@"
status=$?
name=$(echo "$1" | sed 's,.*/\(tests/[^/]*/[^/]*\)$,\1,')
# The second line is about children: 0m0.010s 0m0.004s. A pipe would be a child of its own.
times >"$CUJIT_TIMES.$$"
"${AWK:-awk}" -v name="$name" 'NR == 2 {
    for (i = 1; i <= 2; i++) { split($i, part, /[ms]/); s += part[1] * 60 + part[2] }
    printf "%.3f %s\n", s, name
}' "$CUJIT_TIMES.$$" >>"$CUJIT_TIMES"
rm -f "$CUJIT_TIMES.$$"
exit $status
