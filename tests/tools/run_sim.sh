#!/bin/sh
# cujit run-sim: somebody else's program finds the CPU device under the name libcuda.so.1.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
folder=$(dirname "$CUJIT_SIM")/as-libcuda
[ -e "$folder/libcuda.so.1" ] || skip_all 'the shim was not built'
program=$(cd "$top_builddir" && pwd)/tests/tools/uses_libcuda
cd "$tap_work" || exit 1

"$CUJIT_BIN" run-sim "$program" one 'two words' >out 2>&1
status=$?
grep -qE '^status 0, [1-9][0-9]* device, 2 arguments, the last is two words$' out
result $? 'the program finds a device and gets its arguments' out
[ "$status" -eq 7 ]
result $? "its exit status is the command's" out

[ "$(readlink "$folder/libcuda.so")" = libcuda.so.1 ]
result $? 'libcuda.so is beside libcuda.so.1, for programs that open it by that name'

LD_LIBRARY_PATH=/somewhere/else "$CUJIT_BIN" run-sim sh -c 'echo "$LD_LIBRARY_PATH"' >out 2>&1
grep -qE "^$folder:(.*:)?/somewhere/else" out
result $? 'LD_LIBRARY_PATH keeps what it had' out
"$CUJIT_BIN" run-sim -- sh -c 'exit 5' >out 2>&1
[ $? -eq 5 ]
result $? 'a program behind --' out
"$CUJIT_BIN" run-sim ./nowhere >out 2>&1
[ $? -eq 127 ] && grep -q 'run-sim: ./nowhere: No such file' out
result $? 'no such program: 127' out
echo x >plain
"$CUJIT_BIN" run-sim ./plain >out 2>&1
[ $? -eq 126 ]
result $? 'no program: 126' out
CUJIT_SIM=$PWD/nowhere.so "$CUJIT_BIN" run-sim true >out 2>&1
[ $? -eq 3 ] && grep -q 'libcuda.so.1 is not found' out
result $? 'no CPU device: told' out
finish
