#!/bin/sh
# make check-bare: the tarball is configured, built, tested, installed and tested again in a tree whose PATH holds only
# gcc with its binutils, make, awk, sh and the tools that every POSIX system has. usage: bare.sh TARBALL
set -eu
tarball=$1
top=$(pwd)/bare
rm -rf "$top"
mkdir -p "$top/bin" "$top/home" "$top/src"

link()   # NAME...: each that exists
{
    for name in "$@"; do
        path=$(command -v "$name" 2>/dev/null) || continue
        case $path in /*) ln -sf "$path" "$top/bin/$name" ;; esac
    done
}
link gcc cc cpp as ld ld.bfd ar ranlib nm strip objcopy objdump readelf make awk mawk gawk sh dash
link sed grep egrep fgrep diff cmp find xargs tar gzip hostname
# coreutils
link [ base64 basename cat chmod chown cksum comm cp csplit cut date dd dirname du echo env expand expr false fmt fold \
    head id install join link ln ls md5sum mkdir mkfifo mktemp mv nice nl nohup nproc numfmt od paste pr printenv \
    printf pwd readlink realpath rm rmdir seq sha256sum shuf sleep sort split stat stdbuf stty sum sync tac tail tee \
    test timeout touch tr true truncate tsort tty uname unexpand uniq unlink wc whoami yes

gzip -dc "$tarball" | (cd "$top/src" && tar xf -)
source=$(cd "$top"/src/* && pwd)
jobs=$(nproc 2>/dev/null || echo 2)

# NAME COMMAND...: one stage, alone with the bare PATH; its output is shown only when it fails.
stage()
{
    name=$1
    shift
    printf 'check-bare: %-13s ' "$name"
    if (cd "$top/build" && env -i PATH="$top/bin" HOME="$top/home" LC_ALL=C TMPDIR="${TMPDIR:-/tmp}" "$@") \
        >"$top/$name.txt" 2>&1; then
        grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped' "$top/$name.txt" || echo "done"
    else
        echo FAILED
        tail -n 200 "$top/$name.txt"
        find "$top/build" -name "*.log" -path "*tests*" | while read -r log; do
            if grep -qE '^(FAIL|ERROR):' "$log"; then echo "== $log"; cat "$log"; fi
        done
        exit 1
    fi
}
mkdir "$top/build"
stage configure    "$source/configure" --prefix="$top/inst" --quiet
stage make         make -j"$jobs"
stage check        make -j"$jobs" check
stage install      make install
stage installcheck make installcheck
stage uninstall    make uninstall
if [ -n "$(find "$top/inst" ! -path "$top/inst")" ]; then
    echo 'check-bare: make uninstall leaves'
    find "$top/inst"
    exit 1
fi
for tool in autoconf automake libtool perl valgrind pkg-config python3; do
    if [ -e "$top/bin/$tool" ]; then echo "check-bare: $tool is in the bare PATH"; exit 1; fi
done
rm -rf "$top"
