#!/bin/sh
# cujit devices: what there is, for people and for programs.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
cd "$tap_work" || exit 1
[ -e "$CUJIT_SIM" ] || skip_all 'no CPU device was built'

# a libcuda that is none, so that the machine's own does not matter
echo nothing >libcuda.so.1
CUJIT_LIBCUDA=$PWD/libcuda.so.1
export CUJIT_LIBCUDA
CUJIT_DRIVER=sim
export CUJIT_DRIVER

"$CUJIT_BIN" devices >out 2>&1
result $? 'the CPU device is found: exit status 0' out
# NAME PATTERN: a line of the output matches
has() { grep -qE "$2" out; result $? "$1" out; }
has 'why the GPU cannot be used' '^cuda: cannot be used: .*libcuda\.so\.1'
has 'the CPU device with CUDA version and newest PTX' \
    '^sim: /.*libcujit-sim\.so, CUDA [0-9]+\.[0-9]+, PTX up to [0-9]+\.[0-9], [1-9][0-9]* device'
has 'its device' '^  0: .+, sm_[0-9]+[a-z]?, [0-9]+ multiprocessors, [0-9.]+ GiB$'
has 'what programs get' '^programs get: sim \('

"$CUJIT_BIN" devices --json >out 2>err
result $? 'as JSON: exit status 0' err
has 'the library' '"cujit": "[0-9.]+"'
has 'both drivers' '"driver": "cuda"'
has 'both drivers, sim' '"driver": "sim"'
has 'usable or not' '"usable": (true|false)'
has 'the reason' '"error": ".*libcuda\.so\.1'
has 'the status' '"status": "CJ_E[A-Z]+"'
has 'versions' '"ptx_version": "[0-9]+\.[0-9]"'
has 'a device' '"sm": "sm_[0-9]+[a-z]?"'
has 'the default' '"default": "sim"'
is_json out
result $? 'the whole is JSON' out

for setting in SIM_SM=foo SIM_DEVICES=17 SIM_THREADS=0 SIM_SCHEDULE=random SIM_BOUNDS=wide SIM_STALL_MS=-1 \
    DRIVER=other TRACE=/nowhere/trace; do
    env "CUJIT_$setting" "$CUJIT_BIN" devices >out 2>&1
    has "CUJIT_$setting is what programs get no driver for" "^programs get: none \(.*${setting#*=}"
done
has 'the file of a trace' 'the trace /nowhere/trace cannot be written'
CUJIT_SIM_BOUNDS=wide "$CUJIT_BIN" devices >out 2>&1
has 'a setting of the CPU device, and what it wants' \
    '^sim: cannot be used: .*does not start: CUJIT_SIM_BOUNDS=wide: wants exact or coarse: cuInit: '

CUJIT_SIM=$PWD/nowhere.so "$CUJIT_BIN" devices >out 2>&1
[ $? -eq 1 ]
result $? 'no device at all: exit status 1' out
has 'and why' '^sim: cannot be used: .*nowhere\.so'
finish
