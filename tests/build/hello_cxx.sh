#!/bin/sh
# hello as C++17: compiled, linked with the shared library of the build tree, run on the CPU device.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
lib=$top_builddir/.libs
compiler=
for c in g++ clang++; do if command -v $c >/dev/null 2>&1; then compiler=$c; break; fi; done
[ -n "$compiler" ] || skip_all 'no C++ compiler'
[ -e "$lib/libcujit.so" ] || skip_all 'no shared library was built'
case " $CC $CFLAGS $LDFLAGS" in *-fsanitize*) skip_all 'the library is built with a sanitizer' ;; esac
"$compiler" -std=c++17 -Wall -Wextra -Werror -I"$top_srcdir/include" "$top_srcdir/tests/build/hello_cxx.cc" -o "$tap_work/hello" \
    -L"$lib" -lcujit -Wl,-rpath,"$lib" >"$tap_work/err" 2>&1
result $? 'hello compiles as C++17' "$tap_work/err"
CUJIT_DRIVER=sim "$tap_work/hello" >"$tap_work/out" 2>&1
result $? 'and runs on the CPU device' "$tap_work/out"
finish
