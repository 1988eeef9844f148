#!/bin/sh
# The shared library of the build tree driven by dlopen and dlsym alone (make installcheck does the same with the
# installed one).
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
lib=$top_builddir/.libs/libcujit.so
[ -e "$lib" ] || skip_all 'no shared library was built'
case " $CC $CFLAGS $LDFLAGS" in *-fsanitize*) skip_all 'the library is built with a sanitizer' ;; esac
grep -c 'include.*cujit' "$top_srcdir/tests/build/dlopen_user.c" >"$tap_work/out"
grep -q '^0$' "$tap_work/out"
result $? 'the program includes no header of the library' "$tap_work/out"
CUJIT_DRIVER=sim "$top_builddir/tests/build/dlopen_user" "$lib" >"$tap_work/out" 2>&1
result $? 'it computes through integers, pointers and sizes' "$tap_work/out"
finish
