#!/bin/sh
# Builds the tree with the address and undefined-behaviour sanitizers, in ubsan-COMPILER of the current folder, and runs
# tests there; a report ends its test. With lines alone as debug information: all of it takes twice the disk.
# usage: ubsan.sh SRCDIR      (make check-ubsan)
# environment: $MAKE, $jobs (-jN or nothing), $tests (names)
src=$1
unset MAKEFLAGS MFLAGS MAKELEVEL
[ "$jobs" ] || jobs=-j$(nproc 2>/dev/null || echo 2)
cc=${CUJIT_UBSAN:-gcc}
$cc --version >/dev/null 2>&1 || { echo "check-ubsan: there is no $cc here" >&2; exit 1; }
dir=ubsan-$(basename "$cc")
mkdir -p "$dir" || exit 1
[ -e "$dir/Makefile" ] ||
    (cd "$dir" && "$src/configure" CC="$cc" --disable-static --enable-debug \
        CFLAGS='-O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer' \
        >configure.log 2>&1) ||
    { tail -n 5 "$dir/configure.log"; exit 1; }
${MAKE:-make} -C "$dir" $jobs check TESTS="$tests" TEST_SUITE_LOG=tests-ubsan.log ||
    { echo 'check-ubsan: failed' >&2; exit 1; }
