#!/bin/sh
# cujit cache: a folder of entries is shown, verified and cleaned; folders that cannot be used; wrong use.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
top_builddir=$(cd "${top_builddir:-.}" && pwd)
cd "$tap_work" || exit 1
[ -e "$CUJIT_SIM" ] || skip_all 'no CPU device was built'
program=$top_builddir/examples/saxpy
unset XDG_CACHE_HOME CUJIT_CACHE_DIR
HOME=$PWD/home
folder=$HOME/.cache/cujit
CUJIT_DRIVER=sim
export HOME CUJIT_DRIVER

# STATUS NAME PATTERN ARGS...: cujit cache ARGS exits with STATUS, and a line of the output matches PATTERN
wants()
{
    status=$1 name=$2 pattern=$3
    shift 3
    "$CUJIT_BIN" cache "$@" >out 2>&1
    got=$?
    echo "exit status $got, wants $status" >>out
    [ "$got" -eq "$status" ] && grep -qEe "$pattern" out
    result $? "$name" out
}

CUJIT_CACHE=1
export CUJIT_CACHE
for what in stats list verify prune clear; do
    wants 0 "$what: nothing was stored yet" "^$folder does not exist: nothing was stored yet\$" $what
done
wants 0 'the same for programs' '"exists": false' stats --json

"$program" >err 2>&1
result $? 'a program fills the cache' err
wants 0 'stats: the folder' "^folder      $folder\$" stats
grep -q '^entries     1$' out && grep -qE '^size        (8\.0|12\.0|16\.0) KiB of 1\.0 GiB$' out &&
    grep -q '^lists       1 (4.0 KiB; what programs used lately)$' out && ! grep -q ^full out &&
    grep -q '^latest use  < 1 h ago$' out && ! grep -q unfinished out && ! grep -q ^used out
result $? 'stats: entries, size, latest use' out
wants 0 'list: an entry' '^[0-9a-f]{32} +[0-9.]+ (B|KiB) +< 1 h  sm_[0-9]+a? +sim [0-9]+\.[0-9]+ +[a-z_]+$' list
grep -qE '^key +size +unused +device +driver +kernels$' out
result $? 'list: its columns have names' out
wants 0 'verify: it is whole' '^1 entry verified, 0 with a problem, 0 removed$' verify
wants 0 'another folder' "^$PWD/other does not exist" stats --dir "$PWD/other"
CUJIT_CACHE_DIR=$PWD/named "$CUJIT_BIN" cache stats >out 2>&1
grep -q "^$PWD/named does not exist" out
result $? 'the folder of CUJIT_CACHE_DIR' out
CUJIT_CACHE=0 "$CUJIT_BIN" cache stats >out 2>&1
grep -q '^used        no: CUJIT_CACHE is 0$' out && grep -q '^entries     1$' out
result $? 'stats: programs do not use it with CUJIT_CACHE=0' out
CUJIT_CACHE=off "$CUJIT_BIN" cache stats >out 2>&1
grep -q '^used        no: CUJIT_CACHE is off$' out
result $? 'and with off' out
CUJIT_CACHE=0 "$CUJIT_BIN" cache list >out 2>err
grep -q 'CUJIT_CACHE is 0, so programs with this environment do not use the cache' err && grep -q '^[0-9a-f]* ' out
result $? 'list: the same on standard error' err

for what in stats list verify prune; do
    "$CUJIT_BIN" cache $what --json >$what.json 2>err && is_json $what.json
    result $? "$what as JSON" $what.json
    grep -q "\"folder\": \"$folder\"" $what.json && grep -q '"entries": 1,' $what.json &&
        grep -q '"on": true' $what.json
    result $? "$what: the folder and its counts" $what.json
done
grep -qE '"kernels": \[' list.json && grep -qE '"driver": "sim [0-9.]+"' list.json &&
    grep -q '"damaged": false' list.json
result $? 'list: device, driver, kernels' list.json
grep -q '"problems": \[\]' verify.json && grep -q '"removed": 0' prune.json
result $? 'verify: no problem; prune: nothing removed' verify.json

