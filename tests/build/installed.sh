#!/bin/sh
# make installcheck: programs compiled with nothing but what was installed, found through pkg-config (or, where there is
# none, through a reader of the .pc file that is as simple as the file), run on the CPU device.
# usage: installed.sh SOURCE_TREE DESTDIR PREFIX LIBDIR BINDIR DOCDIR MANDIR
set -eu
source=$(cd "$1" && pwd) destdir=$2 prefix=$3 libdir=$4 bindir=$5 docdir=$6 mandir=$7 inside=
work=$(mktemp -d "${TMPDIR:-/tmp}/cujit-installed.XXXXXX")
trap 'rm -rf "$work"' EXIT
pc=$destdir$libdir/pkgconfig
unset CUJIT_SIM
CUJIT_DRIVER=sim
export CUJIT_DRIVER

# NAME FIELD...: of NAME.pc, with its variables put in
read_pc()
{
    name=$1
    shift
    ${AWK:-awk} -v fields="$*" -v prefix="$destdir$prefix" '
        function put_in(s,   name) {
            while (match(s, /\$\{[a-z_]*\}/)) {
                name = substr(s, RSTART + 2, RLENGTH - 3)
                s = substr(s, 1, RSTART - 1) value[name] substr(s, RSTART + RLENGTH)
            }
            return s
        }
        /^[a-z_]*=/ {
            i = index($0, "=")
            n = substr($0, 1, i - 1)
            value[n] = n == "prefix" ? prefix : put_in(substr($0, i + 1))
        }
        /^[A-Z][A-Za-z.]*: / { i = index($0, ":"); field[substr($0, 1, i - 1)] = put_in(substr($0, i + 2)) }
        END { n = split(fields, f, " "); for (i = 1; i <= n; i++) out = out " " field[f[i]]; print out }
    ' "$pc/$name.pc"
}
if pkg-config --version >/dev/null 2>&1; then
    flags() { PKG_CONFIG_PATH=$pc pkg-config --define-variable=prefix="$destdir$prefix" "$@"; }
    cflags=$(flags --cflags cujit) libs=$(flags --libs cujit) private=$(flags --static --libs cujit)
    [ ! -e "$pc/cujit-sim.pc" ] || inside=$(flags --static --libs cujit-sim)
else
    cflags=$(read_pc cujit Cflags) libs=$(read_pc cujit Libs) private=$(read_pc cujit Libs Libs.private)
    [ ! -e "$pc/cujit-sim.pc" ] || inside="$(read_pc cujit-sim Libs) $private"
fi

ran=0
# NAME COMMAND...: one check; its output is shown when it fails
try()
{
    name=$1
    shift
    if "$@" >"$work/log" 2>&1; then echo "installcheck: $name: passed"; ran=$((ran + 1))
    else echo "installcheck: $name: FAILED"; echo "  $*"; cat "$work/log"; exit 1
    fi
}

# shellcheck disable=SC2086,SC2046
if [ -e "$destdir$libdir/libcujit.so" ]; then
    LD_LIBRARY_PATH=$destdir$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
    try 'hello compiles against the shared library' \
        ${CC:-cc} $cflags "$source/examples/hello.c" -o "$work/hello" $libs
    try 'hello runs on the CPU device' "$work/hello"
    if pkg-config --version >/dev/null 2>&1; then kernels=$(flags --libs cujit-kernels)
    else kernels=$(read_pc cujit-kernels Libs)
    fi
    try 'a program compiles against libcujit-kernels' \
        ${CC:-cc} $cflags "$source/tests/build/kernels_user.c" -o "$work/kernels_user" $kernels
    try 'it runs on the CPU device' "$work/kernels_user"
    system=$(echo "$private" | tr ' ' '\n' | grep -E '^-(ldl|pthread)$' || true)
    try 'a program without headers compiles' \
        ${CC:-cc} "$source/tests/build/dlopen_user.c" -pthread -o "$work/dlopen_user" $system
    try 'the library is driven by dlopen and dlsym alone' "$work/dlopen_user" "$destdir$libdir/libcujit.so.0"
    try 'the command finds the CPU device' "$destdir$bindir/cujit" devices
fi
# shellcheck disable=SC2086
if [ -e "$destdir$libdir/libcujit.a" ]; then
    others=$(echo "$private" | tr ' ' '\n' | grep -v '^-lcujit$' | tr '\n' ' ')
    try 'a program compiles against the static libraries' \
        ${CC:-cc} $cflags "$source/tests/build/static_user.c" -o "$work/static_user" \
        "$destdir$libdir/libcujit-sim.a" "$destdir$libdir/libcujit.a" $others -lm
    (
        unset LD_LIBRARY_PATH
        try 'the static program runs on the CPU device inside it' "$work/static_user"
    )
    ran=$((ran + 1))
    # Wholly static, where the C library allows it.
    echo 'int main(void) { return 0; }' >"$work/nothing.c"
    if ${CC:-cc} -static "$work/nothing.c" -o "$work/nothing" 2>/dev/null; then
        try 'a program links with -static and the flags of cujit-sim.pc' \
            ${CC:-cc} -static $cflags "$source/tests/build/static_user.c" -o "$work/static_user" $inside
        try 'it runs on the CPU device inside it' "$work/static_user"
        try 'hello links with -static and the flags of cujit.pc' \
            ${CC:-cc} -static $cflags "$source/examples/hello.c" -o "$work/hello_static" $private
        try 'it fails with a sentence' sh -c \
            "$work/hello_static 2>$work/err; [ \$? -eq 1 ] && grep -q 'linked with -static cannot load' $work/err"
    fi
fi

# CMake, by its package file.
if cmake --version >/dev/null 2>&1; then
    cmake_program()   # FOLDER OPTION...: configured, built, run
    {
        folder=$work/$1
        shift
        cmake -S "$source/tests/build/cmake" -B "$folder" -Dcujit_DIR="$destdir$libdir/cmake/cujit" \
            -DSOURCE="$source" -DOLDER=0.1 -DNEWER=0.999 "$@" && cmake --build "$folder" && "$folder/user"
    }
    if [ -e "$destdir$libdir/libcujit.so" ]; then
        try 'a CMake project with cujit::cujit' cmake_program cmake
        try 'a CMake project with cujit::kernels' cmake_program cmake_kernels -DKERNELS=ON
    fi
    if [ -e "$destdir$libdir/libcujit.a" ]; then
        try 'a CMake project with cujit::sim' cmake_program cmake_sim -DINSIDE=ON
        try 'a CMake project with the static libraries' \
            cmake_program cmake_static -DINSIDE=ON -Dcujit_USE_STATIC_LIBS=ON
    fi
fi

# Documents and examples.
for file in docs/streams.md docs/pictures/graph.svg examples/hello.c examples/data/places.csv README.md LICENSE NEWS; do
    try "$file is installed" test -s "$destdir$docdir/$file"
done
for page in man1/cujit.1 man3/cujit.3; do try "$page is installed" test -s "$destdir$mandir/$page"; done
[ "$ran" -gt 0 ] || { echo "installcheck: neither libcujit.so nor libcujit.a in $destdir$libdir"; exit 1; }
