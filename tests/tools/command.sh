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
for command in cache check devices env profile replay reproduce run-sim; do
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
wants 3 'reproduce without a file' 'no file is named' reproduce
wants 3 'reproduce of two files' 'one file is read, not also y.ptx' reproduce x.ptx y.ptx
wants 3 'no such option of reproduce' 'no option -x' reproduce -x
wants 3 'reproduce with half an option' 'no file follows -o' reproduce x.ptx -o
wants 3 'reproduce of a file that is not there' 'nowhere.ptx: No such file' reproduce nowhere.ptx

# A module as a program.
printf '.version 8.0\n.target sm_70\n.address_size 64\n.visible .entry k()\n{\n\tbar.sync 0;\n\tret;\n}\n' >k.ptx
wants 0 'reproduce writes to standard output' '^    cj_block_sync(f);$' reproduce k.ptx
wants 0 'reproduce writes to a file' '' reproduce -o k.c k.ptx
"$CUJIT_BIN" reproduce - <k.ptx >stdin.c && cmp -s k.c stdin.c
result $? 'and the same from standard input'
wants 3 'reproduce into a folder that is not there' 'nowhere/k.c cannot be written' reproduce -o nowhere/k.c k.ptx
printf 'frob.u32 %%r1;\n' >bad.ptx
wants 1 'reproduce of a text that is wrong' '^bad.ptx:1' reproduce -o k.c bad.ptx
printf '.version 8.0\n.target sm_70\n.address_size 64\n.visible .entry k()\n{\n\tfrob;\n}\n' >new.ptx
wants 2 'reproduce of an instruction that is not known' '^new.ptx:6' reproduce -o k.c new.ptx
cmp -s k.c stdin.c
result $? 'and the older program is there'

"$CUJIT_BIN" --help >/dev/full 2>out
[ $? -eq 3 ] && grep -q 'cannot be written' out
result $? 'a full disk is reported' out
finish
