#!/bin/sh
# The command cujit: help, version, wrong use.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
cd "$tap_work" || exit 1

# STATUS NAME PATTERN ARGS...: exits with STATUS, and the output holds PATTERN
wants()
{
    status=$1 name=$2 pattern=$3
    shift 3
    "$CUJIT_BIN" "$@" >out 2>&1
    got=$?
    echo "exit status $got, wants $status" >>out
    [ "$got" -eq "$status" ] && grep -qe "$pattern" out
    result $? "$name" out
}

wants 0 '--version' '^cujit [0-9]*\.[0-9]*\.[0-9]*$' --version
wants 0 '--help' 'run-sim ' --help
wants 0 '-h' 'Usage: cujit' -h
for command in cache check devices env profile run-sim; do
    wants 0 "$command --help" "^Usage: cujit $command" "$command" --help
    wants 0 "$command -h" "^Usage: cujit $command" "$command" -h
done
wants 3 'wrong use points to the help of the command' "^Try 'cujit devices --help'" devices --xml
wants 3 'without arguments' 'Usage: cujit'
wants 3 'no such command' 'no command frobnicate' frobnicate
wants 3 'no such option of devices' "no option --xml" devices --xml
wants 3 'no such option of check' 'no option --fast' check --fast x.ptx
wants 3 'no such option of env' 'no option --json' env --json
wants 3 'too much for env' 'no option x' env --markdown x
wants 3 'check without a file' 'no file is named' check
wants 3 'check of a file that is not there' 'nowhere.ptx: No such file' check nowhere.ptx
wants 3 'check of a folder' 'Is a directory' check .
wants 3 'a device that is none' 'no device such as 90 or 90a: --sm=x' check --sm=x x.ptx
wants 3 'a version that is none' 'no PTX version such as 9.0: --isa=90' check --isa=90 x.ptx
wants 3 'run-sim without a program' 'no program is named' run-sim
wants 3 'no such option of run-sim' 'no option -x' run-sim -x

"$CUJIT_BIN" --help >/dev/full 2>out
[ $? -eq 3 ] && grep -q 'cannot be written' out
result $? 'a full disk is reported' out
finish
