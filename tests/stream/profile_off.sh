#!/bin/sh
# A call that a profile would measure executes at most four instructions more, while none is on, than the same call
# compiled without hooks. Callgrind counts them, over a driver of stubs.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
valgrind --version >/dev/null 2>&1 || skip_all 'no valgrind'
for form in hooks bare; do
    program=$top_builddir/tests/stream/profile_off_$form
    [ "$("$program" 2>"$tap_work/err")" = optimised ] || [ -s "$tap_work/err" ] || skip_all 'built without optimisation'
    result_empty "the program of the calls ends well: $form" "$tap_work/err"
    valgrind --tool=callgrind --callgrind-out-file="$tap_work/$form" "$program" >"$tap_work/out" 2>&1 ||
        skip_all 'callgrind cannot run the program: a sanitizer?'
    # The cost of a call of each site, from main: "cfn=(ID) NAME", "calls=COUNT LINE", "LINE COST".
    awk '/^c?fn=/ { id = $1; sub(/^c?fn=/, "", id); if (NF > 1) name[id] = $2 }
         /^cfn=/ { callee = name[id] }
         /^calls=/ {
             n = substr($1, 7)
             if ((getline) <= 0) exit
             if (callee ~ /^off_/) { cost[callee] += $2; times[callee] += n }
         }
         END { for (site in cost) print site, cost[site], times[site] }' "$tap_work/$form" |
        sort >"$tap_work/$form.costs"
done
[ "$(wc -l <"$tap_work/hooks.costs")" -eq 6 ] && [ "$(wc -l <"$tap_work/bare.costs")" -eq 6 ]
result $? 'six calls are counted' "$tap_work/hooks.costs"
join "$tap_work/hooks.costs" "$tap_work/bare.costs" >"$tap_work/both"
while read -r site hooked times bare _; do
    more=$(((hooked - bare) / times))
    echo "# $site: $((hooked / times)) instructions a call, $more of them for the hooks"
    [ $((hooked - bare)) -le $((4 * times)) ]
    result $? "$site executes at most four instructions more" "$tap_work/both"
done <"$tap_work/both"
finish