entry=$(ls "$folder"/*.kernel)
key=$(basename "$entry" .kernel)
cp "$entry" whole
printf '!' | dd of="$entry" bs=1 seek=200 conv=notrunc 2>err
wants 1 'verify: a byte was changed' "^$entry is damaged" verify
wants 1 'and is still' '^1 entry verified, 1 with a problem, 0 removed$' verify
wants 0 'list: the damaged one' "^$folder/$key.kernel is damaged" list
wants 1 'verify as JSON' '"damaged": true' verify --json
is_json out || sed '$d' out >json && is_json json
result $? 'is JSON' out
wants 1 'verify --remove' '^1 entry verified, 1 with a problem, 1 removed$' verify --remove
[ ! -e "$entry" ]
result $? 'the damaged one is removed'
wants 0 'then there is none' '^0 entries verified, 0 with a problem, 0 removed$' verify

cp whole "$entry"
touch -d '+2 days' "$entry"
wants 0 'stats: a use of the future' '^oldest use  not known$' stats
cp whole "$entry"
wants 0 'prune: what is recent stays' '^0 entries removed \(0 B\), 1 left' prune --older-than 1h
touch -d '40 days ago' "$entry"
wants 0 'list: the age' ' 40 d  sm_' list
wants 0 'prune: 30 days without use' '^1 entry removed \([0-9.]+ KiB\), 0 left \(0 B\)$' prune --older-than 30d
cp whole "$entry"
wants 0 'prune: as many bytes as fit' '^0 entries removed .* 1 left' prune --max-bytes 1M
wants 0 'prune: as many as a terabyte' '^0 entries removed .* 1 left' prune --max-bytes 1T
wants 0 'prune: no more' '^1 entry and 1 list removed' prune --max-bytes 100
cp whole "$entry"
wants 0 'prune: nothing at all' '^1 entry removed' prune --max-bytes 0
cp whole "$entry"
: >"$folder/0123456789abcdef.new"
: >"$folder/thesis.tex.new"
dd if=/dev/zero bs=1024 count=256 2>err >>"$folder/.cujit-total"
wants 0 'stats: full' '^full        yes: 0 B are left until a program counts' stats
wants 0 'stats: full, for programs' '"full": true' stats --json
wants 0 'prune counts' '^0 entries removed' prune
wants 0 'then it is not full' '"full": false' stats --json
wants 0 'stats: unfinished' '^unfinished  1 ' stats
wants 0 'clear' '^1 entry removed' clear
[ ! -e "$entry" ] && [ -e "$folder/thesis.tex.new" ]
result $? 'no entry is left, and what is somebody else'"'"'s is'

chmod 755 "$folder"
wants 3 'a folder that is open to others' "cujit cache: .*$folder is open to other users; chmod 700 closes it if" stats
chmod 700 "$folder"
ln -s "$folder" link
wants 3 'a symbolic link' 'is a symbolic link' list --dir "$PWD/link"
wants 3 'a relative folder' 'link is no absolute path' list --dir link
HOME=
wants 3 'no folder at all' 'neither CUJIT_CACHE_DIR nor XDG_CACHE_HOME nor HOME names a folder' stats

wants 3 'without a word' 'stats, list, verify, prune or clear is missing'
wants 3 'another word' 'neither stats, list, verify, prune nor clear: clean' clean
wants 3 'another option' 'no option --fast' stats --fast
wants 3 'an option of another word' 'no option --max-bytes' clear --max-bytes 1M
wants 3 'verify alone removes damaged entries' 'no option --remove' list --remove
wants 3 'no folder' 'a folder is missing behind --dir' list --dir
for size in '' x M 1X 1MB -1 +1 ' 1' 99999999999G 18446744073709551616; do
    wants 3 "the size '$size'" 'no size, as 500M, 2G or 1T is, behind --max-bytes:' prune --max-bytes "$size"
done
for age in 0 0d d 5 5y 99999999999999999999d; do
    wants 3 "the age '$age'" 'no age, as 90m, 12h, 30d or 4w is, behind --older-than:' prune --older-than "$age"
done
wants 3 'no size' 'a size such as 500M or 2G is missing behind --max-bytes' prune --max-bytes
wants 3 'no age' 'an age such as 12h or 30d is missing behind --older-than' prune --older-than
finish
