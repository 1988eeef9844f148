#!/bin/sh
# What the shared libraries need at run time: glibc's own libraries, and for the CPU device libm; nothing of a compiler
# or of CUDA.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"

lib=$top_builddir/.libs/libcujit.so
sim=$top_builddir/src/sim/.libs/libcujit-sim.so
shim=$top_builddir/src/sim/.libs/as-libcuda/libcuda.so.1
[ -e "$lib" ] || skip_all 'no shared library was built'
case "${CFLAGS:-} ${LDFLAGS:-}" in *-fsanitize*) skip_all 'a sanitizer is linked in' ;; esac
readelf --version >/dev/null 2>&1 || skip_all 'no readelf'

# FILE FIELD: the names in brackets of the dynamic section's entries of that kind
dynamic() { readelf -d "$1" | sed -n "s/.*($2).*\[\(.*\)\].*/\1/p"; }

# NAME FILE ALLOWED: a regular expression of whole names
needs_only()
{
    dynamic "$2" NEEDED | grep -vE "^($3)\$" >"$tap_work/out"
    result_empty "$1" "$tap_work/out"
}
libc='libc\.so\.6|ld-linux[-a-z0-9_]*\.so\.[0-9]|ld64\.so\.[12]|libdl\.so\.2|libpthread\.so\.0'
needs_only 'libcujit.so needs nothing but the C library' "$lib" "$libc"
needs_only 'libcujit-sim.so needs nothing but the C library and libm' "$sim" "$libc|libm\.so\.6"

# NAME GOT WANT
is()
{
    [ "$2" = "$3" ] || echo "got '$2', want '$3'" >"$tap_work/is"
    result "$([ "$2" = "$3" ]; echo $?)" "$1" "$tap_work/is"
}
is 'libcujit.so has a versioned name of its own' "$(dynamic "$lib" SONAME)" libcujit.so.0
is 'libcujit-sim.so has a name of its own' "$(dynamic "$sim" SONAME)" libcujit-sim.so
is 'the shim is called as the driver is' "$(dynamic "$shim" SONAME)" libcuda.so.1
is 'the shim needs the CPU device' "$(dynamic "$shim" NEEDED | head -n 1)" libcujit-sim.so
is 'the shim looks for it in the folder above its own' "$(dynamic "$shim" 'R[UN]*PATH')" '$ORIGIN/..'
# shellcheck disable=SC2016
case $(readelf -d "$sim" | grep -c SYMBOLIC) in
0) result 1 'libcujit-sim.so is linked with -Bsymbolic' ;;
*) result 0 'libcujit-sim.so is linked with -Bsymbolic' ;;
esac
readelf -d "$lib" | grep -E 'TEXTREL|INIT_ARRAYSZ.* [^0] ' | grep TEXTREL >"$tap_work/out"
result_empty 'libcujit.so has no relocations in its code' "$tap_work/out"
# The first call of a function in a process costs a microsecond where its name is bound then.
readelf -d "$lib" | grep -q 'FLAGS.*NOW'
result $? 'libcujit.so is bound when it is loaded'
readelf -rW "$lib" | grep 'JUMP_SLO' | grep -E ' cj_' >"$tap_work/out"
result_empty 'libcujit.so calls its own functions without a table' "$tap_work/out"
readelf -lW "$lib" "$sim" | grep 'GNU_STACK.*RWE' >"$tap_work/out"
result_empty 'neither library wants an executable stack' "$tap_work/out"
finish
