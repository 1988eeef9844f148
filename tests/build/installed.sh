#!/bin/sh
# make installcheck: programs compiled with nothing but what was installed, found through pkg-config (or, where there is
# none, through a reader of the .pc file that is as simple as the file), run on the CPU device.
# usage: installed.sh SOURCE_TREE DESTDIR PREFIX LIBDIR BINDIR
set -eu
source=$1 destdir=$2 prefix=$3 libdir=$4 bindir=$5
work=$(mktemp -d "${TMPDIR:-/tmp}/cujit-installed.XXXXXX")
trap 'rm -rf "$work"' EXIT
pc=$destdir$libdir/pkgconfig
unset CUJIT_SIM
CUJIT_DRIVER=sim
export CUJIT_DRIVER

# FIELD...: of cujit.pc, with its variables put in
read_pc()
{
    ${AWK:-awk} -v fields="$*" -v prefix="$destdir$prefix" '
        function put_in(s,   name) {
            while (match(s, /\$\{[a-z_]*\}/)) {
                name = substr(s, RSTART + 2, RLENGTH - 3)
                s = substr(s, 1, RSTART - 1) value[name] substr(s, RSTART + RLENGTH)
            }
            return s
        }
        /^[a-z_]*=/ { i = index($0, "="); n = substr($0, 1, i - 1); value[n] = n == "prefix" ? prefix : put_in(substr($0, i + 1)) }
        /^[A-Z][A-Za-z.]*: / { i = index($0, ":"); field[substr($0, 1, i - 1)] = put_in(substr($0, i + 2)) }
        END { n = split(fields, f, " "); for (i = 1; i <= n; i++) out = out " " field[f[i]]; print out }
    ' "$pc/cujit.pc"
}
if pkg-config --version >/dev/null 2>&1; then
    flags() { PKG_CONFIG_PATH=$pc pkg-config --define-variable=prefix="$destdir$prefix" "$@" cujit; }
    cflags=$(flags --cflags) libs=$(flags --libs)
    private=$(flags --static --libs)
else
    cflags=$(read_pc Cflags) libs=$(read_pc Libs) private=$(read_pc Libs Libs.private)
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
    try 'a program without headers compiles' \
        ${CC:-cc} "$source/tests/build/dlopen_user.c" -o "$work/dlopen_user" $(echo "$private" | tr ' ' '\n' | grep -E '^-(ldl|pthread)$' || true)
    try 'the library is driven by dlopen and dlsym alone' "$work/dlopen_user" "$destdir$libdir/libcujit.so.0"
    try 'the command finds the CPU device' "$destdir$bindir/cujit" devices
fi
# shellcheck disable=SC2086
if [ -e "$destdir$libdir/libcujit.a" ]; then
    others=$(echo "$private" | tr ' ' '\n' | grep -v '^-lcujit$' | tr '\n' ' ')
    try 'a program compiles against the static libraries' \
        ${CC:-cc} $cflags "$source/tests/build/static_user.c" -o "$work/static_user" \
        "$destdir$libdir/libcujit.a" "$destdir$libdir/libcujit-sim.a" $others -lm
    unset LD_LIBRARY_PATH
    try 'the static program runs on the CPU device inside it' "$work/static_user"
fi
[ "$ran" -gt 0 ] || { echo "installcheck: neither libcujit.so nor libcujit.a in $destdir$libdir"; exit 1; }
