#!/bin/sh
# The commands that docs/debugging.md, docs/driver.md and docs/mathematics.md show behind a $ print what stands below
# them.  Addresses are not compared, nor the order of standard output and standard error.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
documents="$(cd "$top_srcdir" && pwd)/docs"
cd "$top_builddir" || exit 1
[ -e .libs/cujit/libcujit-sim.so ] || skip_all 'no CPU device was built'

# Reads text, writes it with each address replaced, and with the names of examples as they are from the top of the tree.
mask() { sed 's/0x[0-9a-f]*/0x.../g; s|[^ ]*/examples/|examples/|g' | sort; }

# FILE...: each command into $tap_work/N.command, what it prints into N.want
split()
{
    awk -v work="$tap_work" '
        /^    \$ / {
            n++
            sub(/^    \$ /, "")
            file = sprintf("%s/%03d", work, n)   # in the order of the documents
            print >(file ".command")
            printf "" >(file ".want")
            inside = 1
            next
        }
        /^    / && inside { print substr($0, 5) >(file ".want"); next }
        { inside = 0 }
    ' "$@"
}

unset CUJIT_SIM CUJIT_SIM_SCHEDULE CUJIT_LOG CUJIT_DRIVER
split "$documents/debugging.md" "$documents/driver.md" "$documents/mathematics.md"
count=0
for file in "$tap_work"/*.command; do
    count=$((count + 1))
    command=$(sed 's|\./build/|./|g' "$file")
    mask <"${file%.command}.want" >"$tap_work/want"
    # A program without the wait that it needs may give another result while the machine is busy: a schedule holds
    # nothing back for ever.
    for _ in 1 2 3 4 5; do
        sh -c "$command" 2>&1 | mask >"$tap_work/got"
        diff "$tap_work/want" "$tap_work/got" >"$tap_work/out"
        status=$?
        case $status,$command in 0,*) break ;; *missing_wait) ;; *) break ;; esac
    done
    result "$status" "$command" "$tap_work/out"
done
[ "$count" -ge 9 ]
result $? 'the documents show commands'
finish
