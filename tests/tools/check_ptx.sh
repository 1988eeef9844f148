#!/bin/sh
# cujit check: verdicts, messages with file, line and column, exit statuses.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
samples=$(cd "$top_srcdir" && pwd)/tests/ptx/samples
cd "$tap_work" || exit 1

# STATUS NAME MESSAGE ARGS...: exits with STATUS; standard error is MESSAGE ('' for nothing; a pattern of grep),
# standard output empty
wants()
{
    status=$1 name=$2 message=$3
    shift 3
    "$CUJIT_BIN" check "$@" >stdout 2>stderr
    got=$?
    fine=0
    [ "$got" -eq "$status" ] || fine=1
    if [ -z "$message" ]; then [ ! -s stderr ] || fine=1; else grep -qe "$message" stderr || fine=1; fi
    [ ! -s stdout ] || fine=1
    { echo "exit status $got, wants $status"; cat stdout stderr; } >out
    result "$fine" "$name" out
}

# NAME BODY VERSION TARGET: a kernel
kernel()
{
    registers='.reg .b32 r<4>; .reg .f32 f<4>; .reg .b16 h; .reg .b64 d;'
    printf '.version %s\n.target %s\n.address_size 64\n.entry k()\n{\n%s\n%s\nret;\n}\n' \
        "$3" "$4" "$registers" "$2" >"$1"
}

kernel good.ptx 'add.s32 r1, r2, r3;' 8.0 sm_80
kernel wrong.ptx 'add.s32 r1, r2, f3;' 8.0 sm_80
kernel partial.ptx 'tex.1d.v4.f32.f32 {f1, f1, f1, f1}, [d, {f1}], {r1};' 8.0 sm_80
kernel unknown.ptx 'frobnicate.s32 r1, r2, r3;' 8.0 sm_80
kernel new.ptx 'add.bf16 h, h, h;' 8.0 sm_90
kernel old.ptx 'add.bf16 h, h, h;' 8.0 sm_80
kernel special.ptx 'add.s32 r1, r2, r3;' 8.0 sm_90a
kernel newer.ptx 'fma.rn.oob.bf16 h, h, h, h;' 8.1 sm_90
kernel shared.ptx '.shared .b8 s[49153];' 8.0 sm_80
kernel local.ptx '.local .b8 s[524289]; ld.local.b32 r1, [s];' 8.0 sm_80
kernel large.ptx '.local .b8 s[9223372036854775808];' 8.0 sm_80
printf 'not PTX\n' >no.ptx
: >empty.ptx
printf '.version 8.0\n.target sm_80\n\000\001' >binary.ptx

wants 0 'a right file' '' good.ptx
wants 0 'every sample' '' "$samples"/*.ptx
wants 1 'a wrong file, with line and operand' '^wrong.ptx:7:[0-9:]* .*add.s32.*f32' wrong.ptx
wants 1 'the column of what is wrong' '^wrong.ptx:7:1: add' wrong.ptx
wants 2 'an operand list that the table may lack' '^partial.ptx:7:1: tex.*lacks some of its operand lists' partial.ptx
wants 2 'an instruction that is not in the table' '^unknown.ptx:7:[0-9:]* no instruction "frobnicate' unknown.ptx
wants 1 'an instruction that the target does not have' '^old.ptx:7:[0-9:]* .*needs target sm_90' old.ptx
wants 1 'more shared memory than a launch can have' \
    "^shared.ptx:7:[0-9:]* 's' of 49153 bytes.* at most 49152" shared.ptx
wants 1 'more local memory than a launch can have' "^local.ptx:7:[0-9:]* 's' of 524289 bytes.* at most 524288" local.ptx
wants 1 'a size of 64 bits' "^large.ptx:7:[0-9:]* 's' has a size" large.ptx
wants 1 'no PTX at all' '^no.ptx:1:[0-9:]* ' no.ptx
wants 1 'an empty file' '^empty.ptx:1:[0-9:]* ' empty.ptx
wants 1 'a binary file' '^binary.ptx:3:[0-9:]* .*0x00' binary.ptx
wants 1 'two files: the worse verdict counts' '^wrong.ptx:7:[0-9:]* ' good.ptx wrong.ptx
wants 1 'rejected is worse than not known' '^unknown.ptx:7:[0-9:]* ' wrong.ptx unknown.ptx
wants 3 'a file that is missing is worst' 'nowhere.ptx' wrong.ptx nowhere.ptx good.ptx
wants 0 'a name that begins with a dash' '' -- ./good.ptx

wants 0 'sm_80 runs on sm_90a' '' --sm=90a good.ptx
wants 0 'devices are called sm_90 too' '' --sm=sm_90 good.ptx
wants 1 'sm_80 does not run on sm_75' \
    '^good.ptx: .target sm_80 does not run on sm_75; nothing in it needs that: write .target sm_75' --sm=75 good.ptx
wants 1 'what needs sm_90 is named' '^new.ptx:7:[0-9:]* .*needs target sm_90' --sm=80 new.ptx
wants 0 'sm_90a runs on sm_90a' '' --sm=90a special.ptx
wants 1 'sm_90a does not run on sm_100' '^special.ptx: .target sm_90a does not run on sm_100' --sm=100 special.ptx
wants 0 'a newer driver' '' --isa=9.0 good.ptx
wants 1 'an older driver' \
    '^good.ptx: .version 8.0 is newer than 7.5; nothing in it needs that: lower .version to 7.5' --isa=7.5 good.ptx
wants 1 'an older driver, and an instruction that it does not know' \
    '^newer.ptx:7:[0-9:]* .*needs PTX 8.1' --isa=8.0 newer.ptx

"$CUJIT_BIN" check - <wrong.ptx >stdout 2>stderr
[ $? -eq 1 ] && grep -q '^standard input:7:[0-9:]* ' stderr
result $? 'standard input' stderr
finish
