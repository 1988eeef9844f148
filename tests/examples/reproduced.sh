#!/bin/sh
# The modules of all examples as C programs: calls make each of them, and the programs compile without a warning and
# print the text of the module. A library that is loaded first writes the program of a module when the module is freed.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
build=$(cd "$top_builddir" && pwd) source=$(cd "$top_srcdir" && pwd)
lib=$build/.libs
compiler=${CC:-cc}
[ -e "$lib/libcujit.so" ] || skip_all 'no shared library was built'
[ -e "$lib/cujit/libcujit-sim.so" ] || skip_all 'no CPU device was built'
case " $CC $CFLAGS $LDFLAGS" in *-fsanitize*) skip_all 'the library is built with a sanitizer' ;; esac
command -v "${compiler%% *}" >/dev/null 2>&1 || skip_all 'no C compiler'
cd "$tap_work" || exit 1

cat >first.c <<'END'
#define _GNU_SOURCE
#define CJ_NO_SOURCE_LINES
#include <cujit/cujit.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static _Thread_local int inside;
void cj_ptx_free(cj_ptx *m)
{
    void (*next)(cj_ptx *);
    *(void **)&next = dlsym(RTLD_NEXT, "cj_ptx_free");
    const char *text, *name = getenv("MODULE");
    char path[100];
    size_t bytes;
    if (m && name && !inside && cj_ptx_print(m, 0, &text, &bytes) == CJ_OK) {
        inside = 1;
        snprintf(path, sizeof path, "%s.ptx", name);
        FILE *out = fopen(path, "w");
        if (out) fwrite(text, 1, bytes, out), fclose(out);
        snprintf(path, sizeof path, "%s.c", name);
        if (cj_ptx_reproducer(m, path) != CJ_OK) remove(path);
        inside = 0;
    }
    next(m);
}
END
# shellcheck disable=SC2086
$compiler -shared -fPIC -I"$source/include" first.c -o first.so -L"$lib" -lcujit -ldl >err 2>&1 ||
    { result 1 'the library that is loaded first compiles' err; finish; exit 0; }

programs=$(sed -n '/^example_programs = /,/[^\\]$/s/.*%D%\/\([a-z_]*\).*/\1/p' "$source/examples/local.mk")
unset CUJIT_SIM
for program in $programs; do
    set --
    case $program in
    expr) set -- --sum 'hypot(lat, lon)' "$source/examples/data/places.csv" ;;
    graph_loop|graph_picture|tasks) set -- graph.dot ;;
    mandelbrot) set -- picture.ppm 60 40 ;;
    esac
    MODULE=$program CUJIT_DRIVER=sim LD_LIBRARY_PATH=$lib LD_PRELOAD=$PWD/first.so \
        "$build/examples/$program" "$@" >out 2>&1
done
ls ./*.ptx >modules
[ "$(wc -l <modules)" -ge 20 ]
result $? 'the examples free their modules' modules
for ptx in *.ptx; do [ -s "${ptx%.ptx}.c" ] || echo "$ptx"; done >out
result_empty 'each is written as a program' out
grep -l 'cj_parse(' ./*.c >out
result_empty 'calls make each of them' out

# One C file: the names of an example's functions end with its number.
n=0 calls=
echo '#include <stdio.h>' >all.c
for ptx in *.ptx; do
    n=$((n + 1))
    sed "s/make_/make_${n}_/g; s/int main(void)/static int program_$n(void)/" "${ptx%.ptx}.c" >>all.c
    calls="$calls program_$n() || putchar(0) ||"
    cat "$ptx" >>want
    printf '\0' >>want
done
echo "int main(void) { return $calls 0; }" >>all.c
# shellcheck disable=SC2086
$compiler -std=c11 -Wall -Wextra -Werror -I"$source/include" all.c -o all -L"$lib" -lcujit >err 2>&1
result $? 'the programs compile without a warning' err
LD_LIBRARY_PATH=$lib ./all >got 2>err
result $? 'they run' err
cmp want got >out 2>&1
result $? 'they print what the modules print' out
finish
