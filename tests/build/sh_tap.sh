# shellcheck shell=sh
# TAP for shell tests: `. "$top_srcdir/tests/build/sh_tap.sh"`. Each test is one line `result STATUS NAME [FILE]`:
# STATUS 0 holds, and the FILE of remarks is shown when it does not.
tap_made=0
tap_work=$(mktemp -d "${TMPDIR:-/tmp}/cujit-test.XXXXXX") || exit 1
trap 'rm -rf "$tap_work"' EXIT
: "${top_srcdir:=.}" "${top_builddir:=.}"
export top_srcdir top_builddir

result()
{
    tap_made=$((tap_made + 1))
    if [ "$1" -eq 0 ]; then echo "ok $tap_made - $2"; return; fi
    echo "not ok $tap_made - $2"
    if [ -n "${3:-}" ]; then sed 's/^/#   /' "$3"; fi
}

# NAME FILE: holds when FILE, the list of what is wrong, is empty
result_empty()
{
    if [ -s "$2" ]; then result 1 "$1" "$2"; else result 0 "$1"; fi
}

# NAME WHY: an assertion that cannot be made on this machine
skip()
{
    tap_made=$((tap_made + 1))
    echo "ok $tap_made - $1 # SKIP $2"
}

skip_all()
{
    echo "1..0 # SKIP $1"
    exit 0
}

# FILE: whether it is JSON, which is reduced to s
is_json()
{
    awk '{ text = text $0 "\n" }
        END {
            gsub(/"([^"\\]|\\.)*"/, "s", text)
            gsub(/-?[0-9]+|true|false|null/, "s", text)
            gsub(/[ \n]/, "", text)
            do {
                before = text
                gsub(/\{(s:s(,s:s)*)?\}/, "s", text)
                gsub(/\[(s(,s)*)?\]/, "s", text)
            } while (text != before)
            exit text != "s"
        }' "$1"
}

finish()
{
    echo "1..$tap_made"
}
