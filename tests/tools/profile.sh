#!/bin/sh
# cujit profile: a program of libcujit that knows nothing of profiles leaves its timeline.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
program=$(cd "$top_builddir" && pwd)/tests/tools/makes_streams
cd "$tap_work" || exit 1

"$CUJIT_BIN" profile -o trace.json "$program" 5 >out 2>&1
[ $? -eq 5 ]
result $? "the exit status is the program's" out
[ "$(grep -c '"cat":"fill"' trace.json)" -eq 5 ]
result $? 'the trace has each fill, the last one too' trace.json
[ "$(grep -c '"cat":"copy to host"' trace.json)" -eq 1 ] && [ "$(grep -c '"ph":"C"' trace.json)" -eq 2 ]
result $? 'the copy, and the memory before and after' trace.json
! ls trace.json.* >/dev/null 2>&1
result $? 'nothing else is left'
if command -v python3 >/dev/null 2>&1; then
    python3 - trace.json >out 2>&1 <<'END'
import json, sys
trace = json.load(open(sys.argv[1]))
kinds = {}
for event in trace['traceEvents']:
    kinds[event['ph']] = kinds.get(event['ph'], 0) + 1
    if event['ph'] == 'X':
        assert event['dur'] >= 0 and event['ts'] >= 0 and event['args']['enqueued'] <= event['ts'], event
        assert isinstance(event['name'], str) and isinstance(event['pid'], int) and isinstance(event['tid'], int)
    if event['ph'] == 'C':
        assert event['args']['bytes'] >= 0
assert kinds['X'] == 6 and kinds['C'] == 2 and kinds['M'] >= 2, kinds
END
    result $? 'a JSON reader accepts it, and each event has its fields' out
else
    skip 'a JSON reader accepts it' 'no python3'
fi

"$CUJIT_BIN" profile -o picture.svg -- "$program" 3 >out 2>&1
grep -q '^<svg ' picture.svg && tail -n 1 picture.svg | grep -qx '</svg>'
result $? 'a picture for .svg, of a program behind --' picture.svg
"$CUJIT_BIN" profile -o tables.txt "$program" 3 >out 2>&1
grep -q '^4 operations on 1 streams of 1 devices' tables.txt
result $? 'tables for .txt' tables.txt
"$CUJIT_BIN" profile "$program" 1 >out 2>&1
[ -s cujit-profile.json ]
result $? 'cujit-profile.json without -o' out
"$CUJIT_BIN" profile -o late.json "$program" 4 unfinished >out 2>&1
[ "$(grep -c '"cat":"fill"' late.json)" -eq 4 ]
result $? 'work that the program does not wait for has its records when the device is closed' late.json
"$CUJIT_BIN" profile -o open.json "$program" 4 unclosed >out 2>&1
[ "$(grep -c '"cat":"fill"' open.json)" -eq 4 ]
result $? 'and when the program ends and leaves the device open' open.json
"$CUJIT_BIN" profile ./nowhere >out 2>&1
[ $? -eq 127 ] && grep -q 'profile: ./nowhere: No such file' out
result $? 'no such program: 127' out
"$CUJIT_BIN" profile -x true >out 2>&1
[ $? -eq 3 ] && grep -q 'no option' out
result $? 'no such option: 3' out
CUJIT_PROFILE=/nowhere/trace.json CUJIT_LOG=error "$program" 2 >out 2>&1
[ $? -eq 2 ] && grep -q '/nowhere/trace.json cannot be written: No such file or directory' out
result $? 'a file that cannot be written is a line of the log' out
# The log is written to a pipe, which has no limit.
{ (ulimit -f 0; CUJIT_PROFILE=limit.json CUJIT_LOG=error "$program" 2; echo "status $?") 2>&1; } | cat >out
grep -q 'limit.json cannot be written: File too large' out && grep -q 'status 2' out && [ ! -e limit.json ]
result $? 'and so is one beyond the limit for files, which ends no program' out
finish
