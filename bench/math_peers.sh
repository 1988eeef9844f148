#!/bin/sh
# Has nvcc compile CUDA's mathematical functions to PTX, a file NAME.f32.ptx and NAME.f64.ptx for each function of
# tests/math/math_functions.def: math_peers.sh FOLDER [NAME...]
# bench/math and tests/math/check_math take the folder by --peers.  The files contain NVIDIA's libdevice: they are for
# the machine at hand, and are not shipped.
set -u
here=$(dirname "$0")
[ $# -ge 1 ] || { echo 'usage: math_peers.sh FOLDER [NAME...]' >&2; exit 2; }
folder=$1
shift
nvcc=${CUJIT_NVCC:-nvcc}
command -v "$nvcc" >/dev/null 2>&1 || { echo 'math_peers.sh: there is no nvcc in PATH' >&2; exit 1; }
mkdir -p "$folder" || exit 1
awk -v wanted="$*" '
    BEGIN { all = split(wanted, w, " ") == 0; for (i in w) is[w[i]] = 1 }
    /^F\(/ {
        sub(/^F\(/, "")
        split($0, c, /, */)
        if (all || is[c[1]]) print c[1], c[2], c[3]
    }' "$here/../tests/math/math_functions.def" |
while read -r name kind cuda; do
    part=
    if [ "$name" = modf ]; then part=-DPART; fi
    integer=int whole=int
    if [ "$name" = pown ]; then integer=float whole=double; fi
    wants=$cuda
    if [ "$name" = nextafter ]; then wants=nextafter_of; fi # the next float, not the next double
    if [ "$cuda" = NONE ]; then
        own32='' own64=none wants=${name}_of
    else
        own32=-DCUDA=${cuda}f own64=-DCUDA=$cuda
    fi
    # shellcheck disable=SC2086 # words that may be missing
    "$nvcc" -arch=sm_90 -ptx -diag-suppress 177 $own32 $part "-DKIND_$kind" -DNUMBER=float \
        '-DWORD=unsigned' "-DSECOND=$integer" "-DWIDE_SECOND=$whole" "-DWANTS=$wants" \
        "$here/math_peers.cu" -o "$folder/$name.f32.ptx" || exit 1
    if [ "$own64" != none ]; then
        # shellcheck disable=SC2086
        "$nvcc" -arch=sm_90 -ptx -diag-suppress 177 "$own64" $part "-DKIND_$kind" -DNUMBER=double \
            '-DWORD=unsigned long long' "-DSECOND=$whole" "$here/math_peers.cu" -o "$folder/$name.f64.ptx" || exit 1
    fi
done || exit 1
set -- "$folder"/*.ptx
echo "$# files"
