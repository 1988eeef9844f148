#!/bin/sh
# Builds the tree with the thread sanitizer, in tsan-COMPILER of the current folder, and runs tests there; a report
# makes its test fail.
# usage: tsan.sh SRCDIR      (make check-tsan), with $MAKE, $jobs (-jN or nothing) and $tests (names) in the environment
src=$1 failed=
unset MAKEFLAGS MFLAGS MAKELEVEL
[ "$jobs" ] || jobs=-j$(nproc 2>/dev/null || echo 2)
tried=
for cc in ${CUJIT_TSAN:-gcc clang}; do
    $cc --version >/dev/null 2>&1 || { echo "check-tsan: there is no $cc here"; continue; }
    tried=y dir=tsan-$(basename "$cc")
    mkdir -p "$dir" || exit 1
    [ -e "$dir/Makefile" ] ||
        (cd "$dir" && "$src/configure" CC="$cc" --disable-static --enable-debug \
            CFLAGS='-O1 -g1 -fsanitize=thread -fno-omit-frame-pointer' >configure.log 2>&1) ||
        { tail -n 5 "$dir/configure.log"; exit 1; }
    echo "check-tsan: $cc"
    # A report is exit status 66; unloaded libraries and exits with threads at work are what some tests are about.
    TSAN_OPTIONS="exitcode=66 history_size=4 $TSAN_OPTIONS" \
        ${MAKE:-make} -C "$dir" $jobs check TESTS="$tests" TEST_SUITE_LOG=tests-tsan.log || failed="$failed $cc"
done
[ "$tried" ] || { echo 'check-tsan: neither gcc nor clang is here' >&2; exit 1; }
[ -z "$failed" ] || { echo "check-tsan: failed with$failed" >&2; exit 1; }
