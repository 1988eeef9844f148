#!/bin/sh
# Each example and the command run from the build tree as a newcomer runs them: no environment variable, any working
# directory.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
build=$(cd "$top_builddir" && pwd) source=$(cd "$top_srcdir" && pwd)
[ -e "$build/.libs/cujit/libcujit-sim.so" ] || skip_all 'no CPU device was built'
cd "$tap_work" || exit 1

# PROGRAM: the arguments of an example that needs some, one a line
arguments()
{
    case $1 in
    expr) printf '%s\n' --sum 'hypot(lat, lon)' "$source/examples/data/places.csv" ;;
    graph_loop|graph_picture|tasks) echo graph.dot ;;
    mandelbrot) printf '%s\n' picture.ppm 60 40 ;;
    esac
}

# NAME PATTERN PROGRAM ARGUMENTS...: ends with 0 and prints a line of PATTERN ('-': nothing)
bare()
{
    name=$1 pattern=$2
    shift 2
    env -i "$@" >out 2>err
    status=$?
    printf 'exit status %d\n' "$status" >>err
    [ "$status" -eq 0 ] && if [ "$pattern" = - ]; then [ ! -s out ]; else grep -q "$pattern" out; fi
    result $? "$name" err
}

# Nothing of the house's own: an example is a user's program.
for file in "$source"/examples/*.[ch]; do
    grep -nE '^ *# *include *' "$file" |
        grep -vE '<cujit/(cujit|kernels)\.h>|<[a-z]+\.h>|"expr\.h"' | sed "s|^|${file##*/}:|"
done >wrong
result_empty 'examples include the public headers and the C library only' wrong

programs=$(sed -n '/^example_programs = /,/[^\\]$/s/.*%D%\/\([a-z_]*\).*/\1/p' "$source/examples/local.mk")
[ "$(echo "$programs" | wc -w)" -ge 10 ]
result $? 'the list of examples is found'
for program in $programs; do
    set -- "$build/examples/$program"
    arguments "$program" >words
    while IFS= read -r word; do set -- "$@" "$word"; done <words
    bare "$program runs" . "$@"
    bare "$program --help" "^usage: $program" "$build/examples/$program" --help
done
bare 'cujit devices' '^programs get: ' "$build/cujit" devices
bare 'cujit check' - "$build/cujit" check "$source/tests/ptx/samples/saxpy.ptx"
bare 'cujit run-sim' '^status 0' sh -c "'$build/cujit' run-sim '$build/tests/tools/uses_libcuda'; [ \$? -eq 7 ]"

# A library that is alone says how to name the CPU device (unless one is installed where this one would be).
mkdir alone
cp "$build/.libs/libcujit.so.0" alone/ && cp "$build/examples/hello" alone/
env -i CUJIT_LIBCUDA="$PWD/nowhere.so" LD_LIBRARY_PATH="$PWD/alone" alone/hello >out 2>err
if [ $? -eq 0 ] || grep -q 'not of one build' err; then skip 'the message without a CPU device' 'one is installed'
else
    grep -q 'CUJIT_SIM may name' err
    result $? 'without a CPU device the message names CUJIT_SIM' err
fi
finish
