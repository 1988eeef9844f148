#!/bin/sh
# include/cujit/lines.h and verbs_numbers.h are what tools/genlines.sh and gennumbers.sh make of the headers;
# src/driver/enum_names.def is what genenums.sh makes of them, call_names.def what gencallnames.sh makes of src/cuda.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
for pair in genlines:lines gennumbers:verbs_numbers; do
    tool=${pair%:*} header=${pair#*:}.h
    sh "$top_srcdir/tools/$tool.sh" "$top_srcdir/include" >"$tap_work/$header" 2>"$tap_work/err"
    result $? "$header can be made" "$tap_work/err"
    diff "$top_srcdir/include/cujit/$header" "$tap_work/$header" >"$tap_work/out" 2>&1
    result $? "the shipped $header is current (tools/$tool.sh include >include/cujit/$header)" "$tap_work/out"
done
grep -c '^#define cj_' "$tap_work/lines.h" | awk '{ exit !($1 > 100) }'
result $? 'lines.h wraps more than a hundred calls'
grep -c '^#define cj_' "$tap_work/verbs_numbers.h" | awk '{ exit !($1 > 60) }'
result $? 'verbs_numbers.h more than sixty'
sh "$top_srcdir/tools/genenums.sh" "$top_srcdir/include" >"$tap_work/enums" 2>"$tap_work/err"
result $? 'enum_names.def can be made' "$tap_work/err"
diff "$top_srcdir/src/driver/enum_names.def" "$tap_work/enums" >"$tap_work/out" 2>&1
result $? 'the shipped enum_names.def is current (tools/genenums.sh include >src/driver/enum_names.def)' "$tap_work/out"
grep -c '^E("cj_' "$tap_work/enums" | awk '{ exit !($1 > 100) }'
result $? 'enum_names.def has more than a hundred values'
sh "$top_srcdir/tools/gencallnames.sh" "$top_srcdir/src" >"$tap_work/calls" 2>"$tap_work/err"
result $? 'call_names.def can be made' "$tap_work/err"
names=src/driver/interpose/call_names.def
diff "$top_srcdir/$names" "$tap_work/calls" >"$tap_work/out" 2>&1
result $? "the shipped call_names.def is current (tools/gencallnames.sh src >$names)" "$tap_work/out"
finish
