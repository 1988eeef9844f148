#!/bin/sh
# A launch of a product with the arguments of the launch before executes at most 1.1 times the instructions of cj_launch
# of a kernel with as many bytes of arguments, and so does one with other memory, beside what the driver does to the
# tensor maps.  Callgrind counts them, over a driver of stubs.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
valgrind --version >/dev/null 2>&1 || skip_all 'no valgrind'
program=$top_builddir/tests/kernels/repeated_launches
form=$("$program" cost 2>"$tap_work/err")
[ "$form" = optimised ] || [ -s "$tap_work/err" ] || skip_all 'built without optimisation'
result_empty 'the program of the launches ends well' "$tap_work/err"
valgrind --tool=callgrind --callgrind-out-file="$tap_work/calls" "$program" cost >"$tap_work/out" 2>&1 ||
    skip_all 'callgrind cannot run the program: a sanitizer?'
# The cost of a call of each site, from main: "cfn=(ID) NAME", "calls=COUNT LINE", "LINE COST".
awk '/^c?fn=/ { id = $1; sub(/^c?fn=/, "", id); if (NF > 1) name[id] = $2 }
     /^cfn=/ { callee = name[id] }
     /^calls=/ {
         n = substr($1, 7)
         if ((getline) <= 0) exit
         if (callee ~ /^cost_(launch|product|moved)$/) { cost[callee] += $2; times[callee] += n }
     }
     END { for (site in cost) print site, cost[site], times[site] }' "$tap_work/calls" | sort >"$tap_work/costs"
[ "$(wc -l <"$tap_work/costs")" -eq 3 ]
result $? 'three calls are counted' "$tap_work/costs"
launch=$(sed -n 's/^cost_launch \([0-9]*\) .*/\1/p' "$tap_work/costs")
product=$(sed -n 's/^cost_product \([0-9]*\) .*/\1/p' "$tap_work/costs")
moved=$(sed -n 's/^cost_moved \([0-9]*\) .*/\1/p' "$tap_work/costs")
echo "# cj_launch $((launch / 100)), cj_gemm_launch $((product / 100)) instructions a call, the first one included;" \
    "with other memory $((moved / 100))"
[ $((product * 10)) -le $((launch * 11)) ]
result $? 'a repeated launch of a product costs no more than 1.1 of cj_launch' "$tap_work/costs"
[ $((moved * 10)) -le $((launch * 11)) ]
result $? 'nor does one with other memory' "$tap_work/costs"
finish
