#!/bin/sh
# A C++ program whose static objects use the library behind main, on the CPU device and on a GPU.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
lib=$top_builddir/.libs
[ -e "$lib/libcujit.so" ] || skip_all 'no shared library was built'
case " $CC $CFLAGS $LDFLAGS" in *-fsanitize*) skip_all 'the library is built with a sanitizer' ;; esac
cxx=
for c in g++ clang++; do
    if command -v $c >/dev/null 2>&1; then cxx=$c; break; fi
done
[ "$cxx" ] || skip_all 'no C++ compiler'
$cxx -std=c++17 -Wall -Wextra -Werror -pthread -I"$top_srcdir/include" "$top_srcdir/tests/build/statics_at_exit.cc" \
    -o "$tap_work/statics" -L"$lib" -lcujit -Wl,-rpath,"$lib" >"$tap_work/err" 2>&1
result $? 'the program compiles' "$tap_work/err"
for driver in sim cuda; do
    CUJIT_DRIVER=$driver timeout 60 "$tap_work/statics" >"$tap_work/out" 2>&1
    st=$?
    if [ $st -eq 77 ]; then
        skip "static objects end behind main, driver $driver" "$(head -1 "$tap_work/out")"
        continue
    fi
    result $st "static objects end behind main, driver $driver" "$tap_work/out"
    [ ! -s "$tap_work/out" ]
    result $? '... and nothing is printed' "$tap_work/out"
done
finish
