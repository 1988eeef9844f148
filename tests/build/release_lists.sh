#!/bin/sh
# Each object that a header can free or close is known to CJ_AUTO (auto.h) and has its class (cujit.hpp), which is
# tested as C++17.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
include=$top_srcdir/include/cujit

# "TYPE RELEASE", one a line: functions of one argument, a pointer to the object they are named after
find "$include" -name '*.h' ! -name 'kernels*.h' -exec cat {} + |
    sed -n 's/^CJ_API void \(cj_[a-z_]*_\(free\|close\)\)(\(cj_[a-z_]*\) \*[a-z]*);.*/\3 \1/p' |
    awk '$2 == $1 "_free" || $2 == $1 "_close"' | sort -u >"$tap_work/objects"
awk 'END { exit !(NR > 10) }' "$tap_work/objects"
result $? 'the headers have objects' "$tap_work/objects"
sed -n 's/^static inline void cj_auto_\(cj_[a-z_]*\)(\1 \*\*object) { \(cj_[a-z_]*\)(\*object); }$/\1 \2/p' \
    "$include/auto.h" | sort >"$tap_work/auto"
diff "$tap_work/objects" "$tap_work/auto" >"$tap_work/differences"
result $? 'CJ_AUTO knows each of them' "$tap_work/differences"
sed -n 's/^using \([a-z_]*\) = object<cj_\1, \(cj_[a-z_]*\)>;$/cj_\1 \2/p' "$include/cujit.hpp" |
    sort >"$tap_work/classes"
diff "$tap_work/objects" "$tap_work/classes" >"$tap_work/differences"
result $? 'each has a class in cujit.hpp' "$tap_work/differences"
# the same of libcujit-kernels
objects_of()   # HEADER...
{
    sed -n 's/^CJ_API void \(cj_[a-z_]*_free\)(\(cj_[a-z_]*\) \*[a-z]*);.*/\2 \1/p' "$@" | sort -u
}
objects_of "$include"/kernels*.h >"$tap_work/kernels"
awk 'END { exit !(NR > 10) }' "$tap_work/kernels"
result $? 'the headers of libcujit-kernels have objects' "$tap_work/kernels"
sed -n 's/^static inline void cj_auto_\(cj_[a-z_]*\)(\1 \*\*object) { \(cj_[a-z_]*\)(\*object); }$/\1 \2/p' \
    "$include"/kernels*.h | sort >"$tap_work/auto"
diff "$tap_work/kernels" "$tap_work/auto" >"$tap_work/differences"
result $? 'CJ_AUTO knows each of them too' "$tap_work/differences"
sed -n 's/^using \([a-z_]*\) = object<cj_\1, \(cj_[a-z_]*\)>;$/cj_\1 \2/p' "$include/kernels.hpp" |
    sort >"$tap_work/classes"
diff "$tap_work/kernels" "$tap_work/classes" >"$tap_work/differences"
result $? 'each has a class in kernels.hpp' "$tap_work/differences"
for test in tests/whole/scope_end.c tests/build/owning_classes.cc; do
    while read -r type _; do
        grep -qE "CJ_AUTO\($type\)|cujit::${type#cj_} [a-z]+ =|<cujit::${type#cj_}>" "$top_srcdir/$test" || echo "$type"
    done <"$tap_work/objects" >"$tap_work/missing"
    result_empty "$test has each" "$tap_work/missing"
done

lib=$top_builddir/.libs
for compiler in g++ clang++; do
    name="the classes by $compiler"
    if ! [ -e "$lib/libcujit.so" ]; then skip "$name" 'no shared library was built'; continue; fi
    case " $CC $CFLAGS $LDFLAGS" in *-fsanitize*) skip "$name" 'the library is built with a sanitizer'; continue ;; esac
    if ! command -v $compiler >/dev/null 2>&1; then skip "$name" "there is no $compiler"; continue; fi
    $compiler -std=c++17 -Wall -Wextra -Wpedantic -Werror -Wno-self-move -I"$top_srcdir/include" \
        "$top_srcdir/tests/build/owning_classes.cc" -o "$tap_work/owning" \
        -L"$lib" -lcujit -Wl,-rpath,"$lib" >"$tap_work/out" 2>&1 &&
        CUJIT_DRIVER=sim "$tap_work/owning" >"$tap_work/out" 2>&1
    result $? "$name" "$tap_work/out"
done
finish
