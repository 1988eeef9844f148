#!/bin/sh
# cujit replay: the recording of a program is listed and repeated, also on a device of another architecture; damage,
# differences, devices that do not fit, wrong use.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
top_builddir=$(cd "${top_builddir:-.}" && pwd)
cd "$tap_work" || exit 1
[ -e "$CUJIT_SIM" ] || skip_all 'no CPU device was built'
case $CUJIT_SIM in /*) ;; *) CUJIT_SIM=$OLDPWD/$CUJIT_SIM ;; esac
CUJIT_DRIVER=sim
export CUJIT_DRIVER CUJIT_SIM

# STATUS NAME PATTERN ARGS...: cujit replay ARGS exits with STATUS, and a line of the output matches PATTERN
wants()
{
    status=$1 name=$2 pattern=$3
    shift 3
    "$CUJIT_BIN" replay "$@" >out 2>&1
    got=$?
    echo "exit status $got, wants $status" >>out
    [ "$got" -eq "$status" ] && grep -qEe "$pattern" out
    result $? "$name" out
}

CUJIT_RECORD=$PWD/saxpy.rec "$top_builddir/examples/saxpy" >plain 2>&1
result $? 'a program that is recorded works' plain
wants 0 'what it is of' '^recorded by cujit [0-9.]+, driver sim of CUDA [0-9.]+$' saxpy.rec
grep -qE '^[0-9]+ calls repeated, [0-9]+ left out that change nothing, 0 impossible$' out &&
    grep -q '^400000 bytes compared: 0 copies differ, 0 results differ$' out
result $? 'it is repeated without a difference' out
CUJIT_SIM_SM=80 wants 0 'on another architecture too' '^400000 bytes compared: 0 copies differ' saxpy.rec
wants 0 'its calls are listed' 'cuLaunchKernel\(f=0x[0-9a-f]+, gridDimX=[0-9]+,' --list saxpy.rec
CUJIT_DRIVER=/nonexistent wants 0 'without a driver' 'cuInit\(Flags=0\) = CUDA_SUCCESS$' saxpy.rec --list
CUJIT_DRIVER=/nonexistent wants 1 'which a repetition needs' '^cujit replay: .*nonexistent' saxpy.rec
CUJIT_SIM_DEVICES=0 wants 1 'and a device' '^cujit replay: ' saxpy.rec

CUJIT_SIM_DEVICES=2 CUJIT_RECORD=$PWD/halo.rec "$top_builddir/examples/halo" >plain 2>&1
result $? 'a program of two devices is recorded' plain
CUJIT_SIM_DEVICES=2 wants 0 'and repeated' ' 0 copies differ, 0 results differ$' halo.rec

CUJIT_RECORD=$PWD/wait.rec CUJIT_SIM_SCHEDULE=eager "$top_builddir/examples/graph_replay" >plain 2>&1
result $? 'a program with a graph is recorded' plain
CUJIT_SIM_SCHEDULE=adversarial wants 0 'and repeated under another schedule' ' 0 copies differ, 0 results differ$' \
    wait.rec
CUJIT_FAULT=cuLaunchKernel:1:2 wants 1 'a call that fails now is a difference' \
    '^call [0-9]+, cuLaunchKernel: CUDA_ERROR_OUT_OF_MEMORY \(2\), and was CUDA_SUCCESS \(0\)$' saxpy.rec
grep -q ' 1 copy differs, 1 result differs$' out
result $? 'and so is what its kernel would have computed' out

head -c 3000 saxpy.rec >cut.rec
wants 0 'a file that is cut is listed' '^the last record is cut' --list cut.rec
{ head -c 2000 saxpy.rec; printf x; tail -c +2002 saxpy.rec; } >damaged.rec
wants 3 'a damaged file' '^cujit replay: damaged.rec: it is damaged ' damaged.rec
wants 3 'no recording' 'it is no recording of cujit' /dev/null
wants 3 'no file' '^cujit replay: none.rec cannot be read: No such file' none.rec
wants 3 'no name' 'the file of a recording is missing'
wants 3 'two names' 'a second file: b' a b
wants 3 'no option' 'no option --all' --all
wants 0 'the help' '^Usage: cujit replay' --help
finish
