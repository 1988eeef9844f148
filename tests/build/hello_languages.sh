#!/bin/sh
# hello in strict C99, through the plain functions, and as C++17: compiled against the public headers, linked with the
# shared library of the build tree, run on the CPU device.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
lib=$top_builddir/.libs
[ -e "$lib/libcujit.so" ] || skip_all 'no shared library was built'
case " $CC $CFLAGS $LDFLAGS" in *-fsanitize*) skip_all 'the library is built with a sanitizer' ;; esac

# NAME SOURCE COMPILER ARGUMENTS...
hello()
{
    name=$1 source=$top_srcdir/tests/build/$2
    shift 2
    "$@" -Wall -Wextra -Werror -I"$top_srcdir/include" "$source" -o "$tap_work/hello" \
        -L"$lib" -lcujit -Wl,-rpath,"$lib" >"$tap_work/err" 2>&1
    result $? "hello compiles as $name" "$tap_work/err"
    CUJIT_DRIVER=sim "$tap_work/hello" >"$tap_work/out" 2>&1
    result $? "and runs on the CPU device" "$tap_work/out"
    rm -f "$tap_work/hello"
}
# shellcheck disable=SC2086
hello 'strict C99' hello_c99.c ${CC:-cc} -std=c99 -pedantic-errors
for c in g++ clang++; do
    if command -v $c >/dev/null 2>&1; then hello C++17 hello_cxx.cc $c -std=c++17 -pedantic-errors; break; fi
done
finish
